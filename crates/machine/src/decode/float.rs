//! Arithmetic in `.f32` and `.f64` (PTX ISA, "Floating Point Instructions").
//!
//! Rounding, `.ftz`, `.sat` and the rest are parameters of the lane functions in [`numerics::float`] and
//! [`numerics::special`]; here they are read off the opcode, so that no lane tests a modifier. `mad` with a rounding
//! modifier, the only one that targets since `sm_20` have, is `fma`.

use super::Decoded;
use super::arithmetic::{by_flags, by_rounding, is_nearest, lanes};
use super::function::Decoder;
use crate::ops::NONE;
use crate::ops::shape::{COLD, Combine, HOT, lane_fn};
use numerics::float::{self, Property};
use numerics::format::{F32, F64};
use numerics::special;
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::Operand;
use ptx::types::ScalarType;

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let opcode = d.opcode;
    let double = opcode.ty(Slot::Type) == Some(ScalarType::F64);
    let rnd = opcode.get(Slot::Rnd);
    let [ftz, sat, nan, xorsign, abs] =
        [Modifier::Ftz, Modifier::Sat, Modifier::NaN, Modifier::Xorsign, Modifier::Abs]
            .map(|m| opcode.has(m));

    // An instruction that rounds. Of `.f32` it has `.ftz`, and `.sat` if that is named.
    macro_rules! rounded {
        ($shape:ident($($x:ident),+), $single:ident $([$sat:ident as $SAT:ident])?, $double:ident) => {
            by_rounding!(rnd, R => if double {
                lanes!(d, is_nearest::<R>(), $shape($($x: u64),+) -> u64 { float::$double::<R>($($x),+) })
            } else {
                by_flags!(ftz as FTZ $(, $sat as $SAT)? => {
                    const HEAT: bool = is_nearest::<R>() $(&& !$SAT)?;
                    lanes!(d, HEAT, $shape($($x: u32),+) -> u32 { float::$single::<R, FTZ $(, $SAT)?>($($x),+) })
                })
            })
        };
    }
    // An instruction of `.f32` alone whose lane function takes `.ftz`.
    macro_rules! single {
        ($heat:expr, $shape:ident($($x:ident),+), $function:ident) => {
            by_flags!(ftz as FTZ => {
                lanes!(d, $heat, $shape($($x: u32),+) -> u32 { special::$function::<FTZ>($($x),+) })
            })
        };
    }
    macro_rules! sign {
        ($single:ident, $double:ident) => {
            if double {
                lanes!(d, HOT, Unary(a: u64) -> u64 { float::$double(a) })
            } else {
                by_flags!(ftz as FTZ => lanes!(d, HOT, Unary(a: u32) -> u32 { float::$single::<FTZ>(a) }))
            }
        };
    }
    macro_rules! extremum {
        ($single:ident, $three:ident, $double:ident) => {
            if double {
                lanes!(d, HOT, Binary(a: u64, b: u64) -> u64 { float::$double(a, b) })
            } else if !matches!(d.operand(3), Operand::Absent) {
                by_flags!(ftz as FTZ, nan as NAN, abs as ABS => {
                    lanes!(d, COLD, Ternary(a: u32, b: u32, c: u32) -> u32 {
                        float::$three::<FTZ, NAN, ABS>(a, b, c)
                    })
                })
            } else {
                by_flags!(ftz as FTZ, nan as NAN, xorsign as XORSIGN => {
                    lanes!(d, !NAN && !XORSIGN, Binary(a: u32, b: u32) -> u32 {
                        float::$single::<FTZ, NAN, XORSIGN>(a, b)
                    })
                })
            }
        };
    }

    match sem {
        Sem::AddFloat => rounded!(Binary(a, b), add_f32[sat as SAT], add_f64),
        Sem::SubFloat => rounded!(Binary(a, b), sub_f32[sat as SAT], sub_f64),
        Sem::MulFloat => rounded!(Binary(a, b), mul_f32[sat as SAT], mul_f64),
        Sem::FmaFloat | Sem::MadFloat => rounded!(Ternary(a, b, c), fma_f32[sat as SAT], fma_f64),
        Sem::DivFloat => rounded!(Binary(a, b), div_f32, div_f64),
        Sem::Rcp => rounded!(Unary(a), rcp_f32, rcp_f64),
        Sem::Sqrt => rounded!(Unary(a), sqrt_f32, sqrt_f64),
        Sem::NegFloat => sign!(neg_f32, neg_f64),
        Sem::AbsFloat => sign!(abs_f32, abs_f64),
        Sem::MinFloat => extremum!(min_f32, min3_f32, min_f64),
        Sem::MaxFloat => extremum!(max_f32, max3_f32, max_f64),
        Sem::DivFloatApprox => single!(HOT, Binary(a, b), div_approx_f32),
        Sem::DivFloatFull => single!(HOT, Binary(a, b), div_full_f32),
        Sem::RcpApprox if double => {
            lanes!(d, COLD, Unary(a: u64) -> u64 { special::rcp_approx_ftz_f64(a) })
        }
        Sem::RcpApprox => single!(HOT, Unary(a), rcp_approx_f32),
        Sem::RsqrtApprox if double && ftz => {
            lanes!(d, COLD, Unary(a: u64) -> u64 { special::rsqrt_approx_ftz_f64(a) })
        }
        Sem::RsqrtApprox if double => {
            lanes!(d, COLD, Unary(a: u64) -> u64 { special::rsqrt_approx_f64(a) })
        }
        Sem::RsqrtApprox => single!(HOT, Unary(a), rsqrt_approx_f32),
        Sem::SqrtApprox => single!(HOT, Unary(a), sqrt_approx_f32),
        Sem::Ex2Float => single!(HOT, Unary(a), ex2_approx_f32),
        Sem::Lg2 => single!(HOT, Unary(a), lg2_approx_f32),
        // `.ftz` makes no difference to these two.
        Sem::Sin => lanes!(d, COLD, Unary(a: u32) -> u32 { special::sin_approx_f32(a) }),
        Sem::Cos => lanes!(d, COLD, Unary(a: u32) -> u32 { special::cos_approx_f32(a) }),
        Sem::TanhFloat => lanes!(d, COLD, Unary(a: u32) -> u32 { special::tanh_approx_f32(a) }),
        Sem::Copysign if double => {
            lanes!(d, COLD, Binary(a: u64, b: u64) -> u64 { float::copysign_f64(a, b) })
        }
        Sem::Copysign => lanes!(d, COLD, Binary(a: u32, b: u32) -> u32 { float::copysign_f32(a, b) }),
        Sem::Testp => testp(d, double),
        other => Err(format!("{other:?} among the floating-point instructions")),
    }
}

/// A property is a relation of a value to itself.
fn testp(d: &mut Decoder<'_>, double: bool) -> Decoded {
    let p = d.predicate_destination(0)?;
    let a = d.source(1, if double { 64 } else { 32 })?;
    macro_rules! property {
        ($property:ident) => {{
            lane_fn!(Single: Relation(a, _b: u32) { float::testp::<F32>(Property::$property, a.into()) });
            lane_fn!(Double: Relation(a, _b: u64) { float::testp::<F64>(Property::$property, a) });
            let (fields, y) = ([p, NONE, NONE], Combine::None as u32);
            match double {
                false => d.relation::<Single, COLD>(fields, y, [a, a]),
                true => d.relation::<Double, COLD>(fields, y, [a, a]),
            }
            Ok(())
        }};
    }
    match d.opcode.get(Slot::Op) {
        Some(Modifier::Finite) => property!(Finite),
        Some(Modifier::Infinite) => property!(Infinite),
        Some(Modifier::Number) => property!(Number),
        Some(Modifier::Notanumber) => property!(NotANumber),
        Some(Modifier::Normal) => property!(Normal),
        Some(Modifier::Subnormal) => property!(Subnormal),
        other => Err(format!("property {other:?}")),
    }
}
