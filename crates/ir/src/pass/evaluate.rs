//! The results of instructions on constants: integers, logic and predicates, by the functions of `numerics`, which
//! engines execute too. What is not here is not folded; floating point stays with the engines, whose modes (`.ftz`,
//! rounding, NaNs) they choose functions for.

use crate::instruction::{MadInt, MulInt, MulIntMode, Op, SetIntCmp};
use crate::operand::{Predicate, Value};
use numerics::integer::Int;
use numerics::{bits, compare, convert, integer};
use ptx::types::ScalarType;

/// Binds `$T` to the integer type of `numerics` that a type of PTX is.
macro_rules! with_int {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            ScalarType::U8 | ScalarType::B8 => {
                type $T = u8;
                Some($body)
            }
            ScalarType::S8 => {
                type $T = i8;
                Some($body)
            }
            ScalarType::U16 | ScalarType::B16 => {
                type $T = u16;
                Some($body)
            }
            ScalarType::S16 => {
                type $T = i16;
                Some($body)
            }
            ScalarType::U32 | ScalarType::B32 => {
                type $T = u32;
                Some($body)
            }
            ScalarType::S32 => {
                type $T = i32;
                Some($body)
            }
            ScalarType::U64 | ScalarType::B64 => {
                type $T = u64;
                Some($body)
            }
            ScalarType::S64 => {
                type $T = i64;
                Some($body)
            }
            _ => None,
        }
    };
}

/// The one result of an instruction, as the bits of a register of type `register`; `None` if its operands are not all
/// constants, or it is not among those that are folded.
pub(super) fn result(op: &Op, register: ScalarType) -> Option<u64> {
    let bits = compute(op)?;
    Some(bits & (u64::MAX >> (64 - register.bits().clamp(1, 64))))
}

fn known(value: &Value) -> Option<u64> {
    match value {
        Value::Constant(bits) => Some(*bits),
        _ => None,
    }
}

fn count(value: &Value) -> Option<u32> {
    Some(known(value)? as u32)
}

fn truth(predicate: &Predicate) -> Option<bool> {
    Some((known(&predicate.value)? != 0) != predicate.negated)
}

macro_rules! unary {
    ($op:ident, $f:path) => {{
        let a = known(&$op.a)?;
        with_int!($op.ty, T => $f(T::from_u64(a)).to_u64())
    }};
}

macro_rules! binary {
    ($op:ident, $f:expr) => {{
        let (a, b) = (known(&$op.a)?, known(&$op.b)?);
        with_int!($op.ty, T => {
            let f: fn(T, T) -> T = $f;
            f(T::from_u64(a), T::from_u64(b)).to_u64()
        })
    }};
}

