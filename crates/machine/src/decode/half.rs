//! Arithmetic in `.f16` and `.bf16`, one value or two in a register (PTX ISA, "Half Precision Floating Point
//! Instructions").
//!
//! A lane function is written once, for the format `H`; [`halves!`] makes of it the instruction on one value and the
//! one on both halves of a register.

use super::Decoded;
use super::arithmetic::{by_flags, by_rounding, lanes};
use super::function::Decoder;
use crate::ops::shape::COLD;
use numerics::{format, half, packed, special};
use ptx::isa::{Modifier, Sem, Slot};
use ptx::types::ScalarType;

/// Emits an operation on 16-bit values, or on both halves of 32-bit registers where `packed`.
macro_rules! halves {
    ($d:expr, $packed:expr, $heat:expr, $shape:ident $map:ident($($x:ident),+) $body:expr) => {
        if $packed {
            lanes!($d, $heat, $shape($($x: u32),+) -> u32 { packed::$map(|$($x),+| $body, $($x),+) })
        } else {
            lanes!($d, $heat, $shape($($x: u16),+) -> u16 { $body })
        }
    };
}

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let opcode = d.opcode;
    let ty = opcode.ty(Slot::Type).unwrap_or(ScalarType::F16x2);
    let packed = matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2);
    let bf16 = matches!(ty, ScalarType::Bf16 | ScalarType::Bf16x2);
    let [ftz, sat, relu, nan, xorsign] =
        [Modifier::Ftz, Modifier::Sat, Modifier::Relu, Modifier::NaN, Modifier::Xorsign]
            .map(|m| opcode.has(m));
    let rnd = opcode.get(Slot::Rnd);
    let directed = matches!(rnd, Some(Modifier::Rz | Modifier::Rm | Modifier::Rp));

    // Evaluates an expression with `H` standing for the format, and constants for the flags that only `.f16` has.
    macro_rules! by_format {
        ($($flag:ident as $FLAG:ident),* => $e:expr) => {
            if bf16 {
                type H = format::Bf16;
                $(const $FLAG: bool = false;)*
                $e
            } else {
                type H = format::F16;
                by_flags!($($flag as $FLAG),* => $e)
            }
        };
    }
    macro_rules! arithmetic {
        ($function:ident) => {
            by_format!(ftz as FTZ, sat as SAT => {
                halves!(d, packed, !FTZ && !SAT, Binary map2(a, b) half::$function::<H, FTZ, SAT>(a, b))
            })
        };
    }
    macro_rules! extremum {
        ($function:ident) => {
            by_format!(ftz as FTZ => by_flags!(nan as NAN, xorsign as XORSIGN => {
                halves!(d, packed, COLD, Binary map2(a, b) half::$function::<H, FTZ, NAN, XORSIGN>(a, b))
            }))
        };
    }
    macro_rules! sign {
        ($function:ident) => {
            by_format!(ftz as FTZ => halves!(d, packed, COLD, Unary map1(a) half::$function::<H, FTZ>(a)))
        };
    }

    match sem {
        Sem::AddHalf => arithmetic!(add),
        Sem::SubHalf => arithmetic!(sub),
        Sem::MulHalf => arithmetic!(mul),
        // Rounded otherwise, two values are rounded to nearest all the same (measured); one is not.
        Sem::FmaHalf if !packed && directed => by_rounding!(rnd, R => {
            lanes!(d, COLD, Ternary(a: u16, b: u16, c: u16) -> u16 { half::fma_directed::<R>(a, b, c) })
        }),
        Sem::FmaHalf if opcode.has(Modifier::Oob) => by_format!(sat as SAT => by_flags!(relu as RELU => {
            halves!(d, packed, COLD, Ternary map3(a, b, c) half::fma_oob::<H, SAT, RELU>(a, b, c))
        })),
        Sem::FmaHalf => by_format!(ftz as FTZ, sat as SAT => by_flags!(relu as RELU => {
            const HEAT: bool = !FTZ && !SAT && !RELU;
            halves!(d, packed, HEAT, Ternary map3(a, b, c) half::fma::<H, FTZ, SAT, RELU>(a, b, c))
        })),
        Sem::NegHalf => sign!(neg),
        Sem::AbsHalf => sign!(abs),
        Sem::MinHalf => extremum!(min),
        Sem::MaxHalf => extremum!(max),
        Sem::TanhHalf => {
            by_format!(=> halves!(d, packed, COLD, Unary map1(a) special::tanh_approx_half::<H>(a)))
        }
        // `.ftz` is written with every `.bf16` and no `.f16`.
        Sem::Ex2Half if bf16 => {
            halves!(d, packed, COLD, Unary map1(a) special::ex2_approx_half::<format::Bf16, true>(a))
        }
        Sem::Ex2Half => {
            halves!(d, packed, COLD, Unary map1(a) special::ex2_approx_half::<format::F16, false>(a))
        }
        other => Err(format!("{other:?} among the half-precision instructions")),
    }
}
