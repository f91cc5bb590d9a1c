//! Algebraic identities: instructions whose result is one of their operands, or a constant, whatever the others are.
//!
//! They hold for integers and logic. Of floating-point numbers they do not: `x + 0` is not `x` for `-0`, and canonical
//! NaNs replace others.

use crate::instruction::{
    AddInt, And, AndPred, DivInt, MaxInt, MinInt, MulInt, MulIntMode, Op, Or, OrPred, Selp, Shl, Shr, SubInt,
    Xor,
};
use crate::operand::{Predicate, Value};
use ptx::types::ScalarType;

const ZERO: Value = Value::Constant(0);
const ONE: Value = Value::Constant(1);

/// The operand or constant that an instruction's result always is.
pub(super) fn operand(op: &Op) -> Option<Value> {
    match op {
        Op::AddInt(AddInt { a, b, .. }) => neutral(a, b, ZERO),
        Op::SubInt(SubInt { a, b, .. }) => match (a, b) {
            (_, &ZERO) => Some(*a),
            _ => same(a, b).map(|_| ZERO),
        },
        Op::MulInt(MulInt { mode: MulIntMode::Lo, a, b, .. }) => {
            neutral(a, b, ONE).or_else(|| absorbing(a, b, ZERO))
        }
        Op::MulInt(MulInt { a, b, .. }) => absorbing(a, b, ZERO),
        Op::DivInt(DivInt { a, b: ONE, .. }) => Some(*a),
        Op::And(And { ty, a, b, .. }) => {
            let ones = Value::Constant(ones(*ty));
            same(a, b).or_else(|| neutral(a, b, ones)).or_else(|| absorbing(a, b, ZERO))
        }
        Op::Or(Or { ty, a, b, .. }) => {
            let ones = Value::Constant(ones(*ty));
            same(a, b).or_else(|| neutral(a, b, ZERO)).or_else(|| absorbing(a, b, ones))
        }
        Op::Xor(Xor { a, b, .. }) => neutral(a, b, ZERO).or_else(|| same(a, b).map(|_| ZERO)),
        Op::Shl(Shl { a, b: ZERO, .. }) | Op::Shr(Shr { a, b: ZERO, .. }) => Some(*a),
        Op::MinInt(MinInt { relu: false, a, b, .. }) | Op::MaxInt(MaxInt { relu: false, a, b, .. }) => {
            same(a, b)
        }
        Op::Selp(Selp { a, b, c, .. }) => match truth(c) {
            Some(holds) => Some(if holds { *a } else { *b }),
            None => same(a, b),
        },
        Op::AndPred(AndPred { a, b, .. }) => predicates(a, b, true),
        Op::OrPred(OrPred { a, b, .. }) => predicates(a, b, false),
        _ => None,
    }
}

fn ones(ty: ScalarType) -> u64 {
    u64::MAX >> (64 - ty.bits().clamp(1, 64))
}

/// `x op x`.
fn same(a: &Value, b: &Value) -> Option<Value> {
    // A special register need not be the same when it is read again.
    let stays = matches!(a, Value::Register(_) | Value::Constant(_) | Value::Symbol { .. });
    (a == b && stays).then_some(*a)
}

/// `x op neutral`, or the other way round.
fn neutral(a: &Value, b: &Value, neutral: Value) -> Option<Value> {
    match () {
        () if *b == neutral => Some(*a),
        () if *a == neutral => Some(*b),
        () => None,
    }
}

/// `x op absorbing`, or the other way round.
fn absorbing(a: &Value, b: &Value, absorbing: Value) -> Option<Value> {
    (*a == absorbing || *b == absorbing).then_some(absorbing)
}

/// Whether a predicate holds, if that is known.
fn truth(predicate: &Predicate) -> Option<bool> {
    match predicate.value {
        Value::Constant(bits) => Some((bits != 0) != predicate.negated),
        _ => None,
    }
}

/// `and` (`neutral` is true) and `or` of predicates.
fn predicates(a: &Predicate, b: &Predicate, neutral: bool) -> Option<Value> {
    let as_value = |predicate: &Predicate| (!predicate.negated).then_some(predicate.value);
    match (truth(a), truth(b)) {
        (Some(known), _) | (_, Some(known)) if known != neutral => Some(Value::Constant(u64::from(known))),
        (Some(_), _) => as_value(b),
        (_, Some(_)) => as_value(a),
        (None, None) if a == b => as_value(a),
        (None, None) => None,
    }
}
