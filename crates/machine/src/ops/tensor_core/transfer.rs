//! Tensor memory from and to registers (`tcgen05.ld`, `tcgen05.st`), from shared memory (`tcgen05.cp`), within itself
//! (`tcgen05.shift`).

use super::told::Accesses;
use super::{checked, chunk, group, own_rank, place};
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::image::tensor_core::{Copy, Spread, Transfer};
use crate::lanes::LANES as WARP;
use crate::matrix::packing::Packing;
use crate::memory::SHARED_WINDOW;
use crate::operation::kinds::{LoadTensorMemory, ShiftTensorMemory, StoreTensorMemory};
use crate::ops::matrix::assemble;
use crate::tensor_core::fragment::{cell, lanes};
use crate::tensor_core::memory::{LANES, Place};
use crate::tensor_core::shared::{CHUNK, SharedMatrix};

/// Lanes of tensor memory that one warp of a warpgroup can access.
const QUARTER: u32 = 32;

impl Transfer {
    /// Where the cells of a warp begin, if it may access all of them.
    fn begin(&self, x: &Exec<'_>, what: &str, warp: usize) -> Result<Place, Trap> {
        let at = place(x, self.address, warp, 0);
        let first = (x.threads.first_warp + warp as u32) % 4 * QUARTER;
        if at.lane < first || at.lane + lanes(self.shape) > first + QUARTER {
            return Err(Trap::IllegalInstruction(format!(
                "{what}: lane {} of tensor memory, of which this warp has the lanes {first} to {}",
                at.lane,
                first + QUARTER - 1
            )));
        }
        let last = (0..WARP as u32).map(|lane| self.cell(lane, self.planes.count - 1).1).max().unwrap_or(0);
        checked(x, own_rank(x), what, at, (lanes(self.shape), last + self.step()))?;
        Ok(at)
    }

    /// Tells what a warp accesses of the cells from a place on.
    fn tell(&self, x: &Exec<'_>, pc: u32, (warp, at): (usize, Place), access: Access) {
        let mut told = Accesses::new(x);
        if !told.is_watched() {
            return;
        }
        for (register, lane) in (0..self.planes.count).flat_map(|r| (0..WARP as u32).map(move |l| (r, l))) {
            let (line, column) = self.cell(lane, register);
            let cell = Place { lane: at.lane + line, column: at.column + column };
            told.tensor(own_rank(x), cell, self.step(), access);
        }
        told.tell(x, pc, warp, x.mask[warp]);
    }

    /// Columns that a register is of.
    fn step(&self) -> u32 {
        if self.packed { 2 } else { 1 }
    }

    /// The lane and the first column, counted from the address, of a register.
    fn cell(&self, lane: u32, register: u32) -> (u32, u32) {
        let (line, column) = cell(self.shape, lane, register, self.half / self.step());
        (line, column * self.step())
    }
}

/// `tcgen05.ld`.
pub(crate) fn load(x: &mut Exec<'_>, op: &LoadTensorMemory, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    let transfer = *x.grid.image.site(op.site);
    let own = own_rank(x);
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let at = match transfer.begin(x, "tcgen05.ld", warp) {
            Ok(at) => at,
            Err(trap) => return x.raise(warp, 0, trap),
        };
        transfer.tell(x, pc, (warp, at), Access::Load);
        for (register, plane) in (0..).zip(x.grid.image.planes(transfer.planes)) {
            let Some(plane) = plane else { continue };
            for lane in 0..WARP {
                let (line, column) = transfer.cell(lane as u32, register);
                let word = |i| x.tensor[own].word(at.lane + line, at.column + column + i);
                let value = if transfer.packed { word(0) & 0xffff | word(1) << 16 } else { word(0) };
                x.files.w[plane.index() + warp].0[lane] = value;
            }
        }
    }
    pc + 1
}

/// `tcgen05.st`.
pub(crate) fn store(x: &mut Exec<'_>, op: &StoreTensorMemory, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    let transfer = *x.grid.image.site(op.site);
    let own = own_rank(x);
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let at = match transfer.begin(x, "tcgen05.st", warp) {
            Ok(at) => at,
            Err(trap) => return x.raise(warp, 0, trap),
        };
        transfer.tell(x, pc, (warp, at), Access::Store);
        for (register, plane) in (0..).zip(x.grid.image.planes(transfer.planes)) {
            let Some(plane) = plane else { continue };
            for lane in 0..WARP {
                let value = x.files.w[plane.index() + warp].0[lane];
                let (line, column) = transfer.cell(lane as u32, register);
                let (line, column) = (at.lane + line, at.column + column);
                let memory = &mut x.tensor[own];
                match transfer.packed {
                    true => {
                        *memory.word_mut(line, column) = value & 0xffff;
                        *memory.word_mut(line, column + 1) = value >> 16;
                    }
                    false => *memory.word_mut(line, column) = value,
                }
            }
        }
    }
    pc + 1
}

