//! What lanes of a warp do together.

use super::Given;
use crate::step::{Action, Collective, Kind, Place};
use ir::instruction::ShflMode;

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
        "VOTE" => {
            let all = match given.modifiers[..] {
                ["ANY"] => false,
                ["ALL"] => true,
                _ => return None,
            };
            let [source] = given.sources(2, &[Kind::Flag])?.try_into().ok()?;
            Collective::Vote { all, to: given.registers(0, 1)?, flag: given.flag(1)?, source }
        }
        "MATCH" => {
            given.only(&["ANY", "ALL", "U64"])?;
            let kind = if given.has("U64") { Kind::Wide } else { Kind::Word };
            let at = usize::from(given.is_predicate(0));
            let flag = if at == 1 { given.flag(0)? } else { Place::Predicate(None) };
            let [source] = given.sources(at + 1, &[kind])?.try_into().ok()?;
            Collective::Match { all: given.has("ALL"), to: given.registers(at, 1)?, flag, source }
        }
        "REDUX" => {
            let join: fn(u32, u32) -> u32 = match given.modifiers[..] {
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
            Collective::Reduce { to: given.registers(0, 1)?, source, join }
        }
        "ELECT" => {
            given.only(&[])?;
            Collective::Elect { flag: given.flag(0)?, to: given.registers(1, 1)? }
        }
        _ => return None,
    };
    Some(Action::Collective(collective))
}
