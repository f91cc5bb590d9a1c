//! What the statements say, before anything has a place.

use crate::defaults::Facts;
use crate::flow::counts::Counts;
use crate::isa::Isa;
use crate::syntax::{Argument, Instruction};
use crate::target;
use cubin::elf::section as kind;
use cubin::elf::{Filler, Header};
use ptx::source::Span;
use rustc_hash::FxHashMap as HashMap;
use std::cell::OnceCell;

/// A section as it is written.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) span: Span,
    /// The name in the file, if it is another.
    pub(super) real_name: Option<String>,
    pub(super) name_offset: Option<u32>,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) barriers: u64,
    pub(super) registers: u32,
    pub(super) address: u64,
    pub(super) link: Option<Argument>,
    pub(super) info: Option<Argument>,
    pub(super) entry_size: u64,
    pub(super) align: u64,
    pub(super) gap: u64,
    /// Where it stands, if it does not follow the rule.
    pub(super) offset: Option<u64>,
    /// The section whose bytes it shares.
    pub(super) overlay: Option<Argument>,
    pub(super) items: Vec<Item>,
    /// How its relocations are ordered; none for the usual order.
    pub(super) order: Option<Order>,
    /// What its code needs, once it has become words.
    pub(super) counts: OnceCell<Counts>,
}

impl Section {
    /// What the rules ask about it.
    pub(super) fn facts(&self) -> Facts<'_> {
        Facts { name: &self.name, kind: self.kind, flags: self.flags }
    }

    /// Whether it holds instructions.
    pub(super) fn is_code(&self) -> bool {
        self.kind == kind::PROGBITS && self.flags & kind::EXECUTE != 0
    }
}

/// The order of a table of relocations.
#[derive(Debug)]
pub(super) enum Order {
    Ascending,
    /// Numbers of places in the order of the text. Others follow behind.
    Numbers(Vec<u64>),
}

/// A piece of a section.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) body: Body,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum Body {
    /// So many zeros.
    Zeros(u64),
    /// Zeros up to a multiple.
    Align(u64),
    Bytes(Vec<u8>),
    /// Numbers of so many bytes.
    Values(u64, Vec<Argument>),
    Instruction(Box<Instruction>),
    /// An attribute of formats 1 to 3: format, attribute and value.
    SmallAttribute(u8, u8, Argument),
    /// An attribute of any size.
    Attribute(u8, Vec<Argument>),
    /// A relocation of what comes next: type, symbol and addend.
    Relocation(u32, Argument),
    /// An entry of this table of relocations: place, type, symbol and addend.
    Entry(Argument, u32, Argument),
}

/// A symbol as it is written.
#[derive(Debug, Default)]
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) real_name: Option<String>,
    pub(super) name_offset: Option<u32>,
    pub(super) kind: u8,
    pub(super) binding: u8,
    pub(super) other: u8,
    /// Section, value and size of a symbol that is no label.
    pub(super) place: Option<(Argument, u64)>,
    pub(super) size: Option<Argument>,
    /// Its position in the symbol table, if the table names it.
    pub(super) listed: Option<usize>,
}

/// A segment as it is written.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) header: cubin::elf::Segment,
    pub(super) first: Option<Argument>,
    pub(super) last: Option<Argument>,
}

/// A place in the text's order: in front of an item of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LabelPosition {
    pub(super) section: usize,
    pub(super) item: usize,
    pub(super) span: Span,
}

/// Everything that the statements say.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) sm: u32,
    pub(super) isa: Option<Isa>,
    pub(super) header: Option<Header>,
    pub(super) names: Option<Argument>,
    /// Whether offsets are written down.
    pub(super) stated: bool,
    /// Bytes in front of the table of sections that alignment does not ask for.
    pub(super) gap: u64,
    pub(super) filler: Vec<Filler>,
    pub(super) sections: Vec<Section>,
    pub(super) symbols: Vec<Symbol>,
    pub(super) segments: Vec<Segment>,
    pub(super) labels: HashMap<String, LabelPosition>,
    /// For a function and an attribute the instructions whose offsets the attribute lists.
    pub(super) offset_labels: HashMap<(String, String), Vec<LabelPosition>>,
    /// Whether the text has begun a section.
    pub(super) opened: bool,
    /// Whether the symbol table does not begin with the null symbol.
    pub(super) without_null: bool,
    /// An executable has no segments, not even those that it would get.
    pub(super) without_segments: bool,
    /// The symbols that the symbol table names, in its order.
    pub(super) listed: Vec<usize>,
    section_numbers: HashMap<String, usize>,
    symbol_numbers: HashMap<String, usize>,
}

impl Draft {
    /// The device that the code is for.
    pub(super) fn target(&self) -> u32 {
        if self.sm == 0 { target::USUAL } else { self.sm }
    }

    /// A section by the name that the text calls it.
    pub(super) fn section(&self, name: &str) -> Option<usize> {
        self.section_numbers.get(name).copied()
    }

    /// A symbol by the name that the text calls it.
    pub(super) fn symbol(&self, name: &str) -> Option<usize> {
        self.symbol_numbers.get(name).copied()
    }

    /// Adds a section. Returns its number.
    pub(super) fn add_section(&mut self, section: Section) -> usize {
        self.section_numbers.insert(section.name.clone(), self.sections.len());
        self.sections.push(section);
        self.sections.len() - 1
    }

    pub(super) fn last_listed(&mut self) -> Option<&mut Symbol> {
        self.listed.last().map(|&number| &mut self.symbols[number])
    }

    /// The symbol of a name, made if there is none.
    pub(super) fn symbol_mut(&mut self, name: &str, span: Span) -> &mut Symbol {
        let number = *self.symbol_numbers.entry(name.to_owned()).or_insert(self.symbols.len());
        if number == self.symbols.len() {
            self.symbols.push(Symbol { name: name.to_owned(), span, ..Symbol::default() });
        }
        &mut self.symbols[number]
    }
}
