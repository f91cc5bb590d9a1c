//! Predicates as bits of registers, and back; registers that become uniform.

use super::Given;
use crate::operand::{Half, Operand};
use crate::step::{Action, Kind, Place};

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    match given.opcode {
        // `P2R[.Bn] d, PR, a, mask`.
        "P2R" | "UP2UR" => {
            let byte = match given.modifiers[..] {
                [] | ["B0"] => 0,
                ["B1"] => 1,
                ["B2"] => 2,
                ["B3"] => 3,
                _ => return None,
            };
            Some(Action::PackPredicates {
                to: given.registers(0, 1)?,
                from: given.source(2, Kind::Word)?,
                mask: given.immediate(3)?,
                byte,
                uniform: given.opcode == "UP2UR",
            })
        }
        // `R2P PR, a[.Bn], mask`.
        "R2P" | "UR2UP" => {
            given.only(&[])?;
            Some(Action::UnpackPredicates {
                from: given.source(1, Kind::Word)?,
                mask: given.immediate(2)?,
                uniform: given.opcode == "UR2UP",
            })
        }
        "R2UR" => {
            given.only(&[])?;
            let (Place::Uniform(to, _), Operand::Register { half: Half::Both, .. }) =
                (given.registers(0, 1)?, given.operands.get(1)?)
            else {
                return None;
            };
            Some(Action::ToUniform { to, from: given.source(1, Kind::Word)? })
        }
        _ => None,
    }
}
