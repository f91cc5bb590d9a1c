//! What the text form asks of an instruction set: a word as text, and text as a word; and what must be known of
//! instructions that refer to places of code.

use crate::relocations::Field;

/// An instruction set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Isa {
    sm: u32,
}

/// Why a text is no instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The bytes of the text that are wrong.
    pub(crate) at: std::ops::Range<usize>,
    pub(crate) message: String,
    /// Whether the instruction exists and it is an operand that does not fit.
    pub(crate) operand: bool,
}

/// The bits of a word that say which instruction it is.
const OPCODE: u128 = 0xfff;
const BRA: u128 = 0x947;
const BRX: u128 = 0x949;
const BSSY: u128 = 0x945;
const CALL_REL: u128 = 0x944;
const EXIT: u128 = 0x94d;
const RET_REL: u128 = 0x950;

/// Whether a word ends its thread.
pub(crate) fn is_exit(word: u128) -> bool {
    word & OPCODE == EXIT
}

/// An instruction's name without modifiers: `EXIT` of `@P0 EXIT.KEEPREFCOUNT`.
pub(crate) fn mnemonic(text: &str) -> &str {
    let text = text.trim_start();
    let text = match text.strip_prefix('@') {
        Some(rest) => rest.split_once([' ', '\t']).map_or("", |(_, rest)| rest.trim_start()),
        None => text,
    };
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or("")
}

/// Whether an instruction's code address is written relative to the next instruction.
pub(crate) fn is_relative(text: &str) -> bool {
    matches!(mnemonic(text), "BRX" | "JMX")
}

impl Isa {
    /// The instruction set of a device.
    pub(crate) fn of(sm: u32) -> Option<Self> {
        (sm >= 70).then_some(Self { sm })
    }

    /// A word at an address as text, without its control code; none if it is unknown.
    pub(crate) fn print(self, _word: u128, _address: u64) -> Option<String> {
        None
    }

    /// The word of a text at an address, with an empty control code.
    pub(crate) fn parse(self, text: &str, _address: u64) -> Result<u128, Refusal> {
        Err(Refusal { at: 0..text.len(), message: format!("no instruction of sm_{}", self.sm), operand: false })
    }

    /// The offset in its section that a word refers to as code.
    pub(crate) fn target(self, word: u128, address: u64) -> Option<u64> {
        if !matches!(word & OPCODE, BRA | BRX | BSSY | CALL_REL | RET_REL) {
            return None;
        }
        // In units of 4 bytes: 48 bits from bit 34 on, and on later devices 8 below them.
        let high = ((word >> 34) as i64) << 16 >> 16;
        let units = if self.sm >= 90 { high << 8 | (word >> 16 & 0xff) as i64 } else { high };
        address.checked_add(16)?.checked_add_signed(units.checked_mul(4)?)
    }

    /// Whether a word calls code at an offset from it.
    pub(crate) fn is_relative_call(self, word: u128) -> bool {
        word & OPCODE == CALL_REL
    }

    /// Whether control may leave the straight line at a word.
    pub(crate) fn ends_block(self, word: u128) -> bool {
        matches!(word & OPCODE, BRA | BRX | CALL_REL | EXIT | RET_REL)
    }

    /// The number that a word loads into a register.
    pub(crate) fn loaded_number(self, word: u128) -> Option<u32> {
        // MOV with an immediate, and UMOV.
        let moves = matches!(word & OPCODE, 0x802 | 0x882);
        moves.then_some((word >> 32) as u32)
    }

    /// A text whose last number is the target with the label in its place.
    pub(crate) fn with_target(self, text: &str, address: u64, target: u64, label: &str) -> Option<String> {
        let shown = match is_relative(text) {
            true => i128::from(target) - i128::from(address) - 16,
            false => i128::from(target),
        };
        replace_last_number(text, shown, label)
    }

    /// A text with a label in the place of its last number.
    pub(crate) fn with_number(self, text: &str, number: u64, label: &str) -> Option<String> {
        replace_last_number(text, number.into(), label)
    }

    /// The text of a word with something else in the place of the operand that is a field.
    pub(crate) fn with_field(self, word: u128, address: u64, field: Field, with: &str) -> Option<String> {
        // The operand is what changes with the field.
        let pattern = |bits: u32| (word & !field.mask()) | u128::from(bits) << field.start;
        let (one, other) = (self.print(pattern(0), address)?, self.print(pattern(0x1234_5678), address)?);
        let start = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let token = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'.';
        let bytes = one.as_bytes();
        let from = (0..start).rev().take_while(|&at| token(bytes[at])).last().unwrap_or(start);
        let to = from + bytes[from..].iter().take_while(|&&letter| token(letter)).count();
        (&one[from..to] == "0x0").then(|| format!("{}{with}{}", &one[..from], &one[to..]))
    }
}

/// A text whose last operand is a number, with something else in its place.
fn replace_last_number(text: &str, number: i128, with: &str) -> Option<String> {
    let start = text.rfind([' ', ',']).map_or(0, |at| at + 1);
    let digits = &text[start..];
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |digits| (true, digits));
    let value = i128::from_str_radix(digits.strip_prefix("0x")?, 16).ok()?;
    let value = if negative { -value } else { value };
    (value == number).then(|| format!("{}{with}", &text[..start]))
}
