//! The special-function unit itself, on `.f32` bits, bit for bit as an H200's: subnormal operands and results are zero
//! (except of `tanh`), NaN is `0x7fffffff`.
//!
//! Each [`Function`] reduces its operand to a fixed-point argument, interpolates (see [`super::interpolate`]), and puts the
//! exponent to the result. All is written without branches, so that lanes stay in vectors.

use super::interpolate::{EX2, LG2, RCP, RSQRT, SIN, SQRT, TANH};
use super::lookup::Lookup;
use super::tables;
use crate::float::{NAN_F32, is_nan_f32};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
const MIN_NORMAL: i32 = 0x0080_0000;
const MANTISSA: u32 = 0x007f_ffff;
const HIDDEN: u32 = 0x0080_0000;
const BIAS: i32 = 127;
const ONE: u32 = 0x3f80_0000;

#[inline(always)]
fn exponent(x: u32) -> i32 {
    ((x & INFINITY) >> 23) as i32
}

/// An unsigned fixed-point number of at most 52 bits, `point` of them behind the binary point, as `.f32` bits: cut off,
/// not rounded. The result is zero or far from the ends of the exponent range.
#[inline(always)]
fn to_float(x: u64, point: u32) -> u32 {
    // As the low bits of an f64's mantissa; the f64 subtraction then finds the leading bit.
    const INTEGER: u64 = 1075 << 52;
    let float = f64::from_bits(x | INTEGER) - f64::from_bits(INTEGER);
    let rebias = (1023 - BIAS as u32 + point) << 23;
    let bits = ((float.to_bits() >> 29) as u32).wrapping_sub(rebias);
    if x == 0 { 0 } else { bits }
}

/// The same of a number from 2^`lead` to 2^(`lead` + 1), that one included, by its leading bits: the first of them, one above
/// the mantissa, adds one to the exponent.
#[inline(always)]
fn significand(leading: u32, lead: u32, point: u32) -> u32 {
    let exponent = (BIAS as u32 + lead - point - 1) << 23;
    leading.wrapping_add(exponent)
}

/// Whether a number is not below one, and below another.
#[inline(always)]
fn is_between(x: u32, least: u32, end: u32) -> bool {
    x.wrapping_sub(least) < end - least
}

/// A positive result multiplied by 2^`exponent`: flushed to zero below the normal range, infinite above.
#[inline(always)]
fn scaled(x: u32, exponent: i32) -> u32 {
    let bits = x as i32 + (exponent << 23);
    let flushed = if bits < MIN_NORMAL { 0 } else { bits };
    flushed.min(INFINITY as i32) as u32
}

/// A function of the unit in its steps, for one lane or for many side by side.
pub trait Function {
    /// What the argument and more of the result follow from.
    #[inline(always)]
    fn reduced(x: u32) -> u32 {
        x
    }
    /// Where the table is looked up: the number of a segment, and below it the distance from its start.
    fn argument(reduced: u32) -> u32;
    /// What the table gives: a value, or its leading bits.
    type Value: Copy;
    /// What the table gives at an argument.
    fn value(argument: u32) -> Self::Value;
    /// The same in each lane.
    fn values<V: Lookup, const L: usize>(v: V, arguments: &[u32; L]) -> [Self::Value; L];
    /// The result for an operand, of the value at its argument.
    fn result(x: u32, reduced: u32, value: Self::Value) -> u32;
    /// Whether neither an operand nor its result is near the ends of the range of normal numbers.
    #[inline(always)]
    fn is_ordinary(_x: u32) -> bool {
        false
    }
    /// The result for an ordinary operand.
    #[inline(always)]
    fn ordinary_result(x: u32, reduced: u32, value: Self::Value) -> u32 {
        Self::result(x, reduced, value)
    }

    /// The function.
    #[inline(always)]
    fn lane(x: u32) -> u32 {
        let reduced = Self::reduced(x);
        Self::result(x, reduced, Self::value(Self::argument(reduced)))
    }

    /// The function in each lane: a step in all lanes before the next, of which each is a loop that becomes vectors.
    #[inline(always)]
    fn lanes<V: Lookup, const L: usize>(v: V, x: &[u32; L]) -> [u32; L] {
        Self::steps(v, x, Self::result)
    }

