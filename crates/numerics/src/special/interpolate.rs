//! Quadratic interpolation in fixed point: the arithmetic that all functions of the unit share.
//!
//! The argument's leading bits select a segment, a row of a table; the other 16 or 17 bits are the distance `d` from
//! the start of the segment. A row holds three magnitudes, and a function's value is
//!
//! ```text
//! (c0 << constant) ± c1 * d ± (c2 * square(d) << square) + bias
//! ```
//!
//! as an integer with `point` bits behind the binary point. Nothing is lost before the value is cut off (never rounded:
//! a bias does that on the average) to the 24 bits of a significand. The square alone is inexact: its multiplier lacks
//! the columns of low weight.
//!
//! docs/numerics.md tells how the shapes and coefficients were found.

use super::lookup::{Lookup, Rows};

/// What is fixed in the evaluation of one function.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bits of the argument below the number of the segment, at most [`DISTANCE_BITS`].
    pub low_bits: u32,
    /// How far the first coefficient is shifted up.
    pub constant: u32,
    /// How far the product with the square is shifted up.
    pub square: u32,
    /// Whether the function falls: the second coefficient is subtracted.
    pub falls: bool,
    /// Whether the function is convex: the third coefficient is added.
    pub convex: bool,
    /// Whether the second coefficient has more than 16 bits.
    pub steep: bool,
    /// Bits of the sum behind the binary point.
    pub point: u32,
}

impl Shape {
    /// The bits of the sum that are cut off where it has one place for its leading bit: the first coefficient has two bits more than a significand.
    pub(super) const fn cut(self) -> u32 {
        self.constant + 2
    }
}

/// 1/x of \[1, 2).
pub const RCP: Shape =
    Shape { low_bits: 16, constant: 13, square: 0, falls: true, convex: true, steep: false, point: 39 };
/// 1/sqrt(x) of \[1, 4).
pub const RSQRT: Shape =
    Shape { low_bits: 17, constant: 14, square: 2, falls: true, convex: true, steep: false, point: 40 };
/// sqrt(x) of \[1, 4).
pub const SQRT: Shape =
    Shape { low_bits: 17, constant: 15, square: 1, falls: false, convex: false, steep: true, point: 40 };
/// The sine of \[0, 1) quarter turns.
pub const SIN: Shape =
    Shape { low_bits: 17, constant: 11, square: 0, falls: false, convex: false, steep: false, point: 37 };
/// 2^x of \[0, 1).
pub const EX2: Shape =
    Shape { low_bits: 17, constant: 13, square: 0, falls: false, convex: true, steep: false, point: 38 };
/// log2(x) of \[1, 2).
pub const LG2: Shape =
    Shape { low_bits: 17, constant: 12, square: 1, falls: false, convex: false, steep: false, point: 38 };
/// tanh(x) / 2^e, where e is x's exponent, at most -1.
pub const TANH: Shape =
    Shape { low_bits: 17, constant: 15, square: 1, falls: false, convex: false, steep: true, point: 38 };

/// Bits that [`square`] takes.
pub const DISTANCE_BITS: u32 = 17;

/// The square of a 17-bit number, divided by 2^19: of the products of two bits, those below 2^18 do not count.
#[inline(always)]
pub fn square(x: u32) -> u32 {
    square_of_halves(high(x), low(x)).into()
}

/// A number of 17 bits is 2^9 times so much.
#[inline(always)]
fn high(x: u32) -> u16 {
    (x >> 9) as u16
}

/// And so much more.
#[inline(always)]
fn low(x: u32) -> u16 {
    (x & 0x1ff) as u16
}

#[inline(always)]
fn square_of_halves(high: u16, low: u16) -> u16 {
    // All of high^2 counts, of low^2 nothing, of high * low what is in columns 9 and up: a triangle of products of bits. It is covered by
    // three rectangles, which are products of numbers, and four single ones.
    let rectangles =
        (high >> 4) * (low >> 5) + (high >> 6) * ((low >> 3) & 3) + ((high >> 2) & 3) * (low >> 7);
    let bit = |of_high: u32, of_low: u32| (high >> of_high) & (low >> of_low) & 1;
    let singles = bit(7, 2) + bit(5, 4) + bit(3, 6) + bit(1, 8);
    // 2^15 is more than any of these sums.
    (high.wrapping_mul(high) >> 1) + rectangles + singles
}

/// A function's coefficients.
pub(super) struct Table<const N: usize> {
    /// What is added to every value.
    bias: u64,
    /// Of each segment the [words](Coefficients) of its row.
    rows: Rows<N>,
}

const C2_BITS: u32 = 16;
const C1_LOW_BITS: u32 = 16;
const C1_HIGH_BITS: u32 = 6;
const C0_BITS: u32 = 26;

/// `c0`, `c1` and `c2` of a segment, as they are packed into two words: `c2` and above it the low half of `c1`; the other bits
/// of `c1` and above them `c0`. Few functions have those other bits.
struct Coefficients {
    c0: u32,
    c1: u32,
    c2: u32,
}

impl Coefficients {
    const fn pack(&self) -> [u32; 2] {
        let &Self { c0, c1, c2 } = self;
        assert!(c0 >> C0_BITS == 0 && c1 >> (C1_LOW_BITS + C1_HIGH_BITS) == 0 && c2 >> C2_BITS == 0);
        [(c1 << C2_BITS) | c2, (c0 << C1_HIGH_BITS) | (c1 >> C1_LOW_BITS)]
    }

