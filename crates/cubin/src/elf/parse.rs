//! From bytes to an [`Elf`]. The `object` crate knows the records and finds the tables, extended numbers included.

use super::section::{self, Contents, Placement, Section};
use super::{
    Covers, Elf, Error, Filler, HEADER_SIZE, Header, SECTION_HEADER_SIZE, SEGMENT_HEADER_SIZE, Segment,
};
use object::LittleEndian as LE;
use object::elf::{
    ELFCLASS64, ELFDATA2LSB, ELFMAG, FileHeader64, PN_XNUM, ProgramHeader64, SHN_LORESERVE, SHN_XINDEX,
    SectionHeader64,
};
use object::pod;

/// Sections may have this many times the bytes of their file together: none overlap in any cubin, but a damaged one must
/// not make us hold more than a few copies of it.
const MOST_COPIES: u64 = 2;

/// Zeros between parts that are not kept as filler; [`Elf::to_bytes`] leaves room for so many and more.
const MOST_ZEROS: u64 = 1 << 25;

impl Elf {
    /// Reads an ELF file for CUDA devices: [`Elf::to_bytes`] gives the same bytes back.
    ///
    /// # Errors
    /// If it is not ELF, of another class or for another machine, or if something reaches past its end.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if !bytes.starts_with(&ELFMAG) {
            return Err(Error::NotElf);
        }
        let size = bytes.len() as u64;
        let cut_off = |what: &str, at, needs| Error::CutOff { what: what.to_owned(), at, needs, size };
        if let (Some(&class), Some(&data)) = (bytes.get(4), bytes.get(5))
            && (class, data) != (ELFCLASS64, ELFDATA2LSB)
        {
            return Err(Error::Class { class, data });
        }
        let (raw, _) = pod::from_bytes::<FileHeader64<LE>>(bytes)
            .map_err(|()| cut_off("the file header", 0, HEADER_SIZE))?;
        if raw.e_machine.get(LE) != super::EM_CUDA {
            return Err(Error::Machine(raw.e_machine.get(LE)));
        }
        let header_sections = section_headers(raw, bytes)?;
        let header_segments = segment_headers(raw, bytes)?;
        let sections = sections(header_sections, bytes)?;
        let header = Header {
            ident_version: raw.e_ident.version,
            os_abi: raw.e_ident.os_abi,
            abi_version: raw.e_ident.abi_version,
            padding: raw.e_ident.padding,
            kind: raw.e_type.get(LE),
            machine: raw.e_machine.get(LE),
            version: raw.e_version.get(LE),
            entry: raw.e_entry.get(LE),
            segment_table: raw.e_phoff.get(LE),
            section_table: raw.e_shoff.get(LE),
            flags: raw.e_flags.get(LE),
            header_size: raw.e_ehsize.get(LE),
            segment_entry_size: raw.e_phentsize.get(LE),
            section_entry_size: raw.e_shentsize.get(LE),
            names: names(raw, header_sections)?,
        };
        let segments = header_segments.iter().map(segment).collect();
        let mut elf = Self { header, sections, segments, gap: 0, filler: Vec::new() };
        elf.filler = filler(&elf, bytes);
        elf.infer_layout();
        Ok(elf)
    }

    /// The parts of the file that headers, tables and sections take, in no order.
    pub(super) fn taken(&self) -> Vec<(u64, u64)> {
        let tables = [
            (0, HEADER_SIZE),
            (self.header.section_table, self.sections.len() as u64 * SECTION_HEADER_SIZE),
            (self.header.segment_table, self.segments.len() as u64 * SEGMENT_HEADER_SIZE),
        ];
        let sections = self.sections.iter().map(|section| (section.offset, section.data().len() as u64));
        tables.into_iter().chain(sections).filter(|&(_, size)| size > 0).collect()
    }
}

/// A table of the file: `count` records at `at`.
fn table<'b, T: pod::Pod>(bytes: &'b [u8], what: &str, at: u64, count: u64) -> Result<&'b [T], Error> {
    let needs = count.saturating_mul(size_of::<T>() as u64);
    let cut_off = || Error::CutOff { what: what.to_owned(), at, needs, size: bytes.len() as u64 };
    let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).ok_or_else(cut_off)?;
    if needs > rest.len() as u64 {
        return Err(cut_off());
    }
    pod::slice_from_bytes(rest, count as usize).map(|(records, _)| records).map_err(|()| cut_off())
}

