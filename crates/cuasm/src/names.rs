//! How numbers of ELF and of nv.info are spelled. A number without a name is written as a number.

use cubin::elf::section as kind;

/// Section types that assemblers have words for, as `@progbits`. NVIDIA's are written as `@"SHT_CUDA_INFO"`.
const SECTION_TYPES: &[(u32, &str)] = &[
    (kind::PROGBITS, "progbits"),
    (kind::SYMTAB, "symtab"),
    (kind::STRTAB, "strtab"),
    (kind::RELA, "rela"),
    (kind::NOTE, "note"),
    (kind::NOBITS, "nobits"),
    (kind::REL, "rel"),
];

/// Symbol types.
const SYMBOL_TYPES: &[(u32, &str)] =
    &[(0, "notype"), (1, "object"), (2, "function"), (3, "section"), (4, "file"), (13, "STT_CUDA_OBJECT")];

/// Symbol bindings, which are directives too.
const BINDINGS: &[(u32, &str)] = &[(0, "local"), (1, "global"), (2, "weak")];

/// File types.
const FILE_TYPES: &[(u32, &str)] = &[(1, "ET_REL"), (2, "ET_EXEC"), (3, "ET_DYN")];

/// Segment types.
const SEGMENT_TYPES: &[(u32, &str)] = &[(1, "PT_LOAD"), (4, "PT_NOTE"), (6, "PT_PHDR")];

/// Bits of a symbol's `st_other` with its visibility below them.
const OTHERS: &[(u32, &str)] = &[
    (0x00, "STV_DEFAULT"),
    (0x01, "STV_INTERNAL"),
    (0x02, "STV_HIDDEN"),
    (0x03, "STV_PROTECTED"),
    (0x10, "STO_CUDA_ENTRY STV_DEFAULT"),
    (0xa0, "STO_CUDA_RESERVED_SHARED STV_DEFAULT"),
];

/// A kind of number that has names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Section,
    Symbol,
    Binding,
    File,
    Segment,
    Other,
}

fn table(kind: Kind) -> &'static [(u32, &'static str)] {
    match kind {
        Kind::Section => SECTION_TYPES,
        Kind::Symbol => SYMBOL_TYPES,
        Kind::Binding => BINDINGS,
        Kind::File => FILE_TYPES,
        Kind::Segment => SEGMENT_TYPES,
        Kind::Other => OTHERS,
    }
}

/// What NVIDIA's section types begin with.
const NVIDIA: u32 = 0x7000_0000;

/// A number as an argument: `@name`, `@"NAME"` or `0x10`.
pub(crate) fn argument(kind: Kind, number: u32) -> String {
    let row = table(kind).iter().find(|row| row.0 == number);
    match row.map(|row| row.1) {
        Some(name) if name.bytes().all(|byte| byte.is_ascii_lowercase()) => format!("@{name}"),
        Some(name) => format!("@\"{name}\""),
        None => match cubin::elf::section::kind_name(number) {
            Some(name) if kind == Kind::Section && number >= NVIDIA => format!("@\"SHT_{name}\""),
            _ => format!("{number:#x}"),
        },
    }
}

/// The number of a name.
pub(crate) fn number(kind: Kind, name: &str) -> Option<u32> {
    let row = table(kind).iter().find(|row| row.1 == name);
    row.map(|row| row.0).or_else(|| match kind {
        Kind::Section => {
            let name = name.strip_prefix("SHT_")?;
            (NVIDIA..NVIDIA + 0x100).find(|&number| cubin::elf::section::kind_name(number) == Some(name))
        }
        _ => None,
    })
}

/// The letters of section flags.
const FLAGS: [(u64, char); 4] =
    [(kind::ALLOC, 'a'), (kind::WRITE, 'w'), (kind::EXECUTE, 'x'), (kind::INFO_LINK, 'I')];

/// Section flags as the letters that assemblers use, if those say all.
pub(crate) fn flag_letters(flags: u64) -> Option<String> {
    let text: String = FLAGS.iter().filter(|(bit, _)| flags & bit != 0).map(|&(_, letter)| letter).collect();
    (flag_bits(&text) == Some(flags)).then_some(text)
}

/// What the letters mean.
pub(crate) fn flag_bits(letters: &str) -> Option<u64> {
    letters.chars().try_fold(0, |bits, letter| Some(bits | FLAGS.iter().find(|flag| flag.1 == letter)?.0))
}

/// The longest relocation type: a name is looked up among those before it.
const RELOCATIONS: u32 = 0x100;

/// A relocation's type as it is written.
pub(crate) fn relocation(number: u32) -> String {
    cubin::elf::relocation::kind_name(number).map_or_else(|| format!("{number:#x}"), str::to_owned)
}

/// The relocation type of a name.
pub(crate) fn relocation_number(name: &str) -> Option<u32> {
    (0..RELOCATIONS).find(|&number| cubin::elf::relocation::kind_name(number) == Some(name))
}
