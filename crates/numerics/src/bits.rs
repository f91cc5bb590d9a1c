//! Logic, shifts and bit fields (PTX manual, "Logic and Shift Instructions" and the bit-field part of "Integer
//! Arithmetic Instructions").
//!
//! `and`, `or`, `xor` and `not` are Rust's operators and need no function here.

use crate::integer::Int;

/// What a shift amount or a field beyond 32 bits does: saturate (`.clamp`) or count modulo 32 (`.wrap`).
pub trait Excess: Copy + 'static {
    /// Whether amounts count modulo 32.
    const WRAP: bool;
}
/// `.clamp`.
#[derive(Clone, Copy, Debug)]
pub struct Clamp;
/// `.wrap`.
#[derive(Clone, Copy, Debug)]
pub struct Wrap;
impl Excess for Clamp {
    const WRAP: bool = false;
}
impl Excess for Wrap {
    const WRAP: bool = true;
}

/// `cnot`: one if zero, else zero.
#[inline(always)]
pub fn cnot<T: Int>(a: T) -> T {
    T::from_u64(u64::from(a == T::ZERO))
}

/// `shl`; an amount of the size or more shifts everything out.
#[inline(always)]
pub fn shl<T: Int>(a: T, amount: u32) -> T {
    if amount < T::BITS { a.shl(amount & (T::BITS - 1)) } else { T::ZERO }
}

/// `shr`; an amount of the size or more leaves the fill: copies of the sign for a signed type, else zeros.
#[inline(always)]
pub fn shr<T: Int>(a: T, amount: u32) -> T {
    let fill = if T::SIGNED { a.shr(T::BITS - 1) } else { T::ZERO };
    if amount < T::BITS { a.shr(amount & (T::BITS - 1)) } else { fill }
}

#[inline(always)]
fn funnel_amount<M: Excess>(amount: u32) -> u32 {
    if M::WRAP { amount & 31 } else { amount.min(32) }
}

#[inline(always)]
fn joined(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

/// `shf.l`: the upper word of `b:a` shifted left. Below 32, words suffice, of which vectors hold twice as many.
#[inline(always)]
pub fn shf_l<M: Excess>(a: u32, b: u32, amount: u32) -> u32 {
    if M::WRAP {
        let amount = funnel_amount::<M>(amount);
        return (b << amount) | ((a >> 1) >> (31 - amount));
    }
    ((joined(b, a) << funnel_amount::<M>(amount)) >> 32) as u32
}

/// `shf.r`: the lower word of `b:a` shifted right. Below 32, words suffice.
#[inline(always)]
pub fn shf_r<M: Excess>(a: u32, b: u32, amount: u32) -> u32 {
    if M::WRAP {
        let amount = funnel_amount::<M>(amount);
        return (a >> amount) | ((b << 1) << (31 - amount));
    }
    (joined(b, a) >> funnel_amount::<M>(amount)) as u32
}

/// `lop3`: the function of three bits with truth table `lut`, whose bit `4a + 2b + c` is the answer.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, lut: u8) -> u32 {
    let row = |index: u32| 0u32.wrapping_sub((u32::from(lut) >> index) & 1);
    let pick = |selector: u32, one: u32, zero: u32| zero ^ (selector & (one ^ zero));
    let without_a = pick(b, pick(c, row(3), row(2)), pick(c, row(1), row(0)));
    let with_a = pick(b, pick(c, row(7), row(6)), pick(c, row(5), row(4)));
    pick(a, with_a, without_a)
}

/// How `prmt` chooses its four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermuteMode {
    /// `.f4e`: four bytes forwards from the chosen one.
    Forward4,
    /// `.b4e`: four bytes backwards from the chosen one, round the eight.
    Backward4,
    /// `.rc8`: the chosen byte four times.
    Replicate8,
    /// `.ecl`: the bytes of `a` in place, with those below the chosen one replaced by it.
    EdgeClampLeft,
    /// `.ecr`: the bytes of `a` in place, with those above the chosen one replaced by it.
    EdgeClampRight,
    /// `.rc16`: the chosen half twice.
    Replicate16,
}

impl PermuteMode {
    /// The generic control word that does the same.
    #[inline(always)]
    fn control(self, selector: u32) -> u32 {
        let s = selector & 3;
        let byte = |i: u32| match self {
            PermuteMode::Forward4 => s + i,
            PermuteMode::Backward4 => s.wrapping_sub(i) & 7,
            PermuteMode::Replicate8 => s,
            PermuteMode::EdgeClampLeft => i.max(s),
            PermuteMode::EdgeClampRight => i.min(s),
            PermuteMode::Replicate16 => (s & 1) * 2 + (i & 1),
        };
        byte(0) | (byte(1) << 4) | (byte(2) << 8) | (byte(3) << 12)
    }
}

/// `prmt` without a mode: each nibble of `control` picks a byte of `b:a`, or its sign replicated when bit 3 is set.
#[inline(always)]
pub fn prmt(a: u32, b: u32, control: u32) -> u32 {
    let source = joined(b, a);
    let byte = |i: u32| {
        let selector = control >> (4 * i);
        let value = (source >> ((selector & 7) * 8)) as u8;
        let sign = ((value as i8) >> 7) as u8;
        u32::from(if selector & 8 != 0 { sign } else { value }) << (8 * i)
    };
    byte(0) | byte(1) | byte(2) | byte(3)
}

/// `prmt` with a mode, which reads the two low bits of `c`.
#[inline(always)]
pub fn prmt_mode(mode: PermuteMode, a: u32, b: u32, c: u32) -> u32 {
    prmt(a, b, mode.control(c))
}

