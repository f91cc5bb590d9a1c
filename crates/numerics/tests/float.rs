//! Floating-point arithmetic and conversions against `rustc_apfloat`, an independent implementation of IEEE 754.

use numerics::format::{Bf16, E4m3, E5m2, F16, F32, F64, Format};
use numerics::rounding::{Rm, Rn, Rounding, Rp, Rz};
use numerics::{convert, exact::Exact, float, format, half};
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};

/// A deterministic source of bits (splitmix64).
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A float of format `F`: an edge, any pattern, or one with an exponent near the middle and a short mantissa.
    fn float<F: Format>(&mut self) -> u64 {
        let all = F::SIGN | (F::SIGN - 1);
        let sign = self.next() & F::SIGN;
        let edges = [0, 1, F::MIN_NORMAL - 1, F::MIN_NORMAL, F::ONE, F::ONE + 1, F::ONE - 1, F::MAX_FINITE];
        sign | match self.next() % 8 {
            0 => edges[(self.next() % 8) as usize],
            1 => F::INFINITY,
            2 | 3 => self.next() & all & !F::SIGN,
            4 => F::MIN_NORMAL + (self.next() & ((8 << F::MANTISSA_BITS) - 1)),
            kind => {
                let near = F::ONE - (4 << F::MANTISSA_BITS) + (self.next() & ((8 << F::MANTISSA_BITS) - 1));
                if kind == 5 { near & !((F::MIN_NORMAL >> 4) - 1) } else { near }
            }
        }
    }
}

/// The two implementations agree, or both say NaN.
#[track_caller]
fn same<F: Format>(what: &str, operands: &[u64], got: u64, want: u128) {
    let nan = |x: u64| x & (F::SIGN - 1) > F::INFINITY;
    let want = want as u64;
    assert!(got == want || (nan(got) && nan(want)), "{what} {operands:x?}: {got:x}, expected {want:x}");
}

macro_rules! arithmetic {
    ($test:ident, $format:ty, $soft:ty, $bits:ty, $mode:ty, $round:ident: $add:expr, $sub:expr, $mul:expr, $fma:expr, $div:expr) => {
        #[test]
        fn $test() {
            let round = Round::$round;
            let mut bits = Bits(1);
            let soft = |x: u64| <$soft>::from_bits(u128::from(x));
            for _ in 0..60_000 {
                let (a, b, c) = (bits.float::<$format>(), bits.float::<$format>(), bits.float::<$format>());
                let (x, y, z) = (a as $bits, b as $bits, c as $bits);
                let check = |what, got: $bits, want: rustc_apfloat::StatusAnd<$soft>| {
                    same::<$format>(what, &[a, b, c], u64::from(got), want.value.to_bits());
                };
                check("add", $add(x, y), soft(a).add_r(soft(b), round));
                check("sub", $sub(x, y), soft(a).sub_r(soft(b), round));
                check("mul", $mul(x, y), soft(a).mul_r(soft(b), round));
                check("fma", $fma(x, y, z), soft(a).mul_add_r(soft(b), soft(c), round));
                check("div", $div(x, y), soft(a).div_r(soft(b), round));
            }
        }
    };
}
macro_rules! native {
    ($($test32:ident $test64:ident $mode:ty, $round:ident;)+) => {$(
        arithmetic!($test32, F32, Single, u32, $mode, $round: float::add_f32::<$mode, false, false>,
            float::sub_f32::<$mode, false, false>, float::mul_f32::<$mode, false, false>,
            float::fma_f32::<$mode, false, false>, float::div_f32::<$mode, false>);
        arithmetic!($test64, F64, Double, u64, $mode, $round: float::add_f64::<$mode>, float::sub_f64::<$mode>,
            float::mul_f64::<$mode>, float::fma_f64::<$mode>, float::div_f64::<$mode>);
    )+};
}
native! {
    f32_rn f64_rn Rn, NearestTiesToEven;
    f32_rz f64_rz Rz, TowardZero;
    f32_rm f64_rm Rm, TowardNegative;
    f32_rp f64_rp Rp, TowardPositive;
}

macro_rules! halves {
    ($test:ident, $format:ty, $soft:ty) => {
        #[test]
        fn $test() {
            let mut bits = Bits(2);
            let round = Round::NearestTiesToEven;
            let soft = |x: u64| <$soft>::from_bits(u128::from(x));
            for _ in 0..400_000 {
                let (a, b, c) = (bits.float::<$format>(), bits.float::<$format>(), bits.float::<$format>());
                let (x, y, z) = (a as u16, b as u16, c as u16);
                let check = |what, got: u16, want: rustc_apfloat::StatusAnd<$soft>| {
                    same::<$format>(what, &[a, b, c], u64::from(got), want.value.to_bits());
                };
                check("add", half::add::<$format, false, false>(x, y), soft(a).add_r(soft(b), round));
                check("sub", half::sub::<$format, false, false>(x, y), soft(a).sub_r(soft(b), round));
                check("mul", half::mul::<$format, false, false>(x, y), soft(a).mul_r(soft(b), round));
                let sum = soft(a).mul_add_r(soft(b), soft(c), round);
                check("fma", half::fma::<$format, false, false, false>(x, y, z), sum);
            }
        }
    };
}
halves!(f16_is_rounded_once, F16, Half);
halves!(bf16_is_rounded_once, Bf16, BFloat);

