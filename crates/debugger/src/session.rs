//! The state machine of a debugger: a launch that has not begun, stands still, or is over; breakpoints; the thread in
//! focus; forwards and backwards.

use crate::Error;
use crate::breakpoints::{Breakpoint, Breakpoints, Watchpoint};
use crate::engine::{Ended, Engine, News, Reason, Stop, Worker};
use crate::evaluate::Scene;
use crate::expression;
use crate::monitor::Edit;
use crate::output::Printed;
use crate::plan::{Calls, Conditions, Goal, Plan, Step, Unit, WatchKind};
use crate::program::Program;
use crate::symbols::Symbols;
use crate::target::Target;
use crate::value::{Types, Where};
use machine::LaunchError;
use machine::inspect::Snapshot;
use machine::memory::SHARED_WINDOW;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The thread that commands are about, in one of its activations: the number of calls from the innermost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Focus {
    /// `%warpid`.
    pub warp: u32,
    /// The lane.
    pub lane: usize,
    /// The frame, 0 for the innermost; inlined ones count.
    pub frame: usize,
}

/// Where the launch is.
#[derive(Debug)]
pub enum Outcome {
    /// It has not begun.
    NotBegun,
    /// It stands still.
    Stopped(Box<Stop>),
    /// It is over, after so many warp instructions: well, or with an error that no instruction is to blame for.
    Ended(u64, Result<(), LaunchError>),
}

/// What stops a launch besides breakpoints and watchpoints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stops {
    /// CTA barriers.
    pub barriers: bool,
    /// What the checks find.
    pub findings: bool,
    /// Whether it is one of the launches of a program. Then breakpoints may be for others of them, and where it ends the program
    /// goes on.
    pub of_program: bool,
    /// The beginning of each of these.
    pub beginnings: bool,
    /// Its end.
    pub ends: bool,
}

/// What a session leaves behind for the next one.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) breakpoints: Breakpoints,
    pub(crate) stops: Stops,
}

/// See the module.
pub struct Session {
    program: Arc<Program>,
    symbols: Arc<Symbols>,
    engine: Engine,
    interrupt: Arc<AtomicBool>,
    outcome: Outcome,
    focus: Option<Focus>,
    breakpoints: Breakpoints,
    /// What else stops the launch.
    pub stops: Stops,
    /// What the launch was stopped by, if it was a fault.
    fault: Option<LaunchError>,
    /// What watched memory was when the launch was over.
    pub(crate) last_change: Option<Reason>,
    /// How many assignments the last way back has undone.
    pub(crate) undone: usize,
    printed: Printed,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

impl Session {
    /// A session with a launch that has not begun; `printed` is the device's sink of what the kernel prints.
    ///
    /// # Errors
    /// If memory cannot be read, or no thread can be started.
    pub fn new(program: Program, printed: Printed) -> Result<Self, Error> {
        let symbols = Arc::new(Symbols::new(&program));
        let (mut session, worker) = Self::apart(program, symbols, printed, Arc::default())?;
        session.engine.start(worker)?;
        Ok(session)
    }

    /// A session whose launch somebody else executes, with the worker that does so when it is given a thread. `interrupt` is what
    /// stops the launch when it is set.
    ///
    /// # Errors
    /// If memory cannot be read.
    pub fn apart(
        program: Program,
        symbols: Arc<Symbols>,
        printed: Printed,
        interrupt: Arc<AtomicBool>,
    ) -> Result<(Self, Worker), Error> {
        program.kernel()?;
        let program = Arc::new(program);
        let (engine, worker) =
            Engine::new(Arc::clone(&program), Arc::clone(&symbols), printed.clone(), Arc::clone(&interrupt))?;
        let session = Self {
            stops: Stops { findings: program.checks.is_some(), ..Stops::default() },
            fault: None,
            program,
            symbols,
            engine,
            interrupt,
            outcome: Outcome::NotBegun,
            focus: None,
            breakpoints: Breakpoints::default(),
            last_change: None,
            undone: 0,
            printed,
        };
        Ok((session, worker))
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What names stand for.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Where the launch is.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// What stops a running launch when it is set, from another thread.
    pub fn interrupt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.interrupt)
    }

