//! What atomic operations and reductions make of what is in memory.

use crate::step::Update;
use numerics::float::{add_f32, add_f64_in_memory};
use numerics::format::{Bf16, F16};
use numerics::rounding::Rn;
use numerics::{half, integer};

/// What an operation makes of so many bytes, by its name and its type's modifiers.
pub(super) fn updating(operation: &str, kind: &[&str]) -> Option<(Update, u8)> {
    floats(operation, kind).or_else(|| integers(operation, kind))
}

/// The same of elements of copies in bulk: a sum of singles keeps what is below the least normal number.
pub(crate) fn updating_in_bulk(operation: &str, kind: &[&str]) -> Option<(Update, u8)> {
    match (operation, kind) {
        ("ADD", ["F32", "RN"]) => {
            Some((Box::new(|old, b, _| u128::from(add_f32::<Rn, false, false>(old as u32, b as u32))), 4))
        }
        _ => updating(operation, kind),
    }
}

fn integers(operation: &str, kind: &[&str]) -> Option<(Update, u8)> {
    let bytes = match kind {
        [] | ["S32"] => 4,
        ["64" | "S64" | "U64"] => 8,
        ["128"] if matches!(operation, "EXCH" | "CAS") => 16,
        _ => return None,
    };
    let signed = matches!(kind, ["S32" | "S64"]);
    // What is compared: the operands' bits are no more than the type's.
    let above = 128 - 8 * u32::from(bytes);
    let number = move |value: u128| {
        let moved = value << above;
        if signed { moved as i128 } else { (moved >> 1) as i128 }
    };
    let update: Update = match operation {
        "ADD" => Box::new(|old, b, _| old.wrapping_add(b)),
        "MIN" => Box::new(move |old, b, _| if number(b) < number(old) { b } else { old }),
        "MAX" => Box::new(move |old, b, _| if number(b) > number(old) { b } else { old }),
        "INC" => Box::new(|old, b, _| u128::from(integer::inc(old as u32, b as u32))),
        "DEC" => Box::new(|old, b, _| u128::from(integer::dec(old as u32, b as u32))),
        "AND" => Box::new(|old, b, _| old & b),
        "OR" => Box::new(|old, b, _| old | b),
        "XOR" => Box::new(|old, b, _| old ^ b),
        "EXCH" => Box::new(|_, b, _| b),
        "CAS" => Box::new(|old, b, c| if old == b { c } else { old }),
        _ => return None,
    };
    Some((update, bytes))
}

/// One float, or several in a row: `F16x4`.
fn floats(operation: &str, kind: &[&str]) -> Option<(Update, u8)> {
    let [name, rest @ ..] = kind else { return None };
    let (format, count) = name.split_once('x').unwrap_or((name, "1"));
    let of_halves = |function: fn(u16, u16) -> u16| -> (Box<dyn Fn(u64, u64) -> u64 + Send + Sync>, u8) {
        (Box::new(move |old, b| u64::from(function(old as u16, b as u16))), 2)
    };
    let (function, size) = match (operation, format, rest) {
        ("ADD", "F32", ["FTZ", "RN"]) => {
            let sum = |old: u64, b: u64| u64::from(add_f32::<Rn, true, false>(old as u32, b as u32));
            (Box::new(sum) as Box<dyn Fn(u64, u64) -> u64 + Send + Sync>, 4)
        }
        ("ADD", "F64", ["RN"]) => (Box::new(add_f64_in_memory) as _, 8),
        ("ADD", "F16", ["RN"]) => of_halves(half::add::<F16, false, false>),
        ("ADD", "BF16", ["RN"]) => of_halves(half::add::<Bf16, false, false>),
        ("MIN", "F16", [] | ["RN"]) => of_halves(half::min::<F16, false, false, false>),
        ("MAX", "F16", [] | ["RN"]) => of_halves(half::max::<F16, false, false, false>),
        ("MIN", "BF16", [] | ["RN"]) => of_halves(half::min::<Bf16, false, false, false>),
        ("MAX", "BF16", [] | ["RN"]) => of_halves(half::max::<Bf16, false, false, false>),
        _ => return None,
    };
    let bytes = count.parse::<u8>().ok().filter(|&count| (1..=8).contains(&count))? * size;
    (bytes <= 16).then_some(())?;
    let update = move |old: u128, b: u128, _| {
        let element = |at: u32| u128::from(function((old >> at) as u64, (b >> at) as u64)) << at;
        (0..u32::from(bytes) * 8).step_by(usize::from(size) * 8).fold(0, |all, at| all | element(at))
    };
    Some((Box::new(update), bytes))
}
