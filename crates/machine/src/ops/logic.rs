//! Logic on more operands than a lane function has.

use super::body::{Body, select};
use super::shape::{Predicates, map};
use crate::exec::Exec;
use crate::image::Function;
use crate::lanes::simd::{Baseline, Level, Simd};
use crate::lanes::{LANES, Lane};
use crate::operation::kinds::{InsertBits, Lop3, Nonzero};
use numerics::bits;
use numerics::integer::Int;
use std::marker::PhantomData;

struct BfiBody<T>(PhantomData<T>);
impl<T: Int + Lane> Body for BfiBody<T> {
    type Fields = InsertBits;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &InsertBits, pc: u32) -> u32 {
        map!(I, T, x, op.d, |cells, warp| {
            a = cells.planes::<T>(op.a.index());
            b = cells.planes::<T>(op.b.index());
            position = cells.planes::<u32>(op.position.index());
            length = cells.planes::<u32>(op.length.index());
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

/// `bfi` of `bits`.
pub(crate) fn insert_bits(bits: u32, level: Level) -> Function<InsertBits> {
    match bits {
        32 => select::<BfiBody<u32>>(level),
        _ => select::<BfiBody<u64>>(level),
    }
}

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
