//! Arithmetic in `.f16` and `.bf16`, one value or two in a register (PTX ISA, "Half Precision Floating Point
//! Instructions").

use super::Lanewise;
use super::choose::lanes;
use crate::choice::{is_bf16, is_packed};
use crate::instruction::{AddFloatRnd, Op};
use crate::{by_flags, by_format, by_rounding};
use numerics::{format, half, packed, special};

/// A function of 16-bit values, or of both halves of 32-bit registers.
macro_rules! halves {
    ($op:ident, $map:ident($($x:ident),+) $body:expr) => {
        if is_packed($op.ty) {
            lanes!($op, ($($x: u32),+) -> u32 { packed::$map(|$($x),+| $body, $($x),+) })
        } else {
            lanes!($op, ($($x: u16),+) -> u16 { $body })
        }
    };
}

macro_rules! arithmetic {
    ($op:ident, $function:ident) => {
        by_format!($op, H, ftz as FTZ, sat as SAT => {
            halves!($op, map2(a, b) half::$function::<H, FTZ, SAT>(a, b))
        })
    };
}

macro_rules! extremum {
    ($op:ident, $function:ident) => {
        by_format!($op, H, ftz as FTZ => by_flags!($op.nan as NAN, $op.xorsign as XORSIGN => {
            halves!($op, map2(a, b) half::$function::<H, FTZ, NAN, XORSIGN>(a, b))
        }))
    };
}

macro_rules! sign {
    ($op:ident, $function:ident) => {
        by_format!($op, H, ftz as FTZ => halves!($op, map1(a) half::$function::<H, FTZ>(a)))
    };
}

pub(super) fn function(op: &Op) -> Option<Lanewise> {
    match op {
        Op::AddHalf(op) => arithmetic!(op, add),
        Op::SubHalf(op) => arithmetic!(op, sub),
        Op::MulHalf(op) => arithmetic!(op, mul),
        Op::FmaHalf(op) => {
            let directed = match op.rnd {
                AddFloatRnd::Rn => false,
                // Two values are rounded to nearest all the same (measured); one is not.
                AddFloatRnd::Rz | AddFloatRnd::Rm | AddFloatRnd::Rp => !is_packed(op.ty),
            };
            if directed {
                by_rounding!(op.rnd, R => {
                    lanes!(op, (a: u16, b: u16, c: u16) -> u16 { half::fma_directed::<R>(a, b, c) })
                })
            } else if op.oob {
                by_format!(op, H, sat as SAT => by_flags!(op.relu as RELU => {
                    halves!(op, map3(a, b, c) half::fma_oob::<H, SAT, RELU>(a, b, c))
                }))
            } else {
                by_format!(op, H, ftz as FTZ, sat as SAT => by_flags!(op.relu as RELU => {
                    halves!(op, map3(a, b, c) half::fma::<H, FTZ, SAT, RELU>(a, b, c))
                }))
            }
        }
        Op::NegHalf(op) => sign!(op, neg),
        Op::AbsHalf(op) => sign!(op, abs),
        Op::MinHalf(op) => extremum!(op, min),
        Op::MaxHalf(op) => extremum!(op, max),
        Op::TanhHalf(op) => by_format!(op, H => halves!(op, map1(a) special::tanh_approx_half::<H>(a))),
        // `.ftz` is written with every `.bf16` and no `.f16`.
        Op::Ex2Half(op) => match is_bf16(op.ty) {
            true => halves!(op, map1(a) special::ex2_approx_half::<format::Bf16, true>(a)),
            false => halves!(op, map1(a) special::ex2_approx_half::<format::F16, false>(a)),
        },
        _ => None,
    }
}
