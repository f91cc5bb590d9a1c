//! A text as the tokens and comments that it consists of, for editors: nothing but blanks stands between them.

use super::lexer::{Lexer, Tok};
use crate::isa::Mnemonic;
use crate::source::Span;

/// What a token is to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// `// ...`, `/* ... */`; also a line of a preprocessor, and characters that belong to no token.
    Comment,
    /// An instruction with its modifiers, `ld.global.v4.f32`.
    Opcode,
    /// Any other name.
    Name,
    /// `.reg`, `.u32`, the `.x` of `%tid.x`.
    Dotted,
    /// A number.
    Number,
    /// `"text"`.
    Text,
    /// Everything else, a character or two.
    Punctuation,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where.
    pub span: Span,
}

/// The tokens of any text shorter than 4 GiB, in order. Time is linear in the text.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(text);
    let mut found = Vec::with_capacity(text.len() / 4);
    let mut end = 0;
    let mut place = Place::Statement;
    while lexer.kind != Tok::End {
        between(text, end, lexer.start, &mut found);
        if place == Place::Line && text[end as usize..lexer.start as usize].contains('\n') {
            place = Place::Statement;
        }
        let kind = match lexer.kind {
            Tok::Identifier if place == Place::Statement && is_mnemonic(lexer.text()) => {
                lexer.opcode();
                TokenKind::Opcode
            }
            Tok::Identifier | Tok::Underscore => TokenKind::Name,
            Tok::Dot => TokenKind::Dotted,
            Tok::Number => TokenKind::Number,
            Tok::String => TokenKind::Text,
            Tok::Dwarf => TokenKind::Comment,
            _ => TokenKind::Punctuation,
        };
        place = match (lexer.kind, place) {
            (Tok::Semicolon | Tok::BraceOpen | Tok::BraceClose | Tok::Colon, _) => Place::Statement,
            (Tok::At, _) | (Tok::Not, Place::Guard) => Place::Guard,
            (Tok::Identifier, Place::Guard) => Place::Statement,
            (Tok::Dot, Place::Statement) if LINES.contains(&lexer.text()) => Place::Line,
            (_, Place::Line) => Place::Line,
            _ => Place::Within,
        };
        found.push(Token { kind, span: lexer.span() });
        end = lexer.end;
        lexer.advance();
    }
    between(text, end, text.len() as u32, &mut found);
    found
}

/// Where in a statement the next token stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Statement,
    Guard,
    Within,
    /// In a directive without a semicolon, which everybody ends with its line.
    Line,
}

/// The directives that end without a semicolon.
const LINES: [&str; 5] = [".version", ".target", ".address_size", ".file", ".loc"];

fn is_mnemonic(text: &str) -> bool {
    Mnemonic::from_text(text).is_some()
}

/// The comments between two tokens.
fn between(text: &str, start: u32, end: u32, found: &mut Vec<Token>) {
    let gap = &text[start as usize..end as usize];
    let mut at = 0;
    while let Some(blank) = gap[at..].find(|c: char| !c.is_ascii_whitespace()) {
        let from = at + blank;
        let rest = &gap[from..];
        let length = match rest.strip_prefix("/*") {
            Some(inner) => inner.find("*/").map_or(rest.len(), |n| n + 4),
            None => rest.find('\n').unwrap_or(rest.len()),
        };
        at = from + length;
        let span = Span::new(start + from as u32, start + at as u32);
        found.push(Token { kind: TokenKind::Comment, span });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_in_its_tokens() {
        let text = "/* ä */ $L: @!%p ld.global.v2.u32 {%r1, _}, [a+4]; // end\nmov.u32 %r, %tid.x; é";
        let list: Vec<_> = tokens(text)
            .into_iter()
            .filter(|token| token.kind != TokenKind::Punctuation)
            .map(|token| (token.kind, &text[token.span.start as usize..token.span.end as usize]))
            .collect();
        use TokenKind::{Comment, Dotted, Name, Number, Opcode};
        let expected = [
            (Comment, "/* ä */"),
            (Name, "$L"),
            (Name, "%p"),
            (Opcode, "ld.global.v2.u32"),
            (Name, "%r1"),
            (Name, "_"),
            (Name, "a"),
            (Number, "4"),
            (Comment, "// end"),
            (Opcode, "mov.u32"),
            (Name, "%r"),
            (Name, "%tid"),
            (Dotted, ".x"),
            (Comment, "é"),
        ];
        assert_eq!(list, expected);
    }
    #[test]
    fn a_directive_without_a_semicolon_ends_with_its_line() {
        let text = ".target sm_90\n.loc 1 2 0, function_name $L, inlined_at 1 3 4 // mov\n  ret;\n.pragma \"x\"\nret;";
        let opcodes: Vec<_> =
            tokens(text).into_iter().filter(|token| token.kind == TokenKind::Opcode).collect();
        let first = text.find("ret").unwrap() as u32;
        assert_eq!(opcodes, [Token { kind: TokenKind::Opcode, span: Span::new(first, first + 3) }]);
    }
}
