//! Where control goes, convergence, barriers, special registers, and what computes nothing.

use super::{Given, WORD};
use crate::operand::{Operand, Special};
use crate::registers::PT;
use crate::step::{Action, Arrival, Kind, Place, Source};

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    Some(match given.opcode {
        "BRA" => {
            given.only(&["U", "ANY"])?;
            branch(given)?
        }
        "CALL" => match given.modifiers[..] {
            ["REL", "NOINC"] | ["ABS", "NOINC"] if given.operands.is_empty() => branch(given)?,
            ["ABS", "NOINC"] => indirect(given)?,
            _ => return None,
        },
        // To the address in a pair of registers; `.REL` says that it counts from the function's beginning, where the target is.
        "RET" => {
            given.only(&["REL", "NODEC", "ABS"])?;
            indirect(given)?
        }
        "BRX" | "JMX" | "BRXU" | "JMXU" => {
            given.only(&[])?;
            indirect(given)?
        }
        "BSSY" => {
            given.only(&["RECONVERGENT", "RELIABLE"])?;
            Action::Gather(convergence(given)?)
        }
        "BSYNC" => {
            given.only(&["RECONVERGENT", "RELIABLE"])?;
            Action::Meet(convergence(given)?)
        }
        "BREAK" => {
            given.only(&["RECONVERGENT", "RELIABLE"])?;
            Action::Break(convergence(given)?)
        }
        "BMOV" => {
            given.only(&["32", "CLEAR", "PQUAD"])?;
            match given.operands[..] {
                [Operand::Register { number, .. }, Operand::Convergence(barrier)] => {
                    Action::BarrierToRegister { to: number, barrier, clear: given.has("CLEAR") }
                }
                [Operand::Convergence(barrier), _] => {
                    Action::RegisterToBarrier { barrier, from: given.source(1, Kind::Word)? }
                }
                _ => return None,
            }
        }
        "LEPC" => {
            given.only(&[])?;
            Action::ProgramCounter(given.registers(0, 2)?, given.target.unwrap_or(given.address))
        }
        "EXIT" => {
            given.only(&[])?;
            Action::Exit
        }
        "BAR" => barrier(given)?,
        "B2R" => {
            given.only(&["RESULT"])?;
            let flag = if given.operands.len() > 1 { given.flag(1)? } else { Place::Predicate(PT) };
            Action::Result { to: given.registers(0, 1)?, flag }
        }
        "WARPSYNC" => match given.modifiers[..] {
            ["ALL"] => Action::Together(None),
            ["COLLECTIVE", "ALL"] => Action::Collective(None, target(given)?),
            ["COLLECTIVE"] => Action::Collective(Some(given.source(0, Kind::Word)?), target(given)?),
            [] => Action::Together(Some(given.source(0, Kind::Word)?)),
            ["EXCLUSIVE"] => Action::Exclusive(given.source(0, Kind::Word)?),
            _ => return None,
        },
        "ENDCOLLECTIVE" => Action::Leave,
        "UCGABAR_ARV" => Action::ClusterArrive,
        "UCGABAR_WAIT" => Action::ClusterWait,
        "YIELD" | "NANOSLEEP" => Action::Yield,
        // Every access is seen by all as soon as it is done.
        "NOP" | "MEMBAR" | "ERRBAR" | "CGAERRBAR" | "CCTL" => Action::Nothing,
        "BPT" if given.has("TRAP") => Action::Trap,
        "S2R" | "S2UR" | "CS2R" => {
            let Operand::Special(special) = *given.operands.get(1)? else { return None };
            // For a uniform register an H100 gives zero, whatever the lane.
            if given.opcode == "S2UR" && matches!(special, Special::Tid(_) | Special::LaneId) {
                return None;
            }
            let wide = given.opcode == "CS2R" && !given.has("32");
            Action::Special(special, given.registers(0, if wide { 2 } else { 1 })?)
        }
        _ => return None,
    })
}

/// The number of the instruction that its last operand names.
fn target(given: &Given<'_>) -> Option<usize> {
    let target = usize::try_from(given.target?).ok()?;
    target.is_multiple_of(WORD).then_some(target / WORD)
}

fn branch(given: &Given<'_>) -> Option<Action> {
    let flags = (0..given.operands.len()).map(|at| given.source(at, Kind::Flag));
    let flags = flags.collect::<Option<Vec<Source>>>()?;
    Some(Action::Branch { target: target(given)?, flags, any: given.has("ANY") })
}

fn indirect(given: &Given<'_>) -> Option<Action> {
    let base = given.target.unwrap_or(0);
    match given.operands[..] {
        [Operand::Register { number, .. }] => {
            Some(Action::Indirect { base, register: number, uniform: false })
        }
        [Operand::Uniform { number, .. }] => Some(Action::Indirect { base, register: number, uniform: true }),
        _ => None,
    }
}

/// The barrier of convergence, which stands alone: one with a condition in front is not executed.
fn convergence(given: &Given<'_>) -> Option<u8> {
    match given.operands[..] {
        [Operand::Convergence(number)] => Some(number & 15),
        _ => None,
    }
}

/// `BAR.SYNC.DEFER_BLOCKING n[, threads]`, `BAR.ARV n, threads`, `BAR.RED.op.DEFER_BLOCKING n[, threads], p`. A register has the number below
/// and the threads from bit 16 on.
fn barrier(given: &Given<'_>) -> Option<Action> {
    let arrival = match given.modifiers[..] {
        ["SYNC", "DEFER_BLOCKING"] | ["SYNC"] => Arrival::Sync,
        ["ARV"] => Arrival::Arrive,
        ["RED", "POPC", "DEFER_BLOCKING"] => Arrival::Count,
        ["RED", "AND", "DEFER_BLOCKING"] => Arrival::And,
        ["RED", "OR", "DEFER_BLOCKING"] => Arrival::Or,
        _ => return None,
    };
    let number = given.source(0, Kind::Word)?;
    let threads = given.source(1, Kind::Word);
    let flag = given.source(given.operands.len().checked_sub(1)?, Kind::Flag);
    let reduces = matches!(arrival, Arrival::Count | Arrival::And | Arrival::Or);
    (reduces == flag.is_some()).then_some(Action::Barrier { number, threads, arrival, flag })
}
