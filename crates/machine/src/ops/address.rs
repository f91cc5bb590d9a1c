//! Addresses of a memory operation, and the state spaces that they lead into.

use crate::exec::{Exec, Resolved, resolve};
use crate::fault::Access;
use crate::lanes::{LANES, Lane, Plane, PlaneId, Source};
use crate::memory::{AtomicCell, Cell, LOCAL_WINDOW, PARAM_WINDOW, RANK_SHIFT, SHARED_WINDOW};
use crate::operation::kinds::AddOffset;
use crate::operation::{Address, Pattern};
use std::hint::black_box;

/// The addresses of one warp.
#[allow(clippy::large_enum_variant, reason = "lives in vector registers for the length of one loop")]
pub(crate) enum Addresses {
    Uniform(u64),
    Lanes([u64; LANES]),
}

impl Addresses {
    /// One address a lane.
    #[inline(always)]
    pub(crate) fn lanes(self) -> [u64; LANES] {
        match self {
            Self::Uniform(address) => [address; LANES],
            Self::Lanes(lanes) => lanes,
        }
    }
}

/// Reads the addresses of a warp.
#[inline(always)]
pub(crate) fn addresses(x: &Exec<'_>, address: Address, warp: usize) -> Addresses {
    let offset = address.offset.0;
    match address.base.source() {
        Source::Scalar(base) => Addresses::Uniform(x.files.s[base.index()].wrapping_add(offset)),
        Source::Plane(base) if base.bits() == 64 => {
            let mut lanes = x.files.d[base.index() + warp].0;
            for lane in &mut lanes {
                *lane = lane.wrapping_add(offset);
            }
            Addresses::Lanes(lanes)
        }
        Source::Plane(base) => {
            let plane = &x.files.w[base.index() + warp].0;
            let mut lanes = [0; LANES];
            for l in 0..LANES {
                lanes[l] = u64::from(plane[l].wrapping_add(offset as u32));
            }
            Addresses::Lanes(lanes)
        }
    }
}

/// Whether the lanes access `bytes` each, one after the other.
#[inline(always)]
pub(crate) fn contiguous(lanes: &[u64; LANES], bytes: u64, pattern: Pattern) -> bool {
    let first = lanes[0];
    if lanes[LANES - 1].wrapping_sub(first) != bytes * (LANES as u64 - 1) {
        return false;
    }
    if pattern == Pattern::Contiguous {
        return true;
    }
    let mut differs = 0;
    for l in 0..LANES {
        differs |= lanes[l].wrapping_sub(first) ^ (bytes * l as u64);
    }
    is_nothing(differs)
}

/// Whether no bit is set. What the bits were collected from is hidden: the compiler would compare lane by lane instead, and pack what comes of
/// it, which takes several times as long.
#[inline(always)]
fn is_nothing(bits: u64) -> bool {
    black_box(bits) == 0
}

/// The address that all lanes of a warp have, if they do.
#[inline(always)]
pub(crate) fn common(lanes: &[u64; LANES]) -> Option<u64> {
    let first = lanes[0];
    if lanes[LANES - 1] != first {
        return None;
    }
    let mut differs = 0;
    for l in 0..LANES {
        differs |= lanes[l] ^ first;
    }
    is_nothing(differs).then_some(first)
}

/// The address of one lane.
#[inline(always)]
pub(crate) fn lane_address(x: &Exec<'_>, address: Address, warp: usize, lane: usize) -> u64 {
    let offset = address.offset.0;
    match address.base.source() {
        Source::Scalar(base) => x.files.s[base.index()].wrapping_add(offset),
        Source::Plane(base) if base.bits() == 64 => {
            x.files.d[base.index() + warp].0[lane].wrapping_add(offset)
        }
        Source::Plane(base) => u64::from(x.files.w[base.index() + warp].0[lane].wrapping_add(offset as u32)),
    }
}

/// The address of lane `first`, if the `N` lanes from there access `bytes` each, one after the other. The program says
/// that they do, so their ends tell.
#[inline(always)]
pub(crate) fn known_block<const N: usize>(
    x: &Exec<'_>,
    address: Address,
    warp: usize,
    first: usize,
    bytes: u64,
) -> Option<u64> {
    let start = lane_address(x, address, warp, first);
    let end = lane_address(x, address, warp, first + N - 1);
    (end.wrapping_sub(start) == bytes * (N as u64 - 1)).then_some(start)
}

