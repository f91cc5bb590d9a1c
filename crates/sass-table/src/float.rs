//! Floating-point immediates as nvdisasm spells them, and back.
//!
//! The value is widened to 64 bits and printed as C's `%.20g`, from 10^9 on as `%.20e`. Infinities and NaNs have names,
//! with a blank behind them; a NaN's payload is lost (the residue keeps it). `0F` and `0D` with hexadecimal digits are
//! read too.

use std::fmt::Write;

/// How the bits of an immediate encode a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE binary32.
    F32,
    /// The upper half of an IEEE binary64; the lower half is zero.
    F64High,
}

impl Float {
    /// All of them.
    pub const ALL: [Float; 4] = [Float::F16, Float::Bf16, Float::F32, Float::F64High];

    /// The name of the format in a template.
    pub fn name(self) -> &'static str {
        match self {
            Float::F16 => "f16",
            Float::Bf16 => "bf16",
            Float::F32 => "f32",
            Float::F64High => "f64h",
        }
    }

    /// The bits of an immediate of this kind.
    pub fn width(self) -> u32 {
        match self {
            Float::F16 | Float::Bf16 => 16,
            Float::F32 | Float::F64High => 32,
        }
    }

    fn fraction_width(self) -> u32 {
        match self {
            Float::F16 => 10,
            Float::Bf16 => 7,
            Float::F32 => 23,
            Float::F64High => 20,
        }
    }

    /// The number, exactly; infinities and NaNs too.
    pub fn value(self, bits: u64) -> f64 {
        match self {
            Float::F32 => f64::from(f32::from_bits(bits as u32)),
            Float::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
            Float::F64High => f64::from_bits(bits << 32),
            Float::F16 => {
                let sign = if bits >> 15 & 1 == 1 { -1.0 } else { 1.0 };
                let exponent = (bits >> 10 & 31) as i32;
                let fraction = (bits & 0x3ff) as f64;
                sign * match exponent {
                    0 => fraction * 2f64.powi(-24),
                    31 if fraction == 0.0 => f64::INFINITY,
                    31 => f64::NAN,
                    _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
                }
            }
        }
    }

    /// Appends the spelling of the immediate.
    pub fn print(self, bits: u64, out: &mut String) {
        let width = self.width();
        let negative = bits >> (width - 1) & 1 == 1;
        let fraction = bits & ((1 << self.fraction_width()) - 1);
        let value = self.value(bits);
        if value.is_nan() {
            let quiet = fraction >> (self.fraction_width() - 1) & 1 == 1;
            out.push(if negative { '-' } else { '+' });
            out.push_str(if quiet { "QNAN " } else { "SNAN " });
        } else if value.is_infinite() {
            out.push_str(if negative { "-INF " } else { "+INF " });
        } else if value == 0.0 {
            out.push_str(if negative { "-0.0 " } else { "0" });
        } else {
            print_finite(value, out);
        }
    }

    /// The bits of the immediate that the text spells; the text must be all of it. Values that the format cannot hold
    /// are rounded to nearest.
    pub fn parse(self, text: &str) -> Option<u64> {
        let width = self.width();
        let sign_bit = 1u64 << (width - 1);
        let fraction_width = self.fraction_width();
        let exponent_ones = (sign_bit - 1) >> fraction_width << fraction_width;
        let (negative, name) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let magnitude = match name {
            "INF" => exponent_ones,
            "QNAN" => exponent_ones | 1 << (fraction_width - 1),
            "SNAN" => exponent_ones | 1,
            _ => {
                if let Some(digits) = text.strip_prefix("0F").or_else(|| text.strip_prefix("0f")) {
                    return self
                        .of_word(32, u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 8)?);
                }
                if let Some(digits) = text.strip_prefix("0D").or_else(|| text.strip_prefix("0d")) {
                    return self
                        .of_word(64, u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16)?);
                }
                if !name.starts_with(|c: char| c.is_ascii_digit())
                    || !name.ends_with(|c: char| c.is_ascii_digit())
                {
                    return None;
                }
                self.round(name.parse().ok()?)
            }
        };
        Some(if negative { magnitude | sign_bit } else { magnitude })
    }

    fn of_word(self, width: u32, bits: u64) -> Option<u64> {
        match (self, width) {
            (Float::F32, 32) => Some(bits),
            (Float::F64High, 64) if bits as u32 == 0 => Some(bits >> 32),
            _ => None,
        }
    }

    /// The nearest magnitude of the format, ties to even, found on the ordered line of bit patterns.
    fn round(self, value: f64) -> u64 {
        match self {
            Float::F32 => return u64::from((value as f32).to_bits()),
            Float::F64High => return (value.to_bits() + 0x7fff_ffff + (value.to_bits() >> 32 & 1)) >> 32,
            Float::Bf16 | Float::F16 => {}
        }
        let (mut low, mut high) = (0u64, (1u64 << 15) - (1 << self.fraction_width()));
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.value(middle) <= value { low = middle } else { high = middle }
        }
        let (below, above) = (value - self.value(low), self.value(high) - value);
        if above < below || above == below && low & 1 == 1 { high } else { low }
    }
}

fn print_finite(value: f64, out: &mut String) {
    if value.abs() >= 1e9 {
        let start = out.len();
        let _ = write!(out, "{value:.20e}");
        return c_exponent(out, start);
    }
    let start = out.len();
    let _ = write!(out, "{value:.19e}");
    let at = out[start..].find('e').map_or(out.len(), |at| start + at);
    let exponent: i32 = out[at + 1..].parse().unwrap_or(0);
    if exponent < -4 {
        let digits = out[start..at].trim_end_matches('0').trim_end_matches('.').len();
        let tail = out.split_off(at);
        out.truncate(start + digits);
        out.push_str(&tail);
        return c_exponent(out, start);
    }
    out.truncate(start);
    let decimals = (19 - exponent).max(0) as usize;
    let _ = write!(out, "{value:.decimals$}");
    if out[start..].contains('.') {
        let kept = out[start..].trim_end_matches('0').trim_end_matches('.').len();
        out.truncate(start + kept);
    }
}

/// Rust writes `1e5` and `1e-5` where C writes `1e+05` and `1e-05`.
fn c_exponent(out: &mut String, start: usize) {
    let Some(at) = out[start..].find('e').map(|at| start + at) else { return };
    let exponent: i32 = out[at + 1..].parse().unwrap_or(0);
    out.truncate(at + 1);
    let _ = write!(out, "{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
}
