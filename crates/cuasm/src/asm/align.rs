//! Operands that an encoding holds but no hardware takes: registers and constants that are not aligned, branches between
//! instructions.
//!
//! Only what is certain is refused: operands of which the table says that they are aligned.

use sass::{Instruction, Name, Operand};

/// Bytes of a register.
const REGISTER: u32 = 4;

/// What is wrong with an instruction: the byte of its text, and why.
pub(super) fn misaligned(
    instruction: &Instruction,
    operands: &[Operand],
    text: &str,
    at: u64,
) -> Option<(usize, String)> {
    if instruction.target(at).is_some_and(|target| !target.is_multiple_of(16)) {
        let place = text.rfind("0x").unwrap_or(0);
        return Some((place, "no instruction stands at this address: it is no multiple of 16".to_owned()));
    }
    operands.iter().find_map(|&operand| {
        let (number, unit, what) = match operand.name {
            // The pair of an address is aligned, whatever instruction has it.
            _ if !(operand.aligned || operand.bracketed && operand.count == 2) => return None,
            Name::Register(number) | Name::Uniform(number) => {
                (u32::from(number), operand.count.into(), "register")
            }
            Name::Constant(_) => (
                offset(text, &spelled(operand.name)?)?,
                u32::from(operand.count) * REGISTER,
                "constant's offset",
            ),
            _ => return None,
        };
        let wrong = unit > 0 && !number.is_multiple_of(unit) && (operand.aligned || pair(text, operand));
        let place = || find(text, &spelled(operand.name)?);
        wrong.then(|| (place().unwrap_or(0), format!("this {what} must be a multiple of {unit}")))
    })
}

/// How a register or a bank of constants is spelled.
fn spelled(name: Name) -> Option<String> {
    match name {
        Name::Register(number) => Some(format!("R{number}")),
        Name::Uniform(number) => Some(format!("UR{number}")),
        Name::Constant(bank) => Some(format!("c[{bank:#x}]")),
        _ => None,
    }
}

/// Whether the text says that a register is a pair. One of a descriptor is too, but says nothing of it.
fn pair(text: &str, operand: Operand) -> bool {
    let Name::Register(number) = operand.name else { return false };
    text.contains(&format!("R{number}.64"))
}

/// The offset of a constant, without its sign.
fn offset(text: &str, bank: &str) -> Option<u32> {
    let rest = text[find(text, bank)? + bank.len()..].trim_start();
    let offset = rest.strip_prefix('[')?.split(']').next()?;
    u32::from_str_radix(offset.trim_start_matches('-').strip_prefix("0x")?, 16).ok()
}

/// Where a name stands in a text behind the mnemonic, and not as a part of another.
fn find(text: &str, name: &str) -> Option<usize> {
    let from = text.len() - text.split_once(Instruction::head(text)).map_or(text, |it| it.1).len();
    text[from..].match_indices(name).map(|it| from + it.0).find(|&at| {
        let letter = |letter: char| letter.is_ascii_alphanumeric();
        let alone = !text[..at].ends_with(letter) && !text[at + name.len()..].starts_with(letter);
        alone || name.ends_with(']') && !text[..at].ends_with(letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;
    use sass::{Control, NoSymbols};

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
            ("DADD R2, R4, c[0x0][0x214]", Some("c[")),
            ("FADD R3, R3, c[0x0][0x214]", None),
        ] {
            let instruction = isa.parse(text, Control::default(), 0, &mut NoSymbols).expect(text);
            let operands: Vec<Operand> = instruction.operands().collect();
            let found = misaligned(&instruction, &operands, text, 0).map(|(at, _)| at);
            assert_eq!(found, wrong.and_then(|wrong| text.find(wrong)), "{text}");
        }
    }
}
