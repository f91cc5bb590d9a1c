//! The zero-column mask descriptor of `tcgen05.mma.ws`: which columns of B count as zeros (PTX ISA, "Zero-Column Mask
//! Descriptor").
//!
//! The mask is made of sub-masks, as many as the lanes of tensor memory have shares of N. Each alternates between columns that
//! count and columns that do not. The manual's table calls the lengths of these runs by each other's names; here they are as
//! in its examples, and in CUTLASS's `MaskAndShiftB`: the skip span is of zeros.

/// The columns of B that a product has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZeroColumns(pub(crate) u64);

impl ZeroColumns {
    /// The first column of B that is used.
    pub(crate) fn shift(self) -> u32 {
        (self.0 >> 56 & 0x3f) as u32
    }

    /// Whether column `n` of `columns` counts as zeros, in a mask of so many parts.
    pub(crate) fn is_zero(self, n: u32, columns: u32, parts: u32) -> bool {
        if self.0 >> 39 & 1 == 0 {
            return false;
        }
        let share = (columns / parts).max(1);
        let (part, inside) = (n / share, n % share);
        let start = (self.0 >> (8 * part) & 0xff) as u32;
        let starts_with_zeros = self.0 >> (32 + part) & 1 != 0;
        let (zeros, used) = ((self.0 >> 40 & 0xff) as u32 + 1, (self.0 >> 48 & 0xff) as u32 + 1);
        let at = (inside + start) % (zeros + used);
        if starts_with_zeros { at < zeros } else { at >= used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the manual: a skip span of 2 and a use span of 3.
    #[test]
    fn examples() {
        let spans = 1 << 39 | 2 << 40 | 3 << 48;
        let mask = |descriptor: u64, part: u32, parts: u32| {
            let columns = 16 * parts;
            (0..16).fold(0_u32, |mask, i| {
                let zero = ZeroColumns(descriptor).is_zero(part * 16 + i, columns, parts);
                mask | u32::from(zero) << i
            })
        };
        assert_eq!(mask(spans & !(1 << 39), 0, 1), 0);
        assert_eq!(mask(spans, 0, 1) & 0x3fff, 0b11_1000_0111_0000);
        let of_64 = spans | 1 << 32;
        assert_eq!(mask(of_64, 0, 2) & 0x3ff, 0b11_1000_0111);
        assert_eq!(mask(of_64, 1, 2) & 0x3ff, 0b00_0111_0000);
        let of_32 = spans | 1 << 8 | 2 << 16 | 1 << 24 | 0b0011 << 32 | 2 << 56;
        assert_eq!(mask(of_32, 0, 4) & 0x3ff, 0b11_1000_0111);
        assert_eq!(mask(of_32, 1, 4) & 0x1ff, 0b1_1100_0011);
        assert_eq!(mask(of_32, 2, 4) & 0xfff, 0b1110_0001_1100);
        assert_eq!(mask(of_32, 3, 4) & 0x3ff, 0b00_0011_1000);
        assert_eq!(ZeroColumns(of_32).shift(), 2);
    }
}
