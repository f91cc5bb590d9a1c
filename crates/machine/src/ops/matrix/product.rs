//! `mma`, `wmma.mma` and `wgmma.mma_async`: `D = A * B + C`.

use super::assemble;
use crate::exec::Exec;
use crate::fault::Access;
use crate::image::Function;
use crate::image::matrix::{Factor, Place, Product};
use crate::lanes::simd::{Level, Simd};
use crate::matrix::descriptor::Descriptor;
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
    /// The elements line by line, or the address that is not valid.
    fn read(&self, x: &Exec<'_>) -> Result<Vec<Element>, u32> {
        let mut elements = vec![self.operand.decode(0); (self.lines * self.length) as usize];
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
        Ok(elements)
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
    let together = usize::from(op.warps);
    if let Some(next) = assemble(x, together) {
        return next;
    }
    let product = x.grid.image.site(op.site);
    for first in (0..x.warps).step_by(together) {
        if x.mask[first] == 0 || together == 1 && product.compute_in_registers(x, first) {
            continue;
        }
        // The warps of a group have the same B.
        let b = match product.factor(x, &product.b, product.config.b, first, (0, product.n, product.k)) {
            Ok(b) => b,
            Err(address) => return bad_tile(x, first, address),
        };
        let stored = if product.sparsity.is_some() { product.k / 2 } else { product.k };
        for warp in first..first + together {
            let rank = if together == 1 { 0 } else { warp - first };
            let lines = (rank * product.m, product.m, stored);
            let a = match product.factor(x, &product.a, product.config.a, warp, lines) {
                Ok(a) => a,
                Err(address) => return bad_tile(x, warp, address),
            };
            let d = product.compute(x, warp, &a, &b);
            product.d.write(&mut x.files, warp, &d);
        }
    }
    pc + 1
}

#[cold]
fn bad_tile(x: &mut Exec<'_>, warp: usize, address: u32) -> u32 {
    let trap = x.bad_access(SHARED_WINDOW + u64::from(address), 16, Access::Load);
    x.raise(warp, 0, trap)
}

impl Product {
    /// The elements of a factor, line by line: `lines` of them from `first` on, of `length` elements.
    fn factor(
        &self,
        x: &Exec<'_>,
        factor: &Factor,
        operand: Operand,
        warp: usize,
        (first, lines, length): (usize, usize, usize),
    ) -> Result<Vec<Element>, u32> {
        let mut elements = match factor.place {
            Place::Registers(ref fragment) => fragment.decode(&x.files, warp, operand),
            Place::Shared { descriptor, transposed } => {
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
                tile.read(x)?
            }
        };
        if factor.negated {
            for element in &mut elements {
                *element = operand.negate(*element);
            }
        }
        Ok(elements)
    }

    /// D of one warp, row by row.
    #[inline(always)]
    fn compute(&self, x: &Exec<'_>, warp: usize, a: &[Element], b: &[Element]) -> Vec<u64> {
        let mut matrix = match self.scale_d {
            Some(condition) => {
                let holds = (x.files.p[condition.index() + warp] ^ condition.flip()) & 1 != 0;
                if holds { self.c.read(&x.files, warp) } else { vec![0; self.c.len()] }
            }
            None => self.c.read(&x.files, warp),
        };
        let (n, k) = (self.n, self.k);
        let stored = if self.sparsity.is_some() { k / 2 } else { k };
        let (mut places, mut met) = (vec![0; stored], Vec::new());
        for (row, (a, d)) in a.chunks_exact(stored).zip(matrix.chunks_exact_mut(n)).enumerate() {
            // Products that are computed side by side have columns of their own.
            let mut columns = &b[row / self.m * n * k..][..n * k];
            if let Some(sparsity) = &self.sparsity {
                sparsity.places(&x.files, warp, row, &mut places);
                met.clear();
                for column in columns.chunks_exact(k) {
                    for &place in &places {
                        met.push(column[place as usize]);
                    }
                }
                columns = &met;
            }
            for (column, d) in columns.chunks_exact(stored).zip(d) {
                *d = dot(&self.config, a, column, *d);
            }
        }
        matrix
    }
}
