//! Copies that go on beside the threads, the objects in shared memory that tell when they are done, products of warpgroups.

use super::memory::{address, datum};
use super::update::{updating, updating_in_bulk};
use super::{Given, NOTHING};
use crate::mbarrier::Arrives;
use crate::operand::{Operand, Sign};
use crate::product::side_by_side;
use crate::registers::{PT, URZ};
use crate::sparsity::Sparsity;
use crate::step::{
    Access, Action, Bulk, Count, Datum, GroupProduct, Kind, Phase, Place, Source, Space, Told, Transfer,
    Update,
};
use crate::warpgroup::ROWS;
use numerics::rounding::Mode;
use numerics::tensor::{Accumulator, BitOperation, Config, Operand as Elements, Unit};

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    match (given.opcode, &given.modifiers[..]) {
        ("LDGSTS", _) => copy(given),
        ("SYNCS", ["EXCH", "64"]) => begin(given),
        ("SYNCS", ["CCTL", "IV"]) => Some(Action::Nothing),
        ("SYNCS", ["ARRIVE", "TRANS64", rest @ ..]) => arrive(given, rest),
        ("SYNCS", ["PHASECHK", "TRANS64", rest @ ..]) => check(given, rest),
        ("UBLKCP", [to, from] | [to, from, "MULTICAST"]) => bulk(given, to, from, None),
        ("UBLKRED", [to, from, operation, kind @ ..]) => {
            bulk(given, to, from, Some(updating_in_bulk(operation, kind)?))
        }
        ("STAS", [] | ["64" | "128"]) => {
            let bytes = if given.has("128") {
                16
            } else if given.has("64") {
                8
            } else {
                4
            };
            told(given, bytes, None)
        }
        ("REDAS", [operation, kind @ ..]) => {
            let (update, bytes) = updating(operation, kind)?;
            told(given, bytes, Some(update))
        }
        ("ARRIVES", ["LDGSTSBAR", "64", kind @ ..]) => {
            let arrives = match *kind {
                [] => Arrives::Early,
                ["ARVCNT"] => Arrives::Once,
                ["TRANSCNT"] => Arrives::Transactions(1),
                _ => return None,
            };
            Some(Action::Phase(Phase::Copied { address: address(given, 0, Space::Shared)?, arrives }))
        }
        ("WARPGROUP", ["ARRIVE"]) => Some(Action::Nothing),
        ("WARPGROUP", ["DEPBAR", "LE"]) => Some(Action::AwaitProducts(left(given)?)),
        ("LDGDEPBAR", _) => Some(Action::CommitCopies),
        ("DEPBAR", ["LE"]) => Some(Action::AwaitCopies(left(given)?)),
        // A copy in bulk is done with its instruction; what waits for it is told by its object.
        ("UTMACMDFLUSH" | "FENCE", _) => Some(Action::Nothing),
        ("HGMMA" | "QGMMA" | "IGMMA", ["SP", shape, rest @ ..]) => product(given, shape, rest, true),
        ("HGMMA" | "QGMMA" | "IGMMA" | "BGMMA", [shape, rest @ ..]) => product(given, shape, rest, false),
        _ => None,
    }
}

/// `DEPBAR.LE SB0, count`: how many may be left.
fn left(given: &Given<'_>) -> Option<usize> {
    match given.operands.get(1)? {
        Operand::Immediate(count) => usize::try_from(*count).ok(),
        _ => None,
    }
}

/// `LDGSTS.E[.BYPASS][.LTC128B].128[.ZFILL] [to], desc[..][from], !flag`: zeros where the flag does not hold. With `.ZFILL` the source may stand
/// inside an element: so many of its last bytes are zeros.
fn copy(given: &Given<'_>) -> Option<Action> {
    given.only(&["E", "BYPASS", "LTC64B", "LTC128B", "LTC256B", "64", "128", "ZFILL"])?;
    let bytes = if given.has("128") {
        16
    } else if given.has("64") {
        8
    } else {
        4
    };
    let flag = match given.operands.len() {
        2 => None,
        3 => Some(given.source(2, Kind::Flag)?),
        _ => return None,
    };
    Some(Action::Access(Access::Copy {
        to: address(given, 0, Space::Shared)?,
        from: address(given, 1, Space::Global)?,
        bytes,
        fills: given.has("ZFILL"),
        flag,
    }))
}

