//! A GPU behind a process of its own: a kernel that faults leaves the driver useless to its process, and one that does not end
//! keeps it for ever.
//!
//! The process is this program once more, which [`serve`]s: it says what the device is called, then answers each request, the file of
//! a case and a cubin, with what the GPU makes of it, and ends when a kernel was stopped. A [`Remote`] starts one when it has none,
//! and ends it when it does not answer. What goes through the pipes has its length in front, eight bytes.

use crate::case::Case;
use crate::engine::Outcome;
use crate::silicon;
use real_gpu::Gpu;
use std::io::{self, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// How long a kernel may take. On a machine those of the generator issue some thousand instructions.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the driver may take to begin.
const BEGINNING: Duration = Duration::from_secs(60);
/// Bytes that one end takes from the other at once.
const MOST: u64 = 1 << 30;

/// Answers requests until there are none, or a kernel was stopped.
///
/// # Errors
/// If the other end is gone, or does not keep to the form.
pub fn serve(mut requests: impl Read, answers: impl Write) -> io::Result<()> {
    let mut answers = BufWriter::new(answers);
    let gpu = match Gpu::open() {
        Ok(gpu) => gpu,
        Err(why) => return send_outcome(&mut answers, &Outcome::Stopped(why.to_string())),
    };
    send_outcome(&mut answers, &Outcome::Memory(gpu.name().into()))?;
    while let Some(file) = receive(&mut requests)? {
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
        let file = String::from_utf8(file).map_err(|_| wrong("the file is no text"))?;
        let case = Case::parse(&file).map_err(|why| wrong(&why))?;
        let cubin = receive(&mut requests)?.ok_or_else(|| wrong("a case without a cubin"))?;
        let outcome = silicon::run(&gpu, &case, &cubin);
        send_outcome(&mut answers, &outcome)?;
        if matches!(outcome, Outcome::Stopped(_)) {
            break;
        }
    }
    Ok(())
}

/// The other end of a process that serves.
#[derive(Debug)]
pub struct Remote {
    command: Command,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    requests: BufWriter<ChildStdin>,
    outcomes: Receiver<Outcome>,
}

impl Remote {
    /// The process that `command` is, which is started when it is first needed.
    pub fn new(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self { command, process: None }
    }

    /// What the GPU is called.
    ///
    /// # Errors
    /// If there is none.
    pub fn begin(&mut self) -> Result<String, String> {
        let mut process = Process::start(&mut self.command).map_err(|error| error.to_string())?;
        match process.outcome(BEGINNING) {
            Outcome::Memory(name) => {
                self.process = Some(process);
                Ok(String::from_utf8_lossy(&name).into_owned())
            }
            Outcome::Stopped(why) | Outcome::Declined(why) => Err(why),
        }
    }

    /// What the GPU makes of an assembled case.
    pub fn run(&mut self, case: &Case, cubin: &[u8]) -> Outcome {
        if self.process.is_none()
            && let Err(why) = self.begin()
        {
            return Outcome::Stopped(why);
        }
        let Some(mut process) = self.process.take() else { return Outcome::Stopped(String::new()) };
        let outcome = process.ask(case, cubin);
        if matches!(outcome, Outcome::Memory(_)) {
            self.process = Some(process);
        }
        outcome
    }
}

impl Process {
    fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let (Some(requests), Some(mut answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (teller, outcomes) = channel();
        // A read of a pipe cannot be given up; whoever waits for a channel can.
        thread::spawn(move || {
            while let Ok(Some(outcome)) = receive_outcome(&mut answers) {
                if teller.send(outcome).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, requests: BufWriter::new(requests), outcomes })
    }

    fn ask(&mut self, case: &Case, cubin: &[u8]) -> Outcome {
        let sent = send(&mut self.requests, case.file().as_bytes())
            .and_then(|()| send(&mut self.requests, cubin))
            .and_then(|()| self.requests.flush());
        match sent {
            Ok(()) => self.outcome(PATIENCE),
            Err(error) => Outcome::Stopped(format!("the GPU's process: {error}")),
        }
    }

    fn outcome(&mut self, patience: Duration) -> Outcome {
        let answer = self.outcomes.recv_timeout(patience);
        answer.unwrap_or_else(|error| Outcome::Stopped(format!("no answer of the GPU's process: {error}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already cannot be ended, and nobody wants its status.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)
}

/// The next bytes, if there are any.
fn receive(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u64::from_le_bytes(length);
    if length > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 == length).then_some(bytes))
}

/// An outcome is its kind, as one byte, and its bytes.
fn send_outcome(to: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    let (kind, bytes) = match outcome {
        Outcome::Memory(bytes) => (0, bytes.as_slice()),
        Outcome::Stopped(why) => (1, why.as_bytes()),
        Outcome::Declined(why) => (2, why.as_bytes()),
    };
    send(to, &[kind])?;
    send(to, bytes)?;
    to.flush()
}

fn receive_outcome(from: &mut impl Read) -> io::Result<Option<Outcome>> {
    let (Some(kind), Some(bytes)) = (receive(from)?, receive(from)?) else { return Ok(None) };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(match kind.as_slice() {
        [0] => Some(Outcome::Memory(bytes)),
        [1] => Some(Outcome::Stopped(text(&bytes))),
        [2] => Some(Outcome::Declined(text(&bytes))),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_go_through_pipes() {
        let outcomes = [
            Outcome::Memory(vec![1, 2, 0]),
            Outcome::Stopped("here".into()),
            Outcome::Declined(String::new()),
        ];
        let mut pipe = Vec::new();
        outcomes.iter().for_each(|outcome| send_outcome(&mut pipe, outcome).expect("memory"));
        let mut left = pipe.as_slice();
        for outcome in outcomes {
            assert_eq!(receive_outcome(&mut left).expect("a form"), Some(outcome));
        }
        assert_eq!(receive_outcome(&mut left).expect("an end"), None);
        // What was cut off, and what claims to be longer than anything is.
        assert_eq!(receive_outcome(&mut &pipe[..19]).expect("an end"), None);
        assert!(receive(&mut [0xff; 9].as_slice()).is_err());
    }

    /// A process that neither answers nor ends, and one that ends, cost a kernel and no more.
    #[test]
    fn processes_that_do_not_answer() {
        let mut ends = Remote::new(Command::new("true"));
        assert!(ends.begin().is_err());
        let mut sleeps = Command::new("sleep");
        sleeps.arg("1000").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(&mut sleeps).expect("a process");
        assert!(matches!(process.outcome(Duration::from_millis(20)), Outcome::Stopped(_)));
    }
}
