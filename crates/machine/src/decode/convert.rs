//! Conversion between types and sizes (PTX ISA, "cvt" and "cvt.pack").
//!
//! `cvt` alone among the arithmetic instructions takes registers wider than its types ("Operand Size Exceeding
//! Instruction-Type Size"): of a source the low bits count, and a signed result is extended with its sign to the whole
//! destination register, any other with zeros. Between integers without `.sat` that is all there is to do, so one lane
//! function, [`Extend`], serves them all: it is chosen by the widths of the registers and by what survives of the
//! value.

use super::Decoded;
use super::arithmetic::{Register, by_flags, by_rounding, is_nearest, lanes};
use super::emit::op;
use super::function::{Decoder, Home};
use super::operand::Destination;
use crate::lanes::Lane;
use crate::ops::Op;
use crate::ops::shape::{COLD, HOT, Unary, unary};
use numerics::format::{Bf16, E4m3, E5m2, F16};
use numerics::rounding::{Mode, Rn, Rounding};
use numerics::{convert, fp8, packed};
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::Operand;
use ptx::types::{ScalarType, TypeKind};
use std::marker::PhantomData;

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let opcode = d.opcode;
    let to = opcode.ty(Slot::Dtype);
    let from = opcode.ty(Slot::Atype);
    match (sem, to, from) {
        (Sem::CvtPackInt, ..) => pack_integers(d),
        (Sem::CvtInt, Some(to), Some(from)) if opcode.has(Modifier::Sat) => saturate(d, to, from),
        (Sem::CvtInt, Some(to), Some(from)) => extend(d, to, from),
        (Sem::CvtFloatToInt, Some(to), Some(from)) => float_to_integer(d, to, from),
        (Sem::CvtIntToFloat, Some(to), Some(from)) => integer_to_float(d, to, from),
        (Sem::CvtFloat, Some(to), Some(from)) => float_to_float(d, to, from),
        (Sem::CvtPackFloat, Some(to), _) => pack_floats(d, to),
        (Sem::CvtFloatX2, Some(to), Some(from)) => pairs(d, to, from),
        (other, to, from) => Err(format!("{other:?} from {from:?} to {to:?}")),
    }
}

/// Evaluates an expression with a type standing for the Rust integer of a PTX integer type.
macro_rules! by_integer {
    ($ty:expr, $t:ident => $e:expr) => {
        match $ty {
            ScalarType::U8 => {
                type $t = u8;
                $e
            }
            ScalarType::S8 => {
                type $t = i8;
                $e
            }
            ScalarType::U16 => {
                type $t = u16;
                $e
            }
            ScalarType::S16 => {
                type $t = i16;
                $e
            }
            ScalarType::U32 => {
                type $t = u32;
                $e
            }
            ScalarType::S32 => {
                type $t = i32;
                $e
            }
            ScalarType::U64 => {
                type $t = u64;
                $e
            }
            ScalarType::S64 => {
                type $t = i64;
                $e
            }
            other => Err(format!("{other} as an integer type")),
        }
    };
}

/// The lane type of a Rust integer.
type LaneOf<T> = <T as Register>::L;

/// The low bits of a lane as a `T`, extended to a lane of another width (or cut) as the signedness of `T` says.
struct Extend<T, A, R>(PhantomData<(T, A, R)>);
impl<T: Register, A: Lane, R: Lane> Unary for Extend<T, A, R> {
    type A = A;
    type R = R;
    #[inline(always)]
    fn lane(a: A) -> R {
        R::from_scalar(T::from_u64(a.to_scalar()).to_u64())
    }
}

/// The width of the plane that a register operand has, of 128 bits the lower half; 0 if the operand is no register.
fn width(d: &Decoder<'_>, i: usize) -> u32 {
    match d.operand(i) {
        Operand::Register(register) => d.body.registers[register.index()].ty.bits().clamp(16, 64),
        _ => 0,
    }
}

