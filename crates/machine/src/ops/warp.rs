//! Operations between the lanes of a warp: shuffles, votes, matches and reductions (PTX ISA, "Parallel Synchronization
//! and Communication").
//!
//! The `.sync` forms name the lanes that take part. When some of them are elsewhere the operation asks the run loop to
//! bring them here ([`event::CONVERGE`]); lanes that have exited are not waited for. A lane that its own mask leaves out is
//! a fault only with [`Masks::Exact`]. Otherwise all lanes that execute the operation together take part, whatever their
//! masks say, as on an H200.

use super::body::function;
use super::combine::{Add32, And32, MaxS32, MaxU32, MinS32, MinU32, Or32, Rmw, Xor32};
use crate::exec::{Exec, event};
use crate::fault::Trap;
use crate::image::Function;
use crate::lanes::simd::Baseline;
use crate::lanes::{EMPTY, Files, LANES, Lane, Operand, PlaneId, Source};
use crate::misuse::Masks;
use crate::observe::Happening;
use crate::operation::kinds::{ActiveMask, Ballot, Elect, Match, Redux, Shuffle, Vote, WarpBarrier};
use ir::by_flags;
use ir::instruction::{MultimemLoadOp, ReduxFloatOp, VoteMode};
use ir::shuffle;
use numerics::float;

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
fn team(x: &Exec<'_>, warp: usize, rest: u32, members: Operand) -> Team {
    let members = match members.source() {
        Source::Plane(members) => members,
        Source::Scalar(members) => {
            let named = x.files.s[members.index()] as u32;
            return Team { lanes: rest, named, left_out: rest & !named };
        }
    };
    let plane = &x.files.w[members.index() + warp].0;
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
fn gather(x: &mut Exec<'_>, members: Operand) -> Option<u32> {
    let mut complete = EMPTY;
    let mut waits = false;
    let mut outside = None;
    for (warp, complete) in complete.iter_mut().enumerate().take(x.warps) {
        let mut rest = x.mask[warp];
        while rest != 0 {
            let Team { lanes, named, left_out } = team(x, warp, rest, members);
            rest &= !lanes;
            if left_out != 0 {
                outside = Some((warp, left_out.trailing_zeros() as usize));
            }
            // Lanes that are all left out wait for nobody.
            let needed = if lanes == left_out { 0 } else { named & x.threads.live[warp] };
            match needed & !lanes == 0 {
                true => *complete |= lanes,
                false => waits = true,
            }
        }
    }
    x.taken = complete;
    match outside {
        Some((warp, lane)) if x.grid.masks == Masks::Exact || !waits => {
            left_out(x, (warp, lane), members).or_else(|| waits.then_some(event::CONVERGE))
        }
        _ => waits.then_some(event::CONVERGE),
    }
}

/// A lane executes an operation whose member mask leaves it out: a fault, or one more to be told of.
#[cold]
fn left_out(x: &mut Exec<'_>, (warp, lane): (usize, usize), members: Operand) -> Option<u32> {
    let mask = members_named(&x.files, members, warp, lane);
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

/// Runs the body for the lanes of every team of every warp; without a member mask a warp is one team.
macro_rules! for_teams {
    ($x:ident, $members:expr, |$warp:ident, $mask:ident| $body:block) => {
        for $warp in 0..$x.warps {
            let mut rest = $x.mask[$warp];
            while rest != 0 {
                let $mask = match $members {
                    None => rest,
                    Some(members) => team($x, $warp, rest, members).lanes,
                };
                rest &= !$mask;
                $body
            }
        }
    };
}

/// Writes one scalar result into the lanes of a team.
fn store(x: &mut Exec<'_>, d: PlaneId, warp: usize, mask: u32, values: [u32; LANES]) {
    let plane = &mut x.files.w[d.index() + warp].0;
    *plane = u32::blend::<Baseline>(mask, values, *plane);
}

/// `shfl[.sync].mode.b32 d|p, a, b, c[, members]`.
pub(crate) fn shuffle(x: &mut Exec<'_>, op: &Shuffle, pc: u32) -> u32 {
    if let Some(next) = op.members.and_then(|members| gather(x, members)) {
        return next;
    }
    for_teams!(x, None, |warp, mask| {
        let plane = |plane: PlaneId| x.files.w[plane.index() + warp].0;
        let (a, b, c) = (plane(op.a), plane(op.b), plane(op.c));
        let (mut result, mut sources) = ([0; LANES], [0; LANES]);
        let mut valid = 0;
        for lane in 0..LANES as u32 {
            let (source, inside) = shuffle::source(op.mode, lane, b[lane as usize], c[lane as usize]);
            // A lane that takes no part gives 0, as on an H200; the manual leaves it open.
            let takes_part = mask >> source & 1 != 0;
            result[lane as usize] = if takes_part { a[source as usize] } else { 0 };
            valid |= u32::from(inside) << lane;
            sources[lane as usize] = source;
        }
        if x.grid.observer.is_some() {
            let outside = |l: &usize| mask >> l & !mask >> sources[*l] & 1 != 0;
            let lanes = (0..LANES).filter(outside).fold(0, |lanes, l| lanes | 1 << l);
            if lanes != 0 {
                x.tell(|x| Happening::ShuffledFromOutside(x.lanes_at(pc, warp, lanes)));
            }
        }
        if let Some(d) = op.d {
            store(x, d, warp, mask, result);
        }
        if let Some(p) = op.p {
            x.files.write_predicate(p, warp, mask, valid);
        }
    });
    pc + 1
}

/// `vote[.sync].mode d, a[, members]` with a predicate as `d`.
pub(crate) fn vote(x: &mut Exec<'_>, op: &Vote, pc: u32) -> u32 {
    if let Some(next) = op.members.and_then(|members| gather(x, members)) {
        return next;
    }
    for_teams!(x, op.members, |warp, mask| {
        let votes = (x.files.p[op.a.index() + warp] ^ op.a.flip()) & mask;
        let verdict = match op.mode {
            VoteMode::All => votes == mask,
            VoteMode::Any => votes != 0,
            VoteMode::Uni => votes == mask || votes == 0,
            // An operation of its own.
            VoteMode::Ballot => false,
        };
        x.files.write_predicate(op.d, warp, mask, if verdict { !0 } else { 0 });
    });
    pc + 1
}

/// `vote[.sync].ballot d, a[, members]`.
pub(crate) fn ballot(x: &mut Exec<'_>, op: &Ballot, pc: u32) -> u32 {
    if let Some(next) = op.members.and_then(|members| gather(x, members)) {
        return next;
    }
    for_teams!(x, op.members, |warp, mask| {
        let votes = (x.files.p[op.a.index() + warp] ^ op.a.flip()) & mask;
        store(x, op.d, warp, mask, [votes; LANES]);
    });
    pc + 1
}

/// The values of a `match` or `redux` source.
trait Key: Lane + Eq {}
impl Key for u32 {}
impl Key for u64 {}

/// `match.any.sync d, a, members`.
fn match_any<T: Key>(x: &mut Exec<'_>, op: &Match, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.members) {
        return next;
    }
    for_teams!(x, Some(op.members), |warp, mask| {
        let a = T::planes(&x.files)[op.a.index() + warp].0;
        let result =
            std::array::from_fn(|l| (0..LANES).fold(0, |same, k| same | u32::from(a[k] == a[l]) << k) & mask);
        if let Some(d) = op.d {
            store(x, d, warp, mask, result);
        }
    });
    pc + 1
}

/// `match.all.sync d|p, a, members`.
fn match_all<T: Key>(x: &mut Exec<'_>, op: &Match, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.members) {
        return next;
    }
    for_teams!(x, Some(op.members), |warp, mask| {
        let a = T::planes(&x.files)[op.a.index() + warp].0;
        let first = a[mask.trailing_zeros() as usize];
        let all = (0..LANES).all(|l| mask >> l & 1 == 0 || a[l] == first);
        let result = if all { mask } else { 0 };
        if let Some(d) = op.d {
            store(x, d, warp, mask, [result; LANES]);
        }
        if let Some(p) = op.p {
            x.files.write_predicate(p, warp, mask, result);
        }
    });
    pc + 1
}

