//! `warploom dap`: the debugger for editors, by the Debug Adapter Protocol on standard input and output.

mod relay;

use crate::debug;
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::run::request::Request;
use clap::Parser;
use debugger::attached::Face;
use debugger::dap::{Launched, Starter, serve};
use debugger::files::Files;
use relay::Relay;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

const HELP: &str = "\
A launch request takes what the command line of `warploom debug` takes: program, kernel, grid, block, cluster, shared,
device, scheduler, maxInstructions, args (a list), check, sourceFolders (a list), stopOnEntry.

Example, for an editor's launch configuration:
  { \"type\": \"warploom\", \"request\": \"launch\", \"name\": \"smooth\", \"program\": \"smooth.ptx\",
    \"grid\": \"2\", \"block\": \"64\", \"args\": [\"zeros:f32[128]\", \"range:f32[128]\", \"128\"], \"stopOnEntry\": true }";

/// Serve an editor: the debugger by the Debug Adapter Protocol, on standard input and output.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {}

/// A launch request as a command line.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    request: Request,
    #[arg(long)]
    check: Option<sanitizer::Checks>,
}

/// What a launch request calls the options of the command line.
const OPTIONS: [(&str, &str); 9] = [
    ("kernel", "--kernel"),
    ("grid", "--grid"),
    ("block", "--block"),
    ("cluster", "--cluster"),
    ("shared", "--shared"),
    ("device", "--device"),
    ("scheduler", "--scheduler"),
    ("maxInstructions", "--max-instructions"),
    ("check", "--check"),
];

pub(crate) fn execute(_: &Arguments) -> Result<Exit, Failure> {
    serve(std::io::stdin(), std::io::stdout(), Launches)
        .map_err(|error| Failure::usage(format!("standard output: {error}")))?;
    Ok(Exit::Ok)
}

struct Launches;

impl Starter for Launches {
    type Sources = Files;

    fn start(
        &mut self,
        arguments: &Value,
        printed: Box<dyn Write + Send>,
    ) -> Result<Launched<Files>, String> {
        let line = Line::try_parse_from(words(arguments)?).map_err(|error| error.to_string())?;
        let mut folders: Vec<PathBuf> = Vec::new();
        if let Some(asked) = arguments["sourceFolders"].as_array() {
            folders.extend(asked.iter().filter_map(Value::as_str).map(PathBuf::from));
        }
        if debug::is_program(&line.request.file) {
            let process = debug::begin(&line.request, line.check, folders, Face::Editor);
            let process = process.map_err(|failure| failure.text())?;
            return Ok(Launched::Program(Box::new(Relay::new(process))));
        }
        let session = debug::session(&line.request, line.check, printed).map_err(|failure| failure.text())?;
        folders.extend(line.request.file.parent().map(Path::to_owned));
        Ok(Launched::Kernel(Box::new(session), Files::new(folders)))
    }
}

/// The words of the command line.
fn words(arguments: &Value) -> Result<Vec<String>, String> {
    let program = arguments["program"].as_str().ok_or("`program`, the name of a PTX file, is missing")?;
    let mut words = Vec::new();
    for (key, option) in OPTIONS {
        match &arguments[key] {
            Value::Null => {}
            value => words.extend([option.to_owned(), word(key, value)?]),
        }
    }
    words.extend(["--".to_owned(), program.to_owned()]);
    match &arguments["args"] {
        Value::Null => {}
        Value::Array(all) => {
            for value in all {
                words.push(word("args", value)?);
            }
        }
        _ => return Err("`args` is a list".to_owned()),
    }
    Ok(words)
}

/// `"4,2"`, `4` or `[4, 2]` as a word.
fn word(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Array(all) => {
            let parts = all.iter().map(|part| word(key, part)).collect::<Result<Vec<_>, _>>()?;
            Ok(parts.join(","))
        }
        _ => Err(format!("`{key}` is a text or a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_launch_request_is_a_command_line() {
        let request =
            json!({ "program": "k.ptx", "grid": [4, 2], "block": "64", "args": ["zeros:f32[4]", -1] });
        let expected = ["--grid", "4,2", "--block", "64", "--", "k.ptx", "zeros:f32[4]", "-1"];
        assert_eq!(words(&request).expect("it is complete"), expected);
        let line = Line::try_parse_from(words(&request).expect("it is complete")).expect("it can be read");
        assert_eq!(line.request.grid.0, [4, 2, 1]);
        for wrong in [json!({}), json!({ "program": 1 }), json!({ "program": "k", "args": 1 })] {
            assert!(words(&wrong).is_err(), "{wrong}");
        }
    }
}
