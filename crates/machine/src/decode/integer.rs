//! Integer arithmetic, with and without carry (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision
//! Integer Arithmetic Instructions").

use super::Decoded;
use super::arithmetic::{Register, integers};
use super::emit::op;
use super::function::Decoder;
use super::operand::Destination;
use crate::exec::Exec;
use crate::lanes::simd::Simd;
use crate::lanes::{LANES, Lane, MAX_WARPS};
use crate::ops::shape::{Binary, COLD, HOT, Ternary, map};
use crate::ops::{Body, NONE, Op, select};
use numerics::extended::{self, Carry};
use numerics::{integer, packed};
use ptx::isa::{Modifier, Sem, Slot};
use ptx::types::ScalarType;
use std::marker::PhantomData;

/// `.wide`: sources of `T`, result of twice the width.
struct MulWide<T>(PhantomData<T>);
struct MadWide<T>(PhantomData<T>);

macro_rules! wide {
    ($($t:ty => $wide:ty),*) => {$(
        impl Binary for MulWide<$t> {
            type A = <$t as Register>::L;
            type B = <$t as Register>::L;
            type R = <$wide as Register>::L;
            #[inline(always)]
            fn lane(a: Self::A, b: Self::B) -> Self::R {
                integer::mul_wide::<$t>(a as $t, b as $t) as Self::R
            }
        }
        impl Ternary for MadWide<$t> {
            type A = <$t as Register>::L;
            type B = <$t as Register>::L;
            type C = <$wide as Register>::L;
            type R = <$wide as Register>::L;
            #[inline(always)]
            fn lane(a: Self::A, b: Self::B, c: Self::C) -> Self::R {
                integer::mad_wide::<$t>(a as $t, b as $t, c as $wide) as Self::R
            }
        }
    )*};
}
wide! { u16 => u32, i16 => i32, u32 => u64, i32 => i64 }

