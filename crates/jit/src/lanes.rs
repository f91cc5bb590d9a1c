//! Instructions that the host computes lane by lane: what hosts have no vector instructions for, from `numerics`.

use ir::instruction::{AddFloatRnd, CvtFloatToIntRnd, Op, PrmtMode, SzextMode};
use ir::operand::{Def, Value};
use numerics::bits::{self, Clamp, PermuteMode, Wrap};
use numerics::rounding::{Rm, Rn, Rp, Rz};
use numerics::{convert, float, integer, special};
use ptx::types::ScalarType;

/// What a lane computes, from operands in the low bits of words.
pub(crate) type LaneFunction = Box<dyn Fn(&[u64; 3]) -> u64 + Send + Sync>;

/// An instruction as such a function.
pub(crate) struct Call {
    pub(crate) d: Def,
    /// Bits of the result.
    pub(crate) bits: u32,
    /// Whether a wider register gets the result's sign.
    pub(crate) signed: bool,
    /// Operands and their bits.
    pub(crate) operands: Vec<(Value, u32)>,
    pub(crate) function: LaneFunction,
}

fn call(
    d: Def,
    bits: u32,
    operands: &[(&Value, u32)],
    function: impl Fn(&[u64; 3]) -> u64 + Send + Sync + 'static,
) -> Option<Call> {
    let operands = operands.iter().map(|&(value, bits)| (*value, bits)).collect();
    Some(Call { d, bits, signed: false, operands, function: Box::new(function) })
}

/// A call with a type standing for a rounding modifier.
macro_rules! by_rounding {
    ($modifier:expr, $of:ident [$rn:ident $rz:ident $rm:ident $rp:ident], $r:ident => $e:expr) => {
        match $modifier {
            $of::$rn => {
                type $r = Rn;
                $e
            }
            $of::$rz => {
                type $r = Rz;
                $e
            }
            $of::$rm => {
                type $r = Rm;
                $e
            }
            $of::$rp => {
                type $r = Rp;
                $e
            }
        }
    };
}

/// A call with constants standing for flags.
macro_rules! by_flags {
    (=> $e:expr) => { $e };
    ($flag:expr => $name:ident $(, $more:expr => $more_name:ident)*; $e:expr) => {
        if $flag {
            const $name: bool = true;
            by_flags!(@ $($more => $more_name),*; $e)
        } else {
            const $name: bool = false;
            by_flags!(@ $($more => $more_name),*; $e)
        }
    };
    (@ ; $e:expr) => { $e };
    (@ $flag:expr => $name:ident; $e:expr) => { by_flags!($flag => $name; $e) };
}

/// A rounded operation of `.f32`, with `.ftz` and perhaps `.sat`, or of `.f64`.
macro_rules! rounded {
    ($i:ident, $rnd:expr, [$($x:ident $at:literal),+], $single:ident $([$sat:expr])?, $double:ident) => {
        by_rounding!($rnd, AddFloatRnd [Rn Rz Rm Rp], R => match $i.ty {
            ScalarType::F64 => call($i.d, 64, &[$((&$i.$x, 64)),+], |w| float::$double::<R>($(w[$at]),+)),
            ScalarType::F32 => by_flags!($i.ftz => FTZ; rounded!(@ $i, R, [$($x $at),+], $single $([$sat])?)),
            _ => None,
        })
    };
    (@ $i:ident, $r:ident, [$($x:ident $at:literal),+], $single:ident [$sat:expr]) => {
        by_flags!($sat => SAT; call($i.d, 32, &[$((&$i.$x, 32)),+], |w| {
            float::$single::<$r, FTZ, SAT>($(w[$at] as u32),+).into()
        }))
    };
    (@ $i:ident, $r:ident, [$($x:ident $at:literal),+], $single:ident) => {
        call($i.d, 32, &[$((&$i.$x, 32)),+], |w| float::$single::<$r, FTZ>($(w[$at] as u32),+).into())
    };
}