fn section_headers<'b>(raw: &FileHeader64<LE>, bytes: &'b [u8]) -> Result<&'b [SectionHeader64<LE>], Error> {
    let (at, mut count) = (raw.e_shoff.get(LE), u64::from(raw.e_shnum.get(LE)));
    if at == 0 {
        return match count {
            0 => Ok(&[]),
            _ => Err(Error::Header { field: "e_shoff", value: 0 }),
        };
    }
    if count >= u64::from(SHN_LORESERVE) {
        return Err(Error::Header { field: "e_shnum", value: count });
    }
    if count == 0 {
        // The number stands in the null section when it does not fit.
        let [null] = table::<SectionHeader64<LE>>(bytes, "the null section's header", at, 1)? else {
            return Ok(&[]);
        };
        count = null.sh_size.get(LE);
        if count < u64::from(SHN_LORESERVE) {
            return Err(Error::Header { field: "e_shnum", value: 0 });
        }
    }
    if u64::from(raw.e_shentsize.get(LE)) != SECTION_HEADER_SIZE {
        return Err(Error::Header { field: "e_shentsize", value: raw.e_shentsize.get(LE).into() });
    }
    table(bytes, "the table of section headers", at, count)
}

fn segment_headers<'b>(raw: &FileHeader64<LE>, bytes: &'b [u8]) -> Result<&'b [ProgramHeader64<LE>], Error> {
    let (at, count) = (raw.e_phoff.get(LE), raw.e_phnum.get(LE));
    if count == PN_XNUM {
        return Err(Error::Header { field: "e_phnum", value: count.into() });
    }
    if count > 0 && u64::from(raw.e_phentsize.get(LE)) != SEGMENT_HEADER_SIZE {
        return Err(Error::Header { field: "e_phentsize", value: raw.e_phentsize.get(LE).into() });
    }
    match count {
        0 => Ok(&[]),
        _ => table(bytes, "the table of program headers", at, count.into()),
    }
}

/// The number of the section with names, which stands in the null section when it does not fit.
fn names(raw: &FileHeader64<LE>, sections: &[SectionHeader64<LE>]) -> Result<u32, Error> {
    let number = raw.e_shstrndx.get(LE);
    if number < SHN_LORESERVE {
        return Ok(number.into());
    }
    match sections.first().map(|null| null.sh_link.get(LE)) {
        Some(link) if link >= u32::from(SHN_LORESERVE) && number == SHN_XINDEX => Ok(link),
        _ => Err(Error::Header { field: "e_shstrndx", value: number.into() }),
    }
}

fn sections(headers: &[SectionHeader64<LE>], bytes: &[u8]) -> Result<Vec<Section>, Error> {
    let size = bytes.len() as u64;
    let in_file = |header: &SectionHeader64<LE>| !section::reserves(header.sh_type.get(LE));
    let stated = headers.iter().filter(|header| in_file(header)).map(|header| header.sh_size.get(LE));
    let sum = stated.fold(0, u64::saturating_add);
    let mut sections = Vec::with_capacity(headers.len());
    for (number, header) in headers.iter().enumerate() {
        let (offset, needs) = (header.sh_offset.get(LE), header.sh_size.get(LE));
        let contents = if !in_file(header) {
            Contents::Reserved(needs)
        } else if needs == 0 {
            Contents::Bytes(Vec::new())
        } else {
            let what = || format!("section {number}");
            let end = offset.checked_add(needs).filter(|&end| end <= size);
            let Some(end) = end else {
                return Err(Error::CutOff { what: what(), at: offset, needs, size });
            };
            if sum > size.saturating_mul(MOST_COPIES) {
                return Err(Error::Overlap { bytes: sum, size });
            }
            // Both fit, as `end` is no more than a length.
            Contents::Bytes(bytes[offset as usize..end as usize].to_vec())
        };
        sections.push(Section {
            name: header.sh_name.get(LE),
            kind: header.sh_type.get(LE),
            flags: header.sh_flags.get(LE),
            address: header.sh_addr.get(LE),
            offset,
            link: header.sh_link.get(LE),
            info: header.sh_info.get(LE),
            align: header.sh_addralign.get(LE),
            entry_size: header.sh_entsize.get(LE),
            place: Placement::default(),
            contents,
        });
    }
    Ok(sections)
}

fn segment(header: &ProgramHeader64<LE>) -> Segment {
    Segment {
        kind: header.p_type.get(LE),
        flags: header.p_flags.get(LE),
        offset: header.p_offset.get(LE),
        virtual_address: header.p_vaddr.get(LE),
        physical_address: header.p_paddr.get(LE),
        file_size: header.p_filesz.get(LE),
        memory_size: header.p_memsz.get(LE),
        align: header.p_align.get(LE),
        covers: Covers::Stated,
    }
}

/// What lies between the taken parts unless it is zeros, and what lies behind them in any case.
fn filler(elf: &Elf, bytes: &[u8]) -> Vec<Filler> {
    let mut taken = elf.taken();
    taken.sort_unstable();
    let end = bytes.len() as u64;
    let mut filler = Vec::new();
    let (mut free, mut zeros) = (0, 0);
    for (offset, size) in taken.into_iter().chain([(end, 0)]) {
        if offset > free {
            let data = &bytes[free as usize..offset as usize];
            zeros += offset - free;
            if offset == end || zeros > MOST_ZEROS || data.iter().any(|&byte| byte != 0) {
                filler.push(Filler { offset: free, data: data.to_vec() });
            }
        }
        free = free.max(offset + size);
    }
    filler
}
