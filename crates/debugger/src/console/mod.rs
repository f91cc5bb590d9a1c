//! Commands as text, named as users of cuda-gdb know them: a thin face of a session. What is typed comes in as lines, what
//! is shown goes out as text; files and terminals are somebody else's.
//!
//! | file | commands |
//! | --- | --- |
//! | `control` | running, stepping, going back; breakpoints and watchpoints |
//! | `data` | printing, memory, types |
//! | `report` | what is told of a stop; source lines |
//! | `threads` | the thread in focus, tables of warps, lanes and registers |

mod control;
mod data;
mod report;
mod threads;

use crate::{Error, Session};

/// Where source texts come from.
pub trait Sources {
    /// The text of a file as debug information names it.
    fn text(&self, file: &str) -> Option<String>;

    /// Where that file is, for others to open.
    fn path(&self, file: &str) -> Option<String>;
}

/// What comes of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What is shown.
    pub text: String,
    /// Whether the command could not be followed.
    pub failed: bool,
    /// Whether that was the last line.
    pub quit: bool,
}

/// A session at a console.
pub struct Console<S> {
    /// The session.
    pub session: Session,
    sources: S,
    /// Where `list` goes on.
    listed: Option<(String, u32)>,
}

impl<S> std::fmt::Debug for Console<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("session", &self.session).finish_non_exhaustive()
    }
}

/// A command: its name, shorter names, what it takes, what it does.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What it takes.
    pub takes: &'static str,
    /// What it does.
    pub does: &'static str,
}

macro_rules! commands {
    ($($name:literal $aliases:tt $takes:literal $does:literal),* $(,)?) => {
        &[$(Command { name: $name, aliases: &$aliases, takes: $takes, does: $does }),*]
    };
}

/// All commands. Any beginning of a name that no other has will do for it.
pub const COMMANDS: &[Command] = commands![
    "run" ["r"] "" "begin the kernel, or begin it again",
    "start" [] "" "begin it, and stop at the first instruction",
    "continue" ["c"] "" "go on to the next breakpoint",
    "step" ["s"] "[N]" "step by source lines, into calls",
    "next" ["n"] "[N]" "step by source lines, over calls",
    "stepi" ["si"] "[N]" "step by PTX instructions, into calls",
    "nexti" ["ni"] "[N]" "step by PTX instructions, over calls",
    "finish" ["fin"] "" "go on until the function returns",
    "reverse-continue" ["rc"] "" "go back to the last breakpoint, or to who has changed watched memory",
    "reverse-step" ["rs"] "[N]" "step back by source lines, into calls",
    "reverse-next" ["rn"] "[N]" "step back by source lines, over calls",
    "reverse-stepi" ["rsi"] "[N]" "step back by PTX instructions",
    "reverse-nexti" ["rni"] "[N]" "step back by PTX instructions, over calls",
    "reverse-finish" [] "" "go back to the call of the function",
    "goto" [] "POSITION" "go to a moment: so many warp instructions after the beginning",
    "break" ["b", "br"] "PLACE [if CONDITION]" "stop at a function, LINE, FILE:LINE or ptx:LINE",
    "tbreak" ["tb"] "PLACE [if CONDITION]" "the same, once",
    "watch" [] "EXPRESSION" "stop when its memory has changed",
    "rwatch" [] "EXPRESSION" "stop before its memory is read",
    "awatch" [] "EXPRESSION" "stop before its memory is accessed",
    "catch" [] "barrier|race|launch|end [off]" "stop before CTA barriers; at what the checks find (--check); where launches of a program begin, or end",
    "delete" ["d"] "[NUMBER...]" "take breakpoints and watchpoints away, or all",
    "disable" [] "NUMBER..." "let breakpoints stop nobody",
    "enable" [] "NUMBER..." "let them stop again",
    "print" ["p", "inspect"] "[/FORMAT] EXPRESSION" "the value of an expression in the thread in focus; formats: x d u t f c",
    "set" [] "[var] EXPRESSION = VALUE" "change memory or a register of the thread in focus; going back before that undoes it",
    "lanes" [] "[/FORMAT] EXPRESSION [= VALUE]" "its value in every lane of the warp, as a table; assigned in all of them first",
    "x" [] "[/COUNT FORMAT SIZE] ADDRESS" "memory; sizes: b h w g",
    "whatis" ["ptype"] "EXPRESSION" "its type, and where it is",
    "info" ["i"] "TOPIC" "locals, args, registers [NAME...], breakpoints, frame, source, position, cuda threads|warps|lanes|blocks|kernels",
    "backtrace" ["bt", "where"] "" "the calls around the thread, inlined ones among them",
    "frame" ["f"] "[NUMBER]" "choose one of them",
    "up" [] "" "the one that has called",
    "down" [] "" "the one that was called",
    "cuda" [] "[block X[,Y,Z]] [thread X[,Y,Z]] [warp N] [lane N]" "show the thread in focus, or choose another one, of any CTA that is under way",
    "thread" [] "X[,Y,Z]" "the same as cuda thread",
    "list" ["l"] "[LINE]" "source lines",
    "disassemble" ["disas"] "" "PTX around the instruction",
    "help" ["h"] "[COMMAND]" "this",
    "quit" ["q", "exit"] "" "end",
];

