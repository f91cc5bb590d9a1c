//! Addresses between the state spaces (PTX ISA, "isspacep", "cvta", "mapa", "getctarank").

use crate::exec::{Exec, Resolved, resolve};
use crate::lanes::LANES;
use crate::memory::{RANK_SHIFT, SHARED_WINDOW};
use crate::operation::kinds::IsInSpace;
use ir::lane_function;
use ir::operand::Space;

/// Whether a generic address is in a state space. An H200 asks likewise: constant is what lies in the module's own
/// constant variables, and global all that is neither constant nor in a window of the hardware. Kernel parameters are
/// in no such window.
fn has(x: &Exec<'_>, space: Space, address: u64) -> bool {
    match (resolve(address), space) {
        (Resolved::Global(address), Space::Const) => x.grid.is_constant(address),
        (Resolved::Global(address), Space::Global) => address < SHARED_WINDOW && !x.grid.is_constant(address),
        (Resolved::Shared(address), Space::Shared | Space::SharedCta) => {
            address >> RANK_SHIFT == x.shared_base >> RANK_SHIFT
        }
        (Resolved::Shared(_), Space::SharedCluster) | (Resolved::Local(_), Space::Local) => true,
        (Resolved::Param(_), Space::Param | Space::ParamEntry | Space::ParamFunc | Space::Global) => true,
        _ => false,
    }
}

/// [`IsInSpace`].
pub(crate) fn is_in_space(x: &mut Exec<'_>, op: &IsInSpace, pc: u32) -> u32 {
    for warp in 0..x.warps {
        let a = &x.files.d[op.a.index() + warp].0;
        let truth = (0..LANES).fold(0, |mask, l| mask | u32::from(has(x, op.space, a[l])) << l);
        x.files.write_predicate(op.d, warp, x.mask[warp], truth);
    }
    pc + 1
}

// A generic address is the address in its state space plus the space's window.
lane_function!(pub(crate) Relocate: Binary(a: u64, window: u64) -> u64 { a.wrapping_add(window) });

/// The bits of an address of shared memory that hold the rank, as `mapa` and `getctarank` take them on an H200: without a
/// look at the rest, or at how many CTAs the cluster has.
const RANK: u64 = 0xff << RANK_SHIFT;

// `mapa`: the address of the same place in the CTA with another rank.
lane_function!(pub(crate) Map32: Binary(a: u32, rank: u32) -> u32 { a & !(RANK as u32) | rank << RANK_SHIFT });
lane_function!(pub(crate) Map64: Binary(a: u64, rank: u32) -> u64 {
    a & !RANK | u64::from(rank & 0xff) << RANK_SHIFT
});

// `getctarank`.
lane_function!(pub(crate) Rank32: Unary(a: u32) -> u32 { a >> RANK_SHIFT });
lane_function!(pub(crate) Rank64: Unary(a: u64) -> u32 { (a & RANK) as u32 >> RANK_SHIFT });