    /// The same of ordinary operands.
    #[inline(always)]
    fn ordinary_lanes<V: Lookup, const L: usize>(v: V, x: &[u32; L]) -> [u32; L] {
        Self::steps(v, x, Self::ordinary_result)
    }

    /// With one way or the other to a result.
    #[inline(always)]
    fn steps<V: Lookup, const L: usize>(
        v: V,
        x: &[u32; L],
        result: impl Fn(u32, u32, Self::Value) -> u32,
    ) -> [u32; L] {
        let (mut reduced, mut arguments, mut results) = ([0; L], [0; L], [0; L]);
        for l in 0..L {
            reduced[l] = Self::reduced(x[l]);
            arguments[l] = Self::argument(reduced[l]);
        }
        let values = Self::values(v, &arguments);
        for l in 0..L {
            results[l] = result(x[l], reduced[l], values[l]);
        }
        results
    }
}

/// Whether the operands of all lanes are.
#[inline(always)]
pub(super) fn are_ordinary<F: Function, const L: usize>(x: &[u32; L]) -> bool {
    x.iter().fold(true, |all, &x| all & F::is_ordinary(x))
}

/// The steps of a function of a table.
macro_rules! interpolated {
    ($table:ident, $value:ty) => {
        type Value = $value;
        #[inline(always)]
        fn value(argument: u32) -> $value {
            tables::$table.value($table, argument)
        }
        #[inline(always)]
        fn values<V: Lookup, const L: usize>(v: V, arguments: &[u32; L]) -> [$value; L] {
            tables::$table.values(v, $table, arguments)
        }
    };
}

/// 1/x of [1, 2), without the leading one.
#[inline(always)]
fn inverse(leading: u32) -> u32 {
    significand(leading, RCP.point - 1, RCP.point)
}

/// 1/x.
#[derive(Debug)]
pub struct Rcp;

impl Function for Rcp {
    interpolated!(RCP, u32);

    #[inline(always)]
    fn argument(x: u32) -> u32 {
        x & MANTISSA
    }

    #[inline(always)]
    fn result(x: u32, _: u32, leading: u32) -> u32 {
        let (sign, magnitude) = (x & SIGN, x & !SIGN);
        let finite = scaled(inverse(leading), BIAS - exponent(x));
        let small = if magnitude < HIDDEN { INFINITY } else { finite };
        let number = sign | if magnitude == INFINITY { 0 } else { small };
        if is_nan_f32(x) { NAN_F32 } else { number }
    }

    #[inline(always)]
    fn is_ordinary(x: u32) -> bool {
        is_between(x & !SIGN, HIDDEN, 0x7e80_0000)
    }

    #[inline(always)]
    fn ordinary_result(x: u32, _: u32, leading: u32) -> u32 {
        (x & SIGN) | (inverse(leading) + ONE - (x & INFINITY))
    }
}

/// The exponent halved (rounded down) and the mantissa in \[1, 4) without the leading one.
#[inline(always)]
fn halve_exponent(x: u32) -> (i32, u32) {
    let exponent = exponent(x) - BIAS;
    (exponent >> 1, (x & MANTISSA) | ((exponent as u32 & 1) << 23))
}

/// What `sqrt` and `rsqrt` have in common: of a zero `zero`, of infinity `infinity`, of what is negative NaN.
#[inline(always)]
fn of_positive(x: u32, finite: u32, zero: u32, infinity: u32) -> u32 {
    let invalid = is_nan_f32(x) | (x > SIGN | MANTISSA);
    let number = if x == INFINITY { infinity } else { finite };
    let defined = if x & !SIGN < HIDDEN { (x & SIGN) | zero } else { number };
    if invalid { NAN_F32 } else { defined }
}

/// The square root.
#[derive(Debug)]
pub struct Sqrt;

impl Function for Sqrt {
    interpolated!(SQRT, u32);

    #[inline(always)]
    fn argument(x: u32) -> u32 {
        halve_exponent(x).1
    }

    #[inline(always)]
    fn result(x: u32, _: u32, leading: u32) -> u32 {
        let root = scaled(significand(leading, SQRT.point, SQRT.point), halve_exponent(x).0);
        of_positive(x, root, 0, INFINITY)
    }

    #[inline(always)]
    fn is_ordinary(x: u32) -> bool {
        is_between(x, HIDDEN, INFINITY)
    }

