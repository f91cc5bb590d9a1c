//! Changes to the tables of an [`Elf`]: names, sections and symbols come and go, and every number that refers to a section
//! follows. Offsets do not: that is what [`Elf::lay_out`] is for.

use super::section::{INFO_LINK, REL, RELA, SYMTAB_SHNDX, Section};
use super::{Contents, Covers, Elf, Error, Placement, Symbol};
use object::elf::{SHN_LORESERVE, SHN_XINDEX};

impl Elf {
    /// Where a string stands in the string table that is a section; it is put there if it is not.
    ///
    /// # Errors
    /// If there is no such section, or no more room in its table.
    pub fn intern(&mut self, table: u32, text: &str) -> Result<u32, Error> {
        let section = self.section_mut(table)?;
        let Contents::Bytes(bytes) = &mut section.contents else {
            return Err(Error::WrongSection { section: table, wanted: "string table" });
        };
        let terminated = [text.as_bytes(), b"\0"].concat();
        let at = memchr::memmem::find(bytes, &terminated).unwrap_or_else(|| {
            let end = bytes.len();
            bytes.extend_from_slice(&terminated);
            end
        });
        u32::try_from(at).map_err(|_| Error::TooLarge { what: "the place of a string", value: at as u64 })
    }

    /// Puts a section in front of the one that has the number `at` now, or behind all. Returns its number.
    ///
    /// # Errors
    /// If `at` is 0 or past the end, or if there is no room for its name.
    pub fn insert_section(&mut self, at: u32, name: &str, mut section: Section) -> Result<u32, Error> {
        if at == 0 || at as usize > self.sections.len() {
            return Err(Error::NoSection(at));
        }
        section.name = self.intern(self.header.names, name)?;
        self.renumber_sections(&|number| if number >= at { number + 1 } else { number })?;
        self.sections.insert(at as usize, section);
        Ok(at)
    }

    /// Takes a section out. Numbers that referred to it become 0; segments cover what is left.
    ///
    /// # Errors
    /// If there is no such section, or it is the null section.
    pub fn remove_section(&mut self, at: u32) -> Result<Section, Error> {
        if at == 0 || at as usize >= self.sections.len() {
            return Err(Error::NoSection(at));
        }
        let gone = self.sections.remove(at as usize);
        self.renumber_sections(&|number| match number.cmp(&at) {
            std::cmp::Ordering::Less => number,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => number - 1,
        })?;
        Ok(gone)
    }

    /// Puts a symbol behind all others. Returns its number.
    ///
    /// # Errors
    /// If there is no symbol table, or no room for the name.
    pub fn add_symbol(&mut self, name: &str, mut symbol: Symbol) -> Result<u32, Error> {
        let table = self.symbol_table().ok_or(Error::WrongSection { section: 0, wanted: "symbol table" })?;
        symbol.name = self.intern(self.section(table)?.link, name)?;
        let mut symbols = self.symbols()?;
        let number = symbols.len() as u32;
        symbols.push(symbol);
        self.set_symbols(&symbols)?;
        // Tools of NVIDIA's state the number of all symbols here, where ELF wants that of the local ones.
        self.section_mut(table)?.info = number + 1;
        Ok(number)
    }

    /// Replaces every number of a section.
    fn renumber_sections(&mut self, new: &dyn Fn(u32) -> u32) -> Result<(), Error> {
        // Of all numbers beyond the last one, only those of sections mean something.
        let count = self.sections.len() as u32 + 1;
        let renumber = |number: u32| if number < count { new(number) } else { number };
        self.header.names = renumber(self.header.names);
        for section in &mut self.sections {
            section.link = renumber(section.link);
            if section.flags & INFO_LINK != 0 || matches!(section.kind, REL | RELA) {
                section.info = renumber(section.info);
            }
            if let Placement::On(other) = section.place {
                section.place = match renumber(other) {
                    0 => Placement::default(),
                    other => Placement::On(other),
                };
            }
            if section.kind == SYMTAB_SHNDX
                && let Contents::Bytes(bytes) = &mut section.contents
            {
                for number in bytes.as_chunks_mut::<4>().0 {
                    *number = renumber(u32::from_le_bytes(*number)).to_le_bytes();
                }
            }
        }
        for segment in &mut self.segments {
            if let Covers::Sections { first, last } = segment.covers {
                // A segment whose first section goes starts with the next one, which takes its number.
                let (new_first, new_last) = (renumber(first), renumber(last));
                let first = if new_first == 0 { first } else { new_first };
                let last = if new_last == 0 { last - 1 } else { new_last };
                segment.covers = Covers::Sections { first, last };
            }
        }
        if self.symbol_table().is_none() {
            return Ok(());
        }
        let mut symbols = self.symbols()?;
        for symbol in symbols.iter_mut().filter(|symbol| symbol.section < SHN_LORESERVE) {
            let number = renumber(symbol.section.into());
            symbol.section = u16::try_from(number).unwrap_or(SHN_XINDEX);
        }
        self.set_symbols(&symbols)
    }
}
