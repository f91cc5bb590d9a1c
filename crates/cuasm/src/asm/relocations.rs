//! Which sections have relocations, and which table is about which section.

use super::draft::{Body, Draft, Section};
use super::evaluate::symbol_in;
use crate::defaults::{self, Reference};
use crate::syntax::Expression;
use cubin::elf::section as kind;

/// Whether a section will have relocations, as far as its text shows.
pub(super) fn are_in(draft: &Draft, section: &Section) -> bool {
    section.items.iter().any(|item| match &item.body {
        Body::Relocation(..) => true,
        Body::Values(4 | 8, values) => {
            values.iter().any(|value| symbol_in(draft, &value.expression).is_some())
        }
        Body::Instruction(instruction) => instruction.holes.iter().any(|hole| match &hole.expression {
            Expression::Function(_, inner) => symbol_in(draft, inner).is_some(),
            _ => false,
        }),
        _ => false,
    })
}

/// For each section whether the table of its relocations has addends.
pub(super) fn with_addends(draft: &Draft) -> Vec<bool> {
    let mut addends = vec![false; draft.sections.len()];
    for table in (0..draft.sections.len()).rev() {
        if let Some(target) = target(draft, table) {
            addends[target] = draft.sections[table].kind == kind::RELA;
        }
    }
    addends
}

/// The section that a table of relocations is about.
pub(super) fn target(draft: &Draft, table: usize) -> Option<usize> {
    let section = &draft.sections[table];
    if !matches!(section.kind, kind::REL | kind::RELA) {
        return None;
    }
    match &section.info {
        Some(info) => info.expression.name().and_then(|name| draft.section(name)),
        None => match defaults::info(section.facts()) {
            Reference::Section(name) => draft.section(&name),
            _ => None,
        },
    }
}
