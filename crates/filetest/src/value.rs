//! Element types and lists of values, as bits.
//!
//! A number of a floating-point type is either its bits in hexadecimal or a decimal that the type represents exactly:
//! a test never depends on how a reader rounds.

use super::expression;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// What its bits mean.
    pub kind: Kind,
    /// Bytes: 1, 2, 4 or 8.
    pub bytes: usize,
}

/// What bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Unsigned,
    Signed,
    Float,
    Bfloat,
}

impl Type {
    /// The type that PTX calls `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let (kind, bits) = match name {
            "bf16" => (Kind::Bfloat, 16),
            _ => {
                let kind = match name.get(..1)? {
                    "u" | "b" => Kind::Unsigned,
                    "s" => Kind::Signed,
                    "f" => Kind::Float,
                    _ => return None,
                };
                (kind, name[1..].parse::<usize>().ok()?)
            }
        };
        let known =
            matches!(bits, 16 | 32 | 64) || bits == 8 && matches!(kind, Kind::Unsigned | Kind::Signed);
        known.then_some(Self { kind, bytes: bits / 8 })
    }

    fn bits(self) -> u32 {
        self.bytes as u32 * 8
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The bits of an integer, if the type holds it: as the number it is, or as a pattern of bits.
    fn integer_bits(self, value: i128) -> Result<u64, String> {
        match self.kind {
            Kind::Unsigned | Kind::Signed => {
                let lowest = -(1i128 << (self.bits() - 1));
                match value < lowest || value > i128::from(self.mask()) {
                    true => Err(format!("{value} does not fit in {} bits", self.bits())),
                    false => Ok(value as u64 & self.mask()),
                }
            }
            Kind::Float | Kind::Bfloat => {
                let bits = self.round(value as f64);
                match self.as_f64(bits) as i128 == value && value.unsigned_abs() < 1 << 53 {
                    true => Ok(bits),
                    false => Err(format!("{value} is not exact in this type")),
                }
            }
        }
    }

    fn round(self, value: f64) -> u64 {
        match (self.kind, self.bytes) {
            (Kind::Bfloat, _) => half::bf16::from_f64(value).to_bits().into(),
            (_, 2) => half::f16::from_f64(value).to_bits().into(),
            (_, 4) => (value as f32).to_bits().into(),
            _ => value.to_bits(),
        }
    }

    /// A floating-point type's bits as a number.
    pub fn as_f64(self, bits: u64) -> f64 {
        match (self.kind, self.bytes) {
            (Kind::Bfloat, _) => half::bf16::from_bits(bits as u16).to_f64(),
            (_, 2) => half::f16::from_bits(bits as u16).to_f64(),
            (_, 4) => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        }
    }

    /// The bits of one value.
    fn parse(self, text: &str) -> Result<u64, String> {
        let wrong = || format!("`{text}` is not a value of this type");
        match self.kind {
            Kind::Unsigned | Kind::Signed => self.integer_bits(integer(text).ok_or_else(wrong)?),
            Kind::Float | Kind::Bfloat => {
                if text.starts_with("0x") {
                    let bits = integer(text).and_then(|v| u64::try_from(v).ok()).ok_or_else(wrong)?;
                    return (bits <= self.mask()).then_some(bits).ok_or_else(wrong);
                }
                let value: f64 = text.parse().map_err(|_| wrong())?;
                if value.is_nan() {
                    return Err("a NaN is written as its bits".to_owned());
                }
                let bits = self.round(value);
                match value.is_infinite() && text.contains("inf") || is_exactly(self.as_f64(bits), text) {
                    true => Ok(bits),
                    false => Err(format!("`{text}` is not exact in this type: write its bits")),
                }
            }
        }
    }

    /// One element as people write it.
    pub fn show(self, bits: u64) -> String {
        match self.kind {
            Kind::Unsigned => format!("{bits} ({bits:#x})"),
            Kind::Signed => {
                let shift = 64 - self.bits();
                format!("{} ({bits:#x})", (bits << shift) as i64 >> shift)
            }
            Kind::Float | Kind::Bfloat => {
                format!("{bits:#0width$x} ({})", self.as_f64(bits), width = self.bytes * 2 + 2)
            }
        }
    }

    /// The elements of an array in memory.
    pub fn elements(self, bytes: &[u8]) -> impl Iterator<Item = u64> {
        bytes.chunks_exact(self.bytes).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
    }
}