/// `cvt` between integers. What survives of the value is the narrower of the two types.
fn extend(d: &mut Decoder<'_>, to: ScalarType, from: ScalarType) -> Decoded {
    let is_signed = |ty: ScalarType| ty.kind() == TypeKind::Signed;
    let widens = to.bits() > from.bits();
    let kept = if widens { from } else { to };
    let a = width(d, 1).max(from.bits()).max(16);
    // A signed value in a wider unsigned type is extended by its sign up to that type only, and with zeros from there.
    let two_steps = widens && is_signed(from) && !is_signed(to);
    let r = if two_steps { 0 } else { width(d, 0) }.max(to.bits()).max(16);
    macro_rules! between {
        ($t:ty, [$($a:ty => $r:ty),+]) => {
            match (a, r) {
                $((<$a>::BITS, <$r>::BITS) => d.unary::<Extend<$t, $a, $r>, HOT>(),)+
                _ => Err(format!("a conversion of {kept} from {a} to {r} bits")),
            }
        };
    }
    // Values below 32 bits stand in registers of any width, greater ones in what holds them.
    macro_rules! narrow {
        ($t:ty) => {
            between!($t, [
                u16 => u16, u16 => u32, u16 => u64, u32 => u16, u32 => u32, u32 => u64, u64 => u16, u64 => u32,
                u64 => u64
            ])
        };
    }
    match kept {
        ScalarType::U8 => narrow!(u8),
        ScalarType::S8 => narrow!(i8),
        ScalarType::U16 => narrow!(u16),
        ScalarType::S16 => narrow!(i16),
        ScalarType::U32 => between!(u32, [u32 => u32, u32 => u64, u64 => u32, u64 => u64]),
        ScalarType::S32 => between!(i32, [u32 => u32, u32 => u64, u64 => u32, u64 => u64]),
        _ => between!(u64, [u64 => u64]),
    }
}

/// Emits a unary operation with a result of type `T`, extended to the destination register.
fn unary_to<T: Register, F: Unary<R = LaneOf<T>>, const HOT: bool>(d: &mut Decoder<'_>) -> Decoded {
    let bits = LaneOf::<T>::BITS;
    let register = width(d, 0);
    if !T::SIGNED || register <= bits {
        return d.unary::<F, HOT>();
    }
    let extension = match register {
        32 => unary::<Extend<T, LaneOf<T>, u32>, COLD>(d.level),
        _ => unary::<Extend<T, LaneOf<T>, u64>, COLD>(d.level),
    };
    let Operand::Register(home) = d.operand(0) else { return d.unary::<F, HOT>() };
    let destination = match (d.home(home), extension.planes[0]) {
        (Home::Plane { index, .. }, Some(execute)) => {
            let temporary = d.temporary(bits);
            d.after(Op { d: index, a: temporary, ..op(execute) });
            Destination::Plane(temporary)
        }
        (Home::Pair(low, high), Some(execute)) => {
            let temporary = d.temporary(bits);
            d.after(Op { d: low, a: temporary, ..op(execute) });
            d.after(Op { d: high, a: low, ..op(d.upper_half()) });
            Destination::Plane(temporary)
        }
        (Home::Scalar(index), _) => {
            let scalar = d.new_scalar();
            d.after(Op { d: index, a: scalar, ..op(extension.scalar) });
            Destination::Scalar(scalar)
        }
        _ => d.destination(0, bits)?,
    };
    let a = d.source(1, F::A::BITS)?;
    d.emit_family(unary::<F, HOT>(d.level), (destination, bits), &[(a, F::A::BITS)]);
    Ok(())
}

/// `cvt.sat` between integers.
struct Saturate<S, T>(PhantomData<(S, T)>);
impl<S: Register, T: Register> Unary for Saturate<S, T> {
    type A = S::L;
    type R = T::L;
    #[inline(always)]
    fn lane(a: S::L) -> T::L {
        convert::int_to_int::<S, T, true>(S::from_lane(a)).to_lane()
    }
}

fn saturate(d: &mut Decoder<'_>, to: ScalarType, from: ScalarType) -> Decoded {
    by_integer!(to, T => by_integer!(from, S => unary_to::<T, Saturate<S, T>, COLD>(d)))
}

/// Emits a unary operation whose lane function, written in place, has a result of integer type `T`.
macro_rules! integer_result {
    ($d:expr, $heat:expr, $t:ty, |$a:ident: $ta:ty| $body:expr) => {{
        crate::ops::shape::lane_fn!(LaneFn: Unary($a: $ta) -> LaneOf<$t> { <$t>::to_lane($body) });
        unary_to::<$t, LaneFn, { $heat }>($d)
    }};
}

