//! Loads and stores in every state space and vector width (PTX ISA, "Data Movement and Conversion": ld, ldu, st).
//!
//! Cache operators, eviction priorities and prefetch sizes do not change values and are gone by now. A load of a
//! narrow type zero- or sign-extends to its register; a store takes the register's low bits.

use super::address::{
    Addresses, Param, Space, addresses, common, contiguous, in_space, known_block, known_pack, lane_address,
};
use super::body::{Body, function, plain, select};
use super::order::{LANE_BY_LANE, group, in_store_order, winner};
use crate::exec::Exec;
use crate::fault::Access;
use crate::image::Function;
use crate::lanes::simd::{Level, Simd};
use crate::lanes::{LANES, Lane};
use crate::memory::{Cell, SpaceKind};
use crate::operation::kinds::{Load, LoadPair, LoadParameter, LoadVector, Store, StorePair, StoreVector};
use crate::operation::{Address, Pattern, ROW};
use std::marker::PhantomData;

/// The longest vector: `.v8` of 32-bit elements.
const MAX_ELEMENTS: usize = 8;

/// A memory cell's value in a register.
pub(crate) trait Extend<R: Lane>: Cell {
    fn zero_extend(self) -> R;
    fn sign_extend(self) -> R;
    fn truncate(register: R) -> Self;
}

macro_rules! extend {
    ($($m:ty, $signed:ty => $($r:ty)*);* $(;)?) => {$($(
        impl Extend<$r> for $m {
            #[inline(always)]
            fn zero_extend(self) -> $r { self as $r }
            #[inline(always)]
            fn sign_extend(self) -> $r { self as $signed as $r }
            #[inline(always)]
            fn truncate(register: $r) -> Self { register as $m }
        }
    )*)*};
}
extend! { u8, i8 => u16 u32 u64; u16, i16 => u16 u32 u64; u32, i32 => u32 u64; u64, i64 => u64; }

struct LoadBody<P, M, R, const SIGNED: bool>(PhantomData<(P, M, R)>);

impl<P: Space, M: Extend<R>, R: Lane, const SIGNED: bool> LoadBody<P, M, R, SIGNED> {
    #[inline(always)]
    fn register(cell: M) -> R {
        if SIGNED { cell.sign_extend() } else { cell.zero_extend() }
    }
}

impl<P: Space, M: Extend<R>, R: Lane + Cell, const SIGNED: bool> Body for LoadBody<P, M, R, SIGNED> {
    type Fields = Load;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Load, pc: u32) -> u32 {
        if M::BYTES * 8 == R::BITS.into()
            && known_row(x, op.address, op.pattern, R::BYTES)
                .is_some_and(|start| P::load_planes::<R>(x, start, op.d))
        {
            return pc + 1;
        }
        for warp in 0..x.warps {
            let mask = x.mask[warp];
            if mask == 0 {
                continue;
            }
            if mask == !0
                && let Some([low, high]) = load_known::<P, M>(x, op, warp)
            {
                let plane = &mut R::planes_mut(&mut x.files)[op.d.index() + warp].0;
                for l in 0..ROW {
                    plane[l] = Self::register(low[l]);
                }
                for l in 0..ROW {
                    plane[ROW + l] = Self::register(high[l]);
                }
                continue;
            }
            let mut result = [R::default(); LANES];
            if let Some([low, high]) = load_some::<P, M>(x, op, warp) {
                for l in 0..ROW {
                    (result[l], result[ROW + l]) = (Self::register(low[l]), Self::register(high[l]));
                }
                x.store_plane::<I, R>(op.d, warp, result);
                continue;
            }
            let lanes = match addresses(x, op.address, warp) {
                Addresses::Uniform(address) => [address; LANES],
                Addresses::Lanes(lanes) => lanes,
            };
            let reached = active(mask, &lanes);
            // What a loop advances for all lanes alike is not known to be the same in them until they have it.
            if let Some(address) = common(&reached).filter(|&address| P::is_common(address)) {
                let lane = mask.trailing_zeros() as usize;
                match P::load::<M>(x, warp, lane, address) {
                    Some(cell) => result = [Self::register(cell); LANES],
                    None => return bad::<P>(x, warp, lane, address, M::BYTES, Access::Load),
                }
            } else {
                let mut cells = [M::zeroed(); LANES];
                let whole = mask == !0
                    && contiguous(&lanes, M::BYTES, op.pattern)
                    && P::load_block(x, lanes[0], &mut cells);
                let near = if whole { Some(cells) } else { P::load_lanes(x, &reached) };
                if let Some(near) = near {
                    cells = near;
                } else {
                    let mut rest = mask;
                    while rest != 0 {
                        let l = rest.trailing_zeros() as usize;
                        rest &= rest - 1;
                        match P::load::<M>(x, warp, l, lanes[l]) {
                            Some(cell) => cells[l] = cell,
                            None => return bad::<P>(x, warp, l, lanes[l], M::BYTES, Access::Load),
                        }
                    }
                }
                for l in 0..LANES {
                    result[l] = Self::register(cells[l]);
                }
            }
            if mask == !0 {
                R::planes_mut(&mut x.files)[op.d.index() + warp].0 = result;
            } else {
                x.store_plane::<I, R>(op.d, warp, result);
            }
        }
        pc + 1
    }
}

