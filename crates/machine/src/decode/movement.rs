//! Data movement (PTX ISA, "Data Movement and Conversion Instructions" without cvt, and "Stack Manipulation
//! Instructions").

use super::decoder::{Decode, Decoded, Decoder, Memory, Missing, decoders};
use super::mbarrier::{complete, phase};
use super::operand::{plane_bits, resized};
use crate::fault::Access;
use crate::image::asynchronous::Completes;
use crate::image::copy::AsyncCopy;
use crate::image::places::Home;
use crate::image::{Meta, ZERO};
use crate::lanes::PlaneId;
use crate::operation::Immediate;
use crate::operation::kinds::{
    Allocate, AwaitGroups, ClusterLaunch, CommitGroup, CopyAsync, ExtractElement, Fence, InsertElement, Load,
    LoadPair, LoadParameter, LoadVector, Look, MovePredicate, Nothing, Pause, ReadSpecial, RestoreStack,
    SaveStack, Store, StorePair, StoreVector,
};
use crate::ops::element;
use crate::ops::memory::{self, Loads, Stores, Transfer, transfer};
use crate::ops::shape::Hot;
use crate::ops::special::reader;
use ir::instruction::{CpAsyncCop, Ld, MovUnpack};
use ir::lane_function;
use ir::operand::{Address, Def, Predicate, Value};
use ptx::isa::{Group, Order};
use ptx::module::AddressBase;
use ptx::types::{ScalarType, StateSpace, TypeKind};

/// `to = a`, both of `bits`.
pub(super) fn copy(d: &mut Decoder<'_>, to: Def, a: Value, bits: u32) -> Decoded {
    lane_function!(Copy16: Unary(a: u16) -> u16 { a });
    lane_function!(Copy32: Unary(a: u32) -> u32 { a });
    lane_function!(Copy64: Unary(a: u64) -> u64 { a });
    match bits {
        16 => d.lanewise::<Copy16, 1, Hot>(to, [a]),
        32 => d.lanewise::<Copy32, 1, Hot>(to, [a]),
        _ => d.lanewise::<Copy64, 1, Hot>(to, [a]),
    }
}

