//! What threads have stored, on its way out of an SM.

use std::collections::VecDeque;

/// Lines that stores have brought and that still take in what others store to them, the oldest first. While stores bring lines none leaves, but
/// for want of room.
pub(crate) struct Leaving {
    lines: VecDeque<Line>,
    /// So many; for one more the oldest has to leave.
    most: usize,
    /// Lines that have been brought so far, each in a cycle of its own.
    brought: u64,
}

struct Line {
    line: u64,
    sectors: u8,
    /// The last cycle in which it takes more in, without those in which lines have been brought.
    until: u64,
    /// When the last of its sectors is on its way.
    sent: u64,
}

/// What becomes of the sectors that a store brings.
pub(crate) struct Brought {
    /// Those which go along with what has been stored to them before.
    pub(crate) along: u8,
    /// When there is room for them.
    pub(crate) begin: u64,
}

impl Leaving {
    pub(crate) fn new(most: u64) -> Self {
        Self { lines: VecDeque::new(), most: most.max(1) as usize, brought: 0 }
    }

    /// A store brings sectors of a line at a cycle, which wait for others for some more.
    pub(crate) fn bring(&mut self, line: u64, sectors: u8, now: u64, wait: u64) -> Brought {
        let idle = now.saturating_sub(self.brought);
        self.brought += 1;
        let mut begin = 0;
        while self.lines.front().is_some_and(|oldest| oldest.until < idle) {
            self.lines.pop_front();
        }
        if let Some(there) = self.lines.iter_mut().find(|there| there.line == line && there.until >= idle) {
            let along = there.sectors & sectors;
            there.sectors |= sectors;
            there.until = there.until.max(idle + wait);
            return Brought { along, begin };
        }
        if self.lines.len() >= self.most {
            begin = self.lines.pop_front().map_or(0, |oldest| oldest.sent);
        }
        self.lines.push_back(Line { line, sectors, until: idle + wait, sent: 0 });
        Brought { along: 0, begin }
    }

    /// A sector of a line is on its way from a cycle on.
    pub(crate) fn send(&mut self, line: u64, at: u64) {
        if let Some(there) = self.lines.iter_mut().rev().find(|there| there.line == line) {
            there.sent = there.sent.max(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Leaving;

    /// Stores of a half of the sectors of eight lines, a line a cycle; what goes along with what stands there, of all eight.
    fn store(leaving: &mut Leaving, first: u64, now: u64) -> u32 {
        (0..8).map(|at| leaving.bring(first + at, 1, now + at, 20).along.count_ones()).sum()
    }

    /// `others` with eight sectors in as many lines, in measured/h100/stores.csv.
    #[test]
    fn two_stores_between_two_to_the_same_lines_do_not_part_them_and_three_do() {
        for (others, along) in [(0, 8), (1, 8), (2, 8), (3, 0)] {
            let mut leaving = Leaving::new(24);
            for place in 0..=others {
                assert_eq!(store(&mut leaving, 100 * place, 8 * place), 0);
            }
            assert_eq!(store(&mut leaving, 0, 8 * (others + 1)), along, "{others}");
        }
    }

    #[test]
    fn what_nothing_follows_leaves() {
        let mut leaving = Leaving::new(24);
        assert_eq!(store(&mut leaving, 0, 0), 0);
        assert_eq!(store(&mut leaving, 0, 28), 8);
        assert_eq!(store(&mut leaving, 0, 57), 0);
    }

    #[test]
    fn a_full_row_waits_for_the_oldest() {
        let mut leaving = Leaving::new(1);
        assert_eq!(leaving.bring(1, 1, 0, 20).begin, 0);
        leaving.send(1, 15);
        assert_eq!(leaving.bring(2, 1, 1, 20).begin, 15);
    }
}
