//! Matrices of `wgmma` in shared memory (PTX ISA, "Shared Memory Matrix Layout", "Matrix Descriptor Format").
//!
//! A factor is made of pieces of 8 lines by 16 bytes along k, or, transposed, of 16 bytes across the lines by 8 along
//! k. How pieces lie to one another follows from the swizzling mode and two strides. With a mode of 32, 64 or 128
//! bytes, so many bytes lie side by side, and bits 4 and up of an address are exclusive-ored with bits 7 and up.

/// Bytes that lie side by side.
const CHUNK: u32 = 16;

/// A decoded matrix descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    base_offset: u32,
    /// Bytes of a swizzled row; [`CHUNK`] without swizzling.
    width: u32,
}

impl Descriptor {
    /// Reads the fields.
    #[inline]
    pub(crate) fn new(bits: u64) -> Self {
        let bytes = |low: u32| (bits >> low & 0x3fff) as u32 * 16;
        Self {
            start: bytes(0),
            leading: bytes(16),
            stride: bytes(32),
            base_offset: (bits >> 49 & 7) as u32,
            width: match bits >> 62 {
                0 => CHUNK,
                1 => 128,
                2 => 64,
                _ => 32,
            },
        }
    }

    /// The address of the 16 bytes at byte `along` of a line.
    #[inline]
    pub(crate) fn along_line(&self, line: u32, along: u32) -> u32 {
        let (inside, beyond) = self.in_rows(along);
        self.address(line / 8 * self.stride + line % 8 * self.width + beyond * self.leading + inside)
    }

    /// The address of 8 elements of 16 bits from `line` on, all at `k`: the transposed layout.
    #[inline]
    pub(crate) fn across_lines(&self, line: u32, k: u32) -> u32 {
        let (inside, beyond) = self.in_rows(2 * line);
        // Without swizzling the two strides change places.
        let (lines, ks) = match self.width {
            CHUNK => (self.stride, self.leading),
            _ => (self.leading, self.stride),
        };
        self.address(k / 8 * ks + k % 8 * self.width + beyond * lines + inside)
    }

    /// Where a byte is in its swizzled row, and how many are before that.
    fn in_rows(&self, byte: u32) -> (u32, u32) {
        // The width is a power of two, but no division knows that.
        (byte & (self.width - 1), byte >> self.width.trailing_zeros())
    }

    fn address(&self, offset: u32) -> u32 {
        let address = self.start.wrapping_add(offset);
        let pattern = (address >> 7).wrapping_sub(self.base_offset) & (self.width / CHUNK - 1);
        address ^ (pattern << 4)
    }
}
