//! Atomic read-modify-write operations (PTX ISA, "Parallel Synchronization and Communication": atom, red).
//!
//! Lanes go in order, each in one indivisible step. The host operation is sequentially consistent, which is at least
//! as strong as every `.sem` and `.scope` asks.

use super::address::{Cluster, Generic, Global, Shared, Space, addresses};
use super::combine::{Cas16, Cas32, Cas64, Rmw, Use, function};
use super::{Execute, NONE, Op};
use crate::exec::Exec;
use crate::fault::Access;
use crate::lanes::simd::Baseline;
use crate::lanes::{EMPTY, LANES, Lane};
use crate::memory::{Cell, SpaceKind};
use crate::observe::Happening;
use ir::instruction::AtomOp;
use ptx::types::ScalarType;

/// `d = [a]; [a] = new([a], b, c)` with planes `b` and `c`; `d` may be [`NONE`] (`red`).
fn rmw<P: Space, F: Rmw>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    for warp in 0..x.warps {
        let mask = x.mask[warp];
        if mask == 0 {
            continue;
        }
        let lanes = addresses(x, op, warp).lanes();
        let b = F::M::planes(&x.files)[op.b as usize + warp].0;
        let c = F::M::planes(&x.files)[op.c as usize + warp].0;
        let mut old = [F::M::default(); LANES];
        let mut rest = mask;
        while rest != 0 {
            let l = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            match P::update::<F::M>(x, warp, l, lanes[l], |now| {
                F::new(now, b[l], c[l], P::is_global(lanes[l]))
            }) {
                Some(value) => old[l] = value,
                None => {
                    let trap = x.bad_access(lanes[l].wrapping_add(P::WINDOW), F::M::BYTES, Access::Atomic);
                    return x.raise(warp, l, trap);
                }
            }
        }
        if F::COMPARES && x.grid.observer.is_some() {
            let swapped = (0..LANES).fold(0, |swapped, l| swapped | u32::from(old[l] == b[l]) << l);
            x.tell(|x| Happening::Swapped(x.lanes_at(pc, warp, swapped & mask)));
        }
        if op.d != NONE {
            x.store_plane::<Baseline, F::M>(op.d, warp, old);
        }
    }
    pc + 1
}

/// The same on vectors of `Op::c` cells, each by itself in one indivisible step: planes by the lists at `Op::b` and
/// `Op::d`.
fn rmw_vector<P: Space, F: Rmw>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    let count = u64::from(op.c);
    for warp in 0..x.warps {
        let lanes = addresses(x, op, warp).lanes();
        let mask = x.mask[warp];
        for l in (0..LANES).filter(|l| mask >> l & 1 != 0) {
            let aligned = lanes[l].is_multiple_of(count * F::M::BYTES);
            for e in 0..op.c {
                let b = F::M::planes(&x.files)[x.grid.image.lists[(op.b + e) as usize] as usize + warp].0[l];
                let at = lanes[l].wrapping_add(u64::from(e) * F::M::BYTES);
                let new = |now| F::new(now, b, b, P::is_global(at));
                let Some(old) = aligned.then(|| P::update::<F::M>(x, warp, l, at, new)).flatten() else {
                    let start = lanes[l].wrapping_add(P::WINDOW);
                    let trap = x.bad_access(start, count * F::M::BYTES, Access::Atomic);
                    return x.raise(warp, l, trap);
                };
                if op.d != NONE {
                    let d = x.grid.image.lists[(op.d + e) as usize] as usize + warp;
                    F::M::planes_mut(&mut x.files)[d].0[l] = old;
                }
            }
        }
    }
    pc + 1
}

/// Functions on vectors, which exist in global memory alone.
struct Vectors(SpaceKind);

