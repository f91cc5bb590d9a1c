//! Operations between the lanes of a warp: shuffles, votes, matches and reductions (PTX ISA, "Parallel Synchronization
//! and Communication").
//!
//! The `.sync` forms name the lanes that take part. When some of them are elsewhere the operation asks the run loop to
//! bring them here ([`event::CONVERGE`]); lanes that have exited are not waited for. A lane that its own mask leaves out is
//! a fault only with [`Masks::Exact`]. Otherwise all lanes that execute the operation together take part, whatever their
//! masks say, as on an H200.

use super::combine::{Add32, And32, MaxS32, MaxU32, MinS32, MinU32, Or32, Rmw, Xor32};
use super::{Execute, NONE, Op, event};
use crate::exec::Exec;
use crate::fault::Trap;
use crate::lanes::simd::Baseline;
use crate::lanes::{EMPTY, Files, LANES, Lane};
use crate::misuse::Masks;
use crate::observe::Happening;
use ir::instruction::{MultimemLoadOp, ShflMode, VoteMode};

/// In [`Op::y`]: the member mask stands in a plane, not in a scalar.
pub(crate) const MASK_IN_PLANE: u32 = 1 << 16;

/// Lanes that execute an operation together.
struct Team {
    lanes: u32,
    /// The members that they name.
    named: u32,
    /// Those of them that their own masks leave out.
    left_out: u32,
}

/// The team of the first lane of `rest`.
///
/// Lanes that execute one instruction together may name different members: the halves of a warp that work apart, say.
/// Where a mask leaves out its own lane, there are no such parts, and all are one team.
fn team(x: &Exec<'_>, warp: usize, rest: u32, index: u32, in_plane: bool) -> Team {
    if !in_plane {
        let named = x.files.s[index as usize] as u32;
        return Team { lanes: rest, named, left_out: rest & !named };
    }
    let plane = &x.files.w[index as usize + warp].0;
    let left_out = (0..LANES).fold(0, |outside, l| outside | (!plane[l] & 1 << l)) & rest;
    if left_out != 0 {
        let members = (0..LANES).filter(|l| rest & !left_out & 1 << l != 0);
        return Team { lanes: rest, named: members.fold(0, |named, l| named | plane[l]), left_out };
    }
    let named = plane[rest.trailing_zeros().min(31) as usize];
    let same = (0..LANES).fold(0, |same, l| same | u32::from(plane[l] == named) << l);
    Team { lanes: rest & same, named, left_out }
}

/// Checks that the members of every team are here. `Some` is what the operation must return instead of going on:
/// [`event::CONVERGE`], with the lanes of the teams that are complete in [`Exec::taken`], or a fault.
fn gather(x: &mut Exec<'_>, index: u32, in_plane: bool) -> Option<u32> {
    let mut complete = EMPTY;
    let mut waits = false;
    let mut outside = None;
    for (warp, complete) in complete.iter_mut().enumerate().take(x.warps) {
        let mut rest = x.mask[warp];
        while rest != 0 {
            let Team { lanes, named, left_out } = team(x, warp, rest, index, in_plane);
            rest &= !lanes;
            if left_out != 0 {
                outside = Some((warp, left_out.trailing_zeros() as usize));
            }
            // Lanes that are all left out wait for nobody.
            let members = if lanes == left_out { 0 } else { named & x.threads.live[warp] };
            match members & !lanes == 0 {
                true => *complete |= lanes,
                false => waits = true,
            }
        }
    }
    x.taken = complete;
    match outside {
        Some((warp, lane)) if x.grid.masks == Masks::Exact || !waits => {
            left_out(x, (warp, lane), index, in_plane).or_else(|| waits.then_some(event::CONVERGE))
        }
        _ => waits.then_some(event::CONVERGE),
    }
}

/// A lane executes an operation whose member mask leaves it out: a fault, or one more to be told of.
#[cold]
fn left_out(x: &mut Exec<'_>, (warp, lane): (usize, usize), index: u32, in_plane: bool) -> Option<u32> {
    let mask = match in_plane {
        true => x.files.w[index as usize + warp].0[lane],
        false => x.files.s[index as usize] as u32,
    };
    match x.grid.masks {
        Masks::Converged => {
            x.note_mask(mask, lane);
            None
        }
        Masks::Exact => {
            let why = format!(
                "lane {lane} executes a .sync operation whose member mask {mask:#010x} leaves it out"
            );
            Some(x.raise(warp, lane, Trap::InvalidBarrier(why)))
        }
    }
}

