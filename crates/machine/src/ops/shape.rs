//! The loops over lanes, generic over what is computed in a lane.
//!
//! A lane function is a type with an associated function ([`Unary`], [`Binary`], [`Ternary`], [`Relation`]); a family
//! is that function compiled for the operand kinds that occur: planes, scalars, or both. The decoder picks a member.

use super::body::{Body, function, plain, select};
use crate::exec::Exec;
use crate::image::Function;
use crate::lanes::simd::{Level, Simd, warp_by_warp};
use crate::lanes::{Cells, Condition, LANES, Lane, Operand, Plane};
use crate::operation::kinds::{
    Binary as BinaryFields, Compare, Outcome, Select, Splat, Ternary as TernaryFields, Unary as UnaryFields,
};
use crate::operation::{Combine, Fields};
use std::cell::Cell;
use std::marker::PhantomData;

/// A function of one lane value.
pub(crate) trait Unary: 'static {
    type A: Lane;
    type R: Lane;
    /// Whether a wider register than `R` gets the result's sign above it, and not zeros.
    const SIGNED: bool = false;
    fn lane(a: Self::A) -> Self::R;
}

/// A function of two lane values.
pub(crate) trait Binary: 'static {
    type A: Lane;
    type B: Lane;
    type R: Lane;
    const SIGNED: bool = false;
    fn lane(a: Self::A, b: Self::B) -> Self::R;
}

/// A function of three lane values.
pub(crate) trait Ternary: 'static {
    type A: Lane;
    type B: Lane;
    type C: Lane;
    type R: Lane;
    const SIGNED: bool = false;
    fn lane(a: Self::A, b: Self::B, c: Self::C) -> Self::R;
}

/// A relation between two lane values.
pub(crate) trait Relation: 'static {
    type T: Lane;
    fn lane(a: Self::T, b: Self::T) -> bool;
}

/// Where an operand comes from.
pub(crate) trait Kind: 'static {
    /// What is known of it before the loop over warps.
    type Source<'f, T: Lane>: Copy;
    /// The lanes of one warp.
    type Lanes<T: Lane>: Copy;
    fn source<T: Lane>(cells: Cells<'_>, operand: Operand) -> Self::Source<'_, T>;
    fn lanes<T: Lane>(source: Self::Source<'_, T>, warp: usize) -> Self::Lanes<T>;
    fn lane<T: Lane>(lanes: &Self::Lanes<T>, lane: usize) -> T;
}

/// A plane.
pub(crate) struct V;
/// A scalar, the same for all lanes.
pub(crate) struct S;

impl Kind for V {
    type Source<'f, T: Lane> = &'f [Cell<Plane<T>>];
    type Lanes<T: Lane> = [T; LANES];
    #[inline(always)]
    fn source<T: Lane>(cells: Cells<'_>, operand: Operand) -> &[Cell<Plane<T>>] {
        cells.planes(operand.index())
    }
    #[inline(always)]
    fn lanes<T: Lane>(source: &[Cell<Plane<T>>], warp: usize) -> [T; LANES] {
        source[warp].get().0
    }
    #[inline(always)]
    fn lane<T: Lane>(lanes: &[T; LANES], lane: usize) -> T {
        lanes[lane]
    }
}

impl Kind for S {
    type Source<'f, T: Lane> = T;
    type Lanes<T: Lane> = T;
    #[inline(always)]
    fn source<T: Lane>(cells: Cells<'_>, operand: Operand) -> T {
        cells.scalar(operand.index())
    }
    #[inline(always)]
    fn lanes<T: Lane>(source: T, _warp: usize) -> T {
        source
    }
    #[inline(always)]
    fn lane<T: Lane>(lanes: &T, _lane: usize) -> T {
        *lanes
    }
}

/// `map!(I, R, x, d, |cells, warp| { a = source; .. lanes })`: evaluates the sources, then `lanes`, an `[R; 32]`, for
/// every warp with an active lane, and stores it in the active lanes of plane `d`.
///
/// A macro and not a function of a closure: a closure would be compiled without the vector features of its caller.
macro_rules! map {
    ($simd:ty, $r:ty, $x:expr, $d:expr, |$cells:ident, $warp:ident| {
        $($source:ident = $from:expr;)*
        $lanes:block
    }) => {{
        let x = &mut *$x;
        let (mask, full, warps) = (&x.mask, x.full, x.warps);
        let $cells = x.files.cells(warps);
        let to = $cells.planes::<$r>($d.index());
        $(let $source = $from;)*
        // Two loops: the full one must not carry the mask tests along.
        if full {
            for $warp in 0..warps {
                $crate::lanes::simd::warp_by_warp();
                let lanes: [$r; $crate::lanes::LANES] = $lanes;
                to[$warp].set($crate::lanes::Plane(lanes));
            }
        } else {
            for $warp in 0..warps {
                if mask[$warp] != 0 {
                    $crate::lanes::simd::warp_by_warp();
                    let lanes: [$r; $crate::lanes::LANES] = $lanes;
                    let old = to[$warp].get().0;
                    let blended = <$r as $crate::lanes::Lane>::blend::<$simd>(mask[$warp], lanes, old);
                    to[$warp].set($crate::lanes::Plane(blended));
                }
            }
        }
    }};
}
pub(crate) use map;

struct UnaryBody<F>(PhantomData<F>);
impl<F: Unary> Body for UnaryBody<F> {
    type Fields = UnaryFields;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &UnaryFields, pc: u32) -> u32 {
        map!(I, F::R, x, op.d, |cells, warp| {
            a = cells.planes::<F::A>(op.a.index());
            {
                let a = a[warp].get().0;
                let mut result = [F::R::default(); LANES];
                for l in 0..LANES {
                    result[l] = F::lane(a[l]);
                }
                result
            }
        });
        pc + 1
    }
}

