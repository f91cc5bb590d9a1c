//! The control flow of a function's code, and its drawing.

use crate::isa::{self, Isa};
use crate::{Malformed, target};
use cubin::elf::Elf;
use cubin::elf::section as kind;
use sass::{Flow, Instruction};
use std::collections::BTreeSet;
use std::fmt::Write;

/// An instruction with what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) offset: u64,
    pub(crate) word: u128,
    /// What it is; none if the word is unknown.
    pub(crate) instruction: Option<Instruction>,
    /// Where its operand leads.
    pub(crate) target: Option<u64>,
}

impl Step {
    /// What is printed for it, if the word is known.
    pub(crate) fn text(&self) -> Option<String> {
        let mut text = String::new();
        self.instruction?.print(self.offset, &mut text);
        Some(text)
    }
}

/// A run of instructions that is entered at its beginning and left at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// Positions of its instructions.
    pub(crate) steps: std::ops::Range<usize>,
    /// Blocks that may follow.
    pub(crate) next: Vec<usize>,
}

/// The control flow of a section of code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) steps: Vec<Step>,
    pub(crate) blocks: Vec<Block>,
}

/// The instructions in a section's bytes.
pub(crate) fn steps(isa: Isa, data: &[u8]) -> Vec<Step> {
    let step = |(index, word): (usize, &[u8; 16])| {
        let offset = index as u64 * 16;
        let word = u128::from_le_bytes(*word);
        let instruction = isa.decode(word);
        Step { offset, word, instruction, target: instruction.and_then(|it| it.target(offset)) }
    };
    data.as_chunks::<16>().0.iter().enumerate().map(step).collect()
}

/// How control goes on behind an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// To the next one, whatever its operand names.
    Next,
    /// To its target and, if it depends on something, to the next one.
    Branch { conditional: bool },
    /// To nowhere that is known, or if it depends on something, to the next one.
    Leaves { conditional: bool },
}

fn exit(step: &Step) -> Exit {
    let Some(instruction) = &step.instruction else {
        return if isa::is_exit(step.word) { Exit::Leaves { conditional: true } } else { Exit::Next };
    };
    match instruction.flow() {
        Flow::Next | Flow::Wait => Exit::Next,
        // A branch of a warp's threads, or one that depends on a predicate behind its name, reads something.
        Flow::Branch => {
            let reads = instruction.operands().next().is_some();
            Exit::Branch { conditional: reads || instruction.guard().is_some() }
        }
        Flow::Leave => Exit::Leaves { conditional: instruction.guard().is_some() },
    }
}

impl Graph {
    /// The blocks of instructions in their order. What indirect branches lead to is not known.
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        let position = |offset: u64| {
            let index = usize::try_from(offset / 16).ok()?;
            (offset.is_multiple_of(16) && index < steps.len()).then_some(index)
        };
        let mut leaders = BTreeSet::from([0]);
        for (index, step) in steps.iter().enumerate() {
            leaders.extend(step.target.and_then(position));
            if exit(step) != Exit::Next {
                leaders.insert(index + 1);
            }
        }
        leaders.retain(|&leader| leader < steps.len());
        let starts: Vec<usize> = leaders.into_iter().collect();
        let block_at = |index: usize| starts.binary_search(&index).ok();
        let mut blocks = Vec::new();
        for (number, &start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(steps.len());
            let last = &steps[end - 1];
            let target = || last.target.and_then(position).and_then(block_at);
            let following = block_at(end);
            let next: Vec<usize> = match exit(last) {
                Exit::Next => following.into_iter().collect(),
                Exit::Branch { conditional: false } => target().into_iter().collect(),
                Exit::Branch { conditional: true } => target().into_iter().chain(following).collect(),
                Exit::Leaves { conditional: false } => Vec::new(),
                Exit::Leaves { conditional: true } => following.into_iter().collect(),
            };
            blocks.push(Block { steps: start..end, next });
        }
        Self { steps, blocks }
    }
}

/// The control flow of a cubin's code in the language of Graphviz: a cluster for each section of code.
///
/// # Errors
/// The bytes are no cubin, or its instructions are not known.
pub fn dot(bytes: &[u8]) -> Result<String, Malformed> {
    let elf = Elf::parse(bytes)?;
    let isa = Isa::of(target::sm(&elf.header))
        .ok_or(Malformed::Form("the instructions of this device are not known"))?;
    let mut out = String::from("digraph cubin {\n  node [shape=box, fontname=monospace, labeljust=l];\n");
    for (number, section) in elf.sections.iter().enumerate() {
        if section.flags & kind::EXECUTE == 0 {
            continue;
        }
        let name = elf.section_name(number as u32).map(String::from_utf8_lossy).unwrap_or_default();
        let graph = Graph::new(steps(isa, section.data()));
        let _ = writeln!(out, "  subgraph \"cluster_{number}\" {{\n    label=\"{}\";", escape(&name));
        for (index, block) in graph.blocks.iter().enumerate() {
            let mut label = String::new();
            for step in &graph.steps[block.steps.clone()] {
                let text = step.text().unwrap_or_else(|| format!(".raw {:#034x}", step.word));
                let _ = write!(label, "{:04x}  {}\\l", step.offset, escape(&text));
            }
            let _ = writeln!(out, "    b{number}_{index} [label=\"{label}\"];");
            for next in &block.next {
                let _ = writeln!(out, "    b{number}_{index} -> b{number}_{next};");
            }
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    Ok(out)
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
