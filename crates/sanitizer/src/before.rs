//! What was written before a shadow began: what another one says of pages, which is asked of several at a time.

use rustc_hash::FxHashMap;
use std::ops::Range;

/// Tells of pages side by side by their numbers which rows of each nobody has written all of, by bit.
type Unwritten = dyn Fn(Range<u64>) -> Vec<u64> + Send + Sync;

/// Pages that are asked for together.
const TOGETHER: u64 = 16;

/// See the module.
pub(crate) struct Before {
    ask: Box<Unwritten>,
    /// What was said of pages, by the number of the first one.
    said: FxHashMap<u64, Vec<u64>>,
}

impl std::fmt::Debug for Before {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Before").finish_non_exhaustive()
    }
}

impl Before {
    pub(crate) fn new(ask: impl Fn(Range<u64>) -> Vec<u64> + Send + Sync + 'static) -> Self {
        Self { ask: Box::new(ask), said: FxHashMap::default() }
    }

    /// Of a page the rows that nobody had written all of, by bit.
    pub(crate) fn unwritten(&mut self, number: u64) -> u64 {
        let first = number - number % TOGETHER;
        let said =
            self.said.entry(first).or_insert_with(|| (self.ask)(first..first.saturating_add(TOGETHER)));
        said.get((number - first) as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn pages_are_asked_for_together() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let mut before = Before::new(move |numbers| {
            count.fetch_add(1, Ordering::Relaxed);
            numbers.map(|number| number * 3).collect()
        });
        assert!([16, 31, 20, 32, 47].into_iter().all(|number| before.unwritten(number) == number * 3));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}
