//! Objects in shared memory at which threads and asynchronous copies arrive (PTX ISA, "mbarrier").
//!
//! | bits | of an object's 64, as an H200 has them in `tests/run/mbarrier` |
//! | --- | --- |
//! | 1 to 20 | the arrivals of the next phase, less 2^20 |
//! | 21 to 41 | transactions that are expected and not done, taken from 2^21 |
//! | 43 to 62 | the arrivals that this phase waits for, less 2^20 |
//! | 63 | the phase |

//!
//! Devices before sm_90 have words that count up, as ptxas' code for them shows:
//!
//! | bits | |
//! | --- | --- |
//! | 0 to 29 | the arrivals of each further phase, less 2^30 |
//! | 32 to 62 | the arrivals that this phase waits for, less 2^31 |
//! | 63 | the phase |

use crate::fault::FaultKind;

/// Arrivals that are counted down from, and the transactions that there is room for.
const MOST: u64 = 1 << 20;
const ROOM: u64 = 1 << 21;
/// Bits of an address in shared memory: above it stands the CTA's rank in its cluster.
const OFFSET: u64 = (1 << 24) - 1;

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mbarrier {
    next: u64,
    pending: u64,
    transactions: u64,
    phase: bool,
}

/// What an object of a device before sm_90 is when one more has arrived.
pub(crate) fn counted_up(object: u64) -> u64 {
    const LEFT: u64 = (1 << 31) - 1;
    const NEXT: u64 = (1 << 30) - 1;
    let upper = (object >> 32).wrapping_add(1) & u64::from(u32::MAX);
    let begun = if upper & LEFT == 0 { upper | 1 << 30 | object & NEXT } else { upper };
    begun << 32 | object & u64::from(u32::MAX)
}

/// What is left to do at an object when bytes have been copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub(crate) mbarrier: u64,
    pub(crate) arrives: Arrives,
}

/// What an object is told of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrives {
    /// One arrival.
    Once,
    /// Transactions that are done.
    Transactions(u64),
    /// One arrival at an object of a device before sm_90.
    Early,
}

impl Completion {
    /// Bytes have come of which an object is told.
    pub(crate) fn of(mbarrier: u64, bytes: u64) -> Self {
        Self { mbarrier, arrives: Arrives::Transactions(bytes) }
    }

    /// The same of the object at another address.
    pub(crate) fn at(self, mbarrier: u64) -> Self {
        Self { mbarrier, ..self }
    }

    /// Its bytes have come; whether that was the end of a phase.
    pub(crate) fn done(self, shared: &mut [u8]) -> Result<bool, FaultKind> {
        let (arrivals, transactions) = match self.arrives {
            Arrives::Once => (1, 0),
            Arrives::Transactions(done) => (0, -i64::try_from(done).unwrap_or(0)),
            Arrives::Early => {
                let place = place(shared, self.mbarrier)?;
                let mut word = [0; 8];
                word.copy_from_slice(place);
                place.copy_from_slice(&counted_up(u64::from_le_bytes(word)).to_le_bytes());
                // Who waits for such a phase asks again and again.
                return Ok(false);
            }
        };
        Ok(Mbarrier::arrive(shared, self.mbarrier, arrivals, transactions, false)?.1)
    }
}

/// The place of an object, if it lies in shared memory.
fn place(shared: &mut [u8], address: u64) -> Result<&mut [u8], FaultKind> {
    let outside = || FaultKind::Address { space: "shared", address, bytes: 8 };
    let at = usize::try_from(address & OFFSET).map_err(|_| outside())?;
    if !at.is_multiple_of(8) {
        return Err(FaultKind::Misaligned { address, bytes: 8 });
    }
    shared.get_mut(at..).and_then(|rest| rest.get_mut(..8)).ok_or_else(outside)
}

impl Mbarrier {
    fn from_word(word: u64) -> Self {
        Self {
            next: MOST - (word >> 1 & (MOST - 1)),
            pending: (MOST - (word >> 43 & (MOST - 1))) & (MOST - 1),
            transactions: (ROOM - (word >> 21 & (ROOM - 1))) & (ROOM - 1),
            phase: word >> 63 == 1,
        }
    }

    fn word(self) -> u64 {
        let less = |count: u64| MOST.wrapping_sub(count) & (MOST - 1);
        let transactions = (ROOM - self.transactions) & (ROOM - 1);
        less(self.next) << 1 | transactions << 21 | less(self.pending) << 43 | u64::from(self.phase) << 63
    }

    /// The object at an address.
    pub(crate) fn read(shared: &mut [u8], address: u64) -> Result<Self, FaultKind> {
        let mut word = [0; 8];
        word.copy_from_slice(place(shared, address)?);
        Ok(Self::from_word(u64::from_le_bytes(word)))
    }

    /// Which phase it is in.
    pub(crate) fn phase(self) -> bool {
        self.phase
    }

    /// So many arrive, and so many transactions more are expected, or fewer; its state before, and whether that was the end of its phase.
    pub(crate) fn arrive(
        shared: &mut [u8],
        address: u64,
        arrivals: u64,
        transactions: i64,
        leave: bool,
    ) -> Result<(u64, bool), FaultKind> {
        let mut own = Self::read(shared, address)?;
        let before = own.word();
        own.pending = own.pending.wrapping_sub(arrivals) & (MOST - 1);
        if leave {
            own.next = own.next.wrapping_sub(arrivals) & (MOST - 1);
        }
        own.transactions = own.transactions.wrapping_add_signed(transactions) & (ROOM - 1);
        let is_over = own.pending == 0 && own.transactions == 0;
        if is_over {
            (own.pending, own.phase) = (own.next & (MOST - 1), !own.phase);
        }
        place(shared, address)?.copy_from_slice(&own.word().to_le_bytes());
        Ok((before, is_over))
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Mbarrier, counted_up};

    /// As `mbarrier.init` for three is compiled for sm_80: 2^30 - 3 and 2^31 - 3.
    #[test]
    fn a_phase_of_words_ends_with_the_last_arrival() {
        let begun = 0x7fff_fffd_3fff_fffd;
        let two = counted_up(counted_up(begun));
        assert_eq!(two, 0x7fff_ffff_3fff_fffd);
        assert_eq!(counted_up(two), 0xffff_fffd_3fff_fffd);
        let next = (0..3).fold(counted_up(two), |object, _| counted_up(object));
        assert_eq!(next, begun);
    }

    #[test]
    fn a_phase_ends_with_the_last_arrival_and_the_last_transaction() {
        let mut shared = vec![0; 16];
        // As `mbarrier.init` for two arrivals is compiled.
        let word = (MOST - 2) << 1 | (MOST - 2) << 43;
        shared[8..].copy_from_slice(&word.to_le_bytes());
        let arrive = |shared: &mut [u8], arrivals, transactions| {
            let (_, is_over) = Mbarrier::arrive(shared, 8, arrivals, transactions, false).unwrap();
            (is_over, Mbarrier::read(shared, 8).unwrap().phase())
        };
        assert_eq!(arrive(&mut shared, 1, 64), (false, false));
        assert_eq!(arrive(&mut shared, 1, 0), (false, false));
        assert_eq!(arrive(&mut shared, 0, -64), (true, true));
        assert_eq!(arrive(&mut shared, 1, 0), (false, true));
        assert_eq!(arrive(&mut shared, 1, 0), (true, false));
        assert!(Mbarrier::read(&mut shared, 16).is_err());
        assert!(Mbarrier::read(&mut shared, 4).is_err());
    }
}
