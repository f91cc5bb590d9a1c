//! Values between registers of different widths.

use super::shape::map;
use super::{Execute, Op};
use crate::exec::Exec;
use crate::lanes::simd::Baseline;
use crate::lanes::{LANES, Lane, LaneOf, Register};
use numerics::integer::Int;

/// `T` is how a lane of plane `a` is read, `R` the lane type of plane `d`.
fn resize_lanes<T: Register, R: Lane>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    map!(Baseline, R, x, op.d, |cells, warp| {
        a = cells.planes::<LaneOf<T>>(op.a);
        {
            let a = a[warp].get().0;
            let mut result = [R::default(); LANES];
            for l in 0..LANES {
                result[l] = R::from_scalar(T::from_lane(a[l]).to_u64());
            }
            result
        }
    });
    pc + 1
}

/// Plane `d` of `to` bits = plane `a` of `from` bits, cut or zero-extended.
pub(crate) fn resize(from: u32, to: u32) -> Execute {
    match (from, to) {
        (16, 32) => resize_lanes::<u16, u32>,
        (16, 64) => resize_lanes::<u16, u64>,
        (32, 16) => resize_lanes::<u32, u16>,
        (32, 64) => resize_lanes::<u32, u64>,
        (64, 16) => resize_lanes::<u64, u16>,
        (64, 32) => resize_lanes::<u64, u32>,
        (16, _) => resize_lanes::<u16, u16>,
        (32, _) => resize_lanes::<u32, u32>,
        _ => resize_lanes::<u64, u64>,
    }
}

/// Plane `d` of `to` bits = plane `a` of fewer bits, `from`, sign-extended.
pub(crate) fn sign_extend(from: u32, to: u32) -> Execute {
    match (from, to) {
        (16, 32) => resize_lanes::<i16, u32>,
        (16, _) => resize_lanes::<i16, u64>,
        _ => resize_lanes::<i32, u64>,
    }
}

/// Scalar `d` of `to` bits = scalar `a` of fewer bits, `from`, sign-extended.
pub(crate) fn sign_extend_scalar(from: u32, to: u32) -> Execute {
    fn extend<T: Int, R: Lane>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
        let s = &mut x.files.s;
        s[op.d as usize] = R::from_scalar(T::from_u64(s[op.a as usize]).to_u64()).to_scalar();
        pc + 1
    }
    match (from, to) {
        (16, 32) => extend::<i16, u32>,
        (16, _) => extend::<i16, u64>,
        _ => extend::<i32, u64>,
    }
}

/// Plane `d` = the sign of 64-bit plane `a` in every bit.
pub(crate) fn signs(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    for warp in 0..x.warps {
        let values = x.files.d[op.a as usize + warp].0.map(|lane| (lane as i64 >> 63) as u64);
        x.store_plane::<Baseline, u64>(op.d, warp, values);
    }
    pc + 1
}

/// 64-bit plane `d` = 0.
pub(crate) fn zeros(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    for warp in 0..x.warps {
        x.store_plane::<Baseline, u64>(op.d, warp, [0; LANES]);
    }
    pc + 1
}