    /// The moment at which the launch stands still.
    ///
    /// # Errors
    /// If it does not.
    pub fn stop(&self) -> Result<&Stop, Error> {
        match &self.outcome {
            Outcome::Stopped(stop) => Ok(stop),
            Outcome::NotBegun => {
                Err(Error::Command("the kernel is not being run: `run` begins it".to_owned()))
            }
            Outcome::Ended(..) => Err(Error::Command("the kernel is over: `run` begins it again".to_owned())),
        }
    }

    /// The thread in focus.
    pub fn focus(&self) -> Option<Focus> {
        self.focus
    }

    /// The thread in focus, in its activation.
    ///
    /// # Errors
    /// If the launch does not stand still.
    pub fn scene(&self) -> Result<Scene<'_>, Error> {
        let frames = self.innermost()?.frames();
        let frame = self.focus.map_or(0, |focus| focus.frame);
        frames
            .get(frame)
            .map(|frame| frame.scene)
            .ok_or_else(|| Error::Command("there is no such frame".to_owned()))
    }

    /// The thread in focus, in its innermost activation.
    ///
    /// # Errors
    /// If the launch does not stand still.
    pub fn innermost(&self) -> Result<Scene<'_>, Error> {
        let stop = self.stop()?;
        let focus = self.focus.unwrap_or(Focus { warp: stop.next.warp, lane: 0, frame: 0 });
        self.scene_of(&stop.snapshot, focus.warp, focus.lane)
    }

    /// A thread, in its innermost activation.
    ///
    /// # Errors
    /// If it is not there any more.
    pub fn scene_of<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        warp: u32,
        lane: usize,
    ) -> Result<Scene<'a>, Error> {
        Scene::innermost(&self.program, &self.symbols, snapshot, warp, lane)
            .ok_or_else(|| Error::Command(format!("lane {lane} of warp {warp} is not there, or has exited")))
    }

    /// Assigns a value to what an expression stands for, in global memory. From here on the launch has another history, which is
    /// repeated as this one is; going back before this moment undoes it.
    ///
    /// # Errors
    /// If it is elsewhere, or has no value of that type.
    pub fn assign(&mut self, to: &str, value: &str) -> Result<(), Error> {
        let scene = self.scene()?;
        let (to, value) = (expression::parse(to)?, expression::parse(value)?);
        let (to, number) = (scene.evaluate(&to)?, scene.number(&scene.evaluate(&value)?)?);
        let address = match to.place {
            Where::Memory(address) if address < SHARED_WINDOW => address,
            Where::Memory(_) => {
                return Err(Error::Command(
                    "it is not in global memory: only that can be assigned".to_owned(),
                ));
            }
            Where::Bytes(_) => {
                return Err(Error::Command(
                    "it is in a register: only global memory can be assigned".to_owned(),
                ));
            }
            Where::Missing(why) => return Err(Error::Expression(why)),
        };
        let info = &scene.symbols.info;
        let size = info.size_of_ty(&to.ty).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        let bytes = number.bytes(&info.kind(&to.ty), size).ok_or_else(|| {
            Error::Expression(format!("a {} cannot be assigned as a whole", info.ty_name(&to.ty)))
        })?;
        if !self.program.device.write(address, &bytes) {
            return Err(Error::Expression(format!("cannot access memory at address {address:#x}")));
        }
        let position = self.position()?;
        self.engine.edit(Edit { position, address, bytes });
        self.printed.fork();
        Ok(())
    }

    /// Puts a thread of the stopped CTA into focus.
    ///
    /// # Errors
    /// If it is not there.
    pub fn set_focus(&mut self, focus: Focus) -> Result<(), Error> {
        let scene = self.scene_of(&self.stop()?.snapshot, focus.warp, focus.lane)?;
        if scene.frames().len() <= focus.frame {
            return Err(Error::Command("there is no such frame".to_owned()));
        }
        self.focus = Some(focus);
        Ok(())
    }

    /// All breakpoints.
    pub fn breakpoints(&self) -> &[Breakpoint] {
        &self.breakpoints.breakpoints
    }

    /// All watchpoints.
    pub fn watchpoints(&self) -> &[Watchpoint] {
        &self.breakpoints.watchpoints
    }

    /// Adds a breakpoint.
    ///
    /// # Errors
    /// If no code is there, or the condition cannot be read.
    pub fn add_breakpoint(
        &mut self,
        target: Target,
        condition: Option<&str>,
        temporary: bool,
    ) -> Result<&Breakpoint, Error> {
        let may_wait = self.stops.of_program;
        self.breakpoints.add(self.program.module(), target, condition, temporary, may_wait)
    }

    /// Watches the memory of an expression.
    ///
    /// # Errors
    /// If the expression is not in memory here.
    pub fn add_watchpoint(&mut self, text: &str, kind: WatchKind) -> Result<&Watchpoint, Error> {
        let watchpoint = Watchpoint::of(&self.scene()?, text, kind)?;
        Ok(self.breakpoints.add_watchpoint(watchpoint))
    }

    /// Takes a breakpoint or watchpoint away; whether there was one.
    pub fn delete(&mut self, number: u32) -> bool {
        self.breakpoints.delete(number)
    }

    /// Lets a breakpoint stop the launch, or not; whether there is one.
    pub fn enable(&mut self, number: u32, enabled: bool) -> bool {
        self.breakpoints.enable(number, enabled)
    }

    fn plan(&self, goal: Goal) -> Plan {
        let (breakpoints, watches) = self.breakpoints.armed();
        let Stops { barriers, findings, .. } = self.stops;
        Plan { goal, conditions: Arc::new(Conditions { breakpoints, watches, barriers, findings }) }
    }

    /// Takes over what the session of an earlier launch has left.
    pub(crate) fn keep(&mut self, kept: Kept) {
        let Kept { mut breakpoints, stops } = kept;
        breakpoints.settle(self.program.loaded.shared_module());
        (self.breakpoints, self.stops) = (breakpoints, stops);
    }

    /// Whether the launch is over, or a fault has stopped it, so that it goes on nowhere but back.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.outcome, Outcome::Ended(..)) || self.stop().is_ok_and(Stop::is_fault)
    }

    /// Whether somebody wants to look at a launch that has ended.
    pub(crate) fn ends_silently(&self) -> bool {
        matches!(self.outcome, Outcome::Ended(_, Ok(()))) && !self.stops.ends && self.last_change.is_none()
    }

    /// Brings the launch to its end, wherever it stands; what comes of it, and what is left for the next session.
    pub(crate) fn leave(mut self) -> (Result<(), LaunchError>, Kept) {
        let plan = Plan { goal: Goal::Conditions, conditions: Arc::default() };
        let ended = match self.outcome {
            Outcome::Ended(_, result) => result,
            Outcome::Stopped(stop) if stop.is_fault() => self.fault.map_or(Ok(()), Err),
            Outcome::Stopped(_) => run_out(&mut self.engine, &plan, Engine::resume),
            Outcome::NotBegun => {
                run_out(&mut self.engine, &plan, |engine, plan| engine.begin(engine.checkpoint(0), plan))
            }
        };
        (ended, Kept { breakpoints: self.breakpoints, stops: self.stops })
    }

    /// Begins the launch, or begins it again, and runs to the first condition; to the first instruction if `at_once`.
    ///
    /// # Errors
    /// If its thread is gone.
    pub fn run(&mut self, at_once: bool) -> Result<&Outcome, Error> {
        // The launch as it was without them.
        self.undone = self.engine.undo_all();
        let goal = if at_once { Goal::To(0) } else { Goal::Conditions };
        let plan = self.plan(goal);
        let news = self.engine.begin(self.engine.checkpoint(0), plan)?;
        self.take(news)
    }

    /// Goes on to the next condition.
    ///
    /// # Errors
    /// If the launch does not stand still.
    pub fn go_on(&mut self) -> Result<&Outcome, Error> {
        self.stop()?;
        self.refuse_fault()?;
        let plan = self.plan(Goal::Conditions);
        let news = self.engine.resume(plan)?;
        self.take(news)
    }

    /// Steps the thread in focus.
    ///
    /// # Errors
    /// If the launch does not stand still, or there is no function to leave.
    pub fn step(&mut self, unit: Unit, calls: Calls) -> Result<&Outcome, Error> {
        self.refuse_fault()?;
        let step = self.step_of_focus(unit, calls)?;
        let plan = self.plan(Goal::Step(step));
        let news = self.engine.resume(plan)?;
        self.take(news)
    }

    /// Goes back to the last condition before.
    ///
    /// # Errors
    /// If the launch has not begun.
    pub fn go_back(&mut self) -> Result<&Outcome, Error> {
        let now = self.position()?;
        let mut until = now;
        loop {
            let from = self.engine.checkpoint(until.saturating_sub(1));
            let begin = from.position;
            let plan = self.plan(Goal::SearchConditions(until));
            let news = self.engine.begin(from, plan)?;
            if let Some((position, reason)) = found(news) {
                return self.visit(position, reason);
            }
            if begin == 0 {
                return self.visit(0, Reason::Beginning);
            }
            until = begin;
        }
    }

    /// Goes back by a step of the thread in focus.
    ///
    /// # Errors
    /// If the launch does not stand still, or there is no function to leave.
    pub fn step_back(&mut self, unit: Unit, calls: Calls) -> Result<&Outcome, Error> {
        let step = self.step_of_focus(unit, calls)?;
        let focus = self.focus;
        let now = self.position()?;
        let mut until = now;
        let reached = loop {
            let from = self.engine.checkpoint(until.saturating_sub(1));
            let begin = from.position;
            let plan = self.plan(Goal::SearchStep(until, step.clone()));
            let news = self.engine.begin(from, plan)?;
            match found(news) {
                Some(found) => break Some(found),
                None if begin == 0 => break None,
                None => until = begin,
            }
        };
        match reached {
            Some((position, reason)) => self.visit(position, reason)?,
            None => self.visit(now, Reason::Beginning)?,
        };
        self.focus = focus.map(|focus| Focus { frame: 0, ..focus });
        Ok(&self.outcome)
    }

    /// Goes to a position, wherever it is.
    ///
    /// # Errors
    /// If the thread of the launch is gone.
    pub fn go_to(&mut self, position: u64) -> Result<&Outcome, Error> {
        self.visit(position, Reason::Position)
    }

    /// The position: of a launch that is over, behind its last instruction.
    ///
    /// # Errors
    /// If it has not begun.
    pub fn position(&self) -> Result<u64, Error> {
        match &self.outcome {
            Outcome::Ended(issued, _) => Ok(*issued),
            Outcome::Stopped(_) | Outcome::NotBegun => self.stop().map(|stop| stop.next.position),
        }
    }

    fn visit(&mut self, position: u64, reason: Reason) -> Result<&Outcome, Error> {
        self.undone = self.engine.undo_after(position);
        let plan = self.plan(Goal::To(position));
        let mut news = self.engine.begin(self.engine.checkpoint(position), plan)?;
        if let News::Stopped(stop) = &mut news {
            stop.reason = reason;
        }
        self.take(news)
    }

    fn refuse_fault(&self) -> Result<(), Error> {
        match self.stop()?.is_fault() {
            true => Err(Error::Command(
                "the kernel was stopped by a fault: it goes on nowhere but back".to_owned(),
            )),
            false => Ok(()),
        }
    }

    fn step_of_focus(&self, unit: Unit, calls: Calls) -> Result<Step, Error> {
        let scene = self.innermost()?;
        let frames = scene.frames();
        if calls == Calls::Out && frames.len() < 2 {
            return Err(Error::Command("the kernel itself is the outermost function".to_owned()));
        }
        let depth = std::iter::successors(Some(scene), Scene::caller).count() - 1;
        Ok(Step {
            block: scene.snapshot.block,
            warp: scene.warp.number,
            lane: scene.lane,
            unit,
            calls,
            from: scene.place,
            depth,
        })
    }

    /// What has come of a plan becomes where the launch is.
    fn take(&mut self, news: News) -> Result<&Outcome, Error> {
        self.last_change = None;
        match news {
            News::Stopped(stop) => {
                self.settle(&stop);
                self.outcome = Outcome::Stopped(stop);
            }
            News::Searched(_) => return Err(Error::Gone),
            News::Ended(ended) => return self.take_end(*ended),
        }
        Ok(&self.outcome)
    }

    /// A launch that a fault has ended is executed again, up to the instruction that has faulted.
    fn take_end(&mut self, ended: Ended) -> Result<&Outcome, Error> {
        let Ended { result, issued, last, changed, .. } = ended;
        if let (Err(LaunchError::Fault(fault)), Some(last)) = (&result, last) {
            let text = fault.trap.to_string();
            let (block, thread) = (fault.block, fault.thread);
            let plan = self.plan(Goal::To(last.position));
            let news = self.engine.begin(self.engine.checkpoint(last.position), plan)?;
            if let News::Stopped(mut stop) = news {
                stop.reason = Reason::Fault(text);
                self.fault = result.err();
                self.settle(&stop);
                let focus = thread.filter(|_| block == Some(stop.snapshot.block)).and_then(|thread| {
                    stop.snapshot.warps.iter().find_map(|warp| {
                        let lane = warp.threads.iter().position(|known| *known == thread)?;
                        warp.group_of(lane).map(|_| Focus { warp: warp.number, lane, frame: 0 })
                    })
                });
                self.focus = focus.or(self.focus);
                self.outcome = Outcome::Stopped(stop);
                return Ok(&self.outcome);
            }
        }
        self.last_change = changed;
        self.focus = None;
        self.outcome = Outcome::Ended(issued, result);
        Ok(&self.outcome)
    }

    /// The thread in focus stays if it is among those that have stopped; breakpoints count.
    fn settle(&mut self, stop: &Stop) {
        let lanes = self.breakpoints.hit(&stop.reason).unwrap_or(stop.next.active);
        let warp = stop.next.warp;
        let stays = self.focus.filter(|focus| focus.warp == warp && lanes >> focus.lane & 1 != 0);
        let lane = stays.map_or(lanes.trailing_zeros().min(31) as usize, |focus| focus.lane);
        self.focus = Some(Focus { warp, lane, frame: 0 });
    }
}

/// What a search has found.
fn found(news: News) -> Option<(u64, Reason)> {
    match news {
        News::Searched(found) => found,
        News::Ended(ended) => ended.found,
        News::Stopped(_) => None,
    }
}

/// What comes of a launch that nothing stops any more. Interrupts are for nobody.
fn run_out(
    engine: &mut Engine,
    plan: &Plan,
    begin: impl FnOnce(&mut Engine, Plan) -> Result<News, Error>,
) -> Result<(), LaunchError> {
    let mut news = begin(engine, plan.clone());
    while let Ok(News::Stopped(_) | News::Searched(_)) = news {
        news = engine.resume(plan.clone());
    }
    match news {
        Ok(News::Ended(ended)) => ended.result,
        _ => Err(LaunchError::InvalidConfiguration("the debugger is gone".to_owned())),
    }
}
