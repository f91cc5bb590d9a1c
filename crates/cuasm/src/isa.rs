//! What the text form needs of an instruction set beyond [`sass`]: which words refer to places of code, and where a
//! relocation's operand stands in a text.

use crate::relocations::Field;
use rustc_hash::FxHashMap as HashMap;
use sass::{Arch, Control, Instruction, Numbers, ParseError, Pattern, Symbols};
use std::cell::RefCell;
use std::fmt::Write;

/// An instruction set of 128-bit words; what the words mean is known for most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Isa {
    arch: Option<Arch>,
}

/// Bytes of an instruction.
pub(crate) const WORD: usize = 16;

/// The words of a section of code with their offsets.
pub(crate) fn words(data: &[u8]) -> impl Iterator<Item = (u64, u128)> {
    let words = data.as_chunks::<WORD>().0.iter();
    words.enumerate().map(|(index, word)| ((index * WORD) as u64, u128::from_le_bytes(*word)))
}

/// The bits of a word that are its control code in brackets. Reuse flags stand at operands.
pub(crate) const CONTROL: u128 = ((1 << 17) - 1) << 105;

/// The bits of the control code that say nothing about the others. The yield flag does: where it stands, reuse flags mean nothing.
const FREE: u128 = CONTROL & !(1 << 109);

/// The bits of a word that say which instruction it is.
const OPCODE: u128 = 0xfff;
const MOV_NUMBER: u128 = 0x802;
const UMOV_NUMBER: u128 = 0x882;
const BRA: u128 = 0x947;
const BRX: u128 = 0x949;
const CALL_REL: u128 = 0x944;
const EXIT: u128 = 0x94d;
const RET_REL: u128 = 0x950;

/// Whether a word ends its thread.
pub(crate) fn is_exit(word: u128) -> bool {
    word & OPCODE == EXIT
}

/// Whether a word calls code at an offset from it.
pub(crate) fn is_relative_call(word: u128) -> bool {
    word & OPCODE == CALL_REL
}

/// Whether control may leave the straight line at a word.
pub(crate) fn ends_block(word: u128) -> bool {
    matches!(word & OPCODE, BRA | BRX | CALL_REL | EXIT | RET_REL)
}

/// The number that a word loads into a register.
pub(crate) fn loaded_number(word: u128) -> Option<u32> {
    matches!(word & OPCODE, MOV_NUMBER | UMOV_NUMBER).then_some((word >> 32) as u32)
}

/// An instruction's name without modifiers: `EXIT` of `@P0 EXIT.KEEPREFCOUNT`.
pub(crate) fn mnemonic(text: &str) -> &str {
    Instruction::head(text.trim_start()).split('.').next().unwrap_or("")
}

impl Isa {
    /// The instruction set of a device; none where an instruction has not 128 bits.
    pub(crate) fn of(sm: u32) -> Option<Self> {
        (sm >= 70).then(|| Self { arch: Arch::from_number(sm) })
    }

    /// A word, if it is known.
    pub(crate) fn decode(self, word: u128) -> Option<Instruction> {
        sass::decode(self.arch?, word)
    }

    /// The word of a text.
    pub(crate) fn parse(
        self,
        text: &str,
        control: Control,
        address: u64,
        symbols: &mut dyn Symbols,
    ) -> Result<Instruction, ParseError> {
        let unknown =
            || ParseError { span: 0..text.len(), message: "no instructions of this device are known".into() };
        let arch = self.arch.ok_or_else(unknown)?;
        sass::parse(arch, text, control, address, symbols)
    }

    /// The offset in its section that a word refers to as code.
    pub(crate) fn target(self, word: u128, address: u64) -> Option<u64> {
        self.decode(word)?.target(address)
    }

    /// The text of a word with something else in the place of the operand that is an empty field.
    pub(crate) fn with_field(self, word: u128, address: u64, field: Field, with: &str) -> Option<String> {
        let print = |bits: u32| {
            let mut text = String::new();
            let word = (word & !field.mask()) | u128::from(bits) << field.start;
            self.decode(word)?.print_exact(address, &mut text, |_, _| false);
            Some(text)
        };
        // The operand is what changes with the field.
        let (one, other) = (print(0)?, print(0x1234_5678)?);
        let start = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let token = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'.';
        let bytes = one.as_bytes();
        let from = (0..start).rev().take_while(|&at| token(bytes[at])).last().unwrap_or(start);
        let to = from + bytes[from..].iter().take_while(|&&letter| token(letter)).count();
        (&one[from..to] == "0x0").then(|| format!("{}{with}{}", &one[..from], &one[to..]))
    }
}

/// A text whose last operand is a number, with something else in its place.
pub(crate) fn with_last_number(text: &str, number: u64, with: &str) -> Option<String> {
    let start = text.rfind([' ', ',']).map_or(0, |at| at + 1);
    let value = u64::from_str_radix(text[start..].strip_prefix("0x")?, 16).ok()?;
    (value == number).then(|| format!("{}{with}", &text[..start]))
}

/// The residues of words that have been printed. Code repeats itself: in libraries three of four words, registers and all, have
/// been there before in the same file, and to look one up takes a fraction of the time of reading its text again.
#[derive(Debug, Default)]
pub(crate) struct Residues(RefCell<HashMap<u128, u128>>);

impl Residues {
    /// Appends the exact text of an instruction. What `target` is, [`Instruction::print_exact`] says.
    pub(crate) fn print(
        &self,
        instruction: Instruction,
        address: u64,
        out: &mut String,
        target: impl FnMut(u64, &mut String) -> bool,
    ) {
        let mut known = self.0.borrow_mut();
        let residue = *known.entry(instruction.word() & !FREE).or_insert_with(|| instruction.residue());
        // Where no text gives the word, the residue is all of it, and says where it leads.
        match (residue ^ instruction.word()) & !FREE {
            0 => instruction.print(address, out),
            _ => instruction.print_with(address, out, target),
        }
        if residue != 0 {
            let _ = write!(out, " {}{residue:#x}", sass::RESIDUE);
        }
    }
}

/// Texts without labels that have been read, for the same reason as [`Residues`]: two of three differ from one before in the numbers of registers
/// alone, if in anything.
#[derive(Debug, Default)]
pub(crate) struct Words(RefCell<Patterns>);

#[derive(Debug, Default)]
struct Patterns {
    /// By what is left of the text without these numbers, and by the yield flag.
    known: HashMap<String, Pattern>,
    shape: String,
    numbers: Numbers,
}

impl Words {
    /// The word of a text; `parse` finds it if it is new.
    pub(crate) fn get<E>(
        &self,
        text: &str,
        control: Control,
        parse: impl FnOnce() -> Result<Instruction, E>,
    ) -> Result<Instruction, E> {
        let Patterns { known, shape, numbers } = &mut *self.0.borrow_mut();
        shape.clear();
        numbers.clear();
        shape.push(if control.yield_flag { 'Y' } else { '-' });
        sass::shape(text, shape, numbers);
        // Not every stall count is legal.
        if let Some(found) = known.get(shape.as_str()).and_then(|it| it.with(numbers, control)) {
            return Ok(found);
        }
        let instruction = parse()?;
        // Else it means something else elsewhere.
        if instruction.target(0).is_none()
            && let Some(pattern) = Pattern::new(instruction, numbers)
        {
            known.insert(shape.clone(), pattern);
        }
        Ok(instruction)
    }
}
