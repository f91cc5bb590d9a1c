//! What clocks and sleeps go by, and what a pack has seen of its clock.

/// What clocks and sleeps go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// Instructions; a run is repeated exactly.
    #[default]
    Counted,
    /// The host's time.
    Host,
}

/// Reads of the clock at one place, this close to one another in warp instructions, after which a loop is taken to do
/// nothing else.
const READS: u32 = 16;
const CLOSE: u64 = 512;

/// What a pack has seen of its clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// Cycles that passed besides its instructions, if instructions are counted.
    pub(crate) passed: u64,
    /// Where and when it was read last, and how often it was so before.
    read: (u32, u64),
    again: u32,
}

impl Clock {
    /// Notes a read. Returns whether a loop does nothing else.
    pub(crate) fn spins(&mut self, pc: u32, issued: u64) -> bool {
        let (place, before) = std::mem::replace(&mut self.read, (pc, issued));
        self.again = if place == pc && issued - before < CLOSE { self.again + 1 } else { 0 };
        self.again >= READS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_loop_around_the_clock_spins() {
        let mut clock = Clock::default();
        assert!(!(0..100).any(|i| clock.spins(7, i * 1000)), "there is work between the reads");
        assert!(
            !(0..100).any(|i| clock.spins(i % 2, 100_000 + u64::from(i))),
            "two places are no loop around one"
        );
        assert_eq!((1..100).find(|&i| clock.spins(7, 200_000 + i * 5)), Some(u64::from(READS) + 1));
    }
}
