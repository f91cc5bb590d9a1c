//! Schedulers: who runs next, and for how long.
//!
//! A kernel that is correct gives the same answer under every scheduler. The interesting ones try hard to show when it
//! is not: random ones switch at arbitrary points, the adversarial one starves whoever it can for as long as the
//! progress guarantee lets it. Decisions of a CTA depend on its index and the seed alone, so that with one host thread
//! a run is repeated by naming the same scheduler again.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt;
use std::str::FromStr;

/// Makes the decisions of one CTA.
pub(crate) trait Scheduler: Send {
    /// Which of `ready` (at least one) to run; they are in the order of their last turn, the longest waiting first.
    fn pick(&mut self, ready: usize) -> usize;
    /// How many operations a turn may take.
    fn quantum(&mut self) -> i64;
}

/// A scheduler by name, as `--scheduler` takes it: `round-robin`, `random:SEED` or `adversarial`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchedulerKind {
    /// Everyone in turn, in long turns. The fastest.
    #[default]
    RoundRobin,
    /// Random turns of random length.
    Random {
        /// What the decisions follow from.
        seed: u64,
    },
    /// The same one again and again, in turns of a few operations, until it cannot go on.
    Adversarial,
}

impl fmt::Display for SchedulerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundRobin => f.write_str("round-robin"),
            Self::Random { seed } => write!(f, "random:{seed}"),
            Self::Adversarial => f.write_str("adversarial"),
        }
    }
}

impl FromStr for SchedulerKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "round-robin" => Ok(Self::RoundRobin),
            None if text == "adversarial" => Ok(Self::Adversarial),
            Some(("random", seed)) => seed
                .parse()
                .map(|seed| Self::Random { seed })
                .map_err(|_| format!("`{seed}` is not a seed: a number from 0 to 2^64-1")),
            _ => Err(format!("`{text}` is not a scheduler: round-robin, random:SEED or adversarial")),
        }
    }
}

impl SchedulerKind {
    /// The scheduler of the CTA with linear index `cta`.
    pub(crate) fn instantiate(self, cta: u64) -> Box<dyn Scheduler> {
        match self {
            Self::RoundRobin => Box::new(RoundRobin),
            Self::Random { seed } => {
                // Any mixing of seed and CTA does; the golden ratio keeps neighbours apart.
                let state = seed ^ cta.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                Box::new(Random(Pcg64Mcg::seed_from_u64(state)))
            }
            Self::Adversarial => Box::new(Adversarial),
        }
    }
}

struct RoundRobin;

impl Scheduler for RoundRobin {
    fn pick(&mut self, _: usize) -> usize {
        0
    }
    fn quantum(&mut self) -> i64 {
        20_000
    }
}

struct Random(Pcg64Mcg);

impl Scheduler for Random {
    fn pick(&mut self, ready: usize) -> usize {
        (self.0.next_u64() % ready as u64) as usize
    }
    fn quantum(&mut self) -> i64 {
        // Mostly a few operations, sometimes thousands: 1 << 0 to 1 << 12.
        let bits = self.0.next_u32() % 13;
        1 << bits
    }
}

struct Adversarial;

impl Scheduler for Adversarial {
    fn pick(&mut self, ready: usize) -> usize {
        ready - 1
    }
    fn quantum(&mut self) -> i64 {
        8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in
            [SchedulerKind::RoundRobin, SchedulerKind::Random { seed: 42 }, SchedulerKind::Adversarial]
        {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("random:x".parse::<SchedulerKind>().is_err());
        assert!("fifo".parse::<SchedulerKind>().is_err());
    }

    #[test]
    fn a_seed_repeats_its_decisions() {
        let decisions = |cta| {
            let mut s = SchedulerKind::Random { seed: 7 }.instantiate(cta);
            (0..50).map(|_| (s.pick(5), s.quantum())).collect::<Vec<_>>()
        };
        assert_eq!(decisions(3), decisions(3));
        assert_ne!(decisions(3), decisions(4));
    }
}
