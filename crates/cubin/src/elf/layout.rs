//! Where ptxas and nvlink put things, found by comparing the rule below with what they wrote.
//!
//! ```text
//! file header
//! sections        in the order of their numbers, each at the next multiple of its alignment, those that only reserve
//!                 memory too; ptxas leaves gaps behind string tables that shrank after they were placed
//! section headers behind the last section, mostly at once, seldom at the next multiple of 8
//! program headers behind them
//! ```
//!
//! A segment covers the program headers, or sections that follow one another: in the file up to where the last one ends
//! or would stand, in memory with all that only reserve it laid out behind that.

use super::section::{ALLOC, Contents, Placement, Section, WRITE};
use super::{Covers, Elf, Error, HEADER_SIZE, SECTION_HEADER_SIZE, SEGMENT_HEADER_SIZE, Segment};
use object::elf::{PF_W, SHN_LORESERVE};
use std::collections::HashMap;

/// No cubin has sections aligned to more; a damaged one shall not make us write gigabytes of padding.
const MOST_ALIGNMENT: u64 = 1 << 20;

/// Cubins have six segments; what more of them cover is not looked for.
const MOST_SEGMENTS: usize = 64;

/// The most sections at one offset that are tried as the first of a segment. Sections that only reserve memory lie where
/// the next one does; functions without shared memory have none.
const MOST_CANDIDATES: usize = 64;

impl Elf {
    /// Gives out offsets anew: sections, tables, segments; numbers of sections that do not fit into the header too.
    ///
    /// Gaps that sections have and what segments cover are kept. Filler is kept behind everything else, and dropped
    /// elsewhere: there is no telling what it belongs to.
    ///
    /// # Errors
    /// If a section is aligned to what is no power of two, or absurdly large.
    pub fn lay_out(&mut self) -> Result<(), Error> {
        let mut cursor = HEADER_SIZE;
        let old_end = self.end_of_tables();
        for number in 1..self.sections.len() {
            let section = &self.sections[number];
            let shared = match section.place {
                Placement::On(other) => {
                    self.sections.get(other as usize).filter(|other| other.data() == section.data())
                }
                Placement::Behind { .. } => None,
            };
            if let Some(offset) = shared.map(|other| other.offset) {
                self.sections[number].offset = offset;
                continue;
            }
            let gap = match section.place {
                Placement::Behind { gap } => gap,
                Placement::On(_) => 0,
            };
            let offset = place(cursor, section)?.saturating_add(gap);
            cursor = offset.saturating_add(section.data().len() as u64);
            self.sections[number].offset = offset;
        }
        if !self.sections.is_empty() {
            cursor = cursor.saturating_add(self.gap);
            self.header.section_table = cursor;
            cursor = cursor.saturating_add(self.sections.len() as u64 * SECTION_HEADER_SIZE);
        }
        self.header.segment_table = match self.segments.is_empty() {
            true => 0,
            false => cursor,
        };
        self.filler.retain(|filler| filler.offset == old_end);
        let end = self.end_of_tables();
        for filler in &mut self.filler {
            filler.offset = end;
        }
        for number in 0..self.segments.len() {
            if let Some((offset, file_size, memory_size)) = self.extent(self.segments[number].covers) {
                let segment = &mut self.segments[number];
                (segment.offset, segment.file_size, segment.memory_size) = (offset, file_size, memory_size);
            }
        }
        self.extend_numbers();
        Ok(())
    }

