//! Operations between the lanes of a warp (PTX ISA, shfl, vote, match, redux, activemask, elect, bar.warp.sync).

use super::emit::op;
use super::function::Decoder;
use super::operand::Source;
use super::{Decoded, Missing};
use crate::ops::warp::{self, MASK_IN_PLANE, redux};
use crate::ops::{NONE, Op};
use ir::instruction::{Elect, MatchSync, MatchSyncMode, Redux, Shfl, Vote, VoteMode};
use ir::operand::{Def, Value};
use ptx::types::TypeKind;

/// A member mask: its index, and [`MASK_IN_PLANE`] or 0.
fn members(d: &mut Decoder<'_>, mask: &Value) -> Result<(u32, u32), Missing> {
    Ok(match d.read(mask, 32)? {
        Source::Scalar(index) => (index, 0),
        Source::Plane(index) => (index, MASK_IN_PLANE),
    })
}

/// `shfl`, with `.sync` or without.
pub(super) fn shuffle(d: &mut Decoder<'_>, shfl: &Shfl) -> Decoded {
    let to = d.write_or_drop(shfl.d, 32)?;
    let x = d.write_predicate(shfl.p.unwrap_or(Def(None)))?;
    let (a, b, c) = (d.read_plane(&shfl.a, 32)?, d.read_plane(&shfl.b, 32)?, d.read_plane(&shfl.c, 32)?);
    let (imm, flags) = match &shfl.membermask {
        Some(mask) => members(d, mask).map(|(index, flags)| (u64::from(index), flags))?,
        None => (u64::MAX, 0),
    };
    d.emit(Op { d: to, a, b, c, x, y: shfl.mode as u32 | flags, imm, ..op(warp::shfl) });
    Ok(())
}

/// `vote`, with `.sync` or without.
pub(super) fn vote(d: &mut Decoder<'_>, vote: &Vote) -> Decoded {
    let to = match vote.mode {
        VoteMode::Ballot => d.write_plane(vote.d, 32)?,
        VoteMode::All | VoteMode::Any | VoteMode::Uni => d.write_predicate_somewhere(vote.d)?,
    };
    let (a, negated) = d.read_predicate(&vote.a)?;
    let (b, flags) = vote.membermask.as_ref().map_or(Ok((NONE, 0)), |mask| members(d, mask))?;
    d.emit(Op { d: to, a, b, y: vote.mode as u32 | negated | flags, ..op(warp::vote) });
    Ok(())
}

/// `match.sync`.
pub(super) fn matching(d: &mut Decoder<'_>, matching: &MatchSync) -> Decoded {
    let (to, all) = match matching.mode {
        MatchSyncMode::All => (d.write_or_drop(matching.d, 32)?, true),
        MatchSyncMode::Any => (d.write_plane(matching.d, 32)?, false),
    };
    let x = d.write_predicate(matching.p.unwrap_or(Def(None)))?;
    let bits = matching.ty.bits();
    let a = d.read_plane(&matching.a, bits)?;
    let (b, y) = members(d, &matching.membermask)?;
    d.emit(Op { d: to, a, b, x, y, ..op(warp::matching(all, bits == 64)) });
    Ok(())
}

/// `activemask`.
pub(super) fn active_mask(d: &mut Decoder<'_>, to: Def) -> Decoded {
    let to = d.write_plane(to, 32)?;
    d.emit(Op { d: to, ..op(warp::activemask) });
    Ok(())
}

/// `redux.sync`.
pub(super) fn reduce(d: &mut Decoder<'_>, reduce: &Redux) -> Decoded {
    let execute = redux(reduce.op, reduce.ty.kind() == TypeKind::Signed);
    let (to, a) = (d.write_plane(reduce.d, 32)?, d.read_plane(&reduce.a, 32)?);
    let (b, y) = members(d, &reduce.membermask)?;
    d.emit(Op { d: to, a, b, y, ..op(execute) });
    Ok(())
}

/// `elect.sync`.
pub(super) fn elect(d: &mut Decoder<'_>, elect: &Elect) -> Decoded {
    let (to, x) = (d.write_or_drop(elect.d, 32)?, d.write_predicate_somewhere(elect.p)?);
    let (b, y) = members(d, &elect.membermask)?;
    d.emit(Op { d: to, b, x, y, ..op(warp::elect) });
    Ok(())
}

/// `bar.warp.sync`.
pub(super) fn barrier(d: &mut Decoder<'_>, mask: &Value) -> Decoded {
    let (b, y) = members(d, mask)?;
    d.emit(Op { b, y, ..op(warp::bar_warp) });
    Ok(())
}
