//! The Debug Adapter Protocol, for editors: another thin face of a session.
//!
//! A DAP thread is a warp, first those of the CTA that has stopped; its frames and variables are those of its lane in focus. What is typed into
//! an editor's debug console is a command of [`crate::Console`] or an expression, so that `cuda lane 5` chooses another lane.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `wire` | messages on a stream |
//! | `adapter` | requests and events |
//! | `breakpoints` | breakpoints of all kinds, which editors set as whole lists |
//! | `data` | threads, frames, variables, memory |

mod adapter;
mod breakpoints;
mod data;
mod wire;

use crate::{Session, Sources};
pub(crate) use adapter::Adapter;
use std::io::{BufReader, Read, Write};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub(crate) use wire::Incoming;
pub use wire::{Outgoing, frame, send};

/// What begins a session.
pub trait Starter {
    /// Where source texts come from.
    type Sources: Sources;

    /// What a `launch` request asks for, by its arguments. What the kernel prints goes to `printed`.
    ///
    /// # Errors
    /// What is wrong with the arguments, for people.
    fn start(
        &mut self,
        arguments: &serde_json::Value,
        printed: Box<dyn Write + Send>,
    ) -> Result<Launched<Self::Sources>, String>;
}

/// What a `launch` request has begun.
pub enum Launched<S> {
    /// A launch of a kernel.
    Kernel(Box<Session>, S),
    /// A program, in whose process somebody answers what follows.
    Program(Box<dyn Debuggee>),
    /// A program is this one, and launches a kernel already.
    Here,
}

impl<S> std::fmt::Debug for Launched<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Kernel(..) => "Kernel",
            Self::Program(_) => "Program",
            Self::Here => "Here",
        })
    }
}

/// A program that is debugged in its own process. When it is dropped, the program ends.
pub trait Debuggee: Send {
    /// What it says from now on goes to the client.
    ///
    /// # Errors
    /// If no thread can be started.
    fn listen(&mut self, out: Outgoing) -> std::io::Result<()>;

    /// Passes a request on.
    ///
    /// # Errors
    /// If the program is gone.
    fn pass(&mut self, request: &serde_json::Value) -> std::io::Result<()>;
}

/// In the process of a program: its launches are the sessions.
pub(crate) struct Attachment<S>(pub(crate) PhantomData<fn() -> S>);

impl<S: Sources> Starter for Attachment<S> {
    type Sources = S;

    fn start(&mut self, _: &serde_json::Value, _: Box<dyn Write + Send>) -> Result<Launched<S>, String> {
        Ok(Launched::Here)
    }
}

/// What stops a running launch, once there is one.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<Interrupts>>);

#[derive(Default)]
struct Interrupts {
    flag: Option<Arc<AtomicBool>>,
    /// Requests that interrupt and have not been handled yet: they count also for a launch that goes on before.
    pending: usize,
}

impl Interrupt {
    fn state(&self) -> MutexGuard<'_, Interrupts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, flag: Arc<AtomicBool>) {
        self.state().flag = Some(flag);
    }

    /// A request has come that interrupts.
    fn raise(&self) {
        let mut state = self.state();
        state.pending += 1;
        state.tell();
    }

    /// It is handled now.
    fn handled(&self) {
        self.state().pending -= 1;
    }

    /// The launch goes on: what was asked for while it stood still has been answered.
    fn ready(&self) {
        self.state().tell();
    }
}

impl Interrupts {
    fn tell(&self) {
        if let Some(flag) = &self.flag {
            flag.store(self.pending != 0, Ordering::Relaxed);
        }
    }
}

/// Whether a request interrupts a launch that runs.
fn interrupts(message: &Incoming) -> bool {
    matches!(message, Incoming::Request { command, .. }
        if ["pause", "disconnect", "terminate"].contains(&command.as_str()))
}

/// The messages of a client. One that interrupts is seen while the launch runs.
pub(crate) struct Inbox {
    messages: Receiver<Incoming>,
    pub(crate) interrupt: Interrupt,
}

impl Inbox {
    /// Listens to a stream; where it ends, `at_end` is told.
    pub(crate) fn open(
        input: impl Read + Send + 'static,
        at_end: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Self> {
        let interrupt = Interrupt::default();
        let (requests, messages) = channel();
        let raised = interrupt.clone();
        std::thread::Builder::new().name("requests".to_owned()).spawn(move || {
            let mut input = BufReader::new(input);
            while let Some(message) = wire::read(&mut input) {
                if interrupts(&message) {
                    raised.raise();
                }
                if requests.send(message).is_err() {
                    break;
                }
            }
            at_end();
            raised.raise();
        })?;
        Ok(Self { messages, interrupt })
    }

    /// The next one; `None` behind the last.
    pub(crate) fn next(&self) -> Option<Incoming> {
        let message = self.messages.recv().ok()?;
        if interrupts(&message) {
            self.interrupt.handled();
        }
        Some(message)
    }
}

/// Serves one client until it disconnects or its stream ends.
///
/// # Errors
/// If a message cannot be written.
pub fn serve<S: Starter>(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    starter: S,
) -> std::io::Result<()> {
    let inbox = Inbox::open(input, || ())?;
    let mut adapter = Adapter::new(output, starter, inbox.interrupt.clone());
    while let Some(message) = inbox.next() {
        if !adapter.handle(message)? {
            break;
        }
    }
    Ok(())
}
