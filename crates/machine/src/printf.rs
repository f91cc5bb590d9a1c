//! The formats of device-side `printf` (CUDA C++ Programming Guide, "Formatted Output"): flags, width, precision and
//! size as in C, without `*` and `%n`.

use std::fmt::Write;

/// Where arguments come from.
pub trait Arguments {
    /// The next argument of 4 or 8 bytes; `None` if it cannot be read.
    fn next(&mut self, bytes: u64) -> Option<u64>;
    /// The string at an address.
    fn string(&self, address: u64) -> Option<Vec<u8>>;
}

/// One `%...` of a format.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// `l`, `ll`, `z`, `j`, `t`: 8 bytes.
    long: bool,
    /// Bits that `h` and `hh` leave of an integer.
    short: Option<u32>,
    kind: u8,
}

/// Widths and precisions past this are cut: a format cannot ask for unbounded output.
const WIDEST: usize = 4096;

/// Reads the conversion behind a `%`; the bytes it takes.
fn parse(text: &[u8]) -> Option<(Conversion, usize)> {
    let mut c = Conversion::default();
    let mut i = 0;
    loop {
        match text.get(i)? {
            b'-' => c.left = true,
            b'+' => c.plus = true,
            b' ' => c.space = true,
            b'#' => c.alternate = true,
            b'0' => c.zero = true,
            _ => break,
        }
        i += 1;
    }
    let number = |i: &mut usize| {
        let mut n = 0usize;
        while let Some(digit) = text.get(*i).filter(|b| b.is_ascii_digit()) {
            n = (n * 10 + usize::from(digit - b'0')).min(WIDEST);
            *i += 1;
        }
        n
    };
    c.width = number(&mut i);
    if text.get(i) == Some(&b'.') {
        i += 1;
        c.precision = Some(number(&mut i));
    }
    loop {
        match text.get(i)? {
            b'l' | b'z' | b'j' | b't' => c.long = true,
            b'h' => c.short = Some(if c.short == Some(16) { 8 } else { 16 }),
            _ => break,
        }
        i += 1;
    }
    c.kind = *text.get(i)?;
    Some((c, i + 1))
}

/// Pads a number or text to its width; zeros go between sign and digits.
fn pad(c: &Conversion, sign: &str, body: &str, out: &mut Vec<u8>) {
    let missing = c.width.saturating_sub(sign.len() + body.len());
    let fill = |n: usize, byte: u8, out: &mut Vec<u8>| out.extend(std::iter::repeat_n(byte, n));
    if c.left {
        out.extend_from_slice(sign.as_bytes());
        out.extend_from_slice(body.as_bytes());
        fill(missing, b' ', out);
    } else if c.zero {
        out.extend_from_slice(sign.as_bytes());
        fill(missing, b'0', out);
        out.extend_from_slice(body.as_bytes());
    } else {
        fill(missing, b' ', out);
        out.extend_from_slice(sign.as_bytes());
        out.extend_from_slice(body.as_bytes());
    }
}

