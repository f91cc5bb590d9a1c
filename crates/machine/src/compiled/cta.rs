//! What the machine does for the compiled code of a CTA: it has the CTA's memory, and accesses it as the interpreter does.

use super::host::Host;
use super::interpret::Plan;
use crate::common::Common;
use crate::exec::{Exec, Grid};
use crate::fault::{Access, Trap};
use crate::lanes::{Files, LANES, Lane};
use crate::memory::{Cell, SHARED_WINDOW, SpaceKind};
use crate::ops::address::{Space, in_space};
use crate::ops::combine::{Cas16, Cas32, Cas64, Rmw, Use, function};
use crate::ops::order::in_store_order;
use crate::run::pack::{Pack, Position};
use ir::instruction::AtomOp;
use ptx::types::ScalarType;
use std::ops::Range;

/// A row of accesses: by threads of one warp, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The instruction of the kernel's body.
    pub instruction: u32,
    /// The number of the first thread in the CTA.
    pub first: u32,
    /// Which of the threads access.
    pub mask: u32,
    /// Their addresses.
    pub addresses: &'a [u64],
    /// The memory that they are addresses of.
    pub space: SpaceKind,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Elements that each thread accesses.
    pub elements: usize,
}

/// A trap, and which thread of a row ran into it.
pub type RowTrap = (usize, Trap);

/// A CTA as compiled code sees it; one after the other in the same place.
pub struct Cta<'a> {
    pub(super) grid: &'a Grid<'a>,
    pub(super) host: &'a dyn Host,
    /// Their threads have local memory, and a frame for what [`Cta::interpret`] executes.
    pub(super) packs: Vec<Pack>,
    /// The frame of each pack, if its threads have begun.
    frames: Vec<Option<usize>>,
    /// What is known of instructions that were interpreted before.
    pub(super) plans: Vec<Option<Box<Plan>>>,
    pub(super) common: Common,
    /// `%ctaid`: the first two components in one word, as they are written and read for every CTA. A processor that is to load what lies
    /// in two stores under way waits until memory has both, behind all that the CTA before has stored.
    ctaid: (u64, u32),
    /// Its number in the grid.
    index: Option<u64>,
    /// CTAs that have exited and are not counted yet among those that grids behind this one wait for.
    exited: u64,
}

macro_rules! of_bytes {
    ($bytes:expr, $m:ident => $e:expr) => {
        match $bytes {
            1 => {
                type $m = u8;
                $e
            }
            2 => {
                type $m = u16;
                $e
            }
            4 => {
                type $m = u32;
                $e
            }
            _ => {
                type $m = u64;
                $e
            }
        }
    };
}

impl<'a> Cta<'a> {
    pub(super) fn new(grid: &'a Grid<'a>, host: &'a dyn Host) -> Self {
        let packs = (0..grid.warps()).step_by(grid.image.warps);
        Self {
            grid,
            host,
            packs: packs.clone().map(|first_warp| Pack::new(grid, first_warp)).collect(),
            frames: packs.map(|_| None).collect(),
            plans: Vec::new(),
            common: Common::new(1, grid.threads() as u32, grid.shared_start, grid.shared_end),
            ctaid: (0, 0),
            index: None,
            exited: 0,
        }
    }

    /// Puts the threads of the CTA with this index in the grid at the kernel's entry.
    pub(super) fn begin(&mut self, index: u64) {
        let [gx, gy, _] = self.grid.grid;
        let [x, y, z] = self.ctaid();
        // Mostly it is the next one, which takes no divisions.
        let [x, y, z] = match self.index.map(|last| index.wrapping_sub(last)) {
            Some(1) if x + 1 < gx => [x + 1, y, z],
            Some(1) if y + 1 < gy => [0, y + 1, z],
            Some(1) => [0, 0, z + 1],
            _ => {
                let [gx, gy] = [gx, gy].map(u64::from);
                [index % gx, index / gx % gy, index / (gx * gy)].map(|n| n as u32)
            }
        };
        self.ctaid = (u64::from(x) | u64::from(y) << 32, z);
        self.index = Some(index);
        self.frames.fill(None);
        if self.grid.local != 0 {
            (0..self.packs.len()).for_each(|pack| {
                self.begin_pack(pack);
            });
        }
        self.common.begin();
    }

    /// All threads have exited. Whether they are those of a further CTA now, at the kernel's entry.
    pub fn advance(&mut self) -> bool {
        self.exited += self.grid.dependents.exited(self.ctaid());
        let next = self.host.next();
        next.into_iter().for_each(|index| self.begin(index));
        next.is_some()
    }

    /// How many have exited since this was asked.
    pub(super) fn take_exited(&mut self) -> u64 {
        std::mem::take(&mut self.exited)
    }

    /// Puts the threads of a pack at the kernel's entry, unless they have begun; their frame.
    pub(super) fn begin_pack(&mut self, pack: usize) -> usize {
        let position = Position { ctaid: self.ctaid(), rank: 0, slot: 0 };
        *self.frames[pack].get_or_insert_with(|| {
            self.packs[pack].begin(self.grid, position);
            self.packs[pack].kernel_frame()
        })
    }

