//! `lop3`, whose function a constant says.

use super::body::Body;
use super::shape::{Predicates, map};
use crate::exec::Exec;
use crate::lanes::simd::{Baseline, Simd};
use crate::lanes::{LANES, Lane};
use crate::operation::kinds::{Lop3, Nonzero};
use numerics::bits;

/// `lop3`.
impl Body for Lop3 {
    type Fields = Self;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Self, pc: u32) -> u32 {
        map!(I, u32, x, op.d, |cells, warp| {
            a = cells.planes::<u32>(op.a.index());
            b = cells.planes::<u32>(op.b.index());
            c = cells.planes::<u32>(op.c.index());
            {
                let (a, b, c) = (a[warp].get().0, b[warp].get().0, c[warp].get().0);
                let mut result = [0; LANES];
                for l in 0..LANES {
                    result[l] = bits::lop3(a[l], b[l], c[l], op.table);
                }
                result
            }
        });
        pc + 1
    }
}

/// [`Nonzero`]: the predicate half of `lop3.bool`.
pub(crate) fn nonzero(x: &mut Exec<'_>, op: &Nonzero, pc: u32) -> u32 {
    let cells = x.files.cells(x.warps);
    let (a, to) = (cells.planes::<u32>(op.a.index()), Predicates::of(cells, &op.outcome));
    for warp in 0..x.warps {
        let nonzero = Baseline::bits32(a[warp].get().0.map(|lane| u32::truth(lane != 0)));
        to.store(warp, x.mask[warp], nonzero);
    }
    pc + 1
}