/// `match.sync` for a 32- or 64-bit source.
pub(crate) fn matching(all: bool, wide: bool) -> Function<Match> {
    match (all, wide) {
        (false, false) => function!(match_any::<u32>),
        (false, true) => function!(match_any::<u64>),
        (true, false) => function!(match_all::<u32>),
        (true, true) => function!(match_all::<u64>),
    }
}

/// `redux.sync` of an `.op`, on signed values or not.
pub(crate) fn redux(op: MultimemLoadOp, signed: bool) -> Function<Redux> {
    match op {
        MultimemLoadOp::Add => function!(reduce::<Add32>),
        MultimemLoadOp::Min if signed => function!(reduce::<MinS32>),
        MultimemLoadOp::Min => function!(reduce::<MinU32>),
        MultimemLoadOp::Max if signed => function!(reduce::<MaxS32>),
        MultimemLoadOp::Max => function!(reduce::<MaxU32>),
        MultimemLoadOp::And => function!(reduce::<And32>),
        MultimemLoadOp::Or => function!(reduce::<Or32>),
        MultimemLoadOp::Xor => function!(reduce::<Xor32>),
    }
}

/// `redux.sync` of `.f32`, of values or their magnitudes. With `nan`, a NaN is the result where there is one.
pub(crate) fn redux_float(op: ReduxFloatOp, nan: bool, abs: bool) -> Function<Redux> {
    by_flags!(nan as NAN, abs as ABS => match op {
        ReduxFloatOp::Min => function!(reduce_float::<false, NAN, ABS>),
        ReduxFloatOp::Max => function!(reduce_float::<true, NAN, ABS>),
    })
}

