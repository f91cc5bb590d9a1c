//! From the name of a recorded instruction to the function of this crate that computes it.

use numerics::bits::{Clamp, PermuteMode, Wrap};
use numerics::float::Property;
use numerics::format::{Bf16, E4m3, E5m2, F16, F32, F64};
use numerics::rounding::{Rm, Rn, Rp, Rz};
use numerics::{bits, compare, convert, extended, float, fp8, half, integer, packed, special};

/// Operands as recorded (zero-extended) to the result as recorded.
pub(crate) type Implementation = Box<dyn Fn(&[u64]) -> u64>;

macro_rules! by_flag {
    ($flag:expr, $name:ident => $body:expr) => {
        if $flag {
            const $name: bool = true;
            $body
        } else {
            const $name: bool = false;
            $body
        }
    };
}
macro_rules! by_type {
    ($text:expr, $name:ident in [$($spelling:pat => $type:ty),+ $(,)?] => $body:expr) => {
        match $text {
            $($spelling => {
                type $name = $type;
                $body
            })+
            _ => return None,
        }
    };
}
macro_rules! by_rounding {
    ($text:expr, $name:ident => $body:expr) => {
        by_type!($text, $name in ["rn" | "rni" => Rn, "rz" | "rzi" => Rz, "rm" | "rmi" => Rm, "rp" | "rpi" => Rp]
            => $body)
    };
}
macro_rules! by_half {
    ($text:expr, $name:ident => $body:expr) => {
        by_type!($text, $name in ["f16" => F16, "bf16" => Bf16] => $body)
    };
}
macro_rules! by_int {
    ($text:expr, $name:ident => $body:expr) => {
        by_type!($text, $name in [
            "u8" => u8, "u16" => u16, "u32" => u32, "u64" => u64, "s8" => i8, "s16" => i16, "s32" => i32, "s64" => i64,
            "b16" => u16, "b32" => u32, "b64" => u64,
        ] => $body)
    };
}
macro_rules! by_comparison {
    ($text:expr, $name:ident => $body:expr) => {
        by_type!($text, $name in [
            "eq" => compare::Eq, "ne" => compare::Ne, "lt" => compare::Lt, "le" => compare::Le, "gt" => compare::Gt,
            "ge" => compare::Ge, "equ" => compare::Equ, "neu" => compare::Neu, "ltu" => compare::Ltu,
            "leu" => compare::Leu, "gtu" => compare::Gtu, "geu" => compare::Geu, "num" => compare::Num,
            "nan" => compare::Nan,
        ] => $body)
    };
}
/// The function of an instruction, its operands and result cast between the recorded `u64` and its own types.
macro_rules! run {
    ($f:expr; $a:ty => $d:ty) => {
        Some(Box::new(|x: &[u64]| ($f(x[0] as $a) as $d) as u64) as Implementation)
    };
    ($f:expr; $a:ty, $b:ty => $d:ty) => {
        Some(Box::new(|x: &[u64]| ($f(x[0] as $a, x[1] as $b) as $d) as u64) as Implementation)
    };
    ($f:expr; $a:ty, $b:ty, $c:ty => $d:ty) => {
        Some(Box::new(|x: &[u64]| ($f(x[0] as $a, x[1] as $b, x[2] as $c) as $d) as u64) as Implementation)
    };
    ($f:expr; $a:ty, $b:ty, $c:ty, $e:ty => $d:ty) => {
        Some(Box::new(|x: &[u64]| ($f(x[0] as $a, x[1] as $b, x[2] as $c, x[3] as $e) as $d) as u64)
            as Implementation)
    };
}

/// A result zero-extended from the size of its type (an 8-bit integer is recorded extended to 16 bits).
fn recorded<T: integer::Int>(x: T) -> u64 {
    let size = T::BITS.max(16);
    x.to_u64() & (u64::MAX >> (64 - size))
}

