//! Operations between the lanes of a warp (PTX ISA, shfl, vote, match, redux, activemask, elect, bar.warp.sync).

use super::emit::op;
use super::function::Decoder;
use super::operand::Source;
use super::{Decoded, Missing};
use crate::ops::warp::{self, MASK_IN_PLANE, Reduce, redux, shuffle, vote_mode};
use crate::ops::{Execute, NONE, Op};
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::Operand;
use ptx::types::ScalarType;

/// A member mask: its index, and [`MASK_IN_PLANE`] or 0.
fn members(d: &mut Decoder<'_>, i: usize) -> Result<(u32, u32), Missing> {
    Ok(match d.source(i, 32)? {
        Source::Scalar(index) => (index, 0),
        Source::Plane(index) => (index, MASK_IN_PLANE),
    })
}

/// Operand `i` as a destination plane, or [`NONE`] if it is dropped.
fn destination(d: &mut Decoder<'_>, i: usize) -> Result<u32, Missing> {
    match d.operand(i) {
        Operand::Sink | Operand::Absent => Ok(NONE),
        _ => d.destination_plane(i, 32),
    }
}

macro_rules! reductions {
    ($($name:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        struct $name;
        impl Reduce for $name {
            fn combine($a: u32, $b: u32) -> u32 { $body }
        }
    )*};
}
reductions! {
    Add |a, b| a.wrapping_add(b);
    MinU |a, b| a.min(b);
    MinS |a, b| (a as i32).min(b as i32) as u32;
    MaxU |a, b| a.max(b);
    MaxS |a, b| (a as i32).max(b as i32) as u32;
    And |a, b| a & b;
    Or |a, b| a | b;
    Xor |a, b| a ^ b;
}

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let opcode = d.opcode;
    match sem {
        Sem::Shfl => {
            let to = destination(d, 0)?;
            let p = match d.operand(1) {
                Operand::Absent | Operand::Sink => NONE,
                _ => d.predicate_destination(1)?,
            };
            let mut sources = [0; 3];
            for (i, source) in sources.iter_mut().enumerate() {
                let value = d.source(i + 2, 32)?;
                *source = d.plane_of(value, 32);
            }
            let [a, b, c] = sources;
            let mode = match opcode.get(Slot::Mode) {
                Some(Modifier::Up) => shuffle::UP,
                Some(Modifier::Down) => shuffle::DOWN,
                Some(Modifier::Bfly) => shuffle::BFLY,
                _ => shuffle::IDX,
            };
            let (imm, flags) = match opcode.has(Modifier::Sync) {
                true => members(d, 5).map(|(index, flags)| (u64::from(index), flags))?,
                false => (u64::MAX, 0),
            };
            d.emit(Op { d: to, a, b, c, x: p, y: mode | flags, imm, ..op(warp::shfl) });
        }
        Sem::Vote => {
            let (mode, to) = match opcode.get(Slot::Mode) {
                Some(Modifier::Ballot) => (vote_mode::BALLOT, d.destination_plane(0, 32)?),
                other => {
                    let mode = match other {
                        Some(Modifier::All) => vote_mode::ALL,
                        Some(Modifier::Any) => vote_mode::ANY,
                        _ => vote_mode::UNI,
                    };
                    let p = d.predicate_destination(0)?;
                    (mode, if p == NONE { d.scratch_predicate() } else { p })
                }
            };
            let (a, negated) = d.predicate(1)?;
            let (b, flags) = match opcode.has(Modifier::Sync) {
                true => members(d, 2)?,
                false => (NONE, 0),
            };
            d.emit(Op { d: to, a, b, y: mode | negated | flags, ..op(warp::vote) });
        }
        Sem::MatchSync => {
            let all = opcode.get(Slot::Mode) == Some(Modifier::All);
            let bits = opcode.ty(Slot::Type).map_or(32, ScalarType::bits);
            let first = if all { 2 } else { 1 };
            let to = match destination(d, 0)? {
                NONE if !all => d.temporary(32),
                to => to,
            };
            let x = if all { d.predicate_destination(1)? } else { NONE };
            let value = d.source(first, bits)?;
            let a = d.plane_of(value, bits);
            let (b, y) = members(d, first + 1)?;
            d.emit(Op { d: to, a, b, x, y, ..op(warp::matching(all, bits == 64)) });
        }
        Sem::Activemask => {
            let to = d.destination_plane(0, 32)?;
            d.emit(Op { d: to, ..op(warp::activemask) });
        }
        Sem::Redux => {
            let signed = opcode.ty(Slot::Type) == Some(ScalarType::S32);
            let execute: Execute = match (opcode.get(Slot::Op), signed) {
                (Some(Modifier::Add), _) => redux::<Add>,
                (Some(Modifier::Min), false) => redux::<MinU>,
                (Some(Modifier::Min), true) => redux::<MinS>,
                (Some(Modifier::Max), false) => redux::<MaxU>,
                (Some(Modifier::Max), true) => redux::<MaxS>,
                (Some(Modifier::And), _) => redux::<And>,
                (Some(Modifier::Or), _) => redux::<Or>,
                _ => redux::<Xor>,
            };
            let to = d.destination_plane(0, 32)?;
            let value = d.source(1, 32)?;
            let a = d.plane_of(value, 32);
            let (b, y) = members(d, 2)?;
            d.emit(Op { d: to, a, b, y, ..op(execute) });
        }
        Sem::Elect => {
            let to = destination(d, 0)?;
            let p = d.predicate_destination(1)?;
            let (b, y) = members(d, 2)?;
            let x = if p == NONE { d.scratch_predicate() } else { p };
            d.emit(Op { d: to, b, x, y, ..op(warp::elect) });
        }
        Sem::BarWarpSync => {
            let (b, y) = members(d, 0)?;
            d.emit(Op { b, y, ..op(warp::bar_warp) });
        }
        other => return Err(format!("{other:?} among the warp instructions")),
    }
    Ok(())
}
