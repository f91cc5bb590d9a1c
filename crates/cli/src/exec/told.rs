//! A program that runs as a child, whose driver writes what it has to tell to a file of ours.

use crate::failure::Failure;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::{env, fs, process};

/// Runs the program with the file in an environment variable; its exit code, as shells tell it, and what was written. `unreadable` is said
/// where that cannot be read.
pub(super) fn run(command: &mut Command, variable: &str, unreadable: &str) -> Result<(i32, String), Failure> {
    let name = variable.to_lowercase().replace('_', "-");
    let file = env::temp_dir().join(format!("{name}-{}.jsonl", process::id()));
    let failed = |what: &str, error: &std::io::Error| Failure::usage(format!("{what}: {error}"));
    fs::write(&file, "").map_err(|error| failed("cannot write to the temporary folder", &error))?;
    let status =
        command.env(variable, &file).status().map_err(|error| failed("cannot run the program", &error));
    let text = fs::read_to_string(&file);
    let _ = fs::remove_file(&file);
    let (status, text) = (status?, text.map_err(|error| failed(unreadable, &error))?);
    Ok((status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)), text))
}
