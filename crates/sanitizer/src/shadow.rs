//! Shadow memory: for every four bytes of guest memory, who accessed them last, in what way and when.
//!
//! A [`Cell`] holds the last weak write, and the weak reads since then as far as they fit into one [`Entry`]. Everything
//! rarer is in an [`Extra`]: several readers that do not know of one another, strong operations, what was released to
//! the location, and cells of which threads access single bytes. Cells lie in flat pages: an access looks up a page, not
//! a byte.

use crate::clock::Time;
use crate::observed::{Observed, Thread};
use crate::release::{Home, Released};
use crate::site::SiteId;
use memory_model::event::Scope;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Bytes of a cell.
pub(crate) const GRANULE: u64 = 4;
/// Bytes of guest memory that a page shadows.
const PAGE: u64 = 4096;
const CELLS: usize = (PAGE / GRANULE) as usize;

/// Accesses of one kind: of some lanes of a warp, of some warps of a CTA, of a range of CTAs, or of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The latest of them; 0 if there are none.
    pub(crate) time: Time,
    /// The CTA, or the first of a range.
    pub(crate) cta: u32,
    /// Which warps, by bit; of an agent its number.
    pub(crate) warps: u32,
    pub(crate) lanes: u32,
    /// The instruction, and in the two highest bits what the entry is.
    pub(crate) site: u32,
}

/// In [`Entry::site`]: an agent.
const AGENT: u32 = 1 << 31;
/// In [`Entry::site`]: all CTAs from `cta` to `warps` may be meant.
const RANGE: u32 = 1 << 30;

impl Entry {
    /// Of lanes of a warp.
    pub(crate) fn of_lanes(time: Time, cta: u32, warp: u16, lanes: u32, site: SiteId) -> Self {
        Self { time, cta, warps: 1 << warp, lanes, site }
    }

    /// Of an agent.
    pub(crate) fn of_agent(time: Time, cta: u32, agent: u16, lanes: u32, site: SiteId) -> Self {
        Self { time, cta, warps: agent.into(), lanes, site: site | AGENT }
    }

    pub(crate) fn exists(&self) -> bool {
        self.time != 0
    }

    pub(crate) fn site(&self) -> SiteId {
        self.site & !(AGENT | RANGE)
    }

    /// The number of the agent, if it is one.
    pub(crate) fn agent(&self) -> Option<u16> {
        (self.site & AGENT != 0).then_some(self.warps as u16)
    }

    /// The range of CTAs, if it is one.
    pub(crate) fn range(&self) -> Option<(u32, u32)> {
        (self.site & RANGE != 0).then_some((self.cta, self.warps))
    }

    /// Whether it is of threads of one CTA.
    pub(crate) fn is_of_threads(&self) -> bool {
        self.site & (AGENT | RANGE) == 0
    }

    /// Takes another entry in, if it is of the same CTA and time.
    pub(crate) fn merge(&mut self, other: &Self) -> bool {
        let same =
            self.time == other.time && self.cta == other.cta && self.is_of_threads() && other.is_of_threads();
        if same {
            self.warps |= other.warps;
            self.lanes |= other.lanes;
        }
        same
    }

    /// One that stands for both, and perhaps for more.
    pub(crate) fn widened(&self, other: &Self) -> Self {
        let last = |entry: &Self| entry.range().map_or(entry.cta, |(_, last)| last);
        Self {
            time: self.time.max(other.time),
            cta: self.cta.min(other.cta),
            warps: last(self).max(last(other)),
            lanes: !0,
            site: other.site() | RANGE,
        }
    }
}

/// The shadow of four bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) write: Entry,
    pub(crate) read: Entry,
    /// The number of its [`Extra`]; 0 for none.
    pub(crate) extra: u32,
    /// Bytes that nobody has written.
    pub(crate) unwritten: u8,
}

/// The last strong write to a location, and what was released by it.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) writer: Home,
    pub(crate) scope: Scope,
    pub(crate) bytes: u32,
    pub(crate) thread: Thread,
    pub(crate) time: Time,
    pub(crate) released: Arc<Released>,
}

