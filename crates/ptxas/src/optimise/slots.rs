//! Where an instruction takes a constant, or a word of constant bank 0, in the place of a register.

use crate::code::{Instruction, Operand, Reg};
use smol_str::format_smolstr;

/// What stands in the place of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fixed {
    Constant(u32),
    /// An offset in constant bank 0.
    Bank(u32),
}

/// How a constant is spelled there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Signed,
    Unsigned,
    Float,
}

/// Of an instruction: the spelling, and which sources may be constants. Words of a constant bank stand nowhere: sm_90 has kept the codes of
/// older devices for that, which disassemblers read, and does not execute them; `LDC` and `ULDC` alone take such words.
fn slots(one: &Instruction) -> Option<(Spelling, &'static [usize])> {
    use Spelling::{Float, Signed, Unsigned};
    Some(match one.name.head() {
        "IMAD" if one.name.starts_with("IMAD.HI") => return None,
        "IMAD" | "IADD3" | "ISETP" | "VIMNMX" => (Signed, &[1]),
        "LOP3" | "SEL" | "SHF" | "PRMT" => (Unsigned, &[1]),
        "VIADDMNMX" => (Unsigned, &[1, 2]),
        // With a carry, or of the upper bits, it has other forms.
        "LEA" if one.name == "LEA" => (Unsigned, &[1]),
        "FFMA" => (Float, &[1, 2]),
        "FADD" | "FMUL" | "FSETP" | "FMNMX" => (Float, &[1]),
        "SHFL" => (Unsigned, &[1, 2]),
        _ => return None,
    })
}

/// The constants that a shuffle has bits for: none in place of the value, a lane, a mask with a bound.
const SHUFFLED: [u32; 3] = [0, 1 << 5, 1 << 13];

/// Whether a source is a register, or one that is always zero or true.
fn is_register(operand: &Operand) -> bool {
    match operand {
        Operand::General { .. } | Operand::Predicate(..) => true,
        Operand::Text(text) => ["RZ", "-RZ", "PT", "!PT"].contains(&text.as_str()),
        Operand::Uniform { .. } | Operand::Address { .. } | Operand::Target(_) => false,
    }
}

/// What may stand in place of the register at an operand's place.
pub(crate) fn fixed(one: &Instruction, index: usize, bits: u32) -> Option<Operand> {
    let slot = index.checked_sub(one.written)?;
    let (spelling, constants) = slots(one)?;
    let Operand::General { before, after: "", width: 1, .. } = &one.operands[index] else { return None };
    if !["", "-"].contains(before) {
        return None;
    }
    let minus = !before.is_empty();
    // The third source of `LEA` is a number of bits.
    let sources = if one.name == "LEA" { 2 } else { 3 };
    let alone = is_alone(one, slot, sources);
    let is_shuffle = one.name.starts_with("SHFL.");
    if !alone && !is_shuffle || is_shuffle && bits >= SHUFFLED[slot.min(2)] {
        return None;
    }
    if !constants.contains(&slot) {
        return None;
    }
    let text = match spelling {
        Spelling::Float => float(if minus { bits ^ 0x8000_0000 } else { bits })?,
        Spelling::Unsigned if minus => return None,
        Spelling::Unsigned => format!("{bits:#x}"),
        // A product by a power of two has other names.
        Spelling::Signed if one.name == "IMAD" && bits.is_power_of_two() => return None,
        Spelling::Signed if bits == 0 || minus && one.name.contains(".X") => return None,
        Spelling::Signed => {
            let value = i64::from(bits as i32) * if minus { -1 } else { 1 };
            let sign = if value < 0 { "-" } else { "" };
            (value.unsigned_abs() <= 0x7fff_ffff).then(|| format!("{sign}{:#x}", value.unsigned_abs()))?
        }
    };
    Some(Operand::Text(text.into()))
}

/// Whether the other of an instruction's first sources are registers.
fn is_alone(one: &Instruction, slot: usize, sources: usize) -> bool {
    let others = one.operands[one.written..].iter().take(sources).enumerate().filter(|&(at, _)| at != slot);
    others.map(|(_, other)| other).all(is_register)
}

