//! A legal word with its form: small, copied freely, printed from the table.

use std::fmt;
use std::fmt::Write;

use crate::arch::Arch;
use crate::control::Control;
use crate::parse;
use sass_table::relative;
use sass_table::table::{Form, Piece};

/// A legal instruction: its word and the form that the table has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    pub(crate) arch: Arch,
    pub(crate) form: u32,
    pub(crate) word: u128,
}

/// The instruction that the word is, or `None` if the table has none for it.
#[inline]
pub fn decode(arch: Arch, word: u128) -> Option<Instruction> {
    let form = arch.table().form_of(word)?;
    Some(Instruction { arch, form, word })
}

impl Instruction {
    /// The architecture whose word it is.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The 128 bits.
    pub fn word(&self) -> u128 {
        self.word
    }

    /// Its control code.
    pub fn control(&self) -> Control {
        Control::of(self.word)
    }

    /// The number of its form in the table of its architecture.
    pub fn form_number(&self) -> u32 {
        self.form
    }

    pub(crate) fn row(&self) -> &'static Form {
        &self.arch.table().forms[self.form as usize]
    }

    /// Appends what nvdisasm prints for the instruction at this address, without the semicolon. Bits that this text
    /// does not show are lost; [`Instruction::print_exact`] keeps them.
    pub fn print(&self, address: u64, out: &mut String) {
        self.print_with(address, out, |_, _| false);
    }

    /// Like [`Instruction::print`], but asks `target` first how a branch's target is to be spelled: it appends a name and says true,
    /// or leaves it to be printed as a number.
    pub fn print_with(&self, address: u64, out: &mut String, target: impl FnMut(u64, &mut String) -> bool) {
        self.arch.table().print(self.form, self.word, address, out, target);
    }

    /// Appends its mnemonic with modifiers, as in `IMAD.WIDE.U32`.
    pub(crate) fn spell(&self, out: &mut String) {
        self.arch.table().print_head(self.form, self.word, out);
    }

    /// The bits in which the word differs from what the assembler makes of its text, the control code apart. Zero for
    /// nearly all code that NVIDIA's compiler makes.
    pub fn residue(&self) -> u128 {
        let mut text = String::new();
        self.print(0, &mut text);
        match parse::without_residue(self.arch, &text, self.control(), 0, &mut parse::NoSymbols) {
            Ok(canonical) => canonical.word ^ self.word,
            Err(_) => self.word,
        }
    }

    /// Appends text that [`crate::parse()`] turns into exactly this word: what nvdisasm prints, and behind it ` &residue=0x…`
    /// where that text alone would give another word.
    pub fn print_exact(&self, address: u64, out: &mut String, target: impl FnMut(u64, &mut String) -> bool) {
        self.print_with(address, out, target);
        let residue = self.residue();
        if residue != 0 {
            let _ = write!(out, " {}{residue:#x}", parse::RESIDUE);
        }
    }

    /// Where the instruction branches to if it stands at this address: the address in its text.
    pub fn target(&self, address: u64) -> Option<u64> {
        self.arch.table().pieces(self.row()).find_map(|piece| match piece {
            Piece::Relative { bits, shift } => Some(relative(bits, *shift, self.word, address)),
            _ => None,
        })
    }
}

/// What nvdisasm prints for it at address 0, and the residue if there is one.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.print_exact(0, &mut text, |_, _| false);
        f.write_str(&text)
    }
}
