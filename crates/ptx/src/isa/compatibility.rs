//! Which register types an instruction type accepts (PTX ISA, "Type Checking Rules" and "Operand Size Exceeding
//! Instruction-Type Size").

use crate::types::{ScalarType, TypeKind};

/// Whether an operand of an instruction whose type there is `instruction` may be a register of type `register`.
///
/// - The same type always may.
/// - `.bX` on either side agrees with any type of the same width.
/// - Signed and unsigned integers of the same width agree.
/// - Floating point agrees with the same format only; packed and alternate formats (`.f16x2`, `.bf16`, `.tf32`,
///   `.u16x2`, ...), which registers cannot all be declared with, live in untyped registers of their width.
/// - A predicate agrees with a predicate.
///
/// With `relaxed_size`, as for the data of `ld`, `st` and `cvt`, the register may also be wider than the instruction
/// type; then a floating-point register only agrees with `.bX`.
pub fn compatible(instruction: ScalarType, register: ScalarType, relaxed_size: bool) -> bool {
    if instruction == register {
        return true;
    }
    let (expected, actual) = (instruction.kind(), register.kind());
    if expected == TypeKind::Predicate || actual == TypeKind::Predicate {
        return false;
    }
    if register.bits() != instruction.bits() {
        // Bits are truncated or extended on the way, which only integers and untyped bits can be.
        return relaxed_size
            && register.bits() > instruction.bits()
            && (actual != TypeKind::Float || expected == TypeKind::Untyped)
            && (expected != TypeKind::Float || actual == TypeKind::Untyped);
    }
    let is_integer = |kind| matches!(kind, TypeKind::Unsigned | TypeKind::Signed);
    expected == TypeKind::Untyped
        || actual == TypeKind::Untyped
        || (is_integer(expected) && is_integer(actual))
}
