//! Relocation tables: records of 16 bytes, or of 24 with an addend.

use super::section::{REL, RELA};
use super::{Contents, Elf, Error};
use object::LittleEndian as LE;
use object::elf::{Rel64, Rela64};
use object::pod;
use object::{I64, U64};

/// A relocation: what stands at `offset` depends on the symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relocation {
    /// `r_offset`, in the section that the table's `sh_info` names.
    pub offset: u64,
    /// The low half of `r_info`: how the value goes into its place.
    pub kind: u32,
    /// The high half of `r_info`: the symbol's number.
    pub symbol: u32,
    /// `r_addend`, in tables that have it.
    pub addend: Option<i64>,
}

impl Elf {
    /// The relocations of a table.
    ///
    /// # Errors
    /// If the section is no table of them, or no whole number of them.
    pub fn relocations(&self, table: u32) -> Result<Vec<Relocation>, Error> {
        let section = self.section(table)?;
        match section.kind {
            REL => records(section.data(), |record: &Rel64<LE>| {
                relocation(record.r_offset.get(LE), record.r_info.get(LE), None)
            }),
            RELA => records(section.data(), |record: &Rela64<LE>| {
                relocation(record.r_offset.get(LE), record.r_info.get(LE), Some(record.r_addend.get(LE)))
            }),
            _ => Err(Error::WrongSection { section: table, wanted: "table of relocations" }),
        }
    }

    /// What stands in a section instead of its bytes: places in it, and the names of the symbols there. Damaged entries are left out.
    #[must_use]
    pub fn symbols_in(&self, section: u32) -> Vec<(u64, String)> {
        let Ok(symbols) = self.symbols() else { return Vec::new() };
        let tables = (0u32..).zip(&self.sections).filter(|(_, table)| table.info == section);
        let relocations = tables.filter_map(|(number, _)| self.relocations(number).ok()).flatten();
        let named = relocations.filter_map(|relocation| {
            let name = self.symbol_name(symbols.get(relocation.symbol as usize)?).ok()?;
            Some((relocation.offset, String::from_utf8_lossy(name).into_owned()))
        });
        named.collect()
    }

    /// Writes a table of relocations anew. Addends go only where the table has room for them.
    ///
    /// # Errors
    /// If the section is no table of relocations.
    pub fn set_relocations(&mut self, table: u32, relocations: &[Relocation]) -> Result<(), Error> {
        let section = self.section_mut(table)?;
        let info = |r: &Relocation| U64::new(LE, u64::from(r.symbol) << 32 | u64::from(r.kind));
        let bytes = match section.kind {
            REL => {
                let record = |r: &Relocation| Rel64 { r_offset: U64::new(LE, r.offset), r_info: info(r) };
                pod::bytes_of_slice(&relocations.iter().map(record).collect::<Vec<_>>()).to_vec()
            }
            RELA => {
                let record = |r: &Relocation| Rela64 {
                    r_offset: U64::new(LE, r.offset),
                    r_info: info(r),
                    r_addend: I64::new(LE, r.addend.unwrap_or(0)),
                };
                pod::bytes_of_slice(&relocations.iter().map(record).collect::<Vec<_>>()).to_vec()
            }
            _ => return Err(Error::WrongSection { section: table, wanted: "table of relocations" }),
        };
        section.contents = Contents::Bytes(bytes);
        Ok(())
    }
}

fn relocation(offset: u64, info: u64, addend: Option<i64>) -> Relocation {
    Relocation { offset, kind: info as u32, symbol: (info >> 32) as u32, addend }
}

fn records<T: pod::Pod>(bytes: &[u8], read: impl Fn(&T) -> Relocation) -> Result<Vec<Relocation>, Error> {
    let entry = size_of::<T>();
    let wrong = || Error::Table { what: "the table of relocations", size: bytes.len(), entry };
    match pod::slice_from_bytes::<T>(bytes, bytes.len() / entry) {
        Ok((records, [])) => Ok(records.iter().map(read).collect()),
        _ => Err(wrong()),
    }
}

/// The name of a type of relocation, as NVIDIA's tools print it; none if they print none.
///
/// The high half of the type is 1 in `.nv.merc.rela.*`, whose types have no known names.
#[must_use]
pub fn kind_name(kind: u32) -> Option<&'static str> {
    NAMES.get(kind.checked_sub(1)? as usize).copied()
}

