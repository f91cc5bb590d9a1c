//! Constant expressions, with the parentheses that they need.

use super::Printer;
use crate::ast::{ExprId, ExprKind, FloatForm, Radix};
use std::fmt::{self, Write};

/// How tightly the outermost operator of an expression binds: see [`crate::ast::BinaryOp::precedence`].
const CONDITIONAL: u8 = 0;
const UNARY: u8 = 11;
const LEAF: u8 = 12;

impl Printer<'_> {
    pub(super) fn expression(&mut self, id: ExprId) -> fmt::Result {
        match self.module[id].value {
            ExprKind::Integer { value, radix, unsigned } => {
                match radix {
                    Radix::Binary => write!(self.out, "{value:#b}")?,
                    Radix::Octal => write!(self.out, "0{value:o}")?,
                    Radix::Decimal => write!(self.out, "{value}")?,
                    Radix::Hexadecimal => write!(self.out, "0x{value:X}")?,
                }
                self.out.write_str(if unsigned { "U" } else { "" })
            }
            ExprKind::Float { bits, form } => match form {
                FloatForm::Single => write!(self.out, "0f{bits:08X}"),
                FloatForm::Double => write!(self.out, "0d{bits:016X}"),
                FloatForm::Decimal => write!(self.out, "{:?}", f64::from_bits(bits)),
            },
            ExprKind::WarpSize => self.out.write_str("WARP_SZ"),
            ExprKind::Unary(op, operand) => {
                self.out.write_str(op.symbol())?;
                self.binding(operand, UNARY)
            }
            ExprKind::Binary(op, left, right) => {
                self.binding(left, op.precedence())?;
                write!(self.out, " {} ", op.symbol())?;
                self.binding(right, op.precedence() + 1)
            }
            ExprKind::Conditional(condition, yes, no) => {
                self.binding(condition, CONDITIONAL + 1)?;
                self.out.write_str(" ? ")?;
                self.expression(yes)?;
                self.out.write_str(" : ")?;
                self.expression(no)
            }
        }
    }

    /// An operand of an operator that needs it to bind at least this tightly.
    fn binding(&mut self, id: ExprId, least: u8) -> fmt::Result {
        let binds = match self.module[id].value {
            ExprKind::Conditional(..) => CONDITIONAL,
            ExprKind::Binary(op, ..) => op.precedence(),
            ExprKind::Unary(..) => UNARY,
            ExprKind::Integer { .. } | ExprKind::Float { .. } | ExprKind::WarpSize => LEAF,
        };
        if binds >= least {
            return self.expression(id);
        }
        self.out.write_char('(')?;
        self.expression(id)?;
        self.out.write_char(')')
    }

    /// `+offset`, if there is one.
    pub(super) fn offset(&mut self, offset: Option<ExprId>) -> fmt::Result {
        let Some(offset) = offset else { return Ok(()) };
        self.out.write_char('+')?;
        self.expression(offset)
    }
}
