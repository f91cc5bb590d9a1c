//! `warploom debug-info`: the lines, entries and variables that a file's debug information describes.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use ::abi::names::demangled;
use debug_info::{DebugInfo, Scope, ScopeId, ScopeKind, Variable};
use ptx::module::{FuncId, Loc, Module};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  warploom debug-info kernel.ptx
  warploom debug-info kernel.ptx --entries
  warploom debug-info kernel.ptx --write kernel.debug && readelf --debug-dump kernel.debug
  warploom debug-info --json kernel.ptx | jq '.variables[].name'";

/// Show source lines, DWARF entries and variables with their places.
///
/// Without a choice lines and variables are shown.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// A PTX file; `-` is standard input
    file: PathBuf,
    /// The source line of each instruction, and the calls that were inlined there
    #[arg(long)]
    lines: bool,
    /// The DWARF entries with their attributes
    #[arg(long)]
    entries: bool,
    /// Functions and their variables: types, memory, places
    #[arg(long)]
    variables: bool,
    /// Write an ELF file with all sections, and with .debug_line and .debug_frame of the virtual GPU
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Print a JSON object with everything
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let (_, module) = input::module(&arguments.file)?;
    let info = DebugInfo::new(&module);
    if let Some(path) = &arguments.write {
        let bytes = info.elf(&module).map_err(|error| Failure::usage(error.to_string()))?;
        std::fs::write(path, bytes)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
    }
    let Arguments { lines, entries, variables, .. } = *arguments;
    let chosen = lines || entries || variables;
    if arguments.json {
        terminal::json(&json!({
            "files": files(&module),
            "units": units(&info),
            "lines": lines_json(&module, &info),
            "entries": entries_json(&module, &info),
            "variables": all_variables(&info).map(|(id, variable)| variable_json(&module, &info, id, variable))
                .collect::<Vec<_>>(),
            "problems": info.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }))?;
    } else if chosen || arguments.write.is_none() {
        let mut text = String::new();
        if lines || !chosen {
            text += &lines_text(&module);
        }
        if entries {
            text += &entries_text(&module, &info);
        }
        if variables || !chosen {
            text += &variables_text(&module, &info);
        }
        terminal::result(&text)?;
    }
    if !arguments.json {
        info.problems.iter().for_each(|problem| terminal::note(&format!("error: {problem}")));
    }
    Ok(if info.problems.is_empty() { Exit::Ok } else { Exit::Findings })
}

fn files(module: &Module) -> Value {
    let mut indices: Vec<_> = module.files.keys().copied().collect();
    indices.sort_unstable();
    indices.into_iter().map(|index| json!({ "index": index, "name": module.file_name(index) })).collect()
}

fn units(info: &DebugInfo) -> Value {
    let unit = |unit: &debug_info::Unit| {
        json!({
            "name": unit.name, "directory": unit.directory, "producer": unit.producer,
            "language": unit.language, "version": unit.version,
        })
    };
    info.units.iter().map(unit).collect()
}

/// Every run of instructions with one line: function, first instruction, line.
fn runs(module: &Module) -> impl Iterator<Item = (FuncId, u32, &Loc)> {
    let functions = module.functions.iter().enumerate();
    functions.flat_map(move |(index, function)| {
        let id = FuncId(index as u32);
        let count = function.body.as_ref().map_or(0, |body| body.instructions.len() as u32);
        let begins = move |&at: &u32| at == 0 || module.loc(id, at) != module.loc(id, at - 1);
        (0..count).filter(begins).filter_map(move |at| Some((id, at, module.loc(id, at)?)))
    })
}

fn lines_text(module: &Module) -> String {
    let mut text = String::new();
    let mut function = None;
    for (id, at, loc) in runs(module) {
        let declared = &module.functions[id.index()];
        if function.replace(id) != Some(id) {
            let _ = writeln!(text, "{}", demangled(&declared.name));
        }
        let body = declared.body.as_ref();
        let span = body.map_or_else(Default::default, |body| body.instructions[at as usize].span);
        let (ptx, _) = module.source.line_column(span.start);
        let place = |loc: &Loc| format!("{}:{}:{}", module.file_name(loc.file), loc.line, loc.column);
        let _ = write!(text, "  ptx:{ptx:<5} {}", place(loc));
        for (inner, outer) in loc.chain().zip(loc.chain().skip(1)) {
            let name = inner.function.as_deref().map_or_else(String::new, demangled);
            let _ = write!(text, ", {name} inlined at {}", place(outer));
        }
        text.push('\n');
    }
    if text.is_empty() { "No instruction has a source line.\n".to_owned() } else { text }
}

