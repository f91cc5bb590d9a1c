//! Which strong writes were observed, and by whom.
//!
//! PTX ISA, "Causality Order": a write precedes in causality what a morally strong read that observes it precedes, as far as
//! that accesses the same location. No release is needed for this: it orders the accesses of a flag itself, not what came
//! before the write. An atomic that observes a write and is observed passes it on.

use crate::accessor::Accessor;
use crate::clock::Time;
use crate::shadow::{Cell, Entry, Extra, Extras};

/// A thread: its CTA, warp and lane.
pub(crate) type Thread = (u32, u16, u32);

/// An observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Who wrote, and when.
    pub(crate) write: (Thread, Time),
    /// Who read, and when: CTA, warp and lanes. Of the lanes of an atomic the first one has observed the write, and each
    /// of the others the one before.
    pub(crate) reader: (u32, u16, u32),
    pub(crate) time: Time,
    /// Whether it was the read of an atomic that wrote.
    pub(crate) atomic: bool,
}

/// Observations of a cell that are remembered: without the older ones there is more to report, never less.
const MOST: usize = 16;

impl Extras {
    /// The bytes of a cell from one on were observed by a read of so many bytes; whether that was not known.
    pub(crate) fn observe(&mut self, cell: &mut Cell, (byte, bytes): (u64, u64), observed: Observed) -> bool {
        if self.is_split(cell) {
            let mut parts = *self.bytes_of(cell);
            let end = (byte + bytes).min(parts.len() as u64) as usize;
            let mut new = false;
            for part in &mut parts[byte as usize..end] {
                new |= self.of(part).observe(observed);
            }
            *self.bytes_of(cell) = parts;
            new
        } else {
            self.of(cell).observe(observed)
        }
    }
}

impl Extra {
    pub(crate) fn observe(&mut self, new: Observed) -> bool {
        // Of what was written until then it is not known which was observed.
        if new.atomic && new.time <= self.repeated {
            return false;
        }
        // Who spins observes the same again and again.
        let same =
            |old: &Observed| (old.write, old.reader, old.atomic) == (new.write, new.reader, new.atomic);
        if self.observed.iter().any(same) {
            return false;
        }
        if self.observed.len() == MOST {
            self.observed.pop_front();
        }
        self.observed.push_back(new);
        true
    }

    /// Whether an access comes after observers of a strong write, and after all the writes before that: who has observed
    /// the last has not observed these.
    pub(crate) fn is_past(&self, entry: &Entry, by: &Accessor<'_>) -> bool {
        let writes = self.behind.iter().filter(|(_, wrote)| *wrote);
        let mut before = writes.map(|(entry, _)| entry);
        self.has_observers(entry, by)
            && before.all(|entry| by.is_after(entry, by.clock, true) || self.has_observers(entry, by))
    }

    /// Whether an access comes after observers of all the strong writes that an entry stands for.
    pub(crate) fn has_observers(&self, entry: &Entry, by: &Accessor<'_>) -> bool {
        if self.observed.is_empty() || entry.range().is_some() || !entry.is_of_threads() {
            return false;
        }
        let warps = (0..32u16).filter(|warp| entry.warps >> warp & 1 != 0);
        let lanes =
            |warp| (0..32u32).filter(|lane| entry.lanes >> lane & 1 != 0).map(move |lane| (warp, lane));
        let mut threads = warps.flat_map(lanes);
        // Of several writes of one thread at one time it is not known which was observed.
        let told = entry.time > self.repeated;
        threads.all(|(warp, lane)| {
            let thread = (entry.cta, warp, lane);
            by.knows(thread, entry.time) || told && self.was_observed((thread, entry.time), by, MOST)
        })
    }

    /// Whether an access comes after an observer of a write, through so many atomics at most.
    fn was_observed(&self, (thread, written): (Thread, Time), by: &Accessor<'_>, depth: usize) -> bool {
        let (cta, warp, lane) = thread;
        self.observed.iter().any(|observed| {
            let ((of_cta, of_warp, lanes), time) = (observed.reader, observed.time);
            let follows = observed.atomic && (of_cta, of_warp, time) == (cta, warp, written);
            let lanes = match observed.write == (thread, written) {
                true => lanes,
                // Of the lanes of an atomic those after this one.
                false if follows && lanes >> lane & 1 != 0 => lanes & (!1 << lane),
                false => 0,
            };
            let known = |lane: u32| lanes >> lane & 1 != 0 && by.knows((of_cta, of_warp, lane), time);
            let last = || (of_cta, of_warp, lanes.ilog2());
            lanes != 0
                && (by.is_among(of_cta, of_warp, lanes)
                    || (0..32).any(known)
                    || observed.atomic && depth > 0 && self.was_observed((last(), time), by, depth - 1))
        })
    }
}
