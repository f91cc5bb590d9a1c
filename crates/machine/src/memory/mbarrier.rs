//! The mbarrier object: a phased barrier in one 64-bit word of shared memory (PTX ISA, "mbarrier").
//!
//! A phase is complete when nothing is pending: as many arrivals as it expects have come, and as many bytes of
//! asynchronous transactions as were announced (`expect_tx`) have been carried out (`complete_tx`). At that moment the
//! next phase begins, with the expected count of arrivals pending again. Phases are told apart by one bit.
//!
//! The word is laid out as on `sm_90`, where `mbarrier.inval` writes it back to memory for all to see:
//!
//! | bits | what |
//! | --- | --- |
//! | 0 | 0 |
//! | 1-20 | expected arrivals of the next phase, negated |
//! | 21-41 | bytes announced and not yet transferred, negated |
//! | 42 | 0 |
//! | 43-62 | pending arrivals, negated |
//! | 63 | phase |
//!
//! A *state*, what `mbarrier.arrive` returns, is the upper half of the word as it was before. An H200 takes any count in
//! `init`, and an arrival of 0, which changes nothing; what it faults for is a [`Misuse`].

/// The largest count of arrivals.
pub const MAX_COUNT: u32 = (1 << 20) - 1;

/// The most bytes that may be outstanding, either way: `complete_tx` may come before its `expect_tx`.
pub const MAX_TX: i64 = (1 << 20) - 1;

const COUNT: u64 = (1 << 20) - 1;
const EXPECTED: u32 = 1;
const TX: u32 = 21;
const TX_BITS: u32 = 21;
const PENDING: u32 = 43;
const PHASE: u32 = 63;

/// An mbarrier object, by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarrier(u64);

/// A use of an mbarrier object that its rules exclude and that hardware faults for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// More arrivals than the phase has pending.
    #[error("{count} arrivals at an mbarrier that has {pending} pending in this phase")]
    TooManyArrivals {
        /// Arrivals.
        count: u64,
        /// Those that the phase waits for.
        pending: u32,
    },
    /// More outstanding bytes than the object can count.
    #[error("a tx-count of {0} bytes, which is not in -{MAX_TX}..={MAX_TX}")]
    Transactions(i64),
}

/// An arrival of one thread, or of several at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Arrivals.
    pub count: u64,
    /// Bytes that are announced with them (`.expect_tx`).
    pub expect: u64,
    /// `.arrive_drop`: the next phases expect that many fewer.
    pub drop: bool,
}

impl Mbarrier {
    /// `mbarrier.init`. Counts from 1 to [`MAX_COUNT`] are legal; of others the word is what hardware makes of them.
    pub fn new(count: u32) -> Self {
        let negated = (1u32 << 20).wrapping_sub(count);
        Self(u64::from(negated << EXPECTED) | u64::from(negated << (PENDING - 32)) << 32)
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
        negate((self.0 >> PENDING) as u32) as u32
    }

    /// Arrivals that the next phase will wait for.
    pub fn expected(self) -> u32 {
        negate((self.0 >> EXPECTED) as u32) as u32
    }

    /// Bytes announced and not yet transferred; negative while transfers are ahead of their announcement.
    pub fn outstanding(self) -> i64 {
        // The field is moved to the top and comes down again with its sign.
        -((self.0 << (64 - TX - TX_BITS)) as i64 >> (64 - TX_BITS))
    }

    /// What `mbarrier.arrive` returns of an object that is about to change.
    pub fn state(self) -> u64 {
        self.0 & !0 << 32
    }

    /// `mbarrier.arrive` and `mbarrier.arrive_drop`: the state before.
    pub fn arrive(&mut self, arrival: Arrival) -> Result<u64, Misuse> {
        let Arrival { count, expect, drop } = arrival;
        let pending = self.pending();
        if count > u64::from(pending) {
            return Err(Misuse::TooManyArrivals { count, pending });
        }
        let mut next = *self;
        next.add_outstanding(i64::try_from(expect).unwrap_or(i64::MAX))?;
        if drop {
            next.set(EXPECTED, negate(self.expected().wrapping_sub(count as u32)));
        }
        next.set(PENDING, negate(pending - count as u32));
        if count != 0 {
            next.advance();
        }
        let state = self.state();
        *self = next;
        Ok(state)
    }

    /// `mbarrier.expect_tx`: announces `bytes` more.
    pub fn expect_tx(&mut self, bytes: u32) -> Result<(), Misuse> {
        self.transact(i64::from(bytes))
    }

    /// `mbarrier.complete_tx`, and the end of an asynchronous operation on `bytes`.
    pub fn complete_tx(&mut self, bytes: u32) -> Result<(), Misuse> {
        self.transact(-i64::from(bytes))
    }

    /// One more arrival is pending in this phase: that of a `cp.async.mbarrier.arrive` that will come later.
    pub fn expect_arrival(&mut self) -> Result<(), Misuse> {
        let pending = self.pending();
        if pending == MAX_COUNT {
            return Err(Misuse::TooManyArrivals { count: u64::from(pending) + 1, pending });
        }
        self.set(PENDING, negate(pending + 1));
        Ok(())
    }

    /// Whether the phase with this parity is over: `test_wait` and `try_wait`.
    pub fn is_over(self, parity: bool) -> bool {
        self.phase() != parity
    }

