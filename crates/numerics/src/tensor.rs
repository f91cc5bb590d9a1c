//! What a tensor core computes: one element of `D = A * B + C` (PTX manual, "Warp Level Matrix Instructions" and
//! "Asynchronous Warpgroup Level Matrix Instructions").
//!
//! The manual leaves the order, the precision and the rounding of the sum open. This module is what an H200 computes,
//! bit for bit, but for what it does not have ([`Unit::Exact`]); docs/numerics.md tells how that was found. [`dot`] takes one row of A, one column of B and one element
//! of C; how they lie in registers or in shared memory is the machine's affair. Operands are decoded once
//! ([`Operand::decode`]) and used in many dot products.

mod element;
mod exact;
mod float;
mod integer;
pub mod lanes;
mod sum;

use crate::rounding::Mode;
pub use element::{Element, Operand, Scale};

/// The type of C and D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulator {
    /// `.f16`.
    F16,
    /// `.f32`.
    F32,
    /// `.f64`.
    F64,
    /// `.s32`.
    S32,
}

/// The family of the instruction. Families differ in their arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// `mma.sync`, dense.
    Mma,
    /// `mma.sp`.
    SparseMma,
    /// `wmma.mma`.
    Wmma,
    /// `wgmma.mma_async`, dense.
    Wgmma,
    /// `wgmma.mma_async.sp`.
    SparseWgmma,
    /// What no GPU was asked about: `mma` with `.kind`, `mma.sp` with `.kind` or of 8-bit floats with `.f16` accumulators,
    /// `tcgen05.mma`.
    Exact,
}

/// How bits of `.b1` operands are combined before they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOperation {
    /// `.xor.popc`.
    Xor,
    /// `.and.popc`.
    And,
}

/// What an instruction computes, as far as it concerns arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The type of A's elements.
    pub a: Operand,
    /// The type of B's elements. It may differ from A's among the 8-bit floats, among `s8` and `u8`, `s4` and `u4`.
    pub b: Operand,
    /// The type of C.
    pub c: Accumulator,
    /// The type of D.
    pub d: Accumulator,
    /// The family of the instruction.
    pub unit: Unit,
    /// `.satfinite`: of the integers, and of the `wmma` of floats that PTX has withdrawn.
    pub satfinite: bool,
    /// The rounding of the `.f64` forms; the others ignore it.
    pub rounding: Mode,
    /// The operation of the `.b1` forms; the others ignore it.
    pub bits: BitOperation,
}

/// What terms are multiplied by besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scaling<'a> {
    /// The scale factors of the row of A, one for each block along k, or none.
    pub a: &'a [Element],
    /// Those of the column of B, as many.
    pub b: &'a [Element],
    /// C counts times 2 to the power of minus this.
    pub input: u32,
}

/// One element of D of floats where terms are scaled ([`Unit::Exact`]). A block of a sparse instruction has as many of the
/// stored elements as any other.
#[inline(always)]
pub fn dot_scaled(d: Accumulator, a: &[Element], b: &[Element], c: u64, scaling: &Scaling<'_>) -> u64 {
    exact::dot(d, a, b, c, scaling)
}

/// One element of D.
///
/// `a` and `b` hold the instruction's k elements in the order of k, as many the one as the other. For a sparse
/// instruction they hold the selected half: `a` the stored elements, `b` those that the metadata pairs with them. `c` is
/// the element of C, zero where `wgmma` has none; bits above those of its type are ignored. The result is in the low
/// bits of the returned word.
///
/// It is inlined, so that its loops use the vector instructions of a caller that is compiled for them.
///
/// ```
/// use numerics::rounding::Mode;
/// use numerics::tensor::{Accumulator, BitOperation, Config, Operand, Unit, dot};
///
/// // mma.m16n8k16.f32.f16.f16.f32: 1 + 2^-24 + 2^-25, which an .f32 addition would round up, is cut to 1.
/// let config = Config {
///     a: Operand::F16,
///     b: Operand::F16,
///     c: Accumulator::F32,
///     d: Accumulator::F32,
///     unit: Unit::Mma,
///     satfinite: false,
///     rounding: Mode::NearestEven,
///     bits: BitOperation::Xor,
/// };
/// let half = |bits| Operand::F16.decode(bits);
/// let a = [half(0x3c00), half(0x0c00), half(0x0800)];
/// let b = [half(0x3c00), half(0x0c00), half(0x0c00)];
/// assert_eq!(dot(&config, &a, &b, 0), 0x3f80_0000);
/// ```
#[inline(always)]
pub fn dot(config: &Config, a: &[Element], b: &[Element], c: u64) -> u64 {
    match config.a {
        Operand::F16 | Operand::Bf16 | Operand::Tf32 | Operand::E4m3 | Operand::E5m2
            if config.unit == Unit::Exact =>
        {
            exact::dot(config.d, a, b, c, &Scaling::default())
        }
        Operand::F16 | Operand::Bf16 | Operand::Tf32 | Operand::E4m3 | Operand::E5m2 => {
            float::dot(config, a, b, c)
        }
        // No other instruction has them.
        Operand::E3m2 | Operand::E2m3 | Operand::E2m1 | Operand::PackedE2m1 => {
            exact::dot(config.d, a, b, c, &Scaling::default())
        }
        Operand::F64 => float::dot_f64(config.rounding, a, b, c),
        Operand::S8 | Operand::U8 | Operand::S4 | Operand::U4 => {
            u64::from(integer::dot(a, b, c as u32, config.satfinite))
        }
        Operand::B1 => u64::from(integer::count(config.bits, a, b, c as u32)),
    }
}
