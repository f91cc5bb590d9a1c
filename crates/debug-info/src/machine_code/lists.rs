//! `.debug_loc` and `.debug_ranges`: what holds in some ranges of machine code. Units of machine code begin at 0, so that addresses count
//! from there.

use super::{Section, Symbol};
use ptx::module::FuncId;
use std::ops::Range;

/// Lists of one of the sections.
pub(super) struct Lists(pub(super) Section);

impl Lists {
    pub(super) fn new(name: &'static str) -> Self {
        Self(Section::named(name))
    }

    /// Where the next list begins.
    pub(super) fn next(&self) -> u32 {
        self.0.bytes.len() as u32
    }

    /// Code of a kernel.
    pub(super) fn range(&mut self, kernel: FuncId, bytes: &Range<u64>) {
        self.0.address(Symbol::Kernel(kernel), bytes.start);
        self.0.address(Symbol::Kernel(kernel), bytes.end);
    }

    /// Code of a kernel, and the expression that holds there.
    pub(super) fn location(&mut self, kernel: FuncId, bytes: &Range<u64>, expression: &Section) {
        self.range(kernel, bytes);
        self.0.bytes.extend((expression.bytes.len() as u16).to_le_bytes());
        self.0.append(expression);
    }

    /// The list ends.
    pub(super) fn end(&mut self) {
        self.0.bytes.extend([0; 16]);
    }
}
