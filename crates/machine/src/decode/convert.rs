//! Conversion between types and sizes (PTX ISA, "cvt" and "cvt.pack").
//!
//! `cvt` alone among the arithmetic instructions takes registers wider than its types ("Operand Size Exceeding
//! Instruction-Type Size"): of a source the low bits count, and a signed result is extended with its sign to the whole
//! destination register, any other with zeros. Between integers without `.sat` that is all there is to do, so one lane
//! function serves them all: it is chosen by the widths of the registers and by what survives of the
//! value.

use super::arithmetic::{is_nearest, lanes};
use super::decoder::{Decoded, Decoder, decoders};
use crate::ops;
use crate::ops::shape::{COLD, HOT, lane_fn};
use ir::choice::is_signed;
use ir::instruction::{CvtFloatRnd, CvtInt, Dtype};
use ir::operand::Value;
use ir::{by_flags, by_half, by_listed_type, by_rounding};
use numerics::format::{E4m3, E5m2, F16};
use numerics::rounding::{Mode, Rn, Rounding};
use numerics::{convert, fp8, packed};
use ptx::module::RegId;
use ptx::types::ScalarType;

/// Evaluates an expression with a type standing for the Rust integer of a PTX integer type.
macro_rules! by_integer {
    ($ty:expr, $t:ident => $e:expr) => {
        by_listed_type!($ty, $t in [
            U8: u8, S8: i8, U16: u16, S16: i16, U32: u32, S32: i32, U64: u64, S64: i64
        ] => $e)
    };
}

/// Whether a rounding is `.rni` or `.rzi`, as compilers write for `rint` and casts.
const fn is_common<R: Rounding>() -> bool {
    matches!(R::MODE, Mode::NearestEven | Mode::TowardZero)
}