/// Whether a finite number is exactly what the decimal `text` says.
fn is_exactly(value: f64, text: &str) -> bool {
    let digits = |text: &str| {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let negative = mantissa.starts_with('-');
        let mantissa = mantissa.trim_start_matches(['-', '+']);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let point = whole.len() as i64 + exponent;
        let leading = all.len() - all.trim_start_matches('0').len();
        let significant = all.trim_matches('0').to_owned();
        match significant.is_empty() {
            true => (negative, significant, 0),
            false => (negative, significant, point - leading as i64),
        }
    };
    value.is_finite() && digits(&format!("{value:.1100}")) == digits(text)
}

/// A decimal, hexadecimal or binary integer.
pub fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = if let Some(hex) = digits.strip_prefix("0x") {
        i128::from_str_radix(hex, 16).ok()?
    } else if let Some(binary) = digits.strip_prefix("0b") {
        i128::from_str_radix(binary, 2).ok()?
    } else {
        digits.parse().ok()?
    };
    Some(if negative { -value } else { value })
}

/// The values of an array, element by element; `None` where any value will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// Element type.
    pub ty: Type,
    /// Bits.
    pub bits: Vec<Option<u64>>,
}

impl Values {
    /// Reads a list for `count` elements:
    ///
    /// | written | means |
    /// | --- | --- |
    /// | `5 -3 0x1f` | these |
    /// | `_` | any value |
    /// | `0..8`, `0..64/4` | a range, its end excluded, with a step |
    /// | `7*32`, `(1 2)*16` | repetition |
    /// | `for i: i * i` | a formula of the index |
    ///
    /// # Errors
    /// If a value is not one of the type, or there are not `count` of them.
    pub fn parse(ty: Type, count: usize, text: &str) -> Result<Self, String> {
        let bits = match text.trim().strip_prefix("for i:") {
            Some(formula) => {
                let element = |i| {
                    let value = expression::evaluate(formula, i as i128)?;
                    ty.integer_bits(value).map(Some).map_err(|why| format!("element {i}: {why}"))
                };
                (0..count).map(element).collect::<Result<Vec<_>, _>>()?
            }
            None => {
                let spaced = text.replace('(', " ( ").replace(')', " ) ");
                let words: Vec<&str> = spaced.split_whitespace().collect();
                let mut at = 0;
                let bits = list(ty, &words, &mut at, count)?;
                match words.get(at) {
                    Some(word) => return Err(format!("`{word}` is not expected")),
                    None => bits,
                }
            }
        };
        match bits.len() == count {
            true => Ok(Self { ty, bits }),
            false => Err(format!("{} values for {count} elements", bits.len())),
        }
    }

    /// The bytes in memory; elements that may be anything are zero.
    pub fn bytes(&self) -> Vec<u8> {
        let element = |bits: &Option<u64>| bits.unwrap_or(0).to_le_bytes();
        self.bits.iter().flat_map(|bits| element(bits).into_iter().take(self.ty.bytes)).collect()
    }
}

