//! `mma`, `wmma.mma` and `wgmma.mma_async`: `D = A * B + C`.

use super::assemble;
use crate::exec::Exec;
use crate::fault::Access;
use crate::image::Function;
use crate::image::matrix::{Factor, FactorSource, Product};
use crate::lanes::simd::{Level, Simd};
use crate::matrix::descriptor::Descriptor;
use crate::matrix::workspace::Workspace;
use crate::memory::SHARED_WINDOW;
use crate::operation::kinds::MultiplyMatrices;
use crate::ops::body::{Body, select};
use numerics::tensor::{Element, Operand, dot};

/// A matrix in shared memory.
struct Tile {
    descriptor: Descriptor,
    transposed: bool,
    operand: Operand,
    /// Bytes of an element.
    bytes: u32,
    first_line: u32,
    lines: u32,
    /// Elements of a line.
    length: u32,
}

impl Tile {
    /// Reads the elements line by line, or tells the address that is not valid.
    fn read(&self, x: &Exec<'_>, elements: &mut Vec<Element>) -> Result<(), u32> {
        elements.clear();
        elements.resize((self.lines * self.length) as usize, self.operand.decode(0));
        let held = 16 / self.bytes;
        let mut put = |line: u32, along: u32, bits: u64| {
            elements[(line * self.length + along) as usize] = self.operand.decode(bits);
        };
        if self.transposed {
            for line in (0..self.lines).step_by(8) {
                for k in 0..self.length {
                    let chunk = chunk(x, self.descriptor.across_lines(self.first_line + line, k))?;
                    (0..8).for_each(|j| put(line + j, k, bits_of(&chunk, j, 2)));
                }
            }
        } else {
            for line in 0..self.lines {
                for along in (0..self.length).step_by(held as usize) {
                    let from = self.descriptor.along_line(self.first_line + line, along * self.bytes);
                    let chunk = chunk(x, from)?;
                    (0..held).for_each(|j| put(line, along + j, bits_of(&chunk, j, self.bytes)));
                }
            }
        }
        Ok(())
    }
}

/// 16 bytes of shared memory.
fn chunk(x: &Exec<'_>, address: u32) -> Result<[u8; 16], u32> {
    let start = address.checked_sub(x.grid.shared_start).ok_or(address)? as usize;
    let bytes = x.shared.get(start..start + 16).ok_or(address)?;
    Ok(bytes.try_into().unwrap_or([0; 16]))
}

/// Element `index` of `bytes` each.
fn bits_of(chunk: &[u8; 16], index: u32, bytes: u32) -> u64 {
    let start = (index * bytes) as usize;
    let mut word = [0; 8];
    word[..bytes as usize].copy_from_slice(&chunk[start..start + bytes as usize]);
    u64::from_le_bytes(word)
}

/// The bytes that an element takes in shared memory.
fn bytes_of(operand: Operand) -> u32 {
    match operand {
        Operand::F16 | Operand::Bf16 => 2,
        Operand::Tf32 | Operand::B1 => 4,
        Operand::F64 => 8,
        Operand::E4m3 | Operand::E5m2 | Operand::S8 | Operand::U8 | Operand::S4 | Operand::U4 => 1,
    }
}

impl Body for MultiplyMatrices {
    type Fields = Self;
    #[inline(always)]
    fn run<S: Simd>(x: &mut Exec<'_>, op: &Self, pc: u32) -> u32 {
        multiply_matrices(x, op, pc)
    }
}

/// `mma.sync`, `mma.sp.sync`, `wmma.mma.sync` and `wgmma.mma_async`: of a warp, or of the four of a warpgroup together.
pub(crate) fn multiply(level: Level) -> Function<MultiplyMatrices> {
    select::<MultiplyMatrices>(level)
}

#[inline(always)]
fn multiply_matrices(x: &mut Exec<'_>, op: &MultiplyMatrices, pc: u32) -> u32 {
    if let Some(next) = assemble(x, usize::from(op.warps)) {
        return next;
    }
    let mut workspace = std::mem::take(&mut x.threads.matrices);
    let done = multiply_teams(x, op, &mut workspace);
    x.threads.matrices = workspace;
    match done {
        Ok(()) => pc + 1,
        Err((warp, address)) => bad_tile(x, warp, address),
    }
}

/// The products of all teams of warps that are here, or the warp and the address of one that cannot be read.
#[inline(always)]
fn multiply_teams(
    x: &mut Exec<'_>,
    op: &MultiplyMatrices,
    workspace: &mut Workspace,
) -> Result<(), (usize, u32)> {
    let together = usize::from(op.warps);
    let product = x.grid.image.site(op.site);
    for first in (0..x.warps).step_by(together) {
        if x.mask[first] == 0 || together == 1 && product.compute_in_registers(x, first) {
            continue;
        }
        // The warps of a group have the same B.
        let lines = (0, product.n, product.k);
        product
            .factor(x, &product.b, product.config.b, first, lines, &mut workspace.b)
            .map_err(|address| (first, address))?;
        let stored = if product.sparsity.is_some() { product.k / 2 } else { product.k };
        for warp in first..first + together {
            let rank = if together == 1 { 0 } else { warp - first };
            let lines = (rank * product.m, product.m, stored);
            product
                .factor(x, &product.a, product.config.a, warp, lines, &mut workspace.a)
                .map_err(|address| (warp, address))?;
            product.compute(x, warp, workspace);
            product.d.write(&mut x.files, warp, &workspace.d);
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
                let tile = Tile {
                    descriptor: Descriptor::new(bits),
                    transposed,
                    operand,
                    bytes: bytes_of(operand),
                    first_line: first as u32,
                    lines: lines as u32,
                    length: length as u32,
                };
                tile.read(x, elements)?;
            }
        }
        if factor.negated {
            for element in elements {
                *element = operand.negate(*element);
            }
        }
        Ok(())
    }

    /// D of one warp, row by row.
    #[inline(always)]
    fn compute(&self, x: &Exec<'_>, warp: usize, workspace: &mut Workspace) {
        let Workspace { a, b, d, places, met } = workspace;
        let counts =
            self.scale_d.is_none_or(|scale| (x.files.p[scale.index() + warp] ^ scale.flip()) & 1 != 0);
        self.c.read(&x.files, warp, d);
        if !counts {
            d.fill(0);
        }
        let (n, k) = (self.n, self.k);
        let stored = if self.sparsity.is_some() { k / 2 } else { k };
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
            for (column, d) in columns.chunks_exact(stored).zip(d) {
                *d = dot(&self.config, a, column, *d);
            }
        }
    }
}
