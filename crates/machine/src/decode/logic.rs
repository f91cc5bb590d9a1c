//! Logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions" and the bit operations of "Integer Arithmetic
//! Instructions").

use super::Decoded;
use super::arithmetic::{integers, lanes};
use super::emit::op;
use super::function::Decoder;
use super::operand::Destination;
use crate::exec::Exec;
use crate::lanes::simd::{Baseline, Simd};
use crate::lanes::{LANES, Lane};
use crate::ops::shape::{COLD, Combine, HOT, NEGATE, Predicates, map};
use crate::ops::{Body, NONE, Op, select};
use numerics::bits::{self, Clamp, PermuteMode, Wrap};
use numerics::integer::Int;
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::Operand;
use ptx::types::ScalarType;
use std::marker::PhantomData;

macro_rules! funnel {
    ($d:expr, $($shift:tt)+) => {
        lanes!($d, HOT, Ternary(a: u32, b: u32, c: u32) -> u32 { bits::$($shift)+(a, b, c) })
    };
}

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let opcode = d.opcode;
    let ty = opcode.ty(Slot::Type).unwrap_or(ScalarType::B32);
    let wraps = opcode.get(Slot::Mode) == Some(Modifier::Wrap);
    match sem {
        Sem::And => integers!(d, ty, HOT, Binary | a, b | T::from_u64(a.to_u64() & b.to_u64())),
        Sem::Or => integers!(d, ty, HOT, Binary | a, b | T::from_u64(a.to_u64() | b.to_u64())),
        Sem::Xor => integers!(d, ty, HOT, Binary | a, b | T::from_u64(a.to_u64() ^ b.to_u64())),
        Sem::Not => integers!(d, ty, HOT, Unary | a | Int::not(a)),
        Sem::Cnot => integers!(d, ty, COLD, Unary | a | bits::cnot::<T>(a)),
        Sem::Shl => integers!(d, ty, HOT, Binary |a, b: u32| bits::shl::<T>(a, b)),
        Sem::Shr => integers!(d, ty, HOT, Binary |a, b: u32| bits::shr::<T>(a, b)),
        Sem::Popc => integers!(d, ty, HOT, Unary |a| -> u32 { bits::popc::<T>(a) }),
        Sem::Clz => integers!(d, ty, HOT, Unary |a| -> u32 { bits::clz::<T>(a) }),
        Sem::Bfind if opcode.has(Modifier::Shiftamt) => {
            integers!(d, ty, COLD, Unary |a| -> u32 { bits::bfind::<T, true>(a) })
        }
        Sem::Bfind => integers!(d, ty, COLD, Unary |a| -> u32 { bits::bfind::<T, false>(a) }),
        Sem::Brev if ty.bits() == 32 => {
            integers!(d, ty, COLD, Unary | a | { T::from_u64(bits::brev32(a.to_u64() as u32).into()) })
        }
        Sem::Brev => integers!(d, ty, COLD, Unary | a | T::from_u64(bits::brev64(a.to_u64()))),
        Sem::Bfe => integers!(d, ty, HOT, Ternary |a, b: u32, c: u32| bits::bfe::<T>(a, b, c)),
        Sem::Bfi if ty.bits() == 32 => bfi::<u32>(d),
        Sem::Bfi => bfi::<u64>(d),
        Sem::Szext if wraps => integers!(d, ty, COLD, Binary |a, b: u32| bits::szext::<T, Wrap>(a, b)),
        Sem::Szext => integers!(d, ty, COLD, Binary |a, b: u32| bits::szext::<T, Clamp>(a, b)),
        Sem::Bmsk if wraps => lanes!(d, COLD, Binary(a: u32, b: u32) -> u32 { bits::bmsk::<Wrap>(a, b) }),
        Sem::Bmsk => lanes!(d, COLD, Binary(a: u32, b: u32) -> u32 { bits::bmsk::<Clamp>(a, b) }),
        Sem::Fns => {
            lanes!(d, COLD, Ternary(mask: u32, base: u32, offset: u32) -> u32 {
                bits::fns(mask, base, offset as i32)
            })
        }
        Sem::Shf => match (opcode.has(Modifier::L), wraps) {
            (true, true) => funnel!(d, shf_l::<Wrap>),
            (true, false) => funnel!(d, shf_l::<Clamp>),
            (false, true) => funnel!(d, shf_r::<Wrap>),
            (false, false) => funnel!(d, shf_r::<Clamp>),
        },
        Sem::Prmt => prmt(d),
        Sem::Lop3 => lop3(d),
        Sem::AndPred => predicates(d, Combine::And),
        Sem::OrPred => predicates(d, Combine::Or),
        Sem::XorPred => predicates(d, Combine::Xor),
        Sem::NotPred => {
            let p = d.predicate_destination(0)?;
            let (a, negated) = d.predicate(1)?;
            d.emit(Op {
                d: p,
                a,
                b: a,
                y: Combine::And as u32 | (negated ^ NEGATE),
                ..op(combine_predicates)
            });
            Ok(())
        }
        other => Err(format!("{other:?} among the logic instructions")),
    }
}

