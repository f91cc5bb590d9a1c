//! The clusters of a launch on a pool of host threads.
//!
//! A host thread runs one cluster (a CTA, where there are no larger ones) until it is done. If its turn ends and it may
//! be waiting for another one, it is put aside and the thread takes up a new one, as long as the device profile has room
//! for it; clusters put aside go on in turn. So every CTA that would be resident on the device makes progress, on any
//! number of host threads.

use super::cluster::{Cluster, Fault, Turn};
use super::watch::{Unwatched, Watch, Watched};
use crate::exec::{Grid, LaneTrap};
use crate::schedule::SchedulerKind;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
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
/// seldom meet at the counter, and none has much to do when the others are done.
const BATCH: u64 = 32;
const PART: u64 = 8;

/// How a grid is to be run.
pub(crate) struct Plan<'a> {
    pub(crate) threads: usize,
    /// CTAs that the device holds at a time.
    pub(crate) resident: usize,
    pub(crate) scheduler: SchedulerKind,
    /// Warp instructions that the launch may issue.
    pub(crate) budget: Option<u64>,
    pub(crate) observer: Option<&'a dyn crate::observe::Observer>,
    pub(crate) cancel: Option<&'a AtomicBool>,
    /// Set when another grid of its family has failed.
    pub(crate) stopped: Option<&'a AtomicBool>,
    /// Called with the number of finished CTAs.
    pub(crate) progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// Why a grid stopped early.
pub(crate) enum Stop {
    Trap {
        cta: [u32; 3],
        thread: Option<[u32; 3]>,
        trap: LaneTrap,
        pc: u32,
    },
    /// And what some thread was waiting for.
    Budget {
        awaited: Option<String>,
    },
    Cancelled,
}

/// What all host threads of a launch share.
struct Shared<'a> {
    grid: &'a Grid<'a>,
    plan: &'a Plan<'a>,
    /// The next cluster to be taken up, and how many there are.
    next: AtomicU64,
    total: u64,
    /// CTAs of a cluster.
    cluster: u32,
    /// Finished CTAs.
    done: AtomicU64,
    issued: AtomicU64,
    stopped: AtomicBool,
    stop: Mutex<Option<Stop>>,
}

/// Runs a grid to its end; the warp instructions issued.
pub(crate) fn run(grid: &Grid<'_>, plan: &Plan<'_>) -> Result<u64, Box<Stop>> {
    let total = grid.grid.iter().zip(grid.cluster).map(|(&g, c)| u64::from(g / c)).product();
    let shared = Shared {
        grid,
        plan,
        next: AtomicU64::new(0),
        total,
        cluster: grid.cluster.iter().product(),
        done: AtomicU64::new(0),
        issued: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
        stop: Mutex::new(None),
    };
    let threads = plan.threads.max(1).min(total.try_into().unwrap_or(usize::MAX));
    std::thread::scope(|scope| {
        let shared = &shared;
        let mut call_help = || {
            for worker in 1..threads {
                scope.spawn(move || shared.work(worker, threads, None));
            }
        };
        shared.work(0, threads, (threads > 1).then_some(&mut call_help));
    });
    let stop = shared.stop.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    stop.map_or(Ok(shared.issued.into_inner()), |stop| Err(Box::new(stop)))
}

