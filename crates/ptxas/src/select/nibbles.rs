//! `mma` on integers of four bits, for which sm_90 has no unit, and on single bits by `.xor`, for which it has none either.
//!
//! A sum over all elements may be taken in any order: the even elements are a product of bytes of half the depth, the odd ones another. And the
//! bits in which two words differ are those that one has and the other has not, and the other way round.

use super::{Done, Refusal, Select};
use crate::code::Operand;
use ir::instruction::{Mma, MmaAtype, MmaBtype};
use ir::operand::{MatrixShape, Value};

/// The lower half of each byte, and its highest bit.
const LOWER: u32 = 0x0f0f_0f0f;
const SIGNS: u32 = 0x0808_0808;
/// What makes a byte's upper half of that bit.
const EXTENSION: u32 = 0x1e;

impl Select<'_> {
    /// The elements of even numbers, or the odd ones, as bytes.
    fn nibbles(&mut self, values: &[Value], odd: bool, signed: bool) -> Result<Operand, Refusal> {
        let to = self.temporary(values.len() as u8);
        for (part, value) in (0..).zip(values) {
            let mut word = self.word(value)?;
            if odd {
                let read = vec![Operand::zero(), Operand::number(4), word];
                word = Operand::low(self.one("SHF.R.U32.HI", read));
            }
            let low = self.lop(word, Operand::number(LOWER), 0xc0);
            if signed {
                let signs = self.lop(Operand::low(low), Operand::number(SIGNS), 0xc0);
                let read = vec![Operand::low(signs), Operand::number(EXTENSION), Operand::low(low)];
                self.code.push(None, "IMAD", vec![Operand::part(to, part)], read);
            } else {
                self.code.push(None, "MOV", vec![Operand::part(to, part)], vec![Operand::low(low)]);
            }
        }
        Ok(Operand::wide(to, values.len() as u8))
    }

    /// The bits of a fragment, or what is none of them.
    fn bits(&mut self, values: &[Value], opposite: bool) -> Result<Operand, Refusal> {
        let to = self.temporary(values.len() as u8);
        for (part, value) in (0..).zip(values) {
            let word = self.word(value)?;
            let table = if opposite { 0x0f } else { 0xf0 };
            let read =
                vec![word, Operand::zero(), Operand::zero(), Operand::number(table), Operand::always(true)];
            self.code.push(None, "LOP3.LUT", vec![Operand::part(to, part)], read);
        }
        Ok(Operand::wide(to, values.len() as u8))
    }

    pub(super) fn multiply_nibbles(&mut self, op: &Mma) -> Done {
        let (a, b) = (op.atype == MmaAtype::S4, op.btype == MmaBtype::S4);
        let MatrixShape { m, n, k } = op.shape;
        let kind = |signed| if signed { "S8" } else { "U8" };
        let name = format!("IMMA.{m}{n}{}.{}.{}", k / 2, kind(a), kind(b));
        self.sum_of_two(op, &name, op.satfinite, |this, second| {
            Ok((this.nibbles(&op.a, second, a)?, this.nibbles(&op.b, second, b)?))
        })
    }

    pub(super) fn multiply_differences(&mut self, op: &Mma) -> Done {
        let MatrixShape { m, n, k } = op.shape;
        self.sum_of_two(op, &format!("BMMA.{m}{n}{k}.AND.POPC"), false, |this, second| {
            Ok((this.bits(&op.a, second)?, this.bits(&op.b, !second)?))
        })
    }

    /// Two products and the sums.
    fn sum_of_two(
        &mut self,
        op: &Mma,
        name: &str,
        saturates: bool,
        factors: impl Fn(&mut Self, bool) -> Result<(Operand, Operand), Refusal>,
    ) -> Done {
        let width = op.d.len() as u8;
        let mut products = Vec::new();
        for second in [false, true] {
            let (a, b) = factors(self, second)?;
            let nothing = self.temporary(width);
            for part in 0..width {
                self.code.push(None, "MOV", vec![Operand::part(nothing, part)], vec![Operand::zero()]);
            }
            let read = vec![a.suffixed(".ROW"), b.suffixed(".COL"), Operand::wide(nothing, width)];
            products.push(self.product_of(name, width, read));
        }
        let mut sums = Vec::new();
        for (part, c) in (0..).zip(&op.c) {
            let c = self.word(c)?;
            let both = self.add(Operand::part(products[0], part), Operand::part(products[1], part));
            sums.push(match saturates {
                true => self.saturated_sum(Operand::low(both), c, false),
                false => self.add(Operand::low(both), c),
            });
        }
        for (&def, sum) in op.d.iter().zip(sums) {
            self.set(def, sum);
        }
        Ok(())
    }
}
