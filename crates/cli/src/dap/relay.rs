//! A program that an editor debugs: an adapter in its process answers, and what is said is passed on in both directions. What
//! the program prints becomes events.

use crate::debug::process::{Process, exit_code};
use debugger::dap::{Debuggee, Outgoing, frame, send};
use serde_json::Value;
use std::io::{BufReader, Error, Read, Result};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

/// Between two looks whether a program is there that says nothing.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of what the program prints that become one event at most.
const PIECE: usize = 1 << 16;

/// See the module.
pub(super) struct Relay(Arc<Mutex<State>>);

struct State {
    process: Process,
    /// The way to the adapter, once it is there.
    stream: Option<UnixStream>,
    /// What was asked before that.
    early: Vec<Value>,
    over: bool,
}

impl Relay {
    /// Of a program that has been started.
    pub(super) fn new(process: Process) -> Self {
        Self(Arc::new(Mutex::new(State { process, stream: None, early: Vec::new(), over: false })))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Debuggee for Relay {
    fn listen(&mut self, out: Outgoing) -> Result<()> {
        let printed = lock(&self.0).process.printed();
        let printed = printed.ok_or_else(|| Error::other("the program is listened to already"))?;
        let printing = [copy(printed.0, out.clone(), false)?, copy(printed.1, out.clone(), true)?];
        let state = Arc::clone(&self.0);
        let relay = move || relay(&state, &out, printing);
        std::thread::Builder::new().name("program".to_owned()).spawn(relay).map(drop)
    }

    fn pass(&mut self, request: &Value) -> Result<()> {
        let mut state = lock(&self.0);
        if state.over {
            return Err(Error::other("the program has ended"));
        }
        match &mut state.stream {
            Some(stream) => send(stream, &request.to_string()),
            None => {
                state.early.push(request.clone());
                Ok(())
            }
        }
    }
}

/// Tells what the program prints.
fn copy(mut from: impl Read + Send + 'static, out: Outgoing, error: bool) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name("printed".to_owned()).spawn(move || {
        let mut piece = vec![0; PIECE];
        while let Ok(bytes @ 1..) = from.read(&mut piece) {
            if out.printed(&piece[..bytes], error).is_err() {
                break;
            }
        }
    })
}

/// Passes on what the adapter says, until the program has ended.
fn relay(state: &Mutex<State>, out: &Outgoing, printing: [JoinHandle<()>; 2]) {
    if let Ok(Some(stream)) = connect(state) {
        let mut from = BufReader::new(stream);
        while let Some(message) = frame(&mut from) {
            if message.is_ok_and(|message| out.relay(message).is_err()) {
                return;
            }
        }
    }
    let status = loop {
        match lock(state).process.ended() {
            Ok(Some(status)) => break exit_code(status),
            Ok(None) => {}
            Err(_) => break 1,
        }
        sleep(PAUSE);
    };
    let mut state = lock(state);
    state.over = true;
    // What it has started may still hold its streams.
    printing.into_iter().filter(JoinHandle::is_finished).for_each(|thread| drop(thread.join()));
    let unanswered = state.early.iter().find(|request| request["command"] == "launch");
    if let Some(seq) = unanswered.and_then(|request| request["seq"].as_i64()) {
        let _ =
            out.refused(seq, &format!("the program has ended with exit code {status} and launched nothing"));
    }
    let _ = out.ended(status.into());
}

/// Waits for the adapter, and passes on what was asked before; `None` if the program has ended instead.
fn connect(state: &Mutex<State>) -> Result<Option<UnixStream>> {
    lock(state).process.listener().map_or(Ok(()), |listener| listener.set_nonblocking(true))?;
    loop {
        let mut state = lock(state);
        match state.process.accept() {
            Ok(mut stream) => {
                stream.set_nonblocking(false)?;
                for request in std::mem::take(&mut state.early) {
                    send(&mut stream, &request.to_string())?;
                }
                state.stream = Some(stream.try_clone()?);
                return Ok(Some(stream));
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if state.process.ended()?.is_some() {
            return Ok(None);
        }
        drop(state);
        sleep(PAUSE);
    }
}
