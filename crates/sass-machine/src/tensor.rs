//! Copies between shared memory and tensors (PTX ISA, "Tensor copy instructions"); which bytes they move [`machine::tensormap`] says. They are done
//! with their instruction.

use crate::cluster::in_each;
use crate::decode::updating_in_bulk;
use crate::fault::FaultKind;
use crate::mbarrier::Completion;
use crate::memory::Reach;
use crate::registers::Registers;
use crate::step::{Tensor, Update};
use crate::touched::{Memory, Touched, Way};
use machine::memory::Buffers;
use machine::tensormap::{BYTES, DataType, Direction, MAX_RANK, Mode, Run, Start, Swizzle, TensorMap, Walk};
use numerics::convert::f32_to_tf32;
use numerics::rounding::Rn;

/// Bytes that stay neighbours in shared memory.
const PIECE: u64 = 16;

fn illegal(why: String) -> FaultKind {
    FaultKind::Object(why)
}

/// The modifiers of a reduction of elements of a type.
fn kind(ty: DataType) -> Option<&'static [&'static str]> {
    Some(match ty {
        DataType::U32 => &[],
        DataType::S32 => &["S32"],
        DataType::U64 => &["U64"],
        DataType::S64 => &["S64"],
        DataType::F16 => &["F16", "RN"],
        DataType::Bf16 => &["BF16", "RN"],
        DataType::F32 | DataType::Tf32 => &["F32", "RN"],
        DataType::F32Ftz | DataType::Tf32Ftz => &["F32", "FTZ", "RN"],
        DataType::F64 => &["F64", "RN"],
        _ => return None,
    })
}

/// Where a copy begins: coordinates stand behind the place in shared memory, and behind the object if there is one.
fn start(registers: &Registers, tensor: &Tensor) -> Start {
    let first = tensor.shared + if tensor.direction == Direction::Load { 2 } else { 1 };
    let mut coordinates = [0; MAX_RANK];
    for (axis, place) in coordinates.iter_mut().enumerate().take(tensor.rank) {
        *place = registers.uniform(first.saturating_add(axis as u8)) as i32;
    }
    let bits = match tensor.rank {
        0..=3 => 16,
        4 => 8,
        _ => 5,
    };
    let mut offsets = [0; MAX_RANK - 2];
    if let (Some(window), Mode::Im2col) = (tensor.window, tensor.mode) {
        let word = registers.uniform(window) & 0xffff;
        for (axis, offset) in offsets.iter_mut().enumerate().take(tensor.rank.saturating_sub(2)) {
            *offset = (word >> (bits * axis as u32) & ((1 << bits) - 1)) as u16;
        }
    }
    Start { rank: tensor.rank, mode: tensor.mode, coordinates, offsets }
}

/// The map that it goes by.
fn map(registers: &Registers, tensor: &Tensor, global: &dyn Buffers) -> Result<TensorMap, FaultKind> {
    let at = registers.uniform_pair(tensor.map);
    let mut bytes = [0; BYTES];
    let outside = |_| FaultKind::Address { space: "global", address: at, bytes: BYTES as u32 };
    global.read(at, &mut bytes).map_err(outside)?;
    Ok(TensorMap::from_bytes(&bytes))
}

/// Says which global memory it touches; nothing of one that will fault.
pub(crate) fn touches(registers: &Registers, tensor: &Tensor, global: &dyn Buffers, touched: &mut Touched) {
    let Ok(map) = map(registers, tensor, global) else { return };
    let Ok(walk) = map.runs(&start(registers, tensor), tensor.direction) else { return };
    for Run { global, inside, .. } in walk.filter(|run| !run.inside.is_empty()) {
        let (begin, bytes) = (global.wrapping_add(inside.start), inside.end - inside.start);
        match touched.rows.last_mut().filter(|row| row.0 + row.1 == begin) {
            Some(row) => row.1 += bytes,
            None => touched.rows.push((begin, bytes)),
        }
    }
    let way = match tensor.direction {
        Direction::Load => Way::Load,
        Direction::Store if tensor.operation.is_some() => Way::Reduction,
        Direction::Store => Way::Store,
    };
    if let Some(&(begin, _)) = touched.rows.first() {
        touched.begin(way, Memory::Global, 0, 1);
        touched.addresses[0] = begin;
    }
}

