//! Matrix instructions: `ldmatrix`, `stmatrix`, `movmatrix`, `wmma`, `mma`, `wgmma` (PTX ISA, "Warp Level Matrix
//! Multiply-Accumulate Instructions", "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions").
//!
//! | file | what it knows |
//! | --- | --- |
//! | `product` | `D = A * B + C` of a warp |
//! | `lanes` | the same with all lanes side by side, for the types that most kernels use |
//! | `tile` | factors in shared memory |
//! | `transfer` | matrices between registers and memory |
//!
//! How matrices lie in registers and in memory, [`crate::matrix`] knows; what one element of D is, `numerics::tensor`.
//!
//! `wgmma` multiplies when it is executed, which is when it is issued unless somebody asks otherwise
//! ([`crate::asynchrony`]). Its four warps meet first, so that none of them goes on to overwrite what
//! another has yet to read; beyond that each computes its own 16 rows of D.

pub(crate) mod lanes;
pub(crate) mod product;
mod tile;
pub(crate) mod transfer;

use crate::exec::{Exec, event};
use crate::fault::Trap;
use crate::lanes::EMPTY;

/// Checks that all lanes of every team of `together` warps are here. `Some` is what the operation must return instead
/// of going on: [`event::CONVERGE`], with the teams that are complete in [`Exec::taken`], or a fault.
#[inline]
pub(crate) fn assemble(x: &mut Exec<'_>, together: usize) -> Option<u32> {
    let all_here = (0..x.warps).all(|warp| x.mask[warp] == !0 && x.threads.live[warp] == !0);
    if all_here && x.warps.is_multiple_of(together) {
        x.taken = EMPTY;
        x.taken[..x.warps].fill(!0);
        return None;
    }
    assemble_some(x, together)
}

/// The same where some lanes are not here.
#[cold]
fn assemble_some(x: &mut Exec<'_>, together: usize) -> Option<u32> {
    let mut complete = EMPTY;
    let mut waits = false;
    for first in (0..x.warps).step_by(together) {
        let team = first..first + together;
        let mask = |warp: usize| if warp < x.warps { x.mask[warp] } else { 0 };
        let Some(here) = team.clone().find(|&warp| mask(warp) != 0) else { continue };
        for warp in team.clone() {
            let live = if warp < x.warps { x.threads.live[warp] } else { 0 };
            if live != !0 {
                let lane = x.mask[here].trailing_zeros() as usize;
                let why = format!(
                    "a matrix instruction needs all lanes of {}, but lane {} of warp {} has exited or never was",
                    if together == 1 { "its warp" } else { "the four warps of its warpgroup" },
                    live.trailing_ones(),
                    x.threads.first_warp as usize + warp,
                );
                return Some(x.raise(here, lane, Trap::InvalidBarrier(why)));
            }
        }
        match team.clone().all(|warp| mask(warp) == !0) {
            true => complete[team].fill(!0),
            false => waits = true,
        }
    }
    x.taken = complete;
    waits.then_some(event::CONVERGE)
}
