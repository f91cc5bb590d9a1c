//! Integer arithmetic, with and without carry (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision
//! Integer Arithmetic Instructions").

use super::arithmetic::{by_flags, by_type, decoders, integers, is_signed, lanes};
use super::decoder::{Decoded, Decoder};
use crate::operation::CarryIn;
use crate::operation::kinds::Carry as CarryOperation;
use crate::ops::body::select;
use crate::ops::carry::{Add, CarryBody, MadHi, MadLo, Sub, WithCarry};
use crate::ops::shape::{COLD, HOT};
use ir::instruction::{Mul24Mode, MulIntMode};
use ir::operand::{Def, Value};
use numerics::integer::{self, Int};
use numerics::packed;
use ptx::types::ScalarType;

/// What `.wide` gives of a `T`.
type Wide<T> = <T as Int>::Wide;

/// `.wide`, which 16 and 32 bits have.
macro_rules! wide {
    ($d:ident, $op:ident, ($($x:ident: $t:ty),+) $body:block) => {
        by_type!($op.ty, T in [U16: u16, S16: i16, U32: u32, S32: i32] => {
            lanes!($d, $op, HOT, ($($x: $t),+) -> Wide<T> $body)
        })
    };
}

/// A function of the two halves of 32-bit registers.
macro_rules! pairs {
    ($d:ident, $op:ident, |$a:ident, $b:ident| $body:expr) => {
        by_type!($op.ty, T in [U16x2: u16, S16x2: i16] => lanes!($d, $op, HOT, ($a: u32, $b: u32) -> u32 {
            packed::map_int::<T>(|$a, $b| $body, $a, $b)
        }))
    };
}

