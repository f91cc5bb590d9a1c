//! Elements of a register taken apart and put together (PTX ISA, "mov" of vectors).

use super::{Execute, Op};
use crate::exec::Exec;
use crate::lanes::Lane;
use crate::lanes::simd::Baseline;

/// The bits of an element of [`Op::x`] bits. Those of 8 bits live in 16-bit planes; a plane holds no more of the others.
fn element(op: &Op) -> u64 {
    if op.x == 8 { 0xff } else { !0 }
}

/// Plane `d` |= an element in plane `a`, shifted left by `imm`; with `c` of 1 it replaces it.
fn put<A: Lane, R: Lane>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let keep = if op.c == 1 { 0 } else { !0 };
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let a = A::planes(&x.files)[op.a as usize + warp].0;
        let old = R::planes(&x.files)[op.d as usize + warp].0;
        let values = std::array::from_fn(|l| {
            R::from_scalar((old[l].to_scalar() & keep) | (a[l].to_scalar() & element(op)) << op.imm)
        });
        x.store_plane::<Baseline, R>(op.d, warp, values);
    }
    pc + 1
}

/// Plane `d` = the element of plane `a` that begins at bit `imm`.
fn take<A: Lane, R: Lane>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let a = A::planes(&x.files)[op.a as usize + warp].0;
        let values = a.map(|lane| R::from_scalar((lane.to_scalar() >> op.imm) & element(op)));
        x.store_plane::<Baseline, R>(op.d, warp, values);
    }
    pc + 1
}

macro_rules! by_widths {
    ($f:ident, $from:expr, $to:expr) => {
        match ($from, $to) {
            (16, 16) => $f::<u16, u16>,
            (16, 32) => $f::<u16, u32>,
            (16, _) => $f::<u16, u64>,
            (32, 16) => $f::<u32, u16>,
            (32, 32) => $f::<u32, u32>,
            (32, _) => $f::<u32, u64>,
            (_, 16) => $f::<u64, u16>,
            (_, 32) => $f::<u64, u32>,
            (_, _) => $f::<u64, u64>,
        }
    };
}

/// Puts an element that lies in a plane of `from` bits into one of `to` bits.
pub(crate) fn insert(from: u32, to: u32) -> Execute {
    by_widths!(put, from, to)
}

/// Takes an element out of a plane of `from` bits into one of `to` bits.
pub(crate) fn extract(from: u32, to: u32) -> Execute {
    by_widths!(take, from, to)
}
