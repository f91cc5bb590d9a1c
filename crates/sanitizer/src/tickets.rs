//! Tickets: numbers that threads draw from a counter, to have their turns one after the other.
//!
//! The number of a ticket says nothing but whose turn comes first, if all that its thread does with it is to compare it with what
//! it reads of the word that tells whose turn it is, and to store the next number there. Then threads that draw in another order do
//! the same in their turns, and a lock of tickets is a [lock](crate::locks) like others. Whether that is so, the registers tell into
//! which the number goes; in what order instructions come is not looked at, so that the answer may be no where it were yes.

use ir::instruction::{AtomOp, SetIntCmp};
use ir::operand::Value;
use ir::{Access, Function, Instruction, Op};
use ptx::isa::Order;
use ptx::module::{AddressBase, FuncId, Module, RegId};
use rustc_hash::FxHashSet;

/// How far apart two tickets are that are drawn one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    One,
    /// What a register says.
    Unknown,
}

/// The instructions of a function that draw tickets, in ascending order, and the step of each.
pub(crate) fn draws(module: &Module, function: FuncId) -> Vec<(u32, Step)> {
    let Some(body) = &module.functions[function.index()].body else { return Vec::new() };
    let Some(function) = Function::lower(module, function) else { return Vec::new() };
    let instructions = || (0..body.instructions.len() as u32).filter_map(|index| function.instruction(index));
    let drawn = |index: u32| {
        let (ticket, step) = function.instruction(index).and_then(drawn_by)?;
        is_ticket(ticket, instructions).then_some((index, step))
    };
    (0..body.instructions.len() as u32).filter_map(drawn).collect()
}

/// Where the number goes, if an instruction may draw a ticket.
fn drawn_by(instruction: &Instruction) -> Option<(RegId, Step)> {
    let Op::Atom(atom) = &instruction.op else { return None };
    let draws = atom.op == AtomOp::Add && instruction.guard.is_none();
    let step = if atom.b == Value::Constant(1) { Step::One } else { Step::Unknown };
    atom.d.0.filter(|_| draws).map(|ticket| (ticket, step))
}

/// Whether the number in a register is nothing but a ticket.
fn is_ticket<'i, I: Iterator<Item = &'i Instruction>>(ticket: RegId, instructions: impl Fn() -> I) -> bool {
    // The number itself, what is computed of it, and who has come to its turn.
    let (mut copies, mut others, mut turns) =
        (FxHashSet::default(), FxHashSet::default(), FxHashSet::default());
    copies.insert(ticket);
    loop {
        let known = copies.len() + others.len() + turns.len();
        for instruction in instructions() {
            let (mut writes, mut number, mut other) = (None, false, false);
            instruction.registers(&mut |register, access| match access {
                Access::Read => {
                    number |= copies.contains(&register);
                    other |= others.contains(&register);
                }
                Access::Write | Access::ReadWrite => writes = Some(register),
            });
            let guarded = instruction.guard.is_some_and(|guard| turns.contains(&guard.register));
            if guarded && !matches!(instruction.op, Op::Bra(_)) {
                return false;
            }
            if !number && !other {
                let mut asks = false;
                instruction.registers(&mut |register, access| {
                    asks |= access != Access::Write && turns.contains(&register);
                });
                if asks && !guarded {
                    return false;
                }
                continue;
            }
            if let Op::Mov(_) = instruction.op {
                if number { &mut copies } else { &mut others }.extend(writes);
            } else if let Op::AddInt(_) = instruction.op {
                others.extend(writes);
            } else if let Op::SetpInt(compare) = &instruction.op {
                let equal = matches!(compare.cmp, SetIntCmp::Eq | SetIntCmp::Ne);
                let with = |value: &Value| match value {
                    Value::Register(register) => {
                        copies.contains(register) || is_loaded(*register, &instructions)
                    }
                    Value::Constant(_) | Value::Special { .. } | Value::Symbol { .. } | Value::Unused => {
                        false
                    }
                };
                let alone = compare.combine.is_none() && compare.q.is_none();
                if !(equal && alone && !other && with(&compare.a) && with(&compare.b)) {
                    return false;
                }
                turns.extend(compare.p.0);
            } else if let Op::St(store) = &instruction.op {
                // The next number goes where a turn is looked for, and nowhere else.
                let looks = |other: &Instruction| matches!(&other.op, Op::Ld(load) if load.order != Order::Weak && load.a == store.a);
                let names = |register: &RegId| copies.contains(register) || others.contains(register);
                let computed = matches!(&store.a.base, AddressBase::Register(register) if names(register));
                if store.order == Order::Weak || computed || !instructions().any(looks) {
                    return false;
                }
            } else {
                return false;
            }
        }
        if copies.len() + others.len() + turns.len() == known {
            return !turns.is_empty();
        }
    }
}

/// Whether all that a register ever has is loaded by strong operations.
fn is_loaded<'i, I: Iterator<Item = &'i Instruction>>(
    register: RegId,
    instructions: &impl Fn() -> I,
) -> bool {
    let mut writers = instructions().filter(|instruction| {
        let mut writes = false;
        instruction.registers(&mut |of, access| writes |= of == register && access != Access::Read);
        writes
    });
    writers.all(|instruction| matches!(&instruction.op, Op::Ld(load) if load.order != Order::Weak))
}