/// The result with as many bits as it has, or sign-extended.
fn compute(op: &Op) -> Option<u64> {
    match op {
        Op::AddInt(op) if !op.sat => binary!(op, integer::add::<T, false>),
        Op::SubInt(op) if !op.sat => binary!(op, integer::sub::<T, false>),
        Op::MulInt(op) => multiply(op),
        Op::MadInt(op) if !op.sat => multiply_add(op),
        Op::DivInt(op) => binary!(op, integer::div),
        Op::RemInt(op) => binary!(op, integer::rem),
        Op::MinInt(op) if !op.relu => binary!(op, integer::min::<T, false>),
        Op::MaxInt(op) if !op.relu => binary!(op, integer::max::<T, false>),
        Op::AbsInt(op) => unary!(op, integer::abs),
        Op::NegInt(op) => unary!(op, integer::neg),
        Op::Not(op) => unary!(op, Int::not),
        Op::And(op) => binary!(op, |a, b| a & b),
        Op::Or(op) => binary!(op, |a, b| a | b),
        Op::Xor(op) => binary!(op, |a, b| a ^ b),
        Op::Shl(op) => {
            let (a, by) = (known(&op.a)?, count(&op.b)?);
            with_int!(op.ty, T => bits::shl(T::from_u64(a), by).to_u64())
        }
        Op::Shr(op) => {
            let (a, by) = (known(&op.a)?, count(&op.b)?);
            with_int!(op.ty, T => bits::shr(T::from_u64(a), by).to_u64())
        }
        Op::Bfe(op) => {
            let (a, position, length) = (known(&op.a)?, count(&op.b)?, count(&op.c)?);
            with_int!(op.ty, T => bits::bfe(T::from_u64(a), position, length).to_u64())
        }
        Op::Popc(op) => {
            let a = known(&op.a)?;
            with_int!(op.ty, T => u64::from(bits::popc(T::from_u64(a))))
        }
        Op::Clz(op) => {
            let a = known(&op.a)?;
            with_int!(op.ty, T => u64::from(bits::clz(T::from_u64(a))))
        }
        Op::CvtInt(op) if !op.sat => {
            let a = known(&op.a)?;
            with_int!(op.atype, S => with_int!(op.dtype, D => {
                convert::int_to_int::<S, D, false>(S::from_u64(a)).to_u64()
            }))?
        }
        Op::Selp(op) => known(if truth(&op.c)? { &op.a } else { &op.b }),
        Op::SetpInt(op) if op.combine.is_none() && op.q.is_none() => {
            let (a, b) = (known(&op.a)?, known(&op.b)?);
            compared(op.cmp, op.ty, a, b).map(u64::from)
        }
        Op::AndPred(op) => Some(u64::from(truth(&op.a)? & truth(&op.b)?)),
        Op::OrPred(op) => Some(u64::from(truth(&op.a)? | truth(&op.b)?)),
        Op::XorPred(op) => Some(u64::from(truth(&op.a)? ^ truth(&op.b)?)),
        Op::NotPred(op) => Some(u64::from(!truth(&op.a)?)),
        _ => None,
    }
}

fn multiply(op: &MulInt) -> Option<u64> {
    let (a, b) = (known(&op.a)?, known(&op.b)?);
    with_int!(op.ty, T => {
        let (a, b) = (T::from_u64(a), T::from_u64(b));
        match op.mode {
            MulIntMode::Lo => integer::mul_lo(a, b).to_u64(),
            MulIntMode::Hi => integer::mul_hi(a, b).to_u64(),
            MulIntMode::Wide => integer::mul_wide(a, b) as u64,
        }
    })
}

fn multiply_add(op: &MadInt) -> Option<u64> {
    let (a, b, c) = (known(&op.a)?, known(&op.b)?, known(&op.c)?);
    with_int!(op.ty, T => {
        let (a, b) = (T::from_u64(a), T::from_u64(b));
        match op.mode {
            MulIntMode::Lo => integer::mad_lo(a, b, T::from_u64(c)).to_u64(),
            MulIntMode::Hi => integer::mad_hi::<T, false>(a, b, T::from_u64(c)).to_u64(),
            MulIntMode::Wide => integer::mad_wide(a, b, c as <T as Int>::Wide) as u64,
        }
    })
}

/// `setp`: `lo`, `ls`, `hi` and `hs` compare as unsigned.
fn compared(cmp: SetIntCmp, ty: ScalarType, a: u64, b: u64) -> Option<bool> {
    macro_rules! compare {
        ($C:ident) => {
            with_int!(ty, T => compare::setp_int::<compare::$C, T>(T::from_u64(a), T::from_u64(b)))
        };
    }
    match cmp {
        SetIntCmp::Eq => compare!(Eq),
        SetIntCmp::Ne => compare!(Ne),
        SetIntCmp::Lt | SetIntCmp::Lo => compare!(Lt),
        SetIntCmp::Le | SetIntCmp::Ls => compare!(Le),
        SetIntCmp::Gt | SetIntCmp::Hi => compare!(Gt),
        SetIntCmp::Ge | SetIntCmp::Hs => compare!(Ge),
    }
}
