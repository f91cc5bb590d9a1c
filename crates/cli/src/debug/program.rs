//! `warploom debug -- PROGRAM`: the console's end of a program whose launches are debugged.
//!
//! What the program prints comes in whole lines between the console's own, each marked.

use super::process::{Process, exit_code};
use crate::failure::Failure;
use crate::terminal;
use debugger::Reply;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

/// What stands before a line of the program.
const MARK: &str = "[program] ";
/// Between two looks whether a program is there that says nothing.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;

/// The way to the program, for who interrupts.
#[derive(Clone, Default)]
pub(super) struct Way(Arc<Mutex<Option<UnixStream>>>);

impl Way {
    fn send(&self, message: &Value) {
        if let Some(stream) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // One that is gone is noticed where it is listened to.
            let _ = stream.write_all(format!("{message}\n").as_bytes());
        }
    }

    /// Stops the kernel that runs, or the next one.
    pub(super) fn interrupt(&self) {
        self.send(&json!({ "interrupt": true }));
    }
}

/// See the module.
pub(super) struct Remote {
    process: Process,
    way: Way,
    stream: Option<UnixStream>,
    /// What has come of the next reply.
    heard: Vec<u8>,
    printed: [Option<Printing>; 2],
    over: bool,
}

/// A stream of the program's, and its last line as far as it has come.
struct Printing {
    from: Box<dyn Source>,
    line: Vec<u8>,
}

trait Source: Read + AsFd + Send {}
impl<T: Read + AsFd + Send> Source for T {}

impl Remote {
    /// Of a program that has been started.
    pub(super) fn new(mut process: Process, way: Way) -> Self {
        let printed = process.printed().map_or([None, None], |(out, error)| {
            let printing = |from| Some(Printing { from, line: Vec::new() });
            [printing(Box::new(out) as Box<dyn Source>), printing(Box::new(error))]
        });
        Self { process, way, stream: None, heard: Vec::new(), printed, over: false }
    }

    /// Follows a line, as a console does.
    pub(super) fn follow(&mut self, line: &str) -> Result<Reply, Failure> {
        let nothing = line.trim().is_empty() || line.trim().starts_with('#');
        if debugger::attached::ends(line) || nothing {
            return Ok(Reply { quit: !nothing, ..Reply::default() });
        }
        if self.over {
            let text = "The program has ended.\n".to_owned();
            return Ok(Reply { text, failed: true, quit: false });
        }
        self.way.send(&json!({ "line": line }));
        self.wait()
    }

    /// Waits for a reply, or for the end of the program.
    pub(super) fn wait(&mut self) -> Result<Reply, Failure> {
        let failed = |error: std::io::Error| Failure::usage(format!("the program: {error}"));
        loop {
            if let Some(reply) = self.reply() {
                // What it has printed before it stopped comes before.
                while self.listen(&NO_TIME).map_err(failed)? {}
                self.show()?;
                return Ok(reply);
            }
            let news = self.listen(&PAUSE).map_err(failed)?;
            self.show()?;
            if !news && let Some(status) = self.process.ended().map_err(failed)? {
                while self.listen(&NO_TIME).map_err(failed)? {}
                self.end()?;
                let text = format!("The program has ended with exit code {}.\n", exit_code(status));
                return Ok(Reply { text, ..Reply::default() });
            }
        }
    }

    /// The next reply, if all of it has come.
    fn reply(&mut self) -> Option<Reply> {
        let end = self.heard.iter().position(|&byte| byte == b'\n')?;
        let line: Vec<u8> = self.heard.drain(..=end).collect();
        let value: Value = serde_json::from_slice(&line).unwrap_or_default();
        let text = value["text"].as_str().unwrap_or_default().to_owned();
        Some(Reply { text, failed: value["failed"] == true, quit: value["quit"] == true })
    }

    /// Takes what there is within a time; whether there was anything.
    fn listen(&mut self, time: &Timespec) -> std::io::Result<bool> {
        let talk = match (&self.stream, self.process.listener()) {
            (Some(stream), _) => Some(stream.as_fd()),
            (None, listener) => listener.map(AsFd::as_fd),
        };
        let [out, error] = self.printed.each_ref().map(|p| p.as_ref().map(|p| p.from.as_fd()));
        let sources: [Option<BorrowedFd<'_>>; 3] = [talk, out, error];
        let mut fds: Vec<PollFd<'_>> =
            sources.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        if poll(&mut fds, Some(time))? == 0 {
            return Ok(false);
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let [talk, out, error] = sources.map(|source| source.is_some() && ready.next().unwrap_or_default());
        for (printing, _) in self.printed.iter_mut().zip([out, error]).filter(|(_, ready)| *ready) {
            if let Some(Printing { from, line }) = printing {
                let mut piece = [0; PIECE];
                match from.read(&mut piece)? {
                    0 if line.is_empty() => *printing = None,
                    0 => line.push(b'\n'),
                    bytes => line.extend(&piece[..bytes]),
                }
            }
        }
        match &mut self.stream {
            None if talk => {
                let stream = self.process.accept()?;
                *self.way.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream.try_clone()?);
                self.stream = Some(stream);
            }
            Some(stream) if talk => {
                let mut piece = [0; PIECE];
                match stream.read(&mut piece)? {
                    0 => self.stream = None,
                    bytes => self.heard.extend(&piece[..bytes]),
                }
            }
            _ => {}
        }
        Ok(true)
    }

    /// Shows the whole lines that the program has printed.
    fn show(&mut self) -> Result<(), Failure> {
        for Printing { line, .. } in self.printed.iter_mut().flatten() {
            let end = line.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            let whole: Vec<u8> = line.drain(..end).collect();
            for text in String::from_utf8_lossy(&whole).lines() {
                terminal::result(&format!("{MARK}{text}\n"))?;
            }
        }
        Ok(())
    }

    /// The program is over: its last words need no end of a line.
    fn end(&mut self) -> Result<(), Failure> {
        for Printing { line, .. } in self.printed.iter_mut().flatten().filter(|p| !p.line.is_empty()) {
            line.push(b'\n');
        }
        self.over = true;
        self.show()
    }
}