    #[inline(always)]
    fn ordinary_result(x: u32, _: u32, leading: u32) -> u32 {
        significand(leading, SQRT.point, SQRT.point).wrapping_add_signed(halve_exponent(x).0 << 23)
    }
}

/// 1/sqrt(x) of [1, 4), without the leading one.
#[inline(always)]
fn inverse_root(argument: u32, leading: u32) -> u32 {
    let inverse = significand(leading, RSQRT.point - 1, RSQRT.point);
    // The table falls short of 1 at its start.
    if argument == 0 { ONE } else { inverse }
}

/// 1/sqrt(x); of a zero, the infinity of its sign.
#[derive(Debug)]
pub struct Rsqrt;

impl Function for Rsqrt {
    interpolated!(RSQRT, u32);

    #[inline(always)]
    fn argument(x: u32) -> u32 {
        halve_exponent(x).1
    }

    #[inline(always)]
    fn result(x: u32, _: u32, leading: u32) -> u32 {
        let (half, argument) = halve_exponent(x);
        of_positive(x, scaled(inverse_root(argument, leading), -half), INFINITY, 0)
    }

    #[inline(always)]
    fn is_ordinary(x: u32) -> bool {
        is_between(x, HIDDEN, INFINITY)
    }

    #[inline(always)]
    fn ordinary_result(x: u32, _: u32, leading: u32) -> u32 {
        let (half, argument) = halve_exponent(x);
        inverse_root(argument, leading).wrapping_add_signed(-(half << 23))
    }
}

/// 2^x. The operand has 23 bits behind its point, the others do not count.
#[derive(Debug)]
pub struct Ex2;

/// An operand with 23 bits behind the point, rounded down; any number if it is far from zero.
#[inline(always)]
fn fixed_point(x: u32) -> u32 {
    let magnitude = (x & MANTISSA) | HIDDEN;
    // The largest exponent that gives neither infinity nor zero is 6.
    let fixed = (magnitude << 6) >> (BIAS + 6 - exponent(x)).clamp(0, 31);
    let negated = if fixed & MANTISSA == 0 { fixed.wrapping_neg() } else { !fixed };
    if x & SIGN == 0 { fixed } else { negated }
}

impl Function for Ex2 {
    interpolated!(EX2, u32);

    #[inline(always)]
    fn reduced(x: u32) -> u32 {
        fixed_point(x)
    }

    #[inline(always)]
    fn argument(fixed: u32) -> u32 {
        fixed & MANTISSA
    }

    #[inline(always)]
    fn result(x: u32, fixed: u32, leading: u32) -> u32 {
        let fraction = significand(leading, EX2.point, EX2.point);
        let finite = scaled(fraction, fixed as i32 >> 23);
        let far = if x & SIGN == 0 { INFINITY } else { 0 };
        let number = if exponent(x) > BIAS + 6 { far } else { finite };
        if is_nan_f32(x) { NAN_F32 } else { number }
    }

    // Of magnitudes below 126.
    #[inline(always)]
    fn is_ordinary(x: u32) -> bool {
        x & !SIGN < 0x42fc_0000
    }

    #[inline(always)]
    fn ordinary_result(_: u32, fixed: u32, leading: u32) -> u32 {
        significand(leading, EX2.point, EX2.point).wrapping_add(fixed & !MANTISSA)
    }
}

/// The binary logarithm.
#[derive(Debug)]
pub struct Lg2;

impl Function for Lg2 {
    interpolated!(LG2, u64);

    #[inline(always)]
    fn argument(x: u32) -> u32 {
        x & MANTISSA
    }

    #[inline(always)]
    fn result(x: u32, reduced: u32, value: u64) -> u32 {
        let finite = Self::ordinary_result(x, reduced, value);
        let number = if x == INFINITY { x } else { finite };
        let positive = if x & !SIGN < HIDDEN { SIGN | INFINITY } else { number };
        if is_nan_f32(x) | (x > SIGN | MANTISSA) { NAN_F32 } else { positive }
    }

    #[inline(always)]
    fn is_ordinary(x: u32) -> bool {
        is_between(x, HIDDEN, INFINITY)
    }

    #[inline(always)]
    fn ordinary_result(x: u32, _: u32, value: u64) -> u32 {
        const POINT: u32 = 36;
        let fraction = value >> (LG2.point - POINT);
        let sum = (i64::from(exponent(x) - BIAS) << POINT) + fraction as i64;
        let negative = sum < 0;
        let magnitude = if negative { !sum } else { sum } as u64;
        let value = to_float(magnitude, POINT) | if negative { SIGN } else { 0 };
        if x == ONE { 0 } else { value }
    }
}

