//! Arithmetic in `.f32` and `.f64` (PTX ISA, "Floating Point Instructions").
//!
//! Rounding, `.ftz`, `.sat` and the rest are parameters of the lane functions in [`numerics::float`] and
//! [`numerics::special`]. `mad` with a rounding modifier, the only one that targets since `sm_20` have, is `fma`.

use super::arithmetic::{is_nearest, lanes};
use super::decoder::decoders;
use crate::image::Meta;
use crate::operation::kinds::Outcome;
use crate::ops::shape::{COLD, HOT, lane_fn};
use ir::instruction::TestpOp;
use ir::{by_flags, by_rounding};
use numerics::float::{self, Property};
use numerics::format::{F32, F64};
use numerics::{packed, special};
use ptx::types::ScalarType;

/// An instruction that rounds. Of `.f32` it has `.ftz`, and `.sat` if that is named.
macro_rules! rounded {
    ($d:ident, $op:ident, ($($x:ident),+) $single:ident $([$sat:ident as $SAT:ident])?, $double:ident) => {
        by_rounding!($op.rnd, R => if $op.ty == ScalarType::F64 {
            lanes!($d, $op, is_nearest::<R>(), ($($x: u64),+) -> u64 { float::$double::<R>($($x),+) })
        } else {
            by_flags!($op.ftz as FTZ $(, $op.$sat as $SAT)? => {
                const HEAT: bool = is_nearest::<R>() $(&& !$SAT)?;
                lanes!($d, $op, HEAT, ($($x: u32),+) -> u32 { float::$single::<R, FTZ $(, $SAT)?>($($x),+) })
            })
        })
    };
}

/// An instruction on two `.f32` in a register that rounds.
macro_rules! rounded_pair {
    ($d:ident, $op:ident, $map:ident($($x:ident),+) $function:ident) => {
        by_rounding!($op.rnd, R => by_flags!($op.ftz as FTZ => {
            lanes!($d, $op, COLD, ($($x: u64),+) -> u64 {
                packed::$map(float::$function::<R, FTZ, false>, $($x),+)
            })
        }))
    };
}

/// An instruction of `.f32` whose lane function takes `.ftz`.
macro_rules! single {
    ($d:ident, $op:ident, ($($x:ident),+) $module:ident::$function:ident) => {
        by_flags!($op.ftz as FTZ => {
            lanes!($d, $op, HOT, ($($x: u32),+) -> u32 { $module::$function::<FTZ>($($x),+) })
        })
    };
}

/// An instruction of `.f64` without modifiers.
macro_rules! double {
    ($d:ident, $op:ident, $heat:ident, ($($x:ident),+) $module:ident::$function:ident) => {
        lanes!($d, $op, $heat, ($($x: u64),+) -> u64 { $module::$function($($x),+) })
    };
}

/// `.ftz` makes no difference to these.
macro_rules! approximate {
    ($d:ident, $op:ident, $function:ident) => {
        lanes!($d, $op, COLD, (a: u32) -> u32 { special::$function(a) })
    };
}

macro_rules! extremum {
    ($d:ident, $op:ident, $single:ident, $double:ident) => {
        match $op.ty {
            ScalarType::F64 => double!($d, $op, HOT, (a, b) float::$double),
            _ => by_flags!($op.ftz as FTZ, $op.nan as NAN, $op.xorsign as XORSIGN => {
                lanes!($d, $op, !NAN && !XORSIGN, (a: u32, b: u32) -> u32 {
                    float::$single::<FTZ, NAN, XORSIGN>(a, b)
                })
            }),
        }
    };
}