/// The address of the first lane of a pack whose lanes all access `bytes` each, one after the other. The program says so
/// of each warp.
#[inline(always)]
pub(crate) fn known_pack(x: &Exec<'_>, address: Address, bytes: u64) -> Option<u64> {
    let start = lane_address(x, address, 0, 0);
    let (mut differs, mut at) = (0, start);
    for warp in 0..x.warps {
        differs |= lane_address(x, address, warp, 0) ^ at;
        differs |= lane_address(x, address, warp, LANES - 1) ^ at.wrapping_add(bytes * (LANES as u64 - 1));
        at = at.wrapping_add(bytes * LANES as u64);
    }
    is_nothing(differs).then_some(start)
}

/// The cells of a memory that addresses mean, the first of which is `start` bytes behind its beginning; `None` if they are
/// not aligned. Those that are no addresses of this memory are far behind its end.
#[inline(always)]
fn cells_from<M: Cell>(lanes: &[u64; LANES], start: usize) -> Option<[usize; LANES]> {
    let base = lanes[0].wrapping_sub(start as u64);
    let (mut cells, mut bits) = ([0; LANES], 0);
    for l in 0..LANES {
        let offset = lanes[l].wrapping_sub(base);
        bits |= lanes[l] | offset;
        cells[l] = (offset / M::BYTES) as usize;
    }
    bits.is_multiple_of(M::BYTES).then_some(cells)
}

/// Where an access goes. Offsets are not checked yet, except in local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryLocation {
    /// An address of global memory.
    Global(u64),
    /// An offset in the shared memory of the CTA.
    Own(usize),
    /// A rank, and an offset in the shared memory of the CTA that has it.
    Peer(usize, usize),
    /// An offset in the local memory of the pack.
    Local(usize),
    /// An offset in the kernel's parameters.
    Param(usize),
}

impl Exec<'_> {
    /// The bytes of a place that is not in global memory; `None` if they are not all there.
    #[inline(always)]
    fn bytes(&self, place: MemoryLocation, count: usize) -> Option<&[u8]> {
        let (memory, start): (&[u8], _) = match place {
            MemoryLocation::Global(_) => return None,
            MemoryLocation::Own(start) => (self.shared, start),
            MemoryLocation::Peer(rank, start) => (self.peers.get(rank)?, start),
            MemoryLocation::Local(start) => (&self.threads.local, start),
            MemoryLocation::Param(start) => (self.grid.params, start),
        };
        memory.get(start..start.wrapping_add(count))
    }

    /// The same to be written, which parameters cannot be.
    #[inline(always)]
    fn bytes_mut(&mut self, place: MemoryLocation, count: usize) -> Option<&mut [u8]> {
        let (memory, start): (&mut [u8], _) = match place {
            MemoryLocation::Global(_) | MemoryLocation::Param(_) => return None,
            MemoryLocation::Own(start) => (self.shared, start),
            MemoryLocation::Peer(rank, start) => (self.peers.get_mut(rank)?, start),
            MemoryLocation::Local(start) => (&mut self.threads.local, start),
        };
        memory.get_mut(start..start.wrapping_add(count))
    }
}

/// A load of global memory by the generic address of a kernel parameter, which is global too.
#[cold]
fn parameter<M: Cell>(x: &Exec<'_>, address: u64) -> Option<M> {
    let Resolved::Param(offset) = resolve(address) else { return None };
    Param::load(x, 0, 0, offset)
}

