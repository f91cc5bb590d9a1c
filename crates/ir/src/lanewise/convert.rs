//! Conversion between types and sizes (PTX ISA, "cvt" and "cvt.pack").

use super::Lanewise;
use super::choose::{by_type, lanes};
use crate::instruction::{CvtFloat, CvtFloatRnd, CvtPackInt, Dtype, Op};
use crate::{by_flags, by_half, by_listed_type, by_rounding};
use numerics::format::{E4m3, E5m2, F16};
use numerics::rounding::Rn;
use numerics::{convert, fp8, packed};
use ptx::types::ScalarType;

pub(super) fn function(op: &Op) -> Option<Lanewise> {
    match op {
        Op::CvtInt(op) => by_type!(op.dtype, T => by_type!(op.atype, S => by_flags!(op.sat as SAT => {
            lanes!(op, (a: S) -> T { convert::int_to_int::<S, T, SAT>(a) })
        }))),
        // It is always clamped: `.sat` adds nothing.
        Op::CvtFloatToInt(op) => by_type!(op.dtype, T => by_rounding!(op.rnd, R => match op.atype {
            ScalarType::F32 => by_flags!(op.ftz as FTZ => {
                lanes!(op, (a: u32) -> T { convert::f32_to_int::<T, R, FTZ>(a) })
            }),
            ScalarType::F64 => lanes!(op, (a: u64) -> T { convert::f64_to_int::<T, R>(a) }),
            _ => by_half!(op.atype, H => lanes!(op, (a: u16) -> T { convert::half_to_int::<T, H, R>(a) })),
        })),
        // `.ftz` has nothing to flush. Clamped to [0, 1], an integer is 0 or 1 whatever the rounding.
        Op::CvtIntToFloat(op) if op.sat => by_type!(op.atype, T => match op.dtype {
            ScalarType::F32 => lanes!(op, (a: T) -> u32 {
                convert::f32_to_f32::<false, true>(convert::int_to_f32::<T, Rn>(a))
            }),
            ScalarType::F64 => lanes!(op, (a: T) -> u64 {
                convert::f64_to_f64::<true>(convert::int_to_f64::<T, Rn>(a))
            }),
            _ => lanes!(op, (a: T) -> u16 {
                convert::half_to_same::<F16, true>(convert::int_to_half::<T, F16, Rn>(a))
            }),
        }),
        Op::CvtIntToFloat(op) => by_type!(op.atype, T => by_rounding!(op.rnd, R => match op.dtype {
            ScalarType::F32 => lanes!(op, (a: T) -> u32 { convert::int_to_f32::<T, R>(a) }),
            ScalarType::F64 => lanes!(op, (a: T) -> u64 { convert::int_to_f64::<T, R>(a) }),
            _ => by_half!(op.dtype, H => lanes!(op, (a: T) -> u16 { convert::int_to_half::<T, H, R>(a) })),
        })),
        Op::CvtFloat(op) => float(op),
        // The first operand goes to the upper element.
        Op::CvtPackFloat(op) => match op.dtype {
            ScalarType::F16x2 | ScalarType::Bf16x2 => by_half!(op.dtype, H => by_rounding!(op.rnd, R => {
                by_flags!(op.relu as RELU, op.satfinite as SATFINITE => {
                    lanes!(op, (a: u32, b: u32) -> u32 {
                        let half = |x| convert::f32_to_half::<H, R, false, false, RELU, SATFINITE>(x);
                        packed::pack(half(b), half(a))
                    })
                })
            })),
            _ => {
                by_listed_type!(op.dtype, E in [E4m3x2: E4m3, E5m2x2: E5m2] => by_flags!(op.relu as RELU => {
                    lanes!(op, (a: u32, b: u32) -> u16 { fp8::pair_from_f32::<E, RELU>(a, b) })
                }))
            }
        },
        // Between `.f16x2` and a pair of 8-bit floats.
        Op::CvtFloatX2(op) => match op.dtype {
            ScalarType::F16x2 => {
                by_listed_type!(op.atype, E in [E4m3x2: E4m3, E5m2x2: E5m2] => by_flags!(op.relu as RELU => {
                    lanes!(op, (a: u16) -> u32 { fp8::pair_to_half::<E, F16, RELU>(a) })
                }))
            }
            _ => {
                by_listed_type!(op.dtype, E in [E4m3x2: E4m3, E5m2x2: E5m2] => by_flags!(op.relu as RELU => {
                    lanes!(op, (a: u32) -> u16 { fp8::pair_from_half::<F16, E, RELU>(a) })
                }))
            }
        },
        Op::CvtPackInt(op) => pack(op),
        _ => None,
    }
}

