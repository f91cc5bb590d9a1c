//! Copies between shared memory and tensors.

use super::Given;
use crate::operand::Operand;
use crate::step::{Action, Tensor};
use machine::tensormap::{Direction, Mode};

/// Operations on elements.
const OPERATIONS: [&str; 8] = ["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"];

/// `UTMALDG.2D[.IM2COL] [shared], [map][, window][, policy]`, `UTMASTG.2D`, `UTMAREDG.2D.op`: uniform registers.
pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    let direction = match given.opcode {
        "UTMALDG" => Direction::Load,
        "UTMASTG" | "UTMAREDG" => Direction::Store,
        // It is fetched to nowhere that could be seen.
        "UTMAPF" => return Some(Action::Nothing),
        _ => return None,
    };
    let (mut rank, mut mode, mut operation, mut many) = (None, Mode::Tile, None, false);
    for modifier in &given.modifiers {
        match *modifier {
            "1D" => rank = Some(1),
            "2D" => rank = Some(2),
            "3D" => rank = Some(3),
            "4D" => rank = Some(4),
            "5D" => rank = Some(5),
            "MULTICAST" => many = true,
            "IM2COL" => mode = Mode::Im2col,
            other => operation = Some(*OPERATIONS.iter().find(|&&it| it == other)?),
        }
    }
    (operation.is_some() == (given.opcode == "UTMAREDG")).then_some(())?;
    let uniform = |at: usize| match *given.operands.get(at)? {
        Operand::Address { uniform, offset: 0, .. } | Operand::Uniform { number: uniform, .. } => {
            Some(uniform)
        }
        _ => None,
    };
    let window = uniform(2);
    Some(Action::Tensor(Tensor {
        direction,
        mode,
        rank: rank?,
        shared: uniform(0)?,
        map: uniform(1)?,
        window,
        many,
        operation,
    }))
}
