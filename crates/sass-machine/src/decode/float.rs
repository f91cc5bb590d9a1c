//! Floating point: arithmetic, comparison, the special-function unit, conversions.

use super::{Given, compute, joined, one};
use crate::step::Action;
use crate::step::Kind::{Double, Flag, Single, Wide, Word};
use numerics::compare as by;
use numerics::compare::{Comparison, setp_f32, setp_f64};
use numerics::convert;
use numerics::float as f;
use numerics::rounding::{Rm, Rn, Rounding, Rp, Rz};
use numerics::special::unit;

/// Calls a macro's arm with the type of the rounding that the modifiers name.
macro_rules! rounded {
    ($given:expr, $R:ident => $body:expr) => {
        match $given.modifiers.iter().find(|it| ["RM", "RP", "RZ"].contains(it)) {
            None => {
                type $R = Rn;
                $body
            }
            Some(&"RM") => {
                type $R = Rm;
                $body
            }
            Some(&"RP") => {
                type $R = Rp;
                $body
            }
            Some(_) => {
                type $R = Rz;
                $body
            }
        }
    };
}

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    match given.opcode {
        "FADD" | "FMUL" | "FFMA" => {
            given.only(&["RM", "RP", "RZ", "FTZ", "SAT"])?;
            rounded!(given, R => single::<R>(given))
        }
        "DADD" | "DMUL" | "DFMA" => {
            given.only(&["RM", "RP", "RZ"])?;
            rounded!(given, R => double::<R>(given))
        }
        "FMNMX" => {
            given.only(&["FTZ", "NAN"])?;
            let sources = given.sources(1, &[Single, Single, Flag])?;
            let least: [fn(u32, u32) -> u32; 2] = match (given.has("FTZ"), given.has("NAN")) {
                (false, false) => [f::max_f32::<false, false, false>, f::min_f32::<false, false, false>],
                (true, false) => [f::max_f32::<true, false, false>, f::min_f32::<true, false, false>],
                (false, true) => [f::max_f32::<false, true, false>, f::min_f32::<false, true, false>],
                (true, true) => [f::max_f32::<true, true, false>, f::min_f32::<true, true, false>],
            };
            Some(one(given.registers(0, 1)?, sources, move |s| {
                u64::from(least[s[2] as usize](s[0] as u32, s[1] as u32))
            }))
        }
        "FSETP" | "DSETP" => compare(given),
        "MUFU" => special(given),
        "I2F" => from_integer(given),
        "F2I" => to_integer(given),
        "F2F" => between(given),
        _ => None,
    }
}

fn single<R: Rounding>(given: &Given<'_>) -> Option<Action> {
    let kinds = &[Single, Single, Single][..if given.opcode == "FFMA" { 3 } else { 2 }];
    let sources = given.sources(1, kinds)?;
    macro_rules! of {
        ($ftz:literal, $sat:literal) => {
            match given.opcode {
                "FADD" => |s: &[u64]| f::add_f32::<R, $ftz, $sat>(s[0] as u32, s[1] as u32),
                "FMUL" => |s: &[u64]| f::mul_f32::<R, $ftz, $sat>(s[0] as u32, s[1] as u32),
                _ => |s: &[u64]| f::fma_f32::<R, $ftz, $sat>(s[0] as u32, s[1] as u32, s[2] as u32),
            }
        };
    }
    let function: fn(&[u64]) -> u32 = match (given.has("FTZ"), given.has("SAT")) {
        (false, false) => of!(false, false),
        (true, false) => of!(true, false),
        (false, true) => of!(false, true),
        (true, true) => of!(true, true),
    };
    Some(one(given.registers(0, 1)?, sources, move |s| u64::from(function(s))))
}

fn double<R: Rounding>(given: &Given<'_>) -> Option<Action> {
    let kinds = &[Double, Double, Double][..if given.opcode == "DFMA" { 3 } else { 2 }];
    let function: fn(&[u64]) -> u64 = match given.opcode {
        "DADD" => |s| f::add_f64::<R>(s[0], s[1]),
        "DMUL" => |s| f::mul_f64::<R>(s[0], s[1]),
        _ => |s| f::fma_f64::<R>(s[0], s[1], s[2]),
    };
    Some(one(given.registers(0, 2)?, given.sources(1, kinds)?, function))
}

