//! Tensor copies (PTX ISA, "Tensor copy instructions" of "Asynchronous copy": cp.async.bulk.tensor,
//! cp.reduce.async.bulk.tensor and their prefetch); which bytes they move is in [`crate::tensormap`].
//!
//! Like bulk copies they are done when they are executed. What a map or a coordinate must not be is refused as an illegal
//! instruction, which is what an H200 reports.

use super::address::lane_address;
use super::bulk::{aligned, complete, copy_in_turn, in_ranks, mask_of, tensor_map};
use super::combine;
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::image::copy::{Action, End, Reduction, TensorCopy};
use crate::memory::SHARED_WINDOW;
use crate::operation::kinds::CopyTensor;
use crate::tensormap::{DataType, Direction, Fill, MAX_RANK, Run, Start, Swizzle, TensorMap, Walk};
use ir::instruction::AtomOp;
use numerics::convert::f32_to_tf32;
use numerics::rounding::Rn;
use ptx::types::ScalarType;

/// What tensor maps are aligned to where copies find them.
const MAP_ALIGNMENT: u64 = 64;

/// What tiles in shared memory are aligned to.
const TILE_ALIGNMENT: u64 = 128;

/// Bytes that are moved at a time without swizzling.
const PIECE: u64 = 1024;

/// A tensor copy.
pub(crate) fn tensor(x: &mut Exec<'_>, op: &CopyTensor, pc: u32) -> u32 {
    let copy = *x.grid.image.site(op.site);
    copy_in_turn(x, pc, |x, warp, lane| copy.execute(x, warp, lane))
}

impl TensorCopy {
    fn execute(&self, x: &mut Exec<'_>, warp: usize, lane: usize) -> Result<(), Trap> {
        let map_address = x.files.d[self.map.index() + warp].0[lane];
        aligned("tensor map", map_address, MAP_ALIGNMENT)?;
        let map = tensor_map(x, warp, lane, map_address)?;
        let direction = match self.action {
            Action::Load | Action::Prefetch => Direction::Load,
            Action::Store | Action::Reduce(_) => Direction::Store,
        };
        let illegal = |why: String| Trap::IllegalInstruction(why);
        let walk = map.walk(&self.start(x, warp, lane), direction).map_err(|why| illegal(why.to_string()))?;
        let how = match self.action {
            Action::Reduce(by) => Some(reduction(&map, by).ok_or_else(|| illegal(no_reduction(&map, by)))?),
            Action::Load | Action::Store | Action::Prefetch => None,
        };
        let Some(tile) = self.tile else { return Ok(()) };
        let tile = lane_address(x, tile, warp, lane);
        aligned("shared memory operand", tile, TILE_ALIGNMENT)?;
        let barrier = self.barrier.map(|barrier| lane_address(x, barrier, warp, lane));
        if let Some(barrier) = barrier {
            aligned("mbarrier", barrier, 8)?;
        }
        let mask = mask_of(x, self.ranks.map(|ranks| ranks.mask), warp, lane);
        let by_pairs = self.ranks.is_some_and(|ranks| ranks.by_pairs);
        // The whole tile first, so that no map makes a copy longer than shared memory.
        let last = tile + walk.footprint() - 1;
        let access = if direction == Direction::Load { Access::Store } else { Access::Load };
        for tile in [tile, last] {
            if !End::Shared.is_there(x, tile) {
                return Err(x.bad_access(SHARED_WINDOW.wrapping_add(tile), 1, access));
            }
        }
        let bytes = walk.bytes();
        let packed = map.data_type().map_or(16, DataType::packed);
        let side = Side { tile, mask, swizzle: map.swizzle(), packed };
        match direction {
            Direction::Load => side.load(x, &map, walk)?,
            Direction::Store => side.store(x, walk, how.as_ref())?,
        }
        barrier.map_or(Ok(()), |barrier| complete(x, (warp, lane), barrier, (mask, by_pairs), bytes))
    }

    fn start(&self, x: &Exec<'_>, warp: usize, lane: usize) -> Start {
        let mut start =
            Start { rank: self.rank, mode: self.mode, coordinates: [0; MAX_RANK], offsets: [0; 3] };
        for (to, plane) in start.coordinates.iter_mut().zip(self.coordinates.into_iter().flatten()) {
            *to = x.files.w[plane.index() + warp].0[lane] as i32;
        }
        for (to, plane) in start.offsets.iter_mut().zip(self.offsets.into_iter().flatten()) {
            *to = x.files.h[plane.index() + warp].0[lane];
        }
        start
    }
}

/// The shared side of a copy.
struct Side {
    tile: u64,
    mask: Option<u16>,
    swizzle: Swizzle,
    /// Of 16 bytes there so many are of the tensor.
    packed: u64,
}