/// `root` is the square root of `x` rounded in `mode`: its square and its neighbours', exact in `Quad`, enclose `x`.
fn check_root<S: FloatConvert<Quad>>(mode: Round, x: u64, root: u64) {
    let quad = |bits: u64| S::from_bits(u128::from(bits)).convert(&mut false).value;
    let square = |bits: u64| quad(bits).mul_r(quad(bits), Round::TowardZero);
    let x_value = quad(x);
    let here = square(root);
    let above = square(root + 1);
    let below = square(root.saturating_sub(1));
    assert!(!here.status.contains(Status::INEXACT), "the judge must be exact");
    let holds = match mode {
        Round::TowardPositive => here.value >= x_value && (root == 0 || below.value < x_value),
        Round::NearestTiesToEven => {
            // The squares of the midpoints are not exact in Quad for f64; one unit either side is enough here, and
            // the native square root is the other judge.
            below.value < x_value && x_value < above.value || x == 0
        }
        _ => here.value <= x_value && x_value < above.value,
    };
    assert!(holds, "sqrt {mode:?} {x:x}: {root:x}");
}

#[test]
fn square_roots() {
    let mut bits = Bits(3);
    for _ in 0..60_000 {
        let x = bits.float::<F32>() & !F32::SIGN;
        if x < F32::INFINITY {
            let x32 = x as u32;
            check_root::<Single>(Round::TowardZero, x, float::sqrt_f32::<Rz, false>(x32).into());
            check_root::<Single>(Round::TowardNegative, x, float::sqrt_f32::<Rm, false>(x32).into());
            check_root::<Single>(Round::TowardPositive, x, float::sqrt_f32::<Rp, false>(x32).into());
            check_root::<Single>(Round::NearestTiesToEven, x, float::sqrt_f32::<Rn, false>(x32).into());
        }
        let x = bits.float::<F64>() & !F64::SIGN;
        if x < F64::INFINITY {
            check_root::<Double>(Round::TowardZero, x, float::sqrt_f64::<Rz>(x));
            check_root::<Double>(Round::TowardNegative, x, float::sqrt_f64::<Rm>(x));
            check_root::<Double>(Round::TowardPositive, x, float::sqrt_f64::<Rp>(x));
            assert_eq!(
                Exact::from_f64(x).root().round::<F64, Rn>(),
                float::sqrt_f64::<Rn>(x),
                "sqrt.rn {x:x}"
            );
        }
    }
}

fn modes() -> [Round; 4] {
    [Round::NearestTiesToEven, Round::TowardZero, Round::TowardNegative, Round::TowardPositive]
}

#[test]
fn narrowing_conversions() {
    fn check<D: Format, S: FloatConvert<T>, T: Float>(x: u64, results: [u64; 4]) {
        for (got, mode) in results.into_iter().zip(modes()) {
            let want = S::from_bits(u128::from(x)).convert_r(mode, &mut false).value.to_bits();
            same::<D>(&format!("convert {mode:?}"), &[x], got, want);
        }
    }
    fn four(f: impl Fn(u64, Round) -> u64, x: u64) -> [u64; 4] {
        modes().map(|mode| f(x, mode))
    }
    fn from_f32<D: Format>(x: u64, mode: Round) -> u64 {
        let x = x as u32;
        u64::from(match mode {
            Round::TowardZero => format::round_f32::<D, Rz, false, false>(x),
            Round::TowardNegative => format::round_f32::<D, Rm, false, false>(x),
            Round::TowardPositive => format::round_f32::<D, Rp, false, false>(x),
            _ => format::round_f32::<D, Rn, false, false>(x),
        })
    }
    fn from_f64<D: Format>(x: u64, mode: Round) -> u64 {
        match mode {
            Round::TowardZero => format::round_f64::<D, Rz, false, false>(x),
            Round::TowardNegative => format::round_f64::<D, Rm, false, false>(x),
            Round::TowardPositive => format::round_f64::<D, Rp, false, false>(x),
            _ => format::round_f64::<D, Rn, false, false>(x),
        }
    }
    let mut bits = Bits(4);
    for _ in 0..200_000 {
        let x = bits.float::<F32>();
        check::<F16, Single, Half>(x, four(from_f32::<F16>, x));
        check::<Bf16, Single, BFloat>(x, four(from_f32::<Bf16>, x));
        let x = bits.float::<F64>();
        check::<F32, Double, Single>(x, four(from_f64::<F32>, x));
        check::<F16, Double, Half>(x, four(from_f64::<F16>, x));
        check::<Bf16, Double, BFloat>(x, four(from_f64::<Bf16>, x));
    }
    // Around every value of the target, where the decisions are: the value, its neighbours, the halfway points.
    for half in 0..0x7c00_u64 {
        let value = u64::from(format::widen::<F16>(half as u32));
        for x in [value, value + 1, value.saturating_sub(1), value + 0x1000, value + 0xfff, value + 0x1001] {
            check::<F16, Single, Half>(x, four(from_f32::<F16>, x));
            check::<F16, Single, Half>(x | F32::SIGN, four(from_f32::<F16>, x | F32::SIGN));
        }
    }
}

