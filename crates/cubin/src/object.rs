//! Host objects and archives of them: what nvcc packs device code into before a host linker sees it.
//!
//! A section of the object holds fatbins one behind the other: `.nv_fatbin`, or `__nv_relfatbin` of code that is to be
//! linked (`-rdc=true`). In an object without such a section they are looked for among its data.

use crate::fatbin::{CONTAINER_HEADER, CONTAINER_MAGIC, WRAPPER_MAGIC, container_size};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};

/// The sections that hold fatbins.
const SECTIONS: [&str; 2] = ["__nv_relfatbin", ".nv_fatbin"];

/// Bytes between which fatbins in a section are aligned.
const ALIGNMENT: usize = 8;

/// The section with a wrapper for each fatbin, which the program registers when it starts.
const WRAPPERS: &str = ".nvFatBinSegment";

/// Bytes of a wrapper.
const WRAPPER: usize = 24;

/// Why bytes are no object and no archive, or cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither of them, or a damaged one.
    #[error("F0007: neither an object nor an archive: {0}")]
    Malformed(String),
    /// No such fatbin.
    #[error("F0009: there is no fatbin {wanted}; there are {there}, counted from 0")]
    NoFatbin {
        /// Which was wanted.
        wanted: usize,
        /// How many there are.
        there: usize,
    },
    /// A fatbin larger than the one it should replace.
    #[error(
        "F0010: a fatbin of {size} bytes does not fit where there is room for {room}: what follows cannot be moved"
    )]
    NoRoom {
        /// Bytes of the new one.
        size: usize,
        /// Bytes up to what follows the old one.
        room: usize,
    },
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name in the archive; empty for an object alone.
    pub name: String,
    /// The fatbins in it.
    pub fatbins: Vec<&'a [u8]>,
    /// What its program registers.
    pub wrappers: Vec<Wrapper>,
}

/// A wrapper as it stands. Where a linker has still to fill in addresses, they are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// 1: the address is that of the fatbin. 2: of code that was linked by `nvlink`; the second address is that of a list of
    /// fatbins.
    pub version: u32,
    /// The address of the fatbin.
    pub data: u64,
    /// The address of a file name or a list.
    pub second: u64,
}

/// The objects of an archive, or the object that this is: programs and shared libraries too.
///
/// # Errors
/// If it is neither.
pub fn members(bytes: &[u8]) -> Result<Vec<Member<'_>>, Error> {
    let malformed = |error: object::Error| Error::Malformed(error.to_string());
    if !bytes.starts_with(&object::archive::MAGIC) {
        return Ok(vec![member(String::new(), bytes).map_err(malformed)?]);
    }
    let archive = ArchiveFile::parse(bytes).map_err(malformed)?;
    let mut members = Vec::new();
    for found in archive.members() {
        let found = found.map_err(malformed)?;
        let name = String::from_utf8_lossy(found.name()).into_owned();
        members.push(member(name, found.data(bytes).map_err(malformed)?).map_err(malformed)?);
    }
    Ok(members)
}

/// Replaces a fatbin, counted from 0 over all members. Everything else stays where and as it is; what the new fatbin leaves of
/// the old one's place becomes zeros.
///
/// # Errors
/// If it is no object or archive, there is no such fatbin, or the new one has no room.
pub fn replace(bytes: &[u8], number: usize, fatbin: &[u8]) -> Result<Vec<u8>, Error> {
    let members = members(bytes)?;
    let places: Vec<&[u8]> = members.iter().flat_map(|member| &member.fatbins).copied().collect();
    let old = places.get(number).ok_or(Error::NoFatbin { wanted: number, there: places.len() })?;
    // A fatbin is a part of the file's bytes, so that addresses tell where.
    let at = old.as_ptr().addr() - bytes.as_ptr().addr();
    let room = old.len();
    if fatbin.len() > room {
        return Err(Error::NoRoom { size: fatbin.len(), room });
    }
    let mut changed = bytes.to_vec();
    changed[at..at + room].fill(0);
    changed[at..at + fatbin.len()].copy_from_slice(fatbin);
    Ok(changed)
}

fn member(name: String, bytes: &[u8]) -> object::Result<Member<'_>> {
    let object = object::File::parse(bytes)?;
    Ok(Member { name, fatbins: fatbins(&object)?, wrappers: wrappers(&object)? })
}

fn wrappers(object: &object::File<'_>) -> object::Result<Vec<Wrapper>> {
    let Some(section) = object.section_by_name(WRAPPERS) else { return Ok(Vec::new()) };
    let (wrappers, _) = section.data()?.as_chunks::<WRAPPER>();
    let field = |wrapper: &[u8; WRAPPER], at: usize| {
        wrapper[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let known = wrappers.iter().filter(|wrapper| wrapper.starts_with(&WRAPPER_MAGIC.to_le_bytes()));
    Ok(known
        .map(|wrapper| Wrapper {
            version: (field(wrapper, 0) >> 32) as u32,
            data: field(wrapper, 8),
            second: field(wrapper, 16),
        })
        .collect())
}

fn fatbins<'b>(object: &object::File<'b>) -> object::Result<Vec<&'b [u8]>> {
    let mut found = Vec::new();
    for section in SECTIONS.iter().filter_map(|name| object.section_by_name_bytes(name.as_bytes())) {
        let data = section.data()?;
        let mut at = 0;
        while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
            if !rest.starts_with(&CONTAINER_MAGIC.to_le_bytes()) {
                at += ALIGNMENT;
                continue;
            }
            let Some(fatbin) = fatbin(rest) else { break };
            found.push(fatbin);
            at += fatbin.len().next_multiple_of(ALIGNMENT);
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    // Libraries that load their fatbins themselves, such as cuFFT, have them among their data.
    for section in object.sections().filter(|section| section.kind() != object::SectionKind::Text) {
        let data = section.data()?;
        let mut at = 0;
        while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
            let fatbin = fatbin(rest).filter(|fatbin| has_entries(fatbin));
            found.extend(fatbin);
            at += fatbin.map_or(ALIGNMENT, |fatbin| fatbin.len().next_multiple_of(ALIGNMENT));
        }
    }
    Ok(found)
}

/// The fatbin that bytes begin with.
fn fatbin(bytes: &[u8]) -> Option<&[u8]> {
    let size = container_size(bytes.first_chunk::<CONTAINER_HEADER>()?).ok()?;
    let size = usize::try_from(size).ok().filter(|&size| size > 0)?;
    bytes.get(..size)
}

fn has_entries(fatbin: &[u8]) -> bool {
    crate::fatbin::entries(fatbin).is_ok_and(|entries| !entries.is_empty())
}
