//! Changing tensor maps in memory (PTX ISA, "tensormap.replace").

use super::Op;
use super::address::{Cluster, Generic, Global, Space};
use super::bulk::Pointer;
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::memory::SpaceKind;
use crate::tensormap::{BYTES, Field, TensorMap};

/// A `tensormap.replace`; [`Op::x`] is its index in the image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replacement {
    pub(crate) address: Pointer,
    pub(crate) space: SpaceKind,
    pub(crate) field: Field,
    /// A plane of `bits`.
    pub(crate) value: u32,
    pub(crate) bits: u32,
}

/// `tensormap.replace`.
pub(crate) fn replace(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let site = x.grid.image.replacements[op.x as usize];
    for (warp, lane) in x.active_lanes() {
        let address = site.address.of(x, op, warp, lane);
        let index = site.value as usize + warp;
        let value = match site.bits {
            32 => u64::from(x.files.w[index].0[lane]),
            _ => x.files.d[index].0[lane],
        };
        let done = match site.space {
            SpaceKind::Global => in_memory::<Global>(x, warp, lane, address, site.field, value),
            SpaceKind::Generic => in_memory::<Generic>(x, warp, lane, address, site.field, value),
            _ => in_memory::<Cluster>(x, warp, lane, address, site.field, value),
        };
        if let Err(trap) = done {
            return x.raise(warp, lane, trap);
        }
    }
    pc + 1
}

/// Replaces a field of the map at an address: the words that hold it are loaded and stored, the others are not touched.
fn in_memory<P: Space>(
    x: &mut Exec<'_>,
    warp: usize,
    lane: usize,
    address: u64,
    field: Field,
    value: u64,
) -> Result<(), Trap> {
    let mut old = [0; BYTES];
    for (i, word) in old.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let at = address.wrapping_add(4 * i as u64);
        let loaded = P::load::<u32>(x, warp, lane, at);
        let bad = || x.bad_access(at.wrapping_add(P::WINDOW), 4, Access::Load);
        *word = loaded.ok_or_else(bad)?.to_le_bytes();
    }
    let mut map = TensorMap::from_bytes(&old);
    map.replace(field, value);
    let new = map.to_bytes();
    let words = old.as_chunks::<4>().0.iter().zip(new.as_chunks::<4>().0);
    for (i, (_, new)) in words.enumerate().filter(|(_, (old, new))| old != new) {
        let at = address.wrapping_add(4 * i as u64);
        if P::store::<u32>(x, warp, lane, at, u32::from_le_bytes(*new)).is_none() {
            return Err(x.bad_access(at.wrapping_add(P::WINDOW), 4, Access::Store));
        }
    }
    Ok(())
}

/// 64-bit plane `d` = plane `a` + `imm`.
pub(crate) fn add(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    for warp in 0..x.warps {
        let mut values = x.files.d[op.a as usize + warp].0;
        for value in &mut values {
            *value = value.wrapping_add(op.imm);
        }
        x.store_plane::<crate::lanes::simd::Baseline, u64>(op.d, warp, values);
    }
    pc + 1
}
