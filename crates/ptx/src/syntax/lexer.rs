//! Tokens, straight from bytes (PTX ISA, "Syntax").
//!
//! The lexer holds the one token the parser looks at and makes the next on demand. Which token a byte begins is one
//! table look-up; no token allocates. Two lexical rules depend on where the parser is, so it asks for them by name:
//! an opcode with its modifiers is one token ([`Lexer::opcode`]), and so is the version in `.version 8.3`.

use super::codes;
use super::report::Report;
use crate::ast::{ExprKind, FloatForm, Radix};
use crate::source::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tok {
    Identifier,
    /// `_` alone.
    Underscore,
    /// `.name`: a directive, a type, a selector.
    Dot,
    /// An integer or a floating-point literal, in [`Lexer::literal`].
    Number,
    String,
    Comma,
    Semicolon,
    Colon,
    ParenOpen,
    ParenClose,
    BracketOpen,
    BracketClose,
    BraceOpen,
    BraceClose,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    EqualEqual,
    NotEqual,
    Equal,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Not,
    Tilde,
    And,
    AndAnd,
    Or,
    OrOr,
    Caret,
    Question,
    At,
    /// `@@DWARF` with the rest of its line.
    Dwarf,
    End,
}

/// What a byte can begin or continue.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    Invalid,
    Blank,
    Newline,
    Letter,
    Underscore,
    Dollar,
    Percent,
    Digit,
    Dot,
    Quote,
    Slash,
    Hash,
    At,
    Punctuation,
}

/// The class of each byte.
const CLASS: [Class; 256] = {
    let mut table = [Class::Invalid; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\r' => Class::Blank,
            b'\n' => Class::Newline,
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'_' => Class::Underscore,
            b'$' => Class::Dollar,
            b'%' => Class::Percent,
            b'0'..=b'9' => Class::Digit,
            b'.' => Class::Dot,
            b'"' => Class::Quote,
            b'/' => Class::Slash,
            b'#' => Class::Hash,
            b'@' => Class::At,
            b',' | b';' | b':' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'=' | b'+'
            | b'-' | b'*' | b'!' | b'~' | b'&' | b'|' | b'^' | b'?' => Class::Punctuation,
            _ => Class::Invalid,
        };
        byte += 1;
    }
    table
};

/// Whether a byte continues an identifier.
const CONTINUES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' || byte as u8 == b'$';
        byte += 1;
    }
    table
};

/// The text, the current token, and what has been reported so far.
pub(super) struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Where the next token is looked for.
    position: usize,
    /// The current token.
    pub(super) kind: Tok,
    /// Where it begins.
    pub(super) start: u32,
    /// One past its last byte.
    pub(super) end: u32,
    /// Its value, if it is a [`Tok::Number`].
    pub(super) literal: ExprKind,
    /// The diagnostics of lexer and parser.
    pub(super) report: Report,
}

impl<'a> Lexer<'a> {
    /// Looks at the first token of a text shorter than 4 GiB.
    pub(super) fn new(text: &'a str) -> Self {
        let mut lexer = Self {
            text,
            bytes: text.as_bytes(),
            position: 0,
            kind: Tok::End,
            start: 0,
            end: 0,
            literal: ExprKind::WarpSize,
            report: Report::default(),
        };
        lexer.advance();
        lexer
    }

    /// The span of the current token.
    pub(super) fn span(&self) -> Span {
        Span::new(self.start, self.end)
    }

