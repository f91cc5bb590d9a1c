//! Decoded operands.

use crate::format::{Bf16, E2m1, E2m3, E3m2, E4m3, E5m2, F16, F32, Format, Tf32};

/// The type of an element of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// `.f16`.
    F16,
    /// `.bf16`.
    Bf16,
    /// `.tf32`, in the 32-bit register that holds it.
    Tf32,
    /// `.e4m3`.
    E4m3,
    /// `.e5m2`.
    E5m2,
    /// `.e3m2`, in the lower six bits of a byte.
    E3m2,
    /// `.e2m3`, in the lower six bits of a byte.
    E2m3,
    /// `.e2m1`, in the middle four bits of a byte.
    E2m1,
    /// `.e2m1` of `.kind::mxf4` and `.kind::mxf4nvf4`: four bits, two in a byte.
    PackedE2m1,
    /// `.f64`.
    F64,
    /// `.s8`.
    S8,
    /// `.u8`.
    U8,
    /// `.s4`.
    S4,
    /// `.u4`.
    U4,
    /// `.b1`: an element here is a word of 32 of them.
    B1,
}

impl Operand {
    /// Bits of an element in a register.
    pub fn bits(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::Tf32 | Self::B1 => 32,
            Self::F64 => 64,
            Self::E4m3 | Self::E5m2 | Self::E3m2 | Self::E2m3 | Self::E2m1 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 | Self::PackedE2m1 => 4,
        }
    }
}

/// The type of a scale factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scale {
    /// `.ue8m0`: a power of two.
    Ue8m0,
    /// `.ue4m3`: `.e4m3` whose sign is not looked at.
    Ue4m3,
}

impl Scale {
    /// Decodes a scale factor from its bits.
    pub fn decode(self, bits: u8) -> Element {
        match (self, bits) {
            (Scale::Ue8m0, 0xff) => Element::float(1 << FRACTION, NAN),
            (Scale::Ue8m0, _) => Element::float(1 << FRACTION, i32::from(bits) - F32::BIAS),
            (Scale::Ue4m3, _) => decode_float::<E4m3>(u64::from(bits & 0x7f)),
        }
    }
}

/// One decoded element of A or B. What it holds depends on the [`Operand`] that decoded it.
///
/// A small float holds a signed significand with [`FRACTION`] fraction bits (low half) and an exponent (high half).
/// An `.f64` holds its bits, an integer its value, `.b1` its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element(u64);

/// Fraction bits of a decoded significand: those of the widest format, `.f16` and `.tf32`.
pub(super) const FRACTION: u32 = 10;
/// The exponent of an infinity. That of every finite value is far below half of it, negative exponents included.
pub(super) const INFINITE: i32 = 1 << 12;
/// The exponent of a NaN: greater than that of a product with an infinity.
pub(super) const NAN: i32 = 1 << 15;

/// The exponent of a zero: less than that of any other value, so that it aligns nothing. That of a negative zero is one
/// less, which only [`Element::to_f32`] asks for.
pub(super) const ZERO: i32 = -(1 << 10);

impl Element {
    /// A small float: `significand * 2^(exponent - FRACTION)`.
    pub(super) fn float(significand: i32, exponent: i32) -> Self {
        Element(u64::from(significand as u32) | u64::from(exponent as u32) << 32)
    }

    /// The signed significand of a small float.
    #[inline(always)]
    pub(super) fn significand(self) -> i32 {
        self.0 as u32 as i32
    }

    /// The exponent of a small float.
    #[inline(always)]
    pub(super) fn exponent(self) -> i32 {
        (self.0 >> 32) as i32
    }

