//! Floating point: arithmetic, comparison, the special-function unit.

use super::{Given, chosen_words, compute, joined, one, test, words};
use crate::operand::Operand;
use crate::registers::PT;
use crate::step::Kind::{Double, Flag, Packed, Single, Word};
use crate::step::{Action, Kind, Source};
use numerics::compare::{setp_f32, setp_f64};
use numerics::float as f;
use numerics::format::{Bf16, F16};
use numerics::rounding::{Rm, Rn, Rounding, Rp, Rz};
use numerics::special::unit::{self, Function as _};

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

pub(super) use rounded;

/// Calls a macro with whether a minimum flushes, hands NaNs on, and takes magnitudes and the product's sign.
macro_rules! extremes {
    ($given:expr, $of:ident) => {
        match ($given.has("FTZ"), $given.has("NAN"), $given.has("XORSIGN")) {
            (false, false, false) => $of!(false, false, false),
            (true, false, false) => $of!(true, false, false),
            (false, true, false) => $of!(false, true, false),
            (true, true, false) => $of!(true, true, false),
            (false, false, true) => $of!(false, false, true),
            (true, false, true) => $of!(true, false, true),
            (false, true, true) => $of!(false, true, true),
            (true, true, true) => $of!(true, true, true),
        }
    };
}
pub(super) use extremes;

/// The NaN that results are.
const NAN: u32 = 0x7fff_ffff;

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    match given.opcode {
        "FMUL" if given.modifiers.len() == 1 && scale(given.modifiers[0]).is_some() => scaled(given),
        "FADD" | "FMUL" | "FFMA" => {
            given.only(&["RM", "RP", "RZ", "FTZ", "SAT"])?;
            rounded!(given, R => single::<R>(given))
        }
        "DADD" | "DMUL" | "DFMA" => {
            given.only(&["RM", "RP", "RZ"])?;
            rounded!(given, R => double::<R>(given))
        }
        "FMNMX" => least_or_most(given),
        "FSEL" => {
            given.only(&["FTZ"])?;
            if given.has("FTZ") {
                return words(given, &[Single, Single, Flag], |a, b, first| {
                    f::flush_f32::<true>(if first == 1 { a } else { b })
                });
            }
            words(given, &[Single, Single, Flag], |a, b, first| if first == 1 { a } else { b })
        }
        "FSET" => set(given),
        "FCHK" => {
            given.only(&[])?;
            let sources = given.sources(1, &[Single, Single])?;
            Some(one(given.flag(0)?, sources, |s| u64::from(division_is_special(s[0] as u32, s[1] as u32))))
        }
        "FSETP" | "DSETP" => compare(given),
        "MUFU" => special(given),
        _ => None,
    }
}

/// `FCHK p, a, b`: whether a divided by b is beyond what a few steps of Newton's method do: by the exponents, as an H100 has it for
/// all of 1,664 pairs. That the first has 25, or the difference is -124, was not among them; it is taken for special.
fn division_is_special(a: u32, b: u32) -> bool {
    let [a, b] = [a, b].map(|it| (it >> 23 & 0xff) as i32);
    !(26..=254).contains(&a) || !(2..=251).contains(&b) || !(-123..=126).contains(&(a - b))
}

fn single<R: Rounding>(given: &Given<'_>) -> Option<Action> {
    macro_rules! of {
        ($ftz:literal, $sat:literal) => {
            match given.opcode {
                "FADD" => words(given, &[Single, Single], |a, b, _| f::add_f32::<R, $ftz, $sat>(a, b)),
                "FMUL" => words(given, &[Single, Single], |a, b, _| f::mul_f32::<R, $ftz, $sat>(a, b)),
                _ => words(given, &[Single, Single, Single], f::fma_f32::<R, $ftz, $sat>),
            }
        };
    }
    match (given.has("FTZ"), given.has("SAT")) {
        (false, false) => of!(false, false),
        (true, false) => of!(true, false),
        (false, true) => of!(false, true),
        (true, true) => of!(true, true),
    }
}

