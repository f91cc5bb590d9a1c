//! The tables of lines in a cubin, ours or another compiler's.

use crate::Reader;
use gimli::{AttributeValue, DebugLine, FileEntry, IncompleteLineProgram, LineProgramHeader, LittleEndian};
use std::collections::BTreeMap;

/// Where an address has the number of its symbol: above what any kernel's code takes.
const APART: u32 = 40;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The file; of PTX in a cubin it has no name.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
}

/// A table of lines: of each kernel, from which address on its code is of which line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineTable {
    kernels: BTreeMap<String, Vec<(u64, Option<Line>)>>,
}

impl LineTable {
    /// Reads a section. `symbols`: where in it addresses stand, and of which kernel. What is damaged ends the table.
    pub fn read(section: &[u8], symbols: &[(u64, String)]) -> Self {
        // An address that is a relocation is 0 in the section: each gets one that tells it from the others.
        let mut bytes = section.to_vec();
        for (number, (place, _)) in symbols.iter().enumerate() {
            let base = ((number as u64 + 1) << APART).to_le_bytes();
            let place = usize::try_from(*place).unwrap_or(usize::MAX);
            if let Some(bytes) = bytes.get_mut(place..place.saturating_add(base.len())) {
                bytes.copy_from_slice(&base);
            }
        }
        let mut table = Self::default();
        let section = DebugLine::new(&bytes, LittleEndian);
        let mut offset = 0;
        while offset < bytes.len() {
            let Ok(program) = section.program(gimli::DebugLineOffset(offset), 8, None, None) else { break };
            let header = program.header();
            // A length of 32 bits stands in front of what it counts.
            offset += header.unit_length() + 4;
            table.rows(program.clone(), symbols);
        }
        table.kernels.values_mut().for_each(|rows| rows.sort_by_key(|(address, _)| *address));
        table
    }

    fn rows(&mut self, program: IncompleteLineProgram<Reader<'_>>, symbols: &[(u64, String)]) {
        let files: Vec<String> = paths(program.header());
        let mut rows = program.rows();
        while let Ok(Some((_, row))) = rows.next_row() {
            let Some(number) = (row.address() >> APART).checked_sub(1) else { continue };
            let Some((_, kernel)) = symbols.get(number as usize) else { continue };
            let line = (!row.end_sequence()).then(|| Line {
                file: row
                    .file_index()
                    .checked_sub(1)
                    .and_then(|index| files.get(index as usize).cloned())
                    .unwrap_or_default(),
                line: row.line().map_or(0, std::num::NonZeroU64::get),
            });
            let address = row.address() & ((1 << APART) - 1);
            self.kernels.entry(kernel.clone()).or_default().push((address, line));
        }
    }

    /// The line of an address of a kernel; the innermost, where calls were inlined.
    pub fn line(&self, kernel: &str, address: u64) -> Option<&Line> {
        let rows = self.kernels.get(kernel)?;
        // Of several rows at one address the last counts.
        let behind = rows.partition_point(|(from, _)| *from <= address);
        rows.get(behind.checked_sub(1)?)?.1.as_ref()
    }
}

/// The paths of the files of a table.
fn paths(header: &LineProgramHeader<Reader<'_>>) -> Vec<String> {
    let text = |value: &AttributeValue<Reader<'_>>| match value {
        AttributeValue::String(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        // Strings of later versions stand in sections that cubins do not have.
        _ => String::new(),
    };
    let path = |file: &FileEntry<Reader<'_>>| {
        let name = text(&file.path_name());
        match file.directory(header).as_ref().map(text).filter(|folder| !folder.is_empty()) {
            Some(folder) if !name.starts_with('/') => format!("{}/{name}", folder.trim_end_matches('/')),
            _ => name,
        }
    };
    header.file_names().iter().map(path).collect()
}
