//! The clusters of a launch on a pool of host threads.
//!
//! A host thread runs one cluster (a CTA, where there are no larger ones) until it is done. If its turn ends and it may
//! be waiting for another one, it is put aside and the thread takes up a new one, as long as the device profile has room
//! for it; clusters put aside go on in turn. So every CTA that would be resident on the device makes progress, on any
//! number of host threads.
//!
//! Once there is compiled code ([`crate::compiled`]), a host thread whose clusters are done runs further CTAs by it.
//! While one of its clusters is put aside it goes on interpreting, since code that waits does not let that one go on.

use super::cluster::{Cluster, Fault, Turn, split};
use super::watch::{Unwatched, Watch, Watched};
use super::work::{Plan, Stop, Work};
use crate::compiled::{Code, Host, Promise, Runner};
use crate::exec::Grid;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::Scope;
use std::time::Duration;

/// Operations in a cluster's turn.
const TURN: i64 = 1_000_000;

/// Operations in a turn, and time, before other host threads are asked for help: most kernels of programs that launch
/// many are done by then, and to start a thread takes as long.
const FIRST_TURN: i64 = 5_000;
const ALONE: Duration = Duration::from_micros(30);

/// Turns after which a host thread takes up another cluster even though those it has do not communicate: they may wait on
/// plain loads for one that has not started.
const LONE_TURNS: u32 = 64;

/// Clusters that a host thread takes up at a time at most, and the part of its share of what is left: so host threads
/// seldom meet at the counter, each walks through memory far enough for its processor to foresee where, and none has much to do when
/// the others are done.
const BATCH: u64 = 256;
const PART: u64 = 8;

/// Times that a compiled CTA asks whether it may go on before another host thread is started: it may be waiting, on plain
/// loads, for one that has not begun. As many again for each thread that was started so.
const PATIENCE: u32 = 64;

/// Warp instructions that a compiled CTA executes before it asks.
const ALLOWANCE: u64 = 1 << 20;
const FIRST_ALLOWANCE: u64 = 1 << 14;

/// Runs a grid to its end; the warp instructions issued. Compiled code may come meanwhile, if it is promised.
pub(crate) fn run(grid: &Grid<'_>, plan: &Plan<'_>, code: Option<&Promise<'_>>) -> Result<u64, Box<Stop>> {
    let work = Work::new(grid, plan);
    let threads = plan.threads.max(1).min(grid.unclaimed.total().try_into().unwrap_or(usize::MAX));
    std::thread::scope(|scope| Worker::new(Pool { scope, work: &work, code, threads }, 0, threads > 1).run());
    work.result()
}

/// Where the host threads of a grid are started.
#[derive(Clone, Copy)]
struct Pool<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    work: &'scope Work<'env>,
    /// The kernel's compiled code, now or later; `None` if it is interpreted in any case.
    code: Option<&'scope Promise<'env>>,
    /// Host threads, without those that are started because others wait.
    threads: usize,
}

/// A host thread of a grid.
struct Worker<'scope, 'env> {
    pool: Pool<'scope, 'env>,
    number: usize,
    /// Whether it is to start the others when it has run for a while.
    alone: Cell<bool>,
    /// Clusters that it has claimed and not begun.
    claimed: Cell<Range<u64>>,
    /// Warp instructions of compiled CTAs that the grid has not been told of: a word that all threads write costs more than a CTA.
    issued: Cell<u64>,
    /// How often its compiled CTA has asked whether it may go on, and whether another thread was started for that.
    asked: Cell<u32>,
    waits: Cell<bool>,
}

impl<'scope, 'env> Worker<'scope, 'env> {
    fn new(pool: Pool<'scope, 'env>, number: usize, alone: bool) -> Self {
        let (claimed, issued, asked, waits) = Default::default();
        Self { pool, number, alone: Cell::new(alone), claimed, issued, asked, waits }
    }