/// `SYNCS.EXCH.64 URZ, [at], value`: an object begins.
fn begin(given: &Given<'_>) -> Option<Action> {
    let [Operand::Uniform { number: URZ, .. }, _, _] = given.operands[..] else { return None };
    Some(Action::Access(Access::Store {
        from: Datum { low: given.source(2, Kind::Wide)?, high: None },
        address: address(given, 1, Space::Shared)?,
        bytes: 8,
    }))
}

/// `SYNCS.ARRIVE.TRANS64[.RED][.OPTOUT].AxTy d, [at], count`; without `AxTy` one arrives, and `count` bytes are expected.
fn arrive(given: &Given<'_>, rest: &[&str]) -> Option<Action> {
    let (mut arrivals, mut transactions, mut leave) = (Count::One, Count::Given, false);
    for modifier in rest {
        match *modifier {
            // Lane by lane it is in any case.
            "RED" | "TMASK" => {}
            "OPTOUT" => leave = true,
            "A1T0" => (arrivals, transactions) = (Count::One, Count::None),
            "ART0" => (arrivals, transactions) = (Count::Given, Count::None),
            "A0TR" => (arrivals, transactions) = (Count::None, Count::Given),
            "A0TX" => (arrivals, transactions) = (Count::None, Count::Done),
            "A0T1" => (arrivals, transactions) = (Count::None, Count::One),
            _ => return None,
        }
    }
    Some(Action::Phase(Phase::Arrive {
        to: given.register(0)?,
        address: address(given, 1, Space::Shared)?,
        arrivals,
        transactions,
        count: given.source(2, Kind::Word)?,
        leave,
    }))
}

/// `SYNCS.PHASECHK.TRANS64[.TRYWAIT] p, [at], phase`.
fn check(given: &Given<'_>, rest: &[&str]) -> Option<Action> {
    let waits = match rest {
        ["TRYWAIT"] => true,
        [] => false,
        _ => return None,
    };
    let Place::Predicate(flag) = given.flag(0)? else { return None };
    Some(Action::Phase(Phase::Check {
        flag,
        address: address(given, 1, Space::Shared)?,
        phase: given.source(2, Kind::Word)?,
        waits,
    }))
}

/// `STAS[.64] [a], b`, `REDAS.op[.type] [a], b`.
fn told(given: &Given<'_>, bytes: u8, update: Option<Update>) -> Option<Action> {
    (given.operands.len() == 2).then_some(())?;
    let from = datum(given, 1, bytes)?;
    Some(Action::Told(Told { address: address(given, 0, Space::Shared)?, from, bytes, update }))
}

/// `UBLKCP.S.G [to], [from], size[, policy]`, `UBLKCP.G.S`, `UBLKCP.S.S`, `UBLKRED.G.S.op.type`, all of them uniform registers: behind that of the
/// place in shared memory stands its object's.
fn bulk(given: &Given<'_>, to: &str, from: &str, update: Option<(Update, u8)>) -> Option<Action> {
    let uniform = |at: usize| match *given.operands.get(at)? {
        Operand::Address { uniform, offset: 0, .. } | Operand::Uniform { number: uniform, .. } => {
            Some(uniform)
        }
        _ => None,
    };
    let (transfer, shared, other) = match (to, from) {
        ("S", "G") => (Transfer::ToShared, uniform(0)?, uniform(1)?),
        ("G", "S") => (Transfer::FromShared, uniform(1)?, uniform(0)?),
        ("S", "S") => (Transfer::Between, uniform(0)?, uniform(1)?),
        _ => return None,
    };
    matches!(given.operands.len(), 3 | 4).then_some(())?;
    Some(Action::Bulk(Bulk {
        transfer,
        shared,
        other,
        size: uniform(2)?,
        many: given.has("MULTICAST"),
        update,
    }))
}

