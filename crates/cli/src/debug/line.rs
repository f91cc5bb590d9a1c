//! Where commands come from: scripts, then a line editor on a terminal, or lines of standard input.

use crate::failure::{Exit, Failure};
use crate::terminal;
use ::abi::names::demangled;
use debugger::{COMMANDS, Session};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};
use std::collections::VecDeque;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

const PROMPT: &str = "(warploom) ";

/// See the module.
pub(super) struct Lines {
    script: VecDeque<String>,
    batch: bool,
    editor: Option<Editor<Words, DefaultHistory>>,
    history: Option<PathBuf>,
    /// The last command: an empty line repeats it.
    last: String,
}

impl Lines {
    /// Lines of these files, then those that are typed, unless that is all.
    pub(super) fn new(scripts: &[PathBuf], batch: bool, names: Vec<String>) -> Result<Self, Failure> {
        let mut script = VecDeque::new();
        for path in scripts {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
            script.extend(text.lines().map(str::to_owned));
        }
        let mut lines = Self { script, batch, editor: None, history: None, last: String::new() };
        if !batch && std::io::stdin().is_terminal() {
            let mut editor = Editor::new().map_err(|error| Failure::usage(error.to_string()))?;
            editor.set_helper(Some(Words { names }));
            lines.history = dirs::state_dir().or_else(dirs::data_local_dir).map(|dir| dir.join("warploom"));
            if let Some(folder) = &lines.history {
                // Without a history the first line is the first.
                let _ = std::fs::create_dir_all(folder);
                let _ = editor.load_history(&folder.join("debug-history"));
            }
            lines.editor = Some(editor);
        }
        Ok(lines)
    }

    /// Whether somebody types them.
    pub(super) fn is_terminal(&self) -> bool {
        self.editor.is_some()
    }

    /// The next one; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<String>, Failure> {
        if let Some(line) = self.script.pop_front() {
            return echo(line).map(Some);
        }
        if self.batch {
            return Ok(None);
        }
        let Some(editor) = &mut self.editor else {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            return match read.map_err(|error| Failure::usage(format!("standard input: {error}")))? {
                0 => Ok(None),
                _ => echo(line.trim_end().to_owned()).map(Some),
            };
        };
        match editor.readline(PROMPT) {
            Ok(line) if line.trim().is_empty() => Ok(Some(self.last.clone())),
            Ok(line) => {
                let _ = editor.add_history_entry(&line);
                self.last.clone_from(&line);
                Ok(Some(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Some(String::new())),
            Err(ReadlineError::Eof) => Ok(None),
            Err(error) => Err(Failure::new(Exit::Usage, error.to_string())),
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let (Some(editor), Some(folder)) = (&mut self.editor, &self.history) {
            let _ = editor.save_history(&folder.join("debug-history"));
        }
    }
}

/// Shows a command that nobody has typed.
fn echo(line: String) -> Result<String, Failure> {
    terminal::result(&format!("{PROMPT}{line}\n"))?;
    Ok(line)
}

/// What is completed: commands where a line begins, names of the module behind that.
struct Words {
    names: Vec<String>,
}

/// The names of a module: functions and variables.
pub(super) fn names(session: &Session) -> Vec<String> {
    let module = session.program().module();
    let functions = module.functions.iter().map(|function| demangled(&function.name));
    let bare = functions.map(|name| name.split('(').next().unwrap_or_default().to_owned());
    let variables = module.variables.iter().map(|variable| variable.name.clone());
    let scopes = session.symbols().info.scopes.iter();
    let described = scopes.flat_map(|scope| scope.variables.iter().map(|variable| variable.name.clone()));
    let mut names: Vec<_> = bare.chain(variables).chain(described).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Completer for Words {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before = &line[..pos];
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = &before[start..];
        let candidates = match start {
            0 => COMMANDS
                .iter()
                .map(|command| command.name.to_owned())
                .filter(|name| name.starts_with(word))
                .collect(),
            _ => self.names.iter().filter(|name| name.starts_with(word)).cloned().collect(),
        };
        Ok((start, candidates))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}

impl Validator for Words {}

impl Helper for Words {}
