//! Where control goes, barriers, special registers, and what computes nothing.

use super::Given;
use crate::operand::Operand;
use crate::step::{Action, Arrival, Kind, Place};

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    Some(match given.opcode {
        "BRA" => {
            given.only(&[])?;
            Action::Branch(given.target?)
        }
        "EXIT" => {
            given.only(&[])?;
            Action::Exit
        }
        "BAR" => barrier(given)?,
        "B2R" => {
            given.only(&["RESULT"])?;
            let flag = if given.operands.len() > 1 { given.flag(1)? } else { Place::Predicate(None) };
            Action::Result { to: given.registers(0, 1)?, flag }
        }
        "WARPSYNC" => match given.modifiers[..] {
            ["ALL"] => Action::Together(None),
            [] => Action::Together(Some(given.source(0, Kind::Word)?)),
            _ => return None,
        },
        "YIELD" | "NANOSLEEP" => Action::Yield,
        // Every access is seen by all as soon as it is done.
        "NOP" | "MEMBAR" | "ERRBAR" | "CGAERRBAR" | "CCTL" => Action::Nothing,
        "BPT" if given.has("TRAP") => Action::Trap,
        "S2R" | "S2UR" | "CS2R" => {
            let Operand::Special(special) = *given.operands.get(1)? else { return None };
            let wide = given.opcode == "CS2R" && !given.has("32");
            Action::Special(special, given.registers(0, if wide { 2 } else { 1 })?)
        }
        _ => return None,
    })
}

/// `BAR.SYNC.DEFER_BLOCKING n[, threads]`, `BAR.ARV n, threads`, `BAR.RED.op.DEFER_BLOCKING n[, threads], p`.
fn barrier(given: &Given<'_>) -> Option<Action> {
    let arrival = match given.modifiers[..] {
        ["SYNC", "DEFER_BLOCKING"] | ["SYNC"] => Arrival::Sync,
        ["ARV"] => Arrival::Arrive,
        ["RED", "POPC", "DEFER_BLOCKING"] => Arrival::Count,
        ["RED", "AND", "DEFER_BLOCKING"] => Arrival::And,
        ["RED", "OR", "DEFER_BLOCKING"] => Arrival::Or,
        _ => return None,
    };
    let number = given.immediate(0)? as u8;
    let threads = given.immediate(1);
    let flag = given.source(given.operands.len() - 1, Kind::Flag);
    let reduces = matches!(arrival, Arrival::Count | Arrival::And | Arrival::Or);
    (reduces == flag.is_some()).then_some(Action::Barrier { number, threads, arrival, flag })
}
