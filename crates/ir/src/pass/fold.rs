//! Folding: in the order of the dominator tree, so that what is known of a value is known where it is read.

use super::identity;
use crate::exchange::OperandMut;
use crate::instruction::{Mov, MovPred, Op};
use crate::lanewise::WordFunction;
use crate::operand::{Def, Value};
use crate::ssa::Ssa;
use ptx::module::RegId;
use ptx::types::ScalarType;

/// Makes instructions with one result that is known, or one of their operands, into `mov`s. Whether it found any.
pub fn fold(ssa: &mut Ssa<'_>) -> bool {
    let mut constants: Vec<Option<u64>> = vec![None; ssa.values.len()];
    let mut changed = false;
    for id in ssa.order().collect::<Vec<_>>() {
        for place in 0..ssa.blocks[id.index()].instructions.len() {
            let instruction = &ssa.blocks[id.index()].instructions[place];
            let op = &instruction.typed.op;
            if instruction.typed.guard.is_some() || !op.effects().is_pure() {
                continue;
            }
            let Some(value) = only_result(instruction) else { continue };
            let ty = ssa.values[value.index()].ty;
            let known = with_constants(op, &constants);
            let source = copied(&known).or_else(|| {
                let result = WordFunction::of(&known).and_then(|function| function.of_constants(ty.bits()));
                result.map(Value::Constant).or_else(|| identity::operand(&known))
            });
            if let Some(Value::Constant(bits)) = source {
                constants[value.index()] = Some(bits);
            }
            if matches!(op, Op::Mov(_) | Op::MovPred(_)) {
                continue;
            }
            let same_type = |source: &Value| match source {
                Value::Register(source) => ssa.values[source.index()].ty.bits() == ty.bits(),
                _ => true,
            };
            let Some(a) = source.filter(same_type) else { continue };
            let d = Def(Some(value));
            ssa.blocks[id.index()].instructions[place].typed.op = match ty {
                ScalarType::Pred => Op::MovPred(MovPred { d, a }),
                _ => Op::Mov(Mov { ty: untyped(ty), d, a }),
            };
            changed = true;
        }
    }
    changed
}

/// What a copy has for its result.
fn copied(op: &Op) -> Option<Value> {
    if let Op::Mov(Mov { a, .. }) | Op::MovPred(MovPred { a, .. }) = op { Some(*a) } else { None }
}

/// The one value that an instruction defines.
fn only_result(instruction: &crate::ssa::Instruction) -> Option<RegId> {
    let (mut first, mut count) = (None, 0);
    instruction.writes(&mut |value| {
        first = first.or(Some(value));
        count += 1;
    });
    first.filter(|_| count == 1)
}

/// The instruction with constants for the values that are known.
fn with_constants(op: &Op, constants: &[Option<u64>]) -> Op {
    let mut op = op.clone();
    op.operands_mut(&mut |operand| {
        if let OperandMut::Read(value) = operand
            && let Value::Register(register) = *value
            && let Some(bits) = constants[register.index()]
        {
            *value = Value::Constant(bits);
        }
    });
    op
}

/// The untyped bits of a register's type: `mov` of them takes registers of any kind.
fn untyped(ty: ScalarType) -> ScalarType {
    match ty.bits() {
        16 => ScalarType::B16,
        32 => ScalarType::B32,
        64 => ScalarType::B64,
        _ => ty,
    }
}
