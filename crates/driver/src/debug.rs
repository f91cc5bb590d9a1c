//! Debugging: every launch is handed to a debugger, which executes it as often as it wants.
//!
//! While it stands still, or is executed again, nothing else may change memory that it sees: launches, copies, fills and values that
//! are written take turns then. What the program itself writes to memory that it shares with its devices is not held up.

use crate::lock;
use crate::process::Process;
use machine::output::Output;
use machine::{Launch, LaunchError, LaunchOptions, LaunchReport, LoadedModule};
use std::sync::{Arc, MutexGuard};

/// Executes a launch once, from memory as it is.
pub type Execute<'a> = dyn Fn(&Launch<'_>, &LaunchOptions<'_>) -> Result<LaunchReport, LaunchError> + 'a;

/// A debugger.
pub trait Debugging: Send + Sync {
    /// Where kernels print.
    fn output(&self) -> Output;

    /// Whether it wants to debug a launch.
    fn wants(&self, launch: &Launch<'_>) -> bool;

    /// Debugs a launch to its end. `execute` knows what options are the driver's.
    fn launch(
        &self,
        device: &Arc<machine::Device>,
        module: &Arc<LoadedModule>,
        launch: &Launch<'_>,
        execute: &Execute<'_>,
    ) -> Result<LaunchReport, LaunchError>;
}

impl Process {
    /// Who debugs launches, if somebody does.
    pub(crate) fn debugging(&self) -> Option<&dyn Debugging> {
        self.settings.debugging.as_deref()
    }

    /// While it is there, nobody else changes memory of devices; `None` where that does not matter.
    pub(crate) fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.debugging().map(|_| lock(&self.turns))
    }
}
