//! Operands of instructions (PTX ISA, "Instruction Operands").
//!
//! Lists are collected on a stack and moved to the module's pool when they end, so that the elements of each are
//! neighbours there.

use super::codes;
use super::lexer::Tok;
use super::parser::{Failed, Parser, Read};
use crate::ast::{Name, Operand, OperandId, OperandKind, OperandList, Selector, Spanned, UnaryOp};

impl Parser<'_> {
    /// The operands of an instruction, up to the `;`.
    #[inline]
    pub(super) fn operand_list(&mut self) -> Read<OperandList> {
        let base = self.operands.len();
        if !matches!(self.kind(), Tok::Semicolon | Tok::BraceClose | Tok::End) {
            loop {
                let operand = self.operand()?;
                self.operands.push(operand);
                if !self.eat(Tok::Comma) {
                    break;
                }
            }
        }
        Ok(self.pool(base))
    }

    /// Moves the operands collected since `base` to the pool.
    #[inline]
    fn pool(&mut self, base: usize) -> OperandList {
        let start = self.module.operands.len() as u32;
        self.module.operands.extend_from_slice(&self.operands[base..]);
        self.operands.truncate(base);
        OperandList { start, end: self.module.operands.len() as u32 }
    }

    fn pool_one(&mut self, operand: Operand) -> OperandId {
        self.module.operands.push(operand);
        OperandId(self.module.operands.len() as u32 - 1)
    }

    #[inline]
    fn operand(&mut self) -> Read<Operand> {
        let start = self.lexer.start;
        let kind = match self.kind() {
            Tok::Identifier if self.text() != "WARP_SZ" => self.named()?,
            Tok::BracketOpen => self.bracket()?,
            Tok::BraceOpen => {
                let vector = OperandKind::Vector(self.braces()?);
                self.after_first_of_pair(vector, start)?
            }
            Tok::Underscore => {
                self.advance();
                self.after_first_of_pair(OperandKind::Sink, start)?
            }
            Tok::ParenOpen => self.parenthesis()?,
            Tok::Not => self.prefixed(UnaryOp::Not)?,
            Tok::Minus => self.prefixed(UnaryOp::Minus)?,
            Tok::Number | Tok::Identifier | Tok::Plus | Tok::Tilde => {
                OperandKind::Constant(self.expression()?)
            }
            _ => return self.fail(codes::EXPECTED_OPERAND, "an operand"),
        };
        Ok(Spanned::new(kind, self.since(start)))
    }

    /// An operand that begins with a name.
    #[inline]
    fn named(&mut self) -> Read<OperandKind> {
        let start = self.lexer.start;
        let name = self.name_here();
        self.advance();
        match self.kind() {
            Tok::Comma | Tok::Semicolon | Tok::BracketClose | Tok::BraceClose | Tok::ParenClose => {
                Ok(OperandKind::Name(name))
            }
            Tok::Plus => {
                self.advance();
                Ok(OperandKind::Offset { name, offset: self.expression()? })
            }
            Tok::Dot => self.selected(name),
            Tok::Or => self.after_first_of_pair(OperandKind::Name(name), start),
            Tok::BracketOpen => self.indexed(name),
            Tok::Minus => self.subtracted(name),
            _ => Ok(OperandKind::Name(name)),
        }
    }

    /// `name-8` is not PTX, but what is meant is clear: the offset is read as `-8`.
    #[cold]
    fn subtracted(&mut self, name: Name) -> Read<OperandKind> {
        let span = self.span();
        let offset = self.expression()?;
        self.error(codes::SUBTRACTED_OFFSET, span, "an offset cannot be subtracted", |d| {
            d.label("expected `+`").hint("add a negative offset: `+-8`")
        });
        Ok(OperandKind::Offset { name, offset })
    }

    /// `d` has been read; perhaps `|p` follows.
    fn after_first_of_pair(&mut self, first: OperandKind, start: u32) -> Read<OperandKind> {
        if self.kind() != Tok::Or {
            return Ok(first);
        }
        let first = Spanned::new(first, self.since(start));
        self.advance();
        let second = match self.kind() {
            Tok::Identifier => OperandKind::Name(self.name_here()),
            Tok::Underscore => OperandKind::Sink,
            _ => return self.fail(codes::EXPECTED_OPERAND, "the second register of the pair"),
        };
        let second = Spanned::new(second, self.span());
        self.advance();
        let base = self.operands.len();
        self.operands.extend([first, second]);
        Ok(OperandKind::Pair(self.pool(base)))
    }

    /// The rest of `name.selector`.
    fn selected(&mut self, name: Name) -> Read<OperandKind> {
        let Some(selector) = Selector::from_text(&self.text()[1..]) else {
            let (span, found) = (self.span(), self.found());
            let hint = "`.x .y .z .w` or `.r .g .b .a` select a component, `.b0` a byte, `.h1` a half word";
            self.error(codes::UNKNOWN_SELECTOR, span, format!("unknown selector {found}"), |d| {
                d.label("not a component, byte or half word").hint(hint)
            });
            return Err(Failed);
        };
        self.advance();
        Ok(OperandKind::Selected { name, selector })
    }

    /// The rest of `name[index]`.
    fn indexed(&mut self, name: Name) -> Read<OperandKind> {
        self.advance();
        let index = self.nested(Self::operand)?;
        let fits = matches!(
            index.value,
            OperandKind::Name(_) | OperandKind::Constant(_) | OperandKind::Offset { .. }
        );
        if !fits {
            self.error(codes::EXPECTED_OPERAND, index.span, "this cannot be an index", |d| {
                d.label("expected a constant or a register").hint("an index is `4`, `%r1` or `%r1+4`")
            });
            return Err(Failed);
        }
        self.expect(Tok::BracketClose, "`]` after the index")?;
        Ok(OperandKind::Indexed { name, index: self.pool_one(index) })
    }

    /// `[...]`: an address if what is inside has the shape of one.
    #[inline]
    fn bracket(&mut self) -> Read<OperandKind> {
        let base = self.operands.len();
        self.advance();
        let first = self.nested(Self::operand)?;
        if self.eat(Tok::BracketClose) {
            let address = match first.value {
                OperandKind::Name(name) => Some((Some(name), None)),
                OperandKind::Offset { name, offset } => Some((Some(name), Some(offset))),
                OperandKind::Constant(offset) => Some((None, Some(offset))),
                _ => None,
            };
            if let Some((base, offset)) = address {
                return Ok(OperandKind::Address { base, offset });
            }
            self.operands.push(first);
            return Ok(OperandKind::Bracket(self.pool(base)));
        }
        self.operands.push(first);
        if self.kind() != Tok::Comma {
            return self.expected("`]`, `,` or `+` and an offset");
        }
        while self.eat(Tok::Comma) {
            let operand = self.nested(Self::operand)?;
            self.operands.push(operand);
        }
        self.expect(Tok::BracketClose, "`]` or `,`")?;
        Ok(OperandKind::Bracket(self.pool(base)))
    }

    /// `{...}`.
    fn braces(&mut self) -> Read<OperandList> {
        self.advance();
        self.open_braces += 1;
        let base = self.operands.len();
        loop {
            let operand = self.nested(Self::operand)?;
            self.operands.push(operand);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.expect(Tok::BraceClose, "`}` or `,`")?;
        self.open_braces -= 1;
        Ok(self.pool(base))
    }

    /// `(a, b)` of a call. No other instruction takes lists, so elsewhere it is a constant expression.
    fn parenthesis(&mut self) -> Read<OperandKind> {
        if !self.in_call {
            return Ok(OperandKind::Constant(self.expression()?));
        }
        self.advance();
        let base = self.operands.len();
        if !self.eat(Tok::ParenClose) {
            loop {
                let operand = self.nested(Self::operand)?;
                self.operands.push(operand);
                if !self.eat(Tok::Comma) {
                    break;
                }
            }
            self.expect(Tok::ParenClose, "`)` or `,`")?;
        }
        Ok(OperandKind::List(self.pool(base)))
    }

    /// `!p` or `-a.h1`, or a constant expression that begins with the operator.
    fn prefixed(&mut self, op: UnaryOp) -> Read<OperandKind> {
        let at = self.span();
        self.advance();
        if self.kind() != Tok::Identifier || self.text() == "WARP_SZ" {
            return Ok(OperandKind::Constant(self.expression_after_operator(op, at)?));
        }
        let start = self.lexer.start;
        let name = self.name_here();
        self.advance();
        if op == UnaryOp::Not {
            return Ok(OperandKind::Not(name));
        }
        let kind = if self.kind() == Tok::Dot { self.selected(name)? } else { OperandKind::Name(name) };
        let operand = Spanned::new(kind, self.since(start));
        Ok(OperandKind::Negated(self.pool_one(operand)))
    }
}
