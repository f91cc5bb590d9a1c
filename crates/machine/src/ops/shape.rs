//! The loops over lanes, generic over what is computed in a lane.
//!
//! A lane function is a type ([`ir::lanewise`]); a family is that function compiled for the operand kinds that occur:
//! planes, scalars, or both. The decoder picks a member.

use super::body::{Body, function, plain, select};
use crate::exec::Exec;
use crate::image::Function;
use crate::lanes::simd::{Level, Simd, warp_by_warp};
use crate::lanes::{Cells, Condition, LANES, Lane, LaneOf, Operand, Plane};
use crate::operation::kinds::{
    Binary as BinaryFields, Compare, Outcome, Quaternary as QuaternaryFields, Quinary as QuinaryFields,
    Select, Splat, Ternary as TernaryFields, Unary as UnaryFields,
};
use crate::operation::{Combine, Fields};
use ir::lanewise::{Binary, Int, Quaternary, Quinary, Relation, Ternary, Unary, Word};
use std::cell::Cell;
use std::marker::PhantomData;

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
        map!(I, LaneOf<F::R>, x, op.d, |cells, warp| {
            a = cells.planes::<LaneOf<F::A>>(op.a.index());
            {
                let a = a[warp].get().0;
                let mut result = [LaneOf::<F::R>::default(); LANES];
                if F::SIDE_BY_SIDE {
                    let results = F::lanes(I::vectors(), &a.map(F::A::from_register));
                    for l in 0..LANES {
                        result[l] = results[l].to_register();
                    }
                } else {
                    for l in 0..LANES {
                        result[l] = F::lane(F::A::from_register(a[l])).to_register();
                    }
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
        map!(I, LaneOf<F::R>, x, op.d, |cells, warp| {
            a = A::source::<LaneOf<F::A>>(cells, op.a);
            b = B::source::<LaneOf<F::B>>(cells, op.b);
            {
                let (a, b) = (A::lanes(a, warp), B::lanes(b, warp));
                let mut result = [LaneOf::<F::R>::default(); LANES];
                for l in 0..LANES {
                    let (a, b) = (A::lane(&a, l), B::lane(&b, l));
                    result[l] = F::lane(F::A::from_register(a), F::B::from_register(b)).to_register();
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
        map!(I, LaneOf<F::R>, x, op.d, |cells, warp| {
            a = A::source::<LaneOf<F::A>>(cells, op.a);
            b = B::source::<LaneOf<F::B>>(cells, op.b);
            c = C::source::<LaneOf<F::C>>(cells, op.c);
            {
                let (a, b, c) = (A::lanes(a, warp), B::lanes(b, warp), C::lanes(c, warp));
                let mut result = [LaneOf::<F::R>::default(); LANES];
                for l in 0..LANES {
                    let (a, b, c) = (A::lane(&a, l), B::lane(&b, l), C::lane(&c, l));
                    let (a, b, c) = (F::A::from_register(a), F::B::from_register(b), F::C::from_register(c));
                    result[l] = F::lane(a, b, c).to_register();
                }
                result
            }
        });
        pc + 1
    }
}

struct QuaternaryBody<F>(PhantomData<F>);
impl<F: Quaternary> Body for QuaternaryBody<F> {
    type Fields = QuaternaryFields;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &QuaternaryFields, pc: u32) -> u32 {
        map!(I, LaneOf<F::R>, x, op.d, |cells, warp| {
            a = cells.planes::<LaneOf<F::A>>(op.a.index());
            b = cells.planes::<LaneOf<F::B>>(op.b.index());
            c = cells.planes::<LaneOf<F::C>>(op.c.index());
            e = cells.planes::<LaneOf<F::D>>(op.e.index());
            {
                let (a, b) = (a[warp].get().0, b[warp].get().0);
                let (c, e) = (c[warp].get().0, e[warp].get().0);
                let mut result = [LaneOf::<F::R>::default(); LANES];
                for l in 0..LANES {
                    let (a, b) = (F::A::from_register(a[l]), F::B::from_register(b[l]));
                    let (c, e) = (F::C::from_register(c[l]), F::D::from_register(e[l]));
                    result[l] = F::lane(a, b, c, e).to_register();
                }
                result
            }
        });
        pc + 1
    }
}

struct QuinaryBody<F>(PhantomData<F>);
impl<F: Quinary> Body for QuinaryBody<F> {
    type Fields = QuinaryFields;
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &QuinaryFields, pc: u32) -> u32 {
        map!(I, LaneOf<F::R>, x, op.d, |cells, warp| {
            a = cells.planes::<LaneOf<F::A>>(op.a.index());
            b = cells.planes::<LaneOf<F::B>>(op.b.index());
            c = cells.planes::<LaneOf<F::C>>(op.c.index());
            e = cells.planes::<LaneOf<F::D>>(op.e.index());
            f = cells.planes::<LaneOf<F::E>>(op.f.index());
            {
                let (a, b) = (a[warp].get().0, b[warp].get().0);
                let (c, e, f) = (c[warp].get().0, e[warp].get().0, f[warp].get().0);
                let mut result = [LaneOf::<F::R>::default(); LANES];
                for l in 0..LANES {
                    let (a, b) = (F::A::from_register(a[l]), F::B::from_register(b[l]));
                    let (c, e) = (F::C::from_register(c[l]), F::D::from_register(e[l]));
                    result[l] = F::lane(a, b, c, e, F::E::from_register(f[l])).to_register();
                }
                result
            }
        });
        pc + 1
    }
}

/// An operand in the scalar file.
fn scalar<T: Word>(s: &[u64], operand: Operand) -> T {
    T::from_u64(s[operand.index()])
}

/// A result as the scalar file holds it: zeros above the lane.
fn to_scalar<T: Word>(result: T) -> u64 {
    result.to_register().to_u64()
}

fn unary_scalar<F: Unary>(x: &mut Exec<'_>, op: &UnaryFields, pc: u32) -> u32 {
    let s = &mut x.files.s;
    s[op.d.index()] = to_scalar(F::lane(scalar(s, op.a)));
    pc + 1
}

fn binary_scalar<F: Binary>(x: &mut Exec<'_>, op: &BinaryFields, pc: u32) -> u32 {
    let s = &mut x.files.s;
    s[op.d.index()] = to_scalar(F::lane(scalar(s, op.a), scalar(s, op.b)));
    pc + 1
}

fn ternary_scalar<F: Ternary>(x: &mut Exec<'_>, op: &TernaryFields, pc: u32) -> u32 {
    let s = &mut x.files.s;
    s[op.d.index()] = to_scalar(F::lane(scalar(s, op.a), scalar(s, op.b), scalar(s, op.c)));
    pc + 1
}

fn quaternary_scalar<F: Quaternary>(x: &mut Exec<'_>, op: &QuaternaryFields, pc: u32) -> u32 {
    let s = &mut x.files.s;
    s[op.d.index()] = to_scalar(F::lane(scalar(s, op.a), scalar(s, op.b), scalar(s, op.c), scalar(s, op.e)));
    pc + 1
}

fn quinary_scalar<F: Quinary>(x: &mut Exec<'_>, op: &QuinaryFields, pc: u32) -> u32 {
    let s = &mut x.files.s;
    let (a, b, c) = (scalar(s, op.a), scalar(s, op.b), scalar(s, op.c));
    s[op.d.index()] = to_scalar(F::lane(a, b, c, scalar(s, op.e), scalar(s, op.f)));
    pc + 1
}

/// How many ways there are for up to five sources to be scalars or planes.
const MEMBERS: usize = 32;

/// The compiled members of a family with up to five sources. Bit `i` of an index into `planes` means that source `i`
/// is a scalar; `None` where that member is not worth its code and the decoder must splat the scalar first.
pub(crate) struct Family<F> {
    /// All sources and the destination are scalars.
    pub(crate) scalar: Function<F>,
    /// The destination is a plane.
    pub(crate) planes: [Option<Function<F>>; MEMBERS],
}

/// How often a family occurs. It is a type, so that members which no decoder asks for are never compiled: they would be most of
/// the code of this crate.
pub(crate) trait Heat: 'static {
    /// Whether that is often.
    const HOT: bool;
    /// Whether its first two operands may change places.
    const COMMUTES: bool = false;
}

/// A family that occurs often: it gets the members that compilers' output needs, for every level.
pub(crate) struct Hot;
impl Heat for Hot {
    const HOT: bool = true;
}

/// A family that does not: it gets only planes, for the baseline level.
pub(crate) struct Cold;
impl Heat for Cold {
    const HOT: bool = false;
}

/// The family of a unary function.
pub(crate) fn unary<F: Unary, H: Heat>(level: Level) -> Family<UnaryFields> {
    let mut planes = [None; MEMBERS];
    if H::HOT {
        planes[0] = Some(select::<UnaryBody<F>>(level));
    } else {
        planes[0] = Some(plain::<UnaryBody<F>>());
    }
    Family { scalar: function!(unary_scalar::<F>), planes }
}

/// The family of a binary function.
pub(crate) fn binary<F: Binary, H: Heat>(level: Level) -> Family<BinaryFields> {
    let mut planes = [None; MEMBERS];
    if H::HOT {
        planes[0b00] = Some(select::<BinaryBody<F, V, V>>(level));
        planes[0b10] = Some(select::<BinaryBody<F, V, S>>(level));
    } else {
        planes[0] = Some(plain::<BinaryBody<F, V, V>>());
    }
    Family { scalar: function!(binary_scalar::<F>), planes }
}

/// The family of a ternary function.
pub(crate) fn ternary<F: Ternary, H: Heat>(level: Level) -> Family<TernaryFields> {
    let mut planes = [None; MEMBERS];
    if H::HOT {
        planes[0b000] = Some(select::<TernaryBody<F, V, V, V>>(level));
        planes[0b010] = Some(select::<TernaryBody<F, V, S, V>>(level));
        planes[0b011] = Some(select::<TernaryBody<F, S, S, V>>(level));
        planes[0b100] = Some(select::<TernaryBody<F, V, V, S>>(level));
        planes[0b110] = Some(select::<TernaryBody<F, V, S, S>>(level));
    } else {
        planes[0] = Some(plain::<TernaryBody<F, V, V, V>>());
    }
    Family { scalar: function!(ternary_scalar::<F>), planes }
}

/// The family of a function of four values.
pub(crate) fn quaternary<F: Quaternary, H: Heat>(level: Level) -> Family<QuaternaryFields> {
    let mut planes = [None; MEMBERS];
    if H::HOT {
        planes[0] = Some(select::<QuaternaryBody<F>>(level));
    } else {
        planes[0] = Some(plain::<QuaternaryBody<F>>());
    }
    Family { scalar: function!(quaternary_scalar::<F>), planes }
}

/// The family of a function of five values.
pub(crate) fn quinary<F: Quinary, H: Heat>(level: Level) -> Family<QuinaryFields> {
    let mut planes = [None; MEMBERS];
    if H::HOT {
        planes[0] = Some(select::<QuinaryBody<F>>(level));
    } else {
        planes[0] = Some(plain::<QuinaryBody<F>>());
    }
    Family { scalar: function!(quinary_scalar::<F>), planes }
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

impl Lanewise<4> for QuaternaryFields {
    fn new(d: Operand, [a, b, c, e]: [Operand; 4]) -> Self {
        Self { d, a, b, c, e }
    }
}

impl Lanewise<5> for QuinaryFields {
    fn new(d: Operand, [a, b, c, e, f]: [Operand; 5]) -> Self {
        Self { d, a, b, c, e, f }
    }
}

/// A lane function of `N` values, whichever of the five it is: what decoding asks of it.
pub(crate) trait LaneFunction<const N: usize> {
    /// The kind of its operations.
    type Fields: Lanewise<N>;
    /// The width of its result.
    const RESULT: u32;
    /// Whether a wider register gets the result's sign above it, and not zeros.
    const SIGNED: bool;
    /// The widths of its values.
    const VALUES: [u32; N];
    /// Its family.
    fn family<H: Heat>(level: Level) -> Family<Self::Fields>;
}

macro_rules! lane_function {
    ($n:literal, $arity:ident, $fields:ident, $family:ident, $($value:ident),+) => {
        impl<F: $arity> LaneFunction<$n> for F {
            type Fields = $fields;
            const RESULT: u32 = <LaneOf<F::R> as Int>::BITS;
            const SIGNED: bool = F::R::SIGNED;
            const VALUES: [u32; $n] = [$(<LaneOf<F::$value> as Int>::BITS),+];
            fn family<H: Heat>(level: Level) -> Family<$fields> {
                $family::<F, H>(level)
            }
        }
    };
}
lane_function!(1, Unary, UnaryFields, unary, A);
lane_function!(2, Binary, BinaryFields, binary, A, B);
lane_function!(3, Ternary, TernaryFields, ternary, A, B, C);
lane_function!(4, Quaternary, QuaternaryFields, quaternary, A, B, C, D);
lane_function!(5, Quinary, QuinaryFields, quinary, A, B, C, D, E);

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
        let (a, b) = (A::source::<LaneOf<F::T>>(cells, op.a), B::source::<LaneOf<F::T>>(cells, op.b));
        let to = Predicates::of(cells, &op.outcome);
        for warp in 0..x.warps {
            let mask = x.mask[warp];
            if mask != 0 {
                warp_by_warp();
                let (a, b) = (A::lanes(a, warp), B::lanes(b, warp));
                let mut truth = [LaneOf::<F::T>::default(); LANES];
                for l in 0..LANES {
                    let (a, b) = (A::lane(&a, l), B::lane(&b, l));
                    truth[l] =
                        LaneOf::<F::T>::truth(F::holds(F::T::from_register(a), F::T::from_register(b)));
                }
                to.store(warp, mask, LaneOf::<F::T>::bits::<I>(truth));
            }
        }
        pc + 1
    }
}

/// A comparison of scalars whose predicate is still stored for every warp.
fn compare_scalars<F: Relation>(x: &mut Exec<'_>, op: &Compare, pc: u32) -> u32 {
    let cells = x.files.cells(x.warps);
    let source = |operand: Operand| F::T::from_register(cells.scalar(operand.index()));
    let relation = if F::holds(source(op.a), source(op.b)) { !0 } else { 0 };
    let to = Predicates::of(cells, &op.outcome);
    for warp in 0..x.warps {
        to.store(warp, x.mask[warp], relation);
    }
    pc + 1
}

/// The family of a comparison; `scalar` compares scalars into a predicate.
pub(crate) fn compare<F: Relation, H: Heat>(level: Level) -> Family<Compare> {
    let mut planes = [None; MEMBERS];
    if H::HOT {
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
