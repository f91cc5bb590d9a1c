//! Logic, shifts, bit fields, and registers put together from parts (PTX ISA, "Logic and Shift Instructions", the bit
//! operations of "Integer Arithmetic Instructions", and `prmt` and `mov` of "Data Movement and Conversion Instructions").

use super::choose::{integers, lanes, lanewise};
use crate::by_flags;
use crate::instruction::{Direction, PrmtMode, SetIntBool, SzextMode};
use crate::operand::{Def, Predicate};
use numerics::bits::{self, PermuteMode};
use numerics::integer::Int;

/// A predicate that `lop3.bool` writes: whether the result is not zero, combined with another predicate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nonzero {
    /// Where it goes.
    pub p: Def,
    /// How it is combined.
    pub combine: SetIntBool,
    /// With what.
    pub with: Predicate,
}

/// A function of 32-bit registers.
macro_rules! words {
    ($to:ident, $op:ident, ($($x:ident),+) $body:expr) => {
        lanes!($to, $op, ($($x: u32),+) -> u32 { $body })
    };
}

/// A function of bits, of 16, 32 or 64.
macro_rules! untyped {
    ($to:ident, $op:ident, ($($operands:tt)+) $body:block) => {
        integers!($to, $op in [B16: u16, B32: u32, B64: u64], ($($operands)+) $body)
    };
}

/// Evaluates an expression with a type standing for what becomes of amounts that are too great.
macro_rules! by_excess {
    ($mode:expr, $m:ident => $e:expr) => {
        match $mode {
            SzextMode::Clamp => {
                type $m = bits::Clamp;
                $e
            }
            SzextMode::Wrap => {
                type $m = bits::Wrap;
                $e
            }
        }
    };
}

/// `prmt` in one of its modes, a function each.
macro_rules! permute {
    ($to:ident, $op:ident, $mode:ident) => {{
        const PERMUTE: bool = true;
        words!($to, $op, (a, b, c) bits::prmt_mode(PermuteMode::$mode, a, b, c))
    }};
}

lanewise! { to, op:
    And => untyped!(to, op, (a, b) { a & b });
    Or => untyped!(to, op, (a, b) { a | b });
    Xor => untyped!(to, op, (a, b) { a ^ b });
    Not => untyped!(to, op, (a) { a.not() });
    AndPred => to.combine(op.d, [op.a, op.b], SetIntBool::And);
    OrPred => to.combine(op.d, [op.a, op.b], SetIntBool::Or);
    XorPred => to.combine(op.d, [op.a, op.b], SetIntBool::Xor);
    NotPred => to.opposite(op.d, op.a);
    Lop3 => {
        let nonzero = match (op.combine, op.p, op.q) {
            (Some(combine), Some(p), Some(with)) => Some(Nonzero { p, combine: combine.into(), with }),
            _ => None,
        };
        to.look_up(op.d, [op.a, op.b, op.c], op.imm_lut as u8, nonzero)
    };
    MovPack => to.pack(op.d, op.ty.bits(), &op.a);
    Cnot => untyped!(to, op, (a) { bits::cnot::<T>(a) });
    Shl => untyped!(to, op, (a, b: u32) { bits::shl::<T>(a, b) });
    Shr => integers!(to, op, (a, b: u32) { bits::shr::<T>(a, b) });
    Shf => by_excess!(op.mode, M => match op.direction {
        Direction::L => words!(to, op, (a, b, c) bits::shf_l::<M>(a, b, c)),
        Direction::R => words!(to, op, (a, b, c) bits::shf_r::<M>(a, b, c)),
    });
    Popc => integers!(to, op in [B32: u32, B64: u64], (a) -> u32 { bits::popc::<T>(a) });
    Clz => integers!(to, op in [B32: u32, B64: u64], (a) -> u32 { bits::clz::<T>(a) });
    Bfind => by_flags!(op.shiftamt as SHIFTAMT => {
        integers!(to, op in [U32: u32, S32: i32, U64: u64, S64: i64], (a) -> u32 { bits::bfind::<T, SHIFTAMT>(a) })
    });
    Brev => match op.ty.bits() {
        32 => words!(to, op, (a) bits::brev32(a)),
        _ => lanes!(to, op, (a: u64) -> u64 { bits::brev64(a) }),
    };
    Bfe => integers!(to, op in [U32: u32, S32: i32, U64: u64, S64: i64], (a, b: u32, c: u32) { bits::bfe::<T>(a, b, c) });
    Bfi => integers!(to, op in [B32: u32, B64: u64], (a, b, c: u32, e: u32) { bits::bfi::<T>(a, b, c, e) });
    Szext => by_excess!(op.mode, M => {
        integers!(to, op in [U32: u32, S32: i32], (a, b: u32) { bits::szext::<T, M>(a, b) })
    });
    Bmsk => by_excess!(op.mode, M => words!(to, op, (a, b) bits::bmsk::<M>(a, b)));
    Fns => words!(to, op, (mask, base, offset) bits::fns(mask, base, offset as i32));
    Prmt => match op.mode {
        None => words!(to, op, (a, b, c) bits::prmt(a, b, c)),
        Some(PrmtMode::F4e) => permute!(to, op, Forward4),
        Some(PrmtMode::B4e) => permute!(to, op, Backward4),
        Some(PrmtMode::Rc8) => permute!(to, op, Replicate8),
        Some(PrmtMode::Ecl) => permute!(to, op, EdgeClampLeft),
        Some(PrmtMode::Ecr) => permute!(to, op, EdgeClampRight),
        Some(PrmtMode::Rc16) => permute!(to, op, Replicate16),
    };
}