impl Shared<'_> {
    /// Runs clusters until there are none; `help` starts the other threads.
    fn work(&self, worker: usize, threads: usize, help: Option<&mut dyn FnMut()>) {
        match self.plan.observer {
            Some(observer) => {
                self.run_clusters(worker, threads, help, &mut Watched::new(observer, self.grid.image));
            }
            None => self.run_clusters(worker, threads, help, &mut Unwatched),
        }
    }

    fn run_clusters<W: Watch>(
        &self,
        worker: usize,
        threads: usize,
        mut help: Option<&mut dyn FnMut()>,
        watch: &mut W,
    ) {
        let room = (self.plan.resident / self.cluster as usize / threads).max(1);
        let share = threads as u64 * PART;
        let mut clusters: Vec<Cluster> = Vec::new();
        // Those whose threads are not done, and those in whose place others can begin.
        let mut resident: VecDeque<usize> = VecDeque::new();
        let mut vacant: Vec<usize> = Vec::new();
        let mut claimed = 0..0;
        let mut batch = 1;
        let mut admit = true;
        let mut slot = worker as u32 * self.cluster;
        let mut turns = 0;
        let mut issued = 0;
        while !self.stopped.load(Relaxed) {
            let mut fresh = None;
            if (admit || resident.is_empty()) && resident.len() < room {
                if claimed.is_empty() {
                    let most = (self.left() / share).min((room - resident.len()) as u64);
                    claimed = self.claim(batch.min(most).max(1));
                    batch = BATCH.min(batch * 2);
                }
                fresh = claimed.next().map(|index| {
                    let scheduler = self.plan.scheduler;
                    let place = vacant.pop().unwrap_or_else(|| {
                        clusters.push(Cluster::new(self.grid, scheduler));
                        clusters.len() - 1
                    });
                    clusters[place].begin(self.grid, index, slot, scheduler);
                    slot += threads as u32 * self.cluster;
                    place
                });
            }
            let Some(place) = fresh.or_else(|| resident.pop_front()) else { break };
            let cluster = &mut clusters[place];
            if help.is_some() && self.grid.started.elapsed() > ALONE {
                help.take().into_iter().for_each(|help| help());
            }
            let before = cluster.issued();
            let turn = cluster.run(self.grid, watch, self.turn(help.is_some()));
            issued += cluster.issued() - before;
            if let Some(budget) = self.plan.budget {
                self.account(std::mem::take(&mut issued), budget, cluster);
            }
            self.look_for_stop();
            match turn {
                Turn::Done => {
                    admit = false;
                    vacant.push(place);
                    if let Some(progress) = self.plan.progress {
                        let ctas = u64::from(self.cluster);
                        progress(self.done.fetch_add(ctas, Relaxed) + ctas);
                    }
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
        self.issued.fetch_add(issued, Relaxed);
    }

    /// Clusters that nobody has taken up.
    fn left(&self) -> u64 {
        self.total.saturating_sub(self.next.load(Relaxed))
    }

    /// Takes up to so many.
    fn claim(&self, clusters: u64) -> Range<u64> {
        let first = self.next.fetch_add(clusters, Relaxed);
        first.min(self.total)..(first + clusters).min(self.total)
    }

    /// Operations in the next turn: no more than the budget has left.
    fn turn(&self, alone: bool) -> i64 {
        let turn = if alone { FIRST_TURN } else { TURN };
        let left = self.plan.budget.map(|b| b.saturating_sub(self.issued.load(Relaxed)));
        left.map_or(turn, |left| turn.min(i64::try_from(left).unwrap_or(turn)).max(1))
    }

    fn account(&self, issued: u64, budget: u64, cluster: &Cluster) {
        if self.issued.fetch_add(issued, Relaxed) + issued > budget {
            self.stop_with(Stop::Budget { awaited: cluster.awaited() });
        }
    }

    /// Stops if somebody else says so.
    fn look_for_stop(&self) {
        let is_set = |flag: Option<&AtomicBool>| flag.is_some_and(|flag| flag.load(Relaxed));
        if is_set(self.plan.cancel) || is_set(self.plan.stopped) {
            self.stop_with(Stop::Cancelled);
        }
    }

    fn fail(&self, cluster: &Cluster, Fault { rank, pack, trap, pc }: Fault) {
        let pack = cluster.pack(rank, pack);
        let (tid, first) = (&self.grid.tid, pack.threads.first_warp as usize);
        let thread = trap.lane.map(|(warp, lane)| [0, 1, 2].map(|i: usize| tid[i][first + warp][lane]));
        self.stop_with(Stop::Trap { cta: pack.threads.ctaid, thread, trap, pc });
    }

    /// The first reason counts.
    fn stop_with(&self, stop: Stop) {
        let mut reason = self.stop.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        reason.get_or_insert(stop);
        self.stopped.store(true, Relaxed);
    }
}
