//! The tokens of a C text, as far as attributes and directives need them.

use super::Located;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    /// A string or a character.
    Quoted,
    /// One character of punctuation.
    Symbol(u8),
    /// `#` at the beginning of a line, to its end, continued lines included.
    Directive,
    Comment,
}

/// A token and the bytes that it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    pub(super) fn text(self, source: &str) -> &str {
        &source[self.start..self.end]
    }

    pub(super) fn is(self, symbol: u8) -> bool {
        self.kind == Kind::Symbol(symbol)
    }
}

/// All tokens of a text.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, Located> {
    let bytes = source.as_bytes();
    let mut found: Vec<Token> = Vec::new();
    let (mut at, mut line_begins) = (0, true);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let rest = &bytes[at..];
        let kind = match byte {
            b'\n' => {
                line_begins = true;
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'\\' if rest.get(1) == Some(&b'\n') => {
                at += 2;
                continue;
            }
            b'/' if rest.starts_with(b"//") => {
                at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                Kind::Comment
            }
            b'/' if rest.starts_with(b"/*") => {
                let close = source[at + 2..].find("*/");
                at += close.ok_or_else(|| Located::new(start, "a comment that does not end"))? + 4;
                Kind::Comment
            }
            b'#' if line_begins => {
                at += directive(rest);
                Kind::Directive
            }
            b'"' | b'\'' => {
                at += quoted(rest).ok_or_else(|| Located::new(start, "a quote that does not end"))?;
                Kind::Quoted
            }
            b'0'..=b'9' => {
                at += rest.iter().position(|b| !is_word(*b) && *b != b'.').unwrap_or(rest.len());
                Kind::Number
            }
            _ if is_word(byte) => {
                at += rest.iter().position(|b| !is_word(*b)).unwrap_or(rest.len());
                Kind::Word
            }
            _ if byte.is_ascii() => {
                at += 1;
                Kind::Symbol(byte)
            }
            _ => return Err(Located::new(at, "a character that C does not have")),
        };
        if kind != Kind::Comment {
            line_begins = false;
        }
        found.push(Token { kind, start, end: at });
    }
    Ok(found)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// The length of a directive.
fn directive(rest: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'\n' if !escaped => return at,
            b'\\' => escaped = true,
            b'\r' => {}
            _ => escaped = false,
        }
        if *byte == b'\n' {
            escaped = false;
        }
    }
    rest.len()
}

/// The length of a string or character.
fn quoted(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match rest.get(at)? {
            b'\\' => at += 2,
            b'\n' => return None,
            byte if *byte == rest[0] => return Some(at + 1),
            _ => at += 1,
        }
    }
}
