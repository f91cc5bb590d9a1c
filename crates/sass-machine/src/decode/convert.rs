//! Conversions between numbers.

use super::float::rounded;
use super::{Given, one, words};
use crate::step::Action;
use crate::step::Kind::{Double, Packed, Single, Wide, Word};
use numerics::convert;
use numerics::format::{Bf16, E4m3, E5m2, F16};
use numerics::rounding::{Rm, Rn, Rp, Rz};

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    match given.opcode {
        "I2F" => from_integer(given),
        "I2FP" => from_integer_fast(given),
        "F2I" => to_integer(given),
        "F2F" => between(given),
        "FRND" => to_whole(given),
        "F2FP" => packed(given),
        "I2I" => between_integers(given),
        "I2IP" => packed_integers(given),
        _ => None,
    }
}

/// `I2FP.F32.type[.rounding] d, a`.
fn from_integer_fast(given: &Given<'_>) -> Option<Action> {
    given.only(&["F32", "S32", "U32", "RM", "RP", "RZ"])?;
    rounded!(given, R => if given.has("U32") {
        words(given, &[Word], |a, _, _| convert::int_to_f32::<u32, R>(a))
    } else {
        words(given, &[Word], |a, _, _| convert::int_to_f32::<i32, R>(a as i32))
    })
}

/// `FRND[.FTZ][.type][.rounding] d, a`.
fn to_whole(given: &Given<'_>) -> Option<Action> {
    given.only(&["FTZ", "F64", "F16", "BF16", "TRUNC", "FLOOR", "CEIL"])?;
    macro_rules! whole {
        ($R:ty) => {
            if given.has("F64") {
                Some(one(given.registers(0, 2)?, given.sources(1, &[Double])?, |s| {
                    convert::f64_to_whole::<$R, false>(s[0])
                }))
            } else if given.has("F16") {
                words(given, &[Packed], |a, _, _| {
                    u32::from(convert::half_to_whole::<F16, $R, false>(a as u16))
                })
            } else if given.has("BF16") {
                words(given, &[Packed], |a, _, _| {
                    u32::from(convert::half_to_whole::<Bf16, $R, false>(a as u16))
                })
            } else if given.has("FTZ") {
                words(given, &[Single], |a, _, _| convert::f32_to_whole::<$R, true, false>(a))
            } else {
                words(given, &[Single], |a, _, _| convert::f32_to_whole::<$R, false, false>(a))
            }
        };
    }
    match given.modifiers.iter().find(|it| ["TRUNC", "FLOOR", "CEIL"].contains(it)) {
        None => whole!(Rn),
        Some(&"TRUNC") => whole!(Rz),
        Some(&"FLOOR") => whole!(Rm),
        Some(_) => whole!(Rp),
    }
}