    fn transact(&mut self, bytes: i64) -> Result<(), Misuse> {
        self.add_outstanding(bytes)?;
        self.advance();
        Ok(())
    }

    fn add_outstanding(&mut self, bytes: i64) -> Result<(), Misuse> {
        let sum = self.outstanding().saturating_add(bytes);
        if sum.abs() > MAX_TX {
            return Err(Misuse::Transactions(sum));
        }
        let mask = (1 << TX_BITS) - 1;
        self.0 = self.0 & !(mask << TX) | ((-sum) as u64 & mask) << TX;
        Ok(())
    }

    /// Begins the next phase if nothing is pending.
    fn advance(&mut self) {
        if self.pending() == 0 && self.outstanding() == 0 {
            self.0 ^= 1 << PHASE;
            self.set(PENDING, self.0 >> EXPECTED);
        }
    }

    fn set(&mut self, field: u32, value: u64) {
        self.0 = self.0 & !(COUNT << field) | (value & COUNT) << field;
    }
}

/// The parity of the phase that a state belongs to: `test_wait` and `try_wait` by state ask whether it is over.
pub fn parity_of_state(state: u64) -> bool {
    Mbarrier(state).phase()
}

/// `mbarrier.pending_count`: the arrivals that were pending in a state.
pub fn pending_count(state: u64) -> u32 {
    Mbarrier(state).pending()
}

/// A count as its field holds it, and back.
fn negate(count: u32) -> u64 {
    u64::from(count.wrapping_neg()) & COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(count: u64) -> Arrival {
        Arrival { count, ..Arrival::default() }
    }

    /// States and words that an H200 gave.
    #[test]
    fn states_are_those_of_hardware() {
        let mut bar = Mbarrier::new(3);
        assert_eq!(bar.bits(), 0x7fff_e800_001f_fffa);
        let states = [1; 5].map(|count| bar.arrive(arrivals(count)).unwrap() >> 32);
        assert_eq!(states, [0x7fff_e800, 0x7fff_f000, 0x7fff_f800, 0xffff_e800, 0xffff_f000]);
        let mut bar = Mbarrier::new(4);
        let drop = |count, expect| Arrival { count, expect, drop: true };
        let states = [drop(1, 0), arrivals(3), drop(2, 0), drop(1, 32)].map(|a| bar.arrive(a).unwrap() >> 32);
        assert_eq!(states, [0x7fff_e000, 0x7fff_e800, 0xffff_e800, 0xffff_f800]);
        let init = |count| Mbarrier::new(count).state();
        assert_eq!(init(0xf_ffff), 0x0000_0800_0000_0000);
        assert_eq!(init(0x10_0001), 0xffff_f800_0000_0000);
        assert_eq!(init(u32::MAX), 0x8000_0800_0000_0000);
        // Outstanding bytes reach into the upper half: 528 of them, negated.
        let mut bar = Mbarrier::new(472);
        bar.arrive(Arrival { expect: 528, ..arrivals(32) }).unwrap();
        assert_eq!(bar.state(), 0x7ff2_43ff_0000_0000);
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival() {
        let mut bar = Mbarrier::new(3);
        assert_eq!((bar.pending(), bar.expected(), bar.outstanding(), bar.phase()), (3, 3, 0, false));
        let first = bar.arrive(arrivals(1)).unwrap();
        assert_eq!((pending_count(first), bar.pending()), (3, 2));
        assert!(!bar.is_over(parity_of_state(first)) && bar.is_over(true));
        bar.arrive(arrivals(2)).unwrap();
        assert!(bar.is_over(false) && bar.phase() && bar.pending() == 3);
        bar.arrive(Arrival { drop: true, ..arrivals(1) }).unwrap();
        bar.arrive(arrivals(2)).unwrap();
        assert_eq!((bar.phase(), bar.pending(), bar.expected()), (false, 2, 2));
        let before = bar;
        bar.arrive(arrivals(0)).unwrap();
        assert_eq!(bar, before);
    }

    #[test]
    fn a_phase_waits_for_announced_bytes() {
        let mut bar = Mbarrier::new(1);
        bar.arrive(Arrival { expect: 64, ..arrivals(1) }).unwrap();
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
        let mut bar = Mbarrier::new(0);
        assert_eq!(bar.arrive(arrivals(1)), Err(Misuse::TooManyArrivals { count: 1, pending: 0 }));
        let mut bar = Mbarrier::new(2);
        let before = bar;
        assert_eq!(bar.arrive(arrivals(3)), Err(Misuse::TooManyArrivals { count: 3, pending: 2 }));
        let announced = Arrival { expect: 1 << 20, ..arrivals(1) };
        assert_eq!(bar.arrive(announced), Err(Misuse::Transactions(1 << 20)));
        assert_eq!(bar.expect_tx(u32::MAX), Err(Misuse::Transactions(i64::from(u32::MAX))));
        assert_eq!(bar, before);
        bar.expect_tx(MAX_TX as u32).unwrap();
        assert!(bar.expect_tx(1).is_err());
        bar.complete_tx(MAX_TX as u32).unwrap();
        bar.complete_tx(MAX_TX as u32).unwrap();
        assert_eq!(bar.outstanding(), -MAX_TX);
        assert!(bar.complete_tx(1).is_err());
    }
}
