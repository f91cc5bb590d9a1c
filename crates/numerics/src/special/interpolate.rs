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

use std::hint::black_box;

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
    /// Bits of the sum behind the binary point.
    pub point: u32,
}

/// 1/x of \[1, 2).
pub const RCP: Shape = Shape { low_bits: 16, constant: 13, square: 0, falls: true, convex: true, point: 39 };
/// 1/sqrt(x) of \[1, 4).
pub const RSQRT: Shape =
    Shape { low_bits: 17, constant: 14, square: 2, falls: true, convex: true, point: 40 };
/// sqrt(x) of \[1, 4).
pub const SQRT: Shape =
    Shape { low_bits: 17, constant: 15, square: 1, falls: false, convex: false, point: 40 };
/// The sine of \[0, 1) quarter turns.
pub const SIN: Shape =
    Shape { low_bits: 17, constant: 11, square: 0, falls: false, convex: false, point: 37 };
/// 2^x of \[0, 1).
pub const EX2: Shape = Shape { low_bits: 17, constant: 13, square: 0, falls: false, convex: true, point: 38 };
/// log2(x) of \[1, 2).
pub const LG2: Shape =
    Shape { low_bits: 17, constant: 12, square: 1, falls: false, convex: false, point: 38 };
/// tanh(x) / 2^e, where e is x's exponent, at most -1.
pub const TANH: Shape =
    Shape { low_bits: 17, constant: 15, square: 1, falls: false, convex: false, point: 38 };

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
    pub(super) bias: u64,
    /// `c0`, `c1` and `c2` of each segment in one word, so that a lane reads memory once.
    rows: [u64; N],
}

const C2_BITS: u32 = 16;
const C1_BITS: u32 = 22;

impl<const N: usize> Table<N> {
    /// Packs the rows. `N` is a power of two; rows beyond the last are never selected.
    pub(super) const fn new(bias: u64, rows: &[[u32; 3]]) -> Self {
        assert!(N.is_power_of_two() && rows.len() <= N);
        let mut packed = [0; N];
        let mut i = 0;
        while i < rows.len() {
            let [c0, c1, c2] = rows[i];
            assert!(c0 >> (64 - C1_BITS - C2_BITS) == 0 && c1 >> C1_BITS == 0 && c2 >> C2_BITS == 0);
            packed[i] = ((c0 as u64) << (C1_BITS + C2_BITS)) | ((c1 as u64) << C2_BITS) | c2 as u64;
            i += 1;
        }
        Self { bias, rows: packed }
    }

    /// The function's value at an argument: the number of the segment, and below it the distance.
    #[inline(always)]
    pub(super) fn value(&self, shape: Shape, argument: u32) -> u64 {
        let distance = distance(shape, argument);
        self.sum(
            shape,
            self.row(shape, argument),
            distance,
            square(distance << (DISTANCE_BITS - shape.low_bits)),
        )
    }

    /// The same in each lane. Rows are read one by one from segments that stand in memory: to take them out of a vector, or to gather them,
    /// takes longer, so the compiler is told not to.
    #[inline(always)]
    pub(super) fn values<const L: usize>(&self, shape: Shape, arguments: &[u32; L]) -> [u64; L] {
        let (mut segments, mut highs, mut lows) = ([0; L], [0; L], [0; L]);
        let (mut squares, mut rows, mut values) = ([0; L], [0; L], [0; L]);
        for l in 0..L {
            let distance = distance(shape, arguments[l]) << (DISTANCE_BITS - shape.low_bits);
            (segments[l], highs[l], lows[l]) =
                (arguments[l] >> shape.low_bits, high(distance), low(distance));
        }
        // Half words by themselves, so that a vector has twice as many.
        for l in 0..L {
            squares[l] = square_of_halves(highs[l], lows[l]);
        }
        let segments = black_box(segments);
        for l in 0..L {
            rows[l] = self.rows[segments[l] as usize & (N - 1)];
        }
        let rows = black_box(rows);
        for l in 0..L {
            values[l] = self.sum(shape, rows[l], distance(shape, arguments[l]), squares[l].into());
        }
        values
    }

    #[inline(always)]
    fn row(&self, shape: Shape, argument: u32) -> u64 {
        self.rows[(argument >> shape.low_bits) as usize & (N - 1)]
    }

    #[inline(always)]
    fn sum(&self, shape: Shape, row: u64, distance: u32, square: u32) -> u64 {
        let constant = (row >> (C1_BITS + C2_BITS)) << shape.constant;
        let c1 = (row >> C2_BITS) & ((1 << C1_BITS) - 1);
        let c2 = row & ((1 << C2_BITS) - 1);
        let linear = c1 * u64::from(distance);
        let square = (c2 * u64::from(square)) << shape.square;
        let rising = constant + self.bias;
        let line = if shape.falls { rising - linear } else { rising + linear };
        if shape.convex { line + square } else { line - square }
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
