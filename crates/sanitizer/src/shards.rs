//! The shadow of global memory in shards, for several host threads that judge accesses of CTAs which communicate.
//!
//! Memory is dealt out in pieces of [`PIECE`] bytes, one shard after the other. Who accesses a piece *takes* its shard, and gives it back
//! when the access has been judged; of a strong operation when it has been made as well. So of what happens to a location there is
//! one order, in which it is judged, too. In a shard memory has addresses of its own, by which its pieces lie side by side and no two shards
//! have one in common.
//!
//! A shard carries time from one to the other: who takes it goes on from the latest time of those who had it before. So
//! times of what is remembered of a location rise in the order in which that has happened, as they do where one host thread judges everything.
//!
//! Who only waits for a location to change does not take its shard: as long as nobody may have changed the word
//! (its *version*), such a look says nothing new. Who is about to change something lets those that look there just now make their loads first.

use crate::clock::Time;
use crate::detector::Detector;
use crate::global::{Global, PAGE, ROWS};
use crate::reused::Reused;
use crate::row::{CELLS, ROW};
use crate::shadow::{Extras, GRANULE};
use machine::memory::SHARED_WINDOW;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes side by side that are in one shard, as a power of two: those of a row, so that flags that stand side by side are in several.
const PIECE_BITS: u32 = 6;
pub(crate) const PIECE: u64 = 1 << PIECE_BITS;

/// How many shards there are, as a power of two. A set of them is a word.
const SHARD_BITS: u32 = 6;
const SHARDS: usize = 1 << SHARD_BITS;

/// Where the number of the shard stands in an address there: on top of all that global memory has.
const TOP: u32 = SHARED_WINDOW.trailing_zeros() - SHARD_BITS;

/// The address in its shard of a byte of global memory. Addresses of what is no global memory stay what they are.
#[inline(always)]
pub(crate) fn inside(address: u64) -> u64 {
    let shard = address >> PIECE_BITS & (SHARDS as u64 - 1);
    let piece = address >> (PIECE_BITS + SHARD_BITS);
    if address < SHARED_WINDOW { shard << TOP | piece << PIECE_BITS | address & (PIECE - 1) } else { address }
}

/// The byte of global memory that has an address in its shard.
pub(crate) fn outside(inside: u64) -> u64 {
    let (shard, piece) = (inside >> TOP, (inside & ((1 << TOP) - 1)) >> PIECE_BITS);
    (piece << SHARD_BITS | shard) << PIECE_BITS | inside & (PIECE - 1)
}

/// Which shard an address there is in; `None` if it is none of global memory.
#[inline(always)]
pub(crate) fn shard_of(inside: u64) -> Option<usize> {
    (inside < SHARED_WINDOW).then_some((inside >> TOP) as usize)
}

/// Of a page of a shard the rows that nobody has written all of, by bit, if that is known of pages of global memory.
pub(crate) fn unwritten(number: u64, of_page: &dyn Fn(u64) -> u64) -> u64 {
    let pieces = (0..PAGE).step_by(PIECE as usize);
    pieces.fold(0, |all, at| {
        let piece = outside(number * PAGE + at);
        let rows = of_page(Global::page_of(piece)) >> Global::index(piece) & ((1 << (PIECE / ROW)) - 1);
        all | rows << (at / ROW)
    })
}

const _: () = assert!(PAGE.is_multiple_of(PIECE) && PIECE.is_multiple_of(ROW) && ROWS <= 64);

/// What is remembered of the memory of a shard.
#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) global: Reused<Global>,
    pub(crate) extras: Reused<Extras>,
    time: Time,
}

impl Shard {
    /// Lets a detector act on it.
    pub(crate) fn lend<T>(&mut self, to: &mut Detector, act: impl FnOnce(&mut Detector) -> T) -> T {
        to.time = to.time.max(self.time);
        self.exchange(to);
        let result = act(to);
        self.exchange(to);
        self.time = to.time;
        result
    }

    fn exchange(&mut self, with: &mut Detector) {
        std::mem::swap(&mut self.global, &mut with.global);
        std::mem::swap(&mut self.extras, &mut with.extras);
    }
}

