//! What a comparison of the table in use with the oracle found, in groups: what is wrong, in which opcode, with what difference.

use std::collections::HashMap;

use super::oracle::Oracle;
use sass::Arch;
use sass::control::Control;
use sass::decode;
use sass::{NoSymbols, parse};
use sass_table::table::opcode;

/// What is wrong with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The table does not have it.
    Unknown,
    /// The table gives it another text.
    OtherText,
    /// Only the table has it.
    OnlyOurs,
    /// Its text, residue and all, becomes another word or none.
    NotBack,
}

/// A word of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The 128 bits.
    pub word: u128,
    /// Our text, empty if there is none.
    pub ours: String,
    /// The oracle's text, empty if there is none.
    pub theirs: String,
}

/// Words of one opcode with one fault and, if their text is another, one difference.
#[derive(Clone, Debug)]
pub struct Group {
    /// The 13-bit opcode: bit 91 above bits 11-0.
    pub opcode: usize,
    /// What is wrong.
    pub fault: Fault,
    /// What differs in the texts: ours and the oracle's from the first to the last token that is not the same, without the
    /// digits. Where only one has a text, its mnemonic.
    pub difference: (String, String),
    /// How many different words.
    pub words: usize,
    /// How often they stand in the code.
    pub uses: u64,
    /// The first of them.
    pub examples: Vec<Example>,
}

/// What comparing gives.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Different words.
    pub words: usize,
    /// How often they stand in the code.
    pub uses: u64,
    /// Words that the oracle was asked about.
    pub asked: usize,
    /// Words among those that it takes as instructions.
    pub legal: usize,
    /// Words among those that have the same text here and come back from it.
    pub same: usize,
    /// Words among those that have a residue.
    pub residues: usize,
    /// What is wrong.
    pub groups: Vec<Group>,
    /// Where each group is.
    places: HashMap<Kind, usize>,
}

/// What the words of a group have in common.
type Kind = (usize, Fault, (String, String));

impl Report {
    /// Different words with this fault, and how often they stand in the code.
    pub fn count(&self, fault: Fault) -> (usize, u64) {
        let groups = self.groups.iter().filter(|it| it.fault == fault);
        groups.fold((0, 0), |sum, it| (sum.0 + it.words, sum.1 + it.uses))
    }

    /// The groups, by fault and then with most words first.
    pub fn sorted(&self) -> Vec<&Group> {
        let mut groups: Vec<&Group> = self.groups.iter().collect();
        groups.sort_by_key(|it| (it.fault, std::cmp::Reverse(it.words), it.opcode));
        groups
    }

    /// Asks the oracle about words, each with the number of its uses, and adds what it says.
    pub(super) fn ask(
        &mut self,
        oracle: &dyn Oracle,
        arch: Arch,
        words: &[(u128, u64)],
        examples: usize,
    ) -> Result<(), String> {
        const BATCH: usize = 1 << 18;
        for part in words.chunks(BATCH) {
            let only: Vec<u128> = part.iter().map(|it| it.0).collect();
            // Targets of branches are printed as addresses: each word has another.
            let first = self.asked;
            let texts = oracle.ask(&only, first)?;
            for (at, (&(word, uses), theirs)) in part.iter().zip(texts).enumerate() {
                self.add(arch, word, uses, 16 * (first + at) as u64, theirs, examples);
            }
            self.asked += part.len();
        }
        Ok(())
    }

    fn add(&mut self, arch: Arch, word: u128, uses: u64, address: u64, theirs: Option<String>, few: usize) {
        self.legal += usize::from(theirs.is_some());
        let Some((fault, ours)) = self.judge(arch, word, address, theirs.as_deref()) else { return };
        let theirs = theirs.unwrap_or_default();
        let kind = (opcode(word), fault, difference(&ours, &theirs));
        let at = *self.places.entry(kind).or_insert_with_key(|(opcode, fault, difference)| {
            self.groups.push(Group {
                opcode: *opcode,
                fault: *fault,
                difference: difference.clone(),
                words: 0,
                uses: 0,
                examples: Vec::new(),
            });
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        group.words += 1;
        group.uses += uses;
        if group.examples.len() < few {
            group.examples.push(Example { word, ours, theirs });
        }
    }

    /// What is wrong with a word at an address, and our text of it.
    fn judge(
        &mut self,
        arch: Arch,
        word: u128,
        address: u64,
        theirs: Option<&str>,
    ) -> Option<(Fault, String)> {
        let Some(instruction) = decode(arch, word) else {
            return theirs.map(|_| (Fault::Unknown, String::new()));
        };
        let mut text = String::new();
        instruction.print(address, &mut text);
        if theirs.is_none() {
            return Some((Fault::OnlyOurs, text));
        }
        if theirs != Some(&text) {
            return Some((Fault::OtherText, text));
        }
        self.residues += usize::from(instruction.residue() != 0);
        if !comes_back(arch, word, address) {
            return Some((Fault::NotBack, text));
        }
        self.same += 1;
        None
    }
}

/// Whether the assembler makes the same word of its exact text.
fn comes_back(arch: Arch, word: u128, address: u64) -> bool {
    decode(arch, word).is_some_and(|instruction| {
        let mut exact = String::new();
        instruction.print_exact(address, &mut exact, |_, _| false);
        let back = parse(arch, &exact, Control::of(word), address, &mut NoSymbols);
        back.is_ok_and(|it| it.word() == word)
    })
}

/// What differs in two texts, as a group has it.
fn difference(ours: &str, theirs: &str) -> (String, String) {
    if ours.is_empty() || theirs.is_empty() {
        let mnemonic = |text: &str| {
            let text = if text.starts_with('@') { text.split_once(' ').map_or("", |it| it.1) } else { text };
            text.split(['.', ' ']).next().unwrap_or("").to_string()
        };
        return (mnemonic(ours), mnemonic(theirs));
    }
    let (ours, theirs) = (parts(ours), parts(theirs));
    let before = ours.iter().zip(&theirs).take_while(|it| it.0 == it.1).count();
    let rest = (&ours[before..], &theirs[before..]);
    let after = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|it| it.0 == it.1).count();
    let inner = |parts: &[&str]| shape(&parts[..parts.len() - after].concat());
    (inner(rest.0), inner(rest.1))
}

/// A text in pieces: a modifier with its dot, a word, or anything else letter by letter.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '?';
        let head = if first == '.' { 1 } else { 0 };
        let len = head + rest[head..].find(|it| !word(it)).unwrap_or(rest.len() - head);
        let (part, after) = rest.split_at(len.max(first.len_utf8()));
        parts.push(part);
        rest = after;
    }
    parts
}

/// A text without the numbers in it.
pub(super) fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut inside = false;
    for c in text.chars() {
        let digit =
            c.is_ascii_digit() || inside && (c.is_ascii_hexdigit() && !c.is_ascii_uppercase() || c == 'x');
        if !digit {
            shape.push(c);
        } else if !inside {
            shape.push('0');
        }
        inside = digit;
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_is_the_least_that_is_not_the_same() {
        let of = |ours, theirs| {
            let (ours, theirs) = difference(ours, theirs);
            format!("{ours}|{theirs}")
        };
        assert_eq!(of("IMAD.MOV R1, RZ, R2", "IMAD.U32 R1, RZ, R2"), ".MOV|.U0");
        assert_eq!(of("BRX R4 -0x10", "BRX R4, PT, -0x10"), "|, PT,");
        assert_eq!(of("@P0 FADD.FTZ R1, R2, R3", ""), "FADD|");
        assert_eq!(of("LDG R1, [R2]", "LDG R1, [R2+0x20]"), "|+0");
    }
}