/// `popc`.
#[inline(always)]
pub fn popc<T: Int>(a: T) -> u32 {
    (a.to_u64() & low_mask(T::BITS)).count_ones()
}

/// `clz`.
#[inline(always)]
pub fn clz<T: Int>(a: T) -> u32 {
    a.leading_zeros()
}

/// `brev` of 32 bits.
#[inline(always)]
pub fn brev32(a: u32) -> u32 {
    a.reverse_bits()
}

/// `brev` of 64 bits.
#[inline(always)]
pub fn brev64(a: u64) -> u64 {
    a.reverse_bits()
}

/// `bfind`: the place of the highest bit that differs from the sign, or all ones if there is none. `SHIFTAMT` counts
/// that place from the top instead.
#[inline(always)]
pub fn bfind<T: Int, const SHIFTAMT: bool>(a: T) -> u32 {
    let bits = if a < T::ZERO { a.not() } else { a };
    let zeros = bits.leading_zeros();
    let place = if SHIFTAMT { zeros } else { (T::BITS - 1).wrapping_sub(zeros) };
    if bits == T::ZERO { u32::MAX } else { place }
}

/// `fns`: the place of the `offset`-th set bit of `mask` counted from `base` upwards, or downwards if negative; all
/// ones if there is none. A `base` above 31, which PTX leaves open, finds nothing; the least offset finds 0 (measured).
pub fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if offset == i32::MIN {
        return 0;
    }
    if base > 31 {
        return u32::MAX;
    }
    let (window, count) = match offset {
        0 => (mask & (1 << base), 1),
        1.. => (mask & (u32::MAX << base), offset.unsigned_abs()),
        _ => (mask & (u32::MAX >> (31 - base)), offset.unsigned_abs()),
    };
    if count > window.count_ones() {
        return u32::MAX;
    }
    let mut rest = window;
    for _ in 1..count {
        // Drop the set bit nearest to the base.
        rest &= if offset >= 0 { rest - 1 } else { !(1 << (31 - rest.leading_zeros())) };
    }
    if offset >= 0 { rest.trailing_zeros() } else { 31 - rest.leading_zeros() }
}

/// The lowest `length` bits set, for any length.
#[inline(always)]
fn low_mask(length: u32) -> u64 {
    if length < 64 { !(u64::MAX << (length & 63)) } else { u64::MAX }
}

/// A place or a length of a field. The 32-bit instructions take them modulo 256. The 64-bit ones, which hardware does
/// in steps, take them whole (measured; PTX allows neither above 255).
#[inline(always)]
fn field_number<T: Int>(x: u32) -> u32 {
    if T::BITS == 32 { x & 0xff } else { x }
}

/// `bfe`: the field of `length` bits at `position`; a signed type extends the field's top bit.
#[inline(always)]
pub fn bfe<T: Int>(a: T, position: u32, length: u32) -> T {
    let (position, length) = (field_number::<T>(position), field_number::<T>(length));
    let top = T::BITS - 1;
    // A shift past the top leaves copies of the sign (or zeros), which is what lies beyond the most significant bit.
    let field = shr(a, position).to_u64();
    let sign_place = position.saturating_add(length).wrapping_sub(1).min(top);
    let fill = if T::SIGNED & (shr(a, sign_place).to_u64() & 1 != 0) { u64::MAX } else { 0 };
    let mask = low_mask(length);
    let value = (field & mask) | (fill & !mask);
    T::from_u64(if length == 0 { 0 } else { value })
}

/// `bfi`: `b` with the lowest `length` bits of `a` put in at `position`.
#[inline(always)]
pub fn bfi<T: Int>(a: T, b: T, position: u32, length: u32) -> T {
    let position = field_number::<T>(position);
    let mask = shl(T::from_u64(low_mask(field_number::<T>(length))), position).to_u64();
    let inserted = shl(a, position).to_u64();
    T::from_u64((inserted & mask) | (b.to_u64() & !mask))
}

/// `szext`: the low `width` bits of `a`, extended to 32 bits with zeros (`u32`) or their sign (`i32`).
#[inline(always)]
pub fn szext<T: Int, M: Excess>(a: T, width: u32) -> T {
    let n = width & 31;
    let too_large = !M::WRAP & (width >= 32);
    let mask = low_mask(n);
    let sign = T::SIGNED & ((a.to_u64() >> (n.wrapping_sub(1) & 31)) & 1 != 0);
    let fill = if sign & (n != 0) { !mask } else { 0 };
    let extended = T::from_u64((a.to_u64() & mask) | fill);
    if too_large { a } else { extended }
}

/// `bmsk`: `width` set bits from `position`.
#[inline(always)]
pub fn bmsk<M: Excess>(position: u32, width: u32) -> u32 {
    let (position, width) =
        if M::WRAP { (position & 31, width & 31) } else { (position.min(32), width.min(32)) };
    (low_mask(width) << position) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_funnel_shift_of_words_is_that_of_both_joined() {
        let words = [0, 1, 0x8000_0000, 0x7fff_ffff, 0xdead_beef, 0x0123_4567, u32::MAX];
        for (a, b) in words.into_iter().flat_map(|a| words.map(|b| (a, b))) {
            for amount in 0..64 {
                let shift = amount & 31;
                assert_eq!(shf_l::<Wrap>(a, b, amount), (joined(b, a) << shift >> 32) as u32);
                assert_eq!(shf_r::<Wrap>(a, b, amount), (joined(b, a) >> shift) as u32);
                if amount < 32 {
                    assert_eq!(shf_l::<Wrap>(a, b, amount), shf_l::<Clamp>(a, b, amount));
                    assert_eq!(shf_r::<Wrap>(a, b, amount), shf_r::<Clamp>(a, b, amount));
                }
            }
        }
    }
}