/// `F2FP[.SATFINITE][.RELU].type.type.way d, a, b[, c]`: a in the upper half, b in the lower one.
fn packed(given: &Given<'_>) -> Option<Action> {
    macro_rules! pair {
        ($F:ty, $R:ty, $relu:literal) => {
            pair!($F, $R, $relu, false)
        };
        ($F:ty, $R:ty, $relu:literal, $finite:literal) => {
            words(given, &[Single, Single], |a, b, _| {
                let half = |x| u32::from(convert::f32_to_half::<$F, $R, false, false, $relu, $finite>(x));
                half(a) << 16 | half(b)
            })
        };
    }
    macro_rules! below {
        ($D:ty, $relu:literal) => {
            words(given, &[Single, Single, Word], |a, b, c| {
                c << 16 | u32::from(numerics::fp8::pair_from_f32::<$D, $relu>(a, b))
            })
        };
    }
    macro_rules! above {
        ($S:ty, $relu:literal) => {
            words(given, &[Word], |a, _, _| numerics::fp8::pair_to_half::<$S, F16, $relu>(a as u16))
        };
    }
    macro_rules! shorter {
        ($R:ty, $relu:literal) => {
            words(given, &[Single], |a, _, _| convert::f32_to_tf32::<$R, $relu, false>(a))
        };
    }
    match given.modifiers[..] {
        ["F16", "F32", "PACK_AB"] | ["PACK_AB"] => pair!(F16, Rn, false),
        ["F16", "F32", "PACK_AB", "RZ"] | ["PACK_AB", "RZ"] => pair!(F16, Rz, false),
        ["RELU", "F16", "F32", "PACK_AB"] | ["RELU", "PACK_AB"] => pair!(F16, Rn, true),
        ["BF16", "F32", "PACK_AB"] | ["BF16", "PACK_AB"] => pair!(Bf16, Rn, false),
        ["BF16", "F32", "PACK_AB", "RZ"] | ["BF16", "PACK_AB", "RZ"] => pair!(Bf16, Rz, false),
        ["RELU", "BF16", "F32", "PACK_AB"] | ["RELU", "BF16", "PACK_AB"] => pair!(Bf16, Rn, true),
        ["SATFINITE", "F16", "F32", "PACK_AB"] => pair!(F16, Rn, false, true),
        ["SATFINITE", "BF16", "F32", "PACK_AB"] => pair!(Bf16, Rn, false, true),
        ["SATFINITE", "RELU", "F16", "F32", "PACK_AB"] => pair!(F16, Rn, true, true),
        ["SATFINITE", "RELU", "BF16", "F32", "PACK_AB"] => pair!(Bf16, Rn, true, true),
        ["SATFINITE", "F16", "F32", "PACK_AB", "RZ"] => pair!(F16, Rz, false, true),
        ["SATFINITE", "BF16", "F32", "PACK_AB", "RZ"] => pair!(Bf16, Rz, false, true),
        ["SATFINITE", "E4M3", "F32", "PACK_AB_MERGE_C"] => below!(E4m3, false),
        ["SATFINITE", "RELU", "E4M3", "F32", "PACK_AB_MERGE_C"] => below!(E4m3, true),
        ["SATFINITE", "E5M2", "F32", "PACK_AB_MERGE_C"] => below!(E5m2, false),
        ["SATFINITE", "RELU", "E5M2", "F32", "PACK_AB_MERGE_C"] => below!(E5m2, true),
        ["F16", "E4M3", "UNPACK_B"] => above!(E4m3, false),
        ["RELU", "F16", "E4M3", "UNPACK_B"] => above!(E4m3, true),
        ["F16", "E5M2", "UNPACK_B"] => above!(E5m2, false),
        ["RELU", "F16", "E5M2", "UNPACK_B"] => above!(E5m2, true),
        ["RELU", "F16", "F32", "PACK_AB", "RZ"] | ["RELU", "PACK_AB", "RZ"] => pair!(F16, Rz, true),
        ["RELU", "BF16", "F32", "PACK_AB", "RZ"] | ["RELU", "BF16", "PACK_AB", "RZ"] => pair!(Bf16, Rz, true),
        ["SATFINITE", "RELU", "F16", "F32", "PACK_AB", "RZ"] => pair!(F16, Rz, true, true),
        ["SATFINITE", "RELU", "BF16", "F32", "PACK_AB", "RZ"] => pair!(Bf16, Rz, true, true),
        ["TF32", "F32", "PACK_B"] => shorter!(Rn, false),
        ["TF32", "F32", "PACK_B", "RZ"] => shorter!(Rz, false),
        ["RELU", "TF32", "F32", "PACK_B"] => shorter!(Rn, true),
        ["RELU", "TF32", "F32", "PACK_B", "RZ"] => shorter!(Rz, true),
        _ => None,
    }
}

/// Calls a macro's arm with a type of integers, by a modifier, 32 bits with a sign without one: the type, and its bits.
macro_rules! integer {
    ($given:expr, $T:ident => $body:expr) => {
        match $given.modifiers.iter().find(|it| INTEGERS.contains(it)) {
            None => {
                type $T = i32;
                $body
            }
            Some(&"U32") => {
                type $T = u32;
                $body
            }
            Some(&"S64") => {
                type $T = i64;
                $body
            }
            Some(&"U64") => {
                type $T = u64;
                $body
            }
            Some(&"S16") => {
                type $T = i16;
                $body
            }
            Some(&"U16") => {
                type $T = u16;
                $body
            }
            Some(&"S8") => {
                type $T = i8;
                $body
            }
            Some(_) => {
                type $T = u8;
                $body
            }
        }
    };
}

const INTEGERS: [&str; 7] = ["U32", "S64", "U64", "S16", "U16", "S8", "U8"];

fn is_wide(given: &Given<'_>) -> bool {
    given.has("S64") || given.has("U64")
}

