//! Operands of instructions.

use super::Printer;
use crate::ast::{OperandKind, OperandList};
use std::fmt::{self, Write};

impl Printer<'_> {
    pub(super) fn operands(&mut self, list: OperandList) -> fmt::Result {
        let module = self.module;
        self.commas(&module[list], |p, operand| p.operand(operand.value))
    }

    fn operand(&mut self, operand: OperandKind) -> fmt::Result {
        let module = self.module;
        match operand {
            OperandKind::Sink => self.out.write_char('_'),
            OperandKind::Name(name) => self.out.write_str(module.text(name)),
            OperandKind::Selected { name, selector } => {
                write!(self.out, "{}.{selector}", module.text(name))
            }
            OperandKind::Not(name) => write!(self.out, "!{}", module.text(name)),
            OperandKind::Negated(operand) => {
                self.out.write_char('-')?;
                self.operand(module[operand].value)
            }
            OperandKind::Pair(pair) => {
                for (index, operand) in module[pair].iter().enumerate() {
                    if index > 0 {
                        self.out.write_char('|')?;
                    }
                    self.operand(operand.value)?;
                }
                Ok(())
            }
            OperandKind::Constant(id) => self.expression(id),
            OperandKind::Offset { name, offset } => {
                self.out.write_str(module.text(name))?;
                self.offset(Some(offset))
            }
            OperandKind::Indexed { name, index } => {
                write!(self.out, "{}[", module.text(name))?;
                self.operand(module[index].value)?;
                self.out.write_char(']')
            }
            OperandKind::Address { base, offset } => {
                self.out.write_char('[')?;
                match (base, offset) {
                    (Some(base), offset) => {
                        self.out.write_str(module.text(base))?;
                        self.offset(offset)?;
                    }
                    (None, Some(offset)) => self.expression(offset)?,
                    (None, None) => {}
                }
                self.out.write_char(']')
            }
            OperandKind::Bracket(list) => self.enclosed('[', list, ']'),
            OperandKind::Vector(list) => self.enclosed('{', list, '}'),
            OperandKind::List(list) => self.enclosed('(', list, ')'),
        }
    }

    fn enclosed(&mut self, open: char, list: OperandList, close: char) -> fmt::Result {
        self.out.write_char(open)?;
        self.operands(list)?;
        self.out.write_char(close)
    }
}
