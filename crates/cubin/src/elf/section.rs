//! Section headers and what they head; the types and flags of NVIDIA's own, under the names that NVIDIA's tools print.

/// `SHT_NULL`.
pub const NULL: u32 = object::elf::SHT_NULL;
/// `SHT_PROGBITS`.
pub const PROGBITS: u32 = object::elf::SHT_PROGBITS;
/// `SHT_SYMTAB`.
pub const SYMTAB: u32 = object::elf::SHT_SYMTAB;
/// `SHT_STRTAB`.
pub const STRTAB: u32 = object::elf::SHT_STRTAB;
/// `SHT_RELA`: relocations that hold their addend.
pub const RELA: u32 = object::elf::SHT_RELA;
/// `SHT_NOTE`.
pub const NOTE: u32 = object::elf::SHT_NOTE;
/// `SHT_NOBITS`: zeros that the file does not hold.
pub const NOBITS: u32 = object::elf::SHT_NOBITS;
/// `SHT_REL`: relocations whose addend stands at their place.
pub const REL: u32 = object::elf::SHT_REL;
/// `.nv.info`: attributes, of the file or of a function.
pub const CUDA_INFO: u32 = 0x7000_0000;
/// Which function calls which.
pub const CUDA_CALLGRAPH: u32 = 0x7000_0001;
/// Types of functions that are called through pointers.
pub const CUDA_PROTOTYPE: u32 = 0x7000_0002;
/// Variables in relocatable files; the file holds no bytes of them.
pub const CUDA_GLOBAL: u32 = 0x7000_0007;
/// Variables with initial values.
pub const CUDA_GLOBAL_INIT: u32 = 0x7000_0008;
/// Local memory; the file holds no bytes of it.
pub const CUDA_LOCAL: u32 = 0x7000_0009;
/// Shared memory in relocatable files; the file holds no bytes of it.
pub const CUDA_SHARED: u32 = 0x7000_000a;
/// What the loader does for each type of relocation, up to sm_89.
pub const CUDA_RELOCINFO: u32 = 0x7000_000b;
/// Shared memory that the system takes, as zeros in the file.
pub const CUDA_RESERVED_SHARED: u32 = 0x7000_0015;
/// The symbols of `.nv.merc.*` sections.
pub const CUDA_MERC_SYMTAB: u32 = 0x7000_0085;
/// `.nv.compat`: on which devices the file runs.
pub const CUDA_COMPAT_INFO: u32 = 0x7000_0086;

/// The types of NVIDIA's own, as its tools print them.
const NAMES: [(u32, &str); 28] = [
    (CUDA_INFO, "CUDA_INFO"),
    (CUDA_CALLGRAPH, "CUDA_CALLGRAPH"),
    (CUDA_PROTOTYPE, "CUDA_PROTOTYPE"),
    (0x7000_0003, "CUDA_RESOLVED_RELA"),
    (0x7000_0004, "CUDA_METADATA"),
    (0x7000_0006, "CUDA_CONSTANT"),
    (CUDA_GLOBAL, "CUDA_GLOBAL"),
    (CUDA_GLOBAL_INIT, "CUDA_GLOBAL_INIT"),
    (CUDA_LOCAL, "CUDA_LOCAL"),
    (CUDA_SHARED, "CUDA_SHARED"),
    (CUDA_RELOCINFO, "CUDA_RELOCINFO"),
    (0x7000_000e, "CUDA_UFT"),
    (0x7000_0010, "CUDA_UIDX"),
    (0x7000_0011, "CUDA_UFT_ENTRY"),
    (0x7000_0012, "CUDA_UDT"),
    (0x7000_0014, "CUDA_UDT_ENTRY"),
    (CUDA_RESERVED_SHARED, "CUDA_RESERVED_SHARED"),
    (0x7000_0064, "CUDA_CONSTANT_B0"),
    (0x7000_0065, "CUDA_CONSTANT_B1"),
    (0x7000_0066, "CUDA_CONSTANT_B2"),
    (0x7000_0067, "CUDA_CONSTANT_B3"),
    (0x7000_0068, "CUDA_CONSTANT_B4"),
    (0x7000_0069, "CUDA_CONSTANT_B5"),
    (0x7000_006a, "CUDA_CONSTANT_B6"),
    (0x7000_006b, "CUDA_CONSTANT_B7"),
    (CUDA_COMPAT_INFO, "CUDA_COMPAT_INFO"),
    (0x7000_0087, "CUDA_EMBEDDED_HOST"),
    (0x7000_0089, "CUDA_METADATA_TRACE_MARK"),
];

