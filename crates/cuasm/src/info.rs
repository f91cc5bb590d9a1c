//! How attributes of nv.info are spelled, and which of their words the text form writes as what.

use cubin::info::table::{self, Shape};

/// The formats below the sized one: the directives that write them.
pub(crate) const SMALL: [(u8, &str); 3] = [(1, ".attr.none"), (2, ".attr.byte"), (3, ".attr.half")];

/// `EIATTR_EXIT_INSTR_OFFSETS`.
pub(crate) const EXIT_OFFSETS: u8 = 0x1c;
/// `EIATTR_REGCOUNT`.
pub(crate) const REGISTERS: u8 = 0x2f;
/// `EIATTR_NUM_BARRIERS`.
pub(crate) const BARRIERS: u8 = 0x4c;

/// What a word of an attribute is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Number,
    Symbol,
    /// The offset of an instruction.
    Offset,
}

/// What the words of an attribute are.
pub(crate) fn words(attribute: u8, words: &[u32]) -> Vec<Word> {
    let every = |word| vec![word; words.len()];
    let mut kinds = every(Word::Number);
    match table::shape(attribute) {
        Shape::Offsets => kinds = every(Word::Offset),
        Shape::Symbols | Shape::SymbolPairs => kinds = every(Word::Symbol),
        Shape::SymbolNumber | Shape::Bank => kinds.iter_mut().take(1).for_each(|kind| *kind = Word::Symbol),
        Shape::Pairs => kinds.iter_mut().step_by(2).for_each(|kind| *kind = Word::Offset),
        Shape::Branches => {
            // The offset of the branch, a number, how many targets, their offsets.
            let mut at = 0;
            while let Some(&count) = words.get(at + 2) {
                kinds[at] = Word::Offset;
                let end = (at + 3).saturating_add(count as usize).min(words.len());
                kinds[at + 3..end].fill(Word::Offset);
                at = end;
            }
        }
        _ => {}
    }
    kinds
}

/// Whether an attribute is a list of offsets and nothing else.
pub(crate) fn is_offsets(attribute: u8) -> bool {
    table::shape(attribute) == Shape::Offsets
}

/// An attribute as it is written.
pub(crate) fn name(attribute: u8) -> String {
    table::name(attribute).map_or_else(|| format!("{attribute:#04x}"), str::to_owned)
}

/// The attribute of a name.
pub(crate) fn number(name: &str) -> Option<u8> {
    table::code(name)
}

/// Whether a section's bytes are attributes that are written as they are read.
pub(crate) fn reads_back(bytes: &[u8]) -> bool {
    let Ok(attributes) = cubin::info::decode(bytes) else { return false };
    cubin::info::encode(&attributes).is_ok_and(|again| again == bytes)
}
