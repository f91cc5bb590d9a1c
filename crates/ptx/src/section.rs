//! The bytes of DWARF sections (PTX ISA, "Debugging Directives: .section"), and what is to be written into them: labels and
//! symbols stand in the data, and only who gives them values can fill these in.

use crate::ast::{Initialiser, InitialiserKind, Module, Name, Section, SectionLine};
use crate::source::Span;
use std::collections::HashMap;

/// A section as bytes. What references name is zero in them.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The data.
    pub bytes: Vec<u8>,
    /// The labels of the section, by offset.
    pub labels: HashMap<Name, u64>,
    /// What is to be written into the data.
    pub references: Vec<Reference>,
}

/// A number that depends on where something lies.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Where in the section it is written.
    pub offset: u64,
    /// Its bytes: 1, 2, 4 or 8.
    pub bytes: u32,
    /// What it is.
    pub target: Target,
    /// Where the text has it.
    pub span: Span,
}

/// What a reference stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The place of a label, a variable, a function, or of a section, whose name begins with a dot.
    Place {
        /// What.
        symbol: Name,
        /// Added to it.
        addend: i64,
    },
    /// The distance between two labels.
    Distance {
        /// The later one.
        left: Name,
        /// The earlier one.
        right: Name,
    },
}

impl Layout {
    /// Appends a section, which may be a part of one that has begun elsewhere in the file.
    pub fn append(&mut self, module: &Module, section: &Section) {
        for line in &section.lines {
            match line {
                SectionLine::Label(name) => {
                    self.labels.entry(name.value).or_insert(self.bytes.len() as u64);
                }
                SectionLine::Data { bits, values } => {
                    for value in &module[*values] {
                        self.value(module, value, u32::from(*bits) / 8);
                    }
                }
            }
        }
    }

    fn value(&mut self, module: &Module, value: &Initialiser, bytes: u32) {
        let constant = |expression| module.evaluate(expression).ok().and_then(|value| value.as_integer());
        let target = match value.value {
            InitialiserKind::Constant(expression) => {
                let bits = constant(expression).unwrap_or(0).to_le_bytes();
                return self.bytes.extend_from_slice(&bits[..bytes as usize]);
            }
            InitialiserKind::Address { symbol, offset, .. } => {
                let addend = offset.and_then(constant).unwrap_or(0).cast_signed();
                Target::Place { symbol, addend }
            }
            InitialiserKind::Difference { left, right } => Target::Distance { left, right },
            // The parser makes none of these in a section.
            InitialiserKind::Masked { .. } | InitialiserKind::List(_) | InitialiserKind::Field { .. } => {
                return;
            }
        };
        let offset = self.bytes.len() as u64;
        self.references.push(Reference { offset, bytes, target, span: value.span });
        self.bytes.resize(self.bytes.len() + bytes as usize, 0);
    }

    /// The text that begins at an offset and ends before a zero byte.
    pub fn string(&self, offset: u64) -> Option<&str> {
        let rest = self.bytes.get(usize::try_from(offset).ok()?..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    }
}

impl Module {
    /// All sections of a name as one.
    pub fn section_layout(&self, name: &str) -> Layout {
        let mut layout = Layout::default();
        for section in self.sections.iter().filter(|section| self.text(section.name.value) == name) {
            layout.append(self, section);
        }
        layout
    }
}
