//! Which lane function an instruction is, as the chapters say it.
//!
//! The macros of [`crate::choice`] name the types and constants that an instruction says; [`lanes!`] makes a function
//! with them, tells by those names what it was chosen by, and gives it to a visitor. In [`unsaid`] the names stand for
//! what an instruction does not say.

/// What an instruction has not said.
pub(super) mod unsaid {
    pub(crate) type R = numerics::rounding::Rn;
    pub(crate) const FTZ: bool = false;
    pub(crate) const SAT: bool = false;
    pub(crate) const SATFINITE: bool = false;
    pub(crate) const RELU: bool = false;
    pub(crate) const NAN: bool = false;
    pub(crate) const XORSIGN: bool = false;
    pub(crate) const OOB: bool = false;
    pub(crate) const HI: bool = false;
    pub(crate) const PERMUTE: bool = false;
}

/// Says what typed instructions compute: `Instruction => expression;`, over `op`, the instruction, and `to`, the visitor that
/// is told.
macro_rules! lanewise {
    ($to:ident, $op:ident: $($of:ident => $body:expr;)+) => {
        $(impl $crate::lanewise::Lanewise for $crate::instruction::$of {
            fn visit<V: $crate::lanewise::Visitor>(&self, $to: V) -> V::Output {
                // What the names of choices stand for that an expression does not give.
                #[allow(unused_imports)]
                use $crate::lanewise::choose::unsaid::*;
                let $op = self;
                $body
            }
        })+
    };
}

/// Tells a visitor of a function of operands by their names: `lanes!(to, op, (a: u32, b: i32) -> u32 { body })` computes
/// `op.d` from `op.a` and `op.b`.
macro_rules! lanes {
    (@ $to:ident.$visit:ident, $op:ident, $arity:ident($($x:ident: $t:ty),+) -> $r:ty $body:block) => {{
        const fn said(operand: u32, result: u32) -> $crate::lanewise::Choice {
            $crate::lanewise::Choice {
                operand,
                result,
                rounding: <R as numerics::rounding::Rounding>::MODE,
                ftz: FTZ,
                sat: SAT,
                satfinite: SATFINITE,
                relu: RELU,
                nan: NAN,
                xorsign: XORSIGN,
                oob: OOB,
                hi: HI,
                permute: PERMUTE,
            }
        }
        $crate::lane_function!(LaneFunction: $arity($($x: $t),+) -> $r $body by said);
        $to.$visit::<LaneFunction>($op.d, [$($op.$x.into()),+])
    }};
    ($to:ident, $op:ident, ($a:ident: $ta:ty) -> $r:ty $body:block) => {
        lanes!(@ $to.unary, $op, Unary($a: $ta) -> $r $body)
    };
    ($to:ident, $op:ident, ($a:ident: $ta:ty, $b:ident: $tb:ty) -> $r:ty $body:block) => {
        lanes!(@ $to.binary, $op, Binary($a: $ta, $b: $tb) -> $r $body)
    };
    ($to:ident, $op:ident, ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty) -> $r:ty $body:block) => {
        lanes!(@ $to.ternary, $op, Ternary($a: $ta, $b: $tb, $c: $tc) -> $r $body)
    };
    ($to:ident, $op:ident, ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $d:ident: $td:ty) -> $r:ty $body:block) => {
        lanes!(@ $to.quaternary, $op, Quaternary($a: $ta, $b: $tb, $c: $tc, $d: $td) -> $r $body)
    };
}

/// The same for the integer type `op.ty`, in the body `T`; operands and the result are of this type unless stated:
/// `integers!(to, op, (a, b: u32) { bits::shl::<T>(a, b) })`. Types may be listed, where an instruction has few of them.
macro_rules! integers {
    ($to:ident, $op:ident, ($($operands:tt)+) $($rest:tt)+) => {
        $crate::lanewise::choose::integers!(
            $to, $op in [U16 | B16: u16, S16: i16, U32 | B32: u32, S32: i32, U64 | B64: u64, S64: i64],
            ($($operands)+) $($rest)+
        )
    };
    ($to:ident, $op:ident in $types:tt, ($($x:ident $(: $t:ty)?),+) $(-> $r:ty)? $body:block) => {
        $crate::by_listed_type!($op.ty, T in $types => $crate::lanewise::choose::lanes!(
            $to, $op,
            ($($x: $crate::lanewise::choose::stated!(T $(, $t)?)),+)
                -> $crate::lanewise::choose::stated!(T $(, $r)?) $body
        ))
    };
}

/// The stated type, if there is one.
macro_rules! stated {
    ($t:ty) => {
        $t
    };
    ($t:ty, $stated:ty) => {
        $stated
    };
}

pub(super) use {integers, lanes, lanewise, stated};
