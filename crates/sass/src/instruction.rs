//! A legal word with its form: small, copied freely, printed from the table.

use std::fmt;
use std::fmt::Write;

use crate::arch::Arch;
use crate::bits::Bits;
use crate::control::Control;
use crate::parse;
use crate::table::{Memory, Piece, Table};

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

    pub(crate) fn pieces(&self) -> &'static [Piece] {
        &self.arch.table().forms[self.form as usize].pieces
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
        self.pieces().iter().find_map(|piece| match piece {
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

impl Table {
    /// Appends the text of a word that belongs to the form.
    pub(crate) fn print(
        &self,
        form: u32,
        word: u128,
        address: u64,
        out: &mut String,
        mut target: impl FnMut(u64, &mut String) -> bool,
    ) {
        for piece in &self.forms[form as usize].pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Set { set, bits } => {
                    if let Some(text) = &self.sets[*set as usize].strings[bits.get(word) as usize] {
                        out.push_str(text);
                    }
                }
                Piece::Hex { bits, shift, signed: false } => {
                    print_hex(u128::from(bits.get(word)) << shift, out)
                }
                Piece::Hex { bits, shift, signed: true } => {
                    print_signed(i128::from(signed(bits, word)) << shift, out)
                }
                Piece::Relative { bits, shift } => {
                    let to = relative(bits, *shift, word, address);
                    if !target(to, out) {
                        print_signed(i128::from(to.cast_signed()), out);
                    }
                }
                Piece::Float { bits, format } => format.print(bits.get(word), out),
                Piece::Memory(memory) => memory.print(self, word, out),
            }
        }
        out.truncate(out.trim_end().len());
    }
}

impl Arch {
    pub(crate) fn table(self) -> &'static Table {
        crate::isa::table(self)
    }
}

/// The address that a relative field means.
pub(crate) fn relative(bits: &Bits, shift: u8, word: u128, address: u64) -> u64 {
    address.wrapping_add(16).wrapping_add_signed(signed(bits, word) << shift)
}

/// The field's value, sign-extended.
pub(crate) fn signed(bits: &Bits, word: u128) -> i64 {
    let unused = 64 - bits.width();
    (bits.get(word) << unused) as i64 >> unused
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub(crate) fn print_hex(value: u128, out: &mut String) {
    out.push_str("0x");
    let digits = (128 - value.leading_zeros()).div_ceil(4).max(1);
    for at in (0..digits).rev() {
        out.push(char::from(DIGITS[(value >> (4 * at)) as usize & 15]));
    }
}

pub(crate) fn print_signed(value: i128, out: &mut String) {
    if value < 0 {
        out.push('-');
    }
    print_hex(value.unsigned_abs(), out);
}

impl Memory {
    /// The registers that are left out where they have no suffix.
    pub(crate) fn left_out(&self) -> &'static [&'static str] {
        if self.keep { &[] } else { &["RZ", "URZ"] }
    }

    /// Whether it always prints the same.
    pub(crate) fn is_empty(&self) -> bool {
        self.register.is_none() && self.suffix.is_none() && self.uniform.is_none() && self.offset.is_none()
    }

    pub(crate) fn print(&self, table: &Table, word: u128, out: &mut String) {
        let start = out.len();
        let name = |field: Option<(u32, Bits)>| {
            let (set, bits) = field?;
            table.sets[set as usize].strings[bits.get(word) as usize].as_deref()
        };
        let suffix = name(self.suffix).unwrap_or("");
        let drops = |name: &str| suffix.is_empty() && self.left_out().contains(&name);
        let register = name(self.register).filter(|it| !drops(it));
        if let Some(register) = register {
            out.push_str(register);
            out.push_str(suffix);
        }
        let join = |out: &mut String| {
            if out.len() > start {
                out.push('+');
            }
        };
        if let Some(uniform) = name(self.uniform).filter(|it| !it.is_empty()) {
            join(out);
            out.push_str(uniform);
        }
        if let Some(bits) = self.offset {
            let value = bits.get(word);
            if value != 0 {
                join(out);
                if register.is_none() && self.wrap || !self.signed {
                    print_hex(u128::from(value) << self.shift, out);
                } else {
                    print_signed(i128::from(signed(&bits, word)) << self.shift, out);
                }
            }
        }
        if out.len() == start {
            out.push_str(if self.none { name(self.register).unwrap_or("RZ") } else { "0x0" });
        }
    }
}
