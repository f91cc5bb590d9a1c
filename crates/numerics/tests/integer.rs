//! Integer instructions against the plainest possible definitions: 128-bit arithmetic and loops over single bits.

use numerics::bits::{self, Clamp, PermuteMode, Wrap};
use numerics::integer::{self, Int};
use numerics::{convert, extended, packed};

/// The edges of 64 bits and of each smaller size, and a deterministic sequence of patterns.
fn operands() -> Vec<u64> {
    let mut values = vec![0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 255, 256];
    for bits in [8, 16, 24, 32, 48, 64] {
        let top = u64::MAX >> (64 - bits);
        values.extend([top, top - 1, top / 2, top / 2 + 1, top / 2 + 2, !top, !(top / 2)]);
    }
    let mut state = 1u64;
    for _ in 0..60 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values.push(state ^ (state >> 29));
    }
    values
}

fn value<T: Int>(x: T) -> i128 {
    if T::SIGNED { i128::from(x.to_u64() as i64) } else { i128::from(x.to_u64()) }
}

fn clamped<T: Int>(x: i128) -> u64 {
    x.clamp(value(T::MIN), value(T::MAX)) as u64
}

fn check_arithmetic<T: Int>() {
    let values = operands();
    let size = T::BITS;
    let is = |what: &str, a: T, b: T, got: T, want: u64| {
        let want = T::from_u64(want);
        assert!(
            got == want,
            "{what} {:x} {:x}: {:x}, expected {:x}",
            a.to_u64(),
            b.to_u64(),
            got.to_u64(),
            want.to_u64()
        );
    };
    for &x in &values {
        for &y in &values {
            let (a, b, c) = (T::from_u64(x), T::from_u64(y), T::from_u64(x.rotate_left(13) ^ y));
            let (va, vb, vc) = (value(a), value(b), value(c));
            let product = va.wrapping_mul(vb);
            is("add", a, b, integer::add::<T, false>(a, b), (va + vb) as u64);
            is("add.sat", a, b, integer::add::<T, true>(a, b), clamped::<T>(va + vb));
            is("sub", a, b, integer::sub::<T, false>(a, b), (va - vb) as u64);
            is("sub.sat", a, b, integer::sub::<T, true>(a, b), clamped::<T>(va - vb));
            is("mul.lo", a, b, integer::mul_lo(a, b), product as u64);
            // Arithmetic or logical does not matter: only bits below 128 are kept.
            is("mul.hi", a, b, integer::mul_hi(a, b), (product >> size) as u64);
            is("mad.lo", a, b, integer::mad_lo(a, b, c), (product.wrapping_add(vc)) as u64);
            is("sad", a, b, integer::sad(a, b, c), ((va - vb).abs() + vc) as u64);
            is("min", a, b, integer::min::<T, false>(a, b), va.min(vb) as u64);
            is("max", a, b, integer::max::<T, false>(a, b), va.max(vb) as u64);
            is("min.relu", a, b, integer::min::<T, true>(a, b), va.min(vb).max(0) as u64);
            is("max.relu", a, b, integer::max::<T, true>(a, b), va.max(vb).max(0) as u64);
            let (quotient, remainder) = if vb == 0 { (-1, -1) } else { (va / vb, va % vb) };
            is("div", a, b, integer::div(a, b), quotient as u64);
            is("rem", a, b, integer::rem(a, b), remainder as u64);
        }
        let a = T::from_u64(x);
        is("abs", a, a, integer::abs(a), value(a).unsigned_abs() as u64);
        is("neg", a, a, integer::neg(a), (-value(a)) as u64);
    }
}

#[test]
fn arithmetic() {
    check_arithmetic::<u16>();
    check_arithmetic::<i16>();
    check_arithmetic::<u32>();
    check_arithmetic::<i32>();
    check_arithmetic::<u64>();
    check_arithmetic::<i64>();
}

