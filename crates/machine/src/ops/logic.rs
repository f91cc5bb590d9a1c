//! Logic on more operands than a lane function has.

use super::shape::{Predicates, map};
use super::{Body, Op};
use crate::exec::Exec;
use crate::lanes::simd::{Baseline, Simd};
use crate::lanes::{LANES, Lane};
use numerics::bits;
use numerics::integer::Int;
use std::marker::PhantomData;

/// `d = bfi(a, b, c, planes x)`.
pub(crate) struct BfiBody<T>(PhantomData<T>);
impl<T: Int + Lane> Body for BfiBody<T> {
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
        map!(I, T, x, op.d, |cells, warp| {
            a = cells.planes::<T>(op.a);
            b = cells.planes::<T>(op.b);
            position = cells.planes::<u32>(op.c);
            length = cells.planes::<u32>(op.x);
            {
                let (a, b) = (a[warp].get().0, b[warp].get().0);
                let (position, length) = (position[warp].get().0, length[warp].get().0);
                let mut result = [T::default(); LANES];
                for l in 0..LANES {
                    result[l] = bits::bfi::<T>(a[l], b[l], position[l], length[l]);
                }
                result
            }
        });
        pc + 1
    }
}

/// `d = lop3(a, b, c)` with the table in `imm`.
pub(crate) struct Lop3Body;
impl Body for Lop3Body {
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
        let table = op.imm as u8;
        map!(I, u32, x, op.d, |cells, warp| {
            a = cells.planes::<u32>(op.a);
            b = cells.planes::<u32>(op.b);
            c = cells.planes::<u32>(op.c);
            {
                let (a, b, c) = (a[warp].get().0, b[warp].get().0, c[warp].get().0);
                let mut result = [0; LANES];
                for l in 0..LANES {
                    result[l] = bits::lop3(a[l], b[l], c[l], table);
                }
                result
            }
        });
        pc + 1
    }
}

/// `p = (d != 0) combined with q`: the predicate half of `lop3.bool`.
pub(crate) fn lop3_predicate(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let cells = x.files.cells(x.warps);
    let (a, to) = (cells.planes::<u32>(op.a), Predicates::of(cells, op));
    for warp in 0..x.warps {
        let nonzero = Baseline::bits32(a[warp].get().0.map(|lane| u32::truth(lane != 0)));
        to.store(warp, x.mask[warp], nonzero);
    }
    pc + 1
}
