//! Integer arithmetic with carry (PTX ISA, "Extended-Precision Integer Arithmetic Instructions").

use super::decoder::{Decoded, Decoder, decoders};
use crate::operation::CarryIn;
use crate::operation::kinds::Carry;
use crate::ops::body::select;
use crate::ops::carry::{Add, CarryBody, MadHi, MadLo, Sub, WithCarry};
use ir::by_listed_type;
use ir::instruction::Mul24Mode;
use ir::operand::{Def, Value};
use ptx::types::ScalarType;

decoders! { d, op:
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
    let function = by_listed_type!(ty, T in [U16: u16, S16: i16, U32: u32, S32: i32, U64: u64, S64: i64] => {
        Ok(select::<CarryBody<F, T>>(d.level))
    })?;
    d.emit(function.with(Carry { d: to, a, b, c, carry_in, carry_out }))
}
