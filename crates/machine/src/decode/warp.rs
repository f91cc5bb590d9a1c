//! Operations between the lanes of a warp (PTX ISA, shfl, vote, match, redux, activemask, elect, bar.warp.sync).

use super::decoder::{Decoder, Missing, decoders};
use crate::lanes::Operand;
use crate::operation::kinds::{ActiveMask, Ballot, Elect, Match, Redux, Shuffle, Vote, WarpBarrier};
use crate::ops::warp::{matching, redux, redux_float};
use ir::instruction::{MatchSyncMode, VoteMode};
use ir::operand::Value;
use ptx::types::TypeKind;

/// The member mask, which forms with `.sync` have.
fn members(d: &mut Decoder<'_>, mask: Option<&Value>) -> Result<Option<Operand>, Missing> {
    mask.map(|mask| d.read(mask, 32)).transpose()
}

decoders! { d, op:
    Shfl => {
        let (to, p) = (d.write_or_drop(op.d, 32)?, d.write_predicate(op.p)?);
        let (a, b, c) = (d.read_plane(&op.a, 32)?, d.read_plane(&op.b, 32)?, d.read_plane(&op.c, 32)?);
        let members = members(d, op.membermask.as_ref())?;
        d.emit(Shuffle { d: to, p, a, b, c, mode: op.mode, members })
    };
    Vote => {
        let a = d.read_predicate(&op.a)?;
        let members = members(d, op.membermask.as_ref())?;
        match op.mode {
            VoteMode::Ballot => {
                let to = d.write_plane(op.d, 32)?;
                d.emit(Ballot { d: to, a, members })
            }
            mode @ (VoteMode::All | VoteMode::Any | VoteMode::Uni) => {
                let to = d.write_predicate_somewhere(Some(op.d))?;
                d.emit(Vote { d: to, a, mode, members })
            }
        }
    };
    MatchSync => {
        let (to, p) = (d.write_or_drop(op.d, 32)?, d.write_predicate(op.p)?);
        let bits = op.ty.bits();
        let (a, members) = (d.read_plane(&op.a, bits)?, d.read(&op.membermask, 32)?);
        let function = matching(op.mode == MatchSyncMode::All, bits == 64);
        d.emit(function.with(Match { d: to, p, a, members }))
    };
    Activemask => {
        let to = d.write_plane(op.d, 32)?;
        d.emit(ActiveMask { d: to })
    };
    Redux => {
        let (to, a) = (d.write_plane(op.d, 32)?, d.read_plane(&op.a, 32)?);
        let members = d.read(&op.membermask, 32)?;
        let function = redux(op.op, op.ty.kind() == TypeKind::Signed);
        d.emit(function.with(Redux { d: to, a, members }))
    };
    ReduxFloat => {
        let (to, a) = (d.write_plane(op.d, 32)?, d.read_plane(&op.a, 32)?);
        let members = d.read(&op.membermask, 32)?;
        let function = redux_float(op.op, op.nan, op.abs);
        d.emit(function.with(Redux { d: to, a, members }))
    };
    Elect => {
        let (to, p) = (d.write_or_drop(op.d, 32)?, d.write_predicate_somewhere(Some(op.p))?);
        let members = d.read(&op.membermask, 32)?;
        d.emit(Elect { d: to, p, members })
    };
    BarWarpSync => {
        let members = d.read(&op.membermask, 32)?;
        d.emit(WarpBarrier { members })
    };
}
