//! Constant expressions (PTX ISA, "Constant Expressions"), by precedence climbing.

use super::DEPTH_LIMIT;
use super::codes;
use super::lexer::Tok;
use super::parser::{Parser, Read};
use crate::ast::{BinaryOp, ExprId, ExprKind, Spanned, UnaryOp};
use crate::source::Span;

/// An expression and how deep its tree is: walking it recurses that far.
type Tree = (ExprId, u32);

impl Parser<'_> {
    /// A constant expression.
    #[inline]
    pub(super) fn expression(&mut self) -> Read<ExprId> {
        if self.kind() == Tok::Number {
            let id = self.literal();
            if matches!(self.kind(), Tok::Comma | Tok::Semicolon | Tok::BracketClose | Tok::BraceClose) {
                return Ok(id);
            }
            return self.expression_after_literal(id);
        }
        Ok(self.conditional()?.0)
    }

    /// A single literal, where PTX has no room for an operator.
    pub(super) fn literal_only(&mut self, what: &str) -> Read<ExprId> {
        match (self.kind(), self.lexer.literal) {
            (Tok::Number, ExprKind::Integer { .. }) => Ok(self.literal()),
            _ => self.fail(codes::EXPECTED, what),
        }
    }

    /// The rest of an expression that begins with this operator, which has been taken.
    pub(super) fn expression_after_operator(&mut self, op: UnaryOp, at: Span) -> Read<ExprId> {
        let first = self.operator(op, at)?;
        Ok(self.conditional_after(first)?.0)
    }

    /// The rest of an expression that begins with this literal, which has been taken.
    pub(super) fn expression_after_literal(&mut self, literal: ExprId) -> Read<ExprId> {
        Ok(self.conditional_after((literal, 1))?.0)
    }

    /// Takes the current token, a number.
    pub(super) fn literal(&mut self) -> ExprId {
        let id = self.push_expression(self.lexer.literal, self.span());
        self.advance();
        id
    }

    fn push_expression(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let id = ExprId(self.module.expressions.len() as u32);
        self.module.expressions.push(Spanned::new(kind, span));
        id
    }

    fn span_of(&self, id: ExprId) -> Span {
        self.module[id].span
    }

    /// Gives an operator its node, unless the tree becomes too deep.
    fn node(&mut self, kind: ExprKind, span: Span, below: u32) -> Read<Tree> {
        if below >= DEPTH_LIMIT {
            return self.too_deep();
        }
        Ok((self.push_expression(kind, span), below + 1))
    }

    fn conditional(&mut self) -> Read<Tree> {
        let first = self.unary()?;
        self.conditional_after(first)
    }

    /// The rest of an expression whose first operand has been read.
    fn conditional_after(&mut self, first: Tree) -> Read<Tree> {
        let (condition, depth) = self.binary_after(first, 1)?;
        if !self.eat(Tok::Question) {
            return Ok((condition, depth));
        }
        let (yes, yes_depth) = self.nested(Self::conditional)?;
        self.expect(Tok::Colon, "`:` and the other value")?;
        let (no, no_depth) = self.nested(Self::conditional)?;
        let span = self.span_of(condition).to(self.span_of(no));
        self.node(ExprKind::Conditional(condition, yes, no), span, depth.max(yes_depth).max(no_depth))
    }

    /// The operators of at least this precedence after an operand.
    fn binary_after(&mut self, mut left: Tree, least: u8) -> Read<Tree> {
        while let Some(op) = binary_operator(self.kind()).filter(|op| op.precedence() >= least) {
            self.advance();
            let right = self.nested(|p| {
                let operand = p.unary()?;
                p.binary_after(operand, op.precedence() + 1)
            })?;
            let span = self.span_of(left.0).to(self.span_of(right.0));
            left = self.node(ExprKind::Binary(op, left.0, right.0), span, left.1.max(right.1))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Read<Tree> {
        let span = self.span();
        let op = match self.kind() {
            Tok::Number => return Ok((self.literal(), 1)),
            Tok::Identifier if self.text() == "WARP_SZ" => {
                self.advance();
                return self.node(ExprKind::WarpSize, span, 0);
            }
            Tok::Plus => UnaryOp::Plus,
            Tok::Minus => UnaryOp::Minus,
            Tok::Not => UnaryOp::Not,
            Tok::Tilde => UnaryOp::Complement,
            Tok::ParenOpen => {
                self.advance();
                let Some(op) = cast(self.text()).filter(|_| self.kind() == Tok::Dot) else {
                    return self.parenthesised();
                };
                self.advance();
                self.expect(Tok::ParenClose, "`)` after the type of a cast")?;
                return self.operator(op, span);
            }
            _ => return self.fail(codes::EXPECTED_EXPRESSION, "a constant expression"),
        };
        self.advance();
        self.operator(op, span)
    }

    fn operator(&mut self, op: UnaryOp, at: Span) -> Read<Tree> {
        let (operand, depth) = self.nested(Self::unary)?;
        self.node(ExprKind::Unary(op, operand), at.to(self.span_of(operand)), depth)
    }

    /// The rest of `( expression )`. Parentheses leave no trace but the shape of the tree.
    fn parenthesised(&mut self) -> Read<Tree> {
        if self.kind() == Tok::Dot {
            return self.fail(codes::EXPECTED_EXPRESSION, "`.s64`, `.u64` or a constant expression");
        }
        let tree = self.nested(Self::conditional)?;
        self.expect(Tok::ParenClose, "`)`")?;
        Ok(tree)
    }
}

fn cast(text: &str) -> Option<UnaryOp> {
    match text {
        ".s64" => Some(UnaryOp::CastSigned),
        ".u64" => Some(UnaryOp::CastUnsigned),
        _ => None,
    }
}

fn binary_operator(kind: Tok) -> Option<BinaryOp> {
    Some(match kind {
        Tok::Star => BinaryOp::Multiply,
        Tok::Slash => BinaryOp::Divide,
        Tok::Percent => BinaryOp::Remainder,
        Tok::Plus => BinaryOp::Add,
        Tok::Minus => BinaryOp::Subtract,
        Tok::ShiftLeft => BinaryOp::ShiftLeft,
        Tok::ShiftRight => BinaryOp::ShiftRight,
        Tok::Less => BinaryOp::Less,
        Tok::LessEqual => BinaryOp::LessEqual,
        Tok::Greater => BinaryOp::Greater,
        Tok::GreaterEqual => BinaryOp::GreaterEqual,
        Tok::EqualEqual => BinaryOp::Equal,
        Tok::NotEqual => BinaryOp::NotEqual,
        Tok::And => BinaryOp::And,
        Tok::Caret => BinaryOp::Xor,
        Tok::Or => BinaryOp::Or,
        Tok::AndAnd => BinaryOp::LogicalAnd,
        Tok::OrOr => BinaryOp::LogicalOr,
        _ => return None,
    })
}