/// Carries it out; what is left to do when its bytes have come.
pub(crate) fn perform(
    registers: &Registers,
    tensor: &Tensor,
    reach: &mut Reach<'_>,
) -> Result<Vec<Completion>, FaultKind> {
    let map = map(registers, tensor, reach.global)?;
    let walk = map.runs(&start(registers, tensor), tensor.direction).map_err(illegal)?;
    let ty = map.data_type().ok_or_else(|| illegal("a tensor map of no type".to_owned()))?;
    use Swizzle::{Bytes32, Bytes64, Bytes128, None as Plain};
    if ty.bits() < 8 || !matches!(map.swizzle(), Plain | Bytes32 | Bytes64 | Bytes128) {
        return Err(illegal("the tensor map's elements or chunks are none that sm_90 has".to_owned()));
    }
    let update = match tensor.operation {
        None => None,
        Some(operation) => {
            let found = kind(ty).and_then(|kind| updating_in_bulk(operation, kind));
            Some(found.ok_or_else(|| illegal(format!("no reduction {operation} of {}", ty.name())))?)
        }
    };
    let tile = u64::from(registers.uniform(tensor.shared));
    let mbarrier = u64::from(registers.uniform(tensor.shared.saturating_add(1)));
    let total = walk.bytes();
    let mask = tensor.window.filter(|_| tensor.many).map(|window| (registers.uniform(window) >> 16) as u16);
    // The whole tile first, so that no map makes a copy longer than shared memory.
    for place in [tile, tile + walk.footprint().saturating_sub(1)] {
        in_shared(reach, place, &mut [0], false)?;
    }
    match tensor.direction {
        Direction::Load => load(&map, walk, (tile, mask), reach)?,
        Direction::Store => store(&map, walk, tile, update.as_ref(), reach)?,
    }
    let told = in_each(mbarrier, mask).filter(|_| tensor.direction == Direction::Load);
    Ok(told.map(|mbarrier| Completion::of(mbarrier, total)).collect())
}

/// Copies bytes of shared memory, there or from there.
fn in_shared(reach: &mut Reach<'_>, address: u64, bytes: &mut [u8], there: bool) -> Result<(), FaultKind> {
    let count = bytes.len();
    reach.shared_at(address, |shared, at| {
        let row = usize::try_from(at).ok().and_then(|at| shared.get_mut(at..)?.get_mut(..count));
        let row = row.ok_or(FaultKind::Address { space: "shared", address, bytes: count as u32 })?;
        if there {
            row.copy_from_slice(bytes);
        } else {
            bytes.copy_from_slice(row);
        }
        Ok(())
    })?
}

/// The pieces of a run: where each begins, and how long it is.
fn pieces(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes).step_by(PIECE as usize).map(move |start| (start, PIECE.min(bytes - start)))
}

fn outside(address: u64) -> FaultKind {
    FaultKind::Address { space: "global", address, bytes: PIECE as u32 }
}

fn load(
    map: &TensorMap,
    walk: Walk,
    (tile, mask): (u64, Option<u16>),
    reach: &mut Reach<'_>,
) -> Result<(), FaultKind> {
    let pattern = map.fill().pattern();
    let rounds = map.data_type().is_some_and(DataType::is_tf32);
    let bytes = walk.run_bytes();
    for Run { global, shared, inside, .. } in walk {
        for (start, count) in pieces(bytes) {
            let mut piece: [u8; PIECE as usize] = std::array::from_fn(|at| pattern[at % 2]);
            let (first, end) = (inside.start.max(start), inside.end.min(start + count));
            if first < end {
                let part = &mut piece[(first - start) as usize..(end - start) as usize];
                let from = global.wrapping_add(first);
                reach.global.read(from, part).map_err(|_| outside(from))?;
                if rounds {
                    for word in part.as_chunks_mut::<4>().0 {
                        *word = f32_to_tf32::<Rn, false, false>(u32::from_le_bytes(*word)).to_le_bytes();
                    }
                }
            }
            let to = map.swizzle().permute(tile + shared + start);
            for to in in_each(to, mask) {
                in_shared(reach, to, &mut piece[..count as usize], true)?;
            }
        }
    }
    Ok(())
}

fn store(
    map: &TensorMap,
    walk: Walk,
    tile: u64,
    update: Option<&(Update, u8)>,
    reach: &mut Reach<'_>,
) -> Result<(), FaultKind> {
    let bytes = walk.run_bytes();
    for Run { global, shared, inside, padded } in walk {
        for (start, count) in pieces(bytes) {
            let (first, end) = (inside.start.max(start), inside.end.min(start + count));
            let last = padded.min(start + count);
            if first >= last {
                continue;
            }
            let mut piece = [0; PIECE as usize];
            let from = map.swizzle().permute(tile + shared + start);
            in_shared(reach, from, &mut piece[..count as usize], false)?;
            let part = |from: u64, to: u64| (from - start) as usize..(to - start) as usize;
            let to = global.wrapping_add(first);
            if first < end {
                let own = &piece[part(first, end)];
                let mut new = own.to_vec();
                if update.is_some() {
                    reach.global.read(to, &mut new).map_err(|_| outside(to))?;
                }
                crate::bulk::combine(update, &mut new, own);
                reach.global.write(to, &new).map_err(|_| outside(to))?;
            }
            let rest = first.max(end)..last;
            if update.is_none() && !rest.is_empty() {
                // The rest of the last chunk, where there is memory at all.
                let _ =
                    reach.global.write(global.wrapping_add(rest.start), &piece[part(rest.start, rest.end)]);
            }
        }
    }
    Ok(())
}
