//! `warploom asm`: a cubin from text.

use crate::diagnostics::{self, Format};
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use ptx::diagnostic::Severity;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  warploom asm kernel.cuasm -o kernel.cubin
  warploom asm --lint kernel.cuasm -o kernel.cubin";

/// Assemble the text of `warploom disasm`, edited or written by hand.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// A text; `-` is standard input
    file: PathBuf,
    /// Where the cubin goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Warn of control codes that break a dependence
    #[arg(long)]
    lint: bool,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let source = input::read(&arguments.file)?;
    let outcome = cuasm::assemble_with(&source, cuasm::Options { hazards: arguments.lint });
    let found = match &outcome {
        Ok(assembled) => &assembled.warnings,
        Err(found) => found,
    };
    if !found.is_empty() {
        let rendered: String = found.iter().map(|d| diagnostics::render(&source, d, Format::Text)).collect();
        terminal::note(rendered.trim_end());
    }
    let Ok(assembled) = &outcome else {
        let errors = found.iter().filter(|d| d.severity == Severity::Error).count();
        let errors = terminal::count(errors, "error");
        return Err(Failure::new(Exit::Findings, format!("{} has {errors}", source.name())));
    };
    std::fs::write(&arguments.output, &assembled.bytes)
        .map(|()| if found.is_empty() { Exit::Ok } else { Exit::Findings })
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", arguments.output.display())))
}
