//! The types of matrices as instructions name them, and the space that their elements take.

use ir::instruction::{
    MmaAtype, MmaKindAtype, MmaScaledKind, MmaScaledScaleVecSize as ScaleVecSize, WmmaMmaOp,
};
use numerics::rounding::Mode;
use numerics::tensor::{Accumulator, BitOperation, Config, Operand, Unit};
use ptx::types::ScalarType;

/// The type of a factor.
pub(crate) fn factor(ty: MmaAtype) -> Operand {
    match ty {
        MmaAtype::F16 => Operand::F16,
        MmaAtype::Bf16 => Operand::Bf16,
        MmaAtype::Tf32 => Operand::Tf32,
        MmaAtype::E4m3 => Operand::E4m3,
        MmaAtype::E5m2 => Operand::E5m2,
        MmaAtype::F64 => Operand::F64,
        MmaAtype::S8 => Operand::S8,
        MmaAtype::U8 => Operand::U8,
        MmaAtype::S4 => Operand::S4,
        MmaAtype::U4 => Operand::U4,
        MmaAtype::B1 => Operand::B1,
    }
}

/// The type of a factor of `.kind::f8f6f4`.
pub(crate) fn narrow_factor(ty: MmaKindAtype) -> Operand {
    match ty {
        MmaKindAtype::E4m3 => Operand::E4m3,
        MmaKindAtype::E5m2 => Operand::E5m2,
        MmaKindAtype::E3m2 => Operand::E3m2,
        MmaKindAtype::E2m3 => Operand::E2m3,
        MmaKindAtype::E2m1 => Operand::E2m1,
    }
}

/// The type of a factor with block scaling: but for `.kind::mxf8f6f4` two share a byte.
pub(crate) fn scaled_factor(kind: MmaScaledKind, ty: MmaKindAtype) -> Operand {
    match kind {
        MmaScaledKind::KindMxf8f6f4 => narrow_factor(ty),
        MmaScaledKind::KindMxf4 | MmaScaledKind::KindMxf4nvf4 => Operand::PackedE2m1,
    }
}

/// How many scale factors a row of A and a column of B have.
pub(crate) fn scales(kind: MmaScaledKind, size: Option<ScaleVecSize>) -> usize {
    match (size, kind) {
        (Some(ScaleVecSize::ScaleVec1X), _) | (None, MmaScaledKind::KindMxf8f6f4) => 1,
        (Some(ScaleVecSize::ScaleVec4X), _) => 4,
        (Some(ScaleVecSize::ScaleVec2X), _)
        | (None, MmaScaledKind::KindMxf4 | MmaScaledKind::KindMxf4nvf4) => 2,
    }
}

/// The type of C or D.
pub(crate) fn accumulator(ty: ScalarType) -> Accumulator {
    match ty {
        ScalarType::F16 => Accumulator::F16,
        ScalarType::F64 => Accumulator::F64,
        ScalarType::S32 => Accumulator::S32,
        _ => Accumulator::F32,
    }
}

/// What joins bits.
pub(crate) fn bit_operation(modifier: Option<WmmaMmaOp>) -> BitOperation {
    match modifier {
        Some(WmmaMmaOp::Xor) => BitOperation::Xor,
        None | Some(WmmaMmaOp::And) => BitOperation::And,
    }
}

/// What an instruction on such types computes, if no modifier says otherwise.
pub(crate) fn config<A: Into<MmaAtype>, B: Into<MmaAtype>>(
    unit: Unit,
    a: A,
    b: B,
    [c, d]: [ScalarType; 2],
) -> Config {
    config_of(unit, [factor(a.into()), factor(b.into())], [c, d])
}

/// The same of factors that are known.
pub(crate) fn config_of(unit: Unit, [a, b]: [Operand; 2], [c, d]: [ScalarType; 2]) -> Config {
    let (c, d) = (accumulator(c), accumulator(d));
    let (rounding, bits) = (Mode::NearestEven, BitOperation::And);
    Config { a, b, c, d, unit, satfinite: false, rounding, bits }
}

/// The size of a product along k, and that of the part of A that is stored.
pub(crate) fn depth(config: &Config, k: u32, sparse: bool) -> (u32, u32) {
    // Elements of `.b1` are words of 32.
    let k = if config.a == Operand::B1 { k / 32 } else { k };
    (k, if sparse { k / 2 } else { k })
}

/// Bits of an element of C or D.
pub(crate) fn accumulator_bits(ty: Accumulator) -> u32 {
    match ty {
        Accumulator::F16 => 16,
        Accumulator::F32 | Accumulator::S32 => 32,
        Accumulator::F64 => 64,
    }
}

/// The width of the registers that hold elements of `bits`.
pub(crate) fn register_bits(bits: u32) -> u32 {
    bits.max(32)
}
