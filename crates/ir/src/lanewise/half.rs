//! Arithmetic in `.f16` and `.bf16`, one value or two in a register (PTX ISA, "Half Precision Floating Point
//! Instructions").

use super::choose::{lanes, lanewise};
use crate::by_flags;
use crate::choice::{by_format, by_rounding, is_bf16, is_packed};
use crate::instruction::AddFloatRnd;
use numerics::{format, half, packed, special};

/// A function of 16-bit values, or of both halves of 32-bit registers.
macro_rules! halves {
    ($to:ident, $op:ident, $map:ident($($x:ident),+) $body:expr) => {
        if is_packed($op.ty) {
            lanes!($to, $op, ($($x: u32),+) -> u32 { packed::$map(|$($x),+| $body, $($x),+) })
        } else {
            lanes!($to, $op, ($($x: u16),+) -> u16 { $body })
        }
    };
}

macro_rules! arithmetic {
    ($to:ident, $op:ident, $function:ident) => {
        by_format!($op, H, ftz as FTZ, sat as SAT => {
            halves!($to, $op, map2(a, b) half::$function::<H, FTZ, SAT>(a, b))
        })
    };
}

macro_rules! extremum {
    ($to:ident, $op:ident, $function:ident) => {
        by_format!($op, H, ftz as FTZ => by_flags!($op.nan as NAN, $op.xorsign as XORSIGN => {
            halves!($to, $op, map2(a, b) half::$function::<H, FTZ, NAN, XORSIGN>(a, b))
        }))
    };
}

macro_rules! sign {
    ($to:ident, $op:ident, $function:ident) => {
        by_format!($op, H, ftz as FTZ => halves!($to, $op, map1(a) half::$function::<H, FTZ>(a)))
    };
}

lanewise! { to, op:
    AddHalf => arithmetic!(to, op, add);
    SubHalf => arithmetic!(to, op, sub);
    MulHalf => arithmetic!(to, op, mul);
    FmaHalf => {
        let directed = match op.rnd {
            AddFloatRnd::Rn => false,
            // Two values are rounded to nearest all the same (measured); one is not.
            AddFloatRnd::Rz | AddFloatRnd::Rm | AddFloatRnd::Rp => !is_packed(op.ty),
        };
        if directed {
            by_rounding!(op.rnd, R => {
                lanes!(to, op, (a: u16, b: u16, c: u16) -> u16 { half::fma_directed::<R>(a, b, c) })
            })
        } else if op.oob {
            const OOB: bool = true;
            by_format!(op, H, sat as SAT => by_flags!(op.relu as RELU => {
                halves!(to, op, map3(a, b, c) half::fma_oob::<H, SAT, RELU>(a, b, c))
            }))
        } else {
            by_format!(op, H, ftz as FTZ, sat as SAT => by_flags!(op.relu as RELU => {
                halves!(to, op, map3(a, b, c) half::fma::<H, FTZ, SAT, RELU>(a, b, c))
            }))
        }
    };
    NegHalf => sign!(to, op, neg);
    AbsHalf => sign!(to, op, abs);
    MinHalf => extremum!(to, op, min);
    MaxHalf => extremum!(to, op, max);
    TanhHalf => by_format!(op, H => halves!(to, op, map1(a) special::tanh_approx_half::<H>(a)));
    // `.ftz` is written with every `.bf16` and no `.f16`.
    Ex2Half => match is_bf16(op.ty) {
        true => halves!(to, op, map1(a) special::ex2_approx_half::<format::Bf16, true>(a)),
        false => halves!(to, op, map1(a) special::ex2_approx_half::<format::F16, false>(a)),
    };
}