    /// Finds out what gaps there are and what segments cover, from where things stand.
    pub(super) fn infer_layout(&mut self) {
        let mut cursor = HEADER_SIZE;
        let mut starts = HashMap::new();
        for number in 1..self.sections.len() {
            let section = &self.sections[number];
            let Ok(natural) = place(cursor, section) else { return };
            let place = match section.offset.checked_sub(natural) {
                Some(gap) => Placement::Behind { gap },
                None => match starts.get(&(section.offset, section.data().len())) {
                    Some(&other) => Placement::On(other),
                    None => return,
                },
            };
            if matches!(place, Placement::Behind { .. }) {
                cursor = section.offset.saturating_add(section.data().len() as u64);
            }
            starts.entry((section.offset, section.data().len())).or_insert(number as u32);
            self.sections[number].place = place;
        }
        self.gap = self.header.section_table.saturating_sub(cursor);
        for number in 0..self.segments.len().min(MOST_SEGMENTS) {
            let segment = self.segments[number];
            let stated = Some((segment.offset, segment.file_size, segment.memory_size));
            let firsts = (1..self.sections.len() as u32)
                .filter(|&first| {
                    let section = &self.sections[first as usize];
                    let writable = (section.flags & WRITE != 0) == (segment.flags & PF_W != 0);
                    section.offset == segment.offset && section.flags & ALLOC != 0 && writable
                })
                .take(MOST_CANDIDATES)
                .filter_map(|first| {
                    let last = self.last_covered(first, &segment)?;
                    Some(Covers::Sections { first, last })
                });
            let covers =
                [Covers::Table].into_iter().chain(firsts).find(|&covers| self.extent(covers) == stated);
            self.segments[number].covers = covers.unwrap_or_default();
        }
    }

    /// The last of the sections from `first` on that a segment of these sizes covers.
    fn last_covered(&self, first: u32, segment: &Segment) -> Option<u32> {
        let mut memory = segment.offset.saturating_add(segment.file_size);
        let mut last = None;
        for (number, section) in self.sections.iter().enumerate().skip(first as usize) {
            let file_size = end(section).saturating_sub(segment.offset);
            memory = reserve(memory, section);
            let memory_size = memory - segment.offset;
            if section.flags & ALLOC == 0
                || file_size > segment.file_size
                || memory_size > segment.memory_size
            {
                break;
            }
            if (file_size, memory_size) == (segment.file_size, segment.memory_size) {
                last = u32::try_from(number).ok();
            }
        }
        last
    }

    /// Offset, bytes in the file and bytes in memory of what a segment covers; none if they are just stated.
    fn extent(&self, covers: Covers) -> Option<(u64, u64, u64)> {
        match covers {
            Covers::Stated => None,
            Covers::Table => {
                let size = self.segments.len() as u64 * SEGMENT_HEADER_SIZE;
                Some((self.header.segment_table, size, size))
            }
            Covers::Sections { first, last } => {
                let covered = self.sections.get(first as usize..=last as usize)?;
                let offset = covered.first()?.offset;
                let file_end = covered.iter().map(end).max()?;
                let memory_end = covered.iter().fold(file_end, reserve);
                Some((offset, file_end.saturating_sub(offset), memory_end.saturating_sub(offset)))
            }
        }
    }

    fn end_of_tables(&self) -> u64 {
        self.taken().into_iter().map(|(at, size)| at.saturating_add(size)).max().unwrap_or(HEADER_SIZE)
    }

    /// Puts numbers that the header has no room for into the null section.
    fn extend_numbers(&mut self) {
        let count = self.sections.len() as u64;
        let names = self.header.names;
        let reserved = u64::from(SHN_LORESERVE);
        if let Some(null) = self.sections.first_mut() {
            null.contents = Contents::Reserved(if count < reserved { 0 } else { count });
            null.link = if u64::from(names) < reserved { 0 } else { names };
        }
    }
}

/// Where a section goes if the sections before it end at `cursor`.
fn place(cursor: u64, section: &Section) -> Result<u64, Error> {
    match section.align {
        0 => Ok(cursor),
        align if align.is_power_of_two() && align <= MOST_ALIGNMENT => {
            Ok(cursor.checked_next_multiple_of(align).unwrap_or(u64::MAX))
        }
        align => Err(Error::TooLarge { what: "the alignment of a section", value: align }),
    }
}

/// Where a section's bytes end in the file.
fn end(section: &Section) -> u64 {
    section.offset.saturating_add(section.data().len() as u64)
}

/// Where memory ends with a section in it, if it only reserves memory: behind all bytes of the file.
fn reserve(memory: u64, section: &Section) -> u64 {
    match section.contents {
        Contents::Bytes(_) => memory,
        Contents::Reserved(size) => {
            let at = memory.checked_next_multiple_of(section.align.max(1)).unwrap_or(u64::MAX);
            at.saturating_add(size)
        }
    }
}
