//! What a program says about managed memory: advice, and where it was prefetched to.
//!
//! Program and devices use the same bytes here, so nothing is ever moved. What was said is kept, page by page, because
//! programs can ask for it (`cuMemRangeGetAttribute`).

use crate::lock;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Bytes that advice is given for together.
const PAGE: u64 = 4096;

/// Where memory can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// With the processor.
    Host,
    /// With the processor, on this NUMA node.
    Node(i32),
    /// With the device of this ordinal.
    Device(usize),
}

/// Advice about memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// It is mostly read, or is not.
    ReadMostly(bool),
    /// Where it is best; `None` for nowhere in particular.
    Preferred(Option<Location>),
    /// Who uses it, or does no longer.
    AccessedBy(Location, bool),
}

/// What has been said of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// It is mostly read.
    pub read_mostly: bool,
    /// Where it is best.
    pub preferred: Option<Location>,
    /// Who uses it.
    pub accessed_by: BTreeSet<Location>,
    /// Where it was prefetched to last.
    pub prefetched: Option<Location>,
}

/// The pages of an allocation: from each key to the next the wishes are the same.
#[derive(Debug)]
pub(crate) struct Pages(Mutex<BTreeMap<u64, Wishes>>);

impl Pages {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(BTreeMap::from([(0, Wishes::default())]))))
    }

    /// All are best at a place.
    pub(crate) fn prefer(&self, best: Location) {
        lock(&self.0).values_mut().for_each(|wishes| wishes.preferred = Some(best));
    }

    /// Changes the wishes of the pages that a range of offsets touches.
    pub(crate) fn change(&self, start: u64, end: u64, change: impl Fn(&mut Wishes)) {
        let mut runs = lock(&self.0);
        let (start, end) = (start / PAGE * PAGE, end.div_ceil(PAGE) * PAGE);
        for cut in [start, end] {
            let before = runs.range(..=cut).next_back().map(|(_, wishes)| wishes.clone());
            runs.entry(cut).or_insert(before.unwrap_or_default());
        }
        runs.range_mut(start..end).for_each(|(_, wishes)| change(wishes));
        // Runs that became alike are one, so that their number follows from what is different.
        let mut last: Option<Wishes> = None;
        runs.retain(|_, wishes| {
            let differs = last.as_ref() != Some(&*wishes);
            last = Some(wishes.clone());
            differs
        });
    }

    /// The wishes of all runs that a range of offsets touches.
    pub(crate) fn of(&self, start: u64, end: u64) -> Vec<Wishes> {
        let runs = lock(&self.0);
        let first = runs.range(..=start).next_back().map_or(0, |(&key, _)| key);
        runs.range(first..end.max(first + 1)).map(|(_, wishes)| wishes.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_kept_by_the_page() {
        let pages = Pages::new();
        let mostly = |start, end| pages.of(start, end).iter().map(|w| w.read_mostly).collect::<Vec<_>>();
        pages.change(PAGE + 1, PAGE + 2, |wishes| wishes.read_mostly = true);
        assert_eq!(mostly(0, 3 * PAGE), [false, true, false]);
        assert_eq!(mostly(PAGE, 2 * PAGE), [true]);
        assert_eq!(mostly(0, PAGE), [false]);
        pages.change(0, 4 * PAGE, |wishes| wishes.read_mostly = true);
        assert_eq!(mostly(0, 4 * PAGE), [true]);
        pages.change(0, 9 * PAGE, |wishes| wishes.read_mostly = false);
        assert_eq!(mostly(0, 9 * PAGE), [false]);
        assert_eq!(lock(&pages.0).len(), 1);
    }
}
