//! Whether a context has failed: what its streams and its kernels know of it.

use crate::check::Checking;
use crate::debug::Debugging;
use crate::error::{Error, Result};
use crate::host_writes::Found;
use crate::process::Process;
use crate::settings::Execution;
use machine::compiled::Engine;
use machine::{Fault, Launch};
use std::sync::{Arc, MutexGuard, OnceLock};

/// Whether a context has failed, and of what.
pub struct Health {
    error: OnceLock<Error>,
    process: Arc<Process>,
}

impl std::fmt::Debug for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.error)
    }
}

impl Health {
    /// Of a new context.
    pub(crate) fn new(process: &Arc<Process>) -> Arc<Self> {
        Arc::new(Self { error: OnceLock::new(), process: Arc::clone(process) })
    }

    /// Why the context has failed.
    pub(crate) fn error(&self) -> Option<Error> {
        self.error.get().copied()
    }

    /// Who watches kernels, if somebody does.
    pub(crate) fn checking(&self) -> Option<&Checking> {
        self.process.checking()
    }

    /// What a kernel that begins finds in memory that the program can write, too, if races are looked for.
    pub(crate) fn found(&self) -> Option<Found<'_>> {
        Found::now(self.checking()?, &self.process)
    }

    /// Who debugs a launch, if somebody does.
    pub(crate) fn debugging(&self, launch: &Launch<'_>) -> Option<&dyn Debugging> {
        self.process.debugging().filter(|debugging| debugging.wants(launch))
    }

    /// See [`Process::turn`].
    pub(crate) fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.process.turn()
    }

    /// Whether kernels run.
    pub(crate) fn executes(&self) -> bool {
        self.process.settings.execution == Execution::Full
    }

    /// The first failure stays.
    pub(crate) fn note(&self, result: Result<()>) {
        if let Err(error) = result {
            self.error.get_or_init(|| error);
        }
    }

    /// What compiles kernels, if something does.
    pub(crate) fn engine(&self) -> Option<&dyn Engine> {
        self.process.settings.engine.as_deref()
    }

    /// When asynchronous operations of kernels are done.
    pub(crate) fn asynchrony(&self) -> machine::Asynchrony {
        self.process.settings.asynchrony
    }

    /// What is done with lanes that member masks leave out.
    pub(crate) fn masks(&self) -> machine::Masks {
        self.process.settings.masks
    }

    /// Tells of what a GPU would not have noticed.
    pub(crate) fn warn(&self, misuses: &[machine::Misuse]) {
        for misuse in misuses.iter().filter(|misuse| self.process.warnings.is_new(misuse)) {
            (self.process.report)(&format_args!("warning: {misuse}"));
        }
    }

    pub(crate) fn fault(&self, fault: &Fault) {
        self.note(Err(Error::of_trap(&fault.trap)));
        (self.process.report)(fault);
    }
}
