//! Products with all lanes of a register of D side by side ([`numerics::tensor::lanes`]), without matrices that are put
//! together element by element.
//!
//! Lane l has rows l / 4 and l / 4 + 8 of A and D, columns 2 * (l % 4) and the next of each block of D, and column l / 4
//! of each block of B ([`crate::matrix::layout`]). Of a row or a column it has one register for each four registers along k; the
//! others are those of the rest of its quad. What lies in shared memory is read as if it lay in registers like these.

use super::tile::Tile;
use crate::exec::Exec;
use crate::image::matrix::{Factor, FactorSource, Product};
use crate::lanes::{LANES, PlaneId};
use crate::matrix::types::element_bits;
use crate::matrix::workspace::{Factors, Workspace};
use numerics::tensor::Operand;
use numerics::tensor::lanes::{Arithmetic, Kind};

/// Lines of a block: of eight rows, or columns.
const BLOCK: usize = 8;

/// Lanes that have a line.
const QUAD: usize = LANES / BLOCK;

/// Rows of A and D that a warp has.
const ROWS: usize = 2 * BLOCK;

impl Product {
    /// The arithmetic of the lanes of a warp side by side, if there is one and registers lie as it needs them.
    pub(super) fn side_by_side(&self) -> Option<Kind> {
        let in_blocks = self.m == ROWS && self.n.is_multiple_of(BLOCK);
        let bits = element_bits(self.config.a);
        let whole = bits <= 32 && self.k.is_multiple_of(QUAD * 32 / bits as usize);
        let [c, d] = [&self.c, &self.d].map(|fragment| fragment.planes().len());
        let fits = in_blocks && whole && (c, d) == (self.n / 2, self.n / 2) && self.sparsity.is_none();
        Kind::of(&self.config, self.k).filter(|_| fits)
    }

    /// Reads B, which the warps of a group have in common, if their products are computed by `kind`.
    #[inline(always)]
    pub(super) fn read_columns(
        &self,
        x: &Exec<'_>,
        warp: usize,
        kind: Kind,
        workspace: &mut Workspace,
    ) -> Result<(), u32> {
        match kind {
            Kind::Floats => self.columns(x, warp, &mut workspace.floats),
            Kind::Integers => self.columns(x, warp, &mut workspace.integers),
        }
    }

    /// Computes D of a warp, the `rank`-th of its group: `false` if its operands are such that this has to be done element by
    /// element.
    #[inline(always)]
    pub(super) fn compute_lanes(
        &self,
        x: &mut Exec<'_>,
        (warp, rank): (usize, usize),
        kind: Kind,
        workspace: &mut Workspace,
    ) -> Result<bool, u32> {
        let Workspace { floats, integers, results, .. } = workspace;
        let done = match kind {
            Kind::Floats => self.rows(x, (warp, rank), floats, results)?,
            Kind::Integers => self.rows(x, (warp, rank), integers, results)?,
        };
        if done {
            for (&plane, result) in self.d.planes().iter().zip(results) {
                x.files.w[plane.index() + warp].0 = *result;
            }
        }
        Ok(done)
    }

    #[inline(always)]
    fn columns<A: Arithmetic>(&self, x: &Exec<'_>, warp: usize, factors: &mut Factors<A>) -> Result<(), u32> {
        let columns = &mut factors.columns;
        columns.clear();
        let held = self.held();
        let words = Words::new(x, &self.b, self.config.b, warp);
        for block in 0..self.n / BLOCK {
            for i in 0..self.k / (QUAD * held) {
                let word = words.read(x, block * BLOCK, i, block * self.k / (QUAD * held) + i)?;
                // Unit by unit along k, those of the even columns side by side, then those of the odd ones.
                let mut units = [0; LANES];
                for (lane, bits) in word.into_iter().enumerate() {
                    let (column, unit) = (lane / QUAD, lane % QUAD);
                    units[unit * BLOCK + column % 2 * QUAD + column / 2] = bits;
                }
                let start = columns.len();
                columns.resize(start + QUAD * held, A::zeros());
                for j in 0..held {
                    let elements = A::decode(self.config.b, &units, self.shift(j));
                    let mut put = |unit: usize, factors| columns[start + unit * held + j] = factors;
                    put(0, A::at(&elements, |l| l));
                    put(1, A::at(&elements, |l| BLOCK + l));
                    put(2, A::at(&elements, |l| 2 * BLOCK + l));
                    put(3, A::at(&elements, |l| 3 * BLOCK + l));
                }
            }
        }
        Ok(())
    }