impl Side {
    /// Bytes that stay neighbours.
    fn piece(&self) -> u64 {
        match self.packed {
            16 => self.swizzle.chunk().unwrap_or(PIECE),
            // A half of a chunk, or a part of one that does not end in another half.
            8 => 8,
            _ => 4,
        }
    }

    /// The pieces of a run: where each starts in the run, and its length.
    fn pieces(&self, run_bytes: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let piece = self.piece();
        (0..run_bytes).step_by(piece as usize).map(move |start| (start, piece.min(run_bytes - start)))
    }

    fn at(&self, run: &Run, start: u64) -> u64 {
        let start = start / self.packed * 16 + start % self.packed;
        self.swizzle.permute(self.tile + run.shared + start)
    }

    fn load(&self, x: &mut Exec<'_>, map: &TensorMap, walk: Walk) -> Result<(), Trap> {
        let fill = map.fill();
        let round = map.data_type().is_some_and(DataType::is_tf32);
        let mut buffer = [0; PIECE as usize];
        let run_bytes = walk.run_bytes();
        for run in walk {
            for (start, count) in self.pieces(run_bytes) {
                let piece = &mut buffer[..count as usize];
                let (first, end) = (run.inside.start.max(start), run.inside.end.min(start + count));
                if first > start || end < start + count {
                    fill_with(fill, piece);
                }
                if first < end {
                    let inside = &mut piece[(first - start) as usize..(end - start) as usize];
                    End::Global.read(x, run.global.wrapping_add(first), inside)?;
                    if round {
                        round_to_tf32(inside);
                    }
                }
                let to = self.at(&run, start);
                match self.mask {
                    None => End::Shared.write(x, to, piece)?,
                    Some(mask) => {
                        for to in in_ranks(mask, to) {
                            End::Shared.write(x, to, piece)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn store(&self, x: &mut Exec<'_>, walk: Walk, how: Option<&Reduction>) -> Result<(), Trap> {
        let mut buffer = [0; PIECE as usize];
        let run_bytes = walk.run_bytes();
        for run in walk {
            for (start, count) in self.pieces(run_bytes) {
                let (first, end) = (run.inside.start.max(start), run.inside.end.min(start + count));
                if first >= run.padded.min(start + count) {
                    continue;
                }
                let piece = &mut buffer[..count as usize];
                End::Shared.read_by_proxy(x, self.at(&run, start), piece)?;
                let part = |from: u64, to: u64| (from - start) as usize..(to - start) as usize;
                let to = run.global.wrapping_add(first);
                match how {
                    Some(how) if first < end => End::Global.combine(x, to, &piece[part(first, end)], how)?,
                    Some(_) => {}
                    None => {
                        if first < end {
                            End::Global.write(x, to, &piece[part(first, end)])?;
                        }
                        let rest = first.max(end)..run.padded.min(start + count);
                        if !rest.is_empty() {
                            // The rest of the last chunk, where there is memory at all.
                            let to = run.global.wrapping_add(rest.start);
                            let _ = End::Global.write(x, to, &piece[part(rest.start, rest.end)]);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn fill_with(fill: Fill, piece: &mut [u8]) {
    let pattern = fill.pattern();
    for (i, byte) in piece.iter_mut().enumerate() {
        *byte = pattern[i % 2];
    }
}

fn round_to_tf32(bytes: &mut [u8]) {
    for word in bytes.as_chunks_mut::<4>().0 {
        *word = f32_to_tf32::<Rn, false, false>(u32::from_le_bytes(*word)).to_le_bytes();
    }
}

/// The reduction of elements of a map's type, if the hardware has it.
fn reduction(map: &TensorMap, by: AtomOp) -> Option<Reduction> {
    let ty = map.data_type()?;
    let logic = matches!(by, AtomOp::And | AtomOp::Or | AtomOp::Xor);
    let scalar = match ty {
        DataType::U32 => ScalarType::U32,
        DataType::S32 => ScalarType::S32,
        DataType::U64 => ScalarType::U64,
        DataType::S64 if matches!(by, AtomOp::Min | AtomOp::Max) => ScalarType::S64,
        DataType::F16 if !logic => ScalarType::F16,
        DataType::Bf16 if !logic => ScalarType::Bf16,
        DataType::F32 | DataType::F32Ftz | DataType::Tf32 | DataType::Tf32Ftz if by == AtomOp::Add => {
            ScalarType::F32
        }
        DataType::F64 if by == AtomOp::Add => ScalarType::F64,
        _ => return None,
    };
    combine::reduction(by, scalar, matches!(ty, DataType::F32Ftz | DataType::Tf32Ftz))
}

fn no_reduction(map: &TensorMap, by: AtomOp) -> String {
    let ty = map.data_type().map_or("?", DataType::name);
    format!(
        "there is no reduction {} of elements of {ty}, the tensor map's element type",
        by.modifier().text()
    )
}
