//! Stamps of words: whether accesses of an interval come to what other threads have accessed there, and who has done so from then on.

use super::{BEFORE, Interval, Kept, SEVERAL, has_been_written, word_of, words_of};
use crate::places::{HALF, Side};
use crate::row::Row;
use crate::shadow::Extras;
use machine::fault::Access;
use machine::lanes::simd::{Simd, Work};

/// Whether a word with a stamp is not of this interval, or of one thread alone.
#[inline(always)]
fn is_free(stamp: i32, first: i32, own: i32) -> bool {
    (stamp < first) | (stamp == own)
}

impl Interval {
    /// Notes all reads that are kept.
    #[inline(always)]
    fn note_reads(&mut self) {
        let Self { kept, warps, planes, reads, noted, first, .. } = self;
        for &Kept { who, access, bytes, places, .. } in &kept[*noted..] {
            if access != Access::Load {
                continue;
            }
            let (first, words) = (*first, words_of(bytes));
            let note = |stamp: &mut i32, own: i32| {
                *stamp = if is_free(*stamp, first, own) { own } else { first + SEVERAL };
            };
            let (begin, mut joined) = (first + 32 * i32::from(who.warp), None);
            for (number, of) in (0..).zip(places.of(warps)) {
                if let Some(sides) = of.sides(bytes) {
                    for side in sides.into_iter().flatten() {
                        if let Some(done) = Side::join(&mut joined, side.of_warp(number), bytes) {
                            each_word(done, begin, words, &mut reads[..], note);
                        }
                    }
                    continue;
                }
                let begin = begin + 32 * number as i32;
                if let Some(places) = of.alike() {
                    for (place, mask) in places.into_iter().filter(|(_, mask)| *mask != 0) {
                        let own = own_of(mask, begin, first);
                        reads[word_of(place)..][..words].iter_mut().for_each(|stamp| note(stamp, own));
                    }
                } else {
                    for (lane, place) in of.each(planes) {
                        let own = begin + lane as i32;
                        reads[word_of(place)..][..words].iter_mut().for_each(|stamp| note(stamp, own));
                    }
                }
            }
            if let Some(done) = joined {
                each_word(done, begin, words, &mut reads[..], note);
            }
        }
        *noted = kept.len();
    }
}

/// Does something with the stamps of the words of lanes side by side, and with the stamp of the lane of each.
#[inline(always)]
fn each_word(
    Side { lane, count, place }: Side,
    begin: i32,
    words: usize,
    stamps: &mut [i32],
    mut act: impl FnMut(&mut i32, i32),
) {
    let (stamps, own) = (&mut stamps[word_of(place)..][..count * words], begin + lane as i32..);
    match words {
        1 => stamps.iter_mut().zip(own).for_each(|(stamp, own)| act(stamp, own)),
        _ => {
            for (stamps, own) in stamps.chunks_exact_mut(words).zip(own) {
                stamps.iter_mut().for_each(|stamp| act(stamp, own));
            }
        }
    }
}

/// The last of the accesses that are kept reads: whether nobody else has written what it reads, and somebody has.
pub(super) struct Read<'a> {
    pub(super) of: &'a mut Interval,
    pub(super) memory: (&'a [Row], &'a Extras),
}