/// What may stand in place of the two registers at an operand's place, of which the lower one is zero.
pub(crate) fn fixed_double(one: &Instruction, index: usize, upper: u32) -> Option<Operand> {
    let slot = index.checked_sub(one.written)?;
    let Operand::General { before, after: "", width: 2, .. } = &one.operands[index] else { return None };
    let takes = match one.name.head() {
        "DADD" | "DMUL" | "DSETP" => slot == 1,
        "DFMA" => slot == 1 || slot == 2,
        _ => false,
    };
    let upper = match *before {
        "" => upper,
        "-" => upper ^ 0x8000_0000,
        _ => return None,
    };
    if !takes || !is_alone(one, slot, 3) {
        return None;
    }
    Some(match upper {
        0 => Operand::zero(),
        _ => Operand::Text(format_smolstr!("0D{upper:08x}00000000")),
    })
}

/// The sources of an instruction that may be uniform registers, and how many are looked at: all others must be general ones.
fn uniform_slots(one: &Instruction) -> Option<(&'static [usize], usize)> {
    Some(match one.name.head() {
        "IMAD" if one.name.starts_with("IMAD.HI") => return None,
        "IMAD" | "FFMA" | "DFMA" | "VIADDMNMX" | "SHF" | "PRMT" => (&[1, 2], 3),
        "IADD3" | "LOP3" => (&[1], 3),
        "LEA" if one.name == "LEA" => (&[1], 2),
        "ISETP" | "SEL" | "VIMNMX" | "FADD" | "FMUL" | "FSETP" | "FMNMX" | "FSEL" | "DADD" | "DMUL"
        | "DSETP" => (&[1], 2),
        "MOV" | "IABS" | "I2FP" => (&[0], 1),
        _ => return None,
    })
}

/// An instruction with a uniform register in the place of the register at an operand's place: there, or where another source of the same
/// meaning stands.
pub(crate) fn with_uniform(one: &Instruction, index: usize, uniform: Reg) -> Option<Instruction> {
    let slot = index.checked_sub(one.written)?;
    let Operand::General { part, width, before, after: "", .. } = one.operands[index] else { return None };
    let (uniforms, sources) = uniform_slots(one)?;
    let mut changed = one.clone();
    compare_with_zero(&mut changed);
    if slot >= sources || !is_alone(&changed, slot, sources) {
        return None;
    }
    changed.operands[index] = Operand::Uniform { reg: uniform, part, width, before };
    if uniforms.contains(&slot) {
        return Some(changed);
    }
    let first = one.written;
    match (one.name.head(), slot) {
        ("IADD3", 2) => {
            changed.operands.swap(first + 1, first + 2);
            Some(changed)
        }
        ("LOP3", 2) => {
            swap_later(&mut changed);
            Some(changed)
        }
        (_, 0) => swap(&mut changed).then_some(changed),
        _ => None,
    }
}

/// Lets a comparison with one or minus one be the same with zero, which is a register.
fn compare_with_zero(one: &mut Instruction) {
    let second = one.written + 1;
    let Some(bits) = one.operands.get(second).and_then(constant) else { return };
    let same = match (one.name.as_str(), bits as i32) {
        ("ISETP.LT.AND", 1) => "ISETP.LE.AND",
        ("ISETP.GE.AND", 1) => "ISETP.GT.AND",
        ("ISETP.LE.AND", -1) => "ISETP.LT.AND",
        ("ISETP.GT.AND", -1) => "ISETP.GE.AND",
        ("ISETP.LT.U32.AND", 1) => "ISETP.EQ.U32.AND",
        ("ISETP.GE.U32.AND", 1) => "ISETP.NE.U32.AND",
        _ => return,
    };
    one.name = same.into();
    one.operands[second] = Operand::zero();
}

/// A normal number or an infinity as it is spelled.
fn float(bits: u32) -> Option<String> {
    let value = f32::from_bits(bits);
    match value.is_infinite() {
        true => Some(if value < 0.0 { "-INF" } else { "+INF" }.to_owned()),
        false => value.is_normal().then(|| format!("{}", f64::from(value))),
    }
}

