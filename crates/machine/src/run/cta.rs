//! A CTA: its packs, its shared memory, its barriers.

use super::barrier::{self, BARRIERS, Barrier};
use super::pack::{FAIR_TURNS, Outcome, Pack};
use crate::exec::{Grid, LaneTrap, Threads};
use crate::lanes::{EMPTY, LANES};
use crate::observe::Watch;
use crate::schedule::{Scheduler, SchedulerKind};

/// Operations after which a CTA that communicates ends its turn, in case it waits for another one.
const WAITING_TURN: i64 = 100_000;

/// A resident CTA.
pub(crate) struct Cta {
    packs: Vec<Pack>,
    /// Packs by their last turn, the longest waiting first.
    order: Vec<usize>,
    shared: Vec<u8>,
    barriers: Vec<Barrier>,
    scheduler: Box<dyn Scheduler>,
    /// Turns given to packs.
    turns: u32,
}

/// What a CTA's turn ended with.
#[derive(Debug)]
pub(crate) enum Turn {
    /// All threads have exited.
    Done,
    /// The turn is over. `waits` if the CTA may be waiting for another one.
    Yielded { waits: bool },
    /// A trap of a pack at an operation.
    Fault { pack: usize, trap: LaneTrap, pc: u32 },
}

impl Cta {
    /// A CTA whose threads stand at the kernel's entry.
    pub(crate) fn new(grid: &Grid<'_>, index: u64, slot: u32, scheduler: SchedulerKind) -> Self {
        let threads = grid.block.iter().map(|&b| b as usize).product::<usize>();
        let warps = threads.div_ceil(LANES);
        let pack_warps = grid.image.warps;
        let packs = (0..warps.div_ceil(pack_warps))
            .map(|p| Pack::new(grid.image, pack_threads(grid, index, slot, p * pack_warps, warps)))
            .collect::<Vec<_>>();
        Self {
            order: (0..packs.len()).collect(),
            packs,
            shared: vec![0; (grid.static_shared + grid.dynamic_shared) as usize],
            barriers: vec![Barrier::new(warps); BARRIERS],
            scheduler: scheduler.instantiate(index),
            turns: 0,
        }
    }

    /// Warp instructions issued so far.
    pub(crate) fn issued(&self) -> u64 {
        self.packs.iter().map(|p| p.issued).sum()
    }

    /// The pack with this number.
    pub(crate) fn pack(&self, index: usize) -> &Pack {
        &self.packs[index]
    }

    /// Runs packs in turn for about `operations` operations.
    pub(crate) fn run<W: Watch>(&mut self, grid: &Grid<'_>, watch: &mut W, operations: i64) -> Turn {
        let mut rest = operations;
        let mut communicated = false;
        let mut blocked = 0;
        loop {
            let runnable = self.order.len();
            if runnable == 0 {
                return Turn::Done;
            }
            if rest <= 0 || communicated && operations - rest > WAITING_TURN {
                return Turn::Yielded { waits: communicated };
            }
            self.turns = self.turns.wrapping_add(1);
            let forced = runnable == 1 || blocked > 0 || self.turns.is_multiple_of(FAIR_TURNS);
            let nth = if forced { 0 } else { self.scheduler.pick(runnable) };
            let index = self.order.remove(nth);
            let quantum = self.scheduler.quantum().min(rest);
            let pack = &mut self.packs[index];
            let before = pack.issued;
            let outcome = pack.run(grid, &mut self.shared, self.scheduler.as_mut(), watch, quantum);
            rest -= (pack.issued - before).max(1) as i64;
            communicated |= pack.communicated;
            match outcome {
                Outcome::Done => {
                    blocked = 0;
                    barrier::release_complete(&mut self.packs, &mut self.barriers, grid.image);
                    continue;
                }
                Outcome::Yielded => blocked = 0,
                Outcome::Barrier => {
                    blocked = 0;
                    let counted = barrier::count_arrivals(pack, &mut self.barriers, grid.image);
                    if let Err((trap, pc)) = counted {
                        return Turn::Fault { pack: index, trap, pc };
                    }
                    barrier::release_complete(&mut self.packs, &mut self.barriers, grid.image);
                }
                Outcome::Blocked => blocked += 1,
                Outcome::Fault(trap, pc) => return Turn::Fault { pack: index, trap, pc },
            }
            self.order.push(index);
            if blocked > self.order.len() {
                // Nobody can move: threads may have exited since the barriers were last looked at; then lanes that
                // wait to reconverge go on alone; and if nothing of that helps, nothing ever will.
                let moved = barrier::release_complete(&mut self.packs, &mut self.barriers, grid.image)
                    || self.packs.iter_mut().any(Pack::release_join);
                if !moved {
                    return self.deadlock();
                }
                blocked = 0;
            }
        }
    }

    fn deadlock(&self) -> Turn {
        for (pack, p) in self.packs.iter().enumerate() {
            if let Some((trap, pc)) = p.members_never_come() {
                return Turn::Fault { pack, trap, pc };
            }
        }
        let (pack, trap, pc) = barrier::never_complete(&self.packs, &self.barriers)
            .expect("a pack that cannot run waits for members or at a barrier");
        Turn::Fault { pack, trap, pc }
    }
}

/// The threads of the pack that starts at warp `first_warp`.
fn pack_threads(grid: &Grid<'_>, index: u64, slot: u32, first_warp: usize, warps: usize) -> Threads {
    let [bx, by, bz] = grid.block.map(|b| b as usize);
    let [gx, gy, _] = grid.grid.map(u64::from);
    let pack_warps = grid.image.warps.min(warps - first_warp);
    let mut tid = [0, 1, 2].map(|_| vec![[0; LANES]; grid.image.warps]);
    let mut live = EMPTY;
    for warp in 0..pack_warps {
        for lane in 0..LANES {
            let thread = (first_warp + warp) * LANES + lane;
            if thread < bx * by * bz {
                live[warp] |= 1 << lane;
                let at = [thread % bx, thread / bx % by, thread / (bx * by)];
                for (plane, at) in tid.iter_mut().zip(at) {
                    plane[warp][lane] = at as u32;
                }
            }
        }
    }
    Threads {
        ctaid: [(index % gx) as u32, (index / gx % gy) as u32, (index / (gx * gy)) as u32],
        slot,
        first_warp: first_warp as u32,
        warps: pack_warps,
        tid,
        live,
        local: vec![0; grid.local as usize * LANES * grid.image.warps],
    }
}
