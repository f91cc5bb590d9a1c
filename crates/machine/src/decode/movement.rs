//! Data movement (PTX ISA, "Data Movement and Conversion Instructions" without cvt, and "Stack Manipulation
//! Instructions").

use super::emit::op;
use super::function::{Decoder, Home};
use super::operand::plane_bits;
use super::{Decoded, Missing};
use crate::fault::Access;
use crate::ops::address::base;
use crate::ops::control::nothing;
use crate::ops::memory::{self, Transfer};
use crate::ops::order::LANE_BY_LANE;
use crate::ops::shape::{self, HOT, NEGATE, lane_fn};
use crate::ops::width::resize;
use crate::ops::{NONE, Op, control, copy_async, element, stack};
use crate::program::ZERO;
use ir::instruction::{Alloca, CpAsync, CpAsyncCop, Ld, Mov, MovPack, MovPred, MovUnpack, St, StAsync};
use ir::instruction::{Stackrestore, Stacksave};
use ir::operand::{Address, Def, Predicate, Value};
use ptx::isa::Order;
use ptx::module::AddressBase;
use ptx::types::{ScalarType, StateSpace, TypeKind};

/// What has no effect: a prefetch, or what commits or awaits copies, since these are done when they are issued.
pub(super) fn hint(d: &mut Decoder<'_>) -> Decoded {
    d.emit(op(nothing));
    Ok(())
}

