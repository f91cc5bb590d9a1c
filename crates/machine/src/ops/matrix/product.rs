//! `mma`, `wmma.mma` and `wgmma.mma_async`: `D = A * B + C`.

use super::assemble;
use super::tile::{CHUNK, Tile};
use crate::exec::Exec;
use crate::fault::Access;
use crate::image::Function;
use crate::image::matrix::{Factor, FactorSource, Product};
use crate::lanes::LANES;
use crate::lanes::simd::{Level, Simd};
use crate::matrix::scales::Scales;
use crate::matrix::workspace::{Elements, Workspace};
use crate::memory::SHARED_WINDOW;
use crate::operation::kinds::MultiplyMatrices;
use crate::ops::body::{Body, select};
use numerics::tensor::{Element, Operand, Scaling, dot, dot_scaled};

impl Body for MultiplyMatrices {
    type Fields = Self;
    #[inline(always)]
    fn run<S: Simd>(x: &mut Exec<'_>, op: &Self, pc: u32) -> u32 {
        multiply_matrices::<S>(x, op, pc)
    }
}

/// `mma.sync`, `mma.sp.sync`, `wmma.mma.sync` and `wgmma.mma_async`: of a warp, or of the four of a warpgroup together.
pub(crate) fn multiply(level: Level) -> Function<MultiplyMatrices> {
    select::<MultiplyMatrices>(level)
}

#[inline(always)]
fn multiply_matrices<S: Simd>(x: &mut Exec<'_>, op: &MultiplyMatrices, pc: u32) -> u32 {
    if let Some(next) = assemble(x, usize::from(op.warps)) {
        return next;
    }
    let mut workspace = std::mem::take(&mut x.threads.matrices);
    let done = multiply_teams::<S>(x, op, pc, &mut workspace);
    x.threads.matrices = workspace;
    match done {
        Ok(()) => pc + 1,
        Err((warp, address)) => bad_tile(x, warp, address),
    }
}

/// The products of all teams of warps that are here, or the warp and the address of one that cannot be read.
#[inline(always)]
fn multiply_teams<S: Simd>(
    x: &mut Exec<'_>,
    op: &MultiplyMatrices,
    pc: u32,
    workspace: &mut Workspace,
) -> Result<(), (usize, u32)> {
    let together = usize::from(op.warps);
    let product = x.grid.image.site(op.site);
    let kind = product.side_by_side();
    for first in (0..x.warps).step_by(together) {
        if x.mask[first] == 0 {
            continue;
        }
        if x.grid.observer.is_some() {
            product.tell(x, (pc, first), together);
        }
        // The warps of a group have the same B.
        if let Some(kind) = kind {
            product.read_columns::<S>(x, first, kind, workspace).map_err(|address| (first, address))?;
        }
        let mut has_elements = false;
        for warp in first..first + together {
            let rank = if together == 1 { 0 } else { warp - first };
            let bad = |address| (warp, address);
            if let Some(kind) = kind
                && product.compute_lanes::<S>(x, (warp, rank), kind, workspace).map_err(bad)?
            {
                continue;
            }
            let elements = &mut workspace.elements;
            if !has_elements {
                product.read_b(x, first, elements).map_err(|address| (first, address))?;
                has_elements = true;
            }
            product.compute_elements(x, (warp, rank), elements).map_err(bad)?;
            product.d.write(&mut x.files, warp, &elements.d);
        }
    }
    Ok(())
}

#[cold]
fn bad_tile(x: &mut Exec<'_>, warp: usize, address: u32) -> u32 {
    let trap = x.bad_access(SHARED_WINDOW + u64::from(address), 16, Access::Load);
    x.raise(warp, 0, trap)
}

impl Product {
    /// Whether C counts, or zeros do.
    pub(super) fn accumulates(&self, x: &Exec<'_>, warp: usize) -> bool {
        self.scale_d.is_none_or(|scale| (x.files.p[scale.index() + warp] ^ scale.flip()) & 1 != 0)
    }

