//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison
//! Instructions").
//!
//! A comparison is combined with a predicate if there is one. `set` writes it into a register: all ones, or 1.0, for each
//! element. `a > b` is `b < a`, so that there are half as many relations.

use super::Relation;
use super::choose::{lanes, lanewise};
use crate::choice::{NoChoice, by_half, is_packed};
use crate::instruction::{SetFloatCmp, SetIntBool, SetIntCmp};
use crate::operand::{Predicate, Value};
use crate::{by_flags, by_listed_type, lane_function};
use numerics::{compare, format, packed};
use ptx::types::ScalarType;

/// A comparison of two sources, and what it is combined with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test<C> {
    comparison: C,
    /// What values are.
    pub ty: ScalarType,
    /// What is compared, in the order of the relation.
    pub sources: [Value; 2],
    /// How the outcome is combined, and with what.
    pub combine: Option<(SetIntBool, Predicate)>,
}

/// How values are compared.
pub trait Comparison: Copy + 'static {
    /// Whether the sources change places.
    fn swaps(self) -> bool;
    /// Tells a visitor which relation between values of a type, or the elements of such, it is.
    fn relation<V: RelationVisitor>(self, ty: ScalarType, element: Element, to: V) -> V::Output;
}

/// Which value of a register is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// The only one, or the lower half of an `x2` type.
    Low,
    /// The upper half of an `x2` type.
    High,
}

/// Who wants to know which relation a comparison asks for.
pub trait RelationVisitor {
    /// What it makes of that.
    type Output: NoChoice;
    /// It is this one.
    fn relation<F: Relation>(self) -> Self::Output;
}

/// What an instruction compares, in values of a type.
macro_rules! test {
    ($op:ident.$ty:ident, $comparison:expr) => {
        Test::new($comparison, $op.$ty, [$op.a, $op.b], $op.combine.zip($op.c))
    };
}

macro_rules! set {
    ($to:ident, $op:ident, $comparison:expr) => {
        match truth($op.dtype, is_packed($op.stype)) {
            Some(truth) => $to.set($op.d, $op.dtype.bits(), truth, test!($op.stype, $comparison)),
            None => NoChoice::no_choice(format!("set into {}", $op.dtype)),
        }
    };
}

lanewise! { to, op:
    SetpInt => to.setp(op.p, op.q, test!(op.ty, op.cmp));
    SetpFloat => to.setp(op.p, op.q, test!(op.ty, Floats { cmp: op.cmp, ftz: op.ftz }));
    SetpHalf => to.setp(op.p, op.q, test!(op.ty, Halves { cmp: op.cmp, ftz: op.ftz }));
    SetInt => set!(to, op, op.cmp);
    SetFloat => set!(to, op, Floats { cmp: op.cmp, ftz: op.ftz });
    SetHalf => set!(to, op, Halves { cmp: op.cmp, ftz: op.ftz });
    Selp => to.select(op.d, op.ty.bits(), [op.a, op.b], op.c);
    Slct => by_listed_type!(op.dtype, T in [
        B16 | U16 | S16: u16, B32 | U32 | S32 | F32: u32, B64 | U64 | S64 | F64: u64
    ] => match op.ctype {
        ScalarType::F32 => by_flags!(op.ftz as FTZ => {
            lanes!(to, op, (a: T, b: T, c: u32) -> T { compare::slct_f32::<T, FTZ>(a, b, c) })
        }),
        _ => lanes!(to, op, (a: T, b: T, c: i32) -> T { compare::slct_s32::<T>(a, b, c) }),
    });
}

/// What `set` writes for true into one value.
fn truth(dtype: ScalarType, packed: bool) -> Option<u64> {
    use ScalarType as Ty;
    Some(match dtype {
        Ty::F32 => compare::set_float::<format::F32>(true),
        Ty::F16 | Ty::F16x2 => compare::set_float::<format::F16>(true),
        Ty::Bf16 | Ty::Bf16x2 => compare::set_float::<format::Bf16>(true),
        Ty::U16 | Ty::S16 => compare::set_int::<u16>(true).into(),
        Ty::U32 | Ty::S32 if packed => compare::set_int::<u16>(true).into(),
        Ty::U32 | Ty::S32 => compare::set_int::<u32>(true).into(),
        _ => return None,
    })
}