    /// The `.f32` of an `.f16`.
    pub(super) fn to_f32(self) -> u32 {
        let negative = if self.significand() < 0 { F32::SIGN as u32 } else { 0 };
        match self.exponent() {
            NAN => F32::NAN as u32,
            INFINITE => F32::INFINITY as u32 | negative,
            ..=ZERO => {
                if self.exponent() < ZERO {
                    F32::SIGN as u32
                } else {
                    0
                }
            }
            exponent => {
                let field = exponent - FRACTION as i32 + F32::BIAS;
                (self.significand() as f32 * f32::from_bits((field as u32) << F32::MANTISSA_BITS)).to_bits()
            }
        }
    }

    /// A small float as it is after a conversion to a format in which it is not subnormal.
    pub(super) fn normal(self) -> Self {
        let significand = self.significand();
        let shift = significand.unsigned_abs().leading_zeros() as i32 - (31 - FRACTION as i32);
        if significand == 0 { self } else { Element::float(significand << shift, self.exponent() - shift) }
    }

    /// The bits of an `.f64`, the two's complement of an integer, the word of `.b1`.
    #[inline(always)]
    pub(super) fn bits(self) -> u64 {
        self.0
    }
}

impl Operand {
    /// Decodes an element from its bits. Bits above those of the element are ignored.
    pub fn decode(self, bits: u64) -> Element {
        match self {
            Operand::F16 => decode_float::<F16>(bits),
            Operand::Bf16 => decode_float::<Bf16>(bits),
            Operand::Tf32 => decode_float::<Tf32>(bits >> 13),
            Operand::E4m3 => decode_float::<E4m3>(bits),
            Operand::E5m2 => decode_float::<E5m2>(bits),
            Operand::E3m2 => decode_float::<E3m2>(bits),
            Operand::E2m3 => decode_float::<E2m3>(bits),
            Operand::E2m1 => decode_float::<E2m1>(bits >> 2),
            Operand::PackedE2m1 => decode_float::<E2m1>(bits),
            Operand::F64 => Element(bits),
            Operand::S8 => Element(i64::from(bits as u8 as i8) as u64),
            Operand::U8 => Element(u64::from(bits as u8)),
            Operand::S4 => Element(((bits as i64) << 60 >> 60) as u64),
            Operand::U4 => Element(bits & 15),
            Operand::B1 => Element(u64::from(bits as u32)),
        }
    }

    /// The element with its sign flipped: `imm-scale-a` and `imm-scale-b` of `wgmma`, for the floats.
    pub fn negate(self, element: Element) -> Element {
        match self {
            Operand::F16
            | Operand::Bf16
            | Operand::Tf32
            | Operand::E4m3
            | Operand::E5m2
            | Operand::E3m2
            | Operand::E2m3
            | Operand::E2m1
            | Operand::PackedE2m1 => Element::float(-element.significand(), element.exponent()),
            Operand::F64 => Element(element.0 ^ 1 << 63),
            Operand::S8 | Operand::U8 | Operand::S4 | Operand::U4 | Operand::B1 => element,
        }
    }
}

/// Decodes a float of format `F` in the low bits. A subnormal keeps the least exponent and is not normalised.
fn decode_float<F: Format>(bits: u64) -> Element {
    let magnitude = bits & (F::SIGN - 1);
    let field = (magnitude >> F::MANTISSA_BITS) as i32;
    let negative = bits & F::SIGN != 0;
    let signed = |value: i32| if negative { -value } else { value };
    let infinite = F::INFINITY != F::MAX_FINITE && magnitude == F::INFINITY;
    if infinite {
        return Element::float(signed(1 << FRACTION), INFINITE);
    }
    if magnitude > F::MAX_FINITE {
        return Element::float(1 << FRACTION, NAN);
    }
    if magnitude == 0 {
        return Element::float(0, ZERO - i32::from(negative));
    }
    let mantissa = (magnitude & ((1 << F::MANTISSA_BITS) - 1)) as i32;
    let significand = mantissa | i32::from(field != 0) << F::MANTISSA_BITS;
    Element::float(signed(significand << (FRACTION - F::MANTISSA_BITS)), field.max(1) - F::BIAS)
}
