//! Something that serves so many in a thousand cycles, one after the other.

/// Parts of a cycle that time is counted in here.
const PARTS: u64 = 1 << 10;

/// When it is free again: all that its past matters for.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    /// Parts of a cycle for each.
    each: u64,
    free: u64,
}

impl Rate {
    /// One that serves so many in a thousand cycles.
    pub(crate) fn new(of_thousand: u64) -> Self {
        Self { each: (1000 * PARTS / of_thousand.max(1)).max(1), free: 0 }
    }

    /// Serves so many that come at a cycle; the cycle by which the last of them is served.
    pub(crate) fn serve(&mut self, now: u64, count: u64) -> u64 {
        let begin = self.free.max(now * PARTS);
        self.free = begin + self.each * count;
        (self.free - 1) / PARTS
    }

    /// Serves something else, which takes as long as so many at another rate, in thousandths of its own.
    pub(crate) fn serve_parts(&mut self, now: u64, thousandths: u64) -> u64 {
        let begin = self.free.max(now * PARTS);
        self.free = begin + self.each * thousandths / 1000;
        (self.free - 1) / PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn half_a_cycle_each() {
        let mut rate = Rate::new(2000);
        assert_eq!([10, 10, 10, 10].map(|now| rate.serve(now, 1)), [10, 10, 11, 11]);
        // Nobody waits for what has passed.
        assert_eq!(rate.serve(100, 4), 101);
        assert_eq!(rate.serve(101, 1), 102);
    }

    #[test]
    fn three_cycles_each() {
        let mut rate = Rate::new(333);
        assert_eq!([0, 0, 0].map(|now| rate.serve(now, 1)), [3, 6, 9]);
    }
}
