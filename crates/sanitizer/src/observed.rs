//! Which strong writes were observed, and by whom.
//!
//! PTX ISA, "Causality Order": a write precedes in causality what a morally strong read that observes it precedes, as far as
//! that accesses the same location. No release is needed for this: it orders the accesses of a flag itself, not what came
//! before the write. An atomic that observes a write and is observed passes it on.

use crate::check::Accessor;
use crate::clock::Time;
use crate::shadow::{Cell, Entry, Extra, Extras};

/// A thread: its CTA, warp and lane.
pub(crate) type Thread = (u32, u16, u32);

/// An observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Who wrote, and when.
    pub(crate) write: (Thread, Time),
    /// Who read, and when: CTA, warp and lanes.
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
        // Who spins observes the same again and again.
        let same =
            |old: &Observed| (old.write, old.reader, old.atomic) == (new.write, new.reader, new.atomic);
        if self.observed.iter().any(same) {
            return false;
        }
        if self.observed.len() == MOST {
            self.observed.remove(0);
        }
        self.observed.push(new);
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
    fn was_observed(&self, write: (Thread, Time), by: &Accessor<'_>, depth: usize) -> bool {
        let after = |observed: &Observed| {
            let ((cta, warp, lanes), time) = (observed.reader, observed.time);
            let own = by.is_among(cta, warp, lanes);
            let known = |lane: u32| lanes >> lane & 1 != 0 && by.knows((cta, warp, lane), time);
            let onwards = observed.atomic && depth > 0;
            own || (0..32).any(known)
                || onwards && self.was_observed(((cta, warp, lanes.trailing_zeros()), time), by, depth - 1)
        };
        self.observed.iter().any(|observed| observed.write == write && after(observed))
    }
}