/// The constant that an operand spells as a number of 32 bits.
pub(crate) fn constant(operand: &Operand) -> Option<u32> {
    let Operand::Text(text) = operand else { return None };
    match (text.as_str(), text.strip_prefix("-0x")) {
        ("RZ", _) => Some(0),
        (_, Some(digits)) => u32::from_str_radix(digits, 16).ok().map(u32::wrapping_neg),
        (plain, None) => u32::from_str_radix(plain.strip_prefix("0x")?, 16).ok(),
    }
}

/// The offset of a word of constant bank 0.
pub(crate) fn bank(operand: &Operand) -> Option<u32> {
    let Operand::Text(text) = operand else { return None };
    let digits = text.strip_prefix("c[0x0][0x")?.strip_suffix(']')?;
    u32::from_str_radix(digits, 16).ok()
}

/// What a predicate is a copy of, if an instruction makes nothing else.
pub(crate) fn copied_predicate(one: &Instruction) -> Option<&Operand> {
    match one.operands.as_slice() {
        [Operand::Predicate(_, false), second, from @ Operand::Predicate(..), rest @ ..]
            if one.name == "PLOP3.LUT"
                && one.written == 2
                && *second == Operand::always(false)
                && is_copy_table(rest) =>
        {
            Some(from)
        }
        _ => None,
    }
}

/// Whether the second source of `PLOP3` and what stands behind it let the first one pass.
pub(crate) fn is_copy_table(rest: &[Operand]) -> bool {
    matches!(rest, [_, _, table, last] if constant(table) == Some(0xf0) && constant(last) == Some(0))
}

/// Lets the first two sources change places, where the result stays the same.
pub(crate) fn swap(one: &mut Instruction) -> bool {
    let (first, second) = (one.written, one.written + 1);
    let head = one.name.head();
    let commutes = match head {
        "IADD3" | "IMAD" | "FADD" | "FMUL" | "FFMA" | "VIADDMNMX" | "VIMNMX" | "FMNMX" | "DADD" | "DMUL"
        | "DFMA" => true,
        // The table is by the bits of a, b and c, that of a the highest.
        "LOP3" => permute(one, |it| it & 1 | it >> 1 & 2 | it << 1 & 4),
        "SEL" => match one.operands.get_mut(first + 2) {
            Some(Operand::Predicate(_, not)) => {
                *not = !*not;
                true
            }
            _ => false,
        },
        "ISETP" | "FSETP" if !one.name.ends_with(".EX") => {
            let (head, rest) = (head.to_owned(), one.name[head.len()..].to_owned());
            let mirrored = [(".LT", ".GT"), (".LE", ".GE"), (".GT", ".LT"), (".GE", ".LE")];
            let found = mirrored.iter().find(|(from, _)| rest.starts_with(from));
            if let Some((from, to)) = found {
                one.name = format_smolstr!("{head}{to}{}", &rest[from.len()..]).into();
            }
            found.is_some() || [".EQ.", ".NE."].iter().any(|it| rest.starts_with(it))
        }
        _ => false,
    };
    if commutes {
        one.operands.swap(first, second);
    }
    commutes
}

/// Lets the second and third source of `LOP3` change places.
pub(crate) fn swap_later(one: &mut Instruction) {
    let second = one.written + 1;
    if permute(one, |it| it & 4 | it >> 1 & 1 | it << 1 & 2) {
        one.operands.swap(second, second + 1);
    }
}

/// Gives `LOP3` the table that for each three bits says what its own says for others.
fn permute(one: &mut Instruction, of: impl Fn(u32) -> u32) -> bool {
    let at = one.written + 3;
    let Some(table) = one.operands.get(at).and_then(constant) else { return false };
    let permuted = (0..8).filter(|&it| table >> of(it) & 1 == 1).fold(0, |all, it: u32| all | 1 << it);
    one.operands[at] = Operand::number(permuted);
    true
}