fn check_bits<T: Int>() {
    let bit = |x: u64, i: u32| i < T::BITS && (x >> i) & 1 != 0;
    let set =
        |places: &dyn Fn(u32) -> bool| T::from_u64((0..T::BITS).map(|i| u64::from(places(i)) << i).sum());
    let top = T::BITS - 1;
    let amounts: Vec<u32> = (0..70).chain([127, 128, 200, 255]).collect();
    for x in operands() {
        let a = T::from_u64(x);
        let sign = T::SIGNED && bit(x, top);
        for &n in &amounts {
            assert!(bits::shl(a, n) == set(&|i| i >= n && bit(x, i - n)), "shl {x:x} {n}");
            let right = set(&|i| if i + n <= top { bit(x, i + n) } else { sign });
            assert!(bits::shr(a, n) == right, "shr {x:x} {n}");
            if T::BITS < 32 {
                continue;
            }
            for &length in &amounts {
                let place = (n + length).saturating_sub(1).min(top);
                let fill = T::SIGNED && length != 0 && bit(x, place);
                let field = set(&|i| if i < length && n + i <= top { bit(x, n + i) } else { fill });
                assert!(bits::bfe(a, n, length) == field, "bfe {x:x} {n} {length}");
                let b = T::from_u64(!x.rotate_left(5));
                let inserted =
                    set(&|i| if i >= n && i - n < length { bit(x, i - n) } else { bit(b.to_u64(), i) });
                assert!(bits::bfi(a, b, n, length) == inserted, "bfi {x:x} {n} {length}");
            }
        }
        let significant = (0..T::BITS).rev().find(|&i| bit(x, i) != sign);
        assert_eq!(bits::bfind::<T, false>(a), significant.unwrap_or(u32::MAX), "bfind {x:x}");
        assert_eq!(
            bits::bfind::<T, true>(a),
            significant.map_or(u32::MAX, |i| top - i),
            "bfind.shiftamt {x:x}"
        );
        assert_eq!(bits::popc(a), (0..T::BITS).filter(|&i| bit(x, i)).count() as u32, "popc {x:x}");
        let highest = (0..T::BITS).rev().find(|&i| bit(x, i));
        assert_eq!(bits::clz(a), highest.map_or(T::BITS, |i| top - i), "clz {x:x}");
    }
}

#[test]
fn bit_fields_and_shifts() {
    check_bits::<u16>();
    check_bits::<i16>();
    check_bits::<u32>();
    check_bits::<i32>();
    check_bits::<u64>();
    check_bits::<i64>();
}

#[test]
fn every_lop3_table() {
    let (a, b, c) = (0xdead_beef, 0x0123_4567, 0x89ab_cdef);
    for lut in 0..=255u8 {
        let want: u32 = (0..32)
            .map(|i| {
                let row = ((a >> i) & 1) * 4 + ((b >> i) & 1) * 2 + ((c >> i) & 1);
                ((u32::from(lut) >> row) & 1) << i
            })
            .sum();
        assert_eq!(bits::lop3(a, b, c, lut), want, "{lut:x}");
    }
    assert_eq!(bits::lop3(a, b, c, (0xf0 & 0xcc | 0xaa) ^ 0xf0), (a & b | c) ^ a);
}

