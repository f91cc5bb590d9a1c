//! Who watches the launch: counts instructions, sees whether a goal is reached or a condition holds, and waits for orders
//! when it is so. It sees each instruction before it is executed.

use crate::ctas::Ctas;
use crate::engine::{Ended, Issued, News, Reason, Stop, Whereabouts};
use crate::evaluate::Scene;
use crate::history::{Checkpoint, Edited, History};
use crate::output::Printed;
use crate::plan::{Goal, Plan, Trail, WatchKind};
use crate::program::{Grid, Memory, Program};
use crate::symbols::Symbols;
use crate::watched::{Watched, accessing, value, writer_of};
use machine::LaunchError;
use machine::inspect::{Change, Extent, State};
use machine::memory::MemoryError;
use machine::observe::{Happening, Issue, Observer};
use sanitizer::Sanitizer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a stopped launch is to do.
pub(crate) enum Orders {
    Resume(Plan),
    /// To tell where a CTA of the grid is, and to wait on.
    Look([u32; 3]),
    Abandon,
}

/// What lasts from one launch to the next.
pub(crate) struct Monitor {
    pub(crate) program: Arc<Program>,
    pub(crate) symbols: Arc<Symbols>,
    pub(crate) printed: Printed,
    pub(crate) ordered: Mutex<Receiver<Orders>>,
    pub(crate) tell: Sender<News>,
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) history: Arc<History>,
    /// Where device code has allocated memory that it has not freed.
    pub(crate) heap: Mutex<Vec<u64>>,
}

impl Monitor {
    fn heap(&self) -> MutexGuard<'_, Vec<u64>> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes memory what it was.
    pub(crate) fn restore(&self, memory: &Memory) -> Result<(), MemoryError> {
        memory.restore(&self.program.device, &mut self.heap())
    }

