//! The mbarrier object: a phased barrier in one 64-bit word of shared memory (PTX ISA, "mbarrier").
//!
//! A phase is complete when nothing is pending: as many arrivals as it expects have come, and as many bytes of
//! asynchronous transactions as were announced (`expect_tx`) have been carried out (`complete_tx`). At that moment the
//! next phase begins, with the expected count of arrivals pending again. Phases are told apart by one bit.
//!
//! The word is laid out as on `sm_90`, so a program that looks at it, or copies it, sees the same:
//!
//! | bits | what |
//! | --- | --- |
//! | 0 | 0 |
//! | 1-20 | expected arrivals of the next phase, negated |
//! | 21-42 | bytes announced and not yet transferred, negated |
//! | 43-62 | pending arrivals, negated |
//! | 63 | phase |
//!
//! A *state*, what `mbarrier.arrive` returns, is the word as it was before.

/// The largest count of arrivals.
pub const MAX_COUNT: u32 = (1 << 20) - 1;

/// The largest count of bytes that may be outstanding, either way: `complete_tx` may come before its `expect_tx`.
pub const MAX_TX: i32 = (1 << 20) - 1;

const COUNT: u64 = (1 << 20) - 1;
const EXPECTED: u32 = 1;
const TX: u32 = 21;
const TX_MASK: u64 = (1 << 22) - 1;
const PENDING: u32 = 43;
const PHASE: u32 = 63;

/// An mbarrier object, by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarrier(u64);

/// A use of an mbarrier object that its rules exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// A count of arrivals that is not in its range.
    #[error("a count of {0} arrivals, which is not in 1..={MAX_COUNT}")]
    Count(u32),
    /// More arrivals than the phase has pending.
    #[error("{count} arrivals at an mbarrier that has {pending} pending in this phase")]
    TooManyArrivals {
        /// Arrivals.
        count: u32,
        /// Those that the phase waits for.
        pending: u32,
    },
    /// An arrival with `.noComplete` that completes the phase.
    #[error("an arrival with .noComplete that completes the phase")]
    Completes,
    /// More outstanding bytes than the object can count.
    #[error("a tx-count of {0}, which is not in -{MAX_TX}..={MAX_TX}")]
    Transactions(i64),
}

/// How an arrival differs from a plain one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Arrivals at once.
    pub count: u32,
    /// Bytes that are announced first (`.expect_tx`).
    pub expect: u32,
    /// `.arrive_drop`: the next phases expect that many fewer.
    pub drop: bool,
    /// `.noComplete`: the caller promises that the phase does not complete.
    pub no_complete: bool,
}

impl Arrival {
    /// `count` plain arrivals.
    pub fn of(count: u32) -> Self {
        Self { count, ..Self::default() }
    }
}

impl Mbarrier {
    /// `mbarrier.init`.
    pub fn new(count: u32) -> Result<Self, Misuse> {
        let negated = negate(in_range(count)?);
        Ok(Self(negated << EXPECTED | negated << PENDING))
    }

    /// The object that a word of memory holds. Every word is one, though perhaps none that `init` leads to.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word that memory holds.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The phase bit.
    pub fn phase(self) -> bool {
        self.0 >> PHASE != 0
    }

    /// Arrivals that the current phase waits for.
    pub fn pending(self) -> u32 {
        negate((self.0 >> PENDING & COUNT) as u32) as u32
    }

    /// Arrivals that the next phase will wait for.
    pub fn expected(self) -> u32 {
        negate((self.0 >> EXPECTED & COUNT) as u32) as u32
    }

    /// Bytes announced and not yet transferred; negative while transfers are ahead of their announcement.
    pub fn outstanding(self) -> i32 {
        let field = (self.0 >> TX & TX_MASK) as u32;
        // Sign-extended from 22 bits.
        -(((field << 10) as i32) >> 10)
    }

    /// `mbarrier.arrive` and `mbarrier.arrive_drop`: the state before.
    pub fn arrive(&mut self, arrival: Arrival) -> Result<u64, Misuse> {
        let Arrival { count, expect, drop, no_complete } = arrival;
        let mut next = *self;
        if expect != 0 {
            next.add_outstanding(i64::from(expect))?;
        }
        let pending = self.pending();
        if in_range(count)? > pending {
            return Err(Misuse::TooManyArrivals { count, pending });
        }
        if drop {
            // A count that cannot be dropped was refused above, unless earlier phases dropped others.
            next.set(EXPECTED, negate(self.expected().saturating_sub(count)));
        }
        next.set(PENDING, negate(pending - count));
        let before = self.0;
        if next.advance() && no_complete {
            return Err(Misuse::Completes);
        }
        *self = next;
        Ok(before)
    }

    /// `mbarrier.expect_tx`: announces `bytes` more.
    pub fn expect_tx(&mut self, bytes: u32) -> Result<(), Misuse> {
        self.transact(i64::from(bytes))
    }

    /// `mbarrier.complete_tx`, and the end of an asynchronous copy of `bytes`.
    pub fn complete_tx(&mut self, bytes: u32) -> Result<(), Misuse> {
        self.transact(-i64::from(bytes))
    }

    /// One pending arrival more, and nothing else: `cp.async.mbarrier.arrive` without `.noinc`.
    pub fn expect_arrival(&mut self) -> Result<(), Misuse> {
        let pending = in_range(self.pending() + 1)?;
        self.set(PENDING, negate(pending));
        Ok(())
    }

