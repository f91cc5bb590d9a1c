//! Texels' channels: what their bits mean, and the conversions on loads and formatted stores.

use crate::convert::{f32_to_half, half_to_f32};
use crate::format::F16;
use crate::rounding::{Rn, Rz};

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
            Self::Srgb8 => u32::from(LINEAR[(raw & 0xff) as usize]) << 16,
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

/// sRGB bytes as linear numbers, the upper halves of `f32`: the unit's table, as measured. It has 8 significant bits
/// and is near what the transfer function rounds to, mostly the same.
static LINEAR: [u16; 256] = [
    0x0000, 0x39a0, 0x3a20, 0x3a70, 0x3aa0, 0x3ac8, 0x3af0, 0x3b0c,
    0x3b20, 0x3b34, 0x3b48, 0x3b5c, 0x3b70, 0x3b84, 0x3b90, 0x3b9c,
    0x3baa, 0x3bb8, 0x3bc6, 0x3bd6, 0x3be6, 0x3bf6, 0x3c03, 0x3c0c,
    0x3c16, 0x3c1f, 0x3c29, 0x3c34, 0x3c3e, 0x3c49, 0x3c55, 0x3c60,
    0x3c6c, 0x3c7a, 0x3c83, 0x3c8a, 0x3c91, 0x3c98, 0x3c9f, 0x3ca6,
    0x3cae, 0x3cb6, 0x3cbe, 0x3cc6, 0x3cce, 0x3cd7, 0x3ce0, 0x3ce9,
    0x3cf2, 0x3cfc, 0x3d03, 0x3d08, 0x3d0d, 0x3d12, 0x3d17, 0x3d1c,
    0x3d22, 0x3d28, 0x3d2d, 0x3d33, 0x3d39, 0x3d3f, 0x3d45, 0x3d4c,
    0x3d52, 0x3d58, 0x3d60, 0x3d66, 0x3d6c, 0x3d74, 0x3d7a, 0x3d81,
    0x3d85, 0x3d88, 0x3d8c, 0x3d90, 0x3d94, 0x3d98, 0x3d9c, 0x3da0,
    0x3da4, 0x3da9, 0x3dad, 0x3db1, 0x3db6, 0x3dba, 0x3dbf, 0x3dc3,
    0x3dc8, 0x3dcd, 0x3dd1, 0x3dd6, 0x3ddb, 0x3de0, 0x3de5, 0x3dea,
    0x3df0, 0x3df4, 0x3dfa, 0x3e00, 0x3e02, 0x3e05, 0x3e08, 0x3e0b,
    0x3e0e, 0x3e11, 0x3e14, 0x3e17, 0x3e1a, 0x3e1d, 0x3e20, 0x3e23,
    0x3e26, 0x3e29, 0x3e2c, 0x3e30, 0x3e33, 0x3e36, 0x3e3a, 0x3e3d,
    0x3e40, 0x3e44, 0x3e47, 0x3e4b, 0x3e4e, 0x3e52, 0x3e56, 0x3e59,
    0x3e5d, 0x3e61, 0x3e65, 0x3e68, 0x3e6c, 0x3e70, 0x3e74, 0x3e78,
    0x3e7c, 0x3e80, 0x3e82, 0x3e84, 0x3e86, 0x3e88, 0x3e8a, 0x3e8d,
    0x3e8f, 0x3e91, 0x3e93, 0x3e95, 0x3e98, 0x3e9a, 0x3e9c, 0x3e9e,
    0x3ea1, 0x3ea3, 0x3ea5, 0x3ea8, 0x3eaa, 0x3ead, 0x3eaf, 0x3eb2,
    0x3eb4, 0x3eb6, 0x3eb9, 0x3ebc, 0x3ebe, 0x3ec1, 0x3ec3, 0x3ec6,
    0x3ec8, 0x3ecb, 0x3ece, 0x3ed1, 0x3ed3, 0x3ed6, 0x3ed9, 0x3edb,
    0x3ede, 0x3ee1, 0x3ee4, 0x3ee7, 0x3eea, 0x3eed, 0x3ef0, 0x3ef2,
    0x3ef6, 0x3ef8, 0x3efc, 0x3efe, 0x3f01, 0x3f02, 0x3f04, 0x3f05,
    0x3f07, 0x3f09, 0x3f0a, 0x3f0c, 0x3f0d, 0x3f0f, 0x3f11, 0x3f12,
    0x3f14, 0x3f16, 0x3f17, 0x3f19, 0x3f1b, 0x3f1c, 0x3f1e, 0x3f20,
    0x3f21, 0x3f23, 0x3f25, 0x3f27, 0x3f29, 0x3f2a, 0x3f2c, 0x3f2e,
    0x3f30, 0x3f32, 0x3f33, 0x3f35, 0x3f37, 0x3f39, 0x3f3b, 0x3f3d,
    0x3f3f, 0x3f41, 0x3f43, 0x3f45, 0x3f47, 0x3f49, 0x3f4b, 0x3f4d,
    0x3f4f, 0x3f51, 0x3f53, 0x3f55, 0x3f57, 0x3f59, 0x3f5b, 0x3f5d,
    0x3f5f, 0x3f61, 0x3f63, 0x3f65, 0x3f68, 0x3f6a, 0x3f6c, 0x3f6e,
    0x3f70, 0x3f72, 0x3f74, 0x3f76, 0x3f7a, 0x3f7c, 0x3f7e, 0x3f80,
];

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

/// What a formatted store (`sust.p`) writes for a 32-bit value.
pub fn store(element: Element, normalized: bool, value: u32) -> u32 {
    let whole = match element {
        Element::U8 => 0xff,
        Element::U16 => 0xffff,
        Element::S8 => 0x7f,
        Element::S16 => 0x7fff,
        Element::U32 | Element::S32 | Element::F32 => return value,
        Element::F16 => return narrow(value).into(),
    };
    let signed = matches!(element, Element::S8 | Element::S16);
    let low = if signed { -whole - i64::from(!normalized) } else { 0 };
    let number = if normalized {
        let x = f64::from(f32::from_bits(value));
        let x = if x.is_nan() { 0.0 } else { x.clamp(-1.0, 1.0) };
        (x * whole as f64).round_ties_even() as i64
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
    fn the_table_is_near_the_transfer_function() {
        for (byte, &linear) in LINEAR.iter().enumerate() {
            let (measured, exact) = (f64::from(f32::from_bits(u32::from(linear) << 16)), decode_srgb(byte as f64 / 255.0));
            assert!((measured - exact).abs() <= exact / 128.0, "{byte}");
        }
    }

    #[test]
    fn the_power_is_a_power() {
        for i in 1..=20 {
            let x = f64::from(i) / 20.0;
            assert!((power_2_4(x) - x.powf(2.4)).abs() < 1e-14, "{x}");
        }
    }
}
