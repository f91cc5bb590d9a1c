//! Half precision, two numbers in a register.

use super::float::{compared, compared_sources, extremes};
use super::{Given, chosen_words, compute, joined, words};
use crate::step::Action;
use crate::step::Kind::{Flag, Packed};
use numerics::compare::setp_half;
use numerics::format::{Bf16, F16};
use numerics::half::{self, Half};
use numerics::{convert, float, packed};

/// What stands in the names of these instructions for the formats.
const BF16: &str = "BF16_V2";

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    match given.opcode {
        "HADD2" if given.has("F32") => sum_as_single(given),
        "HADD2" | "HMUL2" | "HFMA2" | "HMNMX2" => {
            if given.has(BF16) {
                arithmetic::<Bf16>(given)
            } else {
                arithmetic::<F16>(given)
            }
        }
        "HSETP2" | "HSET2" => {
            let holds = if given.has(BF16) { comparison::<Bf16>(given)? } else { comparison::<F16>(given)? };
            if given.opcode == "HSETP2" { predicates(given, holds) } else { set(given, holds) }
        }
        _ => None,
    }
}

/// `HADD2.F32 d, a.half, b.half`: single precision.
fn sum_as_single(given: &Given<'_>) -> Option<Action> {
    given.only(&["F32"])?;
    words(given, &[Packed, Packed], |a, b, _| {
        let single = |x: u32| convert::half_to_f32::<F16, false, false>(x as u16);
        float::add_f32::<numerics::rounding::Rn, false, false>(single(a), single(b))
    })
}

fn arithmetic<F: Half>(given: &Given<'_>) -> Option<Action> {
    if given.opcode == "HMNMX2" {
        return least_or_most::<F>(given);
    }
    given.only(&["MMA", BF16, "FTZ", "SAT", "RELU", "NAN", "OOB"])?;
    if given.has("OOB") {
        let kinds = &[Packed, Packed, Packed];
        return match (given.has("SAT"), given.has("RELU")) {
            (false, false) => {
                words(given, kinds, |a, b, c| packed::map3(half::fma_oob::<F, false, false>, a, b, c))
            }
            (false, true) => {
                words(given, kinds, |a, b, c| packed::map3(half::fma_oob::<F, false, true>, a, b, c))
            }
            (true, _) => {
                words(given, kinds, |a, b, c| packed::map3(half::fma_oob::<F, true, false>, a, b, c))
            }
        };
    }
    macro_rules! of {
        ($ftz:literal, $sat:literal, $relu:literal) => {
            match (given.opcode, $relu) {
                ("HADD2", false) => {
                    words(given, &[Packed, Packed], |a, b, _| packed::map2(half::add::<F, $ftz, $sat>, a, b))
                }
                ("HMUL2", false) => {
                    words(given, &[Packed, Packed], |a, b, _| packed::map2(half::mul::<F, $ftz, $sat>, a, b))
                }
                ("HFMA2", _) => words(given, &[Packed, Packed, Packed], |a, b, c| {
                    packed::map3(half::fma::<F, $ftz, $sat, $relu>, a, b, c)
                }),
                _ => None,
            }
        };
    }
    match (given.has("FTZ"), given.has("SAT"), given.has("RELU")) {
        (false, false, false) => of!(false, false, false),
        (true, false, false) => of!(true, false, false),
        (false, true, false) => of!(false, true, false),
        (true, true, false) => of!(true, true, false),
        (false, false, true) => of!(false, false, true),
        (true, false, true) => of!(true, false, true),
        (_, true, true) => None,
    }
}

/// `HMNMX2 d, a, b, p`: the least of both if p holds.
fn least_or_most<F: Half>(given: &Given<'_>) -> Option<Action> {
    given.only(&[BF16, "FTZ", "NAN", "XORSIGN"])?;
    macro_rules! of {
        ($ftz:literal, $nan:literal, $xorsign:literal) => {
            chosen_words(given, compared_sources(given, Packed)?, |a, b, least| {
                if least == 1 {
                    packed::map2(half::min::<F, $ftz, $nan, $xorsign>, a, b)
                } else {
                    packed::map2(half::max::<F, $ftz, $nan, $xorsign>, a, b)
                }
            })
        };
    }
    extremes!(given, of)
}

fn comparison<F: Half>(given: &Given<'_>) -> Option<fn(u16, u16) -> bool> {
    given.only(&[
        BF16, "BF", "H_AND", "FTZ", "AND", "OR", "XOR", "LT", "LE", "EQ", "NE", "GT", "GE", "LTU", "LEU",
        "EQU", "NEU", "GTU", "GEU", "NUM", "NAN",
    ])?;
    let name =
        *given.modifiers.iter().find(|it| ![BF16, "BF", "H_AND", "FTZ", "AND", "OR", "XOR"].contains(it))?;
    if given.has("FTZ") {
        compared!(name, C => Some(setp_half::<C, F, true> as fn(u16, u16) -> bool))
    } else {
        compared!(name, C => Some(setp_half::<C, F, false> as fn(u16, u16) -> bool))
    }
}

/// `HSETP2.op.bool p, q, a, b, c`: p for the lower halves, q for the upper ones; with `.H_AND` p for both together, and its opposite.
fn predicates(given: &Given<'_>, holds: fn(u16, u16) -> bool) -> Option<Action> {
    let (join, both) = (joined(given)?, given.has("H_AND"));
    let sources = given.sources(2, &[Packed, Packed, Flag])?;
    Some(compute(vec![given.flag(0)?, given.flag(1)?], sources, move |s, to| {
        let half = |at: u32| u32::from(holds((s[0] >> at) as u16, (s[1] >> at) as u16));
        let (p, q) = if both { (half(0) & half(16), 1 ^ (half(0) & half(16))) } else { (half(0), half(16)) };
        to[0] = u64::from(join(p, s[2] as u32));
        to[1] = u64::from(join(q, s[2] as u32));
    }))
}

/// `HSET2[.BF].op.bool d, a, b, c`: 1.0, or all bits, in each half in which it holds.
fn set(given: &Given<'_>, holds: fn(u16, u16) -> bool) -> Option<Action> {
    let join = joined(given)?;
    let yes: u32 = match (given.has("BF"), given.has(BF16)) {
        (false, _) => 0xffff,
        (true, false) => 0x3c00,
        (true, true) => 0x3f80,
    };
    words(given, &[Packed, Packed, Flag], move |a, b, with| {
        let half = |at: u32| join(u32::from(holds((a >> at) as u16, (b >> at) as u16)), with) * yes;
        half(16) << 16 | half(0)
    })
}