/// The function for an instruction's name, if there is one.
pub(crate) fn implementation(name: &str) -> Option<Implementation> {
    let parts: Vec<&str> = name.split('.').collect();
    let last = *parts.last()?;
    if parts[0] == "cvt" {
        return conversion(&parts);
    }
    match last {
        "f32" => single(&parts),
        "f64" => double(&parts),
        "f16" | "bf16" => halves(&parts, last),
        "f16x2" | "bf16x2" => both_halves(name, last),
        _ => integers(name, &parts, last).or_else(|| words(name)),
    }
}

fn rounding<'a>(parts: &[&'a str]) -> &'a str {
    let modes = ["rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"];
    parts.iter().find(|p| modes.contains(p)).copied().unwrap_or("rn")
}

fn property(name: &str) -> Property {
    match name {
        "finite" => Property::Finite,
        "infinite" => Property::Infinite,
        "number" => Property::Number,
        "notanumber" => Property::NotANumber,
        "normal" => Property::Normal,
        _ => Property::Subnormal,
    }
}

fn single(parts: &[&str]) -> Option<Implementation> {
    let has = |m| parts.contains(&m);
    let rnd = rounding(parts);
    if has("approx") || has("full") {
        return by_flag!(has("ftz"), FTZ => match parts[0] {
            "rcp" => run!(special::rcp_approx_f32::<FTZ>; u32 => u32),
            "sqrt" => run!(special::sqrt_approx_f32::<FTZ>; u32 => u32),
            "rsqrt" => run!(special::rsqrt_approx_f32::<FTZ>; u32 => u32),
            "lg2" => run!(special::lg2_approx_f32::<FTZ>; u32 => u32),
            "ex2" => run!(special::ex2_approx_f32::<FTZ>; u32 => u32),
            "sin" => run!(special::sin_approx_f32; u32 => u32),
            "cos" => run!(special::cos_approx_f32; u32 => u32),
            "tanh" => run!(special::tanh_approx_f32; u32 => u32),
            "div" if has("approx") => run!(special::div_approx_f32::<FTZ>; u32, u32 => u32),
            "div" => run!(special::div_full_f32::<FTZ>; u32, u32 => u32),
            _ => None,
        });
    }
    by_flag!(has("ftz"), FTZ => match parts[0] {
        "add" | "sub" | "mul" | "fma" => by_rounding!(rnd, R => by_flag!(has("sat"), SAT => match parts[0] {
            "add" => run!(float::add_f32::<R, FTZ, SAT>; u32, u32 => u32),
            "sub" => run!(float::sub_f32::<R, FTZ, SAT>; u32, u32 => u32),
            "mul" => run!(float::mul_f32::<R, FTZ, SAT>; u32, u32 => u32),
            _ => run!(float::fma_f32::<R, FTZ, SAT>; u32, u32, u32 => u32),
        })),
        "div" => by_rounding!(rnd, R => run!(float::div_f32::<R, FTZ>; u32, u32 => u32)),
        "rcp" => by_rounding!(rnd, R => run!(float::rcp_f32::<R, FTZ>; u32 => u32)),
        "sqrt" => by_rounding!(rnd, R => run!(float::sqrt_f32::<R, FTZ>; u32 => u32)),
        "neg" => run!(float::neg_f32::<FTZ>; u32 => u32),
        "abs" => run!(float::abs_f32::<FTZ>; u32 => u32),
        "copysign" => run!(float::copysign_f32; u32, u32 => u32),
        "slct" => run!(compare::slct_f32::<u32, FTZ>; u32, u32, u32 => u32),
        "min" | "max" => by_flag!(has("NaN"), NAN => by_flag!(has("xorsign"), XORSIGN => match parts[0] {
            "min" => run!(float::min_f32::<FTZ, NAN, XORSIGN>; u32, u32 => u32),
            _ => run!(float::max_f32::<FTZ, NAN, XORSIGN>; u32, u32 => u32),
        })),
        "testp" => {
            let property = property(parts[1]);
            Some(Box::new(move |x| u64::from(float::testp::<F32>(property, x[0]))))
        }
        "setp" => by_comparison!(parts[1], C => run!(compare::setp_f32::<C, FTZ>; u32, u32 => bool)),
        "set" => by_comparison!(parts[1], C => {
            let holds = |x: &[u64]| compare::setp_f32::<C, FTZ>(x[0] as u32, x[1] as u32);
            set(parts, holds)
        }),
        _ => None,
    })
}

