//! Notes: ELF's records of an owner, a type and a description. NVIDIA's say who made the cubin, and for what.
//!
//! ```text
//! .note.nv.tkinfo   type 2000   u32 version, u32 5 x where strings start behind these words; the strings
//! .note.nv.cuinfo   type 1000   u16 version, u16 virtual architecture, u16 toolkit, u16 zero
//! ```

use crate::elf::section::NOTE;
use crate::elf::{Elf, Error};

/// The type of `.note.nv.tkinfo`.
const TOOL: u32 = 2000;
/// The type of `.note.nv.cuinfo`.
const CUDA: u32 = 1000;

/// A note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'e> {
    /// The number of its section.
    pub section: u32,
    /// Its owner, as a rule `NVIDIA Corp`.
    pub owner: &'e [u8],
    /// Its type.
    pub kind: u32,
    /// What it says.
    pub description: &'e [u8],
}

/// What `.note.nv.tkinfo` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolInfo {
    /// The version of the note, 2.
    pub version: u32,
    /// The file, if it is named.
    pub object: String,
    /// The tool, `ptxas` or `nvlink`.
    pub tool: String,
    /// Its version.
    pub tool_version: String,
    /// From where it was built.
    pub branch: String,
    /// Its command line.
    pub arguments: String,
}

/// What `.note.nv.cuinfo` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaInfo {
    /// The version of the note, 2.
    pub version: u16,
    /// The architecture of the PTX: compute capability times ten.
    pub virtual_sm: u16,
    /// The toolkit's version times ten.
    pub toolkit: u16,
}

/// The owner of NVIDIA's notes, with the zero at its end.
const OWNER: &[u8] = b"NVIDIA Corp\0";

impl ToolInfo {
    /// The note that says this.
    #[must_use]
    pub fn note(&self) -> Vec<u8> {
        let (mut starts, mut strings) = (self.version.to_le_bytes().to_vec(), Vec::new());
        for text in [&self.object, &self.tool, &self.tool_version, &self.branch, &self.arguments] {
            starts.extend((strings.len() as u32).to_le_bytes());
            strings.extend(text.bytes().chain([0]));
        }
        starts.extend(strings);
        record(TOOL, &starts)
    }
}

impl CudaInfo {
    /// The note that says this.
    #[must_use]
    pub fn note(self) -> Vec<u8> {
        let halves = [self.version, self.virtual_sm, self.toolkit, 0];
        record(CUDA, &halves.map(u16::to_le_bytes).concat())
    }
}

/// A note's bytes. The size that it states has the padding, as ptxas writes it: nvdisasm takes padding behind it for a note.
fn record(kind: u32, description: &[u8]) -> Vec<u8> {
    let padded = description.len().next_multiple_of(4);
    let words = [OWNER.len() as u32, padded as u32, kind];
    let mut bytes = words.map(u32::to_le_bytes).concat();
    bytes.extend(OWNER);
    bytes.extend(description);
    bytes.resize(bytes.len() + padded - description.len(), 0);
    bytes
}

/// All notes of a file.
///
/// # Errors
/// If a note reaches past the end of its section.
pub fn notes(elf: &Elf) -> Result<Vec<Note<'_>>, Error> {
    let mut notes = Vec::new();
    for (section, header) in (0..).zip(&elf.sections).filter(|(_, section)| section.kind == NOTE) {
        let data = header.data();
        let mut at = 0;
        while at < data.len() {
            let (note, size) = note(section, &data[at..]).ok_or_else(|| Error::CutOff {
                what: format!("a note of section {section}"),
                at: header.offset + at as u64,
                needs: 12,
                size: data.len() as u64,
            })?;
            notes.push(note);
            at += size;
        }
    }
    Ok(notes)
}

/// The note that bytes start with, and how many it takes.
fn note(section: u32, bytes: &[u8]) -> Option<(Note<'_>, usize)> {
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let (owner_size, size, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
    let owner = bytes.get(12..)?.get(..owner_size)?;
    let start = 12 + owner_size.next_multiple_of(4);
    let description = bytes.get(start..)?.get(..size)?;
    let owner = owner.strip_suffix(b"\0").unwrap_or(owner);
    // The padding of the last may be missing.
    let end = (start + size).next_multiple_of(4).min(bytes.len());
    Some((Note { section, owner, kind, description }, end))
}

impl Note<'_> {
    /// What it says, if it is `.note.nv.tkinfo`.
    #[must_use]
    pub fn tool(&self) -> Option<ToolInfo> {
        let (words, _) = self.description.as_chunks::<4>();
        let [version, starts @ ..] = words.first_chunk::<6>().filter(|_| self.kind == TOOL)?;
        let strings = &self.description[24..];
        let string = |start: &[u8; 4]| {
            let rest = strings.get(u32::from_le_bytes(*start) as usize..).unwrap_or_default();
            let end = memchr::memchr(0, rest).unwrap_or(rest.len());
            String::from_utf8_lossy(&rest[..end]).into_owned()
        };
        let [object, tool, tool_version, branch, arguments] = starts.each_ref().map(string);
        Some(ToolInfo {
            version: u32::from_le_bytes(*version),
            object,
            tool,
            tool_version,
            branch,
            arguments,
        })
    }

    /// What it says, if it is `.note.nv.cuinfo`.
    #[must_use]
    pub fn cuda(&self) -> Option<CudaInfo> {
        // `.note.nv.cuver` has the same type, and 12 bytes.
        let (halves, []) = self.description.as_chunks::<2>() else { return None };
        let [version, virtual_sm, toolkit, _] =
            halves.first_chunk::<4>().filter(|_| self.kind == CUDA && halves.len() == 4)?;
        let [version, virtual_sm, toolkit] =
            [version, virtual_sm, toolkit].map(|half| u16::from_le_bytes(*half));
        Some(CudaInfo { version, virtual_sm, toolkit })
    }
}
