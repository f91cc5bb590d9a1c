//! Loads, stores, atomics and constants.

use super::{Given, NOTHING};
use crate::operand::Operand;
use crate::registers::{PT, RZ};
use crate::step::{Access, Action, Address, Kind, Source, Space, Update};
use numerics::float::{add_f32, add_f64_in_memory};
use numerics::format::{Bf16, F16};
use numerics::half;
use numerics::packed;
use numerics::rounding::Rn;

/// Modifiers of order, scope and caching: on one host thread every access is ordered and seen by all.
const ORDER: [&str; 16] = [
    "E", "STRONG", "CONSTANT", "WEAK", "SM", "GPU", "SYS", "CTA", "VC", "EF", "EL", "LU", "EU", "NA",
    "LTC64B", "LTC128B",
];

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    let access = match given.opcode {
        "LDG" => load(given, Space::Global),
        "LD" => load(given, Space::Generic),
        "LDS" => load(given, Space::Shared),
        "LDL" => load(given, Space::Local),
        "STG" => store(given, Space::Global),
        "ST" => store(given, Space::Generic),
        "STS" => store(given, Space::Shared),
        "STL" => store(given, Space::Local),
        "ATOMG" => atomic(given, Space::Global),
        "ATOM" => atomic(given, Space::Generic),
        "ATOMS" if given.has("CAST") => exchange(given),
        "ATOMS" if given.has("POPC") => count(given),
        "ATOMS" => atomic(given, Space::Shared),
        "LDSM" | "STSM" => matrices(given),
        "RED" => reduction(given, Space::Generic),
        "REDG" => reduction(given, Space::Global),
        "LDC" | "ULDC" => constant(given),
        "QSPC" => which(given),
        _ => None,
    };
    access.map(Action::Access)
}

/// How many bytes, and whether they are extended by their sign.
fn size(given: &Given<'_>) -> Option<(u8, bool)> {
    let mut found = (4, false);
    for modifier in &given.modifiers {
        found = match *modifier {
            "U8" => (1, false),
            "S8" => (1, true),
            "U16" => (2, false),
            "S16" => (2, true),
            "64" => (8, false),
            "128" => (16, false),
            other if ORDER.contains(&other) => found,
            _ => return None,
        };
    }
    Some(found)
}

pub(super) fn address(given: &Given<'_>, at: usize, space: Space) -> Option<Address> {
    match *given.operands.get(at)? {
        Operand::Address { register, wide, uniform, pair, offset } => {
            // `.E` is an address of 64 bits, which an address without a descriptor does not say again.
            let long = given.has("E") && matches!(space, Space::Global | Space::Generic);
            Some(Address {
                space,
                register,
                wide: wide || long && !pair,
                uniform,
                pair: pair || long,
                offset,
            })
        }
        _ => None,
    }
}

fn load(given: &Given<'_>, space: Space) -> Option<Access> {
    let (bytes, signed) = size(given)?;
    (given.operands.len() == 2).then_some(())?;
    Some(Access::Load { to: given.register(0)?, address: address(given, 1, space)?, bytes, signed })
}

fn store(given: &Given<'_>, space: Space) -> Option<Access> {
    let (bytes, _) = size(given)?;
    (given.operands.len() == 2).then_some(())?;
    let kind = if bytes >= 8 { Kind::Wide } else { Kind::Word };
    let from = given.source(1, kind)?;
    let second = match (bytes, from.operand) {
        (16, Operand::Register { number, sign, half }) => {
            let number = number.saturating_add(2);
            Some(Source { operand: Operand::Register { number, sign, half }, kind })
        }
        _ => None,
    };
    Some(Access::Store { from, second, address: address(given, 0, space)?, bytes })
}

/// What an atomic operation does to how many bytes, by its modifiers: an operation, a type.
fn update(given: &Given<'_>) -> Option<(Update, u8, bool)> {
    const OPERATIONS: [&str; 10] = ["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAS"];
    let mut rest = given.modifiers.iter().filter(|it| !ORDER.contains(it));
    let operation = *rest.next().filter(|it| OPERATIONS.contains(it))?;
    let kind: Vec<&str> = rest.copied().collect();
    let float: Option<(Update, u8)> = match (operation, &kind[..]) {
        ("ADD", ["F32", "FTZ", "RN"]) => {
            Some((Box::new(|old, b, _| u64::from(add_f32::<Rn, true, false>(old as u32, b as u32))), 4))
        }
        ("ADD", ["F64", "RN"]) => Some((Box::new(|old, b, _| add_f64_in_memory(old, b)), 8)),
        ("ADD", ["F16x2", "RN"]) => Some((pairs(half::add::<F16, false, false>), 4)),
        ("ADD", ["BF16x2", "RN"]) => Some((pairs(half::add::<Bf16, false, false>), 4)),
        ("MIN", ["F16x2", "RN"]) => Some((pairs(half::min::<F16, false, false, false>), 4)),
        ("MAX", ["F16x2", "RN"]) => Some((pairs(half::max::<F16, false, false, false>), 4)),
        ("MIN", ["BF16x2", "RN"]) => Some((pairs(half::min::<Bf16, false, false, false>), 4)),
        ("MAX", ["BF16x2", "RN"]) => Some((pairs(half::max::<Bf16, false, false, false>), 4)),
        _ => None,
    };
    if let Some((update, bytes)) = float {
        return Some((update, bytes, false));
    }
    let bytes = match kind[..] {
        [] | ["S32"] => 4,
        ["64" | "S64"] => 8,
        _ => return None,
    };
    let signed = matches!(kind[..], ["S32" | "S64"]);
    let number = move |value: u64| {
        let bits = 64 - 8 * u32::from(bytes);
        let wide = i128::from((value << bits) as i64 >> bits);
        if signed { wide } else { wide & if bytes == 4 { 0xffff_ffff } else { u64::MAX.into() } }
    };
    let update: Update = match operation {
        "ADD" => Box::new(|old, b, _| old.wrapping_add(b)),
        "MIN" => Box::new(move |old, b, _| if number(b) < number(old) { b } else { old }),
        "MAX" => Box::new(move |old, b, _| if number(b) > number(old) { b } else { old }),
        "INC" => Box::new(|old, b, _| u64::from(numerics::integer::inc(old as u32, b as u32))),
        "DEC" => Box::new(|old, b, _| u64::from(numerics::integer::dec(old as u32, b as u32))),
        "AND" => Box::new(|old, b, _| old & b),
        "OR" => Box::new(|old, b, _| old | b),
        "XOR" => Box::new(|old, b, _| old ^ b),
        "EXCH" => Box::new(|_, b, _| b),
        _ => Box::new(|old, b, c| if old == b { c } else { old }),
    };
    Some((update, bytes, operation == "CAS"))
}