/// `set`, by its destination type.
fn set(parts: &[&str], holds: impl Fn(&[u64]) -> bool + 'static) -> Option<Implementation> {
    match parts[parts.len() - 2] {
        "f32" => Some(Box::new(move |x| compare::set_float::<F32>(holds(x)))),
        "f16" => Some(Box::new(move |x| compare::set_float::<F16>(holds(x)))),
        "bf16" => Some(Box::new(move |x| compare::set_float::<Bf16>(holds(x)))),
        "s32" => Some(Box::new(move |x| u64::from(compare::set_int::<u32>(holds(x))))),
        _ => None,
    }
}

fn double(parts: &[&str]) -> Option<Implementation> {
    let rnd = rounding(parts);
    match (parts[0], parts.contains(&"approx")) {
        ("rcp", true) => run!(special::rcp_approx_ftz_f64; u64 => u64),
        ("rsqrt", _) if parts.contains(&"ftz") => run!(special::rsqrt_approx_ftz_f64; u64 => u64),
        ("rsqrt", _) => run!(special::rsqrt_approx_f64; u64 => u64),
        ("add", _) => by_rounding!(rnd, R => run!(float::add_f64::<R>; u64, u64 => u64)),
        ("sub", _) => by_rounding!(rnd, R => run!(float::sub_f64::<R>; u64, u64 => u64)),
        ("mul", _) => by_rounding!(rnd, R => run!(float::mul_f64::<R>; u64, u64 => u64)),
        ("fma", _) => by_rounding!(rnd, R => run!(float::fma_f64::<R>; u64, u64, u64 => u64)),
        ("div", _) => by_rounding!(rnd, R => run!(float::div_f64::<R>; u64, u64 => u64)),
        ("rcp", _) => by_rounding!(rnd, R => run!(float::rcp_f64::<R>; u64 => u64)),
        ("sqrt", _) => by_rounding!(rnd, R => run!(float::sqrt_f64::<R>; u64 => u64)),
        ("neg", _) => run!(float::neg_f64; u64 => u64),
        ("abs", _) => run!(float::abs_f64; u64 => u64),
        ("min", _) => run!(float::min_f64; u64, u64 => u64),
        ("max", _) => run!(float::max_f64; u64, u64 => u64),
        ("copysign", _) => run!(float::copysign_f64; u64, u64 => u64),
        ("testp", _) => {
            let property = property(parts[1]);
            Some(Box::new(move |x| u64::from(float::testp::<F64>(property, x[0]))))
        }
        ("setp", _) => by_comparison!(parts[1], C => run!(compare::setp_f64::<C>; u64, u64 => bool)),
        ("set", _) => by_comparison!(parts[1], C => set(parts, |x| compare::setp_f64::<C>(x[0], x[1]))),
        _ => None,
    }
}

/// A packed instruction by way of the scalar one of the same name, except `cvt`.
fn both_halves(name: &str, last: &str) -> Option<Implementation> {
    let scalar = implementation(&name.replace(last, &last[..last.len() - 2]))?;
    let word = move |x: &[u64], shift: u32| -> u64 {
        let operands: Vec<u64> = x.iter().map(|word| (word >> shift) & 0xffff).collect();
        scalar(&operands) << shift
    };
    Some(Box::new(move |x| word(x, 0) | word(x, 16)))
}