struct BinaryBody<F, A, B>(PhantomData<(F, A, B)>);
impl<F: Binary, A: Kind, B: Kind> Body for BinaryBody<F, A, B> {
    type Fields = BinaryFields;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &BinaryFields, pc: u32) -> u32 {
        map!(I, F::R, x, op.d, |cells, warp| {
            a = A::source::<F::A>(cells, op.a);
            b = B::source::<F::B>(cells, op.b);
            {
                let (a, b) = (A::lanes(a, warp), B::lanes(b, warp));
                let mut result = [F::R::default(); LANES];
                for l in 0..LANES {
                    result[l] = F::lane(A::lane(&a, l), B::lane(&b, l));
                }
                result
            }
        });
        pc + 1
    }
}

struct TernaryBody<F, A, B, C>(PhantomData<(F, A, B, C)>);
impl<F: Ternary, A: Kind, B: Kind, C: Kind> Body for TernaryBody<F, A, B, C> {
    type Fields = TernaryFields;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &TernaryFields, pc: u32) -> u32 {
        map!(I, F::R, x, op.d, |cells, warp| {
            a = A::source::<F::A>(cells, op.a);
            b = B::source::<F::B>(cells, op.b);
            c = C::source::<F::C>(cells, op.c);
            {
                let (a, b, c) = (A::lanes(a, warp), B::lanes(b, warp), C::lanes(c, warp));
                let mut result = [F::R::default(); LANES];
                for l in 0..LANES {
                    result[l] = F::lane(A::lane(&a, l), B::lane(&b, l), C::lane(&c, l));
                }
                result
            }
        });
        pc + 1
    }
}

fn unary_scalar<F: Unary>(x: &mut Exec<'_>, op: &UnaryFields, pc: u32) -> u32 {
    let s = &mut x.files.s;
    s[op.d.index()] = F::lane(F::A::from_scalar(s[op.a.index()])).to_scalar();
    pc + 1
}

fn binary_scalar<F: Binary>(x: &mut Exec<'_>, op: &BinaryFields, pc: u32) -> u32 {
    let s = &mut x.files.s;
    let (a, b) = (F::A::from_scalar(s[op.a.index()]), F::B::from_scalar(s[op.b.index()]));
    s[op.d.index()] = F::lane(a, b).to_scalar();
    pc + 1
}

fn ternary_scalar<F: Ternary>(x: &mut Exec<'_>, op: &TernaryFields, pc: u32) -> u32 {
    let s = &mut x.files.s;
    let (a, b) = (F::A::from_scalar(s[op.a.index()]), F::B::from_scalar(s[op.b.index()]));
    s[op.d.index()] = F::lane(a, b, F::C::from_scalar(s[op.c.index()])).to_scalar();
    pc + 1
}

