//! Where memory ends for kernels.

/// How exactly an access behind the end of memory is noticed. Copies by the host are always exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// To the byte.
    #[default]
    Exact,
    /// As coarsely as a GPU gives memory out: programs that read a little behind an array, and work there, work here.
    Granules,
}

impl Bounds {
    /// The end of global memory of so many bytes, counted from its start.
    pub(super) fn global(self, bytes: u64) -> u64 {
        self.end(bytes, 512)
    }

    /// The end of a CTA's shared memory.
    pub(crate) fn shared(self, bytes: u32) -> u32 {
        self.end(bytes.into(), 128) as u32
    }

    fn end(self, bytes: u64, granule: u64) -> u64 {
        match self {
            Self::Exact => bytes,
            Self::Granules => bytes.next_multiple_of(granule),
        }
    }
}