/// What host threads write to at the same time, each on lines of the host's cache of its own.
#[derive(Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// Where a shard is.
#[derive(Default)]
struct Place {
    /// Whether somebody has it, who alone then asks for what is here: made when it is first taken.
    taken: Apart<AtomicBool>,
    shard: Mutex<Option<Box<Shard>>>,
    /// How often somebody has come who may have changed a word, by the last digits of its number, or any of them.
    versions: Apart<([AtomicU64; CELLS], AtomicU64)>,
    /// Those that look there just now.
    looking: Apart<AtomicU32>,
}

/// Words of a shard that are changed, by the last digits of their numbers. More than a few are all.
const FEW: u32 = 4;

/// The words of a shard that bytes from an address on are in, as these are told apart there.
#[inline(always)]
pub(crate) fn words_of(inside: u64, bytes: u32) -> u16 {
    let (first, last) = (inside / GRANULE, (inside + u64::from(bytes.max(1)) - 1) / GRANULE);
    let all = (1_u64 << (last - first + 1).min(CELLS as u64)) - 1;
    (all as u16).rotate_left((first % CELLS as u64) as u32)
}

impl Place {
    /// Some words are about to be changed.
    fn change(&self, words: u16) {
        let Apart((versions, of_all)) = &self.versions;
        if words.count_ones() > FEW {
            of_all.fetch_add(1, Ordering::SeqCst);
            return;
        }
        for (_, version) in (0..).zip(versions).filter(|(at, _)| words >> at & 1 != 0) {
            version.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A number that grows when one of some words may be changed.
    fn version(&self, words: u16) -> u64 {
        let Apart((versions, of_all)) = &self.versions;
        let some = (0..).zip(versions).filter(|(at, _)| words >> at & 1 != 0);
        some.fold(of_all.load(Ordering::SeqCst), |all, (_, version)| all + version.load(Ordering::SeqCst))
    }

    fn shard(&self) -> MutexGuard<'_, Option<Box<Shard>>> {
        self.shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the module.
pub(crate) struct Shards {
    places: [Place; SHARDS],
    /// Whether a host thread has panicked, which may never give back what it has.
    abandoned: AtomicBool,
    make: Box<dyn Fn() -> Shard + Send + Sync>,
}

/// Pauses of a host thread before it asks for something again, twice as many each time, at most; and times that it asks before it lets others run.
const PAUSES: u32 = 8;
const ASKS: u32 = 100;

/// Waits as long as something is so. Who waits seldom asks, so that those who have what is waited for are not kept from it.
#[inline(always)]
fn wait_while(is_so: impl Fn() -> bool) {
    let (mut pauses, mut asked) = (1, 0);
    while is_so() {
        (0..pauses).for_each(|_| std::hint::spin_loop());
        pauses = PAUSES.min(2 * pauses);
        asked += 1;
        if asked > ASKS {
            std::thread::yield_now();
        }
    }
}

impl Shards {
    /// Shards each of which begins as one that is made.
    pub(crate) fn new(make: impl Fn() -> Shard + Send + Sync + 'static) -> Self {
        Self {
            places: std::array::from_fn(|_| Place::default()),
            abandoned: AtomicBool::new(false),
            make: Box::new(make),
        }
    }

    /// While that lives, a panic of this host thread is one of all others that ask for a shard, which else would wait for ever.
    pub(crate) fn panic_together(&self) -> impl Drop + '_ {
        struct Together<'a>(&'a AtomicBool);
        impl Drop for Together<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
        }
        Together(&self.abandoned)
    }

    /// Takes one once nobody else has it, and may then change these words of the memory there.
    ///
    /// # Panics
    /// If another host thread has.
    pub(crate) fn take(&self, number: usize, changed: u16) -> Box<Shard> {
        let place = &self.places[number];
        while place.taken.0.swap(true, Ordering::Acquire) {
            wait_while(|| place.taken.0.load(Ordering::Relaxed) && !self.abandoned.load(Ordering::Relaxed));
            assert!(!self.abandoned.load(Ordering::Relaxed), "another host thread has panicked");
        }
        let shard = place.shard().take().unwrap_or_else(|| Box::new((self.make)()));
        if changed != 0 {
            // Who looks from now on sees that; who does so already has seen nothing of it.
            place.change(changed);
            wait_while(|| place.looking.0.load(Ordering::SeqCst) != 0);
        }
        shard
    }

