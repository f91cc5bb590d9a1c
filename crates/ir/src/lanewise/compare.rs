//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison
//! Instructions").
//!
//! A comparison is combined with a predicate if there is one. `set` writes it into a register: all ones, or 1.0, for each
//! element.

use super::choose::{by_type, lanes};
use super::{LaneFunction, Lanewise, Operand, Read, Word};
use crate::choice::is_packed;
use crate::instruction::{Op, SetFloatCmp, SetIntBool, SetIntCmp};
use crate::operand::{Def, Predicate, Value};
use crate::{by_flags, by_half, by_listed_type};
use numerics::{compare, format, packed};
use ptx::types::ScalarType;

/// Whether the comparison holds, for the lower element and, where there are two, for the upper one.
type Holds = Box<dyn Fn(u64, u64) -> (bool, bool) + Send + Sync>;

/// A comparison of two sources, and what it is combined with.
struct Test<'a> {
    holds: Holds,
    ty: ScalarType,
    sources: [&'a Value; 2],
    combine: Option<SetIntBool>,
    with: Option<&'a Predicate>,
}

macro_rules! test {
    ($op:ident, $ty:expr, $holds:expr) => {
        Test {
            holds: $holds?,
            ty: $ty,
            sources: [&$op.a, &$op.b],
            combine: $op.combine,
            with: $op.c.as_ref(),
        }
    };
}

pub(super) fn function(op: &Op) -> Option<Lanewise> {
    match op {
        // With a second destination they have two results.
        Op::SetpInt(op) if op.q.is_none() => test!(op, op.ty, integers(op.cmp, op.ty)).setp(op.p),
        Op::SetpFloat(op) if op.q.is_none() => test!(op, op.ty, floats(op.cmp, op.ty, op.ftz)).setp(op.p),
        Op::SetpHalf(op) if op.q.is_none() => test!(op, op.ty, floats(op.cmp, op.ty, op.ftz)).setp(op.p),
        Op::SetInt(op) => test!(op, op.stype, integers(op.cmp, op.stype)).set(op.d, op.dtype),
        Op::SetFloat(op) => test!(op, op.stype, floats(op.cmp, op.stype, op.ftz)).set(op.d, op.dtype),
        Op::SetHalf(op) => test!(op, op.stype, floats(op.cmp, op.stype, op.ftz)).set(op.d, op.dtype),
        Op::Selp(op) => by_listed_type!(op.ty, T in [
            B16 | U16 | S16: u16, B32 | U32 | S32 | F32: u32, B64 | U64 | S64 | F64: u64
        ] => lanes!(op, (a: T, b: T, c: bool) -> T { if c { a } else { b } })),
        Op::Slct(op) => by_listed_type!(op.dtype, T in [
            B16 | U16 | S16: u16, B32 | U32 | S32 | F32: u32, B64 | U64 | S64 | F64: u64
        ] => match op.ctype {
            ScalarType::F32 => by_flags!(op.ftz as FTZ => {
                lanes!(op, (a: T, b: T, c: u32) -> T { compare::slct_f32::<T, FTZ>(a, b, c) })
            }),
            _ => lanes!(op, (a: T, b: T, c: i32) -> T { compare::slct_s32::<T>(a, b, c) }),
        }),
        _ => None,
    }
}

impl Test<'_> {
    fn operands(&self) -> Vec<Operand> {
        let [a, b] = self.sources.map(|source| source.read(self.ty.bits()));
        [a, b].into_iter().chain(self.with.map(|with| with.read(bool::BITS))).collect()
    }

    fn lanewise(
        self,
        d: Def,
        bits: u32,
        result: impl Fn((bool, bool)) -> u64 + Send + Sync + 'static,
    ) -> Lanewise {
        let operands = self.operands();
        let Self { holds, combine, .. } = self;
        let function: LaneFunction = Box::new(move |&[a, b, with, _]| {
            let with = bool::from_word(with);
            let combined = |holds: bool| match combine {
                None => holds,
                Some(SetIntBool::And) => holds & with,
                Some(SetIntBool::Or) => holds | with,
                Some(SetIntBool::Xor) => holds ^ with,
            };
            let (low, high) = holds(a, b);
            result((combined(low), combined(high)))
        });
        Lanewise { d, bits, signed: false, operands, function }
    }

    fn setp(self, p: Def) -> Option<Lanewise> {
        Some(self.lanewise(p, bool::BITS, |(low, _)| low.to_word()))
    }

    fn set(self, d: Def, dtype: ScalarType) -> Option<Lanewise> {
        use ScalarType as Ty;
        let pair = is_packed(self.ty);
        let truth = match dtype {
            Ty::F32 => compare::set_float::<format::F32>(true),
            Ty::F16 | Ty::F16x2 => compare::set_float::<format::F16>(true),
            Ty::Bf16 | Ty::Bf16x2 => compare::set_float::<format::Bf16>(true),
            Ty::U16 | Ty::S16 => compare::set_int::<u16>(true).into(),
            Ty::U32 | Ty::S32 if pair => compare::set_int::<u16>(true).into(),
            Ty::U32 | Ty::S32 => compare::set_int::<u32>(true).into(),
            _ => return None,
        };
        Some(self.lanewise(d, dtype.bits(), move |(low, high)| {
            let high = if pair && high { truth << 16 } else { 0 };
            if low { high | truth } else { high }
        }))
    }
}

/// Evaluates an expression with a type standing for a comparison.
macro_rules! by_comparison {
    ($cmp:expr, $of:ident [$($($name:ident)|+ => $as:ident),+], $c:ident => $e:expr) => {
        match $cmp {
            $($($of::$name)|+ => { type $c = compare::$as; $e })+
        }
    };
}

/// `lo`, `ls`, `hi` and `hs` are written with unsigned types.
fn integers(cmp: SetIntCmp, ty: ScalarType) -> Option<Holds> {
    by_comparison!(
        cmp, SetIntCmp [Eq => Eq, Ne => Ne, Lt | Lo => Lt, Le | Ls => Le, Gt | Hi => Gt, Ge | Hs => Ge],
        C => by_type!(ty, T => Some(Box::new(|a, b| {
            (compare::setp_int::<C, T>(T::from_word(a), T::from_word(b)), false)
        })))
    )
}

fn floats(cmp: SetFloatCmp, ty: ScalarType, ftz: bool) -> Option<Holds> {
    by_comparison!(
        cmp, SetFloatCmp [
            Eq => Eq, Ne => Ne, Lt => Lt, Le => Le, Gt => Gt, Ge => Ge, Equ => Equ, Neu => Neu,
            Ltu => Ltu, Leu => Leu, Gtu => Gtu, Geu => Geu, Num => Num, Nan => Nan
        ],
        C => match ty {
            ScalarType::F64 => Some(Box::new(|a, b| (compare::setp_f64::<C>(a, b), false))),
            ScalarType::F32 => by_flags!(ftz as FTZ => {
                Some(Box::new(|a, b| (compare::setp_f32::<C, FTZ>(a as u32, b as u32), false)))
            }),
            // Of one value the upper half is nothing.
            _ => by_half!(ty, H => by_flags!(ftz as FTZ => Some(Box::new(|a, b| {
                let (a, b) = (packed::unpack(a as u32), packed::unpack(b as u32));
                (compare::setp_half::<C, H, FTZ>(a.0, b.0), compare::setp_half::<C, H, FTZ>(a.1, b.1))
            })))),
        }
    )
}
