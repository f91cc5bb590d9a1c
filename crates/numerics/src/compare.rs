//! Comparison (PTX manual, "Comparison and Selection Instructions").
//!
//! Each comparison is a type. On numbers all are what they say; when an operand is NaN, the plain ones (`eq` to `ge`,
//! `ne` included) are false and the unordered ones (`equ` to `geu`) true. On integers the type [`Int`] decides between
//! signed and unsigned; `lo`, `ls`, `hi` and `hs` are `lt`, `le`, `gt` and `ge` on an unsigned type.

use crate::float::flush_f32;
use crate::format::{Format, widen};
use crate::integer::Int;

/// A comparison.
pub trait Comparison: Copy + 'static {
    /// The answer for two values, `None` being that an operand is NaN.
    fn holds<T: PartialOrd>(a: &T, b: &T) -> bool;
}

macro_rules! comparisons {
    ($($name:ident $doc:literal |$a:ident, $b:ident| $test:expr;)+) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Comparison for $name {
            // `!(a >= b)` is not `a < b` when an operand is NaN: that is the point of the unordered ones.
            #[allow(clippy::neg_cmp_op_on_partial_ord, clippy::eq_op)]
            #[inline(always)]
            fn holds<T: PartialOrd>($a: &T, $b: &T) -> bool {
                $test
            }
        }
    )+};
}
comparisons! {
    Eq "`eq`." |a, b| a == b;
    Ne "`ne`." |a, b| (a < b) | (a > b);
    Lt "`lt`, `lo`." |a, b| a < b;
    Le "`le`, `ls`." |a, b| a <= b;
    Gt "`gt`, `hi`." |a, b| a > b;
    Ge "`ge`, `hs`." |a, b| a >= b;
    Equ "`equ`: equal or unordered." |a, b| !((a < b) | (a > b));
    Neu "`neu`: not equal, or unordered." |a, b| a != b;
    Ltu "`ltu`: less or unordered." |a, b| !(a >= b);
    Leu "`leu`: at most, or unordered." |a, b| !(a > b);
    Gtu "`gtu`: greater or unordered." |a, b| !(a <= b);
    Geu "`geu`: at least, or unordered." |a, b| !(a < b);
    Num "`num`: neither operand is NaN." |a, b| (a == a) & (b == b);
    Nan "`nan`: an operand is NaN." |a, b| (a != a) | (b != b);
}

/// `setp` on integers.
#[inline(always)]
pub fn setp_int<C: Comparison, T: Int>(a: T, b: T) -> bool {
    C::holds(&a, &b)
}

/// `setp.f32`.
#[inline(always)]
pub fn setp_f32<C: Comparison, const FTZ: bool>(a: u32, b: u32) -> bool {
    C::holds(&f32::from_bits(flush_f32::<FTZ>(a)), &f32::from_bits(flush_f32::<FTZ>(b)))
}

/// `setp.f64`.
#[inline(always)]
pub fn setp_f64<C: Comparison>(a: u64, b: u64) -> bool {
    C::holds(&f64::from_bits(a), &f64::from_bits(b))
}

/// `setp.f16` and `setp.bf16`.
#[inline(always)]
pub fn setp_half<C: Comparison, F: Format, const FTZ: bool>(a: u16, b: u16) -> bool {
    let value = |x| f32::from_bits(widen::<F>(u32::from(crate::half::flush::<F, FTZ>(x))));
    C::holds(&value(a), &value(b))
}

/// `set` with an integer destination: all ones if true.
#[inline(always)]
pub fn set_int<T: Int>(holds: bool) -> T {
    if holds { T::ZERO.not() } else { T::ZERO }
}

/// `set` with a floating-point destination of format `F`: 1.0 if true.
#[inline(always)]
pub fn set_float<F: Format>(holds: bool) -> u64 {
    if holds { F::ONE } else { 0 }
}

/// `slct` by an `.s32`: `a` if it is not negative, else `b`.
#[inline(always)]
pub fn slct_s32<T: Copy>(a: T, b: T, c: i32) -> T {
    if c >= 0 { a } else { b }
}

/// `slct` by an `.f32`: `a` if it is at least zero, `b` if it is negative or NaN.
#[inline(always)]
pub fn slct_f32<T: Copy, const FTZ: bool>(a: T, b: T, c: u32) -> T {
    if f32::from_bits(flush_f32::<FTZ>(c)) >= 0.0 { a } else { b }
}