impl Use for Vectors {
    type As = Execute;
    fn of<F: Rmw>(self) -> Option<Execute> {
        match self.0 {
            SpaceKind::Global => Some(rmw_vector::<Global, F>),
            SpaceKind::Generic => Some(rmw_vector::<Generic, F>),
            SpaceKind::Shared | SpaceKind::Cluster | SpaceKind::Local | SpaceKind::Param => None,
        }
    }
}

/// Functions on single cells, in `.global`, `.shared` and generic addresses.
struct Cells(SpaceKind);

impl Use for Cells {
    type As = Execute;
    fn of<F: Rmw>(self) -> Option<Execute> {
        match self.0 {
            SpaceKind::Global => Some(rmw::<Global, F>),
            SpaceKind::Shared => Some(rmw::<Shared, F>),
            SpaceKind::Cluster => Some(rmw::<Cluster, F>),
            SpaceKind::Generic => Some(rmw::<Generic, F>),
            SpaceKind::Local | SpaceKind::Param => None,
        }
    }
}

/// The operation in a state space.
pub(crate) fn atomic(op: AtomOp, ty: ScalarType, space: SpaceKind) -> Option<Execute> {
    function(op, ty, Cells(space))
}

/// The operation on vectors.
pub(crate) fn vector(op: AtomOp, ty: ScalarType, space: SpaceKind) -> Option<Execute> {
    function(op, ty, Vectors(space))
}

/// `atom.cas`.
pub(crate) fn compare_and_swap(bits: u32, space: SpaceKind) -> Option<Execute> {
    match bits {
        16 => Cells(space).of::<Cas16>(),
        32 => Cells(space).of::<Cas32>(),
        _ => Cells(space).of::<Cas64>(),
    }
}

/// `atom.exch` and `atom.cas` of 128 bits. The list at `b` names the low and the high planes of the destination (or
/// [`NONE`]), of the second operand and of the third.
fn rmw_wide<P: Space, const CAS: bool>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    let planes: [u32; 6] = std::array::from_fn(|i| x.grid.image.lists[op.b as usize + i]);
    let read = |x: &Exec<'_>, which: usize, warp: usize, lane: usize| {
        let half = |plane: u32| u128::from(x.files.d[plane as usize + warp].0[lane]);
        half(planes[which]) | half(planes[which + 1]) << 64
    };
    let mut swapped = EMPTY;
    for (warp, lane) in x.active_lanes() {
        let address = addresses(x, op, warp).lanes()[lane];
        let (b, c) = (read(x, 2, warp, lane), read(x, 4, warp, lane));
        let new = |old: u128| match CAS {
            true if old != b => old,
            true => c,
            false => b,
        };
        let Some(old) = P::update::<u128>(x, warp, lane, address, new) else {
            let trap = x.bad_access(address.wrapping_add(P::WINDOW), 16, Access::Atomic);
            return x.raise(warp, lane, trap);
        };
        swapped[warp] |= u32::from(old == b) << lane;
        if planes[0] != NONE {
            x.files.d[planes[0] as usize + warp].0[lane] = old as u64;
            x.files.d[planes[1] as usize + warp].0[lane] = (old >> 64) as u64;
        }
    }
    for warp in (0..x.warps).filter(|&w| CAS && x.mask[w] != 0) {
        x.tell(|x| Happening::Swapped(x.lanes_at(pc, warp, swapped[warp])));
    }
    pc + 1
}

/// The 128-bit operation in a state space.
pub(crate) fn wide(cas: bool, space: SpaceKind) -> Option<Execute> {
    fn of<P: Space>(cas: bool) -> Execute {
        if cas { rmw_wide::<P, true> } else { rmw_wide::<P, false> }
    }
    match space {
        SpaceKind::Global => Some(of::<Global>(cas)),
        SpaceKind::Shared => Some(of::<Shared>(cas)),
        SpaceKind::Cluster => Some(of::<Cluster>(cas)),
        SpaceKind::Generic => Some(of::<Generic>(cas)),
        SpaceKind::Local | SpaceKind::Param => None,
    }
}
