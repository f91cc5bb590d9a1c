//! ELF cubins as they stand: every header field, every table entry and every byte has a place in an [`Elf`], so that
//! what is read and not changed is written back byte for byte.
//!
//! ```text
//! bytes ──Elf::parse──▶ Elf { header, sections, segments, filler } ──Elf::to_bytes──▶ the same bytes
//!                        │  add, insert and remove sections and symbols, change data
//!                        └─ Elf::lay_out: offsets, sizes of tables and segments anew, as ptxas places them
//! ```
//!
//! [`Elf::to_bytes`] does what the fields say: it puts everything at the offset that stands in it. After a change of
//! sizes [`Elf::lay_out`] gives out offsets anew; on an unchanged cubin of any toolkit seen it changes nothing.
//! Names are offsets in string tables, references are numbers, just as in the file: what they mean is the business of
//! [`crate::read`].

mod edit;
mod layout;
mod parse;
pub mod relocation;
pub mod section;
pub mod symbol;
mod write;

pub use relocation::Relocation;
pub use section::{Contents, Placement, Section};
pub use symbol::Symbol;

/// `e_machine` of device code.
pub const EM_CUDA: u16 = object::elf::EM_CUDA;
/// Bytes of the file header.
pub const HEADER_SIZE: u64 = 64;
/// Bytes of a section header.
pub const SECTION_HEADER_SIZE: u64 = 64;
/// Bytes of a program header.
pub const SEGMENT_HEADER_SIZE: u64 = 56;

/// The most bytes of a name. Mangled names have thousands; where a damaged table has no ends, many names that are all of the
/// rest of it would take far more memory than the file.
const LONGEST_STRING: usize = 1 << 16;

/// Why bytes are no ELF file that can be read, or an [`Elf`] is none that can be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not ELF at all.
    #[error("E0001: not an ELF file: it does not start with 7f 45 4c 46")]
    NotElf,
    /// 32 bits or big-endian.
    #[error(
        "E0002: an ELF file of class {class} and byte order {data}; cubins are of class 2 (64 bits) and order 1 (little-endian)"
    )]
    Class {
        /// `e_ident[EI_CLASS]`.
        class: u8,
        /// `e_ident[EI_DATA]`.
        data: u8,
    },
    /// Not for a GPU.
    #[error("E0003: an ELF file for machine {0}, not for CUDA devices ({EM_CUDA})")]
    Machine(u16),
    /// Something reaches past the end.
    #[error(
        "E0004: the ELF file is cut off: {what} at byte {at:#x} needs {needs:#x} bytes; the file has {size:#x}"
    )]
    CutOff {
        /// What does.
        what: String,
        /// Where it starts.
        at: u64,
        /// Bytes that it needs.
        needs: u64,
        /// Bytes of the file.
        size: u64,
    },
    /// A field of the header that no writer would write.
    #[error("E0005: the ELF header's {field} is {value}, which cannot be")]
    Header {
        /// The field, as the ELF specification spells it.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// Sections on top of one another.
    #[error("E0006: the sections have {bytes} bytes together, far more than the file ({size}): they overlap")]
    Overlap {
        /// The sum of their sizes.
        bytes: u64,
        /// Bytes of the file.
        size: u64,
    },
    /// A table whose size is not that of its entries.
    #[error("E0007: {what} has {size} bytes, which is no multiple of its entries' {entry}")]
    Table {
        /// Which table.
        what: &'static str,
        /// Its bytes.
        size: usize,
        /// Bytes of an entry.
        entry: usize,
    },
    /// A string that is not in its table.
    #[error("E0008: no string starts at byte {at:#x} of the string table in section {section}")]
    String {
        /// The table's section.
        section: u32,
        /// Where the string should start.
        at: u32,
    },
    /// A section that is not there.
    #[error("E0009: there is no section {0}")]
    NoSection(u32),
    /// A section that is another thing than it should be.
    #[error("E0010: section {section} is no {wanted}")]
    WrongSection {
        /// Its number.
        section: u32,
        /// What it should be.
        wanted: &'static str,
    },
    /// What does not fit into the format.
    #[error("E0011: {what} is {value}, more than ELF can hold")]
    TooLarge {
        /// What is.
        what: &'static str,
        /// How much it is.
        value: u64,
    },
    /// Placed where something else is.
    #[error("E0012: {what} lies at byte {at:#x}, past the most that a file may have here ({most:#x})")]
    TooFar {
        /// What does.
        what: &'static str,
        /// Where.
        at: u64,
        /// The limit.
        most: u64,
    },
}

