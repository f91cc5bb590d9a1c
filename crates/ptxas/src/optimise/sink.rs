//! What a kernel is given, and constants, are loaded behind the loops in which nobody reads them: until then no register has to hold them.

use super::graph::{Flow, Loop};
use super::slots;
use crate::code::{Code, Instruction, Line, Operand, Reg};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// Special registers that stay what they are.
const LASTING: &[&str] = &["SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z"];

/// Moves such loads down.
pub(crate) fn sink(code: &mut Code) {
    let flow = Flow::new(code);
    let loops = flow.loops();
    if loops.is_empty() {
        return;
    }
    let mut depth = vec![0_usize; flow.blocks.len()];
    loops.iter().flat_map(|it| &it.blocks).for_each(|&block| depth[block] += 1);
    let mut named: HashMap<Reg, Named> = HashMap::default();
    for (index, block) in flow.blocks.iter().enumerate() {
        for at in block.lines.clone() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            for (place, operand) in one.operands.iter().enumerate() {
                let Some((reg, ..)) = operand.register() else { continue };
                let named = named.entry(reg).or_default();
                if place < one.written {
                    named.writers.push((at, index));
                } else {
                    named.readers.push((at, index));
                }
            }
        }
    }
    let meetings = meetings(code);
    let mut moved: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for named in named.values() {
        let &[(from, block)] = named.writers.as_slice() else { continue };
        let Line::Instruction(one) = &code.lines[from] else { continue };
        if !lasts(one) || named.readers.is_empty() || !flow.is_reachable(block) {
            continue;
        }
        if let Some(target) = target(&flow, &loops, &depth, block, named)
            && let Some(to) = place(code, &flow, target, named)
        {
            moved.entry(meetings[to].unwrap_or(to)).or_default().push(from);
        }
    }
    let mut lines = Vec::with_capacity(code.lines.len());
    let gone: HashSet<usize> = moved.values().flatten().copied().collect();
    code.note_moved(&gone);
    for (at, line) in code.lines.iter().enumerate() {
        let mut before = moved.get(&at).cloned().unwrap_or_default();
        before.sort_unstable();
        lines.extend(before.into_iter().map(|from| code.lines[from].clone()));
        if !gone.contains(&at) {
            lines.push(line.clone());
        }
    }
    code.lines = lines;
}

/// The lines that write and read a register, and their blocks.
#[derive(Default)]
struct Named {
    writers: Vec<(usize, usize)>,
    readers: Vec<(usize, usize)>,
}

/// Whether an instruction gives the same wherever it stands.
fn lasts(one: &Instruction) -> bool {
    let [Operand::General { .. }, from] = one.operands.as_slice() else { return false };
    let is_special = || matches!(from, Operand::Text(text) if LASTING.contains(&text.as_str()));
    one.guard.is_none()
        && one.written == 1
        && match one.name.as_str() {
            "LDC" | "LDC.64" => slots::bank(from).is_some(),
            "MOV" => slots::constant(from).is_some(),
            "S2R" => is_special(),
            _ => false,
        }
}

/// The block to which a load goes: the last one in front of all readers that is in no further loop, if there is a loop on the way in which
/// nobody reads it.
fn target(flow: &Flow, loops: &[Loop], depth: &[usize], from: usize, named: &Named) -> Option<usize> {
    let leads = |block: usize| {
        named.readers.iter().all(|&(_, reader)| flow.is_reachable(reader) && flow.dominates(block, reader))
    };
    let mut target = named.readers.first()?.1;
    while !(leads(target) && depth[target] <= depth[from]) {
        target = flow.above(target)?;
    }
    let is_spared = |it: &Loop| {
        let inside = |block: usize| it.blocks.contains(&block);
        !inside(from)
            && !inside(target)
            && flow.dominates(from, it.header)
            && comes_to(flow, it.header, target)
            && named.readers.iter().all(|&(_, reader)| !inside(reader))
    };
    (target != from && flow.dominates(from, target) && loops.iter().any(is_spared)).then_some(target)
}

/// Whether control can come from one block to another.
fn comes_to(flow: &Flow, from: usize, to: usize) -> bool {
    let mut seen = vec![false; flow.blocks.len()];
    let mut pending = vec![from];
    while let Some(block) = pending.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            pending.extend(&flow.blocks[block].successors);
        }
    }
    seen[to]
}

/// For each line the one at which lanes have met that execute it for one another, who may have come from elsewhere.
fn meetings(code: &Code) -> Vec<Option<usize>> {
    let mut open = None;
    let of = |(at, line): (usize, &Line)| {
        let Line::Instruction(one) = line else { return open };
        if one.name.starts_with("WARPSYNC.COLLECTIVE") {
            open = Some(at);
        }
        let this = open;
        if one.name == "ENDCOLLECTIVE" {
            open = None;
        }
        this
    };
    code.lines.iter().enumerate().map(of).collect()
}

/// The line of a block in front of which it stands: its first reader, or what ends the block.
fn place(code: &Code, flow: &Flow, target: usize, named: &Named) -> Option<usize> {
    let lines = flow.blocks[target].lines.clone();
    let first = named.readers.iter().filter(|(_, block)| *block == target).map(|&(at, _)| at).min();
    let last = lines.end.checked_sub(1).filter(|at| lines.contains(at))?;
    let Line::Instruction(end) = &code.lines[last] else { return None };
    let leaves = end.name.starts_with("BRA") || end.name == "EXIT" || end.name.starts_with("RET");
    first.or(leaves.then_some(last))
}
