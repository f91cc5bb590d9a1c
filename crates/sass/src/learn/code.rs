//! Compiled code against the oracle: how many of its words the table does not have or reads otherwise.

use std::collections::{BTreeMap, HashMap};

use super::oracle::Oracle;
use crate::arch::Arch;
use crate::control::Control;
use crate::instruction::decode;
use crate::parse::{NoSymbols, parse};
use crate::table::opcode;

/// What is wrong with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// The words of one opcode with one fault.
#[derive(Clone, Debug)]
pub struct Group {
    /// The 13-bit opcode: bit 91 above bits 11-0.
    pub opcode: usize,
    /// What is wrong.
    pub fault: Fault,
    /// How many different words.
    pub words: usize,
    /// How often they stand in the code.
    pub uses: u64,
    /// The most frequent: its word, our text, the oracle's.
    pub example: (u128, String, String),
}

/// What comparing code gives.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Different words.
    pub words: usize,
    /// How often they stand in the code.
    pub uses: u64,
    /// Words that the oracle was asked about.
    pub asked: usize,
    /// Words among those that have a residue.
    pub residues: usize,
    /// What is wrong, most words first.
    pub groups: Vec<Group>,
}

impl Report {
    /// Different words with this fault, and how often they stand in the code.
    pub fn count(&self, fault: Fault) -> (usize, u64) {
        let groups = self.groups.iter().filter(|it| it.fault == fault);
        groups.fold((0, 0), |sum, it| (sum.0 + it.words, sum.1 + it.uses))
    }
}

/// Compares the table in use with the oracle over words of code, each with the number of its uses. All words are decoded;
/// the oracle is asked about all that the table does not have, and of the others about `each` of every shape: the same
/// form, modifiers and kinds of operand, with other registers and numbers. With `each` 0 it is asked about all.
pub fn compare_code(
    oracle: &dyn Oracle,
    arch: Arch,
    words: &[(u128, u64)],
    each: usize,
) -> Result<Report, String> {
    const BATCH: usize = 1 << 18;
    let mut report = Report::default();
    let mut groups: BTreeMap<(usize, Fault), Group> = BTreeMap::new();
    let mut shapes: HashMap<String, usize> = HashMap::new();
    let mut text = String::new();
    let mut asked: Vec<(u128, u64)> = Vec::new();
    for &(word, uses) in words {
        report.words += 1;
        report.uses += uses;
        let wanted = each == 0
            || decode(arch, word).is_none_or(|it| {
                text.clear();
                it.print(0, &mut text);
                let seen = shapes.entry(shape(&text)).or_default();
                *seen += 1;
                *seen <= each
            });
        if wanted {
            asked.push((word, uses));
        }
    }
    report.asked = asked.len();
    for (nth, part) in asked.chunks(BATCH).enumerate() {
        let first = nth * BATCH;
        let words: Vec<u128> = part.iter().map(|it| it.0).collect();
        let texts = oracle.ask(&words, first)?;
        for (at, (&(word, uses), theirs)) in part.iter().zip(texts).enumerate() {
            let address = 16 * (first + at) as u64;
            let Some((fault, ours)) = fault_of(arch, word, address, theirs.as_deref(), &mut report.residues)
            else {
                continue;
            };
            let group = groups.entry((opcode(word), fault)).or_insert_with(|| Group {
                opcode: opcode(word),
                fault,
                words: 0,
                uses: 0,
                example: (word, ours, theirs.unwrap_or_default()),
            });
            group.words += 1;
            group.uses += uses;
        }
    }
    report.groups = groups.into_values().collect();
    report.groups.sort_by_key(|it| (it.fault, std::cmp::Reverse(it.words), it.opcode));
    Ok(report)
}

/// A text without the numbers in it.
fn shape(text: &str) -> String {
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

/// What is wrong with a word at an address, and our text of it.
fn fault_of(
    arch: Arch,
    word: u128,
    address: u64,
    theirs: Option<&str>,
    residues: &mut usize,
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
    *residues += usize::from(instruction.residue() != 0);
    (!comes_back(arch, word, address)).then_some((Fault::NotBack, text))
}

/// Whether the assembler makes the same word of its exact text.
pub(super) fn comes_back(arch: Arch, word: u128, address: u64) -> bool {
    decode(arch, word).is_some_and(|instruction| {
        let mut exact = String::new();
        instruction.print_exact(address, &mut exact, |_, _| false);
        let back = parse(arch, &exact, Control::of(word), address, &mut NoSymbols);
        back.is_ok_and(|it| it.word() == word)
    })
}
