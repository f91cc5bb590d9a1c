//! Logic, shifts, bit fields, and registers put together from parts (PTX ISA, "Logic and Shift Instructions", the bit
//! operations of "Integer Arithmetic Instructions", and `prmt` and `mov` of "Data Movement and Conversion Instructions").

use super::choose::{by_excess, integers, lanes};
use super::{Lanewise, MOST_OPERANDS, Read};
use crate::by_flags;
use crate::instruction::{Direction, MovPack, Op, PrmtMode};
use numerics::bits::{self, PermuteMode};
use numerics::integer::Int;

/// A function of 32-bit registers.
macro_rules! words {
    ($op:ident, ($($x:ident),+) $body:expr) => {
        lanes!($op, ($($x: u32),+) -> u32 { $body })
    };
}

pub(super) fn function(op: &Op) -> Option<Lanewise> {
    match op {
        Op::And(op) => integers!(op, (a, b) { a & b }),
        Op::Or(op) => integers!(op, (a, b) { a | b }),
        Op::Xor(op) => integers!(op, (a, b) { a ^ b }),
        Op::Not(op) => integers!(op, (a) { a.not() }),
        Op::AndPred(op) => lanes!(op, (a: bool, b: bool) -> bool { a & b }),
        Op::OrPred(op) => lanes!(op, (a: bool, b: bool) -> bool { a | b }),
        Op::XorPred(op) => lanes!(op, (a: bool, b: bool) -> bool { a ^ b }),
        Op::NotPred(op) => lanes!(op, (a: bool) -> bool { !a }),
        Op::Cnot(op) => integers!(op, (a) { bits::cnot::<T>(a) }),
        Op::Shl(op) => integers!(op, (a, b: u32) { bits::shl::<T>(a, b) }),
        Op::Shr(op) => integers!(op, (a, b: u32) { bits::shr::<T>(a, b) }),
        Op::Shf(op) => by_excess!(op.mode, M => match op.direction {
            Direction::L => words!(op, (a, b, c) bits::shf_l::<M>(a, b, c)),
            Direction::R => words!(op, (a, b, c) bits::shf_r::<M>(a, b, c)),
        }),
        // With a predicate it has two results.
        Op::Lop3(op) if op.combine.is_none() => {
            let table = op.imm_lut as u8;
            words!(op, (a, b, c) bits::lop3(a, b, c, table))
        }
        Op::Popc(op) => integers!(op, (a) -> u32 { bits::popc::<T>(a) }),
        Op::Clz(op) => integers!(op, (a) -> u32 { bits::clz::<T>(a) }),
        Op::Bfind(op) => by_flags!(op.shiftamt as SHIFTAMT => {
            integers!(op, (a) -> u32 { bits::bfind::<T, SHIFTAMT>(a) })
        }),
        Op::Brev(op) => match op.ty.bits() {
            32 => words!(op, (a) bits::brev32(a)),
            _ => lanes!(op, (a: u64) -> u64 { bits::brev64(a) }),
        },
        Op::Bfe(op) => integers!(op, (a, b: u32, c: u32) { bits::bfe::<T>(a, b, c) }),
        Op::Bfi(op) => integers!(op, (a, b, c: u32, e: u32) { bits::bfi::<T>(a, b, c, e) }),
        Op::Szext(op) => by_excess!(op.mode, M => integers!(op, (a, b: u32) { bits::szext::<T, M>(a, b) })),
        Op::Bmsk(op) => by_excess!(op.mode, M => words!(op, (a, b) bits::bmsk::<M>(a, b))),
        Op::Fns(op) => words!(op, (mask, base, offset) bits::fns(mask, base, offset as i32)),
        Op::Prmt(op) => {
            let mode = match op.mode {
                None => return words!(op, (a, b, c) bits::prmt(a, b, c)),
                Some(PrmtMode::F4e) => PermuteMode::Forward4,
                Some(PrmtMode::B4e) => PermuteMode::Backward4,
                Some(PrmtMode::Rc8) => PermuteMode::Replicate8,
                Some(PrmtMode::Ecl) => PermuteMode::EdgeClampLeft,
                Some(PrmtMode::Ecr) => PermuteMode::EdgeClampRight,
                Some(PrmtMode::Rc16) => PermuteMode::Replicate16,
            };
            words!(op, (a, b, c) bits::prmt_mode(mode, a, b, c))
        }
        Op::MovPack(op) => pack(op),
        _ => None,
    }
}

/// `mov.b64 d, {a, b}`: element 0 is the lowest.
fn pack(mov: &MovPack) -> Option<Lanewise> {
    let (bits, count) = (mov.ty.bits(), mov.a.len());
    if bits > u64::BITS || !(1..=MOST_OPERANDS).contains(&count) {
        return None;
    }
    let part = bits / count as u32;
    let operands = mov.a.iter().map(|element| element.read(part)).collect();
    let function = move |words: &[u64; MOST_OPERANDS]| {
        let elements = words[..count].iter().rev();
        elements.fold(0, |packed: u64, &word| packed.wrapping_shl(part) | word & super::ones(part))
    };
    Some(Lanewise { d: mov.d, bits, signed: false, operands, function: Box::new(function) })
}
