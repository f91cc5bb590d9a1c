//! A console at the end of a stream: commands come in, replies go out, each a line of JSON.
//!
//! A command that lets the launch run is answered when something stops, in this launch or a later one.

use super::Talk;
use crate::{Console, Reply, Sources};
use serde_json::{Value, json};
use std::io::{BufRead, Result, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// See the module.
pub(super) struct Lines {
    commands: Receiver<String>,
    out: Box<dyn Write + Send>,
}

/// Commands that give a launch back to the program if it can go no further.
const ONWARDS: [&str; 6] = ["continue", "step", "next", "stepi", "nexti", "finish"];

impl Lines {
    /// Listens; what stops the launch is set by the other end, and whether that is gone.
    pub(super) fn new(
        from: impl BufRead + Send + 'static,
        to: impl Write + Send + 'static,
        (interrupt, alone): (Arc<AtomicBool>, Arc<AtomicBool>),
    ) -> Result<Self> {
        let (typed, commands) = channel();
        let listen = move || {
            for line in from.lines().map_while(Result::ok) {
                let message: Value = serde_json::from_str(&line).unwrap_or_default();
                if message["interrupt"] == true {
                    interrupt.store(true, Ordering::Relaxed);
                }
                if let Some(line) = message["line"].as_str()
                    && typed.send(line.to_owned()).is_err()
                {
                    break;
                }
            }
            alone.store(true, Ordering::Relaxed);
        };
        std::thread::Builder::new().name("commands".to_owned()).spawn(listen)?;
        Ok(Self { commands, out: Box::new(to) })
    }

    fn say(&mut self, reply: &Reply) {
        let Reply { text, failed, quit } = reply;
        let line = json!({ "text": text, "failed": failed, "quit": quit });
        // Who does not listen will not ask either.
        let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
    }
}

impl<S: Sources> Talk<S> for Lines {
    fn talk(&mut self, mut console: Console<S>, number: u64, about: &str) -> Option<Console<S>> {
        let heading = format!("[Launch {number}: {about}]\n");
        if number == 1 {
            self.say(&Reply { text: heading, ..Reply::default() });
        } else {
            let at_once = console.session.stops.beginnings;
            let failed = console.session.run(at_once).err();
            if failed.is_none() && console.session.ends_silently() {
                return Some(console);
            }
            let report = failed.map_or_else(|| console.report(), |error| format!("{error}\n"));
            self.say(&Reply { text: heading + &report, ..Reply::default() });
        }
        while let Ok(line) = self.commands.recv() {
            let done = console.session.is_done();
            let command = crate::console::named(&line);
            if done && command.is_some_and(|name| ONWARDS.contains(&name)) {
                break;
            }
            let reply = console.follow(&line);
            if reply.quit || !done && !reply.failed && console.session.ends_silently() {
                break;
            }
            self.say(&reply);
        }
        Some(console)
    }
}