impl Work for Read<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self) -> bool {
        let (rows, extras) = self.memory;
        let Interval { writes, kept, warps, planes, first, .. } = self.of;
        let Some(&Kept { who, bytes, places, .. }) = kept.last() else { return false };
        let (first, words) = (*first, words_of(bytes));
        let free = |writes: &mut [i32], place: u32, own: i32| {
            (word_of(place)..).take(words).all(|at| match writes[at] {
                0 => {
                    let written = has_been_written(rows, extras, at);
                    writes[at] = if written { BEFORE } else { 0 };
                    written
                }
                stamp => is_free(stamp, first, own),
            })
        };
        let (begin, mut joined) = (first + 32 * i32::from(who.warp), None);
        let side_is_free = |writes: &mut [i32], side: Side| {
            let mut all = true;
            each_word(side, begin, words, writes, |stamp, own| {
                all &= is_free(*stamp, first, own) & (*stamp != 0);
            });
            let each = || (side.lane..).zip((side.place..).step_by(bytes as usize)).take(side.count);
            all || each().all(|(lane, place)| free(writes, place, begin + lane as i32))
        };
        for (number, of) in (0..).zip(places.of(warps)) {
            if let Some(sides) = of.sides(bytes) {
                for side in sides.into_iter().flatten() {
                    if let Some(done) = Side::join(&mut joined, side.of_warp(number), bytes)
                        && !side_is_free(writes, done)
                    {
                        return false;
                    }
                }
                continue;
            }
            let begin = begin + 32 * number as i32;
            if let Some(places) = of.alike() {
                let mut places = places.into_iter().filter(|(_, mask)| *mask != 0);
                if !places.all(|(place, mask)| free(writes, place, own_of(mask, begin, first))) {
                    return false;
                }
                continue;
            }
            // Mostly columns of tiles that are written as a whole.
            let columns = of.all_at_steps().filter(|_| words == 1);
            if columns.is_some_and(|places| column_is_free(writes, places, begin, first)) {
                continue;
            }
            if !of.each(planes).all(|(lane, place)| free(writes, place, begin + lane as i32)) {
                return false;
            }
        }
        joined.is_none_or(|done| side_is_free(writes, done))
    }
}

/// Whether the words of a warp's lanes at steps have been written, and by nobody else in the interval.
#[inline(always)]
fn column_is_free(writes: &[i32], (places, step): ([u32; 2], u32), begin: i32, first: i32) -> bool {
    let mut all = true;
    for (place, own) in places.into_iter().zip((begin..).step_by(HALF)) {
        let lanes = (0..HALF as u32).map(|lane| place.wrapping_add(step.wrapping_mul(lane)));
        for (place, own) in lanes.zip(own..) {
            let stamp = writes[word_of(place)];
            all &= is_free(stamp, first, own) & (stamp != 0);
        }
    }
    all
}

/// The last of the accesses that are kept writes: whether nobody else has accessed what it writes.
pub(super) struct Write<'a> {
    pub(super) of: &'a mut Interval,
}

impl Work for Write<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self) -> bool {
        self.of.note_reads();
        let Interval { writes, reads, kept, warps, planes, first, .. } = self.of;
        let Some(&Kept { who, bytes, places, .. }) = kept.last() else { return false };
        let (first, words) = (*first, words_of(bytes));
        let (begin, mut joined) = (first + 32 * i32::from(who.warp), None);
        let mut all = true;
        let write = |reads: &mut [i32], writes: &mut [i32], side: Side| {
            let mut all = true;
            each_word(side, begin, words, reads, |stamp, own| all &= is_free(*stamp, first, own));
            each_word(side, begin, words, writes, |stamp, own| {
                all &= is_free(*stamp, first, own);
                *stamp = own;
            });
            all
        };
        for (number, of) in (0..).zip(places.of(warps)) {
            if let Some(sides) = of.sides(bytes) {
                for side in sides.into_iter().flatten() {
                    if let Some(done) = Side::join(&mut joined, side.of_warp(number), bytes) {
                        all &= write(reads, writes, done);
                    }
                }
                continue;
            }
            let begin = begin + 32 * number as i32;
            for (lane, place) in of.each(planes) {
                let (at, own) = (word_of(place), begin + lane as i32);
                for (write, read) in writes[at..][..words].iter_mut().zip(&reads[at..][..words]) {
                    all &= is_free(*write, first, own) && is_free(*read, first, own);
                    *write = own;
                }
            }
        }
        joined.is_none_or(|done| write(reads, writes, done)) && all
    }
}

/// The stamp of lanes that access a word together, of a warp whose stamps begin with `begin`.
fn own_of(mask: u32, begin: i32, first: i32) -> i32 {
    match mask.is_power_of_two() {
        true => begin + mask.trailing_zeros() as i32,
        false => first + SEVERAL,
    }
}