/// Whether a rounding is `.rni` or `.rzi`, as compilers write for `rint` and casts.
const fn is_common<R: Rounding>() -> bool {
    matches!(R::MODE, Mode::NearestEven | Mode::TowardZero)
}

/// A float to an integer, which is always clamped: `.sat` adds nothing.
fn float_to_integer(d: &mut Decoder<'_>, to: ScalarType, from: ScalarType) -> Decoded {
    let rnd = d.opcode.get(Slot::Rnd);
    let ftz = d.opcode.has(Modifier::Ftz);
    by_integer!(to, T => by_rounding!(rnd, R => {
        const HEAT: bool = T::BITS >= 32 && is_common::<R>();
        match from {
            ScalarType::F32 => by_flags!(ftz as FTZ => {
                integer_result!(d, HEAT, T, |a: u32| convert::f32_to_int::<T, R, FTZ>(a))
            }),
            ScalarType::F64 => integer_result!(d, HEAT, T, |a: u64| convert::f64_to_int::<T, R>(a)),
            ScalarType::F16 => {
                integer_result!(d, COLD, T, |a: u16| convert::half_to_int::<T, F16, R>(a))
            }
            _ => integer_result!(d, COLD, T, |a: u16| convert::half_to_int::<T, Bf16, R>(a)),
        }
    }))
}

/// An integer to a float. `.ftz` has nothing to flush.
fn integer_to_float(d: &mut Decoder<'_>, to: ScalarType, from: ScalarType) -> Decoded {
    let rnd = d.opcode.get(Slot::Rnd);
    if d.opcode.has(Modifier::Sat) {
        // Clamped to [0, 1], an integer is 0 or 1 whatever the rounding.
        return by_integer!(from, T => match to {
            ScalarType::F32 => lanes!(d, COLD, Unary(a: LaneOf<T>) -> u32 {
                convert::f32_to_f32::<false, true>(convert::int_to_f32::<T, Rn>(T::from_lane(a)))
            }),
            ScalarType::F64 => lanes!(d, COLD, Unary(a: LaneOf<T>) -> u64 {
                convert::f64_to_f64::<true>(convert::int_to_f64::<T, Rn>(T::from_lane(a)))
            }),
            ScalarType::F16 => lanes!(d, COLD, Unary(a: LaneOf<T>) -> u16 {
                convert::half_to_same::<F16, true>(convert::int_to_half::<T, F16, Rn>(T::from_lane(a)))
            }),
            other => Err(format!("a clamped conversion to {other}")),
        });
    }
    by_integer!(from, T => by_rounding!(rnd, R => {
        const HEAT: bool = is_nearest::<R>();
        match to {
            ScalarType::F32 => lanes!(d, HEAT, Unary(a: LaneOf<T>) -> u32 {
                convert::int_to_f32::<T, R>(T::from_lane(a))
            }),
            ScalarType::F64 => lanes!(d, HEAT, Unary(a: LaneOf<T>) -> u64 {
                convert::int_to_f64::<T, R>(T::from_lane(a))
            }),
            ScalarType::F16 => lanes!(d, COLD, Unary(a: LaneOf<T>) -> u16 {
                convert::int_to_half::<T, F16, R>(T::from_lane(a))
            }),
            _ => lanes!(d, COLD, Unary(a: LaneOf<T>) -> u16 {
                convert::int_to_half::<T, Bf16, R>(T::from_lane(a))
            }),
        }
    }))
}