/// The addresses of a warp, where a lane that is not active has that of one that is.
#[inline(always)]
fn active(mask: u32, lanes: &[u64; LANES]) -> [u64; LANES] {
    if mask == !0 {
        return *lanes;
    }
    let any = lanes[mask.trailing_zeros() as usize % LANES];
    let mut addresses = [any; LANES];
    for l in 0..LANES {
        addresses[l] = if mask >> l & 1 != 0 { lanes[l] } else { any };
    }
    addresses
}

/// The address at which a full pack accesses one row of memory, `bytes` a lane.
#[inline(always)]
fn known_row(x: &Exec<'_>, address: Address, pattern: Pattern, bytes: u64) -> Option<u64> {
    let whole = x.full && pattern == Pattern::Contiguous;
    if whole { known_pack(x, address, bytes) } else { None }
}

/// Loads a full warp whose address shape the program tells, in two rows; `None` if it is not so after all, or faults.
#[inline(always)]
fn load_known<P: Space, M: Cell>(x: &Exec<'_>, op: &Load, warp: usize) -> Option<[[M; ROW]; 2]> {
    match op.pattern {
        Pattern::Contiguous => {
            let start = known_block::<LANES>(x, op.address, warp, 0, M::BYTES)?;
            let second = start.wrapping_add(M::BYTES * ROW as u64);
            Some([P::load_array::<M, ROW>(x, start)?, P::load_array::<M, ROW>(x, second)?])
        }
        Pattern::RowsContiguous => {
            let low = known_block::<ROW>(x, op.address, warp, 0, M::BYTES)?;
            let high = known_block::<ROW>(x, op.address, warp, ROW, M::BYTES)?;
            Some([P::load_array::<M, ROW>(x, low)?, P::load_array::<M, ROW>(x, high)?])
        }
        Pattern::RowsUniform => {
            let (low, high) = (lane_address(x, op.address, warp, 0), lane_address(x, op.address, warp, ROW));
            if !P::is_common(low) || !P::is_common(high) {
                return None;
            }
            let cells = [P::load::<M>(x, warp, 0, low)?, P::load::<M>(x, warp, ROW, high)?];
            Some([[cells[0]; ROW], [cells[1]; ROW]])
        }
        _ => None,
    }
}

/// The same for a warp of which only some lanes are active: what the others would access is loaded, too, if it can be. Their own registers tell
/// nothing, as they may be from another round of a loop.
#[inline(always)]
fn load_some<P: Space, M: Cell>(x: &Exec<'_>, op: &Load, warp: usize) -> Option<[[M; ROW]; 2]> {
    let mask = x.mask[warp];
    if op.pattern != Pattern::Contiguous || mask == !0 {
        return None;
    }
    let (first, last) = (mask.trailing_zeros() as usize, LANES - 1 - mask.leading_zeros() as usize);
    let from = lane_address(x, op.address, warp, first);
    let to = lane_address(x, op.address, warp, last);
    if to.wrapping_sub(from) != M::BYTES * (last - first) as u64 {
        return None;
    }
    let start = from.wrapping_sub(M::BYTES * first as u64);
    let second = start.wrapping_add(M::BYTES * ROW as u64);
    Some([P::load_array::<M, ROW>(x, start)?, P::load_array::<M, ROW>(x, second)?])
}