fn lines_json(module: &Module, info: &DebugInfo) -> Value {
    let place =
        |loc: &Loc| json!({ "file": module.file_name(loc.file), "line": loc.line, "column": loc.column });
    let run = |(id, at, loc): (FuncId, u32, &Loc)| {
        let inlined = loc.chain().zip(loc.chain().skip(1));
        let inlined = inlined
            .map(|(inner, outer)| json!({ "function": inner.function.as_deref(), "at": place(outer) }));
        json!({
            "function": module.functions[id.index()].name, "instruction": at, "pc": info.addresses.of(id, at),
            "source": place(loc), "inlined": inlined.collect::<Vec<_>>(),
        })
    };
    runs(module).map(run).collect()
}

fn entries_text(module: &Module, info: &DebugInfo) -> String {
    let mut text = String::new();
    for entry in info.entries(module) {
        let indent = "  ".repeat(entry.depth);
        let _ = writeln!(text, "{:#07x} {indent}{}", entry.offset, entry.tag);
        for attribute in &entry.attributes {
            let _ = writeln!(text, "        {indent}  {} {}", attribute.name, attribute.value);
        }
    }
    if text.is_empty() { "The module has no .debug_info.\n".to_owned() } else { text }
}

fn entries_json(module: &Module, info: &DebugInfo) -> Value {
    let entry = |entry: debug_info::Entry| {
        let attributes = entry.attributes.into_iter().map(|a| (a.name, Value::from(a.value)));
        json!({
            "offset": entry.offset, "depth": entry.depth, "tag": entry.tag,
            "attributes": attributes.collect::<serde_json::Map<_, _>>(),
        })
    };
    info.entries(module).into_iter().map(entry).collect()
}

fn all_variables(info: &DebugInfo) -> impl Iterator<Item = (ScopeId, &Variable)> {
    let scopes = info.scopes.iter().enumerate();
    scopes.flat_map(|(index, scope)| scope.variables.iter().map(move |variable| (ScopeId(index), variable)))
}

/// What a scope is called.
fn scope_text(info: &DebugInfo, scope: &Scope) -> String {
    let name = || {
        let linkage = scope.linkage_name.as_deref().map(demangled);
        linkage.or_else(|| scope.name.clone()).unwrap_or_else(|| "??".to_owned())
    };
    match scope.kind {
        ScopeKind::Unit => info.units[scope.unit].name.clone().unwrap_or_else(|| "unit".to_owned()),
        ScopeKind::Function => name(),
        ScopeKind::Inlined => {
            let line = scope.called.line.map(|line| format!(" at line {line}")).unwrap_or_default();
            format!("{}, inlined{line}", name())
        }
        ScopeKind::Block => "block".to_owned(),
    }
}

fn variables_text(module: &Module, info: &DebugInfo) -> String {
    let mut text = String::new();
    for (index, scope) in info.scopes.iter().enumerate() {
        let id = ScopeId(index);
        let depth = std::iter::successors(scope.parent, |id| info.scope(*id).parent).count();
        let indent = "  ".repeat(depth);
        let range = scope.ranges.first().map(|range| {
            format!(" [{}, {})", info.address_text(module, range.start), info.address_text(module, range.end))
        });
        let _ = writeln!(text, "{indent}{}{}", scope_text(info, scope), range.unwrap_or_default());
        for variable in &scope.variables {
            let kind = if variable.parameter { "parameter " } else { "" };
            let class = variable.class.map(|class| format!(", {}", class.name())).unwrap_or_default();
            let _ =
                writeln!(text, "{indent}  {kind}{}: {}{class}", variable.name, info.type_name(variable.ty));
            for (range, place) in info.locations(id, variable) {
                let range = range.map(|range| {
                    let [start, end] = [range.start, range.end].map(|pc| info.address_text(module, pc));
                    format!("[{start}, {end}) ")
                });
                let _ = writeln!(
                    text,
                    "{indent}    {}{}",
                    range.unwrap_or_default(),
                    info.location_text(module, &place)
                );
            }
        }
    }
    if text.is_empty() { "No variables are described.\n".to_owned() } else { text }
}

fn variable_json(module: &Module, info: &DebugInfo, id: ScopeId, variable: &Variable) -> Value {
    let places = info.locations(id, variable).into_iter().map(|(range, place)| {
        json!({
            "from": range.as_ref().map(|range| range.start), "to": range.as_ref().map(|range| range.end),
            "place": info.location_text(module, &place),
        })
    });
    json!({
        "name": variable.name,
        "scope": scope_text(info, info.scope(id)),
        "parameter": variable.parameter,
        "type": info.type_name(variable.ty),
        "class": variable.class.map(|class| class.name()),
        "line": variable.declared.line,
        "places": places.collect::<Vec<_>>(),
    })
}
