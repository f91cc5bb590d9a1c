//! The value of a constant expression (PTX ISA, "Integer Constant Expression Evaluation").
//!
//! Integers are 64 bits and either signed or unsigned. A decimal literal is signed unless it has a `U` or does not
//! fit; other literals likewise. An operation is unsigned when either operand is, except that a shift has the type of
//! its left operand, and that `!`, comparisons and `&& ||` give a signed 0 or 1. Integer arithmetic wraps.

use super::{BinaryOp, ExprId, ExprKind, FloatForm, Module, UnaryOp};
use crate::source::Span;

/// The value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// `.s64`.
    Signed(i64),
    /// `.u64`.
    Unsigned(u64),
    /// A `0f` literal, which keeps its 32 bits: it may only stand alone.
    Single(u32),
    /// The bits of a double-precision value.
    Double(u64),
}

impl Constant {
    /// An integer's 64 bits.
    pub fn as_integer(self) -> Option<u64> {
        match self {
            Self::Signed(value) => Some(value as u64),
            Self::Unsigned(value) => Some(value),
            Self::Single(_) | Self::Double(_) => None,
        }
    }
}

/// Why a constant expression has no value, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantError {
    /// Why.
    pub kind: ConstantErrorKind,
    /// The node at fault.
    pub span: Span,
}

/// Why a constant expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConstantErrorKind {
    /// `/` or `%` by zero.
    DivisionByZero,
    /// An operator that has no meaning for floating-point operands.
    FloatOperand,
    /// An integer and a floating-point operand of one operator.
    MixedOperands,
}

impl Module {
    /// The value of a constant expression.
    pub fn evaluate(&self, id: ExprId) -> Result<Constant, ConstantError> {
        let expr = &self[id];
        let error = |kind| ConstantError { kind, span: expr.span };
        match expr.value {
            ExprKind::Integer { value, unsigned, .. } => Ok(match i64::try_from(value) {
                Ok(value) if !unsigned => Constant::Signed(value),
                _ => Constant::Unsigned(value),
            }),
            ExprKind::Float { bits, form: FloatForm::Single } => Ok(Constant::Single(bits as u32)),
            ExprKind::Float { bits, form: FloatForm::Double | FloatForm::Decimal } => {
                Ok(Constant::Double(bits))
            }
            ExprKind::WarpSize => Ok(Constant::Signed(WARP_SIZE)),
            ExprKind::Unary(op, operand) => unary(op, self.evaluate(operand)?).map_err(error),
            ExprKind::Binary(op, left, right) => {
                binary(op, self.evaluate(left)?, self.evaluate(right)?).map_err(error)
            }
            ExprKind::Conditional(condition, yes, no) => {
                let condition = self.evaluate(condition)?;
                let (yes, no) = (self.evaluate(yes)?, self.evaluate(no)?);
                conditional(condition, yes, no).map_err(error)
            }
        }
    }

    /// The value of an integer constant expression: 64 bits, of either sign.
    pub fn evaluate_integer(&self, id: ExprId) -> Result<u64, ConstantError> {
        let error = ConstantError { kind: ConstantErrorKind::FloatOperand, span: self[id].span };
        self.evaluate(id)?.as_integer().ok_or(error)
    }
}

/// `WARP_SZ` on every target so far.
const WARP_SIZE: i64 = 32;

fn unary(op: UnaryOp, operand: Constant) -> Result<Constant, ConstantErrorKind> {
    use Constant::*;
    Ok(match (op, operand) {
        (UnaryOp::Plus, value) => value,
        (UnaryOp::Minus, Signed(value)) => Signed(value.wrapping_neg()),
        (UnaryOp::Minus, Unsigned(value)) => Unsigned(value.wrapping_neg()),
        (UnaryOp::Minus, Single(bits)) => Single(bits ^ (1 << 31)),
        (UnaryOp::Minus, Double(bits)) => Double(bits ^ (1 << 63)),
        (UnaryOp::Not, Signed(value)) => Signed(i64::from(value == 0)),
        (UnaryOp::Not, Unsigned(value)) => Signed(i64::from(value == 0)),
        (UnaryOp::Complement, Signed(value)) => Signed(!value),
        (UnaryOp::Complement, Unsigned(value)) => Unsigned(!value),
        (UnaryOp::CastSigned, Signed(value)) => Signed(value),
        (UnaryOp::CastSigned, Unsigned(value)) => Signed(value as i64),
        (UnaryOp::CastUnsigned, Signed(value)) => Unsigned(value as u64),
        (UnaryOp::CastUnsigned, Unsigned(value)) => Unsigned(value),
        (
            UnaryOp::Not | UnaryOp::Complement | UnaryOp::CastSigned | UnaryOp::CastUnsigned,
            Single(_) | Double(_),
        ) => return Err(ConstantErrorKind::FloatOperand),
    })
}

fn binary(op: BinaryOp, left: Constant, right: Constant) -> Result<Constant, ConstantErrorKind> {
    use Constant::*;
    match (left, right) {
        (Signed(a), Signed(b)) => signed(op, a, b).map(Signed),
        (Double(a), Double(b)) => float(op, f64::from_bits(a), f64::from_bits(b)),
        (Signed(_) | Unsigned(_), Signed(_) | Unsigned(_)) => integers(op, left, right),
        (Single(_), Single(_)) => Err(ConstantErrorKind::FloatOperand),
        _ => Err(ConstantErrorKind::MixedOperands),
    }
}

