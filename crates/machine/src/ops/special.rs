//! Special registers (PTX ISA, "Special Registers").
//!
//! What is the same for every thread of a CTA goes to a scalar; the rest to a plane.

use super::body::function;
use super::time::{clock, elapsed};
use crate::exec::{Exec, Grid};
use crate::image::Function;
use crate::lanes::simd::Baseline;
use crate::lanes::{LANES, Lane, Operand, Source};
use crate::operation::kinds::ReadSpecial;
use ptx::isa::SpecialRegister;

/// A special register's scalar value; `component` is 0 to 3.
pub(crate) type ScalarValue = fn(x: &Exec<'_>, component: usize) -> u64;
/// A special register's plane of a warp.
pub(crate) type PlaneValue = fn(x: &Exec<'_>, warp: usize, component: usize) -> [u64; LANES];

/// A special register's planes in every CTA of a grid, a plane a warp.
pub(crate) type CommonPlanes = for<'g> fn(grid: &'g Grid<'_>, component: usize) -> &'g [[u32; LANES]];

/// How a special register is read.
pub(crate) enum Reading {
    /// The same for every thread of the CTA.
    Scalar(ScalarValue),
    /// One value a lane.
    Plane(PlaneValue),
    /// The same where all CTAs of a grid have it in common: planes of all warps of a CTA.
    Common(CommonPlanes),
}

fn extent(dimensions: [u32; 3], component: usize) -> u64 {
    dimensions.get(component).map_or(0, |&d| u64::from(d))
}

/// A component of a place in the grid, in clusters, and what is left of it within one.
fn by_cluster(place: [u32; 3], cluster: [u32; 3], component: usize) -> (u64, u64) {
    match (place.get(component), cluster.get(component)) {
        (Some(&at), Some(&n)) => (u64::from(at / n), u64::from(at % n)),
        _ => (0, 0),
    }
}

/// Bytes of the system's part of shared memory in use, as an H200 says.
const RESERVED_IN_USE: u64 = 0x120;

/// Shared memory is given out in units of this many bytes.
const SHARED_UNIT: u32 = 128;

fn total_shared(x: &Exec<'_>) -> u64 {
    u64::from((x.grid.static_shared + x.grid.dynamic_shared).next_multiple_of(SHARED_UNIT))
}

fn reserved_start(x: &Exec<'_>) -> u64 {
    if x.grid.shared_start != 0 { 0 } else { total_shared(x) }
}

fn lanes(value: impl Fn(usize) -> u64) -> [u64; LANES] {
    std::array::from_fn(value)
}

/// How to read a register. The match is exhaustive on purpose: a register added to the table must be placed here.
pub(crate) fn reading(register: SpecialRegister) -> Reading {
    use Reading::{Common, Plane, Scalar};
    use SpecialRegister as R;
    match register {
        R::Tid => Common(|grid, component| &grid.tid[component]),
        R::Ntid => Scalar(|x, c| extent(x.grid.block, c)),
        R::Ctaid => Scalar(|x, c| extent(x.threads.ctaid, c)),
        R::Nctaid => Scalar(|x, c| extent(x.grid.grid, c)),
        R::Laneid => Plane(|_, _, _| lanes(|l| l as u64)),
        R::Warpid => Plane(|x, warp, _| [u64::from(x.threads.first_warp) + warp as u64; LANES]),
        R::Nwarpid => Scalar(|x, _| u64::from(x.grid.warp_slots)),
        R::Smid => Scalar(|x, _| u64::from(x.threads.slot % x.grid.multiprocessors)),
        R::Nsmid => Scalar(|x, _| u64::from(x.grid.multiprocessors)),
        R::Gridid => Scalar(|x, _| x.grid.grid_id),
        R::IsExplicitCluster => Scalar(|x, _| u64::from(x.grid.explicit_cluster)),
        R::Clusterid => Scalar(|x, c| by_cluster(x.threads.ctaid, x.grid.cluster, c).0),
        R::Nclusterid => Scalar(|x, c| by_cluster(x.grid.grid, x.grid.cluster, c).0),
        R::ClusterCtaid => Scalar(|x, c| by_cluster(x.threads.ctaid, x.grid.cluster, c).1),
        R::ClusterNctaid => Scalar(|x, c| extent(x.grid.cluster, c)),
        R::ClusterCtarank => Scalar(|x, _| u64::from(x.threads.rank)),
        R::ClusterNctarank => Scalar(|x, _| x.grid.cluster.iter().map(|&n| u64::from(n)).product()),
        R::LanemaskEq => Plane(|_, _, _| lanes(|l| 1 << l)),
        R::LanemaskLe => Plane(|_, _, _| lanes(|l| (2 << l) - 1)),
        R::LanemaskLt => Plane(|_, _, _| lanes(|l| (1 << l) - 1)),
        R::LanemaskGe => Plane(|_, _, _| lanes(|l| 0xffff_ffff & !((1 << l) - 1))),
        R::LanemaskGt => Plane(|_, _, _| lanes(|l| 0xffff_ffff & !((2 << l) - 1))),
        R::Clock | R::Clock64 => Plane(|x, _, _| [clock(x); LANES]),
        R::ClockHi => Plane(|x, _, _| [clock(x) >> 32; LANES]),
        R::Globaltimer | R::GlobaltimerLo => Plane(|x, _, _| [elapsed(x); LANES]),
        R::GlobaltimerHi => Plane(|x, _, _| [elapsed(x) >> 32; LANES]),
        R::DynamicSmemSize => Scalar(|x, _| u64::from(x.grid.dynamic_shared)),
        R::TotalSmemSize => Scalar(|x, _| total_shared(x)),
        R::AggrSmemSize => Scalar(|x, _| {
            let used = x.grid.static_shared.next_multiple_of(16) + x.grid.dynamic_shared;
            u64::from(x.grid.reserved_shared + used)
        }),
        // The system's part stands before the CTA's own, or behind it. Of its capacity an H200 uses so much.
        R::ReservedSmemOffsetBegin => Scalar(|x, _| reserved_start(x)),
        R::ReservedSmemOffsetEnd => Scalar(|x, _| reserved_start(x) + RESERVED_IN_USE),
        R::ReservedSmemOffsetCap => Scalar(|x, _| reserved_start(x) + u64::from(x.grid.reserved_shared)),
        R::ReservedSmemOffset0 | R::ReservedSmemOffset1 => Scalar(|x, _| reserved_start(x)),
        R::CurrentGraphExec => Scalar(|x, _| x.grid.graph),
        // The driver sets these for its own purposes: two hold an address, the others read as zero.
        R::Envreg1 => Scalar(|x, _| x.grid.workspace >> 32),
        R::Envreg2 => Scalar(|x, _| x.grid.workspace & 0xffff_ffff),
        R::Envreg0
        | R::Envreg3
        | R::Envreg4
        | R::Envreg5
        | R::Envreg6
        | R::Envreg7
        | R::Envreg8
        | R::Envreg9
        | R::Envreg10
        | R::Envreg11
        | R::Envreg12
        | R::Envreg13
        | R::Envreg14
        | R::Envreg15
        | R::Envreg16
        | R::Envreg17
        | R::Envreg18
        | R::Envreg19
        | R::Envreg20
        | R::Envreg21
        | R::Envreg22
        | R::Envreg23
        | R::Envreg24
        | R::Envreg25
        | R::Envreg26
        | R::Envreg27
        | R::Envreg28
        | R::Envreg29
        | R::Envreg30
        | R::Envreg31 => Scalar(|_, _| 0),
        // Performance counters that nobody has set up.
        R::Pm0
        | R::Pm1
        | R::Pm2
        | R::Pm3
        | R::Pm4
        | R::Pm5
        | R::Pm6
        | R::Pm7
        | R::Pm0_64
        | R::Pm1_64
        | R::Pm2_64
        | R::Pm3_64
        | R::Pm4_64
        | R::Pm5_64
        | R::Pm6_64
        | R::Pm7_64 => Scalar(|_, _| 0),
    }
}

/// Reads a register into a scalar.
fn read_scalar(x: &mut Exec<'_>, op: &ReadSpecial, pc: u32) -> u32 {
    if let Reading::Scalar(value) = reading(op.register) {
        x.files.s[op.d.index()] = value(x, op.component.into());
    }
    pc + 1
}

fn read_plane<T: Lane>(x: &mut Exec<'_>, op: &ReadSpecial, pc: u32) -> u32 {
    let component = usize::from(op.component);
    let Source::Plane(d) = op.d.source() else { return pc + 1 };
    match reading(op.register) {
        Reading::Plane(value) => {
            for warp in 0..x.warps {
                let values = value(x, warp, component);
                x.store_plane::<Baseline, T>(d, warp, values.map(T::from_scalar));
            }
        }
        Reading::Common(planes) => {
            let planes = &planes(x.grid, component)[x.threads.first_warp as usize..];
            for (warp, values) in planes.iter().enumerate().take(x.warps) {
                let values = values.map(|value| T::from_scalar(value.into()));
                match x.mask[warp] {
                    0xffff_ffff => T::planes_mut(&mut x.files)[d.index() + warp].0 = values,
                    _ => x.store_plane::<Baseline, T>(d, warp, values),
                }
            }
        }
        Reading::Scalar(_) => {}
    }
    pc + 1
}

/// Reads a register into an operand.
pub(crate) fn reader(d: Operand) -> Function<ReadSpecial> {
    match d.source() {
        Source::Scalar(_) => function!(read_scalar),
        Source::Plane(d) => match d.bits() {
            16 => function!(read_plane::<u16>),
            32 => function!(read_plane::<u32>),
            _ => function!(read_plane::<u64>),
        },
    }
}
