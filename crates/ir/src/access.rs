//! Which registers an instruction reads and writes, as the roles in the instruction table say.

use ptx::isa::Role;
use ptx::module::{AddressBase, Body, Instruction, Module, Operand, RegId};

/// What an instruction does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The value matters to the instruction.
    Read,
    /// The value is replaced.
    Write,
    /// Both; also a write under a guard, which leaves the old value where the guard does not hold.
    ReadWrite,
}

/// Visits every register that an instruction names: its guard, operands, elements of vectors and of argument lists, and
/// bases of addresses. A register named twice is visited twice. [`Access::Read`]s come before the rest, as they happen.
pub fn registers(
    module: &Module,
    body: &Body,
    instruction: &Instruction,
    visit: &mut dyn FnMut(RegId, Access),
) {
    if let Some(guard) = instruction.guard {
        visit(guard.register, Access::Read);
    }
    let specs = module.opcode(instruction).data().operands;
    let operands = || body.operands(instruction).iter().zip(specs);
    for (operand, spec) in operands() {
        walk(body, operand, spec.role, &mut |register, role| {
            if role == Role::Read {
                visit(register, Access::Read);
            }
        });
    }
    let guarded = instruction.guard.is_some();
    for (operand, spec) in operands() {
        walk(body, operand, spec.role, &mut |register, role| match role {
            Role::Read => {}
            Role::Write if !guarded => visit(register, Access::Write),
            Role::Write | Role::ReadWrite => visit(register, Access::ReadWrite),
        });
    }
}

fn walk(body: &Body, operand: &Operand, role: Role, visit: &mut dyn FnMut(RegId, Role)) {
    match operand {
        // A partial destination of a video instruction is written whole: the other parts come from its last source.
        Operand::Register(register) | Operand::Part { register, .. } => visit(*register, role),
        // Only values that are read can be negated, and the base of an address is read even if the memory is written.
        Operand::NotPredicate(register) | Operand::Address { base: AddressBase::Register(register), .. } => {
            visit(*register, Role::Read)
        }
        Operand::Vector(list) => {
            body.elements(list).iter().for_each(|element| walk(body, element, role, visit));
        }
        Operand::Address { base: AddressBase::Variable(_) | AddressBase::Absolute, .. }
        | Operand::Absent
        | Operand::Sink
        | Operand::Immediate(_)
        | Operand::Special { .. }
        | Operand::SymbolAddress { .. }
        | Operand::Label(_)
        | Operand::Function(_)
        | Operand::Prototype(_)
        | Operand::Table(_) => {}
    }
}