    /// A launch begins.
    pub(crate) fn begin<'a>(
        &'a self,
        grid: Grid,
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
            watched: Watched::default(),
            last: None,
            found: None,
            trail: Trail::default(),
            exited: false,
            found_so_far: 0,
            finds: false,
            ctas: Ctas::new(grid, from.cluster),
            block: None,
            edited: None,
            due: Vec::new(),
            whole: false,
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
    watched: Watched,
    last: Option<Issued>,
    /// What was found, where something is searched.
    found: Option<(u64, Reason)>,
    trail: Trail,
    /// Whether the thread that is stepped has exited.
    exited: bool,
    /// What the checks have found so far, and whether they do so at this instruction.
    found_so_far: usize,
    finds: bool,
    ctas: Ctas,
    block: Option<[u32; 3]>,
    /// The moment at which what somebody has assigned was looked for last, and what of it the threads do not have yet.
    edited: Option<u64>,
    due: Vec<Change>,
    /// Whether it can be repeated from its beginning alone: device code has allocated memory, or can launch grids.
    whole: bool,
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
                changed = changed.or_else(|| state.watched.changed(watch, now));
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
        let (snapshot, blocks) = (look.snapshot(Extent::Cta), state.ctas.blocks(look.resident()));
        let grid = state.ctas.grid;
        let news = News::Stopped(Box::new(Stop { reason, next, grid, snapshot, blocks }));
        self.wait(state, look, news);
    }

    /// Tells news and waits for orders.
    fn wait(&self, state: &mut Progress, look: &dyn State, mut news: News) {
        let ordered = self.monitor.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let told = self.monitor.tell.send(news);
            match told.ok().and_then(|()| ordered.recv().ok()) {
                Some(Orders::Resume(plan)) => {
                    state.plan = plan;
                    (state.found, state.trail, state.exited) = (None, Trail::default(), false);
                    state.watched.clear();
                    state.watched.note(&state.plan.conditions.watches, look, state.last);
                }
                Some(Orders::Look(block)) => {
                    news = News::Looked(match look.snapshot_of(block) {
                        Some(snapshot) => Whereabouts::Resident(Box::new(snapshot)),
                        None if state.ctas.has_ended(block) => Whereabouts::Ended,
                        None => Whereabouts::NotBegun,
                    });
                    continue;
                }
                Some(Orders::Abandon) | None => {
                    state.abandoned = true;
                    self.monitor.printed.mute();
                    self.cancel.store(true, Ordering::Relaxed);
                }
            }
            return;
        }
    }

    /// Keeps memory as it is, if no CTA is under way.
    fn checkpoint(&self, state: &mut Progress, block: [u32; 3]) {
        if state.block == Some(block) {
            return;
        }
        state.block = Some(block);
        let history = &self.monitor.history;
        if !state.ctas.is_alone(block) || state.whole || !history.wants(state.count) {
            return;
        }
        if let Ok(memory) = Memory::of(&self.monitor.program.device) {
            let (position, printed) = (state.count, self.monitor.printed.bytes());
            let cluster = state.ctas.cluster(block);
            history.keep(Checkpoint { position, cluster, printed, memory: Arc::new(memory) });
        }
    }

    /// Assigns what somebody has assigned at a moment, once; whether threads are to have something of it.
    fn assign(&self, state: &mut Progress, look: &dyn State, position: u64) -> bool {
        if state.edited == Some(position) {
            return false;
        }
        state.edited = Some(position);
        let edits = self.monitor.history.edits_at(position);
        let any = !edits.is_empty();
        for edit in edits {
            match edit {
                // What has been freed since nobody sees.
                Edited::Memory { address, bytes } => {
                    let _ = self.monitor.program.device.write(address, &bytes);
                }
                Edited::Thread(change) => state.due.push(change),
            }
        }
        if any && state.due.is_empty() {
            state.watched.note(&state.plan.conditions.watches, look, state.last);
        }
        !state.due.is_empty()
    }

    /// What of the conditions holds at an instruction.
    fn condition(&self, state: &mut Progress, issue: &Issue<'_>, next: Issued) -> Option<Reason> {
        let conditions = Arc::clone(&state.plan.conditions);
        let mut reason = None;
        for watch in &conditions.watches {
            if let Some(now) = value(watch, issue.state, &next)
                && watch.kind == WatchKind::Change
            {
                reason = reason.or_else(|| state.watched.changed(watch, now));
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
                        let grid = &state.ctas.grid;
                        (0..32).filter(|lane| next.mask >> lane & 1 != 0).fold(0, |lanes, lane| {
                            let scene = Scene::innermost(program, symbols, grid, &snapshot, next.warp, lane);
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
    /// An instruction is issued now.
    fn issued(&mut self, issued: Issued) {
        self.count += 1;
        self.last = Some(issued);
        self.watched.issued(&self.plan.conditions.watches, issued);
    }
}

impl Observer for Watching<'_> {
    fn issue(&self, issue: &Issue<'_>) {
        let mut state = self.state();
        let state = &mut *state;
        if state.abandoned {
            return;
        }
        let of_warp = |warp: usize| Issued {
            position: state.count,
            grid: state.ctas.grid.number,
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
        // A checkpoint is memory before what is assigned there.
        self.checkpoint(state, issue.block);
        if self.assign(state, issue.state, next.position) {
            // It is told of again, as it is then.
            return;
        }
        if let Some(checks) = self.checks.filter(|_| next.grid == 0) {
            checks.issue(issue);
        }
        let found = self.sanitizer.map_or(0, Sanitizer::found);
        state.finds = found > std::mem::replace(&mut state.found_so_far, found);
        let module = self.monitor.program.module();
        // A goal that is given while this instruction is looked at can be reached at it, too: a position, or the end of a search.
        let mut fresh = true;
        while !state.abandoned {
            let of_thread = |step: &crate::plan::Step| {
                all.iter().copied().find(|next| {
                    (step.grid, step.block, step.warp) == (next.grid, next.block, next.warp)
                        && next.active >> step.lane & 1 != 0
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
        if let &Happening::Began { kernel, launches, grid, block, cluster, .. } = happening {
            state.ctas.begin(Grid { number: 0, kernel, extent: grid, block, cluster });
            (state.block, state.whole) = (None, state.whole || launches);
        }
        let grid = state.ctas.grid.number;
        // The checks are of the host's grid.
        if let Some(checks) = self.checks.filter(|_| grid == 0) {
            checks.happening(happening);
        }
        match happening {
            Happening::Exited(lanes) => {
                if let Goal::Step(step) = &state.plan.goal
                    && (step.grid, step.block, step.warp) == (grid, lanes.block, lanes.warp)
                    && lanes.mask >> step.lane & 1 != 0
                {
                    state.exited = true;
                }
            }
            Happening::BlockDone { block } => {
                state.ctas.end(*block);
                state.block = None;
            }
            Happening::Heap { address, bytes, .. } => {
                state.whole = true;
                let mut heap = self.monitor.heap();
                match bytes {
                    0 => heap.retain(|known| known != address),
                    _ => heap.push(*address),
                }
            }
            _ => {}
        }
    }

    fn changes(&self) -> Vec<Change> {
        std::mem::take(&mut self.state().due)
    }

    fn follows_children(&self) -> bool {
        true
    }
}
