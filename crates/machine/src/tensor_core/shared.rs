//! Matrices in shared memory as `tcgen05` describes them (PTX ISA, "Shared memory descriptor", "Shared Memory Layout and
//! Swizzling").
//!
//! A K-major matrix is made of pieces of 8 lines by so many bytes along k as the swizzling mode has, 16 without; an
//! MN-major one of such pieces along the lines by 8 places along k, or by 4 where swizzling keeps 32 bytes together. Two
//! strides say how pieces lie to one another. The bits of an address that say the chunk are exclusive-ored with those three
//! bits above (or two, of chunks of 32 bytes).

/// Bytes that no swizzling mode tears apart.
pub(crate) const CHUNK: u32 = 16;

/// A decoded descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedMatrix {
    start: u32,
    leading: u32,
    stride: u32,
    base_offset: u32,
    /// Bytes of a swizzled row; [`CHUNK`] without swizzling.
    width: u32,
    /// Bytes that stay together.
    atom: u32,
}

impl SharedMatrix {
    /// Reads the fields, or tells what is wrong with them.
    pub(crate) fn new(bits: u64) -> Result<Self, String> {
        let bytes = |low: u32| (bits >> low & 0x3fff) as u32 * 16;
        let (width, atom) = match bits >> 61 {
            0 => (CHUNK, CHUNK),
            1 => (128, 32),
            2 => (128, CHUNK),
            4 => (64, CHUNK),
            6 => (32, CHUNK),
            mode => return Err(format!("swizzling mode {mode}")),
        };
        // What a descriptor of Hopper's `wgmma` lacks.
        if bits >> 46 & 7 != 1 {
            return Err(format!("bits 46 to 48 are {:#b}, not 0b001", bits >> 46 & 7));
        }
        if bits >> 52 & 1 != 0 {
            return Err("the mode of absolute addresses, which is not executed".to_owned());
        }
        let base_offset = (bits >> 49 & 7) as u32;
        Ok(Self { start: bytes(0), leading: bytes(16), stride: bytes(32), base_offset, width, atom })
    }

    /// Whether swizzling keeps 32 bytes together.
    pub(crate) fn has_wide_atoms(&self) -> bool {
        self.atom == 32
    }

    /// The address of byte `along` of a line of a K-major matrix.
    pub(crate) fn k_major(&self, line: u32, along: u32) -> u32 {
        let (inside, beyond) = (along % self.width, along / self.width);
        self.address(line / 8 * self.stride + line % 8 * self.width + beyond * self.leading + inside)
    }

    /// The address of byte `across` of what lies at place `k` of an MN-major matrix.
    pub(crate) fn mn_major(&self, across: u32, k: u32) -> u32 {
        let (inside, beyond) = (across % self.width, across / self.width);
        // Without swizzling the two strides change places.
        let (lines, ks) =
            if self.width == CHUNK { (self.stride, self.leading) } else { (self.leading, self.stride) };
        let rows = if self.has_wide_atoms() { 4 } else { 8 };
        self.address(k / rows * ks + k % rows * self.width + beyond * lines + inside)
    }

    fn address(&self, offset: u32) -> u32 {
        let address = self.start.wrapping_add(offset);
        let pattern = (address >> 7).wrapping_sub(self.base_offset) & (self.width / self.atom - 1);
        address ^ (pattern * self.atom)
    }
}
