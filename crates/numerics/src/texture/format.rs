//! Texels' channels: what their bits mean, and the conversions on loads and formatted stores.

use crate::convert::{f32_to_half, half_to_f32};
use crate::format::F16;
use crate::rounding::{Rn, Rz};
use std::sync::LazyLock;

/// How a channel is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Element {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
}

impl Element {
    /// Bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// What a lookup makes of it: 8- and 16-bit integers are integers or fractions, as the sampler says.
    pub fn meaning(self, as_integer: bool, srgb: bool) -> Meaning {
        match self {
            Self::F16 => Meaning::Half,
            Self::F32 => Meaning::Float,
            Self::U32 => Meaning::Unsigned,
            Self::S32 => Meaning::Signed(32),
            Self::U8 | Self::U16 if as_integer => Meaning::Unsigned,
            Self::S8 if as_integer => Meaning::Signed(8),
            Self::S16 if as_integer => Meaning::Signed(16),
            Self::U8 if srgb => Meaning::Srgb8,
            Self::U8 => Meaning::Unorm8,
            Self::U16 => Meaning::Unorm16,
            Self::S8 => Meaning::Snorm8,
            Self::S16 => Meaning::Snorm16,
        }
    }
}

/// What the bits of a channel mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// An unsigned integer.
    Unsigned,
    /// A signed integer of this many bits.
    Signed(u32),
    /// 0 to 1 in 255 steps.
    Unorm8,
    /// 0 to 1 in 65535 steps.
    Unorm16,
    /// -1 to 1 in 254 steps.
    Snorm8,
    /// -1 to 1 in 65534 steps.
    Snorm16,
    /// 0 to 1 by the transfer function of sRGB.
    Srgb8,
    /// `.f16`.
    Half,
    /// `.f32`.
    Float,
}

impl Meaning {
    /// Whether lookups give integers.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Unsigned | Self::Signed(_))
    }

    /// The 32-bit result of reading one texel: an `f32`, or an integer.
    pub fn value(self, raw: u32) -> u32 {
        match self {
            Self::Unsigned | Self::Float => raw,
            Self::Signed(bits) => sign_extend(raw, bits) as u32,
            Self::Unorm8 => fraction(raw as i32, 255),
            Self::Unorm16 => fraction(raw as i32, 65535),
            Self::Snorm8 => fraction(sign_extend(raw, 8).max(-127), 127),
            Self::Snorm16 => fraction(sign_extend(raw, 16).max(-32767), 32767),
            Self::Srgb8 => {
                let (steps, bits) = srgb_steps(raw);
                (steps as f32 / (1 << bits) as f32).to_bits()
            }
            Self::Half if raw & 0x7c00 == 0x7c00 => (raw & 0x8000) << 16 | 0x7f80_0000 | (raw & 0x3ff) << 13,
            Self::Half => half_to_f32::<F16, false, false>(raw as u16),
        }
    }
}

/// The low `bits` as a signed integer.
pub(super) fn sign_extend(raw: u32, bits: u32) -> i32 {
    (raw << (32 - bits)) as i32 >> (32 - bits)
}

/// `value / whole` as an `f32`, correctly rounded: numerator and denominator are exact.
pub(super) fn fraction(value: i32, whole: i32) -> u32 {
    (value as f32 / whole as f32).to_bits()
}

/// The fraction bits with which sRGB bytes become linear: from this byte on, so many.
const SRGB_SEGMENTS: [(u32, u32); 8] =
    [(248, 7), (184, 8), (136, 9), (96, 10), (64, 11), (48, 12), (32, 13), (0, 14)];

/// An sRGB byte as a linear number: steps, and of how many fraction bits. In each segment of bytes the transfer function
/// is rounded to steps of one size.
pub(super) fn srgb_steps(raw: u32) -> (u32, u32) {
    static STEPS: LazyLock<[(u32, u32); 256]> = LazyLock::new(|| {
        std::array::from_fn(|byte| {
            let (_, bits) = SRGB_SEGMENTS[SRGB_SEGMENTS.partition_point(|&(first, _)| byte < first as usize)];
            ((decode_srgb(byte as f64 / 255.0) * f64::from(1 << bits)).round() as u32, bits)
        })
    });
    STEPS[(raw & 0xff) as usize]
}

/// The transfer function of sRGB, from its encoding to linear.
fn decode_srgb(encoded: f64) -> f64 {
    if encoded <= 0.04045 { encoded / 12.92 } else { power_2_4((encoded + 0.055) / 1.055) }
}