    /// The text under the current token.
    pub(super) fn text(&self) -> &'a str {
        &self.text[self.start as usize..self.end as usize]
    }

    /// Whether only blanks stand before the current token on its line.
    pub(super) fn at_line_start(&self) -> bool {
        let before = self.bytes[..self.start as usize].iter().rev();
        before.copied().find(|&b| CLASS[usize::from(b)] != Class::Blank).is_none_or(|b| b == b'\n')
    }

    /// The byte at an index, 0 past the end.
    fn byte(&self, index: usize) -> u8 {
        self.bytes.get(index).copied().unwrap_or(0)
    }

    fn class(&self, index: usize) -> Class {
        CLASS[usize::from(self.byte(index))]
    }

    /// The end of the identifier characters from `index` on.
    fn word(&self, index: usize) -> usize {
        let rest = self.bytes[index..].iter();
        index + rest.take_while(|&&b| CONTINUES[usize::from(b)]).count()
    }

    fn set(&mut self, kind: Tok, start: usize, end: usize) {
        self.kind = kind;
        self.start = start as u32;
        self.end = end as u32;
        self.position = end;
    }

    /// Goes on to the next token.
    pub(super) fn advance(&mut self) {
        loop {
            let at = self.position;
            let Some(&byte) = self.bytes.get(at) else {
                return self.set(Tok::End, at, at);
            };
            match CLASS[usize::from(byte)] {
                Class::Blank | Class::Newline => self.position += 1,
                Class::Letter => return self.set(Tok::Identifier, at, self.word(at + 1)),
                Class::Underscore => {
                    let end = self.word(at + 1);
                    let kind = if end == at + 1 { Tok::Underscore } else { Tok::Identifier };
                    return self.set(kind, at, end);
                }
                Class::Percent => {
                    let end = self.word(at + 1);
                    let kind = if end == at + 1 { Tok::Percent } else { Tok::Identifier };
                    return self.set(kind, at, end);
                }
                Class::Dollar => match self.word(at + 1) {
                    end if end == at + 1 => self.unexpected(at),
                    end => return self.set(Tok::Identifier, at, end),
                },
                Class::Digit => return self.number(at),
                Class::Dot => match self.class(at + 1) {
                    Class::Letter | Class::Underscore => return self.set(Tok::Dot, at, self.word(at + 2)),
                    Class::Digit => return self.decimal_float(at),
                    _ => self.unexpected(at),
                },
                Class::Quote => return self.string(at),
                Class::Slash => match self.byte(at + 1) {
                    b'/' => self.line_comment(at),
                    b'*' => self.block_comment(at),
                    _ => return self.set(Tok::Slash, at, at + 1),
                },
                Class::Hash => self.preprocessor_line(at),
                Class::At if self.bytes[at..].starts_with(b"@@DWARF") => {
                    let end = self.line_end(at);
                    return self.set(Tok::Dwarf, at, end);
                }
                Class::At => return self.set(Tok::At, at, at + 1),
                Class::Punctuation => {
                    let (kind, length) = punctuation(byte, self.byte(at + 1));
                    return self.set(kind, at, at + length);
                }
                Class::Invalid => self.unexpected(at),
            }
        }
    }

    /// Makes the current identifier, with the modifiers that touch it, the current token: `ld.shared::cta.v4.f32`.
    pub(super) fn opcode(&mut self) {
        let mut end = self.end as usize;
        loop {
            let separator = match (self.byte(end), self.byte(end + 1)) {
                (b'.', _) => 1,
                (b':', b':') => 2,
                _ => break,
            };
            let word = self.word(end + separator);
            if word == end + separator {
                break;
            }
            end = word;
        }
        self.end = end as u32;
        self.position = end;
    }

    /// The span of the character that ends at `end`.
    pub(super) fn character_before(&self, end: u32) -> Span {
        let length = self.text[..end as usize].chars().next_back().map_or(0, char::len_utf8);
        Span::new(end - length as u32, end)
    }

    /// Goes back to the token that begins at `start`.
    pub(super) fn rewind(&mut self, start: u32) {
        self.position = start as usize;
        self.advance();
    }

    /// Where a byte first stands from a place on. `memchr` asks the processor what it can do when it is first called, and a virtual
    /// machine takes longer to answer than all comments of a small file.
    fn find(&self, byte: u8, from: usize) -> Option<usize> {
        self.bytes[from..].iter().position(|&it| it == byte).map(|n| from + n)
    }

    /// The end of the line that `at` is in.
    fn line_end(&self, at: usize) -> usize {
        self.find(b'\n', at).unwrap_or(self.bytes.len())
    }

    fn line_comment(&mut self, at: usize) {
        self.position = self.line_end(at);
    }

    fn block_comment(&mut self, at: usize) {
        match memchr::memmem::find(&self.bytes[at + 2..], b"*/") {
            Some(n) => self.position = at + 2 + n + 2,
            None => {
                self.report.error(
                    codes::UNTERMINATED_COMMENT,
                    span(at, at + 2),
                    "unterminated comment",
                    |d| d.label("this comment is never closed").hint("close it with `*/`"),
                );
                self.position = self.bytes.len();
            }
        }
    }

    fn string(&mut self, at: usize) {
        match self.find(b'"', at + 1) {
            Some(end) => self.set(Tok::String, at, end + 1),
            None => {
                // A semicolon at the end of the line is likely meant as one.
                let line = self.text[at..self.line_end(at)].trim_end();
                let end = at + line.strip_suffix(';').unwrap_or(line).len();
                self.report.error(codes::UNTERMINATED_STRING, span(at, at + 1), "unterminated string", |d| {
                    d.label("this string is never closed").hint("close it with `\"`")
                });
                self.set(Tok::String, at, end);
            }
        }
    }

    /// Line markers are what a C preprocessor leaves behind; they are comments to PTX.
    fn preprocessor_line(&mut self, at: usize) {
        let end = self.line_end(at);
        let mut words = self.text[at + 1..end].split_ascii_whitespace().peekable();
        words.next_if_eq(&"line");
        let marker = words.next().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()))
            && words.next().is_none_or(|word| word.starts_with('"'));
        self.start = at as u32;
        if marker && self.at_line_start() {
            self.position = end;
            return;
        }
        self.report.error(codes::PREPROCESSOR_LINE, span(at, at + 1), "unexpected `#`", |d| {
            d.label("not a line marker").hint("run the preprocessor first: PTX has no macros")
        });
        self.position = end;
    }

    /// Skips a run of characters that nothing begins with.
    fn unexpected(&mut self, at: usize) {
        let run =
            self.bytes[at + 1..].iter().take_while(|&&b| CLASS[usize::from(b)] == Class::Invalid).count();
        // Stop before an ASCII byte or the end, so that the span ends between characters.
        let end =
            if self.bytes[at].is_ascii() && !self.byte(at + 1).is_ascii() { at + 1 } else { at + 1 + run };
        let text = &self.text[at..end];
        let message = match text.chars().next() {
            Some(c) if text.chars().count() == 1 => format!("unexpected character {c:?}"),
            _ => "unexpected characters".to_string(),
        };
        self.report.error(codes::UNEXPECTED_CHARACTER, span(at, end), message, |d| {
            d.label("not part of PTX")
                .hint("PTX source is ASCII; other characters may stand in comments only")
        });
        self.position = end;
    }

    fn number(&mut self, at: usize) {
        let first = self.byte(at);
        if first == b'0' {
            match self.byte(at + 1) | 0x20 {
                b'x' => return self.integer(at, at + 2, 16, Radix::Hexadecimal),
                b'b' => return self.integer(at, at + 2, 2, Radix::Binary),
                b'f' => return self.float_bits(at, 8, FloatForm::Single),
                b'd' => return self.float_bits(at, 16, FloatForm::Double),
                _ => {}
            }
        }
        let mut end = at;
        let mut value: u64 = 0;
        while self.byte(end).is_ascii_digit() && end - at < 19 {
            value = value * 10 + u64::from(self.byte(end) - b'0');
            end += 1;
        }
        match self.byte(end) {
            b'.' | b'e' | b'E' | b'0'..=b'9' => self.long_number(at),
            // 0 alone is decimal, not octal.
            next if !CONTINUES[usize::from(next)] && (first != b'0' || end == at + 1) => {
                self.literal = ExprKind::Integer { value, radix: Radix::Decimal, unsigned: false };
                self.set(Tok::Number, at, end);
            }
            _ if first != b'0' || end == at + 1 => self.integer(at, at, 10, Radix::Decimal),
            _ => self.integer(at, at + 1, 8, Radix::Octal),
        }
    }

    /// A number of 20 digits and more, or with a fraction or an exponent.
    fn long_number(&mut self, at: usize) {
        let digits = self.bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        match self.byte(at + digits) {
            b'.' | b'e' | b'E' => self.decimal_float(at),
            _ if self.byte(at) == b'0' => self.integer(at, at + 1, 8, Radix::Octal),
            _ => self.integer(at, at, 10, Radix::Decimal),
        }
    }

    /// An integer whose digits begin at `digits`.
    fn integer(&mut self, at: usize, digits: usize, base: u32, radix: Radix) {
        let end = self.word(at);
        let unsigned = self.byte(end - 1) == b'U' && end - 1 > at;
        let word = &self.text[digits.min(end)..if unsigned { end - 1 } else { end }.max(digits.min(end))];
        let mut value = Some(0u64);
        let mut fault = word.is_empty();
        for byte in word.bytes() {
            match char::from(byte).to_digit(base) {
                Some(digit) => {
                    let shifted = value.and_then(|v| v.checked_mul(u64::from(base)));
                    value = shifted.and_then(|v| v.checked_add(u64::from(digit)));
                }
                None => fault = true,
            }
        }
        if fault {
            let hint = match radix {
                Radix::Binary => "digits of `0b` are 0 and 1",
                Radix::Octal => "a leading 0 makes a number octal: digits are 0 to 7",
                Radix::Decimal => "a decimal number has digits only, and may end with `U`",
                Radix::Hexadecimal => "digits of `0x` are 0 to 9 and A to F",
            };
            let message = format!("malformed number `{}`", Excerpt(&self.text[at..end]));
            self.report.error(codes::MALFORMED_NUMBER, span(at, end), message, |d| {
                d.label("not a number").hint(hint)
            });
        } else if value.is_none() {
            let message = "integer literal is too large";
            self.report.error(codes::INTEGER_TOO_LARGE, span(at, end), message, |d| {
                d.label("does not fit in 64 bits")
            });
        }
        self.literal = ExprKind::Integer { value: value.unwrap_or(0), radix, unsigned };
        self.set(Tok::Number, at, end);
    }

    /// `0f` or `0d` and the bits.
    fn float_bits(&mut self, at: usize, digits: usize, form: FloatForm) {
        let end = self.word(at);
        let word = &self.text[at + 2..end];
        let bits = if word.len() == digits { u64::from_str_radix(word, 16).ok() } else { None };
        if bits.is_none() {
            let message = format!("malformed floating-point literal `{}`", Excerpt(&self.text[at..end]));
            let hint = format!("`{}` takes exactly {digits} hexadecimal digits", &self.text[at..at + 2]);
            self.report.error(codes::MALFORMED_FLOAT, span(at, end), message, |d| {
                d.label(format!("{} digits", word.len())).hint(hint)
            });
        }
        self.literal = ExprKind::Float { bits: bits.unwrap_or(0), form };
        self.set(Tok::Number, at, end);
    }

    /// `1.5`, `1.`, `.5`, `1e-5`.
    fn decimal_float(&mut self, at: usize) {
        let digits =
            |from: usize| from + self.bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = digits(at);
        if self.byte(end) == b'.' {
            end = digits(end + 1);
        }
        if self.byte(end) | 0x20 == b'e' {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            let exponent = digits(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        let word_end = self.word(end);
        let value: Option<f64> = if word_end == end { self.text[at..end].parse().ok() } else { None };
        match value {
            None => {
                let message = format!("malformed number `{}`", Excerpt(&self.text[at..word_end]));
                self.report.error(codes::MALFORMED_NUMBER, span(at, word_end), message, |d| {
                    d.label("not a number").hint("floating-point literals have no suffix")
                });
            }
            Some(value) if value.is_infinite() => {
                let message = "floating-point literal is too large";
                self.report.error(codes::FLOAT_OUT_OF_RANGE, span(at, end), message, |d| {
                    d.label("larger than any double-precision value")
                });
            }
            Some(_) => {}
        }
        self.literal = ExprKind::Float { bits: value.unwrap_or(0.0).to_bits(), form: FloatForm::Decimal };
        self.set(Tok::Number, at, word_end);
    }
}

fn span(start: usize, end: usize) -> Span {
    Span::new(start as u32, end as u32)
}

/// The token that a punctuation byte begins, and its length.
fn punctuation(byte: u8, next: u8) -> (Tok, usize) {
    match (byte, next) {
        (b',', _) => (Tok::Comma, 1),
        (b';', _) => (Tok::Semicolon, 1),
        (b'[', _) => (Tok::BracketOpen, 1),
        (b']', _) => (Tok::BracketClose, 1),
        (b'+', _) => (Tok::Plus, 1),
        (b'-', _) => (Tok::Minus, 1),
        (b'{', _) => (Tok::BraceOpen, 1),
        (b'}', _) => (Tok::BraceClose, 1),
        (b'(', _) => (Tok::ParenOpen, 1),
        (b')', _) => (Tok::ParenClose, 1),
        (b':', _) => (Tok::Colon, 1),
        (b'<', b'<') => (Tok::ShiftLeft, 2),
        (b'<', b'=') => (Tok::LessEqual, 2),
        (b'<', _) => (Tok::Less, 1),
        (b'>', b'>') => (Tok::ShiftRight, 2),
        (b'>', b'=') => (Tok::GreaterEqual, 2),
        (b'>', _) => (Tok::Greater, 1),
        (b'=', b'=') => (Tok::EqualEqual, 2),
        (b'=', _) => (Tok::Equal, 1),
        (b'!', b'=') => (Tok::NotEqual, 2),
        (b'!', _) => (Tok::Not, 1),
        (b'&', b'&') => (Tok::AndAnd, 2),
        (b'&', _) => (Tok::And, 1),
        (b'|', b'|') => (Tok::OrOr, 2),
        (b'|', _) => (Tok::Or, 1),
        (b'*', _) => (Tok::Star, 1),
        (b'~', _) => (Tok::Tilde, 1),
        (b'^', _) => (Tok::Caret, 1),
        _ => (Tok::Question, 1),
    }
}

/// A text for a message, cut short when it is long.
pub(super) struct Excerpt<'a>(pub(super) &'a str);

impl std::fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const LONGEST: usize = 60;
        match self.0.char_indices().nth(LONGEST) {
            Some((cut, _)) => write!(f, "{}...", &self.0[..cut]),
            None => f.write_str(self.0),
        }
    }
}
