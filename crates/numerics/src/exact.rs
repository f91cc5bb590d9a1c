//! Arithmetic on exact values, for what no native instruction rounds: `.f64` under directed rounding.
//!
//! A value is an integer times a power of two. Where an exact result would need more than 128 bits, the part that
//! cannot matter is folded into the lowest bit ("sticky"): it still tells that something is there, which is all that
//! rounding asks. This is scalar code with branches; the hot paths do not come here.

use crate::format::{F64, Format};
use crate::rounding::{Mode, Rounding};

/// `significand * 2^exponent`, negated if `negative`. Zero has a sign too.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    negative: bool,
    significand: u128,
    exponent: i32,
}

/// Where [`Exact::normal`] puts the highest set bit: two bits stay free for sums.
const TOP: u32 = 125;

impl Exact {
    /// The value of a finite `.f64`.
    pub fn from_f64(bits: u64) -> Self {
        let field = (bits & !F64::SIGN) >> F64::MANTISSA_BITS;
        let mantissa = bits & ((1 << F64::MANTISSA_BITS) - 1);
        let implicit = u64::from(field != 0) << F64::MANTISSA_BITS;
        Exact {
            negative: bits & F64::SIGN != 0,
            significand: u128::from(mantissa | implicit),
            exponent: field.max(1) as i32 - F64::BIAS - F64::MANTISSA_BITS as i32,
        }
    }

    /// The value of an integer.
    pub fn from_int(value: i128) -> Self {
        Exact { negative: value < 0, significand: value.unsigned_abs(), exponent: 0 }
    }

    /// An integer of at most 126 bits, and whether there is something below it that is less than its unit.
    pub(crate) fn with_sticky(negative: bool, significand: u128, sticky: bool) -> Self {
        let significand = significand << 1 | u128::from(sticky);
        Exact { negative, significand, exponent: -1 }
    }

    /// The value times a power of two.
    pub fn scaled(self, exponent: i32) -> Self {
        Exact { exponent: self.exponent + exponent, ..self }
    }

    /// The same value with its highest set bit at [`TOP`]; zero stays. Significands here have at most 106 bits.
    fn normal(self) -> Self {
        if self.significand == 0 {
            return self;
        }
        let shift = self.significand.leading_zeros() as i32 - (127 - TOP as i32);
        Exact { significand: self.significand << shift, exponent: self.exponent - shift, ..self }
    }

    /// The exact product of two values of at most 64 bits each.
    pub fn product(self, other: Self) -> Self {
        Exact {
            negative: self.negative != other.negative,
            significand: self.significand * other.significand,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The sum, with sticky. The zero that two opposite values leave is negative only when rounding down.
    pub fn sum(self, other: Self, mode: Mode) -> Self {
        if self.significand == 0 && other.significand == 0 {
            let negative = if self.negative == other.negative { self.negative } else { mode == Mode::Down };
            return Exact { negative, significand: 0, exponent: 0 };
        }
        if self.significand == 0 {
            return other;
        }
        if other.significand == 0 {
            return self;
        }
        let (a, b) = (self.normal(), other.normal());
        let (large, small) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
        let aligned = shift_right_sticky(small.significand, (large.exponent - small.exponent) as u32);
        if large.negative == small.negative {
            return Exact { significand: large.significand + aligned, ..large };
        }
        let negative = if large.significand == aligned {
            mode == Mode::Down
        } else {
            large.negative != (large.significand < aligned)
        };
        Exact { negative, significand: large.significand.abs_diff(aligned), exponent: large.exponent }
    }

    /// The quotient, with sticky, by a divisor other than zero; both of at most 64 bits.
    pub fn quotient(self, other: Self) -> Self {
        let negative = self.negative != other.negative;
        if self.significand == 0 {
            return Exact { negative, significand: 0, exponent: 0 };
        }
        let a = self.normal();
        let quotient = a.significand / other.significand;
        let sticky = u128::from(!a.significand.is_multiple_of(other.significand));
        Exact { negative, significand: quotient | sticky, exponent: a.exponent - other.exponent }
    }

    /// The square root, with sticky; of zero, zero of the same sign.
    pub fn root(self) -> Self {
        let a = self.normal();
        let even = a.exponent & 1 == 0;
        let significand = if even { a.significand } else { a.significand << 1 };
        let root = significand.isqrt();
        let sticky = u128::from(root * root != significand);
        Exact { negative: a.negative, significand: root | sticky, exponent: a.exponent >> 1 }
    }

    /// Rounds to format `D`.
    pub fn round<D: Format, R: Rounding>(self) -> u64 {
        let sign = if self.negative { D::SIGN } else { 0 };
        if self.significand == 0 {
            return sign;
        }
        let length = 128 - self.significand.leading_zeros() as i32;
        let least = 1 - D::BIAS;
        let leading = (self.exponent + length - 1).max(least);
        let shift = leading - D::MANTISSA_BITS as i32 - self.exponent;
        let (kept, above, half, inexact) = if shift <= 0 {
            (self.significand << -shift, false, false, false)
        } else if shift > length {
            (0, false, false, true)
        } else {
            let kept = self.significand.checked_shr(shift as u32).unwrap_or(0);
            let middle = 1u128 << (shift - 1);
            let rest = self.significand & (middle | (middle - 1));
            (kept, rest > middle, rest == middle, rest != 0)
        };
        let up = R::MODE.steps_up(self.negative, kept & 1 != 0, above, half, inexact);
        let magnitude = (((leading - least) as u64) << D::MANTISSA_BITS) + kept as u64 + u64::from(up);
        let overflow = if R::MODE.overflows_to_infinity(self.negative) { D::INFINITY } else { D::MAX_FINITE };
        sign | if magnitude > D::MAX_FINITE { overflow } else { magnitude }
    }
}

/// Shift right, with a set lowest bit if any set bit went out.
fn shift_right_sticky(x: u128, amount: u32) -> u128 {
    match amount {
        0 => x,
        1..128 => (x >> amount) | u128::from(x << (128 - amount) != 0),
        _ => u128::from(x != 0),
    }
}