/// `I2F[.F64|.F16][.type][.rounding] d, a`.
fn from_integer(given: &Given<'_>) -> Option<Action> {
    given.only(&["U32", "S64", "U64", "S16", "U16", "S8", "U8", "F64", "F16", "BF16", "RM", "RP", "RZ"])?;
    let sources = given.sources(1, &[if is_wide(given) { Wide } else { Word }])?;
    let function: fn(u64) -> u64 = rounded!(given, R => integer!(given, T => {
        if given.has("F64") {
            |a| convert::int_to_f64::<T, R>(a as T)
        } else if given.has("BF16") {
            |a| u64::from(convert::int_to_half::<T, Bf16, R>(a as T))
        } else if given.has("F16") {
            |a| u64::from(convert::int_to_half::<T, F16, R>(a as T))
        } else {
            |a| u64::from(convert::int_to_f32::<T, R>(a as T))
        }
    }));
    Some(one(given.registers(0, if given.has("F64") { 2 } else { 1 })?, sources, move |s| function(s[0])))
}

/// `F2I[.FTZ][.type][.F64|.F16].rounding[.NTZ] d, a`: with `.NTZ` a NaN gives zero, else the least number that has a sign. What is shorter
/// than a word is extended by its sign.
fn to_integer(given: &Given<'_>) -> Option<Action> {
    given.only(&[
        "FTZ", "U32", "S64", "U64", "S16", "U16", "S8", "U8", "F64", "F16", "BF16", "TRUNC", "FLOOR", "CEIL",
        "NTZ",
    ])?;
    let (double, half, wide) = (given.has("F64"), given.has("F16"), is_wide(given));
    let brain = given.has("BF16");
    macro_rules! function {
        ($R:ty) => {
            integer!(given, T => {
                if double {
                    (|a| convert::f64_to_int::<T, $R>(a) as i64 as u64) as fn(u64) -> u64
                } else if half {
                    |a| convert::half_to_int::<T, F16, $R>(a as u16) as i64 as u64
                } else if brain {
                    |a| convert::half_to_int::<T, Bf16, $R>(a as u16) as i64 as u64
                } else if given.has("FTZ") {
                    |a| convert::f32_to_int::<T, $R, true>(a as u32) as i64 as u64
                } else {
                    |a| convert::f32_to_int::<T, $R, false>(a as u32) as i64 as u64
                }
            })
        };
    }
    let function = match given.modifiers.iter().find(|it| ["TRUNC", "FLOOR", "CEIL"].contains(it)) {
        None => function!(Rn),
        Some(&"TRUNC") => function!(Rz),
        Some(&"FLOOR") => function!(Rm),
        Some(_) => function!(Rp),
    };
    let is_nan = move |a: u64| match (double, half) {
        (true, _) => f64::from_bits(a).is_nan(),
        (false, true) => a & 0x7fff > 0x7c00,
        (false, false) if brain => a & 0x7fff > 0x7f80,
        (false, false) => f32::from_bits(a as u32).is_nan(),
    };
    let bits: u32 = integer!(given, T => T::BITS);
    let nan: u64 = if given.has("NTZ") { 0 } else { 1 << (bits - 1) };
    let kind = if double {
        Double
    } else if half || brain {
        Packed
    } else {
        Single
    };
    let sources = given.sources(1, &[kind])?;
    Some(one(given.registers(0, if wide { 2 } else { 1 })?, sources, move |s| {
        if is_nan(s[0]) { nan } else { function(s[0]) }
    }))
}

