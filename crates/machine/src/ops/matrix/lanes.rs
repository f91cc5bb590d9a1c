//! Products with all lanes of a register of D side by side ([`numerics::tensor::lanes`]), without matrices that are put
//! together element by element.
//!
//! Lane l has rows l / 4 and l / 4 + 8 of A and D, columns 2 * (l % 4) and the next of each block of D, and column l / 4
//! of each block of B ([`crate::matrix::layout`]). Of a row or a column it has one register for each four registers along k; the
//! others are those of the rest of its quad. What lies in shared memory is read as if it lay in registers like these, and so is
//! what compiled code hands over.

use super::tile::Tile;
use crate::exec::Exec;
use crate::image::matrix::{Factor, FactorSource, Product};
use crate::lanes::simd::{Simd, Work, on_host};
use crate::lanes::{LANES, PlaneId};
use crate::matrix::workspace::{Factors, Workspace};
use numerics::tensor::Operand;
use numerics::tensor::lanes::{Arithmetic, Kind, LINES, QUAD, Vectors};

/// Rows of A and D that a warp has.
const ROWS: usize = 2 * LINES;

impl Product {
    /// The arithmetic of the lanes of a warp side by side, if there is one and registers lie as it needs them.
    pub(crate) fn side_by_side(&self) -> Option<Kind> {
        let in_blocks = self.m == ROWS && self.n.is_multiple_of(LINES);
        let bits = self.config.a.bits();
        let whole = (self.k * bits as usize).is_multiple_of(QUAD * 32);
        let [c, d] = [&self.c, &self.d].map(|fragment| fragment.planes().len());
        let fits = in_blocks && whole && (c, d) == (self.n / 2, self.n / 2) && self.sparsity.is_none();
        Kind::of(&self.config, self.k).filter(|_| fits)
    }

    /// Reads B, which the warps of a group have in common, if their products are computed by `kind`.
    #[inline(always)]
    pub(super) fn read_columns<S: Simd>(
        &self,
        x: &Exec<'_>,
        warp: usize,
        kind: Kind,
        workspace: &mut Workspace,
    ) -> Result<(), u32> {
        let source = &InFiles::new(x, self, warp);
        match kind {
            Kind::Floats => self.columns::<S, _>(source, &mut workspace.floats),
            Kind::Integers => self.columns::<S, _>(source, &mut workspace.integers),
        }
    }

    /// Computes D of a warp, the `rank`-th of its group: `false` if its operands are such that this has to be done element by
    /// element.
    #[inline(always)]
    pub(super) fn compute_lanes<S: Simd>(
        &self,
        x: &mut Exec<'_>,
        (warp, rank): (usize, usize),
        kind: Kind,
        workspace: &mut Workspace,
    ) -> Result<bool, u32> {
        let Workspace { floats, integers, results, .. } = workspace;
        let source = &InFiles::new(x, self, warp);
        let done = match kind {
            Kind::Floats => self.rows::<S, _>(source, rank, floats, results)?,
            Kind::Integers => self.rows::<S, _>(source, rank, integers, results)?,
        };
        if done {
            for (&plane, result) in self.d.planes().iter().zip(results) {
                x.files.w[plane.index() + warp].0 = *result;
            }
        }
        Ok(done)
    }

    /// Computes D of a warp that was handed over, to [`Workspace::results`]; `false` as above.
    pub(crate) fn compute_listed(&self, listed: Listed<'_>, kind: Kind, workspace: &mut Workspace) -> bool {
        on_host(Handed { product: self, listed, kind, workspace })
    }

    #[inline(always)]
    fn whole<S: Simd, A: Arithmetic>(
        &self,
        source: &impl Source,
        factors: &mut Factors<A>,
        results: &mut Vec<[u32; LANES]>,
    ) -> Result<bool, u32> {
        self.columns::<S, _>(source, factors)?;
        self.rows::<S, _>(source, 0, factors, results)
    }

    #[inline(always)]
    fn columns<S: Simd, A: Arithmetic>(
        &self,
        source: &impl Source,
        factors: &mut Factors<A>,
    ) -> Result<(), u32> {
        let v = S::vectors();
        let registers = self.registers();
        factors.columns.resize(self.n / LINES * registers, A::ZERO);
        for (index, columns) in factors.columns.iter_mut().enumerate() {
            let word = source.b(v, index / registers * LINES, index % registers, index)?;
            A::decode(v, self.config.b, v.transpose(word), columns);
        }
        Ok(())
    }

