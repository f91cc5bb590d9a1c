//! `warploom analyze`: what is known of a file's functions, beside their source.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use clap::builder::styling::{AnsiColor, Style};
use ir::analysis::{Analysis, Note};
use ir::arms::ArmEffect;
use ir::shape::converged::{Fact, Pattern};
use ir::{Function, Group, LaneOrder, Shape};
use ptx::module::{FuncId, Module, RegId};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  warploom analyze kernel.ptx
  warploom analyze kernel.ptx --function saxpy --block 16,16
  warploom analyze --json kernel.ptx | jq '.[].needs'";

/// Where the notes begin, if the source is no wider.
const NOTES_AT: usize = 48;

/// Show what is known of values, accesses and branches, beside the source.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// A PTX file; `-` is standard input
    file: PathBuf,
    /// This function alone
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// The dimensions of a CTA, by which threads are numbered into lanes; a function's `.reqntid` counts first
    #[arg(long, value_name = "X,Y,Z", default_value = "32", value_delimiter = ',', num_args = 1)]
    block: Vec<u32>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let (source, module) = input::module(&arguments.file)?;
    let mut block = [1; 3];
    if arguments.block.len() > 3 || arguments.block.contains(&0) {
        return Err(Failure::usage("a CTA has one to three dimensions, none of them zero"));
    }
    block[..arguments.block.len()].copy_from_slice(&arguments.block);
    let chosen = |function: &Function<'_>| {
        arguments.function.as_ref().is_none_or(|name| *name == function.declaration.name)
    };
    let all = (0..module.functions.len() as u32).filter_map(|id| Function::lower(&module, FuncId(id)));
    let functions: Vec<_> = all.filter(chosen).collect();
    if let (Some(name), []) = (&arguments.function, &functions[..]) {
        return Err(Failure::usage(format!("{} has no function {name} with a body", source.name())));
    }
    let (mut values, mut texts) = (Vec::new(), Vec::new());
    for function in &functions {
        let lanes = LaneOrder::of_block(function.declaration.bounds.req_ntid.unwrap_or(block));
        let analysis = Analysis::new(function, lanes).map_err(|error| {
            Failure::new(Exit::Unsupported, format!("{}: {error}", function.declaration.name))
        })?;
        match arguments.json {
            true => values.push(value(&module, &analysis)),
            false => texts.push(text(&module, &analysis)),
        }
    }
    match arguments.json {
        true => terminal::json(&Value::Array(values))?,
        false => terminal::result(&texts.join("\n"))?,
    }
    Ok(Exit::Ok)
}

