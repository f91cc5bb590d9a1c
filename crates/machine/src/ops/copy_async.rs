//! Asynchronous copies of a few bytes (PTX ISA, "cp.async"). They are done when they are issued.

use super::address::{Global, Shared, Space, addresses};
use super::order::in_store_order;
use super::{NONE, Op};
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::lanes::LANES;
use crate::memory::SHARED_WINDOW;
use crate::observe::Happening;

/// `cp.async`: the list at `d` holds the destination's address operand (index, kind, offset low and high), `a`, `y` and
/// `imm` the source's; `c` is the size, plane `b` the bytes to read ([`NONE`]: all), `x` what orders the lanes: a copy
/// that goes past the L1 cache (`.cg`) writes as a store does, one that goes through it (`.ca`) lane by lane, as on an
/// H200.
pub(crate) fn copy(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let list: [u32; 4] = std::array::from_fn(|i| x.grid.image.lists[op.d as usize + i]);
    let imm = u64::from(list[2]) | u64::from(list[3]) << 32;
    let target = Op { a: list[0], y: list[1], imm, ..*op };
    let size = u64::from(op.c);
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let to = addresses(x, &target, warp).lanes();
        let from = addresses(x, op, warp).lanes();
        if x.grid.observer.is_some() {
            tell(x, op, pc, warp, &to);
        }
        for l in in_store_order(x.mask[warp], u64::from(op.x)) {
            let read = match op.b {
                NONE => size,
                plane => size.min(u64::from(x.files.w[plane as usize + warp].0[l])),
            };
            if let Err(trap) = copy_bytes(x, (warp, l), [to[l], from[l]], size, read) {
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
fn tell(x: &Exec<'_>, op: &Op, pc: u32, warp: usize, to: &[u64; LANES]) {
    let read = match op.b {
        NONE => [op.c; LANES],
        plane => x.files.w[plane as usize + warp].0.map(|bytes| bytes.min(op.c)),
    };
    let to = to.map(|address| address.wrapping_add(SHARED_WINDOW));
    let lanes = x.lanes_at(pc, warp, x.mask[warp]);
    x.tell(|_| Happening::CopiedAsync { lanes, to: &to, bytes: op.c, read: &read });
}
