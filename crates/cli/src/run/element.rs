//! The elements of buffers, and scalars: what a type's values look like as text, and how far apart two of them are.
//!
//! A value is held as its bits, zero-extended to 64.

use numerics::convert::{f64_to_half, half_to_f64};
use numerics::format::{Bf16, F16};
use numerics::rounding::Rn;
use ptx::types::{ScalarType, TypeKind};
use std::fmt;

/// A type that a buffer can have: a PTX type of 8 to 64 bits that stands for one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element(ScalarType);

/// For messages.
pub(crate) const NAMES: &str =
    "u8 u16 u32 u64, s8 s16 s32 s64 (or i8 ... i64), b8 b16 b32 b64, f16 bf16 f32 f64";

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl Element {
    /// The type called `name`: PTX's name without the dot, or Rust's and NumPy's `i32` for `s32`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let signed = name.strip_prefix('i').map(|bits| format!("s{bits}"));
        Self::of(ScalarType::from_name(signed.as_deref().unwrap_or(name))?)
    }

    /// The element that has this type, if it stands for one number.
    pub(crate) fn of(ty: ScalarType) -> Option<Self> {
        use ScalarType::{B8, B16, B32, B64, Bf16, F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
        let single =
            [U8, U16, U32, U64, S8, S16, S32, S64, B8, B16, B32, B64, F16, Bf16, F32, F64].contains(&ty);
        single.then_some(Self(ty))
    }

    pub(crate) fn scalar_type(self) -> ScalarType {
        self.0
    }

    pub(crate) fn bytes(self) -> usize {
        self.0.bytes() as usize
    }

    pub(crate) fn is_float(self) -> bool {
        self.0.kind() == TypeKind::Float
    }

    fn is_signed(self) -> bool {
        self.0.kind() == TypeKind::Signed
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.0.bits())
    }

    /// The value as a number, for floating-point types.
    pub(crate) fn to_f64(self, bits: u64) -> f64 {
        match self.0 {
            ScalarType::F16 => f64::from_bits(half_to_f64::<F16, false>(bits as u16)),
            ScalarType::Bf16 => f64::from_bits(half_to_f64::<Bf16, false>(bits as u16)),
            ScalarType::F32 => f32::from_bits(bits as u32).into(),
            ScalarType::F64 => f64::from_bits(bits),
            _ => self.to_integer(bits) as f64,
        }
    }

    /// The nearest value to a number; integers are cut off towards zero and at their bounds.
    pub(crate) fn nearest(self, value: f64) -> u64 {
        match self.0 {
            ScalarType::F16 => f64_to_half::<F16, Rn, false>(value.to_bits()).into(),
            ScalarType::Bf16 => f64_to_half::<Bf16, Rn, false>(value.to_bits()).into(),
            ScalarType::F32 => (value as f32).to_bits().into(),
            ScalarType::F64 => value.to_bits(),
            _ => value as i128 as u64 & self.mask(),
        }
    }

    /// The value of an integer type.
    pub(crate) fn to_integer(self, bits: u64) -> i128 {
        let unused = 64 - self.0.bits();
        match self.is_signed() {
            true => i128::from((bits << unused).cast_signed() >> unused),
            false => i128::from(bits),
        }
    }

    /// The value that a text names: integers as `42`, `-1`, `0x2a`, `0b101010`, with `_` anywhere; floating-point
    /// values in decimal, as `inf` and `nan`, or as PTX writes their bits, `0f3f800000` and `0d3ff0000000000000`.
    pub(crate) fn parse(self, text: &str) -> Result<u64, String> {
        if self.is_float() { self.parse_float(text) } else { self.parse_integer(text) }
    }

    fn parse_float(self, text: &str) -> Result<u64, String> {
        let bits = |prefix: &str, digits: usize| {
            let hex = text.strip_prefix(prefix)?;
            let complete = hex.len() == digits && hex.bytes().all(|b| b.is_ascii_hexdigit());
            complete.then(|| u64::from_str_radix(hex, 16).ok()).flatten()
        };
        if let Some(bits) = bits("0f", 8).or_else(|| bits("0F", 8)) {
            let value = f32::from_bits(bits as u32);
            // An f32 keeps its bits, NaNs with their payload too.
            return Ok(if self.0 == ScalarType::F32 { bits } else { self.nearest(value.into()) });
        }
        if let Some(bits) = bits("0d", 16).or_else(|| bits("0D", 16)) {
            return Ok(if self.0 == ScalarType::F64 { bits } else { self.nearest(f64::from_bits(bits)) });
        }
        if self.0 == ScalarType::F32 {
            // Rounded once.
            return text.parse().map(|value: f32| value.to_bits().into()).map_err(|_| self.no_number(text));
        }
        text.parse().map(|value| self.nearest(value)).map_err(|_| self.no_number(text))
    }

    fn parse_integer(self, text: &str) -> Result<u64, String> {
        let (negative, magnitude) = match text.strip_prefix('-') {
            Some(magnitude) => (true, magnitude),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let lower = magnitude.to_ascii_lowercase();
        let (radix, digits) = match lower.split_at_checked(2) {
            Some(("0x", digits)) => (16, digits),
            Some(("0b", digits)) => (2, digits),
            _ => (10, lower.as_str()),
        };
        let digits = digits.replace('_', "");
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            let mut message = self.no_number(text);
            if text.parse::<f64>().is_ok() {
                message += "; write f32:1.5 to pass the bits of a floating-point value";
            }
            return Err(message);
        }
        let bits = self.0.bits();
        let range =
            || format!("`{text}` is outside of -2^{} to 2^{bits}-1, what {bits} bits can hold", bits - 1);
        let magnitude = u128::from_str_radix(&digits, radix).map_err(|_| range())?;
        // Unsigned parameters take negative numbers too: compilers pass `int` as `.u32`.
        let limit = if negative { 1 << (bits - 1) } else { u128::from(self.mask()) };
        if magnitude > limit {
            return Err(range());
        }
        let magnitude = magnitude as u64;
        Ok(if negative { magnitude.wrapping_neg() } else { magnitude } & self.mask())
    }

    fn no_number(self, text: &str) -> String {
        let kind = if self.is_float() { "number" } else { "whole number" };
        format!("`{text}` is not a {kind} of type {self}")
    }

    /// The value as text that [`Element::parse`] reads back, all NaNs as one; untyped bits in hexadecimal.
    pub(crate) fn text(self, bits: u64) -> String {
        match self.0 {
            _ if self.0.kind() == TypeKind::Untyped => self.hex(bits),
            // The shortest digits that give the value back in its own precision; a half is read by way of f64.
            ScalarType::F32 if !f32::from_bits(bits as u32).is_nan() => {
                format!("{:?}", f32::from_bits(bits as u32))
            }
            ScalarType::F16 | ScalarType::Bf16 | ScalarType::F64 if !self.to_f64(bits).is_nan() => {
                format!("{:?}", self.to_f64(bits))
            }
            _ if self.is_float() => "nan".into(),
            _ => self.to_integer(bits).to_string(),
        }
    }

    /// The bits in hexadecimal.
    pub(crate) fn hex(self, bits: u64) -> String {
        format!("0x{bits:0width$x}", width = self.bytes() * 2)
    }

    /// The value as JSON: a number, or text where JSON has none (`nan`, `inf`).
    pub(crate) fn json(self, bits: u64) -> serde_json::Value {
        if !self.is_float() {
            return match self.is_signed() {
                true => (self.to_integer(bits) as i64).into(),
                false => bits.into(),
            };
        }
        let value = self.to_f64(bits);
        let number = match self.0 {
            // The short form of an f32 rather than its exact expansion.
            ScalarType::F32 if value.is_finite() => self.text(bits).parse().ok(),
            _ => serde_json::Number::from_f64(value),
        };
        number.map_or_else(|| self.text(bits).into(), serde_json::Value::Number)
    }

    /// Element `index` of the row that begins with `start` and goes on by `step`: integers wrap around, floating-point
    /// values are computed in f64 and rounded once.
    pub(crate) fn sequence(self, start: u64, step: u64, index: u64) -> u64 {
        match self.is_float() {
            true => self.nearest(self.to_f64(start) + self.to_f64(step) * index as f64),
            false => start.wrapping_add(step.wrapping_mul(index)) & self.mask(),
        }
    }

    /// Reads element `index` of a buffer.
    pub(crate) fn get(self, bytes: &[u8], index: usize) -> u64 {
        let mut bits = [0; 8];
        let size = self.bytes();
        bits[..size].copy_from_slice(&bytes[index * size..][..size]);
        u64::from_le_bytes(bits)
    }

    /// Appends an element to a buffer.
    pub(crate) fn put(self, bytes: &mut Vec<u8>, bits: u64) {
        bytes.extend_from_slice(&bits.to_le_bytes()[..self.bytes()]);
    }

    /// Whether two values count as the same without a tolerance: the same bits, or both NaN.
    pub(crate) fn same(self, a: u64, b: u64) -> bool {
        a == b || (self.is_float() && self.to_f64(a).is_nan() && self.to_f64(b).is_nan())
    }

    /// How many values lie between two, plus one; for integers their difference. `None` if one is NaN.
    pub(crate) fn distance(self, a: u64, b: u64) -> Option<u128> {
        if self.is_float() && (self.to_f64(a).is_nan() || self.to_f64(b).is_nan()) {
            return None;
        }
        Some(self.rank(a).abs_diff(self.rank(b)))
    }

    /// The place of a value among all of its type, in order; both zeros have the same.
    fn rank(self, bits: u64) -> i128 {
        if !self.is_float() {
            return self.to_integer(bits);
        }
        let sign = 1 << (self.0.bits() - 1);
        let magnitude = i128::from(bits & !sign);
        if bits & sign == 0 { magnitude } else { -magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn element(name: &str) -> Element {
        Element::from_name(name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn every_name_of_the_help_is_an_element() {
        for name in
            NAMES.replace([',', '(', ')'], "").split_whitespace().filter(|w| !["or", "..."].contains(w))
        {
            assert!(Element::from_name(name).is_some(), "{name}");
        }
        assert_eq!(element("i32"), element("s32"));
        for name in ["", "i", "pred", "f16x2", "b128", "e4m3", "i128", "F32"] {
            assert_eq!(Element::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn numbers_are_read() {
        for (ty, text, bits) in [
            ("u32", "42", 42),
            ("u32", "-1", 0xffff_ffff),
            ("s8", "-0x80", 0x80),
            ("u8", "0b1111_0000", 0xf0),
            ("b64", "0xffffffffffffffff", u64::MAX),
            ("f32", "1.5", 0x3fc0_0000),
            ("f32", "0f7fc01234", 0x7fc0_1234),
            ("f32", "-inf", 0xff80_0000),
            ("f16", "0.1", 0x2e66),
            ("bf16", "1", 0x3f80),
            ("f64", "0d3ff0000000000000", 0x3ff0_0000_0000_0000),
            ("f64", "0f3f800000", 0x3ff0_0000_0000_0000),
            // 1 + 2^-24 + 2^-60: by way of f64 it would be rounded to 1.
            ("f32", "1.00000005960464477626", 0x3f80_0001),
        ] {
            assert_eq!(element(ty).parse(text), Ok(bits), "{ty} {text}");
        }
        for (ty, text) in [
            ("u32", "4294967296"),
            ("u8", "-129"),
            ("s32", ""),
            ("s32", "-"),
            ("s32", "0x"),
            ("s32", "+-1"),
            ("u32", "1.5"),
            ("f32", "0x10"),
            ("f32", "1,5"),
            ("f32", "0f3f8000"),
            ("u64", "999999999999999999999999999999999999999999"),
        ] {
            assert!(element(ty).parse(text).is_err(), "{ty} {text}");
        }
    }

    #[test]
    fn distances_count_values() {
        let f32 = element("f32");
        let of = |x: f32| u64::from(x.to_bits());
        assert_eq!(f32.distance(of(1.0), of(1.0)), Some(0));
        assert_eq!(f32.distance(of(0.0), of(-0.0)), Some(0));
        assert_eq!(f32.distance(of(f32::from_bits(1)), of(-f32::from_bits(1))), Some(2));
        assert_eq!(f32.distance(of(f32::NAN), of(1.0)), None);
        assert!(!f32.same(of(0.0), of(-0.0)) && f32.same(0x7fc0_0000, 0xffff_ffff));
        assert_eq!(element("s64").distance(1 << 63, i64::MAX as u64), Some(u64::MAX.into()));
    }

    #[test]
    fn sequences_wrap_and_round() {
        assert_eq!(element("u8").sequence(250, 3, 3), 3);
        let f32 = element("f32");
        assert_eq!(f32.sequence(0, f32.parse("0.5").unwrap(), 3), f32.parse("1.5").unwrap());
    }

    proptest! {
        #[test]
        fn text_gives_the_value_back(bits: u64) {
            for (_, name) in ScalarType::ALL {
                let Some(element) = Element::from_name(name) else { continue };
                let bits = bits & element.mask();
                let back = element.parse(&element.text(bits)).unwrap();
                prop_assert!(element.same(bits, back), "{name} {bits:x} {}", element.text(bits));
                prop_assert_eq!(element.parse(&element.text(back)), Ok(back));
            }
        }

        #[test]
        fn reading_never_panics(text: String) {
            for (_, name) in ScalarType::ALL {
                if let Some(element) = Element::from_name(name) {
                    let _ = element.parse(&text);
                }
            }
        }
    }
}