/// `redux.sync.op d, a, members` on integers.
fn reduce<F: Rmw<M = u32>>(x: &mut Exec<'_>, op: &Redux, pc: u32) -> u32 {
    reduce_members(x, op, pc, |a| a, |a, b| F::new(a, b, b, false))
}

/// `redux.sync.op.f32 d, a, members`.
fn reduce_float<const MAX: bool, const NAN: bool, const ABS: bool>(
    x: &mut Exec<'_>,
    op: &Redux,
    pc: u32,
) -> u32 {
    let combine = if MAX { float::redux_max_f32::<NAN, ABS> } else { float::redux_min_f32::<NAN, ABS> };
    reduce_members(x, op, pc, |a| combine(a, a), combine)
}

/// Reduces the values of each team: what `first` makes of a lane's, and `combine` of two.
fn reduce_members(
    x: &mut Exec<'_>,
    op: &Redux,
    pc: u32,
    first: impl Fn(u32) -> u32,
    combine: impl Fn(u32, u32) -> u32,
) -> u32 {
    if let Some(next) = gather(x, op.members) {
        return next;
    }
    for_teams!(x, Some(op.members), |warp, mask| {
        let a = x.files.w[op.a.index() + warp].0;
        let lanes = (0..LANES).filter(|l| mask >> l & 1 != 0).map(|l| first(a[l]));
        if let Some(result) = lanes.reduce(&combine) {
            store(x, op.d, warp, mask, [result; LANES]);
        }
    });
    pc + 1
}

/// `activemask d`.
pub(crate) fn active_mask(x: &mut Exec<'_>, op: &ActiveMask, pc: u32) -> u32 {
    for_teams!(x, None, |warp, mask| {
        store(x, op.d, warp, mask, [mask; LANES]);
    });
    pc + 1
}

/// `elect.sync d|p, members`: the lowest member leads.
pub(crate) fn elect(x: &mut Exec<'_>, op: &Elect, pc: u32) -> u32 {
    if let Some(next) = gather(x, op.members) {
        return next;
    }
    for_teams!(x, Some(op.members), |warp, mask| {
        let leader = mask.trailing_zeros();
        if let Some(d) = op.d {
            store(x, d, warp, mask, [leader; LANES]);
        }
        x.files.write_predicate(op.p, warp, mask, 1 << leader);
    });
    pc + 1
}

/// `bar.warp.sync members`. Members meet wherever each of them executes one.
pub(crate) fn barrier(x: &mut Exec<'_>, op: &WarpBarrier, pc: u32) -> u32 {
    x.communicated = true;
    match gather(x, op.members) {
        Some(event::CONVERGE) => return event::MEET,
        Some(fault) => return fault,
        None => {}
    }
    if x.grid.observer.is_some() {
        for_teams!(x, Some(op.members), |warp, mask| {
            x.tell(|x| Happening::WarpBarrier(x.lanes_at(pc, warp, mask)));
        });
    }
    pc + 1
}

/// The members that a lane names.
fn members_named(files: &Files, members: Operand, warp: usize, lane: usize) -> u32 {
    files.read(members, warp, lane) as u32
}
