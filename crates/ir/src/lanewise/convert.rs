//! Conversion between types and sizes (PTX ISA, "cvt" and "cvt.pack").

use super::choose::{lanes, lanewise};
use crate::choice::{NoChoice, by_half, by_rounding};
use crate::instruction::{
    CvtFloatRnd, CvtNarrowX2Atype, CvtPackIntDtype as Dtype, CvtPackNarrowDtype, CvtStochasticX4Dtype,
};
use crate::operand::Value;
use crate::{by_flags, by_listed_type, lane_function};
use numerics::format::{E2m3, E3m2, E4m3, E5m2, F16};
use numerics::rounding::Rn;
use numerics::{convert, fp8, packed, scale, stochastic};
use ptx::types::ScalarType;

/// Evaluates an expression with a type standing for the Rust integer of a PTX integer type.
macro_rules! by_integer {
    ($ty:expr, $t:ident => $e:expr) => {
        by_listed_type!($ty, $t in [
            U8: u8, S8: i8, U16: u16, S16: i16, U32: u32, S32: i32, U64: u64, S64: i64
        ] => $e)
    };
}

/// Evaluates an expression with a type standing for the format of a pair of 8-bit floats.
macro_rules! by_pair {
    ($ty:expr, $e:ident => $then:expr) => {
        by_listed_type!($ty, $e in [E4m3x2: E4m3, E5m2x2: E5m2] => $then)
    };
}

