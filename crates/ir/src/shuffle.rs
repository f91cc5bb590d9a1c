//! Which lane a shuffle reads (PTX ISA, "shfl").

use crate::instruction::ShflMode;

/// The lane that a lane reads from by operands `b` and `c`, and whether it is inside its segment. From outside, a lane reads itself.
#[inline]
pub fn source(mode: ShflMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (by, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let most = (lane & segment) | (clamp & !segment);
    let (from, inside) = match mode {
        ShflMode::Up => {
            let from = lane.wrapping_sub(by);
            (from, from as i32 >= most as i32)
        }
        ShflMode::Down => (lane + by, lane + by <= most),
        ShflMode::Bfly => (lane ^ by, lane ^ by <= most),
        ShflMode::Idx => {
            let from = (lane & segment) | (by & !segment);
            (from, from <= most)
        }
    };
    (if inside { from & 31 } else { lane }, inside)
}
