//! What atomics and reductions do to one element of memory: `atom` and `red`, bulk and tensor copies, multimem; and to
//! the lanes of a `redux`.

use super::address::Space;
use crate::exec::Exec;
use crate::image::copy::Reduction;
use crate::lanes::Lane;
use crate::memory::Cell;
use ir::instruction::AtomOp;
use numerics::format::{Bf16, F16};
use numerics::rounding::Rn;
use numerics::{float, half, integer, packed};
use ptx::types::ScalarType;

/// The new value of a cell from its old one and the instruction's operands; `global` tells whether the unit at global
/// memory computes it.
pub(crate) trait Rmw: 'static {
    type M: Cell + Lane;
    /// Whether it changes memory only where it finds what it compares with, operand `b`.
    const COMPARES: bool = false;
    fn new(old: Self::M, b: Self::M, c: Self::M, global: bool) -> Self::M;
}

/// Read-modify-write functions as types.
macro_rules! functions {
    ($($name:ident $([$compares:literal])?: $m:ty |$old:ident, $b:ident, $c:ident, $global:ident| $body:expr;)*) => {$(
        pub(crate) struct $name;
        impl Rmw for $name {
            type M = $m;
            $(const COMPARES: bool = $compares;)?
            #[inline(always)]
            fn new($old: $m, $b: $m, $c: $m, $global: bool) -> $m {
                $body
            }
        }
    )*};
}

functions! {
    Add32: u32 |old, b, _c, _global| old.wrapping_add(b);
    Add64: u64 |old, b, _c, _global| old.wrapping_add(b);
    And32: u32 |old, b, _c, _global| old & b;
    And64: u64 |old, b, _c, _global| old & b;
    Or32: u32 |old, b, _c, _global| old | b;
    Or64: u64 |old, b, _c, _global| old | b;
    Xor32: u32 |old, b, _c, _global| old ^ b;
    Xor64: u64 |old, b, _c, _global| old ^ b;
    Exch32: u32 |_old, b, _c, _global| b;
    Exch64: u64 |_old, b, _c, _global| b;
    Cas16 [true]: u16 |old, b, c, _global| if old == b { c } else { old };
    Cas32 [true]: u32 |old, b, c, _global| if old == b { c } else { old };
    Cas64 [true]: u64 |old, b, c, _global| if old == b { c } else { old };
    Inc32: u32 |old, b, _c, _global| integer::inc(old, b);
    Dec32: u32 |old, b, _c, _global| integer::dec(old, b);
    MinU32: u32 |old, b, _c, _global| old.min(b);
    MinS32: u32 |old, b, _c, _global| (old as i32).min(b as i32) as u32;
    MinU64: u64 |old, b, _c, _global| old.min(b);
    MinS64: u64 |old, b, _c, _global| (old as i64).min(b as i64) as u64;
    MaxU32: u32 |old, b, _c, _global| old.max(b);
    MaxS32: u32 |old, b, _c, _global| (old as i32).max(b as i32) as u32;
    MaxU64: u64 |old, b, _c, _global| old.max(b);
    MaxS64: u64 |old, b, _c, _global| (old as i64).max(b as i64) as u64;
    // In global memory subnormals are flushed, in shared memory they are kept, also by a generic address (an H200 does
    // so, as the manual says).
    AddF32: u32 |old, b, _c, global| match global {
        true => float::add_f32::<Rn, true, false>(old, b),
        false => float::add_f32::<Rn, false, false>(old, b),
    };
    // The unit at global memory passes NaNs on; for shared memory the addition is an instruction of the program.
    AddF64: u64 |old, b, _c, global| match global {
        true => float::add_f64_in_memory(old, b),
        false => float::add_f64::<Rn>(b, old),
    };
    AddF16: u16 |old, b, _c, _global| half::add::<F16, false, false>(old, b);
    AddBf16: u16 |old, b, _c, _global| half::add::<Bf16, false, false>(old, b);
    AddF16x2: u32 |old, b, _c, _global| packed::map2(half::add::<F16, false, false>, old, b);
    AddBf16x2: u32 |old, b, _c, _global| packed::map2(half::add::<Bf16, false, false>, old, b);
    MinF16: u16 |old, b, _c, _global| half::min::<F16, false, false, false>(old, b);
    MinBf16: u16 |old, b, _c, _global| half::min::<Bf16, false, false, false>(old, b);
    MinF16x2: u32 |old, b, _c, _global| packed::map2(half::min::<F16, false, false, false>, old, b);
    MinBf16x2: u32 |old, b, _c, _global| packed::map2(half::min::<Bf16, false, false, false>, old, b);
    MaxF16: u16 |old, b, _c, _global| half::max::<F16, false, false, false>(old, b);
    MaxBf16: u16 |old, b, _c, _global| half::max::<Bf16, false, false, false>(old, b);
    MaxF16x2: u32 |old, b, _c, _global| packed::map2(half::max::<F16, false, false, false>, old, b);
    MaxBf16x2: u32 |old, b, _c, _global| packed::map2(half::max::<Bf16, false, false, false>, old, b);
}