/// The address of the vector that a lane accesses, if it is aligned to its size.
fn aligned(address: u64, bytes: u64) -> Option<u64> {
    address.is_multiple_of(bytes).then_some(address)
}

struct LoadVectorBody<P, M, R, const SIGNED: bool>(PhantomData<(P, M, R)>);

impl<P: Space, M: Extend<R>, R: Lane, const SIGNED: bool> Body for LoadVectorBody<P, M, R, SIGNED> {
    type Fields = LoadVector;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &LoadVector, pc: u32) -> u32 {
        let planes = x.grid.image.planes(op.d);
        let n = planes.len();
        let bytes = M::BYTES * n as u64;
        for warp in 0..x.warps {
            let mask = x.mask[warp];
            if mask == 0 {
                continue;
            }
            let mut cells = [M::zeroed(); LANES * MAX_ELEMENTS];
            let lanes = addresses(x, op.address, warp).lanes();
            let reached = common(&active(mask, &lanes));
            if let Some(address) = reached.filter(|&a| P::is_common(a) && a.is_multiple_of(bytes)) {
                let lane = mask.trailing_zeros() as usize;
                for (e, &d) in planes.iter().enumerate() {
                    match P::load::<M>(x, warp, lane, address.wrapping_add(M::BYTES * e as u64)) {
                        Some(cell) => cells[e] = cell,
                        None => return bad::<P>(x, warp, lane, address, bytes, Access::Load),
                    }
                    if let Some(d) = d {
                        let cell = cells[e];
                        let value = if SIGNED { cell.sign_extend() } else { cell.zero_extend() };
                        x.store_plane::<I, R>(d, warp, [value; LANES]);
                    }
                }
                continue;
            }
            let whole = mask == !0
                && lanes[0].is_multiple_of(bytes)
                && contiguous(&lanes, bytes, op.pattern)
                && P::load_block(x, lanes[0], &mut cells[..LANES * n]);
            if !whole {
                let mut rest = mask;
                while rest != 0 {
                    let l = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    for e in 0..n {
                        let address = aligned(lanes[l], bytes).map(|a| a.wrapping_add(M::BYTES * e as u64));
                        match address.and_then(|a| P::load::<M>(x, warp, l, a)) {
                            Some(cell) => cells[l * n + e] = cell,
                            None => return bad::<P>(x, warp, l, lanes[l], bytes, Access::Load),
                        }
                    }
                }
            }
            for (e, &d) in planes.iter().enumerate() {
                if let Some(d) = d {
                    let mut result = [R::default(); LANES];
                    for l in 0..LANES {
                        let cell = cells[l * n + e];
                        result[l] = if SIGNED { cell.sign_extend() } else { cell.zero_extend() };
                    }
                    x.store_plane::<I, R>(d, warp, result);
                }
            }
        }
        pc + 1
    }
}

/// Stores a full warp whose address shape the program tells; `false` if it is not so after all, or faults. Rows that
/// were stored before one that could not be are stored again by the caller, with the same values.
#[inline(always)]
fn store_known<P: Space, M: Cell>(x: &mut Exec<'_>, op: &Store, warp: usize, cells: &[M; LANES]) -> bool {
    match op.pattern {
        Pattern::Contiguous => match known_block::<LANES>(x, op.address, warp, 0, M::BYTES) {
            Some(address) => P::store_block(x, address, cells),
            None => false,
        },
        Pattern::RowsContiguous => {
            store_row::<P, M>(x, op, warp, cells, 0) && store_row::<P, M>(x, op, warp, cells, ROW)
        }
        Pattern::RowsUniform if !op.in_turn => {
            let rows = if group(M::BYTES) > ROW { [ROW, 0] } else { [0, ROW] };
            rows.into_iter().all(|first| {
                let (address, lane) =
                    (lane_address(x, op.address, warp, first), winner(0xffff << first, M::BYTES));
                P::is_common(address) && P::store::<M>(x, warp, lane, address, cells[lane]).is_some()
            })
        }
        _ => false,
    }
}