    /// Runs clusters until there are none.
    fn run(&self) {
        match self.pool.work.plan.observer {
            Some(observer) => self.run_clusters(&mut Watched::new(observer, self.pool.work.grid)),
            None => self.run_clusters(&mut Unwatched),
        }
    }

    fn run_clusters<W: Watch>(&self, watch: &mut W) {
        let Pool { work, code: promise, threads, .. } = self.pool;
        let Work { grid, plan, .. } = *work;
        let room = (plan.resident / work.cluster as usize / threads).max(1);
        let share = threads as u64 * PART;
        let mut clusters: Vec<Cluster> = Vec::new();
        // Those whose threads are not done, and those in whose place others can begin.
        let mut resident: VecDeque<usize> = VecDeque::new();
        let mut vacant: Vec<usize> = Vec::new();
        let mut runner: Option<Runner<'_>> = None;
        let mut batch = 1;
        let mut admit = true;
        let mut slot = (plan.first_cluster as u32).wrapping_add(self.number as u32) * work.cluster;
        let mut turns = 0;
        let mut issued = 0;
        while !work.stops() {
            let mut fresh = None;
            if resident.is_empty() {
                // So what follows depends on the clusters that follow alone.
                turns = 0;
            }
            if (admit || resident.is_empty()) && resident.len() < room {
                let mut claimed = self.claimed.take();
                if claimed.is_empty() {
                    runner.iter_mut().for_each(Runner::count_exited);
                    if self.is_superfluous() {
                        break;
                    }
                    let most = (grid.unclaimed.left() / share).min((room - resident.len()) as u64);
                    claimed = grid.unclaimed.claim(batch.min(most).max(1));
                    batch = BATCH.min(batch * 2);
                }
                let index = claimed.next();
                self.claimed.set(claimed);
                let code = promise.filter(|_| resident.is_empty());
                if let (Some(index), Some(code)) = (index, code.and_then(Promise::code)) {
                    let runner = runner.get_or_insert_with(|| Runner::new(grid, self));
                    self.run_compiled(runner, &**code, index);
                    continue;
                }
                fresh = index.map(|index| {
                    let scheduler = plan.scheduler;
                    let place = vacant.pop().unwrap_or_else(|| {
                        clusters.push(Cluster::new(grid, scheduler));
                        clusters.len() - 1
                    });
                    clusters[place].begin(grid, index, slot, scheduler);
                    slot += threads as u32 * work.cluster;
                    place
                });
            }
            let Some(place) = fresh.or_else(|| resident.pop_front()) else { break };
            let (cluster, others) = split(&mut clusters, place);
            self.look_for_help();
            let before = cluster.issued();
            let turn = cluster.run(grid, watch, others, self.turn());
            let of_turn = cluster.issued() - before;
            issued += of_turn;
            promise.iter().for_each(|promise| promise.interpreted(of_turn));
            if plan.budget.is_some() && !work.account(std::mem::take(&mut issued)) {
                work.stop_with(Stop::Budget { awaited: cluster.awaited() });
            }
            work.must_stop();
            match turn {
                Turn::Done => {
                    admit = false;
                    vacant.push(place);
                    work.finish(work.cluster.into());
                }
                Turn::Yielded { waits } => {
                    turns += 1;
                    // Those that come next may be what it waits for: other host threads are to find them.
                    batch = 1;
                    admit = waits || turns % LONE_TURNS == 0;
                    resident.push_back(place);
                }
                Turn::Fault(fault) => self.fail(cluster, fault),
            }
        }
        runner.iter_mut().for_each(Runner::count_exited);
        work.account(issued + self.issued.take());
    }

    fn run_compiled(&self, runner: &mut Runner<'_>, code: &dyn Code, index: u64) {
        let work = self.pool.work;
        if work.must_stop() {
            return;
        }
        if let Err(stop) = runner.run(code, index) {
            stop.into_iter().for_each(|stop| work.stop_with(*stop));
            self.wait_no_longer();
        }
    }

