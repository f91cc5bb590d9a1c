//! A cluster: CTAs that are resident together and take turns on one host thread, pack by pack.
//!
//! In a launch without clusters every CTA is a cluster of its own. When no pack can move, the cluster looks for the
//! reason: barriers that threads have since left, lanes that wait to reconverge, waits with a time limit; and if nothing
//! of that helps, nothing ever will.

use super::cta::Cta;
use super::pack::{FAIR_TURNS, Outcome, Pack, Position};
use super::watch::{Neighbours, Others, Resident, Watch};
use crate::asynchrony::pending::Record;
use crate::common::Common;
use crate::exec::{Exec, Grid, LaneTrap};
use crate::fault::Trap;
use crate::ops::asynchronous;
use crate::schedule::{Scheduler, SchedulerKind};

/// Operations after which a cluster that communicates ends its turn, in case it waits for another one.
const WAITING_TURN: i64 = 100_000;

/// A resident cluster.
pub(crate) struct Cluster {
    ctas: Vec<Cta>,
    /// Packs that have not exited, as rank and number, by their last turn; the longest waiting first.
    order: Vec<(usize, usize)>,
    common: Common,
    scheduler: Box<dyn Scheduler>,
    /// Turns given to packs.
    turns: u32,
}

/// What a cluster's turn ended with.
#[derive(Debug)]
pub(crate) enum Turn {
    /// All threads have exited.
    Done,
    /// The turn is over. `waits` if the cluster may be waiting for another one.
    Yielded { waits: bool },
    /// A trap of a pack at an operation.
    Fault(Fault),
}

/// A trap of a pack at an operation.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) rank: usize,
    pub(crate) pack: usize,
    pub(crate) trap: LaneTrap,
    pub(crate) pc: u32,
}

/// One of several, and those before and behind it.
pub(super) fn split<T>(all: &mut [T], index: usize) -> (&mut T, [&mut [T]; 2]) {
    let (before, rest) = all.split_at_mut(index);
    let (one, behind) = rest.split_first_mut().expect("it is one of them");
    (one, [before, behind])
}

/// The other CTAs of the host thread, in two parts each: what stands before the one that runs, and behind it.
struct Elsewhere<'a> {
    /// Those of the cluster that runs.
    ctas: [&'a mut [Cta]; 2],
    clusters: [&'a mut [Cluster]; 2],
}

impl Neighbours for Elsewhere<'_> {
    fn all<'s>(&'s self, peers: &'s [Vec<u8>]) -> Vec<Resident<&'s [Pack], &'s [u8]>> {
        let own = self.ctas.iter().flat_map(|ctas| ctas.iter());
        let own = own.map(|cta| (cta, peers[cta.rank()].as_slice()));
        let clusters = self.clusters.iter().flat_map(|clusters| clusters.iter());
        let of_others = clusters
            .flat_map(|cluster| cluster.ctas.iter().map(|cta| (cta, cluster.common.shared_of(cta.rank()))));
        let resident = own.chain(of_others).filter(|(cta, _)| cta.resident().is_some());
        resident.map(|(cta, shared)| Resident { packs: cta.packs.as_slice(), shared }).collect()
    }

    fn find<'s>(
        &'s mut self,
        block: [u32; 3],
        peers: &'s mut [Vec<u8>],
    ) -> Option<Resident<&'s mut [Pack], &'s mut [u8]>> {
        let is_it = |cta: &&mut Cta| cta.resident() == Some(block);
        if let Some(cta) = self.ctas.iter_mut().flat_map(|ctas| ctas.iter_mut()).find(is_it) {
            let shared = peers[cta.rank()].as_mut_slice();
            return Some(Resident { packs: &mut cta.packs, shared });
        }
        let mut clusters = self.clusters.iter_mut().flat_map(|clusters| clusters.iter_mut());
        clusters.find_map(|Cluster { ctas, common, .. }| {
            let cta = ctas.iter_mut().find(is_it)?;
            let shared = common.shared_of_mut(cta.rank());
            Some(Resident { packs: cta.packs.as_mut_slice(), shared })
        })
    }
}

