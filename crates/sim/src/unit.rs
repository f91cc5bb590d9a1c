//! The unit for memory that an SM's sub-cores share: when it takes an access.

use std::collections::VecDeque;

/// When it is busy. An access that has to wait for its sub-core's way leaves room in front of it, which those of other sub-cores use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unit {
    /// From when on it has nothing to do.
    free: u64,
    /// When it has nothing to do before that: from a cycle until another one, in order.
    gaps: VecDeque<(u64, u64)>,
    /// Of each sub-core the last access: when it begins, and when it has been taken.
    last: Vec<(u64, u64)>,
}

impl Unit {
    /// That of so many sub-cores.
    pub(crate) fn new(sub_cores: usize) -> Self {
        Self { last: vec![(0, 0); sub_cores], ..Self::default() }
    }

    /// Takes an access of a sub-core that comes at a cycle and keeps it busy for so many; when it begins. `now` is the cycle that all others that
    /// are still to come, come after. Sub-cores that wait are served in turns: between two accesses of one there is room for one of each other.
    pub(crate) fn take(&mut self, now: u64, core: usize, comes: u64, cycles: u64) -> u64 {
        let (waits, taken) = self.last[core];
        let comes = if waits > now {
            let others = self.last.iter().filter(|&&(begin, _)| begin > now).count() as u64 - 1;
            comes.max(taken + others * cycles)
        } else {
            comes
        };
        let begin = self.place(now, comes, cycles);
        self.last[core] = (begin, begin + cycles);
        begin
    }

    fn place(&mut self, now: u64, comes: u64, cycles: u64) -> u64 {
        while self.gaps.front().is_some_and(|&(_, end)| end <= now) {
            self.gaps.pop_front();
        }
        let fits = |&(begin, end): &(u64, u64)| begin.max(comes) + cycles <= end;
        let Some(at) = self.gaps.iter().position(fits) else {
            let begin = self.free.max(comes);
            if begin > self.free {
                self.gaps.push_back((self.free, begin));
            }
            self.free = begin + cycles;
            return begin;
        };
        let (first, end) = self.gaps[at];
        let begin = first.max(comes);
        let rest = [(first, begin), (begin + cycles, end)];
        self.gaps.remove(at);
        for gap in rest.into_iter().rev().filter(|(first, end)| first < end) {
            self.gaps.insert(at, gap);
        }
        begin
    }

    /// Takes nothing else before a cycle.
    pub(crate) fn hold(&mut self, until: u64) {
        self.free = self.free.max(until);
    }
}

#[cfg(test)]
mod tests {
    use super::Unit;

    #[test]
    fn what_waits_for_its_way_lets_others_go_first() {
        let mut unit = Unit::new(2);
        assert_eq!(unit.place(0, 0, 4), 0);
        // Its way is busy for eight cycles: another one's access of four fits in front of it, one of three behind that does not.
        assert_eq!(unit.place(0, 8, 4), 8);
        assert_eq!(unit.place(0, 1, 2), 4);
        assert_eq!(unit.place(0, 1, 3), 12);
        assert_eq!(unit.place(0, 1, 2), 6);
        assert_eq!(unit.place(0, 1, 1), 15);
        unit.hold(20);
        assert_eq!(unit.place(0, 1, 1), 20);
    }

    #[test]
    fn what_has_passed_is_forgotten() {
        let mut unit = Unit::new(2);
        for now in (0..1000).step_by(10) {
            assert_eq!(unit.place(now, now, 1), now);
        }
        assert!(unit.gaps.len() <= 1);
    }

    #[test]
    fn sub_cores_that_wait_are_served_in_turns() {
        let mut unit = Unit::new(2);
        // Two of the first one, before the second one has any.
        assert_eq!(unit.take(0, 0, 1, 4), 1);
        assert_eq!(unit.take(0, 0, 1, 4), 5);
        assert_eq!(unit.take(0, 1, 1, 4), 9);
        // From here on each has every second place, though all of the first one's come first.
        assert_eq!([unit.take(0, 0, 1, 4), unit.take(0, 0, 1, 4)], [13, 21]);
        assert_eq!([unit.take(0, 1, 1, 4), unit.take(0, 1, 1, 4)], [17, 25]);
    }
}
