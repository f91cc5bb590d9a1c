//! Which lane's value stays where several lanes of one store write to the same bytes.
//!
//! The PTX manual leaves it open. An H200 moves at most 128 bytes at a time: it carries a store out in groups of lanes,
//! one after the other, and within a group the lowest lane wins (recorded for `st`, `st.shared::cluster`, `cp.async.cg`
//! and `sust`; `docs/memory-and-scheduling.md` has the table). Lanes that store one after the other give the same, if
//! each group goes from its highest lane to its lowest.

use crate::lanes::LANES;

/// Bytes that a group of lanes stores together.
const GROUP_BYTES: u64 = 128;

/// Given for the bytes of a store that goes lane by lane, so that the last lane wins: `st.async` and `cp.async.ca`.
pub(crate) const LANE_BY_LANE: u64 = GROUP_BYTES;

/// Lanes of a group that stores so many bytes a lane.
#[inline(always)]
pub(crate) const fn group(bytes: u64) -> usize {
    match bytes {
        0..=4 => LANES,
        5..GROUP_BYTES => (GROUP_BYTES / bytes.next_power_of_two()) as usize,
        _ => 1,
    }
}

/// The lanes of a mask in the order in which they store so many bytes each: who comes last wins.
#[inline(always)]
pub(crate) fn in_store_order(mask: u32, bytes: u64) -> impl Iterator<Item = usize> {
    let last = group(bytes) - 1;
    // Lane l in the place l ^ last: each group in reverse.
    let swap = |mask: u32, by: usize, low: u32| match last & by {
        0 => mask,
        _ => (mask & low) << by | mask >> by & low,
    };
    let halves = swap(swap(mask, 16, 0x0000_ffff), 8, 0x00ff_00ff);
    let mut rest = swap(swap(swap(halves, 4, 0x0f0f_0f0f), 2, 0x3333_3333), 1, 0x5555_5555);
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let place = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            place ^ last
        })
    })
}

/// The lane of a mask that is not empty whose value stays where all of them store to one place.
#[inline(always)]
pub(crate) fn winner(mask: u32, bytes: u64) -> usize {
    let highest = 31 - mask.leading_zeros() as usize;
    let first = highest & !(group(bytes) - 1);
    first + (mask >> first).trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an H200 did when these lanes stored to one address.
    #[test]
    fn the_winner_is_an_h200s() {
        for (bytes, mask, lane) in [
            (1, !0, 0),
            (2, !0, 0),
            (4, !0, 0),
            (8, !0, 16),
            (16, !0, 24),
            (4, 0x0000_ff00, 8),
            (4, 0x8000_0001, 0),
            (4, 0x00f0_f000, 12),
            (8, 0x00f0_f000, 20),
            (8, 0x0000_ff00, 8),
            (16, 0x0100_0100, 24),
            (LANE_BY_LANE, 0x00f0_f000, 23),
        ] {
            assert_eq!(winner(mask, bytes), lane, "{bytes} bytes by {mask:#010x}");
            assert_eq!(in_store_order(mask, bytes).last(), Some(lane), "{bytes} bytes by {mask:#010x}");
        }
    }

    #[test]
    fn every_lane_stores_once() {
        for bytes in [1, 2, 4, 8, 16, 32, LANE_BY_LANE] {
            for mask in [0, 1, !0, 0x8000_0001, 0x1234_5678] {
                let mut lanes: Vec<usize> = in_store_order(mask, bytes).collect();
                assert!(
                    lanes
                        .chunk_by(|a, b| a / group(bytes) == b / group(bytes))
                        .all(|g| g.is_sorted_by(|a, b| a > b))
                );
                lanes.sort_unstable();
                assert_eq!(lanes.iter().fold(0, |all, l| all | 1 << l), mask);
                assert_eq!(lanes.len(), mask.count_ones() as usize);
            }
        }
    }
}
