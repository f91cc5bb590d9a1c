//! A table as it is used: flat arrays that refer to one another by number, so that a compiler can make them static data.
//!
//! What several forms, or several architectures, have in common stands once, in the [`Vocabulary`]: the strings, the sets that
//! fields print, the pieces of templates, the templates. A [`Table`] is an architecture's forms over a vocabulary.

use crate::operand::Operand;
use crate::roles::Flow;
pub use crate::template::{Listed, Memory, Piece};
use crate::tree::Trees;
use std::cmp::Ordering;

/// What a code prints that no legal instruction has.
pub const ILLEGAL: u16 = u16::MAX;

/// Some of an array: where it begins, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub len: u16,
}

impl Range {
    /// Those elements of an array.
    #[inline]
    pub fn of<T>(self, array: &[T]) -> &[T] {
        let first = self.first as usize;
        array.get(first..first + usize::from(self.len)).unwrap_or_default()
    }
}

/// What a field of few bits prints for each code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Set {
    /// Its name in the tables' notation: the number of a string.
    pub name: u16,
    /// How many bits a field has that prints it.
    pub width: u8,
    /// Where its codes begin, in [`Vocabulary::codes`] and in [`Vocabulary::order`].
    pub first: u32,
    /// The root of its strings' tree.
    pub root: u16,
}

/// The words that share one template.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// A word belongs to the form if it has `value` under `mask`, and no earlier form of the opcode took it.
    pub mask: u128,
    /// The bits under `mask`.
    pub value: u128,
    /// Bits that an assembler sets where the text does not say.
    pub rest: u128,
    /// The [`pairs`] of what all its words spell.
    pub pairs: u128,
    /// Its pieces, of [`Vocabulary::templates`].
    pub template: Range,
    /// The fields of which some codes are illegal, of [`Vocabulary::partial`].
    pub partial: Range,
    /// Its operands, of [`Vocabulary::operands`].
    pub operands: Range,
    /// Where control goes behind it.
    pub flow: Flow,
    /// What the table says of its own gaps, if anything: the number of a string.
    pub remark: Option<u16>,
}

/// A set of the pairs of letters that stand side by side in a text: a bit for each, which others may share. What a text has not all
/// pairs of does not stand in it.
pub fn pairs(text: &[u8]) -> u128 {
    text.windows(2).fold(0, |all, pair| all | 1 << ((pair[0].wrapping_mul(5) ^ pair[1]) & 127))
}

/// Strings by number, end to end in one. An array of references would be written anew at each start of a program that lies anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a> {
    /// All of them.
    pub text: &'a str,
    /// Where each ends; it begins where the one before ends.
    pub ends: &'a [u32],
}

impl<'a> Strings<'a> {
    /// The string of a number, if there is one.
    #[inline]
    pub fn get(self, number: usize) -> Option<&'a str> {
        let end = *self.ends.get(number)? as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }

    /// All of them, in the order of their numbers.
    pub fn all(self) -> impl Iterator<Item = &'a str> {
        (0..self.ends.len()).filter_map(move |number| self.get(number))
    }

    /// The string of a number that the table itself has; nothing for another.
    #[inline]
    pub fn of(self, number: u16) -> &'a str {
        self.get(usize::from(number)).unwrap_or_default()
    }
}

/// The forms that mnemonics may be.
#[derive(Clone, Copy, Debug)]
pub struct Mnemonics<'a> {
    /// The mnemonics, in their order.
    pub names: Strings<'a>,
    /// For each where its forms end in [`forms`](Self::forms).
    pub ends: &'a [u16],
    /// The numbers of forms.
    pub forms: &'a [u16],
}

impl<'a> Mnemonics<'a> {
    /// None at all.
    pub const NONE: Self = Self { names: Strings { text: "", ends: &[] }, ends: &[], forms: &[] };

    /// The forms of a mnemonic.
    pub fn forms_of(self, mnemonic: &str) -> Option<&'a [u16]> {
        let (mut first, mut end) = (0, self.ends.len());
        while first < end {
            let middle = first.midpoint(end);
            match self.names.get(middle)?.cmp(mnemonic) {
                Ordering::Less => first = middle + 1,
                Ordering::Greater => end = middle,
                Ordering::Equal => {
                    let start = middle.checked_sub(1).map_or(0, |before| self.ends[before]);
                    return self.forms.get(start.into()..self.ends[middle].into());
                }
            }
        }
        None
    }
}

/// What the tables of several architectures share.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<'a> {
    /// The strings.
    pub strings: Strings<'a>,
    /// The sets.
    pub sets: &'a [Set],
    /// For each set its codes: the numbers of strings, or [`ILLEGAL`].
    pub codes: &'a [u16],
    /// For each set its codes in the order of their strings, the illegal ones last.
    pub order: &'a [u16],
    /// The strings of sets, letter by letter.
    pub trees: Trees<'a>,
    /// The pieces of all templates.
    pub pieces: &'a [Piece],
    /// The insides of memory operands.
    pub memories: &'a [Memory],
    /// Templates: the numbers of pieces.
    pub templates: &'a [u16],
    /// Fields of which some codes are illegal: the numbers of pieces.
    pub partial: &'a [u16],
    /// The names of operands.
    pub names: &'a [&'a str],
    /// Operands.
    pub operands: &'a [Operand],
    /// What fields say about operands, code by code.
    pub numbers: &'a [u8],
}

