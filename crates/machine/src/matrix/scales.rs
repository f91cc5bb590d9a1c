//! Block scaling of a warp's product: which scale factors rows of A and columns of B have (PTX ISA, "Block Scaling for
//! mma.sync").
//!
//! The four lanes of a quad could each have factors of a row or column. A selector says which of them have: one lane for a
//! column of B, and for A a pair, of which the second has the row eight further down. Another selector names the byte of a
//! lane's register in which its factors begin. What the manual says of lanes was also seen on a GPU of `sm_120`, by the
//! author of `mxfp8_mma.cuh` in a public repository, who tried all lanes with one factor a row.

use crate::lanes::{Files, PlaneId};
use numerics::tensor::{Element, Scale};

/// The scale factors of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scales {
    pub(crate) format: Scale,
    /// How many a row of A has, and a column of B.
    pub(crate) count: usize,
    pub(crate) a: Factors,
    pub(crate) b: Factors,
}

/// The scale factors of A or B.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors {
    /// Of 32 bits.
    pub(crate) data: PlaneId,
    /// The selectors of a byte and of threads, of 16 bits, the same in all lanes.
    pub(crate) byte: PlaneId,
    pub(crate) thread: PlaneId,
}

impl Factors {
    /// Of lines of which the `i`-th of 8 is that of quad `i`, in the lane of each quad that `lane` says.
    fn read(
        &self,
        files: &Files,
        warp: usize,
        scales: &Scales,
        lane: impl Fn(usize) -> usize,
        to: &mut Vec<Element>,
    ) {
        let byte = usize::from(files.h[self.byte.index() + warp].0[0]);
        let words = &files.w[self.data.index() + warp].0;
        for quad in 0..8 {
            let bytes =
                words[4 * quad + lane(usize::from(files.h[self.thread.index() + warp].0[0]))].to_le_bytes();
            // A register has four bytes, whatever the selector says.
            to.extend((0..scales.count).map(|i| scales.format.decode(bytes[(byte + i) % 4])));
        }
    }
}

impl Scales {
    /// Reads the factors of A, row by row, and of B, column by column.
    pub(crate) fn read(&self, files: &Files, warp: usize, [a, b]: [&mut Vec<Element>; 2]) {
        a.clear();
        self.a.read(files, warp, self, |pair| pair % 2 * 2, a);
        self.a.read(files, warp, self, |pair| pair % 2 * 2 + 1, a);
        b.clear();
        self.b.read(files, warp, self, |thread| thread % 4, b);
    }
}