/// Quarter turns of a number of turns, with 23 bits behind the point; all but two bits before it drop out.
#[inline(always)]
fn quarters(x: u32) -> u32 {
    let magnitude = if x & !SIGN < HIDDEN { 0 } else { (x & MANTISSA) | HIDDEN };
    let shift = exponent(x) - (BIAS - 2);
    (magnitude << shift.clamp(0, 31)) >> (-shift).clamp(0, 31)
}

/// The sine of a number of turns; with one quarter turn more the cosine, the sine of so much more than the magnitude.
#[derive(Debug)]
pub struct Sine<const QUARTERS_MORE: u32>;

impl<const QUARTERS_MORE: u32> Function for Sine<QUARTERS_MORE> {
    interpolated!(SIN, u64);

    #[inline(always)]
    fn reduced(x: u32) -> u32 {
        quarters(x)
    }

    #[inline(always)]
    fn argument(quarters: u32) -> u32 {
        let quadrant = (quarters >> 23) + QUARTERS_MORE;
        let argument = if quadrant & 1 == 0 { quarters } else { !quarters };
        argument & MANTISSA
    }

    #[inline(always)]
    fn result(x: u32, quarters: u32, value: u64) -> u32 {
        let quadrant = (quarters >> 23) + QUARTERS_MORE;
        let sign = if QUARTERS_MORE == 0 { x & SIGN } else { 0 };
        let signed = to_float(value, SIN.point) | (sign ^ ((quadrant & 2) << 30));
        if x & INFINITY == INFINITY { NAN_F32 } else { signed }
    }
}

/// The first binade in which `tanh` interpolates, 2^-8.
const TANH_FIRST: i32 = BIAS - 8;
/// From here on, 8, `tanh` is 1.
const TANH_LAST: i32 = BIAS + 3;

/// Of each binade from 2^-8 to 4, the first segment of `tanh` and how far the mantissa is shifted down: by 6 if the
/// binade is one segment, by 5 if it is two.
const TANH_BINADES: [(u8, u8); 16] = {
    let segments = [1, 1, 1, 2, 2, 4, 4, 4, 8, 16, 8_u8];
    let mut binades = [(0, 0); 16];
    let (mut i, mut first) = (0, 0);
    while i < segments.len() {
        binades[i] = (first, 6 - segments[i].trailing_zeros() as u8);
        first += segments[i];
        i += 1;
    }
    binades
};

/// Where `tanh` interpolates, for a magnitude from 2^-8 to 8: segment and distance together.
#[inline(always)]
pub fn tanh_argument(x: u32) -> u32 {
    let (first, shift) = TANH_BINADES[(exponent(x) - TANH_FIRST) as usize & 15];
    (u32::from(first) << TANH.low_bits) + ((x & MANTISSA) >> shift)
}

/// The hyperbolic tangent; below 2^-8 the operand itself, subnormals included.
#[derive(Debug)]
pub struct Tanh;

impl Function for Tanh {
    interpolated!(TANH, u64);

    #[inline(always)]
    fn argument(x: u32) -> u32 {
        tanh_argument(x)
    }

    #[inline(always)]
    fn result(x: u32, _: u32, value: u64) -> u32 {
        let exponent = exponent(x);
        let interpolated = scaled(to_float(value, TANH.point), exponent.min(BIAS - 1) - BIAS);
        let small = if exponent < TANH_FIRST { x & !SIGN } else { interpolated };
        let number = (x & SIGN) | if exponent < TANH_LAST { small } else { ONE };
        if is_nan_f32(x) { NAN_F32 } else { number }
    }
}

/// What the two functions of `.f64` upper words see of an operand: the exponent without its bias, and 20 bits of
/// mantissa at the top of the 23 that the tables take.
#[inline(always)]
fn upper_word(x: u32) -> (i32, u32) {
    ((x << 1 >> 21) as i32 - BIAS_64, x << 3 & MANTISSA)
}

const BIAS_64: i32 = 1023;
const HIDDEN_64: u32 = 0x0010_0000;
const INFINITY_64: u32 = 0x7ff0_0000;

