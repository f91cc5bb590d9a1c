//! Atomic operations (PTX ISA, "Parallel Synchronization and Communication Instructions": atom, red).

use super::emit::op;
use super::function::Decoder;
use super::movement::{halves, look};
use super::operand::{Address, Destination};
use super::{Decoded, Missing};
use crate::fault::Access;
use crate::memory::SpaceKind;
use crate::ops::atomic::{Rmw, atomic, vector, wide};
use crate::ops::{Execute, NONE, Op};
use crate::program::Meta;
use ir::instruction::RedAsync;
use numerics::float;
use numerics::format::{Bf16, F16};
use numerics::rounding::Rn;
use numerics::{half, packed};
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::Operand;
use ptx::types::ScalarType;

/// Read-modify-write functions as types.
macro_rules! functions {
    ($($name:ident $([$compares:literal])?: $m:ty |$old:ident, $b:ident, $c:ident, $global:ident| $body:expr;)*) => {$(
        struct $name;
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
    Inc32: u32 |old, b, _c, _global| if old >= b { 0 } else { old + 1 };
    Dec32: u32 |old, b, _c, _global| if old == 0 || old > b { b } else { old - 1 };
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

/// The operation for an `.op` and a type in a space.
fn select(op: Option<Modifier>, ty: ScalarType, space: SpaceKind) -> Option<Execute> {
    use Modifier as M;
    use ScalarType as T;
    let wide = ty.bits() == 64;
    match (op?, ty) {
        (M::Add, T::F32) => atomic::<AddF32>(space),
        (M::Add, T::F64) => atomic::<AddF64>(space),
        (M::Add, T::F16) => atomic::<AddF16>(space),
        (M::Add, T::F16x2) => atomic::<AddF16x2>(space),
        (M::Add, T::Bf16) => atomic::<AddBf16>(space),
        (M::Add, T::Bf16x2) => atomic::<AddBf16x2>(space),
        (M::Add, T::U32 | T::S32) => atomic::<Add32>(space),
        (M::Add, T::U64 | T::S64) => atomic::<Add64>(space),
        (M::And, _) if wide => atomic::<And64>(space),
        (M::And, _) => atomic::<And32>(space),
        (M::Or, _) if wide => atomic::<Or64>(space),
        (M::Or, _) => atomic::<Or32>(space),
        (M::Xor, _) if wide => atomic::<Xor64>(space),
        (M::Xor, _) => atomic::<Xor32>(space),
        (M::Exch, T::B32) => atomic::<Exch32>(space),
        (M::Exch, T::B64) => atomic::<Exch64>(space),
        (M::Cas, T::B16) => atomic::<Cas16>(space),
        (M::Cas, T::B32) => atomic::<Cas32>(space),
        (M::Cas, T::B64) => atomic::<Cas64>(space),
        (M::Inc, _) => atomic::<Inc32>(space),
        (M::Dec, _) => atomic::<Dec32>(space),
        (M::Min, T::U32) => atomic::<MinU32>(space),
        (M::Min, T::S32) => atomic::<MinS32>(space),
        (M::Min, T::U64) => atomic::<MinU64>(space),
        (M::Min, T::S64) => atomic::<MinS64>(space),
        (M::Max, T::U32) => atomic::<MaxU32>(space),
        (M::Max, T::S32) => atomic::<MaxS32>(space),
        (M::Max, T::U64) => atomic::<MaxU64>(space),
        (M::Max, T::S64) => atomic::<MaxS64>(space),
        _ => None,
    }
}

/// The operation on vectors for an `.op` and an element type.
fn select_vector(op: Option<Modifier>, ty: ScalarType, space: SpaceKind) -> Option<Execute> {
    use Modifier as M;
    use ScalarType as T;
    match (op?, ty) {
        (M::Add, T::F32) => vector::<AddF32>(space),
        (M::Add, T::F16) => vector::<AddF16>(space),
        (M::Add, T::F16x2) => vector::<AddF16x2>(space),
        (M::Add, T::Bf16) => vector::<AddBf16>(space),
        (M::Add, T::Bf16x2) => vector::<AddBf16x2>(space),
        (M::Min, T::F16) => vector::<MinF16>(space),
        (M::Min, T::F16x2) => vector::<MinF16x2>(space),
        (M::Min, T::Bf16) => vector::<MinBf16>(space),
        (M::Min, T::Bf16x2) => vector::<MinBf16x2>(space),
        (M::Max, T::F16) => vector::<MaxF16>(space),
        (M::Max, T::F16x2) => vector::<MaxF16x2>(space),
        (M::Max, T::Bf16) => vector::<MaxBf16>(space),
        (M::Max, T::Bf16x2) => vector::<MaxBf16x2>(space),
        _ => None,
    }
}

/// `atom` and `red` on vectors.
fn decode_vector(d: &mut Decoder<'_>, count: u32) -> Decoded {
    let opcode = d.opcode;
    let ty = opcode.ty(Slot::Type).unwrap_or(ScalarType::B32);
    let bytes = count * ty.bytes();
    let first = usize::from(opcode.sem() != Some(Sem::RedVector));
    let address = d.address_in_one_of(first, bytes, &[SpaceKind::Global, SpaceKind::Generic])?;
    let missing = || -> Missing { format!("atomic `{}` in {:?} memory", opcode.text(), address.space) };
    let execute = select_vector(opcode.get(Slot::Op), ty, address.space).ok_or_else(missing)?;
    let mut sources = Vec::new();
    for part in d.elements(first + 1) {
        let value = d.value(part, ty.bits())?;
        sources.push(d.plane_of(value, ty.bits()));
    }
    let mut destinations = Vec::new();
    if let (1, Operand::Vector(_)) = (first, d.operand(0)) {
        for part in d.elements(0) {
            match d.destination_of(part, ty.bits())? {
                Destination::Plane(index) => destinations.push(index),
                Destination::Scalar(_) => return Err(missing()),
            }
        }
    }
    let b = d.list(&sources);
    let to = if destinations.is_empty() { NONE } else { d.list(&destinations) };
    let meta = Meta::Memory { space: address.space, access: Access::Atomic, bytes };
    let fields = Op { d: to, a: address.a, b, c: count, y: address.y, imm: address.imm, ..op(execute) };
    d.emit_as(fields, meta);
    Ok(())
}

/// `red.async`.
pub(super) fn reduce_async(d: &mut Decoder<'_>, red: &RedAsync) -> Decoded {
    decode(d, Sem::Red)?;
    super::mbarrier::complete(d, &red.mbar, red.ty.bytes())
}

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let opcode = d.opcode;
    if let (Sem::AtomVector | Sem::RedVector, Some(count)) =
        (sem, opcode.get(Slot::Vec).and_then(Modifier::vector_length))
    {
        return decode_vector(d, count);
    }
    let ty = opcode.ty(Slot::Type).unwrap_or(ScalarType::B32);
    // `red` has no destination.
    let first = usize::from(sem != Sem::Red);
    let spaces = [SpaceKind::Global, SpaceKind::Shared, SpaceKind::Cluster, SpaceKind::Generic];
    let address = d.address_in_one_of(first, ty.bytes(), &spaces)?;
    let missing = || -> Missing { format!("atomic `{}` in {:?} memory", opcode.text(), address.space) };
    if ty == ScalarType::B128 {
        return decode_wide(d, sem, address);
    }
    let execute = select(opcode.get(Slot::Op), ty, address.space).ok_or_else(missing)?;
    let destination = match d.operand(0) {
        _ if sem == Sem::Red => NONE,
        Operand::Sink => NONE,
        _ => d.destination_plane(0, ty.bits())?,
    };
    let value = d.source(first + 1, ty.bits())?;
    let b = d.plane_of(value, ty.bits());
    let c = match sem {
        Sem::AtomCas => {
            let value = d.source(first + 2, ty.bits())?;
            d.plane_of(value, ty.bits())
        }
        _ => b,
    };
    let meta = Meta::Memory { space: address.space, access: Access::Atomic, bytes: ty.bytes() };
    d.emit_as(Op { d: destination, a: address.a, b, c, y: address.y, imm: address.imm, ..op(execute) }, meta);
    look(d, destination, ty.bits());
    Ok(())
}

/// `atom.exch` and `atom.cas` of 128 bits: pairs of planes.
fn decode_wide(d: &mut Decoder<'_>, sem: Sem, address: Address) -> Decoded {
    let execute = wide(sem == Sem::AtomCas, address.space)
        .ok_or_else(|| format!("atomic `{}` in {:?} memory", d.opcode.text(), address.space))?;
    let to = match d.operand(0) {
        Operand::Sink => [NONE; 2],
        operand => halves(d, operand)?,
    };
    let b = halves(d, d.operand(2))?;
    let c = if sem == Sem::AtomCas { halves(d, d.operand(3))? } else { b };
    let planes = d.list(&[to, b, c].concat());
    let meta = Meta::Memory { space: address.space, access: Access::Atomic, bytes: 16 };
    d.emit_as(Op { a: address.a, b: planes, y: address.y, imm: address.imm, ..op(execute) }, meta);
    Ok(())
}
