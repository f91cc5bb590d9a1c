//! Which strong writes were observed, and by whom.
//!
//! PTX ISA, "Causality Order": a write precedes in causality what a morally strong read that observes it precedes, as far as
//! that accesses the same location. No release is needed for this: it orders the accesses of a flag itself, not what came
//! before the write. An atomic that observes a write and is observed passes it on.

use crate::accessor::Accessor;
use crate::clock::Time;
use crate::shadow::{Cell, Entry, Extra, Extras};
use crate::site::{Action, Sites};
use machine::fault::Access;

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

/// Observations of a cell that are remembered. Writes that are older than a forgotten one count as observed.
const MOST: usize = 16;

impl Extras {
    /// The bytes of a cell from one on were observed by a read of so many bytes; whether what is written next
    /// must be later.
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
        let lost = if self.observed.len() == MOST { self.observed.pop_front() } else { None };
        self.observed.push_back(new);
        if let Some(lost) = lost {
            self.forgotten = self.forgotten.max(lost.time);
        }
        !new.atomic || self.forgotten == new.time
    }

    /// Whether an access comes after observers of a strong write, and after all the writes before that: who has observed
    /// the last has not observed these.
    pub(crate) fn is_past(&self, entry: &Entry, by: &Accessor<'_>, sites: &Sites) -> bool {
        let writes = self.behind.iter().filter(|(_, wrote)| *wrote);
        let mut before = writes.map(|(entry, _)| entry);
        self.has_observers(entry, by, sites)
            && before.all(|entry| {
                !by.surely_races_with(entry, by.clock, true) || self.has_observers(entry, by, sites)
            })
    }

    /// Whether an access comes, as far as that is known, after observers of all the strong writes that an entry stands for.
    pub(crate) fn has_observers(&self, entry: &Entry, by: &Accessor<'_>, sites: &Sites) -> bool {
        if !entry.is_of_threads() {
            return false;
        }
        // Of several writes of one thread at one time it is not known which was observed.
        if entry.time <= self.forgotten || entry.time <= self.repeated && self.may_observe(entry, by, sites) {
            return true;
        }
        let told = entry.time > self.repeated;
        !entry.surely_has(|thread| {
            let observed = told && self.was_observed((thread, entry.time), by, MOST);
            !observed && !by.knows(thread, entry.time)
        })
    }

    /// Whether an access comes after a strong read that may have observed what an entry stands for.
    fn may_observe(&self, entry: &Entry, by: &Accessor<'_>, sites: &Sites) -> bool {
        let strong = self.strong_reads.iter().chain(&self.strong_writes);
        let mut later = strong.chain(self.behind.iter().map(|(read, _)| read)).filter(|read| {
            let site = sites.get(read.site());
            let reads = !matches!(site.action, Action::Access(Access::Store));
            reads && site.seen && read.time >= entry.time
        });
        later.any(|read| read.may_have(|thread| by.knows(thread, read.time)))
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
