//! What lanes of a warp do together.

use super::Given;
use crate::registers::{PT, RZ};
use crate::step::{Action, Collective, Kind, Place, Vote};
use ir::instruction::ShflMode;
use numerics::float::{redux_max_f32, redux_min_f32};

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    let collective = match given.opcode {
        "SHFL" => {
            let mode = match given.modifiers[..] {
                ["UP"] => ShflMode::Up,
                ["DOWN"] => ShflMode::Down,
                ["BFLY"] => ShflMode::Bfly,
                ["IDX"] => ShflMode::Idx,
                _ => return None,
            };
            let sources = given.sources(2, &[Kind::Word; 3])?.try_into().ok()?;
            Collective::Shuffle { mode, inside: given.flag(0)?, to: given.registers(1, 1)?, sources }
        }
        "VOTE" | "VOTEU" => {
            let vote = match given.modifiers[..] {
                ["ANY"] => Vote::Any,
                ["ALL"] => Vote::All,
                ["EQ"] => Vote::Equal,
                _ => return None,
            };
            // Without a register for the lanes there is a predicate alone.
            let at = usize::from(!given.is_predicate(0));
            let to = if at == 1 { given.registers(0, 1)? } else { Place::Registers(RZ, 1) };
            let [source] = given.sources(at + 1, &[Kind::Flag])?.try_into().ok()?;
            Collective::Vote { vote, to, flag: given.flag(at)?, source }
        }
        "MATCH" => {
            given.only(&["ANY", "ALL", "U64"])?;
            let kind = if given.has("U64") { Kind::Wide } else { Kind::Word };
            let at = usize::from(given.is_predicate(0));
            let flag = if at == 1 { given.flag(0)? } else { Place::Predicate(PT) };
            let [source] = given.sources(at + 1, &[kind])?.try_into().ok()?;
            Collective::Match { all: given.has("ALL"), to: given.registers(at, 1)?, flag, source }
        }
        "REDUX" | "CREDUX" => {
            let join: fn(u32, u32) -> u32 = match given.modifiers[..] {
                [kind, "F32", ref rest @ ..] => extreme(kind, rest)?,
                [] => |a, b| a & b,
                ["OR"] => |a, b| a | b,
                ["XOR"] => |a, b| a ^ b,
                ["SUM"] | ["SUM", "S32"] => u32::wrapping_add,
                ["MIN"] => u32::min,
                ["MAX"] => u32::max,
                ["MIN", "S32"] => |a, b| (a as i32).min(b as i32) as u32,
                ["MAX", "S32"] => |a, b| (a as i32).max(b as i32) as u32,
                _ => return None,
            };
            let [source] = given.sources(1, &[Kind::Word])?.try_into().ok()?;
            // Of a single lane a float's magnitude, or a NaN's usual form, is taken too.
            let twice = given.has("F32");
            Collective::Reduce { to: given.registers(0, 1)?, source, join, twice }
        }
        "ELECT" => {
            given.only(&[])?;
            let source = if given.operands.len() > 2 { Some(given.source(2, Kind::Flag)?) } else { None };
            Collective::Elect { flag: given.flag(0)?, to: given.registers(1, 1)?, source }
        }
        _ => return None,
    };
    Some(Action::Lanes(collective))
}

/// The least or greatest of two singles or their magnitudes.
fn extreme(kind: &str, rest: &[&str]) -> Option<fn(u32, u32) -> u32> {
    Some(match (kind, rest) {
        ("MIN", []) => redux_min_f32::<false, false>,
        ("MAX", []) => redux_max_f32::<false, false>,
        ("MINABS", []) => redux_min_f32::<false, true>,
        ("MAXABS", []) => redux_max_f32::<false, true>,
        ("MIN", ["NAN"]) => redux_min_f32::<true, false>,
        ("MAX", ["NAN"]) => redux_max_f32::<true, false>,
        ("MINABS", ["NAN"]) => redux_min_f32::<true, true>,
        ("MAXABS", ["NAN"]) => redux_max_f32::<true, true>,
        _ => return None,
    })
}