    /// `%ctaid`.
    #[inline]
    pub fn ctaid(&self) -> [u32; 3] {
        let (first, z) = self.ctaid;
        [first as u32, (first >> 32) as u32, z]
    }

    /// `%nctaid`.
    pub fn nctaid(&self) -> [u32; 3] {
        self.grid.grid
    }

    /// The kernel's parameters.
    pub fn params(&self) -> &[u8] {
        self.grid.params
    }

    /// The CTA's shared memory.
    #[inline]
    pub fn shared(&mut self) -> &mut [u8] {
        &mut self.common.own
    }

    /// The generic address of its first byte.
    pub fn shared_address(&self) -> u64 {
        SHARED_WINDOW + self.common.base
    }

    /// Bytes of local memory of a thread.
    pub fn local_bytes(&self) -> u32 {
        self.grid.local
    }

    /// The local memory of a thread and of those behind it in its warp, one after the other. Who changes it says so
    /// ([`Cta::note_local_change`]) before the next CTA begins.
    pub fn local(&mut self, thread: u32) -> &mut [u8] {
        let (warp, lane) = (thread as usize / LANES, thread as usize % LANES);
        let warps = self.grid.image.warps;
        let first = (warp % warps * LANES + lane) * self.grid.local as usize;
        self.packs[warp / warps].threads.local.silently(first)
    }

    /// The local memory of a thread's warp has been changed.
    pub fn note_local_change(&mut self, thread: u32) {
        let (warp, warps) = (thread as usize / LANES, self.grid.image.warps);
        self.packs[warp / warps].threads.local.note_change(warp % warps);
    }

    /// The valid bytes of global memory around an address, without a gap: at most so many pages of them on either side.
    /// It holds until [`Cta::revocations`] changes.
    pub fn valid_around(&self, address: u64, most: u64) -> Range<u64> {
        self.grid.memory.valid_around(address, most)
    }

    /// How often bytes of global memory have ceased to be valid.
    #[inline]
    pub fn revocations(&self) -> u64 {
        self.grid.memory.revocations()
    }

    /// Accounts for warp instructions; whether the CTA may go on.
    pub fn spend(&mut self, instructions: u64) -> bool {
        self.host.spend(instructions)
    }

    /// Warp instructions that code may execute before it accounts for them, at least where it loops.
    pub fn allowance(&self) -> u64 {
        self.host.allowance()
    }

    /// The state that the interpreter's accesses work on, and the warp and lane in it of the first thread of a row.
    fn exec<R>(&mut self, row: &Row<'_>, run: impl FnOnce(&mut Exec<'_>, usize, usize) -> R) -> R {
        let (warp, lane) = (row.first as usize / LANES, row.first as usize % LANES);
        let pack = warp / self.grid.image.warps;
        let threads = &mut self.packs[pack].threads;
        let mut x = Exec::new(Files::default(), self.grid, threads, &mut self.common);
        x.at = self.grid.image.first_operation(row.instruction);
        run(&mut x, warp % self.grid.image.warps, lane)
    }

    /// Loads elements, zero-extended: `into` has a list of lanes for each element of a thread.
    ///
    /// # Errors
    /// The first thread of the row whose access is not valid.
    pub fn load(&mut self, row: &Row<'_>, into: &mut [&mut [u64]]) -> Result<(), RowTrap> {
        fn lane<P: Space, M: Cell + Lane>(
            x: &Exec<'_>,
            (warp, lane): (usize, usize),
            address: u64,
            place: usize,
            into: &mut [&mut [u64]],
        ) -> bool {
            let aligned = address.is_multiple_of(M::BYTES * into.len() as u64);
            let mut load = |(e, to): (usize, &mut &mut [u64])| {
                let cell = P::load::<M>(x, warp, lane, address.wrapping_add(M::BYTES * e as u64));
                cell.map(|cell| to[place] = cell.to_scalar()).is_some()
            };
            aligned && into.iter_mut().enumerate().all(&mut load)
        }
        self.exec(row, |x, warp, first| {
            for l in row.lanes() {
                let (at, address) = ((warp, first + l), row.addresses[l]);
                let done = in_space!(row.space, P => match row.bytes {
                    1 => byte::<P>(x, at, address, l, into),
                    2 => lane::<P, u16>(x, at, address, l, into),
                    4 => lane::<P, u32>(x, at, address, l, into),
                    _ => lane::<P, u64>(x, at, address, l, into),
                });
                if !done {
                    return Err(row.bad(x, l, Access::Load));
                }
            }
            Ok(())
        })
    }

    /// Stores the low bits of elements: `from` has a list of lanes for each element of a thread.
    ///
    /// # Errors
    /// The first thread of the row whose access is not valid.
    pub fn store(&mut self, row: &Row<'_>, from: &[&[u64]]) -> Result<(), RowTrap> {
        fn lane<P: Space>(
            x: &mut Exec<'_>,
            (warp, lane): (usize, usize),
            row: &Row<'_>,
            place: usize,
            from: &[&[u64]],
        ) -> bool {
            let address = row.addresses[place];
            let mut store = |(e, from): (usize, &&[u64])| {
                let at = address.wrapping_add(u64::from(row.bytes) * e as u64);
                of_bytes!(row.bytes, M => P::store::<M>(x, warp, lane, at, from[place] as M)).is_some()
            };
            let aligned = address.is_multiple_of(u64::from(row.bytes) * from.len() as u64);
            aligned && from.iter().enumerate().all(&mut store)
        }
        let bytes = u64::from(row.bytes) * row.elements as u64;
        self.exec(row, |x, warp, first| {
            let mask = row.mask << first;
            let mut failed = false;
            for l in in_store_order(mask, bytes) {
                let place = l - first;
                failed |= !in_space!(row.space, P => lane::<P>(x, (warp, l), row, place, from));
            }
            // As on a GPU the first thread is to blame.
            let fails = |&l: &usize, x: &mut Exec<'_>| {
                !in_space!(row.space, P => lane::<P>(x, (warp, first + l), row, l, from))
            };
            match failed.then(|| row.lanes().find(|l| fails(l, x))).flatten() {
                Some(l) => Err(row.bad(x, l, Access::Store)),
                None => Ok(()),
            }
        })
    }

    /// Updates one element of each thread in an indivisible step, in the order of the threads, and gives the old ones.
    ///
    /// # Errors
    /// The first thread of the row whose access is not valid.
    pub fn update(
        &mut self,
        row: &Row<'_>,
        atomic: Atomic,
        b: &[u64],
        c: &[u64],
        old: &mut [u64],
    ) -> Result<(), RowTrap> {
        self.exec(row, |x, warp, first| {
            for l in row.lanes() {
                match (atomic.0)(x, warp, first + l, row.addresses[l], b[l], c[l]) {
                    Some(value) => old[l] = value,
                    None => return Err(row.bad(x, l, Access::Atomic)),
                }
            }
            Ok(())
        })
    }
}