/// `x` to the power of 2.4, for `x` from 0.09 to 1: `x^2 * (x^2)^(1/5)`, the root by Newton's method. (This crate calls
/// no mathematics library, whose last bits differ from host to host.)
fn power_2_4(x: f64) -> f64 {
    let square = x * x;
    let mut root = 1.0;
    for _ in 0..16 {
        let fourth = root * root * root * root;
        root -= (root * fourth - square) / (5.0 * fourth);
    }
    square * root
}

/// An `f32` as the `.f16` that a lookup returns, and that `.f16` texels hold.
pub fn narrow(value: u32) -> u16 {
    f32_to_half::<F16, Rn, false, false, false, false>(value)
}

/// A border colour's channel in the format of the texels, cut towards zero. Integers take the low bits of what stands
/// there; sRGB encodes it.
pub fn border(element: Element, meaning: Meaning, colour: u32) -> u32 {
    let value = f64::from(f32::from_bits(colour));
    let fraction = |low: f64, whole: f64| match value.is_nan() {
        true => 0,
        false => (value.clamp(low, 1.0) * whole) as i32 as u32,
    };
    let bits = match meaning {
        Meaning::Unsigned | Meaning::Signed(_) | Meaning::Float => colour,
        Meaning::Unorm8 => fraction(0.0, 255.0),
        Meaning::Unorm16 => fraction(0.0, 65535.0),
        Meaning::Snorm8 => fraction(-1.0, 127.0),
        Meaning::Snorm16 => fraction(-1.0, 32767.0),
        Meaning::Srgb8 => {
            let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
            (0..255).take_while(|&byte| decode_srgb((f64::from(byte) + 0.5) / 255.0) <= value).count() as u32
        }
        Meaning::Half => f32_to_half::<F16, Rz, false, false, false, false>(colour).into(),
    };
    bits & (u32::MAX >> (32 - 8 * element.bytes()))
}

/// What a formatted store (`sust.p`) writes for a 32-bit value. `.f16` is cut towards zero.
pub fn store(element: Element, normalized: bool, value: u32) -> u32 {
    let whole = match element {
        Element::U8 => 0xff,
        Element::U16 => 0xffff,
        Element::S8 => 0x7f,
        Element::S16 => 0x7fff,
        Element::U32 | Element::S32 | Element::F32 => return value,
        Element::F16 if value & 0x7fff_ffff > 0x7f80_0000 => {
            // A NaN keeps what fits of its payload.
            return value >> 16 & 0x8000 | 0x7c00 | (value >> 13 & 0x3ff).max(1);
        }
        Element::F16 => return f32_to_half::<F16, Rz, false, false, false, false>(value).into(),
    };
    let signed = matches!(element, Element::S8 | Element::S16);
    let low = if signed { -whole - i64::from(!normalized) } else { 0 };
    let number = if normalized {
        let x = f64::from(f32::from_bits(value));
        let x = if x.is_nan() { 0.0 } else { x.clamp(-1.0, 1.0) };
        // The number is cut first, then halves go towards zero.
        let kept = (whole + 1) as f64 * 16.0;
        let steps = (x.abs() * kept).floor() / kept * whole as f64;
        (steps - 0.5).ceil().copysign(x) as i64
    } else if signed {
        i64::from(value as i32)
    } else {
        i64::from(value)
    };
    number.clamp(low, whole) as u32 & if element.bytes() == 1 { 0xff } else { 0xffff }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_reach_one() {
        let one = 1f32.to_bits();
        for (meaning, raw) in [
            (Meaning::Unorm8, 0xff),
            (Meaning::Unorm16, 0xffff),
            (Meaning::Snorm8, 0x7f),
            (Meaning::Snorm16, 0x7fff),
            (Meaning::Srgb8, 0xff),
            (Meaning::Half, 0x3c00),
        ] {
            assert_eq!(meaning.value(raw), one, "{meaning:?}");
        }
        assert_eq!(Meaning::Snorm8.value(0x80), (-1f32).to_bits());
        assert_eq!(Meaning::Snorm16.value(0x8001), (-1f32).to_bits());
    }

    #[test]
    fn the_power_is_a_power() {
        for i in 1..=20 {
            let x = f64::from(i) / 20.0;
            assert!((power_2_4(x) - x.powf(2.4)).abs() < 1e-14, "{x}");
        }
    }
}
