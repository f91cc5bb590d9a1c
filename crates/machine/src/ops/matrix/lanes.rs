//! Products of 16-bit floats straight from registers: all rows of a column of D at once
//! ([`numerics::tensor::lanes`]), without a matrix that is put together element by element.
//!
//! Lane l has rows l / 4 and l / 4 + 8 of A and D, columns 2 * (l % 4) and the next of each block of D, and column l / 4
//! of each block of B ([`crate::matrix::layout`]).

use crate::exec::Exec;
use crate::image::matrix::{FactorSource, Product};
use crate::lanes::{LANES, PlaneId};
use numerics::tensor::lanes::{Factor, Factors, ROWS, TERMS, sums, sums_are};

/// Rows and columns of a block.
const BLOCK: usize = 8;

/// Lanes that have a row.
const QUAD: usize = LANES / BLOCK;

/// Elements along k that a register has of a row.
const HELD: usize = 2 * QUAD;

/// The most columns of an instruction of this kind.
const MOST_COLUMNS: usize = 16;

impl Product {
    /// Computes D of a warp, if A, B and C are in registers and of 16-bit floats, all of them finite: `false` otherwise.
    #[inline(always)]
    pub(super) fn compute_in_registers(&self, x: &mut Exec<'_>, warp: usize) -> bool {
        let (FactorSource::Registers(a), FactorSource::Registers(b)) = (&self.a.source, &self.b.source)
        else {
            return false;
        };
        let [a, b, c, d] = [a, b, &self.c, &self.d].map(|fragment| fragment.planes());
        let along = self.k / HELD;
        let fits = self.m == ROWS
            && self.n.is_multiple_of(BLOCK)
            && self.n <= MOST_COLUMNS
            && (a.len(), b.len()) == (2 * along, self.n / BLOCK * along)
            && (c.len(), d.len()) == (self.n / 2, self.n / 2);
        if !fits || self.sparsity.is_some() || self.scale_d.is_some() || !sums_are(&self.config, self.k) {
            return false;
        }
        let word = |plane: PlaneId| x.files.w[plane.index() + warp].0;
        let mut rows = [Factors::<ROWS>::ZERO; TERMS];
        for (i, &plane) in a.iter().enumerate() {
            for j in 0..2 {
                let factors = Factors::decode(self.config.a, &word(plane), 16 * j as u32);
                for unit in 0..QUAD {
                    let k = i / 2 * HELD + 2 * unit + j;
                    rows[k].take::<BLOCK, QUAD, LANES>(i % 2 * BLOCK, &factors, unit);
                }
            }
        }
        let mut results = [[0; LANES]; MOST_COLUMNS / 2];
        for (block, b) in b.chunks_exact(along).enumerate() {
            let mut columns = [[Factor::ZERO; TERMS]; BLOCK];
            for (i, &plane) in b.iter().enumerate() {
                for j in 0..2 {
                    let factors = Factors::decode(self.config.b, &word(plane), 16 * j as u32);
                    for lane in 0..LANES {
                        columns[lane / QUAD][i * HELD + 2 * (lane % QUAD) + j] = factors.get(lane);
                    }
                }
            }
            let registers = block * QUAD..(block + 1) * QUAD;
            let c = [0, 1, 2, 3].map(|i| word(c[registers.start + i]));
            let d = &mut results[registers];
            for (column, b) in columns.iter().enumerate() {
                let (register, lane) = (column % 2, column / 2);
                let addends =
                    std::array::from_fn(|row| c[register + row / BLOCK * 2][row % BLOCK * QUAD + lane]);
                let Some(sums) = sums(&rows[..self.k], &b[..self.k], &addends) else { return false };
                for (row, sum) in sums.into_iter().enumerate() {
                    d[register + row / BLOCK * 2][row % BLOCK * QUAD + lane] = sum;
                }
            }
        }
        for (&plane, result) in d.iter().zip(results) {
            x.files.w[plane.index() + warp].0 = result;
        }
        true
    }
}
