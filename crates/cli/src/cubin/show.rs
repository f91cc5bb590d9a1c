//! `warploom cubin show`.

use super::File;
use crate::failure::{Exit, Failure};
use crate::terminal;
use ::cubin::elf::Elf;
use ::cubin::info::Parameter;
use ::cubin::read::{Function, Program, calls, notes};
use serde_json::{Value, json};

pub(super) fn execute(file: &File) -> Result<Exit, Failure> {
    let elf = file.elf()?;
    let facts = Facts::new(&elf, file)?;
    if file.json { terminal::json(&facts.value()) } else { terminal::result(&facts.text()) }
        .map(|()| Exit::Ok)
}

/// What there is to say, line by line.
struct Facts {
    target: String,
    kind: String,
    abi: u8,
    /// What is said about its making, with a name each.
    made: Vec<(&'static str, String)>,
    functions: Vec<Function>,
    /// Callers and callees by name.
    calls: Vec<(String, String)>,
}

impl Facts {
    fn new(elf: &Elf, file: &File) -> Result<Self, Failure> {
        let program = Program::new(elf);
        let architecture = program.architecture();
        let suffix = if architecture.specific == Some(true) { "a" } else { "" };
        let mut made = Vec::new();
        for note in notes(elf).map_err(|error| file.unusable(&error))? {
            if let Some(tool) = note.tool() {
                let all =
                    [("tool", tool.tool), ("version", tool.tool_version), ("arguments", tool.arguments)];
                made.extend(all.into_iter().map(|(name, text)| (name, text.trim().to_owned())));
            }
            if let Some(cuda) = note.cuda() {
                made.push(("virtual", format!("compute_{}", cuda.virtual_sm)));
                made.push(("toolkit", format!("{}.{}", cuda.toolkit / 10, cuda.toolkit % 10)));
            }
        }
        let calls = calls(elf).into_iter().filter(|call| call.part == 1);
        Ok(Self {
            target: format!("sm_{}{suffix}", architecture.sm),
            kind: match elf.header.kind {
                1 => "relocatable".to_owned(),
                2 => "executable".to_owned(),
                other => format!("type {other:#x}"),
            },
            abi: elf.header.abi_version,
            made,
            functions: program.functions(),
            calls: calls.map(|c| (program.symbol_name(c.caller), program.symbol_name(c.callee))).collect(),
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{} {} of ABI {}\n", self.target, self.kind, self.abi);
        self.made.iter().for_each(|(name, value)| text += &format!("  {name:<9}  {value}\n"));
        let header =
            ["function", "kind", "bytes", "registers", "barriers", "shared", "frame", "stack", "parameters"];
        let rows = self.functions.iter().map(|f| {
            let number = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
            vec![
                f.name.clone(),
                kind(f).to_owned(),
                f.size.to_string(),
                number(f.registers),
                f.barriers.to_string(),
                f.shared.to_string(),
                number(f.frame),
                number(f.stack),
                parameters(&f.parameters),
            ]
        });
        if !self.functions.is_empty() {
            text += "\n";
            text += &terminal::table(&header, rows.collect(), false);
        }
        if !self.calls.is_empty() {
            text += "\n";
        }
        self.calls.iter().for_each(|(caller, callee)| text += &format!("{caller} calls {callee}\n"));
        text
    }

    fn value(&self) -> Value {
        let functions = self.functions.iter().map(|f| {
            let parameters = f.parameters.iter().map(|p| json!({ "offset": p.offset, "size": p.size }));
            json!({
                "name": f.name,
                "kind": kind(f),
                "bytes": f.size,
                "registers": f.registers,
                "barriers": f.barriers,
                "shared": f.shared,
                "frame": f.frame,
                "stack": f.stack,
                "constants": f.constants,
                "parameters": parameters.collect::<Vec<_>>(),
            })
        });
        let made: serde_json::Map<_, _> =
            self.made.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        json!({
            "target": self.target,
            "kind": self.kind,
            "abi": self.abi,
            "made": made,
            "functions": functions.collect::<Vec<_>>(),
            "calls": self.calls.iter().map(|(caller, callee)| json!([caller, callee])).collect::<Vec<_>>(),
        })
    }
}

fn kind(function: &Function) -> &'static str {
    if function.entry { "kernel" } else { "function" }
}

/// `0:8 8:4`: where parameters are, and how large.
fn parameters(parameters: &[Parameter]) -> String {
    let all: Vec<_> = parameters.iter().map(|p| format!("{}:{}", p.offset, p.size)).collect();
    all.join(" ")
}