/// A state space as memory operations see it: which addresses lead where. `None` and `false` mean that an address is not
/// valid there.
pub(crate) trait Space: 'static {
    /// What an address of this space becomes a generic address by.
    const WINDOW: u64;
    /// Where the `bytes` at an address are, for a lane.
    fn locate(x: &Exec<'_>, warp: usize, lane: usize, address: u64, bytes: u64) -> Option<MemoryLocation>;
    /// Whether all lanes that access `address` access the same bytes; local memory is each thread's own.
    fn is_common(address: u64) -> bool;
    /// Whether an address leads to global memory, whose atomics are executed elsewhere than those of shared memory.
    fn is_global(address: u64) -> bool;

    /// Loads one cell.
    #[inline(always)]
    fn load<M: Cell>(x: &Exec<'_>, warp: usize, lane: usize, address: u64) -> Option<M> {
        match Self::locate(x, warp, lane, address, M::BYTES)? {
            MemoryLocation::Global(address) => match x.grid.memory.cell::<M>(address) {
                Some(cell) => Some(cell.load_relaxed()),
                None => match x.stray::<M>(address, Access::Load) {
                    Some(cell) => Some(cell.load_relaxed()),
                    None => parameter(x, address),
                },
            },
            _ if !address.is_multiple_of(M::BYTES) => None,
            place => x.bytes(place, M::BYTES as usize).map(bytemuck::pod_read_unaligned),
        }
    }

    /// Stores one cell.
    #[inline(always)]
    fn store<M: Cell>(x: &mut Exec<'_>, warp: usize, lane: usize, address: u64, value: M) -> Option<()> {
        match Self::locate(x, warp, lane, address, M::BYTES)? {
            MemoryLocation::Global(address) => {
                let cell = x.grid.memory.cell::<M>(address).or_else(|| x.stray::<M>(address, Access::Store));
                cell.map(|cell| cell.store_relaxed(value))
            }
            _ if !address.is_multiple_of(M::BYTES) => None,
            place => {
                x.bytes_mut(place, M::BYTES as usize)?.copy_from_slice(bytemuck::bytes_of(&value));
                Some(())
            }
        }
    }

    /// Replaces a cell's value in one indivisible step and returns the old one.
    #[inline(always)]
    fn update<M: Cell + PartialEq>(
        x: &mut Exec<'_>,
        warp: usize,
        lane: usize,
        address: u64,
        new: impl Fn(M) -> M,
    ) -> Option<M> {
        match Self::locate(x, warp, lane, address, M::BYTES)? {
            MemoryLocation::Global(address) => {
                let cell = x.grid.memory.cell::<M>(address);
                let cell = cell.or_else(|| x.stray::<M>(address, Access::Atomic))?;
                let mut old = cell.load_relaxed();
                loop {
                    match cell.compare_exchange_seq(old, new(old)) {
                        Ok(_) => return Some(old),
                        Err(now) => old = now,
                    }
                }
            }
            _ if !address.is_multiple_of(M::BYTES) => None,
            place => {
                // One host thread runs a cluster, so nobody else sees its shared memory between the two steps.
                let bytes = x.bytes_mut(place, M::BYTES as usize)?;
                let old = bytemuck::pod_read_unaligned(bytes);
                bytes.copy_from_slice(bytemuck::bytes_of(&new(old)));
                Some(old)
            }
        }
    }

    /// Loads consecutive cells at once; `false` if that is not possible here, which need not be a fault.
    #[inline(always)]
    fn load_block<M: Cell>(x: &Exec<'_>, address: u64, into: &mut [M]) -> bool {
        let into: &mut [u8] = bytemuck::cast_slice_mut(into);
        if !Self::is_common(address) || !address.is_multiple_of(M::BYTES) {
            return false;
        }
        match Self::locate(x, 0, 0, address, into.len() as u64) {
            Some(MemoryLocation::Global(address)) => x.grid.memory.read_block(address, into),
            Some(place) => x.bytes(place, into.len()).map(|bytes| into.copy_from_slice(bytes)).is_some(),
            None => false,
        }
    }

    /// The same for as many as an array holds.
    #[inline(always)]
    fn load_array<M: Cell, const N: usize>(x: &Exec<'_>, address: u64) -> Option<[M; N]> {
        let mut cells = [M::zeroed(); N];
        Self::load_block(x, address, &mut cells).then_some(cells)
    }

    /// Loads a cell for each lane of a warp at once; `None` if that is not possible here, which need not be a fault.
    #[inline(always)]
    fn load_lanes<M: Cell>(x: &Exec<'_>, lanes: &[u64; LANES]) -> Option<[M; LANES]> {
        if !Self::is_common(lanes[0]) {
            return None;
        }
        match Self::locate(x, 0, 0, lanes[0], M::BYTES)? {
            MemoryLocation::Global(_) => x.grid.memory.read_near(lanes),
            MemoryLocation::Own(start) => {
                let places = cells_from::<M>(lanes, start)?;
                let whole = x.shared.len() / M::BYTES as usize * M::BYTES as usize;
                let cells: &[M] = bytemuck::try_cast_slice(&x.shared[..whole]).ok()?;
                let mut values = [M::zeroed(); LANES];
                for l in 0..LANES {
                    values[l] = *cells.get(places[l])?;
                }
                Some(values)
            }
            MemoryLocation::Peer(..) | MemoryLocation::Local(_) | MemoryLocation::Param(_) => None,
        }
    }

    /// Stores a cell for each lane of a full warp at once, in this order; `false` if that is not possible here, which
    /// need not be a fault.
    #[inline(always)]
    fn store_lanes<M: Cell>(
        x: &mut Exec<'_>,
        lanes: &[u64; LANES],
        values: &[M; LANES],
        mut order: impl Iterator<Item = usize>,
    ) -> bool {
        if !Self::is_common(lanes[0]) {
            return false;
        }
        match Self::locate(x, 0, 0, lanes[0], M::BYTES) {
            Some(MemoryLocation::Global(_)) => x.grid.memory.write_near(lanes, values, order),
            Some(MemoryLocation::Own(start)) => {
                let Some(places) = cells_from::<M>(lanes, start) else { return false };
                let whole = x.shared.len() / M::BYTES as usize * M::BYTES as usize;
                let Ok(cells) = bytemuck::try_cast_slice_mut::<u8, M>(&mut x.shared[..whole]) else {
                    return false;
                };
                order.all(|l| cells.get_mut(places[l]).map(|cell| *cell = values[l]).is_some())
            }
            _ => false,
        }
    }

    /// Loads consecutive planes at once; `false` if that is not possible here, which need not be a fault.
    #[inline(always)]
    fn load_planes<M: Cell + Lane>(x: &mut Exec<'_>, address: u64, first: PlaneId) -> bool {
        let bytes = x.warps * size_of::<Plane<M>>();
        if !Self::is_common(address) || !address.is_multiple_of(M::BYTES) {
            return false;
        }
        let place = Self::locate(x, 0, 0, address, bytes as u64);
        let planes = &mut M::planes_mut(&mut x.files)[first.index()..][..x.warps];
        match place {
            Some(MemoryLocation::Global(address)) => x.grid.memory.read_planes(address, planes),
            Some(MemoryLocation::Own(start)) => match x.shared.get(start..start.wrapping_add(bytes)) {
                Some(memory) => {
                    for (plane, row) in planes.iter_mut().zip(memory.chunks_exact(size_of::<Plane<M>>())) {
                        bytemuck::cast_slice_mut(&mut plane.0).copy_from_slice(row);
                    }
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    /// Stores consecutive planes at once; `false` if that is not possible here, which need not be a fault.
    #[inline(always)]
    fn store_planes<M: Cell + Lane>(x: &mut Exec<'_>, address: u64, first: PlaneId) -> bool {
        let bytes = x.warps * size_of::<Plane<M>>();
        if !Self::is_common(address) || !address.is_multiple_of(M::BYTES) {
            return false;
        }
        let place = Self::locate(x, 0, 0, address, bytes as u64);
        let planes = &M::planes(&x.files)[first.index()..][..x.warps];
        match place {
            Some(MemoryLocation::Global(address)) => x.grid.memory.write_planes(address, planes),
            Some(MemoryLocation::Own(start)) => match x.shared.get_mut(start..start.wrapping_add(bytes)) {
                Some(memory) => {
                    for (plane, row) in planes.iter().zip(memory.chunks_exact_mut(size_of::<Plane<M>>())) {
                        row.copy_from_slice(bytemuck::cast_slice(&plane.0));
                    }
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    /// Stores consecutive cells at once; `false` if that is not possible here, which need not be a fault.
    #[inline(always)]
    fn store_block<M: Cell>(x: &mut Exec<'_>, address: u64, from: &[M]) -> bool {
        let from: &[u8] = bytemuck::cast_slice(from);
        if !Self::is_common(address) || !address.is_multiple_of(M::BYTES) {
            return false;
        }
        match Self::locate(x, 0, 0, address, from.len() as u64) {
            Some(MemoryLocation::Global(address)) => x.grid.memory.write_block(address, from),
            Some(place) => x.bytes_mut(place, from.len()).map(|bytes| bytes.copy_from_slice(from)).is_some(),
            None => false,
        }
    }
}

/// `.global` and `.const`.
pub(crate) struct Global;
/// `.shared::cta`.
pub(crate) struct Shared;
/// `.shared::cluster`.
pub(crate) struct Cluster;
/// `.local`, and `.param` of device functions and call sites.
pub(crate) struct Local;
/// `.param` of an entry.
pub(crate) struct Param;
/// No state space: any of the above by address.
pub(crate) struct Generic;

/// Evaluates an expression with a type standing for a state space.
macro_rules! in_space {
    ($space:expr, $p:ident => $e:expr) => {
        match $space {
            $crate::memory::SpaceKind::Global => {
                type $p = $crate::ops::address::Global;
                $e
            }
            $crate::memory::SpaceKind::Shared => {
                type $p = $crate::ops::address::Shared;
                $e
            }
            $crate::memory::SpaceKind::Cluster => {
                type $p = $crate::ops::address::Cluster;
                $e
            }
            $crate::memory::SpaceKind::Local => {
                type $p = $crate::ops::address::Local;
                $e
            }
            $crate::memory::SpaceKind::Param => {
                type $p = $crate::ops::address::Param;
                $e
            }
            $crate::memory::SpaceKind::Generic => {
                type $p = $crate::ops::address::Generic;
                $e
            }
        }
    };
}
pub(crate) use in_space;

macro_rules! space {
    ($space:ident, $window:expr, common: $common:expr, global: $global:expr,
     |$x:ident, $warp:ident, $lane:ident, $address:ident, $bytes:ident| $place:expr) => {
        impl Space for $space {
            const WINDOW: u64 = $window;
            #[inline(always)]
            fn is_common(address: u64) -> bool {
                let common: fn(u64) -> bool = $common;
                common(address)
            }
            #[inline(always)]
            fn is_global(address: u64) -> bool {
                let global: fn(u64) -> bool = $global;
                global(address)
            }
            #[inline(always)]
            fn locate(
                $x: &Exec<'_>,
                $warp: usize,
                $lane: usize,
                $address: u64,
                $bytes: u64,
            ) -> Option<MemoryLocation> {
                $place
            }
        }
    };
}

space!(Global, 0, common: |_| true, global: |_| true, |_x, _warp, _lane, address, _bytes| {
    Some(MemoryLocation::Global(address))
});
// An address of another CTA is far outside.
space!(Shared, SHARED_WINDOW, common: |_| true, global: |_| false, |x, _warp, _lane, address, _bytes| {
    Some(MemoryLocation::Own(address.wrapping_sub(x.shared_base) as usize))
});
space!(Cluster, SHARED_WINDOW, common: |_| true, global: |_| false, |x, warp, lane, address, bytes| {
    let rank = address >> RANK_SHIFT;
    if rank == x.shared_base >> RANK_SHIFT {
        return Shared::locate(x, warp, lane, address, bytes);
    }
    let base = crate::common::shared_base(rank as u32, x.grid.shared_start);
    Some(MemoryLocation::Peer(rank as usize, address.wrapping_sub(base) as usize))
});
space!(Local, LOCAL_WINDOW, common: |_| false, global: |_| false, |x, warp, lane, address, bytes| {
    Some(MemoryLocation::Local(x.local_range(warp, lane, address, bytes)?.start))
});
space!(Param, PARAM_WINDOW, common: |_| true, global: |_| false, |_x, _warp, _lane, address, _bytes| {
    Some(MemoryLocation::Param(address as usize))
});
space!(
    Generic, 0,
    common: |address| !matches!(resolve(address), Resolved::Local(_)),
    global: |address| matches!(resolve(address), Resolved::Global(_)),
    |x, warp, lane, address, bytes| match resolve(address) {
        Resolved::Global(address) => Global::locate(x, warp, lane, address, bytes),
        Resolved::Shared(address) => Cluster::locate(x, warp, lane, address, bytes),
        Resolved::Local(address) => Local::locate(x, warp, lane, address, bytes),
        Resolved::Param(address) => Param::locate(x, warp, lane, address, bytes),
    }
);

/// [`AddOffset`].
pub(crate) fn add_offset(x: &mut Exec<'_>, op: &AddOffset, pc: u32) -> u32 {
    x.files.s[op.d.index()] = x.files.s[op.a.index()].wrapping_add(op.offset.0);
    pc + 1
}