/// What becomes of a function: a loop over lanes, or a pointer to it.
pub(crate) trait Use {
    type As;
    fn of<F: Rmw>(self) -> Option<Self::As>;
}

/// The function of an `.op` and a type, if there is one.
pub(crate) fn function<U: Use>(op: AtomOp, ty: ScalarType, using: U) -> Option<U::As> {
    use AtomOp as O;
    use ScalarType as T;
    match (op, ty) {
        (O::Add, T::F32) => using.of::<AddF32>(),
        (O::Add, T::F64) => using.of::<AddF64>(),
        (O::Add, T::F16) => using.of::<AddF16>(),
        (O::Add, T::F16x2) => using.of::<AddF16x2>(),
        (O::Add, T::Bf16) => using.of::<AddBf16>(),
        (O::Add, T::Bf16x2) => using.of::<AddBf16x2>(),
        (O::Add, T::U32 | T::S32) => using.of::<Add32>(),
        (O::Add, T::U64 | T::S64) => using.of::<Add64>(),
        (O::And, T::B32 | T::U32 | T::S32) => using.of::<And32>(),
        (O::And, T::B64 | T::U64) => using.of::<And64>(),
        (O::Or, T::B32 | T::U32 | T::S32) => using.of::<Or32>(),
        (O::Or, T::B64 | T::U64) => using.of::<Or64>(),
        (O::Xor, T::B32 | T::U32 | T::S32) => using.of::<Xor32>(),
        (O::Xor, T::B64 | T::U64) => using.of::<Xor64>(),
        (O::Exch, T::B32) => using.of::<Exch32>(),
        (O::Exch, T::B64) => using.of::<Exch64>(),
        (O::Inc, T::U32) => using.of::<Inc32>(),
        (O::Dec, T::U32) => using.of::<Dec32>(),
        (O::Min, T::U32) => using.of::<MinU32>(),
        (O::Min, T::S32) => using.of::<MinS32>(),
        (O::Min, T::U64) => using.of::<MinU64>(),
        (O::Min, T::S64) => using.of::<MinS64>(),
        (O::Min, T::F16) => using.of::<MinF16>(),
        (O::Min, T::F16x2) => using.of::<MinF16x2>(),
        (O::Min, T::Bf16) => using.of::<MinBf16>(),
        (O::Min, T::Bf16x2) => using.of::<MinBf16x2>(),
        (O::Max, T::U32) => using.of::<MaxU32>(),
        (O::Max, T::S32) => using.of::<MaxS32>(),
        (O::Max, T::U64) => using.of::<MaxU64>(),
        (O::Max, T::S64) => using.of::<MaxS64>(),
        (O::Max, T::F16) => using.of::<MaxF16>(),
        (O::Max, T::F16x2) => using.of::<MaxF16x2>(),
        (O::Max, T::Bf16) => using.of::<MaxBf16>(),
        (O::Max, T::Bf16x2) => using.of::<MaxBf16x2>(),
        _ => None,
    }
}

impl Reduction {
    /// Updates an element in one indivisible step; whether it is there.
    pub(crate) fn update<P: Space>(&self, x: &mut Exec<'_>, address: u64, element: &[u8]) -> bool {
        fn cell<P: Space, M: Cell + PartialEq + Into<u64>>(
            x: &mut Exec<'_>,
            address: u64,
            element: &[u8],
            new: impl Fn(u64, u64) -> M,
        ) -> bool {
            let value: M = bytemuck::pod_read_unaligned(element);
            P::update::<M>(x, 0, 0, address, |old| new(old.into(), value.into())).is_some()
        }
        let function = self.function;
        match self.bytes {
            2 => cell::<P, u16>(x, address, element, |old, new| function(old, new) as u16),
            4 => cell::<P, u32>(x, address, element, |old, new| function(old, new) as u32),
            _ => cell::<P, u64>(x, address, element, function),
        }
    }
}

/// A function by itself.
struct Alone {
    global: bool,
}

impl Use for Alone {
    type As = Reduction;
    fn of<F: Rmw>(self) -> Option<Reduction> {
        fn on_bits<F: Rmw, const GLOBAL: bool>(old: u64, new: u64) -> u64 {
            let new = F::M::from_scalar(new);
            F::new(F::M::from_scalar(old), new, new, GLOBAL).to_scalar()
        }
        let function = if self.global { on_bits::<F, true> } else { on_bits::<F, false> };
        Some(Reduction { bytes: F::M::BYTES as usize, function })
    }
}

/// The reduction of an `.op` and a type, if there is one. They differ from atomic operations where an H200 does: an
/// addition of `.f32` keeps subnormals unless the tensor's type says to `flush` them.
pub(crate) fn reduction(op: AtomOp, ty: ScalarType, flush: bool) -> Option<Reduction> {
    function(op, ty, Alone { global: flush || ty == ScalarType::F64 })
}