#[test]
fn every_small_float_widens_exactly() {
    fn check<S: Format, T: Float + FloatConvert<Single>>() {
        for x in 0..2 * S::SIGN {
            let want = T::from_bits(u128::from(x)).convert(&mut false).value.to_bits();
            same::<F32>("widen", &[x], u64::from(format::widen::<S>(x as u32)), want);
        }
    }
    check::<F16, Half>();
    check::<Bf16, BFloat>();
    check::<E5m2, Float8E5M2>();
    check::<E4m3, Float8E4M3FN>();
}

#[test]
fn integers_to_floats() {
    fn check<T: numerics::integer::Int>(bits: u64, mode: Round, results: [u64; 4]) {
        let x = T::from_u64(bits);
        let value = if T::SIGNED { i128::from(x.to_u64() as i64) } else { i128::from(x.to_u64()) };
        same::<F32>("f32", &[bits], results[0], Single::from_i128_r(value, mode).value.to_bits());
        same::<F64>("f64", &[bits], results[1], Double::from_i128_r(value, mode).value.to_bits());
        same::<F16>("f16", &[bits], results[2], Half::from_i128_r(value, mode).value.to_bits());
        same::<Bf16>("bf16", &[bits], results[3], BFloat::from_i128_r(value, mode).value.to_bits());
    }
    fn all<T: numerics::integer::Int, R: Rounding>(bits: u64) -> [u64; 4] {
        let x = T::from_u64(bits);
        [
            u64::from(convert::int_to_f32::<T, R>(x)),
            convert::int_to_f64::<T, R>(x),
            u64::from(convert::int_to_half::<T, F16, R>(x)),
            u64::from(convert::int_to_half::<T, Bf16, R>(x)),
        ]
    }
    fn each<T: numerics::integer::Int>(bits: u64) {
        check::<T>(bits, Round::NearestTiesToEven, all::<T, Rn>(bits));
        check::<T>(bits, Round::TowardZero, all::<T, Rz>(bits));
        check::<T>(bits, Round::TowardNegative, all::<T, Rm>(bits));
        check::<T>(bits, Round::TowardPositive, all::<T, Rp>(bits));
    }
    let mut bits = Bits(5);
    for _ in 0..40_000 {
        let size = bits.next() % 64;
        let mut x = bits.next() >> size;
        if bits.next() & 3 == 0 {
            // Few bits set: near the halfway points.
            x &= x.rotate_left(7) & x.rotate_left(21);
        }
        each::<u64>(x);
        each::<i64>(x);
        each::<u32>(x);
        each::<i32>(x);
        each::<i16>(x);
        each::<u8>(x);
    }
}

#[test]
fn floats_to_integers() {
    fn check<T: numerics::integer::Int, S: Float>(x: u64, results: [T; 4]) {
        for (got, mode) in results.into_iter().zip(modes()) {
            let soft = S::from_bits(u128::from(x));
            if soft.is_nan() {
                continue;
            }
            let size = T::BITS as usize;
            let want = if T::SIGNED {
                soft.to_i128_r(size, mode, &mut false).value as u64
            } else {
                soft.to_u128_r(size, mode, &mut false).value as u64
            };
            assert!(got == T::from_u64(want), "{mode:?} {x:x}: {:x}, expected {want:x}", got.to_u64());
        }
    }
    fn f32_to<T: numerics::integer::Int>(x: u64) {
        let a = x as u32;
        let results = [
            convert::f32_to_int::<T, Rn, false>(a),
            convert::f32_to_int::<T, Rz, false>(a),
            convert::f32_to_int::<T, Rm, false>(a),
            convert::f32_to_int::<T, Rp, false>(a),
        ];
        check::<T, Single>(x, results);
    }
    fn f64_to<T: numerics::integer::Int>(x: u64) {
        let results = [
            convert::f64_to_int::<T, Rn>(x),
            convert::f64_to_int::<T, Rz>(x),
            convert::f64_to_int::<T, Rm>(x),
            convert::f64_to_int::<T, Rp>(x),
        ];
        check::<T, Double>(x, results);
    }
    let mut bits = Bits(6);
    for _ in 0..60_000 {
        let exponent = 120 + bits.next() % 75;
        let x = (bits.next() & 0x807f_ffff) | exponent << 23;
        f32_to::<u8>(x);
        f32_to::<i16>(x);
        f32_to::<u32>(x);
        f32_to::<i32>(x);
        f32_to::<u64>(x);
        f32_to::<i64>(x);
        let exponent = 1016 + bits.next() % 75;
        let x = (bits.next() & 0x800f_ffff_ffff_ffff) | exponent << 52;
        f64_to::<u8>(x);
        f64_to::<i16>(x);
        f64_to::<u32>(x);
        f64_to::<i32>(x);
        f64_to::<u64>(x);
        f64_to::<i64>(x);
    }
}