lanewise! { to, op:
    CvtInt => match op.sat {
        true => by_integer!(op.dtype, T => by_integer!(op.atype, S => {
            const SAT: bool = true;
            lanes!(to, op, (a: S) -> T { convert::int_to_int::<S, T, SAT>(a) })
        })),
        false => to.extend(op.d, op.a, op.atype, op.dtype),
    };
    // It is always clamped: `.sat` adds nothing.
    CvtFloatToInt => by_integer!(op.dtype, T => by_rounding!(op.rnd, R => match op.atype {
        ScalarType::F32 => by_flags!(op.ftz as FTZ => {
            lanes!(to, op, (a: u32) -> T { convert::f32_to_int::<T, R, FTZ>(a) })
        }),
        ScalarType::F64 => lanes!(to, op, (a: u64) -> T { convert::f64_to_int::<T, R>(a) }),
        _ => by_half!(op.atype, H => lanes!(to, op, (a: u16) -> T { convert::half_to_int::<T, H, R>(a) })),
    }));
    // `.ftz` has nothing to flush. Clamped to [0, 1], an integer is 0 or 1 whatever the rounding.
    CvtIntToFloat => match op.sat {
        true => by_integer!(op.atype, T => {
            const SAT: bool = true;
            match op.dtype {
                ScalarType::F32 => lanes!(to, op, (a: T) -> u32 {
                    convert::f32_to_f32::<false, SAT>(convert::int_to_f32::<T, Rn>(a))
                }),
                ScalarType::F64 => lanes!(to, op, (a: T) -> u64 {
                    convert::f64_to_f64::<SAT>(convert::int_to_f64::<T, Rn>(a))
                }),
                _ => lanes!(to, op, (a: T) -> u16 {
                    convert::half_to_same::<F16, SAT>(convert::int_to_half::<T, F16, Rn>(a))
                }),
            }
        }),
        false => by_integer!(op.atype, T => by_rounding!(op.rnd, R => match op.dtype {
            ScalarType::F32 => lanes!(to, op, (a: T) -> u32 { convert::int_to_f32::<T, R>(a) }),
            ScalarType::F64 => lanes!(to, op, (a: T) -> u64 { convert::int_to_f64::<T, R>(a) }),
            _ => by_half!(op.dtype, H => lanes!(to, op, (a: T) -> u16 { convert::int_to_half::<T, H, R>(a) })),
        })),
    };
    // Two `.f32` to a packed format: the first operand goes to the upper element.
    CvtPackFloat => match op.dtype {
        ScalarType::F16x2 | ScalarType::Bf16x2 => by_half!(op.dtype, H => by_rounding!(op.rnd, R => {
            by_flags!(op.relu as RELU, op.satfinite as SATFINITE => {
                lanes!(to, op, (a: u32, b: u32) -> u32 {
                    let half = |x| convert::f32_to_half::<H, R, false, false, RELU, SATFINITE>(x);
                    packed::pack(half(b), half(a))
                })
            })
        })),
        _ => by_pair!(op.dtype, E => by_flags!(op.relu as RELU => {
            lanes!(to, op, (a: u32, b: u32) -> u16 { fp8::pair_from_f32::<E, RELU>(a, b) })
        })),
    };
    // Between `.f16x2` and a pair of 8-bit floats.
    CvtFloatX2 => match op.dtype {
        ScalarType::F16x2 => by_pair!(op.atype, E => by_flags!(op.relu as RELU => {
            lanes!(to, op, (a: u16) -> u32 { fp8::pair_to_half::<E, F16, RELU>(a) })
        })),
        _ => by_pair!(op.dtype, E => by_flags!(op.relu as RELU => {
            lanes!(to, op, (a: u32) -> u16 { fp8::pair_from_half::<F16, E, RELU>(a) })
        })),
    };
    // Two `.f32` to a pair of 4-bit or 6-bit floats.
    CvtPackNarrow => {
        macro_rules! pair {
            ($e:ty) => {
                by_flags!(op.relu as RELU => {
                    lanes!(to, op, (a: u32, b: u32) -> u16 { fp8::pair_from_f32::<$e, RELU>(a, b) })
                })
            };
        }
        match op.dtype {
            CvtPackNarrowDtype::E2m3x2 => pair!(E2m3),
            CvtPackNarrowDtype::E3m2x2 => pair!(E3m2),
            CvtPackNarrowDtype::E2m1x2 => by_flags!(op.relu as RELU => {
                lanes!(to, op, (a: u32, b: u32) -> u8 { fp8::e2m1_pair_from_f32::<RELU>(a, b) })
            }),
        }
    };
    // A pair of 4-bit or 6-bit floats to `.f16x2`.
    CvtNarrowX2 => {
        macro_rules! pair {
            ($e:ty) => {
                by_flags!(op.relu as RELU => {
                    lanes!(to, op, (a: u16) -> u32 { fp8::pair_to_half::<$e, F16, RELU>(a) })
                })
            };
        }
        match op.atype {
            CvtNarrowX2Atype::E2m3x2 => pair!(E2m3),
            CvtNarrowX2Atype::E3m2x2 => pair!(E3m2),
            CvtNarrowX2Atype::E2m1x2 => by_flags!(op.relu as RELU => {
                lanes!(to, op, (a: u8) -> u32 { fp8::e2m1_pair_to_f16::<RELU>(a) })
            }),
        }
    };
    // By random bits.
    CvtStochasticX2 => by_half!(op.dtype, H => by_flags!(op.relu as RELU, op.satfinite as SATFINITE => {
        lanes!(to, op, (a: u32, b: u32, rbits: u32) -> u32 {
            stochastic::half_pair::<H, RELU, SATFINITE>(a, b, rbits)
        })
    }));
    CvtStochasticX4 => {
        let &[a, b, e, f] = &*op.a else {
            return V::Output::no_choice(format!("{} elements", op.a.len()));
        };
        let operands = [a, b, e, f, op.rbits];
        macro_rules! four {
            ($r:ty, $function:ident $(, $e:ty)?) => {
                by_flags!(op.relu as RELU => {
                    lane_function!(Four: Quinary(a: u32, b: u32, e: u32, f: u32, random: u32) -> $r {
                        stochastic::$function::<$($e,)? RELU>([a, b, e, f], random)
                    });
                    to.quinary::<Four>(op.d, operands)
                })
            };
        }
        match op.dtype {
            CvtStochasticX4Dtype::E4m3x4 => four!(u32, bytes, E4m3),
            CvtStochasticX4Dtype::E5m2x4 => four!(u32, bytes, E5m2),
            CvtStochasticX4Dtype::E2m3x4 => four!(u32, bytes, E2m3),
            CvtStochasticX4Dtype::E3m2x4 => four!(u32, bytes, E3m2),
            CvtStochasticX4Dtype::E2m1x4 => four!(u16, nibbles),
        }
    };
    // Scale factors.
    CvtPackScale => by_rounding!(op.rnd, R => by_flags!(op.satfinite as SATFINITE => {
        lanes!(to, op, (a: u32, b: u32) -> u16 { scale::pair_from_f32::<R, SATFINITE>(a, b) })
    }));
    CvtScaleX2 => by_rounding!(op.rnd, R => by_flags!(op.satfinite as SATFINITE => {
        lanes!(to, op, (a: u32) -> u16 { scale::pair_from_bf16::<R, SATFINITE>(a) })
    }));
    CvtFromScale => lanes!(to, op, (a: u16) -> u32 { scale::pair_to_bf16(a) });
    // Between `.f16`, `.bf16`, `.f32` and `.f64`, and to `.tf32`.
    CvtFloat => {
        use CvtFloatRnd as Rnd;
        use ScalarType as Ty;
        // A conversion of its formats, the rounding and the flags that are named.
        macro_rules! conversion {
            ($a:ty => $r:ty, $function:ident($($format:ident)*; $($rounding:ident)?; $($flag:ident as $FLAG:ident),*)) => {
                conversion!(@ $($rounding)? => by_flags!($(op.$flag as $FLAG),* => lanes!(to, op, (a: $a) -> $r {
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
                by_flags!(op.ftz as FTZ, op.sat as SAT => lanes!(to, op, (a: u32) -> u16 {
                    convert::f32_to_half::<H, R, FTZ, SAT, false, false>(a)
                }))
            })),
            (half, Ty::F32) => by_half!(half, H => by_rounding!(op.rnd, R => {
                by_flags!(op.relu as RELU, op.satfinite as SATFINITE => lanes!(to, op, (a: u32) -> u16 {
                    convert::f32_to_half::<H, R, false, false, RELU, SATFINITE>(a)
                }))
            })),
            (to_half, from) if to_half != from => by_half!(from, S => by_half!(to_half, H => {
                conversion!(u16 => u16, half_to_half(S H; R; sat as SAT))
            })),
            (half, _) if whole => by_half!(half, H => conversion!(u16 => u16, half_to_whole(H; R; sat as SAT))),
            (half, _) => by_half!(half, H => conversion!(u16 => u16, half_to_same(H;; sat as SAT))),
        }
    };
    // Two `.s32`, clamped, and below narrow ones the lower part of a third operand.
    CvtPackInt => {
        macro_rules! words {
            ($t:ty) => {
                lanes!(to, op, (a: i32, b: i32) -> u32 { convert::pack16::<$t>(a, b) })
            };
        }
        macro_rules! below {
            ($bits:literal, $signed:literal) => {{
                lane_function!(Below: Ternary(a: i32, b: i32, c: u32) -> u32 {
                    convert::pack_below::<$bits, $signed>(a, b, c)
                });
                to.ternary::<Below>(op.d, [op.a, op.b, op.c.unwrap_or(Value::Constant(0))])
            }};
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
    };
}
