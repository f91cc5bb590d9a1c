//! Loads, stores, atomics and constants.

use super::Given;
use crate::operand::{Operand, Sign};
use crate::step::{Access, Action, Address, Kind, Place, Source, Space, Update};

/// Modifiers of order, scope and caching: on one host thread every access is ordered and seen by all.
const ORDER: [&str; 12] =
    ["E", "STRONG", "CONSTANT", "WEAK", "SM", "GPU", "SYS", "CTA", "EF", "EL", "LU", "NA"];

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
        "ATOMS" => atomic(given, Space::Shared),
        "LDC" | "ULDC" => constant(given),
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

fn address(given: &Given<'_>, at: usize, space: Space) -> Option<Address> {
    match *given.operands.get(at)? {
        Operand::Address { register, wide, uniform, offset } => {
            // `.E` is an address of 64 bits, which an address without a descriptor does not say again.
            let wide = wide || given.has("E") && matches!(space, Space::Global | Space::Generic);
            Some(Address { space, register, wide, uniform, offset })
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
        (16, Operand::Register { number, sign }) => {
            let number = number.map(|it| it.saturating_add(2));
            Some(Source { operand: Operand::Register { number, sign }, kind })
        }
        _ => None,
    };
    Some(Access::Store { from, second, address: address(given, 0, space)?, bytes })
}

/// `ATOMG.E.op[.type].order p, d, [a], b[, c]`, `ATOMS.op d, [a], b[, c]`.
fn atomic(given: &Given<'_>, space: Space) -> Option<Access> {
    const OPERATIONS: [&str; 10] = ["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAS"];
    let mut rest = given.modifiers.iter().filter(|it| !ORDER.contains(it));
    let operation = *rest.next().filter(|it| OPERATIONS.contains(it))?;
    let kind = rest.next().copied();
    rest.next().is_none().then_some(())?;
    let bytes = match kind {
        None | Some("S32") => 4,
        Some("64" | "S64") => 8,
        _ => return None,
    };
    let signed = matches!(kind, Some("S32" | "S64"));
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
    // The predicate in front is written by nothing that is executed here.
    let at = usize::from(given.is_predicate(0));
    if at == 1 && !matches!(given.operands[0], Operand::Predicate { number: None, .. }) {
        return None;
    }
    let width = if bytes == 8 { Kind::Wide } else { Kind::Word };
    let nothing = Source { operand: Operand::Register { number: None, sign: Sign::default() }, kind: width };
    let value = given.source(at + 2, width)?;
    let swap = if operation == "CAS" { given.source(at + 3, width)? } else { nothing };
    Some(Access::Atomic {
        to: given.register(at)?,
        address: address(given, at + 1, space)?,
        bytes,
        operands: [value, swap],
        update,
    })
}

fn constant(given: &Given<'_>) -> Option<Access> {
    let (bytes, signed) = size(given)?;
    (!signed && bytes <= 8 && given.operands.len() == 2).then_some(())?;
    let Operand::Constant { bank, register, offset, .. } = given.operands[1] else { return None };
    let to = given.registers(0, bytes.div_ceil(4))?;
    if matches!(to, Place::Uniform(..)) && register.is_some() {
        return None;
    }
    Some(Access::Constant { to, bank, register, offset, bytes })
}
