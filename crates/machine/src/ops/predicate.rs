//! Predicates from predicates, constants and scalars.

use super::shape::NEGATE;
use super::{NONE, Op};
use crate::exec::Exec;

/// [`Op::y`] of [`combine_predicates`]: the second source is negated.
pub(crate) const NEGATE_SECOND: u32 = 1 << 9;

/// Predicate `d` = `a` (negated?) combined with `b` (negated?), in the active lanes.
pub(crate) fn combine_predicates(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let flip = |bit| if op.y & bit != 0 { !0 } else { 0 };
    // `not p` is `!p and !p`: one flip serves both.
    let same = op.a == op.b;
    for warp in 0..x.warps {
        let a = x.files.p[op.a as usize + warp] ^ flip(NEGATE);
        let b = if same { a } else { x.files.p[op.b as usize + warp] ^ flip(NEGATE_SECOND) };
        let result = match op.y & 0xff {
            1 => a & b,
            2 => a | b,
            _ => a ^ b,
        };
        if op.d != NONE {
            let mask = x.mask[warp];
            let p = &mut x.files.p[op.d as usize + warp];
            *p = (*p & !mask) | (result & mask);
        }
    }
    pc + 1
}

/// Predicate `d` = constant `y` in the active lanes.
pub(crate) fn set_predicate(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if op.d != NONE {
        for warp in 0..x.warps {
            let mask = x.mask[warp];
            let p = &mut x.files.p[op.d as usize + warp];
            *p = (*p & !mask) | if op.y != 0 { mask } else { 0 };
        }
    }
    pc + 1
}

/// Predicate `d` = whether scalar `a` is not zero, in the active lanes.
pub(crate) fn predicate_from_scalar(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let y = u32::from(x.files.s[op.a as usize] != 0);
    set_predicate(x, &Op { y, ..*op }, pc)
}