impl<S: Sources> Console<S> {
    /// A console for a session.
    pub fn new(session: Session, sources: S) -> Self {
        Self { session, sources, listed: None }
    }

    /// Where source texts come from.
    pub fn sources(&self) -> &S {
        &self.sources
    }

    /// Follows a line. An empty one does nothing; what stands behind `#` is a remark.
    pub fn follow(&mut self, line: &str) -> Reply {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            return Reply::default();
        }
        // `print/x` is `print /x`.
        let end = line.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        let done = command(word).and_then(|command| self.execute(command.name, rest.trim()));
        match done {
            Ok(Some(text)) => Reply { text, ..Reply::default() },
            Ok(None) => Reply { quit: true, ..Reply::default() },
            Err(error) => Reply { text: format!("{error}\n"), failed: true, quit: false },
        }
    }

    /// What a command shows; `None` for the end.
    fn execute(&mut self, name: &str, rest: &str) -> Result<Option<String>, Error> {
        let shown = match name {
            "quit" => return Ok(None),
            "help" => help(rest)?,
            "print" | "set" | "lanes" | "x" | "whatis" => self.data(name, rest)?,
            "cuda" | "thread" | "frame" | "up" | "down" | "backtrace" => self.threads(name, rest)?,
            "list" => self.list(rest)?,
            "disassemble" => self.disassemble()?,
            "info" => self.info(rest)?,
            _ => self.control(name, rest)?,
        };
        Ok(Some(shown))
    }

    fn info(&mut self, rest: &str) -> Result<String, Error> {
        let (topic, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let topics = [
            "args",
            "breakpoints",
            "cuda",
            "frame",
            "locals",
            "position",
            "registers",
            "source",
            "watchpoints",
        ];
        let fitting: Vec<_> =
            topics.into_iter().filter(|known| !topic.is_empty() && known.starts_with(topic)).collect();
        match fitting[..] {
            ["args" | "locals" | "registers"] => self.data(fitting[0], rest.trim()),
            ["breakpoints" | "watchpoints"] => Ok(self.list_breakpoints()),
            ["cuda" | "frame"] => self.threads(&format!("info {}", fitting[0]), rest.trim()),
            ["position"] => {
                Ok(format!("{} warp instructions were issued before\n", self.session.position()?))
            }
            ["source"] => self.info_source(),
            _ => Err(Error::Command(format!("info what? One of {}", topics.join(", ")))),
        }
    }
}

/// The name of the command that a line begins with, if it is one.
pub(crate) fn named(line: &str) -> Option<&'static str> {
    let word = line.trim().split([' ', '/']).next()?;
    command(word).ok().map(|command| command.name)
}

/// The command that a word names.
fn command(word: &str) -> Result<&'static Command, Error> {
    let exact = |command: &&Command| command.name == word || command.aliases.contains(&word);
    if let Some(command) = COMMANDS.iter().find(exact) {
        return Ok(command);
    }
    let fitting: Vec<_> = COMMANDS.iter().filter(|command| command.name.starts_with(word)).collect();
    match fitting[..] {
        [only] => Ok(only),
        [] => Err(Error::Command(format!("there is no command `{word}`: `help` lists them"))),
        _ => {
            let names: Vec<_> = fitting.iter().map(|command| command.name).collect();
            Err(Error::Command(format!("`{word}` may be {}", names.join(", "))))
        }
    }
}

fn help(word: &str) -> Result<String, Error> {
    let line = |command: &Command| {
        let names =
            std::iter::once(&command.name).chain(command.aliases).copied().collect::<Vec<_>>().join(", ");
        format!("{:<40} {}\n", format!("{names} {}", command.takes), command.does)
    };
    Ok(match word {
        "" => COMMANDS.iter().map(line).collect(),
        word => line(command(word)?),
    })
}

/// `/x` and what follows it.
fn format_of(rest: &str) -> (&str, &str) {
    match rest.strip_prefix('/') {
        Some(behind) => behind.split_once(char::is_whitespace).unwrap_or((behind, "")),
        None => ("", rest),
    }
}

/// Columns side by side.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