/// Between `.f16`, `.bf16`, `.f32` and `.f64`, and to `.tf32`.
fn float(op: &CvtFloat) -> Option<Lanewise> {
    use CvtFloatRnd as Rnd;
    use ScalarType as Ty;
    // A conversion of its formats, the rounding and the flags that are named.
    macro_rules! conversion {
        ($a:ty => $r:ty, $function:ident($($format:ident)*; $($rounding:ident)?; $($flag:ident as $FLAG:ident),*)) => {
            conversion!(@ $($rounding)? => by_flags!($(op.$flag as $FLAG),* => lanes!(op, (a: $a) -> $r {
                convert::$function::<$($format,)* $($rounding,)? $($FLAG),*>(a)
            })))
        };
        (@ => $e:expr) => { $e };
        (@ $rounding:ident => $e:expr) => { by_rounding!(op.rnd, $rounding => $e) };
    }
    let whole = matches!(op.rnd, Some(Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi));
    match (op.dtype, op.atype) {
        (Ty::F32, Ty::F32) if whole => conversion!(u32 => u32, f32_to_whole(; R; ftz as FTZ, sat as SAT)),
        (Ty::F32, Ty::F32) => conversion!(u32 => u32, f32_to_f32(;; ftz as FTZ, sat as SAT)),
        (Ty::F32, Ty::F64) => conversion!(u64 => u32, f64_to_f32(; R; ftz as FTZ, sat as SAT)),
        (Ty::F32, half) => by_half!(half, H => {
            conversion!(u16 => u32, half_to_f32(H;; ftz as FTZ, sat as SAT))
        }),
        (Ty::F64, Ty::F64) if whole => conversion!(u64 => u64, f64_to_whole(; R; sat as SAT)),
        (Ty::F64, Ty::F64) => conversion!(u64 => u64, f64_to_f64(;; sat as SAT)),
        (Ty::F64, Ty::F32) => conversion!(u32 => u64, f32_to_f64(;; ftz as FTZ, sat as SAT)),
        (Ty::F64, half) => by_half!(half, H => conversion!(u16 => u64, half_to_f64(H;; sat as SAT))),
        (Ty::Tf32, _) if op.rnd == Some(Rnd::Rna) => {
            conversion!(u32 => u32, f32_to_tf32_rna(;; satfinite as SATFINITE))
        }
        (Ty::Tf32, _) => conversion!(u32 => u32, f32_to_tf32(; R; relu as RELU, satfinite as SATFINITE)),
        (half, Ty::F64) => by_half!(half, H => conversion!(u64 => u16, f64_to_half(H; R; sat as SAT))),
        // `.ftz` and `.sat` are not written together with the newer `.relu` and `.satfinite`.
        (half, Ty::F32) if op.ftz || op.sat => by_half!(half, H => by_rounding!(op.rnd, R => {
            by_flags!(op.ftz as FTZ, op.sat as SAT => lanes!(op, (a: u32) -> u16 {
                convert::f32_to_half::<H, R, FTZ, SAT, false, false>(a)
            }))
        })),
        (half, Ty::F32) => by_half!(half, H => by_rounding!(op.rnd, R => {
            by_flags!(op.relu as RELU, op.satfinite as SATFINITE => lanes!(op, (a: u32) -> u16 {
                convert::f32_to_half::<H, R, false, false, RELU, SATFINITE>(a)
            }))
        })),
        (to, from) if to != from => by_half!(from, S => by_half!(to, H => {
            conversion!(u16 => u16, half_to_half(S H; R; sat as SAT))
        })),
        (half, _) if whole => by_half!(half, H => conversion!(u16 => u16, half_to_whole(H; R; sat as SAT))),
        (half, _) => by_half!(half, H => conversion!(u16 => u16, half_to_same(H;; sat as SAT))),
    }
}

/// `cvt.pack`: two `.s32`, clamped, and below narrow ones the lower part of a third operand.
fn pack(op: &CvtPackInt) -> Option<Lanewise> {
    macro_rules! words {
        ($t:ty) => {
            lanes!(op, (a: i32, b: i32) -> u32 { convert::pack16::<$t>(a, b) })
        };
    }
    macro_rules! below {
        ($bits:literal, $signed:literal) => {
            lanes!(op, (a: i32, b: i32, c: u32) -> u32 { convert::pack_below::<$bits, $signed>(a, b, c) })
        };
    }
    match op.dtype {
        Dtype::U16 => words!(u16),
        Dtype::S16 => words!(i16),
        Dtype::U8 => below!(8, false),
        Dtype::S8 => below!(8, true),
        Dtype::U4 => below!(4, false),
        Dtype::S4 => below!(4, true),
        Dtype::U2 => below!(2, false),
        Dtype::S2 => below!(2, true),
    }
}
