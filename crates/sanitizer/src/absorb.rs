//! What a part of a launch has remembered of global memory becomes what everybody remembers: the CTAs of other parts have accessed
//! other words, or have read, too, and whoever was before the launch is known to it.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::clock::{Clock, Time};
use crate::detector::Detector;
use crate::global::{Global, PAGE};
use crate::release::Home;
use crate::row::{ROW, Row};
use crate::runs::Run;
use crate::shadow::{Cell, Entry, Extras, GRANULE, WHOLE};
use machine::fault::Access;
use std::sync::Arc;

impl Detector {
    /// Takes over what a part of a launch remembers.
    pub(crate) fn absorb(&mut self, launch: usize, mut part: Self) {
        part.global.before = None;
        self.time = self.time.max(part.time);
        self.launches[launch].talks |= part.launches.iter().any(|launch| launch.talks);
        let base = Arc::clone(&self.launches[launch].knowledge.generic);
        let mut replay = Replay { base, own: (u32::MAX, Arc::default()), time: self.time };
        if !self.global.can_keep(&part.global.listed) {
            part.unlist_everything();
        }
        let numbers: Vec<u64> = part.global.numbers().collect();
        for number in numbers {
            let Some(rows) = part.global.rows_of(number).copied() else { continue };
            let begin = number * PAGE;
            self.unlist(begin, PAGE);
            for (address, row) in (begin..).step_by(ROW as usize).zip(rows) {
                if !row.is_untouched() && !self.take_row(address, &row) {
                    replay.row(self, &mut part.extras, address, row);
                }
            }
        }
        let listed = std::mem::take(&mut part.global.listed);
        if !listed.pages().is_empty() {
            self.global.keep(listed);
        }
    }

    /// Reads are listed no longer.
    pub(crate) fn unlist_everything(&mut self) {
        let pages = self.global.listed.pages();
        let ends = pages.iter().min().zip(pages.iter().max());
        if let Some((&first, &last)) = ends {
            self.unlist(first * PAGE, (last - first + 1) * PAGE);
        }
    }

    /// Makes a row what another one says, if it is simple.
    #[inline(always)]
    fn take_row(&mut self, address: u64, row: &Row) -> bool {
        let own = self.global.row(address);
        if row.split != 0 || row.extra != 0 {
            return false;
        }
        if row.write.entry.exists() {
            self.extras.release_row(own);
            *own = *row;
            return true;
        }
        // Nobody reads after those that are known to the launch without knowing them, too.
        let simple = own.split == 0 && own.extra == 0;
        if simple {
            own.read = row.read;
        }
        simple
    }
}

/// Accesses that were judged before, and are made once more.
struct Replay {
    /// What the threads of the launch knew when they began.
    base: Arc<Clock>,
    /// The same and all that a CTA has done.
    own: (u32, Arc<Clock>),
    time: Time,
}

impl Replay {
    fn row(&mut self, detector: &mut Detector, extras: &mut Extras, address: u64, mut row: Row) {
        let cells = *{
            let split = extras.split(&mut row);
            extras.cells(split)
        };
        for (address, cell) in (address..).step_by(GRANULE as usize).zip(cells) {
            match extras.split_bytes(&cell).copied() {
                Some(bytes) => {
                    for (address, byte) in (address..).zip(&bytes) {
                        self.cell(detector, extras, (address, 1), byte);
                    }
                }
                None => self.cell(detector, extras, (address, GRANULE), &cell),
            }
        }
    }

    fn cell(&mut self, detector: &mut Detector, extras: &Extras, (address, bytes): (u64, u64), cell: &Cell) {
        let [of_write, of_read] = cell.shifts;
        let reads = extras.reads(cell.extra).as_slice().iter().map(|read| (*read, of_read, Access::Load));
        let all = [(cell.write, of_write, Access::Store), (cell.read, of_read, Access::Load)];
        for (entry, shift, access) in all.into_iter().chain(reads).filter(|(entry, ..)| entry.exists()) {
            let run = match shift < WHOLE {
                true => Run { address, lanes: entry.lanes, count: bytes >> shift, bytes: 1 << shift },
                false => Run::of_range(address, bytes, entry.lanes),
            };
            self.access(detector, &run, entry, access);
        }
    }

    fn access(&mut self, detector: &mut Detector, run: &Run, entry: Entry, access: Access) {
        if self.own.0 != entry.cta {
            let mut clock = Clock::clone(&self.base);
            clock.learn_cta(entry.cta, self.time);
            self.own = (entry.cta, Arc::new(clock));
        }
        let home = Home { cta: entry.cta, cluster: entry.cta };
        let warp = entry.warps.trailing_zeros() as u16;
        let Detector { global, extras, sites, launches, .. } = detector;
        let site = *sites.get(entry.site());
        let by = Accessor::new(home, (warp, entry.lanes), &self.own.1, entry, (&site, access));
        let rows = &mut global.page(Global::page_of(run.address))[Global::index(run.address)..];
        Checker::new(extras, sites, launches).run(rows, run, &by);
    }
}
