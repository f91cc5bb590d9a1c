//! Operations between the lanes of a warp: shuffles, votes, matches and reductions (PTX ISA, "Parallel Synchronization
//! and Communication").
//!
//! The `.sync` forms name the lanes that take part. When some of them are elsewhere the operation asks the run loop to
//! bring them here ([`event::CONVERGE`]); lanes that have exited are not waited for.

use super::{Execute, NONE, Op, event};
use crate::exec::Exec;
use crate::fault::Trap;
use crate::lanes::LANES;
use crate::lanes::simd::Baseline;

/// The member mask of a warp: scalar `a` or plane `a` of the leader, by [`MASK_IN_PLANE`] in [`Op::y`].
pub(crate) const MASK_IN_PLANE: u32 = 1 << 16;

fn members(x: &Exec<'_>, warp: usize, index: u32, in_plane: bool) -> u32 {
    if in_plane {
        let lane = x.mask[warp].trailing_zeros().min(31) as usize;
        x.files.w[index as usize + warp].0[lane]
    } else {
        x.files.s[index as usize] as u32
    }
}

/// Checks that the member mask of every warp is here. `Some` is what the operation must return instead of going on.
fn gather(x: &mut Exec<'_>, index: u32, in_plane: bool) -> Option<u32> {
    for warp in 0..x.warps {
        let active = x.mask[warp];
        if active == 0 {
            continue;
        }
        let members = members(x, warp, index, in_plane) & x.threads.live[warp];
        if members & !active != 0 {
            return Some(event::CONVERGE);
        }
        if active & !members != 0 {
            let lane = (active & !members).trailing_zeros() as usize;
            let why = format!("lane {lane} executes a .sync operation whose member mask {members:#010x} leaves it out");
            return Some(x.raise(warp, lane, Trap::InvalidBarrier(why)));
        }
    }
    None
}

/// The lanes that run the loop for `warp` of a `.sync` operation, or the event to return.
macro_rules! for_warps {
    ($x:ident, $op:ident, |$warp:ident, $mask:ident| $body:block) => {
        for $warp in 0..$x.warps {
            let $mask = $x.mask[$warp];
            if $mask != 0 $body
        }
    };
}

/// `shfl` modes in the low bits of [`Op::y`].
pub(crate) mod shuffle {
    pub(crate) const UP: u32 = 0;
    pub(crate) const DOWN: u32 = 1;
    pub(crate) const BFLY: u32 = 2;
    pub(crate) const IDX: u32 = 3;
}

/// `shfl[.sync].mode.b32 d|x, a, b, c[, members]`: planes `a`, `b`, `c`; the member mask's index is in `imm`,
/// `u64::MAX` for the form without `.sync`.
pub(crate) fn shfl(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if op.imm != u64::MAX
        && let Some(next) = gather(x, op.imm as u32, op.y & MASK_IN_PLANE != 0)
    {
        return next;
    }
    for_warps!(x, op, |warp, mask| {
        let plane = |index: u32| x.files.w[index as usize + warp].0;
        let (a, b, c) = (plane(op.a), plane(op.b), plane(op.c));
        let mut result = [0; LANES];
        let mut valid = 0;
        for lane in 0..LANES as u32 {
            let (bval, cval) = (b[lane as usize] & 0x1f, c[lane as usize] & 0x1f);
            let segment = c[lane as usize] >> 8 & 0x1f;
            let max_lane = (lane & segment) | (cval & !segment);
            let min_lane = lane & segment;
            let (source, inside) = match op.y & 0xff {
                shuffle::UP => {
                    let source = lane.wrapping_sub(bval);
                    (source, source as i32 >= max_lane as i32)
                }
                shuffle::DOWN => (lane + bval, lane + bval <= max_lane),
                shuffle::BFLY => (lane ^ bval, lane ^ bval <= max_lane),
                _ => {
                    let source = min_lane | (bval & !segment);
                    (source, source <= max_lane)
                }
            };
            let source = if inside { source } else { lane };
            result[lane as usize] = a[source as usize & 31];
            valid |= u32::from(inside) << lane;
        }
        if op.d != NONE {
            x.store_plane::<Baseline, u32>(op.d, warp, result);
        }
        if op.x != NONE {
            let p = &mut x.files.p[op.x as usize + warp];
            *p = (*p & !mask) | (valid & mask);
        }
    });
    pc + 1
}

/// `vote` modes in the low bits of [`Op::y`].
pub(crate) mod vote_mode {
    pub(crate) const ALL: u32 = 0;
    pub(crate) const ANY: u32 = 1;
    pub(crate) const UNI: u32 = 2;
    pub(crate) const BALLOT: u32 = 3;
}

