//! The state machine of a debugger: a launch that has not begun, stands still, or is over; breakpoints; forwards and backwards.
//! Which thread is looked at is in `focus`, what is assigned in `assign`.

use crate::Error;
use crate::breakpoints::{Breakpoint, Breakpoints, Watchpoint};
use crate::engine::{Ended, Engine, News, Reason, Stop, Worker};
use crate::focus::Focus;
use crate::output::Printed;
use crate::plan::{Calls, Conditions, Goal, Plan, Unit, WatchKind};
use crate::program::Program;
use crate::symbols::Symbols;
use crate::target::Target;
use machine::LaunchError;
use machine::inspect::Snapshot;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    pub(crate) program: Arc<Program>,
    pub(crate) symbols: Arc<Symbols>,
    pub(crate) engine: Engine,
    interrupt: Arc<AtomicBool>,
    outcome: Outcome,
    pub(crate) focus: Option<Focus>,
    /// CTAs that somebody has looked at since the launch stands still, besides the one that has stopped.
    pub(crate) others: Vec<Snapshot>,
    pub(crate) breakpoints: Breakpoints,
    /// What else stops the launch.
    pub stops: Stops,
    /// What the launch was stopped by, if it was a fault.
    fault: Option<LaunchError>,
    /// What watched memory was when the launch was over.
    pub(crate) last_change: Option<Reason>,
    /// How many assignments the last way back has undone.
    pub(crate) undone: usize,
    pub(crate) printed: Printed,
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
            others: Vec::new(),
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
            Outcome::NotBegun => run_out(&mut self.engine, &plan, |engine, plan| {
                engine.begin(engine.history.checkpoint(0), plan)
            }),
        };
        (ended, Kept { breakpoints: self.breakpoints, stops: self.stops })
    }

    /// Begins the launch, or begins it again, and runs to the first condition; to the first instruction if `at_once`.
    ///
    /// # Errors
    /// If its thread is gone.
    pub fn run(&mut self, at_once: bool) -> Result<&Outcome, Error> {
        // The launch as it was without them.
        self.undone = self.engine.history.undo(None);
        let goal = if at_once { Goal::To(0) } else { Goal::Conditions };
        let plan = self.plan(goal);
        let news = self.engine.begin(self.engine.history.checkpoint(0), plan)?;
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
            let from = self.engine.history.checkpoint(until.saturating_sub(1));
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
            let from = self.engine.history.checkpoint(until.saturating_sub(1));
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
        if let Some(focus) =
            focus.filter(|focus| self.stop().is_ok_and(|stop| stop.next.block == focus.block))
        {
            self.focus = Some(Focus { frame: 0, ..focus });
        }
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
        self.undone = self.engine.history.undo(Some(position));
        let plan = self.plan(Goal::To(position));
        let mut news = self.engine.begin(self.engine.history.checkpoint(position), plan)?;
        if let News::Stopped(stop) = &mut news {
            stop.reason = reason;
        }
        self.take(news)
    }

    /// Executes the launch again up to where it stands still, since what somebody has assigned is part of its history now.
    pub(crate) fn repeat(&mut self) -> Result<(), Error> {
        let position = self.stop()?.next.position;
        let plan = self.plan(Goal::To(position));
        let news = self.engine.begin(self.engine.history.checkpoint(position), plan)?;
        self.others.clear();
        match (news, &mut self.outcome) {
            (News::Stopped(mut now), Outcome::Stopped(stop)) => {
                std::mem::swap(&mut now.reason, &mut stop.reason);
                *stop = now;
                Ok(())
            }
            (news, _) => self.take(news).map(|_| ()),
        }
    }

    /// A fault may come otherwise after an assignment: the launch can go on.
    pub(crate) fn forgive(&mut self) {
        if let Outcome::Stopped(stop) = &mut self.outcome
            && stop.is_fault()
        {
            stop.reason = Reason::Position;
            self.fault = None;
        }
    }

    fn refuse_fault(&self) -> Result<(), Error> {
        match self.stop()?.is_fault() {
            true => Err(Error::Command(
                "the kernel was stopped by a fault: it goes on nowhere but back, or with another value"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// What has come of a plan becomes where the launch is.
    fn take(&mut self, news: News) -> Result<&Outcome, Error> {
        self.last_change = None;
        self.others.clear();
        match news {
            News::Stopped(stop) => {
                self.settle(&stop);
                self.outcome = Outcome::Stopped(stop);
            }
            News::Searched(_) | News::Looked(_) => return Err(Error::Gone),
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
            let news = self.engine.begin(self.engine.history.checkpoint(last.position), plan)?;
            if let News::Stopped(mut stop) = news {
                stop.reason = Reason::Fault(text);
                self.fault = result.err();
                self.settle(&stop);
                let thread = thread.filter(|_| block == Some(stop.snapshot.block));
                let focus = thread.and_then(|thread| Focus::of_thread(&stop.snapshot, thread));
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
}

/// What a search has found.
fn found(news: News) -> Option<(u64, Reason)> {
    match news {
        News::Searched(found) => found,
        News::Ended(ended) => ended.found,
        News::Stopped(_) | News::Looked(_) => None,
    }
}

/// What comes of a launch that nothing stops any more. Interrupts are for nobody.
fn run_out(
    engine: &mut Engine,
    plan: &Plan,
    begin: impl FnOnce(&mut Engine, Plan) -> Result<News, Error>,
) -> Result<(), LaunchError> {
    let mut news = begin(engine, plan.clone());
    while let Ok(News::Stopped(_) | News::Searched(_) | News::Looked(_)) = news {
        news = engine.resume(plan.clone());
    }
    match news {
        Ok(News::Ended(ended)) => ended.result,
        _ => Err(LaunchError::InvalidConfiguration("the debugger is gone".to_owned())),
    }
}