fn sign(c: &Conversion, negative: bool) -> &'static str {
    match (negative, c.plus, c.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

fn integer(mut c: Conversion, bits: u64, out: &mut Vec<u8>) {
    let width = if c.long { 64 } else { c.short.unwrap_or(32) };
    let shift = 64 - width;
    let (signed, unsigned) = ((bits << shift) as i64 >> shift, bits << shift >> shift);
    let (prefix, mut digits) = match c.kind {
        b'd' | b'i' => (sign(&c, signed < 0), signed.unsigned_abs().to_string()),
        b'u' => ("", unsigned.to_string()),
        b'o' => (if c.alternate { "0" } else { "" }, format!("{unsigned:o}")),
        b'x' => (if c.alternate && unsigned != 0 { "0x" } else { "" }, format!("{unsigned:x}")),
        _ => (if c.alternate && unsigned != 0 { "0X" } else { "" }, format!("{unsigned:X}")),
    };
    if let Some(precision) = c.precision {
        c.zero = false;
        if precision == 0 && unsigned == 0 {
            digits.clear();
        }
        digits.insert_str(0, &"0".repeat(precision.saturating_sub(digits.len())));
    }
    pad(&c, prefix, &digits, out);
}

/// `%e`: at least two digits of exponent.
fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// `%g`: the shorter of the two at `precision` significant digits, without trailing zeros unless `alternate`.
fn general(value: f64, precision: usize, alternate: bool) -> String {
    let precision = precision.max(1);
    if value == 0.0 {
        return if alternate { format!("{:.*}", precision - 1, 0.0) } else { "0".to_owned() };
    }
    let rounded = format!("{value:.*e}", precision - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let fixed = (-4..precision as i32).contains(&exponent);
    let mut text = match fixed {
        true => format!("{value:.*}", (precision as i32 - 1 - exponent).max(0) as usize),
        false => scientific(value, precision - 1),
    };
    if !alternate && text.contains('.') {
        let (mantissa, exponent) = match text.split_once('e') {
            Some((m, e)) => (m.to_owned(), format!("e{e}")),
            None => (text.clone(), String::new()),
        };
        text = mantissa.trim_end_matches('0').trim_end_matches('.').to_owned() + &exponent;
    }
    text
}

/// `%a`: hexadecimal, one digit before the point.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (mut exponent, mut fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
    let mut leading = u64::from(exponent != 0);
    exponent = match (exponent, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        (e, _) => e - 1023,
    };
    if let Some(digits) = precision.filter(|&p| p < 13) {
        let drop = 52 - 4 * digits as u32;
        let whole = leading << 52 | fraction;
        let (half, odd) = (1 << (drop - 1), whole >> drop & 1);
        let rest = whole & ((1 << drop) - 1);
        let up = rest > half || (rest == half && odd == 1);
        let rounded = ((whole >> drop) + u64::from(up)) << drop;
        (leading, fraction) = (rounded >> 52, rounded & ((1 << 52) - 1));
    }
    let mut digits = format!("{fraction:013x}");
    match precision {
        Some(p) if p < 13 => digits.truncate(p),
        Some(p) => digits.push_str(&"0".repeat(p - 13)),
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let mut text = format!("0x{leading}");
    if !digits.is_empty() {
        let _ = write!(text, ".{digits}");
    }
    let _ = write!(text, "p{exponent:+}");
    text
}

fn float(mut c: Conversion, bits: u64, out: &mut Vec<u8>) {
    let value = f64::from_bits(bits);
    let magnitude = value.abs();
    let precision = c.precision.unwrap_or(6);
    let mut text = if !value.is_finite() {
        c.zero = false;
        if value.is_nan() { "nan".to_owned() } else { "inf".to_owned() }
    } else {
        match c.kind.to_ascii_lowercase() {
            b'f' => format!("{magnitude:.precision$}"),
            b'e' => scientific(magnitude, precision),
            b'g' => general(magnitude, precision, c.alternate),
            _ => hexadecimal(magnitude, c.precision),
        }
    };
    if c.kind.is_ascii_uppercase() {
        text.make_ascii_uppercase();
    }
    pad(&c, sign(&c, value.is_sign_negative()), &text, out);
}

/// Formats one `printf`.
pub fn printf(template: &[u8], arguments: &mut impl Arguments) -> Vec<u8> {
    let mut out = Vec::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.iter().position(|&b| b == b'%') {
        out.extend_from_slice(&rest[..at]);
        let Some((c, taken)) = parse(&rest[at + 1..]) else {
            rest = &rest[at..];
            break;
        };
        let whole = &rest[at..at + 1 + taken];
        rest = &rest[at + 1 + taken..];
        match c.kind {
            b'%' => out.push(b'%'),
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => {
                integer(c, arguments.next(if c.long { 8 } else { 4 }).unwrap_or(0), &mut out);
            }
            b'c' => {
                let byte = arguments.next(4).unwrap_or(0) as u8;
                pad(&Conversion { zero: false, ..c }, "", "", &mut Vec::new());
                let fill = std::iter::repeat_n(b' ', c.width.saturating_sub(1));
                if c.left {
                    out.push(byte);
                    out.extend(fill);
                } else {
                    out.extend(fill);
                    out.push(byte);
                }
            }
            b's' => {
                let address = arguments.next(8).unwrap_or(0);
                let mut text = match address {
                    0 => b"(null)".to_vec(),
                    _ => arguments.string(address).unwrap_or_default(),
                };
                text.truncate(c.precision.unwrap_or(usize::MAX));
                let fill = c.width.saturating_sub(text.len());
                if !c.left {
                    out.extend(std::iter::repeat_n(b' ', fill));
                }
                out.extend_from_slice(&text);
                if c.left {
                    out.extend(std::iter::repeat_n(b' ', fill));
                }
            }
            b'p' => {
                let text = format!("{:#x}", arguments.next(8).unwrap_or(0));
                pad(&Conversion { zero: false, ..c }, "", &text, &mut out);
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                float(c, arguments.next(8).unwrap_or(0), &mut out);
            }
            // What is no conversion is printed as it stands.
            _ => out.extend_from_slice(whole),
        }
    }
    out.extend_from_slice(rest);
    out
}

/// How many arguments a format takes, which is what `vprintf` returns.
pub fn conversions(template: &[u8]) -> usize {
    let mut count = 0;
    let mut rest = template;
    while let Some(at) = rest.iter().position(|&b| b == b'%') {
        let Some((c, taken)) = parse(&rest[at + 1..]) else { break };
        count += usize::from(c.kind != b'%');
        rest = &rest[at + 1 + taken..];
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<u64>);

    impl Arguments for List {
        fn next(&mut self, _: u64) -> Option<u64> {
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }
        fn string(&self, address: u64) -> Option<Vec<u8>> {
            (address == 1).then(|| b"warp".to_vec())
        }
    }

    fn print(template: &str, arguments: &[u64]) -> String {
        let out = printf(template.as_bytes(), &mut List(arguments.to_vec()));
        String::from_utf8(out).unwrap()
    }

    fn f(value: f64) -> u64 {
        value.to_bits()
    }

    // Expected texts are those of C's printf (C23, 7.23.6.1).
    #[test]
    fn integers() {
        assert_eq!(print("%d %i %u", &[0xffff_fffe, 7, 0xffff_fffe]), "-2 7 4294967294");
        assert_eq!(print("[%5d|%-5d|%05d|%+d|% d]", &[42, 42, 42, 42, 42]), "[   42|42   |00042|+42| 42]");
        assert_eq!(print("%x %X %#x %o %#o", &[255, 255, 255, 8, 8]), "ff FF 0xff 10 010");
        assert_eq!(print("%lld %llu", &[u64::MAX, u64::MAX]), "-1 18446744073709551615");
        assert_eq!(print("%.3d|%5.2d|%.0d", &[7, 7, 0]), "007|   07|");
        assert_eq!(print("%hd %hhu", &[0x1_8000, 0x1ff]), "-32768 255");
    }

    #[test]
    fn floats() {
        assert_eq!(print("%f %.2f %5.1f", &[f(1.5), f(2.345), f(-0.25)]), "1.500000 2.35  -0.2");
        assert_eq!(print("%e %.2E", &[f(12345.678), f(0.000_123)]), "1.234568e+04 1.23E-04");
        assert_eq!(
            print("%g %g %g %g", &[f(0.0001), f(1e-5), f(1e6), f(123_456.0)]),
            "0.0001 1e-05 1e+06 123456"
        );
        assert_eq!(print("%f %F %e", &[f(f64::INFINITY), f(f64::NEG_INFINITY), f(f64::NAN)]), "inf -INF nan");
        assert_eq!(print("%a %.1a", &[f(1.0), f(3.9)]), "0x1p+0 0x1.fp+1");
        assert_eq!(print("%08.3f|%-8.1f|", &[f(-3.25), f(2.0)]), "-003.250|2.0     |");
    }

    #[test]
    fn strings_and_oddities() {
        assert_eq!(print("%s|%6s|%-6s|%.2s", &[1, 1, 1, 1]), "warp|  warp|warp  |wa");
        assert_eq!(print("%c%%%p", &[65, 0x10]), "A%0x10");
        assert_eq!(print("%s", &[0]), "(null)");
        assert_eq!(print("100%", &[]), "100%");
        assert_eq!(print("%q %d", &[5]), "%q 5");
        assert_eq!(conversions(b"%d %% %s %q"), 3);
    }
}
