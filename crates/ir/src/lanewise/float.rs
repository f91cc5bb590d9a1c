//! Arithmetic in `.f32` and `.f64` (PTX ISA, "Floating Point Instructions"). `mad` with a rounding modifier is `fma`.

use super::Lanewise;
use super::choose::lanes;
use crate::instruction::{Op, TestpOp};
use crate::{by_flags, by_rounding};
use numerics::float::{self, Property};
use numerics::format::{F32, F64};
use numerics::{packed, special};
use ptx::types::ScalarType;

/// An instruction that rounds. Of `.f32` it has `.ftz`, and `.sat` if that is named.
macro_rules! rounded {
    ($op:ident, ($($x:ident),+) $single:ident $([$sat:ident as $SAT:ident])?, $double:ident) => {
        by_rounding!($op.rnd, R => match $op.ty {
            ScalarType::F64 => lanes!($op, ($($x: u64),+) -> u64 { float::$double::<R>($($x),+) }),
            _ => by_flags!($op.ftz as FTZ $(, $op.$sat as $SAT)? => {
                lanes!($op, ($($x: u32),+) -> u32 { float::$single::<R, FTZ $(, $SAT)?>($($x),+) })
            }),
        })
    };
}

/// An instruction of `.f32` whose function takes `.ftz`.
macro_rules! single {
    ($op:ident, ($($x:ident),+) $module:ident::$function:ident) => {
        by_flags!($op.ftz as FTZ => {
            lanes!($op, ($($x: u32),+) -> u32 { $module::$function::<FTZ>($($x),+) })
        })
    };
}

/// An instruction of `.f64` without modifiers.
macro_rules! double {
    ($op:ident, ($($x:ident),+) $module:ident::$function:ident) => {
        lanes!($op, ($($x: u64),+) -> u64 { $module::$function($($x),+) })
    };
}

/// An instruction on two `.f32` in a register that rounds.
macro_rules! rounded_pair {
    ($op:ident, $map:ident($($x:ident),+) $function:ident) => {
        by_rounding!($op.rnd, R => by_flags!($op.ftz as FTZ => {
            lanes!($op, ($($x: u64),+) -> u64 { packed::$map(float::$function::<R, FTZ, false>, $($x),+) })
        }))
    };
}

macro_rules! extremum {
    ($op:ident, $single:ident, $double:ident) => {
        match $op.ty {
            ScalarType::F64 => double!($op, (a, b) float::$double),
            _ => by_flags!($op.ftz as FTZ, $op.nan as NAN, $op.xorsign as XORSIGN => {
                lanes!($op, (a: u32, b: u32) -> u32 { float::$single::<FTZ, NAN, XORSIGN>(a, b) })
            }),
        }
    };
}

pub(super) fn function(op: &Op) -> Option<Lanewise> {
    match op {
        Op::AddFloat(op) => rounded!(op, (a, b) add_f32[sat as SAT], add_f64),
        Op::SubFloat(op) => rounded!(op, (a, b) sub_f32[sat as SAT], sub_f64),
        Op::MulFloat(op) => rounded!(op, (a, b) mul_f32[sat as SAT], mul_f64),
        Op::FmaFloat(op) => rounded!(op, (a, b, c) fma_f32[sat as SAT], fma_f64),
        Op::MadFloat(op) => rounded!(op, (a, b, c) fma_f32[sat as SAT], fma_f64),
        Op::DivFloat(op) => rounded!(op, (a, b) div_f32, div_f64),
        Op::Rcp(op) => rounded!(op, (a) rcp_f32, rcp_f64),
        Op::Sqrt(op) => rounded!(op, (a) sqrt_f32, sqrt_f64),
        Op::AddF32x2(op) => rounded_pair!(op, map2_wide(a, b) add_f32),
        Op::SubF32x2(op) => rounded_pair!(op, map2_wide(a, b) sub_f32),
        Op::MulF32x2(op) => rounded_pair!(op, map2_wide(a, b) mul_f32),
        Op::FmaF32x2(op) => rounded_pair!(op, map3_wide(a, b, c) fma_f32),
        Op::NegFloat(op) => match op.ty {
            ScalarType::F64 => double!(op, (a) float::neg_f64),
            _ => single!(op, (a) float::neg_f32),
        },
        Op::AbsFloat(op) => match op.ty {
            ScalarType::F64 => double!(op, (a) float::abs_f64),
            _ => single!(op, (a) float::abs_f32),
        },
        Op::MinFloat(op) => extremum!(op, min_f32, min_f64),
        Op::MaxFloat(op) => extremum!(op, max_f32, max_f64),
        Op::DivFloatApprox(op) => single!(op, (a, b) special::div_approx_f32),
        Op::DivFloatFull(op) => single!(op, (a, b) special::div_full_f32),
        Op::RcpApprox(op) => match op.ty {
            ScalarType::F64 => double!(op, (a) special::rcp_approx_ftz_f64),
            _ => single!(op, (a) special::rcp_approx_f32),
        },
        Op::RsqrtApprox(op) => match (op.ty, op.ftz) {
            (ScalarType::F64, true) => double!(op, (a) special::rsqrt_approx_ftz_f64),
            (ScalarType::F64, false) => double!(op, (a) special::rsqrt_approx_f64),
            _ => single!(op, (a) special::rsqrt_approx_f32),
        },
        Op::SqrtApprox(op) => single!(op, (a) special::sqrt_approx_f32),
        Op::Ex2Float(op) => single!(op, (a) special::ex2_approx_f32),
        Op::Lg2(op) => single!(op, (a) special::lg2_approx_f32),
        // `.ftz` makes no difference to these.
        Op::Sin(op) => lanes!(op, (a: u32) -> u32 { special::sin_approx_f32(a) }),
        Op::Cos(op) => lanes!(op, (a: u32) -> u32 { special::cos_approx_f32(a) }),
        Op::TanhFloat(op) => lanes!(op, (a: u32) -> u32 { special::tanh_approx_f32(a) }),
        Op::Copysign(op) => match op.ty {
            ScalarType::F64 => double!(op, (a, b) float::copysign_f64),
            _ => lanes!(op, (a: u32, b: u32) -> u32 { float::copysign_f32(a, b) }),
        },
        Op::Testp(op) => {
            let property = match op.op {
                TestpOp::Finite => Property::Finite,
                TestpOp::Infinite => Property::Infinite,
                TestpOp::Number => Property::Number,
                TestpOp::Notanumber => Property::NotANumber,
                TestpOp::Normal => Property::Normal,
                TestpOp::Subnormal => Property::Subnormal,
            };
            match op.ty {
                ScalarType::F64 => lanes!(op.p, op, (a: u64) -> bool { float::testp::<F64>(property, a) }),
                _ => lanes!(op.p, op, (a: u32) -> bool { float::testp::<F32>(property, a.into()) }),
            }
        }
        _ => None,
    }
}