/// `prmt` in one of its modes, a function each, so that the mode is known where lanes are looped over.
macro_rules! permute {
    ($d:expr, $mode:ident) => {
        lanes!($d, COLD, Ternary(a: u32, b: u32, c: u32) -> u32 {
            bits::prmt_mode(PermuteMode::$mode, a, b, c)
        })
    };
}

fn prmt(d: &mut Decoder<'_>) -> Decoded {
    match d.opcode.get(Slot::Mode) {
        Some(Modifier::F4e) => permute!(d, Forward4),
        Some(Modifier::B4e) => permute!(d, Backward4),
        Some(Modifier::Rc8) => permute!(d, Replicate8),
        Some(Modifier::Ecl) => permute!(d, EdgeClampLeft),
        Some(Modifier::Ecr) => permute!(d, EdgeClampRight),
        Some(Modifier::Rc16) => permute!(d, Replicate16),
        _ => lanes!(d, HOT, Ternary(a: u32, b: u32, c: u32) -> u32 { bits::prmt(a, b, c) }),
    }
}

/// `d = bfi(a, b, c, planes x)`.
struct BfiBody<T>(PhantomData<T>);
impl<T: Int + Lane> Body for BfiBody<T> {
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
        map!(I, T, x, op.d, |cells, warp| {
            a = cells.planes::<T>(op.a);
            b = cells.planes::<T>(op.b);
            position = cells.planes::<u32>(op.c);
            length = cells.planes::<u32>(op.x);
            {
                let (a, b) = (a[warp].get().0, b[warp].get().0);
                let (position, length) = (position[warp].get().0, length[warp].get().0);
                let mut result = [T::default(); LANES];
                for l in 0..LANES {
                    result[l] = bits::bfi::<T>(a[l], b[l], position[l], length[l]);
                }
                result
            }
        });
        pc + 1
    }
}

fn bfi<T: Int + Lane>(d: &mut Decoder<'_>) -> Decoded {
    let destination = d.destination_plane(0, <T as Lane>::BITS)?;
    let mut sources = [0; 4];
    for (i, source) in sources.iter_mut().enumerate() {
        let bits = if i < 2 { <T as Lane>::BITS } else { 32 };
        let value = d.source(i + 1, bits)?;
        *source = d.plane_of(value, bits);
    }
    let [a, b, c, x] = sources;
    let execute = select::<BfiBody<T>>(d.level);
    d.emit(Op { d: destination, a, b, c, x, ..op(execute) });
    Ok(())
}

/// `d = lop3(a, b, c)` with the table in `imm`.
struct Lop3Body;
impl Body for Lop3Body {
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
        let table = op.imm as u8;
        map!(I, u32, x, op.d, |cells, warp| {
            a = cells.planes::<u32>(op.a);
            b = cells.planes::<u32>(op.b);
            c = cells.planes::<u32>(op.c);
            {
                let (a, b, c) = (a[warp].get().0, b[warp].get().0, c[warp].get().0);
                let mut result = [0; LANES];
                for l in 0..LANES {
                    result[l] = bits::lop3(a[l], b[l], c[l], table);
                }
                result
            }
        });
        pc + 1
    }
}

