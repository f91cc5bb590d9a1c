//! Counters side by side: a row of cells on which the warps of a CTA do nothing but relaxed operations of one kind, again
//! and again between two barriers, as histograms do.
//!
//! What is remembered of its [steady](crate::strong::Steady) cells does not change any more, but for who has written and who
//! was the last. That is noted here, lane by lane, until something else is done to the row or some time passes; then it is
//! put where it belongs.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::clock::Time;
use crate::release::Home;
use crate::row::{CELLS, ROW, Row, is_aligned};
use crate::shadow::{Entry, Extras, GRANULE, Kind};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    kind: Kind,
    time: Time,
    home: Home,
    /// Until when a thread must know those of the CTA, and everyone.
    threads: Time,
    everyone: Time,
    /// Of each cell the warps and lanes that have written to it; no lanes if it is no counter.
    warps: [u32; CELLS],
    lanes: [u32; CELLS],
    /// Who wrote last: `warp << 5 | lane`.
    last: [u16; CELLS],
}

impl Counters {
    /// Whether accesses are of the kind and of the time.
    fn fit(&self, kind: Kind, by: &Accessor<'_>) -> bool {
        let same = self.time == by.entry.time && self.home == by.home && self.kind == kind;
        same && self.threads <= by.threads && self.everyone <= by.everyone
    }
}

impl Extras {
    /// Puts who wrote last to the counters of a row where it belongs. It has cells and no counters then.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle(&mut self, row: &mut Row) {
        row.stop_counting();
        (0..CELLS).for_each(|at| self.settle_counter(row.split, at));
    }

    /// The same for a cell.
    fn settle_counter(&mut self, number: u32, at: usize) {
        let counters = &mut self.counters[number as usize];
        let (home, last, time) = (counters.home, counters.last[at], counters.time);
        let (warps, lanes) = (counters.warps[at], std::mem::take(&mut counters.lanes[at]));
        let (_, extra) = self.cell_with_extra(number, at);
        let Some(extra) = extra.filter(|_| lanes != 0) else { return };
        extra.polls.clear();
        if let Some(location) = &mut extra.location {
            (location.writer, location.thread) = (home, (home.cta, last >> 5, u32::from(last) % 32));
        }
        let known = Entry { time, cta: home.cta, warps, lanes, site: 0 };
        let of_time =
            extra.strong_writes.iter_mut().rev().find_map(|entry| entry.merge(&known).then_some(*entry));
        if let Some((steady, entry)) = extra.steady.as_mut().zip(of_time) {
            steady.entry = entry;
        }
    }

    /// Makes a counter of a cell, if it is steady.
    fn make_counter(&mut self, number: u32, at: usize) {
        let counters = self.counters[number as usize];
        let (_, extra) = self.cell_with_extra(number, at);
        let extra = extra.filter(|extra| extra.kind == Some(counters.kind));
        let Some((steady, location)) = extra.and_then(|extra| extra.steady.zip(extra.location.as_ref()))
        else {
            return;
        };
        let (cta, warp, lane) = location.thread;
        if cta == counters.home.cta && (steady.entry.cta, steady.entry.time) == (cta, counters.time) {
            let counters = &mut self.counters[number as usize];
            (counters.warps[at], counters.lanes[at]) = (steady.entry.warps, steady.entry.lanes);
            counters.last[at] = warp << 5 | lane as u16;
            counters.threads = counters.threads.max(steady.threads);
            counters.everyone = counters.everyone.max(steady.everyone);
        }
    }
}

impl Checker<'_> {
    /// Makes counters of the steady cells of a row that has cells.
    #[inline(never)]
    pub(crate) fn begin_counting(&mut self, row: &mut Row, kind: Kind, by: &Accessor<'_>) {
        let (time, home, none) = (by.entry.time, by.home, [0; CELLS]);
        let (warps, lanes, last) = (none, none, [0; CELLS]);
        let counters = Counters { kind, time, home, threads: 0, everyone: 0, warps, lanes, last };
        self.extras.add_counters(row, counters);
        (0..CELLS).for_each(|at| self.extras.make_counter(row.number(), at));
    }

    /// Does something to a cell of a row that is not in one piece. If it has counters and the access is of their kind, it
    /// keeps them.
    #[inline(always)]
    pub(crate) fn with_counter<T>(
        &mut self,
        row: &mut Row,
        at: usize,
        (kind, by): (Kind, &Accessor<'_>),
        act: impl FnOnce(&mut Self, u32) -> Option<T>,
    ) -> Option<T> {
        let number = row.number();
        if !row.is_counting() || !self.extras.counters[number as usize].fit(kind, by) {
            let number = self.extras.split(row);
            return act(self, number);
        }
        self.extras.settle_counter(number, at);
        let result = act(self, number)?;
        self.extras.make_counter(number, at);
        Some(result)
    }

    /// Writes of four bytes, by lanes to the shared memory of their own CTA, that begins at an address. The lanes that are
    /// left to who looks closer, and whether one has found the write of another warp.
    #[inline(never)]
    pub(crate) fn count(
        &mut self,
        rows: &[Row],
        (elements, begin): (impl Iterator<Item = (u32, u64)>, u64),
        kind: Kind,
        by: &Accessor<'_>,
    ) -> (u32, bool) {
        let (mut left, mut foreign) = (0, false);
        let (mut at, mut counters) = (u64::MAX, None);
        for (lane, address) in elements {
            let place = address.wrapping_sub(begin);
            if place / ROW != at {
                at = place / ROW;
                let row = rows.get(at as usize).filter(|row| row.is_counting());
                let of_row = row.map(|row| &mut self.extras.counters[row.number() as usize]);
                counters = of_row.filter(|counters| counters.fit(kind, by));
            }
            let cell = Row::cell_of(place);
            match &mut counters {
                Some(counters) if counters.lanes[cell] != 0 && is_aligned(place, GRANULE) => {
                    counters.warps[cell] |= by.entry.warps;
                    counters.lanes[cell] |= lane;
                    let last = &mut counters.last[cell];
                    foreign |= *last >> 5 != by.warp;
                    *last = by.warp << 5 | lane.trailing_zeros() as u16;
                }
                _ => left |= lane,
            }
        }
        (left, foreign)
    }
}
