//! Where memory ends for kernels.

use super::PAGE;
use std::ops::Range;

/// How exactly an access behind the end of memory is noticed. Copies by the host are always exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// To the byte.
    #[default]
    Exact,
    /// As coarsely as a GPU gives memory out: programs that read a little behind an array, and work there, work here.
    /// Global memory is mapped in granules of 2 MiB, which small allocations share; in a granule in which some allocation
    /// has memory, all addresses are valid.
    Granules,
}

/// Bytes of a granule of global memory.
const GRANULE: u64 = 2 << 20;

impl Bounds {
    /// The addresses around one that are valid with it.
    pub(super) fn granule(self, address: u64) -> Option<Range<u64>> {
        let start = address / GRANULE * GRANULE;
        (self == Self::Granules).then_some(start..start.saturating_add(GRANULE))
    }

    /// The end of a CTA's shared memory, which an H200 gives out in units of 128 bytes.
    pub(crate) fn shared(self, bytes: u32) -> u32 {
        match self {
            Self::Exact => bytes,
            Self::Granules => bytes.next_multiple_of(128),
        }
    }

    /// What an allocation of so many bytes takes of the addresses.
    pub(super) fn footprint(self, bytes: u64) -> Footprint {
        match self {
            // A page that is never valid lies behind it.
            Self::Exact => Footprint { bytes: exact(bytes), align: PAGE, within: u64::MAX },
            Self::Granules if exact(bytes) > GRANULE / 2 => {
                Footprint { bytes: bytes.next_multiple_of(GRANULE), align: GRANULE, within: u64::MAX }
            }
            Self::Granules => Footprint { bytes: exact(bytes), align: PAGE, within: GRANULE },
        }
    }
}

/// Whole pages, and one more.
fn exact(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE) * PAGE + PAGE
}

/// Addresses that an allocation takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    pub(super) bytes: u64,
    /// What the first is a multiple of.
    align: u64,
    /// They do not cross a multiple of this.
    within: u64,
}

impl Footprint {
    /// What addresses take that are only reserved.
    pub(super) fn of_reserved(bytes: u64) -> Self {
        Bounds::Exact.footprint(bytes)
    }

    /// The same with a larger alignment, a power of two.
    pub(super) fn aligned(self, align: u64) -> Self {
        Self { align: align.max(self.align), ..self }
    }

    /// The first address at or behind `start` where it can lie.
    pub(super) fn place(self, start: u64) -> u64 {
        let start = start.next_multiple_of(self.align);
        match start / self.within == (start + self.bytes - 1) / self.within {
            true => start,
            false => start.next_multiple_of(self.within),
        }
    }
}