/// `p = (d != 0) combined with q`: the predicate half of `lop3.bool`.
fn lop3_predicate(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let cells = x.files.cells(x.warps);
    let (a, to) = (cells.planes::<u32>(op.a), Predicates::of(cells, op));
    for warp in 0..x.warps {
        let nonzero = Baseline::bits32(a[warp].get().0.map(|lane| u32::truth(lane != 0)));
        to.store(warp, x.mask[warp], nonzero);
    }
    pc + 1
}

fn lop3(d: &mut Decoder<'_>) -> Decoded {
    let combine = match d.opcode.get(Slot::Bool) {
        Some(Modifier::Or) => Some(Combine::Or),
        Some(_) => Some(Combine::And),
        None => None,
    };
    // `lop3.bool` has the predicate destination between `d` and `a`.
    let first = if combine.is_some() { 2 } else { 1 };
    let destination = match d.destination(0, 32)? {
        Destination::Plane(index) => index,
        Destination::Scalar(_) => return Err("lop3 in a scalar".to_owned()),
    };
    let mut sources = [0; 3];
    for (i, source) in sources.iter_mut().enumerate() {
        let value = d.source(first + i, 32)?;
        *source = d.plane_of(value, 32);
    }
    let Operand::Immediate(table) = d.operand(first + 3) else {
        return Err("lop3 with a table that is not a constant".to_owned());
    };
    let [a, b, c] = sources;
    let execute = select::<Lop3Body>(d.level);
    d.emit(Op { d: destination, a, b, c, imm: table, ..op(execute) });
    if let Some(combine) = combine {
        let p = d.predicate_destination(1)?;
        let (c, negated) = d.predicate(first + 4)?;
        let y = combine as u32 | negated;
        d.emit(Op { d: p, a: destination, c, y, ..op(lop3_predicate) });
    }
    Ok(())
}

/// [`Op::y`] of [`combine_predicates`]: the second source is negated.
const NEGATE_SECOND: u32 = 1 << 9;

/// Predicate `d` = `a` (negated?) combined with `b` (negated?), in the active lanes.
fn combine_predicates(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let flip = |bit| if op.y & bit != 0 { !0 } else { 0 };
    // `not p` is `!p and !p`: one flip serves both.
    let same = op.a == op.b;
    for warp in 0..x.warps {
        let a = x.files.p[op.a as usize + warp] ^ flip(NEGATE);
        let b = if same { a } else { x.files.p[op.b as usize + warp] ^ flip(NEGATE_SECOND) };
        let result = match op.y & 0xff {
            1 => a & b,
            2 => a | b,
            _ => a ^ b,
        };
        if op.d != NONE {
            let mask = x.mask[warp];
            let p = &mut x.files.p[op.d as usize + warp];
            *p = (*p & !mask) | (result & mask);
        }
    }
    pc + 1
}

fn predicates(d: &mut Decoder<'_>, combine: Combine) -> Decoded {
    let p = d.predicate_destination(0)?;
    let (a, first) = d.predicate(1)?;
    let (b, second) = d.predicate(2)?;
    // `p xor p` and the like of one register with itself keep their meaning only when both flips agree.
    if a == b && first != second {
        let value = !matches!(combine, Combine::And | Combine::None);
        d.emit(Op { d: p, y: u32::from(value), ..op(set_predicate) });
        return Ok(());
    }
    let second = if second != 0 { NEGATE_SECOND } else { 0 };
    d.emit(Op { d: p, a, b, y: combine as u32 | first | second, ..op(combine_predicates) });
    Ok(())
}

/// Predicate `d` = constant `y` in the active lanes.
pub(super) fn set_predicate(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if op.d != NONE {
        for warp in 0..x.warps {
            let mask = x.mask[warp];
            let p = &mut x.files.p[op.d as usize + warp];
            *p = (*p & !mask) | if op.y != 0 { mask } else { 0 };
        }
    }
    pc + 1
}

/// Predicate `d` = whether scalar `a` is not zero, in the active lanes.
pub(super) fn predicate_from_scalar(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let y = u32::from(x.files.s[op.a as usize] != 0);
    set_predicate(x, &Op { y, ..*op }, pc)
}

/// Predicate `d` = predicate `a` (negated?) in the active lanes.
pub(super) fn move_predicate(d: &mut Decoder<'_>, p: u32, a: u32, negated: u32) {
    d.emit(Op { d: p, a, b: a, y: Combine::And as u32 | negated, ..op(combine_predicates) });
}
