//! Shared memory as the async proxy sees it (PTX ISA, "Async proxy").
//!
//! What threads write by ordinary stores, bulk copies and `wgmma` need not see before a `fence.proxy.async`. Here they see
//! it from the first such fence of any thread of the cluster on: that shows a program right whose fence stands where it
//! must, and one wrong that has none. What copies write is seen by all. An operation misses what it could not see when it was issued;
//! what is written later it may see, whether there was a fence or not.

use std::sync::Arc;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Proxy {
    /// What it has been shown of the memory of each CTA, by rank; none if it sees what memory holds.
    shown: Vec<Vec<u8>>,
    /// What the operation that is performed sees in the place of what memory holds.
    seen: Stale,
}

/// Bytes that memory no longer holds, and that an operation sees all the same.
pub(crate) type Stale = Arc<[Run]>;

/// Some of them, side by side.
#[derive(Debug)]
pub(crate) struct Run {
    rank: usize,
    start: usize,
    bytes: Vec<u8>,
}

impl Run {
    /// Bytes that it takes.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

impl Proxy {
    /// That of so many CTAs, whose memory is zeros.
    pub(super) fn new(ctas: usize, bytes: usize) -> Self {
        Self { shown: vec![vec![0; bytes]; ctas], seen: Stale::default() }
    }

    /// Whether there may be something in memory that it has not been shown.
    pub(crate) fn is_apart(&self) -> bool {
        !self.shown.is_empty()
    }

    /// What it has not been shown of the memory of a CTA.
    pub(crate) fn unseen(&self, rank: usize, memory: &[u8]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let Some(shown) = self.shown.get(rank).filter(|shown| shown.as_slice() != memory) else {
            return runs;
        };
        for (at, (&shown, _)) in shown.iter().zip(memory).enumerate().filter(|(_, (a, b))| a != b) {
            match runs.last_mut() {
                Some(run) if run.start + run.bytes.len() == at => run.bytes.push(shown),
                _ => runs.push(Run { rank, start: at, bytes: vec![shown] }),
            }
        }
        runs
    }

    /// An operation begins that sees these in the place of what memory holds.
    pub(crate) fn begin(&mut self, stale: Stale) {
        self.seen = stale;
    }

    /// What the operation sees at a place, of which memory holds `into`.
    #[inline]
    pub(crate) fn read(&self, (rank, start): (usize, usize), into: &mut [u8]) {
        for run in self.seen.iter().filter(|run| run.rank == rank) {
            let first = run.start.max(start);
            let end = (run.start + run.bytes.len()).min(start + into.len());
            if first < end {
                into[first - start..end - start]
                    .copy_from_slice(&run.bytes[first - run.start..end - run.start]);
            }
        }
    }

    /// Bytes have been written that it sees.
    pub(crate) fn write(&mut self, (rank, start): (usize, usize), bytes: &[u8]) {
        let shown = self.shown.get_mut(rank);
        if let Some(shown) = shown.and_then(|shown| shown.get_mut(start..start + bytes.len())) {
            shown.copy_from_slice(bytes);
        }
    }

    /// It is shown all that a CTA's memory holds.
    pub(crate) fn see(&mut self, rank: usize, memory: &[u8]) {
        if let Some(shown) = self.shown.get_mut(rank)
            && shown.len() == memory.len()
        {
            shown.copy_from_slice(memory);
        }
    }
}
