//! Products of matrices that a warp holds in its registers, and moves of matrices.

use super::Given;
use crate::operand::Operand;
use crate::product::side_by_side;
use crate::registers::{PT, RZ};
use crate::sparsity::Sparsity;
use crate::step::{Action, Collective, Product};
use numerics::rounding::Mode;
use numerics::tensor::{Accumulator, BitOperation, Config, Operand as Element, Unit};

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    if given.opcode == "MOVM" {
        let ["16", "MT88"] = given.modifiers[..] else { return None };
        let (to, from) = (given.registers(0, 1)?, given.register(1)?);
        return Some(Action::Lanes(Collective::Transpose { to, from }));
    }
    let mut rows = 16;
    let mut rounding = Mode::NearestEven;
    let (is_sparse, modifiers) = match &given.modifiers[..] {
        ["SP", rest @ ..] => (true, rest),
        dense => (false, dense),
    };
    let (a, b, sum, k, satfinite) = match (given.opcode, modifiers) {
        ("HMMA", ["16832", sum]) if is_sparse => (Element::F16, Element::F16, accumulator(sum)?, 32, false),
        ("HMMA", ["16832", "F32", "BF16"]) if is_sparse => {
            (Element::Bf16, Element::Bf16, Accumulator::F32, 32, false)
        }
        ("HMMA", ["16816", "F32", "TF32"]) if is_sparse => {
            (Element::Tf32, Element::Tf32, Accumulator::F32, 16, false)
        }
        ("IMMA", ["16864", a, b, rest @ ..]) if is_sparse => {
            (byte(a)?, byte(b)?, Accumulator::S32, 64, saturates(rest)?)
        }
        ("DMMA", [shape, direction @ ..]) if !is_sparse => {
            let (count, k) = match *shape {
                "8x8x4" | "884" => (8, 4),
                "16x8x4" => (16, 4),
                "16x8x8" => (16, 8),
                "16x8x16" => (16, 16),
                _ => return None,
            };
            rows = count;
            rounding = match direction {
                [] => Mode::NearestEven,
                ["RZ"] => Mode::TowardZero,
                ["RM"] => Mode::Down,
                ["RP"] => Mode::Up,
                _ => return None,
            };
            (Element::F64, Element::F64, Accumulator::F64, k, false)
        }
        ("HMMA", ["16816", sum]) => (Element::F16, Element::F16, accumulator(sum)?, 16, false),
        ("HMMA", ["1688", sum]) => (Element::F16, Element::F16, accumulator(sum)?, 8, false),
        ("HMMA", ["16816", "F32", "BF16"]) => (Element::Bf16, Element::Bf16, Accumulator::F32, 16, false),
        ("HMMA", ["1688", "F32", "BF16"]) => (Element::Bf16, Element::Bf16, Accumulator::F32, 8, false),
        ("HMMA", ["1688", "F32", "TF32"]) => (Element::Tf32, Element::Tf32, Accumulator::F32, 8, false),
        ("HMMA", ["1684", "F32", "TF32"]) => (Element::Tf32, Element::Tf32, Accumulator::F32, 4, false),
        ("IMMA", [shape @ ("8816" | "16816" | "16832"), a, b, rest @ ..]) => {
            let k = if *shape == "16832" { 32 } else { 16 };
            rows = if *shape == "8816" { 8 } else { 16 };
            (byte(a)?, byte(b)?, Accumulator::S32, k, saturates(rest)?)
        }
        ("BMMA", [shape @ ("88128" | "168128" | "168256"), "AND", "POPC"]) => {
            // In words of 32 bits.
            let k = if *shape == "168256" { 8 } else { 4 };
            rows = if *shape == "88128" { 8 } else { 16 };
            (Element::B1, Element::B1, Accumulator::S32, k, false)
        }
        _ => return None,
    };
    let number = |at: usize| match *given.operands.get(at)? {
        Operand::Register { number, sign, .. } if sign == crate::operand::Sign::default() => Some(number),
        _ => None,
    };
    let (operands, sparsity) = match is_sparse {
        true => Sparsity::last_of(&given.operands).map(|(others, sparsity)| (others, Some(sparsity)))?,
        false => (&given.operands[..], None),
    };
    // A uniform predicate that negates may stand behind the sums.
    match operands.get(4..)? {
        [] | [Operand::UniformPredicate { number: PT, negated: true }] => {}
        _ => return None,
    }
    let config = Config {
        a,
        b,
        c: sum,
        d: sum,
        unit: if is_sparse { Unit::SparseMma } else { Unit::Mma },
        satfinite,
        rounding,
        bits: BitOperation::And,
    };
    let (to, c) = (number(0)?, number(3)?);
    (to != RZ).then_some(())?;
    Some(Action::Lanes(Collective::Product(Product {
        config,
        rows,
        k,
        to,
        a: number(1)?,
        b: number(2)?,
        c,
        sparsity,
        side_by_side: if is_sparse { None } else { side_by_side(&config, rows, k) },
    })))
}

fn accumulator(text: &str) -> Option<Accumulator> {
    match text {
        "F32" => Some(Accumulator::F32),
        "F16" => Some(Accumulator::F16),
        _ => None,
    }
}

fn byte(text: &str) -> Option<Element> {
    match text {
        "S8" => Some(Element::S8),
        "U8" => Some(Element::U8),
        _ => None,
    }
}

fn saturates(rest: &[&str]) -> Option<bool> {
    match rest {
        [] => Some(false),
        ["SAT"] => Some(true),
        _ => None,
    }
}