/// All forms of an architecture.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// What they are made of.
    pub vocabulary: Vocabulary<'a>,
    /// The forms; those of an opcode stand together, in the order in which they are tried.
    pub forms: &'a [Form],
    /// For each 13-bit opcode its first form and the one behind its last, one after the other.
    pub opcodes: &'a [u16],
    /// The forms that a mnemonic may be.
    pub mnemonics: Mnemonics<'a>,
}

/// Numbers from their bytes, lowest first, for static data.
pub const fn numbers<const N: usize>(bytes: &[u8]) -> [u16; N] {
    let mut all = [0; N];
    let mut at = 0;
    while at < N {
        all[at] = u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
        at += 1;
    }
    all
}

/// The same of 32 bits.
pub const fn ends<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut all = [0; N];
    let mut at = 0;
    while at < N {
        all[at] =
            u32::from_le_bytes([bytes[4 * at], bytes[4 * at + 1], bytes[4 * at + 2], bytes[4 * at + 3]]);
        at += 1;
    }
    all
}

/// The 13-bit opcode: bit 91 above bits 11-0.
#[inline]
pub fn opcode(word: u128) -> usize {
    (word as usize & 0xfff) | ((word >> 91) as usize & 1) << 12
}

/// The bits of the 13-bit opcode in the word.
pub fn opcode_bits(opcode: usize) -> u128 {
    (opcode as u128 & 0xfff) | (opcode as u128 >> 12) << 91
}

/// The bits of a word that are its opcode.
pub const OPCODE_MASK: u128 = 0xfff | 1 << 91;

impl<'a> Vocabulary<'a> {
    /// What a field prints in a word; `None` if no legal instruction has the code.
    #[inline]
    pub fn text_of(&self, field: &Listed, word: u128) -> Option<&'a str> {
        let first = self.sets[usize::from(field.set)].first as usize;
        self.string(self.codes[first + field.bits.get(word) as usize])
    }

    #[inline]
    fn string(&self, number: u16) -> Option<&'a str> {
        // No string has the number of what is illegal.
        self.strings.get(usize::from(number))
    }

    /// What a set prints, code by code.
    pub fn strings_of(&self, set: u16) -> impl ExactSizeIterator<Item = Option<&'a str>> {
        let set = self.sets[usize::from(set)];
        let first = set.first as usize;
        self.codes[first..first + (1 << set.width)].iter().map(|&number| self.string(number))
    }

    /// Calls with the codes of every string of a set that a text begins with, and the string's length, shortest first.
    #[inline]
    pub fn prefixes(&self, set: u16, text: &[u8], mut found: impl FnMut(usize, &[u16])) {
        let set = self.sets[usize::from(set)];
        let mut node = self.trees.nodes[usize::from(set.root)];
        for length in 0.. {
            if node.count > 0 {
                let first = set.first as usize + usize::from(node.first);
                found(length, &self.order[first..first + usize::from(node.count)]);
            }
            let next = text.get(length).and_then(|&letter| self.trees.follow(node, letter));
            let Some(next) = next else { return };
            node = next;
        }
    }
}

impl<'a> Table<'a> {
    /// The pieces of a form.
    #[inline]
    pub fn pieces(&self, form: &Form) -> impl DoubleEndedIterator<Item = &'a Piece> + use<'a> {
        let Vocabulary { templates, pieces, .. } = self.vocabulary;
        form.template.of(templates).iter().map(move |&piece| &pieces[usize::from(piece)])
    }

    /// The inside of a memory operand.
    #[inline]
    pub fn memory(&self, number: u16) -> &'a Memory {
        &self.vocabulary.memories[usize::from(number)]
    }

    /// The form of a word, if the word is legal.
    #[inline]
    pub fn form_of(&self, word: u128) -> Option<u32> {
        let own = self.forms_of(opcode(word));
        let first = own.start as u32;
        let forms = self.forms.get(own)?;
        let at = forms.iter().position(|form| word & form.mask == form.value)?;
        let Vocabulary { partial, pieces, .. } = self.vocabulary;
        let legal = |&piece: &u16| match pieces[usize::from(piece)] {
            Piece::Set(field) => self.vocabulary.text_of(&field, word).is_some(),
            _ => true,
        };
        forms[at].partial.of(partial).iter().all(legal).then_some(first + at as u32)
    }

    /// The word of a form, with bits that nothing settles changed so that no form before it takes the word.
    pub fn past_earlier(&self, at: u32, mut word: u128, known: u128) -> u128 {
        let first = self.forms_of(opcode(word)).start;
        for earlier in self.forms.get(first..at as usize).unwrap_or_default() {
            if word & earlier.mask == earlier.value {
                let free = earlier.mask & !known;
                word ^= free & free.wrapping_neg();
            }
        }
        word
    }

    /// The forms of an opcode, in the order in which they are tried.
    #[inline]
    pub fn forms_of(&self, opcode: usize) -> std::ops::Range<usize> {
        usize::from(self.opcodes[2 * opcode])..usize::from(self.opcodes[2 * opcode + 1])
    }

    /// The forms that a mnemonic may be.
    pub fn forms_named(&self, mnemonic: &str) -> Option<&'a [u16]> {
        self.mnemonics.forms_of(mnemonic)
    }
}
