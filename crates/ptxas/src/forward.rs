//! What selection leaves to be tidied, above the lowest level: values are taken from where they were copied from, small constants stand in
//! the instruction that reads them, and what nobody reads any more goes. Selection copies freely because of this.
//!
//! Copies are followed within a block, by the parts of registers: behind `MOV X, S` the value of X is that of S until either is
//! written.

use crate::allocate::{blocks, dead_lines, operand_units};
use crate::code::{Code, Instruction, Line, Operand, Reg};
use crate::schedule::is_pure;
use std::collections::HashMap;

/// Instructions whose second operand may be a constant, if the first and third are registers.
const WITH_CONSTANT: &[&str] = &["IADD3", "LOP3", "ISETP", "SHF", "IMAD", "SEL", "VIMNMX", "PRMT"];

/// Tidies a kernel.
pub(crate) fn forward(code: &mut Code) {
    for block in blocks(code) {
        let mut known: HashMap<(Reg, u8), Operand> = HashMap::new();
        let mut meeting = false;
        for at in block.lines {
            let Line::Instruction(one) = &mut code.lines[at] else { continue };
            // What lanes execute that meet names the same registers everywhere.
            meeting |= one.name.starts_with("WARPSYNC.COLLECTIVE");
            let operands = if meeting { 0..0 } else { one.written..one.operands.len() };
            meeting &= one.name != "ENDCOLLECTIVE";
            for index in operands {
                if let Some(better) = instead(one, index, &known) {
                    one.operands[index] = better;
                }
            }
            let written: Vec<_> = one.operands[..one.written].iter().flat_map(operand_units).collect();
            known.retain(|unit, source| {
                !written.contains(unit) && !operand_units(source).any(|from| written.contains(&from))
            });
            if one.name == "MOV"
                && one.guard.is_none()
                && let [to, from] = one.operands.as_slice()
                && let Some((reg, part, 1)) = to.register()
                && is_value(from)
                && !operand_units(from).any(|unit| unit == (reg, part))
            {
                known.insert((reg, part), from.clone());
            }
        }
    }
    let dead = dead_lines(code, &is_pure);
    let mut at = 0;
    code.lines.retain(|_| {
        at += 1;
        dead.binary_search(&(at - 1)).is_err()
    });
}

/// Whether a copy's source is a part of a register as it is, zero, or a constant.
fn is_value(from: &Operand) -> bool {
    match from {
        Operand::General { width, before, after, .. } => *width == 1 && before.is_empty() && after.is_empty(),
        Operand::Text(text) => text == "RZ" || constant(text).is_some(),
        Operand::Predicate(..) | Operand::Address { .. } | Operand::Target(_) => false,
    }
}

/// A constant that fits wherever one stands, signed or not.
fn constant(text: &str) -> Option<u32> {
    let value = u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    (value < 0x8000_0000).then_some(value)
}

/// What an operand may be instead.
fn instead(one: &Instruction, index: usize, known: &HashMap<(Reg, u8), Operand>) -> Option<Operand> {
    match &one.operands[index] {
        &Operand::General { reg, part, width: 1, before, after } => match known.get(&(reg, part))? {
            &Operand::General { reg, part, .. } => {
                Some(Operand::General { reg, part, width: 1, before, after })
            }
            Operand::Text(text) => {
                let plain = before.is_empty() && after.is_empty();
                // A product of 32 bits by zero or a power of two has another name, and zero another form.
                let named = match constant(text) {
                    Some(factor) => one.name == "IMAD" && (factor == 0 || factor.is_power_of_two()),
                    None => one.name.starts_with("IMAD"),
                };
                if !plain || named || !takes_constant(one, index) {
                    return None;
                }
                Some(Operand::Text(text.clone()))
            }
            Operand::Predicate(..) | Operand::Address { .. } | Operand::Target(_) => None,
        },
        &Operand::General { reg, part, width, before, after } => {
            let (from, first) = row(reg, part, width, known)?;
            Some(Operand::General { reg: from, part: first, width, before, after })
        }
        &Operand::Address { before, reg, width, beside, offset } => {
            // An address names the first part.
            let (from, 0) = row(reg, 0, width, known)? else { return None };
            Some(Operand::Address { before, reg: from, width, beside, offset })
        }
        Operand::Predicate(..) | Operand::Target(_) | Operand::Text(_) => None,
    }
}