#[test]
fn permute_modes_of_the_manual() {
    // The table of the manual: the source bytes of the result, from the most significant, for selectors 0 to 3.
    let table = [
        (PermuteMode::Forward4, [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        (PermuteMode::Backward4, [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        (PermuteMode::Replicate8, [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        (PermuteMode::EdgeClampLeft, [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        (PermuteMode::EdgeClampRight, [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        (PermuteMode::Replicate16, [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    for (mode, rows) in table {
        for (selector, bytes) in rows.into_iter().enumerate() {
            let want = u32::from_be_bytes(bytes);
            assert_eq!(
                bits::prmt_mode(mode, 0x0302_0100, 0x0706_0504, selector as u32),
                want,
                "{mode:?} {selector}"
            );
        }
    }
}

#[test]
fn masks_and_extensions() {
    for n in 0..70u32 {
        for width in 0..70u32 {
            let ones = |from: u32, count: u32| (from..(from + count).min(32)).map(|i| 1u32 << i).sum::<u32>();
            assert_eq!(bits::bmsk::<Wrap>(n, width), ones(n & 31, width & 31), "bmsk.wrap {n} {width}");
            assert_eq!(bits::bmsk::<Clamp>(n, width), ones(n, width), "bmsk.clamp {n} {width}");
        }
        let x = 0x89ab_cdef_u32;
        let kept = n & 31;
        let zero = (0..kept).map(|i| x & (1 << i)).sum::<u32>();
        let negative = kept > 0 && (x >> (kept - 1)) & 1 != 0;
        let sign = if negative { zero | (u32::MAX << kept) } else { zero };
        assert_eq!(bits::szext::<u32, Wrap>(x, n), zero, "szext.wrap.u32 {n}");
        assert_eq!(bits::szext::<i32, Wrap>(x as i32, n) as u32, sign, "szext.wrap.s32 {n}");
        let clamp = |extended| if n >= 32 { x } else { extended };
        assert_eq!(bits::szext::<u32, Clamp>(x, n), clamp(zero), "szext.clamp.u32 {n}");
        assert_eq!(bits::szext::<i32, Clamp>(x as i32, n) as u32, clamp(sign), "szext.clamp.s32 {n}");
    }
}

#[test]
fn carries_make_long_arithmetic() {
    for x in operands() {
        for y in operands() {
            let (low, carry) = extended::addc(x as u32, y as u32, false);
            let (high, carry) = extended::addc((x >> 32) as u32, (y >> 32) as u32, carry);
            let (sum, overflow) = x.overflowing_add(y);
            assert_eq!((u64::from(high) << 32 | u64::from(low), carry), (sum, overflow));
            let (low, carry) = extended::subc(x as u32, y as u32, true);
            let (high, carry) = extended::subc((x >> 32) as u32, (y >> 32) as u32, carry);
            let (difference, borrow) = x.overflowing_sub(y);
            assert_eq!((u64::from(high) << 32 | u64::from(low), !carry), (difference, borrow));
            // The 128-bit product of two 64-bit values from 32-bit steps of its two low words.
            let (a, b) = (u128::from(x), u128::from(y));
            let (low, carry) = extended::madc_lo(x, y, 7, false);
            let (high, carry) = extended::madc_hi(x, y, 9, carry);
            let (want, overflow) = (a * b).overflowing_add(9 << 64 | 7);
            assert_eq!((u128::from(high) << 64 | u128::from(low), carry), (want, overflow));
        }
    }
}

fn check_conversion<S: Int, D: Int>() {
    for x in operands() {
        let a = S::from_u64(x);
        let plain = convert::int_to_int::<S, D, false>(a);
        assert!(plain == D::from_u64(value(a) as u64), "cvt {x:x}");
        let saturated = convert::int_to_int::<S, D, true>(a);
        assert!(value(saturated) == value(a).clamp(value(D::MIN), value(D::MAX)), "cvt.sat {x:x}");
    }
}

#[test]
fn integer_conversions() {
    macro_rules! each {
        ($($s:ty: $($d:ty)+;)+) => {$($(check_conversion::<$s, $d>();)+)+};
    }
    each! {
        u8: u8 i8 u16 i16 u32 i32 u64 i64;
        i8: u8 i8 u16 i16 u32 i32 u64 i64;
        u16: u8 i8 u16 i16 u32 i32 u64 i64;
        i16: u8 i8 u16 i16 u32 i32 u64 i64;
        u32: u8 i8 u16 i16 u32 i32 u64 i64;
        i32: u8 i8 u16 i16 u32 i32 u64 i64;
        u64: u8 i8 u16 i16 u32 i32 u64 i64;
        i64: u8 i8 u16 i16 u32 i32 u64 i64;
    }
}

#[test]
fn find_nth_set_as_the_manual_loops() {
    let by_loop = |mask: u32, base: u32, offset: i32| -> u32 {
        if offset == 0 {
            return if (mask >> base) & 1 != 0 { base } else { u32::MAX };
        }
        let mut left = offset.unsigned_abs();
        let mut place = i64::from(base);
        while (0..32).contains(&place) {
            left -= u32::from((mask >> place) & 1 != 0);
            if left == 0 {
                return place as u32;
            }
            place += i64::from(offset.signum());
        }
        u32::MAX
    };
    for mask in operands() {
        for base in 0..32 {
            for offset in (-34..35).chain([i32::MAX, -i32::MAX]) {
                let mask = mask as u32;
                assert_eq!(
                    bits::fns(mask, base, offset),
                    by_loop(mask, base, offset),
                    "{mask:x} {base} {offset}"
                );
            }
        }
    }
}

#[test]
fn dot_products() {
    for x in operands() {
        let (a, b, c) = (x as u32, (x >> 32) as u32, x.rotate_left(17) as u32);
        let unsigned: u32 = (0..4).map(|i| (a >> (8 * i) & 255) * (b >> (8 * i) & 255)).sum();
        assert_eq!(packed::dp4a::<false, false>(a, b, c), c.wrapping_add(unsigned));
        let byte = |w: u32, i: usize| i32::from(w.to_le_bytes()[i] as i8);
        let signed: i32 = (0..4).map(|i| byte(a, i) * byte(b, i)).sum();
        assert_eq!(packed::dp4a::<true, true>(a, b, c), c.wrapping_add(signed as u32));
        let half = |i: u32| i32::from((a >> (16 * i)) as i16);
        let high = half(0) * byte(b, 2) + half(1) * byte(b, 3);
        assert_eq!(packed::dp2a::<true, true, true>(a, b, c), c.wrapping_add(high as u32));
    }
}