/// `.D4` divides a product by four, `.M4` multiplies it, before it is rounded.
fn scale(modifier: &str) -> Option<f64> {
    Some(match modifier {
        "D2" => 0.5,
        "D4" => 0.25,
        "D8" => 0.125,
        "M2" => 2.0,
        "M4" => 4.0,
        "M8" => 8.0,
        _ => return None,
    })
}

fn scaled(given: &Given<'_>) -> Option<Action> {
    let scale = scale(given.modifiers[0])?;
    words(given, &[Single, Single], move |a, b, _| {
        // Exact in double precision, so that it is rounded once.
        let exact = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b)) * scale;
        if exact.is_nan() { NAN } else { (exact as f32).to_bits() }
    })
}

/// The operands of a minimum. With `.XORSIGN` magnitudes are compared, and the signs are those that the operands have without the bars.
pub(super) fn compared_sources(given: &Given<'_>, kind: Kind) -> Option<Vec<Source>> {
    let mut sources = given.sources(1, &[kind, kind, Flag])?;
    if given.has("XORSIGN") {
        for source in &mut sources[..2] {
            let sign = source.operand.take_sign();
            (sign.absolute && !sign.negated).then_some(())?;
        }
    }
    Some(sources)
}

/// `FMNMX d, a, b, p`: the least of both if p holds.
fn least_or_most(given: &Given<'_>) -> Option<Action> {
    given.only(&["FTZ", "NAN", "XORSIGN"])?;
    macro_rules! of {
        ($ftz:literal, $nan:literal, $xorsign:literal) => {
            chosen_words(given, compared_sources(given, Single)?, |a, b, least| {
                if least == 1 {
                    f::min_f32::<$ftz, $nan, $xorsign>(a, b)
                } else {
                    f::max_f32::<$ftz, $nan, $xorsign>(a, b)
                }
            })
        };
    }
    extremes!(given, of)
}

fn double<R: Rounding>(given: &Given<'_>) -> Option<Action> {
    let kinds = &[Double, Double, Double][..if given.opcode == "DFMA" { 3 } else { 2 }];
    let (place, sources) = (given.registers(0, 2)?, given.sources(1, kinds)?);
    Some(match given.opcode {
        "DADD" => one(place, sources, |s| f::add_f64::<R>(s[0], s[1])),
        "DMUL" => one(place, sources, |s| f::mul_f64::<R>(s[0], s[1])),
        _ => one(place, sources, |s| f::fma_f64::<R>(s[0], s[1], s[2])),
    })
}

/// Calls a macro's arm with the type of the comparison that a modifier names.
macro_rules! compared {
    ($name:expr, $C:ident => $body:expr) => {
        compared!(@ $name, $C => $body, Lt "LT", Le "LE", Eq "EQ", Ne "NE", Gt "GT", Ge "GE", Ltu "LTU", Leu "LEU",
            Equ "EQU", Neu "NEU", Gtu "GTU", Geu "GEU", Num "NUM", Nan "NAN")
    };
    (@ $name:expr, $C:ident => $body:expr, $($type:ident $text:literal),*) => {
        match $name {
            $($text => {
                type $C = numerics::compare::$type;
                $body
            })*
            _ => None,
        }
    };
}
pub(super) use compared;

/// `FSETP.op[.FTZ].bool p, q, a, b, c`.
fn compare(given: &Given<'_>) -> Option<Action> {
    let (&name, rest) = given.modifiers.split_first()?;
    rest.iter().all(|it| ["FTZ", "AND", "OR", "XOR"].contains(it)).then_some(())?;
    match (given.opcode, given.has("FTZ"), name) {
        ("FSETP", _, "F") => test(given, Single, |_, _| false),
        ("FSETP", _, "T") => test(given, Single, |_, _| true),
        ("FSETP", true, _) => compared!(name, C => test(given, Single, setp_f32::<C, true>)),
        ("FSETP", false, _) => compared!(name, C => test(given, Single, setp_f32::<C, false>)),
        ("DSETP", _, "MIN") => first_of_doubles(given, setp_f64::<numerics::compare::Lt>),
        ("DSETP", _, "MAX") => first_of_doubles(given, setp_f64::<numerics::compare::Gt>),
        _ => compared!(name, C => doubles(given, setp_f64::<C>)),
    }
}

