//! What is told of a stop; source lines and PTX.

use super::{Console, Sources};
use crate::engine::{Issued, Reason};
use crate::focus::block_text;
use crate::session::Outcome;
use crate::value::{Format, Value, Where};
use crate::{Error, Session};
use abi::names::demangled;
use machine::LaunchError;
use machine::SourceLocation;
use ptx::module::FuncId;

/// Lines that `list` and `disassemble` show.
const LINES: u32 = 10;

impl<S: Sources> Console<S> {
    /// Where the launch is, and why.
    pub fn report(&mut self) -> String {
        self.listed = None;
        let undone = match std::mem::take(&mut self.session.undone) {
            0 => String::new(),
            1 => "An assignment is undone: the launch is as it was without it.\n".to_owned(),
            several => format!("{several} assignments are undone: the launch is as it was without them.\n"),
        };
        let text = match self.session.outcome() {
            Outcome::NotBegun => return "The kernel has not begun.\n".to_owned(),
            Outcome::Ended(issued, result) => {
                let change =
                    self.session.last_change.as_ref().map(|change| reason_text(&self.session, change));
                let ended = match result {
                    Ok(()) => format!("The kernel is over, after {issued} warp instructions.\n"),
                    Err(LaunchError::Fault(fault)) => format!("The kernel was stopped: {fault}\n"),
                    Err(error) => format!("The kernel cannot be run: {error}\n"),
                };
                return undone + &change.unwrap_or_default() + &ended;
            }
            Outcome::Stopped(stop) => reason_text(&self.session, &stop.reason),
        };
        undone + &text + &self.here()
    }

    /// The thread in focus, and its line.
    pub(super) fn here(&self) -> String {
        let Ok(scene) = self.session.innermost() else { return String::new() };
        let number = self.session.focus().map_or(0, |focus| focus.frame);
        let frames = scene.frames();
        let Some(frame) = frames.get(number) else { return String::new() };
        let at = frame.source.as_ref().map(|source| format!(" at {source}")).unwrap_or_default();
        let mut text = format!("[{}] {}{at}\n", thread_text(&scene), frame.name);
        let source = frame.source.as_ref().and_then(|source| self.line(&source.file, source.line));
        if let (Some(source), Some(line)) = (&frame.source, source) {
            text += &format!("{}\t{line}\n", source.line);
        }
        let (line, instruction) = frame.scene.ptx();
        text + &format!("ptx:{line}\t{instruction}\n")
    }

    /// A line of a source text.
    pub(super) fn line(&self, file: &str, line: u32) -> Option<String> {
        let text = self.sources.text(file)?;
        text.lines().nth(line.checked_sub(1)? as usize).map(str::to_owned)
    }

    /// A place in the code for people.
    pub(super) fn place_text(&self, (function, instruction): (FuncId, u32)) -> String {
        place_text(&self.session, (function, instruction))
    }

    pub(super) fn info_source(&self) -> Result<String, Error> {
        let frames = self.session.innermost()?.frames();
        Ok(match frames.first().and_then(|frame| frame.source.clone()) {
            Some(SourceLocation { file, line, .. }) => format!("{file}, line {line}\n"),
            None => "The instruction belongs to no source line.\n".to_owned(),
        })
    }

    pub(super) fn list(&mut self, rest: &str) -> Result<String, Error> {
        let here = || -> Result<(String, u32), Error> {
            let scene = self.session.innermost()?;
            let frame = self.session.focus().map_or(0, |focus| focus.frame);
            let source = scene.frames().into_iter().nth(frame).and_then(|frame| frame.source);
            let source = source
                .ok_or_else(|| Error::Command("the instruction belongs to no source line".to_owned()))?;
            Ok((source.file, source.line.saturating_sub(LINES / 2).max(1)))
        };
        let (file, first) = match (rest, &self.listed) {
            ("", Some(listed)) => listed.clone(),
            ("", None) => here()?,
            (line, listed) => {
                let line: u32 =
                    line.parse().map_err(|_| Error::Command(format!("`{line}` is not a line")))?;
                let file = listed
                    .as_ref()
                    .map_or_else(|| here().map(|(file, _)| file), |(file, _)| Ok(file.clone()))?;
                (file, line.saturating_sub(LINES / 2).max(1))
            }
        };
        let text =
            self.sources.text(&file).ok_or_else(|| Error::Command(format!("{file} cannot be read")))?;
        let lines = text.lines().zip(1..).skip(first as usize - 1).take(LINES as usize);
        let shown: String = lines.map(|(line, number): (&str, u32)| format!("{number}\t{line}\n")).collect();
        self.listed = Some((file, first + LINES));
        Ok(shown)
    }