/// `vote[.sync].mode d, p[, members]`: predicate `a`, negated by [`super::shape::NEGATE`]; the member mask's index is
/// `b`, or [`NONE`]. `d` is a predicate, or a 32-bit plane for `.ballot`.
pub(crate) fn vote(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if op.b != NONE
        && let Some(next) = gather(x, op.b, op.y & MASK_IN_PLANE != 0)
    {
        return next;
    }
    let flip = if op.y & super::shape::NEGATE != 0 { !0 } else { 0 };
    for_warps!(x, op, |warp, mask| {
        let votes = (x.files.p[op.a as usize + warp] ^ flip) & mask;
        let verdict = match op.y & 0xff {
            vote_mode::ALL => votes == mask,
            vote_mode::ANY => votes != 0,
            vote_mode::UNI => votes == mask || votes == 0,
            _ => {
                x.store_plane::<Baseline, u32>(op.d, warp, [votes; LANES]);
                continue;
            }
        };
        let p = &mut x.files.p[op.d as usize + warp];
        *p = (*p & !mask) | (if verdict { mask } else { 0 });
    });
    pc + 1
}

/// The values of a `match` or `redux` source.
trait Key: crate::lanes::Lane + Eq {}
impl Key for u32 {}
impl Key for u64 {}

/// `match.any.sync d, a, members`; the member mask's index is `b`.
fn match_any<T: Key>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.b, op.y & MASK_IN_PLANE != 0) {
        return next;
    }
    for_warps!(x, op, |warp, mask| {
        let a = T::planes(&x.files)[op.a as usize + warp].0;
        let result = std::array::from_fn(|l| {
            (0..LANES).fold(0, |same, k| same | u32::from(a[k] == a[l]) << k) & mask
        });
        x.store_plane::<Baseline, u32>(op.d, warp, result);
    });
    pc + 1
}

/// `match.all.sync d|x, a, members`; the member mask's index is `b`.
fn match_all<T: Key>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.b, op.y & MASK_IN_PLANE != 0) {
        return next;
    }
    for_warps!(x, op, |warp, mask| {
        let a = T::planes(&x.files)[op.a as usize + warp].0;
        let first = a[mask.trailing_zeros() as usize];
        let all = (0..LANES).all(|l| mask >> l & 1 == 0 || a[l] == first);
        let result = if all { mask } else { 0 };
        if op.d != NONE {
            x.store_plane::<Baseline, u32>(op.d, warp, [result; LANES]);
        }
        if op.x != NONE {
            let p = &mut x.files.p[op.x as usize + warp];
            *p = (*p & !mask) | result;
        }
    });
    pc + 1
}

/// `match.sync` for a 32- or 64-bit source.
pub(crate) fn matching(all: bool, wide: bool) -> Execute {
    match (all, wide) {
        (false, false) => match_any::<u32>,
        (false, true) => match_any::<u64>,
        (true, false) => match_all::<u32>,
        (true, true) => match_all::<u64>,
    }
}

/// How two values of a `redux` combine.
pub(crate) trait Reduce: 'static {
    fn combine(a: u32, b: u32) -> u32;
}

/// `redux.sync.op d, a, members`; the member mask's index is `b`.
pub(crate) fn redux<F: Reduce>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.b, op.y & MASK_IN_PLANE != 0) {
        return next;
    }
    for_warps!(x, op, |warp, mask| {
        let a = x.files.w[op.a as usize + warp].0;
        let lanes = (0..LANES).filter(|l| mask >> l & 1 != 0).map(|l| a[l]);
        if let Some(result) = lanes.reduce(F::combine) {
            x.store_plane::<Baseline, u32>(op.d, warp, [result; LANES]);
        }
    });
    pc + 1
}

/// `activemask d`.
pub(crate) fn activemask(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    for_warps!(x, op, |warp, mask| {
        x.store_plane::<Baseline, u32>(op.d, warp, [mask; LANES]);
    });
    pc + 1
}

/// `elect.sync d|x, members`: the lowest member leads.
pub(crate) fn elect(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.b, op.y & MASK_IN_PLANE != 0) {
        return next;
    }
    for_warps!(x, op, |warp, mask| {
        let leader = mask.trailing_zeros();
        if op.d != NONE {
            x.store_plane::<Baseline, u32>(op.d, warp, [leader; LANES]);
        }
        let p = &mut x.files.p[op.x as usize + warp];
        *p = (*p & !mask) | 1 << leader;
    });
    pc + 1
}

/// `bar.warp.sync members`: the member mask's index is `b`.
pub(crate) fn bar_warp(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    gather(x, op.b, op.y & MASK_IN_PLANE != 0).unwrap_or(pc + 1)
}