decoders! { d, op:
    // A special register goes straight to its destination.
    Mov => match op.ty.bits() {
        128 => {
            let (to, from) = (d.write_pair(op.d)?, d.read_pair(&op.a)?);
            to.into_iter().zip(from).try_for_each(|(to, from)| d.emit(resized(to, from)))
        }
        bits => match (op.a, d.place_for_special(op.d, &op.a, bits)) {
            (Value::Special { register, component }, Some(to)) => {
                d.emit(reader(to).with(ReadSpecial { d: to, register, component }))
            }
            _ => copy(d, op.d, op.a, bits),
        },
    };
    MovVector => match &*op.a {
        [whole] => spread(d, &op.d, *whole, op.ty.bits()),
        elements => {
            // Through temporaries: a destination may be another element's source.
            let copies = elements.iter().map(|element| {
                let (copy, from) = (d.frame.temporary(plane_bits(op.ty.bits())), d.read_plane(element, op.ty.bits())?);
                d.emit_part(resized(copy, from));
                Ok(copy)
            });
            let copies = copies.collect::<Result<Vec<_>, Missing>>()?;
            op.d.iter().zip(copies).try_for_each(|(&to, copy)| match d.write_or_drop(to, op.ty.bits())? {
                Some(to) => d.emit(resized(to, copy)),
                None => Ok(()),
            })
        }
    };
    MovPred => {
        let to = d.write_predicate(Some(op.d))?;
        let a = d.read_predicate(&Predicate { value: op.a, negated: false })?;
        d.emit(MovePredicate { d: to, a })
    };
    // A cache policy is opaque and changes no value: zero is as good as any.
    Createpolicy | CreatepolicyCvt => {
        let to = d.write_plane(op.d, 64)?;
        d.emit_splat(to, ZERO)
    };
    // Prefetches change nothing.
    Prefetch => d.emit(Nothing {});
    CpAsyncCommitGroup => d.emit_if_late(CommitGroup { group: Group::Copy });
    CpAsyncBulkCommitGroup => d.emit_if_late(CommitGroup { group: Group::Bulk });
    CpAsyncWaitGroup => d.emit_if_late(AwaitGroups {
        group: Group::Copy, but: op.n as u32, reads: false, uncommitted: false
    });
    CpAsyncWaitAll => d.emit_if_late(AwaitGroups {
        group: Group::Copy, but: 0, reads: false, uncommitted: true
    });
    CpAsyncBulkWaitGroup => d.emit_if_late(AwaitGroups {
        group: Group::Bulk, but: op.n as u32, reads: op.read, uncommitted: false
    });
    St => {
        order(d, op.order);
        match (op.ty.bits(), &*op.b) {
            (128, [value]) => {
                let [low, high] = d.read_pair(value)?;
                let at = d.memory(&op.a, 16)?;
                let store = StorePair { low, high, address: at.address };
                d.emit_access(at, Access::Store, 16, memory::pair_store(at.space).with(store))
            }
            _ => store_elements(d, op.ty, &op.a, &op.b, false),
        }
    };
    StAsync => {
        order(d, op.order);
        d.emit(ClusterLaunch {})?;
        let completes = phase(d, &op.mbar, None)?;
        d.performed_later(completes);
        store_elements(d, op.ty, &op.a, &op.b, true)?;
        complete(d, &op.mbar, op.ty.bytes() * op.b.len() as u32)
    };
    // Nothing could tell that it is done, and nothing is done.
    StAsyncDropped => d.emit(Nothing {});
    // It is a release when it is performed: what the thread did before is done by then.
    StAsyncRelease => {
        order(d, Order::Release);
        d.performed_later(Completes::Nothing);
        store_elements(d, op.ty, &op.a, std::slice::from_ref(&op.b), true)
    };
    CpAsync => {
        let size = op.size as u32;
        let (to, from) = (d.memory(&op.dst, size)?, d.memory(&op.src, size)?);
        let read = match (&op.srcsize, &op.ignore) {
            (Some(bytes), _) => Some(d.read_plane(bytes, 32)?),
            (None, Some(ignore)) => Some(bytes_unless(d, ignore, op.size)?),
            (None, None) => None,
        };
        d.performed_later(Completes::Group(Group::Copy));
        let in_turn = op.cop == CpAsyncCop::Ca;
        let site = d.site(AsyncCopy { target: to.address, size, read, in_turn });
        d.emit_access(from, Access::Load, size, CopyAsync { source: from.address, site })
    };
    Alloca => {
        d.code.image.allocates = true;
        let bits = op.ty.bits();
        let (to, size) = (d.write_plane(op.d, bits)?, d.read_plane(&op.size, bits)?);
        let align = op.align.filter(|align| align.is_power_of_two()).map_or(8, |align| align.max(8));
        d.emit(Allocate { d: to, size, function: d.function.id, align: Immediate(align) })
    };
    Stacksave => {
        d.code.image.allocates = true;
        let to = d.write_plane(op.d, op.ty.bits())?;
        d.emit(SaveStack { d: to, function: d.function.id })
    };
    Stackrestore => {
        let a = d.read_plane(&op.a, op.ty.bits())?;
        d.emit(RestoreStack { a, function: d.function.id })
    };
}

/// The bits of each of so many parts of a register, and the word and the bit there at which each begins: the first is the
/// lowest.
fn parts(bits: u32, count: usize) -> (u32, impl Iterator<Item = (usize, u8)>) {
    let part = (bits / count.max(1) as u32).max(1);
    (part, (0_usize..).step_by(part as usize).map(|bit| (bit / 64, (bit % 64) as u8)))
}

/// `mov.b64 d, {a, b}`. It goes through temporaries: a destination may be one of the parts.
pub(super) fn pack(d: &mut Decoder<'_>, to: Def, bits: u32, elements: &[Value]) -> Decoded {
    let word = plane_bits(bits.min(64));
    let (part, places) = parts(bits, elements.len());
    let words: Vec<PlaneId> = (0..bits.div_ceil(64)).map(|_| d.frame.temporary(word)).collect();
    for (value, (index, at)) in elements.iter().zip(places) {
        let a = d.read_plane(value, plane_bits(part))?;
        let insert = InsertElement { d: words[index], a, at, bits: part as u8, whole: at == 0 };
        d.emit_part(element::insert(plane_bits(part), word).with(insert));
    }
    let to = match bits {
        128 => d.write_pair(to)?.to_vec(),
        _ => vec![d.write_plane(to, word)?],
    };
    to.into_iter().zip(words).try_for_each(|(to, from)| d.emit(resized(to, from)))
}

