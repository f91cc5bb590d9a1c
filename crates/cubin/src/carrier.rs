//! Cubins that carry PTX instead of machine code: what a stand-in for ptxas writes for tools that want a cubin.
//!
//! ```text
//!  1 .shstrtab   2 .strtab   3 .symtab     as in every cubin; no symbols
//!  4 .warploom.ptx                         fatbins of PTX, one for each module
//!  5 .note.nv.tkinfo   6 .note.nv.cuinfo   who made it, and for what: the notes that ptxas writes
//!  7 .nv.compat                            from sm_90 on
//!  8 .nv.merc.symtab                       from sm_100 on; no symbols
//! ```
//!
//! What tools ask of a cubin was found by leaving out parts of ptxas' own (CUDA 13.0): fatbinary takes any ELF for CUDA
//! devices; nvlink looks for the note of the toolkit from section 6 on, and from sm_100 on for a second table of symbols;
//! cuobjdump and nvdisasm want `.nv.compat` from sm_90 on. nvlink puts sections of one name behind one another, at multiples
//! of their alignment. So a program of several files ends up with all its modules in one section, and since a fatbin says how
//! long it is, they can be told apart.

use crate::elf::{Contents, EM_CUDA, Elf, Error, Header, SECTION_HEADER_SIZE, SEGMENT_HEADER_SIZE, Section};
use crate::elf::{section, symbol};
use crate::fatbin::{CONTAINER_HEADER, container_size};
use crate::info::{self, Attribute, Value, table};
use crate::read::{CudaInfo, ToolInfo};

/// The section with the modules.
const PTX: &str = ".warploom.ptx";
/// Fatbins stand at multiples of this.
const ALIGNMENT: usize = 8;
/// The first architectures with `.nv.compat` and with `.nv.merc.symtab`.
const COMPAT_FROM: u16 = 90;
const MERCURY_FROM: u16 = 100;
/// `e_ident[EI_OSABI]` and `e_ident[EI_ABIVERSION]` of CUDA 13.
const OS_ABI: u8 = 0x41;
const ABI_VERSION: u8 = 8;

/// What a carrier is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// The architecture: compute capability times ten.
    pub sm: u16,
    /// Whether it is for that architecture alone (`sm_90a`).
    pub specific: bool,
    /// Whether a linker shall take it.
    pub relocatable: bool,
    /// The toolkit's version, and the architecture of the PTX.
    pub cuda: CudaInfo,
    /// Who made it, and how.
    pub tool: ToolInfo,
}

/// A cubin with these fatbins.
///
/// # Errors
/// If they are larger than an ELF file can say.
pub fn write(fatbins: &[Vec<u8>], purpose: &Purpose) -> Result<Vec<u8>, Error> {
    let mut elf = Elf {
        header: header(purpose),
        sections: vec![Section { contents: Contents::Reserved(0), ..Section::default() }, strings()],
        segments: Vec::new(),
        gap: 0,
        filler: Vec::new(),
    };
    elf.sections[1].name = elf.intern(1, ".shstrtab")?;
    let mut add = |name: &str, section: Section| elf.insert_section(elf.sections.len() as u32, name, section);
    let text = add(".strtab", strings())?;
    add(".symtab", symbols(section::SYMTAB, 0, text))?;
    let modules = fatbins.iter().flat_map(|fatbin| {
        let padding = fatbin.len().next_multiple_of(ALIGNMENT) - fatbin.len();
        fatbin.iter().copied().chain(std::iter::repeat_n(0, padding))
    });
    add(PTX, bytes(section::PROGBITS, ALIGNMENT as u64, modules.collect()))?;
    let tool = bytes(section::NOTE, 4, purpose.tool.note());
    let tool = add(".note.nv.tkinfo", Section { flags: section::NOTE_NV_TKINFO, ..tool })?;
    let cuda = bytes(section::NOTE, 4, purpose.cuda.note());
    let flags = section::NOTE_NV_CUINFO | section::INFO_LINK;
    let info = if purpose.sm >= COMPAT_FROM { tool + 2 } else { 0 };
    add(".note.nv.cuinfo", Section { flags, link: tool, info, ..cuda })?;
    if purpose.sm >= COMPAT_FROM {
        add(".nv.compat", bytes(section::CUDA_COMPAT_INFO, 4, compatibility(purpose)))?;
    }
    if purpose.sm >= MERCURY_FROM {
        add(".nv.merc.symtab", symbols(section::CUDA_MERC_SYMTAB, section::MERCURY, text))?;
    }
    elf.lay_out()?;
    elf.to_bytes()
}

