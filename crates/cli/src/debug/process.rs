//! A program that is debugged: its process, the socket at which its driver asks for a debugger, what it prints.
//!
//! It has a process group of its own, so that Ctrl-C is the debugger's, and its standard input is empty. When this is dropped,
//! the program and all that it has started end.

use debugger::attached::Wishes;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{Error, Result, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

/// See the module.
pub(crate) struct Process {
    child: Child,
    /// Where the driver asks, until it has.
    listener: Option<UnixListener>,
    folder: PathBuf,
    greeting: String,
}

impl Process {
    /// Starts a program.
    pub(crate) fn start(mut command: Command, wishes: &Wishes) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("warploom-debug-{}-{number}", process::id()));
        // Nobody else may answer.
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let socket = folder.join("socket");
        let listener = UnixListener::bind(&socket)?;
        command.env("WARPLOOM_DEBUG", &socket).stdin(Stdio::null()).process_group(0);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
        Ok(Self { child, listener: Some(listener), folder, greeting: format!("{}\n", wishes.json()) })
    }

    /// What the program writes to its standard output and error. They can be had once.
    pub(crate) fn printed(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        self.child.stdout.take().zip(self.child.stderr.take())
    }

    /// Where the driver asks, until it has.
    pub(crate) fn listener(&self) -> Option<&UnixListener> {
        self.listener.as_ref()
    }

    /// Waits until the driver asks, and tells it what is wanted. No other process of the program is listened to.
    pub(crate) fn accept(&mut self) -> Result<UnixStream> {
        let listener = self.listener.as_ref().ok_or_else(|| Error::other("it has asked already"))?;
        let (mut stream, _) = listener.accept()?;
        self.listener = None;
        stream.write_all(self.greeting.as_bytes())?;
        Ok(stream)
    }

    /// How the program has ended, if it has.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            // It may be gone.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The exit code as a shell tells it.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
