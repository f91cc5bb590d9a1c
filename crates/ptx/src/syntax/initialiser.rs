//! What follows a variable's `=`, and the values in DWARF sections, which are written alike (PTX ISA,
//! "Initializers").

use super::codes;
use super::lexer::Tok;
use super::parser::{Parser, Read};
use crate::ast::{ExprId, Initialiser, InitialiserId, InitialiserKind, InitialiserList, Spanned};

impl Parser<'_> {
    /// An initialiser, in the pool.
    pub(super) fn initialiser_of_variable(&mut self) -> Read<InitialiserId> {
        let initialiser = self.initialiser()?;
        Ok(self.pool_initialiser(initialiser))
    }

    fn pool_initialiser(&mut self, initialiser: Initialiser) -> InitialiserId {
        self.module.initialisers.push(initialiser);
        InitialiserId(self.module.initialisers.len() as u32 - 1)
    }

    /// Moves the initialisers collected since `base` to the pool.
    pub(super) fn pool_initialisers(&mut self, base: usize) -> InitialiserList {
        let start = self.module.initialisers.len() as u32;
        self.module.initialisers.extend_from_slice(&self.initialisers[base..]);
        self.initialisers.truncate(base);
        InitialiserList { start, end: self.module.initialisers.len() as u32 }
    }

    fn initialiser(&mut self) -> Read<Initialiser> {
        let start = self.lexer.start;
        let kind = match self.kind() {
            Tok::Number => {
                let literal = self.literal();
                match self.kind() {
                    Tok::Comma | Tok::BraceClose | Tok::Semicolon => InitialiserKind::Constant(literal),
                    Tok::ParenOpen => self.masked(literal)?,
                    _ => InitialiserKind::Constant(self.expression_after_literal(literal)?),
                }
            }
            Tok::BraceOpen => InitialiserKind::List(self.nested(Self::initialiser_list)?),
            Tok::Identifier if self.text() != "WARP_SZ" => self.symbol()?,
            _ => InitialiserKind::Constant(self.expression()?),
        };
        Ok(Spanned::new(kind, self.since(start)))
    }

    /// `{ ... }`.
    fn initialiser_list(&mut self) -> Read<InitialiserList> {
        self.advance();
        let base = self.initialisers.len();
        if !self.eat(Tok::BraceClose) {
            loop {
                let initialiser = self.initialiser()?;
                self.initialisers.push(initialiser);
                if !self.eat(Tok::Comma) {
                    break;
                }
                if self.kind() == Tok::BraceClose {
                    self.trailing_comma();
                    break;
                }
            }
            self.expect(Tok::BraceClose, "`}` or `,`")?;
        }
        Ok(self.pool_initialisers(base))
    }

    /// The rest of `0xFF00(value)`.
    fn masked(&mut self, mask: ExprId) -> Read<InitialiserKind> {
        self.advance();
        let start = self.lexer.start;
        let kind = match self.kind() {
            Tok::Identifier if self.text() != "WARP_SZ" => self.address()?,
            _ => InitialiserKind::Constant(self.expression()?),
        };
        let value = Spanned::new(kind, self.since(start));
        let value = self.pool_initialiser(value);
        self.expect(Tok::ParenClose, "`)` after the masked value")?;
        Ok(InitialiserKind::Masked { mask, value })
    }

    /// An address, or `field = value`.
    fn symbol(&mut self) -> Read<InitialiserKind> {
        let address = self.address()?;
        let InitialiserKind::Address { symbol: name, generic: false, offset: None } = address else {
            return Ok(address);
        };
        if !self.eat(Tok::Equal) {
            return Ok(address);
        }
        let start = self.lexer.start;
        let kind = match self.kind() {
            Tok::Identifier if self.text() != "WARP_SZ" => {
                let symbol = self.name_here();
                self.advance();
                InitialiserKind::Address { symbol, generic: false, offset: None }
            }
            _ => InitialiserKind::Constant(self.expression()?),
        };
        let value = Spanned::new(kind, self.since(start));
        Ok(InitialiserKind::Field { name, value: self.pool_initialiser(value) })
    }

    /// `symbol`, `generic(symbol)`, each perhaps with an offset.
    fn address(&mut self) -> Read<InitialiserKind> {
        let word = self.text();
        let mut symbol = self.identifier("a variable or function")?.value;
        let generic = word == "generic" && self.eat(Tok::ParenOpen);
        if generic {
            symbol = self.identifier("a variable or function")?.value;
            self.expect(Tok::ParenClose, "`)`")?;
        }
        Ok(InitialiserKind::Address { symbol, generic, offset: self.offset()? })
    }

    /// `+offset`, if there is one. `-8` is read as the offset that is meant, and reported.
    pub(super) fn offset(&mut self) -> Read<Option<ExprId>> {
        if self.eat(Tok::Plus) {
            return Ok(Some(self.expression()?));
        }
        if self.kind() != Tok::Minus {
            return Ok(None);
        }
        let span = self.span();
        self.error(codes::SUBTRACTED_OFFSET, span, "an offset cannot be subtracted", |d| {
            d.label("expected `+`").hint("add a negative offset: `+-8`")
        });
        Ok(Some(self.expression()?))
    }
}