/// The compiled members of a family with up to three sources. Bit `i` of an index into `planes` means that source `i`
/// is a scalar; `None` where that member is not worth its code and the decoder must splat the scalar first.
pub(crate) struct Family<F> {
    /// All sources and the destination are scalars.
    pub(crate) scalar: Function<F>,
    /// The destination is a plane.
    pub(crate) planes: [Option<Function<F>>; 8],
}

/// A family that occurs often: it gets the members that compilers' output needs, for every level. Whether it does is a constant, so that members
/// which no decoder asks for are never compiled: they would be most of the code of this crate.
pub(crate) const HOT: bool = true;
/// A family that does not: it gets only planes, for the baseline level.
pub(crate) const COLD: bool = false;

/// The family of a unary function.
pub(crate) fn unary<F: Unary, const HOT: bool>(level: Level) -> Family<UnaryFields> {
    let mut planes = [None; 8];
    if HOT {
        planes[0] = Some(select::<UnaryBody<F>>(level));
    } else {
        planes[0] = Some(plain::<UnaryBody<F>>());
    }
    Family { scalar: function!(unary_scalar::<F>), planes }
}

/// The family of a binary function.
pub(crate) fn binary<F: Binary, const HOT: bool>(level: Level) -> Family<BinaryFields> {
    let mut planes = [None; 8];
    if HOT {
        planes[0b00] = Some(select::<BinaryBody<F, V, V>>(level));
        planes[0b10] = Some(select::<BinaryBody<F, V, S>>(level));
    } else {
        planes[0] = Some(plain::<BinaryBody<F, V, V>>());
    }
    Family { scalar: function!(binary_scalar::<F>), planes }
}

/// The family of a ternary function.
pub(crate) fn ternary<F: Ternary, const HOT: bool>(level: Level) -> Family<TernaryFields> {
    let mut planes = [None; 8];
    if HOT {
        planes[0b000] = Some(select::<TernaryBody<F, V, V, V>>(level));
        planes[0b010] = Some(select::<TernaryBody<F, V, S, V>>(level));
        planes[0b100] = Some(select::<TernaryBody<F, V, V, S>>(level));
    } else {
        planes[0] = Some(plain::<TernaryBody<F, V, V, V>>());
    }
    Family { scalar: function!(ternary_scalar::<F>), planes }
}

/// The kind of operations that compute lane by lane from `N` operands.
pub(crate) trait Lanewise<const N: usize>: Fields {
    /// `d` = a function of the sources.
    fn new(d: Operand, sources: [Operand; N]) -> Self;
}

impl Lanewise<1> for UnaryFields {
    fn new(d: Operand, [a]: [Operand; 1]) -> Self {
        Self { d, a }
    }
}

impl Lanewise<2> for BinaryFields {
    fn new(d: Operand, [a, b]: [Operand; 2]) -> Self {
        Self { d, a, b }
    }
}

impl Lanewise<3> for TernaryFields {
    fn new(d: Operand, [a, b, c]: [Operand; 3]) -> Self {
        Self { d, a, b, c }
    }
}

/// A lane function of `N` values, whichever of the three it is: what decoding asks of it.
pub(crate) trait LaneFunction<const N: usize> {
    /// The kind of its operations.
    type Fields: Lanewise<N>;
    /// The width of its result.
    const RESULT: u32;
    /// See [`Unary::SIGNED`].
    const SIGNED: bool;
    /// The widths of its values.
    const VALUES: [u32; N];
    /// Its family.
    fn family<const HOT: bool>(level: Level) -> Family<Self::Fields>;
}

macro_rules! lane_function {
    ($n:literal, $arity:ident, $fields:ident, $family:ident, $($value:ident),+) => {
        impl<F: $arity> LaneFunction<$n> for F {
            type Fields = $fields;
            const RESULT: u32 = F::R::BITS;
            const SIGNED: bool = F::SIGNED;
            const VALUES: [u32; $n] = [$(F::$value::BITS),+];
            fn family<const HOT: bool>(level: Level) -> Family<$fields> {
                $family::<F, HOT>(level)
            }
        }
    };
}
lane_function!(1, Unary, UnaryFields, unary, A);
lane_function!(2, Binary, BinaryFields, binary, A, B);
lane_function!(3, Ternary, TernaryFields, ternary, A, B, C);