fn halves(parts: &[&str], format: &str) -> Option<Implementation> {
    let has = |m| parts.contains(&m);
    by_half!(format, F => by_flag!(has("ftz"), FTZ => match parts[0] {
        "add" | "sub" | "mul" => by_flag!(has("sat"), SAT => match parts[0] {
            "add" => run!(half::add::<F, FTZ, SAT>; u16, u16 => u16),
            "sub" => run!(half::sub::<F, FTZ, SAT>; u16, u16 => u16),
            _ => run!(half::mul::<F, FTZ, SAT>; u16, u16 => u16),
        }),
        "fma" if has("oob") => by_flag!(has("relu"), RELU => run!(half::fma_oob::<F, false, RELU>; u16, u16, u16 => u16)),
        "fma" => by_flag!(has("sat"), SAT => by_flag!(has("relu"), RELU =>
            run!(half::fma::<F, FTZ, SAT, RELU>; u16, u16, u16 => u16))),
        "neg" => run!(half::neg::<F, FTZ>; u16 => u16),
        "abs" => run!(half::abs::<F, FTZ>; u16 => u16),
        "min" | "max" => by_flag!(has("NaN"), NAN => by_flag!(has("xorsign"), XORSIGN => match parts[0] {
            "min" => run!(half::min::<F, FTZ, NAN, XORSIGN>; u16, u16 => u16),
            _ => run!(half::max::<F, FTZ, NAN, XORSIGN>; u16, u16 => u16),
        })),
        "tanh" => run!(special::tanh_approx_half::<F>; u16 => u16),
        "ex2" => run!(special::ex2_approx_half::<F, FTZ>; u16 => u16),
        "setp" => by_comparison!(parts[1], C => run!(compare::setp_half::<C, F, FTZ>; u16, u16 => bool)),
        "set" => by_comparison!(parts[1], C => set(parts, |x| compare::setp_half::<C, F, FTZ>(x[0] as u16, x[1] as u16))),
        _ => None,
    }))
}