/// The row of it that begins with lane `first`.
#[inline(always)]
fn store_row<P: Space, M: Cell>(
    x: &mut Exec<'_>,
    op: &Store,
    warp: usize,
    cells: &[M; LANES],
    first: usize,
) -> bool {
    match known_block::<ROW>(x, op.address, warp, first, M::BYTES) {
        Some(address) => P::store_block(x, address, &cells[first..first + ROW]),
        None => false,
    }
}

/// What decides on the order of the lanes: the bytes that each stores.
#[inline(always)]
fn order_of(in_turn: bool, bytes: u64) -> u64 {
    if in_turn { LANE_BY_LANE } else { bytes }
}

struct StoreBody<P, M, R>(PhantomData<(P, M, R)>);

impl<P: Space, M: Extend<R>, R: Lane + Cell> Body for StoreBody<P, M, R> {
    type Fields = Store;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Store, pc: u32) -> u32 {
        if M::BYTES * 8 == R::BITS.into()
            && known_row(x, op.address, op.pattern, R::BYTES)
                .is_some_and(|start| P::store_planes::<R>(x, start, op.a))
        {
            return pc + 1;
        }
        for warp in 0..x.warps {
            let mask = x.mask[warp];
            if mask == 0 {
                continue;
            }
            let mut cells = [M::zeroed(); LANES];
            let registers = &R::planes(&x.files)[op.a.index() + warp].0;
            for l in 0..LANES {
                cells[l] = M::truncate(registers[l]);
            }
            if mask == !0 && store_known::<P, M>(x, op, warp, &cells) {
                continue;
            }
            let lanes = match addresses(x, op.address, warp) {
                Addresses::Uniform(address) if P::is_common(address) => {
                    let lane = winner(mask, order_of(op.in_turn, M::BYTES));
                    if P::store::<M>(x, warp, lane, address, cells[lane]).is_none() {
                        let first = mask.trailing_zeros() as usize;
                        return bad::<P>(x, warp, first, address, M::BYTES, Access::Store);
                    }
                    continue;
                }
                scattered => scattered.lanes(),
            };
            let mut order = in_store_order(mask, order_of(op.in_turn, M::BYTES));
            let whole = mask == !0
                && (contiguous(&lanes, M::BYTES, op.pattern) && P::store_block(x, lanes[0], &cells)
                    || P::store_lanes(
                        x,
                        &lanes,
                        &cells,
                        in_store_order(mask, order_of(op.in_turn, M::BYTES)),
                    ));
            if !whole && !order.all(|l| P::store(x, warp, l, lanes[l], cells[l]).is_some()) {
                return bad_store::<P, M>(x, warp, &lanes, &cells, 1);
            }
        }
        pc + 1
    }
}

struct StoreVectorBody<P, M, R>(PhantomData<(P, M, R)>);

impl<P: Space, M: Extend<R>, R: Lane> Body for StoreVectorBody<P, M, R> {
    type Fields = StoreVector;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &StoreVector, pc: u32) -> u32 {
        let planes = x.grid.image.planes(op.a);
        let n = planes.len();
        let bytes = M::BYTES * n as u64;
        for warp in 0..x.warps {
            let mask = x.mask[warp];
            if mask == 0 {
                continue;
            }
            let mut cells = [M::zeroed(); LANES * MAX_ELEMENTS];
            for (e, source) in planes.iter().enumerate().filter_map(|(e, plane)| Some((e, (*plane)?))) {
                let registers = &R::planes(&x.files)[source.index() + warp].0;
                for l in 0..LANES {
                    cells[l * n + e] = M::truncate(registers[l]);
                }
            }
            let lanes = addresses(x, op.address, warp).lanes();
            let whole = mask == !0
                && lanes[0].is_multiple_of(bytes)
                && contiguous(&lanes, bytes, op.pattern)
                && P::store_block(x, lanes[0], &cells[..LANES * n]);
            let vector = |l: usize| &cells[l * n..][..n];
            let mut order = in_store_order(mask, order_of(op.in_turn, bytes));
            if !whole && !order.all(|l| store_vector::<P, M>(x, warp, l, lanes[l], vector(l))) {
                return bad_store::<P, M>(x, warp, &lanes, &cells, n);
            }
        }
        pc + 1
    }
}

