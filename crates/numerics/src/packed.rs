//! Two 16-bit values in one word, and the dot products of bytes and halves.

use crate::integer::Int;

/// The lower and the upper half of a word.
#[inline(always)]
pub fn unpack(x: u32) -> (u16, u16) {
    (x as u16, (x >> 16) as u16)
}

/// The word with this lower and upper half.
#[inline(always)]
pub fn pack(low: u16, high: u16) -> u32 {
    u32::from(low) | (u32::from(high) << 16)
}

/// A one-operand instruction on both halves.
#[inline(always)]
pub fn map1(f: impl Fn(u16) -> u16, a: u32) -> u32 {
    let a = unpack(a);
    pack(f(a.0), f(a.1))
}

/// A two-operand instruction on both halves.
#[inline(always)]
pub fn map2(f: impl Fn(u16, u16) -> u16, a: u32, b: u32) -> u32 {
    let (a, b) = (unpack(a), unpack(b));
    pack(f(a.0, b.0), f(a.1, b.1))
}

/// A three-operand instruction on both halves.
#[inline(always)]
pub fn map3(f: impl Fn(u16, u16, u16) -> u16, a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (unpack(a), unpack(b), unpack(c));
    pack(f(a.0, b.0, c.0), f(a.1, b.1, c.1))
}

/// A two-operand integer instruction on both halves, as the signed or unsigned type `T` (`.u16x2`, `.s16x2`).
#[inline(always)]
pub fn map_int<T: Int>(f: impl Fn(T, T) -> T, a: u32, b: u32) -> u32 {
    let narrow = |x: T| x.to_u64() as u16;
    map2(|x, y| narrow(f(T::from_u64(u64::from(x)), T::from_u64(u64::from(y)))), a, b)
}

/// A two-operand instruction on both 32-bit halves (`.f32x2`).
#[inline(always)]
pub fn map2_wide(f: impl Fn(u32, u32) -> u32, a: u64, b: u64) -> u64 {
    let high = f((a >> 32) as u32, (b >> 32) as u32);
    (u64::from(high) << 32) | u64::from(f(a as u32, b as u32))
}

/// A three-operand instruction on both 32-bit halves (`.f32x2`).
#[inline(always)]
pub fn map3_wide(f: impl Fn(u32, u32, u32) -> u32, a: u64, b: u64, c: u64) -> u64 {
    let high = f((a >> 32) as u32, (b >> 32) as u32, (c >> 32) as u32);
    (u64::from(high) << 32) | u64::from(f(a as u32, b as u32, c as u32))
}

/// The byte `i` of a word, extended as its signedness says.
#[inline(always)]
fn byte<const SIGNED: bool>(x: u32, i: u32) -> u32 {
    let value = (x >> (8 * i)) as u8;
    if SIGNED { value as i8 as u32 } else { u32::from(value) }
}

/// `dp4a`: the dot product of four bytes, added to `c` modulo 2^32.
#[inline(always)]
pub fn dp4a<const A_SIGNED: bool, const B_SIGNED: bool>(a: u32, b: u32, c: u32) -> u32 {
    let product = |i| byte::<A_SIGNED>(a, i).wrapping_mul(byte::<B_SIGNED>(b, i));
    c.wrapping_add(product(0)).wrapping_add(product(1)).wrapping_add(product(2)).wrapping_add(product(3))
}

/// `dp2a`: the dot product of two halves with two bytes, `.hi` or `.lo` ones of `b`, added to `c` modulo 2^32.
#[inline(always)]
pub fn dp2a<const HI: bool, const A_SIGNED: bool, const B_SIGNED: bool>(a: u32, b: u32, c: u32) -> u32 {
    let half = |i: u32| {
        let value = (a >> (16 * i)) as u16;
        if A_SIGNED { value as i16 as u32 } else { u32::from(value) }
    };
    let first = if HI { 2 } else { 0 };
    let product = |i: u32| half(i).wrapping_mul(byte::<B_SIGNED>(b, first + i));
    c.wrapping_add(product(0)).wrapping_add(product(1))
}
