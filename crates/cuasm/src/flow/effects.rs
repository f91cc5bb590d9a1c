//! Which registers an instruction reads and writes, read off its text.
//!
//! The operands say which registers; how many follow them and which are written is in the instruction's name. The rules here
//! are those of ptxas' code for sm_75 to sm_120. Where a name is not known, its first operand is written and each register
//! is single: what is said of it may be too little, never about a register that is not named.

use sass::{Instruction, Name};

/// Registers, uniform registers, predicates and uniform predicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    vector: [u64; 4],
    uniform: u128,
    predicates: u16,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Register {
    Vector(u8),
    Uniform(u8),
    Predicate(u8),
    UniformPredicate(u8),
}

impl std::fmt::Display for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vector(number) => write!(f, "R{number}"),
            Self::Uniform(number) => write!(f, "UR{number}"),
            Self::Predicate(number) => write!(f, "P{number}"),
            Self::UniformPredicate(number) => write!(f, "UP{number}"),
        }
    }
}

impl Registers {
    pub(crate) fn insert(&mut self, register: Register) {
        match register {
            // The last number is RZ, URZ, PT.
            Register::Vector(255) | Register::Predicate(7..) | Register::UniformPredicate(7..) => {}
            Register::Vector(number) => self.vector[usize::from(number / 64)] |= 1 << (number % 64),
            Register::Uniform(number) => self.uniform |= 1_u128.checked_shl(number.into()).unwrap_or(0),
            Register::Predicate(number) => self.predicates |= 1 << number,
            Register::UniformPredicate(number) => self.predicates |= 1 << (8 + number),
        }
    }

    pub(crate) fn contains(self, register: Register) -> bool {
        let mut one = Self::default();
        one.insert(register);
        self.union(one) == self && !one.is_empty()
    }