/// What a product multiplies and adds, and how deep it is.
fn elements(opcode: &str, rest: &[&str]) -> Option<(Elements, Elements, Accumulator, usize, bool)> {
    let eighth = |name: &str| match name {
        "E4M3" => Some(Elements::E4m3),
        "E5M2" => Some(Elements::E5m2),
        "S8" => Some(Elements::S8),
        "U8" => Some(Elements::U8),
        _ => None,
    };
    let sum = |name: &str| match name {
        "F32" => Some(Accumulator::F32),
        "F16" => Some(Accumulator::F16),
        _ => None,
    };
    Some(match (opcode, rest) {
        ("HGMMA", [to]) => (Elements::F16, Elements::F16, sum(to)?, 16, false),
        ("HGMMA", ["F32", "BF16"]) => (Elements::Bf16, Elements::Bf16, Accumulator::F32, 16, false),
        ("HGMMA", ["F32", "TF32"]) => (Elements::Tf32, Elements::Tf32, Accumulator::F32, 8, false),
        ("QGMMA", [to, a @ ("E4M3" | "E5M2"), b @ ("E4M3" | "E5M2")]) => {
            (eighth(a)?, eighth(b)?, sum(to)?, 32, false)
        }
        ("BGMMA", ["AND", "POPC"]) => (Elements::B1, Elements::B1, Accumulator::S32, 256, false),
        ("IGMMA", [a @ ("S8" | "U8"), b @ ("S8" | "U8"), saturates @ ..]) => {
            let saturates = match saturates {
                [] => false,
                ["SAT"] => true,
                _ => return None,
            };
            (eighth(a)?, eighth(b)?, Accumulator::S32, 32, saturates)
        }
        _ => return None,
    })
}

/// `HGMMA.64xNx16.type[.type] d, [a,] gdesc[UR], c[, scale][, gsb0]`, and those of other types; behind the scale of a sparse one stand the metadata and
/// which lanes have them.
fn product(given: &Given<'_>, shape: &str, rest: &[&str], is_sparse: bool) -> Option<Action> {
    let (first, second, sum, depth, satfinite) = elements(given.opcode, rest)?;
    let k = if is_sparse { 2 * depth } else { depth };
    let columns: usize = shape.strip_prefix("64x")?.strip_suffix(&format!("x{k}"))?.parse().ok()?;
    // Bits stand in words.
    let k = if first == Elements::B1 { k / first.bits() as usize } else { k };
    (columns.is_multiple_of(8) && (8..=256).contains(&columns)).then_some(())?;
    let number = |operand: &Operand| match *operand {
        Operand::Register { number, .. } => Some(number),
        _ => None,
    };
    // The products' scoreboard stands last, if it ends a group.
    let commits = matches!(given.operands.last(), Some(Operand::Other));
    let operands = &given.operands[..given.operands.len() - usize::from(commits)];
    let (operands, sparsity) = match is_sparse {
        true => Sparsity::last_of(operands).map(|(others, sparsity)| (others, Some(sparsity)))?,
        false => (operands, None),
    };
    let always = Operand::UniformPredicate { number: PT, negated: false };
    let (operands, scale) = match operands {
        [rest @ .., scale @ Operand::UniformPredicate { .. }] => (rest, *scale),
        _ => (operands, always),
    };
    let (to, a, matrices, c) = match operands {
        [to, matrices, c] => (to, None, *matrices, c),
        [to, a, matrices, c] => (to, Some(a), *matrices, c),
        _ => return None,
    };
    let Operand::Descriptors { number: descriptors, mut negated, transposed } = matrices else { return None };
    // What is wider or narrower than a half has rows along k alone.
    (transposed == [false; 2] || first.bits() == 16).then_some(())?;
    if let Some(Operand::Register { sign, .. }) = a {
        negated[0] = sign.negated;
        (*sign == Sign { negated: sign.negated, ..Sign::default() }).then_some(())?;
    }
    let config = Config {
        a: first,
        b: second,
        c: sum,
        d: sum,
        unit: if is_sparse { Unit::SparseWgmma } else { Unit::Wgmma },
        satfinite,
        rounding: Mode::NearestEven,
        bits: BitOperation::And,
    };
    Some(Action::Group(GroupProduct {
        config,
        columns,
        k,
        to: number(to)?,
        a: match a {
            Some(a) => Some(number(a)?),
            None => None,
        },
        c: number(c)?,
        descriptors,
        negated,
        transposed,
        sparsity,
        side_by_side: if is_sparse { None } else { side_by_side(&config, ROWS, k) },
        scale: Source { operand: scale, ..Source { kind: Kind::Flag, ..NOTHING } },
        commits,
    }))
}
