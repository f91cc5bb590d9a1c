//! Constant expressions: array sizes, widths of bit fields, values of enumerators.

use super::Located;
use super::declarations::Reader;
use lang_c::ast::{
    BinaryOperator, BinaryOperatorExpression, Constant, Expression, Integer, IntegerBase, UnaryOperator,
};
use lang_c::span::Node;

impl Reader {
    /// The value of an expression.
    pub(super) fn constant(&mut self, expression: &Node<Expression>) -> Result<i128, Located> {
        let fail = |message: String| Located::new(expression.span.start, message);
        match &expression.node {
            Expression::Constant(constant) => match &constant.node {
                Constant::Integer(integer) => {
                    number(integer).ok_or_else(|| fail("a number that is too large".into()))
                }
                Constant::Character(text) => {
                    character(text).ok_or_else(|| fail(format!("`{text}` is not understood")))
                }
                Constant::Float(_) => Err(fail("an integer is needed".into())),
            },
            Expression::Identifier(name) => {
                let name = &name.node.name;
                let known = self.constants.get(name).copied();
                known.ok_or_else(|| fail(format!("`{name}` is not a known constant")))
            }
            Expression::SizeOfTy(ty) => {
                let ty = self.type_name(&ty.node.0)?;
                self.extent(&ty, expression.span.start).map(|extent| extent.size.into())
            }
            Expression::AlignOf(ty) => {
                let ty = self.type_name(&ty.node.0)?;
                self.extent(&ty, expression.span.start).map(|extent| extent.align.into())
            }
            // Constants here are small: a conversion changes none of them that makes sense.
            Expression::Cast(cast) => self.constant(&cast.node.expression),
            Expression::UnaryOperator(unary) => {
                let value = self.constant(&unary.node.operand)?;
                match unary.node.operator.node {
                    UnaryOperator::Plus => Ok(value),
                    UnaryOperator::Minus => Ok(value.wrapping_neg()),
                    UnaryOperator::Complement => Ok(!value),
                    UnaryOperator::Negate => Ok((value == 0).into()),
                    _ => Err(fail("this is not a constant".into())),
                }
            }
            Expression::BinaryOperator(binary) => self.binary(&binary.node, expression.span.start),
            Expression::Conditional(choice) => {
                let condition = self.constant(&choice.node.condition)?;
                let chosen =
                    if condition != 0 { &choice.node.then_expression } else { &choice.node.else_expression };
                self.constant(chosen)
            }
            _ => Err(fail("this is not a constant".into())),
        }
    }

    fn binary(&mut self, binary: &BinaryOperatorExpression, at: usize) -> Result<i128, Located> {
        let (a, b) = (self.constant(&binary.lhs)?, self.constant(&binary.rhs)?);
        let shift = || u32::try_from(b).ok().filter(|bits| *bits < 64);
        let value = match binary.operator.node {
            BinaryOperator::Multiply => a.checked_mul(b),
            BinaryOperator::Divide => a.checked_div(b),
            BinaryOperator::Modulo => a.checked_rem(b),
            BinaryOperator::Plus => a.checked_add(b),
            BinaryOperator::Minus => a.checked_sub(b),
            BinaryOperator::ShiftLeft => shift().and_then(|bits| a.checked_mul(1 << bits)),
            BinaryOperator::ShiftRight => shift().map(|bits| a >> bits),
            BinaryOperator::Less => Some((a < b).into()),
            BinaryOperator::Greater => Some((a > b).into()),
            BinaryOperator::LessOrEqual => Some((a <= b).into()),
            BinaryOperator::GreaterOrEqual => Some((a >= b).into()),
            BinaryOperator::Equals => Some((a == b).into()),
            BinaryOperator::NotEquals => Some((a != b).into()),
            BinaryOperator::BitwiseAnd => Some(a & b),
            BinaryOperator::BitwiseXor => Some(a ^ b),
            BinaryOperator::BitwiseOr => Some(a | b),
            BinaryOperator::LogicalAnd => Some((a != 0 && b != 0).into()),
            BinaryOperator::LogicalOr => Some((a != 0 || b != 0).into()),
            _ => None,
        };
        value.ok_or_else(|| Located::new(at, "this is not a constant, or one that is too large"))
    }
}

fn number(integer: &Integer) -> Option<i128> {
    let radix = match integer.base {
        IntegerBase::Decimal => 10,
        IntegerBase::Octal => 8,
        IntegerBase::Hexadecimal => 16,
        IntegerBase::Binary => 2,
    };
    // Octal zero has no digits but its prefix.
    if integer.number.is_empty() { Some(0) } else { i128::from_str_radix(&integer.number, radix).ok() }
}

/// `'a'`
fn character(text: &str) -> Option<i128> {
    let inner = text.trim_start_matches(['u', 'U', 'L', '8']).strip_prefix('\'')?.strip_suffix('\'')?;
    let mut characters = inner.chars();
    let value = match (characters.next()?, characters.next()) {
        ('\\', Some('n')) => 10u32,
        ('\\', Some('t')) => 9,
        ('\\', Some('0')) => 0,
        ('\\', Some(quoted @ ('\\' | '\'' | '"'))) => quoted.into(),
        (plain, None) => plain.into(),
        _ => return None,
    };
    Some(value.into())
}