/// An operation of one or two `.f32` with `.ftz`.
macro_rules! single {
    ($i:ident, [$($x:ident $at:literal),+], $function:path) => {
        by_flags!($i.ftz => FTZ; call($i.d, 32, &[$((&$i.$x, 32)),+], |w| {
            use $function as function;
            function::<FTZ>($(w[$at] as u32),+).into()
        }))
    };
}

/// An operation on the integer type that an instruction has.
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
            ScalarType::U16 | ScalarType::B16 => {
                type $t = u16;
                $e
            }
            ScalarType::S16 => {
                type $t = i16;
                $e
            }
            ScalarType::U32 | ScalarType::B32 => {
                type $t = u32;
                $e
            }
            ScalarType::S32 => {
                type $t = i32;
                $e
            }
            ScalarType::U64 | ScalarType::B64 => {
                type $t = u64;
                $e
            }
            ScalarType::S64 => {
                type $t = i64;
                $e
            }
            _ => None,
        }
    };
}

macro_rules! extremum {
    ($i:ident, $single:ident, $double:ident) => {
        match $i.ty {
            ScalarType::F64 => call($i.d, 64, &[(&$i.a, 64), (&$i.b, 64)], |w| float::$double(w[0], w[1])),
            ScalarType::F32 => by_flags!($i.ftz => FTZ, $i.nan => NAN; by_flags!($i.xorsign => XOR; {
                call($i.d, 32, &[(&$i.a, 32), (&$i.b, 32)], |w| {
                    float::$single::<FTZ, NAN, XOR>(w[0] as u32, w[1] as u32).into()
                })
            })),
            _ => None,
        }
    };
}

/// The function of an instruction, if the host has one.
pub(crate) fn lane_function(op: &Op) -> Option<Call> {
    let nearest = AddFloatRnd::Rn;
    match op {
        Op::AddFloat(i) => rounded!(i, i.rnd.unwrap_or(nearest), [a 0, b 1], add_f32[i.sat], add_f64),
        Op::SubFloat(i) => rounded!(i, i.rnd.unwrap_or(nearest), [a 0, b 1], sub_f32[i.sat], sub_f64),
        Op::MulFloat(i) => rounded!(i, i.rnd.unwrap_or(nearest), [a 0, b 1], mul_f32[i.sat], mul_f64),
        Op::FmaFloat(i) => rounded!(i, i.rnd, [a 0, b 1, c 2], fma_f32[i.sat], fma_f64),
        Op::MadFloat(i) => rounded!(i, i.rnd, [a 0, b 1, c 2], fma_f32[i.sat], fma_f64),
        Op::DivFloat(i) => rounded!(i, i.rnd, [a 0, b 1], div_f32, div_f64),
        Op::Rcp(i) => rounded!(i, i.rnd, [a 0], rcp_f32, rcp_f64),
        Op::Sqrt(i) => rounded!(i, i.rnd, [a 0], sqrt_f32, sqrt_f64),
        Op::NegFloat(i) if i.ty == ScalarType::F64 => call(i.d, 64, &[(&i.a, 64)], |w| float::neg_f64(w[0])),
        Op::AbsFloat(i) if i.ty == ScalarType::F64 => call(i.d, 64, &[(&i.a, 64)], |w| float::abs_f64(w[0])),
        Op::NegFloat(i) => single!(i, [a 0], numerics::float::neg_f32),
        Op::AbsFloat(i) => single!(i, [a 0], numerics::float::abs_f32),
        Op::MinFloat(i) => extremum!(i, min_f32, min_f64),
        Op::MaxFloat(i) => extremum!(i, max_f32, max_f64),
        Op::DivFloatApprox(i) => single!(i, [a 0, b 1], numerics::special::div_approx_f32),
        Op::DivFloatFull(i) => single!(i, [a 0, b 1], numerics::special::div_full_f32),
        Op::RcpApprox(i) if i.ty == ScalarType::F64 => {
            call(i.d, 64, &[(&i.a, 64)], |w| special::rcp_approx_ftz_f64(w[0]))
        }
        Op::RcpApprox(i) => single!(i, [a 0], numerics::special::rcp_approx_f32),
        Op::RsqrtApprox(i) if i.ty == ScalarType::F64 => match i.ftz {
            true => call(i.d, 64, &[(&i.a, 64)], |w| special::rsqrt_approx_ftz_f64(w[0])),
            false => call(i.d, 64, &[(&i.a, 64)], |w| special::rsqrt_approx_f64(w[0])),
        },
        Op::RsqrtApprox(i) => single!(i, [a 0], numerics::special::rsqrt_approx_f32),
        Op::SqrtApprox(i) => single!(i, [a 0], numerics::special::sqrt_approx_f32),
        Op::Ex2Float(i) => single!(i, [a 0], numerics::special::ex2_approx_f32),
        Op::Lg2(i) => single!(i, [a 0], numerics::special::lg2_approx_f32),
        Op::Sin(i) => call(i.d, 32, &[(&i.a, 32)], |w| special::sin_approx_f32(w[0] as u32).into()),
        Op::Cos(i) => call(i.d, 32, &[(&i.a, 32)], |w| special::cos_approx_f32(w[0] as u32).into()),
        Op::TanhFloat(i) => call(i.d, 32, &[(&i.a, 32)], |w| special::tanh_approx_f32(w[0] as u32).into()),
        Op::Copysign(i) => match i.ty {
            ScalarType::F64 => call(i.d, 64, &[(&i.a, 64), (&i.b, 64)], |w| float::copysign_f64(w[0], w[1])),
            _ => call(i.d, 32, &[(&i.a, 32), (&i.b, 32)], |w| {
                float::copysign_f32(w[0] as u32, w[1] as u32).into()
            }),
        },
        _ => conversion(op).or_else(|| of_bits(op)),
    }
}