/// What few cells have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    /// Weak reads besides that in the cell.
    pub(crate) reads: Vec<Entry>,
    pub(crate) strong_writes: Vec<Entry>,
    pub(crate) strong_reads: Vec<Entry>,
    /// Strong accesses before these, and whether they wrote: for later ones that are weak, or have a narrow scope.
    pub(crate) behind: Vec<(Entry, bool)>,
    pub(crate) observed: Vec<Observed>,
    /// When a thread wrote strongly for the last time that had done so at that time before.
    pub(crate) repeated: Time,
    pub(crate) location: Option<Box<Location>>,
    /// The cells of the single bytes; that of all four is then out of use.
    pub(crate) bytes: Option<Box<[Cell; 4]>>,
}

/// All extras. Number 0 stands for none.
#[derive(Debug)]
pub(crate) struct Extras {
    all: Vec<Extra>,
    free: Vec<u32>,
}

impl Default for Extras {
    fn default() -> Self {
        Self { all: vec![Extra::default()], free: Vec::new() }
    }
}

impl Extras {
    /// That of a cell, made if it has none.
    pub(crate) fn of(&mut self, cell: &mut Cell) -> &mut Extra {
        if cell.extra == 0 {
            cell.extra = self.free.pop().unwrap_or_else(|| {
                self.all.push(Extra::default());
                self.all.len() as u32 - 1
            });
        }
        &mut self.all[cell.extra as usize]
    }

    /// Gives that of a cell, and those of its bytes, back.
    pub(crate) fn release(&mut self, cell: &mut Cell) {
        if cell.extra != 0 {
            let extra = std::mem::take(&mut self.all[cell.extra as usize]);
            self.free.push(std::mem::take(&mut cell.extra));
            for mut byte in extra.bytes.into_iter().flat_map(|bytes| *bytes) {
                self.release(&mut byte);
            }
        }
    }

    /// The cells of the single bytes of a cell, which are made if need be.
    pub(crate) fn bytes_of(&mut self, cell: &mut Cell) -> &mut [Cell; 4] {
        let whole = *cell;
        let extra = self.of(cell);
        if extra.bytes.is_none() {
            let kept = Extra { bytes: None, ..std::mem::take(extra) };
            let mut bytes = [Cell { extra: 0, ..whole }; 4];
            let plain =
                kept.reads.is_empty() && kept.strong_writes.is_empty() && kept.strong_reads.is_empty();
            for (place, byte) in bytes.iter_mut().enumerate() {
                byte.unwritten = whole.unwritten >> place & 1;
                if !plain || kept.location.is_some() {
                    *self.of(byte) = kept.clone();
                }
            }
            self.all[cell.extra as usize].bytes = Some(Box::new(bytes));
        }
        let bytes = &mut self.all[cell.extra as usize].bytes;
        bytes.get_or_insert_with(Box::default)
    }

    /// The location that a byte of a cell is the first of.
    pub(crate) fn location(&mut self, cell: &mut Cell, byte: u64) -> Option<Box<Location>> {
        if self.is_split(cell) {
            let part = self.bytes_of(cell)[byte as usize];
            return self.all[part.extra as usize].location.clone();
        }
        self.all[cell.extra as usize].location.clone()
    }

    pub(crate) fn set_location(&mut self, cell: &mut Cell, byte: u64, location: Location) {
        if self.is_split(cell) {
            let mut part = self.bytes_of(cell)[byte as usize];
            self.of(&mut part).location = Some(Box::new(location));
            self.bytes_of(cell)[byte as usize] = part;
        } else {
            self.of(cell).location = Some(Box::new(location));
        }
    }

    pub(crate) fn is_split(&self, cell: &Cell) -> bool {
        cell.extra != 0 && self.all[cell.extra as usize].bytes.is_some()
    }
}

/// The shadow of global memory.
#[derive(Debug, Default)]
pub(crate) struct Global {
    pages: FxHashMap<u64, Box<[Cell; CELLS]>>,
}

impl Global {
    /// The number of the page that an address is on.
    #[inline(always)]
    pub(crate) fn page_of(address: u64) -> u64 {
        address / PAGE
    }

    /// The place of an address's cell on its page.
    #[inline(always)]
    pub(crate) fn index(address: u64) -> usize {
        (address % PAGE / GRANULE) as usize
    }

