//! Values between registers of different widths.

use super::body::function;
use super::shape::{self, Family, Hot, map};
use crate::exec::Exec;
use crate::image::Function;
use crate::lanes::simd::{Baseline, Level};
use crate::lanes::{LANES, Lane, LaneOf};
use crate::operation::kinds::Unary;
use ir::lanewise::{Choice, Function as LaneFunction, Int, Register, Unary as UnaryFunction, Word};
use ptx::types::ScalarType;
use std::marker::PhantomData;

/// `T` is how a lane of plane `a` is read, `R` the lane type of plane `d`.
fn resize_lanes<T: Word, R: Lane>(x: &mut Exec<'_>, op: &Unary, pc: u32) -> u32 {
    map!(Baseline, R, x, op.d, |cells, warp| {
        a = cells.planes::<LaneOf<T>>(op.a.index());
        {
            let a = a[warp].get().0;
            let mut result = [R::default(); LANES];
            for l in 0..LANES {
                result[l] = R::from_scalar(T::from_register(a[l]).to_u64());
            }
            result
        }
    });
    pc + 1
}

/// Plane `d` of `to` bits = plane `a` of `from` bits, cut or zero-extended.
pub(crate) fn resize(from: u32, to: u32) -> Function<Unary> {
    match (from, to) {
        (16, 32) => function!(resize_lanes::<u16, u32>),
        (16, 64) => function!(resize_lanes::<u16, u64>),
        (32, 16) => function!(resize_lanes::<u32, u16>),
        (32, 64) => function!(resize_lanes::<u32, u64>),
        (64, 16) => function!(resize_lanes::<u64, u16>),
        (64, 32) => function!(resize_lanes::<u64, u32>),
        (16, _) => function!(resize_lanes::<u16, u16>),
        (32, _) => function!(resize_lanes::<u32, u32>),
        _ => function!(resize_lanes::<u64, u64>),
    }
}

/// Plane `d` of `to` bits = plane `a` of fewer bits, `from`, sign-extended.
pub(crate) fn sign_extend(from: u32, to: u32) -> Function<Unary> {
    match (from, to) {
        (16, 32) => function!(resize_lanes::<i16, u32>),
        (16, _) => function!(resize_lanes::<i16, u64>),
        _ => function!(resize_lanes::<i32, u64>),
    }
}

/// Scalar `d` of `to` bits = scalar `a` of fewer bits, `from`, sign-extended.
pub(crate) fn sign_extend_scalar(from: u32, to: u32) -> Function<Unary> {
    fn extend<T: Int, R: Lane>(x: &mut Exec<'_>, op: &Unary, pc: u32) -> u32 {
        let s = &mut x.files.s;
        s[op.d.index()] = R::from_scalar(T::from_u64(s[op.a.index()]).to_u64()).to_scalar();
        pc + 1
    }
    match (from, to) {
        (16, 32) => function!(extend::<i16, u32>),
        (16, _) => function!(extend::<i16, u64>),
        _ => function!(extend::<i32, u64>),
    }
}

/// The low bits of a lane as a `T`, extended to a lane of another width (or cut) as the signedness of `T` says.
struct Extend<T, A, R>(PhantomData<(T, A, R)>);
impl<T: Word, A: Register, R: Register> LaneFunction for Extend<T, A, R> {
    const CHOICE: Choice = Choice::of_types(<A as Int>::BITS, <R as Int>::BITS);
}
impl<T: Word, A: Register, R: Register> UnaryFunction for Extend<T, A, R> {
    type A = A;
    type R = R;
    #[inline(always)]
    fn lane(a: A) -> R {
        R::from_u64(T::from_u64(a.to_u64()).to_u64())
    }
}

/// `d` of `to` bits = what of `a` of `from` bits is a value of type `kept`, extended as that type says. Values below 32 bits stand
/// in registers of any width, greater ones in what holds them.
pub(crate) fn extend(kept: ScalarType, from: u32, to: u32, level: Level) -> Option<Family<Unary>> {
    macro_rules! between {
        ($t:ty) => {
            match (from, to) {
                (16, 16) => shape::unary::<Extend<$t, u16, u16>, Hot>(level),
                (16, 32) => shape::unary::<Extend<$t, u16, u32>, Hot>(level),
                (16, 64) => shape::unary::<Extend<$t, u16, u64>, Hot>(level),
                (32, 16) => shape::unary::<Extend<$t, u32, u16>, Hot>(level),
                (64, 16) => shape::unary::<Extend<$t, u64, u16>, Hot>(level),
                _ => between!(@ $t),
            }
        };
        (@ $t:ty) => {
            match (from, to) {
                (32, 32) => shape::unary::<Extend<$t, u32, u32>, Hot>(level),
                (32, 64) => shape::unary::<Extend<$t, u32, u64>, Hot>(level),
                (64, 32) => shape::unary::<Extend<$t, u64, u32>, Hot>(level),
                (64, 64) => shape::unary::<Extend<$t, u64, u64>, Hot>(level),
                _ => return None,
            }
        };
    }
    Some(match kept {
        ScalarType::U8 => between!(u8),
        ScalarType::S8 => between!(i8),
        ScalarType::U16 => between!(u16),
        ScalarType::S16 => between!(i16),
        ScalarType::U32 => between!(@ u32),
        ScalarType::S32 => between!(@ i32),
        _ => shape::unary::<Extend<u64, u64, u64>, Hot>(level),
    })
}

/// 64-bit plane `d` = the sign of 64-bit plane `a` in every bit.
pub(crate) fn signs() -> Function<Unary> {
    fn signs(x: &mut Exec<'_>, op: &Unary, pc: u32) -> u32 {
        map!(Baseline, u64, x, op.d, |cells, warp| {
            a = cells.planes::<u64>(op.a.index());
            { a[warp].get().0.map(|lane| (lane as i64 >> 63) as u64) }
        });
        pc + 1
    }
    function!(signs)
}