/// The fatbins that a cubin carries; none if it carries nothing, or is no cubin.
#[must_use]
pub fn fatbins(bytes: &[u8]) -> Vec<Vec<u8>> {
    let Ok(elf) = Elf::parse(bytes) else { return Vec::new() };
    let Some(section) = elf.find(PTX).and_then(|number| elf.section(number).ok()) else { return Vec::new() };
    let mut rest = section.data();
    let mut found = Vec::new();
    while let Some(header) = rest.first_chunk::<CONTAINER_HEADER>() {
        let size = container_size(header).ok().and_then(|size| usize::try_from(size).ok());
        match size.and_then(|size| rest.split_at_checked(size)) {
            Some((fatbin, behind)) => {
                found.push(fatbin.to_vec());
                // Padding.
                let zeros = behind.iter().take_while(|&&byte| byte == 0).count();
                rest = &behind[zeros..];
            }
            None => return found,
        }
    }
    found
}

/// Bytes of the cubin whose file header this is: nothing stands behind its tables of sections and segments, wherever it comes
/// from. None if it is no header of a cubin.
#[must_use]
pub fn size(header: &[u8; crate::elf::HEADER_SIZE as usize]) -> Option<u64> {
    let half = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let long = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    // Of 64 bits, little-endian, for CUDA devices.
    if !header.starts_with(b"\x7fELF\x02\x01") || half(18) != u64::from(EM_CUDA) {
        return None;
    }
    let segments = long(32).checked_add(half(56) * SEGMENT_HEADER_SIZE)?;
    let sections = long(40).checked_add(half(60) * SECTION_HEADER_SIZE)?;
    Some(segments.max(sections).max(header.len() as u64))
}

fn header(purpose: &Purpose) -> Header {
    Header {
        ident_version: 1,
        os_abi: OS_ABI,
        abi_version: ABI_VERSION,
        padding: [0; 7],
        kind: if purpose.relocatable { object::elf::ET_REL } else { object::elf::ET_EXEC },
        machine: EM_CUDA,
        version: 1,
        entry: 0,
        segment_table: 0,
        section_table: 0,
        // As ptxas 13.0 writes it: the architecture, and below it what changed with sm_100.
        flags: 0x0600_0000 | u32::from(purpose.sm) << 8 | if purpose.sm < MERCURY_FROM { 4 } else { 2 },
        header_size: crate::elf::HEADER_SIZE as u16,
        segment_entry_size: SEGMENT_HEADER_SIZE as u16,
        section_entry_size: SECTION_HEADER_SIZE as u16,
        names: 1,
    }
}

fn bytes(kind: u32, align: u64, data: Vec<u8>) -> Section {
    Section { kind, align, contents: Contents::Bytes(data), ..Section::default() }
}

fn strings() -> Section {
    bytes(section::STRTAB, 1, vec![0])
}

/// A table with the null symbol alone.
fn symbols(kind: u32, flags: u64, strings: u32) -> Section {
    let data = vec![0; symbol::SIZE];
    Section { flags, link: strings, info: 1, entry_size: symbol::SIZE as u64, ..bytes(kind, 8, data) }
}

/// What `.nv.compat` must say: whether the code is for one architecture alone, and which class of instructions it has.
fn compatibility(purpose: &Purpose) -> Vec<u8> {
    let attribute = |code, value| Attribute { code, value: Value::Byte(value, 0) };
    let attributes =
        [attribute(table::ACCELERATOR_TARGET, purpose.specific.into()), attribute(table::ISA_CLASS, 1)];
    info::encode(&attributes).expect("bytes fit")
}
