//! Matrices between registers and memory: `ldmatrix`, `stmatrix`, `movmatrix`, `wmma.load` and `wmma.store`.

use super::assemble;
use crate::exec::{Exec, Resolved, resolve};
use crate::fault::{Access, Trap};
use crate::image::matrix::Stored;
use crate::lanes::LANES;
use crate::matrix::packing::{Packing, ROW};
use crate::memory::{Cell, SHARED_WINDOW, SpaceKind};
use crate::operation::Address;
use crate::operation::kinds::{
    LoadMatrix, LoadRows, LoadSquares, StoreColumns, StoreMatrix, StoreRows, TransposeMatrix,
};
use crate::ops::address::{Cluster, Generic, Global, Shared, Space, lane_address};

/// Rows of an 8x8 matrix of 16-bit elements.
const ROWS: usize = 8;
/// Bytes of such a row.
const ROW_BYTES: u64 = 16;

/// The element of an 8x8 matrix, row by row, that a lane holds in half `h` of its register.
fn element(lane: usize, h: usize, transposed: bool) -> usize {
    let (line, along) = (lane / 4, lane % 4 * 2 + h);
    if transposed { along * ROWS + line } else { line * ROWS + along }
}

/// Where in the CTA's shared memory a row begins whose address a lane has.
fn row_offset(x: &Exec<'_>, at: Address, generic: bool, warp: usize, lane: usize) -> Result<u64, u64> {
    let address = lane_address(x, at, warp, lane);
    let shared = match generic {
        false => address,
        true => match resolve(address) {
            Resolved::Shared(shared) => shared,
            _ => return Err(address),
        },
    };
    let offset = shared.wrapping_sub(x.shared_base);
    let inside = offset.checked_add(ROW_BYTES).is_some_and(|end| end <= x.shared.len() as u64);
    let valid = inside && shared.is_multiple_of(ROW_BYTES);
    valid.then_some(offset).ok_or(SHARED_WINDOW.wrapping_add(shared))
}

/// The elements of a row whose address a lane has.
fn row(
    x: &Exec<'_>,
    at: Address,
    generic: bool,
    packing: Packing,
    warp: usize,
    lane: usize,
) -> Result<[u8; ROW], Trap> {
    match row_offset(x, at, generic, warp, lane) {
        Ok(offset) => {
            let mut bytes = [0; ROW];
            bytes.copy_from_slice(&x.shared[offset as usize..][..ROW]);
            Ok(packing.unpack(bytes))
        }
        Err(address) => Err(x.bad_access(address, ROW_BYTES, Access::Load)),
    }
}

/// `ldmatrix` of rows that four lanes have.
pub(crate) fn load_rows(x: &mut Exec<'_>, op: &LoadRows, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    let planes = x.grid.image.planes(op.d);
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        // The addresses may be in a register that is written.
        let mut matrices = [[0u16; ROWS * ROWS]; 4];
        for (i, matrix) in matrices.iter_mut().enumerate().take(planes.len()) {
            for (line, elements) in matrix.chunks_exact_mut(ROWS).enumerate() {
                let lane = i * ROWS + line;
                match row(x, op.address, op.generic, op.packing, warp, lane) {
                    Ok(bytes) => {
                        for (element, bytes) in elements.iter_mut().zip(bytes.chunks_exact(2)) {
                            *element = u16::from_le_bytes([bytes[0], bytes[1]]);
                        }
                    }
                    Err(trap) => return x.raise(warp, lane, trap),
                }
            }
        }
        for (matrix, plane) in matrices.iter().zip(planes) {
            let Some(plane) = plane else { continue };
            let registers = &mut x.files.w[plane.index() + warp].0;
            for (lane, register) in registers.iter_mut().enumerate() {
                let half = |h| u32::from(matrix[element(lane, h, op.transposed)]);
                *register = half(0) | half(1) << 16;
            }
        }
    }
    pc + 1
}

/// `ldmatrix` of 16x16 bytes, transposed: a lane has four bytes of each of two columns, 8 apart. So it was also seen on a GPU of
/// `sm_120` (`fa_fp8pv` in a public repository printed the whole map).
pub(crate) fn load_squares(x: &mut Exec<'_>, op: &LoadSquares, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    let planes = x.grid.image.planes(op.d);
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        // The addresses may be in a register that is written.
        let mut matrices = [[[0; ROW]; ROW]; 2];
        for (lane, line) in matrices.iter_mut().take(planes.len() / 2).flatten().enumerate() {
            match row(x, op.address, op.generic, op.packing, warp, lane) {
                Ok(bytes) => *line = bytes,
                Err(trap) => return x.raise(warp, lane, trap),
            }
        }
        for (matrix, planes) in matrices.iter().zip(planes.chunks_exact(2)) {
            for (half, plane) in planes.iter().enumerate() {
                let Some(plane) = plane else { continue };
                let registers = &mut x.files.w[plane.index() + warp].0;
                for (lane, register) in registers.iter_mut().enumerate() {
                    let (column, first) = (lane / 4 + 8 * half, lane % 4 * 4);
                    *register = u32::from_le_bytes(std::array::from_fn(|b| matrix[first + b][column]));
                }
            }
        }
    }
    pc + 1
}

