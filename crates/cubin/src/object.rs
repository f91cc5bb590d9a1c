//! Host objects and archives of them: what nvcc packs device code into before a host linker sees it.
//!
//! A section of the object holds fatbins one behind the other: `.nv_fatbin`, or `__nv_relfatbin` of code that is to be
//! linked (`-rdc=true`).

use crate::fatbin::{CONTAINER_HEADER, CONTAINER_MAGIC, container_size};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};

/// The sections that hold fatbins.
const SECTIONS: [&str; 2] = ["__nv_relfatbin", ".nv_fatbin"];

/// Bytes between which fatbins in a section are aligned.
const ALIGNMENT: usize = 8;

/// Why bytes are no object and no archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither of them, or a damaged one.
    #[error("F0007: neither an object nor an archive: {0}")]
    Malformed(String),
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name in the archive; empty for an object alone.
    pub name: String,
    /// The fatbins in it.
    pub fatbins: Vec<&'a [u8]>,
}

/// The objects of an archive, or the object that this is.
///
/// # Errors
/// If it is neither.
pub fn members(bytes: &[u8]) -> Result<Vec<Member<'_>>, Error> {
    let malformed = |error: object::Error| Error::Malformed(error.to_string());
    if !bytes.starts_with(&object::archive::MAGIC) {
        return Ok(vec![Member { name: String::new(), fatbins: fatbins(bytes).map_err(malformed)? }]);
    }
    let archive = ArchiveFile::parse(bytes).map_err(malformed)?;
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(malformed)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let fatbins = fatbins(member.data(bytes).map_err(malformed)?).map_err(malformed)?;
        members.push(Member { name, fatbins });
    }
    Ok(members)
}

fn fatbins(bytes: &[u8]) -> object::Result<Vec<&[u8]>> {
    let object = object::File::parse(bytes)?;
    let mut found = Vec::new();
    for section in SECTIONS.iter().filter_map(|name| object.section_by_name_bytes(name.as_bytes())) {
        let data = section.data()?;
        let mut at = 0;
        while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
            if !rest.starts_with(&CONTAINER_MAGIC.to_le_bytes()) {
                at += ALIGNMENT;
                continue;
            }
            let header = rest.first_chunk::<CONTAINER_HEADER>().map(container_size);
            let size = header.and_then(Result::ok).and_then(|size| usize::try_from(size).ok());
            let Some(fatbin) = size.filter(|&size| size > 0).and_then(|size| rest.get(..size)) else { break };
            found.push(fatbin);
            at += fatbin.len().next_multiple_of(ALIGNMENT);
        }
    }
    Ok(found)
}
