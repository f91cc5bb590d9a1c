//! `mma` on floats of eight bits, for which sm_90 has no unit but that of warpgroups.
//!
//! Each is a half exactly. The two lower bytes of a register are a register of halves, and the upper ones another: one product of half the depth each,
//! the second of which adds to the first. The sums that are given come last, as in ptxas' code.

use super::convert::NO_OTHERS;
use super::{Done, Refusal, Select};
use crate::code::Operand;
use ir::instruction::Mma;
use ir::operand::{MatrixShape, Value};
use ptx::isa::Modifier;
use ptx::types::ScalarType;

impl Select<'_> {
    /// Two bytes of each register as halves.
    fn halves_of(&mut self, values: &[Value], ty: Modifier, upper: bool) -> Result<Operand, Refusal> {
        let width = values.len() as u8;
        let to = self.temporary(width);
        let name = format!("F2FP.F16.{}.UNPACK_B{NO_OTHERS}", ty.text()[1..].to_uppercase());
        for (part, value) in (0..).zip(values) {
            let word = self.word(value)?;
            let word = self.one("MOV", vec![word]);
            let bytes = Operand::low(word).suffixed(if upper { ".H1" } else { "" });
            self.code.push(None, name.as_str(), vec![Operand::part(to, part)], vec![bytes]);
        }
        Ok(Operand::wide(to, width))
    }

    pub(super) fn multiply_small_floats(&mut self, op: &Mma) -> Done {
        let MatrixShape { m, n, k } = op.shape;
        let (kind, sum) = match op.dtype {
            ScalarType::F16 => ("F16", "HADD2"),
            _ => ("F32", "FADD"),
        };
        let name = format!("HMMA.{m}{n}{}.{kind}", k / 2);
        let width = op.d.len() as u8;
        let mut product = self.zeros(width);
        for upper in [false, true] {
            let a = self.halves_of(&op.a, op.atype.modifier(), upper)?;
            let b = self.halves_of(&op.b, op.btype.modifier(), upper)?;
            product = self.product_of(&name, width, vec![a, b, Operand::wide(product, width)]);
        }
        let mut sums = Vec::new();
        for (part, c) in (0..).zip(&op.c) {
            let c = self.word(c)?;
            sums.push(self.one(sum, vec![Operand::part(product, part), c]));
        }
        for (&def, sum) in op.d.iter().zip(sums) {
            self.set(def, sum);
        }
        Ok(())
    }
}
