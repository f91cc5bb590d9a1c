//! Weak reads of a cell or row besides the latest: of threads that do not know of one another.

use crate::shadow::Entry;

/// Reads that are remembered besides the latest: the first, and the last ones. A race with a forgotten one is missed.
const READERS: usize = 4;

/// See the module. Without pointers, since memory that many have read has many of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Readers {
    count: u32,
    all: [Entry; READERS],
}

impl Readers {
    pub(crate) fn as_slice(&self) -> &[Entry] {
        &self.all[..self.count as usize]
    }

    /// Whether the next read takes the place of another one.
    pub(crate) fn are_full(&self) -> bool {
        self.count as usize == READERS
    }

    /// Adds a read to them, without those that are over.
    pub(crate) fn keep(&mut self, read: Entry, over: impl Fn(&Entry) -> bool) {
        let known = self.count as usize;
        let mut kept = 0;
        for at in 0..known {
            if !over(&self.all[at]) {
                self.all[kept] = self.all[at];
                kept += 1;
            }
        }
        self.count = kept as u32;
        if self.all[..kept].iter_mut().any(|entry| entry.merge(&read)) {
            return;
        }
        if self.are_full() {
            self.all.copy_within(2.., 1);
            self.count -= 1;
        }
        self.push(read);
    }

    pub(crate) fn push(&mut self, read: Entry) {
        if let Some(place) = self.all.get_mut(self.count as usize) {
            *place = read;
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_reads_are_kept() {
        let read = |cta| Entry::of_lanes(5, cta, 0, 1, 9);
        let mut readers = Readers::default();
        (0..20).for_each(|cta| readers.keep(read(cta), |_| false));
        let ctas = |readers: &Readers| readers.as_slice().iter().map(|read| read.cta).collect::<Vec<_>>();
        assert_eq!(ctas(&readers), [0, 17, 18, 19]);
        readers.keep(read(21), |read| read.cta < 18);
        assert_eq!(ctas(&readers), [18, 19, 21]);
    }
}
