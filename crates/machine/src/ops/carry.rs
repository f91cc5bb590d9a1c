//! Integers with a carry in and out.

use super::body::Body;
use super::shape::map;
use crate::exec::Exec;
use crate::lanes::simd::Simd;
use crate::lanes::{LANES, Lane, LaneOf, MAX_WARPS};
use crate::operation::CarryIn;
use crate::operation::kinds::Carry as CarryFields;
use ir::lanewise::Word;
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

/// `d = f(a, b, c, carry)`.
pub(crate) struct CarryBody<F, T>(PhantomData<(F, T)>);

impl<F: WithCarry, T: Carry + Word> Body for CarryBody<F, T> {
    type Fields = CarryFields;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &CarryFields, pc: u32) -> u32 {
        let &CarryFields { d, a, b, c, carry_in, carry_out } = op;
        // The carry in before anything is written: the carry out may go to the same predicate.
        let mut carries = [0; MAX_WARPS];
        for warp in 0..x.warps {
            carries[warp] = match carry_in {
                CarryIn::Constant(carry) => 0u32.wrapping_sub(carry.into()),
                CarryIn::Predicate(p) => x.files.p[p.index() + warp],
            };
        }
        map!(I, LaneOf<T>, x, d, |cells, warp| {
            a = cells.planes::<LaneOf<T>>(a.index());
            b = cells.planes::<LaneOf<T>>(b.index());
            c = cells.planes::<LaneOf<T>>(c.index());
            {
                let (a, b, c) = (a[warp].get().0, b[warp].get().0, c[warp].get().0);
                let carry = carries[warp];
                let mut sums = [LaneOf::<T>::default(); LANES];
                let mut out = [LaneOf::<T>::default(); LANES];
                for l in 0..LANES {
                    let (a, b, c) = (T::from_register(a[l]), T::from_register(b[l]), T::from_register(c[l]));
                    let (sum, over) = F::apply(a, b, c, carry >> l & 1 != 0);
                    sums[l] = sum.to_register();
                    out[l] = LaneOf::<T>::truth(over);
                }
                carries[warp] = LaneOf::<T>::bits::<I>(out);
                sums
            }
        });
        if let Some(carry_out) = carry_out {
            for warp in 0..x.warps {
                x.files.write_predicate(carry_out, warp, x.mask[warp], carries[warp]);
            }
        }
        pc + 1
    }
}
