//! Data movement (PTX ISA, "Data Movement and Conversion Instructions" without cvt, and "Stack Manipulation
//! Instructions").

use super::decoder::{Decoded, Decoder, Memory, Missing};
use super::mbarrier::complete;
use super::operand::{plane_bits, resized};
use crate::fault::Access;
use crate::image::copy::AsyncCopy;
use crate::image::places::Home;
use crate::image::{Meta, ZERO};
use crate::lanes::PlaneId;
use crate::operation::Immediate;
use crate::operation::kinds::{
    Allocate, ClusterLaunch, CopyAsync, ExtractElement, Fence, InsertElement, Load, LoadPair, LoadParameter,
    LoadVector, Look, MovePredicate, Pause, RestoreStack, SaveStack, Store, StorePair, StoreVector,
};
use crate::ops::element;
use crate::ops::memory::{self, Loads, Stores, Transfer, transfer};
use crate::ops::shape::{HOT, lane_fn};
use ir::instruction::{Alloca, CpAsync, CpAsyncCop, Ld, Mov, MovPack, MovPred, MovUnpack, St, StAsync};
use ir::instruction::{Stackrestore, Stacksave};
use ir::operand::{Address, Def, Predicate, Value};
use ptx::isa::Order;
use ptx::module::AddressBase;
use ptx::types::{ScalarType, StateSpace, TypeKind};

/// A cache policy, which is opaque and changes no value: zero is as good as any.
pub(super) fn policy(d: &mut Decoder<'_>, to: Def) -> Decoded {
    let to = d.write_plane(to, 64)?;
    d.emit_splat(to, ZERO)
}

/// `to = a`, both of `bits`.
pub(super) fn copy(d: &mut Decoder<'_>, to: Def, a: &Value, bits: u32) -> Decoded {
    lane_fn!(Copy16: Unary(a: u16) -> u16 { a });
    lane_fn!(Copy32: Unary(a: u32) -> u32 { a });
    lane_fn!(Copy64: Unary(a: u64) -> u64 { a });
    match bits {
        16 => d.lanewise::<Copy16, 1, HOT>(to, [a]),
        32 => d.lanewise::<Copy32, 1, HOT>(to, [a]),
        _ => d.lanewise::<Copy64, 1, HOT>(to, [a]),
    }
}

/// `mov`. A special register goes straight to its destination.
pub(super) fn mov(d: &mut Decoder<'_>, mov: &Mov) -> Decoded {
    if mov.ty.bits() < 128 {
        return copy(d, mov.d, &mov.a, mov.ty.bits());
    }
    let (to, from) = (d.write_pair(mov.d)?, d.read_pair(&mov.a)?);
    to.into_iter().zip(from).try_for_each(|(to, from)| d.emit(resized(to, from)))
}

/// `mov.pred`.
pub(super) fn mov_predicate(d: &mut Decoder<'_>, mov: &MovPred) -> Decoded {
    let to = d.write_predicate(Some(mov.d))?;
    let a = d.read_predicate(&Predicate { value: mov.a, negated: false })?;
    d.emit(MovePredicate { d: to, a })
}

/// `mov.b64 d, {a, b}`: element 0 is the lowest. It goes through temporaries: a destination may be one of the parts.
pub(super) fn pack(d: &mut Decoder<'_>, mov: &MovPack) -> Decoded {
    let (bits, word) = (mov.ty.bits(), plane_bits(mov.ty.bits().min(64)));
    let part = (bits / mov.a.len().max(1) as u32).max(1);
    let words: Vec<PlaneId> = (0..bits.div_ceil(64)).map(|_| d.frame.temporary(word)).collect();
    for (value, bit) in mov.a.iter().zip((0..).step_by(part as usize)) {
        let a = d.read_plane(value, plane_bits(part))?;
        let (at, whole) = ((bit % 64) as u8, bit % 64 == 0);
        let insert = InsertElement { d: words[bit / 64], a, at, bits: part as u8, whole };
        d.emit_part(element::insert(plane_bits(part), word).with(insert));
    }
    let to = match bits {
        128 => d.write_pair(mov.d)?.to_vec(),
        _ => vec![d.write_plane(mov.d, word)?],
    };
    to.into_iter().zip(words).try_for_each(|(to, from)| d.emit(resized(to, from)))
}

