//! `warploom abi call`: a C prototype in PTX, and a PTX declaration in C.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use ::abi::c::Function;
use ::abi::call::{Convention, Fit, Sequence, convention, fitting};
use ::abi::data::{Host, Target, Type};
use ::abi::names::demangled;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  warploom abi call 'char f(char, float2, const int *)'
  warploom abi call 'struct S f(struct S, half)' --types types.h
  warploom abi call 'int sum(int, ...)' --rest 'int, double, float4'
  warploom abi call 'struct S { char a; double b; }; struct S f(struct S)' --module | warploom check --abi -
  warploom abi call --ptx module.ptx";

/// Show how C functions are declared and called in PTX, or which C types a PTX declaration fits.
///
/// The sequences are what a compiler would write around the code of caller and callee: registers with the names of
/// parameters hold what is passed.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    /// C prototypes, with the structures they need; `__global__` makes one a kernel
    #[arg(required_unless_present = "ptx", value_name = "PROTOTYPE")]
    prototypes: Vec<String>,
    /// A C header that is read first
    #[arg(long, value_name = "FILE")]
    types: Option<PathBuf>,
    /// What a call of a variadic function passes beyond its parameters: types, separated by commas
    #[arg(long, value_name = "TYPES")]
    rest: Option<String>,
    #[command(flatten)]
    of: super::For,
    /// Print a PTX module with callee and caller, and nothing else
    #[arg(long, conflicts_with = "json")]
    module: bool,
    /// Show for each function of a PTX file which C types its parameters fit
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prototypes", "types", "rest", "m32", "nvcc", "module"])]
    ptx: Option<PathBuf>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.ptx {
        return reverse(path, arguments.json);
    }
    let target = arguments.of.target();
    let header = match &arguments.types {
        Some(path) => input::read(path)?.text().to_owned(),
        None => String::new(),
    };
    // The header ends with a line of its own, so that lines of problems are those of the prototypes.
    let read = |text: &str| {
        let whole = format!("{header}\n{text};");
        let name = arguments.types.as_ref().map_or("<prototype>".into(), |path| path.display().to_string());
        let skipped = super::declarations(&name, &format!("{header}\n"), target)?.functions.len();
        let mut functions = super::declarations(&name, &whole, target)?.functions;
        Ok::<_, Failure>(functions.split_off(skipped))
    };
    let rest = match &arguments.rest {
        Some(rest) => read(&format!("void rest_({rest})"))?.remove(0).parameters,
        None => Vec::new(),
    };
    let rest: Vec<Type> = rest.into_iter().map(|parameter| parameter.ty).collect();
    let mut made = Vec::new();
    for prototype in &arguments.prototypes {
        let functions = read(prototype)?;
        if functions.is_empty() {
            return Err(Failure::usage(format!("`{prototype}` declares no function")));
        }
        for function in functions {
            let convention = convention(&function, &rest, target)
                .map_err(|problem| Failure::usage(format!("`{}`: {problem}", function.name)))?;
            made.push((function, convention));
        }
    }
    if arguments.json {
        terminal::json(&made.iter().map(|(function, convention)| value(function, convention)).collect())?;
    } else if arguments.module {
        let modules: Vec<_> = made.iter().map(|(_, convention)| convention.module()).collect();
        terminal::result(&modules.join("\n"))?;
    } else {
        let texts: Vec<_> = made.iter().map(|(_, convention)| text(convention)).collect();
        terminal::result(&texts.join("\n"))?;
    }
    Ok(Exit::Ok)
}

fn text(convention: &Convention) -> String {
    let mut text = format!("{}\n", convention.declaration);
    match &convention.caller {
        Some(caller) => text += &format!("\n// the caller\n{}", caller.text()),
        None => {
            text += "\n// the host passes a buffer: offset, bytes, parameter\n";
            for (offset, size, name) in &convention.buffer {
                text += &format!("//   {offset:5}  {size:5}  {name}\n");
            }
        }
    }
    text + &format!("\n// the callee\n{}", convention.callee.text())
}

fn value(function: &Function, convention: &Convention) -> Value {
    let sequence = |sequence: &Sequence| {
        let registers =
            sequence.registers.iter().map(|(ty, name)| json!({ "type": ty.name(), "name": name }));
        json!({ "registers": registers.collect::<Vec<_>>(), "lines": sequence.lines })
    };
    let buffer = convention.buffer.iter();
    let buffer = buffer.map(|(offset, size, name)| json!({ "offset": offset, "size": size, "name": name }));
    json!({
        "name": function.name,
        "declaration": convention.declaration,
        "caller": convention.caller.as_ref().map(sequence),
        "callee": sequence(&convention.callee),
        "buffer": buffer.collect::<Vec<_>>(),
    })
}

/// `--ptx`: from PTX to C.
fn reverse(path: &Path, as_json: bool) -> Result<Exit, Failure> {
    let (_, module) = input::module(path)?;
    let host = if module.address_size == 32 { Host::Bits32 } else { Host::Bits64 };
    let target = Target::from(host);
    let mut values = Vec::new();
    let mut out = String::new();
    for function in &module.functions {
        let (returns, params) = fitting(&module, function, target);
        if as_json {
            let fits = |fits: &[Fit]| {
                let one = |fit: &Fit| json!({ "name": fit.name, "ptx": fit.declared, "c": fit.types, "note": fit.note });
                fits.iter().map(one).collect::<Vec<_>>()
            };
            values.push(json!({
                "name": function.name,
                "demangled": demangled(&function.name),
                "returns": fits(&returns),
                "parameters": fits(&params),
            }));
            continue;
        }
        out += &format!("{}\n", demangled(&function.name));
        for (what, fit) in
            returns.iter().map(|fit| ("returns", fit)).chain(params.iter().map(|fit| ("takes", fit)))
        {
            let types = fit.types.join(", ");
            out += &format!("  {what:8} {} {}: {types}{}\n", fit.declared, fit.name, fit.note.unwrap_or(""));
        }
    }
    if as_json {
        terminal::json(&Value::Array(values))?;
    } else {
        terminal::result(&out)?;
    }
    Ok(Exit::Ok)
}
