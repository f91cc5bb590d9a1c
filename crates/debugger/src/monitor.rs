//! Who watches the launch: counts instructions, sees whether a goal is reached or a condition holds, and waits for orders
//! when it is so. It sees each instruction before it is executed.

use crate::engine::{Blocks, Checkpoint, Ended, Issued, MOST_CHECKPOINTS, News, Reason, Stop};
use crate::evaluate::Scene;
use crate::output::Printed;
use crate::plan::{Goal, Owner, Plan, Trail, Watch, WatchKind};
use crate::program::{Memory, Program};
use crate::symbols::Symbols;
use machine::LaunchError;
use machine::inspect::{Extent, State};
use machine::memory::{LOCAL_WINDOW, MemoryError, PARAM_WINDOW, SHARED_WINDOW, SpaceKind};
use machine::observe::{Happening, Issue, Observer, PackAccess};
use sanitizer::Sanitizer;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Instructions between two checkpoints, at first.
const CHECKPOINTS_APART: u64 = 20_000;

/// What a stopped launch is to do.
pub(crate) enum Orders {
    Resume(Plan),
    Abandon,
}

/// Global memory that somebody has changed at a moment: part of the launch's history.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) position: u64,
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
}

/// What lasts from one launch to the next.
pub(crate) struct Monitor {
    pub(crate) program: Arc<Program>,
    pub(crate) symbols: Arc<Symbols>,
    pub(crate) printed: Printed,
    pub(crate) ordered: Mutex<Receiver<Orders>>,
    pub(crate) tell: Sender<News>,
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) checkpoints: Arc<Mutex<Vec<Checkpoint>>>,
    pub(crate) most_checkpoints: usize,
    /// What somebody has assigned, in the order of moments.
    pub(crate) edits: Arc<Mutex<Vec<Edit>>>,
    /// Where device code has allocated memory that it has not freed.
    pub(crate) heap: Mutex<Vec<u64>>,
}

impl Monitor {
    fn heap(&self) -> MutexGuard<'_, Vec<u64>> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn edits(&self) -> MutexGuard<'_, Vec<Edit>> {
        self.edits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes memory what it was.
    pub(crate) fn restore(&self, memory: &Memory) -> Result<(), MemoryError> {
        memory.restore(&self.program.device, &mut self.heap())
    }

    /// A launch begins.
    pub(crate) fn begin<'a>(
        &'a self,
        from: &Checkpoint,
        plan: Plan,
        sanitizer: Option<&'a Sanitizer>,
        checks: Option<&'a sanitizer::Watch<'a>>,
        cancel: &'a AtomicBool,
    ) -> Watching<'a> {
        self.printed.begin(from.printed);
        let state = Progress {
            count: from.position,
            plan,
            values: HashMap::new(),
            writers: HashMap::new(),
            last: None,
            found: None,
            trail: Trail::default(),
            exited: false,
            found_so_far: 0,
            finds: false,
            open: HashSet::new(),
            ended: HashSet::new(),
            first: from.cluster,
            cluster: [1; 3],
            block: None,
            grows: false,
            abandoned: false,
        };
        Watching { monitor: self, sanitizer, checks, cancel, state: Mutex::new(state) }
    }

    /// The launch is over.
    pub(crate) fn end(&self, ended: Ended) {
        let _ = self.tell.send(News::Ended(Box::new(ended)));
    }
}

/// A launch that is watched.
pub(crate) struct Watching<'a> {
    monitor: &'a Monitor,
    sanitizer: Option<&'a Sanitizer>,
    checks: Option<&'a sanitizer::Watch<'a>>,
    cancel: &'a AtomicBool,
    state: Mutex<Progress>,
}

