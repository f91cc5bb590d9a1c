//! `.debug_abbrev`: the shapes of entries, each of which is written when it is needed first.

use gimli::leb128::write::Leb128;
use gimli::{DwAt, DwForm, DwTag};
use std::collections::HashMap;

/// The shape of an entry: its tag, whether others are in it, its attributes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) tag: DwTag,
    pub(super) has_children: bool,
    pub(super) attributes: Vec<(DwAt, DwForm)>,
}

/// The tables of all units, one behind the other.
#[derive(Default)]
pub(super) struct Abbreviations {
    pub(super) bytes: Vec<u8>,
    codes: HashMap<Shape, u64>,
}

impl Abbreviations {
    /// The code of a shape in the unit's table.
    pub(super) fn code(&mut self, shape: Shape) -> u64 {
        let next = self.codes.len() as u64 + 1;
        if let Some(&code) = self.codes.get(&shape) {
            return code;
        }
        let words = [next, u64::from(shape.tag.0)];
        words.iter().for_each(|&word| self.bytes.extend(Leb128::unsigned(word).bytes()));
        self.bytes.push(shape.has_children.into());
        for (name, form) in &shape.attributes {
            for word in [name.0, form.0] {
                self.bytes.extend(Leb128::unsigned(word.into()).bytes());
            }
        }
        self.bytes.extend([0, 0]);
        self.codes.insert(shape, next);
        next
    }

    /// The unit's table ends.
    pub(super) fn end(&mut self) {
        self.bytes.push(0);
        self.codes.clear();
    }
}