/// Where the results of a comparison go, in the active lanes.
#[derive(Clone, Copy)]
pub(crate) struct Predicates<'f> {
    to: [Option<&'f [Cell<u32>]>; 2],
    with: Option<&'f [Cell<u32>]>,
    flip: u32,
    combine: Option<Combine>,
}

impl<'f> Predicates<'f> {
    /// Those that a comparison names.
    #[inline(always)]
    pub(crate) fn of(cells: Cells<'f>, outcome: &Outcome) -> Self {
        Self {
            to: [outcome.p, outcome.q].map(|predicate| predicate.map(|p| cells.predicate(p.index()))),
            with: outcome.with.map(|condition| cells.predicate(condition.index())),
            flip: outcome.with.map_or(0, Condition::flip),
            combine: outcome.combine,
        }
    }

    /// Stores what a warp's comparison gave.
    #[inline(always)]
    pub(crate) fn store(self, warp: usize, mask: u32, relation: u32) {
        let mut results = [relation, !relation];
        if let (Some(with), Some(combine)) = (self.with, self.combine) {
            let c = with[warp].get() ^ self.flip;
            for r in &mut results {
                *r = match combine {
                    Combine::And => *r & c,
                    Combine::Or => *r | c,
                    Combine::Xor => *r ^ c,
                };
            }
        }
        for (to, r) in self.to.into_iter().zip(results) {
            if let Some(to) = to {
                to[warp].set((to[warp].get() & !mask) | (r & mask));
            }
        }
    }
}

struct CompareBody<F, A, B>(PhantomData<(F, A, B)>);
impl<F: Relation, A: Kind, B: Kind> Body for CompareBody<F, A, B> {
    type Fields = Compare;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Compare, pc: u32) -> u32 {
        let cells = x.files.cells(x.warps);
        let (a, b) = (A::source::<F::T>(cells, op.a), B::source::<F::T>(cells, op.b));
        let to = Predicates::of(cells, &op.outcome);
        for warp in 0..x.warps {
            let mask = x.mask[warp];
            if mask != 0 {
                warp_by_warp();
                let (a, b) = (A::lanes(a, warp), B::lanes(b, warp));
                let mut truth = [F::T::default(); LANES];
                for l in 0..LANES {
                    truth[l] = F::T::truth(F::lane(A::lane(&a, l), B::lane(&b, l)));
                }
                to.store(warp, mask, F::T::bits::<I>(truth));
            }
        }
        pc + 1
    }
}

/// A comparison of scalars whose predicate is still stored for every warp.
fn compare_scalars<F: Relation>(x: &mut Exec<'_>, op: &Compare, pc: u32) -> u32 {
    let cells = x.files.cells(x.warps);
    let relation = if F::lane(cells.scalar(op.a.index()), cells.scalar(op.b.index())) { !0 } else { 0 };
    let to = Predicates::of(cells, &op.outcome);
    for warp in 0..x.warps {
        to.store(warp, x.mask[warp], relation);
    }
    pc + 1
}

/// The family of a comparison; `scalar` compares scalars into a predicate.
pub(crate) fn compare<F: Relation, const HOT: bool>(level: Level) -> Family<Compare> {
    let mut planes = [None; 8];
    if HOT {
        planes[0b00] = Some(select::<CompareBody<F, V, V>>(level));
        planes[0b10] = Some(select::<CompareBody<F, V, S>>(level));
    } else {
        planes[0] = Some(plain::<CompareBody<F, V, V>>());
    }
    Family { scalar: function!(compare_scalars::<F>), planes }
}

struct SelectBody<T, A, B>(PhantomData<(T, A, B)>);
impl<T: Lane, A: Kind, B: Kind> Body for SelectBody<T, A, B> {
    type Fields = Select;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Select, pc: u32) -> u32 {
        map!(I, T, x, op.d, |cells, warp| {
            a = A::source::<T>(cells, op.a);
            b = B::source::<T>(cells, op.b);
            choose = cells.predicate(op.predicate.index());
            {
                let (a, b) = (A::lanes(a, warp), B::lanes(b, warp));
                let (mut yes, mut no) = ([T::default(); LANES], [T::default(); LANES]);
                for l in 0..LANES {
                    yes[l] = A::lane(&a, l);
                    no[l] = B::lane(&b, l);
                }
                T::blend::<I>(choose[warp].get(), yes, no)
            }
        });
        pc + 1
    }
}

