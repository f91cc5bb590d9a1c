//! `mma` on integers of four bits, for which sm_90 has no unit, and on single bits by `.xor`, for which it has none either.
//!
//! A sum over all elements may be taken in any order: the even elements are a product of bytes of half the depth, the odd ones another. And the
//! bits in which two words differ are those that one has and the other has not, and the other way round.

use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::operand::{Def, MatrixShape, Value};

/// The lower half of each byte, and its highest bit.
const LOWER: u32 = 0x0f0f_0f0f;
const SIGNS: u32 = 0x0808_0808;
/// What makes a byte's upper half of that bit.
const EXTENSION: u32 = 0x1e;

/// The fragments of a product.
pub(super) struct Matrices<'a> {
    pub(super) a: &'a [Value],
    pub(super) b: &'a [Value],
    pub(super) c: &'a [Value],
    pub(super) d: &'a [Def],
    /// Where the elements of a sparse first one are, and which lanes say so.
    pub(super) metadata: Vec<Operand>,
}

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

    /// By their signs. A sparse matrix has pairs of elements where bytes are in one of bytes.
    pub(super) fn multiply_nibbles(
        &mut self,
        MatrixShape { m, n, k }: MatrixShape,
        (a, b): (bool, bool),
        of: &Matrices,
        saturates: bool,
    ) -> Done {
        let kind = |signed| if signed { "S8" } else { "U8" };
        let sparse = if of.metadata.is_empty() { "" } else { ".SP" };
        let name = format!("IMMA{sparse}.{m}{n}{}.{}.{}", k / 2, kind(a), kind(b));
        self.sum_of_two(of, &name, saturates, |this, second| {
            Ok((this.nibbles(of.a, second, a)?, this.nibbles(of.b, second, b)?))
        })
    }

    pub(super) fn multiply_differences(&mut self, shape: MatrixShape, of: &Matrices) -> Done {
        let MatrixShape { m, n, k } = shape;
        self.sum_of_two(of, &format!("BMMA.{m}{n}{k}.AND.POPC"), false, |this, second| {
            Ok((this.bits(of.a, second)?, this.bits(of.b, !second)?))
        })
    }

    /// Two products and the sums.
    fn sum_of_two(
        &mut self,
        of: &Matrices,
        name: &str,
        saturates: bool,
        factors: impl Fn(&mut Self, bool) -> Result<(Operand, Operand), Refusal>,
    ) -> Done {
        let width = of.d.len() as u8;
        let mut products = Vec::new();
        for second in [false, true] {
            let (a, b) = factors(self, second)?;
            let nothing = self.zeros(width);
            let factors = [a.suffixed(".ROW"), b.suffixed(".COL"), Operand::wide(nothing, width)];
            let read = factors.into_iter().chain(of.metadata.iter().cloned()).collect();
            products.push(self.product_of(name, width, read));
        }
        let mut sums = Vec::new();
        for (part, c) in (0..).zip(of.c) {
            let c = self.word(c)?;
            let both = self.add(Operand::part(products[0], part), Operand::part(products[1], part));
            sums.push(match saturates {
                true => self.saturated_sum(Operand::low(both), c, false),
                false => self.add(Operand::low(both), c),
            });
        }
        for (&def, sum) in of.d.iter().zip(sums) {
            self.set(def, sum);
        }
        Ok(())
    }

    /// The sums of a product that adds to nothing.
    pub(super) fn zeros(&mut self, width: u8) -> Reg {
        let nothing = self.temporary(width);
        for part in 0..width {
            self.code.push(None, "MOV", vec![Operand::part(nothing, part)], vec![Operand::zero()]);
        }
        nothing
    }
}
