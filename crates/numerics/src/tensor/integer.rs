//! Integer and single-bit dot products.

use super::{BitOperation, Element};

/// The sum of products and `c`, modulo 2^32 or, with `.satfinite`, clamped to the range of `.s32`.
pub(super) fn dot(a: &[Element], b: &[Element], c: u32, satfinite: bool) -> u32 {
    let products = a.iter().zip(b).map(|(a, b)| a.bits() as i64 * b.bits() as i64);
    let sum = i64::from(c as i32) + products.sum::<i64>();
    if satfinite { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32 } else { sum as u32 }
}

/// The number of set bits of the combined words, plus `c`, modulo 2^32.
pub(super) fn count(operation: BitOperation, a: &[Element], b: &[Element], c: u32) -> u32 {
    let mut sum = c;
    for (a, b) in a.iter().zip(b) {
        let combined = match operation {
            BitOperation::Xor => a.bits() ^ b.bits(),
            BitOperation::And => a.bits() & b.bits(),
        };
        sum = sum.wrapping_add(combined.count_ones());
    }
    sum
}
