//! Which memory an instruction touches: what whoever counts cycles must know of an access.

use crate::registers::LANES;

/// What is done with the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is read.
    Load,
    /// It is written.
    Store,
    /// It is changed, and what was there comes back.
    Atomic,
    /// It is changed, and nothing comes back.
    Reduction,
}

/// Which memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The device's.
    Global,
    /// The CTA's.
    Shared,
    /// That of another CTA of its cluster.
    Cluster,
    /// The thread's own.
    Local,
    /// A constant bank.
    Constant,
}

/// The places that the lanes of a warp touch with one instruction.
#[derive(Clone, Debug)]
pub struct Touched {
    /// What is done there.
    pub way: Way,
    /// Which memory it is. Of generic addresses in more than one, that of the last lane.
    pub memory: Memory,
    /// Bytes of each lane.
    pub bytes: u32,
    /// The lanes that touch anything; none if the instruction is no access.
    pub lanes: u32,
    /// Where: addresses of global memory, offsets in the others; above those in a constant bank stands its number.
    pub addresses: [u64; LANES],
    /// Of a copy of a part of a tensor: where its rows begin in global memory, and their bytes; the first begins where the first lane touches it.
    pub rows: Vec<(u64, u64)>,
}

impl Default for Touched {
    fn default() -> Self {
        Self {
            way: Way::Load,
            memory: Memory::Global,
            bytes: 0,
            lanes: 0,
            addresses: [0; LANES],
            rows: Vec::new(),
        }
    }
}

impl Touched {
    pub(crate) fn begin(&mut self, way: Way, memory: Memory, bytes: u32, lanes: u32) {
        (self.way, self.memory, self.bytes, self.lanes) = (way, memory, bytes, lanes);
    }

    /// The lanes' places.
    pub fn places(&self) -> impl Iterator<Item = u64> {
        let lanes = self.lanes;
        self.addresses.iter().enumerate().filter(move |(lane, _)| lanes >> lane & 1 == 1).map(|(_, &at)| at)
    }
}
