//! The bits of a constant as a type (PTX ISA, "Constants").
//!
//! ptxas keeps integers and floating point apart: an integer constant is no operand of floating-point type and the
//! other way around. A `.b32` takes the 32 bits of a `0f` literal and a `.b64` those of a double-precision one. No
//! 16-bit floating-point type and no packed type takes any constant. An integer is cut to the width of the type in silence.

use super::{Resolver, codes};
use crate::ast::{Constant, ConstantError, ConstantErrorKind};
use crate::types::{ScalarType, TypeKind};

/// A constant as the bits of a type, if the type takes such a constant.
pub(crate) fn bits_as(constant: Constant, ty: ScalarType) -> Option<u64> {
    match (constant, ty.kind()) {
        (Constant::Signed(_) | Constant::Unsigned(_), TypeKind::Predicate) => {
            Some(u64::from(constant.as_integer()? != 0))
        }
        // Packed integers have no constants.
        (_, TypeKind::Unsigned | TypeKind::Signed) if matches!(ty, ScalarType::U16x2 | ScalarType::S16x2) => {
            None
        }
        (
            Constant::Signed(_) | Constant::Unsigned(_),
            TypeKind::Unsigned | TypeKind::Signed | TypeKind::Untyped,
        ) => Some(truncate(constant.as_integer()?, ty.bits())),
        (Constant::Single(bits), TypeKind::Untyped) if ty.bits() == 32 => Some(u64::from(bits)),
        (Constant::Double(bits), TypeKind::Untyped) if ty.bits() == 64 => Some(bits),
        (Constant::Single(bits), TypeKind::Float) if ty == ScalarType::F32 => Some(u64::from(bits)),
        (Constant::Single(bits), TypeKind::Float) if ty == ScalarType::F64 => {
            Some(f64::from(f32::from_bits(bits)).to_bits())
        }
        (Constant::Double(bits), TypeKind::Float) if ty == ScalarType::F64 => Some(bits),
        (Constant::Double(bits), TypeKind::Float) if ty == ScalarType::F32 => {
            Some(u64::from((f64::from_bits(bits) as f32).to_bits()))
        }
        _ => None,
    }
}

/// A constant as it is.
pub(crate) fn bits(constant: Constant) -> u64 {
    match constant {
        Constant::Signed(value) => value as u64,
        Constant::Unsigned(value) => value,
        Constant::Single(bits) => u64::from(bits),
        Constant::Double(bits) => bits,
    }
}

/// The low `bits` of a value.
pub(crate) fn truncate(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// A constant in words.
pub(crate) fn describe(constant: Constant) -> &'static str {
    match constant {
        Constant::Signed(_) | Constant::Unsigned(_) => "an integer constant",
        Constant::Single(_) => "a single-precision constant",
        Constant::Double(_) => "a double-precision constant",
    }
}

impl Resolver<'_> {
    #[cold]
    pub(crate) fn constant_error(&mut self, error: ConstantError) {
        let message = match error.kind {
            ConstantErrorKind::DivisionByZero => "division by zero in a constant expression",
            ConstantErrorKind::FloatOperand => "this operator takes integers only",
            ConstantErrorKind::MixedOperands => {
                "a constant expression cannot mix integers and floating point"
            }
        };
        self.error(codes::CONSTANT_ERROR, error.span, message);
    }
}
