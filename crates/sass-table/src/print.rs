//! The text of a word that belongs to a form.

use crate::bits::Bits;
use crate::table::{Listed, Memory, Piece, Table, Vocabulary};

impl Table<'_> {
    /// Appends the text of a word that belongs to the form. `target` is asked first how a branch's target is to be spelled: it
    /// appends a name and says true, or leaves it to be printed as a number.
    pub fn print(
        &self,
        form: u32,
        word: u128,
        address: u64,
        out: &mut String,
        mut target: impl FnMut(u64, &mut String) -> bool,
    ) {
        let vocabulary = &self.vocabulary;
        for piece in self.pieces(&self.forms[form as usize]) {
            match piece {
                Piece::Text(text) => out.push_str(vocabulary.strings.of(*text)),
                Piece::Set(field) => {
                    if let Some(text) = vocabulary.text_of(field, word) {
                        out.push_str(text);
                    }
                }
                Piece::Hex { bits, shift, signed: false } => {
                    print_hex(u128::from(bits.get(word)) << shift, out)
                }
                Piece::Hex { bits, shift, signed: true } => {
                    print_signed(i128::from(bits.signed(word)) << shift, out)
                }
                Piece::Relative { bits, shift } => {
                    let to = relative(bits, *shift, word, address);
                    if !target(to, out) {
                        print_signed(i128::from(to.cast_signed()), out);
                    }
                }
                Piece::Float { bits, format } => format.print(bits.get(word), out),
                Piece::Memory(number) => self.memory(*number).print(vocabulary, word, out),
            }
        }
        out.truncate(out.trim_end().len());
    }
}

impl Table<'_> {
    /// Appends the mnemonic of a word that belongs to the form, with its modifiers.
    pub fn print_head(&self, form: u32, word: u128, out: &mut String) {
        let start = out.len();
        for piece in self.pieces(&self.forms[form as usize]) {
            let text = match piece {
                Piece::Text(text) => Some(self.vocabulary.strings.of(*text)),
                Piece::Set(field) => self.vocabulary.text_of(field, word),
                Piece::Hex { .. } | Piece::Relative { .. } | Piece::Float { .. } | Piece::Memory(_) => break,
            };
            out.push_str(text.unwrap_or_default());
            // A guard has a blank behind it, too.
            if out[start..].starts_with('@') {
                let Some(at) = out[start..].find(' ') else { continue };
                out.replace_range(start..=start + at, "");
            }
            if let Some(at) = out[start..].find(' ') {
                out.truncate(start + at);
                return;
            }
        }
    }
}

/// The address that a relative field means.
pub fn relative(bits: &Bits, shift: u8, word: u128, address: u64) -> u64 {
    address.wrapping_add(16).wrapping_add_signed(bits.signed(word) << shift)
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn print_hex(value: u128, out: &mut String) {
    out.push_str("0x");
    let digits = (128 - value.leading_zeros()).div_ceil(4).max(1);
    for at in (0..digits).rev() {
        out.push(char::from(DIGITS[(value >> (4 * at)) as usize & 15]));
    }
}

fn print_signed(value: i128, out: &mut String) {
    if value < 0 {
        out.push('-');
    }
    print_hex(value.unsigned_abs(), out);
}

impl Memory {
    /// Appends what stands between the brackets.
    pub fn print(&self, vocabulary: &Vocabulary<'_>, word: u128, out: &mut String) {
        let start = out.len();
        let name = |field: Option<Listed>| vocabulary.text_of(&field?, word);
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
                    print_signed(i128::from(bits.signed(word)) << self.shift, out);
                }
            }
        }
        if out.len() == start {
            out.push_str(if self.none { name(self.register).unwrap_or("RZ") } else { "0x0" });
        }
    }
}