/// `FSETP.op[.FTZ].bool p, q, a, b, c`.
fn compare(given: &Given<'_>) -> Option<Action> {
    let (&name, rest) = given.modifiers.split_first()?;
    rest.iter().all(|it| ["FTZ", "AND", "OR", "XOR"].contains(it)).then_some(())?;
    match name {
        "LT" => compared::<by::Lt>(given),
        "LE" => compared::<by::Le>(given),
        "EQ" => compared::<by::Eq>(given),
        "NE" => compared::<by::Ne>(given),
        "GT" => compared::<by::Gt>(given),
        "GE" => compared::<by::Ge>(given),
        "LTU" => compared::<by::Ltu>(given),
        "LEU" => compared::<by::Leu>(given),
        "EQU" => compared::<by::Equ>(given),
        "NEU" => compared::<by::Neu>(given),
        "GTU" => compared::<by::Gtu>(given),
        "GEU" => compared::<by::Geu>(given),
        "NUM" => compared::<by::Num>(given),
        "NAN" => compared::<by::Nan>(given),
        _ => None,
    }
}

fn compared<C: Comparison>(given: &Given<'_>) -> Option<Action> {
    let double = given.opcode == "DSETP";
    let kind = if double { Double } else { Single };
    let holds: fn(u64, u64) -> bool = match (double, given.has("FTZ")) {
        (true, _) => |a, b| setp_f64::<C>(a, b),
        (false, true) => |a, b| setp_f32::<C, true>(a as u32, b as u32),
        (false, false) => |a, b| setp_f32::<C, false>(a as u32, b as u32),
    };
    let join = joined(given)?;
    let sources = given.sources(2, &[kind, kind, Flag])?;
    Some(compute(vec![given.flag(0)?, given.flag(1)?], sources, move |s, to| {
        let holds = holds(s[0], s[1]);
        to[0] = u64::from(join(holds, s[2] == 1));
        to[1] = u64::from(join(!holds, s[2] == 1));
    }))
}

/// `MUFU.function`: the unit itself, without what compilers put around it for subnormals.
fn special(given: &Given<'_>) -> Option<Action> {
    let function: fn(u32) -> u32 = match given.modifiers[..] {
        ["RCP"] => unit::rcp,
        ["SQRT"] => unit::sqrt,
        ["RSQ"] => unit::rsqrt,
        ["EX2"] => unit::ex2,
        ["LG2"] => unit::lg2,
        ["SIN"] => unit::sin,
        ["COS"] => unit::cos,
        ["TANH"] => unit::tanh,
        ["RCP64H"] => unit::rcp64h,
        ["RSQ64H"] => unit::rsqrt64h,
        _ => return None,
    };
    let kind = if given.modifiers[0].ends_with("64H") { Word } else { Single };
    Some(one(given.registers(0, 1)?, given.sources(1, &[kind])?, move |s| u64::from(function(s[0] as u32))))
}

/// `I2F[.F64][.type][.rounding] d, a`.
fn from_integer(given: &Given<'_>) -> Option<Action> {
    given.only(&["U32", "S64", "U64", "F64", "RM", "RP", "RZ"])?;
    rounded!(given, R => {
        let wide = given.has("S64") || given.has("U64");
        let sources = given.sources(1, &[if wide { Wide } else { Word }])?;
        let double = given.has("F64");
        let unsigned = given.has("U32") || given.has("U64");
        let function: fn(u64) -> u64 = match (double, wide, unsigned) {
            (false, false, true) => |a| u64::from(convert::int_to_f32::<u32, R>(a as u32)),
            (false, false, false) => |a| u64::from(convert::int_to_f32::<i32, R>(a as i32)),
            (false, true, true) => |a| u64::from(convert::int_to_f32::<u64, R>(a)),
            (false, true, false) => |a| u64::from(convert::int_to_f32::<i64, R>(a as i64)),
            (true, false, true) => |a| convert::int_to_f64::<u32, R>(a as u32),
            (true, false, false) => |a| convert::int_to_f64::<i32, R>(a as i32),
            (true, true, true) => |a| convert::int_to_f64::<u64, R>(a),
            (true, true, false) => |a| convert::int_to_f64::<i64, R>(a as i64),
        };
        Some(one(given.registers(0, if double { 2 } else { 1 })?, sources, move |s| function(s[0])))
    })
}

