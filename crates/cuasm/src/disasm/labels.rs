//! Labels: the places of code and data that something refers to.

use super::plan::{Content, Plan};
use crate::{defaults, info, isa};
use cubin::info::Value;
use std::collections::BTreeMap;

/// Labels of all sections.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// For each section its labels by offset.
    plain: Vec<BTreeMap<u64, String>>,
    /// For each section what stands before an instruction whose offset an attribute lists.
    attributes: Vec<BTreeMap<u64, Vec<String>>>,
    /// Functions by section and offset.
    functions: BTreeMap<(usize, u64), String>,
}

impl Labels {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        let count = plan.elf.sections.len();
        let mut labels = Self {
            plain: vec![BTreeMap::new(); count],
            attributes: vec![BTreeMap::new(); count],
            functions: BTreeMap::new(),
        };
        for (index, symbol) in plan.symbols.iter().enumerate().filter(|(index, _)| plan.is_label(*index)) {
            let section = usize::from(symbol.section);
            if symbol.size != 0
                && let Some(end) = symbol.value.checked_add(symbol.size)
            {
                labels.want(plan, section, end);
            }
            if symbol.kind() == 2 {
                let name = crate::syntax::quoted(&plan.names.symbols[index]);
                labels.functions.entry((section, symbol.value)).or_insert(name);
            }
        }
        for section in 1..count {
            match plan.contents[section] {
                Content::Code => labels.branches(plan, section),
                Content::Info => labels.attributes(plan, section),
                _ => {}
            }
        }
        let plain = labels.plain.iter_mut().flat_map(BTreeMap::values_mut);
        for (number, label) in plain.enumerate() {
            *label = format!(".L_x_{number}");
        }
        labels
    }

    /// Asks for a label, if there can be one.
    fn want(&mut self, plan: &Plan<'_>, section: usize, offset: u64) {
        let unit = match plan.contents.get(section) {
            Some(Content::Code) => 16,
            Some(Content::Data) => 1,
            _ => return,
        };
        if offset <= plan.elf.sections[section].size() && offset.is_multiple_of(unit) {
            self.plain[section].entry(offset).or_default();
        }
    }

    fn branches(&mut self, plan: &Plan<'_>, section: usize) {
        let Some(isa) = plan.isa else { return };
        for (offset, word) in isa::words(plan.elf.sections[section].data()) {
            if let Some(target) = isa.target(word, offset)
                && !self.functions.contains_key(&(section, target))
            {
                self.want(plan, section, target);
            }
        }
        for (_, target) in return_addresses(plan, section) {
            self.want(plan, section, target);
        }
    }

    fn attributes(&mut self, plan: &Plan<'_>, section: usize) {
        let Some((function, code)) = code_of(plan, section) else { return };
        for attribute in cubin::info::decode(plan.elf.sections[section].data()).unwrap_or_default() {
            let Value::Sized(payload) = &attribute.value else { continue };
            let words = words(payload);
            let list = info::is_offsets(attribute.code);
            if list && is_auto(plan, code, attribute.code, &words) {
                continue;
            }
            if list && is_ordered(plan, code, &words) {
                let label = format!(".CUASM_OFFSET_LABEL.{function}.{}.#", info::name(attribute.code));
                for word in words {
                    self.attributes[code].entry(word.into()).or_default().push(label.clone());
                }
                continue;
            }
            for (word, kind) in words.iter().zip(info::words(attribute.code, &words)) {
                if kind == info::Word::Offset {
                    self.want(plan, code, (*word).into());
                }
            }
        }
    }

    /// The label at a place, without those of symbols.
    pub(super) fn plain(&self, section: usize, offset: u64) -> Option<&str> {
        self.plain.get(section)?.get(&offset).map(String::as_str)
    }

    /// What an operand calls a place of code: the function there, or the label.
    pub(super) fn code(&self, section: usize, offset: u64) -> Option<&str> {
        let function = self.functions.get(&(section, offset));
        function.map(String::as_str).or_else(|| self.plain(section, offset))
    }

    /// The labels to write at a place, those for attributes first.
    pub(super) fn at(&self, section: usize, offset: u64) -> impl Iterator<Item = &str> {
        let attributes = self.attributes[section].get(&offset).into_iter().flatten();
        attributes.map(String::as_str).chain(self.plain(section, offset))
    }

    /// Places of a section that have a label.
    pub(super) fn places(&self, section: usize) -> impl Iterator<Item = u64> {
        self.plain[section].keys().copied()
    }
}

/// The function that an nv.info section is about, and its code.
pub(super) fn code_of<'a>(plan: &'a Plan<'_>, section: usize) -> Option<(&'a str, usize)> {
    let name = defaults::function(&plan.names.sections[section])?.strip_prefix('.')?;
    let code = plan.elf.sections[section].info as usize;
    (plan.contents.get(code) == Some(&Content::Code)).then_some((name, code))
}

/// The 32-bit words of a payload.
pub(super) fn words(payload: &[u8]) -> Vec<u32> {
    payload.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Whether a list of offsets is that of all exits, which the assembler makes by itself.
pub(super) fn is_auto(plan: &Plan<'_>, code: usize, attribute: u8, words: &[u32]) -> bool {
    let exits = || {
        isa::words(plan.elf.sections[code].data())
            .filter(|&(_, word)| isa::is_exit(word))
            .map(|(offset, _)| offset)
    };
    attribute == info::EXIT_OFFSETS && exits().eq(words.iter().map(|&word| u64::from(word)))
}

/// Whether a list of offsets can be told by labels before the instructions.
pub(super) fn is_ordered(plan: &Plan<'_>, code: usize, words: &[u32]) -> bool {
    let size = plan.elf.sections[code].size();
    words.is_sorted_by(|a, b| a < b) && words.iter().all(|&word| word % 16 == 0 && u64::from(word) < size)
}

/// Instructions that load the address behind the next call, and that address.
pub(super) fn return_addresses(plan: &Plan<'_>, section: usize) -> Vec<(u64, u64)> {
    let mut loads: Vec<(u64, u32)> = Vec::new();
    let mut found = Vec::new();
    for (offset, word) in isa::words(plan.elf.sections[section].data()) {
        if isa::is_relative_call(word) {
            let behind = offset + isa::WORD as u64;
            found
                .extend(loads.iter().filter(|load| u64::from(load.1) == behind).map(|load| (load.0, behind)));
        }
        if isa::ends_block(word) {
            loads.clear();
        } else if let Some(number) = isa::loaded_number(word) {
            loads.push((offset, number));
        }
    }
    found.sort_unstable();
    found
}