/// What stands in the file header. The numbers of sections and segments are not here: they are those of the vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// `e_ident[EI_VERSION]`.
    pub ident_version: u8,
    /// `e_ident[EI_OSABI]`: 0x33 up to CUDA 12, 0x41 from CUDA 13 on.
    pub os_abi: u8,
    /// `e_ident[EI_ABIVERSION]`: 7 up to CUDA 12, 8 from CUDA 13 on.
    pub abi_version: u8,
    /// The rest of `e_ident`.
    pub padding: [u8; 7],
    /// `e_type`: EXEC (2), REL (1) or a number of NVIDIA's own.
    pub kind: u16,
    /// `e_machine`.
    pub machine: u16,
    /// `e_version`.
    pub version: u32,
    /// `e_entry`.
    pub entry: u64,
    /// `e_phoff`: where the program headers stand.
    pub segment_table: u64,
    /// `e_shoff`: where the section headers stand.
    pub section_table: u64,
    /// `e_flags`.
    pub flags: u32,
    /// `e_ehsize`.
    pub header_size: u16,
    /// `e_phentsize`.
    pub segment_entry_size: u16,
    /// `e_shentsize`.
    pub section_entry_size: u16,
    /// `e_shstrndx`: the section with the sections' names.
    pub names: u32,
}

/// A program header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// `p_type`.
    pub kind: u32,
    /// `p_flags`: 1 execute, 2 write, 4 read.
    pub flags: u32,
    /// `p_offset`.
    pub offset: u64,
    /// `p_vaddr`.
    pub virtual_address: u64,
    /// `p_paddr`.
    pub physical_address: u64,
    /// `p_filesz`.
    pub file_size: u64,
    /// `p_memsz`.
    pub memory_size: u64,
    /// `p_align`.
    pub align: u64,
    /// What it covers: [`Elf::lay_out`] makes offset and sizes from that.
    pub covers: Covers,
}

/// What a segment covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Covers {
    /// Nothing that follows from other parts: its offset and sizes stay as they are.
    #[default]
    Stated,
    /// The program headers.
    Table,
    /// Sections.
    Sections {
        /// The number of the first.
        first: u32,
        /// The number of the last.
        last: u32,
    },
}

/// Bytes of the file that belong to no header, table or section, and are not mere zeros in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filler {
    /// Where they stand.
    pub offset: u64,
    /// The bytes.
    pub data: Vec<u8>,
}

/// An ELF file for CUDA devices, whole and changeable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    /// The file header.
    pub header: Header,
    /// The sections, in the order of their headers. The first is the null section.
    pub sections: Vec<Section>,
    /// The program headers, in order.
    pub segments: Vec<Segment>,
    /// Bytes between the last section and the section headers; [`Elf::lay_out`] leaves them.
    pub gap: u64,
    /// What else there is.
    pub filler: Vec<Filler>,
}

impl Elf {
    /// A section by number.
    ///
    /// # Errors
    /// If there is none.
    pub fn section(&self, number: u32) -> Result<&Section, Error> {
        self.sections.get(number as usize).ok_or(Error::NoSection(number))
    }

    /// A section by number, to change it.
    ///
    /// # Errors
    /// If there is none.
    pub fn section_mut(&mut self, number: u32) -> Result<&mut Section, Error> {
        self.sections.get_mut(number as usize).ok_or(Error::NoSection(number))
    }

    /// The string at an offset of the string table that is a section.
    ///
    /// # Errors
    /// If that is no section with data, or no string of it.
    pub fn string(&self, table: u32, at: u32) -> Result<&[u8], Error> {
        let wrong = Error::String { section: table, at };
        let data = self.section(table)?.data();
        let rest = data.get(at as usize..).ok_or(wrong.clone())?;
        let rest = &rest[..rest.len().min(LONGEST_STRING)];
        memchr::memchr(0, rest).map(|end| &rest[..end]).ok_or(wrong)
    }

    /// A section's name.
    ///
    /// # Errors
    /// If the section is not there, or its name.
    pub fn section_name(&self, number: u32) -> Result<&[u8], Error> {
        self.string(self.header.names, self.section(number)?.name)
    }

    /// The number of the first section of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<u32> {
        (1..self.sections.len() as u32).find(|&number| self.section_name(number) == Ok(name.as_bytes()))
    }

    /// The number of the symbol table's section.
    #[must_use]
    pub fn symbol_table(&self) -> Option<u32> {
        let number = self.sections.iter().position(|section| section.kind == section::SYMTAB)?;
        u32::try_from(number).ok()
    }
}
