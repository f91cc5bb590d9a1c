//! Which register types an instruction type accepts (PTX ISA, "Type Checking Rules" and "Operand Size Exceeding
//! Instruction-Type Size").

use crate::types::{ScalarType, TypeKind};

/// Whether an operand of an instruction whose type there is `instruction` may be a register of type `register`.
///
/// - The same type always may.
/// - `.bX` on either side agrees with any type of the same width, except predicates.
/// - Signed and unsigned integers of the same width agree.
/// - Floating point agrees with the same format only, and so do the packed types. What registers cannot be declared
///   with (`.bf16`, `.tf32`, `.u16x2`, ...) lives in untyped registers of its width. The one packed type that they can
///   be declared with, `.f16x2`, serves integers too.
///
/// With `relaxed_size`, as for the data of `ld`, `st` and `cvt`, the register may also be wider than the instruction
/// type. Its low bits are the value then, so that integers agree with integers, and untyped bits with everything.
pub fn compatible(instruction: ScalarType, register: ScalarType, relaxed_size: bool) -> bool {
    if instruction == register {
        return true;
    }
    if [instruction, register].iter().any(|ty| matches!(ty.kind(), TypeKind::Predicate | TypeKind::Opaque)) {
        return false;
    }
    let fits =
        instruction.bits() == register.bits() || (relaxed_size && register.bits() > instruction.bits());
    let untyped = [instruction, register].iter().any(|ty| ty.kind() == TypeKind::Untyped);
    fits && (untyped || (is_integer(instruction) && (is_integer(register) || register == ScalarType::F16x2)))
}

/// A plain integer, not a packed one.
fn is_integer(ty: ScalarType) -> bool {
    let packed = matches!(ty, ScalarType::U16x2 | ScalarType::S16x2);
    matches!(ty.kind(), TypeKind::Unsigned | TypeKind::Signed) && !packed
}
