//! From an [`Elf`] to bytes: everything goes where its own fields say.

use super::{Contents, Elf, Error, HEADER_SIZE, Section, Segment};
use object::LittleEndian as LE;
use object::elf::{
    ELFCLASS64, ELFDATA2LSB, ELFMAG, FileHeader64, Ident, PN_XNUM, ProgramHeader64, SHN_LORESERVE,
    SHN_XINDEX, SectionHeader64,
};
use object::pod::bytes_of;
use object::{U16, U32, U64};

/// A file may be this much longer than what is in it: alignment never takes more, and an offset that has been set by
/// mistake should not allocate the address space.
const MOST_GAPS: u64 = 1 << 26;

impl Elf {
    /// The file's bytes.
    ///
    /// # Errors
    /// If there are more sections or segments than ELF can count, or if something lies absurdly far behind everything
    /// else.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let taken = self.taken();
        let filler = self.filler.iter().map(|filler| (filler.offset, filler.data.len() as u64));
        let parts: Vec<_> = taken.into_iter().chain(filler).collect();
        let most = parts.iter().map(|&(_, size)| size).fold(MOST_GAPS, u64::saturating_add);
        let mut end = HEADER_SIZE;
        for &(at, size) in &parts {
            let past = at.saturating_add(size);
            if past > most {
                return Err(Error::TooFar { what: "something", at, most });
            }
            end = end.max(past);
        }
        let mut bytes = vec![0; end as usize];
        let mut put = |at: u64, data: &[u8]| bytes[at as usize..][..data.len()].copy_from_slice(data);
        for filler in self.filler.iter().filter(|filler| !filler.data.is_empty()) {
            put(filler.offset, &filler.data);
        }
        for section in self.sections.iter().filter(|section| !section.data().is_empty()) {
            put(section.offset, section.data());
        }
        let header = self.file_header()?;
        let sections: Vec<_> = self.sections.iter().map(section_header).collect();
        if !sections.is_empty() {
            put(self.header.section_table, object::pod::bytes_of_slice(&sections));
        }
        let segments: Vec<_> = self.segments.iter().map(segment_header).collect();
        if !segments.is_empty() {
            put(self.header.segment_table, object::pod::bytes_of_slice(&segments));
        }
        put(0, bytes_of(&header));
        Ok(bytes)
    }

    fn file_header(&self) -> Result<FileHeader64<LE>, Error> {
        let Self { header, sections, segments, .. } = self;
        let reserved = u64::from(SHN_LORESERVE);
        // Numbers that do not fit stand in the null section, where a parsed file has them and `lay_out` puts them.
        let extended = |number: u64, stated: Option<u64>, instead: u16, what| match number {
            _ if number < reserved => Ok(number as u16),
            _ if stated == Some(number) => Ok(instead),
            _ => Err(Error::TooLarge { what, value: number }),
        };
        let null = sections.first();
        let count = extended(sections.len() as u64, null.map(Section::size), 0, "the number of sections")?;
        let names = extended(
            header.names.into(),
            null.map(|null| null.link.into()),
            SHN_XINDEX,
            "the number of the section with names",
        )?;
        let segments = u16::try_from(segments.len()).ok().filter(|&count| count < PN_XNUM);
        let value = self.segments.len() as u64;
        let segments = segments.ok_or(Error::TooLarge { what: "the number of segments", value })?;
        Ok(FileHeader64 {
            e_ident: Ident {
                magic: ELFMAG,
                class: ELFCLASS64,
                data: ELFDATA2LSB,
                version: header.ident_version,
                os_abi: header.os_abi,
                abi_version: header.abi_version,
                padding: header.padding,
            },
            e_type: U16::new(LE, header.kind),
            e_machine: U16::new(LE, header.machine),
            e_version: U32::new(LE, header.version),
            e_entry: U64::new(LE, header.entry),
            e_phoff: U64::new(LE, header.segment_table),
            e_shoff: U64::new(LE, header.section_table),
            e_flags: U32::new(LE, header.flags),
            e_ehsize: U16::new(LE, header.header_size),
            e_phentsize: U16::new(LE, header.segment_entry_size),
            e_phnum: U16::new(LE, segments),
            e_shentsize: U16::new(LE, header.section_entry_size),
            e_shnum: U16::new(LE, count),
            e_shstrndx: U16::new(LE, names),
        })
    }
}

fn section_header(section: &Section) -> SectionHeader64<LE> {
    let size = match &section.contents {
        Contents::Bytes(bytes) => bytes.len() as u64,
        Contents::Reserved(size) => *size,
    };
    SectionHeader64 {
        sh_name: U32::new(LE, section.name),
        sh_type: U32::new(LE, section.kind),
        sh_flags: U64::new(LE, section.flags),
        sh_addr: U64::new(LE, section.address),
        sh_offset: U64::new(LE, section.offset),
        sh_size: U64::new(LE, size),
        sh_link: U32::new(LE, section.link),
        sh_info: U32::new(LE, section.info),
        sh_addralign: U64::new(LE, section.align),
        sh_entsize: U64::new(LE, section.entry_size),
    }
}

fn segment_header(segment: &Segment) -> ProgramHeader64<LE> {
    ProgramHeader64 {
        p_type: U32::new(LE, segment.kind),
        p_flags: U32::new(LE, segment.flags),
        p_offset: U64::new(LE, segment.offset),
        p_vaddr: U64::new(LE, segment.virtual_address),
        p_paddr: U64::new(LE, segment.physical_address),
        p_filesz: U64::new(LE, segment.file_size),
        p_memsz: U64::new(LE, segment.memory_size),
        p_align: U64::new(LE, segment.align),
    }
}