    /// Its compiled CTA has ended.
    fn wait_no_longer(&self) {
        self.asked.set(0);
        if self.waits.take() {
            self.pool.work.waiting.fetch_sub(1, Relaxed);
        }
    }

    /// Starts the other host threads if it has taken long enough.
    fn look_for_help(&self) {
        if self.alone.get() && self.pool.work.grid.started.elapsed() > ALONE {
            self.alone.set(false);
            (1..self.pool.threads).for_each(|number| self.start(number, 0..0));
        }
    }

    /// Starts a host thread that has claimed these clusters.
    fn start(&self, number: usize, claimed: Range<u64>) {
        let pool = self.pool;
        let run = move || {
            let worker = Worker::new(pool, number, false);
            worker.claimed.set(claimed);
            worker.run();
        };
        pool.scope.spawn(run);
    }

    /// A compiled CTA of this thread may be waiting for another one: one more thread is to take up those that have not begun.
    fn look_for_others(&self) {
        let work = self.pool.work;
        self.asked.set(self.asked.get().saturating_add(1));
        let waiting = work.waiting.load(Relaxed);
        let patience = PATIENCE.saturating_mul(u32::try_from(waiting).unwrap_or(u32::MAX).saturating_add(1));
        if !self.waits.get()
            && self.asked.get() >= patience
            && waiting + self.pool.threads < work.plan.resident
        {
            self.waits.set(true);
            work.waiting.fetch_add(1, Relaxed);
            let number = self.pool.threads + work.helpers.fetch_add(1, Relaxed);
            self.start(number, self.claimed.take());
        }
    }

    /// Whether it was started for a CTA that waited, and there are more such threads than CTAs that wait.
    fn is_superfluous(&self) -> bool {
        let work = self.pool.work;
        let waiting = work.waiting.load(Relaxed);
        let without = |helpers: usize| (helpers > waiting).then(|| helpers - 1);
        self.number >= self.pool.threads && work.helpers.fetch_update(Relaxed, Relaxed, without).is_ok()
    }

    /// Operations in the next turn: no more than the budget has left.
    fn turn(&self) -> i64 {
        let turn = if self.alone.get() { FIRST_TURN } else { TURN };
        self.pool.work.budget_left().map_or(turn, |left| turn.min(i64::try_from(left).unwrap_or(turn)).max(1))
    }

    fn fail(&self, cluster: &Cluster, Fault { rank, pack, trap, pc }: Fault) {
        let pack = cluster.pack(rank, pack);
        let (tid, first) = (&self.pool.work.grid.tid, pack.threads.first_warp as usize);
        let thread = trap.lane.map(|(warp, lane)| [0, 1, 2].map(|i: usize| tid[i][first + warp][lane]));
        self.pool.work.stop_with(Stop::Trap { cta: pack.threads.ctaid, thread, trap, pc });
    }
}

impl Host for Worker<'_, '_> {
    fn spend(&self, instructions: u64) -> bool {
        let work = self.pool.work;
        self.look_for_help();
        // Who has executed nothing only asks.
        if instructions > 0 {
            self.look_for_others();
        }
        match work.plan.budget {
            None => self.issued.set(self.issued.get() + instructions),
            Some(_) if work.account(instructions) => {}
            Some(_) => work.stop_with(Stop::Budget { awaited: None }),
        }
        !work.must_stop()
    }

    fn allowance(&self) -> u64 {
        let most = if self.alone.get() { FIRST_ALLOWANCE } else { ALLOWANCE };
        self.pool.work.budget_left().map_or(most, |left| most.min(left))
    }

    fn next(&self) -> Option<u64> {
        self.pool.work.finish(1);
        self.wait_no_longer();
        self.look_for_help();
        if self.pool.work.must_stop() {
            return None;
        }
        let mut claimed = self.claimed.take();
        let next = claimed.next();
        self.claimed.set(claimed);
        next
    }
}