/// A byte of each lane, which no register is as narrow as.
fn byte<P: Space>(
    x: &Exec<'_>,
    (warp, lane): (usize, usize),
    address: u64,
    place: usize,
    into: &mut [&mut [u64]],
) -> bool {
    let aligned = address.is_multiple_of(into.len() as u64);
    let mut load = |(e, to): (usize, &mut &mut [u64])| {
        let cell = P::load::<u8>(x, warp, lane, address.wrapping_add(e as u64));
        cell.map(|cell| to[place] = cell.into()).is_some()
    };
    aligned && into.iter_mut().enumerate().all(&mut load)
}

impl Row<'_> {
    fn lanes(&self) -> impl Iterator<Item = usize> + use<> {
        let mask = self.mask;
        (0..LANES).filter(move |l| mask >> l & 1 != 0)
    }

    fn bad(&self, x: &Exec<'_>, lane: usize, access: Access) -> RowTrap {
        let window = in_space!(self.space, P => P::WINDOW);
        let bytes = u64::from(self.bytes) * self.elements as u64;
        (lane, x.bad_access(self.addresses[lane].wrapping_add(window), bytes, access))
    }
}

type Update = fn(&mut Exec<'_>, usize, usize, u64, u64, u64) -> Option<u64>;

/// What an atomic operation does to an element.
#[derive(Clone, Copy, Debug)]
pub struct Atomic(Update);

/// Functions on single cells of a memory.
struct Cells(SpaceKind);

impl Use for Cells {
    type As = Atomic;
    fn of<F: Rmw>(self) -> Option<Atomic> {
        fn update<P: Space, F: Rmw>(
            x: &mut Exec<'_>,
            warp: usize,
            lane: usize,
            address: u64,
            b: u64,
            c: u64,
        ) -> Option<u64> {
            let (b, c) = (F::M::from_scalar(b), F::M::from_scalar(c));
            let new = |old| F::new(old, b, c, P::is_global(address));
            P::update::<F::M>(x, warp, lane, address, new).map(Lane::to_scalar)
        }
        match self.0 {
            SpaceKind::Local | SpaceKind::Param => None,
            space => Some(Atomic(in_space!(space, P => update::<P, F>))),
        }
    }
}

impl Atomic {
    /// `atom` and `red`, if there is such an operation in this memory.
    pub fn new(op: AtomOp, ty: ScalarType, space: SpaceKind) -> Option<Self> {
        function(op, ty, Cells(space))
    }

    /// `atom.cas`.
    pub fn compare_and_swap(bits: u32, space: SpaceKind) -> Option<Self> {
        match bits {
            16 => Cells(space).of::<Cas16>(),
            32 => Cells(space).of::<Cas32>(),
            64 => Cells(space).of::<Cas64>(),
            _ => None,
        }
    }
}