/// From type 1 on: what cuobjdump 13.5 prints for a table with every one of them.
const NAMES: [&str; 115] = [
    "R_CUDA_32",
    "R_CUDA_64",
    "R_CUDA_G32",
    "R_CUDA_G64",
    "R_CUDA_ABS32_26",
    "R_CUDA_TEX_HEADER_INDEX",
    "R_CUDA_SAMP_HEADER_INDEX",
    "R_CUDA_SURF_HW_DESC",
    "R_CUDA_SURF_HW_SW_DESC",
    "R_CUDA_ABS32_LO_26",
    "R_CUDA_ABS32_HI_26",
    "R_CUDA_ABS32_23",
    "R_CUDA_ABS32_LO_23",
    "R_CUDA_ABS32_HI_23",
    "R_CUDA_ABS24_26",
    "R_CUDA_ABS24_23",
    "R_CUDA_ABS16_26",
    "R_CUDA_ABS16_23",
    "R_CUDA_TEX_SLOT",
    "R_CUDA_SAMP_SLOT",
    "R_CUDA_SURF_SLOT",
    "R_CUDA_TEX_BINDLESSOFF13_32",
    "R_CUDA_TEX_BINDLESSOFF13_47",
    "R_CUDA_CONST_FIELD19_28",
    "R_CUDA_CONST_FIELD19_23",
    "R_CUDA_TEX_SLOT9_49",
    "R_CUDA_6_31",
    "R_CUDA_2_47",
    "R_CUDA_TEX_BINDLESSOFF13_41",
    "R_CUDA_TEX_BINDLESSOFF13_45",
    "R_CUDA_FUNC_DESC32_23",
    "R_CUDA_FUNC_DESC32_LO_23",
    "R_CUDA_FUNC_DESC32_HI_23",
    "R_CUDA_FUNC_DESC_32",
    "R_CUDA_FUNC_DESC_64",
    "R_CUDA_CONST_FIELD21_26",
    "R_CUDA_QUERY_DESC21_37",
    "R_CUDA_CONST_FIELD19_26",
    "R_CUDA_CONST_FIELD21_23",
    "R_CUDA_PCREL_IMM24_26",
    "R_CUDA_PCREL_IMM24_23",
    "R_CUDA_ABS32_20",
    "R_CUDA_ABS32_LO_20",
    "R_CUDA_ABS32_HI_20",
    "R_CUDA_ABS24_20",
    "R_CUDA_ABS16_20",
    "R_CUDA_FUNC_DESC32_20",
    "R_CUDA_FUNC_DESC32_LO_20",
    "R_CUDA_FUNC_DESC32_HI_20",
    "R_CUDA_CONST_FIELD19_20",
    "R_CUDA_BINDLESSOFF13_36",
    "R_CUDA_SURF_HEADER_INDEX",
    "R_CUDA_INSTRUCTION64",
    "R_CUDA_CONST_FIELD21_20",
    "R_CUDA_ABS32_32",
    "R_CUDA_ABS32_LO_32",
    "R_CUDA_ABS32_HI_32",
    "R_CUDA_ABS47_34",
    "R_CUDA_ABS16_32",
    "R_CUDA_ABS24_32",
    "R_CUDA_FUNC_DESC32_32",
    "R_CUDA_FUNC_DESC32_LO_32",
    "R_CUDA_FUNC_DESC32_HI_32",
    "R_CUDA_CONST_FIELD19_40",
    "R_CUDA_BINDLESSOFF14_40",
    "R_CUDA_CONST_FIELD21_38",
    "R_CUDA_INSTRUCTION128",
    "R_CUDA_YIELD_OPCODE9_0",
    "R_CUDA_YIELD_CLEAR_PRED4_87",
    "R_CUDA_32_LO",
    "R_CUDA_32_HI",
    "R_CUDA_UNUSED_CLEAR32",
    "R_CUDA_UNUSED_CLEAR64",
    "R_CUDA_ABS24_40",
    "R_CUDA_ABS55_16_34",
    "R_CUDA_8_0",
    "R_CUDA_8_8",
    "R_CUDA_8_16",
    "R_CUDA_8_24",
    "R_CUDA_8_32",
    "R_CUDA_8_40",
    "R_CUDA_8_48",
    "R_CUDA_8_56",
    "R_CUDA_G8_0",
    "R_CUDA_G8_8",
    "R_CUDA_G8_16",
    "R_CUDA_G8_24",
    "R_CUDA_G8_32",
    "R_CUDA_G8_40",
    "R_CUDA_G8_48",
    "R_CUDA_G8_56",
    "R_CUDA_FUNC_DESC_8_0",
    "R_CUDA_FUNC_DESC_8_8",
    "R_CUDA_FUNC_DESC_8_16",
    "R_CUDA_FUNC_DESC_8_24",
    "R_CUDA_FUNC_DESC_8_32",
    "R_CUDA_FUNC_DESC_8_40",
    "R_CUDA_FUNC_DESC_8_48",
    "R_CUDA_FUNC_DESC_8_56",
    "R_CUDA_ABS20_44",
    "R_CUDA_SAMP_HEADER_INDEX_0",
    "R_CUDA_UNIFIED",
    "R_CUDA_UNIFIED_32",
    "R_CUDA_UNIFIED_8_0",
    "R_CUDA_UNIFIED_8_8",
    "R_CUDA_UNIFIED_8_16",
    "R_CUDA_UNIFIED_8_24",
    "R_CUDA_UNIFIED_8_32",
    "R_CUDA_UNIFIED_8_40",
    "R_CUDA_UNIFIED_8_48",
    "R_CUDA_UNIFIED_8_56",
    "R_CUDA_UNIFIED32_LO_32",
    "R_CUDA_UNIFIED32_HI_32",
    "R_CUDA_ABS56_16_34",
    "R_CUDA_CONST_FIELD22_37",
];
