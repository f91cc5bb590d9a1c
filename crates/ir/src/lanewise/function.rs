//! Functions of a lane's values, as types: so that an engine can have each compiled into loops of its own.

use super::word::Word;
use numerics::rounding::Mode;
use numerics::special::Approximation;
use numerics::special::lookup::Lookup;
use std::marker::PhantomData;

/// What a function was chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Bits of the first operand.
    pub operand: u32,
    /// Bits of the result. That of a relation is one.
    pub result: u32,
    /// How it rounds; to nearest even if it does not say.
    pub rounding: Mode,
    /// `.ftz`
    pub ftz: bool,
    /// `.sat`
    pub sat: bool,
    /// `.satfinite`
    pub satfinite: bool,
    /// `.relu`
    pub relu: bool,
    /// `.NaN`
    pub nan: bool,
    /// `.xorsign.abs`
    pub xorsign: bool,
    /// `.oob`
    pub oob: bool,
    /// `.hi`
    pub hi: bool,
    /// A mode of `prmt`.
    pub permute: bool,
}

impl Choice {
    /// By types of so many bits alone.
    pub const fn of_types(operand: u32, result: u32) -> Self {
        Self {
            operand,
            result,
            rounding: Mode::NearestEven,
            ftz: false,
            sat: false,
            satfinite: false,
            relu: false,
            nan: false,
            xorsign: false,
            oob: false,
            hi: false,
            permute: false,
        }
    }

    /// Whether it rounds to nearest even, as nearly every instruction does, or not at all.
    pub const fn is_nearest(&self) -> bool {
        matches!(self.rounding, Mode::NearestEven)
    }
}

/// A function of the values of a lane.
pub trait Function: 'static {
    /// What it was chosen by.
    const CHOICE: Choice;
}

/// A function of one value.
pub trait Unary: Function {
    /// The operand.
    type A: Word;
    /// The result.
    type R: Word;
    /// The result in a lane.
    fn lane(a: Self::A) -> Self::R;

    /// Whether [`Self::lanes`] takes less time than a loop over lanes.
    const SIDE_BY_SIDE: bool = false;
    /// The results in all lanes of a warp, with vectors of the host.
    #[inline(always)]
    fn lanes<V: Lookup>(_v: V, a: &[Self::A; 32]) -> [Self::R; 32] {
        std::array::from_fn(|l| Self::lane(a[l]))
    }
}

/// An approximation of `.f32`.
#[derive(Debug)]
pub(super) struct Approximated<F, const FTZ: bool>(PhantomData<F>);

impl<F: Approximation + 'static, const FTZ: bool> Function for Approximated<F, FTZ> {
    const CHOICE: Choice = Choice { ftz: FTZ, ..Choice::of_types(32, 32) };
}

impl<F: Approximation + 'static, const FTZ: bool> Unary for Approximated<F, FTZ> {
    type A = u32;
    type R = u32;
    #[inline(always)]
    fn lane(a: u32) -> u32 {
        F::lane(a)
    }
    const SIDE_BY_SIDE: bool = true;
    #[inline(always)]
    fn lanes<V: Lookup>(v: V, a: &[u32; 32]) -> [u32; 32] {
        F::lanes(v, a)
    }
}

/// A function of two values.
pub trait Binary: Function {
    /// The first operand.
    type A: Word;
    /// The second operand.
    type B: Word;
    /// The result.
    type R: Word;
    /// The result in a lane.
    fn lane(a: Self::A, b: Self::B) -> Self::R;
}

/// A function of three values.
pub trait Ternary: Function {
    /// The first operand.
    type A: Word;
    /// The second operand.
    type B: Word;
    /// The third operand.
    type C: Word;
    /// The result.
    type R: Word;
    /// The result in a lane.
    fn lane(a: Self::A, b: Self::B, c: Self::C) -> Self::R;
}

/// A function of four values.
pub trait Quaternary: Function {
    /// The first operand.
    type A: Word;
    /// The second operand.
    type B: Word;
    /// The third operand.
    type C: Word;
    /// The fourth operand.
    type D: Word;
    /// The result.
    type R: Word;
    /// The result in a lane.
    fn lane(a: Self::A, b: Self::B, c: Self::C, d: Self::D) -> Self::R;
}

/// A function of five values.
pub trait Quinary: Function {
    /// The first operand.
    type A: Word;
    /// The second operand.
    type B: Word;
    /// The third operand.
    type C: Word;
    /// The fourth operand.
    type D: Word;
    /// The fifth operand.
    type E: Word;
    /// The result.
    type R: Word;
    /// The result in a lane.
    fn lane(a: Self::A, b: Self::B, c: Self::C, d: Self::D, e: Self::E) -> Self::R;
}