/// Conversions between `.f32` or `.f64` and other types.
fn conversion(op: &Op) -> Option<Call> {
    match op {
        Op::CvtFloatToInt(i) => {
            let signed = i.dtype.kind() == ptx::types::TypeKind::Signed;
            let found = by_integer!(i.dtype, T => {
                by_rounding!(i.rnd, CvtFloatToIntRnd [Rni Rzi Rmi Rpi], R => match i.atype {
                    ScalarType::F32 => by_flags!(i.ftz => FTZ; {
                        call(i.d, i.dtype.bits(), &[(&i.a, 32)], |w| {
                            convert::f32_to_int::<T, R, FTZ>(w[0] as u32) as u64
                        })
                    }),
                    ScalarType::F64 => call(i.d, i.dtype.bits(), &[(&i.a, 64)], |w| {
                        convert::f64_to_int::<T, R>(w[0]) as u64
                    }),
                    _ => None,
                })
            });
            found.map(|call| Call { signed, ..call })
        }
        Op::CvtIntToFloat(i) if !i.sat => by_integer!(i.atype, S => {
            let from = i.atype.bits();
            by_rounding!(i.rnd, AddFloatRnd [Rn Rz Rm Rp], R => match i.dtype {
                ScalarType::F32 => {
                    call(i.d, 32, &[(&i.a, from)], |w| convert::int_to_f32::<S, R>(w[0] as S).into())
                }
                ScalarType::F64 => {
                    call(i.d, 64, &[(&i.a, from)], |w| convert::int_to_f64::<S, R>(w[0] as S))
                }
                _ => None,
            })
        }),
        Op::CvtFloat(i) if !i.relu && !i.satfinite => {
            use ir::instruction::CvtFloatRnd as Rnd;
            use ptx::types::ScalarType as Ty;
            let whole = matches!(i.rnd, Some(Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi));
            let rounding = match i.rnd {
                None | Some(Rnd::Rn | Rnd::Rni) => AddFloatRnd::Rn,
                Some(Rnd::Rz | Rnd::Rzi) => AddFloatRnd::Rz,
                Some(Rnd::Rm | Rnd::Rmi) => AddFloatRnd::Rm,
                Some(Rnd::Rp | Rnd::Rpi) => AddFloatRnd::Rp,
                _ => return None,
            };
            by_rounding!(rounding, AddFloatRnd [Rn Rz Rm Rp], R => match (i.dtype, i.atype) {
                (Ty::F32, Ty::F32) if whole => by_flags!(i.ftz => FTZ, i.sat => SAT; {
                    call(i.d, 32, &[(&i.a, 32)], |w| convert::f32_to_whole::<R, FTZ, SAT>(w[0] as u32).into())
                }),
                (Ty::F32, Ty::F32) => by_flags!(i.ftz => FTZ, i.sat => SAT; {
                    call(i.d, 32, &[(&i.a, 32)], |w| convert::f32_to_f32::<FTZ, SAT>(w[0] as u32).into())
                }),
                (Ty::F32, Ty::F64) => by_flags!(i.ftz => FTZ, i.sat => SAT; {
                    call(i.d, 32, &[(&i.a, 64)], |w| convert::f64_to_f32::<R, FTZ, SAT>(w[0]).into())
                }),
                (Ty::F64, Ty::F32) => by_flags!(i.ftz => FTZ, i.sat => SAT; {
                    call(i.d, 64, &[(&i.a, 32)], |w| convert::f32_to_f64::<FTZ, SAT>(w[0] as u32))
                }),
                (Ty::F64, Ty::F64) if whole => by_flags!(i.sat => SAT; {
                    call(i.d, 64, &[(&i.a, 64)], |w| convert::f64_to_whole::<R, SAT>(w[0]))
                }),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Bit fields and other rare integer instructions.
fn of_bits(op: &Op) -> Option<Call> {
    let of_sign = |ty: ScalarType| ty.kind() == ptx::types::TypeKind::Signed;
    match op {
        Op::Bfe(i) => by_integer!(i.ty, T => {
            let bits = i.ty.bits();
            call(i.d, bits, &[(&i.a, bits), (&i.b, 32), (&i.c, 32)], |w| {
                bits::bfe::<T>(w[0] as T, w[1] as u32, w[2] as u32) as u64
            })
        })
        .map(|call| Call { signed: of_sign(i.ty), ..call }),
        Op::Bfind(i) => by_integer!(i.ty, T => by_flags!(i.shiftamt => AMOUNT; {
            call(i.d, 32, &[(&i.a, i.ty.bits())], |w| bits::bfind::<T, AMOUNT>(w[0] as T).into())
        })),
        Op::Sad(i) => by_integer!(i.ty, T => {
            let bits = i.ty.bits();
            call(i.d, bits, &[(&i.a, bits), (&i.b, bits), (&i.c, bits)], |w| {
                integer::sad::<T>(w[0] as T, w[1] as T, w[2] as T) as u64
            })
        })
        .map(|call| Call { signed: of_sign(i.ty), ..call }),
        Op::Prmt(i) => {
            let mode = match i.mode {
                None => None,
                Some(PrmtMode::F4e) => Some(PermuteMode::Forward4),
                Some(PrmtMode::B4e) => Some(PermuteMode::Backward4),
                Some(PrmtMode::Rc8) => Some(PermuteMode::Replicate8),
                Some(PrmtMode::Ecl) => Some(PermuteMode::EdgeClampLeft),
                Some(PrmtMode::Ecr) => Some(PermuteMode::EdgeClampRight),
                Some(PrmtMode::Rc16) => Some(PermuteMode::Replicate16),
            };
            call(i.d, 32, &[(&i.a, 32), (&i.b, 32), (&i.c, 32)], move |w| {
                let [a, b, c] = w.map(|word| word as u32);
                mode.map_or_else(|| bits::prmt(a, b, c), |mode| bits::prmt_mode(mode, a, b, c)).into()
            })
        }
        Op::Bmsk(i) => {
            let clamps = i.mode == SzextMode::Clamp;
            call(i.d, 32, &[(&i.a, 32), (&i.b, 32)], move |w| {
                let (a, b) = (w[0] as u32, w[1] as u32);
                if clamps { bits::bmsk::<Clamp>(a, b) } else { bits::bmsk::<Wrap>(a, b) }.into()
            })
        }
        Op::Fns(i) => call(i.d, 32, &[(&i.mask, 32), (&i.base, 32), (&i.offset, 32)], |w| {
            bits::fns(w[0] as u32, w[1] as u32, w[2] as i32).into()
        }),
        _ => None,
    }
}
