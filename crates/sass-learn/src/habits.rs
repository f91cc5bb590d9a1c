//! How memory operands treat what stands for nothing, RZ and 0: found by trying all ways that the notation has on words that have
//! them.

use super::compare::random_words_of;
use super::random::Random;
use super::tables::Reader;
use sass_table::Bits;
use sass_table::source::{Listed, Memory, Piece, Source};

/// How a memory operand treats RZ, found by asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Habit {
    pub(crate) keep: bool,
    pub(crate) wrap: bool,
    pub(crate) none: bool,
}

impl Habit {
    /// All of them, the plainest first.
    fn all() -> impl Iterator<Item = Habit> {
        [(false, false), (false, true), (true, true), (true, false)]
            .into_iter()
            .flat_map(|(wrap, none)| [false, true].map(|keep| Habit { keep, wrap, none }))
    }

    pub(crate) fn of(memory: &Memory) -> Habit {
        Habit { keep: memory.keep, wrap: memory.wrap, none: memory.none }
    }

    /// The habit in the table's notation.
    pub(crate) fn suffix(self) -> &'static str {
        match (self.keep, self.wrap, self.none) {
            (false, false, false) => "",
            (false, false, true) => " none",
            (false, true, true) => " wrap",
            (false, true, false) => " wrap zero",
            (true, false, false) => " keep",
            (true, false, true) => " keep none",
            (true, true, true) => " keep wrap",
            (true, true, false) => " keep wrap zero",
        }
    }
}

/// The memory operands of a form that have something to leave out.
fn operands(table: &mut Source, form: usize) -> impl Iterator<Item = &mut Memory> {
    table.forms[form].pieces.iter_mut().filter_map(|it| match it {
        Piece::Memory(memory) => Some(&mut **memory),
        _ => None,
    })
}

/// Words of a form in which registers of memory operands are RZ, and offsets 0 or near it.
pub(super) fn words(table: &Source, form: usize, random: &mut Random) -> Vec<u128> {
    const WORDS: usize = 240;
    let mut words = random_words_of(table, form, WORDS, random);
    let Source { forms, sets, .. } = table;
    for word in &mut words {
        for piece in &forms[form].pieces {
            let Piece::Memory(memory) = piece else { continue };
            for Listed { set, bits } in [memory.register, memory.uniform].into_iter().flatten() {
                let last = sets[set as usize].strings.len() as u64 - 1;
                if random.below(2) == 0 {
                    *word = put(*word, bits, last, forms[form].mask);
                }
            }
            if let Some(bits) = memory.offset {
                match random.below(6) {
                    0..=2 => *word = put(*word, bits, 0, forms[form].mask),
                    3 => *word = put(*word, bits, 1, forms[form].mask),
                    4 => *word = put(*word, bits, u64::MAX, forms[form].mask),
                    _ => {}
                }
            }
        }
    }
    words
}

/// The field set to the value in bits that the form leaves open.
fn put(word: u128, bits: Bits, value: u64, fixed: u128) -> u128 {
    bits.put(word, value) & !fixed | word & fixed
}

/// Gives the memory operands of a form the habits that read the words best. The texts are the oracle's, with the addresses.
pub(super) fn settle(table: &mut Source, form: usize, words: &[u128], texts: &[Option<(String, u64)>]) {
    let count = operands(table, form).count();
    let wrong = |table: &Source| {
        let Ok(reader) = Reader::new(table) else { return usize::MAX };
        words
            .iter()
            .zip(texts)
            .filter(|&(&word, answer)| {
                let Some((theirs, address)) = answer else { return false };
                reader.form_of(word) == Some(form) && reader.reading(word, *address).as_ref() != Some(theirs)
            })
            .count()
    };
    for nth in 0..count {
        let mut best =
            (wrong(table), operands(table, form).nth(nth).map(|it| Habit::of(it)).unwrap_or_default());
        for habit in Habit::all() {
            give(table, form, nth, habit);
            let here = wrong(table);
            if here < best.0 {
                best = (here, habit);
            }
        }
        give(table, form, nth, best.1);
    }
}

fn give(table: &mut Source, form: usize, nth: usize, habit: Habit) {
    if let Some(memory) = operands(table, form).nth(nth) {
        (memory.keep, memory.wrap, memory.none) = (habit.keep, habit.wrap, habit.none);
    }
}
