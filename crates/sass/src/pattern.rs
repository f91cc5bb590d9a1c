//! Instructions that differ in the numbers of their registers alone. Code has few others: who has read one of them need not read the next.

use crate::control::Control;
use crate::instruction::{Instruction, decode};
use sass_table::Bits;
use sass_table::table::{Listed, Piece};
use smallvec::SmallVec;

/// The numbers of the general registers in a text, in its order.
pub type Numbers = SmallVec<[u8; 8]>;

/// An instruction that was read from a text, and the fields of the registers that the text numbers.
#[derive(Clone, Debug)]
pub struct Pattern {
    instruction: Instruction,
    fields: SmallVec<[(Listed, u8); 4]>,
}

/// Appends a text with `#` in the place of each number of a general register, and tells these. Only what is spelled as nvdisasm does is one.
pub fn shape(text: &str, shape: &mut String, numbers: &mut Numbers) {
    let bytes = text.as_bytes();
    let is_word = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let mut done = 0;
    for at in 0..bytes.len() {
        if bytes[at] != b'R' || at > 0 && is_word(at - 1) {
            continue;
        }
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = at + 1 + digits;
        let is_short = digits == 1 || digits > 1 && bytes[at + 1] != b'0';
        if let Ok(number) = text[at + 1..end].parse::<u8>()
            && is_short
            && !is_word(end)
        {
            shape.push_str(&text[done..=at]);
            shape.push('#');
            numbers.push(number);
            done = end;
        }
    }
    shape.push_str(&text[done..]);
}

impl Pattern {
    /// Of an instruction and the numbers in the text that it was read from; none where fields have bits in common, or a register is
    /// not all that a field prints.
    pub fn new(instruction: Instruction, numbers: &[u8]) -> Option<Self> {
        let table = instruction.arch.table();
        let (mut fields, mut own) = (SmallVec::<[(Listed, u8); 4]>::new(), 0);
        let mut others = instruction.row().mask;
        let mut see = |field: Listed| {
            let number = table.vocabulary.text_of(&field, instruction.word).and_then(number);
            let Some(number) = number else {
                others |= field.bits.mask();
                return true;
            };
            let is_new = own & field.bits.mask() == 0;
            own |= field.bits.mask();
            fields.push((field, number));
            is_new
        };
        let mut more = 0;
        for piece in table.pieces(instruction.row()) {
            let alone = match piece {
                Piece::Set(field) => see(*field),
                Piece::Memory(at) => {
                    let memory = table.memory(*at);
                    more |= memory.offset.map_or(0, |bits: Bits| bits.mask());
                    memory.listed().all(&mut see)
                }
                Piece::Text(_) | Piece::Hex { .. } | Piece::Relative { .. } | Piece::Float { .. } => {
                    more |= piece.mask(table.vocabulary.memories);
                    true
                }
            };
            if !alone {
                return None;
            }
        }
        let same = fields.iter().map(|it| it.1).eq(numbers.iter().copied());
        (same && own & (others | more) == 0).then_some(Self { instruction, fields })
    }

    /// The instruction whose text has other numbers, with another control code but for its reuse flags.
    pub fn with(&self, numbers: &[u8], control: Control) -> Option<Instruction> {
        let Instruction { arch, form, mut word } = self.instruction;
        let vocabulary = &arch.table().vocabulary;
        let reuse = Control::of(word).reuse;
        word = Control { reuse, ..control }.put(word);
        for ((field, before), &now) in self.fields.iter().zip(numbers) {
            let code = (field.bits.get(word) + u64::from(now)).checked_sub(u64::from(*before))?;
            word = field.bits.put(word, code);
            // Not every set goes up in steps of one.
            if vocabulary.text_of(field, word).and_then(number) != Some(now) {
                return None;
            }
        }
        decode(arch, word).filter(|found| found.form == form && self.fields.len() == numbers.len())
    }
}

/// The number of the register that a text is.
fn number(text: &str) -> Option<u8> {
    text.strip_prefix('R')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Numbers, Pattern, shape};
    use crate::{Arch, Control, NoSymbols, parse};

    fn parted(text: &str) -> (String, Numbers) {
        let (mut rest, mut numbers) = (String::new(), Numbers::new());
        shape(text, &mut rest, &mut numbers);
        (rest, numbers)
    }

    #[test]
    fn registers_are_what_nvdisasm_calls_so() {
        for (text, rest, numbers) in [
            ("IADD3 R1, -R20.reuse, |R254|, RZ", "IADD3 R#, -R#.reuse, |R#|, RZ", &[1, 20, 254][..]),
            ("STG.E desc[UR4][R2.64+0x8], R7", "STG.E desc[UR4][R#.64+0x8], R#", &[2, 7]),
            ("R2UR UR4, R2", "R2UR UR4, R#", &[2]),
            ("R2P PR, R3, 0x7", "R2P PR, R#, 0x7", &[3]),
            ("MOV R01, R300", "MOV R01, R300", &[]),
        ] {
            assert_eq!(parted(text), (rest.to_owned(), Numbers::from_slice(numbers)), "{text}");
        }
    }

    /// Whatever is read by a pattern is what the text itself says.
    #[test]
    fn a_pattern_gives_what_its_text_says() {
        let samples = concat!(
            include_str!("../tests/samples/sm_90.txt"),
            include_str!("../tests/samples/code_sm_90.txt")
        );
        let (mut by_pattern, mut others) = (0, 0);
        for text in samples.lines().filter_map(|line| Some(line.split_once(' ')?.1)) {
            let read = |text: &str| parse(Arch::Sm90, text, Control::default(), 0, &mut NoSymbols).ok();
            let Some(first) = read(text) else { continue };
            let Some(pattern) = Pattern::new(first, &parted(text).1) else {
                others += 1;
                continue;
            };
            for (from, step) in [(0, 0), (8, 8), (254, 0), (240, 1), (3, 5)] {
                let (rest, mut numbers) = parted(text);
                numbers.iter_mut().zip(0..).for_each(|(it, at)| *it = from + step * at);
                let mut parts = rest.split('#');
                let mut new = parts.next().expect("a part").to_owned();
                for (number, part) in numbers.iter().zip(parts) {
                    new.push_str(&format!("{number}{part}"));
                }
                assert_eq!(pattern.with(&numbers, Control::default()), read(&new), "{text}: {new}");
                by_pattern += 1;
            }
        }
        assert!(by_pattern > 1000 && others < by_pattern / 50, "{by_pattern} {others}");
    }
}
