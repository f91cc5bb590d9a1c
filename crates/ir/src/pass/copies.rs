//! Copy propagation: uses of a copy become uses of what is copied.

use crate::exchange::OperandMut;
use crate::instruction::{FieldValue, Mov, MovPred, Op};
use crate::operand::{Def, Value};
use crate::signature;
use crate::ssa::Ssa;
use ptx::isa::Role;
use ptx::module::RegId;
use ptx::types::{ScalarType, TypeKind};

/// Makes uses of copies, and of parameters that every edge gives the same value, into uses of what they stand for.
/// Whether it found any.
///
/// A copy of another type than its source stays: the forms that read it might not take the source. So does a constant
/// where an instruction reads the low bits of a wider register.
pub fn copies(ssa: &mut Ssa<'_>) -> bool {
    let mut sources: Vec<Option<Value>> = vec![None; ssa.values.len()];
    for block in &ssa.blocks {
        for instruction in block.instructions.iter().filter(|instruction| instruction.typed.guard.is_none()) {
            let (Op::Mov(Mov { d: Def(Some(copy)), a, .. }) | Op::MovPred(MovPred { d: Def(Some(copy)), a })) =
                &instruction.typed.op
            else {
                continue;
            };
            sources[copy.index()] = source(ssa, *copy, *a);
        }
    }
    same_arguments(ssa, &mut sources);
    resolve(&mut sources);
    if sources.iter().all(Option::is_none) {
        return false;
    }

    let mut changed = false;
    for block in &mut ssa.blocks {
        for instruction in &mut block.instructions {
            let mut gets_constant = false;
            instruction.reads(&mut |value| {
                gets_constant |= matches!(sources[value.index()], Some(Value::Constant(_)));
            });
            let takes_constant = !gets_constant || !reads_loosely(&instruction.typed.op);
            instruction.typed.operands_mut(&mut |operand| match operand {
                OperandMut::Write(_) | OperandMut::Update(_) => {}
                OperandMut::Base(register) => {
                    if let Some(Value::Register(source)) = sources[register.index()] {
                        *register = source;
                        changed = true;
                    }
                }
                OperandMut::Read(value) => {
                    let Value::Register(register) = *value else { return };
                    match sources[register.index()] {
                        Some(Value::Constant(_)) if !takes_constant => {}
                        Some(source) => {
                            *value = source;
                            changed = true;
                        }
                        None => {}
                    }
                }
            });
        }
        let kept = block.instructions.iter_mut().flat_map(|instruction| &mut instruction.kept);
        for value in kept.chain(block.arguments.iter_mut().flatten()).chain(&mut block.returns) {
            if let Value::Register(register) = *value
                && let Some(source) = sources[register.index()]
            {
                *value = source;
                changed = true;
            }
        }
    }
    ssa.rename_history(|value| sources[value.index()]);
    changed
}

/// What a copy stands for, if its uses can be uses of that.
fn source(ssa: &Ssa<'_>, copy: RegId, of: Value) -> Option<Value> {
    let to = ssa.values[copy.index()].ty;
    match of {
        Value::Register(from) => {
            let from = ssa.values[from.index()].ty;
            (from == to
                || (from.bits() == to.bits() && (is_untyped(from) || is_integer(from) && is_integer(to))))
            .then_some(of)
        }
        Value::Constant(_) => Some(of),
        // Another time, or another place in the text, might be another value.
        Value::Special { .. } | Value::Symbol { .. } | Value::Unused => None,
    }
}

fn is_untyped(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Untyped
}

fn is_integer(ty: ScalarType) -> bool {
    matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned)
}

/// Parameters that every edge gives one value, or themselves. The entry's get theirs from outside too.
fn same_arguments(ssa: &Ssa<'_>, sources: &mut [Option<Value>]) {
    let mut given: Vec<Option<Value>> = vec![None; ssa.values.len()];
    let mut differs = vec![false; ssa.values.len()];
    for id in ssa.order() {
        let edges = ssa.cfg.blocks[id.index()].successors.iter().zip(&ssa.blocks[id.index()].arguments);
        for (to, arguments) in edges {
            for (parameter, argument) in ssa.blocks[to.index()].parameters.iter().zip(arguments) {
                let index = parameter.index();
                if *argument != Value::Register(*parameter) {
                    differs[index] |= given[index].replace(*argument).is_some_and(|other| other != *argument);
                }
            }
        }
    }
    for parameter in ssa.order().skip(1).flat_map(|id| &ssa.blocks[id.index()].parameters) {
        let index = parameter.index();
        if let Some(value) = given[index].filter(|_| !differs[index]) {
            sources[index] = match value {
                // What is undefined on every path is so here.
                Value::Unused => None,
                value => Some(value),
            };
        }
    }
}

/// Follows copies of copies to what is no copy. Parameters that only get one another stand for nothing.
fn resolve(sources: &mut [Option<Value>]) {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Unseen,
        OnPath,
        Done,
    }
    let mut states = vec![State::Unseen; sources.len()];
    let mut path = Vec::new();
    for start in 0..sources.len() {
        let mut at = start;
        let end = loop {
            match (states[at], sources[at]) {
                // A circle.
                (State::OnPath, _) => break None,
                (State::Unseen, Some(Value::Register(next))) => {
                    states[at] = State::OnPath;
                    path.push(at);
                    at = next.index();
                }
                (State::Unseen | State::Done, source) => {
                    states[at] = State::Done;
                    break source.or(Some(Value::Register(RegId(at as u32))));
                }
            }
        };
        for copy in path.drain(..) {
            states[copy] = State::Done;
            sources[copy] = end;
        }
    }
}

/// Whether an instruction reads the low bits of wider registers.
fn reads_loosely(op: &Op) -> bool {
    let mut names = Vec::new();
    op.fields(&mut |name, field| {
        if matches!(field, FieldValue::Value(_) | FieldValue::Values(_) | FieldValue::Part(_)) {
            names.push(name);
        }
    });
    match signature::opcodes(op).next() {
        Some(opcode) => opcode
            .data()
            .operands
            .iter()
            .any(|spec| spec.loose && spec.role == Role::Read && names.contains(&spec.identifier())),
        None => true,
    }
}