    /// Whether the phase with this bit is over: `test_wait` and `try_wait` by parity.
    pub fn is_over(self, parity: bool) -> bool {
        self.phase() != parity
    }

    fn transact(&mut self, bytes: i64) -> Result<(), Misuse> {
        let mut next = *self;
        next.add_outstanding(bytes)?;
        next.advance();
        *self = next;
        Ok(())
    }

    fn add_outstanding(&mut self, bytes: i64) -> Result<(), Misuse> {
        let sum = i64::from(self.outstanding()) + bytes;
        if sum.abs() > i64::from(MAX_TX) {
            return Err(Misuse::Transactions(sum));
        }
        self.0 = self.0 & !(TX_MASK << TX) | ((-sum) as u64 & TX_MASK) << TX;
        Ok(())
    }

    /// Begins the next phase if nothing is pending. Returns whether it did.
    fn advance(&mut self) -> bool {
        let complete = self.0 >> PENDING & COUNT == 0 && self.0 >> TX & TX_MASK == 0;
        if complete {
            self.0 ^= 1 << PHASE;
            let expected = self.0 >> EXPECTED & COUNT;
            self.set(PENDING, expected);
        }
        complete
    }

    fn set(&mut self, field: u32, value: u64) {
        self.0 = self.0 & !(COUNT << field) | (value & COUNT) << field;
    }
}

/// The phase that a state belongs to: `test_wait` and `try_wait` by state ask whether it is over.
pub fn phase_of_state(state: u64) -> bool {
    state >> PHASE != 0
}

/// `mbarrier.pending_count`: the arrivals that were pending in a state.
pub fn pending_count(state: u64) -> u32 {
    Mbarrier(state).pending()
}

fn in_range(count: u32) -> Result<u32, Misuse> {
    if (1..=MAX_COUNT).contains(&count) { Ok(count) } else { Err(Misuse::Count(count)) }
}

/// A count as its field holds it, and back.
fn negate(count: u32) -> u64 {
    u64::from(count.wrapping_neg()) & COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_with_its_last_arrival() {
        let mut bar = Mbarrier::new(3).unwrap();
        assert_eq!((bar.pending(), bar.expected(), bar.outstanding(), bar.phase()), (3, 3, 0, false));
        let first = bar.arrive(Arrival::of(1)).unwrap();
        assert_eq!((pending_count(first), bar.pending()), (3, 2));
        assert!(!bar.is_over(phase_of_state(first)) && bar.is_over(!phase_of_state(first)));
        bar.arrive(Arrival::of(2)).unwrap();
        assert!(bar.is_over(false) && bar.phase() && bar.pending() == 3);
        let dropped = Arrival { drop: true, ..Arrival::of(1) };
        bar.arrive(dropped).unwrap();
        bar.arrive(Arrival::of(2)).unwrap();
        assert_eq!((bar.phase(), bar.pending(), bar.expected()), (false, 2, 2));
    }

    #[test]
    fn a_phase_waits_for_announced_bytes() {
        let mut bar = Mbarrier::new(1).unwrap();
        bar.arrive(Arrival { expect: 64, ..Arrival::of(1) }).unwrap();
        assert_eq!((bar.phase(), bar.pending(), bar.outstanding()), (false, 0, 64));
        bar.complete_tx(40).unwrap();
        assert!(!bar.phase());
        bar.complete_tx(24).unwrap();
        assert!(bar.phase() && bar.pending() == 1 && bar.outstanding() == 0);
        // Bytes may arrive before they are announced.
        bar.complete_tx(16).unwrap();
        assert_eq!(bar.outstanding(), -16);
        bar.expect_tx(16).unwrap();
        assert!(bar.phase() && bar.outstanding() == 0);
    }

    #[test]
    fn misuse_changes_nothing() {
        assert_eq!(Mbarrier::new(0), Err(Misuse::Count(0)));
        assert_eq!(Mbarrier::new(MAX_COUNT + 1), Err(Misuse::Count(MAX_COUNT + 1)));
        let mut bar = Mbarrier::new(MAX_COUNT).unwrap();
        assert_eq!(bar.pending(), MAX_COUNT);
        assert!(bar.expect_arrival().is_err());
        let mut bar = Mbarrier::new(2).unwrap();
        let before = bar;
        assert_eq!(bar.arrive(Arrival::of(3)), Err(Misuse::TooManyArrivals { count: 3, pending: 2 }));
        assert_eq!(bar.arrive(Arrival { no_complete: true, ..Arrival::of(2) }), Err(Misuse::Completes));
        assert_eq!(
            bar.arrive(Arrival { expect: 1 << 20, ..Arrival::of(1) }),
            Err(Misuse::Transactions(1 << 20))
        );
        assert_eq!(bar.expect_tx(u32::MAX), Err(Misuse::Transactions(i64::from(u32::MAX))));
        assert_eq!(bar, before);
        bar.expect_tx(MAX_TX as u32).unwrap();
        bar.complete_tx(MAX_TX as u32).unwrap();
        bar.complete_tx(MAX_TX as u32).unwrap();
        assert_eq!(bar.outstanding(), -MAX_TX);
    }
}