/// A relation between two values.
pub trait Relation: Function {
    /// Their type.
    type T: Word;
    /// Whether it holds in a lane.
    fn holds(a: Self::T, b: Self::T) -> bool;
}

/// A property of a value.
pub trait Property: Function {
    /// Its type.
    type A: Word;
    /// Whether a lane's value has it.
    fn holds(a: Self::A) -> bool;
}

/// Defines a function where it is used: `lane_function!(Add: Binary(a: i32, b: i32) -> i32 { a.wrapping_add(b) })` is a
/// type. What it was chosen by can be told `by` a function of the bits of its first operand and of its result; else that is
/// types alone.
#[macro_export]
macro_rules! lane_function {
    ($vis:vis $name:ident: Property($a:ident: $t:ty) $body:block) => {
        $vis struct $name;
        $crate::lane_function!(@ $name of <$t as $crate::lanewise::Int>::BITS, 1, $crate::lanewise::Choice::of_types);
        impl $crate::lanewise::Property for $name {
            type A = $t;
            #[inline(always)]
            fn holds($a: $t) -> bool $body
        }
    };
    ($vis:vis $name:ident: Relation($a:ident, $b:ident: $t:ty) $body:block) => {
        $vis struct $name;
        $crate::lane_function!(@ $name of <$t as $crate::lanewise::Int>::BITS, 1, $crate::lanewise::Choice::of_types);
        impl $crate::lanewise::Relation for $name {
            type T = $t;
            #[inline(always)]
            fn holds($a: $t, $b: $t) -> bool $body
        }
    };
    ($vis:vis $name:ident: $arity:ident($($x:ident: $t:ty),+) -> $r:ty $body:block) => {
        $crate::lane_function!($vis $name: $arity($($x: $t),+) -> $r $body by $crate::lanewise::Choice::of_types);
    };
    ($vis:vis $name:ident: $arity:ident($a:ident: $ta:ty $(, $x:ident: $t:ty)*) -> $r:ty $body:block by $choice:path) => {
        $vis struct $name;
        $crate::lane_function!(
            @ $name of <$ta as $crate::lanewise::Int>::BITS, <$r as $crate::lanewise::Int>::BITS, $choice
        );
        $crate::lane_function!(@ $name: $arity($a: $ta $(, $x: $t)*) -> $r $body);
    };
    (@ $name:ident of $operand:expr, $result:expr, $choice:path) => {
        impl $crate::lanewise::Function for $name {
            const CHOICE: $crate::lanewise::Choice = $choice($operand, $result);
        }
    };
    (@ $name:ident: Unary($a:ident: $ta:ty) -> $r:ty $body:block) => {
        impl $crate::lanewise::Unary for $name {
            type A = $ta;
            type R = $r;
            #[inline(always)]
            fn lane($a: $ta) -> $r $body
        }
    };
    (@ $name:ident: Binary($a:ident: $ta:ty, $b:ident: $tb:ty) -> $r:ty $body:block) => {
        impl $crate::lanewise::Binary for $name {
            type A = $ta;
            type B = $tb;
            type R = $r;
            #[inline(always)]
            fn lane($a: $ta, $b: $tb) -> $r $body
        }
    };
    (@ $name:ident: Ternary($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty) -> $r:ty $body:block) => {
        impl $crate::lanewise::Ternary for $name {
            type A = $ta;
            type B = $tb;
            type C = $tc;
            type R = $r;
            #[inline(always)]
            fn lane($a: $ta, $b: $tb, $c: $tc) -> $r $body
        }
    };
    (@ $name:ident: Quaternary($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $d:ident: $td:ty) -> $r:ty $body:block) => {
        impl $crate::lanewise::Quaternary for $name {
            type A = $ta;
            type B = $tb;
            type C = $tc;
            type D = $td;
            type R = $r;
            #[inline(always)]
            fn lane($a: $ta, $b: $tb, $c: $tc, $d: $td) -> $r $body
        }
    };
    (@ $name:ident: Quinary($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $d:ident: $td:ty, $e:ident: $te:ty) -> $r:ty $body:block) => {
        impl $crate::lanewise::Quinary for $name {
            type A = $ta;
            type B = $tb;
            type C = $tc;
            type D = $td;
            type E = $te;
            type R = $r;
            #[inline(always)]
            fn lane($a: $ta, $b: $tb, $c: $tc, $d: $td, $e: $te) -> $r $body
        }
    };
}