/// `d = predicate ? a : b` of lanes of `bits`, by which of `a` and `b` are scalars; there is no scalar member, since a
/// predicate is never a scalar.
pub(crate) fn select_by_predicate(bits: u32, level: Level) -> [Function<Select>; 4] {
    fn members<T: Lane>(level: Level) -> [Function<Select>; 4] {
        [
            select::<SelectBody<T, V, V>>(level),
            select::<SelectBody<T, S, V>>(level),
            select::<SelectBody<T, V, S>>(level),
            select::<SelectBody<T, S, S>>(level),
        ]
    }
    match bits {
        16 => members::<u16>(level),
        32 => members::<u32>(level),
        _ => members::<u64>(level),
    }
}

struct SplatBody<T>(PhantomData<T>);
impl<T: Lane> Body for SplatBody<T> {
    type Fields = Splat;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Splat, pc: u32) -> u32 {
        map!(I, T, x, op.d, |cells, warp| {
            a = cells.scalar::<T>(op.a.index());
            { [a; LANES] }
        });
        pc + 1
    }
}

/// Plane `d` of `bits` = scalar `a` in every active lane.
pub(crate) fn splat(bits: u32, level: Level) -> Function<Splat> {
    match bits {
        16 => select::<SplatBody<u16>>(level),
        32 => select::<SplatBody<u32>>(level),
        _ => select::<SplatBody<u64>>(level),
    }
}

/// Defines a lane function where it is used: `lane_fn!(Add: Binary(a: i32, b: i32) -> i32 { a.wrapping_add(b) })` is a
/// type. Its parameters are integers as PTX has them, see [`crate::lanes::Register`].
macro_rules! lane_fn {
    ($vis:vis $name:ident: Unary($a:ident: $ta:ty) -> $r:ty $body:block) => {
        $vis struct $name;
        impl $crate::ops::shape::Unary for $name {
            type A = $crate::lanes::LaneOf<$ta>;
            $crate::ops::shape::lane_fn!(@ $r, ($a: A as $ta), $body);
        }
    };
    ($vis:vis $name:ident: Binary($a:ident: $ta:ty, $b:ident: $tb:ty) -> $r:ty $body:block) => {
        $vis struct $name;
        impl $crate::ops::shape::Binary for $name {
            type A = $crate::lanes::LaneOf<$ta>;
            type B = $crate::lanes::LaneOf<$tb>;
            $crate::ops::shape::lane_fn!(@ $r, ($a: A as $ta, $b: B as $tb), $body);
        }
    };
    ($vis:vis $name:ident: Ternary($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty) -> $r:ty $body:block) => {
        $vis struct $name;
        impl $crate::ops::shape::Ternary for $name {
            type A = $crate::lanes::LaneOf<$ta>;
            type B = $crate::lanes::LaneOf<$tb>;
            type C = $crate::lanes::LaneOf<$tc>;
            $crate::ops::shape::lane_fn!(@ $r, ($a: A as $ta, $b: B as $tb, $c: C as $tc), $body);
        }
    };
    ($vis:vis $name:ident: Relation($a:ident, $b:ident: $t:ty) $body:block) => {
        $vis struct $name;
        impl $crate::ops::shape::Relation for $name {
            type T = $crate::lanes::LaneOf<$t>;
            #[inline(always)]
            fn lane($a: Self::T, $b: Self::T) -> bool {
                let $a = <$t as $crate::lanes::Register>::from_lane($a);
                let $b = <$t as $crate::lanes::Register>::from_lane($b);
                $body
            }
        }
    };
    (@ $r:ty, ($($a:ident: $lane:ident as $t:ty),+), $body:block) => {
        type R = $crate::lanes::LaneOf<$r>;
        const SIGNED: bool = <$r as numerics::integer::Int>::SIGNED;
        #[inline(always)]
        fn lane($($a: Self::$lane),+) -> Self::R {
            $(let $a = <$t as $crate::lanes::Register>::from_lane($a);)+
            let result: $r = $body;
            $crate::lanes::Register::to_lane(result)
        }
    };
}
pub(crate) use lane_fn;
