//! Changing tensor maps in memory (PTX ISA, "tensormap.replace").

use super::address::{Cluster, Generic, Global, Space, lane_address};
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::memory::SpaceKind;
use crate::operation::kinds::ReplaceField;
use crate::tensormap::{BYTES, Field, TensorMap};

/// `tensormap.replace`.
pub(crate) fn replace(x: &mut Exec<'_>, op: &ReplaceField, pc: u32) -> u32 {
    let site = *x.grid.image.site(op.site);
    for (warp, lane) in x.active_lanes() {
        let address = lane_address(x, site.address, warp, lane);
        let value = x.files.read(site.value, warp, lane);
        let done = match site.space {
            SpaceKind::Global => in_memory::<Global>(x, (pc, warp, lane), address, site.field, value),
            SpaceKind::Generic => in_memory::<Generic>(x, (pc, warp, lane), address, site.field, value),
            _ => in_memory::<Cluster>(x, (pc, warp, lane), address, site.field, value),
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
    (pc, warp, lane): (u32, usize, usize),
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
        if x.grid.observer.is_some() {
            x.tell_access_of(pc, (warp, lane), at.wrapping_add(P::WINDOW), 4, Access::Store);
        }
    }
    Ok(())
}
