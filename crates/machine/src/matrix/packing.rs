//! Elements of less than a byte in shared memory, which a load makes bytes of (PTX ISA, "Optional Decompression"): 16 of them
//! lie without gaps at the beginning of 16 bytes.

use ir::instruction::LdmatrixBytesAtype;

/// Bytes of a row, as it is loaded and as it lies in memory.
pub(crate) const ROW: usize = 16;

/// How the elements of a row lie in its 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// They are bytes, or what else fills the row.
    Whole,
    /// `.b6x16_p32`
    SixBits,
    /// `.b4x16_p64`
    FourBits,
}

impl Packing {
    /// What a format of the source says.
    pub(crate) fn of(format: Option<LdmatrixBytesAtype>) -> Self {
        match format {
            None => Self::Whole,
            Some(LdmatrixBytesAtype::B6x16P32) => Self::SixBits,
            Some(LdmatrixBytesAtype::B4x16P64) => Self::FourBits,
        }
    }

    /// The elements of a row, each in the low bits of a byte.
    pub(crate) fn unpack(self, row: [u8; ROW]) -> [u8; ROW] {
        let bits = match self {
            Self::Whole => return row,
            Self::SixBits => 6,
            Self::FourBits => 4,
        };
        let packed = u128::from_le_bytes(row);
        std::array::from_fn(|i| (packed >> (i * bits)) as u8 & ((1 << bits) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_become_bytes() {
        let row: [u8; ROW] = std::array::from_fn(|i| 0x11 * (i as u8 % 15) + 0x0f);
        assert_eq!(Packing::Whole.unpack(row), row);
        let fours = Packing::FourBits.unpack(row);
        assert_eq!(fours[..6], [0xf, 0x0, 0x0, 0x2, 0x1, 0x3]);
        // 0x0f, 0x20, 0x31 are the bits 0011'0001'0010'0000'0000'1111.
        let sixes = Packing::SixBits.unpack(row);
        assert_eq!(sixes[..4], [0b00_1111, 0b00_0000, 0b01_0010, 0b00_1100]);
    }
}
