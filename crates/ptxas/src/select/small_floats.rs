//! `mma` on floats of eight bits, for which sm_90 has no unit but that of warpgroups.
//!
//! Each is a half exactly. The two lower bytes of a register are a register of halves, and the upper ones another: one product of half the depth each,
//! the second of which adds to the first. The sums that are given come last, as in ptxas' code.
//!
//! Of a sparse first matrix these two bytes are what is stored of four elements, which meet all four bytes of a register of the second matrix:
//! of every other one, which becomes two neighbouring lanes' halves. The metadata have eight bits for each register, of which a product takes four.

use super::convert::NO_OTHERS;
use super::{Done, Select};
use crate::code::Operand;
use ir::instruction::{Mma, MmaSparse};
use ir::operand::{Def, MatrixShape, Value};
use ptx::isa::Modifier;
use ptx::types::ScalarType;

/// The lanes of a row of the first matrix, or a column of the second, have all but these bits in common.
const LINE: u32 = 0b11100;

/// What is multiplied, and what is added.
struct Matrices<'a> {
    a: (&'a [Value], Modifier),
    c: &'a [Value],
    d: &'a [Def],
    dtype: ScalarType,
}

impl Select<'_> {
    /// Two bytes of each word as halves.
    fn halves_of(&mut self, words: &[Operand], ty: Modifier, upper: bool) -> Operand {
        let width = words.len() as u8;
        let to = self.temporary(width);
        let name = format!("F2FP.F16.{}.UNPACK_B{NO_OTHERS}", ty.text()[1..].to_uppercase());
        for (part, word) in (0..).zip(words) {
            let word = self.one("MOV", vec![word.clone()]);
            let bytes = Operand::low(word).suffixed(if upper { ".H1" } else { "" });
            self.code.push(None, name.as_str(), vec![Operand::part(to, part)], vec![bytes]);
        }
        Operand::wide(to, width)
    }

    pub(super) fn multiply_small_floats(&mut self, op: &Mma) -> Done {
        let MatrixShape { m, n, k } = op.shape;
        let b = self.each_word(&op.b)?;
        let of = Matrices { a: (&op.a, op.atype.modifier()), c: &op.c, d: &op.d, dtype: op.dtype };
        self.multiply_halves_of(&of, &format!("HMMA.{m}{n}{}", k / 2), |this, upper| {
            (this.halves_of(&b, op.btype.modifier(), upper), vec![])
        })
    }

    pub(super) fn multiply_sparse_small_floats(&mut self, op: &MmaSparse, metadata: Operand) -> Done {
        let MatrixShape { m, n, k } = op.shape;
        self.all_together();
        let metadata = self.parted_metadata(metadata);
        let b = self.each_word(&op.b)?;
        let odd = self.lane_has(1);
        // The other register of each two lanes.
        let others: Vec<_> =
            b.iter().map(|word| self.shuffled("BFLY", word, Operand::number(1), 31)).collect();
        let of = Matrices { a: (&op.a, op.atype.modifier()), c: &op.c, d: &op.d, dtype: op.dtype };
        self.multiply_halves_of(&of, &format!("HMMA.SP.{m}{n}{}", k / 2), |this, upper| {
            // The lower bytes in the even lanes, the upper ones in the odd lanes, of the even lane's register, or of the odd lane's.
            let [even_lanes, odd_lanes] = if upper { [0x5454, 0x3232] } else { [0x1010, 0x7676] };
            let (at_odd, at_even) = (this.constant(odd_lanes), this.constant(even_lanes));
            let bytes = Operand::low(this.select_word(at_odd, at_even, odd, false));
            let words: Vec<_> = b
                .iter()
                .zip(&others)
                .map(|(own, other)| {
                    let read = vec![own.clone(), bytes.clone(), other.clone()];
                    Operand::low(this.one("PRMT", read))
                })
                .collect();
            let lanes = Operand::number(0);
            (
                this.halves_of(&words, op.btype.modifier(), false),
                vec![metadata[usize::from(upper)].clone(), lanes],
            )
        })
    }

    /// Metadata for the product of the lower bytes and for that of the upper ones. Of bytes the four lanes of a row have 32 bits each: the first two
    /// one half of the row and of the row eight below it, the others the other half. Of halves the first two lanes have 16 bits of both rows each.
    fn parted_metadata(&mut self, word: Operand) -> [Operand; 2] {
        // Every other four bits, one beside the other: those of the lower bytes in the lower half.
        let down = |word: &Operand| vec![Operand::zero(), Operand::number(4), word.clone()];
        let upper = Operand::low(self.one("SHF.R.U32.HI", down(&word)));
        let [lower, upper] = [word, upper].map(|word| {
            let apart = Operand::low(self.lop(word, Operand::number(0x0f0f_0f0f), 0xc0));
            let moved = Operand::low(self.one("SHF.R.U32.HI", down(&apart)));
            Operand::low(self.lop(apart, moved, 0xfc))
        });
        let both = Operand::low(self.one("PRMT", vec![lower, Operand::number(0x6420), upper]));
        let lane = self.one("S2R", vec![Operand::Text("SR_LANEID".into())]);
        let first = Operand::low(self.lop(Operand::low(lane), Operand::number(1), 0xc0));
        let first = Operand::low(self.add(first.clone(), first));
        let second = self.add(first.clone(), Operand::number(1));
        let [row, other] = [first, Operand::low(second)].map(|from| self.of_lane(&both, LINE, from));
        [0x5410, 0x7632].map(|halves| {
            let read = vec![row.clone(), Operand::number(halves), other.clone()];
            Operand::low(self.one("PRMT", read))
        })
    }

    /// The product of the lower bytes, that of the upper ones, and what is added. The second factor is told with what stands behind the sums.
    fn multiply_halves_of(
        &mut self,
        of: &Matrices<'_>,
        name: &str,
        second: impl Fn(&mut Self, bool) -> (Operand, Vec<Operand>),
    ) -> Done {
        let (kind, sum) = match of.dtype {
            ScalarType::F16 => ("F16", "HADD2"),
            _ => ("F32", "FADD"),
        };
        let name = format!("{name}.{kind}");
        let width = of.d.len() as u8;
        let a = self.each_word(of.a.0)?;
        let mut product = self.zeros(width);
        for upper in [false, true] {
            let a = self.halves_of(&a, of.a.1, upper);
            let (b, metadata) = second(self, upper);
            let read = [a, b, Operand::wide(product, width)].into_iter().chain(metadata);
            product = self.product_of(&name, width, read.collect());
        }
        let mut sums = Vec::new();
        for (part, c) in (0..).zip(of.c) {
            let c = self.word(c)?;
            sums.push(self.one(sum, vec![Operand::part(product, part), c]));
        }
        for (&def, sum) in of.d.iter().zip(sums) {
            self.set(def, sum);
        }
        Ok(())
    }
}
