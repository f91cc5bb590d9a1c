//! The forms of a table for people: which bits are which field, and what a field prints.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::arch::Arch;
use sass_table::Bits;
use sass_table::table::{Listed, Memory, OPCODE_MASK, Piece, opcode};

/// A form of an architecture's table.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    arch: Arch,
    at: usize,
}

/// What a field prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prints {
    /// For each code a text; `None` where no legal instruction has the code.
    Codes(Vec<Option<String>>),
    /// The field as a number, in these words.
    Number(String),
}

impl Prints {
    /// Whether all codes print nothing: the field only says which of them are legal.
    pub fn nothing(&self) -> bool {
        matches!(self, Prints::Codes(codes) if codes.iter().flatten().all(String::is_empty))
    }
}

/// A field of a form.
#[derive(Clone, Debug)]
pub struct FormField {
    /// How the picture and the template name it.
    pub letter: char,
    /// Its bits, lowest first: first bit and how many.
    pub bits: Vec<(u8, u8)>,
    /// What it prints at the first of its places.
    pub prints: Prints,
    place: Bits,
}

impl FormField {
    /// The field's value in a word.
    pub fn value(&self, word: u128) -> u64 {
        self.place.get_or_zero(word)
    }
}

/// The forms that a mnemonic may be, in the order in which they are tried; all forms without one. Modifiers behind the mnemonic
/// are ignored.
pub fn forms(arch: Arch, mnemonic: Option<&str>) -> Vec<Form> {
    let table = arch.table();
    let Some(mnemonic) = mnemonic else {
        return (0..table.forms.len()).map(|at| Form { arch, at }).collect();
    };
    let name = mnemonic.split('.').next().unwrap_or("").to_ascii_uppercase();
    let found = table.forms_named(&name).unwrap_or_default();
    found.iter().map(|&at| Form { arch, at: usize::from(at) }).collect()
}

/// The mnemonics of an architecture, in alphabetical order, each with the numbers of its forms.
pub fn mnemonics(arch: Arch) -> Vec<(&'static str, Vec<Form>)> {
    let mut names: Vec<&'static str> = arch.table().mnemonics.names.all().collect();
    names.retain(|it| !it.is_empty());
    names.into_iter().map(|it| (it, forms(arch, Some(it)))).collect()
}

impl crate::Instruction {
    /// The form that the table has for it.
    pub fn form(&self) -> Form {
        Form { arch: self.arch, at: self.form as usize }
    }
}

