//! What reductions do to one element of memory: those of bulk and tensor copies, and of multimem.
//!
//! They differ from atomic operations where an H200 does: an addition of `.f32` keeps subnormals unless the tensor's type
//! says otherwise.

use super::address::Space;
use crate::exec::Exec;
use crate::memory::Cell;
use numerics::format::{Bf16, F16};
use numerics::rounding::Rn;
use numerics::{float, half};
use ptx::isa::Modifier;
use ptx::types::ScalarType;

/// An element's new value from its old one and another.
#[derive(Clone, Copy)]
pub(crate) struct Combine {
    /// Bytes of an element.
    pub(crate) bytes: usize,
    /// The function, on bits.
    pub(crate) function: fn(u64, u64) -> u64,
}

impl std::fmt::Debug for Combine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Combine of {} bytes", self.bytes)
    }
}

impl Combine {
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

macro_rules! on {
    ($ty:ty, |$a:ident, $b:ident| $body:expr) => {{
        fn function(a: u64, b: u64) -> u64 {
            let ($a, $b) = (a as $ty, b as $ty);
            let result: $ty = $body;
            result as u64
        }
        Combine { bytes: size_of::<$ty>(), function }
    }};
}

/// `.f64` addition where memory does it: a NaN comes out as it went in, the new one before the old one.
fn add_f64(old: u64, new: u64) -> u64 {
    match (float::is_nan_f64(new), float::is_nan_f64(old)) {
        (true, _) => new,
        (false, true) => old,
        (false, false) => float::add_f64::<Rn>(old, new),
    }
}

/// The reduction of an `.op` and a type, if there is one. `flush` is for an addition of `.f32`.
pub(crate) fn combine(op: Modifier, ty: ScalarType, flush: bool) -> Option<Combine> {
    use Modifier as M;
    use ScalarType as T;
    let wide = ty.bits() == 64;
    Some(match (op, ty) {
        (M::Add, T::F32) if flush => on!(u32, |a, b| float::add_f32::<Rn, true, false>(a, b)),
        (M::Add, T::F32) => on!(u32, |a, b| float::add_f32::<Rn, false, false>(a, b)),
        (M::Add, T::F64) => on!(u64, |a, b| add_f64(a, b)),
        (M::Add, T::F16) => on!(u16, |a, b| half::add::<F16, false, false>(a, b)),
        (M::Add, T::Bf16) => on!(u16, |a, b| half::add::<Bf16, false, false>(a, b)),
        (M::Add, T::U32 | T::S32) => on!(u32, |a, b| a.wrapping_add(b)),
        (M::Add, T::U64 | T::S64) => on!(u64, |a, b| a.wrapping_add(b)),
        (M::Min, T::U32) => on!(u32, |a, b| a.min(b)),
        (M::Min, T::S32) => on!(u32, |a, b| (a as i32).min(b as i32) as u32),
        (M::Min, T::U64) => on!(u64, |a, b| a.min(b)),
        (M::Min, T::S64) => on!(u64, |a, b| (a as i64).min(b as i64) as u64),
        (M::Min, T::F16) => on!(u16, |a, b| half::min::<F16, false, false, false>(a, b)),
        (M::Min, T::Bf16) => on!(u16, |a, b| half::min::<Bf16, false, false, false>(a, b)),
        (M::Max, T::U32) => on!(u32, |a, b| a.max(b)),
        (M::Max, T::S32) => on!(u32, |a, b| (a as i32).max(b as i32) as u32),
        (M::Max, T::U64) => on!(u64, |a, b| a.max(b)),
        (M::Max, T::S64) => on!(u64, |a, b| (a as i64).max(b as i64) as u64),
        (M::Max, T::F16) => on!(u16, |a, b| half::max::<F16, false, false, false>(a, b)),
        (M::Max, T::Bf16) => on!(u16, |a, b| half::max::<Bf16, false, false, false>(a, b)),
        (M::Inc, T::U32) => on!(u32, |a, b| if a >= b { 0 } else { a + 1 }),
        (M::Dec, T::U32) => on!(u32, |a, b| if a == 0 || a > b { b } else { a - 1 }),
        (M::And, _) if wide => on!(u64, |a, b| a & b),
        (M::And, _) if ty.bits() == 32 => on!(u32, |a, b| a & b),
        (M::Or, _) if wide => on!(u64, |a, b| a | b),
        (M::Or, _) if ty.bits() == 32 => on!(u32, |a, b| a | b),
        (M::Xor, _) if wide => on!(u64, |a, b| a ^ b),
        (M::Xor, _) if ty.bits() == 32 => on!(u32, |a, b| a ^ b),
        _ => return None,
    })
}
