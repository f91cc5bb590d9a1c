//! Integers, bits, selection and comparison.

use super::{Given, compute, joined, one};
use crate::step::Action;
use crate::step::Kind::{Flag, Term, Wide, Word};
use numerics::bits::{self, Clamp, PermuteMode, Wrap};

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    match given.opcode {
        "MOV" => {
            given.only(&[])?;
            Some(one(given.registers(0, 1)?, vec![given.source(1, Word)?], |s| s[0]))
        }
        "IADD3" => sum(given),
        "IMAD" => multiply(given),
        "LEA" => {
            given.only(&[])?;
            let shift = given.immediate(3)?;
            let sources = vec![given.source(1, Word)?, given.source(2, Word)?];
            (given.operands.len() == 4).then_some(())?;
            Some(one(given.registers(0, 1)?, sources, move |s| {
                u64::from((s[0] as u32).wrapping_shl(shift).wrapping_add(s[1] as u32))
            }))
        }
        "SEL" => {
            given.only(&[])?;
            Some(one(given.registers(0, 1)?, given.sources(1, &[Word, Word, Flag])?, |s| {
                if s[2] == 1 { s[0] } else { s[1] }
            }))
        }
        "SHF" => shift(given),
        "LOP3" => {
            given.only(&["LUT"])?;
            let table = given.immediate(4)? as u8;
            let sources = vec![given.source(1, Word)?, given.source(2, Word)?, given.source(3, Word)?];
            Some(one(given.registers(0, 1)?, sources, move |s| {
                u64::from(bits::lop3(s[0] as u32, s[1] as u32, s[2] as u32, table))
            }))
        }
        "PLOP3" => {
            given.only(&["LUT"])?;
            let tables = [given.immediate(5)?, given.immediate(6)?];
            let sources = vec![given.source(2, Flag)?, given.source(3, Flag)?, given.source(4, Flag)?];
            Some(compute(vec![given.flag(0)?, given.flag(1)?], sources, move |s, to| {
                let row = s[0] << 2 | s[1] << 1 | s[2];
                (to[0], to[1]) = (u64::from(tables[0]) >> row & 1, u64::from(tables[1]) >> row & 1);
            }))
        }
        "PRMT" => permute(given),
        "IABS" => {
            given.only(&[])?;
            let sources = given.sources(1, &[Word])?;
            Some(one(given.registers(0, 1)?, sources, |s| u64::from((s[0] as i32).unsigned_abs())))
        }
        "VIMNMX" => {
            given.only(&["U32", "S32"])?;
            let sources = given.sources(1, &[Word, Word, Flag])?;
            let unsigned = given.has("U32");
            Some(one(given.registers(0, 1)?, sources, move |s| {
                let less = if unsigned { s[0] < s[1] } else { (s[0] as i32) < s[1] as i32 };
                if less == (s[2] == 1) { s[0] } else { s[1] }
            }))
        }
        "VABSDIFF" => {
            given.only(&["U32"])?;
            let sources = given.sources(1, &[Word, Word, Word])?;
            let unsigned = given.has("U32");
            Some(one(given.registers(0, 1)?, sources, move |s| {
                let (a, b) = (s[0] as u32, s[1] as u32);
                let apart = if unsigned { a.abs_diff(b) } else { (a as i32).abs_diff(b as i32) };
                u64::from(apart.wrapping_add(s[2] as u32))
            }))
        }
        "SGXT" => {
            given.only(&["U32", "W"])?;
            let sources = given.sources(1, &[Word, Word])?;
            let (unsigned, wrap) = (given.has("U32"), given.has("W"));
            Some(one(given.registers(0, 1)?, sources, move |s| {
                let (a, width) = (s[0] as u32, s[1] as u32);
                u64::from(match (unsigned, wrap) {
                    (true, false) => bits::szext::<u32, Clamp>(a, width),
                    (true, true) => bits::szext::<u32, Wrap>(a, width),
                    (false, false) => bits::szext::<i32, Clamp>(a as i32, width) as u32,
                    (false, true) => bits::szext::<i32, Wrap>(a as i32, width) as u32,
                })
            }))
        }
        "POPC" => {
            given.only(&[])?;
            Some(one(given.registers(0, 1)?, given.sources(1, &[Word])?, |s| u64::from(s[0].count_ones())))
        }
        "BREV" => {
            given.only(&[])?;
            let sources = given.sources(1, &[Word])?;
            Some(one(given.registers(0, 1)?, sources, |s| u64::from((s[0] as u32).reverse_bits())))
        }
        "FLO" => {
            given.only(&["U32", "SH"])?;
            let sources = given.sources(1, &[Word])?;
            let (unsigned, amount) = (given.has("U32"), given.has("SH"));
            Some(one(given.registers(0, 1)?, sources, move |s| {
                let a = s[0] as u32;
                u64::from(match (unsigned, amount) {
                    (true, false) => bits::bfind::<u32, false>(a),
                    (true, true) => bits::bfind::<u32, true>(a),
                    (false, false) => bits::bfind::<i32, false>(a as i32),
                    (false, true) => bits::bfind::<i32, true>(a as i32),
                })
            }))
        }
        "ISETP" => compare(given),
        _ => None,
    }
}

