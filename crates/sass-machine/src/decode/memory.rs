//! Loads, stores, atomics and constants.

use super::update::updating;
use super::{Given, NOTHING};
use crate::mbarrier::counted_up;
use crate::operand::Operand;
use crate::registers::{PT, RZ};
use crate::step::{Access, Action, Address, Datum, Kind, Source, Space, Update};

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
        "ATOMS" if given.has("ARRIVE") => arrive(given),
        "ATOMS" => atomic(given, Space::Shared),
        "LDSM" | "STSM" => matrices(given),
        "RED" => reduction(given, Space::Generic),
        "REDG" => reduction(given, Space::Global),
        "LDC" | "ULDC" | "LDCU" => constant(given),
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

/// The operand at a place, as so many bytes that go to memory.
pub(super) fn datum(given: &Given<'_>, at: usize, bytes: u8) -> Option<Datum> {
    let kind = if bytes >= 8 { Kind::Wide } else { Kind::Word };
    let low = given.source(at, kind)?;
    let high = match (bytes, low.operand) {
        (16, Operand::Register { number: RZ, .. }) => Some(low),
        (16, Operand::Register { number, sign, half }) => {
            let number = number.saturating_add(2);
            Some(Source { operand: Operand::Register { number, sign, half }, kind })
        }
        _ => None,
    };
    Some(Datum { low, high })
}

fn store(given: &Given<'_>, space: Space) -> Option<Access> {
    let (bytes, _) = size(given)?;
    (given.operands.len() == 2).then_some(())?;
    Some(Access::Store { from: datum(given, 1, bytes)?, address: address(given, 0, space)?, bytes })
}

/// What an atomic operation does to how many bytes, by its modifiers, and whether it swaps.
fn update(given: &Given<'_>) -> Option<(Update, u8, bool)> {
    let mut rest = given.modifiers.iter().filter(|it| !ORDER.contains(it));
    let operation = *rest.next()?;
    let kind: Vec<&str> = rest.copied().collect();
    let (update, bytes) = updating(operation, &kind)?;
    Some((update, bytes, operation == "CAS"))
}

/// `ATOMG.E.op[.type].order p, d, [a], b[, c]`, `ATOMS.op d, [a], b[, c]`. The predicate of a generic address says whether it was global
/// memory's: elsewhere nothing is done.
fn atomic(given: &Given<'_>, space: Space) -> Option<Access> {
    let (update, bytes, swaps) = update(given)?;
    let at = usize::from(given.is_predicate(0));
    let done = match given.operands.first()? {
        Operand::Predicate { number: PT, .. } => None,
        Operand::Predicate { number, .. } if space == Space::Generic => Some(*number),
        Operand::Predicate { .. } => return None,
        _ => None,
    };
    let none = Datum { low: NOTHING, high: None };
    Some(Access::Atomic {
        to: given.register(at)?,
        done,
        address: address(given, at + 1, space)?,
        bytes,
        operands: [datum(given, at + 2, bytes)?, if swaps { datum(given, at + 3, bytes)? } else { none }],
        update,
    })
}

/// `ATOMS.POPC.INC.32 RZ, [a]`: each lane counts one.
fn count(given: &Given<'_>) -> Option<Access> {
    given.only(&["POPC", "INC", "32"])?;
    let none = Datum { low: NOTHING, high: None };
    Some(Access::Atomic {
        to: (given.register(0)? == RZ).then_some(RZ)?,
        done: None,
        address: address(given, 1, Space::Shared)?,
        bytes: 4,
        operands: [none, none],
        update: Box::new(|old, _, _| old.wrapping_add(1)),
    })
}

/// `ATOMS.ARRIVE.64 d, [a]`, at an object of a device before sm_90.
fn arrive(given: &Given<'_>) -> Option<Access> {
    given.only(&["ARRIVE", "64"])?;
    let none = Datum { low: NOTHING, high: None };
    Some(Access::Atomic {
        to: given.register(0)?,
        done: None,
        address: address(given, 1, Space::Shared)?,
        bytes: 8,
        operands: [none, none],
        update: Box::new(|old, _, _| u128::from(counted_up(old as u64))),
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
    Some(Access::Atomic {
        to: RZ,
        done: None,
        address: address(given, 0, space)?,
        bytes,
        operands: [datum(given, 1, bytes)?, Datum { low: NOTHING, high: None }],
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
