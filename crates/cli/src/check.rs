//! `warploom check`: every diagnostic of every file.

use crate::devices;
use crate::diagnostics::{self, Format};
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use machine::{Device, DeviceOptions, Profile};
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::module::{Checked, Module};
use ptx::source::{Source, Span};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  warploom check kernel.ptx
  warploom check --device h200 *.ptx
  warploom check --abi kernel.ptx
  nvcc -ptx -o - kernel.cu | warploom check -
  warploom check --json kernel.ptx | jq .message
  warploom check --explain C0201";

/// Check PTX files: syntax, names, types, versions and targets.
///
/// Prints every diagnostic of every file to standard output, and a summary to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// PTX files; `-` is standard input
    #[arg(required_unless_present = "explain", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print what a diagnostic's code means, and nothing else
    #[arg(long, value_name = "CODE", conflicts_with_all = ["files", "json", "device", "abi"])]
    explain: Option<String>,
    /// Also warn of what this device does not run; `warploom devices` lists the names
    #[arg(long, value_name = "NAME", value_parser = devices::profile)]
    device: Option<&'static Profile>,
    /// Also check what the ABI asks: parameters, the sequences of calls, system calls, what device C++ lacks
    #[arg(long)]
    abi: bool,
    /// Print one JSON object a line: each diagnostic, then a summary
    #[arg(long)]
    json: bool,
}

/// How many of each were printed.
#[derive(Default)]
struct Tally {
    errors: usize,
    warnings: usize,
}

/// An instruction that is not executed. The code is the command's own: the language has nothing against the instruction.
const UNSUPPORTED: &str = "M0001";
/// A module that the device does not load.
const NOT_LOADED: &str = "M0002";

/// The machine's codes with their explanations, for `--explain`.
const MACHINE_CODES: [(&str, &str); 2] = [
    (
        UNSUPPORTED,
        "The instruction is legal PTX, but the machine does not execute it, or not with these operands.",
    ),
    (
        NOT_LOADED,
        "The module is legal PTX, but the device of `--device` does not load it: its target is another one.",
    ),
];

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(code) = &arguments.explain {
        return explain(code);
    }
    let format = if arguments.json { Format::Json } else { Format::Text };
    let mut tally = Tally::default();
    let mut exit = Exit::Ok;
    for path in &arguments.files {
        let source = match input::read(path) {
            Ok(source) => source,
            Err(failure) => {
                failure.report();
                exit = exit.max(failure.exit);
                continue;
            }
        };
        let compiled = ptx::compile(&source);
        let mut diagnostics = compiled.diagnostics;
        if let (true, Some(module)) = (arguments.abi, &compiled.module) {
            diagnostics.extend(::abi::check::check(module));
        }
        if let (Some(profile), Some(module)) = (arguments.device, compiled.module) {
            diagnostics.extend(machine_diagnostics(profile, module)?);
        }
        for diagnostic in &diagnostics {
            match diagnostic.severity {
                Severity::Error => tally.errors += 1,
                Severity::Warning => tally.warnings += 1,
            }
            terminal::result(&diagnostics::render(&source, diagnostic, format))?;
        }
    }
    if tally.errors > 0 {
        exit = exit.max(Exit::Findings);
    }
    let files = arguments.files.len();
    match format {
        Format::Json => terminal::json(&json!({
            "summary": { "files": files, "errors": tally.errors, "warnings": tally.warnings }
        }))?,
        Format::Text => terminal::note(&format!(
            "{}: {}, {}",
            terminal::count(files, "file"),
            terminal::count(tally.errors, "error"),
            terminal::count(tally.warnings, "warning")
        )),
    }
    Ok(exit)
}

/// What the machine, as this device, would not run, as warnings in the order of the text.
fn machine_diagnostics(profile: &Profile, module: Checked<Module>) -> Result<Vec<Diagnostic>, Failure> {
    let device = Device::new(profile.clone(), DeviceOptions::default())
        .map_err(|error| Failure::usage(format!("cannot make device {}: {error}", profile.name)))?;
    let module = Arc::new(module);
    let mut missing = without_semantics(&module);
    let mut found = Vec::new();
    match device.load(Arc::clone(&module)) {
        Ok(loaded) => {
            let kernels = module.entries().filter_map(|(id, _)| loaded.entry(id));
            let unsupported = kernels.flat_map(|kernel| kernel.unsupported());
            missing.extend(unsupported.map(|unsupported| (unsupported.span, unsupported.what)));
        }
        Err(error) => {
            let message = format!("device {} does not load the module", profile.name);
            let diagnostic = Diagnostic::warning(NOT_LOADED, target_span(&module.source), message);
            found.push(diagnostic.label(error.to_string()));
        }
    }
    found.extend(missing.into_iter().map(|(span, what)| {
        Diagnostic::warning(UNSUPPORTED, span, format!("not executed by the machine: {what}"))
    }));
    found.sort_by_key(|d| d.span);
    Ok(found)
}

/// The instructions without semantics, also of functions that no kernel reaches, as the machine would name them.
fn without_semantics(module: &Module) -> BTreeSet<(Span, String)> {
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    let instructions = bodies.flat_map(|body| &body.instructions);
    let without = instructions.filter(|instruction| module.opcode(instruction).sem().is_none());
    without.map(|i| (i.span, format!("instruction `{}`", module.opcode(i).text()))).collect()
}

/// The `.target` directive, or the beginning of the file.
fn target_span(source: &Source) -> Span {
    let is_target = |line: &&str| line.trim_start().starts_with(".target");
    let line = source.text().lines().find(is_target).unwrap_or_default().trim();
    // The line is a slice of the text, so that its address tells its offset; nothing found is no slice of it.
    let start = if line.is_empty() { 0 } else { line.as_ptr().addr() - source.text().as_ptr().addr() } as u32;
    Span::new(start, start + line.len() as u32)
}

fn explain(code: &str) -> Result<Exit, Failure> {
    let code = code.to_uppercase();
    let own = MACHINE_CODES.iter().find(|(known, _)| *known == code).map(|(_, text)| *text);
    match ptx::explain(&code)
        .or_else(|| ::link::explain(&code))
        .or_else(|| ::abi::check::explain(&code))
        .or(own)
    {
        Some(explanation) => terminal::result(&format!("{code}: {explanation}\n")).map(|()| Exit::Ok),
        None => Err(Failure::usage(format!("`{code}` is not a code of a diagnostic"))
            .hint("codes are what stands in brackets: error[C0201]")),
    }
}