/// `F2I[.FTZ][.type][.F64].rounding[.NTZ] d, a`. `.NTZ` is in the text of what rounds NaN to zero as PTX asks.
fn to_integer(given: &Given<'_>) -> Option<Action> {
    given.only(&["FTZ", "U32", "S64", "U64", "F64", "TRUNC", "FLOOR", "CEIL", "NTZ"])?;
    macro_rules! function {
        ($R:ty) => {{
            let double = given.has("F64");
            let wide = given.has("S64") || given.has("U64");
            let unsigned = given.has("U32") || given.has("U64");
            let function: fn(u64) -> u64 = match (double, wide, unsigned, given.has("FTZ")) {
                (false, false, true, true) => |a| u64::from(convert::f32_to_int::<u32, $R, true>(a as u32)),
                (false, false, true, false) => |a| u64::from(convert::f32_to_int::<u32, $R, false>(a as u32)),
                (false, false, false, true) => {
                    |a| u64::from(convert::f32_to_int::<i32, $R, true>(a as u32) as u32)
                }
                (false, false, false, false) => {
                    |a| u64::from(convert::f32_to_int::<i32, $R, false>(a as u32) as u32)
                }
                (false, true, true, _) => |a| convert::f32_to_int::<u64, $R, false>(a as u32),
                (false, true, false, _) => |a| convert::f32_to_int::<i64, $R, false>(a as u32) as u64,
                (true, false, true, _) => |a| u64::from(convert::f64_to_int::<u32, $R>(a)),
                (true, false, false, _) => |a| u64::from(convert::f64_to_int::<i32, $R>(a) as u32),
                (true, true, true, _) => |a| convert::f64_to_int::<u64, $R>(a),
                (true, true, false, _) => |a| convert::f64_to_int::<i64, $R>(a) as u64,
            };
            let sources = given.sources(1, &[if double { Double } else { Single }])?;
            Some(one(given.registers(0, if wide { 2 } else { 1 })?, sources, move |s| function(s[0])))
        }};
    }
    match given.modifiers.iter().find(|it| ["TRUNC", "FLOOR", "CEIL"].contains(it)) {
        None => function!(Rn),
        Some(&"TRUNC") => function!(Rz),
        Some(&"FLOOR") => function!(Rm),
        Some(_) => function!(Rp),
    }
}

/// `F2F.to.from d, a`.
fn between(given: &Given<'_>) -> Option<Action> {
    given.only(&["F32", "F64", "RM", "RP", "RZ", "FTZ"])?;
    let ftz = given.has("FTZ");
    match given.modifiers.iter().filter(|it| ["F32", "F64"].contains(it)).collect::<Vec<_>>()[..] {
        [&"F64", &"F32"] => {
            let function: fn(u32) -> u64 =
                if ftz { convert::f32_to_f64::<true, false> } else { convert::f32_to_f64::<false, false> };
            let sources = given.sources(1, &[Single])?;
            Some(one(given.registers(0, 2)?, sources, move |s| function(s[0] as u32)))
        }
        [&"F32", &"F64"] => rounded!(given, R => {
            let function: fn(u64) -> u32 = if ftz {
                convert::f64_to_f32::<R, true, false>
            } else {
                convert::f64_to_f32::<R, false, false>
            };
            let sources = given.sources(1, &[Double])?;
            Some(one(given.registers(0, 1)?, sources, move |s| u64::from(function(s[0]))))
        }),
        _ => None,
    }
}
