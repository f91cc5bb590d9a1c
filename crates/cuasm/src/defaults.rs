//! What section headers refer to, and which segments there are, if nothing is said: the conventions of ptxas.

use cubin::elf::section as kind;
use cubin::elf::{self, Covers};

/// What is known of a section when its references are filled in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
}

/// What `sh_link` or `sh_info` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// A number, zero for nothing.
    Number(u32),
    /// The section of a name.
    Section(String),
    /// The symbol of a name.
    Symbol(String),
    /// How many symbols there are.
    SymbolCount,
}

/// What `sh_link` refers to.
pub(crate) fn link(section: Facts<'_>) -> Reference {
    match section.kind {
        kind::SYMTAB => Reference::Section(".strtab".to_owned()),
        kind::CUDA_INFO | kind::CUDA_CALLGRAPH | kind::CUDA_PROTOTYPE | kind::REL | kind::RELA => {
            Reference::Section(".symtab".to_owned())
        }
        _ if section.flags & kind::EXECUTE != 0 => Reference::Section(".symtab".to_owned()),
        _ => Reference::Number(0),
    }
}

/// What `sh_info` refers to. In sections of code the highest byte is not part of it.
pub(crate) fn info(section: Facts<'_>) -> Reference {
    let code = |name: Option<&str>| match name {
        Some(name) => Reference::Section(format!(".text{name}")),
        None => Reference::Number(0),
    };
    match section.kind {
        kind::SYMTAB => Reference::SymbolCount,
        kind::REL | kind::RELA => {
            let prefix = if section.kind == kind::REL { ".rel" } else { ".rela" };
            match section.name.strip_prefix(prefix) {
                Some(name) => Reference::Section(name.to_owned()),
                None => Reference::Number(0),
            }
        }
        _ if section.flags & kind::EXECUTE != 0 => match section.name.strip_prefix(".text.") {
            Some(name) => Reference::Symbol(name.to_owned()),
            None => Reference::Number(0),
        },
        _ if section.flags & kind::INFO_LINK != 0 => code(function(section.name)),
        _ => Reference::Number(0),
    }
}

/// The name of the function that a section such as `.nv.info.kernel` is about, with its full stop.
pub(crate) fn function(section: &str) -> Option<&str> {
    let rest = section.strip_prefix(".nv.")?;
    let rest = ["info", "shared", "local"].iter().find_map(|kind| rest.strip_prefix(kind)).or_else(|| {
        let rest = rest.strip_prefix("constant")?;
        rest.strip_prefix(|digit: char| digit.is_ascii_digit())
    })?;
    rest.starts_with('.').then_some(rest)
}

/// Bits of a code section's flags that hold the number of barriers, in cubins for devices before sm_90.
pub(crate) const BARRIERS: std::ops::Range<u32> = 20..27;

/// The flags without the number of barriers, and that number.
pub(crate) fn split_barriers(flags: u64) -> (u64, u64) {
    let mask = ((1 << (BARRIERS.end - BARRIERS.start)) - 1) << BARRIERS.start;
    (flags & !mask, (flags & mask) >> BARRIERS.start)
}

/// Bits of `sh_info` of a code section that hold the symbol; above them, before sm_90, is the number of registers.
pub(crate) const SYMBOL_BITS: u32 = 24;

/// `ET_EXEC`.
pub(crate) const EXECUTABLE: u16 = 2;
/// `ET_REL`, a file for a linker.
pub(crate) const RELOCATABLE: u16 = 1;

/// The segments of an executable: the table itself twice, then each run of sections in memory with the same rights.
pub(crate) fn segments(sections: &[elf::Section]) -> Vec<elf::Segment> {
    const READ: u32 = 4;
    let segment =
        |kind, flags, covers| elf::Segment { kind, flags, align: 8, covers, ..elf::Segment::default() };
    let mut segments = vec![segment(6, READ, Covers::Table), segment(1, READ, Covers::Table)];
    let rights = |section: &elf::Section| {
        let write = if section.flags & kind::WRITE != 0 { 2 } else { 0 };
        let execute = if section.flags & kind::EXECUTE != 0 { 1 } else { 0 };
        (section.flags & kind::ALLOC != 0).then_some(READ | write | execute)
    };
    let mut run: Option<(u32, u32)> = None;
    for (number, section) in sections.iter().enumerate() {
        let number = number as u32;
        match (rights(section), run) {
            (Some(flags), Some((before, first))) if flags == before => {
                if let Some(last) = segments.last_mut() {
                    last.covers = Covers::Sections { first, last: number };
                }
            }
            (Some(flags), _) => {
                segments.push(segment(1, flags, Covers::Sections { first: number, last: number }));
                run = Some((flags, number));
            }
            (None, _) => run = None,
        }
    }
    segments
}