decoders! { d, op:
    AddFloat => rounded!(d, op, (a, b) add_f32[sat as SAT], add_f64);
    SubFloat => rounded!(d, op, (a, b) sub_f32[sat as SAT], sub_f64);
    MulFloat => rounded!(d, op, (a, b) mul_f32[sat as SAT], mul_f64);
    FmaFloat => rounded!(d, op, (a, b, c) fma_f32[sat as SAT], fma_f64);
    AddF32x2 => rounded_pair!(d, op, map2_wide(a, b) add_f32);
    SubF32x2 => rounded_pair!(d, op, map2_wide(a, b) sub_f32);
    MulF32x2 => rounded_pair!(d, op, map2_wide(a, b) mul_f32);
    FmaF32x2 => rounded_pair!(d, op, map3_wide(a, b, c) fma_f32);
    MadFloat => rounded!(d, op, (a, b, c) fma_f32[sat as SAT], fma_f64);
    DivFloat => rounded!(d, op, (a, b) div_f32, div_f64);
    Rcp => rounded!(d, op, (a) rcp_f32, rcp_f64);
    Sqrt => rounded!(d, op, (a) sqrt_f32, sqrt_f64);
    NegFloat => match op.ty {
        ScalarType::F64 => double!(d, op, HOT, (a) float::neg_f64),
        _ => single!(d, op, (a) float::neg_f32),
    };
    AbsFloat => match op.ty {
        ScalarType::F64 => double!(d, op, HOT, (a) float::abs_f64),
        _ => single!(d, op, (a) float::abs_f32),
    };
    MinFloat => extremum!(d, op, min_f32, min_f64);
    MaxFloat => extremum!(d, op, max_f32, max_f64);
    DivFloatApprox => single!(d, op, (a, b) special::div_approx_f32);
    DivFloatFull => single!(d, op, (a, b) special::div_full_f32);
    RcpApprox => match op.ty {
        ScalarType::F64 => double!(d, op, COLD, (a) special::rcp_approx_ftz_f64),
        _ => single!(d, op, (a) special::rcp_approx_f32),
    };
    RsqrtApprox => match (op.ty, op.ftz) {
        (ScalarType::F64, true) => double!(d, op, COLD, (a) special::rsqrt_approx_ftz_f64),
        (ScalarType::F64, false) => double!(d, op, COLD, (a) special::rsqrt_approx_f64),
        _ => single!(d, op, (a) special::rsqrt_approx_f32),
    };
    SqrtApprox => single!(d, op, (a) special::sqrt_approx_f32);
    Ex2Float => single!(d, op, (a) special::ex2_approx_f32);
    Lg2 => single!(d, op, (a) special::lg2_approx_f32);
    Sin => approximate!(d, op, sin_approx_f32);
    Cos => approximate!(d, op, cos_approx_f32);
    TanhFloat => approximate!(d, op, tanh_approx_f32);
    Copysign => match op.ty {
        ScalarType::F64 => double!(d, op, COLD, (a, b) float::copysign_f64),
        _ => lanes!(d, op, COLD, (a: u32, b: u32) -> u32 { float::copysign_f32(a, b) }),
    };
    // A property is a relation of a value to itself.
    Testp => {
        let p = d.write_predicate(Some(op.p))?;
        let a = d.read(&op.a, op.ty.bits())?;
        macro_rules! property {
            ($property:ident) => {{
                lane_fn!(Single: Relation(a, _b: u32) { float::testp::<F32>(Property::$property, a.into()) });
                lane_fn!(Double: Relation(a, _b: u64) { float::testp::<F64>(Property::$property, a) });
                let outcome = Outcome { p, q: None, with: None, combine: None };
                match op.ty {
                    ScalarType::F64 => d.relation::<Double, COLD>(outcome, [a, a], Meta::Plain),
                    _ => d.relation::<Single, COLD>(outcome, [a, a], Meta::Plain),
                }
            }};
        }
        match op.op {
            TestpOp::Finite => property!(Finite),
            TestpOp::Infinite => property!(Infinite),
            TestpOp::Number => property!(Number),
            TestpOp::Notanumber => property!(NotANumber),
            TestpOp::Normal => property!(Normal),
            TestpOp::Subnormal => property!(Subnormal),
        }
    };
}