/// `mov.b64 {a, b}, d`. It reads a copy: the source may be one of the parts.
impl Decode for MovUnpack {
    fn decode(&self, d: &mut Decoder<'_>) -> Decoded {
        let (bits, word) = (self.ty.bits(), plane_bits(self.ty.bits().min(64)));
        let (part, places) = parts(bits, self.d.len());
        let mut words = match bits {
            128 => d.read_pair(&self.a)?.to_vec(),
            _ => vec![d.read_plane(&self.a, word)?],
        };
        for from in &mut words {
            let copy = d.frame.temporary(word);
            d.emit_part(resized(copy, *from));
            *from = copy;
        }
        for (&def, (index, at)) in self.d.iter().zip(places) {
            if let Some(to) = d.write_or_drop(def, plane_bits(part))? {
                let extract = ExtractElement { d: to, a: words[index], at, bits: part as u8 };
                d.emit(element::extract(word, plane_bits(part)).with(extract))?;
            }
        }
        Ok(())
    }
}

/// `mov.v4` of one value, as ptxas has it: a word's bytes, or a half and zeros behind it.
fn spread(d: &mut Decoder<'_>, to: &[Def], value: Value, bits: u32) -> Decoded {
    let part = if bits == 32 { 8 } else { 16 };
    let (copy, from) = (d.frame.temporary(64), d.read_plane(&value, bits)?);
    d.emit_part(resized(copy, from));
    for (&def, at) in to.iter().zip((0_u8..).step_by(part)) {
        if let Some(to) = d.write_or_drop(def, bits)? {
            let extract = ExtractElement { d: to, a: copy, at, bits: part as u8 };
            d.emit(element::extract(64, bits).with(extract))?;
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
impl Decode for Ld {
    fn decode(&self, d: &mut Decoder<'_>) -> Decoded {
        order(d, self.order);
        let (bits, bytes) = (self.ty.bits(), self.ty.bytes() * self.d.len() as u32);
        if bits == 128 {
            let [low, high] = d.write_pair(self.d.first().copied().unwrap_or(Def(None)))?;
            let at = d.memory(&self.a, 16)?;
            let load = LoadPair { low, high, address: at.address };
            return d.emit_access(at, Access::Load, 16, memory::pair_load(at.space).with(load));
        }
        if let [Def(Some(register))] = *self.d
            && let Home::Scalar(to) = d.home(register)
        {
            if !is_parameter(d, self) {
                return Err("a scalar from memory".to_owned());
            }
            let at = d.memory(&self.a, bytes)?;
            let function = memory::parameter(bytes).ok_or("a parameter of this width")?;
            let load = LoadParameter { d: to, address: at.address };
            return d.emit_access(at, Access::Load, bytes, function.with(load));
        }
        let signed = self.ty.kind() == TypeKind::Signed;
        let (planes, width) = d.write_elements(&self.d, bits, signed)?;
        let at @ Memory { address, pattern, space, .. } = d.memory(&self.a, bytes)?;
        let moved = Transfer { space, memory: bits, register: width };
        let op = match planes[..] {
            // A load whose value is dropped still accesses memory.
            [plane] => {
                let to = plane.unwrap_or_else(|| d.frame.temporary(width));
                let function = transfer(moved, Loads { signed }, d.level);
                function.map(|function| function.with(Load { d: to, pattern, address }))
            }
            _ => {
                let to = d.code.image.add_planes(planes.iter().copied());
                let function = transfer(moved, Loads { signed }, d.level);
                function.map(|function| function.with(LoadVector { d: to, pattern, address }))
            }
        };
        let op = op.ok_or_else(|| format!("a load of {bits} bits to {width}"))?;
        d.emit_access(at, Access::Load, bytes, op)?;
        if self.order != Order::Weak {
            look(d, planes[0]);
        }
        Ok(())
    }
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
    let at @ Memory { address, pattern, space, .. } = d.memory(address, bytes)?;
    let moved = Transfer { space, memory: bits, register: width };
    let op = match planes[..] {
        [a] => {
            let function = transfer(moved, Stores, d.level);
            function.map(|function| function.with(Store { a, pattern, in_turn, address }))
        }
        _ => {
            let a = d.code.image.add_planes(planes.into_iter().map(Some));
            let function = transfer(moved, Stores, d.level);
            function.map(|function| function.with(StoreVector { a, pattern, in_turn, address }))
        }
    };
    let op = op.ok_or_else(|| format!("a store of {bits} bits from {width}"))?;
    d.emit_access(at, Access::Store, bytes, op)
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