decoders! { d, op:
    CvtInt => match op.sat {
        true => by_integer!(op.dtype, T => by_integer!(op.atype, S => {
            lanes!(d, op, COLD, (a: S) -> T { convert::int_to_int::<S, T, true>(a) })
        })),
        false => extend(d, op),
    };
    // It is always clamped: `.sat` adds nothing.
    CvtFloatToInt => by_integer!(op.dtype, T => by_rounding!(op.rnd, R => {
        const HEAT: bool = T::BITS >= 32 && is_common::<R>();
        match op.atype {
            ScalarType::F32 => by_flags!(op.ftz as FTZ => {
                lanes!(d, op, HEAT, (a: u32) -> T { convert::f32_to_int::<T, R, FTZ>(a) })
            }),
            ScalarType::F64 => lanes!(d, op, HEAT, (a: u64) -> T { convert::f64_to_int::<T, R>(a) }),
            _ => by_half!(op.atype, H => {
                lanes!(d, op, COLD, (a: u16) -> T { convert::half_to_int::<T, H, R>(a) })
            }),
        }
    }));
    // `.ftz` has nothing to flush. Clamped to [0, 1], an integer is 0 or 1 whatever the rounding.
    CvtIntToFloat => match op.sat {
        true => by_integer!(op.atype, T => match op.dtype {
            ScalarType::F32 => lanes!(d, op, COLD, (a: T) -> u32 {
                convert::f32_to_f32::<false, true>(convert::int_to_f32::<T, Rn>(a))
            }),
            ScalarType::F64 => lanes!(d, op, COLD, (a: T) -> u64 {
                convert::f64_to_f64::<true>(convert::int_to_f64::<T, Rn>(a))
            }),
            _ => lanes!(d, op, COLD, (a: T) -> u16 {
                convert::half_to_same::<F16, true>(convert::int_to_half::<T, F16, Rn>(a))
            }),
        }),
        false => by_integer!(op.atype, T => by_rounding!(op.rnd, R => {
            const HEAT: bool = is_nearest::<R>();
            match op.dtype {
                ScalarType::F32 => lanes!(d, op, HEAT, (a: T) -> u32 { convert::int_to_f32::<T, R>(a) }),
                ScalarType::F64 => lanes!(d, op, HEAT, (a: T) -> u64 { convert::int_to_f64::<T, R>(a) }),
                _ => by_half!(op.dtype, H => {
                    lanes!(d, op, COLD, (a: T) -> u16 { convert::int_to_half::<T, H, R>(a) })
                }),
            }
        })),
    };
    // Two `.f32` to a packed format: the first operand goes to the upper element.
    CvtPackFloat => match op.dtype {
        ScalarType::F16x2 | ScalarType::Bf16x2 => by_half!(op.dtype, H => by_rounding!(op.rnd, R => {
            by_flags!(op.relu as RELU, op.satfinite as SATFINITE => {
                const HEAT: bool = is_nearest::<R>() && !RELU && !SATFINITE;
                lanes!(d, op, HEAT, (a: u32, b: u32) -> u32 {
                    let half = |x| convert::f32_to_half::<H, R, false, false, RELU, SATFINITE>(x);
                    packed::pack(half(b), half(a))
                })
            })
        })),
        _ => by_listed_type!(op.dtype, E in [E4m3x2: E4m3, E5m2x2: E5m2] => by_flags!(op.relu as RELU => {
            lanes!(d, op, COLD, (a: u32, b: u32) -> u16 { fp8::pair_from_f32::<E, RELU>(a, b) })
        })),
    };
    // Between `.f16x2` and a pair of 8-bit floats.
    CvtFloatX2 => match op.dtype {
        ScalarType::F16x2 => by_listed_type!(op.atype, E in [E4m3x2: E4m3, E5m2x2: E5m2] => by_flags!(op.relu as RELU => {
            lanes!(d, op, COLD, (a: u16) -> u32 { fp8::pair_to_half::<E, F16, RELU>(a) })
        })),
        _ => by_listed_type!(op.dtype, E in [E4m3x2: E4m3, E5m2x2: E5m2] => by_flags!(op.relu as RELU => {
            lanes!(d, op, COLD, (a: u32) -> u16 { fp8::pair_from_half::<F16, E, RELU>(a) })
        })),
    };
    // Between `.f16`, `.bf16`, `.f32` and `.f64`, and to `.tf32`.
    CvtFloat => {
        use CvtFloatRnd as Rnd;
        use ScalarType as Ty;
        // A conversion of its two formats, the rounding and the flags that are named.
        macro_rules! conversion {
            ($heat:expr, $a:ty => $r:ty, $function:ident($($format:ident)*; $($rounding:ident)?; $($flag:ident as $FLAG:ident),*)) => {
                conversion!(@ $($rounding)? => by_flags!($(op.$flag as $FLAG),* => lanes!(d, op, $heat, (a: $a) -> $r {
                    convert::$function::<$($format,)* $($rounding,)? $($FLAG),*>(a)
                })))
            };
            (@ => $e:expr) => { $e };
            (@ $rounding:ident => $e:expr) => { by_rounding!(op.rnd, $rounding => $e) };
        }
        let whole = matches!(op.rnd, Some(Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi));
        match (op.dtype, op.atype) {
            (Ty::F32, Ty::F32) if whole => {
                conversion!(!SAT, u32 => u32, f32_to_whole(; R; ftz as FTZ, sat as SAT))
            }
            (Ty::F32, Ty::F32) => conversion!(HOT, u32 => u32, f32_to_f32(;; ftz as FTZ, sat as SAT)),
            (Ty::F32, Ty::F64) => {
                conversion!(is_nearest::<R>() && !SAT, u64 => u32, f64_to_f32(; R; ftz as FTZ, sat as SAT))
            }
            (Ty::F32, half) => by_half!(half, H => {
                conversion!(!SAT, u16 => u32, half_to_f32(H;; ftz as FTZ, sat as SAT))
            }),
            (Ty::F64, Ty::F64) if whole => conversion!(!SAT, u64 => u64, f64_to_whole(; R; sat as SAT)),
            (Ty::F64, Ty::F64) => conversion!(COLD, u64 => u64, f64_to_f64(;; sat as SAT)),
            (Ty::F64, Ty::F32) => conversion!(!SAT, u32 => u64, f32_to_f64(;; ftz as FTZ, sat as SAT)),
            (Ty::F64, half) => by_half!(half, H => conversion!(COLD, u16 => u64, half_to_f64(H;; sat as SAT))),
            (Ty::Tf32, _) if op.rnd == Some(Rnd::Rna) => {
                conversion!(COLD, u32 => u32, f32_to_tf32_rna(;; satfinite as SATFINITE))
            }
            (Ty::Tf32, _) => {
                conversion!(COLD, u32 => u32, f32_to_tf32(; R; relu as RELU, satfinite as SATFINITE))
            }
            (half, Ty::F64) => by_half!(half, H => conversion!(COLD, u64 => u16, f64_to_half(H; R; sat as SAT))),
            // `.ftz` and `.sat` are not written together with the newer `.relu` and `.satfinite`.
            (half, Ty::F32) if op.ftz || op.sat => by_half!(half, H => by_rounding!(op.rnd, R => {
                by_flags!(op.ftz as FTZ, op.sat as SAT => lanes!(d, op, COLD, (a: u32) -> u16 {
                    convert::f32_to_half::<H, R, FTZ, SAT, false, false>(a)
                }))
            })),
            (half, Ty::F32) => by_half!(half, H => by_rounding!(op.rnd, R => {
                by_flags!(op.relu as RELU, op.satfinite as SATFINITE => {
                    const HEAT: bool = is_nearest::<R>() && !RELU && !SATFINITE;
                    lanes!(d, op, HEAT, (a: u32) -> u16 {
                        convert::f32_to_half::<H, R, false, false, RELU, SATFINITE>(a)
                    })
                })
            })),
            (to, from) if to != from => by_half!(from, S => by_half!(to, H => {
                conversion!(COLD, u16 => u16, half_to_half(S H; R; sat as SAT))
            })),
            (half, _) if whole => by_half!(half, H => {
                conversion!(COLD, u16 => u16, half_to_whole(H; R; sat as SAT))
            }),
            (half, _) => by_half!(half, H => conversion!(COLD, u16 => u16, half_to_same(H;; sat as SAT))),
        }
    };
    // Two `.s32`, clamped, and below narrow ones the lower part of a third operand.
    CvtPackInt => {
        macro_rules! words {
            ($t:ty) => {
                lanes!(d, op, COLD, (a: i32, b: i32) -> u32 { convert::pack16::<$t>(a, b) })
            };
        }
        macro_rules! below {
            ($bits:literal, $signed:literal) => {{
                lane_fn!(Below: Ternary(a: i32, b: i32, c: u32) -> u32 {
                    convert::pack_below::<$bits, $signed>(a, b, c)
                });
                d.lanewise::<Below, 3, COLD>(op.d, [&op.a, &op.b, &op.c.unwrap_or(Value::Unused)])
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

/// The width of a register's plane, of 128 bits the lower half.
fn width(d: &Decoder<'_>, register: RegId) -> u32 {
    d.bits_of(register).clamp(16, 64)
}

/// `cvt` between integers. What survives of the value is the narrower of the two types.
fn extend(d: &mut Decoder<'_>, cvt: &CvtInt) -> Decoded {
    let (to, from) = (cvt.dtype, cvt.atype);
    let widens = to.bits() > from.bits();
    let kept = if widens { from } else { to };
    let a = match cvt.a {
        Value::Register(register) => width(d, register).max(from.bits()),
        _ => from.bits().max(16),
    };
    // A signed value in a wider unsigned type is extended by its sign up to that type only, and with zeros from there.
    let two_steps = widens && is_signed(from) && !is_signed(to);
    let r = match cvt.d.0 {
        Some(register) if !two_steps => width(d, register).max(to.bits()),
        _ => to.bits().max(16),
    };
    let to = d.write_extended(cvt.d, r, is_signed(to))?;
    let from = d.read(&cvt.a, a)?;
    let family = ops::width::extend(kept, a, r, d.level);
    let family = family.ok_or_else(|| format!("a conversion of .{kept} from {a} bits to {r}"))?;
    d.emit_family(family, to, [from], [a])
}
