//! The value of a constant expression (PTX ISA, "Integer Constant Expression Evaluation").
//!
//! Integers are 64 bits and either signed or unsigned. A literal is signed unless it has a `U` or does not fit. An
//! operation is unsigned when either operand is, with these exceptions: `~` and `%` are always unsigned; a shift has
//! the type of its left operand; `!`, comparisons and `&& ||` give a signed 0 or 1. Integer arithmetic wraps.
//!
//! Where the manual leaves room or ptxas differs from it, ptxas is followed: a shift is by the low six bits of its
//! right operand; `?:` gives the chosen value with its own type; every operand is evaluated, so that a division by
//! zero is an error even where its value is not needed.

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
        (UnaryOp::Plus, Single(_)) => return Err(ConstantErrorKind::FloatOperand),
        (UnaryOp::Plus, value) => value,
        (UnaryOp::Minus, Signed(value)) => Signed(value.wrapping_neg()),
        (UnaryOp::Minus, Unsigned(value)) => Unsigned(value.wrapping_neg()),
        (UnaryOp::Minus, Double(bits)) => Double(bits ^ (1 << 63)),
        (UnaryOp::Not, Signed(value)) => Signed(i64::from(value == 0)),
        (UnaryOp::Not, Unsigned(value)) => Signed(i64::from(value == 0)),
        (UnaryOp::Complement, Signed(value)) => Unsigned(!(value as u64)),
        (UnaryOp::Complement, Unsigned(value)) => Unsigned(!value),
        (UnaryOp::CastSigned, Signed(value)) => Signed(value),
        (UnaryOp::CastSigned, Unsigned(value)) => Signed(value as i64),
        (UnaryOp::CastUnsigned, Signed(value)) => Unsigned(value as u64),
        (UnaryOp::CastUnsigned, Unsigned(value)) => Unsigned(value),
        (
            UnaryOp::Minus | UnaryOp::Not | UnaryOp::Complement | UnaryOp::CastSigned | UnaryOp::CastUnsigned,
            Single(_) | Double(_),
        ) => return Err(ConstantErrorKind::FloatOperand),
    })
}

fn binary(op: BinaryOp, left: Constant, right: Constant) -> Result<Constant, ConstantErrorKind> {
    use Constant::*;
    match (left, right) {
        (Double(a), Double(b)) => return float(op, f64::from_bits(a), f64::from_bits(b)),
        (Single(_), Single(_)) => return Err(ConstantErrorKind::FloatOperand),
        _ => {}
    }
    let (Some(a), Some(b)) = (left.as_integer(), right.as_integer()) else {
        return Err(ConstantErrorKind::MixedOperands);
    };
    let signed = |c| matches!(c, Signed(_));
    let both_signed = signed(left) && signed(right);
    // The value with the type of the operation, or that of the left operand.
    let usual = |value: u64| if both_signed { Signed(value as i64) } else { Unsigned(value) };
    let as_left = |value: u64| if signed(left) { Signed(value as i64) } else { Unsigned(value) };
    let truth = |value: bool| Signed(i64::from(value));
    let less = |a: u64, b: u64| if both_signed { (a as i64) < (b as i64) } else { a < b };
    Ok(match op {
        BinaryOp::Divide | BinaryOp::Remainder if b == 0 => return Err(ConstantErrorKind::DivisionByZero),
        BinaryOp::Divide if both_signed => Signed((a as i64).wrapping_div(b as i64)),
        BinaryOp::Divide => Unsigned(a / b),
        BinaryOp::Remainder => Unsigned(a % b),
        BinaryOp::Multiply => usual(a.wrapping_mul(b)),
        BinaryOp::Add => usual(a.wrapping_add(b)),
        BinaryOp::Subtract => usual(a.wrapping_sub(b)),
        BinaryOp::And => usual(a & b),
        BinaryOp::Xor => usual(a ^ b),
        BinaryOp::Or => usual(a | b),
        BinaryOp::ShiftLeft => as_left(a << (b & 63)),
        BinaryOp::ShiftRight if signed(left) => Signed((a as i64) >> (b & 63)),
        BinaryOp::ShiftRight => Unsigned(a >> (b & 63)),
        BinaryOp::Less => truth(less(a, b)),
        BinaryOp::LessEqual => truth(!less(b, a)),
        BinaryOp::Greater => truth(less(b, a)),
        BinaryOp::GreaterEqual => truth(!less(a, b)),
        BinaryOp::Equal => truth(a == b),
        BinaryOp::NotEqual => truth(a != b),
        BinaryOp::LogicalAnd => truth(a != 0 && b != 0),
        BinaryOp::LogicalOr => truth(a != 0 || b != 0),
    })
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

fn conditional(condition: Constant, yes: Constant, no: Constant) -> Result<Constant, ConstantErrorKind> {
    let condition = condition.as_integer().ok_or(ConstantErrorKind::FloatOperand)?;
    if yes.as_integer().is_some() != no.as_integer().is_some() {
        return Err(ConstantErrorKind::MixedOperands);
    }
    Ok(if condition != 0 { yes } else { no })
}