    pub(crate) fn end_of_page(address: u64) -> u64 {
        (address & !(PAGE - 1)).saturating_add(PAGE)
    }

    /// The cells of a page.
    pub(crate) fn page(&mut self, number: u64) -> &mut [Cell; CELLS] {
        self.pages.entry(number).or_insert_with(|| {
            vec![Cell::default(); CELLS].try_into().expect("the vector has as many cells as a page")
        })
    }

    fn cells(&mut self, address: u64) -> &mut [Cell] {
        &mut self.page(Self::page_of(address))[Self::index(address)..]
    }

    /// A range counts as written.
    pub(crate) fn mark_written(&mut self, address: u64, bytes: u64) {
        for page in Self::page_of(address)..=Self::page_of(address + bytes.saturating_sub(1)) {
            if let Some(cells) = self.pages.get_mut(&page) {
                cells.iter_mut().for_each(|cell| cell.unwritten = 0);
            }
        }
    }

    /// The bytes of a range are written now; who accessed them stays known.
    pub(crate) fn reset_written(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            let next = Self::end_of_page(at).min(end);
            if let Some(page) = self.pages.get_mut(&Self::page_of(at)) {
                for byte in at..next {
                    page[Self::index(byte)].unwritten &= !(1 << (byte % GRANULE));
                }
            }
            at = next;
        }
    }

    /// Forgets a range, and says whether its bytes count as written.
    pub(crate) fn reset(&mut self, extras: &mut Extras, address: u64, bytes: u64, written: bool) {
        let end = address.saturating_add(bytes);
        let mut at = address & !(GRANULE - 1);
        while at < end {
            let next = (at & !(PAGE - 1)).saturating_add(PAGE).min(end);
            if written && !self.pages.contains_key(&(at / PAGE)) {
                at = next;
                continue;
            }
            let count = (next - at).div_ceil(GRANULE) as usize;
            for (i, cell) in self.cells(at)[..count].iter_mut().enumerate() {
                let start = at + i as u64 * GRANULE;
                let inside = (0..GRANULE).filter(|b| (address..end).contains(&(start + b)));
                let mask = inside.fold(0u8, |mask, b| mask | 1 << b);
                if mask == 0xf {
                    extras.release(cell);
                    *cell = Cell { unwritten: if written { 0 } else { 0xf }, ..Cell::default() };
                } else if written {
                    cell.unwritten &= !mask;
                } else {
                    cell.unwritten |= mask;
                }
            }
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_cta_and_time_are_one() {
        let mut a = Entry::of_lanes(5, 1, 0, 0b1, 9);
        assert!(a.merge(&Entry::of_lanes(5, 1, 3, 0b10, 8)));
        assert_eq!((a.warps, a.lanes, a.site()), (0b1001, 0b11, 9));
        assert!(!a.merge(&Entry::of_lanes(6, 1, 3, 1, 8)) && !a.merge(&Entry::of_agent(5, 1, 32, 1, 8)));
        let wide = a.widened(&Entry::of_lanes(4, 7, 0, 1, 8)).widened(&Entry::of_lanes(9, 3, 0, 1, 8));
        assert_eq!((wide.range(), wide.time), (Some((1, 7)), 9));
    }

    #[test]
    fn a_split_cell_keeps_what_it_knew() {
        let (mut global, mut extras) = (Global::default(), Extras::default());
        global.reset(&mut extras, 0x1002, 10, false);
        assert_eq!(global.cells(0x1000)[0].unwritten, 0b1100);
        let cell = &mut global.cells(0x1004)[0];
        cell.write = Entry::of_lanes(2, 0, 0, 1, 4);
        extras.of(cell).strong_reads.push(cell.write);
        let mut copy = *cell;
        let bytes = *extras.bytes_of(&mut copy);
        assert!(bytes.iter().all(|b| b.write == cell.write && b.unwritten == 1 && b.extra != 0));
        assert!(extras.is_split(&copy));
        extras.release(&mut copy);
        assert_eq!(extras.free.len(), 5);
        global.reset(&mut extras, 0x1002, 10, true);
        assert_eq!(global.cells(0x1008)[0].unwritten, 0);
    }
}