/// Between `.f16`, `.bf16`, `.f32` and `.f64`, and to `.tf32`.
fn float_to_float(d: &mut Decoder<'_>, to: ScalarType, from: ScalarType) -> Decoded {
    use ScalarType as Ty;
    let opcode = d.opcode;
    let rnd = opcode.get(Slot::Rnd);
    let [ftz, sat, relu, satfinite] =
        [Modifier::Ftz, Modifier::Sat, Modifier::Relu, Modifier::Satfinite].map(|m| opcode.has(m));
    // A conversion whose lane function takes the rounding, if that is named, and the flags named.
    macro_rules! conversion {
        ($heat:expr, $a:ty => $r:ty, $function:ident::<
            $($format:ty),* ; $($rounding:ident)? ; $($flag:ident as $FLAG:ident),*
        >) => {
            conversion!(@ $($rounding)? => by_flags!($($flag as $FLAG),* => {
                lanes!(d, $heat, Unary(a: $a) -> $r { convert::$function::<$($format,)* $($rounding,)? $($FLAG),*>(a) })
            }))
        };
        (@ => $e:expr) => { $e };
        (@ $rounding:ident => $e:expr) => { by_rounding!(rnd, $rounding => $e) };
    }
    // To a half from `.f32`: `.ftz` and `.sat` are not written together with the newer `.relu` and `.satfinite`.
    macro_rules! half_from_single {
        ($h:ty) => {
            if ftz || sat {
                by_rounding!(rnd, R => by_flags!(ftz as FTZ, sat as SAT => {
                    lanes!(d, COLD, Unary(a: u32) -> u16 {
                        convert::f32_to_half::<$h, R, FTZ, SAT, false, false>(a)
                    })
                }))
            } else {
                by_rounding!(rnd, R => by_flags!(relu as RELU, satfinite as SATFINITE => {
                    const HEAT: bool = is_nearest::<R>() && !RELU && !SATFINITE;
                    lanes!(d, HEAT, Unary(a: u32) -> u16 {
                        convert::f32_to_half::<$h, R, false, false, RELU, SATFINITE>(a)
                    })
                }))
            }
        };
    }
    let whole = matches!(rnd, Some(Modifier::Rni | Modifier::Rzi | Modifier::Rmi | Modifier::Rpi));
    match (to, from) {
        (Ty::F32, Ty::F32) if whole => {
            conversion!(!SAT, u32 => u32, f32_to_whole::<; R; ftz as FTZ, sat as SAT>)
        }
        (Ty::F32, Ty::F32) => conversion!(HOT, u32 => u32, f32_to_f32::<;; ftz as FTZ, sat as SAT>),
        (Ty::F32, Ty::F64) => {
            conversion!(is_nearest::<R>() && !SAT, u64 => u32, f64_to_f32::<; R; ftz as FTZ, sat as SAT>)
        }
        (Ty::F32, Ty::F16) => {
            conversion!(!SAT, u16 => u32, half_to_f32::<F16;; ftz as FTZ, sat as SAT>)
        }
        (Ty::F32, Ty::Bf16) => {
            conversion!(!SAT, u16 => u32, half_to_f32::<Bf16;; ftz as FTZ, sat as SAT>)
        }
        (Ty::F64, Ty::F64) if whole => conversion!(!SAT, u64 => u64, f64_to_whole::<; R; sat as SAT>),
        (Ty::F64, Ty::F64) => conversion!(COLD, u64 => u64, f64_to_f64::<;; sat as SAT>),
        (Ty::F64, Ty::F32) => conversion!(!SAT, u32 => u64, f32_to_f64::<;; ftz as FTZ, sat as SAT>),
        (Ty::F64, Ty::F16) => conversion!(COLD, u16 => u64, half_to_f64::<F16;; sat as SAT>),
        (Ty::F64, Ty::Bf16) => conversion!(COLD, u16 => u64, half_to_f64::<Bf16;; sat as SAT>),
        (Ty::F16, Ty::F16) if whole => conversion!(COLD, u16 => u16, half_to_whole::<F16; R; sat as SAT>),
        (Ty::F16, Ty::F16) => conversion!(COLD, u16 => u16, half_to_same::<F16;; sat as SAT>),
        (Ty::F16, Ty::Bf16) => conversion!(COLD, u16 => u16, half_to_half::<Bf16, F16; R; sat as SAT>),
        (Ty::F16, Ty::F32) => half_from_single!(F16),
        (Ty::F16, Ty::F64) => conversion!(COLD, u64 => u16, f64_to_half::<F16; R; sat as SAT>),
        (Ty::Bf16, Ty::Bf16) if whole => {
            conversion!(COLD, u16 => u16, half_to_whole::<Bf16; R; sat as SAT>)
        }
        (Ty::Bf16, Ty::Bf16) => conversion!(COLD, u16 => u16, half_to_same::<Bf16;; sat as SAT>),
        (Ty::Bf16, Ty::F16) => conversion!(COLD, u16 => u16, half_to_half::<F16, Bf16; R; sat as SAT>),
        (Ty::Bf16, Ty::F32) => half_from_single!(Bf16),
        (Ty::Bf16, Ty::F64) => conversion!(COLD, u64 => u16, f64_to_half::<Bf16; R; sat as SAT>),
        (Ty::Tf32, Ty::F32) if rnd == Some(Modifier::Rna) => {
            conversion!(COLD, u32 => u32, f32_to_tf32_rna::<;; satfinite as SATFINITE>)
        }
        (Ty::Tf32, Ty::F32) => {
            conversion!(COLD, u32 => u32, f32_to_tf32::<; R; relu as RELU, satfinite as SATFINITE>)
        }
        (to, from) => Err(format!("a conversion from {from} to {to}")),
    }
}

