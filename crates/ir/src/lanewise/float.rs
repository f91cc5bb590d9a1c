//! Arithmetic in `.f32` and `.f64` (PTX ISA, "Floating Point Instructions"). `mad` is `fma`.

use super::choose::{lanes, lanewise};
use super::function::Approximated;
use crate::choice::by_rounding;
use crate::instruction::TestpOp;
use crate::{by_flags, lane_function};
use numerics::float::{self, Property};
use numerics::format::{F32, F64};
use numerics::{packed, special};
use ptx::types::ScalarType;

/// An instruction that rounds. Of `.f32` it has `.ftz`, and `.sat` if that is named.
macro_rules! rounded {
    ($to:ident, $op:ident, ($($x:ident),+) $single:ident $([$sat:ident as $SAT:ident])?, $double:ident) => {
        by_rounding!($op.rnd, R => match $op.ty {
            ScalarType::F64 => lanes!($to, $op, ($($x: u64),+) -> u64 { float::$double::<R>($($x),+) }),
            _ => by_flags!($op.ftz as FTZ $(, $op.$sat as $SAT)? => {
                lanes!($to, $op, ($($x: u32),+) -> u32 { float::$single::<R, FTZ $(, $SAT)?>($($x),+) })
            }),
        })
    };
}

/// An instruction of `.f32` whose function takes `.ftz`.
macro_rules! single {
    ($to:ident, $op:ident, ($($x:ident),+) $module:ident::$function:ident) => {
        by_flags!($op.ftz as FTZ => {
            lanes!($to, $op, ($($x: u32),+) -> u32 { $module::$function::<FTZ>($($x),+) })
        })
    };
}

/// An approximation of `.f32`.
macro_rules! approximated {
    ($to:ident, $op:ident, $module:ident::$approximation:ident) => {
        by_flags!($op.ftz as FTZ => {
            $to.unary::<Approximated<$module::$approximation<FTZ>, FTZ>>($op.d, [$op.a.into()])
        })
    };
}

/// An instruction of `.f64` without modifiers.
macro_rules! double {
    ($to:ident, $op:ident, ($($x:ident),+) $module:ident::$function:ident) => {
        lanes!($to, $op, ($($x: u64),+) -> u64 { $module::$function($($x),+) })
    };
}

/// An instruction on two `.f32` in a register that rounds.
macro_rules! rounded_pair {
    ($to:ident, $op:ident, $map:ident($($x:ident),+) $function:ident) => {
        by_rounding!($op.rnd, R => by_flags!($op.ftz as FTZ => {
            lanes!($to, $op, ($($x: u64),+) -> u64 { packed::$map(float::$function::<R, FTZ, false>, $($x),+) })
        }))
    };
}

macro_rules! extremum {
    ($to:ident, $op:ident, $single:ident, $double:ident) => {
        match $op.ty {
            ScalarType::F64 => double!($to, $op, (a, b) float::$double),
            _ => by_flags!($op.ftz as FTZ, $op.nan as NAN, $op.xorsign as XORSIGN => {
                lanes!($to, $op, (a: u32, b: u32) -> u32 { float::$single::<FTZ, NAN, XORSIGN>(a, b) })
            }),
        }
    };
}

macro_rules! extremum_of_three {
    ($to:ident, $op:ident, $function:ident) => {
        by_flags!($op.ftz as FTZ, $op.nan as NAN, $op.abs as ABS => {
            lanes!($to, $op, (a: u32, b: u32, c: u32) -> u32 { float::$function::<FTZ, NAN, ABS>(a, b, c) })
        })
    };
}

macro_rules! property {
    ($to:ident, $op:ident, $property:ident) => {{
        lane_function!(Single: Property(a: u32) { float::testp::<F32>(Property::$property, a.into()) });
        lane_function!(Double: Property(a: u64) { float::testp::<F64>(Property::$property, a) });
        match $op.ty {
            ScalarType::F64 => $to.property::<Double>($op.p, $op.a),
            _ => $to.property::<Single>($op.p, $op.a),
        }
    }};
}

lanewise! { to, op:
    AddFloat => rounded!(to, op, (a, b) add_f32[sat as SAT], add_f64);
    SubFloat => rounded!(to, op, (a, b) sub_f32[sat as SAT], sub_f64);
    MulFloat => rounded!(to, op, (a, b) mul_f32[sat as SAT], mul_f64);
    FmaFloat => rounded!(to, op, (a, b, c) fma_f32[sat as SAT], fma_f64);
    DivFloat => rounded!(to, op, (a, b) div_f32, div_f64);
    Rcp => rounded!(to, op, (a) rcp_f32, rcp_f64);
    Sqrt => rounded!(to, op, (a) sqrt_f32, sqrt_f64);
    AddF32x2 => rounded_pair!(to, op, map2_wide(a, b) add_f32);
    SubF32x2 => rounded_pair!(to, op, map2_wide(a, b) sub_f32);
    MulF32x2 => rounded_pair!(to, op, map2_wide(a, b) mul_f32);
    FmaF32x2 => rounded_pair!(to, op, map3_wide(a, b, c) fma_f32);
    NegFloat => match op.ty {
        ScalarType::F64 => double!(to, op, (a) float::neg_f64),
        _ => single!(to, op, (a) float::neg_f32),
    };
    AbsFloat => match op.ty {
        ScalarType::F64 => double!(to, op, (a) float::abs_f64),
        _ => single!(to, op, (a) float::abs_f32),
    };
    MinFloat => extremum!(to, op, min_f32, min_f64);
    MaxFloat => extremum!(to, op, max_f32, max_f64);
    Min3Float => extremum_of_three!(to, op, min3_f32);
    Max3Float => extremum_of_three!(to, op, max3_f32);
    DivFloatApprox => single!(to, op, (a, b) special::div_approx_f32);
    DivFloatFull => single!(to, op, (a, b) special::div_full_f32);
    RcpApprox => match op.ty {
        ScalarType::F64 => double!(to, op, (a) special::rcp_approx_ftz_f64),
        _ => approximated!(to, op, special::Rcp),
    };
    RsqrtApprox => match (op.ty, op.ftz) {
        (ScalarType::F64, true) => double!(to, op, (a) special::rsqrt_approx_ftz_f64),
        (ScalarType::F64, false) => double!(to, op, (a) special::rsqrt_approx_f64),
        _ => approximated!(to, op, special::Rsqrt),
    };
    SqrtApprox => approximated!(to, op, special::Sqrt);
    Ex2Float => approximated!(to, op, special::Ex2);
    Lg2 => approximated!(to, op, special::Lg2);
    // `.ftz` makes no difference to these.
    Sin => to.unary::<Approximated<special::Sine<0>, false>>(op.d, [op.a]);
    Cos => to.unary::<Approximated<special::Sine<1>, false>>(op.d, [op.a]);
    TanhFloat => to.unary::<Approximated<special::Tanh, false>>(op.d, [op.a]);
    Copysign => match op.ty {
        ScalarType::F64 => double!(to, op, (a, b) float::copysign_f64),
        _ => lanes!(to, op, (a: u32, b: u32) -> u32 { float::copysign_f32(a, b) }),
    };
    Testp => match op.op {
        TestpOp::Finite => property!(to, op, Finite),
        TestpOp::Infinite => property!(to, op, Infinite),
        TestpOp::Number => property!(to, op, Number),
        TestpOp::Notanumber => property!(to, op, NotANumber),
        TestpOp::Normal => property!(to, op, Normal),
        TestpOp::Subnormal => property!(to, op, Subnormal),
    };
}