/// `stmatrix` of 16x8 bytes, transposed: of each two rows a lane has two bytes, 8 apart.
pub(crate) fn store_columns(x: &mut Exec<'_>, op: &StoreColumns, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        for (i, plane) in x.grid.image.planes(op.a).iter().enumerate() {
            let Some(plane) = plane else { continue };
            let mut matrix = [[0; ROW]; ROWS];
            for (lane, register) in x.files.w[plane.index() + warp].0.iter().enumerate() {
                for (b, byte) in register.to_le_bytes().into_iter().enumerate() {
                    matrix[lane % 4 * 2 + b % 2][lane / 4 + 8 * (b / 2)] = byte;
                }
            }
            for (line, bytes) in matrix.iter().enumerate().rev() {
                let lane = i * ROWS + line;
                match row_offset(x, op.address, op.generic, warp, lane) {
                    Ok(offset) => x.shared[offset as usize..][..ROW].copy_from_slice(bytes),
                    Err(address) => {
                        let trap = x.bad_access(address, ROW_BYTES, Access::Store);
                        return x.raise(warp, lane, trap);
                    }
                }
            }
        }
    }
    pc + 1
}

/// The matrix in a register.
fn matrix_of(registers: &[u32; LANES], transposed: bool) -> [u16; ROWS * ROWS] {
    let mut matrix = [0; ROWS * ROWS];
    for (lane, register) in registers.iter().enumerate() {
        matrix[element(lane, 0, transposed)] = *register as u16;
        matrix[element(lane, 1, transposed)] = (register >> 16) as u16;
    }
    matrix
}

/// `stmatrix`. Where rows have one address, the last matrix wins, and in it the
/// first row, as on an H200.
pub(crate) fn store_rows(x: &mut Exec<'_>, op: &StoreRows, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        for (i, plane) in x.grid.image.planes(op.a).iter().enumerate() {
            let Some(plane) = plane else { continue };
            let matrix = matrix_of(&x.files.w[plane.index() + warp].0, op.transposed);
            for (row, elements) in matrix.chunks_exact(ROWS).enumerate().rev() {
                let lane = i * ROWS + row;
                match row_offset(x, op.address, op.generic, warp, lane) {
                    Ok(offset) => {
                        let bytes = &mut x.shared[offset as usize..][..ROW_BYTES as usize];
                        for (bytes, element) in bytes.chunks_exact_mut(2).zip(elements) {
                            bytes.copy_from_slice(&element.to_le_bytes());
                        }
                    }
                    Err(address) => {
                        let trap = x.bad_access(address, ROW_BYTES, Access::Store);
                        return x.raise(warp, lane, trap);
                    }
                }
            }
        }
    }
    pc + 1
}

/// `movmatrix.trans d, a`.
pub(crate) fn transpose(x: &mut Exec<'_>, op: &TransposeMatrix, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let matrix = matrix_of(&x.files.w[op.a.index() + warp].0, false);
        let registers = &mut x.files.w[op.d.index() + warp].0;
        for (lane, register) in registers.iter_mut().enumerate() {
            let half = |h| u32::from(matrix[element(lane, h, true)]);
            *register = half(0) | half(1) << 16;
        }
    }
    pc + 1
}

impl Stored {
    /// Bytes that a lane accesses at once: a unit, where it lies side by side. Its address is a multiple of that.
    fn access(&self) -> u64 {
        let elements = if self.lines_contiguous { self.layout.unit() } else { 1 };
        u64::from(elements * self.bits / 8)
    }

    /// Whether element `i` of a lane is the first of those that are accessed at once, and not aligned to them.
    fn is_misaligned(&self, address: u64, i: u32) -> bool {
        let first = !self.lines_contiguous || i.is_multiple_of(self.layout.unit());
        first && !address.is_multiple_of(self.access())
    }

    /// The address of element `i` of a lane.
    fn address(&self, x: &Exec<'_>, base: Address, (warp, lane): (usize, usize), i: u32) -> u64 {
        let stride = x.files.read(self.stride, warp, lane) as u32;
        let (line, along) = self.layout.line(lane as u32, i % self.layout.elements());
        let (near, far) = if self.lines_contiguous { (along, line) } else { (line, along) };
        let bytes = u64::from(self.bits / 8);
        let offset = u64::from(near) * bytes + u64::from(far) * (u64::from(stride) / self.packed) * bytes;
        lane_address(x, base, warp, lane).wrapping_add(offset)
    }

    /// Elements that a register holds.
    fn held(&self) -> u32 {
        if self.bits == 64 { 1 } else { 32 / self.bits }
    }
}

/// The most registers that a lane has of one matrix.
const MAX_REGISTERS: usize = 8;