/// A cache policy, which is opaque and changes no value: zero is as good as any.
pub(super) fn policy(d: &mut Decoder<'_>, to: Def) -> Decoded {
    let to = d.write_plane(to, 64)?;
    d.emit_splat(to, ZERO, 64);
    Ok(())
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

/// A copy of plane `a` to plane `to`.
fn copy_plane(to: u32, a: u32, bits: u32) -> Op {
    Op { d: to, a, ..op(resize(bits, bits)) }
}

/// `mov`. A special register goes straight to its destination.
pub(super) fn mov(d: &mut Decoder<'_>, mov: &Mov) -> Decoded {
    if mov.ty.bits() < 128 {
        return copy(d, mov.d, &mov.a, mov.ty.bits());
    }
    let (to, from) = (d.write_pair(mov.d)?, d.read_pair(&mov.a)?);
    to.into_iter().zip(from).for_each(|(to, from)| d.emit(copy_plane(to, from, 64)));
    Ok(())
}

/// `mov.pred`.
pub(super) fn mov_predicate(d: &mut Decoder<'_>, mov: &MovPred) -> Decoded {
    let p = d.write_predicate(mov.d)?;
    let (a, negated) = d.read_predicate(&Predicate { value: mov.a, negated: false })?;
    super::logic::move_predicate(d, p, a, negated);
    Ok(())
}

/// `mov.b64 d, {a, b}`: element 0 is the lowest. It goes through temporaries: a destination may be one of the parts.
pub(super) fn pack(d: &mut Decoder<'_>, mov: &MovPack) -> Decoded {
    let (bits, word) = (mov.ty.bits(), plane_bits(mov.ty.bits().min(64)));
    let part = (bits / mov.a.len().max(1) as u32).max(1);
    let words: Vec<u32> = (0..bits.div_ceil(64)).map(|_| d.temporary(word)).collect();
    for (value, at) in mov.a.iter().zip((0..).step_by(part as usize)) {
        let a = d.read_plane(value, plane_bits(part))?;
        let (to, c, imm) = (words[at / 64], u32::from(at % 64 == 0), at as u64 % 64);
        d.emit_part(Op { d: to, a, c, x: part, imm, ..op(element::insert(plane_bits(part), word)) });
    }
    let to = match bits {
        128 => d.write_pair(mov.d)?.to_vec(),
        _ => vec![d.write_plane(mov.d, word)?],
    };
    to.into_iter().zip(words).for_each(|(to, from)| d.emit(copy_plane(to, from, word)));
    Ok(())
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
        let copy = d.temporary(word);
        d.emit_part(copy_plane(copy, *from, word));
        *from = copy;
    }
    for (&def, at) in mov.d.iter().zip((0..).step_by(part as usize)) {
        let to = d.write_or_drop(def, plane_bits(part))?;
        if to != NONE {
            let execute = element::extract(word, plane_bits(part));
            d.emit(Op { d: to, a: words[at / 64], x: part, imm: at as u64 % 64, ..op(execute) });
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
        Order::Release => d.emit_part(op(control::fence)),
        Order::Acquire => {
            d.emit_part(op(control::pause));
            d.after(op(control::fence));
        }
        Order::Volatile | Order::Relaxed => d.emit_part(op(control::pause)),
        // The last two are of fences and atomics, which are as strong as they can be.
        Order::Weak | Order::AcqRel | Order::Sc => {}
    }
}

/// The current instruction has looked at what others change, and put what it saw in a plane. With a guard it remains one
/// operation: loops that spin branch.
pub(super) fn look(d: &mut Decoder<'_>, plane: u32, bits: u32) {
    if plane != NONE && d.guard.is_none() {
        d.after(Op { d: plane, x: bits, ..op(control::look) });
    }
}

/// `ld`, `ldu`.
pub(super) fn load(d: &mut Decoder<'_>, ld: &Ld) -> Decoded {
    order(d, ld.order);
    let (bits, bytes) = (ld.ty.bits(), ld.ty.bytes() * ld.d.len() as u32);
    if bits == 128 {
        let pair = d.write_pair(ld.d.first().copied().unwrap_or(Def(None)))?;
        return wide(d, &ld.a, pair, Access::Load);
    }
    if let [Def(Some(register))] = *ld.d
        && let Home::Scalar(index) = d.home(register)
    {
        if !is_parameter(d, ld) {
            return Err("a scalar from memory".to_owned());
        }
        let address = d.memory(&ld.a, bytes)?;
        let execute = memory::parameter(bytes).ok_or("a parameter of this width")?;
        d.emit_access(address, Access::Load, bytes, Op { d: index, ..op(execute) });
        return Ok(());
    }
    let signed = ld.ty.kind() == TypeKind::Signed;
    let (planes, width) = d.write_elements(&ld.d, bits, signed)?;
    let (address, vector) = (d.memory(&ld.a, bytes)?, planes.len() > 1);
    let transfer = Transfer { space: address.space, memory: bits, register: width, signed, vector };
    let missing = || format!("a load of {bits} bits to {width}");
    let execute = memory::load(transfer, d.level).ok_or_else(missing)?;
    let to = match planes[..] {
        // A load whose value is dropped still accesses memory.
        [NONE] => d.temporary(width),
        [plane] => plane,
        _ => d.list(&planes),
    };
    let fields = Op { d: to, c: planes.len() as u32, ..op(execute) };
    d.emit_access(address, Access::Load, bytes, fields);
    if ld.order != Order::Weak {
        look(d, planes[0], width);
    }
    Ok(())
}

/// A load or store of one element of 128 bits.
fn wide(d: &mut Decoder<'_>, address: &Address, [b, c]: [u32; 2], access: Access) -> Decoded {
    let address = d.memory(address, 16)?;
    let execute = memory::wide(access == Access::Store, address.space);
    d.emit_access(address, access, 16, Op { b, c, ..op(execute) });
    Ok(())
}

/// `st`.
pub(super) fn store(d: &mut Decoder<'_>, st: &St) -> Decoded {
    order(d, st.order);
    match (st.ty.bits(), &*st.b) {
        (128, [value]) => {
            let pair = d.read_pair(value)?;
            wide(d, &st.a, pair, Access::Store)
        }
        _ => store_elements(d, st.ty, &st.a, &st.b, 0),
    }
}

/// `st.async`.
pub(super) fn store_async(d: &mut Decoder<'_>, st: &StAsync) -> Decoded {
    order(d, st.order);
    store_elements(d, st.ty, &st.a, &st.b, base::LANE_BY_LANE)?;
    super::mbarrier::complete(d, &st.mbar, st.ty.bytes() * st.b.len() as u32)
}

/// `lanes` is 0, or what of [`base`] tells the order of the lanes.
fn store_elements(
    d: &mut Decoder<'_>,
    ty: ScalarType,
    address: &Address,
    values: &[Value],
    lanes: u32,
) -> Decoded {
    let (bits, bytes) = (ty.bits(), ty.bytes() * values.len() as u32);
    let registers = values.iter().filter_map(|value| match value {
        Value::Register(register) => Some(*register),
        _ => None,
    });
    let width = d.width_of(registers, bits);
    let planes = d.read_planes(values, width)?;
    let address = d.memory(address, bytes)?;
    let vector = planes.len() > 1;
    let transfer = Transfer { space: address.space, memory: bits, register: width, signed: false, vector };
    let missing = || format!("a store of {bits} bits from {width}");
    let execute = memory::store(transfer, d.level).ok_or_else(missing)?;
    let b = match planes[..] {
        [plane] => plane,
        _ => d.list(&planes),
    };
    let fields = Op { b, c: planes.len() as u32, y: lanes, ..op(execute) };
    d.emit_access(address, Access::Store, bytes, fields);
    Ok(())
}

/// `cp.async`.
pub(super) fn copy_async(d: &mut Decoder<'_>, cp: &CpAsync) -> Decoded {
    let size = cp.size as u32;
    let (to, from) = (d.memory(&cp.dst, size)?, d.memory(&cp.src, size)?);
    let b = match (&cp.srcsize, &cp.ignore) {
        (Some(bytes), _) => d.read_plane(bytes, 32)?,
        (None, Some(ignore)) => bytes_unless(d, ignore, cp.size)?,
        (None, None) => NONE,
    };
    let list = d.list(&[to.a, to.y, to.imm as u32, (to.imm >> 32) as u32]);
    let x = match cp.cop {
        CpAsyncCop::Cg => size,
        CpAsyncCop::Ca => LANE_BY_LANE as u32,
    };
    d.emit_access(from, Access::Load, size, Op { d: list, b, c: size, x, ..op(copy_async::copy) });
    Ok(())
}

/// A plane with the bytes that are read: none where the source is ignored, which makes zeros of it.
fn bytes_unless(d: &mut Decoder<'_>, ignore: &Predicate, size: u64) -> Result<u32, Missing> {
    let (c, negated) = d.read_predicate(ignore)?;
    let (zero, all) = (d.constant(0), d.constant(size));
    let (a, b) = if negated == NEGATE { (all, zero) } else { (zero, all) };
    let plane = d.temporary(32);
    let choose = shape::select_by_predicate::<u32>(d.level)[0b11];
    d.emit_part(Op { d: plane, a, b, c, ..op(choose) });
    Ok(plane)
}

/// `alloca`.
pub(super) fn allocate(d: &mut Decoder<'_>, alloca: &Alloca) -> Decoded {
    d.image.allocates = true;
    let bits = alloca.ty.bits();
    let (to, a) = (d.write_plane(alloca.d, bits)?, d.read_plane(&alloca.size, bits)?);
    let align = alloca.align.filter(|align| align.is_power_of_two()).map_or(8, |align| align.max(8));
    d.emit(Op { d: to, a, x: d.id.0, y: bits, imm: align, ..op(stack::allocate) });
    Ok(())
}

/// `stacksave`.
pub(super) fn save_stack(d: &mut Decoder<'_>, save: &Stacksave) -> Decoded {
    d.image.allocates = true;
    let to = d.write_plane(save.d, save.ty.bits())?;
    d.emit(Op { d: to, x: d.id.0, y: save.ty.bits(), ..op(stack::save) });
    Ok(())
}

/// `stackrestore`.
pub(super) fn restore_stack(d: &mut Decoder<'_>, restore: &Stackrestore) -> Decoded {
    let a = d.read_plane(&restore.a, restore.ty.bits())?;
    d.emit(Op { a, x: d.id.0, y: restore.ty.bits(), ..op(stack::restore) });
    Ok(())
}