/// `mov.b64 {a, b}, d`: element 0 is the lowest. It reads a copy: the source may be one of the parts.
pub(super) fn unpack(d: &mut Decoder<'_>, mov: &MovUnpack) -> Decoded {
    let (bits, word) = (mov.ty.bits(), plane_bits(mov.ty.bits().min(64)));
    let part = (bits / mov.d.len().max(1) as u32).max(1);
    let mut words = match bits {
        128 => d.read_pair(&mov.a)?.to_vec(),
        _ => vec![d.read_plane(&mov.a, word)?],
    };
    for from in &mut words {
        let copy = d.frame.temporary(word);
        d.emit_part(resized(copy, *from));
        *from = copy;
    }
    for (&def, bit) in mov.d.iter().zip((0..).step_by(part as usize)) {
        if let Some(to) = d.write_or_drop(def, plane_bits(part))? {
            let extract =
                ExtractElement { d: to, a: words[bit / 64], at: (bit % 64) as u8, bits: part as u8 };
            d.emit(element::extract(word, plane_bits(part)).with(extract))?;
        }
    }
    Ok(())
}

/// Whether an `ld` reads one kernel parameter at a constant offset, which is the same for all threads.
fn is_parameter(d: &Decoder<'_>, ld: &Ld) -> bool {
    let from_entry = matches!(ld.a.base, AddressBase::Variable(v)
        if d.module.variables[v.index()].space == StateSpace::ParamEntry);
    // A signed load may have to extend into a wider register; vectors go to planes.
    from_entry && ld.ty.kind() != TypeKind::Signed && matches!(*ld.d, [Def(Some(_))])
}

/// The order of a strong access: a release fences before it, an acquire behind it. Others may be waiting for either.
pub(super) fn order(d: &mut Decoder<'_>, order: Order) {
    match order {
        Order::Release => d.emit_part(Fence {}),
        Order::Acquire => {
            d.emit_part(Pause {});
            d.code.after(Fence {});
        }
        Order::Volatile | Order::Relaxed => d.emit_part(Pause {}),
        // The last two are of fences and atomics, which are as strong as they can be.
        Order::Weak | Order::AcqRel | Order::Sc => {}
    }
}

/// The current instruction has looked at what others change, and put what it saw in a plane. With a guard it remains one
/// operation: loops that spin branch.
pub(super) fn look(d: &mut Decoder<'_>, plane: Option<PlaneId>) {
    if let (Some(a), None) = (plane, d.guard) {
        d.code.after(Look { a });
    }
}

/// `ld`, `ldu`.
pub(super) fn load(d: &mut Decoder<'_>, ld: &Ld) -> Decoded {
    order(d, ld.order);
    let (bits, bytes) = (ld.ty.bits(), ld.ty.bytes() * ld.d.len() as u32);
    if bits == 128 {
        let [low, high] = d.write_pair(ld.d.first().copied().unwrap_or(Def(None)))?;
        let Memory { address, space, .. } = d.memory(&ld.a, 16)?;
        let load = memory::pair_load(space).with(LoadPair { low, high, address });
        return d.emit_access((space, address), Access::Load, 16, load);
    }
    if let [Def(Some(register))] = *ld.d
        && let Home::Scalar(to) = d.home(register)
    {
        if !is_parameter(d, ld) {
            return Err("a scalar from memory".to_owned());
        }
        let Memory { address, space, .. } = d.memory(&ld.a, bytes)?;
        let function = memory::parameter(bytes).ok_or("a parameter of this width")?;
        return d.emit_access(
            (space, address),
            Access::Load,
            bytes,
            function.with(LoadParameter { d: to, address }),
        );
    }
    let signed = ld.ty.kind() == TypeKind::Signed;
    let (planes, width) = d.write_elements(&ld.d, bits, signed)?;
    let Memory { address, pattern, space } = d.memory(&ld.a, bytes)?;
    let moved = Transfer { space, memory: bits, register: width };
    let missing = || format!("a load of {bits} bits to {width}");
    let op = match planes[..] {
        [plane] => {
            // A load whose value is dropped still accesses memory.
            let to = plane.unwrap_or_else(|| d.frame.temporary(width));
            let function = transfer(moved, Loads { signed }, d.level).ok_or_else(missing)?;
            function.with(Load { d: to, pattern, address })
        }
        _ => {
            let to = d.code.image.add_planes(planes.iter().copied());
            let function = transfer(moved, Loads { signed }, d.level).ok_or_else(missing)?;
            function.with(LoadVector { d: to, pattern, address })
        }
    };
    d.emit_access((space, address), Access::Load, bytes, op)?;
    if ld.order != Order::Weak {
        look(d, planes[0]);
    }
    Ok(())
}