    /// Computes D, with the columns that have been read: `false` if a dot product is not among those of the arithmetic.
    #[inline(always)]
    fn rows<A: Arithmetic>(
        &self,
        x: &Exec<'_>,
        (warp, rank): (usize, usize),
        factors: &mut Factors<A>,
        results: &mut Vec<[u32; LANES]>,
    ) -> Result<bool, u32> {
        let Factors { rows, columns } = factors;
        rows.resize(self.k, A::zeros());
        results.resize(self.n / 2, [0; LANES]);
        let held = self.held();
        let accumulates = self.accumulates(x, warp);
        let words = Words::new(x, &self.a, self.config.a, warp);
        for half in 0..ROWS / BLOCK {
            for i in 0..self.k / (QUAD * held) {
                let word = words.read(x, rank * ROWS + half * BLOCK, i, 2 * i + half)?;
                for j in 0..held {
                    let elements = A::decode(self.config.a, &word, self.shift(j));
                    let mut put = |unit: usize, factors| rows[(i * QUAD + unit) * held + j] = factors;
                    // What one lane has of a row, all that have the row need.
                    put(0, A::at(&elements, |l| l / QUAD * QUAD));
                    put(1, A::at(&elements, |l| l / QUAD * QUAD + 1));
                    put(2, A::at(&elements, |l| l / QUAD * QUAD + 2));
                    put(3, A::at(&elements, |l| l / QUAD * QUAD + 3));
                }
            }
            for (block, columns) in columns.chunks_exact(self.k).enumerate() {
                let first = block * QUAD + 2 * half;
                let addend = |register: usize| match accumulates {
                    true => plane(x, self.c.planes()[register], warp),
                    false => [0; LANES],
                };
                let addends = [addend(first), addend(first + 1)];
                let Some(sums) = A::sums::<BLOCK, 2>(&self.config, rows, columns, addends.each_ref()) else {
                    return Ok(false);
                };
                results[first..first + 2].copy_from_slice(&sums);
            }
        }
        Ok(true)
    }

    /// Elements of A or B that a register holds.
    fn held(&self) -> usize {
        32 / element_bits(self.config.a) as usize
    }

    /// Where element `j` of a register begins.
    fn shift(&self, j: usize) -> u32 {
        j as u32 * element_bits(self.config.a)
    }
}

/// The registers that hold a factor, or would hold it.
struct Words<'a> {
    registers: &'a [PlaneId],
    tile: Option<Tile>,
    warp: usize,
    /// What flips the signs of all elements of a word.
    signs: u32,
}

impl<'a> Words<'a> {
    fn new(x: &Exec<'_>, factor: &'a Factor, operand: Operand, warp: usize) -> Self {
        let signs = match operand {
            Operand::F16 | Operand::Bf16 if factor.negated => 1 << 31 | 1 << 15,
            Operand::Tf32 if factor.negated => 1 << 31,
            _ => 0,
        };
        match &factor.source {
            FactorSource::Registers(fragment) => {
                Self { registers: fragment.planes(), tile: None, warp, signs }
            }
            &FactorSource::Shared { descriptor, transposed } => {
                let bits = x.files.d[descriptor.index() + warp].0[0];
                Self { registers: &[], tile: Some(Tile::new(bits, transposed, operand)), warp, signs }
            }
        }
    }

    /// The register with the `i`-th words along k of the eight lines from `first` on, which is the `index`-th of its registers.
    #[inline(always)]
    fn read(&self, x: &Exec<'_>, first: usize, i: usize, index: usize) -> Result<[u32; LANES], u32> {
        let mut words = match &self.tile {
            None => plane(x, self.registers[index], self.warp),
            Some(tile) => tile.words(x, first as u32, i as u32)?,
        };
        for word in &mut words {
            *word ^= self.signs;
        }
        Ok(words)
    }
}

/// A register of a warp.
#[inline(always)]
fn plane(x: &Exec<'_>, plane: PlaneId, warp: usize) -> [u32; LANES] {
    x.files.w[plane.index() + warp].0
}
