//! Who calls whom: `.nv.callgraph`, and `.nv.prototype` for calls through pointers. Both are pairs of words.
//!
//! A pair `(0, -n)` begins part n of the call graph: 1 calls by name, 2 and 3 calls whose parts were empty in all that was
//! seen or hold a function and the number of the prototype that it calls, 4 ends it.

use crate::elf::Elf;
use crate::elf::section::{CUDA_CALLGRAPH, CUDA_PROTOTYPE};

/// A pair of a call graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// In which part it stands, from 1; 0 before the first.
    pub part: u32,
    /// The symbol's number of who calls.
    pub caller: u32,
    /// The symbol's number of who is called; in later parts, the number of a prototype.
    pub callee: u32,
}

/// A call graph.
pub type Calls = Vec<Call>;

/// The call graph of a file; empty if it has none.
#[must_use]
pub fn calls(elf: &Elf) -> Calls {
    let mut part = 0;
    let mut calls = Vec::new();
    for [caller, callee] in pairs(elf, CUDA_CALLGRAPH) {
        match (caller, callee.wrapping_neg()) {
            (0, next @ 1..=4) => part = next,
            _ => calls.push(Call { part, caller, callee }),
        }
    }
    calls
}

/// Functions by the number of their symbol, with the number of their prototype.
#[must_use]
pub fn prototypes(elf: &Elf) -> Vec<(u32, u32)> {
    pairs(elf, CUDA_PROTOTYPE).map(|[symbol, prototype]| (symbol, prototype)).collect()
}

fn pairs(elf: &Elf, kind: u32) -> impl Iterator<Item = [u32; 2]> {
    let data =
        elf.sections.iter().find(|section| section.kind == kind).map_or(&[][..], |section| section.data());
    let (pairs, _) = data.as_chunks::<8>();
    pairs.iter().map(|pair| {
        let word = |at: usize| u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        [word(0), word(4)]
    })
}