/// The same for both halves of a word.
fn pairs(function: fn(u16, u16) -> u16) -> Update {
    Box::new(move |old, b, _| u64::from(packed::map2(function, old as u32, b as u32)))
}

/// `ATOMG.E.op[.type].order p, d, [a], b[, c]`, `ATOMS.op d, [a], b[, c]`.
fn atomic(given: &Given<'_>, space: Space) -> Option<Access> {
    let (update, bytes, swaps) = update(given)?;
    // The predicate in front is written by nothing that is executed here.
    let at = usize::from(given.is_predicate(0));
    if at == 1 && !matches!(given.operands[0], Operand::Predicate { number: PT, .. }) {
        return None;
    }
    let width = if bytes == 8 { Kind::Wide } else { Kind::Word };
    let value = given.source(at + 2, width)?;
    let swap = if swaps { given.source(at + 3, width)? } else { Source { kind: width, ..NOTHING } };
    Some(Access::Atomic {
        to: given.register(at)?,
        address: address(given, at + 1, space)?,
        bytes,
        operands: [value, swap],
        update,
    })
}

/// `ATOMS.POPC.INC.32 RZ, [a]`: each lane counts one.
fn count(given: &Given<'_>) -> Option<Access> {
    given.only(&["POPC", "INC", "32"])?;
    let word = Source { kind: Kind::Word, ..NOTHING };
    Some(Access::Atomic {
        to: (given.register(0)? == RZ).then_some(RZ)?,
        address: address(given, 1, Space::Shared)?,
        bytes: 4,
        operands: [word, word],
        update: Box::new(|old, _, _| old.wrapping_add(1)),
    })
}

/// `ATOMS.CAST.SPIN[.64] d, [a], b, c`.
fn exchange(given: &Given<'_>) -> Option<Access> {
    given.only(&["CAST", "SPIN", "64"])?;
    let (bytes, width) = if given.has("64") { (8, Kind::Wide) } else { (4, Kind::Word) };
    let operands = [given.source(2, width)?, given.source(3, width)?];
    Some(Access::Exchange {
        to: given.register(0)?,
        address: address(given, 1, Space::Shared)?,
        bytes,
        operands,
    })
}

/// `LDSM.16.M88[.count] d, [a]`, `STSM.16.MT88[.count] [a], b`.
fn matrices(given: &Given<'_>) -> Option<Access> {
    given.only(&["16", "M88", "MT88", "2", "4"])?;
    let count = if given.has("4") {
        4
    } else if given.has("2") {
        2
    } else {
        1
    };
    let store = given.opcode == "STSM";
    let [register, at] = if store { [1, 0] } else { [0, 1] };
    Some(Access::Matrices {
        store,
        transposed: given.has("MT88"),
        count,
        register: given.register(register)?,
        address: address(given, at, Space::Shared)?,
    })
}

/// `REDG.E.op[.type].order [a], b`: an atomic operation whose old value nobody asks for.
fn reduction(given: &Given<'_>, space: Space) -> Option<Access> {
    let (update, bytes, swaps) = update(given)?;
    (!swaps && given.operands.len() == 2).then_some(())?;
    let width = if bytes == 8 { Kind::Wide } else { Kind::Word };
    Some(Access::Atomic {
        to: RZ,
        address: address(given, 0, space)?,
        bytes,
        operands: [given.source(1, width)?, Source { kind: width, ..NOTHING }],
        update,
    })
}

fn constant(given: &Given<'_>) -> Option<Access> {
    let (bytes, signed) = size(given)?;
    (bytes <= 8 && given.operands.len() == 2).then_some(())?;
    let Operand::Constant { bank, register, uniform, offset, .. } = given.operands[1] else { return None };
    let to = given.registers(0, bytes.div_ceil(4))?;
    if to.is_uniform() && register != RZ {
        return None;
    }
    Some(Access::Constant { to, bank, register, uniform, offset, bytes, signed })
}

/// `QSPC.E.space p, RZ, [a]`: whether a generic address is in a space.
fn which(given: &Given<'_>) -> Option<Access> {
    given.only(&["E", "S", "L", "G", "D"])?;
    let space = match *given.modifiers.iter().find(|it| ["S", "L", "G", "D"].contains(it))? {
        "S" => Some(Space::Shared),
        "L" => Some(Space::Local),
        "G" => Some(Space::Global),
        _ => None,
    };
    let address = address(given, 2, Space::Generic)?;
    Some(Access::Which { flag: given.flag(0)?, to: given.registers(1, 1)?, address, space })
}
