//! Integers of 16 bits in pairs, and integers that are cut down to fewer bits and put together (PTX ISA, "Integer Arithmetic Instructions" and `cvt.pack`).

use super::{Done, Select};
use crate::code::Operand;
use ir::Op;
use ir::instruction::{CvtPackInt, CvtPackIntDtype};
use ir::operand::{Def, Value};
use ptx::types::ScalarType;

impl Select<'_> {
    pub(super) fn packed_integers(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::AddIntX2(op) => self.of_pairs("VIADD.16x2", op.d, [&op.a, &op.b], None),
            Op::MinIntX2(op) => self.extremes(op.ty, op.relu, op.d, [&op.a, &op.b], false),
            Op::MaxIntX2(op) => self.extremes(op.ty, op.relu, op.d, [&op.a, &op.b], true),
            Op::CvtPackInt(op) => self.cut_down(op),
            _ => return None,
        })
    }

    fn of_pairs(&mut self, name: &str, d: Def, values: [&Value; 2], chooses: Option<Operand>) -> Done {
        let mut read = Vec::new();
        for value in values {
            read.push(self.word(value)?);
        }
        let result = self.one(name, read.into_iter().chain(chooses).collect());
        self.set(d, result);
        Ok(())
    }

    fn extremes(&mut self, ty: ScalarType, relu: bool, d: Def, values: [&Value; 2], most: bool) -> Done {
        let kind = if ty == ScalarType::S16x2 { "S16x2" } else { "U16x2" };
        let relu = if relu { ".RELU" } else { "" };
        self.of_pairs(&format!("VIMNMX.{kind}{relu}"), d, values, Some(Operand::always(most)))
    }

    /// Two integers at their nearest among those of a type, below what a third operand has.
    fn cut_down(&mut self, op: &CvtPackInt) -> Done {
        // How far up the third operand goes is in the instruction where its elements are no bytes.
        let (ty, above) = match op.dtype {
            CvtPackIntDtype::U16 => ("U16", ""),
            CvtPackIntDtype::S16 => ("S16", ""),
            CvtPackIntDtype::U8 => ("U8", ""),
            CvtPackIntDtype::S8 => ("S8", ""),
            CvtPackIntDtype::U4 => ("U4", ".24"),
            CvtPackIntDtype::S4 => ("S4", ".24"),
            CvtPackIntDtype::U2 => ("U2", ".28"),
            CvtPackIntDtype::S2 => ("S2", ".28"),
        };
        let (a, b) = (self.word(&op.a)?, self.word(&op.b)?);
        let c = op.c.as_ref().map_or(Ok(Operand::zero()), |c| self.word(c))?;
        let result = self.one(format!("I2IP.{ty}.S32.SAT"), vec![a, b, c.suffixed(above)]);
        self.set(op.d, result);
        Ok(())
    }
}
