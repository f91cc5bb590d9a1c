//! Asynchronous copies of a few bytes (PTX ISA, "cp.async"). They are done when they are executed.

use super::address::{Global, Shared, Space, addresses};
use super::order::{LANE_BY_LANE, in_store_order};
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::image::copy::AsyncCopy;
use crate::lanes::LANES;
use crate::memory::SHARED_WINDOW;
use crate::observe::Happening;
use crate::operation::kinds::CopyAsync;

/// `cp.async`.
pub(crate) fn copy(x: &mut Exec<'_>, op: &CopyAsync, pc: u32) -> u32 {
    let &AsyncCopy { target, size, read, in_turn } = x.grid.image.site(op.site);
    let order = if in_turn { LANE_BY_LANE } else { u64::from(size) };
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let to = addresses(x, target, warp).lanes();
        let from = addresses(x, op.source, warp).lanes();
        let read =
            read.map_or([size; LANES], |read| x.files.w[read.index() + warp].0.map(|bytes| bytes.min(size)));
        if x.grid.observer.is_some() {
            tell(x, pc, warp, (&to, size, &read));
        }
        for l in in_store_order(x.mask[warp], order) {
            if let Err(trap) = copy_bytes(x, (warp, l), [to[l], from[l]], size.into(), read[l].into()) {
                return x.raise(warp, l, trap);
            }
        }
    }
    pc + 1
}

/// Copies what is read, and zeros behind it.
fn copy_bytes(
    x: &mut Exec<'_>,
    (warp, lane): (usize, usize),
    [to, from]: [u64; 2],
    size: u64,
    read: u64,
) -> Result<(), Trap> {
    if let Some(&address) = [to, from].iter().find(|address| !address.is_multiple_of(size)) {
        return Err(Trap::MisalignedAddress { address, bytes: size, access: Access::Load });
    }
    for byte in 0..size {
        let value = match byte < read {
            true => Global::load::<u8>(x, warp, lane, from + byte),
            false => Some(0),
        };
        let value = value.ok_or_else(|| x.bad_access(from, size, Access::Load))?;
        if Shared::store::<u8>(x, warp, lane, to + byte, value).is_none() {
            return Err(x.bad_access(SHARED_WINDOW + to, size, Access::Store));
        }
    }
    Ok(())
}

#[cold]
fn tell(x: &Exec<'_>, pc: u32, warp: usize, (to, bytes, read): (&[u64; LANES], u32, &[u32; LANES])) {
    let to = to.map(|address| address.wrapping_add(SHARED_WINDOW));
    let lanes = x.lanes_at(pc, warp, x.mask[warp]);
    x.tell(|_| Happening::CopiedAsync { lanes, to: &to, bytes, read });
}