fn doubles(given: &Given<'_>, holds: fn(u64, u64) -> bool) -> Option<Action> {
    let join = joined(given)?;
    let sources = given.sources(2, &[Double, Double, Flag])?;
    Some(compute(vec![given.flag(0)?, given.flag(1)?], sources, move |s, to| {
        let holds = holds(s[0], s[1]);
        to[0] = u64::from(join(u32::from(holds), s[2] as u32));
        to[1] = u64::from(join(u32::from(!holds), s[2] as u32));
    }))
}

/// `DSETP.MIN.AND p, q, a, b, PT`: whether the first is the one, and whether the second is no number, so that it has to be quieted. Of
/// zeros the negative one is less.
fn first_of_doubles(given: &Given<'_>, before: fn(u64, u64) -> bool) -> Option<Action> {
    given.only(&["MIN", "MAX", "AND"])?;
    let is_least = given.has("MIN");
    let sources = given.sources(2, &[Double, Double, Flag])?;
    matches!(sources[2].operand, Operand::Predicate { number: PT, negated: false }).then_some(())?;
    Some(compute(vec![given.flag(0)?, given.flag(1)?], sources, move |s, to| {
        let [a, b] = [s[0], s[1]];
        let [is_nan, other_is_nan] = [a, b].map(|it| f64::from_bits(it).is_nan());
        let zeros = (a | b) << 1 == 0;
        let first = if zeros { (a > b) == is_least && a != b } else { before(a, b) };
        to[0] = u64::from(first || other_is_nan && !is_nan);
        to[1] = u64::from(is_nan && other_is_nan);
    }))
}

/// `FSET.BF.op[.FTZ].bool d, a, b, c`: 1.0 where it holds.
fn set(given: &Given<'_>) -> Option<Action> {
    let ["BF", name, rest @ ..] = &given.modifiers[..] else { return None };
    rest.iter().all(|it| ["FTZ", "AND", "OR", "XOR"].contains(it)).then_some(())?;
    let join = joined(given)?;
    let holds: fn(u32, u32) -> bool = if given.has("FTZ") {
        compared!(*name, C => Some(setp_f32::<C, true> as fn(u32, u32) -> bool))?
    } else {
        compared!(*name, C => Some(setp_f32::<C, false> as fn(u32, u32) -> bool))?
    };
    words(given, &[Single, Single, Flag], move |a, b, with| {
        if join(u32::from(holds(a, b)), with) == 1 { 1.0_f32.to_bits() } else { 0 }
    })
}

/// `MUFU.function`: the unit itself, without what compilers put around it for subnormals.
fn special(given: &Given<'_>) -> Option<Action> {
    let function: fn(u32) -> u32 = match given.modifiers[..] {
        ["EX2", "BF16"] => |a| u32::from(numerics::special::ex2_approx_half::<Bf16, true>(a as u16)),
        ["TANH", "BF16"] => |a| u32::from(numerics::special::tanh_approx_half::<Bf16>(a as u16)),
        ["EX2", "F16"] => |a| u32::from(numerics::special::ex2_approx_half::<F16, false>(a as u16)),
        ["TANH", "F16"] => |a| u32::from(numerics::special::tanh_approx_half::<F16>(a as u16)),
        ["RCP"] => unit::Rcp::lane,
        ["SQRT"] => unit::Sqrt::lane,
        ["RSQ"] => unit::Rsqrt::lane,
        ["EX2"] => unit::Ex2::lane,
        ["LG2"] => unit::Lg2::lane,
        ["SIN"] => unit::Sine::<0>::lane,
        ["COS"] => unit::Sine::<1>::lane,
        ["TANH"] => unit::Tanh::lane,
        ["RCP64H"] => unit::rcp64h,
        ["RSQ64H"] => unit::rsqrt64h,
        _ => return None,
    };
    let kind = match given.modifiers[..] {
        [name] if name.ends_with("64H") => Word,
        [_, "F16" | "BF16"] => Packed,
        _ => Single,
    };
    words(given, &[kind], move |a, _, _| function(a))
}
