//! What is read, but by nothing that matters: the upper half of a counter that only counts on.

use super::values::remove;
use crate::allocate::Units;
use crate::code::{Code, Line};
use crate::schedule::is_pure;

/// Takes out what is computed for itself alone.
pub(crate) fn keep_needed(code: &mut Code) {
    let units = Units::new(code);
    let mut needed = vec![false; units.count];
    let mut kept = vec![false; code.lines.len()];
    loop {
        let mut changed = false;
        for at in (0..code.lines.len()).rev().filter(|&at| !kept[at]).collect::<Vec<_>>() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            let mut matters = !is_pure(one);
            units.writes(one, &mut |unit| matters |= needed[unit as usize]);
            if matters {
                units.reads(code, one, &mut |unit| needed[unit as usize] = true);
                kept[at] = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let useless = |&at: &usize| matches!(code.lines[at], Line::Instruction(_)) && !kept[at];
    let gone: Vec<usize> = (0..code.lines.len()).filter(useless).collect();
    remove(code, &gone);
}
