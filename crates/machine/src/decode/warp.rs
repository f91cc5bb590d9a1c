//! Operations between the lanes of a warp (PTX ISA, shfl, vote, match, redux, activemask, elect, bar.warp.sync).

use super::decoder::{Decoded, Decoder, Missing};
use crate::lanes::Operand;
use crate::operation::kinds::{
    ActiveMask, Ballot, Elect as ElectOperation, Match, Redux as ReduxOperation, Shuffle,
    Vote as VoteOperation, WarpBarrier,
};
use crate::ops::warp::{matching as match_function, redux, redux_float};
use ir::instruction::{Elect, MatchSync, MatchSyncMode, Redux, ReduxFloat, Shfl, Vote, VoteMode};
use ir::operand::{Def, Value};
use ptx::types::TypeKind;

/// The member mask of a `.sync` form.
fn members(d: &mut Decoder<'_>, mask: Option<&Value>) -> Result<Option<Operand>, Missing> {
    mask.map(|mask| d.read(mask, 32)).transpose()
}

/// `shfl`, with `.sync` or without.
pub(super) fn shuffle(d: &mut Decoder<'_>, shfl: &Shfl) -> Decoded {
    let (to, p) = (d.write_or_drop(shfl.d, 32)?, d.write_predicate(shfl.p)?);
    let (a, b, c) = (d.read_plane(&shfl.a, 32)?, d.read_plane(&shfl.b, 32)?, d.read_plane(&shfl.c, 32)?);
    let members = members(d, shfl.membermask.as_ref())?;
    d.emit(Shuffle { d: to, p, a, b, c, mode: shfl.mode, members })
}

/// `vote`, with `.sync` or without.
pub(super) fn vote(d: &mut Decoder<'_>, vote: &Vote) -> Decoded {
    let a = d.read_predicate(&vote.a)?;
    let members = members(d, vote.membermask.as_ref())?;
    match vote.mode {
        VoteMode::Ballot => {
            let to = d.write_plane(vote.d, 32)?;
            d.emit(Ballot { d: to, a, members })
        }
        mode @ (VoteMode::All | VoteMode::Any | VoteMode::Uni) => {
            let to = d.write_predicate_somewhere(Some(vote.d))?;
            d.emit(VoteOperation { d: to, a, mode, members })
        }
    }
}

/// `match.sync`.
pub(super) fn matching(d: &mut Decoder<'_>, matching: &MatchSync) -> Decoded {
    let (to, p) = (d.write_or_drop(matching.d, 32)?, d.write_predicate(matching.p)?);
    let bits = matching.ty.bits();
    let (a, members) = (d.read_plane(&matching.a, bits)?, d.read(&matching.membermask, 32)?);
    let function = match_function(matching.mode == MatchSyncMode::All, bits == 64);
    d.emit(function.with(Match { d: to, p, a, members }))
}

/// `activemask`.
pub(super) fn active_mask(d: &mut Decoder<'_>, to: Def) -> Decoded {
    let to = d.write_plane(to, 32)?;
    d.emit(ActiveMask { d: to })
}

/// `redux.sync`.
pub(super) fn reduce(d: &mut Decoder<'_>, reduce: &Redux) -> Decoded {
    let (to, a) = (d.write_plane(reduce.d, 32)?, d.read_plane(&reduce.a, 32)?);
    let members = d.read(&reduce.membermask, 32)?;
    let function = redux(reduce.op, reduce.ty.kind() == TypeKind::Signed);
    d.emit(function.with(ReduxOperation { d: to, a, members }))
}

/// `redux.sync` of `.f32`.
pub(super) fn reduce_float(d: &mut Decoder<'_>, reduce: &ReduxFloat) -> Decoded {
    let (to, a) = (d.write_plane(reduce.d, 32)?, d.read_plane(&reduce.a, 32)?);
    let members = d.read(&reduce.membermask, 32)?;
    let function = redux_float(reduce.op, reduce.nan, reduce.abs);
    d.emit(function.with(ReduxOperation { d: to, a, members }))
}

/// `elect.sync`.
pub(super) fn elect(d: &mut Decoder<'_>, elect: &Elect) -> Decoded {
    let (to, p) = (d.write_or_drop(elect.d, 32)?, d.write_predicate_somewhere(Some(elect.p))?);
    let members = d.read(&elect.membermask, 32)?;
    d.emit(ElectOperation { d: to, p, members })
}

/// `bar.warp.sync`.
pub(super) fn barrier(d: &mut Decoder<'_>, mask: &Value) -> Decoded {
    let members = d.read(mask, 32)?;
    d.emit(WarpBarrier { members })
}
