//! Under which schedulers and on how many host threads a case runs: a correct kernel does not notice.

use super::case::Case;
use machine::lanes::simd::Level;
use machine::{Asynchrony, SchedulerKind};
use std::fmt;

/// How one run is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Who runs next.
    pub scheduler: SchedulerKind,
    /// Host threads.
    pub threads: usize,
    /// Whether warps are dispatched one by one, and registers kept, as for a debugger.
    pub debug: bool,
    /// When asynchronous operations are performed.
    pub asynchrony: Asynchrony,
}

impl Schedule {
    /// With asynchronous operations that are done when they are issued.
    pub const fn new(scheduler: SchedulerKind, threads: usize) -> Self {
        Self { scheduler, threads, debug: false, asynchrony: Asynchrony::Eager }
    }

    /// The same with asynchronous operations that are done at other times.
    const fn when(mut self, asynchrony: Asynchrony) -> Self {
        self.asynchrony = asynchrony;
        self
    }
}

/// What every case runs under.
const EVERY: [Schedule; 7] = [
    Schedule::new(SchedulerKind::RoundRobin, 1),
    Schedule::new(SchedulerKind::RoundRobin, 2),
    Schedule::new(SchedulerKind::Random { seed: 1 }, 1),
    Schedule::new(SchedulerKind::Random { seed: 2 }, 2),
    Schedule::new(SchedulerKind::Adversarial, 1),
    Schedule::new(SchedulerKind::Adversarial, 2),
    Schedule { debug: true, ..Schedule::new(SchedulerKind::RoundRobin, 1) },
];

/// What cases with asynchronous operations run under besides.
const LATE: [Schedule; 5] = [
    Schedule::new(SchedulerKind::RoundRobin, 1).when(Asynchrony::Late),
    Schedule::new(SchedulerKind::Random { seed: 1 }, 1).when(Asynchrony::Late),
    Schedule::new(SchedulerKind::RoundRobin, 1).when(Asynchrony::Random { seed: 1 }),
    Schedule::new(SchedulerKind::Random { seed: 2 }, 2).when(Asynchrony::Random { seed: 2 }),
    Schedule::new(SchedulerKind::RoundRobin, 1).when(Asynchrony::Adversarial),
];

/// Which schedules to run: all, or only what the environment names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    scheduler: Option<SchedulerKind>,
    threads: Option<usize>,
    debug: bool,
    asynchrony: Option<Asynchrony>,
}

impl Choice {
    /// What `WARPLOOM_SCHEDULER`, `WARPLOOM_THREADS`, `WARPLOOM_FOR_DEBUGGER` and `WARPLOOM_ASYNC` ask for.
    ///
    /// # Errors
    /// If one of them is not understood.
    pub fn from_environment() -> Result<Self, String> {
        let variable = |name| std::env::var(name).ok();
        let scheduler = variable("WARPLOOM_SCHEDULER").map(|text| text.parse()).transpose()?;
        let threads = variable("WARPLOOM_THREADS").map(|text| text.parse()).transpose();
        let threads = threads.map_err(|_| "WARPLOOM_THREADS is not a number".to_owned())?;
        let asynchrony = variable("WARPLOOM_ASYNC").map(|text| text.parse()).transpose()?;
        Ok(Self { scheduler, threads, debug: variable("WARPLOOM_FOR_DEBUGGER").is_some(), asynchrony })
    }

    /// The schedules of a case of a program, which may have asynchronous operations.
    pub fn of(&self, case: &Case, is_asynchronous: bool) -> Vec<Schedule> {
        if self.scheduler.is_some() || self.threads.is_some() || self.debug || self.asynchrony.is_some() {
            let one = Schedule::new(self.scheduler.unwrap_or_default(), self.threads.unwrap_or(1));
            let asynchrony = self.asynchrony.unwrap_or_default();
            return vec![Schedule { debug: self.debug, ..one }.when(asynchrony)];
        }
        let further = case.schedulers.iter().map(|&scheduler| Schedule::new(scheduler, 1));
        let late = is_asynchronous.then_some(LATE).into_iter().flatten();
        EVERY.into_iter().chain(further).chain(late).collect()
    }
}

/// The name that `WARPLOOM_SIMD` gives a level.
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::Baseline => "baseline",
        Level::Avx2 => "avx2",
        Level::Avx512 => "avx512",
    }
}

impl Schedule {
    /// The command that runs `file` like this again.
    pub fn replay(&self, file: &str) -> String {
        format!(
            "WARPLOOM_SIMD={} WARPLOOM_SCHEDULER={} WARPLOOM_THREADS={} WARPLOOM_ASYNC={} {}cargo test -p warploom-filetest --test files -- {file}",
            level_name(Level::detect()),
            self.scheduler,
            self.threads,
            self.asynchrony,
            if self.debug { "WARPLOOM_FOR_DEBUGGER=1 " } else { "" },
        )
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let debug = if self.debug { ", for a debugger" } else { "" };
        let level = level_name(Level::detect());
        write!(f, "{}, {} host threads, {level}{debug}", self.scheduler, self.threads)?;
        match self.asynchrony {
            Asynchrony::Eager => Ok(()),
            when => write!(f, ", asynchronous operations {when}"),
        }
    }
}