/// `st`.
pub(super) fn store(d: &mut Decoder<'_>, st: &St) -> Decoded {
    order(d, st.order);
    match (st.ty.bits(), &*st.b) {
        (128, [value]) => {
            let [low, high] = d.read_pair(value)?;
            let Memory { address, space, .. } = d.memory(&st.a, 16)?;
            let store = memory::pair_store(space).with(StorePair { low, high, address });
            d.emit_access((space, address), Access::Store, 16, store)
        }
        _ => store_elements(d, st.ty, &st.a, &st.b, false),
    }
}

/// `st.async`.
pub(super) fn store_async(d: &mut Decoder<'_>, st: &StAsync) -> Decoded {
    order(d, st.order);
    d.emit(ClusterLaunch {})?;
    store_elements(d, st.ty, &st.a, &st.b, true)?;
    complete(d, &st.mbar, st.ty.bytes() * st.b.len() as u32)
}

fn store_elements(
    d: &mut Decoder<'_>,
    ty: ScalarType,
    address: &Address,
    values: &[Value],
    in_turn: bool,
) -> Decoded {
    let (bits, bytes) = (ty.bits(), ty.bytes() * values.len() as u32);
    let registers = values.iter().filter_map(|value| match value {
        Value::Register(register) => Some(*register),
        _ => None,
    });
    let width = d.width_of(registers, bits);
    let planes = d.read_planes(values, width)?;
    let Memory { address, pattern, space } = d.memory(address, bytes)?;
    let moved = Transfer { space, memory: bits, register: width };
    let missing = || format!("a store of {bits} bits from {width}");
    let op = match planes[..] {
        [a] => {
            let function = transfer(moved, Stores, d.level).ok_or_else(missing)?;
            function.with(Store { a, pattern, in_turn, address })
        }
        _ => {
            let a = d.code.image.add_planes(planes.into_iter().map(Some));
            let function = transfer(moved, Stores, d.level).ok_or_else(missing)?;
            function.with(StoreVector { a, pattern, in_turn, address })
        }
    };
    d.emit_access((space, address), Access::Store, bytes, op)
}

/// `cp.async`.
pub(super) fn copy_async(d: &mut Decoder<'_>, cp: &CpAsync) -> Decoded {
    let size = cp.size as u32;
    let (to, from) = (d.memory(&cp.dst, size)?, d.memory(&cp.src, size)?);
    let read = match (&cp.srcsize, &cp.ignore) {
        (Some(bytes), _) => Some(d.read_plane(bytes, 32)?),
        (None, Some(ignore)) => Some(bytes_unless(d, ignore, cp.size)?),
        (None, None) => None,
    };
    let in_turn = cp.cop == CpAsyncCop::Ca;
    let site = d.site(AsyncCopy { target: to.address, size, read, in_turn });
    d.emit_access((from.space, from.address), Access::Load, size, CopyAsync { source: from.address, site })
}

/// A plane with the bytes that are read: none where the source is ignored, which makes zeros of it.
fn bytes_unless(d: &mut Decoder<'_>, ignore: &Predicate, size: u64) -> Result<PlaneId, Missing> {
    let ignored = d.read_predicate(ignore)?;
    let (zero, all) = (ZERO.into(), d.constant(size));
    let plane = d.frame.temporary(32);
    let sources = if ignored.negated() { [all, zero] } else { [zero, all] };
    d.select(plane, sources, ignored.predicate(), Meta::Part);
    Ok(plane)
}

/// `alloca`.
pub(super) fn allocate(d: &mut Decoder<'_>, alloca: &Alloca) -> Decoded {
    d.code.image.allocates = true;
    let bits = alloca.ty.bits();
    let (to, size) = (d.write_plane(alloca.d, bits)?, d.read_plane(&alloca.size, bits)?);
    let align = alloca.align.filter(|align| align.is_power_of_two()).map_or(8, |align| align.max(8));
    d.emit(Allocate { d: to, size, function: d.function.id, align: Immediate(align) })
}

/// `stacksave`.
pub(super) fn save_stack(d: &mut Decoder<'_>, save: &Stacksave) -> Decoded {
    d.code.image.allocates = true;
    let to = d.write_plane(save.d, save.ty.bits())?;
    d.emit(SaveStack { d: to, function: d.function.id })
}

/// `stackrestore`.
pub(super) fn restore_stack(d: &mut Decoder<'_>, restore: &Stackrestore) -> Decoded {
    let a = d.read_plane(&restore.a, restore.ty.bits())?;
    d.emit(RestoreStack { a, function: d.function.id })
}