/// A cell of a state space that is known only now.
fn load<M: Cell + Into<u64>>(
    space: SpaceKind,
    x: &Exec<'_>,
    (warp, lane): (usize, usize),
    address: u64,
) -> Option<u64> {
    match space {
        SpaceKind::Global => Global::load::<M>(x, warp, lane, address),
        SpaceKind::Shared => Shared::load::<M>(x, warp, lane, address),
        SpaceKind::Cluster => Cluster::load::<M>(x, warp, lane, address),
        SpaceKind::Generic | SpaceKind::Local | SpaceKind::Param => {
            Generic::load::<M>(x, warp, lane, address)
        }
    }
    .map(Into::into)
}

fn store<M: Cell>(
    space: SpaceKind,
    x: &mut Exec<'_>,
    (warp, lane): (usize, usize),
    address: u64,
    value: M,
) -> Option<()> {
    match space {
        SpaceKind::Global => Global::store::<M>(x, warp, lane, address, value),
        SpaceKind::Shared => Shared::store::<M>(x, warp, lane, address, value),
        SpaceKind::Cluster => Cluster::store::<M>(x, warp, lane, address, value),
        SpaceKind::Generic | SpaceKind::Local | SpaceKind::Param => {
            Generic::store::<M>(x, warp, lane, address, value)
        }
    }
}

impl Stored {
    /// Tells of what the lanes of a warp access.
    #[cold]
    fn tell(&self, x: &Exec<'_>, base: Address, (pc, warp): (u32, usize), access: Access) {
        let window = if self.space == SpaceKind::Shared { SHARED_WINDOW } else { 0 };
        let together = self.access() as u32 * 8 / self.bits;
        for i in (0..self.planes.len() as u32 * self.held()).step_by(together as usize) {
            let addresses =
                std::array::from_fn(|lane| self.address(x, base, (warp, lane), i).wrapping_add(window));
            x.tell_access(pc, (warp, !0), &addresses, self.access(), access);
        }
    }
}

/// `wmma.load`.
pub(crate) fn load_matrix(x: &mut Exec<'_>, op: &LoadMatrix, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    let stored = x.grid.image.site(op.site);
    let held = stored.held();
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        if x.grid.observer.is_some() {
            stored.tell(x, op.address, (pc, warp), Access::Load);
        }
        // The address or the stride may be in a register that is written.
        let mut words = [[0u64; LANES]; MAX_REGISTERS];
        for (register, words) in words.iter_mut().enumerate().take(stored.planes.len()) {
            for (lane, word) in words.iter_mut().enumerate() {
                for j in 0..held {
                    let i = register as u32 * held + j;
                    let at = (warp, lane);
                    let address = stored.address(x, op.address, at, i);
                    let bits = match stored.bits {
                        8 => load::<u8>(stored.space, x, at, address),
                        16 => load::<u16>(stored.space, x, at, address),
                        32 => load::<u32>(stored.space, x, at, address),
                        _ => load::<u64>(stored.space, x, at, address),
                    };
                    match bits.filter(|_| !stored.is_misaligned(address, i)) {
                        Some(bits) => *word |= bits << (j * stored.bits),
                        None => return bad(x, stored, at, address, Access::Load),
                    }
                }
            }
        }
        for (words, &plane) in words.iter().zip(&stored.planes) {
            for (lane, &word) in words.iter().enumerate() {
                x.files.write(plane, warp, lane, word);
            }
        }
    }
    pc + 1
}

/// `wmma.store`.
pub(crate) fn store_matrix(x: &mut Exec<'_>, op: &StoreMatrix, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    let stored = x.grid.image.site(op.site);
    let held = stored.held();
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        if x.grid.observer.is_some() {
            stored.tell(x, op.address, (pc, warp), Access::Store);
        }
        for (register, &plane) in stored.planes.iter().enumerate() {
            for lane in 0..LANES {
                let word = x.files.read(plane, warp, lane);
                for j in 0..held {
                    let i = register as u32 * held + j;
                    let at = (warp, lane);
                    let address = stored.address(x, op.address, at, i);
                    let bits = word >> (j * stored.bits);
                    if stored.is_misaligned(address, i) {
                        return bad(x, stored, at, address, Access::Store);
                    }
                    let done = match stored.bits {
                        16 => store(stored.space, x, at, address, bits as u16),
                        32 => store(stored.space, x, at, address, bits as u32),
                        _ => store(stored.space, x, at, address, bits),
                    };
                    if done.is_none() {
                        return bad(x, stored, at, address, Access::Store);
                    }
                }
            }
        }
    }
    pc + 1
}

#[cold]
fn bad(x: &mut Exec<'_>, stored: &Stored, (warp, lane): (usize, usize), address: u64, access: Access) -> u32 {
    let window = if stored.space == SpaceKind::Shared { SHARED_WINDOW } else { 0 };
    let trap = x.bad_access(address.wrapping_add(window), stored.access(), access);
    x.raise(warp, lane, trap)
}