/// A function of the two halves of a 32-bit register.
macro_rules! pairs {
    ($d:expr, $ty:expr, |$a:ident, $b:ident| $body:expr) => {{
        struct F<T>(PhantomData<T>);
        impl<T: Register> Binary for F<T> {
            type A = u32;
            type B = u32;
            type R = u32;
            #[inline(always)]
            fn lane(a: u32, b: u32) -> u32 {
                packed::map_int::<T>(|$a, $b| $body, a, b)
            }
        }
        match $ty {
            ScalarType::U16x2 => $d.binary::<F<u16>, HOT>(),
            _ => $d.binary::<F<i16>, HOT>(),
        }
    }};
}

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let opcode = d.opcode;
    let ty = opcode.ty(Slot::Type).unwrap_or(ScalarType::B32);
    let mode = opcode.get(Slot::Mode);
    let saturates = opcode.has(Modifier::Sat);
    let relu = opcode.has(Modifier::Relu);
    match sem {
        Sem::AddInt if saturates => integers!(d, ty, COLD, Binary | a, b | integer::add::<T, true>(a, b)),
        Sem::AddInt => integers!(d, ty, HOT, Binary | a, b | integer::add::<T, false>(a, b)),
        Sem::SubInt if saturates => integers!(d, ty, COLD, Binary | a, b | integer::sub::<T, true>(a, b)),
        Sem::SubInt => integers!(d, ty, HOT, Binary | a, b | integer::sub::<T, false>(a, b)),
        Sem::MulInt => match mode {
            Some(Modifier::Wide) => match ty {
                ScalarType::U16 => d.binary::<MulWide<u16>, HOT>(),
                ScalarType::S16 => d.binary::<MulWide<i16>, HOT>(),
                ScalarType::U32 => d.binary::<MulWide<u32>, HOT>(),
                _ => d.binary::<MulWide<i32>, HOT>(),
            },
            Some(Modifier::Hi) => integers!(d, ty, HOT, Binary | a, b | integer::mul_hi::<T>(a, b)),
            _ => integers!(d, ty, HOT, Binary | a, b | integer::mul_lo::<T>(a, b)),
        },
        Sem::MadInt => match mode {
            Some(Modifier::Wide) => match ty {
                ScalarType::U16 => d.ternary::<MadWide<u16>, HOT>(),
                ScalarType::S16 => d.ternary::<MadWide<i16>, HOT>(),
                ScalarType::U32 => d.ternary::<MadWide<u32>, HOT>(),
                _ => d.ternary::<MadWide<i32>, HOT>(),
            },
            Some(Modifier::Hi) if saturates => {
                integers!(d, ty, COLD, Ternary | a, b, c | integer::mad_hi::<T, true>(a, b, c))
            }
            Some(Modifier::Hi) => {
                integers!(d, ty, COLD, Ternary | a, b, c | integer::mad_hi::<T, false>(a, b, c))
            }
            _ => integers!(d, ty, HOT, Ternary | a, b, c | integer::mad_lo::<T>(a, b, c)),
        },
        Sem::Mul24 => match mode {
            Some(Modifier::Hi) => integers!(d, ty, COLD, Binary | a, b | integer::mul24_hi::<T>(a, b)),
            _ => integers!(d, ty, COLD, Binary | a, b | integer::mul24_lo::<T>(a, b)),
        },
        Sem::Mad24 => match mode {
            Some(Modifier::Hi) if saturates => {
                integers!(d, ty, COLD, Ternary | a, b, c | integer::mad24_hi::<T, true>(a, b, c))
            }
            Some(Modifier::Hi) => {
                integers!(d, ty, COLD, Ternary | a, b, c | integer::mad24_hi::<T, false>(a, b, c))
            }
            _ => integers!(d, ty, COLD, Ternary | a, b, c | integer::mad24_lo::<T>(a, b, c)),
        },
        Sem::Sad => integers!(d, ty, COLD, Ternary | a, b, c | integer::sad::<T>(a, b, c)),
        Sem::DivInt => integers!(d, ty, COLD, Binary | a, b | integer::div::<T>(a, b)),
        Sem::RemInt => integers!(d, ty, COLD, Binary | a, b | integer::rem::<T>(a, b)),
        Sem::AbsInt => integers!(d, ty, HOT, Unary | a | integer::abs::<T>(a)),
        Sem::NegInt => integers!(d, ty, HOT, Unary | a | integer::neg::<T>(a)),
        Sem::MinInt if relu => integers!(d, ty, COLD, Binary | a, b | integer::min::<T, true>(a, b)),
        Sem::MinInt => integers!(d, ty, HOT, Binary | a, b | integer::min::<T, false>(a, b)),
        Sem::MaxInt if relu => integers!(d, ty, COLD, Binary | a, b | integer::max::<T, true>(a, b)),
        Sem::MaxInt => integers!(d, ty, HOT, Binary | a, b | integer::max::<T, false>(a, b)),
        Sem::AddIntX2 => pairs!(d, ty, |a, b| integer::add::<T, false>(a, b)),
        Sem::MinIntX2 if relu => pairs!(d, ty, |a, b| integer::min::<T, true>(a, b)),
        Sem::MinIntX2 => pairs!(d, ty, |a, b| integer::min::<T, false>(a, b)),
        Sem::MaxIntX2 if relu => pairs!(d, ty, |a, b| integer::max::<T, true>(a, b)),
        Sem::MaxIntX2 => pairs!(d, ty, |a, b| integer::max::<T, false>(a, b)),
        Sem::Dp4a => dp4a(d),
        Sem::Dp2a => dp2a(d),
        Sem::AddCarryOut => carry::<Add>(d, ty, Some(false)),
        Sem::AddCarryIn => carry::<Add>(d, ty, None),
        // The carry of a subtraction is set when nothing is borrowed.
        Sem::SubBorrowOut => carry::<Sub>(d, ty, Some(true)),
        Sem::SubBorrowIn => carry::<Sub>(d, ty, None),
        Sem::MadCarryOut if mode == Some(Modifier::Hi) => carry::<MadHi>(d, ty, Some(false)),
        Sem::MadCarryOut => carry::<MadLo>(d, ty, Some(false)),
        Sem::MadCarryIn if mode == Some(Modifier::Hi) => carry::<MadHi>(d, ty, None),
        Sem::MadCarryIn => carry::<MadLo>(d, ty, None),
        other => Err(format!("{other:?} among the integer instructions")),
    }
}