/// Runs the body for the lanes of every team of every warp; without a member mask (index [`NONE`]) a warp is one team.
macro_rules! for_teams {
    ($x:ident, $index:expr, $in_plane:expr, |$warp:ident, $mask:ident| $body:block) => {
        for $warp in 0..$x.warps {
            let mut rest = $x.mask[$warp];
            while rest != 0 {
                let $mask = match $index {
                    NONE => rest,
                    index => team($x, $warp, rest, index, $in_plane).lanes,
                };
                rest &= !$mask;
                $body
            }
        }
    };
}

/// Writes one scalar result into the lanes of a team.
fn store(x: &mut Exec<'_>, d: u32, warp: usize, mask: u32, values: [u32; LANES]) {
    let plane = &mut x.files.w[d as usize + warp].0;
    *plane = u32::blend::<Baseline>(mask, values, *plane);
}

/// [`ShflMode`] in the low bits of [`Op::y`].
mod shuffle {
    use super::ShflMode;
    pub(super) const UP: u32 = ShflMode::Up as u32;
    pub(super) const DOWN: u32 = ShflMode::Down as u32;
    pub(super) const BFLY: u32 = ShflMode::Bfly as u32;
}

/// `shfl[.sync].mode.b32 d|x, a, b, c[, members]`: planes `a`, `b`, `c`; the member mask's index is in `imm`,
/// `u64::MAX` for the form without `.sync`.
pub(crate) fn shfl(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if op.imm != u64::MAX
        && let Some(next) = gather(x, op.imm as u32, op.y & MASK_IN_PLANE != 0)
    {
        return next;
    }
    for_teams!(x, NONE, false, |warp, mask| {
        let plane = |index: u32| x.files.w[index as usize + warp].0;
        let (a, b, c) = (plane(op.a), plane(op.b), plane(op.c));
        let (mut result, mut sources) = ([0; LANES], [0; LANES]);
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
            // A lane that takes no part gives 0, as on an H200; the manual leaves it open.
            let takes_part = mask >> (source & 31) & 1 != 0;
            result[lane as usize] = if takes_part { a[source as usize & 31] } else { 0 };
            valid |= u32::from(inside) << lane;
            sources[lane as usize] = source & 31;
        }
        if x.grid.observer.is_some() {
            let outside = |l: &usize| mask >> l & !mask >> sources[*l] & 1 != 0;
            let lanes = (0..LANES).filter(outside).fold(0, |lanes, l| lanes | 1 << l);
            if lanes != 0 {
                x.tell(|x| Happening::ShuffledFromOutside(x.lanes_at(pc, warp, lanes)));
            }
        }
        if op.d != NONE {
            store(x, op.d, warp, mask, result);
        }
        if op.x != NONE {
            let p = &mut x.files.p[op.x as usize + warp];
            *p = (*p & !mask) | (valid & mask);
        }
    });
    pc + 1
}

/// [`VoteMode`] in the low bits of [`Op::y`].
mod vote_mode {
    use super::VoteMode;
    pub(super) const ALL: u32 = VoteMode::All as u32;
    pub(super) const ANY: u32 = VoteMode::Any as u32;
    pub(super) const UNI: u32 = VoteMode::Uni as u32;
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
    for_teams!(x, op.b, op.y & MASK_IN_PLANE != 0, |warp, mask| {
        let votes = (x.files.p[op.a as usize + warp] ^ flip) & mask;
        let verdict = match op.y & 0xff {
            vote_mode::ALL => votes == mask,
            vote_mode::ANY => votes != 0,
            vote_mode::UNI => votes == mask || votes == 0,
            _ => {
                store(x, op.d, warp, mask, [votes; LANES]);
                continue;
            }
        };
        let p = &mut x.files.p[op.d as usize + warp];
        *p = (*p & !mask) | (if verdict { mask } else { 0 });
    });
    pc + 1
}

/// The values of a `match` or `redux` source.
trait Key: Lane + Eq {}
impl Key for u32 {}
impl Key for u64 {}