/// The vector of one lane; `false` if its address is not valid.
#[inline(always)]
fn store_vector<P: Space, M: Cell>(
    x: &mut Exec<'_>,
    warp: usize,
    lane: usize,
    address: u64,
    cells: &[M],
) -> bool {
    aligned(address, M::BYTES * cells.len() as u64).is_some()
        && cells.iter().enumerate().all(|(e, &cell)| {
            P::store(x, warp, lane, address.wrapping_add(M::BYTES * e as u64), cell).is_some()
        })
}

/// The fault of the lowest lane that cannot store its `n` cells, after those below it have.
#[cold]
fn bad_store<P: Space, M: Cell>(
    x: &mut Exec<'_>,
    warp: usize,
    lanes: &[u64; LANES],
    cells: &[M],
    n: usize,
) -> u32 {
    let mask = x.mask[warp];
    let mut fails = |l: usize| !store_vector::<P, M>(x, warp, l, lanes[l], &cells[l * n..][..n]);
    let lane = (0..LANES).find(|&l| mask >> l & 1 != 0 && fails(l)).unwrap_or_default();
    bad::<P>(x, warp, lane, lanes[lane], M::BYTES * n as u64, Access::Store)
}

/// One cell of 128 bits, in one step.
fn load_pair<P: Space>(x: &mut Exec<'_>, op: &LoadPair, pc: u32) -> u32 {
    for (warp, lane) in x.active_lanes() {
        let address = lane_address(x, op.address, warp, lane);
        let Some(cell) = P::load::<u128>(x, warp, lane, address) else {
            return bad::<P>(x, warp, lane, address, 16, Access::Load);
        };
        for (plane, half) in [(op.low, cell as u64), (op.high, (cell >> 64) as u64)] {
            x.files.d[plane.index() + warp].0[lane] = half;
        }
    }
    pc + 1
}

fn store_pair<P: Space>(x: &mut Exec<'_>, op: &StorePair, pc: u32) -> u32 {
    for warp in 0..x.warps {
        let [low, high] = [op.low, op.high].map(|plane| x.files.d[plane.index() + warp].0);
        let cells: [u128; LANES] = std::array::from_fn(|l| u128::from(low[l]) | u128::from(high[l]) << 64);
        let lanes = addresses(x, op.address, warp).lanes();
        let mut order = in_store_order(x.mask[warp], u128::BYTES);
        if !order.all(|l| P::store(x, warp, l, lanes[l], cells[l]).is_some()) {
            return bad_store::<P, u128>(x, warp, &lanes, &cells, 1);
        }
    }
    pc + 1
}

/// The load of one element of 128 bits.
pub(crate) fn pair_load(space: SpaceKind) -> Function<LoadPair> {
    in_space!(space, P => function!(load_pair::<P>))
}

/// The store of one element of 128 bits.
pub(crate) fn pair_store(space: SpaceKind) -> Function<StorePair> {
    in_space!(space, P => function!(store_pair::<P>))
}

#[cold]
fn bad<P: Space>(
    x: &mut Exec<'_>,
    warp: usize,
    lane: usize,
    address: u64,
    bytes: u64,
    access: Access,
) -> u32 {
    let trap = x.bad_access(address.wrapping_add(P::WINDOW), bytes, access);
    x.raise(warp, lane, trap)
}