    pub(crate) fn give_back(&self, number: usize, shard: Box<Shard>) {
        let place = &self.places[number];
        *place.shard() = Some(shard);
        place.taken.0.store(false, Ordering::Release);
    }

    /// Begins a look at words of one, if that says nothing new of such a version; nothing changes there until it [has ended](Self::end_look).
    pub(crate) fn look(&self, number: usize, words: u16, says_nothing: impl FnOnce(u64) -> bool) -> bool {
        let place = &self.places[number];
        place.looking.0.fetch_add(1, Ordering::SeqCst);
        let in_vain = says_nothing(place.version(words));
        if !in_vain {
            self.end_look(number);
        }
        in_vain
    }

    pub(crate) fn end_look(&self, number: usize) {
        self.places[number].looking.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// All that were made, once nobody has any.
    pub(crate) fn into_all(self) -> Vec<Shard> {
        let shard = |place: Place| place.shard.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.places.into_iter().filter_map(shard).map(|shard| *shard).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_byte_has_one_address_in_a_shard() {
        let addresses = [0, 1, PIECE - 1, PIECE, 0x4000, 0x7f12_3456_789a, SHARED_WINDOW - 1];
        for address in addresses {
            let inner = inside(address);
            assert!(outside(inner) == address && inner < SHARED_WINDOW, "{address:x} {inner:x}");
            assert_eq!(shard_of(inner), Some((address / PIECE) as usize % SHARDS));
            assert_eq!(inner % PIECE, address % PIECE);
        }
        // What is in a shard lies side by side there.
        assert_eq!(inside(PIECE * (1 + SHARDS as u64)), inside(PIECE) + PIECE);
        let shared = SHARED_WINDOW + 0x108;
        assert_eq!((inside(shared), shard_of(shared)), (shared, None));
    }

    #[test]
    fn words_are_told_apart_by_their_last_digits() {
        let words = [(0, 4), (4, 8), (60, 4), (62, 4), (124, 8), (64, 16), (0, 64), (3, 200)];
        let of = words.map(|(at, bytes)| words_of(at, bytes));
        assert_eq!(of, [1, 0b110, 1 << 15, 1 << 15 | 1, 1 << 15 | 1, 0xf, !0, !0]);
    }

    #[test]
    fn rows_that_nobody_has_written_are_found_in_shards() {
        // Of each page the sixth row, and all of the third page.
        let of_page = |page: u64| if page == 2 { u64::MAX } else { 1 << 5 };
        let rows = |address| unwritten(inside(address) / PAGE, &of_page);
        let third = 1 << (inside(2 * PAGE) % PAGE / ROW);
        assert_eq!((rows(0), rows(5 * ROW)), (third, u64::MAX));
    }

    #[test]
    fn nobody_waits_for_who_has_panicked() {
        let shards = Shards::new(Shard::default);
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _together = shards.panic_together();
                let _shard = shards.take(3, 0);
                panic!("a mistake of the detector");
            });
            assert!(holder.join().is_err());
            assert!(scope.spawn(|| shards.take(3, 0)).join().is_err());
        });
    }

    #[test]
    fn nobody_changes_what_others_look_at() {
        let (shards, looks) = (Shards::new(Shard::default), AtomicBool::new(true));
        assert!(shards.look(3, 0b110, |version| version == 0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let shard = shards.take(3, 0b10);
                assert!(!looks.load(Ordering::SeqCst));
                shards.give_back(3, shard);
            });
            std::thread::sleep(std::time::Duration::from_millis(5));
            looks.store(false, Ordering::SeqCst);
            shards.end_look(3);
        });
        // Others are told of the words that have changed.
        assert!(
            !shards.look(3, 0b110, |version| version == 0) && shards.look(3, 0b110, |version| version == 1)
        );
        assert!(shards.look(3, 0b100, |version| version == 0));
        (0..2).for_each(|_| shards.end_look(3));
        shards.give_back(3, shards.take(3, !0));
        assert!(shards.look(3, 0b100, |version| version == 1));
        assert_eq!(shards.into_all().len(), 1);
    }
}
