//! What must be known of the whole file before the first line is written: names, what each section holds.

use crate::Malformed;
use crate::flow::counts::Counts;
use crate::isa::{self, Isa, Residues};
use crate::strings::{first_offsets, latin1};
use cubin::elf::section as kind;
use cubin::elf::{Elf, Placement, Relocation, Section, Symbol};
use rustc_hash::FxHashMap as HashMap;
use std::cell::OnceCell;

/// Names by which the text calls sections and symbols: each is there once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) sections: Vec<String>,
    pub(crate) symbols: Vec<String>,
}

/// How a section's bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A string table.
    Strings,
    /// The symbol table.
    Symbols,
    /// Relocations of another section.
    Relocations,
    /// Records of nv.info.
    Info,
    /// Instructions of 128 bits.
    Code,
    /// Bytes, or none.
    Data,
    /// The bytes of another section.
    Overlay(usize),
}

/// Everything that the printers look up.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) elf: &'a Elf,
    pub(crate) names: Names,
    pub(crate) contents: Vec<Content>,
    /// The symbol table's section, and its symbols.
    pub(crate) symtab: Option<usize>,
    pub(crate) symbols: Vec<Symbol>,
    /// For each section the relocations that are written where they apply, with their place in their table.
    pub(crate) sites: Vec<Vec<(usize, Relocation)>>,
    /// For each section the table of those, if it has one.
    pub(crate) companion: Vec<Option<usize>>,
    /// The instruction set; none if it is not known, or has not 128 bits for an instruction.
    pub(crate) isa: Option<Isa>,
    pub(crate) residues: Residues,
    pub(crate) sm: u32,
    /// Whether offsets do not follow the rule of [`Elf::lay_out`], so that all of them must be written.
    pub(crate) stated: bool,
    /// For each section the symbols that are labels in it, in the order of their places.
    pub(crate) placed: Vec<Vec<(u64, usize)>>,
    /// Numbers of sections and symbols by name.
    pub(crate) section_numbers: HashMap<String, u32>,
    pub(crate) symbol_numbers: HashMap<String, u32>,
    /// Where the assembler finds strings: in the table of sections' names, and in that of symbols.
    pub(crate) section_strings: HashMap<Vec<u8>, u32>,
    pub(crate) symbol_strings: HashMap<Vec<u8>, u32>,
    /// What sections of code need, counted when it is asked for.
    counted: Vec<OnceCell<Option<Counts>>>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(elf: &'a Elf) -> Result<Self, Malformed> {
        if elf.sections.first().is_none_or(|first| !is_null(first)) {
            return Err(Malformed::Form("the first section header is not empty"));
        }
        if !(1..elf.sections.len()).contains(&(elf.header.names as usize)) {
            return Err(Malformed::Form("sections have no names"));
        }
        let sm = crate::target::sm(&elf.header);
        let symtab = elf.symbol_table().map(|number| number as usize);
        let symtab =
            symtab.filter(|&number| elf.sections[number].entry_size == cubin::elf::symbol::SIZE as u64);
        let symbols = symtab.and_then(|_| elf.symbols().ok());
        let symtab = symtab.filter(|_| symbols.is_some());
        let count = elf.sections.len();
        let mut plan = Self {
            elf,
            names: Names::default(),
            contents: Vec::new(),
            symtab,
            symbols: symbols.unwrap_or_default(),
            sites: vec![Vec::new(); count],
            companion: vec![None; count],
            isa: Isa::of(sm),
            residues: Residues::default(),
            sm,
            stated: !follows_the_rule(elf),
            placed: vec![Vec::new(); count],
            section_numbers: HashMap::default(),
            symbol_numbers: HashMap::default(),
            section_strings: first_offsets(data_of(elf, elf.header.names)),
            symbol_strings: HashMap::default(),
            counted: vec![OnceCell::new(); count],
        };
        plan.names.sections = plan.section_names();
        plan.names.symbols = plan.symbol_names();
        plan.contents = (0..count).map(|index| plan.content(index)).collect();
        plan.section_numbers = numbers(&plan.names.sections);
        plan.symbol_numbers = numbers(&plan.names.symbols);
        if let Some(table) = plan.symtab {
            plan.symbol_strings = first_offsets(data_of(elf, elf.sections[table].link));
        }
        for index in 0..plan.symbols.len() {
            if plan.is_label(index) {
                let symbol = &plan.symbols[index];
                plan.placed[usize::from(symbol.section)].push((symbol.value, index));
            }
        }
        plan.placed.iter_mut().for_each(|placed| placed.sort_unstable());
        plan.find_sites();
        Ok(plan)
    }

    fn section_names(&self) -> Vec<String> {
        let names = (0..self.elf.sections.len() as u32).map(|number| self.elf.section_name(number).ok());
        unique(names.map(|name| name.map(latin1)).collect(), ".section_")
    }

    fn symbol_names(&self) -> Vec<String> {
        let found = self.symbols.iter().map(|symbol| self.elf.symbol_name(symbol).ok().map(latin1));
        // Labels have names of their own.
        let usable = |name: &String| !name.starts_with(".L_") && !name.starts_with(".CUASM_OFFSET_LABEL");
        unique(found.map(|name| name.filter(usable)).collect(), ".S_")
    }

    fn content(&self, index: usize) -> Content {
        let section = &self.elf.sections[index];
        if let (Placement::On(other), false) = (section.place, self.stated) {
            return Content::Overlay(other as usize);
        }
        match section.kind {
            kind::STRTAB => Content::Strings,
            kind::SYMTAB if self.symtab == Some(index) => Content::Symbols,
            kind::REL | kind::RELA if self.are_relocations(index) => Content::Relocations,
            kind::CUDA_INFO if crate::info::reads_back(section.data()) => Content::Info,
            kind::PROGBITS if section.flags & kind::EXECUTE != 0 && self.isa.is_some() => Content::Code,
            _ => Content::Data,
        }
    }

    fn are_relocations(&self, index: usize) -> bool {
        let section = &self.elf.sections[index];
        let entry = entry_size(section.kind);
        let target = section.info as usize;
        section.entry_size == entry
            && section.size().is_multiple_of(entry)
            && self.symtab == Some(section.link as usize)
            && (1..self.elf.sections.len()).contains(&target)
            && target != index
            && self.relocations(index).iter().all(|found| (found.symbol as usize) < self.symbols.len())
    }

    /// The relocations in a section.
    pub(crate) fn relocations(&self, index: usize) -> Vec<Relocation> {
        self.elf.relocations(index as u32).unwrap_or_default()
    }

    /// Gives each section the relocations of the first table that is about it, if they all lie in it.
    fn find_sites(&mut self) {
        for table in 1..self.elf.sections.len() {
            if self.contents[table] != Content::Relocations {
                continue;
            }
            let target = self.elf.sections[table].info as usize;
            let plain = matches!(self.contents[target], Content::Code | Content::Data);
            let in_file = !kind::reserves(self.elf.sections[target].kind);
            if !plain || !in_file || self.companion[target].is_some() {
                continue;
            }
            let size = self.elf.sections[target].size();
            let unit = if self.contents[target] == Content::Code { 16 } else { 1 };
            let found = self.relocations(table);
            if found.iter().any(|found| found.offset >= size || !found.offset.is_multiple_of(unit)) {
                continue;
            }
            let mut sites: Vec<_> = found.into_iter().enumerate().collect();
            // Within a place they stay in the order of the table.
            sites.sort_by_key(|(_, relocation)| relocation.offset);
            self.sites[target] = sites;
            self.companion[target] = Some(table);
        }
    }

    /// What a section of code needs; none if not all of its words are known.
    pub(crate) fn counts(&self, code: usize) -> Option<Counts> {
        *self.counted[code].get_or_init(|| {
            let mut counts = Counts::default();
            for (_, word) in isa::words(self.elf.sections[code].data()) {
                counts.add(self.isa?.decode(word)?.operands());
            }
            Some(counts)
        })
    }

    /// A symbol as the text calls it.
    pub(crate) fn symbol(&self, index: u32) -> String {
        match self.names.symbols.get(index as usize) {
            Some(name) => crate::syntax::quoted(name),
            None => index.to_string(),
        }
    }

    /// A section as the text calls it; a number if there is none.
    pub(crate) fn section(&self, index: u32) -> String {
        match self.names.sections.get(index as usize) {
            Some(name) if index != 0 => crate::syntax::quoted(name),
            _ => index.to_string(),
        }
    }

    /// Whether a symbol is written as a label in its section: what its name, value and size are, the label tells.
    pub(crate) fn is_label(&self, symbol: usize) -> bool {
        let symbol = &self.symbols[symbol];
        let section = usize::from(symbol.section);
        let Some(header) = self.elf.sections.get(section).filter(|_| section != 0) else { return false };
        let fits = symbol.value <= header.size() && symbol.kind() != 3;
        fits && symbol.binding() <= 2
            && match self.contents[section] {
                Content::Code => symbol.value.is_multiple_of(16),
                Content::Data => true,
                _ => false,
            }
    }
}