    pub(super) fn disassemble(&self) -> Result<String, Error> {
        let scene = self.session.scene()?;
        let module = self.session.program().module();
        let (function, instruction) = scene.place;
        let Some(body) = &module.functions[function.index()].body else { return Ok(String::new()) };
        let first = instruction.saturating_sub(LINES / 2);
        let shown = body.instructions.iter().zip(0..).skip(first as usize).take(LINES as usize);
        let line = |(code, index): (&ptx::module::Instruction, u32)| {
            let (line, _) = module.source.line_column(code.span.start);
            let text = module.source.slice(code.span).split_whitespace().collect::<Vec<_>>().join(" ");
            format!("{} ptx:{line}\t{text}\n", if index == instruction { "=>" } else { "  " })
        };
        Ok(shown.map(line).collect())
    }
}

/// A place in the code for people.
fn place_text(session: &Session, (function, instruction): (FuncId, u32)) -> String {
    let module = session.program().module();
    let name = demangled(&module.functions[function.index()].name);
    match module.loc(function, instruction).filter(|loc| loc.line != 0) {
        Some(loc) => format!("{name}, {}", SourceLocation::of(module, loc)),
        None => {
            let body = module.functions[function.index()].body.as_ref();
            let span = body.and_then(|body| Some(body.instructions.get(instruction as usize)?.span));
            let line = span.map_or(0, |span| module.source.line_column(span.start).0);
            format!("{name}, ptx:{line}")
        }
    }
}

/// `block (0,0,0), thread (1,0,0), warp 0, lane 1`, with the number of a grid that a kernel has launched.
fn thread_text(scene: &crate::Scene<'_>) -> String {
    let grid = match scene.grid.number {
        0 => String::new(),
        number => format!("grid {number}, "),
    };
    let [a, b, c] = scene.warp.threads[scene.lane];
    let (block, warp, lane) = (block_text(scene.snapshot.block), scene.warp.number, scene.lane);
    format!("{grid}{block}, thread ({a},{b},{c}), warp {warp}, lane {lane}")
}

/// Why the launch stands still.
fn reason_text(session: &Session, reason: &Reason) -> String {
    let written = |number: u32, bytes: &[u8]| {
        let watchpoint = session.watchpoints().iter().find(|watchpoint| watchpoint.number == number);
        let value = watchpoint
            .map(|watchpoint| Value { ty: watchpoint.ty.clone(), place: Where::Bytes(bytes.to_vec()) });
        let scene = session.innermost().ok();
        let text = value.zip(scene).and_then(|(value, scene)| scene.text(&value, Format::Natural).ok());
        text.unwrap_or_else(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "))
    };
    let named = |number: u32| {
        let watchpoint = session.watchpoints().iter().find(|watchpoint| watchpoint.number == number);
        watchpoint.map_or_else(String::new, |watchpoint| watchpoint.text.clone())
    };
    match reason {
        Reason::Breakpoint { number, .. } => format!("Breakpoint {number}\n"),
        Reason::Changed { number, old, new, by } => {
            let by = by.map(|by| format!("changed by {}\n", issued_text(session, &by))).unwrap_or_default();
            let (old, new) = (written(*number, old), written(*number, new));
            format!("Watchpoint {number}: {}\nold value = {old}\nnew value = {new}\n{by}", named(*number))
        }
        Reason::Accessed { number, lanes, access } => {
            format!("Watchpoint {number}: {}\n{access} by lanes {lanes:08x}\n", named(*number))
        }
        Reason::Step | Reason::Position => String::new(),
        Reason::Exited => "The thread has exited.\n".to_owned(),
        Reason::Barrier => "At a CTA barrier.\n".to_owned(),
        Reason::Found(text) => format!("{text}\n"),
        Reason::Interrupted => "Interrupted.\n".to_owned(),
        Reason::Fault(text) => format!("Fault: {text}\n"),
        Reason::Beginning => "No more reverse-execution history.\n".to_owned(),
    }
}

fn issued_text(session: &Session, issued: &Issued) -> String {
    let (block, place) = (block_text(issued.block), place_text(session, issued.place));
    format!(
        "{block}, warp {}, lanes {:08x} at {place}, position {}",
        issued.warp, issued.mask, issued.position
    )
}
