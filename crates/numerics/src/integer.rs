//! Integer arithmetic (PTX manual, "Integer Arithmetic Instructions").
//!
//! Every function is generic over the PTX integer type, as the Rust integer [`Int`] of the same size and signedness.

/// A PTX integer type: `u8` to `u64`, `i8` to `i64`.
pub trait Int: Copy + Ord + 'static {
    /// Its size in bits.
    const BITS: u32;
    /// Whether the type is signed.
    const SIGNED: bool;
    /// Zero.
    const ZERO: Self;
    /// The least value.
    const MIN: Self;
    /// The greatest value.
    const MAX: Self;
    /// The type of twice the size and the same signedness (for `.wide`; 128 bits for the high half of 64).
    type Wide: Copy;
    /// The value as an unsigned 64-bit pattern: sign- or zero-extended.
    fn to_u64(self) -> u64;
    /// The low bits of a 64-bit pattern.
    fn from_u64(bits: u64) -> Self;
    /// The sum, modulo the size.
    fn wrapping_add(self, other: Self) -> Self;
    /// The difference, modulo the size.
    fn wrapping_sub(self, other: Self) -> Self;
    /// The low half of the product.
    fn wrapping_mul(self, other: Self) -> Self;
    /// The full product.
    fn widening_mul(self, other: Self) -> Self::Wide;
    /// The upper half of a double-size value.
    fn high(wide: Self::Wide) -> Self;
    /// A double-size sum, modulo the size.
    fn wide_add(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// The sum, clamped to the type's range.
    fn saturating_add(self, other: Self) -> Self;
    /// The difference, clamped to the type's range.
    fn saturating_sub(self, other: Self) -> Self;
    /// The quotient, truncated; the divisor is not zero; `MIN / -1` wraps.
    fn wrapping_div(self, other: Self) -> Self;
    /// The remainder with the sign of the dividend; the divisor is not zero.
    fn wrapping_rem(self, other: Self) -> Self;
    /// The nearest `f32`.
    fn to_f32(self) -> f32;
    /// The nearest `f64`.
    fn to_f64(self) -> f64;
    /// Truncated and clamped to the type's range; NaN is zero.
    fn from_f32(value: f32) -> Self;
    /// Truncated and clamped to the type's range; NaN is zero.
    fn from_f64(value: f64) -> Self;
    /// Complement of every bit.
    fn not(self) -> Self;
    /// Shift left by less than the size.
    fn shl(self, n: u32) -> Self;
    /// Shift right by less than the size, filling with the sign of a signed type.
    fn shr(self, n: u32) -> Self;
    /// Number of zero bits above the highest set bit.
    fn leading_zeros(self) -> u32;
}

macro_rules! int {
    ($($t:ty, $wide:ty, $unsigned:ty, $signed:literal);+ $(;)?) => {$(
        impl Int for $t {
            const BITS: u32 = <$t>::BITS;
            const SIGNED: bool = $signed;
            const ZERO: Self = 0;
            const MIN: Self = <$t>::MIN;
            const MAX: Self = <$t>::MAX;
            type Wide = $wide;
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn from_u64(bits: u64) -> Self {
                bits as $t
            }
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                <$t>::wrapping_add(self, other)
            }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                <$t>::wrapping_sub(self, other)
            }
            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self {
                <$t>::wrapping_mul(self, other)
            }
            #[inline(always)]
            fn widening_mul(self, other: Self) -> $wide {
                (self as $wide).wrapping_mul(other as $wide)
            }
            #[inline(always)]
            fn high(wide: $wide) -> Self {
                (wide >> <$t>::BITS) as $t
            }
            #[inline(always)]
            fn wide_add(a: $wide, b: $wide) -> $wide {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn saturating_add(self, other: Self) -> Self {
                <$t>::saturating_add(self, other)
            }
            #[inline(always)]
            fn saturating_sub(self, other: Self) -> Self {
                <$t>::saturating_sub(self, other)
            }
            #[inline(always)]
            fn wrapping_div(self, other: Self) -> Self {
                <$t>::wrapping_div(self, other)
            }
            #[inline(always)]
            fn wrapping_rem(self, other: Self) -> Self {
                <$t>::wrapping_rem(self, other)
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                value as $t
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn shl(self, n: u32) -> Self {
                self.wrapping_shl(n)
            }
            #[inline(always)]
            fn shr(self, n: u32) -> Self {
                self.wrapping_shr(n)
            }
            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                <$unsigned>::leading_zeros(self as $unsigned)
            }
        }
    )+};
}
int! {
    u8, u16, u8, false;
    u16, u32, u16, false;
    u32, u64, u32, false;
    u64, u128, u64, false;
    i8, i16, u8, true;
    i16, i32, u16, true;
    i32, i64, u32, true;
    i64, i128, u64, true;
}

/// `add`; `SAT` clamps to the type's range (`.sat` of `.s32`).
#[inline(always)]
pub fn add<T: Int, const SAT: bool>(a: T, b: T) -> T {
    if SAT { a.saturating_add(b) } else { a.wrapping_add(b) }
}

/// `sub`; `SAT` clamps to the type's range (`.sat` of `.s32`).
#[inline(always)]
pub fn sub<T: Int, const SAT: bool>(a: T, b: T) -> T {
    if SAT { a.saturating_sub(b) } else { a.wrapping_sub(b) }
}

