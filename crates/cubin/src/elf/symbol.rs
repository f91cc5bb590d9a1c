//! Symbol tables: records of 24 bytes.

use super::section::{SYMTAB, SYMTAB_SHNDX};
use super::{Contents, Elf, Error};
use object::LittleEndian as LE;
use object::elf::{SHN_XINDEX, STT_FUNC, Sym64};
use object::pod;
use object::{U16, U32, U64};

/// Bytes of a symbol.
pub const SIZE: usize = size_of::<Sym64<LE>>();

/// A symbol as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// `st_name`: where its name starts in the table's string table.
    pub name: u32,
    /// `st_info`: four bits of binding, four of type.
    pub info: u8,
    /// `st_other`: two bits of visibility, and what NVIDIA adds.
    pub other: u8,
    /// `st_shndx`.
    pub section: u16,
    /// `st_value`.
    pub value: u64,
    /// `st_size`.
    pub size: u64,
}

impl Symbol {
    /// `STB_*`: 0 local, 1 global, 2 weak.
    #[must_use]
    pub fn binding(&self) -> u8 {
        self.info >> 4
    }

    /// `STT_*`: 0 none, 1 object, 2 function, 3 section, and NVIDIA's.
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.info & 15
    }
}

/// The symbols of a table's bytes.
///
/// # Errors
/// If the bytes are no whole number of symbols.
pub fn decode(bytes: &[u8]) -> Result<Vec<Symbol>, Error> {
    let wrong = || Error::Table { what: "the symbol table", size: bytes.len(), entry: SIZE };
    let (records, []) =
        pod::slice_from_bytes::<Sym64<LE>>(bytes, bytes.len() / SIZE).map_err(|()| wrong())?
    else {
        return Err(wrong());
    };
    let symbol = |record: &Sym64<LE>| Symbol {
        name: record.st_name.get(LE),
        info: record.st_info,
        other: record.st_other,
        section: record.st_shndx.get(LE),
        value: record.st_value.get(LE),
        size: record.st_size.get(LE),
    };
    Ok(records.iter().map(symbol).collect())
}

/// The bytes of a table of symbols.
#[must_use]
pub fn encode(symbols: &[Symbol]) -> Vec<u8> {
    let record = |symbol: &Symbol| Sym64 {
        st_name: U32::new(LE, symbol.name),
        st_info: symbol.info,
        st_other: symbol.other,
        st_shndx: U16::new(LE, symbol.section),
        st_value: U64::new(LE, symbol.value),
        st_size: U64::new(LE, symbol.size),
    };
    pod::bytes_of_slice(&symbols.iter().map(record).collect::<Vec<_>>()).to_vec()
}

impl Elf {
    /// All symbols; none if there is no table.
    ///
    /// # Errors
    /// If the table is no whole number of symbols.
    pub fn symbols(&self) -> Result<Vec<Symbol>, Error> {
        let Some(table) = self.symbol_table() else { return Ok(Vec::new()) };
        decode(self.section(table)?.data())
    }

    /// Writes the symbol table anew.
    ///
    /// # Errors
    /// If there is no table.
    pub fn set_symbols(&mut self, symbols: &[Symbol]) -> Result<(), Error> {
        let table = self.symbol_table().ok_or(Error::WrongSection { section: 0, wanted: "symbol table" })?;
        self.section_mut(table)?.contents = Contents::Bytes(encode(symbols));
        Ok(())
    }

    /// The name of a symbol of the symbol table.
    ///
    /// # Errors
    /// If there is no table, or the name is not in its strings.
    pub fn symbol_name(&self, symbol: &Symbol) -> Result<&[u8], Error> {
        let table = self.symbol_table().ok_or(Error::WrongSection { section: 0, wanted: "symbol table" })?;
        self.string(self.section(table)?.link, symbol.name)
    }

    /// The section of the symbol with a number: what `st_shndx` says, or the table of extended numbers.
    #[must_use]
    pub fn symbol_section(&self, number: u32, symbol: &Symbol) -> u32 {
        if symbol.section != SHN_XINDEX {
            return symbol.section.into();
        }
        let extended = self.sections.iter().find(|section| section.kind == SYMTAB_SHNDX);
        let at = number as usize * 4;
        let bytes = extended.and_then(|section| section.data().get(at..)?.first_chunk::<4>());
        bytes.map_or(u32::from(SHN_XINDEX), |bytes| u32::from_le_bytes(*bytes))
    }

    /// Whether a section is a table of symbols.
    #[must_use]
    pub fn is_symbol_table(&self, number: u32) -> bool {
        self.section(number).is_ok_and(|section| section.kind == SYMTAB)
    }
}

/// The name of a binding.
#[must_use]
pub fn binding_name(binding: u8) -> Option<&'static str> {
    ["LOCAL", "GLOBAL", "WEAK"].get(usize::from(binding)).copied()
}

/// The name of a type; those from 10 on are NVIDIA's.
#[must_use]
pub fn kind_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0 => "NOTYPE",
        1 => "OBJECT",
        2 => "FUNC",
        3 => "SECTION",
        4 => "FILE",
        5 => "COMMON",
        10 => "CUDA_TEXTURE",
        11 => "CUDA_SAMPLER",
        12 => "CUDA_SURFACE",
        13 => "CUDA_OBJECT",
        _ => return None,
    })
}

/// The name of the visibility in `st_other`.
#[must_use]
pub fn visibility_name(other: u8) -> &'static str {
    ["DEFAULT", "INTERNAL", "HIDDEN", "PROTECTED"][usize::from(other & 3)]
}

/// What NVIDIA adds to `st_other`, as its tools print it: the state space of a variable in the upper three bits, and marks.
/// The meaning of one of them depends on the symbol's type.
#[must_use]
pub fn other_names(kind: u8, other: u8) -> Vec<&'static str> {
    let space =
        ["", "GLOBAL", "SHARED", "LOCAL", "CONSTANT", "RESERVED_SHARED", "", ""][usize::from(other >> 5)];
    let mark = |bit: u8, name| if other & bit == 0 { "" } else { name };
    let entry = if kind == STT_FUNC { "ENTRY" } else { "UNIFIED_OBJECT" };
    let names = [space, mark(0x10, entry), mark(8, "OBSCURE"), mark(4, "MANAGED")];
    names.into_iter().filter(|name| !name.is_empty()).collect()
}