/// A positive `.f32` multiplied by 2^`exponent`, as the upper word of an `.f64`: what does not fit is cut off.
#[inline(always)]
fn scaled_64(x: u32, exponent: i32) -> u32 {
    let bits = (x >> 3) as i32 + ((BIAS_64 - BIAS + exponent) << 20);
    if bits < HIDDEN_64 as i32 { 0 } else { bits as u32 }
}

/// 1/x on the upper word of an `.f64`.
#[inline(always)]
pub fn rcp64h(x: u32) -> u32 {
    let (sign, magnitude) = (x & SIGN, x & !SIGN);
    let (exponent, mantissa) = upper_word(x);
    let finite = scaled_64(inverse(Rcp::value(mantissa)), -exponent);
    let small = if magnitude < HIDDEN_64 { INFINITY_64 } else { finite };
    let number = sign | if magnitude == INFINITY_64 { 0 } else { small };
    if magnitude > INFINITY_64 { NAN_F32 } else { number }
}

/// 1/sqrt(x) on the upper word of an `.f64`.
#[inline(always)]
pub fn rsqrt64h(x: u32) -> u32 {
    let (sign, magnitude) = (x & SIGN, x & !SIGN);
    let (exponent, mantissa) = upper_word(x);
    let argument = mantissa | ((exponent as u32 & 1) << 23);
    let finite = scaled_64(inverse_root(argument, Rsqrt::value(argument)), -(exponent >> 1));
    let number = if magnitude == INFINITY_64 { 0 } else { finite };
    let defined = if magnitude < HIDDEN_64 { sign | INFINITY_64 } else { number };
    if (magnitude > INFINITY_64) | ((sign != 0) & (magnitude >= HIDDEN_64)) { NAN_F32 } else { defined }
}

#[cfg(test)]
mod tests {
    use super::super::interpolate::{Shape, Table};
    use super::*;
    use crate::tensor::lanes::Portable;

    /// Of all arguments below a limit the leading bit is where `significand` takes it to be.
    fn leads<const N: usize>(table: &Table<N>, shape: Shape, lead: u32, arguments: std::ops::Range<u32>) {
        for argument in arguments {
            let (value, leading) = (table.value(shape, argument), table.value(shape, argument));
            assert_eq!(
                significand(leading, lead, shape.point),
                to_float(value, shape.point),
                "{argument:#x}"
            );
        }
    }

    #[test]
    fn leading_bits_are_where_they_are_taken_to_be() {
        leads(&tables::RCP, RCP, RCP.point - 1, 0..1 << 23);
        leads(&tables::SQRT, SQRT, SQRT.point, 0..1 << 24);
        // 1 itself is not from the table.
        leads(&tables::RSQRT, RSQRT, RSQRT.point - 1, 1..1 << 24);
        leads(&tables::EX2, EX2, EX2.point, 0..1 << 23);
    }

    /// Around every segment's ends, every exponent's, and what has no ordinary result: all lanes as one by one, among operands of all kinds and
    /// where all are ordinary.
    #[test]
    fn lanes_are_computed_like_one() {
        fn check<F: Function>() {
            let exponents = (0..=255_u32).map(|exponent| exponent << 23);
            let mantissas = [0, 1, 0x1234, 0xffff, 0x10000, 0x1ffff, 0x20000, 0x3f_ffff, 0x40_0001, MANTISSA];
            let all: Vec<u32> = exponents
                .flat_map(|exponent| mantissas.map(|mantissa| exponent | mantissa))
                .flat_map(|x| [x, x | SIGN])
                .collect();
            let ordinary: Vec<u32> = all.iter().copied().filter(|&x| F::is_ordinary(x)).collect();
            for operands in [all, ordinary] {
                for chunk in operands.chunks_exact(32) {
                    let x: [u32; 32] = chunk.try_into().unwrap();
                    assert_eq!(F::lanes(Portable, &x), x.map(F::lane), "{x:x?}");
                    if are_ordinary::<F, _>(&x) {
                        assert_eq!(F::ordinary_lanes(Portable, &x), x.map(F::lane), "{x:x?}");
                    }
                }
            }
        }
        check::<Rcp>();
        check::<Sqrt>();
        check::<Rsqrt>();
        check::<Ex2>();
        check::<Lg2>();
        check::<Sine<0>>();
        check::<Sine<1>>();
        check::<Tanh>();
    }
}
