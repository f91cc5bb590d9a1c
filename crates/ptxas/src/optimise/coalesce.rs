//! Copies at the end of a computation: what only a copy reads is computed where the copy leads.

use super::values::remove;
use crate::allocate::{Units, blocks};
use crate::code::{Code, Instruction, Line, Operand};
use std::collections::HashMap;

/// Lets instructions write where a later copy in their block would bring the result.
pub(crate) fn coalesce(code: &mut Code) {
    let units = Units::new(code);
    let (written, uses) = units.counts(code);
    let mut gone = Vec::new();
    for block in blocks(code) {
        // Where each unit was written and touched last, in this block.
        let mut defined: HashMap<u32, usize> = HashMap::new();
        let mut touched: HashMap<u32, usize> = HashMap::new();
        let mut fence = block.lines.start;
        for at in block.lines.clone() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            if one.name.starts_with("WARPSYNC.COLLECTIVE") || one.name == "ENDCOLLECTIVE" {
                fence = at + 1;
            }
            if let Some((from, to)) = copy(one, &units)
                && written[from as usize] == 1
                && uses[from as usize] == 1
                && let Some(&source) = defined.get(&from)
                && source >= fence
                && touched
                    .get(&to)
                    .is_none_or(|&last| last < source || last == source && !writes(code, &units, source, to))
                && let Line::Instruction(maker) = &code.lines[source]
                && maker.guard.is_none()
                && let Some(place) =
                    maker.operands[..maker.written].iter().position(|it| units.of(it) == (from..from + 1))
                && matches!(maker.operands[place], Operand::General { width: 1, before: "", after: "", .. })
            {
                let to_operand = one.operands[0].clone();
                if let Line::Instruction(maker) = &mut code.lines[source] {
                    maker.operands[place] = to_operand;
                }
                gone.push(at);
                defined.insert(to, source);
                touched.insert(to, at);
                continue;
            }
            let mut now = Vec::new();
            units.reads(code, one, &mut |unit| now.push(unit));
            units.writes(one, &mut |unit| {
                now.push(unit);
                defined.insert(unit, at);
            });
            now.into_iter().for_each(|unit| {
                touched.insert(unit, at);
            });
        }
    }
    remove(code, &gone);
}

fn writes(code: &Code, units: &Units, at: usize, unit: u32) -> bool {
    let mut found = false;
    if let Line::Instruction(one) = &code.lines[at] {
        units.writes(one, &mut |it| found |= it == unit);
    }
    found
}

/// A copy of one part of a register to one of another.
fn copy(one: &Instruction, units: &Units) -> Option<(u32, u32)> {
    let ("MOV", None, [to, from]) = (one.name.as_str(), one.guard, one.operands.as_slice()) else {
        return None;
    };
    let as_is = |it: &Operand| matches!(it, Operand::General { width: 1, before: "", after: "", .. });
    (as_is(to) && as_is(from)).then(|| (units.of(from).start, units.of(to).start))
}