struct Dp4a<const A: bool, const B: bool>;
impl<const A: bool, const B: bool> Ternary for Dp4a<A, B> {
    type A = u32;
    type B = u32;
    type C = u32;
    type R = u32;
    #[inline(always)]
    fn lane(a: u32, b: u32, c: u32) -> u32 {
        packed::dp4a::<A, B>(a, b, c)
    }
}

struct Dp2a<const HI: bool, const A: bool, const B: bool>;
impl<const HI: bool, const A: bool, const B: bool> Ternary for Dp2a<HI, A, B> {
    type A = u32;
    type B = u32;
    type C = u32;
    type R = u32;
    #[inline(always)]
    fn lane(a: u32, b: u32, c: u32) -> u32 {
        packed::dp2a::<HI, A, B>(a, b, c)
    }
}

fn signedness(d: &Decoder<'_>) -> (bool, bool) {
    let signed = |slot| d.opcode.ty(slot) == Some(ScalarType::S32);
    (signed(Slot::Atype), signed(Slot::Btype))
}

fn dp4a(d: &mut Decoder<'_>) -> Decoded {
    match signedness(d) {
        (false, false) => d.ternary::<Dp4a<false, false>, COLD>(),
        (false, true) => d.ternary::<Dp4a<false, true>, COLD>(),
        (true, false) => d.ternary::<Dp4a<true, false>, COLD>(),
        (true, true) => d.ternary::<Dp4a<true, true>, COLD>(),
    }
}

fn dp2a(d: &mut Decoder<'_>) -> Decoded {
    match (d.opcode.get(Slot::Mode) == Some(Modifier::Hi), signedness(d)) {
        (false, (false, false)) => d.ternary::<Dp2a<false, false, false>, COLD>(),
        (false, (false, true)) => d.ternary::<Dp2a<false, false, true>, COLD>(),
        (false, (true, false)) => d.ternary::<Dp2a<false, true, false>, COLD>(),
        (false, (true, true)) => d.ternary::<Dp2a<false, true, true>, COLD>(),
        (true, (false, false)) => d.ternary::<Dp2a<true, false, false>, COLD>(),
        (true, (false, true)) => d.ternary::<Dp2a<true, false, true>, COLD>(),
        (true, (true, false)) => d.ternary::<Dp2a<true, true, false>, COLD>(),
        (true, (true, true)) => d.ternary::<Dp2a<true, true, true>, COLD>(),
    }
}

/// An operation on integers with a carry in and out.
trait WithCarry: 'static {
    /// Whether there is a third source.
    const THREE: bool;
    fn apply<T: Carry>(a: T, b: T, c: T, carry: bool) -> (T, bool);
}

struct Add;
struct Sub;
struct MadLo;
struct MadHi;

impl WithCarry for Add {
    const THREE: bool = false;
    #[inline(always)]
    fn apply<T: Carry>(a: T, b: T, _: T, carry: bool) -> (T, bool) {
        extended::addc(a, b, carry)
    }
}
impl WithCarry for Sub {
    const THREE: bool = false;
    #[inline(always)]
    fn apply<T: Carry>(a: T, b: T, _: T, carry: bool) -> (T, bool) {
        extended::subc(a, b, carry)
    }
}
impl WithCarry for MadLo {
    const THREE: bool = true;
    #[inline(always)]
    fn apply<T: Carry>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
        extended::madc_lo(a, b, c, carry)
    }
}
impl WithCarry for MadHi {
    const THREE: bool = true;
    #[inline(always)]
    fn apply<T: Carry>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
        extended::madc_hi(a, b, c, carry)
    }
}