/// Two `.f32` to a packed format: the first operand goes to the upper element.
fn pack_floats(d: &mut Decoder<'_>, to: ScalarType) -> Decoded {
    let opcode = d.opcode;
    let rnd = opcode.get(Slot::Rnd);
    let [relu, satfinite] = [Modifier::Relu, Modifier::Satfinite].map(|m| opcode.has(m));
    macro_rules! halves {
        ($h:ty) => {
            by_rounding!(rnd, R => by_flags!(relu as RELU, satfinite as SATFINITE => {
                const HEAT: bool = is_nearest::<R>() && !RELU && !SATFINITE;
                lanes!(d, HEAT, Binary(a: u32, b: u32) -> u32 {
                    let half = |x| convert::f32_to_half::<$h, R, false, false, RELU, SATFINITE>(x);
                    packed::pack(half(b), half(a))
                })
            }))
        };
    }
    macro_rules! bytes {
        ($format:ty) => {
            by_flags!(relu as RELU => lanes!(d, COLD, Binary(a: u32, b: u32) -> u16 {
                fp8::pair_from_f32::<$format, RELU>(a, b)
            }))
        };
    }
    match to {
        ScalarType::F16x2 => halves!(F16),
        ScalarType::Bf16x2 => halves!(Bf16),
        ScalarType::E4m3x2 => bytes!(E4m3),
        ScalarType::E5m2x2 => bytes!(E5m2),
        other => Err(format!("a conversion of two .f32 to {other}")),
    }
}

/// Between `.f16x2` and a pair of 8-bit floats.
fn pairs(d: &mut Decoder<'_>, to: ScalarType, from: ScalarType) -> Decoded {
    let relu = d.opcode.has(Modifier::Relu);
    macro_rules! narrow {
        ($format:ty) => {
            by_flags!(relu as RELU => lanes!(d, COLD, Unary(a: u32) -> u16 {
                fp8::pair_from_half::<F16, $format, RELU>(a)
            }))
        };
    }
    macro_rules! widen {
        ($format:ty) => {
            by_flags!(relu as RELU => lanes!(d, COLD, Unary(a: u16) -> u32 {
                fp8::pair_to_half::<$format, F16, RELU>(a)
            }))
        };
    }
    match (to, from) {
        (ScalarType::E4m3x2, ScalarType::F16x2) => narrow!(E4m3),
        (ScalarType::E5m2x2, ScalarType::F16x2) => narrow!(E5m2),
        (ScalarType::F16x2, ScalarType::E4m3x2) => widen!(E4m3),
        (ScalarType::F16x2, ScalarType::E5m2x2) => widen!(E5m2),
        (to, from) => Err(format!("a conversion from {from} to {to}")),
    }
}

/// `cvt.pack`: two `.s32`, clamped, and below narrow ones the lower part of a third operand.
fn pack_integers(d: &mut Decoder<'_>) -> Decoded {
    macro_rules! words {
        ($t:ty) => {
            lanes!(d, COLD, Binary(a: u32, b: u32) -> u32 { convert::pack16::<$t>(a as i32, b as i32) })
        };
    }
    macro_rules! below {
        ($bits:literal, $signed:literal) => {
            lanes!(d, COLD, Ternary(a: u32, b: u32, c: u32) -> u32 {
                convert::pack_below::<$bits, $signed>(a as i32, b as i32, c)
            })
        };
    }
    match d.opcode.get(Slot::Dtype) {
        Some(Modifier::U16) => words!(u16),
        Some(Modifier::S16) => words!(i16),
        Some(Modifier::U8) => below!(8, false),
        Some(Modifier::S8) => below!(8, true),
        Some(Modifier::U4) => below!(4, false),
        Some(Modifier::S4) => below!(4, true),
        Some(Modifier::U2) => below!(2, false),
        Some(Modifier::S2) => below!(2, true),
        other => Err(format!("cvt.pack to {other:?}")),
    }
}
