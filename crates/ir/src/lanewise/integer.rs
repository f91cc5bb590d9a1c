//! Integer arithmetic without carry (PTX ISA, "Integer Arithmetic Instructions").

use super::Lanewise;
use super::choose::{integers, lanes};
use crate::choice::is_signed;
use crate::instruction::{Mul24Mode, MulIntMode, Op};
use crate::{by_flags, by_listed_type};
use numerics::integer::{self, Int};
use numerics::packed;

/// What `.wide` gives of a `T`.
type Wide<T> = <T as Int>::Wide;

/// `.wide`, which 16 and 32 bits have.
macro_rules! wide {
    ($op:ident, ($($x:ident: $t:ty),+) $body:block) => {
        by_listed_type!($op.ty, T in [U16: u16, S16: i16, U32: u32, S32: i32] => {
            lanes!($op, ($($x: $t),+) -> Wide<T> $body)
        })
    };
}

/// A function of the two halves of 32-bit registers.
macro_rules! pairs {
    ($op:ident, |$a:ident, $b:ident| $body:expr) => {
        by_listed_type!($op.ty, T in [U16x2: u16, S16x2: i16] => lanes!($op, ($a: u32, $b: u32) -> u32 {
            packed::map_int::<T>(|$a, $b| $body, $a, $b)
        }))
    };
}

pub(super) fn function(op: &Op) -> Option<Lanewise> {
    match op {
        Op::AddInt(op) => by_flags!(op.sat as SAT => integers!(op, (a, b) { integer::add::<T, SAT>(a, b) })),
        Op::SubInt(op) => by_flags!(op.sat as SAT => integers!(op, (a, b) { integer::sub::<T, SAT>(a, b) })),
        Op::MulInt(op) => match op.mode {
            MulIntMode::Wide => wide!(op, (a: T, b: T) { integer::mul_wide::<T>(a, b) }),
            MulIntMode::Hi => integers!(op, (a, b) { integer::mul_hi::<T>(a, b) }),
            MulIntMode::Lo => integers!(op, (a, b) { integer::mul_lo::<T>(a, b) }),
        },
        Op::MadInt(op) => match op.mode {
            MulIntMode::Wide => wide!(op, (a: T, b: T, c: Wide<T>) { integer::mad_wide::<T>(a, b, c) }),
            MulIntMode::Hi => by_flags!(op.sat as SAT => {
                integers!(op, (a, b, c) { integer::mad_hi::<T, SAT>(a, b, c) })
            }),
            MulIntMode::Lo => integers!(op, (a, b, c) { integer::mad_lo::<T>(a, b, c) }),
        },
        Op::Mul24(op) => match op.mode {
            Mul24Mode::Hi => integers!(op, (a, b) { integer::mul24_hi::<T>(a, b) }),
            Mul24Mode::Lo => integers!(op, (a, b) { integer::mul24_lo::<T>(a, b) }),
        },
        Op::Mad24(op) => match op.mode {
            Mul24Mode::Hi => by_flags!(op.sat as SAT => {
                integers!(op, (a, b, c) { integer::mad24_hi::<T, SAT>(a, b, c) })
            }),
            Mul24Mode::Lo => integers!(op, (a, b, c) { integer::mad24_lo::<T>(a, b, c) }),
        },
        Op::Sad(op) => integers!(op, (a, b, c) { integer::sad::<T>(a, b, c) }),
        Op::DivInt(op) => integers!(op, (a, b) { integer::div::<T>(a, b) }),
        Op::RemInt(op) => integers!(op, (a, b) { integer::rem::<T>(a, b) }),
        Op::AbsInt(op) => integers!(op, (a) { integer::abs::<T>(a) }),
        Op::NegInt(op) => integers!(op, (a) { integer::neg::<T>(a) }),
        Op::MinInt(op) => {
            by_flags!(op.relu as RELU => integers!(op, (a, b) { integer::min::<T, RELU>(a, b) }))
        }
        Op::MaxInt(op) => {
            by_flags!(op.relu as RELU => integers!(op, (a, b) { integer::max::<T, RELU>(a, b) }))
        }
        Op::AddIntX2(op) => pairs!(op, |a, b| integer::add::<T, false>(a, b)),
        Op::MinIntX2(op) => by_flags!(op.relu as RELU => pairs!(op, |a, b| integer::min::<T, RELU>(a, b))),
        Op::MaxIntX2(op) => by_flags!(op.relu as RELU => pairs!(op, |a, b| integer::max::<T, RELU>(a, b))),
        Op::Dp4a(op) => {
            let [a, b] = [op.atype, op.btype].map(is_signed);
            by_flags!(a as A, b as B => {
                lanes!(op, (a: u32, b: u32, c: u32) -> u32 { packed::dp4a::<A, B>(a, b, c) })
            })
        }
        Op::Dp2a(op) => {
            let [a, b] = [op.atype, op.btype].map(is_signed);
            let hi = op.mode == Mul24Mode::Hi;
            by_flags!(hi as HI, a as A, b as B => {
                lanes!(op, (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<HI, A, B>(a, b, c) })
            })
        }
        _ => None,
    }
}
