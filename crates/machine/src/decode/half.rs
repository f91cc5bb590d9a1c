//! Arithmetic in `.f16` and `.bf16`, one value or two in a register (PTX ISA, "Half Precision Floating Point
//! Instructions").
//!
//! A lane function is written once, for the format `H`; [`halves!`] makes of it the instruction on one value and the
//! one on both halves of a register.

use super::arithmetic::lanes;
use super::decoder::decoders;
use crate::ops::shape::COLD;
use ir::choice::{is_bf16, is_packed};
use ir::instruction::AddFloatRnd;
use ir::{by_flags, by_format, by_rounding};
use numerics::{format, half, packed, special};

/// Emits an operation on 16-bit values, or on both halves of 32-bit registers.
macro_rules! halves {
    ($d:ident, $op:ident, $heat:expr, $map:ident($($x:ident),+) $body:expr) => {
        if is_packed($op.ty) {
            lanes!($d, $op, $heat, ($($x: u32),+) -> u32 { packed::$map(|$($x),+| $body, $($x),+) })
        } else {
            lanes!($d, $op, $heat, ($($x: u16),+) -> u16 { $body })
        }
    };
}

macro_rules! arithmetic {
    ($d:ident, $op:ident, $function:ident) => {
        by_format!($op, H, ftz as FTZ, sat as SAT => {
            halves!($d, $op, !FTZ && !SAT, map2(a, b) half::$function::<H, FTZ, SAT>(a, b))
        })
    };
}

macro_rules! extremum {
    ($d:ident, $op:ident, $function:ident) => {
        by_format!($op, H, ftz as FTZ => by_flags!($op.nan as NAN, $op.xorsign as XORSIGN => {
            halves!($d, $op, COLD, map2(a, b) half::$function::<H, FTZ, NAN, XORSIGN>(a, b))
        }))
    };
}

macro_rules! sign {
    ($d:ident, $op:ident, $function:ident) => {
        by_format!($op, H, ftz as FTZ => halves!($d, $op, COLD, map1(a) half::$function::<H, FTZ>(a)))
    };
}

decoders! { d, op:
    AddHalf => arithmetic!(d, op, add);
    SubHalf => arithmetic!(d, op, sub);
    MulHalf => arithmetic!(d, op, mul);
    FmaHalf => match op.rnd {
        // Rounded otherwise, two values are rounded to nearest all the same (measured); one is not.
        AddFloatRnd::Rz | AddFloatRnd::Rm | AddFloatRnd::Rp if !is_packed(op.ty) => by_rounding!(op.rnd, R => {
            lanes!(d, op, COLD, (a: u16, b: u16, c: u16) -> u16 { half::fma_directed::<R>(a, b, c) })
        }),
        _ if op.oob => by_format!(op, H, sat as SAT => by_flags!(op.relu as RELU => {
            halves!(d, op, COLD, map3(a, b, c) half::fma_oob::<H, SAT, RELU>(a, b, c))
        })),
        _ => by_format!(op, H, ftz as FTZ, sat as SAT => by_flags!(op.relu as RELU => {
            const HEAT: bool = !FTZ && !SAT && !RELU;
            halves!(d, op, HEAT, map3(a, b, c) half::fma::<H, FTZ, SAT, RELU>(a, b, c))
        })),
    };
    NegHalf => sign!(d, op, neg);
    AbsHalf => sign!(d, op, abs);
    MinHalf => extremum!(d, op, min);
    MaxHalf => extremum!(d, op, max);
    TanhHalf => by_format!(op, H => halves!(d, op, COLD, map1(a) special::tanh_approx_half::<H>(a)));
    // `.ftz` is written with every `.bf16` and no `.f16`.
    Ex2Half => match is_bf16(op.ty) {
        true => halves!(d, op, COLD, map1(a) special::ex2_approx_half::<format::Bf16, true>(a)),
        false => halves!(d, op, COLD, map1(a) special::ex2_approx_half::<format::F16, false>(a)),
    };
}
