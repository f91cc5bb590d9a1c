//! The files of `tests/sanitizer/patterns`: CUDA C++ with many kernels, each with its directives before it, and what clang made of it
//! beside. A kernel is a template of a number, of which 0 is the clean instance and all others have a mistake:
//!
//! ```text
//! //: run tree<0> grid=2 block=128
//! //: in values u32[256] = for i: i
//! //: out values u32[256] = ...
//! //: twin tree<1>
//! //: report race missing=barrier at=SUM,SUM
//! ```
//!
//! `twin` launches another instance as the last `run` says, with the same inputs; what comes out is the clean one's affair. Marks
//! are lines of the source, and count from the directive on: each kernel has its own.

use filetest::directive::{Directive, Program};
use ptx::source::Source;
use std::collections::HashMap;
use std::path::Path;

/// The program with its directives, and its source.
pub(crate) fn read(source: &Path, compiled: &Path) -> Result<(Program, String), String> {
    let text =
        |path: &Path| std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()));
    let name = source.display().to_string();
    let (source_text, ptx) = (text(source)?, text(compiled)?);
    let directives = directives(&source_text, &kernels(&ptx)).map_err(|why| format!("{name}:{why}"))?;
    let program = Program { name, source: Source::new(compiled.display().to_string(), ptx), directives };
    Ok((program, source_text))
}

/// The kernels of a module by the names that the source has for them, `tree<0>`.
fn kernels(ptx: &str) -> HashMap<String, String> {
    let mangled = ptx.lines().filter_map(|line| line.split_once(".entry ")?.1.split('(').next());
    let spelled = |name: &str| {
        let written = abi::names::demangled(name);
        let until = written.split('(').next().unwrap_or_default();
        until.trim_start_matches("void ").to_owned()
    };
    mangled.map(|name| (spelled(name), name.to_owned())).collect()
}

/// The directives, wherever they stand, with twins as runs of their own.
fn directives(text: &str, kernels: &HashMap<String, String>) -> Result<Vec<Directive>, String> {
    let mut all: Vec<Directive> = Vec::new();
    let mut launch = String::new();
    let mut inputs: Vec<Directive> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index as u32 + 1;
        let Some(rest) = line.strip_prefix("//:") else { continue };
        let (name, text) = rest.trim().split_once(' ').ok_or_else(|| format!("{line_number}: `{rest}`?"))?;
        let mut directive = Directive { name: name.to_owned(), text: text.to_owned(), line: line_number };
        let kernel = |name: &str| kernels.get(name).ok_or_else(|| format!("{line_number}: no kernel {name}"));
        match name {
            "run" => {
                let (instance, shape) = text.split_once(' ').unwrap_or((text, ""));
                shape.clone_into(&mut launch);
                inputs.clear();
                directive.text = format!("{} {launch}", kernel(instance)?);
            }
            "twin" => {
                directive.name = "run".to_owned();
                directive.text = format!("{} {launch}", kernel(text)?);
                all.push(directive);
                let again = |input: &Directive| Directive { line: line_number, ..input.clone() };
                all.extend(inputs.iter().map(again));
                continue;
            }
            "in" | "arg" | "fresh" if all.iter().rfind(|d| d.name == "run").is_some() => {
                inputs.push(directive.clone());
            }
            _ => {}
        }
        all.push(directive);
    }
    Ok(all)
}

/// The first line from `from` on that is marked.
pub(crate) fn marked_line(source: &str, mark: &str, from: u32) -> Option<u32> {
    let marks = |line: &str| line.split_once("// <-").is_some_and(|(_, name)| name.trim() == mark);
    let behind = source.lines().enumerate().skip(from as usize);
    behind
        .map(|(index, line)| (index as u32 + 1, line))
        .find(|(_, line)| marks(line))
        .map(|(number, _)| number)
}