fn conversion(parts: &[&str]) -> Option<Implementation> {
    let has = |m| parts.contains(&m);
    let (to, from) = (parts[parts.len() - 2], parts[parts.len() - 1]);
    let rnd = rounding(parts);
    let whole = has("rni") | has("rzi") | has("rmi") | has("rpi");
    let (ftz, sat, relu, satfinite) = (has("ftz"), has("sat"), has("relu"), has("satfinite"));
    let is_int = |t: &str| t.starts_with(['u', 's']);
    if has("pack") {
        return match parts[3] {
            "u16" => run!(convert::pack16::<u16>; i32, i32 => u32),
            "s16" => run!(convert::pack16::<i16>; i32, i32 => u32),
            "u8" => run!(convert::pack_below::<8, false>; i32, i32, u32 => u32),
            "s8" => run!(convert::pack_below::<8, true>; i32, i32, u32 => u32),
            "u4" => run!(convert::pack_below::<4, false>; i32, i32, u32 => u32),
            "s4" => run!(convert::pack_below::<4, true>; i32, i32, u32 => u32),
            "u2" => run!(convert::pack_below::<2, false>; i32, i32, u32 => u32),
            "s2" => run!(convert::pack_below::<2, true>; i32, i32, u32 => u32),
            _ => None,
        };
    }
    match (to, from) {
        ("tf32", _) if has("rna") => {
            by_flag!(satfinite, SF => run!(convert::f32_to_tf32_rna::<SF>; u32 => u32))
        }
        ("tf32", _) => by_rounding!(rnd, R => by_flag!(relu, RELU => by_flag!(satfinite, SF =>
            run!(convert::f32_to_tf32::<R, RELU, SF>; u32 => u32)))),
        ("e4m3x2" | "e5m2x2", _) => by_type!(to, D in ["e4m3x2" => E4m3, "e5m2x2" => E5m2] =>
        by_flag!(relu, RELU => match from {
            "f32" => run!(fp8::pair_from_f32::<D, RELU>; u32, u32 => u16),
            _ => run!(fp8::pair_from_half::<F16, D, RELU>; u32 => u16),
        })),
        (_, "e4m3x2" | "e5m2x2") => by_type!(from, S in ["e4m3x2" => E4m3, "e5m2x2" => E5m2] =>
            by_flag!(relu, RELU => run!(fp8::pair_to_half::<S, F16, RELU>; u16 => u32))),
        ("f16x2" | "bf16x2", _) => {
            by_half!(&to[..to.len() - 2], F => by_rounding!(rnd, R => by_flag!(relu, RELU => by_flag!(satfinite, SF => {
                let one = |x: u64| convert::f32_to_half::<F, R, false, false, RELU, SF>(x as u32);
                Some(Box::new(move |x: &[u64]| u64::from(packed::pack(one(x[1]), one(x[0])))) as Implementation)
            }))))
        }
        _ if is_int(to) && is_int(from) => by_int!(to, D => by_int!(from, S => by_flag!(sat, SAT =>
            Some(Box::new(|x: &[u64]| recorded::<D>(convert::int_to_int::<S, D, SAT>(x[0] as S))) as Implementation)))),
        (_, "f32") if is_int(to) => by_int!(to, D => by_rounding!(rnd, R => by_flag!(ftz, FTZ =>
            Some(Box::new(|x: &[u64]| recorded::<D>(convert::f32_to_int::<D, R, FTZ>(x[0] as u32))) as Implementation)))),
        (_, "f64") if is_int(to) => by_int!(to, D => by_rounding!(rnd, R =>
            Some(Box::new(|x: &[u64]| recorded::<D>(convert::f64_to_int::<D, R>(x[0]))) as Implementation))),
        (_, "f16" | "bf16") if is_int(to) => by_int!(to, D => by_half!(from, F => by_rounding!(rnd, R =>
            Some(Box::new(|x: &[u64]| recorded::<D>(convert::half_to_int::<D, F, R>(x[0] as u16))) as Implementation)))),
        ("f32", _) if is_int(from) => {
            by_int!(from, S => by_rounding!(rnd, R => run!(convert::int_to_f32::<S, R>; S => u32)))
        }
        ("f64", _) if is_int(from) => {
            by_int!(from, S => by_rounding!(rnd, R => run!(convert::int_to_f64::<S, R>; S => u64)))
        }
        _ if is_int(from) => by_int!(from, S => by_half!(to, F => by_rounding!(rnd, R =>
            run!(convert::int_to_half::<S, F, R>; S => u16)))),
        ("f32", "f32") if whole => by_rounding!(rnd, R => by_flag!(ftz, FTZ => by_flag!(sat, SAT =>
            run!(convert::f32_to_whole::<R, FTZ, SAT>; u32 => u32)))),
        ("f32", "f32") => {
            by_flag!(ftz, FTZ => by_flag!(sat, SAT => run!(convert::f32_to_f32::<FTZ, SAT>; u32 => u32)))
        }
        ("f64", "f64") if whole => by_rounding!(rnd, R => by_flag!(sat, SAT =>
            run!(convert::f64_to_whole::<R, SAT>; u64 => u64))),
        ("f64", "f64") => by_flag!(sat, SAT => run!(convert::f64_to_f64::<SAT>; u64 => u64)),
        ("f64", "f32") => {
            by_flag!(ftz, FTZ => by_flag!(sat, SAT => run!(convert::f32_to_f64::<FTZ, SAT>; u32 => u64)))
        }
        ("f32", "f64") => by_rounding!(rnd, R => by_flag!(ftz, FTZ => by_flag!(sat, SAT =>
            run!(convert::f64_to_f32::<R, FTZ, SAT>; u64 => u32)))),
        (_, "f64") => by_half!(to, F => by_rounding!(rnd, R => by_flag!(sat, SAT =>
            run!(convert::f64_to_half::<F, R, SAT>; u64 => u16)))),
        (_, "f32") => by_half!(to, F => by_rounding!(rnd, R => by_flag!(ftz, FTZ => by_flag!(sat, SAT =>
            by_flag!(relu, RELU => by_flag!(satfinite, SF =>
                run!(convert::f32_to_half::<F, R, FTZ, SAT, RELU, SF>; u32 => u16))))))),
        ("f32", _) => by_half!(from, F => by_flag!(ftz, FTZ => by_flag!(sat, SAT =>
            run!(convert::half_to_f32::<F, FTZ, SAT>; u16 => u32)))),
        ("f64", _) => {
            by_half!(from, F => by_flag!(sat, SAT => run!(convert::half_to_f64::<F, SAT>; u16 => u64)))
        }
        _ if to == from && whole => by_half!(to, F => by_rounding!(rnd, R => by_flag!(sat, SAT =>
            run!(convert::half_to_whole::<F, R, SAT>; u16 => u16)))),
        _ if to == from => {
            by_half!(to, F => by_flag!(sat, SAT => run!(convert::half_to_same::<F, SAT>; u16 => u16)))
        }
        _ => by_half!(from, S => by_half!(to, D => by_rounding!(rnd, R => by_flag!(sat, SAT =>
            run!(convert::half_to_half::<S, D, R, SAT>; u16 => u16))))),
    }
}

