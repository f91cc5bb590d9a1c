//! Elements of a register taken apart and put together (PTX ISA, "mov" of vectors).

use super::body::function;
use crate::exec::Exec;
use crate::image::Function;
use crate::lanes::Lane;
use crate::lanes::simd::Baseline;
use crate::operation::kinds::{ExtractElement, InsertElement};

/// The mask of an element. Those of 8 bits live in 16-bit planes; a plane holds no more of the others.
fn element(bits: u8) -> u64 {
    if bits == 8 { 0xff } else { !0 }
}

/// [`InsertElement`].
fn put<A: Lane, R: Lane>(x: &mut Exec<'_>, op: &InsertElement, pc: u32) -> u32 {
    let keep = if op.whole { 0 } else { !0 };
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let a = A::planes(&x.files)[op.a.index() + warp].0;
        let old = R::planes(&x.files)[op.d.index() + warp].0;
        let values = std::array::from_fn(|l| {
            R::from_scalar((old[l].to_scalar() & keep) | (a[l].to_scalar() & element(op.bits)) << op.at)
        });
        x.store_plane::<Baseline, R>(op.d, warp, values);
    }
    pc + 1
}

/// [`ExtractElement`].
fn take<A: Lane, R: Lane>(x: &mut Exec<'_>, op: &ExtractElement, pc: u32) -> u32 {
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let a = A::planes(&x.files)[op.a.index() + warp].0;
        let values = a.map(|lane| R::from_scalar((lane.to_scalar() >> op.at) & element(op.bits)));
        x.store_plane::<Baseline, R>(op.d, warp, values);
    }
    pc + 1
}

macro_rules! by_widths {
    ($f:ident, $from:expr, $to:expr) => {
        match ($from, $to) {
            (16, 16) => function!($f::<u16, u16>),
            (16, 32) => function!($f::<u16, u32>),
            (16, _) => function!($f::<u16, u64>),
            (32, 16) => function!($f::<u32, u16>),
            (32, 32) => function!($f::<u32, u32>),
            (32, _) => function!($f::<u32, u64>),
            (_, 16) => function!($f::<u64, u16>),
            (_, 32) => function!($f::<u64, u32>),
            (_, _) => function!($f::<u64, u64>),
        }
    };
}

/// Puts an element that lies in a plane of `from` bits into one of `to` bits.
pub(crate) fn insert(from: u32, to: u32) -> Function<InsertElement> {
    by_widths!(put, from, to)
}

/// Takes an element out of a plane of `from` bits into one of `to` bits.
pub(crate) fn extract(from: u32, to: u32) -> Function<ExtractElement> {
    by_widths!(take, from, to)
}