    fn remove(&mut self, register: Register) {
        let mut one = Self::default();
        one.insert(register);
        self.vector.iter_mut().zip(one.vector).for_each(|(own, other)| *own &= !other);
        self.uniform &= !one.uniform;
        self.predicates &= !one.predicates;
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Register> {
        let vector = (0..255).filter(move |&at: &u8| self.vector[usize::from(at / 64)] >> (at % 64) & 1 == 1);
        let uniform = (0..128).filter(move |at| self.uniform >> at & 1 == 1);
        let predicates = (0..7).filter(move |at| self.predicates >> at & 1 == 1);
        let uniform_predicates = (0..7).filter(move |at| self.predicates >> (8 + at) & 1 == 1);
        vector
            .map(Register::Vector)
            .chain(uniform.map(Register::Uniform))
            .chain(predicates.map(Register::Predicate))
            .chain(uniform_predicates.map(Register::UniformPredicate))
    }

    pub(crate) fn union(self, other: Self) -> Self {
        let mut vector = self.vector;
        vector.iter_mut().zip(other.vector).for_each(|(one, other)| *one |= other);
        Self { vector, uniform: self.uniform | other.uniform, predicates: self.predicates | other.predicates }
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The least number of vector registers that holds all of them.
    pub(crate) fn vector_count(self) -> u32 {
        let highest = (0..4).rev().find(|&at| self.vector[at] != 0);
        highest.map_or(0, |at| at as u32 * 64 + 64 - self.vector[at].leading_zeros())
    }
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    pub(crate) reads: Registers,
    pub(crate) writes: Registers,
    /// Of those that are read, the upper half of an addend of 64 bits.
    pub(crate) late: Registers,
}

/// Instructions that write no register.
const SILENT: &[&str] = &[
    "ACQBULK",
    "ARRIVES",
    "BAR",
    "BPT",
    "BRA",
    "BREAK",
    "BRX",
    "BSSY",
    "BSYNC",
    "CALL",
    "CCTL",
    "CCTLL",
    "CCTLT",
    "DEPBAR",
    "ENDCOLLECTIVE",
    "ERRBAR",
    "EXIT",
    "FENCE",
    "JMP",
    "JMX",
    "KILL",
    "LDGDEPBAR",
    "LDGSTS",
    "MEMBAR",
    "NANOSLEEP",
    "NOP",
    "PMTRIG",
    "PREEXIT",
    "RED",
    "REDG",
    "RET",
    "ST",
    "STG",
    "STL",
    "STS",
    "STSM",
    "SURED",
    "SUST",
    "UBLKCP",
    "UBLKPF",
    "UBLKRED",
    "UCGABAR_ARV",
    "UCGABAR_WAIT",
    "USETMAXREG",
    "UTMACCTL",
    "UTMACMDFLUSH",
    "UTMALDG",
    "UTMAPF",
    "UTMAREDG",
    "UTMASTG",
    "WARPGROUP",
    "WARPSYNC",
    "YIELD",
];

/// Instructions with exactly two results, both predicates, or a register and a predicate.
const TWO_RESULTS: &[&str] = &["PLOP3", "UPLOP3", "VOTE", "VOTEU"];

/// What the text of an instruction does. The text is without control code.
pub(crate) fn effects(text: &str) -> Effects {
    let head = Instruction::head(text);
    let mut modifiers = head.split('.');
    let name = modifiers.next().unwrap_or("");
    let modifiers: Vec<&str> = modifiers.collect();
    let operands = split(text);
    let written = results(name, &modifiers, &operands);
    let mut effects = Effects::default();
    let mut factors = Registers::default();
    for operand in Instruction::operands(text) {
        let first = match operand.name {
            Name::Register(number) => Register::Vector(number),
            Name::Uniform(number) => Register::Uniform(number),
            Name::Predicate(number) => Register::Predicate(number),
            Name::UniformPredicate(number) => Register::UniformPredicate(number),
            Name::Barrier(_) | Name::Scoreboard(_) | Name::Constant(..) => continue,
        };
        let index = operand.index.map(usize::from);
        let result = index.is_some_and(|index| index < written) && !operand.bracketed;
        let count = match operand.bracketed {
            true => address_width(
                name,
                &modifiers,
                &text[operand.at..],
                operand.pair,
                first,
                operands.get(index.unwrap_or(0)),
            ),
            false if operand.pair => 2,
            false => width(
                &Shape { name, modifiers: &modifiers, operands: operands.len(), written },
                index.unwrap_or(0),
                result,
            ),
        };
        let nth = |offset: u8| match first {
            Register::Vector(number) => Register::Vector(number.saturating_add(offset)),
            Register::Uniform(number) => Register::Uniform(number.saturating_add(offset)),
            other => other,
        };
        let set = if result { &mut effects.writes } else { &mut effects.reads };
        (0..count).for_each(|offset| set.insert(nth(offset)));
        if name == "IMAD" && modifiers.contains(&"WIDE") && !result {
            match count {
                2 => effects.late.insert(nth(1)),
                _ => factors.insert(first),
            }
        }
    }
    if !effects.late.is_empty() {
        // What is a factor too is read early.
        factors.iter().for_each(|register| effects.late.remove(register));
    }
    let mask = operands.last().and_then(|mask| u32::from_str_radix(mask.strip_prefix("0x")?, 16).ok());
    let all = (0..7).filter(|number| mask.unwrap_or(u32::MAX) >> number & 1 == 1).map(Register::Predicate);
    match name {
        // As many predicates at once as the mask has.
        "R2P" => all.for_each(|predicate| effects.writes.insert(predicate)),
        "P2R" => all.for_each(|predicate| effects.reads.insert(predicate)),
        _ => {}
    }
    effects
}

/// The operands between commas.
fn split(text: &str) -> Vec<&str> {
    let text = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
        None => text,
    };
    let Some((_, operands)) = text.split_once(' ') else { return Vec::new() };
    operands.split(',').map(str::trim).collect()
}

fn is_predicate(operand: &str) -> bool {
    let digits = operand.strip_prefix('U').unwrap_or(operand).strip_prefix('P');
    digits.is_some_and(|rest| rest == "T" || rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
}

fn is_register(operand: &str) -> bool {
    let digits = operand.strip_prefix('U').unwrap_or(operand).strip_prefix('R');
    digits.is_some_and(|rest| rest.starts_with('Z') || rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// How many of the first operands are results.
fn results(name: &str, modifiers: &[&str], operands: &[&str]) -> usize {
    if SILENT.contains(&name) && !(name == "BAR" && modifiers.contains(&"RED")) {
        return 0;
    }
    if name.ends_with("SETP") || name.ends_with("SETP2") || TWO_RESULTS.contains(&name) {
        return 2;
    }
    if name.starts_with("TEX") || name.starts_with("TLD") {
        return 2;
    }
    let predicates =
        |from: usize| operands[from..].iter().take_while(|operand| is_predicate(operand)).count();
    match operands.first() {
        Some(first) if is_predicate(first) => {
            let count = predicates(0);
            let more = name != "FCHK" && operands.get(count).is_some_and(|next| is_register(next));
            count + usize::from(more)
        }
        Some(_) => 1 + predicates(1),
        None => 0,
    }
}

/// An instruction's name and how many operands it has.
struct Shape<'a> {
    name: &'a str,
    modifiers: &'a [&'a str],
    operands: usize,
    written: usize,
}

/// How many registers an operand outside brackets takes.
fn width(shape: &Shape<'_>, index: usize, result: bool) -> u8 {
    let Shape { name, modifiers, operands, written } = *shape;
    let has = |modifier: &str| modifiers.contains(&modifier);
    let size = if has("128") {
        4
    } else if has("96") {
        3
    } else if has("64") {
        2
    } else {
        1
    };
    // Which of the operands behind the results it is.
    let source = index.checked_sub(written);
    match name {
        "LD" | "LDG" | "LDS" | "LDL" | "LDC" | "ULDC" | "LDCU" if result => size,
        "ST" | "STG" | "STS" | "STL" | "RED" | "REDG" if !result => size,
        "ATOM" | "ATOMG" | "ATOMS" if has("64") => 2,
        // `.16.MT88.4`: the last number is that of matrices.
        "LDSM" | "STSM" => modifiers.iter().rev().find_map(|modifier| modifier.parse().ok()).unwrap_or(1),
        "IMAD" | "UIMAD" if has("WIDE") && (result || source == Some(2)) => 2,
        "DADD" | "DMUL" | "DFMA" | "DMNMX" | "DSETP" | "FADD2" | "FMUL2" | "FFMA2" => 2,
        "CS2R" => {
            if has("32") {
                1
            } else {
                2
            }
        }
        "LEPC" | "BRX" | "JMX" | "RET" => 2,
        "CALL" if has("ABS") => 2,
        "F2F" | "F2I" | "I2F" | "FRND" | "I2FP" => {
            let wide = |modifier: &&&str| matches!(**modifier, "F64" | "S64" | "U64");
            let mixed = matches!(name, "F2F" | "FRND");
            match (mixed, result) {
                // The result's type comes first.
                (true, true) => modifiers.first().filter(wide).map_or(1, |_| 2),
                (true, false) => modifiers
                    .last()
                    .filter(|_| modifiers.len() > 1 || name == "FRND")
                    .filter(wide)
                    .map_or(1, |_| 2),
                (false, true) => {
                    if has(if name == "F2I" { "S64" } else { "F64" }) || name == "F2I" && has("U64") {
                        2
                    } else {
                        1
                    }
                }
                (false, false) => {
                    let wide = if name == "F2I" { has("F64") } else { has("S64") || has("U64") };
                    if wide { 2 } else { 1 }
                }
            }
        }
        "HMMA" | "IMMA" | "QMMA" | "BMMA" | "DMMA" | "OMMA" => {
            matrix(name, modifiers, if result { None } else { source })
        }
        "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" => {
            group_matrix(modifiers, result || source == Some(operands - written - 1) || source == Some(1))
        }
        _ if name.starts_with('U') || has("64") && matches!(name, "IADD" | "IADD3" | "MOV" | "SEL") => size,
        _ => 1,
    }
}

/// Registers of a fragment: of the result (`None`) or of the factors and the addend.
fn matrix(name: &str, modifiers: &[&str], source: Option<usize>) -> u8 {
    let [result, first, second] = match (name, modifiers.first().copied().unwrap_or("")) {
        ("HMMA", "16816") => [4, 4, 2],
        ("HMMA", "1688") if modifiers.contains(&"TF32") => [4, 4, 2],
        ("HMMA", "1688" | "1684") => [4, 2, 1],
        ("IMMA", "8816") => [2, 1, 1],
        ("IMMA", "16816") => [4, 2, 1],
        ("IMMA" | "QMMA" | "OMMA" | "BMMA", _) => [4, 4, 2],
        ("DMMA", "8x8x4") => [4, 2, 2],
        ("DMMA", "16x8x4") => [8, 4, 2],
        ("DMMA", "16x8x8") => [8, 8, 4],
        ("DMMA", "16x8x16") => [8, 16, 8],
        _ => [1, 1, 1],
    };
    // Sums of 16-bit floats are packed.
    let result = if name == "HMMA" && modifiers.get(1) == Some(&"F16") { 2 } else { result };
    match source {
        None | Some(2) => result,
        Some(0) => first,
        Some(1) => second,
        _ => 1,
    }
}

/// Registers of a fragment of a warpgroup's product.
fn group_matrix(modifiers: &[&str], sum: bool) -> u8 {
    let columns =
        modifiers.first().and_then(|shape| shape.split('x').nth(1)?.parse::<u32>().ok()).unwrap_or(8);
    let packed = modifiers.get(1) == Some(&"F16");
    match sum {
        true => (columns / if packed { 4 } else { 2 }).min(255) as u8,
        false => 4,
    }
}

/// How many registers a register in brackets stands for.
fn address_width(
    name: &str,
    modifiers: &[&str],
    rest: &str,
    pair: bool,
    register: Register,
    operand: Option<&&str>,
) -> u8 {
    let descriptor =
        operand.is_some_and(|operand| operand.starts_with("desc[") || operand.starts_with("gdesc["));
    if pair || descriptor && matches!(register, Register::Uniform(_)) && !rest.contains("+UR") {
        return 2;
    }
    let global = matches!(name, "LD" | "ST" | "ATOM" | "LDG" | "STG" | "ATOMG" | "RED");
    // Before sm_80 the width of a global address stands in the instruction's name alone.
    let alone = operand.is_some_and(|operand| {
        !operand.contains("UR") && !operand.contains(".U32") && !operand.contains("desc")
    });
    if global && modifiers.contains(&"E") && alone { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(registers: Registers) -> String {
        registers.iter().map(|register| register.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_instructions_read_and_write() {
        for (text, reads, writes) in [
            ("IADD3 R0, R0, R7, RZ", "R0 R7", "R0"),
            ("@!P1 IADD3 R6, P0, R6, UR6, RZ", "R6 UR6 P1", "R6 P0"),
            ("IADD3.X R7, RZ, UR7, RZ, P0, !PT", "UR7 P0", "R7"),
            ("ISETP.GE.AND P0, PT, R8, 0x1, P3", "R8 P3", "P0"),
            ("LDG.E.64 R0, desc[UR4][R2.64+0x8]", "R2 R3 UR4 UR5", "R0 R1"),
            ("STG.E desc[UR4][R2.64], R9", "R2 R3 R9 UR4 UR5", ""),
            ("STS.128 [R17+UR6], R12", "R12 R13 R14 R15 R17 UR6", ""),
            ("IMAD.WIDE.U32 R2, R7, 0x4, R2", "R2 R3 R7", "R2 R3"),
            ("SHFL.UP PT, R9, R0, 0x1, RZ", "R0", "R9"),
            ("LOP3.LUT P0, RZ, R2, 0x1, RZ, 0xc0, !PT", "R2", "P0"),
            ("VOTEU.ANY UR4, UPT, P2", "P2", "UR4"),
            ("LDC.64 R2, c[0x0][0x220]", "", "R2 R3"),
            ("LDG.E.SYS R0, [R2]", "R2 R3", "R0"),
            ("HMMA.16816.F32 R4, R8, R12, R4", "R4 R5 R6 R7 R8 R9 R10 R11 R12 R13", "R4 R5 R6 R7"),
            ("F2F.F64.F32 R2, R5", "R5", "R2 R3"),
            ("F2F.F32.F64 R2, R4", "R4 R5", "R2"),
            ("ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64], R7", "R2 R3 R7 UR4 UR5", "R5"),
            ("BSSY B0, 0x100", "", ""),
            ("RET.REL.NODEC R12 0x0", "R12 R13", ""),
            ("CS2R R2, SR_CLOCKLO", "", "R2 R3"),
            ("LDSM.16.MT88.4 R12, [R30]", "R30", "R12 R13 R14 R15"),
            ("P2R R24, PR, RZ, 0x9", "P0 P3", "R24"),
            ("R2P PR, R0.B1, 0x3", "R0", "P0 P1"),
        ] {
            let found = effects(text);
            assert_eq!(
                (names(found.reads).as_str(), names(found.writes).as_str()),
                (reads, writes),
                "{text}"
            );
        }
    }
}