    /// Tells of what a team of warps reads of shared memory.
    #[cold]
    fn tell(&self, x: &Exec<'_>, (pc, first): (u32, usize), together: usize) {
        let stored = if self.sparsity.is_some() { self.k / 2 } else { self.k };
        let rows = (&self.a, self.config.a, (self.m * together, stored));
        for (factor, operand, (lines, length)) in [rows, (&self.b, self.config.b, (self.n, self.k))] {
            let FactorSource::Shared { descriptor, transposed } = factor.source else { continue };
            let bits = x.files.d[descriptor.index() + first].0[0];
            let places = Tile::new(bits, transposed, operand).places((0, lines as u32, length as u32));
            for places in places.chunks(LANES) {
                let mut addresses = [0; LANES];
                for (address, &place) in addresses.iter_mut().zip(places) {
                    *address = SHARED_WINDOW + u64::from(place);
                }
                let mask = !0 >> (LANES - places.len());
                x.tell_access(pc, (first, mask), &addresses, CHUNK as u64, Access::Load);
            }
        }
    }

    /// Reads the elements of B, column by column.
    fn read_b(&self, x: &Exec<'_>, warp: usize, elements: &mut Elements) -> Result<(), u32> {
        self.factor(x, &self.b, self.config.b, warp, (0, self.n, self.k), &mut elements.b)
    }

    /// Reads the elements of a factor, line by line: `lines` of them from `first` on, of `length` elements.
    fn factor(
        &self,
        x: &Exec<'_>,
        factor: &Factor,
        operand: Operand,
        warp: usize,
        (first, lines, length): (usize, usize, usize),
        elements: &mut Vec<Element>,
    ) -> Result<(), u32> {
        match factor.source {
            FactorSource::Registers(ref fragment) => fragment.decode(&x.files, warp, operand, elements),
            FactorSource::Shared { descriptor, transposed } => {
                let bits = x.files.d[descriptor.index() + warp].0[0];
                let lines = (first as u32, lines as u32, length as u32);
                Tile::new(bits, transposed, operand).read(x, lines, elements)?;
            }
        }
        if factor.negated {
            for element in elements {
                *element = operand.negate(*element);
            }
        }
        Ok(())
    }

    /// D of one warp, the `rank`-th of its group, row by row.
    #[inline(always)]
    fn compute_elements(
        &self,
        x: &Exec<'_>,
        (warp, rank): (usize, usize),
        elements: &mut Elements,
    ) -> Result<(), u32> {
        let (n, k) = (self.n, self.k);
        let stored = if self.sparsity.is_some() { k / 2 } else { k };
        let lines = (rank * self.m, self.m, stored);
        self.factor(x, &self.a, self.config.a, warp, lines, &mut elements.a)?;
        let Elements { a, b, d, places, met, scales: [of_a, of_b] } = elements;
        self.c.read(&x.files, warp, d);
        if !self.accumulates(x, warp) {
            d.fill(0);
        }
        if let Some(scales) = &self.scales {
            scales.read(&x.files, warp, [of_a, of_b]);
        }
        places.clear();
        places.resize(stored, 0);
        for (row, (a, d)) in a.chunks_exact(stored).zip(d.chunks_exact_mut(n)).enumerate() {
            // Products that are computed side by side have columns of their own.
            let mut columns = &b[row / self.m * n * k..][..n * k];
            if let Some(sparsity) = &self.sparsity {
                sparsity.places(&x.files, warp, row, places);
                met.clear();
                for column in columns.chunks_exact(k) {
                    met.extend(places.iter().map(|&place| column[place as usize]));
                }
                columns = met;
            }
            for (n, (column, d)) in columns.chunks_exact(stored).zip(d).enumerate() {
                *d = match self.scales {
                    None => dot(&self.config, a, column, *d),
                    Some(Scales { count, .. }) => {
                        let (a_scales, b_scales) =
                            (&of_a[row * count..][..count], &of_b[n * count..][..count]);
                        let scaling = Scaling { a: a_scales, b: b_scales, ..Scaling::default() };
                        dot_scaled(self.config.d, a, column, *d, &scaling)
                    }
                };
            }
        }
        Ok(())
    }
}
