//! Extended-precision arithmetic (PTX manual, "Extended-Precision Integer Arithmetic Instructions").
//!
//! The condition code register holds one bit, the carry `CC.CF`, which the caller keeps. Every function takes the
//! carry in and returns the result and the carry out. `add.cc` and `mad.lo.cc` are `addc` and `madc_lo` with
//! `carry = false`; an instruction without `.cc` drops the carry out. Signed and unsigned types compute alike, except
//! for the high half of a product, so the type parameter of [`madc_hi`] matters.
//!
//! Subtraction adds the complement, as the hardware does and unlike the manual's wording: `CC.CF` is *set when nothing
//! is borrowed*, so `sub.cc` is `subc` with `carry = true`. It shows only where additions and subtractions share a
//! carry (`sub.cc` then `addc`), and an H200 confirms it there.

use crate::integer::{Int, mul_hi};

/// An integer in which sums can carry.
///
/// PTX has `addc`, `subc` and `madc` of 16 bits too, as the end of a chain. An H200 computes them in 32 bits: the
/// product whose upper half `madc.hi` takes is one of two 32-bit integers.
pub trait Carry: Int {
    /// `self + other + carry`, and whether it left the type's range.
    fn add_with_carry(self, other: Self, carry: bool) -> (Self, bool);
    /// What `madc.hi` adds: the upper half of the product.
    fn upper_product(self, other: Self) -> Self;
}

macro_rules! carry {
    ($($t:ty, $unsigned:ty, |$a:ident, $b:ident| $upper:expr);+ $(;)?) => {$(
        impl Carry for $t {
            #[inline(always)]
            fn add_with_carry(self, other: Self, carry: bool) -> (Self, bool) {
                let (partial, first) = (self as $unsigned).overflowing_add(other as $unsigned);
                let (sum, second) = partial.overflowing_add(<$unsigned>::from(carry));
                (sum as $t, first | second)
            }
            #[inline(always)]
            fn upper_product(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $upper
            }
        }
    )+};
}
carry! {
    // Of a product of 16 bits the upper half is its sign. Written as a product and a shift by 32 it is wrong in loops that LLVM 22
    // makes vectors of for AVX-512.
    u16, u16, |_a, _b| 0;
    i16, u16, |a, b| if ((a ^ b) < 0) & (a != 0) & (b != 0) { -1 } else { 0 };
    u32, u32, |a, b| mul_hi(a, b);
    i32, u32, |a, b| mul_hi(a, b);
    u64, u64, |a, b| mul_hi(a, b);
    i64, u64, |a, b| mul_hi(a, b);
}

/// `add.cc`, `addc`, `addc.cc`.
#[inline(always)]
pub fn addc<T: Carry>(a: T, b: T, carry: bool) -> (T, bool) {
    a.add_with_carry(b, carry)
}

/// `sub.cc`, `subc`, `subc.cc`: `a` plus the complement of `b` plus the carry, which tells that nothing was borrowed.
#[inline(always)]
pub fn subc<T: Carry>(a: T, b: T, carry: bool) -> (T, bool) {
    a.add_with_carry(b.not(), carry)
}

/// `mad.lo.cc`, `madc.lo`, `madc.lo.cc`: the carry out is the addition's.
#[inline(always)]
pub fn madc_lo<T: Carry>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    a.wrapping_mul(b).add_with_carry(c, carry)
}

/// `mad.hi.cc`, `madc.hi`, `madc.hi.cc`: the carry out is the addition's.
#[inline(always)]
pub fn madc_hi<T: Carry>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    a.upper_product(b).add_with_carry(c, carry)
}