/// Instructions that are generic over the integer type.
fn integers(name: &str, parts: &[&str], last: &str) -> Option<Implementation> {
    let base = &name[..name.len() - last.len() - 1];
    by_int!(last, T => {
        match base {
            "add" => run!(integer::add::<T, false>; T, T => T),
            "sub" => run!(integer::sub::<T, false>; T, T => T),
            "add.sat" => run!(integer::add::<T, true>; T, T => T),
            "sub.sat" => run!(integer::sub::<T, true>; T, T => T),
            "div" => run!(integer::div::<T>; T, T => T),
            "rem" => run!(integer::rem::<T>; T, T => T),
            "min" => run!(integer::min::<T, false>; T, T => T),
            "max" => run!(integer::max::<T, false>; T, T => T),
            "min.relu" => run!(integer::min::<T, true>; T, T => T),
            "max.relu" => run!(integer::max::<T, true>; T, T => T),
            "mul.lo" => run!(integer::mul_lo::<T>; T, T => T),
            "mul.hi" => run!(integer::mul_hi::<T>; T, T => T),
            "mad.lo" => run!(integer::mad_lo::<T>; T, T, T => T),
            "mad.hi" => run!(integer::mad_hi::<T, false>; T, T, T => T),
            "mad.hi.sat" => run!(integer::mad_hi::<T, true>; T, T, T => T),
            "sad" => run!(integer::sad::<T>; T, T, T => T),
            "mul.wide" => run!(integer::mul_wide::<T>; T, T => <T as integer::Int>::Wide),
            "abs" => run!(integer::abs::<T>; T => T),
            "neg" => run!(integer::neg::<T>; T => T),
            "shl" => run!(bits::shl::<T>; T, u32 => T),
            "shr" => run!(bits::shr::<T>; T, u32 => T),
            "cnot" => run!(bits::cnot::<T>; T => T),
            "popc" => run!(bits::popc::<T>; T => u32),
            "clz" => run!(bits::clz::<T>; T => u32),
            "bfind" => run!(bits::bfind::<T, false>; T => u32),
            "bfind.shiftamt" => run!(bits::bfind::<T, true>; T => u32),
            "bfe" => run!(bits::bfe::<T>; T, u32, u32 => T),
            "bfi" => run!(bits::bfi::<T>; T, T, u32, u32 => T),
            _ if parts[0] == "setp" => by_comparison!(parts[1], C => run!(compare::setp_int::<C, T>; T, T => bool)),
            _ => None,
        }
    })
    .map(|f| cut(f, last, base))
}

/// The casts of `run!` sign-extend; what was recorded is zero-extended from the size of the result.
fn cut(f: Implementation, last: &str, base: &str) -> Implementation {
    let counts = ["popc", "clz", "bfind", "bfind.shiftamt"].contains(&base) || base.starts_with("setp");
    let size: u32 = if counts { 32 } else { last[1..].parse().unwrap_or(64) };
    let size = if base == "mul.wide" { 2 * size } else { size };
    Box::new(move |x| f(x) & (u64::MAX >> (64 - size)))
}

