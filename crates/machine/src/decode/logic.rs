//! Logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions" and the bit operations of "Integer Arithmetic
//! Instructions").

use super::arithmetic::{by_flags, decoders, integers, lanes};
use super::decoder::{Decoded, Decoder};
use crate::lanes::Lane;
use crate::operation::Combine;
use crate::operation::kinds::{
    CombinePredicates, InsertBits, Lop3 as Lop3Operation, MovePredicate, Nonzero, Outcome,
};
use crate::ops::body::select;
use crate::ops::logic::BfiBody;
use crate::ops::shape::{COLD, HOT};
use ir::instruction::{Bfi, Direction, Lop3, Lop3Bool, PrmtMode, SzextMode};
use ir::operand::{Def, Predicate};
use numerics::bits::{self, Clamp, PermuteMode, Wrap};
use numerics::integer::Int;

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
    and(And) => integers!(d, op, HOT, (a, b) { a & b });
    or(Or) => integers!(d, op, HOT, (a, b) { a | b });
    xor(Xor) => integers!(d, op, HOT, (a, b) { a ^ b });
    not(Not) => integers!(d, op, HOT, (a) { !a });
    cnot(Cnot) => integers!(d, op, COLD, (a) { bits::cnot::<T>(a) });
    shl(Shl) => integers!(d, op, HOT, (a, b: u32) { bits::shl::<T>(a, b) });
    shr(Shr) => integers!(d, op, HOT, (a, b: u32) { bits::shr::<T>(a, b) });
    popc(Popc) => integers!(d, op, HOT, (a) -> u32 { bits::popc::<T>(a) });
    clz(Clz) => integers!(d, op, HOT, (a) -> u32 { bits::clz::<T>(a) });
    bfind(Bfind) => by_flags!(op.shiftamt as SHIFTAMT => {
        integers!(d, op, COLD, (a) -> u32 { bits::bfind::<T, SHIFTAMT>(a) })
    });
    brev(Brev) => match op.ty.bits() {
        32 => lanes!(d, op, COLD, (a: u32) -> u32 { bits::brev32(a) }),
        _ => lanes!(d, op, COLD, (a: u64) -> u64 { bits::brev64(a) }),
    };
    bfe(Bfe) => integers!(d, op, HOT, (a, b: u32, c: u32) { bits::bfe::<T>(a, b, c) });
    bfi(Bfi) => match op.ty.bits() {
        32 => insert::<u32>(d, op),
        _ => insert::<u64>(d, op),
    };
    szext(Szext) => by_mode!(op.mode, M => integers!(d, op, COLD, (a, b: u32) { bits::szext::<T, M>(a, b) }));
    bmsk(Bmsk) => by_mode!(op.mode, M => words!(d, op, COLD, (a, b) bits::bmsk::<M>(a, b)));
    fns(Fns) => words!(d, op, COLD, (mask, base, offset) bits::fns(mask, base, offset as i32));
    shf(Shf) => by_mode!(op.mode, M => match op.direction {
        Direction::L => words!(d, op, HOT, (a, b, c) bits::shf_l::<M>(a, b, c)),
        Direction::R => words!(d, op, HOT, (a, b, c) bits::shf_r::<M>(a, b, c)),
    });
    prmt(Prmt) => match op.mode {
        None => words!(d, op, HOT, (a, b, c) bits::prmt(a, b, c)),
        Some(PrmtMode::F4e) => permute!(d, op, Forward4),
        Some(PrmtMode::B4e) => permute!(d, op, Backward4),
        Some(PrmtMode::Rc8) => permute!(d, op, Replicate8),
        Some(PrmtMode::Ecl) => permute!(d, op, EdgeClampLeft),
        Some(PrmtMode::Ecr) => permute!(d, op, EdgeClampRight),
        Some(PrmtMode::Rc16) => permute!(d, op, Replicate16),
    };
    and_predicates(AndPred) => predicates(d, op.d, [&op.a, &op.b], Combine::And);
    or_predicates(OrPred) => predicates(d, op.d, [&op.a, &op.b], Combine::Or);
    xor_predicates(XorPred) => predicates(d, op.d, [&op.a, &op.b], Combine::Xor);
    not_predicate(NotPred) => {
        let to = d.write_predicate(Some(op.d))?;
        let a = !d.read_predicate(&op.a)?;
        d.emit(MovePredicate { d: to, a })
    };
}

fn insert<T: Int + Lane>(d: &mut Decoder<'_>, bfi: &Bfi) -> Decoded {
    let bits = <T as Lane>::BITS;
    let to = d.write_plane(bfi.d, bits)?;
    let [a, b] = [d.read_plane(&bfi.a, bits)?, d.read_plane(&bfi.b, bits)?];
    let [position, length] = [d.read_plane(&bfi.c, 32)?, d.read_plane(&bfi.e, 32)?];
    d.emit(select::<BfiBody<T>>(d.level).with(InsertBits { d: to, a, b, position, length }))
}

/// `lop3`, of which `lop3.bool` also tells whether the result is not zero, combined with a predicate.
pub(super) fn lop3(d: &mut Decoder<'_>, lop3: &Lop3) -> Decoded {
    let to = d.write_plane(lop3.d, 32)?;
    let [a, b, c] = [d.read_plane(&lop3.a, 32)?, d.read_plane(&lop3.b, 32)?, d.read_plane(&lop3.c, 32)?];
    let table = lop3.imm_lut as u8;
    d.emit(select::<Lop3Operation>(d.level).with(Lop3Operation { d: to, a, b, c, table }))?;
    let (Some(combine), Some(p), Some(q)) = (lop3.combine, lop3.p, &lop3.q) else { return Ok(()) };
    let combine = match combine {
        Lop3Bool::And => Combine::And,
        Lop3Bool::Or => Combine::Or,
    };
    let p = d.write_predicate(Some(p))?;
    let with = d.read_predicate(q)?;
    let outcome = Outcome { p, q: None, with: Some(with), combine: Some(combine) };
    d.emit(Nonzero { a: to, outcome })
}

fn predicates(d: &mut Decoder<'_>, to: Def, [a, b]: [&Predicate; 2], combine: Combine) -> Decoded {
    let to = d.write_predicate(Some(to))?;
    let (a, b) = (d.read_predicate(a)?, d.read_predicate(b)?);
    d.emit(CombinePredicates { d: to, a, b, combine })
}
