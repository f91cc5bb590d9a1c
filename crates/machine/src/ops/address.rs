//! Addresses of a memory operation, and the state spaces that they lead into.

use super::Op;
use crate::exec::{Exec, Resolved, resolve};
use crate::lanes::LANES;
use crate::memory::{AtomicCell, Cell, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use std::ops::Range;

/// [`Op::y`] of a memory operation: where the base address in [`Op::a`] comes from.
pub(crate) mod base {
    /// A scalar: all lanes access one address.
    pub(crate) const SCALAR: u32 = 0;
    /// A 64-bit plane.
    pub(crate) const WIDE: u32 = 1;
    /// A 32-bit plane (shared, local and parameter addresses).
    pub(crate) const NARROW: u32 = 2;
    /// Mask of the above.
    pub(crate) const KIND: u32 = 3;
    /// The address shape is known from the program: lane after lane, without a gap. Only the first and the last lane
    /// are compared, since 32-bit arithmetic that wraps between them is all that can still break it.
    pub(crate) const CONTIGUOUS: u32 = 1 << 2;
    /// The same in each row of [`super::ROW`] lanes.
    pub(crate) const ROWS_CONTIGUOUS: u32 = 1 << 3;
    /// Each row of [`super::ROW`] lanes, or the warp, has one address.
    pub(crate) const ROWS_UNIFORM: u32 = 1 << 4;
    /// Mask of the known shapes.
    pub(crate) const SHAPE: u32 = CONTIGUOUS | ROWS_CONTIGUOUS | ROWS_UNIFORM;
}

/// Lanes of a row: in blocks of 16 threads by so many a warp has two, and tiles are often that wide.
pub(crate) const ROW: usize = 16;

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

/// Reads the addresses of a warp; [`Op::imm`] is the offset.
#[inline(always)]
pub(crate) fn addresses(x: &Exec<'_>, op: &Op, warp: usize) -> Addresses {
    let index = op.a as usize;
    match op.y & base::KIND {
        base::SCALAR => Addresses::Uniform(x.files.s[index].wrapping_add(op.imm)),
        base::WIDE => {
            let mut lanes = x.files.d[index + warp].0;
            for lane in &mut lanes {
                *lane = lane.wrapping_add(op.imm);
            }
            Addresses::Lanes(lanes)
        }
        _ => {
            let plane = &x.files.w[index + warp].0;
            let mut lanes = [0; LANES];
            for l in 0..LANES {
                lanes[l] = u64::from(plane[l].wrapping_add(op.imm as u32));
            }
            Addresses::Lanes(lanes)
        }
    }
}

/// Whether the lanes access `bytes` each, one after the other.
#[inline(always)]
pub(crate) fn contiguous(lanes: &[u64; LANES], bytes: u64, op: &Op) -> bool {
    let first = lanes[0];
    if lanes[LANES - 1].wrapping_sub(first) != bytes * (LANES as u64 - 1) {
        return false;
    }
    if op.y & base::SHAPE == base::CONTIGUOUS {
        return true;
    }
    let mut differs = 0;
    for l in 0..LANES {
        differs |= lanes[l].wrapping_sub(first) ^ (bytes * l as u64);
    }
    differs == 0
}

/// The address of one lane.
#[inline(always)]
pub(crate) fn lane_address(x: &Exec<'_>, op: &Op, warp: usize, lane: usize) -> u64 {
    let index = op.a as usize;
    match op.y & base::KIND {
        base::SCALAR => x.files.s[index].wrapping_add(op.imm),
        base::WIDE => x.files.d[index + warp].0[lane].wrapping_add(op.imm),
        _ => u64::from(x.files.w[index + warp].0[lane].wrapping_add(op.imm as u32)),
    }
}

/// The address of lane `first`, if the `N` lanes from there access `bytes` each, one after the other. The program says
/// that they do, so their ends tell.
#[inline(always)]
pub(crate) fn known_block<const N: usize>(
    x: &Exec<'_>,
    op: &Op,
    warp: usize,
    first: usize,
    bytes: u64,
) -> Option<u64> {
    let start = lane_address(x, op, warp, first);
    let end = lane_address(x, op, warp, first + N - 1);
    (end.wrapping_sub(start) == bytes * (N as u64 - 1)).then_some(start)
}

/// A state space as memory operations see it. `None` and `false` mean that the address is not valid there.
pub(crate) trait Space: 'static {
    /// What an address of this space becomes a generic address by.
    const WINDOW: u64;
    /// Whether all lanes that access `address` access the same bytes; local memory is each thread's own.
    fn is_common(address: u64) -> bool;
    /// Whether an address leads to global memory, whose atomics are executed elsewhere than those of shared memory.
    fn is_global(address: u64) -> bool;
    /// Loads one cell.
    fn load<M: Cell>(x: &Exec<'_>, warp: usize, lane: usize, address: u64) -> Option<M>;
    /// Stores one cell.
    fn store<M: Cell>(x: &mut Exec<'_>, warp: usize, lane: usize, address: u64, value: M) -> Option<()>;
    /// Replaces a cell's value in one indivisible step and returns the old one.
    fn update<M: Cell + PartialEq>(
        x: &mut Exec<'_>,
        warp: usize,
        lane: usize,
        address: u64,
        new: impl Fn(M) -> M,
    ) -> Option<M>;
    /// Loads consecutive cells at once; `false` if that is not possible here, which need not be a fault.
    fn load_block<M: Cell>(x: &Exec<'_>, address: u64, into: &mut [M]) -> bool;
    /// The same for as many as an array holds.
    fn load_array<M: Cell, const N: usize>(x: &Exec<'_>, address: u64) -> Option<[M; N]> {
        let mut cells = [M::zeroed(); N];
        Self::load_block(x, address, &mut cells).then_some(cells)
    }
    /// Stores consecutive cells at once; `false` if that is not possible here, which need not be a fault.
    fn store_block<M: Cell>(x: &mut Exec<'_>, address: u64, from: &[M]) -> bool;
}

/// `.global` and `.const`.
pub(crate) struct Global;
/// `.shared`.
pub(crate) struct Shared;
/// `.local`, and `.param` of device functions and call sites.
pub(crate) struct Local;
/// `.param` of an entry.
pub(crate) struct Param;
/// No state space: any of the above by address.
pub(crate) struct Generic;

impl Space for Global {
    #[inline(always)]
    fn is_global(_: u64) -> bool {
        true
    }
    const WINDOW: u64 = 0;
    #[inline(always)]
    fn is_common(_: u64) -> bool {
        true
    }
    #[inline(always)]
    fn load<M: Cell>(x: &Exec<'_>, _: usize, _: usize, address: u64) -> Option<M> {
        x.grid.memory.cell::<M>(address).map(AtomicCell::load_relaxed)
    }
    #[inline(always)]
    fn store<M: Cell>(x: &mut Exec<'_>, _: usize, _: usize, address: u64, value: M) -> Option<()> {
        x.grid.memory.cell::<M>(address).map(|cell| cell.store_relaxed(value))
    }
    #[inline(always)]
    fn update<M: Cell + PartialEq>(
        x: &mut Exec<'_>,
        _: usize,
        _: usize,
        address: u64,
        new: impl Fn(M) -> M,
    ) -> Option<M> {
        let cell = x.grid.memory.cell::<M>(address)?;
        let mut old = cell.load_relaxed();
        loop {
            match cell.compare_exchange_seq(old, new(old)) {
                Ok(_) => return Some(old),
                Err(now) => old = now,
            }
        }
    }
    #[inline(always)]
    fn load_block<M: Cell>(x: &Exec<'_>, address: u64, into: &mut [M]) -> bool {
        address.is_multiple_of(M::BYTES) && x.grid.memory.read_block(address, bytemuck::cast_slice_mut(into))
    }
    #[inline(always)]
    fn store_block<M: Cell>(x: &mut Exec<'_>, address: u64, from: &[M]) -> bool {
        address.is_multiple_of(M::BYTES) && x.grid.memory.write_block(address, bytemuck::cast_slice(from))
    }
}

/// A cell in a slice of bytes: the range that it occupies if it is inside and aligned.
#[inline(always)]
fn slot<M: Cell>(len: usize, address: u64) -> Option<Range<usize>> {
    let end = address.checked_add(M::BYTES)?;
    (address.is_multiple_of(M::BYTES) && end <= len as u64).then_some(address as usize..end as usize)
}

#[inline(always)]
fn get<M: Cell>(bytes: &[u8], range: Range<usize>) -> M {
    bytemuck::pod_read_unaligned(&bytes[range])
}

#[inline(always)]
fn put<M: Cell>(bytes: &mut [u8], range: Range<usize>, value: M) {
    bytes[range].copy_from_slice(bytemuck::bytes_of(&value));
}

impl Space for Shared {
    #[inline(always)]
    fn is_global(_: u64) -> bool {
        false
    }
    const WINDOW: u64 = SHARED_WINDOW;
    #[inline(always)]
    fn is_common(_: u64) -> bool {
        true
    }
    #[inline(always)]
    fn load<M: Cell>(x: &Exec<'_>, _: usize, _: usize, address: u64) -> Option<M> {
        slot::<M>(x.shared.len(), address).map(|range| get(x.shared, range))
    }
    #[inline(always)]
    fn store<M: Cell>(x: &mut Exec<'_>, _: usize, _: usize, address: u64, value: M) -> Option<()> {
        slot::<M>(x.shared.len(), address).map(|range| put(x.shared, range, value))
    }
    #[inline(always)]
    fn update<M: Cell + PartialEq>(
        x: &mut Exec<'_>,
        _: usize,
        _: usize,
        address: u64,
        new: impl Fn(M) -> M,
    ) -> Option<M> {
        // One host thread runs a CTA, so nobody else sees its shared memory between the two steps.
        let range = slot::<M>(x.shared.len(), address)?;
        let old = get(x.shared, range.clone());
        put(x.shared, range, new(old));
        Some(old)
    }
    #[inline(always)]
    fn load_block<M: Cell>(x: &Exec<'_>, address: u64, into: &mut [M]) -> bool {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(into);
        let start = address as usize;
        match x.shared.get(start..start.saturating_add(bytes.len())) {
            Some(source) if address.is_multiple_of(M::BYTES) => {
                bytes.copy_from_slice(source);
                true
            }
            _ => false,
        }
    }
    #[inline(always)]
    fn store_block<M: Cell>(x: &mut Exec<'_>, address: u64, from: &[M]) -> bool {
        let bytes: &[u8] = bytemuck::cast_slice(from);
        let start = address as usize;
        match x.shared.get_mut(start..start.saturating_add(bytes.len())) {
            Some(target) if address.is_multiple_of(M::BYTES) => {
                target.copy_from_slice(bytes);
                true
            }
            _ => false,
        }
    }
}

impl Space for Local {
    #[inline(always)]
    fn is_global(_: u64) -> bool {
        false
    }
    const WINDOW: u64 = LOCAL_WINDOW;
    #[inline(always)]
    fn is_common(_: u64) -> bool {
        false
    }
    #[inline(always)]
    fn load<M: Cell>(x: &Exec<'_>, warp: usize, lane: usize, address: u64) -> Option<M> {
        let range =
            x.local_range(warp, lane, address, M::BYTES).filter(|_| address.is_multiple_of(M::BYTES))?;
        Some(get(&x.threads.local, range))
    }
    #[inline(always)]
    fn store<M: Cell>(x: &mut Exec<'_>, warp: usize, lane: usize, address: u64, value: M) -> Option<()> {
        let range =
            x.local_range(warp, lane, address, M::BYTES).filter(|_| address.is_multiple_of(M::BYTES))?;
        put(&mut x.threads.local, range, value);
        Some(())
    }
    fn update<M: Cell + PartialEq>(
        x: &mut Exec<'_>,
        warp: usize,
        lane: usize,
        address: u64,
        new: impl Fn(M) -> M,
    ) -> Option<M> {
        let old = Self::load(x, warp, lane, address)?;
        Self::store(x, warp, lane, address, new(old)).map(|()| old)
    }
    fn load_block<M: Cell>(_: &Exec<'_>, _: u64, _: &mut [M]) -> bool {
        false
    }
    fn store_block<M: Cell>(_: &mut Exec<'_>, _: u64, _: &[M]) -> bool {
        false
    }
}

impl Space for Param {
    #[inline(always)]
    fn is_global(_: u64) -> bool {
        false
    }
    const WINDOW: u64 = PARAM_WINDOW;
    #[inline(always)]
    fn is_common(_: u64) -> bool {
        true
    }
    #[inline(always)]
    fn load<M: Cell>(x: &Exec<'_>, _: usize, _: usize, address: u64) -> Option<M> {
        slot::<M>(x.grid.params.len(), address).map(|range| get(x.grid.params, range))
    }
    fn store<M: Cell>(_: &mut Exec<'_>, _: usize, _: usize, _: u64, _: M) -> Option<()> {
        None
    }
    fn update<M: Cell + PartialEq>(
        _: &mut Exec<'_>,
        _: usize,
        _: usize,
        _: u64,
        _: impl Fn(M) -> M,
    ) -> Option<M> {
        None
    }
    fn load_block<M: Cell>(_: &Exec<'_>, _: u64, _: &mut [M]) -> bool {
        false
    }
    fn store_block<M: Cell>(_: &mut Exec<'_>, _: u64, _: &[M]) -> bool {
        false
    }
}

impl Space for Generic {
    #[inline(always)]
    fn is_global(address: u64) -> bool {
        matches!(resolve(address), Resolved::Global(_))
    }
    const WINDOW: u64 = 0;
    #[inline(always)]
    fn is_common(address: u64) -> bool {
        !matches!(resolve(address), Resolved::Local(_))
    }
    #[inline(always)]
    fn load<M: Cell>(x: &Exec<'_>, warp: usize, lane: usize, address: u64) -> Option<M> {
        match resolve(address) {
            Resolved::Global(a) => Global::load(x, warp, lane, a),
            Resolved::Shared(a) => Shared::load(x, warp, lane, a),
            Resolved::Local(a) => Local::load(x, warp, lane, a),
            Resolved::Param(a) => Param::load(x, warp, lane, a),
        }
    }
    #[inline(always)]
    fn store<M: Cell>(x: &mut Exec<'_>, warp: usize, lane: usize, address: u64, value: M) -> Option<()> {
        match resolve(address) {
            Resolved::Global(a) => Global::store(x, warp, lane, a, value),
            Resolved::Shared(a) => Shared::store(x, warp, lane, a, value),
            Resolved::Local(a) => Local::store(x, warp, lane, a, value),
            Resolved::Param(_) => None,
        }
    }
    fn update<M: Cell + PartialEq>(
        x: &mut Exec<'_>,
        warp: usize,
        lane: usize,
        address: u64,
        new: impl Fn(M) -> M,
    ) -> Option<M> {
        match resolve(address) {
            Resolved::Global(a) => Global::update(x, warp, lane, a, new),
            Resolved::Shared(a) => Shared::update(x, warp, lane, a, new),
            Resolved::Local(a) => Local::update(x, warp, lane, a, new),
            Resolved::Param(_) => None,
        }
    }
    #[inline(always)]
    fn load_block<M: Cell>(x: &Exec<'_>, address: u64, into: &mut [M]) -> bool {
        match resolve(address) {
            Resolved::Global(a) => Global::load_block(x, a, into),
            Resolved::Shared(a) => Shared::load_block(x, a, into),
            Resolved::Local(_) | Resolved::Param(_) => false,
        }
    }
    #[inline(always)]
    fn store_block<M: Cell>(x: &mut Exec<'_>, address: u64, from: &[M]) -> bool {
        match resolve(address) {
            Resolved::Global(a) => Global::store_block(x, a, from),
            Resolved::Shared(a) => Shared::store_block(x, a, from),
            Resolved::Local(_) | Resolved::Param(_) => false,
        }
    }
}
