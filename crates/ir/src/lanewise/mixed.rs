//! Arithmetic in `.f32` with operands that are halves (PTX ISA, "Mixed Precision Floating Point Instructions"): these are
//! converted, which is exact, and the result is that of the instruction on `.f32`.

use super::choose::{lanes, lanewise};
use crate::by_flags;
use crate::choice::{by_half, by_rounding};
use numerics::float;
use numerics::format::widen;

/// `op.d` from halves, which become `.f32`, and `c`.
macro_rules! mixed {
    ($to:ident, $op:ident, ($($half:ident),+) $function:ident) => {
        by_half!($op.atype, H => by_rounding!($op.rnd, R => by_flags!($op.sat as SAT => {
            lanes!($to, $op, ($($half: u16),+, c: u32) -> u32 {
                float::$function::<R, FTZ, SAT>($(widen::<H>(u32::from($half))),+, c)
            })
        })))
    };
}

lanewise! { to, op:
    AddMixed => mixed!(to, op, (a) add_f32);
    SubMixed => mixed!(to, op, (a) sub_f32);
    FmaMixed => mixed!(to, op, (a, b) fma_f32);
}
