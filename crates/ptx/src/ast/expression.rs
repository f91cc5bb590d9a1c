//! Constant expressions (PTX ISA, "Constants" and "Constant Expressions").

use super::{ExprId, Spanned};

/// A constant expression and where it stands.
pub type Expr = Spanned<ExprKind>;

/// A node of a constant expression. [`super::Module::evaluate`] computes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// An integer literal.
    Integer {
        /// Its value.
        value: u64,
        /// How it was written.
        radix: Radix,
        /// `U` was written after it.
        unsigned: bool,
    },
    /// A floating-point literal.
    Float {
        /// 32 bits for [`FloatForm::Single`], else 64.
        bits: u64,
        /// How it was written.
        form: FloatForm,
    },
    /// `WARP_SZ`.
    WarpSize,
    /// An operator before its operand.
    Unary(UnaryOp, ExprId),
    /// An operator between its operands.
    Binary(BinaryOp, ExprId, ExprId),
    /// `condition ? yes : no`.
    Conditional(ExprId, ExprId, ExprId),
}

/// The base an integer was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Radix {
    Binary,
    Octal,
    Decimal,
    Hexadecimal,
}

/// How a floating-point literal was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatForm {
    /// `0f` and eight hexadecimal digits.
    Single,
    /// `0d` and sixteen hexadecimal digits.
    Double,
    /// `1.5e3`: double precision.
    Decimal,
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Plus,
    Minus,
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `(.s64)`
    CastSigned,
    /// `(.u64)`
    CastUnsigned,
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
}

impl UnaryOp {
    /// Its spelling.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Not => "!",
            Self::Complement => "~",
            Self::CastSigned => "(.s64)",
            Self::CastUnsigned => "(.u64)",
        }
    }
}

impl BinaryOp {
    /// Its spelling.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::And => "&",
            Self::Xor => "^",
            Self::Or => "|",
            Self::LogicalAnd => "&&",
            Self::LogicalOr => "||",
        }
    }

    /// How tightly it binds, as the manual's table of operator precedence has it; all associate to the left. The
    /// conditional operator binds less than 1, unary operators more than 10.
    pub fn precedence(self) -> u8 {
        match self {
            Self::Multiply | Self::Divide | Self::Remainder => 10,
            Self::Add | Self::Subtract => 9,
            Self::ShiftLeft | Self::ShiftRight => 8,
            Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 7,
            Self::Equal | Self::NotEqual => 6,
            Self::And => 5,
            Self::Xor => 4,
            Self::Or => 3,
            Self::LogicalAnd => 2,
            Self::LogicalOr => 1,
        }
    }
}
