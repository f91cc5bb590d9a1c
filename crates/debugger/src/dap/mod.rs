//! The Debug Adapter Protocol, for editors: another thin face of a session.
//!
//! A DAP thread is a warp of the CTA that has stopped; its frames and variables are those of its lane in focus. What is typed into
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
use adapter::Adapter;
use std::io::{BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::Incoming;
pub use wire::Outgoing;

/// What begins a session.
pub trait Starter {
    /// Where source texts come from.
    type Sources: Sources;

    /// A session for the arguments of a `launch` request. What the kernel prints goes to `printed`.
    ///
    /// # Errors
    /// What is wrong with the arguments, for people.
    fn start(
        &mut self,
        arguments: &serde_json::Value,
        printed: Box<dyn Write + Send>,
    ) -> Result<(Session, Self::Sources), String>;
}

/// What stops a running launch, once there is one.
#[derive(Clone, Default)]
struct Interrupt(Arc<Mutex<Interrupts>>);

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

    fn set(&self, flag: Arc<AtomicBool>) {
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

/// Serves one client until it disconnects or its stream ends.
///
/// # Errors
/// If a message cannot be written.
pub fn serve<S: Starter>(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    starter: S,
) -> std::io::Result<()> {
    let interrupt = Interrupt::default();
    let (requests, incoming) = channel();
    let raised = interrupt.clone();
    // A request that interrupts must be seen while the launch runs.
    std::thread::Builder::new().name("requests".to_owned()).spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(message) = wire::read(&mut input) {
            if interrupts(&message) {
                raised.raise();
            }
            if requests.send(message).is_err() {
                return;
            }
        }
        raised.raise();
    })?;
    let mut adapter = Adapter::new(Outgoing::new(output), starter, interrupt.clone());
    for message in incoming {
        if interrupts(&message) {
            interrupt.handled();
        }
        if !adapter.handle(message)? {
            break;
        }
    }
    Ok(())
}
