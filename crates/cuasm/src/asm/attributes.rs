//! How large attributes of nv.info are, and which lists in them follow from the code.

use super::draft::{Body, Draft, LabelPosition};
use crate::syntax::{Argument, Expression, Instruction};
use crate::{defaults, info, isa};

/// Bytes of an attribute's payload.
pub(super) fn size(draft: &Draft, section: &str, attribute: u8, arguments: &[Argument]) -> u64 {
    match list(arguments) {
        Some(List::Exits) => 4 * exits(draft, section).count() as u64,
        Some(List::Offsets) => 4 * offset_labels(draft, section, attribute).len() as u64,
        None => arguments.iter().map(|argument| width(argument) as u64).sum(),
    }
}

/// Lists that the assembler makes.
pub(super) enum List {
    /// `auto`
    Exits,
    /// `offsets`
    Offsets,
}

pub(super) fn list(arguments: &[Argument]) -> Option<List> {
    let [Argument { expression: Expression::Name(name), .. }] = arguments else { return None };
    match name.as_str() {
        "auto" => Some(List::Exits),
        "offsets" => Some(List::Offsets),
        _ => None,
    }
}

/// The instructions of a section's function that end a thread, as item numbers.
pub(super) fn exits<'a>(draft: &'a Draft, section: &str) -> impl Iterator<Item = (usize, usize)> + use<'a> {
    let code = defaults::function(section).and_then(|name| draft.section(&format!(".text{name}")));
    code.into_iter().flat_map(move |code| {
        let items = draft.sections[code].items.iter().enumerate();
        items.filter_map(move |(index, item)| match &item.body {
            Body::Instruction(instruction) if is_exit(instruction) => Some((code, index)),
            _ => None,
        })
    })
}

pub(super) fn offset_labels<'a>(draft: &'a Draft, section: &str, attribute: u8) -> &'a [LabelPosition] {
    let function = defaults::function(section).and_then(|name| name.strip_prefix('.'));
    let key = function.map(|function| (function.to_owned(), info::name(attribute)));
    key.and_then(|key| draft.offset_labels.get(&key)).map_or(&[], Vec::as_slice)
}

/// Whether an instruction ends its thread.
fn is_exit(instruction: &Instruction) -> bool {
    match instruction.raw {
        Some(word) => isa::is_exit(word),
        None => isa::mnemonic(&instruction.text) == "EXIT",
    }
}

/// Bytes of an item of a payload.
pub(super) fn width(argument: &Argument) -> usize {
    match &argument.expression {
        Expression::Function(name, _) if name == "byte" => 1,
        Expression::Function(name, _) if name == "half" => 2,
        _ => 4,
    }
}