    /// Computes D, with the columns that have been read: `false` if a dot product is not among those of the arithmetic.
    #[inline(always)]
    fn rows<S: Simd, A: Arithmetic>(
        &self,
        source: &impl Source,
        rank: usize,
        factors: &mut Factors<A>,
        results: &mut Vec<[u32; LANES]>,
    ) -> Result<bool, u32> {
        let v = S::vectors();
        let Factors { rows, columns } = factors;
        rows.resize(self.registers(), A::ZERO);
        results.resize(self.n / 2, [0; LANES]);
        for half in 0..ROWS / LINES {
            for (i, rows) in rows.iter_mut().enumerate() {
                let word = source.a(v, rank * ROWS + half * LINES, i, 2 * i + half)?;
                A::decode(v, self.config.a, v.transpose(word), rows);
            }
            for (block, columns) in columns.chunks_exact(rows.len()).enumerate() {
                let first = block * QUAD + 2 * half;
                let addends = [source.c(first), source.c(first + 1)];
                let (sums, _) = results[first..].as_chunks_mut();
                if !A::sums(v, &self.config, rows, columns, addends, &mut sums[0]) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The registers that a line of A or B takes, of those that a lane of its quad has.
    fn registers(&self) -> usize {
        self.k * self.config.a.bits() as usize / (32 * QUAD)
    }
}

/// A product of a warp that was handed over.
struct Handed<'a> {
    product: &'a Product,
    listed: Listed<'a>,
    kind: Kind,
    workspace: &'a mut Workspace,
}

impl Work for Handed<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<S: Simd>(self) -> bool {
        let Self { product, listed, kind, workspace: Workspace { floats, integers, results, .. } } = self;
        let done = match kind {
            Kind::Floats => product.whole::<S, _>(&listed, floats, results),
            Kind::Integers => product.whole::<S, _>(&listed, integers, results),
        };
        done == Ok(true)
    }
}

/// What has the matrices that a warp multiplies. Of A and B it is asked for the register with the `i`-th words along k of the eight
/// lines from `first` on, which is the `index`-th of that matrix.
trait Source {
    fn a<V: Vectors>(&self, v: V, first: usize, i: usize, index: usize) -> Result<V::W, u32>;
    fn b<V: Vectors>(&self, v: V, first: usize, i: usize, index: usize) -> Result<V::W, u32>;
    /// A register of C.
    fn c(&self, index: usize) -> &[u32; LANES];
}

/// Registers that were handed over: those of A, of B and of C.
#[derive(Clone, Copy)]
pub(crate) struct Listed<'a> {
    pub(crate) a: &'a [[u32; LANES]],
    pub(crate) b: &'a [[u32; LANES]],
    pub(crate) c: &'a [[u32; LANES]],
}

impl Source for Listed<'_> {
    #[inline(always)]
    fn a<V: Vectors>(&self, v: V, _: usize, _: usize, index: usize) -> Result<V::W, u32> {
        Ok(v.load(&self.a[index]))
    }

    #[inline(always)]
    fn b<V: Vectors>(&self, v: V, _: usize, _: usize, index: usize) -> Result<V::W, u32> {
        Ok(v.load(&self.b[index]))
    }

    #[inline(always)]
    fn c(&self, index: usize) -> &[u32; LANES] {
        &self.c[index]
    }
}

/// The registers of a warp, and what lies in shared memory.
struct InFiles<'x> {
    x: &'x Exec<'x>,
    warp: usize,
    a: Words<'x>,
    b: Words<'x>,
    /// Those of C, if they count.
    c: Option<&'x [PlaneId]>,
}

impl<'x> InFiles<'x> {
    #[inline(always)]
    fn new(x: &'x Exec<'x>, product: &'x Product, warp: usize) -> Self {
        Self {
            x,
            warp,
            a: Words::new(x, &product.a, product.config.a, warp),
            b: Words::new(x, &product.b, product.config.b, warp),
            c: product.accumulates(x, warp).then(|| product.c.planes()),
        }
    }
}

impl Source for InFiles<'_> {
    #[inline(always)]
    fn a<V: Vectors>(&self, v: V, first: usize, i: usize, index: usize) -> Result<V::W, u32> {
        self.a.read(v, self.x, first, i, index)
    }

    #[inline(always)]
    fn b<V: Vectors>(&self, v: V, first: usize, i: usize, index: usize) -> Result<V::W, u32> {
        self.b.read(v, self.x, first, i, index)
    }

    #[inline(always)]
    fn c(&self, index: usize) -> &[u32; LANES] {
        match self.c {
            Some(planes) => plane(self.x, planes[index], self.warp),
            None => &[0; LANES],
        }
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
    #[inline(always)]
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
    fn read<V: Vectors>(
        &self,
        v: V,
        x: &Exec<'_>,
        first: usize,
        i: usize,
        index: usize,
    ) -> Result<V::W, u32> {
        let words = match &self.tile {
            None => v.load(plane(x, self.registers[index], self.warp)),
            Some(tile) => v.load(&tile.words(x, first as u32, i as u32)?),
        };
        Ok(v.xor(words, v.splat(self.signs)))
    }
}

/// A register of a warp.
#[inline(always)]
fn plane<'x>(x: &'x Exec<'_>, plane: PlaneId, warp: usize) -> &'x [u32; LANES] {
    &x.files.w[plane.index() + warp].0
}
