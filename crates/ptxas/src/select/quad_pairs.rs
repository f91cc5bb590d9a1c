//! `mma.m8n8k4` on halves: four products at once, each by a quad pair, four lanes of the warp's lower half and those that lie 16 above them. sm_90
//! has no unit for it. A lane takes the rows and columns that meet in its results from the others of its quad pair, and multiplies them in
//! single precision, in the order of ptxas' code, which decides how sums are rounded.

use super::{Done, Refusal, Select};
use crate::code::Operand;
use ir::instruction::{Alayout, Blayout, Mma};
use ir::operand::Value;
use ptx::types::ScalarType;

/// Elements of a line of a factor: a row of the first one, a column of the second.
const K: usize = 4;

/// The bits of a lane's number that say which quad pair it belongs to.
const QUAD_PAIR: u32 = 0b01100;
/// The bit of the half of the warp, in which the upper four lines of a quad pair are.
const UPPER: u32 = 16;
/// A result of `.f32` is in the row that the lane and the lane two further have, by its number, and in the columns of these two.
const ROW_OF_SINGLES: u32 = 0b11101;
const COLUMN_OF_SINGLES: u32 = 0b01110;

/// A line of a factor: two halves a register.
type Line = [Operand; K / 2];
/// Its elements in single precision.
type Singles = [Operand; K];

impl Select<'_> {
    /// The lane's own line of a factor, which it has, or its quad an element each.
    fn line(&mut self, values: &[Value], is_whole: bool) -> Result<Line, Refusal> {
        let [low, high] = values else { return Err("of these fragments".to_owned()) };
        let words = [self.word(low)?, self.word(high)?];
        if is_whole {
            return Ok(words);
        }
        let (odd, second) = (self.lane_has(1), self.lane_has(2));
        let (upper, lower) = (self.constant(0x7632), self.constant(0x5410));
        let halves = Operand::low(self.select_word(upper, lower, odd, false));
        let mut pair = |first: u32| {
            let [one, other] = [first, first + 1].map(|k| {
                let [low, high] =
                    words.each_ref().map(|word| self.of_lane(word, QUAD_PAIR | UPPER, Operand::number(k)));
                Operand::low(self.select_word(high, low, second, false))
            });
            Operand::low(self.one("PRMT", vec![one, halves.clone(), other]))
        };
        Ok([pair(0), pair(2)])
    }

    fn singles(&mut self, word: &Operand) -> [Operand; 2] {
        [".H0_H0", ".H1_H1"].map(|half| {
            let read = vec![Operand::Text("-RZ".into()), word.clone().suffixed(half)];
            Operand::low(self.one("HADD2.F32", read))
        })
    }

    fn line_of_singles(&mut self, [low, high]: &Line) -> Singles {
        let ([x, y], [z, w]) = (self.singles(low), self.singles(high));
        [x, y, z, w]
    }

    /// The lines of the lanes that have these bits in common with this one.
    fn lines_of(&mut self, line: &Line, common: u32, lanes: &[u32]) -> Vec<Singles> {
        let mut lines = Vec::new();
        for &others in lanes {
            let line = line.each_ref().map(|word| self.of_lane(word, common, Operand::number(others)));
            lines.push(self.line_of_singles(&line));
        }
        lines
    }

    pub(super) fn multiply_by_quad_pairs(&mut self, op: &Mma) -> Done {
        self.all_together();
        let a = self.line(&op.a, op.alayout == Alayout::Row)?;
        let b = self.line(&op.b, op.blayout == Blayout::Col)?;
        match op.dtype {
            ScalarType::F16 => self.rows_of_halves(op, &a, &b),
            _ => self.pairs_of_singles(op, &a, &b),
        }
    }

    /// Results of `.f16`: a lane has the row that it has of the first factor.
    fn rows_of_halves(&mut self, op: &Mma, a: &Line, b: &Line) -> Done {
        let row = self.line_of_singles(a);
        let lanes: Vec<u32> = (0..8).map(|column| column % 4 + column / 4 * UPPER).collect();
        let columns = self.lines_of(b, QUAD_PAIR, &lanes);
        let mut results = Vec::new();
        for (word, columns) in op.c.iter().zip(columns.chunks(2)) {
            let word = self.word(word)?;
            let mut sums = Vec::new();
            for (c, column) in self.singles(&word).into_iter().zip(columns) {
                let mut sum = c;
                for (row, column) in row.chunks(2).zip(column.chunks(2)) {
                    let one = self.one("FMUL", vec![row[0].clone(), column[0].clone()]);
                    let both = vec![row[1].clone(), column[1].clone(), Operand::low(one)];
                    let both = Operand::low(self.one("FFMA", both));
                    sum = Operand::low(self.one("FADD", vec![sum, both]));
                }
                sums.push(sum);
            }
            sums.reverse();
            results.push(self.one("F2FP.F16.F32.PACK_AB", sums));
        }
        for (&def, result) in op.d.iter().zip(results) {
            self.set(def, result);
        }
        Ok(())
    }

    /// Results of `.f32`: pairs in two rows, in the left half of the product and in the right one.
    fn pairs_of_singles(&mut self, op: &Mma, a: &Line, b: &Line) -> Done {
        let rows = self.lines_of(a, ROW_OF_SINGLES, &[0, 2]);
        let columns = self.lines_of(b, COLUMN_OF_SINGLES, &[0, 1, UPPER, UPPER + 1]);
        let c = match op.ctype {
            ScalarType::F16 => self.pairs_of_halves(&op.c)?,
            _ => self.each_word(&op.c)?,
        };
        let mut results = Vec::new();
        for (index, c) in c.into_iter().enumerate() {
            let (row, column) = (&rows[index / 2 % 2], &columns[index / 4 * 2 + index % 2]);
            let mut sum = Operand::zero();
            for (a, b) in row.iter().zip(column) {
                sum = Operand::low(self.one("FFMA", vec![a.clone(), b.clone(), sum]));
            }
            results.push(self.one("FADD", vec![c, sum]));
        }
        for (&def, result) in op.d.iter().zip(results) {
            self.set(def, result);
        }
        Ok(())
    }

    /// The same places of a matrix of `.f16`, of which each lane has a row.
    fn pairs_of_halves(&mut self, values: &[Value]) -> Result<Vec<Operand>, Refusal> {
        let words = self.each_word(values)?;
        let second = self.lane_has(2);
        let mut found = Vec::new();
        for side in words.chunks(2) {
            for others in [0, 2] {
                let mut pairs = Vec::new();
                for word in side {
                    pairs.push(self.of_lane(word, ROW_OF_SINGLES, Operand::number(others)));
                }
                let [left, right] = &pairs[..] else { return Err("of these fragments".to_owned()) };
                let pair = self.select_word(right.clone(), left.clone(), second, false);
                found.extend(self.singles(&Operand::low(pair)));
            }
        }
        Ok(found)
    }
}
