//! Dead code: what computes results alone, none of which is read by anything that does more, is taken away.

use crate::operand::Value;
use crate::ssa::Ssa;
use ptx::module::RegId;

/// Takes away instructions without effects, and parameters with their arguments, that nothing needs.
pub fn dead_code(ssa: &mut Ssa<'_>) {
    let needed = needed(ssa);
    let kept: Vec<Vec<bool>> = ssa
        .blocks
        .iter()
        .map(|block| block.parameters.iter().map(|parameter| needed[parameter.index()]).collect())
        .collect();
    for (block, graph) in ssa.blocks.iter_mut().zip(&ssa.cfg.blocks) {
        block.instructions.retain(|instruction| {
            let mut stays = !instruction.typed.op.effects().is_pure();
            instruction.writes(&mut |value| stays |= needed[value.index()]);
            stays
        });
        block.parameters.retain(|parameter| needed[parameter.index()]);
        for (to, arguments) in graph.successors.iter().zip(&mut block.arguments) {
            let mut kept = kept[to.index()].iter();
            arguments.retain(|_| kept.next() == Some(&true));
        }
    }
    let mut defined = vec![false; ssa.values.len()];
    for block in &ssa.blocks {
        block.parameters.iter().for_each(|value| defined[value.index()] = true);
        block.instructions.iter().for_each(|i| i.writes(&mut |value| defined[value.index()] = true));
    }
    ssa.forget(|value| defined[value.index()]);
}

/// The values that something with effects needs, from where it reads them back to what they are computed from.
fn needed(ssa: &Ssa<'_>) -> Vec<bool> {
    let count = ssa.values.len();
    // Where each value is defined: by an instruction, or as a parameter at a position.
    let mut instruction_of = vec![None; count];
    let mut parameter_of = vec![None; count];
    let mut pending = Vec::new();
    for id in ssa.order() {
        let block = &ssa.blocks[id.index()];
        for (position, parameter) in block.parameters.iter().enumerate() {
            parameter_of[parameter.index()] = Some((id, position));
        }
        for instruction in &block.instructions {
            instruction.writes(&mut |value| instruction_of[value.index()] = Some(instruction));
            if !instruction.typed.op.effects().is_pure() {
                instruction.reads(&mut |value| pending.push(value));
            }
        }
        pending.extend(block.returns.iter().filter_map(register));
    }
    let mut needed = vec![false; count];
    while let Some(value) = pending.pop() {
        if std::mem::replace(&mut needed[value.index()], true) {
            continue;
        }
        if let Some(instruction) = instruction_of[value.index()] {
            instruction.reads(&mut |read| pending.push(read));
        }
        let Some((block, position)) = parameter_of[value.index()] else { continue };
        for from in &ssa.cfg.blocks[block.index()].predecessors {
            let edges =
                ssa.cfg.blocks[from.index()].successors.iter().zip(&ssa.blocks[from.index()].arguments);
            let arguments = edges.filter(|(to, _)| **to == block).filter_map(|(_, all)| all.get(position));
            pending.extend(arguments.filter_map(register));
        }
    }
    needed
}

fn register(value: &Value) -> Option<RegId> {
    match value {
        Value::Register(register) => Some(*register),
        _ => None,
    }
}
