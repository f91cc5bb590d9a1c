//! The lanes of a warp's access, put together into runs.

use crate::check::Run;

/// See the module. Lanes that access one element after the other are a run; where lanes may be taken together (reads),
/// so are those that access the same one, and the halves of a warp if they access the same.
pub(crate) struct Runs<'a> {
    addresses: &'a [u64; 32],
    bytes: u64,
    /// Runs of whole halves of a warp.
    ready: [Option<Run>; 2],
    rest: u32,
    together: bool,
    halves: bool,
}

/// Whether addresses are all the same, or each behind the one before.
#[inline(always)]
fn shape(half: &[u64], bytes: u64) -> (bool, bool) {
    let (mut same, mut rising, mut expected) = (0, 0, half[0]);
    for &address in half {
        same |= address ^ half[0];
        rising |= address ^ expected;
        expected = expected.wrapping_add(bytes);
    }
    (same == 0, rising == 0)
}

impl<'a> Runs<'a> {
    #[inline(always)]
    pub(crate) fn new(addresses: &'a [u64; 32], bytes: u64, mask: u32, together: bool) -> Self {
        let mut runs = Self { addresses, bytes, ready: [None; 2], rest: mask, together, halves: false };
        if mask == !0 {
            runs.of_halves();
        }
        runs
    }

    /// Warps that are whole mostly have a simple pattern.
    #[inline(always)]
    fn of_halves(&mut self) {
        let (low, high) = self.addresses.split_at(16);
        let ((low_same, low_rises), (high_same, high_rises)) =
            (shape(low, self.bytes), shape(high, self.bytes));
        let run = |address, lanes, count| Some(Run { address, lanes, count, bytes: self.bytes });
        let equal = self.together && low[0] == high[0];
        self.ready = if self.together && low_same && high_same {
            match equal {
                true => [run(low[0], !0, 1), None],
                false => [run(low[0], 0xffff, 1), run(high[0], 0xffff_0000, 1)],
            }
        } else if low_rises && high_rises {
            match low[0].wrapping_add(16 * self.bytes) == high[0] {
                true => [run(low[0], 1, 32), None],
                false if equal => [run(low[0], 0x0001_0001, 16), None],
                false => [run(low[0], 1, 16), run(high[0], 0x0001_0000, 16)],
            }
        } else {
            self.halves = self.together && low == high;
            self.rest = if self.halves { 0xffff } else { !0 };
            return;
        };
        self.rest = 0;
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    #[inline(always)]
    fn next(&mut self) -> Option<Run> {
        if self.rest == 0 {
            let [first, second] = &mut self.ready;
            return first.take().or_else(|| second.take());
        }
        let first = self.rest.trailing_zeros() as usize;
        let address = self.addresses[first];
        // Lanes of the mask from the first one on.
        let reach = first + (self.rest >> first).trailing_ones() as usize;
        let others = &self.addresses[first + 1..reach];
        let (mut count, mut lanes) = (1, 1 << first);
        let mut taken = lanes;
        match others.first() {
            Some(&next) if next == address && self.together => {
                for (lane, &other) in (first + 1..).zip(others) {
                    if other != address {
                        break;
                    }
                    lanes |= 1 << lane;
                }
                taken = lanes;
            }
            Some(&next) if next == address.wrapping_add(self.bytes) => {
                let mut expected = next;
                for &other in others {
                    if other != expected {
                        break;
                    }
                    expected = expected.wrapping_add(self.bytes);
                    count += 1;
                }
                taken = (((1_u64 << count) - 1) << first) as u32;
            }
            _ => {}
        }
        self.rest &= !taken;
        if self.halves {
            lanes |= lanes << 16;
        }
        Some(Run { address, lanes, count, bytes: self.bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(addresses: [u64; 32], mask: u32, together: bool) -> Vec<(u64, u32, u64)> {
        Runs::new(&addresses, 4, mask, together).map(|run| (run.address, run.lanes, run.count)).collect()
    }

    #[test]
    fn lanes_are_put_together() {
        let rows: [u64; 32] = std::array::from_fn(|lane| 0x100 + 4 * lane as u64);
        assert_eq!(runs(rows, !0, false), [(0x100, 1, 32)]);
        assert_eq!(runs(rows, 0xf0f, true), [(0x100, 1, 4), (0x120, 0x100, 4)]);
        let halves: [u64; 32] = std::array::from_fn(|lane| 0x100 + 4 * (lane as u64 % 16));
        assert_eq!(runs(halves, !0, true), [(0x100, 0x0001_0001, 16)]);
        assert_eq!(runs(halves, !0, false), [(0x100, 1, 16), (0x100, 0x10000, 16)]);
        let pairs: [u64; 32] = std::array::from_fn(|lane| 0x100 + 4 * (lane as u64 / 16));
        assert_eq!(runs(pairs, !0, true), [(0x100, 0xffff, 1), (0x104, 0xffff_0000, 1)]);
        assert_eq!(runs([0x80; 32], 0b1011, true), [(0x80, 0b11, 1), (0x80, 0b1000, 1)]);
        assert_eq!(runs([0x80; 32], 0b1011, false).len(), 3);
        assert_eq!(runs([0x80; 32], !0, true), [(0x80, !0, 1)]);
    }
}