impl Cluster {
    /// The storage of a cluster. No thread is in it yet.
    pub(crate) fn new(grid: &Grid<'_>, scheduler: SchedulerKind) -> Self {
        let ctas: u32 = grid.cluster.iter().product();
        Self {
            ctas: (0..ctas).map(|_| Cta::new(grid)).collect(),
            order: Vec::new(),
            common: Common::new(ctas as usize, grid.threads() as u32, grid.shared_start, grid.shared_end),
            scheduler: scheduler.instantiate(0),
            turns: 0,
        }
    }

    /// Puts the threads of the cluster with this index in the grid at the kernel's entry, whoever was here before.
    pub(crate) fn begin(&mut self, grid: &Grid<'_>, index: u64, slot: u32, scheduler: SchedulerKind) {
        let [nx, ny, _] = grid.cluster;
        let first = grid.first_cta(index);
        self.order.clear();
        for (rank, cta) in self.ctas.iter_mut().enumerate() {
            let number = rank as u32;
            let at = [number % nx, number / nx % ny, number / (nx * ny)];
            let ctaid = [first[0] + at[0], first[1] + at[1], first[2] + at[2]];
            cta.begin(grid, Position { ctaid, rank: number, slot: slot + number });
            self.order.extend((0..cta.packs.len()).map(|pack| (rank, pack)));
        }
        self.common.begin();
        let ctas = self.ctas.len();
        self.common.pending.begin(grid.asynchrony, index, ctas, grid.shared_end as usize);
        self.scheduler = scheduler.instantiate(index);
        self.turns = 0;
    }

    /// Warp instructions issued so far.
    pub(crate) fn issued(&self) -> u64 {
        self.ctas.iter().flat_map(|cta| &cta.packs).map(|p| p.issued).sum()
    }

    /// A pack by the rank of its CTA and its number.
    pub(crate) fn pack(&self, rank: usize, pack: usize) -> &Pack {
        &self.ctas[rank].packs[pack]
    }

    /// What some pack waits for, if it does.
    pub(crate) fn awaited(&self) -> Option<String> {
        self.order.iter().find_map(|&(rank, pack)| {
            let pack = self.pack(rank, pack);
            let [x, y, z] = pack.threads.ctaid;
            let (awaited, _) = pack.awaited?;
            Some(format!("in block ({x}, {y}, {z}) {awaited}"))
        })
    }

