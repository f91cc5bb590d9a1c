//! Operands that an encoding holds but no hardware takes: registers and constants that are not aligned, branches between
//! instructions.
//!
//! Only what is certain is refused: instructions whose widths their names tell.

use crate::isa::Isa;
use sass::{Instruction, Name};

/// What is wrong with an instruction: the byte of its text, and why.
pub(super) fn misaligned(isa: Isa, text: &str, word: u128, at: u64) -> Option<(usize, String)> {
    if isa.target(word, at).is_some_and(|target| !target.is_multiple_of(16)) {
        let place = text.rfind("0x").unwrap_or(0);
        return Some((place, "no instruction stands at this address: it is no multiple of 16".to_owned()));
    }
    let head = Instruction::head(text);
    let mut modifiers = head.split('.');
    let name = modifiers.next().unwrap_or("");
    let modifiers: Vec<&str> = modifiers.collect();
    let bytes = size(&modifiers);
    Instruction::operands(text).find_map(|operand| {
        let index = operand.index?;
        let (number, unit, what) = match operand.name {
            Name::Register(number) | Name::Uniform(number) => {
                let registers = match operand.bracketed {
                    // The register of a descriptor is a pair too, but says nothing of it.
                    true if operand.pair => 2,
                    true => 1,
                    false => registers(name, &modifiers, bytes, index),
                };
                (u32::from(number), registers, "register")
            }
            Name::Constant(_, Some(offset)) => {
                (offset.unsigned_abs(), constant(name, bytes), "constant's offset")
            }
            _ => return None,
        };
        let message = || format!("this {what} must be a multiple of {unit}");
        (!number.is_multiple_of(unit)).then(|| (operand.at, message()))
    })
}

/// Bytes that an access to memory moves.
fn size(modifiers: &[&str]) -> u32 {
    let size = |modifier: &&str| match *modifier {
        "U8" | "S8" => Some(1),
        "U16" | "S16" => Some(2),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    };
    modifiers.iter().find_map(size).unwrap_or(4)
}

/// What the number of a register that is an operand is a multiple of.
fn registers(name: &str, modifiers: &[&str], bytes: u32, index: u8) -> u32 {
    let data = (bytes / 4).max(1);
    match (name, index) {
        ("LD" | "LDG" | "LDS" | "LDL" | "LDC" | "ULDC", 0) | ("ST" | "STG" | "STS" | "STL", 1) => data,
        ("IMAD", 0) if modifiers.contains(&"WIDE") => 2,
        ("DADD" | "DMUL" | "DFMA", _) => 2,
        _ => 1,
    }
}

/// What the offset of a constant is a multiple of.
fn constant(name: &str, bytes: u32) -> u32 {
    match name {
        "LDC" | "ULDC" => bytes,
        "DADD" | "DMUL" | "DFMA" | "DSETP" => 8,
        "IMAD" | "IADD3" | "LOP3" | "FADD" | "FMUL" | "FFMA" | "MOV" | "SHF" | "ISETP" | "FSETP" => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_aligned_is_found() {
        let isa = Isa::of(90).expect("known");
        for (text, wrong) in [
            ("LDG.E.64 R2, desc[UR4][R4.64]", None),
            ("LDG.E.64 R3, desc[UR4][R4.64]", Some("R3")),
            ("LDG.E R3, desc[UR4][R5.64]", Some("R5")),
            ("STS.128 [R5], R6", Some("R6")),
            ("STS.64 [R5], R6", None),
            ("@P0 IMAD.WIDE R5, R3, 0x4, R6", Some("R5")),
            ("DFMA R2, R4, R6, R9", Some("R9")),
            ("ULDC UR4, c[0x0][0x21e]", Some("c[")),
            ("LDC.U16 R3, c[0x0][0x21e]", None),
            ("FADD R3, R3, c[0x0][0x21e]", Some("c[")),
        ] {
            let found = misaligned(isa, text, 0, 0).map(|(at, _)| at);
            assert_eq!(found, wrong.and_then(|wrong| text.find(wrong)), "{text}");
        }
    }
}
