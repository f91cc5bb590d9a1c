//! Stochastic rounding: `cvt.rs` (PTX manual, "cvt").
//!
//! Random bits are added to a magnitude below the last bit that is kept, the highest of them aligned with the highest bit that
//! is cut off; then the rest is cut off. So a value goes to the neighbour that is further from zero as often as it is nearer
//! to that one. No target that has the instruction was asked. The manual says which of the 32 random bits are whose: one half
//! for each of two elements, of which `.f16` takes 13 bits; the same half for two of four 8-bit or 6-bit elements; and for
//! four `.e2m1` "lower 8-bits from both 16-bits half" for the last two, which is read as one byte for each element, the
//! upper half's for the first of a pair.

use crate::format::{Bf16, E2m1, E2m3, E3m2, E4m3, E5m2, F16, F32, Format};
use crate::half::clamp;
use crate::packed;

/// A format that stochastic rounding is to, by so many random bits.
pub trait Stochastic: Format {
    /// Random bits of an element.
    const RANDOM: u32;
}

macro_rules! random_bits {
    ($($format:ident: $bits:literal),+) => {
        $(impl Stochastic for $format {
            const RANDOM: u32 = $bits;
        })+
    };
}
random_bits!(F16: 13, Bf16: 16, E4m3: 16, E5m2: 16, E3m2: 16, E2m3: 16, E2m1: 8);

/// Rounds an `.f32` to format `D` by the low bits of `random`. A value that is too large becomes an infinity, or with
/// `SATFINITE` the largest finite value.
#[inline(always)]
pub fn round<D: Stochastic, const SATFINITE: bool>(x: u32, random: u32) -> u32 {
    // The exponent field of an `.f32` at which the normal range of `D` begins.
    let threshold = F32::BIAS - D::BIAS + 1;
    let negative = x & F32::SIGN as u32 != 0;
    let magnitude = x & !(F32::SIGN as u32);
    let field = (magnitude >> F32::MANTISSA_BITS) as i32;
    let exponent = field.max(1);
    let significand =
        (magnitude & (F32::MIN_NORMAL as u32 - 1)) | u32::from(field != 0) << F32::MANTISSA_BITS;
    let below = (threshold - exponent).max(0) as u32;
    // From there on nothing can be kept.
    let most = F32::MANTISSA_BITS + 1 + D::RANDOM;
    let shift = (F32::MANTISSA_BITS - D::MANTISSA_BITS + below).min(most);
    let random = u64::from(random) & ((1 << D::RANDOM) - 1);
    let kept = ((u64::from(significand) << D::RANDOM) + (random << shift)) >> (shift + D::RANDOM);
    let base = (exponent - threshold).max(0) as u32;
    let rounded = (base << D::MANTISSA_BITS) + kept as u32;
    let infinite = magnitude == F32::INFINITY as u32;
    let too_large = (rounded > D::MAX_FINITE as u32) | infinite;
    let overflow = if SATFINITE { D::MAX_FINITE } else { D::INFINITY } as u32;
    let signed = if too_large { overflow } else { rounded } | if negative { D::SIGN as u32 } else { 0 };
    if magnitude > F32::INFINITY as u32 { D::NAN as u32 } else { signed }
}

/// `cvt.rs.f16x2.f32` and that to `.bf16x2`: the first operand goes to the upper half, by the upper random bits.
#[inline(always)]
pub fn half_pair<D: Stochastic, const RELU: bool, const SATFINITE: bool>(a: u32, b: u32, random: u32) -> u32 {
    let half = |x, random| clamp::<D, false, RELU>(round::<D, SATFINITE>(x, random) as u16);
    packed::pack(half(b, random & 0xffff), half(a, random >> 16))
}

/// One element of at most 8 bits, with `.satfinite`.
#[inline(always)]
fn element<D: Stochastic, const RELU: bool>(x: u32, random: u32) -> u32 {
    let rounded = round::<D, true>(x, random);
    let negative = (rounded & D::SIGN as u32 != 0) & !crate::float::is_nan_f32(x);
    if RELU & negative { 0 } else { rounded }
}

/// `cvt.rs.satfinite` of four `.f32` to four elements of 8 or 6 bits, a byte each: the first one is the highest.
#[inline(always)]
pub fn bytes<D: Stochastic, const RELU: bool>(elements: [u32; 4], random: u32) -> u32 {
    let [a, b, e, f] = elements;
    let (upper, lower) = (random >> 16, random & 0xffff);
    let bytes = [(f, lower), (e, lower), (b, upper), (a, upper)];
    u32::from_le_bytes(bytes.map(|(x, random)| element::<D, RELU>(x, random) as u8))
}

/// `cvt.rs.satfinite.e2m1x4.f32`: the first element is the highest.
#[inline(always)]
pub fn nibbles<const RELU: bool>(elements: [u32; 4], random: u32) -> u16 {
    let [a, b, e, f] = elements;
    let [of_f, of_b, of_e, of_a] = random.to_le_bytes();
    let nibble = |x, random: u8| element::<E2m1, RELU>(x, random.into()) as u16;
    nibble(a, of_a) << 12 | nibble(b, of_b) << 8 | nibble(e, of_e) << 4 | nibble(f, of_f)
}