/// What a function needs of an engine beyond running lanes together and warps one after another.
fn needs(analysis: &Analysis<'_>) -> Vec<&'static str> {
    let progress = &analysis.progress;
    let all = [
        (progress.needs_lanes(), "lanes that run one by one"),
        (progress.needs_turns(), "warps that take turns"),
        (!analysis.barriers.is_empty(), "barriers"),
    ];
    all.into_iter().filter_map(|(needed, what)| needed.then_some(what)).collect()
}

fn register_name(module: &Module, analysis: &Analysis<'_>, register: RegId) -> String {
    module.text(analysis.ssa.function.body.registers[register.index()].name).to_owned()
}

fn text(module: &Module, analysis: &Analysis<'_>) -> String {
    let function = analysis.ssa.function;
    let name = |register: RegId| register_name(module, analysis, register);
    let mut text = format!("{}\n", function.declaration.name);
    let needs = needs(analysis);
    if !needs.is_empty() {
        let _ = writeln!(text, "  needs {}", needs.join(", "));
    }
    for (id, inductions, count) in analysis.loops() {
        let one = &analysis.facts.loops().all[id.index()];
        let line = |block: ir::BlockId| {
            let first = analysis.ssa.cfg.blocks[block.index()].first;
            function.source_line(first).split(':').next().unwrap_or_default().to_owned()
        };
        let _ = write!(text, "  loop at line {}, depth {}", line(one.header), one.depth);
        for induction in &inductions {
            let register = analysis.ssa.values[induction.parameter.index()].register;
            let _ = write!(text, ", {} by {}", name(register), induction.step);
        }
        let _ = writeln!(text, "{}", count.map_or(String::new(), |count| format!(", {count} times")));
    }
    let mut notes = analysis.notes().into_iter().peekable();
    for (id, block) in analysis.ssa.cfg.blocks.iter().enumerate() {
        if block.first < block.end {
            let _ = writeln!(text, "block{id}:");
        }
        for index in block.first..block.end {
            let source = function.source_line(index);
            let here = notes.next_if(|(at, _)| *at == index).map(|(_, notes)| notes).unwrap_or_default();
            let _ = write!(text, "  {source}");
            let mut gap = NOTES_AT.saturating_sub(source.chars().count()).max(2);
            for note in &here {
                let style = style(note);
                let _ = writeln!(text, "{:gap$}{style}{}{style:#}", "", note.text(name));
                gap = NOTES_AT + 2;
            }
            if here.is_empty() {
                text.push('\n');
            }
        }
    }
    text
}

/// What costs stands out; what is cheap is quiet.
fn style(note: &Note) -> Style {
    let color = match note {
        Note::Branch(None) | Note::Access(Pattern::Scattered, ..) | Note::Spins { .. } => AnsiColor::Red,
        Note::PartialMask | Note::Apart | Note::Access(Pattern::Strided(..), ..) => AnsiColor::Yellow,
        Note::Access(Pattern::Contiguous(_) | Pattern::Uniform(_), ..) | Note::Branch(Some(_)) => {
            AnsiColor::Green
        }
        Note::Value(..) | Note::Barrier(_) | Note::Conditional(..) => return Style::new().dimmed(),
    };
    color.on_default()
}

fn value(module: &Module, analysis: &Analysis<'_>) -> Value {
    let function = analysis.ssa.function;
    let notes = analysis.notes();
    let instructions: Vec<Value> = notes
        .iter()
        .filter(|(_, notes)| !notes.is_empty())
        .map(|(index, notes)| {
            let span = function.body.instructions[*index as usize].span;
            let notes: Vec<Value> = notes.iter().map(|note| note_value(module, analysis, note)).collect();
            json!({ "line": module.source.line_column(span.start).0, "notes": notes })
        })
        .collect();
    let loops: Vec<Value> = analysis
        .loops()
        .into_iter()
        .map(|(id, inductions, count)| {
            let one = &analysis.facts.loops().all[id.index()];
            let counted: Vec<Value> = inductions
                .iter()
                .map(|induction| {
                    let register = analysis.ssa.values[induction.parameter.index()].register;
                    json!({ "register": register_name(module, analysis, register), "step": induction.step })
                })
                .collect();
            json!({ "block": one.header.0, "depth": one.depth, "inductions": counted, "times": count })
        })
        .collect();
    json!({
        "function": function.declaration.name,
        "needs": needs(analysis),
        "loops": loops,
        "instructions": instructions,
    })
}

fn group(group: Option<Group>) -> Option<String> {
    group.map(|group| group.to_string().to_lowercase())
}

fn fact(fact: &Fact) -> Value {
    let stride = match fact.shape {
        Shape::Invariant => Some(0),
        Shape::Affine { stride } => Some(stride),
        Shape::Varying => None,
    };
    let threads = fact.threads.map(|threads| {
        json!({ "steps": threads.steps, "rest": threads.of.to_string().to_lowercase(), "exact": threads.exact })
    });
    json!({
        "same": group(fact.group), "stride": stride, "lanes": fact.lanes, "threads": threads, "hint": fact.hint,
        "zero_bits": fact.zero_bits,
    })
}

fn note_value(module: &Module, analysis: &Analysis<'_>, note: &Note) -> Value {
    let name = |register: RegId| register_name(module, analysis, register);
    match note {
        Note::Value(register, known) => json!({ "register": name(*register), "is": fact(known) }),
        Note::Access(pattern, known, aligned) => {
            json!({ "access": pattern.to_string(), "aligned": aligned, "address": fact(known) })
        }
        Note::Branch(same) => json!({ "branch": group(*same) }),
        Note::Barrier(live) => json!({ "live_behind_barrier": live }),
        Note::Conditional(length, does) => {
            let does = match does {
                ArmEffect::Nothing => "nothing",
                ArmEffect::Memory => "memory",
                ArmEffect::Other => "other",
            };
            json!({ "arms": length, "do": does })
        }
        Note::Spins { among_lanes } => json!({ "spins": if *among_lanes { "lanes" } else { "warps" } }),
        Note::PartialMask => json!({ "mask": "partial" }),
        Note::Apart => json!({ "guard": "divergent" }),
    }
}
