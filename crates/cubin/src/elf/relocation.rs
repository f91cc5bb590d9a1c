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