/// The register of which a row of parts is a copy, if it begins at a multiple of the row's length there too.
fn row(reg: Reg, part: u8, width: u8, known: &HashMap<(Reg, u8), Operand>) -> Option<(Reg, u8)> {
    let of = |at: u8| match known.get(&(reg, part + at)) {
        Some(&Operand::General { reg, part, .. }) => Some((reg, part)),
        _ => None,
    };
    let (from, first) = of(0)?;
    let follows = (1..width).all(|at| of(at) == Some((from, first + at)));
    (follows && first.is_multiple_of(width)).then_some((from, first))
}

fn head(one: &Instruction) -> &str {
    one.name.split('.').next().unwrap_or_default()
}

/// Whether the constant or zero may stand there.
fn takes_constant(one: &Instruction, index: usize) -> bool {
    let is_register = |at: usize| match one.operands.get(one.written + at) {
        None => true,
        Some(Operand::General { .. } | Operand::Predicate(..)) => true,
        Some(Operand::Text(text)) => ["RZ", "PT", "!PT"].contains(&text.as_str()),
        Some(Operand::Address { .. } | Operand::Target(_)) => false,
    };
    WITH_CONSTANT.contains(&head(one)) && index == one.written + 1 && is_register(0) && is_register(2)
}

#[cfg(test)]
mod tests {
    use super::forward;
    use crate::code::{Class, Code, Line, Operand};

    fn names(code: &Code) -> Vec<&str> {
        code.lines
            .iter()
            .filter_map(|line| match line {
                Line::Instruction(one) => Some(one.name.as_str()),
                Line::Label(_) => None,
            })
            .collect()
    }

    #[test]
    fn a_copy_is_read_where_it_came_from_until_that_is_written() {
        let mut code = Code::default();
        let [source, copy, late] = [false, true, true].map(|it| code.register(Class::General(1), it));
        let mov = |code: &mut Code, to, from| code.push(None, "MOV", vec![Operand::low(to)], vec![from]);
        mov(&mut code, copy, Operand::low(source));
        mov(&mut code, late, Operand::low(source));
        code.push(None, "STS", vec![], vec![Operand::address(copy), Operand::low(copy)]);
        mov(&mut code, source, Operand::zero());
        code.push(None, "STS", vec![], vec![Operand::address(source), Operand::low(late)]);
        forward(&mut code);
        // The first copy is gone; the second is read behind a write of its source.
        assert_eq!(names(&code), ["MOV", "STS", "MOV", "STS"]);
        let Line::Instruction(store) = &code.lines[1] else { panic!("{:?}", code.lines) };
        assert_eq!(store.operands, [Operand::address(source), Operand::low(source)]);
    }

    #[test]
    fn a_constant_stands_where_one_may() {
        let mut code = Code::default();
        let [a, b, c] = [false, true, false].map(|it| code.register(Class::General(1), it));
        code.push(None, "MOV", vec![Operand::low(b)], vec![Operand::number(7)]);
        let read = vec![Operand::low(a), Operand::low(b), Operand::zero()];
        code.push(None, "IADD3", vec![Operand::low(c)], read);
        code.push(None, "STS", vec![], vec![Operand::address(c), Operand::low(c)]);
        forward(&mut code);
        assert_eq!(names(&code), ["IADD3", "STS"]);
        let Line::Instruction(sum) = &code.lines[0] else { panic!("{:?}", code.lines) };
        assert_eq!(sum.operands[2], Operand::number(7));
    }

    #[test]
    fn lanes_that_meet_keep_their_registers() {
        let mut code = Code::default();
        let [source, mask] = [false, false].map(|it| code.register(Class::General(1), it));
        let behind = code.label();
        code.push(None, "MOV", vec![Operand::low(mask)], vec![Operand::low(source)]);
        let read = vec![Operand::low(mask), Operand::Target(behind)];
        code.push(None, "WARPSYNC.COLLECTIVE", vec![], read.clone());
        code.push(None, "ENDCOLLECTIVE", vec![], vec![]);
        code.place(behind);
        forward(&mut code);
        let Line::Instruction(sync) = &code.lines[1] else { panic!("{:?}", code.lines) };
        assert_eq!((sync.name.as_str(), &sync.operands), ("WARPSYNC.COLLECTIVE", &read));
    }
}
