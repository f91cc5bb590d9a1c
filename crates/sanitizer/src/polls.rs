//! Strong reads that say nothing new: of threads that wait for a location to change, and have read it since it has.
//!
//! What such a read is compared with has not changed since the one before it, and its threads know no less; what it learns they
//! know. All that is new is its time, for writes that come later.

use crate::clock::Time;
use crate::detector::{Detector, Target, Who};
use crate::global::Global;
use crate::race::STRONG;
use crate::row::{ROW, Row, is_aligned};
use crate::shadow::{Cell, Extra, GRANULE};
use crate::site::{Site, SiteId};
use crate::state::Failure;

/// A strong read that was made since its location was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Poll {
    pub(crate) cta: u32,
    pub(crate) warp: u16,
    pub(crate) lanes: u32,
    pub(crate) site: SiteId,
    /// Why it did not synchronise.
    pub(crate) failure: Option<Failure>,
}

/// Polls of a location that are remembered.
const POLLS: usize = 64;

impl Poll {
    fn is_like(&self, other: &Self) -> bool {
        (self.cta, self.warp, self.lanes, self.site) == (other.cta, other.warp, other.lanes, other.site)
    }
}

impl Extra {
    /// Makes a read, if it says nothing new. The poll that it repeats.
    pub(crate) fn poll(&mut self, new: &Poll, now: Time) -> Option<Poll> {
        if self.bytes.is_some() {
            return None;
        }
        let known = *self.polls.iter().find(|poll| poll.is_like(new))?;
        let (warps, full) = (1 << new.warp, self.strong_reads.len() >= STRONG);
        let mut reads = self.strong_reads.iter_mut().rev().filter(|read| {
            read.cta == new.cta
                && read.is_of_threads()
                && read.warps & warps != 0
                && read.lanes & new.lanes != 0
        });
        match reads.next() {
            Some(read) if read.warps == warps && read.lanes == new.lanes && read.site() == new.site => {
                read.time = now;
            }
            Some(read) if read.time == now && read.lanes & new.lanes == new.lanes => {}
            Some(_) => return None,
            // The one that it repeats has been forgotten.
            None if full => {}
            None => return None,
        }
        Some(known)
    }

    /// Remembers a read that has been made.
    pub(crate) fn note_poll(&mut self, new: Poll) {
        let known = self.polls.iter().position(|poll| poll.is_like(&new));
        match known {
            None if self.polls.len() < POLLS => self.polls.push(new),
            _ => self.polls[known.unwrap_or((new.cta as usize + usize::from(new.warp)) % POLLS)] = new,
        }
    }
}

impl Detector {
    /// The cells of a location that have extras.
    fn extras_of(
        &mut self,
        target: Target,
        bytes: u32,
        mut act: impl FnMut(&mut Extra) -> Option<Poll>,
    ) -> Option<Poll> {
        self.close_interval_of(target);
        let Self { blocks, global, extras, .. } = self;
        let (row, at): (&mut Row, u64) = match target {
            Target::Private => return None,
            Target::Global(address) if global.is_listed(Global::page_of(address)) => return None,
            Target::Global(address) => (global.row(address), address),
            Target::Shared(cta, place) => {
                let rows = &mut blocks.get_mut(cta)?.shared;
                (rows.get_mut((place / ROW) as usize)?, place)
            }
        };
        if !row.is_in_cells() || bytes > 2 * GRANULE as u32 || !is_aligned(at, bytes.into()) {
            return None;
        }
        let (split, first) = (row.split, Row::cell_of(at));
        let mut result = None;
        for place in first..first + bytes.div_ceil(GRANULE as u32) as usize {
            let (_, extra): (&mut Cell, _) = extras.cell_with_extra(split, place);
            result = Some(act(extra?)?);
        }
        result
    }

    /// Makes a strong read of lanes, if it says nothing new.
    pub(crate) fn polls(&mut self, who: Who, lanes: u32, site: &Site, target: Target) -> bool {
        if self.records_steps() {
            return false;
        }
        let (time, new) = (self.time, Poll::new(who, lanes, None));
        let known = self.extras_of(target, site.element, |extra| extra.poll(&new, time));
        if let Some(failure) = known.and_then(|known| known.failure) {
            self.warp_beside(who).fails(who.site, failure);
        }
        known.is_some()
    }

    /// Remembers a strong read of lanes.
    pub(crate) fn note_poll(&mut self, who: Who, lanes: u32, site: &Site, target: Target) {
        let warp = self.warp_beside(who);
        let mut failures = [false, true].into_iter().filter_map(|inside| warp.failure(inside));
        let failure = failures.find(|(site, _)| *site == who.site).map(|(_, failure)| failure);
        let new = Poll::new(who, lanes, failure);
        self.extras_of(target, site.element, |extra| {
            extra.note_poll(new);
            Some(new)
        });
    }
}

impl Poll {
    pub(crate) fn new(who: Who, lanes: u32, failure: Option<Failure>) -> Self {
        Self { cta: who.home.cta, warp: who.warp, lanes, site: who.site, failure }
    }
}