/// `d = f(a, b, c, carry)`: the carry comes from predicate `x`, or is `imm` if that is [`NONE`]; it goes to predicate
/// `y`, unless that is [`NONE`].
struct CarryBody<F, T>(PhantomData<(F, T)>);

impl<F: WithCarry, T: Carry + Register> Body for CarryBody<F, T> {
    #[inline(always)]
    fn run<I: Simd>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
        let &Op { d, a, b, c, x: carry_in, y: carry_out, imm, .. } = op;
        // The carry in before anything is written: the carry out may go to the same predicate.
        let mut carries = [0; MAX_WARPS];
        for warp in 0..x.warps {
            carries[warp] = match carry_in {
                NONE => 0u32.wrapping_sub(imm as u32),
                p => x.files.p[p as usize + warp],
            };
        }
        map!(I, T::L, x, d, |cells, warp| {
            a = cells.planes::<T::L>(a);
            b = cells.planes::<T::L>(b);
            c = cells.planes::<T::L>(c);
            {
                let (a, b, c) = (a[warp].get().0, b[warp].get().0, c[warp].get().0);
                let carry = carries[warp];
                let mut sums = [T::L::default(); LANES];
                let mut out = [T::L::default(); LANES];
                for l in 0..LANES {
                    let (a, b, c) = (T::from_lane(a[l]), T::from_lane(b[l]), T::from_lane(c[l]));
                    let (sum, over) = F::apply(a, b, c, carry >> l & 1 != 0);
                    sums[l] = sum.to_lane();
                    out[l] = T::L::truth(over);
                }
                carries[warp] = T::L::bits::<I>(out);
                sums
            }
        });
        if carry_out != NONE {
            for warp in 0..x.warps {
                let mask = x.mask[warp];
                let p = &mut x.files.p[carry_out as usize + warp];
                *p = (*p & !mask) | (carries[warp] & mask);
            }
        }
        pc + 1
    }
}

/// `first` is the carry in of an instruction that starts a chain; `None` if it takes that of `CC.CF`.
fn carry<F: WithCarry>(d: &mut Decoder<'_>, ty: ScalarType, first: Option<bool>) -> Decoded {
    let bits = ty.bits();
    let destination = match d.destination(0, bits)? {
        Destination::Plane(index) => index,
        Destination::Scalar(_) => return Err("carries in a scalar".to_owned()),
    };
    let mut sources = [0; 3];
    for (i, source) in sources.iter_mut().enumerate().take(if F::THREE { 3 } else { 2 }) {
        let value = d.source(i + 1, bits)?;
        *source = d.plane_of(value, bits);
    }
    let [a, b, c] = sources;
    let c = if F::THREE { c } else { a };
    let execute = match ty {
        ScalarType::U16 => select::<CarryBody<F, u16>>(d.level),
        ScalarType::S16 => select::<CarryBody<F, i16>>(d.level),
        ScalarType::U32 => select::<CarryBody<F, u32>>(d.level),
        ScalarType::S32 => select::<CarryBody<F, i32>>(d.level),
        ScalarType::U64 => select::<CarryBody<F, u64>>(d.level),
        _ => select::<CarryBody<F, i64>>(d.level),
    };
    let x = if first.is_some() { NONE } else { d.carry() };
    let y = if first.is_some() || d.opcode.has(Modifier::Cc) { d.carry() } else { NONE };
    let imm = u64::from(first.unwrap_or(false));
    d.emit(Op { d: destination, a, b, c, x, y, imm, ..op(execute) });
    Ok(())
}
