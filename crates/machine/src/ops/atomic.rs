//! Atomic read-modify-write operations (PTX ISA, "Parallel Synchronization and Communication": atom, red).
//!
//! Lanes go in order, each in one indivisible step. The host operation is sequentially consistent, which is at least
//! as strong as every `.sem` and `.scope` asks.

use super::address::{Cluster, Generic, Global, Shared, Space, addresses, lane_address};
use super::body::function;
use super::combine::{self, Cas16, Cas32, Cas64, Rmw, Use};
use crate::exec::Exec;
use crate::fault::Access;
use crate::image::Function;
use crate::lanes::simd::Baseline;
use crate::lanes::{EMPTY, LANES, Lane, PlaneId};
use crate::memory::{Cell, SpaceKind};
use crate::observe::Happening;
use crate::operation::kinds::{Atomic, AtomicPair, AtomicVector};
use ir::instruction::AtomOp;
use ptx::types::ScalarType;

/// `d = [a]; [a] = new([a], b, c)`; `red` has no `d`.
fn rmw<P: Space, F: Rmw>(x: &mut Exec<'_>, op: &Atomic, pc: u32) -> u32 {
    x.communicated = true;
    for warp in 0..x.warps {
        let mask = x.mask[warp];
        if mask == 0 {
            continue;
        }
        let lanes = addresses(x, op.address, warp).lanes();
        let b = F::M::planes(&x.files)[op.b.index() + warp].0;
        let c = F::M::planes(&x.files)[op.c.index() + warp].0;
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
        if let Some(d) = op.d {
            x.store_plane::<Baseline, F::M>(d, warp, old);
        }
    }
    pc + 1
}

/// The same on vectors, each of whose cells is by itself in one indivisible step.
fn rmw_vector<P: Space, F: Rmw>(x: &mut Exec<'_>, op: &AtomicVector, pc: u32) -> u32 {
    x.communicated = true;
    let planes = x.grid.image.planes(op.planes);
    let (to, from) = planes.split_at(planes.len() / 2);
    let bytes = from.len() as u64 * F::M::BYTES;
    for warp in 0..x.warps {
        let lanes = addresses(x, op.address, warp).lanes();
        let mask = x.mask[warp];
        for l in (0..LANES).filter(|l| mask >> l & 1 != 0) {
            let aligned = lanes[l].is_multiple_of(bytes);
            for (e, (d, b)) in to.iter().zip(from).enumerate() {
                let b = b.map_or(F::M::default(), |b| F::M::planes(&x.files)[b.index() + warp].0[l]);
                let at = lanes[l].wrapping_add(e as u64 * F::M::BYTES);
                let new = |now| F::new(now, b, b, P::is_global(at));
                let Some(old) = aligned.then(|| P::update::<F::M>(x, warp, l, at, new)).flatten() else {
                    let start = lanes[l].wrapping_add(P::WINDOW);
                    let trap = x.bad_access(start, bytes, Access::Atomic);
                    return x.raise(warp, l, trap);
                };
                if let Some(d) = d {
                    F::M::planes_mut(&mut x.files)[d.index() + warp].0[l] = old;
                }
            }
        }
    }
    pc + 1
}

/// Functions on vectors, which exist in global memory alone.
struct Vectors(SpaceKind);

impl Use for Vectors {
    type As = Function<AtomicVector>;
    fn of<F: Rmw>(self) -> Option<Self::As> {
        match self.0 {
            SpaceKind::Global => Some(function!(rmw_vector::<Global, F>)),
            SpaceKind::Generic => Some(function!(rmw_vector::<Generic, F>)),
            SpaceKind::Shared | SpaceKind::Cluster | SpaceKind::Local | SpaceKind::Param => None,
        }
    }
}

/// Functions on single cells, in `.global`, `.shared` and generic addresses.
struct Cells(SpaceKind);

impl Use for Cells {
    type As = Function<Atomic>;
    fn of<F: Rmw>(self) -> Option<Self::As> {
        match self.0 {
            SpaceKind::Global => Some(function!(rmw::<Global, F>)),
            SpaceKind::Shared => Some(function!(rmw::<Shared, F>)),
            SpaceKind::Cluster => Some(function!(rmw::<Cluster, F>)),
            SpaceKind::Generic => Some(function!(rmw::<Generic, F>)),
            SpaceKind::Local | SpaceKind::Param => None,
        }
    }
}

/// The operation in a state space.
pub(crate) fn atomic(op: AtomOp, ty: ScalarType, space: SpaceKind) -> Option<Function<Atomic>> {
    combine::function(op, ty, Cells(space))
}

/// The operation on vectors.
pub(crate) fn vector(op: AtomOp, ty: ScalarType, space: SpaceKind) -> Option<Function<AtomicVector>> {
    combine::function(op, ty, Vectors(space))
}

/// `atom.cas`.
pub(crate) fn compare_and_swap(bits: u32, space: SpaceKind) -> Option<Function<Atomic>> {
    match bits {
        16 => Cells(space).of::<Cas16>(),
        32 => Cells(space).of::<Cas32>(),
        _ => Cells(space).of::<Cas64>(),
    }
}

/// `atom.exch` and `atom.cas` of 128 bits.
fn rmw_pair<P: Space, const CAS: bool>(x: &mut Exec<'_>, op: &AtomicPair, pc: u32) -> u32 {
    x.communicated = true;
    let planes = x.grid.image.planes(op.planes);
    let read = |x: &Exec<'_>, which: usize, warp: usize, lane: usize| {
        let half =
            |plane: Option<PlaneId>| plane.map_or(0, |p| u128::from(x.files.d[p.index() + warp].0[lane]));
        half(planes[which]) | half(planes[which + 1]) << 64
    };
    let mut swapped = EMPTY;
    for (warp, lane) in x.active_lanes() {
        let address = lane_address(x, op.address, warp, lane);
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
        for (plane, half) in planes.iter().zip([old as u64, (old >> 64) as u64]) {
            if let Some(plane) = plane {
                x.files.d[plane.index() + warp].0[lane] = half;
            }
        }
    }
    for warp in (0..x.warps).filter(|&w| CAS && x.mask[w] != 0) {
        x.tell(|x| Happening::Swapped(x.lanes_at(pc, warp, swapped[warp])));
    }
    pc + 1
}

/// The 128-bit operation in a state space.
pub(crate) fn pair(cas: bool, space: SpaceKind) -> Option<Function<AtomicPair>> {
    fn of<P: Space>(cas: bool) -> Function<AtomicPair> {
        if cas { function!(rmw_pair::<P, true>) } else { function!(rmw_pair::<P, false>) }
    }
    match space {
        SpaceKind::Global => Some(of::<Global>(cas)),
        SpaceKind::Shared => Some(of::<Shared>(cas)),
        SpaceKind::Cluster => Some(of::<Cluster>(cas)),
        SpaceKind::Generic => Some(of::<Generic>(cas)),
        SpaceKind::Local | SpaceKind::Param => None,
    }
}