impl Form {
    fn get(self) -> &'static sass_table::table::Form {
        &self.arch.table().forms[self.at]
    }

    /// The 13-bit opcode: bit 91 above bits 11-0.
    pub fn opcode(self) -> usize {
        opcode(self.get().value)
    }

    /// Bits beside the opcode that all words of the form have: the mask and their values.
    pub fn conditions(self) -> (u128, u128) {
        let form = self.get();
        (form.mask & !OPCODE_MASK, form.value & !OPCODE_MASK)
    }

    /// Bits that the assembler sets where the text does not say.
    pub fn rest(self) -> u128 {
        self.get().rest
    }

    /// What the table says of its own gaps here, if anything.
    pub fn remarks(self) -> Vec<&'static str> {
        let remark = self.get().remark.map(|it| self.arch.table().vocabulary.strings.of(it));
        remark.into_iter().flat_map(str::lines).collect()
    }

    /// Its fields, in the order of the text; one that prints at two places stands once.
    pub fn fields(self) -> Vec<FormField> {
        let mut fields: Vec<FormField> = Vec::new();
        for piece in self.arch.table().pieces(self.get()) {
            for (bits, prints) in self.parts(piece) {
                let known = fields.iter().any(|it| it.place == bits);
                if !known && bits.width() > 0 {
                    let letter = letter(fields.len());
                    fields.push(FormField { letter, bits: bits.runs().to_vec(), prints, place: bits });
                }
            }
        }
        fields
    }

    fn parts(self, piece: &Piece) -> Vec<(Bits, Prints)> {
        let vocabulary = &self.arch.table().vocabulary;
        let codes = |it: Listed| {
            let strings = vocabulary.strings_of(it.set).map(|text| text.map(str::to_owned));
            (it.bits, Prints::Codes(strings.collect()))
        };
        let unit =
            |shift: u8| if shift == 0 { String::new() } else { format!(", in units of {}", 1u32 << shift) };
        match piece {
            Piece::Text(_) => Vec::new(),
            Piece::Set(field) => vec![codes(*field)],
            Piece::Hex { bits, shift, signed } => {
                let sign = if *signed { "signed" } else { "unsigned" };
                vec![(*bits, Prints::Number(format!("{sign} hexadecimal number{}", unit(*shift))))]
            }
            Piece::Relative { bits, shift } => {
                let what = format!("target: signed distance from the next instruction{}", unit(*shift));
                vec![(*bits, Prints::Number(what))]
            }
            Piece::Float { bits, format } => {
                vec![(*bits, Prints::Number(format!("floating-point number, {}", format.name())))]
            }
            Piece::Memory(number) => {
                let Memory { register, suffix, uniform, offset, shift, .. } =
                    self.arch.table().memory(*number);
                let mut parts: Vec<(Bits, Prints)> =
                    [register, suffix, uniform].into_iter().copied().flatten().map(codes).collect();
                parts.extend(offset.map(|bits| {
                    (bits, Prints::Number(format!("signed offset, left out if 0{}", unit(*shift))))
                }));
                parts
            }
        }
    }

    /// The text of the form, with `<a>` for what field a prints.
    pub fn template(self) -> String {
        let fields = self.fields();
        let named = |bits: Bits| {
            fields.iter().find(|it| it.place == bits).map_or(String::new(), |it| format!("<{}>", it.letter))
        };
        let mut text = String::new();
        for piece in self.arch.table().pieces(self.get()) {
            match piece {
                Piece::Text(it) => text.push_str(self.arch.table().vocabulary.strings.of(*it)),
                Piece::Memory(_) => {
                    let parts: Vec<String> = self.parts(piece).iter().map(|it| named(it.0)).collect();
                    let suffixed =
                        matches!(piece, Piece::Memory(it) if self.arch.table().memory(*it).suffix.is_some());
                    for (nth, part) in parts.iter().enumerate() {
                        let suffix = suffixed && nth == 1;
                        let _ = write!(text, "{}{part}", if nth == 0 || suffix { "" } else { "+" });
                    }
                }
                _ => self.parts(piece).iter().for_each(|it| text.push_str(&named(it.0))),
            }
        }
        text
    }

    /// The 128 bits, highest first, in four lines of 32: 0 and 1 for fixed bits, a letter for a field, `*` where fields share a bit,
    /// capitals for the control code (S stall, Y yield, W and R scoreboards, B waits, U reuse), `.` for bits without a meaning.
    pub fn picture(self) -> String {
        let form = self.get();
        let mut places = ['.'; 128];
        for (first, count, letter) in
            [(105, 4, 'S'), (109, 1, 'Y'), (110, 3, 'W'), (113, 3, 'R'), (116, 6, 'B'), (122, 4, 'U')]
        {
            places[first..first + count].fill(letter);
        }
        let mut taken: BTreeSet<usize> = (105..122).collect();
        for field in self.fields().iter().filter(|it| !it.prints.nothing()) {
            for bit in field.bits.iter().flat_map(|&(low, len)| usize::from(low)..usize::from(low + len)) {
                if taken.insert(bit) {
                    places[bit] = field.letter;
                } else if bit < 105 {
                    places[bit] = '*';
                }
            }
        }
        for bit in (0..128).filter(|bit| form.mask >> bit & 1 == 1) {
            places[bit] = if form.value >> bit & 1 == 1 { '1' } else { '0' };
        }
        let mut text = String::new();
        for top in [127usize, 95, 63, 31] {
            let _ = write!(text, "{top:>3} ");
            for byte in 0..4 {
                text.push(' ');
                text.extend((0..8).map(|bit| places[top - 8 * byte - bit]));
            }
            let _ = writeln!(text, "  {}", top - 31);
        }
        text
    }
}

/// `a` to `z`, then Greek.
fn letter(nth: usize) -> char {
    let letters = ('a'..='z').chain('α'..='ω').filter(|it| *it != 'ς');
    letters.clone().nth(nth).unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_can_be_shown() {
        for arch in Arch::ALL {
            for form in forms(arch, None) {
                let picture = form.picture();
                assert_eq!(picture.lines().count(), 4, "{picture}");
                let fixed = picture.chars().filter(|it| matches!(it, '0' | '1')).count();
                assert!(fixed >= 13, "{picture}");
                assert!(!form.template().contains("<>"), "{}", form.template());
                assert!(form.fields().iter().all(|it| it.letter != '?'), "{}", form.template());
            }
        }
    }

    #[test]
    fn a_field_of_a_word() {
        // FADD R5, R2, R3 as ptxas writes it.
        let instruction = crate::decode(Arch::Sm90, 0x004fca0000000000_0000000302057221).unwrap();
        let form = instruction.form();
        assert_eq!(form.opcode(), 0x221);
        let values: Vec<(u8, u64)> = form
            .fields()
            .iter()
            .filter(|it| it.bits.len() == 1 && it.bits[0].1 == 8)
            .map(|it| (it.bits[0].0, it.value(instruction.word())))
            .collect();
        assert!([(16, 5), (24, 2), (32, 3)].iter().all(|it| values.contains(it)), "{values:?}");
    }
}