/// Instructions on one size only, by their whole name.
fn words(name: &str) -> Option<Implementation> {
    let carried = |x: (u32, bool), f: fn(u32, u32, bool) -> (u32, bool)| u64::from(f(0, 0, x.1).0);
    let carried64 = |x: (u64, bool), f: fn(u64, u64, bool) -> (u64, bool)| f(0, 0, x.1).0;
    let addc = extended::addc::<u32>;
    let subc = extended::subc::<u32>;
    let addc64 = extended::addc::<u64>;
    let subc64 = extended::subc::<u64>;
    let w = |x: &[u64], i: usize| x[i] as u32;
    let halves = |f: fn(u32, u32) -> u32| -> Option<Implementation> {
        Some(Box::new(move |x: &[u64]| u64::from(f(x[0] as u32, x[1] as u32))))
    };
    let mode = |m: PermuteMode| -> Option<Implementation> {
        Some(Box::new(move |x: &[u64]| u64::from(bits::prmt_mode(m, x[0] as u32, x[1] as u32, x[2] as u32))))
    };
    match name {
        "mul24.lo.u32" => run!(integer::mul24_lo::<u32>; u32, u32 => u32),
        "mul24.lo.s32" => run!(integer::mul24_lo::<i32>; i32, i32 => u32),
        "mul24.hi.u32" => run!(integer::mul24_hi::<u32>; u32, u32 => u32),
        "mul24.hi.s32" => run!(integer::mul24_hi::<i32>; i32, i32 => u32),
        "mad24.lo.u32" => run!(integer::mad24_lo::<u32>; u32, u32, u32 => u32),
        "mad24.lo.s32" => run!(integer::mad24_lo::<i32>; i32, i32, i32 => u32),
        "mad24.hi.u32" => run!(integer::mad24_hi::<u32, false>; u32, u32, u32 => u32),
        "mad24.hi.s32" => run!(integer::mad24_hi::<i32, false>; i32, i32, i32 => u32),
        "mad24.hi.sat.s32" => run!(integer::mad24_hi::<i32, true>; i32, i32, i32 => u32),
        "szext.clamp.u32" => run!(bits::szext::<u32, Clamp>; u32, u32 => u32),
        "szext.clamp.s32" => run!(bits::szext::<i32, Clamp>; i32, u32 => u32),
        "szext.wrap.u32" => run!(bits::szext::<u32, Wrap>; u32, u32 => u32),
        "szext.wrap.s32" => run!(bits::szext::<i32, Wrap>; i32, u32 => u32),
        "bmsk.clamp.b32" => run!(bits::bmsk::<Clamp>; u32, u32 => u32),
        "bmsk.wrap.b32" => run!(bits::bmsk::<Wrap>; u32, u32 => u32),
        "shf.l.clamp.b32" => run!(bits::shf_l::<Clamp>; u32, u32, u32 => u32),
        "shf.l.wrap.b32" => run!(bits::shf_l::<Wrap>; u32, u32, u32 => u32),
        "shf.r.clamp.b32" => run!(bits::shf_r::<Clamp>; u32, u32, u32 => u32),
        "shf.r.wrap.b32" => run!(bits::shf_r::<Wrap>; u32, u32, u32 => u32),
        "brev.b32" => run!(bits::brev32; u32 => u32),
        "brev.b64" => run!(bits::brev64; u64 => u64),
        "fns.b32" => run!(bits::fns; u32, u32, i32 => u32),
        "prmt.b32" => run!(bits::prmt; u32, u32, u32 => u32),
        "prmt.b32.f4e" => mode(PermuteMode::Forward4),
        "prmt.b32.b4e" => mode(PermuteMode::Backward4),
        "prmt.b32.rc8" => mode(PermuteMode::Replicate8),
        "prmt.b32.ecl" => mode(PermuteMode::EdgeClampLeft),
        "prmt.b32.ecr" => mode(PermuteMode::EdgeClampRight),
        "prmt.b32.rc16" => mode(PermuteMode::Replicate16),
        "dp4a.u32.u32" => run!(packed::dp4a::<false, false>; u32, u32, u32 => u32),
        "dp4a.u32.s32" => run!(packed::dp4a::<false, true>; u32, u32, u32 => u32),
        "dp4a.s32.u32" => run!(packed::dp4a::<true, false>; u32, u32, u32 => u32),
        "dp4a.s32.s32" => run!(packed::dp4a::<true, true>; u32, u32, u32 => u32),
        "dp2a.lo.u32.u32" => run!(packed::dp2a::<false, false, false>; u32, u32, u32 => u32),
        "dp2a.lo.u32.s32" => run!(packed::dp2a::<false, false, true>; u32, u32, u32 => u32),
        "dp2a.lo.s32.u32" => run!(packed::dp2a::<false, true, false>; u32, u32, u32 => u32),
        "dp2a.lo.s32.s32" => run!(packed::dp2a::<false, true, true>; u32, u32, u32 => u32),
        "dp2a.hi.u32.u32" => run!(packed::dp2a::<true, false, false>; u32, u32, u32 => u32),
        "dp2a.hi.u32.s32" => run!(packed::dp2a::<true, false, true>; u32, u32, u32 => u32),
        "dp2a.hi.s32.u32" => run!(packed::dp2a::<true, true, false>; u32, u32, u32 => u32),
        "dp2a.hi.s32.s32" => run!(packed::dp2a::<true, true, true>; u32, u32, u32 => u32),
        "add.u16x2" | "add.s16x2" => halves(|a, b| packed::map_int(integer::add::<u16, false>, a, b)),
        "min.u16x2" => halves(|a, b| packed::map_int(integer::min::<u16, false>, a, b)),
        "max.u16x2" => halves(|a, b| packed::map_int(integer::max::<u16, false>, a, b)),
        "min.s16x2" => halves(|a, b| packed::map_int(integer::min::<i16, false>, a, b)),
        "max.s16x2" => halves(|a, b| packed::map_int(integer::max::<i16, false>, a, b)),
        "min.relu.s16x2" => halves(|a, b| packed::map_int(integer::min::<i16, true>, a, b)),
        "max.relu.s16x2" => halves(|a, b| packed::map_int(integer::max::<i16, true>, a, b)),
        "add.cc+addc.u32" | "add.cc+addc.s32" => {
            Some(Box::new(move |x| carried(addc(w(x, 0), w(x, 1), false), addc)))
        }
        "add.cc+subc.u32" | "add.cc+subc.s32" => {
            Some(Box::new(move |x| carried(addc(w(x, 0), w(x, 1), false), subc)))
        }
        "sub.cc+addc.u32" | "sub.cc+addc.s32" => {
            Some(Box::new(move |x| carried(subc(w(x, 0), w(x, 1), true), addc)))
        }
        "sub.cc+subc.u32" | "sub.cc+subc.s32" => {
            Some(Box::new(move |x| carried(subc(w(x, 0), w(x, 1), true), subc)))
        }
        "add.cc+addc.u64" | "add.cc+addc.s64" => {
            Some(Box::new(move |x| carried64(addc64(x[0], x[1], false), addc64)))
        }
        "add.cc+subc.u64" | "add.cc+subc.s64" => {
            Some(Box::new(move |x| carried64(addc64(x[0], x[1], false), subc64)))
        }
        "sub.cc+addc.u64" | "sub.cc+addc.s64" => {
            Some(Box::new(move |x| carried64(subc64(x[0], x[1], true), addc64)))
        }
        "sub.cc+subc.u64" | "sub.cc+subc.s64" => {
            Some(Box::new(move |x| carried64(subc64(x[0], x[1], true), subc64)))
        }
        _ => multiply_carries(name),
    }
}

/// `mad.{lo,hi}.cc` followed by `addc` of zeros: the carry itself.
fn multiply_carries(name: &str) -> Option<Implementation> {
    by_type!(name, T in [
        "mad.lo.cc+addc.u32" | "mad.hi.cc+addc.u32" => u32, "mad.lo.cc+addc.s32" | "mad.hi.cc+addc.s32" => i32,
        "mad.lo.cc+addc.u64" | "mad.hi.cc+addc.u64" => u64, "mad.lo.cc+addc.s64" | "mad.hi.cc+addc.s64" => i64,
    ] => {
        let f = if name.contains(".hi.") { extended::madc_hi::<T> } else { extended::madc_lo::<T> };
        Some(Box::new(move |x: &[u64]| u64::from(f(x[0] as T, x[1] as T, x[2] as T, false).1)) as Implementation)
    })
}
