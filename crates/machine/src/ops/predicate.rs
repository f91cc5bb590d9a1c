//! Predicates from predicates, constants and scalars.

use crate::exec::Exec;
use crate::lanes::Condition;
use crate::operation::Combine;
use crate::operation::kinds::{CombinePredicates, MovePredicate, PredicateFromScalar, SetPredicate};

/// The lanes of a warp where a condition is met.
fn met(x: &Exec<'_>, condition: Condition, warp: usize) -> u32 {
    x.files.p[condition.index() + warp] ^ condition.flip()
}

/// [`CombinePredicates`].
pub(crate) fn combine(x: &mut Exec<'_>, op: &CombinePredicates, pc: u32) -> u32 {
    let Some(d) = op.d else { return pc + 1 };
    for warp in 0..x.warps {
        let (a, b) = (met(x, op.a, warp), met(x, op.b, warp));
        let result = match op.combine {
            Combine::And => a & b,
            Combine::Or => a | b,
            Combine::Xor => a ^ b,
        };
        x.files.write_predicate(d, warp, x.mask[warp], result);
    }
    pc + 1
}

/// [`MovePredicate`].
pub(crate) fn copy(x: &mut Exec<'_>, op: &MovePredicate, pc: u32) -> u32 {
    let Some(d) = op.d else { return pc + 1 };
    for warp in 0..x.warps {
        let a = met(x, op.a, warp);
        x.files.write_predicate(d, warp, x.mask[warp], a);
    }
    pc + 1
}

/// [`SetPredicate`].
pub(crate) fn set(x: &mut Exec<'_>, op: &SetPredicate, pc: u32) -> u32 {
    let Some(d) = op.d else { return pc + 1 };
    for warp in 0..x.warps {
        x.files.write_predicate(d, warp, x.mask[warp], if op.value { !0 } else { 0 });
    }
    pc + 1
}

/// [`PredicateFromScalar`], in the active lanes.
pub(crate) fn from_scalar(x: &mut Exec<'_>, op: &PredicateFromScalar, pc: u32) -> u32 {
    let value = x.files.s[op.a.index()] != 0;
    set(x, &SetPredicate { d: Some(op.d), value }, pc)
}