/// `F2F[.FTZ].to.from[.rounding] d, a`.
fn between(given: &Given<'_>) -> Option<Action> {
    given.only(&["F16", "BF16", "F32", "F64", "RM", "RP", "RZ", "FTZ"])?;
    let ftz = given.has("FTZ");
    let mut types = given.modifiers.iter().filter(|it| ["F16", "BF16", "F32", "F64"].contains(it));
    match (*types.next()?, *types.next()?) {
        ("F64", "F32") => {
            let mut source = given.source(1, Word)?;
            let sign = source.operand.take_sign();
            (given.operands.len() == 2).then_some(())?;
            Some(one(given.registers(0, 2)?, vec![source], move |s| {
                let mut a = s[0] as u32;
                // A NaN keeps its sign.
                if !f32::from_bits(a).is_nan() {
                    a = if sign.absolute { a & 0x7fff_ffff } else { a } ^ u32::from(sign.negated) << 31;
                }
                let flushed = if ftz && a & 0x7f80_0000 == 0 { a & 0x8000_0000 } else { a };
                convert::f32_to_f64::<false, false>(flushed)
            }))
        }
        ("F32", "F64") => rounded!(given, R => {
            // What is rounded to the least normal number is no more flushed.
            let function = move |a: u64| {
                let rounded = convert::f64_to_f32::<R, false, false>(a);
                if ftz && rounded & 0x7f80_0000 == 0 { rounded & 0x8000_0000 } else { rounded }
            };
            let sources = given.sources(1, &[Double])?;
            Some(one(given.registers(0, 1)?, sources, move |s| u64::from(function(s[0]))))
        }),
        ("F16", "F32") if !ftz => rounded!(given, R => words(given, &[Single], |a, _, _| {
            u32::from(convert::f32_to_half::<F16, R, false, false, false, false>(a))
        })),
        ("BF16", "F32") if !ftz => rounded!(given, R => words(given, &[Single], |a, _, _| {
            u32::from(convert::f32_to_half::<Bf16, R, false, false, false, false>(a))
        })),
        ("BF16", "F32") => rounded!(given, R => words(given, &[Single], |a, _, _| {
            u32::from(convert::f32_to_half::<Bf16, R, true, false, false, false>(a))
        })),
        ("F16", "F64") => rounded!(given, R => {
            let sources = given.sources(1, &[Double])?;
            Some(one(given.registers(0, 1)?, sources, |s| {
                u64::from(convert::f64_to_half::<F16, R, false>(s[0]))
            }))
        }),
        ("BF16", "F64") => rounded!(given, R => {
            let sources = given.sources(1, &[Double])?;
            Some(one(given.registers(0, 1)?, sources, |s| {
                u64::from(convert::f64_to_half::<Bf16, R, false>(s[0]))
            }))
        }),
        ("F64", "F16") => Some(one(given.registers(0, 2)?, given.sources(1, &[Packed])?, |s| {
            convert::half_to_f64::<F16, false>(s[0] as u16)
        })),
        ("F64", "BF16") => Some(one(given.registers(0, 2)?, given.sources(1, &[Packed])?, |s| {
            convert::half_to_f64::<Bf16, false>(s[0] as u16)
        })),
        ("F16", "BF16") if !ftz => rounded!(given, R => words(given, &[Packed], |a, _, _| {
            u32::from(convert::half_to_half::<Bf16, F16, R, false>(a as u16))
        })),
        ("BF16", "F16") if !ftz => rounded!(given, R => words(given, &[Packed], |a, _, _| {
            u32::from(convert::half_to_half::<F16, Bf16, R, false>(a as u16))
        })),
        ("F32", "F16") => {
            words(given, &[Packed], |a, _, _| convert::half_to_f32::<F16, false, false>(a as u16))
        }
        _ => None,
    }
}

/// `I2I.type.S32.SAT d, a`.
fn between_integers(given: &Given<'_>) -> Option<Action> {
    let function: fn(i32) -> i32 = match given.modifiers[..] {
        ["U8", "S32", "SAT"] => |a| a.clamp(0, 255),
        ["S8", "S32", "SAT"] => |a| a.clamp(-128, 127),
        ["U16", "S32", "SAT"] => |a| a.clamp(0, 0xffff),
        ["S16", "S32", "SAT"] => |a| a.clamp(-0x8000, 0x7fff),
        _ => return None,
    };
    words(given, &[Word], move |a, _, _| function(a as i32) as u32)
}

/// `I2IP.type.S32.SAT d, a, b, c`: a and b in the lowest places, c above them; of types below a byte it says how far (`R0.28`).
fn packed_integers(given: &Given<'_>) -> Option<Action> {
    let function: fn(i32, i32, u32) -> u32 = match given.modifiers[..] {
        ["U8", "S32", "SAT"] => convert::pack_below::<8, false>,
        ["S8", "S32", "SAT"] => convert::pack_below::<8, true>,
        ["U4", "S32", "SAT"] => convert::pack_below::<4, false>,
        ["S4", "S32", "SAT"] => convert::pack_below::<4, true>,
        ["U2", "S32", "SAT"] => convert::pack_below::<2, false>,
        ["S2", "S32", "SAT"] => convert::pack_below::<2, true>,
        ["U16", "S32", "SAT"] => |a, b, _| convert::pack16::<u16>(a, b),
        ["S16", "S32", "SAT"] => |a, b, _| convert::pack16::<i16>(a, b),
        _ => return None,
    };
    words(given, &[Word, Word, Word], move |a, b, c| function(a as i32, b as i32, c))
}