    #[inline(always)]
    fn unpack(shape: Shape, [low, high]: [u32; 2]) -> Self {
        let others = if shape.steep { (high & ((1 << C1_HIGH_BITS) - 1)) << C1_LOW_BITS } else { 0 };
        Self { c0: high >> C1_HIGH_BITS, c1: (low >> C2_BITS) | others, c2: low & ((1 << C2_BITS) - 1) }
    }
}

/// What of a function's value is asked for.
pub(super) trait Sum: Copy + Default {
    /// That of the value at a distance from the start of a segment, whose square is told, too.
    fn sum(bias: u64, shape: Shape, row: [u32; 2], distance: u32, square: u32) -> Self;
}

/// All of it.
impl Sum for u64 {
    #[inline(always)]
    fn sum(bias: u64, shape: Shape, row: [u32; 2], distance: u32, square: u32) -> u64 {
        let Coefficients { c0, c1, c2 } = Coefficients::unpack(shape, row);
        let linear = u64::from(c1) * u64::from(distance);
        let square = (u64::from(c2) * u64::from(square)) << shape.square;
        let rising = (u64::from(c0) << shape.constant) + bias;
        let line = if shape.falls { rising - linear } else { rising + linear };
        if shape.convex { line + square } else { line - square }
    }
}

/// The bits that stand above [`Shape::cut`]: 24 of them, or 25.
///
/// Sums of 32 bits suffice. The value's low 32 bits come of arithmetic that wraps. Its high bits are those of a sum near it, which leaves out
/// the bias, the square and the low bits of two factors. All of that is less than 2^29, so less than half of what wraps.
impl Sum for u32 {
    #[inline(always)]
    fn sum(bias: u64, shape: Shape, row: [u32; 2], distance: u32, square: u32) -> u32 {
        // Factors of so few bits have a cheap product.
        const OF_C1: u32 = 8;
        const OF_DISTANCE: u32 = 9;
        let Coefficients { c0, c1, c2 } = Coefficients::unpack(shape, row);
        let signed = |sum: u32, term: u32, is_less: bool| {
            if is_less { sum.wrapping_sub(term) } else { sum.wrapping_add(term) }
        };
        let rising = (c0 << shape.constant).wrapping_add(bias as u32);
        let line = signed(rising, c1.wrapping_mul(distance), shape.falls);
        let low = signed(line, c2.wrapping_mul(square) << shape.square, !shape.convex);
        let near_linear = ((c1 >> OF_C1) * (distance >> OF_DISTANCE)) << (OF_C1 + OF_DISTANCE - shape.cut());
        let near = signed(c0 >> (shape.cut() - shape.constant), near_linear, shape.falls);
        let apart = low.wrapping_sub(near << shape.cut()) as i32 >> shape.cut();
        near.wrapping_add_signed(apart)
    }
}

impl<const N: usize> Table<N> {
    /// Packs the rows. `N` is a power of two; rows beyond the last are never selected.
    pub(super) const fn new(bias: u64, rows: &[[u32; 3]]) -> Self {
        assert!(N.is_power_of_two() && rows.len() <= N);
        let mut packed = [[0; 2]; N];
        let mut i = 0;
        while i < rows.len() {
            let [c0, c1, c2] = rows[i];
            packed[i] = Coefficients { c0, c1, c2 }.pack();
            i += 1;
        }
        Self { bias, rows: Rows::new(packed) }
    }

    /// The function's value at an argument: the number of the segment, and below it the distance.
    #[inline(always)]
    pub(super) fn value<S: Sum>(&self, shape: Shape, argument: u32) -> S {
        let distance = distance(shape, argument);
        let square = square(distance << (DISTANCE_BITS - shape.low_bits));
        S::sum(self.bias, shape, self.rows.row(argument >> shape.low_bits), distance, square)
    }

    /// The same in each lane.
    #[inline(always)]
    pub(super) fn values<S: Sum, V: Lookup, const L: usize>(
        &self,
        v: V,
        shape: Shape,
        arguments: &[u32; L],
    ) -> [S; L] {
        let (mut segments, mut highs, mut lows) = ([0; L], [0; L], [0; L]);
        let (mut squares, mut values) = ([0; L], [S::default(); L]);
        for l in 0..L {
            let distance = distance(shape, arguments[l]) << (DISTANCE_BITS - shape.low_bits);
            (segments[l], highs[l], lows[l]) =
                (arguments[l] >> shape.low_bits, high(distance), low(distance));
        }
        // Half words by themselves, so that a vector has twice as many.
        for l in 0..L {
            squares[l] = square_of_halves(highs[l], lows[l]);
        }
        let [low, high] = v.rows(&self.rows, &segments);
        for l in 0..L {
            let row = [low[l], high[l]];
            values[l] = S::sum(self.bias, shape, row, distance(shape, arguments[l]), squares[l].into());
        }
        values
    }
}

/// How far an argument is from the start of its segment.
#[inline(always)]
fn distance(shape: Shape, argument: u32) -> u32 {
    argument & ((1 << shape.low_bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::{DISTANCE_BITS, square};

    #[test]
    fn the_square_lacks_the_columns_of_low_weight() {
        for x in 0..1_u32 << DISTANCE_BITS {
            let bits = || (0..DISTANCE_BITS).filter(|i| x >> i & 1 != 0);
            let products = bits().flat_map(|i| bits().map(move |j| i + j));
            let counted: u64 = products.filter(|&column| column >= 18).map(|column| 1 << column).sum();
            assert_eq!(u64::from(square(x)), counted >> 19, "{x:#x}");
        }
    }
}