/// Evaluates an expression with a type standing for a comparison.
macro_rules! by_comparison {
    ($cmp:expr, $of:ident [$($($name:ident)|+ => $as:ident),+], $c:ident => $e:expr) => {
        match $cmp {
            $($($of::$name)|+ => { type $c = compare::$as; $e })+
        }
    };
}

/// The same for those of floats.
macro_rules! by_float_comparison {
    ($cmp:expr, $c:ident => $e:expr) => {
        by_comparison!(
            $cmp, SetFloatCmp [
                Eq => Eq, Ne => Ne, Lt | Gt => Lt, Le | Ge => Le, Equ => Equ, Neu => Neu,
                Ltu | Gtu => Ltu, Leu | Geu => Leu, Num => Num, Nan => Nan
            ],
            $c => $e
        )
    };
}

macro_rules! relation {
    ($to:ident, |$a:ident, $b:ident: $t:ty| $body:expr) => {{
        lane_function!(Compared: Relation($a, $b: $t) { $body });
        $to.relation::<Compared>()
    }};
}

/// Of integers. `lo`, `ls`, `hi` and `hs` are written with unsigned types.
impl Comparison for SetIntCmp {
    fn swaps(self) -> bool {
        matches!(self, Self::Gt | Self::Ge | Self::Hi | Self::Hs)
    }

    fn relation<V: RelationVisitor>(self, ty: ScalarType, _: Element, to: V) -> V::Output {
        by_comparison!(
            self, SetIntCmp [Eq => Eq, Ne => Ne, Lt | Lo | Gt | Hi => Lt, Le | Ls | Ge | Hs => Le],
            C => by_listed_type!(ty, T in [
                U16 | B16: u16, S16: i16, U32 | B32: u32, S32: i32, U64 | B64: u64, S64: i64
            ] => relation!(to, |a, b: T| compare::setp_int::<C, T>(a, b)))
        )
    }
}

fn swaps(cmp: SetFloatCmp) -> bool {
    matches!(cmp, SetFloatCmp::Gt | SetFloatCmp::Ge | SetFloatCmp::Gtu | SetFloatCmp::Geu)
}

/// Of `.f32` and `.f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Floats {
    cmp: SetFloatCmp,
    ftz: bool,
}

impl Comparison for Floats {
    fn swaps(self) -> bool {
        swaps(self.cmp)
    }

    fn relation<V: RelationVisitor>(self, ty: ScalarType, _: Element, to: V) -> V::Output {
        by_float_comparison!(self.cmp, C => match ty {
            ScalarType::F64 => relation!(to, |a, b: u64| compare::setp_f64::<C>(a, b)),
            _ => by_flags!(self.ftz as FTZ => relation!(to, |a, b: u32| compare::setp_f32::<C, FTZ>(a, b))),
        })
    }
}

/// Of `.f16` and `.bf16`, one value or two in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Halves {
    cmp: SetFloatCmp,
    ftz: bool,
}

impl Comparison for Halves {
    fn swaps(self) -> bool {
        swaps(self.cmp)
    }

    fn relation<V: RelationVisitor>(self, ty: ScalarType, element: Element, to: V) -> V::Output {
        by_float_comparison!(self.cmp, C => by_half!(ty, H => by_flags!(self.ftz as FTZ => {
            match (is_packed(ty), element) {
                (false, _) => relation!(to, |a, b: u16| compare::setp_half::<C, H, FTZ>(a, b)),
                (true, Element::Low) => relation!(to, |a, b: u32| {
                    compare::setp_half::<C, H, FTZ>(packed::unpack(a).0, packed::unpack(b).0)
                }),
                (true, Element::High) => relation!(to, |a, b: u32| {
                    compare::setp_half::<C, H, FTZ>(packed::unpack(a).1, packed::unpack(b).1)
                }),
            }
        })))
    }
}

impl<C: Comparison> Test<C> {
    fn new(
        comparison: C,
        ty: ScalarType,
        [a, b]: [Value; 2],
        combine: Option<(SetIntBool, Predicate)>,
    ) -> Self {
        let sources = if comparison.swaps() { [b, a] } else { [a, b] };
        Self { comparison, ty, sources, combine }
    }

    /// Whether there are two elements.
    pub fn is_packed(&self) -> bool {
        is_packed(self.ty)
    }

    /// Tells a visitor which relation of the sources it asks for, of one of the elements.
    pub fn relation<V: RelationVisitor>(&self, element: Element, to: V) -> V::Output {
        self.comparison.relation(self.ty, element, to)
    }
}