/// `IADD3 R, [P, [P,]] a, b, c` and with `.X` two predicates that carry in. The first predicate says whether the sum carries, the second
/// whether it does so twice.
fn sum(given: &Given<'_>) -> Option<Action> {
    given.only(&["X"])?;
    let mut places = vec![given.registers(0, 1)?];
    let mut at = 1;
    while given.is_predicate(at) {
        places.push(given.flag(at)?);
        at += 1;
    }
    let kinds: &[_] = if given.has("X") { &[Term, Term, Term, Flag, Flag] } else { &[Term, Term, Term] };
    let sources = given.sources(at, kinds)?;
    Some(compute(places, sources, |s, to| {
        let sum: u64 = s.iter().sum();
        to[0] = sum & u64::from(u32::MAX);
        for (times, carry) in (1..).zip(&mut to[1..]) {
            *carry = u64::from(sum >> 32 >= times);
        }
    }))
}

/// `IMAD`, `.WIDE` with 64 bits of result and third operand, `.HI` with the high half of that.
fn multiply(given: &Given<'_>) -> Option<Action> {
    given.only(&["WIDE", "HI", "U32", "MOV", "IADD", "SHL"])?;
    let (wide, high, unsigned) = (given.has("WIDE"), given.has("HI"), given.has("U32"));
    let third = if wide || high { Wide } else { Word };
    let sources = given.sources(1, &[Word, Word, third])?;
    let place = given.registers(0, if wide { 2 } else { 1 })?;
    Some(one(place, sources, move |s| {
        let product = if unsigned {
            s[0].wrapping_mul(s[1])
        } else {
            (i64::from(s[0] as i32) * i64::from(s[1] as i32)) as u64
        };
        let sum = product.wrapping_add(s[2]);
        match (wide, high) {
            (true, _) => sum,
            (false, true) => sum >> 32,
            (false, false) => sum & u64::from(u32::MAX),
        }
    }))
}

/// `SHF.{L,R}.type[.HI] d, low, amount, high`: 64 bits are shifted, and one half of them is the result.
fn shift(given: &Given<'_>) -> Option<Action> {
    given.only(&["L", "R", "U32", "S32", "U64", "S64", "HI", "W"])?;
    let (left, high, wrap) = (given.has("L"), given.has("HI"), given.has("W"));
    let signed = given.has("S32") || given.has("S64");
    let most: u64 = if given.has("U64") || given.has("S64") { 64 } else { 32 };
    let sources = given.sources(1, &[Word, Word, Word])?;
    Some(one(given.registers(0, 1)?, sources, move |s| {
        let value = s[2] << 32 | s[0];
        let amount = if wrap { s[1] % most } else { s[1].min(most) } as u32;
        let shifted = match (left, signed) {
            (true, _) => value.checked_shl(amount).unwrap_or(0),
            (false, false) => value.checked_shr(amount).unwrap_or(0),
            (false, true) => ((value as i64) >> amount.min(63)) as u64,
        };
        if high { shifted >> 32 } else { shifted & u64::from(u32::MAX) }
    }))
}

/// `PRMT[.mode] d, a, selector, b`.
fn permute(given: &Given<'_>) -> Option<Action> {
    let mode = match given.modifiers[..] {
        [] => None,
        ["F4E"] => Some(PermuteMode::Forward4),
        ["B4E"] => Some(PermuteMode::Backward4),
        ["RC8"] => Some(PermuteMode::Replicate8),
        ["ECL"] => Some(PermuteMode::EdgeClampLeft),
        ["ECR"] => Some(PermuteMode::EdgeClampRight),
        ["RC16"] => Some(PermuteMode::Replicate16),
        _ => return None,
    };
    let sources = given.sources(1, &[Word, Word, Word])?;
    Some(one(given.registers(0, 1)?, sources, move |s| {
        let (a, selector, b) = (s[0] as u32, s[1] as u32, s[2] as u32);
        u64::from(match mode {
            None => bits::prmt(a, b, selector),
            Some(mode) => bits::prmt_mode(mode, a, b, selector),
        })
    }))
}

/// `ISETP.op[.U32].bool[.EX] p, q, a, b, c[, lower]`: with `.EX` words are the high halves, and where they are equal it is said by
/// the comparison of the lower ones.
fn compare(given: &Given<'_>) -> Option<Action> {
    given.only(&["LT", "LE", "EQ", "NE", "GT", "GE", "U32", "AND", "OR", "XOR", "EX"])?;
    let (unsigned, extended) = (given.has("U32"), given.has("EX"));
    let holds: fn(&i64, &i64) -> bool = match given.modifiers[0] {
        "LT" => |a, b| a < b,
        "LE" => |a, b| a <= b,
        "EQ" => |a, b| a == b,
        "NE" => |a, b| a != b,
        "GT" => |a, b| a > b,
        "GE" => |a, b| a >= b,
        _ => return None,
    };
    let join = joined(given)?;
    let kinds: &[_] = if extended { &[Word, Word, Flag, Flag] } else { &[Word, Word, Flag] };
    let sources = given.sources(2, kinds)?;
    Some(compute(vec![given.flag(0)?, given.flag(1)?], sources, move |s, to| {
        let number = |value: u64| if unsigned { value as i64 } else { i64::from(value as i32) };
        let (a, b) = (number(s[0]), number(s[1]));
        let holds = if extended && a == b { s[3] == 1 } else { holds(&a, &b) };
        to[0] = u64::from(join(holds, s[2] == 1));
        to[1] = u64::from(join(!holds, s[2] == 1));
    }))
}
