//! Integer arithmetic, with and without carry (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision
//! Integer Arithmetic Instructions").

use super::arithmetic::{by_type, integers, lanes};
use super::decoder::{Decoded, Decoder, decoders};
use crate::operation::CarryIn;
use crate::operation::kinds::Carry;
use crate::ops::body::select;
use crate::ops::carry::{Add, CarryBody, MadHi, MadLo, Sub, WithCarry};
use crate::ops::shape::{COLD, HOT};
use ir::choice::is_signed;
use ir::instruction::{Mul24Mode, MulIntMode};
use ir::operand::{Def, Value};
use ir::{by_flags, by_listed_type};
use numerics::integer::{self, Int};
use numerics::packed;
use ptx::types::ScalarType;

/// What `.wide` gives of a `T`.
type Wide<T> = <T as Int>::Wide;

/// `.wide`, which 16 and 32 bits have.
macro_rules! wide {
    ($d:ident, $op:ident, ($($x:ident: $t:ty),+) $body:block) => {
        by_listed_type!($op.ty, T in [U16: u16, S16: i16, U32: u32, S32: i32] => {
            lanes!($d, $op, HOT, ($($x: $t),+) -> Wide<T> $body)
        })
    };
}

/// A function of the two halves of 32-bit registers.
macro_rules! pairs {
    ($d:ident, $op:ident, |$a:ident, $b:ident| $body:expr) => {
        by_listed_type!($op.ty, T in [U16x2: u16, S16x2: i16] => lanes!($d, $op, HOT, ($a: u32, $b: u32) -> u32 {
            packed::map_int::<T>(|$a, $b| $body, $a, $b)
        }))
    };
}