fn list(ty: Type, words: &[&str], at: &mut usize, most: usize) -> Result<Vec<Option<u64>>, String> {
    let mut bits = Vec::new();
    while let Some(&word) = words.get(*at) {
        if word == ")" {
            break;
        }
        *at += 1;
        if word == "(" {
            let inner = list(ty, words, at, most)?;
            match words.get(*at) {
                None => return Err("`(` without `)`".to_owned()),
                Some(_) => *at += 1,
            }
            // `)` was put apart from its `*n`.
            let times = match words.get(*at).and_then(|word| word.strip_prefix('*')) {
                Some(times) => {
                    *at += 1;
                    times.parse::<usize>().map_err(|_| format!("`*{times}` is not a repetition"))?
                }
                None => 1,
            };
            repeat(&mut bits, &inner, times, most)?;
            continue;
        }
        let (item, times) = match word.split_once('*') {
            Some((item, times)) => {
                (item, times.parse::<usize>().map_err(|_| format!("`{word}` is not a repetition"))?)
            }
            None => (word, 1),
        };
        repeat(&mut bits, &self::item(ty, item, most)?, times, most)?;
    }
    Ok(bits)
}

fn repeat(
    bits: &mut Vec<Option<u64>>,
    items: &[Option<u64>],
    times: usize,
    most: usize,
) -> Result<(), String> {
    if items.len().saturating_mul(times).saturating_add(bits.len()) > most {
        return Err(format!("more than {most} values"));
    }
    (0..times).for_each(|_| bits.extend_from_slice(items));
    Ok(())
}

fn item(ty: Type, text: &str, most: usize) -> Result<Vec<Option<u64>>, String> {
    if text == "_" {
        return Ok(vec![None]);
    }
    let Some((start, rest)) = text.split_once("..") else {
        return ty.parse(text).map(|bits| vec![Some(bits)]);
    };
    let (end, step) = rest.split_once('/').unwrap_or((rest, "1"));
    let wrong = || format!("`{text}` is not a range");
    let [start, end, step] = [start, end, step].map(integer);
    let (start, end, step) = (start.ok_or_else(wrong)?, end.ok_or_else(wrong)?, step.ok_or_else(wrong)?);
    if step == 0 || ((end - start) / step) as usize > most {
        return Err(wrong());
    }
    let mut values = Vec::new();
    let mut value = start;
    while if step > 0 { value < end } else { value > end } {
        values.push(Some(ty.integer_bits(value)?));
        value += step;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(ty: &str, count: usize, text: &str) -> Result<Vec<Option<u64>>, String> {
        Values::parse(Type::from_name(ty).unwrap(), count, text).map(|values| values.bits)
    }

    #[test]
    fn lists() {
        let some = |values: &[u64]| Ok(values.iter().map(|&v| Some(v)).collect::<Vec<_>>());
        assert_eq!(parse("u32", 4, "1 0x10 3*2"), some(&[1, 16, 3, 3]));
        assert_eq!(parse("s8", 2, "-1 -128"), some(&[0xff, 0x80]));
        assert_eq!(parse("u16", 6, "(1 (2)*2)*2"), some(&[1, 2, 2, 1, 2, 2]));
        assert_eq!(parse("u32", 5, "0..3 8..4/-2"), some(&[0, 1, 2, 8, 6]));
        assert_eq!(parse("u64", 3, "for i: i * 5"), some(&[0, 5, 10]));
        assert_eq!(parse("u8", 2, "_ 1"), Ok(vec![None, Some(1)]));
    }

    #[test]
    fn floats_are_exact_or_bits() {
        assert_eq!(
            parse("f32", 3, "1.5 0x7fffffff -inf"),
            Ok(vec![Some(0x3fc0_0000), Some(0x7fff_ffff), Some(0xff80_0000)])
        );
        assert_eq!(parse("f16", 2, "-2 0.5"), Ok(vec![Some(0xc000), Some(0x3800)]));
        assert_eq!(parse("bf16", 1, "3e2"), Ok(vec![Some(0x4396)]));
        assert_eq!(parse("f64", 1, "-0.0"), Ok(vec![Some(1 << 63)]));
        for text in ["0.1", "16777217", "nan", "1e400", "1e-3000", "1.00000001"] {
            assert!(parse("f32", 1, text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for text in ["256", "-129", "1 2", "", "(1", "1)", "1*3", "x", "0..3", "1*999999999999"] {
            assert!(parse("u8", 1, text).is_err(), "{text}");
        }
    }
}
