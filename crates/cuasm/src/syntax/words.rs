//! The words of a directive.

use crate::codes::{self, Findings};
use ptx::source::Span;

/// A word with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) word: Word,
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word {
    Name(String),
    Number(u64),
    Text(String),
    /// One of `@ , ( ) + -`.
    Mark(u8),
}

/// Whether a byte may stand in a name without quotes.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$')
}

/// The words of a part of a text; what is none is reported and left out.
pub(crate) fn words(text: &str, span: Span, findings: &mut Findings) -> Vec<Token> {
    let bytes = &text.as_bytes()[..span.end as usize];
    let mut at = span.start as usize;
    let mut tokens = Vec::new();
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let span = |end: usize| Span::new(start as u32, end as u32);
        let word = match byte {
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'"' => {
                let Some((text, end)) = string(bytes, at + 1) else {
                    findings.error(
                        codes::STRING,
                        span(bytes.len()),
                        "a string without an end, or with an unknown escape",
                    );
                    return tokens;
                };
                at = end;
                Word::Text(text)
            }
            b'0'..=b'9' => {
                while bytes.get(at).is_some_and(|&byte| is_name(byte)) {
                    at += 1;
                }
                match number(&text[start..at]) {
                    Some(number) => Word::Number(number),
                    None => {
                        findings.error(codes::NUMBER, span(at), "not a number of 64 bits");
                        Word::Number(0)
                    }
                }
            }
            _ if is_name(byte) => {
                while bytes.get(at).is_some_and(|&byte| is_name(byte)) {
                    at += 1;
                }
                Word::Name(text[start..at].to_owned())
            }
            b'@' | b',' | b'(' | b')' | b'+' | b'-' => {
                at += 1;
                Word::Mark(byte)
            }
            _ => {
                // The whole character, so that the place lies between characters.
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                findings.error(codes::CHARACTER, span(at), "this character begins no word");
                continue;
            }
        };
        tokens.push(Token { word, span: span(at) });
    }
    tokens
}

/// Decimal, or hexadecimal after `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A string from behind its first quote: each byte as a character, and the place behind its last quote.
fn string(bytes: &[u8], mut at: usize) -> Option<(String, usize)> {
    let mut text = String::new();
    loop {
        match *bytes.get(at)? {
            b'"' => return Some((text, at + 1)),
            b'\\' => {
                let (byte, length) = match *bytes.get(at + 1)? {
                    b'n' => (b'\n', 2),
                    b't' => (b'\t', 2),
                    escaped @ (b'"' | b'\\') => (escaped, 2),
                    b'x' => {
                        let digits = std::str::from_utf8(bytes.get(at + 2..at + 4)?).ok()?;
                        (u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?, 4)
                    }
                    _ => return None,
                };
                text.push(char::from(byte));
                at += length;
            }
            byte => {
                text.push(char::from(byte));
                at += 1;
            }
        }
    }
}

/// A name as it is written: bare if it can be, else in quotes.
pub(crate) fn quoted(name: &str) -> String {
    let bare = name.bytes().all(is_name) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if bare { name.to_owned() } else { text(name) }
}

/// A string in quotes.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', letter]),
            ' '..='~' => out.push(letter),
            _ => out.push_str(&format!("\\x{:02x}", u32::from(letter) & 0xff)),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_read_back() {
        let name: String = (0..=255).map(char::from).collect();
        for name in [name.as_str(), "", ".text.k", "0x", "a b", "auto"] {
            let line = quoted(name);
            let mut findings = Findings::default();
            let found = words(&line, Span::new(0, line.len() as u32), &mut findings);
            assert!(findings.list.is_empty(), "{line}");
            let [Token { word: Word::Name(read) | Word::Text(read), .. }] = &found[..] else {
                panic!("{line}")
            };
            assert_eq!(read, name);
        }
    }
}
