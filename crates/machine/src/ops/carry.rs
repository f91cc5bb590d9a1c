//! Integers with a carry in and out.

use super::shape::map;
use super::{Body, NONE, Op};
use crate::exec::Exec;
use crate::lanes::simd::Simd;
use crate::lanes::{LANES, Lane, LaneOf, MAX_WARPS, Register};
use numerics::extended::{self, Carry};
use std::marker::PhantomData;

/// An operation on integers with a carry in and out.
pub(crate) trait WithCarry: 'static {
    fn apply<T: Carry>(a: T, b: T, c: T, carry: bool) -> (T, bool);
}

macro_rules! with_carry {
    ($($name:ident |$a:ident, $b:ident, $c:tt, $carry:ident| $body:expr;)+) => {$(
        pub(crate) struct $name;
        impl WithCarry for $name {
            #[inline(always)]
            fn apply<T: Carry>($a: T, $b: T, $c: T, $carry: bool) -> (T, bool) {
                $body
            }
        }
    )+};
}
with_carry! {
    Add |a, b, _, carry| extended::addc(a, b, carry);
    Sub |a, b, _, carry| extended::subc(a, b, carry);
    MadLo |a, b, c, carry| extended::madc_lo(a, b, c, carry);
    MadHi |a, b, c, carry| extended::madc_hi(a, b, c, carry);
}

/// `d = f(a, b, c, carry)`: the carry comes from predicate `x`, or is `imm` if that is [`NONE`]; it goes to predicate
/// `y`, unless that is [`NONE`].
pub(crate) struct CarryBody<F, T>(PhantomData<(F, T)>);

impl<F: WithCarry, T: Carry + Register> Body for CarryBody<F, T> {
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
        let &Op { d, a, b, c, x: carry_in, y: carry_out, imm, .. } = op;
        // The carry in before anything is written: the carry out may go to the same predicate.
        let mut carries = [0; MAX_WARPS];
        for warp in 0..x.warps {
            carries[warp] = match carry_in {
                NONE => 0u32.wrapping_sub(imm as u32),
                p => x.files.p[p as usize + warp],
            };
        }
        map!(I, LaneOf<T>, x, d, |cells, warp| {
            a = cells.planes::<LaneOf<T>>(a);
            b = cells.planes::<LaneOf<T>>(b);
            c = cells.planes::<LaneOf<T>>(c);
            {
                let (a, b, c) = (a[warp].get().0, b[warp].get().0, c[warp].get().0);
                let carry = carries[warp];
                let mut sums = [LaneOf::<T>::default(); LANES];
                let mut out = [LaneOf::<T>::default(); LANES];
                for l in 0..LANES {
                    let (a, b, c) = (T::from_lane(a[l]), T::from_lane(b[l]), T::from_lane(c[l]));
                    let (sum, over) = F::apply(a, b, c, carry >> l & 1 != 0);
                    sums[l] = sum.to_lane();
                    out[l] = LaneOf::<T>::truth(over);
                }
                carries[warp] = LaneOf::<T>::bits::<I>(out);
                sums
            }
        });
        if carry_out != NONE {
            for warp in 0..x.warps {
                let mask = x.mask[warp];
                let p = &mut x.files.p[carry_out as usize + warp];
                *p = (*p & !mask) | (carries[warp] & mask);
            }
        }
        pc + 1
    }
}