/// A kernel parameter, the same for all threads, zero-extended.
fn load_parameter<M: Cell + Into<u64>>(x: &mut Exec<'_>, op: &LoadParameter, pc: u32) -> u32 {
    let offset = lane_address(x, op.address, 0, 0);
    match Param::load::<M>(x, 0, 0, offset) {
        Some(cell) => x.files.s[op.d.index()] = cell.into(),
        None => {
            return x.raise_first(x.bad_access(Param::WINDOW.wrapping_add(offset), M::BYTES, Access::Load));
        }
    }
    pc + 1
}

/// The load of a kernel parameter of `bytes` into a scalar.
pub(crate) fn parameter(bytes: u32) -> Option<Function<LoadParameter>> {
    Some(match bytes {
        1 => function!(load_parameter::<u8>),
        2 => function!(load_parameter::<u16>),
        4 => function!(load_parameter::<u32>),
        8 => function!(load_parameter::<u64>),
        _ => return None,
    })
}

/// What a memory operation moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) space: SpaceKind,
    /// Bits of the element in memory.
    pub(crate) memory: u32,
    /// Bits of the register's plane: 16, 32 or 64.
    pub(crate) register: u32,
}

/// The functions of kind `F`, one for each space, element and register.
pub(crate) trait Pick<F> {
    fn pick<P: Space, M: Extend<R>, R: Lane + Cell>(self, level: Level) -> Function<F>;
}

/// Loads, which may sign-extend.
pub(crate) struct Loads {
    pub(crate) signed: bool,
}

impl Pick<Load> for Loads {
    fn pick<P: Space, M: Extend<R>, R: Lane + Cell>(self, level: Level) -> Function<Load> {
        if self.signed {
            plain::<LoadBody<P, M, R, true>>()
        } else {
            select::<LoadBody<P, M, R, false>>(level)
        }
    }
}

impl Pick<LoadVector> for Loads {
    fn pick<P: Space, M: Extend<R>, R: Lane + Cell>(self, level: Level) -> Function<LoadVector> {
        match self.signed {
            true => plain::<LoadVectorBody<P, M, R, true>>(),
            false => select::<LoadVectorBody<P, M, R, false>>(level),
        }
    }
}

/// Stores.
pub(crate) struct Stores;

impl Pick<Store> for Stores {
    fn pick<P: Space, M: Extend<R>, R: Lane + Cell>(self, level: Level) -> Function<Store> {
        select::<StoreBody<P, M, R>>(level)
    }
}

impl Pick<StoreVector> for Stores {
    fn pick<P: Space, M: Extend<R>, R: Lane + Cell>(self, level: Level) -> Function<StoreVector> {
        select::<StoreVectorBody<P, M, R>>(level)
    }
}

fn by_width<P: Space, F>(transfer: Transfer, pick: impl Pick<F>, level: Level) -> Option<Function<F>> {
    Some(match (transfer.memory, transfer.register) {
        (8, 16) => pick.pick::<P, u8, u16>(level),
        (8, 32) => pick.pick::<P, u8, u32>(level),
        (8, 64) => pick.pick::<P, u8, u64>(level),
        (16, 16) => pick.pick::<P, u16, u16>(level),
        (16, 32) => pick.pick::<P, u16, u32>(level),
        (16, 64) => pick.pick::<P, u16, u64>(level),
        (32, 32) => pick.pick::<P, u32, u32>(level),
        (32, 64) => pick.pick::<P, u32, u64>(level),
        (64, 64) => pick.pick::<P, u64, u64>(level),
        _ => return None,
    })
}

/// The function for a transfer, if registers of that width can hold its elements.
pub(crate) fn transfer<F>(transfer: Transfer, pick: impl Pick<F>, level: Level) -> Option<Function<F>> {
    // What is rare has no copy for each level.
    let level = match transfer.space {
        SpaceKind::Cluster | SpaceKind::Param => Level::Baseline,
        SpaceKind::Global | SpaceKind::Shared | SpaceKind::Local | SpaceKind::Generic => level,
    };
    in_space!(transfer.space, P => by_width::<P, F>(transfer, pick, level))
}