fn numbers(names: &[String]) -> HashMap<String, u32> {
    (0..).zip(names).map(|(number, name)| (name.clone(), number)).collect()
}

fn data_of(elf: &Elf, section: u32) -> &[u8] {
    elf.section(section).map(Section::data).unwrap_or_default()
}

/// Bytes of an entry of a table of relocations.
pub(crate) fn entry_size(section: u32) -> u64 {
    if section == kind::RELA { 24 } else { 16 }
}

fn is_null(section: &Section) -> bool {
    section.kind == kind::NULL
        && section.size() == 0
        && (section.name, section.link, section.info) == (0, 0, 0)
        && (section.flags, section.address, section.offset, section.align, section.entry_size)
            == (0, 0, 0, 0, 0)
}

/// Whether laying the file out anew changes nothing.
fn follows_the_rule(elf: &Elf) -> bool {
    let mut other = elf.clone();
    elf.filler.is_empty() && other.lay_out().is_ok() && other == *elf
}

/// Names as they are where they are there once, and made-up ones for the others.
fn unique(found: Vec<Option<String>>, made_up: &str) -> Vec<String> {
    let mut count: HashMap<&str, u32> = HashMap::default();
    for name in found.iter().flatten() {
        *count.entry(name).or_default() += 1;
    }
    let usable = |name: &&String| {
        !name.is_empty() && count.get(name.as_str()) == Some(&1) && !name.starts_with(made_up)
    };
    let name = |(index, name): (usize, &Option<String>)| {
        name.as_ref().filter(usable).cloned().unwrap_or_else(|| format!("{made_up}{index}"))
    };
    found.iter().enumerate().map(name).collect()
}