decoders! { d, op:
    add(AddInt) => by_flags!(op.sat as SAT => integers!(d, op, !SAT, (a, b) { integer::add::<T, SAT>(a, b) }));
    sub(SubInt) => by_flags!(op.sat as SAT => integers!(d, op, !SAT, (a, b) { integer::sub::<T, SAT>(a, b) }));
    mul(MulInt) => match op.mode {
        MulIntMode::Wide => wide!(d, op, (a: T, b: T) { integer::mul_wide::<T>(a, b) }),
        MulIntMode::Hi => integers!(d, op, HOT, (a, b) { integer::mul_hi::<T>(a, b) }),
        MulIntMode::Lo => integers!(d, op, HOT, (a, b) { integer::mul_lo::<T>(a, b) }),
    };
    mad(MadInt) => match op.mode {
        MulIntMode::Wide => wide!(d, op, (a: T, b: T, c: Wide<T>) { integer::mad_wide::<T>(a, b, c) }),
        MulIntMode::Hi => by_flags!(op.sat as SAT => {
            integers!(d, op, COLD, (a, b, c) { integer::mad_hi::<T, SAT>(a, b, c) })
        }),
        MulIntMode::Lo => integers!(d, op, HOT, (a, b, c) { integer::mad_lo::<T>(a, b, c) }),
    };
    mul24(Mul24) => match op.mode {
        Mul24Mode::Hi => integers!(d, op, COLD, (a, b) { integer::mul24_hi::<T>(a, b) }),
        Mul24Mode::Lo => integers!(d, op, COLD, (a, b) { integer::mul24_lo::<T>(a, b) }),
    };
    mad24(Mad24) => match op.mode {
        Mul24Mode::Hi => by_flags!(op.sat as SAT => {
            integers!(d, op, COLD, (a, b, c) { integer::mad24_hi::<T, SAT>(a, b, c) })
        }),
        Mul24Mode::Lo => integers!(d, op, COLD, (a, b, c) { integer::mad24_lo::<T>(a, b, c) }),
    };
    sad(Sad) => integers!(d, op, COLD, (a, b, c) { integer::sad::<T>(a, b, c) });
    div(DivInt) => integers!(d, op, COLD, (a, b) { integer::div::<T>(a, b) });
    rem(RemInt) => integers!(d, op, COLD, (a, b) { integer::rem::<T>(a, b) });
    abs(AbsInt) => integers!(d, op, HOT, (a) { integer::abs::<T>(a) });
    neg(NegInt) => integers!(d, op, HOT, (a) { integer::neg::<T>(a) });
    min(MinInt) => by_flags!(op.relu as RELU => integers!(d, op, !RELU, (a, b) { integer::min::<T, RELU>(a, b) }));
    max(MaxInt) => by_flags!(op.relu as RELU => integers!(d, op, !RELU, (a, b) { integer::max::<T, RELU>(a, b) }));
    add_x2(AddIntX2) => pairs!(d, op, |a, b| integer::add::<T, false>(a, b));
    min_x2(MinIntX2) => by_flags!(op.relu as RELU => pairs!(d, op, |a, b| integer::min::<T, RELU>(a, b)));
    max_x2(MaxIntX2) => by_flags!(op.relu as RELU => pairs!(d, op, |a, b| integer::max::<T, RELU>(a, b)));
    dp4a(Dp4a) => {
        let [a, b] = [op.atype, op.btype].map(is_signed);
        by_flags!(a as A, b as B => {
            lanes!(d, op, COLD, (a: u32, b: u32, c: u32) -> u32 { packed::dp4a::<A, B>(a, b, c) })
        })
    };
    dp2a(Dp2a) => {
        let [a, b] = [op.atype, op.btype].map(is_signed);
        let hi = op.mode == Mul24Mode::Hi;
        by_flags!(hi as HI, a as A, b as B => {
            lanes!(d, op, COLD, (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<HI, A, B>(a, b, c) })
        })
    };
    add_carry_out(AddCarryOut) => carry::<Add, 2>(d, op.ty, op.d, [&op.a, &op.b], Carry::starts(false));
    add_carry_in(AddCarryIn) => carry::<Add, 2>(d, op.ty, op.d, [&op.a, &op.b], Carry::goes_on(op.cc));
    // The carry of a subtraction is set when nothing is borrowed.
    sub_borrow_out(SubBorrowOut) => carry::<Sub, 2>(d, op.ty, op.d, [&op.a, &op.b], Carry::starts(true));
    sub_borrow_in(SubBorrowIn) => carry::<Sub, 2>(d, op.ty, op.d, [&op.a, &op.b], Carry::goes_on(op.cc));
    mad_carry_out(MadCarryOut) => match op.mode {
        Mul24Mode::Hi => carry::<MadHi, 3>(d, op.ty, op.d, [&op.a, &op.b, &op.c], Carry::starts(false)),
        Mul24Mode::Lo => carry::<MadLo, 3>(d, op.ty, op.d, [&op.a, &op.b, &op.c], Carry::starts(false)),
    };
    mad_carry_in(MadCarryIn) => match op.mode {
        Mul24Mode::Hi => carry::<MadHi, 3>(d, op.ty, op.d, [&op.a, &op.b, &op.c], Carry::goes_on(op.cc)),
        Mul24Mode::Lo => carry::<MadLo, 3>(d, op.ty, op.d, [&op.a, &op.b, &op.c], Carry::goes_on(op.cc)),
    };
}

/// What an instruction does with `CC.CF`.
struct Carry {
    /// The carry in, if it is not that of `CC.CF`.
    first: Option<bool>,
    /// Whether `CC.CF` gets the carry out.
    out: bool,
}

impl Carry {
    fn starts(first: bool) -> Self {
        Self { first: Some(first), out: true }
    }

    fn goes_on(cc: bool) -> Self {
        Self { first: None, out: cc }
    }
}

fn carry<F: WithCarry, const N: usize>(
    d: &mut Decoder<'_>,
    ty: ScalarType,
    to: Def,
    values: [&Value; N],
    carry: Carry,
) -> Decoded {
    let to = d.write_plane(to, ty.bits())?;
    let first = d.read_plane(values[0], ty.bits())?;
    // An instruction of two has its first in the place of the third.
    let mut sources = [first; 3];
    for (source, value) in sources.iter_mut().zip(values).skip(1) {
        *source = d.read_plane(value, ty.bits())?;
    }
    let [a, b, c] = sources;
    let carry_in = carry.first.map_or(CarryIn::Predicate(d.frame.carry()), CarryIn::Constant);
    let carry_out = carry.out.then(|| d.frame.carry());
    let function = by_type!(ty, T => Ok(select::<CarryBody<F, T>>(d.level)))?;
    d.emit(function.with(CarryOperation { d: to, a, b, c, carry_in, carry_out }))
}
