//! An instruction of the table in its canonical writing: registers by the width of what they hold, numbered from 0 in
//! each class, and no spaces between operands.

use ptx::isa::{self, Gate, Opcode};
use ptx::types::{Arch, ArchVariant, ScalarType, Version};

/// The newest version that the asked ptxas knows.
pub(crate) const NEWEST: Version = Version { major: 9, minor: 0 };

/// The operands of a form's instance.
pub(crate) fn operands(opcode: &Opcode, full: bool) -> Vec<String> {
    let (texts, registers) = isa::instance_operands(opcode, full);
    let mut names: Vec<String> = Vec::new();
    for ty in &registers {
        let class = class(*ty);
        let number = names.iter().filter(|name| name.starts_with(class)).count();
        names.push(format!("{class}{number}"));
    }
    texts.iter().map(|text| renamed(text, &names)).collect()
}

/// `[%r3, {%r1}]` with the canonical names of the registers, without spaces.
fn renamed(text: &str, names: &[String]) -> String {
    let mut pieces = text.split("%r");
    let mut renamed = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        match piece[..digits].parse::<usize>() {
            Ok(number) => renamed += &names[number],
            Err(_) => renamed += "%r",
        }
        renamed += &piece[digits..];
    }
    renamed.replace(' ', "")
}

/// How the registers for a type are called.
fn class(ty: ScalarType) -> &'static str {
    match (ty, ty.bits()) {
        (ScalarType::Pred, _) => "%p",
        (ScalarType::F32, _) => "%f",
        (ScalarType::F64, _) => "%g",
        (_, 8) => "%c",
        (_, 16) => "%h",
        (_, 32) => "%r",
        (_, 128) => "%q",
        _ => "%d",
    }
}

/// `%r0|%p0,%r1`.
pub(crate) fn joined(operands: &[String]) -> String {
    let mut text = String::new();
    for operand in operands {
        if !text.is_empty() && !operand.starts_with('|') {
            text.push(',');
        }
        text += operand;
    }
    text
}

/// An instruction without operands has no space.
pub(crate) fn instruction(opcode: &str, operands: &str) -> String {
    if operands.is_empty() { opcode.to_owned() } else { format!("{opcode} {operands}") }
}

const fn arch(sm: u16, variant: ArchVariant) -> Arch {
    Arch { sm, variant }
}

/// The targets at which combinations are asked, the usual one first.
const HOMES: [Arch; 5] = [
    arch(90, ArchVariant::Specific),
    arch(100, ArchVariant::Specific),
    arch(103, ArchVariant::Specific),
    arch(120, ArchVariant::Specific),
    arch(60, ArchVariant::Base),
];

/// Everything that an opcode with these operands needs.
pub(crate) fn gates(opcode: &Opcode, full: bool) -> Vec<Gate> {
    let operands = opcode.data().operands.iter().filter(|spec| match spec.with {
        Some(modifier) => opcode.has(modifier),
        None => full || !spec.optional,
    });
    opcode.gates().map(|(_, gate)| gate).chain(operands.map(|spec| spec.gate)).collect()
}

/// The target at which an opcode is asked about.
pub(crate) fn home(opcode: &Opcode, full: bool) -> Option<Arch> {
    let gates = gates(opcode, full);
    HOMES.into_iter().find(|&arch| gates.iter().all(|gate| gate.permits(NEWEST, arch)))
}
