//! Under which schedulers and on how many host threads a case runs: a correct kernel does not notice.

use super::case::Case;
use machine::SchedulerKind;
use machine::lanes::simd::Level;
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
}

/// What every case runs under.
const EVERY: [Schedule; 7] = [
    Schedule { scheduler: SchedulerKind::RoundRobin, threads: 1, debug: false },
    Schedule { scheduler: SchedulerKind::RoundRobin, threads: 2, debug: false },
    Schedule { scheduler: SchedulerKind::Random { seed: 1 }, threads: 1, debug: false },
    Schedule { scheduler: SchedulerKind::Random { seed: 2 }, threads: 2, debug: false },
    Schedule { scheduler: SchedulerKind::Adversarial, threads: 1, debug: false },
    Schedule { scheduler: SchedulerKind::Adversarial, threads: 2, debug: false },
    Schedule { scheduler: SchedulerKind::RoundRobin, threads: 1, debug: true },
];

/// Which schedules to run: all, or only what the environment names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    scheduler: Option<SchedulerKind>,
    threads: Option<usize>,
    debug: bool,
}

impl Choice {
    /// What `WARPLOOM_SCHEDULER`, `WARPLOOM_THREADS` and `WARPLOOM_FOR_DEBUGGER` ask for.
    ///
    /// # Errors
    /// If one of them is not understood.
    pub fn from_environment() -> Result<Self, String> {
        let variable = |name| std::env::var(name).ok();
        let scheduler = variable("WARPLOOM_SCHEDULER").map(|text| text.parse()).transpose()?;
        let threads = variable("WARPLOOM_THREADS").map(|text| text.parse()).transpose();
        let threads = threads.map_err(|_| "WARPLOOM_THREADS is not a number".to_owned())?;
        Ok(Self { scheduler, threads, debug: variable("WARPLOOM_FOR_DEBUGGER").is_some() })
    }

    /// The schedules of a case.
    pub fn of(&self, case: &Case) -> Vec<Schedule> {
        if self.scheduler.is_some() || self.threads.is_some() || self.debug {
            let scheduler = self.scheduler.unwrap_or_default();
            return vec![Schedule { scheduler, threads: self.threads.unwrap_or(1), debug: self.debug }];
        }
        let further =
            case.schedulers.iter().map(|&scheduler| Schedule { scheduler, threads: 1, debug: false });
        EVERY.into_iter().chain(further).collect()
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
            "WARPLOOM_SIMD={} WARPLOOM_SCHEDULER={} WARPLOOM_THREADS={} {}cargo test -p warploom-filetest --test files -- {file}",
            level_name(Level::detect()),
            self.scheduler,
            self.threads,
            if self.debug { "WARPLOOM_FOR_DEBUGGER=1 " } else { "" },
        )
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let debug = if self.debug { ", for a debugger" } else { "" };
        let level = level_name(Level::detect());
        write!(f, "{}, {} host threads, {level}{debug}", self.scheduler, self.threads)
    }
}