impl Copy {
    /// Copies rows of the shared memory of each CTA of the group to its tensor memory.
    pub(super) fn perform(
        &self,
        x: &mut Exec<'_>,
        (warp, lane): (usize, usize),
        told: &mut Accesses,
    ) -> Result<(), Trap> {
        let at = place(x, self.address, warp, lane);
        let descriptor = x.files.d[self.descriptor.index() + warp].0[lane];
        let matrix = SharedMatrix::new(descriptor)
            .map_err(|why| Trap::IllegalInstruction(format!("tcgen05.cp: a descriptor with {why}")))?;
        let columns = self.chunks * 4;
        let spread = if self.spread == Spread::Quarters { 3 * QUARTER + 1 } else { LANES as u32 };
        for rank in group(x, self.ctas)? {
            checked(x, rank, "tcgen05.cp", at, (spread, columns))?;
            for row in 0..self.rows {
                for part in 0..self.chunks {
                    let address = matrix.k_major(row, part * CHUNK);
                    told.read_shared(rank, address, CHUNK.into());
                    let bytes = chunk(x, rank, address).map_err(|address| {
                        x.bad_access(SHARED_WINDOW + u64::from(address), 16, Access::Load)
                    })?;
                    let mut bytes = self.packing.unpack(bytes);
                    if self.packing == Packing::FourBits {
                        // As products want them: in the middle of a byte.
                        bytes = bytes.map(|byte| byte << 2);
                    }
                    for (i, word) in (0..).zip(bytes.as_chunks::<4>().0) {
                        let column = at.column + part * 4 + i;
                        for line in self.lanes(row) {
                            let cell = Place { lane: at.lane + line, column };
                            told.tensor(rank, cell, 1, Access::Store);
                            *x.tensor[rank].word_mut(at.lane + line, column) = u32::from_le_bytes(*word);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The lanes that a row goes to.
    fn lanes(&self, row: u32) -> impl Iterator<Item = u32> + use<> {
        let (first, step, count) = match self.spread {
            Spread::Lanes => (row, 0, 1),
            Spread::Quarters => (row * QUARTER, 0, 1),
            Spread::All => (row, QUARTER, 4),
            Spread::Alternating => (row, 2 * QUARTER, 2),
            Spread::Neighbouring => (row / QUARTER * 2 * QUARTER + row % QUARTER, QUARTER, 2),
        };
        (0..count).map(move |i| first + i * step)
    }
}

/// Columns that `tcgen05.shift` moves: 256 bits.
const SHIFTED: u32 = 8;

/// `tcgen05.shift.down`: 32 bytes of each lane but the last go to the lane below it in number. The last lane from which
/// something is moved is the one before the end of a quarter; what a quarter's last lane has stays.
pub(super) fn shift(
    x: &mut Exec<'_>,
    op: &ShiftTensorMemory,
    (warp, lane): (usize, usize),
    told: &mut Accesses,
) -> Result<(), Trap> {
    let at = place(x, op.address, warp, lane);
    if !at.lane.is_multiple_of(QUARTER) {
        return Err(Trap::IllegalInstruction(format!(
            "tcgen05.shift: lane {} is no multiple of {QUARTER}",
            at.lane
        )));
    }
    for rank in group(x, u32::from(op.ctas))? {
        checked(x, rank, "tcgen05.shift", at, (QUARTER, SHIFTED))?;
        for line in at.lane..at.lane + QUARTER {
            let access = if line + 1 < at.lane + QUARTER { Access::Store } else { Access::Load };
            told.tensor(rank, Place { lane: line, ..at }, SHIFTED, access);
        }
        for column in at.column..at.column + SHIFTED {
            for line in at.lane..at.lane + QUARTER - 1 {
                *x.tensor[rank].word_mut(line, column) = x.tensor[rank].word(line + 1, column);
            }
        }
    }
    Ok(())
}