fn signed(op: BinaryOp, a: i64, b: i64) -> Result<i64, ConstantErrorKind> {
    Ok(match op {
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::Divide if b == 0 => return Err(ConstantErrorKind::DivisionByZero),
        BinaryOp::Divide => a.wrapping_div(b),
        BinaryOp::Remainder if b == 0 => return Err(ConstantErrorKind::DivisionByZero),
        BinaryOp::Remainder => a.wrapping_rem(b),
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::ShiftLeft => shift_left(a as u64, b as u64) as i64,
        BinaryOp::ShiftRight => a >> (b as u64).min(63),
        BinaryOp::Less => i64::from(a < b),
        BinaryOp::LessEqual => i64::from(a <= b),
        BinaryOp::Greater => i64::from(a > b),
        BinaryOp::GreaterEqual => i64::from(a >= b),
        BinaryOp::Equal => i64::from(a == b),
        BinaryOp::NotEqual => i64::from(a != b),
        BinaryOp::And => a & b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Or => a | b,
        BinaryOp::LogicalAnd => i64::from(a != 0 && b != 0),
        BinaryOp::LogicalOr => i64::from(a != 0 || b != 0),
    })
}

/// At least one of the two is unsigned.
fn integers(op: BinaryOp, left: Constant, right: Constant) -> Result<Constant, ConstantErrorKind> {
    let (Some(a), Some(b)) = (left.as_integer(), right.as_integer()) else {
        return Err(ConstantErrorKind::MixedOperands);
    };
    let truth = |value: bool| Constant::Signed(i64::from(value));
    Ok(match op {
        BinaryOp::Divide | BinaryOp::Remainder if b == 0 => return Err(ConstantErrorKind::DivisionByZero),
        BinaryOp::Multiply => Constant::Unsigned(a.wrapping_mul(b)),
        BinaryOp::Divide => Constant::Unsigned(a / b),
        BinaryOp::Remainder => Constant::Unsigned(a % b),
        BinaryOp::Add => Constant::Unsigned(a.wrapping_add(b)),
        BinaryOp::Subtract => Constant::Unsigned(a.wrapping_sub(b)),
        BinaryOp::ShiftLeft => match left {
            Constant::Signed(_) => Constant::Signed(shift_left(a, b) as i64),
            _ => Constant::Unsigned(shift_left(a, b)),
        },
        BinaryOp::ShiftRight => match left {
            Constant::Signed(a) => Constant::Signed(a >> b.min(63)),
            _ => Constant::Unsigned(if b < 64 { a >> b } else { 0 }),
        },
        BinaryOp::Less => truth(a < b),
        BinaryOp::LessEqual => truth(a <= b),
        BinaryOp::Greater => truth(a > b),
        BinaryOp::GreaterEqual => truth(a >= b),
        BinaryOp::Equal => truth(a == b),
        BinaryOp::NotEqual => truth(a != b),
        BinaryOp::And => Constant::Unsigned(a & b),
        BinaryOp::Xor => Constant::Unsigned(a ^ b),
        BinaryOp::Or => Constant::Unsigned(a | b),
        BinaryOp::LogicalAnd => truth(a != 0 && b != 0),
        BinaryOp::LogicalOr => truth(a != 0 || b != 0),
    })
}

fn shift_left(a: u64, b: u64) -> u64 {
    if b < 64 { a << b } else { 0 }
}

fn float(op: BinaryOp, a: f64, b: f64) -> Result<Constant, ConstantErrorKind> {
    let double = |value: f64| Constant::Double(value.to_bits());
    let truth = |value: bool| Constant::Signed(i64::from(value));
    Ok(match op {
        BinaryOp::Multiply => double(a * b),
        BinaryOp::Divide => double(a / b),
        BinaryOp::Add => double(a + b),
        BinaryOp::Subtract => double(a - b),
        BinaryOp::Less => truth(a < b),
        BinaryOp::LessEqual => truth(a <= b),
        BinaryOp::Greater => truth(a > b),
        BinaryOp::GreaterEqual => truth(a >= b),
        BinaryOp::Equal => truth(a == b),
        BinaryOp::NotEqual => truth(a != b),
        BinaryOp::Remainder
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::And
        | BinaryOp::Xor
        | BinaryOp::Or
        | BinaryOp::LogicalAnd
        | BinaryOp::LogicalOr => return Err(ConstantErrorKind::FloatOperand),
    })
}

/// The result has the type that an operator between the two branches would have.
fn conditional(condition: Constant, yes: Constant, no: Constant) -> Result<Constant, ConstantErrorKind> {
    let chosen = if condition.as_integer().ok_or(ConstantErrorKind::FloatOperand)? != 0 { yes } else { no };
    match (yes, no, chosen) {
        (Constant::Unsigned(_), Constant::Signed(_), Constant::Signed(value))
        | (Constant::Signed(_), Constant::Unsigned(_), Constant::Signed(value)) => {
            Ok(Constant::Unsigned(value as u64))
        }
        (Constant::Signed(_) | Constant::Unsigned(_), Constant::Signed(_) | Constant::Unsigned(_), _)
        | (Constant::Single(_), Constant::Single(_), _)
        | (Constant::Double(_), Constant::Double(_), _) => Ok(chosen),
        _ => Err(ConstantErrorKind::MixedOperands),
    }
}
