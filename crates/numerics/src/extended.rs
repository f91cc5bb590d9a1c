//! Extended-precision arithmetic (PTX manual, "Extended-Precision Integer Arithmetic Instructions").
//!
//! The condition code register holds one bit, the carry `CC.CF`, which the caller keeps. Every function takes the
//! carry in and returns the result and the carry out. `add.cc`, `mad.lo.cc` and so on are the same with no carry in,
//! and an instruction without `.cc` drops the carry out. Signed and unsigned types compute alike, except for the high
//! half of a product, so the type parameter of [`madc_hi`] matters.

use crate::integer::{Int, mul_hi};

/// A 32-bit or 64-bit unsigned integer, in which sums can carry.
pub trait Carry: Int {
    /// `self + other + carry`, and whether it left the type's range.
    fn add_with_carry(self, other: Self, carry: bool) -> (Self, bool);
    /// `self - other - borrow`, and whether it left the type's range.
    fn sub_with_borrow(self, other: Self, borrow: bool) -> (Self, bool);
}

macro_rules! carry {
    ($($t:ty, $unsigned:ty);+ $(;)?) => {$(
        impl Carry for $t {
            #[inline(always)]
            fn add_with_carry(self, other: Self, carry: bool) -> (Self, bool) {
                let (partial, first) = (self as $unsigned).overflowing_add(other as $unsigned);
                let (sum, second) = partial.overflowing_add(<$unsigned>::from(carry));
                (sum as $t, first | second)
            }
            #[inline(always)]
            fn sub_with_borrow(self, other: Self, borrow: bool) -> (Self, bool) {
                let (partial, first) = (self as $unsigned).overflowing_sub(other as $unsigned);
                let (difference, second) = partial.overflowing_sub(<$unsigned>::from(borrow));
                (difference as $t, first | second)
            }
        }
    )+};
}
carry! {
    u32, u32;
    i32, u32;
    u64, u64;
    i64, u64;
}

/// `add.cc`, `addc`, `addc.cc`.
#[inline(always)]
pub fn addc<T: Carry>(a: T, b: T, carry: bool) -> (T, bool) {
    a.add_with_carry(b, carry)
}

/// `sub.cc`, `subc`, `subc.cc`: the carry is the borrow.
#[inline(always)]
pub fn subc<T: Carry>(a: T, b: T, borrow: bool) -> (T, bool) {
    a.sub_with_borrow(b, borrow)
}

/// `mad.lo.cc`, `madc.lo`, `madc.lo.cc`: the carry out is the addition's.
#[inline(always)]
pub fn madc_lo<T: Carry>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    a.wrapping_mul(b).add_with_carry(c, carry)
}

/// `mad.hi.cc`, `madc.hi`, `madc.hi.cc`: the carry out is the addition's.
#[inline(always)]
pub fn madc_hi<T: Carry>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    mul_hi(a, b).add_with_carry(c, carry)
}