decoders! { d, op:
    AddInt => by_flags!(op.sat as SAT => integers!(d, op, !SAT, (a, b) { integer::add::<T, SAT>(a, b) }));
    SubInt => by_flags!(op.sat as SAT => integers!(d, op, !SAT, (a, b) { integer::sub::<T, SAT>(a, b) }));
    MulInt => match op.mode {
        MulIntMode::Wide => wide!(d, op, (a: T, b: T) { integer::mul_wide::<T>(a, b) }),
        MulIntMode::Hi => integers!(d, op, HOT, (a, b) { integer::mul_hi::<T>(a, b) }),
        MulIntMode::Lo => integers!(d, op, HOT, (a, b) { integer::mul_lo::<T>(a, b) }),
    };
    MadInt => match op.mode {
        MulIntMode::Wide => wide!(d, op, (a: T, b: T, c: Wide<T>) { integer::mad_wide::<T>(a, b, c) }),
        MulIntMode::Hi => by_flags!(op.sat as SAT => {
            integers!(d, op, COLD, (a, b, c) { integer::mad_hi::<T, SAT>(a, b, c) })
        }),
        MulIntMode::Lo => integers!(d, op, HOT, (a, b, c) { integer::mad_lo::<T>(a, b, c) }),
    };
    Mul24 => match op.mode {
        Mul24Mode::Hi => integers!(d, op, COLD, (a, b) { integer::mul24_hi::<T>(a, b) }),
        Mul24Mode::Lo => integers!(d, op, COLD, (a, b) { integer::mul24_lo::<T>(a, b) }),
    };
    Mad24 => match op.mode {
        Mul24Mode::Hi => by_flags!(op.sat as SAT => {
            integers!(d, op, COLD, (a, b, c) { integer::mad24_hi::<T, SAT>(a, b, c) })
        }),
        Mul24Mode::Lo => integers!(d, op, COLD, (a, b, c) { integer::mad24_lo::<T>(a, b, c) }),
    };
    Sad => integers!(d, op, COLD, (a, b, c) { integer::sad::<T>(a, b, c) });
    DivInt => integers!(d, op, COLD, (a, b) { integer::div::<T>(a, b) });
    RemInt => integers!(d, op, COLD, (a, b) { integer::rem::<T>(a, b) });
    AbsInt => integers!(d, op, HOT, (a) { integer::abs::<T>(a) });
    NegInt => integers!(d, op, HOT, (a) { integer::neg::<T>(a) });
    MinInt => by_flags!(op.relu as RELU => integers!(d, op, !RELU, (a, b) { integer::min::<T, RELU>(a, b) }));
    MaxInt => by_flags!(op.relu as RELU => integers!(d, op, !RELU, (a, b) { integer::max::<T, RELU>(a, b) }));
    AddIntX2 => pairs!(d, op, |a, b| integer::add::<T, false>(a, b));
    MinIntX2 => by_flags!(op.relu as RELU => pairs!(d, op, |a, b| integer::min::<T, RELU>(a, b)));
    MaxIntX2 => by_flags!(op.relu as RELU => pairs!(d, op, |a, b| integer::max::<T, RELU>(a, b)));
    Dp4a => {
        let [a, b] = [op.atype, op.btype].map(is_signed);
        by_flags!(a as A, b as B => {
            lanes!(d, op, COLD, (a: u32, b: u32, c: u32) -> u32 { packed::dp4a::<A, B>(a, b, c) })
        })
    };
    Dp2a => {
        let [a, b] = [op.atype, op.btype].map(is_signed);
        let hi = op.mode == Mul24Mode::Hi;
        by_flags!(hi as HI, a as A, b as B => {
            lanes!(d, op, COLD, (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<HI, A, B>(a, b, c) })
        })
    };
    AddCarryOut => carry::<Add, 2>(d, op.ty, op.d, [&op.a, &op.b], Some(false), true);
    AddCarryIn => carry::<Add, 2>(d, op.ty, op.d, [&op.a, &op.b], None, op.cc);
    // The carry of a subtraction is set when nothing is borrowed.
    SubBorrowOut => carry::<Sub, 2>(d, op.ty, op.d, [&op.a, &op.b], Some(true), true);
    SubBorrowIn => carry::<Sub, 2>(d, op.ty, op.d, [&op.a, &op.b], None, op.cc);
    MadCarryOut => match op.mode {
        Mul24Mode::Hi => carry::<MadHi, 3>(d, op.ty, op.d, [&op.a, &op.b, &op.c], Some(false), true),
        Mul24Mode::Lo => carry::<MadLo, 3>(d, op.ty, op.d, [&op.a, &op.b, &op.c], Some(false), true),
    };
    MadCarryIn => match op.mode {
        Mul24Mode::Hi => carry::<MadHi, 3>(d, op.ty, op.d, [&op.a, &op.b, &op.c], None, op.cc),
        Mul24Mode::Lo => carry::<MadLo, 3>(d, op.ty, op.d, [&op.a, &op.b, &op.c], None, op.cc),
    };
}

/// An instruction with a carry: that of `CC.CF` unless it is a first one, and out to `CC.CF` or nowhere.
fn carry<F: WithCarry, const N: usize>(
    d: &mut Decoder<'_>,
    ty: ScalarType,
    to: Def,
    values: [&Value; N],
    first: Option<bool>,
    out: bool,
) -> Decoded {
    let to = d.write_plane(to, ty.bits())?;
    // An instruction of two has its first in the place of the third.
    let mut sources = [d.read_plane(values[0], ty.bits())?; 3];
    for (source, value) in sources.iter_mut().zip(values).skip(1) {
        *source = d.read_plane(value, ty.bits())?;
    }
    let [a, b, c] = sources;
    let carry_in = first.map_or(CarryIn::Predicate(d.frame.carry()), CarryIn::Constant);
    let carry_out = out.then(|| d.frame.carry());
    let function = by_type!(ty, T => Ok(select::<CarryBody<F, T>>(d.level)))?;
    d.emit(function.with(Carry { d: to, a, b, c, carry_in, carry_out }))
}
