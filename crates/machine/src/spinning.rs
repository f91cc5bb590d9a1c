//! Threads that spin: they look at memory that others change, by strong loads or atomics, and see the same again.
//!
//! Who spins gives up its turn at once, since what it waits for can only come from somebody else. Nothing depends on it:
//! a program that looks often at what does not change only has shorter turns.

/// Looks that a pack may take at the same before it counts as spinning.
const PATIENCE: u32 = 4;

/// The same in the turns after that.
const LATER: u32 = 2;

/// Places that a spinning loop may look at.
const PLACES: usize = 4;

/// What a pack has seen by its latest looks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpinDetector {
    /// Operations, and what the first active lane saw.
    seen: [(u32, u64); PLACES],
    next: usize,
    in_vain: u32,
    spins: bool,
}

impl SpinDetector {
    /// Notes what the operation at `pc` saw. Returns whether the turn should end.
    pub(crate) fn note(&mut self, pc: u32, value: u64) -> bool {
        if !self.seen.contains(&(pc, value)) {
            self.seen[self.next] = (pc, value);
            self.next = (self.next + 1) % PLACES;
            self.in_vain = 0;
            return false;
        }
        self.in_vain += 1;
        if self.in_vain < PATIENCE {
            return false;
        }
        self.in_vain = PATIENCE - LATER;
        self.spins = true;
        true
    }

    /// Whether it has been spinning since this was asked last.
    pub(crate) fn take_spins(&mut self) -> bool {
        std::mem::take(&mut self.spins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_again_and_again() {
        let mut detector = SpinDetector::default();
        // What changes is no spinning, however often it is looked at.
        assert!(!(0..1000).any(|value| detector.note(7, value)));
        let turn = |detector: &mut SpinDetector| {
            (1..1000).find(|_| detector.note(7, 5) | detector.note(9, 1)).unwrap_or(0)
        };
        let (first, second) = (turn(&mut detector), turn(&mut detector));
        assert!(detector.take_spins() && !detector.take_spins());
        assert!(second < first && first < 20, "{first} {second}");
        assert!(!detector.note(7, 6));
    }
}