/// `match.any.sync d, a, members`; the member mask's index is `b`.
fn match_any<T: Key>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.b, op.y & MASK_IN_PLANE != 0) {
        return next;
    }
    for_teams!(x, op.b, op.y & MASK_IN_PLANE != 0, |warp, mask| {
        let a = T::planes(&x.files)[op.a as usize + warp].0;
        let result =
            std::array::from_fn(|l| (0..LANES).fold(0, |same, k| same | u32::from(a[k] == a[l]) << k) & mask);
        store(x, op.d, warp, mask, result);
    });
    pc + 1
}

/// `match.all.sync d|x, a, members`; the member mask's index is `b`.
fn match_all<T: Key>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.b, op.y & MASK_IN_PLANE != 0) {
        return next;
    }
    for_teams!(x, op.b, op.y & MASK_IN_PLANE != 0, |warp, mask| {
        let a = T::planes(&x.files)[op.a as usize + warp].0;
        let first = a[mask.trailing_zeros() as usize];
        let all = (0..LANES).all(|l| mask >> l & 1 == 0 || a[l] == first);
        let result = if all { mask } else { 0 };
        if op.d != NONE {
            store(x, op.d, warp, mask, [result; LANES]);
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

/// `redux.sync` of an `.op`, on signed values or not.
pub(crate) fn redux(op: MultimemLoadOp, signed: bool) -> Execute {
    match op {
        MultimemLoadOp::Add => reduce::<Add32>,
        MultimemLoadOp::Min if signed => reduce::<MinS32>,
        MultimemLoadOp::Min => reduce::<MinU32>,
        MultimemLoadOp::Max if signed => reduce::<MaxS32>,
        MultimemLoadOp::Max => reduce::<MaxU32>,
        MultimemLoadOp::And => reduce::<And32>,
        MultimemLoadOp::Or => reduce::<Or32>,
        MultimemLoadOp::Xor => reduce::<Xor32>,
    }
}

/// `redux.sync.op d, a, members`; the member mask's index is `b`.
fn reduce<F: Rmw<M = u32>>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.b, op.y & MASK_IN_PLANE != 0) {
        return next;
    }
    for_teams!(x, op.b, op.y & MASK_IN_PLANE != 0, |warp, mask| {
        let a = x.files.w[op.a as usize + warp].0;
        let lanes = (0..LANES).filter(|l| mask >> l & 1 != 0).map(|l| a[l]);
        if let Some(result) = lanes.reduce(|a, b| F::new(a, b, b, false)) {
            store(x, op.d, warp, mask, [result; LANES]);
        }
    });
    pc + 1
}

/// `activemask d`.
pub(crate) fn activemask(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    for_teams!(x, NONE, false, |warp, mask| {
        store(x, op.d, warp, mask, [mask; LANES]);
    });
    pc + 1
}

/// `elect.sync d|x, members`: the lowest member leads.
pub(crate) fn elect(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.b, op.y & MASK_IN_PLANE != 0) {
        return next;
    }
    for_teams!(x, op.b, op.y & MASK_IN_PLANE != 0, |warp, mask| {
        let leader = mask.trailing_zeros();
        if op.d != NONE {
            store(x, op.d, warp, mask, [leader; LANES]);
        }
        let p = &mut x.files.p[op.x as usize + warp];
        *p = (*p & !mask) | 1 << leader;
    });
    pc + 1
}

/// `bar.warp.sync members`: the member mask's index is `b`. Members meet wherever each of them executes one.
pub(crate) fn bar_warp(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    match gather(x, op.b, op.y & MASK_IN_PLANE != 0) {
        Some(event::CONVERGE) => return event::MEET,
        Some(fault) => return fault,
        None => {}
    }
    if x.grid.observer.is_some() {
        for_teams!(x, op.b, op.y & MASK_IN_PLANE != 0, |warp, mask| {
            x.tell(|x| Happening::WarpBarrier(x.lanes_at(pc, warp, mask)));
        });
    }
    pc + 1
}

/// The members that a lane names which waits at a [`bar_warp`].
pub(crate) fn members_named(files: &Files, op: &Op, warp: usize, lane: usize) -> u32 {
    match op.y & MASK_IN_PLANE != 0 {
        true => files.w[op.b as usize + warp].0[lane],
        false => files.s[op.b as usize] as u32,
    }
}