/// The name of a type, without its prefix `SHT_`; none if it is not known.
#[must_use]
pub fn kind_name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        NULL => "NULL",
        PROGBITS => "PROGBITS",
        SYMTAB => "SYMTAB",
        STRTAB => "STRTAB",
        RELA => "RELA",
        NOTE => "NOTE",
        NOBITS => "NOBITS",
        REL => "REL",
        SYMTAB_SHNDX => "SYMTAB_SHNDX",
        _ => return NAMES.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name),
    })
}

/// Whether sections of a type only reserve memory: the file holds nothing of them.
#[must_use]
pub fn reserves(kind: u32) -> bool {
    matches!(kind, NULL | NOBITS | CUDA_GLOBAL | CUDA_LOCAL | CUDA_SHARED)
}

/// `SHF_WRITE`.
pub const WRITE: u64 = 1;
/// `SHF_ALLOC`: it takes memory when the program runs.
pub const ALLOC: u64 = 2;
/// `SHF_EXECINSTR`.
pub const EXECUTE: u64 = 4;
/// `SHF_INFO_LINK`: `sh_info` is the number of a section.
pub const INFO_LINK: u64 = 0x40;
/// What `.note.nv.cuinfo` has, which nvdisasm calls `SHF_NOTE_NV_CUINFO`.
pub const NOTE_NV_CUINFO: u64 = 0x0100_0000;
/// What `.note.nv.tkinfo` has, which nvdisasm calls `SHF_NOTE_NV_TKINFO`.
pub const NOTE_NV_TKINFO: u64 = 0x0200_0000;
/// What all `.nv.merc.*` sections have.
pub const MERCURY: u64 = 0x1000_0000;

/// `SHT_SYMTAB_SHNDX`: the symbols' sections, where their numbers do not fit into the symbol table.
pub const SYMTAB_SHNDX: u32 = object::elf::SHT_SYMTAB_SHNDX;

/// A section: its header, and its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// `sh_name`: where its name starts in the section of names.
    pub name: u32,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_addr`.
    pub address: u64,
    /// `sh_offset`.
    pub offset: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entry_size: u64,
    /// Where [`super::Elf::lay_out`] puts it.
    pub place: Placement,
    /// What it holds; its size is `sh_size`.
    pub contents: Contents,
}

/// Where a section goes in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Behind the section before it.
    Behind {
        /// Bytes in front of it that alignment does not ask for.
        gap: u64,
    },
    /// On the bytes of another section, as long as they are the same: what `.nv.merc.*` sections do with constants and
    /// initial values.
    On(u32),
}

impl Default for Placement {
    fn default() -> Self {
        Self::Behind { gap: 0 }
    }
}

/// What a section holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Bytes of the file.
    Bytes(Vec<u8>),
    /// So many bytes of memory, of which the file holds none.
    Reserved(u64),
}

impl Default for Contents {
    fn default() -> Self {
        Self::Bytes(Vec::new())
    }
}

impl Section {
    /// Its bytes; none if it only reserves memory.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        match &self.contents {
            Contents::Bytes(bytes) => bytes,
            Contents::Reserved(_) => &[],
        }
    }

    /// `sh_size`.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.contents {
            Contents::Bytes(bytes) => bytes.len() as u64,
            Contents::Reserved(size) => *size,
        }
    }
}
