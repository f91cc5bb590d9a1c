//! The machinery of the parser: looking at tokens, expecting them, failing, and going on after an error.

use super::DEPTH_LIMIT;
use super::codes;
use super::lexer::{Excerpt, Lexer, Tok};
use crate::ast::{ExprKind, Initialiser, Module, Name, Names, Operand, Spanned};
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};
use std::sync::Arc;

/// A construct could not be read; why has been reported.
#[derive(Debug)]
pub(super) struct Failed;

/// What was read, unless that failed.
pub(super) type Read<T> = Result<T, Failed>;

/// The parser: a lexer, the module so far, and what is being collected.
pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    pub(super) module: Module,
    /// The opcode texts of `module.opcodes`, under the same numbers.
    pub(super) opcode_names: Names,
    /// Operands of unfinished lists.
    pub(super) operands: Vec<Operand>,
    /// Initialisers of unfinished lists.
    pub(super) initialisers: Vec<Initialiser>,
    /// The operands being read are those of a call, where parentheses make a list.
    pub(super) in_call: bool,
    /// How many `{` of operands are open.
    pub(super) open_braces: u32,
    /// How deep the construct being read is nested.
    depth: u32,
    /// The end of the token before the current one.
    pub(super) previous_end: u32,
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a Arc<Source>) -> Self {
        let mut module = Module::empty(Arc::clone(source));
        // About what compilers write; pages that stay untouched cost nothing, growing copies everything.
        let bytes = source.text().len();
        module.statements.reserve(bytes / 32);
        module.operands.reserve(bytes / 16);
        module.expressions.reserve(bytes / 16);
        module.initialisers.reserve(bytes / 16);
        Self {
            lexer: Lexer::new(source.text()),
            module,
            opcode_names: Names::default(),
            operands: Vec::new(),
            initialisers: Vec::new(),
            in_call: false,
            open_braces: 0,
            depth: 0,
            previous_end: 0,
        }
    }

    /// The kind of the current token.
    #[inline]
    pub(super) fn kind(&self) -> Tok {
        self.lexer.kind
    }

    /// The span of the current token.
    #[inline]
    pub(super) fn span(&self) -> Span {
        self.lexer.span()
    }

    /// The text of the current token.
    #[inline]
    pub(super) fn text(&self) -> &'a str {
        self.lexer.text()
    }

    /// From `start` to the end of the token before the current one.
    pub(super) fn since(&self, start: u32) -> Span {
        Span::new(start, self.previous_end.max(start))
    }

    /// Goes on to the next token.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.previous_end = self.lexer.end;
        self.lexer.advance();
    }

    /// Takes the current token if it is of this kind.
    #[inline]
    pub(super) fn eat(&mut self, kind: Tok) -> bool {
        let found = self.kind() == kind;
        if found {
            self.advance();
        }
        found
    }

    /// Takes a token of this kind; `what` says what it is for a message.
    #[inline]
    pub(super) fn expect(&mut self, kind: Tok, what: &str) -> Read<()> {
        if self.eat(kind) { Ok(()) } else { self.expected(what) }
    }

    /// Takes `;` after a statement that is otherwise complete. If the next statement begins instead, only the
    /// semicolon is reported.
    #[inline]
    pub(super) fn semicolon(&mut self) -> Read<()> {
        if self.eat(Tok::Semicolon) {
            return Ok(());
        }
        self.missing_semicolon()
    }

    #[cold]
    fn missing_semicolon(&mut self) -> Read<()> {
        let next_begins = matches!(self.kind(), Tok::BraceClose | Tok::End) || self.lexer.at_line_start();
        if !next_begins {
            return self.not_a_semicolon();
        }
        let place = self.lexer.character_before(self.previous_end);
        self.lexer.report.error(codes::MISSING_SEMICOLON, place, "missing `;`", |d| {
            d.label("the statement ends here").hint("add `;`")
        });
        Ok(())
    }

    #[cold]
    fn not_a_semicolon(&mut self) -> Read<()> {
        let (text, span, found) = (self.text(), self.span(), self.found());
        let remainder = text.strip_prefix('%').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
        self.error(codes::EXPECTED, span, format!("expected `;` or `,`, found {found}"), |d| {
            let d = d.label("expected `;` or `,`");
            if remainder {
                d.hint(format!("this is a name; the operator has a blank after it: `% {}`", &text[1..]))
            } else {
                d
            }
        });
        Err(Failed)
    }

    /// Fails at the current token.
    #[cold]
    pub(super) fn expected<T>(&mut self, what: &str) -> Read<T> {
        self.fail(codes::EXPECTED, what)
    }

    /// Fails at the current token with a code of the "something must stand here" kind.
    #[cold]
    pub(super) fn fail<T>(&mut self, code: &'static str, what: &str) -> Read<T> {
        let found = self.found();
        let span = self.span();
        let message = format!("expected {what}, found {found}");
        self.lexer.report.error(code, span, message, |d| d.label(format!("expected {what}")));
        Err(Failed)
    }

    /// What the current token is, for a message.
    pub(super) fn found(&self) -> String {
        match self.kind() {
            Tok::End => "the end of the file".to_string(),
            Tok::String => "a string".to_string(),
            _ => format!("`{}`", Excerpt(self.text())),
        }
    }

    /// Reports an error at a place.
    #[cold]
    pub(super) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        detail: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        self.lexer.report.error(code, span, message, detail);
    }

    /// Reads something one level deeper, if that is not too deep.
    #[inline]
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEPTH_LIMIT {
            return self.too_deep();
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Fails because of depth.
    #[cold]
    pub(super) fn too_deep<T>(&mut self) -> Read<T> {
        let span = self.span();
        self.error(codes::TOO_DEEP, span, format!("nested more than {DEPTH_LIMIT} deep"), |d| {
            d.label("this is nested too deep")
        });
        Err(Failed)
    }

    /// Interns the current token.
    #[inline]
    pub(super) fn name_here(&mut self) -> Name {
        let text = self.lexer.text();
        self.module.names.intern(text)
    }

    /// Takes an identifier; `what` says what it is for a message.
    pub(super) fn identifier(&mut self, what: &str) -> Read<Spanned<Name>> {
        if self.kind() != Tok::Identifier {
            return self.expected(what);
        }
        let name = Spanned::new(self.name_here(), self.span());
        self.advance();
        Ok(name)
    }

    /// Takes a string and gives what is between the quotes.
    pub(super) fn string(&mut self) -> Read<Spanned<Name>> {
        if self.kind() != Tok::String {
            return self.expected("a string in quotes");
        }
        let text = self.text();
        let inner = text.strip_prefix('"').map_or(text, |t| t.strip_suffix('"').unwrap_or(t));
        let name = Spanned::new(self.module.names.intern(inner), self.span());
        self.advance();
        Ok(name)
    }

    /// Takes an integer literal.
    pub(super) fn integer(&mut self, what: &str) -> Read<Spanned<u64>> {
        match (self.kind(), self.lexer.literal) {
            (Tok::Number, ExprKind::Integer { value, .. }) => {
                let span = self.span();
                self.advance();
                Ok(Spanned::new(value, span))
            }
            _ => self.expected(what),
        }
    }

    /// Takes one or more of something between commas.
    pub(super) fn comma_list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut list = vec![read(self)?];
        while self.eat(Tok::Comma) {
            list.push(read(self)?);
        }
        Ok(list)
    }

    /// Skips the rest of a broken statement: past the next `;`, or up to a brace or to a line that begins with a
    /// directive.
    #[cold]
    pub(super) fn skip_statement(&mut self) {
        self.operands.clear();
        self.initialisers.clear();
        loop {
            match self.kind() {
                Tok::Semicolon => {
                    self.advance();
                    break;
                }
                Tok::BraceClose if self.open_braces > 0 => self.open_braces -= 1,
                Tok::BraceClose | Tok::End => break,
                Tok::Dot | Tok::At | Tok::BraceOpen if self.lexer.at_line_start() => break,
                Tok::BraceOpen => self.open_braces += 1,
                _ => {}
            }
            self.advance();
        }
        self.open_braces = 0;
    }

    /// Skips a broken item of the top level: past the next `;`, past a `{ ... }`, or up to a line that begins with a
    /// directive.
    #[cold]
    pub(super) fn skip_item(&mut self) {
        self.operands.clear();
        self.initialisers.clear();
        let mut braces = 0u32;
        loop {
            match self.kind() {
                Tok::Semicolon if braces == 0 => return self.advance(),
                Tok::BraceOpen => braces += 1,
                Tok::BraceClose if braces <= 1 => {
                    self.advance();
                    // The brace may have been an initialiser's.
                    self.eat(Tok::Semicolon);
                    return;
                }
                Tok::BraceClose => braces -= 1,
                Tok::Dot if braces == 0 && self.lexer.at_line_start() => return,
                Tok::End => return,
                _ => {}
            }
            self.advance();
        }
    }
}