/// `mul.lo`.
#[inline(always)]
pub fn mul_lo<T: Int>(a: T, b: T) -> T {
    a.wrapping_mul(b)
}

/// `mul.hi`.
#[inline(always)]
pub fn mul_hi<T: Int>(a: T, b: T) -> T {
    T::high(a.widening_mul(b))
}

/// `mul.wide`.
#[inline(always)]
pub fn mul_wide<T: Int>(a: T, b: T) -> T::Wide {
    a.widening_mul(b)
}

/// `mad.lo`.
#[inline(always)]
pub fn mad_lo<T: Int>(a: T, b: T, c: T) -> T {
    a.wrapping_mul(b).wrapping_add(c)
}

/// `mad.hi`; `SAT` clamps the sum (`mad.hi.sat.s32`).
#[inline(always)]
pub fn mad_hi<T: Int, const SAT: bool>(a: T, b: T, c: T) -> T {
    add::<T, SAT>(mul_hi(a, b), c)
}

/// `mad.wide`.
#[inline(always)]
pub fn mad_wide<T: Int>(a: T, b: T, c: T::Wide) -> T::Wide {
    T::wide_add(a.widening_mul(b), c)
}

/// The value of the low 24 bits, extended with their sign for a signed type.
#[inline(always)]
fn low24<T: Int>(a: T) -> T {
    a.shl(8).shr(8)
}

/// The 48-bit product of two 24-bit values, of which the low half is bits 0 to 31 and the high half bits 16 to 47.
#[inline(always)]
fn product24<T: Int>(a: T, b: T) -> u64 {
    low24(a).to_u64().wrapping_mul(low24(b).to_u64())
}

/// `mul24.lo` of a 32-bit type.
#[inline(always)]
pub fn mul24_lo<T: Int>(a: T, b: T) -> T {
    T::from_u64(product24(a, b))
}

/// `mul24.hi` of a 32-bit type.
#[inline(always)]
pub fn mul24_hi<T: Int>(a: T, b: T) -> T {
    T::from_u64(product24(a, b) >> 16)
}

/// `mad24.lo` of a 32-bit type.
#[inline(always)]
pub fn mad24_lo<T: Int>(a: T, b: T, c: T) -> T {
    mul24_lo(a, b).wrapping_add(c)
}

/// `mad24.hi` of a 32-bit type; `SAT` clamps the sum (`mad24.hi.sat.s32`).
#[inline(always)]
pub fn mad24_hi<T: Int, const SAT: bool>(a: T, b: T, c: T) -> T {
    add::<T, SAT>(mul24_hi(a, b), c)
}

/// `sad`: `|a - b| + c`.
#[inline(always)]
pub fn sad<T: Int>(a: T, b: T, c: T) -> T {
    let distance = if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
    c.wrapping_add(distance)
}

/// Minus one, or all ones: what dividing by zero gives.
#[inline(always)]
fn all_ones<T: Int>() -> T {
    T::ZERO.not()
}

/// `div`. Division by zero, which PTX leaves open, gives all ones.
#[inline(always)]
pub fn div<T: Int>(a: T, b: T) -> T {
    let by_zero = b == T::ZERO;
    let divisor = if by_zero { T::MAX } else { b };
    let quotient = a.wrapping_div(divisor);
    if by_zero { all_ones() } else { quotient }
}

/// `rem`, with the sign of the dividend. Division by zero, which PTX leaves open, gives all ones.
#[inline(always)]
pub fn rem<T: Int>(a: T, b: T) -> T {
    let by_zero = b == T::ZERO;
    let divisor = if by_zero { T::MAX } else { b };
    let remainder = a.wrapping_rem(divisor);
    if by_zero { all_ones() } else { remainder }
}

/// `abs`; the least value is its own absolute value.
#[inline(always)]
pub fn abs<T: Int>(a: T) -> T {
    if a < T::ZERO { T::ZERO.wrapping_sub(a) } else { a }
}

/// `neg`.
#[inline(always)]
pub fn neg<T: Int>(a: T) -> T {
    T::ZERO.wrapping_sub(a)
}

/// `min`; `RELU` raises a negative result to zero.
#[inline(always)]
pub fn min<T: Int, const RELU: bool>(a: T, b: T) -> T {
    relu::<T, RELU>(if a < b { a } else { b })
}

/// `max`; `RELU` raises a negative result to zero.
#[inline(always)]
pub fn max<T: Int, const RELU: bool>(a: T, b: T) -> T {
    relu::<T, RELU>(if a > b { a } else { b })
}

/// `atom.inc`: counts up to `last`, and from there to zero.
#[inline(always)]
pub fn inc(a: u32, last: u32) -> u32 {
    if a >= last { 0 } else { a + 1 }
}

/// `atom.dec`: counts down to zero, and from there, as from what is above `first`, to `first`.
#[inline(always)]
pub fn dec(a: u32, first: u32) -> u32 {
    if a == 0 || a > first { first } else { a - 1 }
}

#[inline(always)]
fn relu<T: Int, const RELU: bool>(a: T) -> T {
    if RELU & (a < T::ZERO) { T::ZERO } else { a }
}