    /// Runs packs in turn for about `operations` operations.
    pub(crate) fn run<W: Watch>(
        &mut self,
        grid: &Grid<'_>,
        watch: &mut W,
        [clusters_before, clusters_after]: [&mut [Self]; 2],
        operations: i64,
    ) -> Turn {
        let mut rest = operations;
        let mut communicated = false;
        let mut blocked = 0;
        // Turns one after the other in which nobody got anywhere, and whether somebody spins.
        let (mut idle, mut spins) = (0, false);
        // Who looks for what copies bring without a wait for them shall see it some time.
        if let Err(fault) = self.complete(grid, Record::is_old) {
            return Turn::Fault(*fault);
        }
        self.common.pending.grow_old();
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
            let (rank, index) = self.order.remove(nth);
            self.common.switch(rank);
            let pack = &mut self.ctas[rank].packs[index];
            if let Err((trap, pc)) = pack.perform(grid, &mut self.common, asynchronous::pass_time) {
                return Turn::Fault(Fault { rank, pack: index, trap, pc });
            }
            let quantum = self.scheduler.quantum().min(rest);
            let (cta, ctas) = split(&mut self.ctas, rank);
            let (pack, packs) = split(&mut cta.packs, index);
            let clusters = [&mut *clusters_before, &mut *clusters_after];
            let mut others = Others { packs, elsewhere: &mut Elsewhere { ctas, clusters } };
            let before = pack.issued;
            let scheduler = self.scheduler.as_mut();
            let outcome = pack.run(grid, &mut self.common, scheduler, watch, &mut others, quantum);
            rest -= (pack.issued - before).max(1) as i64;
            communicated |= pack.communicated;
            match pack.threads.spinning.take_spins() {
                true => (idle, spins) = (idle + 1, true),
                false if matches!(outcome, Outcome::Blocked) => idle += 1,
                false => (idle, spins) = (0, false),
            }
            match outcome {
                Outcome::Done => {
                    blocked = 0;
                    if cta.exit(grid) {
                        let late = cta.packs[index].perform(grid, &mut self.common, asynchronous::exit);
                        if let Err((trap, pc)) = late {
                            return Turn::Fault(Fault { rank, pack: index, trap, pc });
                        }
                        if let Some((columns, pc)) = self.common.tensor[rank].leak() {
                            let trap = LaneTrap { trap: Trap::TensorMemoryLeak { columns }, lane: None };
                            return Turn::Fault(Fault { rank, pack: index, trap, pc });
                        }
                        self.common.exit();
                        grid.dependents.exit(cta.packs[index].threads.ctaid);
                    }
                    continue;
                }
                Outcome::Yielded => blocked = 0,
                Outcome::Barrier => {
                    blocked = 0;
                    if let Err((trap, pc)) = cta.arrive(index, grid) {
                        return Turn::Fault(Fault { rank, pack: index, trap, pc });
                    }
                }
                Outcome::Blocked => blocked += 1,
                Outcome::Fault(trap, pc) => return Turn::Fault(Fault { rank, pack: index, trap, pc }),
            }
            self.order.push((rank, index));
            if spins && idle > self.order.len() {
                return Turn::Yielded { waits: true };
            }
            if blocked > self.order.len() {
                blocked = 0;
                // Threads may have exited since the barriers were last looked at.
                let copied = match self.complete(grid, |_| true) {
                    Ok(any) => any,
                    Err(fault) => return Turn::Fault(*fault),
                };
                let moved = copied
                    || self.ctas.iter_mut().any(|cta| cta.release_barriers(grid))
                    || self.ctas.iter_mut().flat_map(|cta| &mut cta.packs).any(Pack::release_join);
                if !moved {
                    return self.give_up_waiting(grid);
                }
            }
        }
    }

    /// Performs asynchronous copies for which something holds. Returns whether there was one.
    fn complete(&mut self, grid: &Grid<'_>, is: impl Fn(&Record) -> bool) -> Result<bool, Box<Fault>> {
        let mut any = false;
        for (rank, cta) in self.ctas.iter_mut().enumerate() {
            if self.common.pending.oldest(|record| record.is_copy_of(rank as u32) && is(record)).is_none() {
                continue;
            }
            any = true;
            self.common.switch(rank);
            let act = |x: &mut Exec<'_>| asynchronous::complete_own(x, &is);
            let done = cta.packs[0].perform(grid, &mut self.common, act);
            done.map_err(|(trap, pc)| Box::new(Fault { rank, pack: 0, trap, pc }))?;
        }
        Ok(any)
    }

    /// Ends waits that have a time limit, since nobody can move. If that gets nobody anywhere, nothing will.
    fn give_up_waiting(&mut self, grid: &Grid<'_>) -> Turn {
        let mut moved = false;
        for &(rank, pack) in &self.order {
            self.common.switch(rank);
            match self.ctas[rank].packs[pack].give_up_waiting(grid, &mut self.common) {
                Ok(any) => moved |= any,
                Err((trap, pc)) => return Turn::Fault(Fault { rank, pack, trap, pc }),
            }
        }
        if moved { Turn::Yielded { waits: true } } else { Turn::Fault(self.deadlock()) }
    }

    /// The trap of threads that can never go on. Who waits for a phase of an mbarrier is to blame before those that wait
    /// for it elsewhere.
    fn deadlock(&self) -> Fault {
        let fault = |rank, pack, (trap, pc)| Fault { rank, pack, trap, pc };
        let packs = || self.order.iter().map(|&(rank, pack)| (rank, pack, self.pack(rank, pack)));
        let mut by_phase = packs().filter_map(|(r, i, p)| Some(fault(r, i, p.never_comes(false)?)));
        let mut by_members = packs().filter_map(|(r, i, p)| Some(fault(r, i, p.members_never_come()?)));
        let mut by_cluster = packs().filter_map(|(r, i, p)| Some(fault(r, i, p.never_comes(true)?)));
        let mut by_barrier = self.ctas.iter().enumerate().filter_map(|(rank, cta)| {
            let (pack, trap, pc) = cta.barrier_never_completes()?;
            Some(fault(rank, pack, (trap, pc)))
        });
        let found = by_phase.next().or_else(|| by_members.next()).or_else(|| by_barrier.next());
        found.or_else(|| by_cluster.next()).expect("a pack that cannot run waits for one of these")
    }
}