struct Progress {
    /// Instructions issued.
    count: u64,
    plan: Plan,
    /// The bytes of watched memory, by number, and who may have changed them: the last instruction that was issued of
    /// those that reach them.
    values: HashMap<u32, Vec<u8>>,
    writers: HashMap<u32, Issued>,
    last: Option<Issued>,
    /// What was found, where something is searched.
    found: Option<(u64, Reason)>,
    trail: Trail,
    /// Whether the thread that is stepped has exited.
    exited: bool,
    /// What the checks have found so far, and whether they do so at this instruction.
    found_so_far: usize,
    finds: bool,
    /// CTAs that have begun and not ended, and those that have ended.
    open: HashSet<[u32; 3]>,
    ended: HashSet<[u32; 3]>,
    /// The cluster before which all have ended: where the launch was begun.
    first: u64,
    /// CTAs of a cluster, as launch and kernel say it together.
    cluster: [u32; 3],
    block: Option<[u32; 3]>,
    /// Whether device code has allocated memory.
    grows: bool,
    abandoned: bool,
}

impl Watching<'_> {
    fn state(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The launch is over.
    pub(crate) fn end(&self, result: Result<(), LaunchError>) -> Ended {
        let mut state = self.state();
        let device = &self.monitor.program.device;
        let mut changed = None;
        for watch in state.plan.conditions.clone().watches.iter().filter(|w| w.kind == WatchKind::Change) {
            let mut now = vec![0; watch.bytes];
            if watch.of.is_none() && device.read(watch.address, &mut now) {
                changed = changed.or_else(|| state.changed(watch, now));
            }
        }
        let mut found = state.found.take();
        match &state.plan.goal {
            Goal::SearchConditions(_) => {
                if let Some(reason) = &changed {
                    found =
                        Some((writer_of(reason).unwrap_or(state.count.saturating_sub(1)), reason.clone()));
                }
            }
            Goal::SearchStep(..) => found = state.trail.position().map(|position| (position, Reason::Step)),
            Goal::To(_) | Goal::Conditions | Goal::Step(_) => {}
        }
        Ended { result, issued: state.count, last: state.last, found, changed }
    }

    fn stop(&self, state: &mut Progress, look: &dyn State, next: Issued, reason: Reason) {
        let snapshot = look.snapshot(Extent::Cta);
        let grid = self.monitor.program.grid;
        let mut under_way: Vec<_> = state.open.iter().copied().collect();
        under_way.sort_unstable_by_key(|&[x, y, z]| [z, y, x]);
        let [gx, gy, gz] = grid.map(u64::from);
        let most = gx * gy * gz;
        let before = state.first * state.cluster.iter().map(|&n| u64::from(n)).product::<u64>();
        let ended = (before + state.ended.len() as u64).min(most);
        let blocks = Blocks { under_way, ended, not_begun: most - ended - state.open.len() as u64 };
        let news = News::Stopped(Box::new(Stop { reason, next, snapshot, blocks }));
        self.wait(state, look, news);
    }

    /// Tells news and waits for orders.
    fn wait(&self, state: &mut Progress, look: &dyn State, news: News) {
        let ordered = self.monitor.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        let told = self.monitor.tell.send(news);
        match told.ok().and_then(|()| ordered.recv().ok()) {
            Some(Orders::Resume(plan)) => {
                state.plan = plan;
                (state.found, state.trail, state.exited) = (None, Trail::default(), false);
                state.values.clear();
                state.note_values(look);
            }
            Some(Orders::Abandon) | None => {
                state.abandoned = true;
                self.monitor.printed.mute();
                self.cancel.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Keeps memory as it is, if no CTA is under way.
    fn checkpoint(&self, state: &mut Progress, block: [u32; 3]) {
        if state.block == Some(block) {
            return;
        }
        state.block = Some(block);
        let begins = state.open.insert(block);
        let (cluster, members) = state.cluster_of(block, self.monitor.program.grid);
        let alone = state.open.len() == 1 && !members.iter().any(|member| state.ended.contains(member));
        let most = self.monitor.most_checkpoints.min(MOST_CHECKPOINTS);
        if !begins || !alone || state.grows || most == 0 {
            return;
        }
        let mut all = self.monitor.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let apart = match all.as_slice() {
            [first, second, ..] => second.position - first.position,
            _ => CHECKPOINTS_APART,
        };
        if state.count < all.last().map_or(0, |last| last.position) + apart {
            return;
        }
        if all.len() >= most {
            // Every other one, so that those that follow are farther apart.
            let mut index = 0;
            all.retain(|_| {
                index += 1;
                index % 2 == 0
            });
        }
        if let Ok(memory) = Memory::of(&self.monitor.program.device) {
            let (position, printed) = (state.count, self.monitor.printed.bytes());
            all.push(Checkpoint { position, cluster, printed, memory: Arc::new(memory) });
        }
    }

    /// What of the conditions holds at an instruction.
    fn condition(&self, state: &mut Progress, issue: &Issue<'_>, next: Issued) -> Option<Reason> {
        let conditions = Arc::clone(&state.plan.conditions);
        let mut reason = None;
        for watch in &conditions.watches {
            if let Some(now) = value(watch, issue.state, &next)
                && watch.kind == WatchKind::Change
            {
                reason = reason.or_else(|| state.changed(watch, now));
            }
            if let Some(access) = &issue.access
                && watch.kind.tells(access.access)
            {
                let lanes = accessing(watch, access, &next, issue.first_warp);
                let access = access.access.to_string();
                let accessed = || Reason::Accessed { number: watch.number, lanes, access };
                reason = reason.or_else(|| (lanes != 0).then(accessed));
            }
        }
        if state.finds
            && conditions.findings
            && let Some(report) = self.sanitizer.and_then(Sanitizer::latest)
        {
            reason = reason.or(Some(Reason::Found(report.text())));
        }
        let here = next.place;
        let barrier = conditions.barriers && self.monitor.symbols.is_barrier(here);
        reason = reason.or_else(|| barrier.then_some(Reason::Barrier));
        if reason.is_none() {
            let armed = conditions.breakpoints.iter().filter(|b| b.places.binary_search(&here).is_ok());
            reason = armed.into_iter().find_map(|breakpoint| {
                let lanes = match &breakpoint.condition {
                    None => next.mask,
                    Some(condition) => {
                        let snapshot = issue.state.snapshot(Extent::Warp);
                        let Monitor { program, symbols, .. } = self.monitor;
                        (0..32).filter(|lane| next.mask >> lane & 1 != 0).fold(0, |lanes, lane| {
                            let scene = Scene::innermost(program, symbols, &snapshot, next.warp, lane);
                            // A condition that has no value is for who set it to look at.
                            let holds = scene.is_none_or(|scene| scene.holds(condition).unwrap_or(true));
                            lanes | u32::from(holds) << lane
                        })
                    }
                };
                (lanes != 0).then_some(Reason::Breakpoint { number: breakpoint.number, lanes })
            });
        }
        reason
    }
}

impl Progress {
    /// The number of a CTA's cluster, as launches count them, and the CTAs in it.
    fn cluster_of(&self, block: [u32; 3], grid: [u32; 3]) -> (u64, Vec<[u32; 3]>) {
        let along = |axis: usize| u64::from(block[axis] / self.cluster[axis]);
        let count = |axis: usize| u64::from(grid[axis] / self.cluster[axis]);
        let number = along(0) + count(0) * (along(1) + count(1) * along(2));
        let start = [0, 1, 2].map(|axis: usize| block[axis] / self.cluster[axis] * self.cluster[axis]);
        let [nx, ny, nz] = self.cluster;
        let members = (0..nx * ny * nz)
            .map(|rank| [start[0] + rank % nx, start[1] + rank / nx % ny, start[2] + rank / (nx * ny)]);
        (number, members.collect())
    }

    /// Reads watched memory where it has no value yet.
    fn note_values(&mut self, look: &dyn State) {
        let Some(last) = self.last else { return };
        for watch in &self.plan.conditions.clone().watches {
            if let Some(now) = value(watch, look, &last) {
                self.values.insert(watch.number, now);
            }
        }
    }

    /// Whether watched memory has another value than before.
    fn changed(&mut self, watch: &Watch, new: Vec<u8>) -> Option<Reason> {
        let old = self.values.insert(watch.number, new.clone())?;
        let by = self.writers.get(&watch.number).copied().filter(|by| watch.reaches(by));
        (old != new).then_some(Reason::Changed { number: watch.number, old, new, by })
    }

    /// An instruction is issued now.
    fn issued(&mut self, issued: Issued) {
        self.count += 1;
        self.last = Some(issued);
        for watch in &self.plan.conditions.watches {
            if watch.reaches(&issued) {
                self.writers.insert(watch.number, issued);
            }
        }
    }
}

impl Watch {
    /// Whether an instruction can reach the memory.
    fn reaches(&self, issued: &Issued) -> bool {
        self.of.is_none_or(|Owner { block, thread }| {
            block == issued.block && thread.is_none_or(|(warp, _)| warp == issued.warp)
        })
    }
}

/// The bytes of watched memory, if the threads at an instruction have it.
fn value(watch: &Watch, look: &dyn State, at: &Issued) -> Option<Vec<u8>> {
    let mut bytes = vec![0; watch.bytes];
    let (warp, lane) = watch.of.and_then(|of| of.thread).unwrap_or((at.warp, 0));
    (watch.reaches(at) && look.read(warp, lane, watch.address, &mut bytes)).then_some(bytes)
}

/// The lanes of an access that reach watched memory.
fn accessing(watch: &Watch, access: &PackAccess<'_>, at: &Issued, first_warp: u32) -> u32 {
    if !watch.reaches(at) {
        return 0;
    }
    let window = match access.space {
        SpaceKind::Global | SpaceKind::Generic => 0,
        SpaceKind::Shared | SpaceKind::Cluster => SHARED_WINDOW,
        SpaceKind::Local => LOCAL_WINDOW,
        SpaceKind::Param => PARAM_WINDOW,
    };
    let addresses = access.addresses.lanes((at.warp - first_warp) as usize);
    let own = watch.of.and_then(|of| of.thread).map_or(!0, |(_, lane)| 1 << lane);
    let overlaps = |lane: &usize| {
        let first = window.wrapping_add(addresses[*lane]);
        first < watch.address.saturating_add(watch.bytes as u64)
            && watch.address < first.saturating_add(access.bytes.into())
    };
    (0..32)
        .filter(|lane| (at.mask & own) >> lane & 1 != 0)
        .filter(overlaps)
        .fold(0, |lanes, lane| lanes | 1 << lane)
}

/// The position of who has changed watched memory.
fn writer_of(reason: &Reason) -> Option<u64> {
    match reason {
        Reason::Changed { by: Some(by), .. } => Some(by.position),
        _ => None,
    }
}

impl Observer for Watching<'_> {
    fn issue(&self, issue: &Issue<'_>) {
        let mut state = self.state();
        let state = &mut *state;
        if state.abandoned {
            return;
        }
        if let Some(checks) = self.checks {
            checks.issue(issue);
        }
        let found = self.sanitizer.map_or(0, Sanitizer::found);
        state.finds = found > std::mem::replace(&mut state.found_so_far, found);
        self.checkpoint(state, issue.block);
        let of_warp = |warp: usize| Issued {
            position: state.count,
            place: (issue.function, issue.instruction),
            block: issue.block,
            warp: issue.first_warp + warp as u32,
            mask: issue.masks[warp],
            active: issue.active[warp],
        };
        // One, or those of a warpgroup.
        let all: Vec<Issued> =
            (0..issue.active.len()).filter(|&w| issue.active[w] != 0).map(of_warp).collect();
        let Some(&next) = all.first() else { return };
        for edit in self.monitor.edits().iter().filter(|edit| edit.position == next.position) {
            // What has been freed since nobody sees.
            let _ = self.monitor.program.device.write(edit.address, &edit.bytes);
        }
        let module = self.monitor.program.module();
        // A goal that is given while this instruction is looked at can be reached at it, too: a position, or the end of a search.
        let mut fresh = true;
        while !state.abandoned {
            let of_thread = |step: &crate::plan::Step| {
                all.iter().copied().find(|next| {
                    step.block == next.block && step.warp == next.warp && next.active >> step.lane & 1 != 0
                })
            };
            let goal = state.plan.goal.clone();
            let searches = matches!(goal, Goal::SearchConditions(_));
            let held = match goal {
                Goal::To(_) | Goal::SearchStep(..) => None,
                _ if !fresh => None,
                _ => all.iter().find_map(|&next| Some((self.condition(state, issue, next)?, next))),
            };
            let reason = match goal {
                Goal::To(position) => (next.position >= position).then_some((Reason::Position, next)),
                Goal::Conditions => held,
                Goal::Step(step) => {
                    let ending = of_thread(&step)
                        .filter(|next| fresh && step.ends(module, next.place, issue.state.depth()));
                    let exited = state.exited.then_some((Reason::Exited, next));
                    held.or(exited).or_else(|| ending.map(|next| (Reason::Step, next)))
                }
                Goal::SearchConditions(until) | Goal::SearchStep(until, _) => {
                    if let Goal::SearchStep(_, step) = &state.plan.goal
                        && next.position < until
                        && of_thread(step).is_some()
                    {
                        let depth = issue.state.depth();
                        state.trail.pass(step, module, next.position, next.place, depth);
                    }
                    if let Some((reason, _)) = held {
                        // Who changes memory does so one instruction before that is seen.
                        let position = match &reason {
                            Reason::Changed { .. } => {
                                writer_of(&reason).unwrap_or(next.position.saturating_sub(1))
                            }
                            _ => next.position,
                        };
                        if position < until {
                            state.found = Some((position, reason));
                        }
                    }
                    if next.position >= until {
                        let found = match searches {
                            true => state.found.take(),
                            false => state.trail.position().map(|position| (position, Reason::Step)),
                        };
                        self.wait(state, issue.state, News::Searched(found));
                        fresh = false;
                        continue;
                    }
                    None
                }
            };
            let interrupted = || {
                let interrupted = self.monitor.interrupt.swap(false, Ordering::Relaxed);
                interrupted.then_some((Reason::Interrupted, next))
            };
            let Some((reason, at)) = reason.or_else(interrupted) else { break };
            self.stop(state, issue.state, at, reason);
            // What holds here has been told.
            if !matches!(state.plan.goal, Goal::To(position) if position <= next.position) {
                break;
            }
            fresh = false;
        }
        state.issued(next);
    }

    fn happening(&self, happening: &Happening<'_>) {
        let mut state = self.state();
        if state.abandoned {
            return;
        }
        if let Some(checks) = self.checks {
            checks.happening(happening);
        }
        match happening {
            Happening::Exited(lanes) => {
                if let Goal::Step(step) = &state.plan.goal
                    && (step.block, step.warp) == (lanes.block, lanes.warp)
                    && lanes.mask >> step.lane & 1 != 0
                {
                    state.exited = true;
                }
            }
            Happening::Began { cluster, .. } => state.cluster = *cluster,
            Happening::BlockDone { block } => {
                state.open.remove(block);
                state.ended.insert(*block);
                state.block = None;
            }
            Happening::Heap { address, bytes, .. } => {
                state.grows = true;
                let mut heap = self.monitor.heap();
                match bytes {
                    0 => heap.retain(|known| known != address),
                    _ => heap.push(*address),
                }
            }
            _ => {}
        }
    }
}
