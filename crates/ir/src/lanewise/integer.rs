//! Integer arithmetic without carry (PTX ISA, "Integer Arithmetic Instructions").

use super::choose::{integers, lanes, lanewise};
use crate::choice::is_signed;
use crate::instruction::{Mul24Mode, MulIntMode};
use crate::{by_flags, by_listed_type};
use numerics::integer::{self, Int};
use numerics::packed;

/// What `.wide` gives of a `T`.
type Wide<T> = <T as Int>::Wide;

/// `.wide`, which 16 and 32 bits have.
macro_rules! wide {
    ($to:ident, $op:ident, ($($x:ident: $t:ty),+) $body:block) => {
        by_listed_type!($op.ty, T in [U16: u16, S16: i16, U32: u32, S32: i32] => {
            lanes!($to, $op, ($($x: $t),+) -> Wide<T> $body)
        })
    };
}

/// A function of the two halves of 32-bit registers.
macro_rules! pairs {
    ($to:ident, $op:ident, |$a:ident, $b:ident| $body:expr) => {
        by_listed_type!($op.ty, T in [U16x2: u16, S16x2: i16] => lanes!($to, $op, ($a: u32, $b: u32) -> u32 {
            packed::map_int::<T>(|$a, $b| $body, $a, $b)
        }))
    };
}

/// A function that clamps if the flag says so, which is of `.s32` alone.
macro_rules! clamped {
    ($to:ident, $op:ident.$flag:ident as $FLAG:ident, ($($x:ident),+) integer::$function:ident) => {
        if $op.$flag {
            const $FLAG: bool = true;
            integers!($to, $op in [S32: i32], ($($x),+) { integer::$function::<T, true>($($x),+) })
        } else {
            integers!($to, $op, ($($x),+) { integer::$function::<T, false>($($x),+) })
        }
    };
}

lanewise! { to, op:
    AddInt => clamped!(to, op.sat as SAT, (a, b) integer::add);
    SubInt => clamped!(to, op.sat as SAT, (a, b) integer::sub);
    MulInt => match op.mode {
        MulIntMode::Wide => wide!(to, op, (a: T, b: T) { integer::mul_wide::<T>(a, b) }),
        MulIntMode::Hi => integers!(to, op, (a, b) { integer::mul_hi::<T>(a, b) }),
        MulIntMode::Lo => integers!(to, op, (a, b) { integer::mul_lo::<T>(a, b) }),
    };
    MadInt => match op.mode {
        MulIntMode::Wide => wide!(to, op, (a: T, b: T, c: Wide<T>) { integer::mad_wide::<T>(a, b, c) }),
        MulIntMode::Hi => {
            const HI: bool = true;
            clamped!(to, op.sat as SAT, (a, b, c) integer::mad_hi)
        }
        MulIntMode::Lo => integers!(to, op, (a, b, c) { integer::mad_lo::<T>(a, b, c) }),
    };
    Mul24 => match op.mode {
        Mul24Mode::Hi => integers!(to, op in [U32: u32, S32: i32], (a, b) { integer::mul24_hi::<T>(a, b) }),
        Mul24Mode::Lo => integers!(to, op in [U32: u32, S32: i32], (a, b) { integer::mul24_lo::<T>(a, b) }),
    };
    Mad24 => match op.mode {
        Mul24Mode::Hi => by_flags!(op.sat as SAT => {
            integers!(to, op in [U32: u32, S32: i32], (a, b, c) { integer::mad24_hi::<T, SAT>(a, b, c) })
        }),
        Mul24Mode::Lo => {
            integers!(to, op in [U32: u32, S32: i32], (a, b, c) { integer::mad24_lo::<T>(a, b, c) })
        }
    };
    Sad => integers!(to, op, (a, b, c) { integer::sad::<T>(a, b, c) });
    DivInt => integers!(to, op, (a, b) { integer::div::<T>(a, b) });
    RemInt => integers!(to, op, (a, b) { integer::rem::<T>(a, b) });
    AbsInt => integers!(to, op in [S16: i16, S32: i32, S64: i64], (a) { integer::abs::<T>(a) });
    NegInt => integers!(to, op in [S16: i16, S32: i32, S64: i64], (a) { integer::neg::<T>(a) });
    MinInt => clamped!(to, op.relu as RELU, (a, b) integer::min);
    MaxInt => clamped!(to, op.relu as RELU, (a, b) integer::max);
    AddIntX2 => pairs!(to, op, |a, b| integer::add::<T, false>(a, b));
    MinIntX2 => by_flags!(op.relu as RELU => pairs!(to, op, |a, b| integer::min::<T, RELU>(a, b)));
    MaxIntX2 => by_flags!(op.relu as RELU => pairs!(to, op, |a, b| integer::max::<T, RELU>(a, b)));
    Dp4a => {
        let [a, b] = [op.atype, op.btype].map(is_signed);
        by_flags!(a as A, b as B => {
            lanes!(to, op, (a: u32, b: u32, c: u32) -> u32 { packed::dp4a::<A, B>(a, b, c) })
        })
    };
    Dp2a => {
        let [a, b] = [op.atype, op.btype].map(is_signed);
        let hi = op.mode == Mul24Mode::Hi;
        by_flags!(hi as HI, a as A, b as B => {
            lanes!(to, op, (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<HI, A, B>(a, b, c) })
        })
    };
}
