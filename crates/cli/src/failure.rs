//! How a command ends when it cannot do what was asked: one message, and the exit code that scripts see.

use annotate_snippets::{Level, Renderer};
use std::process::ExitCode;

/// The exit codes of every subcommand, as `--help` documents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Everything is as it should be.
    Ok = 0,
    /// Errors in PTX, a file that `fmt --check` would change, an expectation that failed.
    Findings = 1,
    /// A command line or an input file that cannot be used.
    Usage = 2,
    /// The kernel was stopped by a fault.
    Fault = 3,
    /// The machine does not execute an instruction, or the device does not run the module.
    Unsupported = 4,
    /// Ctrl-C.
    Cancelled = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The paragraph of `--help` about exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    everything is as it should be
  1    errors in PTX, a file that `fmt --check` would change, or an expectation that failed
  2    a command line or an input that cannot be used
  3    the kernel was stopped by a fault
  4    an instruction that the machine does not execute, or a module that the device does not run
  130  stopped by Ctrl-C";

/// Why a command ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// One sentence; empty if everything has been said.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// Something about the command line or an input file.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None }
    }

    /// An end of which the user knows already.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// It as text, for who does not read standard error.
    pub(crate) fn text(&self) -> String {
        let hint = self.hint.iter().map(|hint| format!(" ({hint})"));
        std::iter::once(self.message.clone()).chain(hint).collect()
    }

    /// Prints it to standard error.
    pub(crate) fn report(&self) {
        if self.message.is_empty() {
            return;
        }
        let help = self.hint.iter().map(|hint| Level::HELP.message(hint.as_str()));
        let group = Level::ERROR.primary_title(self.message.as_str()).elements(help);
        crate::terminal::note(&Renderer::styled().render(&[group]));
    }
}
