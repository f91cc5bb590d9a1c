//! Logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions" and the bit operations of "Integer Arithmetic
//! Instructions").

use super::arithmetic::{integers, lanes};
use super::decoder::{Decoded, Decoder, decoders};
use crate::operation::Combine;
use crate::operation::kinds::{CombinePredicates, InsertBits, Lop3, MovePredicate, Nonzero, Outcome};
use crate::ops::body::select;
use crate::ops::logic::insert_bits;
use crate::ops::shape::{COLD, HOT};
use ir::by_flags;
use ir::instruction::{Direction, PrmtMode, SetIntBool, SzextMode};
use ir::operand::{Def, Predicate};
use numerics::bits::{self, Clamp, PermuteMode, Wrap};

/// A function of 32-bit registers.
macro_rules! words {
    ($d:ident, $op:ident, $heat:ident, ($($x:ident),+) $body:expr) => {
        lanes!($d, $op, $heat, ($($x: u32),+) -> u32 { $body })
    };
}

/// Evaluates an expression with a type standing for what becomes of amounts that are too great.
macro_rules! by_mode {
    ($mode:expr, $m:ident => $e:expr) => {
        match $mode {
            SzextMode::Clamp => {
                type $m = Clamp;
                $e
            }
            SzextMode::Wrap => {
                type $m = Wrap;
                $e
            }
        }
    };
}

/// `prmt` in one of its modes, a function each, so that the mode is known where lanes are looped over.
macro_rules! permute {
    ($d:ident, $op:ident, $mode:ident) => {
        words!($d, $op, COLD, (a, b, c) bits::prmt_mode(PermuteMode::$mode, a, b, c))
    };
}

decoders! { d, op:
    And => integers!(d, op, HOT, (a, b) { a & b });
    Or => integers!(d, op, HOT, (a, b) { a | b });
    Xor => integers!(d, op, HOT, (a, b) { a ^ b });
    Not => integers!(d, op, HOT, (a) { !a });
    Cnot => integers!(d, op, COLD, (a) { bits::cnot::<T>(a) });
    Shl => integers!(d, op, HOT, (a, b: u32) { bits::shl::<T>(a, b) });
    Shr => integers!(d, op, HOT, (a, b: u32) { bits::shr::<T>(a, b) });
    Popc => integers!(d, op, HOT, (a) -> u32 { bits::popc::<T>(a) });
    Clz => integers!(d, op, HOT, (a) -> u32 { bits::clz::<T>(a) });
    Bfind => by_flags!(op.shiftamt as SHIFTAMT => {
        integers!(d, op, COLD, (a) -> u32 { bits::bfind::<T, SHIFTAMT>(a) })
    });
    Brev => match op.ty.bits() {
        32 => lanes!(d, op, COLD, (a: u32) -> u32 { bits::brev32(a) }),
        _ => lanes!(d, op, COLD, (a: u64) -> u64 { bits::brev64(a) }),
    };
    Bfe => integers!(d, op, HOT, (a, b: u32, c: u32) { bits::bfe::<T>(a, b, c) });
    Bfi => {
        let bits = op.ty.bits();
        let (to, a, b) = (d.write_plane(op.d, bits)?, d.read_plane(&op.a, bits)?, d.read_plane(&op.b, bits)?);
        let (position, length) = (d.read_plane(&op.c, 32)?, d.read_plane(&op.e, 32)?);
        d.emit(insert_bits(bits, d.level).with(InsertBits { d: to, a, b, position, length }))
    };
    Szext => by_mode!(op.mode, M => integers!(d, op, COLD, (a, b: u32) { bits::szext::<T, M>(a, b) }));
    Bmsk => by_mode!(op.mode, M => words!(d, op, COLD, (a, b) bits::bmsk::<M>(a, b)));
    Fns => words!(d, op, COLD, (mask, base, offset) bits::fns(mask, base, offset as i32));
    Shf => by_mode!(op.mode, M => match op.direction {
        Direction::L => words!(d, op, HOT, (a, b, c) bits::shf_l::<M>(a, b, c)),
        Direction::R => words!(d, op, HOT, (a, b, c) bits::shf_r::<M>(a, b, c)),
    });
    Prmt => match op.mode {
        None => words!(d, op, HOT, (a, b, c) bits::prmt(a, b, c)),
        Some(PrmtMode::F4e) => permute!(d, op, Forward4),
        Some(PrmtMode::B4e) => permute!(d, op, Backward4),
        Some(PrmtMode::Rc8) => permute!(d, op, Replicate8),
        Some(PrmtMode::Ecl) => permute!(d, op, EdgeClampLeft),
        Some(PrmtMode::Ecr) => permute!(d, op, EdgeClampRight),
        Some(PrmtMode::Rc16) => permute!(d, op, Replicate16),
    };
    AndPred => predicates(d, op.d, [&op.a, &op.b], Combine::And);
    OrPred => predicates(d, op.d, [&op.a, &op.b], Combine::Or);
    XorPred => predicates(d, op.d, [&op.a, &op.b], Combine::Xor);
    NotPred => {
        let to = d.write_predicate(Some(op.d))?;
        let a = !d.read_predicate(&op.a)?;
        d.emit(MovePredicate { d: to, a })
    };
    // `lop3.bool` also tells whether the result is not zero, combined with a predicate.
    Lop3 => {
        let to = d.write_plane(op.d, 32)?;
        let [a, b, c] = [d.read_plane(&op.a, 32)?, d.read_plane(&op.b, 32)?, d.read_plane(&op.c, 32)?];
        let table = op.imm_lut as u8;
        d.emit(select::<Lop3>(d.level).with(Lop3 { d: to, a, b, c, table }))?;
        let (Some(combine), Some(p), Some(q)) = (op.combine, op.p, &op.q) else { return Ok(()) };
        let combine = Some(Combine::from(SetIntBool::from(combine)));
        let (p, with) = (d.write_predicate(Some(p))?, Some(d.read_predicate(q)?));
        let outcome = Outcome { p, q: None, with, combine };
        d.emit(Nonzero { a: to, outcome })
    };
}

fn predicates(d: &mut Decoder<'_>, to: Def, [a, b]: [&Predicate; 2], combine: Combine) -> Decoded {
    let to = d.write_predicate(Some(to))?;
    let (a, b) = (d.read_predicate(a)?, d.read_predicate(b)?);
    d.emit(CombinePredicates { d: to, a, b, combine })
}
