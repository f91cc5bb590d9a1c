//! Bulk and tensor copies, changes of tensor maps, and multicast memory (PTX ISA, "Data Movement and Conversion":
//! cp.async.bulk and its relatives, tensormap.replace, multimem; tensormap.cp_fenceproxy).

use super::emit::op;
use super::function::Decoder;
use super::operand::Address;
use super::{Decoded, Missing};
use crate::fault::Access;
use crate::memory::SpaceKind;
use crate::ops::bulk::{Bulk, End, Pointer, bulk, copy_tensor_map};
use crate::ops::combine::combine;
use crate::ops::multimem::{self, Multimem, Sum};
use crate::ops::tensor::{Action, TensorCopy, tensor};
use crate::ops::tensor_map::{Replacement, replace};
use crate::ops::{NONE, Op};
use crate::program::Meta;
use crate::tensormap::{Field, MAX_RANK};
use ptx::isa::{Mnemonic, Modifier, Sem, Slot};
use ptx::module::Operand;
use ptx::types::ScalarType;

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    match sem {
        Sem::CpAsyncBulk | Sem::CpReduceAsyncBulk | Sem::CpAsyncBulkPrefetch => bulk_copy(d),
        Sem::CpAsyncBulkTensorLoad
        | Sem::CpAsyncBulkTensorStore
        | Sem::CpReduceAsyncBulkTensor
        | Sem::CpAsyncBulkPrefetchTensor => tensor_copy(d),
        Sem::TensormapReplace => tensormap_replace(d),
        Sem::TensormapCpFenceproxy => tensormap_copy(d),
        Sem::MultimemLoad => multimem_load(d),
        Sem::MultimemStore | Sem::MultimemReduce => multimem_store(d),
        other => Err(format!("{other:?} among the bulk copies")),
    }
}

/// The index of the operand that the table calls `name`, if the form has it and it was written.
fn find(d: &Decoder<'_>, name: &str) -> Option<usize> {
    let index = d.opcode.data().operands.iter().position(|spec| spec.name == name)?;
    (d.operand(index) != Operand::Absent).then_some(index)
}

fn pointer(address: Address) -> Pointer {
    Pointer { a: address.a, y: address.y, imm: address.imm }
}

/// An address operand by name.
fn named_pointer(d: &mut Decoder<'_>, name: &str) -> Result<Option<Pointer>, Missing> {
    match find(d, name) {
        Some(index) => Ok(Some(pointer(d.address(index, 1)?))),
        None => Ok(None),
    }
}

/// A plane of `bits` with a value operand by name, or [`NONE`].
fn named_plane(d: &mut Decoder<'_>, name: &str, bits: u32) -> Result<u32, Missing> {
    match find(d, name) {
        Some(index) => plane(d, d.operand(index), bits),
        None => Ok(NONE),
    }
}

fn plane(d: &mut Decoder<'_>, operand: Operand, bits: u32) -> Result<u32, Missing> {
    let value = d.value(operand, bits)?;
    Ok(d.plane_of(value, bits))
}

/// The memory that a `.dst` or `.src` modifier names.
fn end(modifier: Option<Modifier>) -> End {
    if modifier == Some(Modifier::Global) { End::Global } else { End::Shared }
}

fn bulk_copy(d: &mut Decoder<'_>) -> Decoded {
    if d.opcode.has(Modifier::CpMask) {
        return Err("cp.async.bulk with .cp_mask".to_owned());
    }
    let copy = bulk_of(d)?;
    let a = d.image.bulks.len() as u32;
    d.image.bulks.push(copy);
    d.emit(Op { a, ..op(bulk) });
    Ok(())
}

fn bulk_of(d: &mut Decoder<'_>) -> Result<Bulk, Missing> {
    let opcode = d.opcode;
    let missing = || format!("instruction `{}`", opcode.text());
    let from = named_pointer(d, "[src]")?.ok_or_else(missing)?;
    let to = named_pointer(d, "[dst]")?.map(|to| (end(opcode.get(Slot::Dst)), to));
    let combine = match (opcode.get(Slot::Op), opcode.ty(Slot::Type)) {
        (Some(by), Some(ty)) => Some(combine(by, ty, false).ok_or_else(missing)?),
        _ => None,
    };
    Ok(Bulk {
        from: (end(opcode.get(Slot::Src)), from),
        to,
        size: named_plane(d, "size", 32)?,
        barrier: named_pointer(d, "[mbar]")?,
        ranks: named_plane(d, "ctaMask", 16)?,
        multicast: opcode.mnemonic() == Mnemonic::Multimem,
        combine,
    })
}

/// `tensormap.cp_fenceproxy`.
fn tensormap_copy(d: &mut Decoder<'_>) -> Decoded {
    let copy = bulk_of(d)?;
    let a = d.image.bulks.len() as u32;
    d.image.bulks.push(copy);
    d.emit(Op { a, ..op(copy_tensor_map) });
    Ok(())
}

fn tensor_copy(d: &mut Decoder<'_>) -> Decoded {
    let opcode = d.opcode;
    let mode = opcode.get(Slot::LoadMode);
    let im2col = match mode {
        None | Some(Modifier::Tile) => false,
        Some(Modifier::Im2col | Modifier::Im2colNoOffs) => true,
        Some(other) => return Err(format!("tensor copies with {}", other.text())),
    };
    if let Some(group) = opcode.get(Slot::CtaGroup) {
        return Err(format!("tensor copies with {}", group.text()));
    }
    let rank = match opcode.get(Slot::Dim) {
        Some(Modifier::N1d) => 1,
        Some(Modifier::N2d) => 2,
        Some(Modifier::N3d) => 3,
        Some(Modifier::N4d) => 4,
        _ => 5,
    };
    let action = match (opcode.get(Slot::Op), opcode.get(Slot::Dst)) {
        (Some(by), _) => Action::Reduce(by),
        (None, Some(Modifier::Global)) => Action::Store,
        (None, Some(_)) => Action::Load,
        (None, None) => Action::Prefetch,
    };
    let (map, coordinates) = map_operand(d, rank)?;
    let mut offsets = [NONE; MAX_RANK - 2];
    if let Some(index) = find(d, "im2col") {
        let parts = parts(d, d.operand(index));
        if parts.len() != rank - 2 {
            return Err(format!("{} im2col offsets of a tensor of {rank} dimensions", parts.len()));
        }
        for (offset, part) in offsets.iter_mut().zip(parts) {
            *offset = plane(d, part, 16)?;
        }
    }
    let tile = match action {
        Action::Load => named_pointer(d, "[dst]")?,
        Action::Store | Action::Reduce(_) => named_pointer(d, "[src]")?,
        Action::Prefetch => None,
    };
    let barrier = named_pointer(d, "[mbar]")?;
    let ranks = named_plane(d, "ctaMask", 16)?;
    let copy = TensorCopy { action, map, coordinates, rank, im2col, offsets, tile, barrier, ranks };
    let a = d.image.tensor_copies.len() as u32;
    d.image.tensor_copies.push(copy);
    d.emit(Op { a, ..op(tensor) });
    Ok(())
}

/// The planes of `[tensorMap, {coordinates}]`: the map's generic address, and the coordinates.
fn map_operand(d: &mut Decoder<'_>, rank: usize) -> Result<(u32, [u32; MAX_RANK]), Missing> {
    let index = find(d, "[tensorMap,coords]").ok_or("a tensor copy without a tensor map")?;
    let bracket = parts(d, d.operand(index));
    let [map, coordinates] = bracket[..] else {
        return Err("a tensor map without coordinates".to_owned());
    };
    let values = parts(d, coordinates);
    if values.len() != rank {
        return Err(format!("{} coordinates of a tensor of {rank} dimensions", values.len()));
    }
    let mut coordinates = [NONE; MAX_RANK];
    for (to, value) in coordinates.iter_mut().zip(values) {
        *to = plane(d, value, 32)?;
    }
    Ok((generic_address(d, map)?, coordinates))
}

/// A plane with the generic address that an operand is, or that a variable has.
fn generic_address(d: &mut Decoder<'_>, operand: Operand) -> Result<u32, Missing> {
    let Operand::SymbolAddress { symbol: ptx::module::Symbol::Variable(id), .. } = operand else {
        return plane(d, operand, 64);
    };
    let space = d.space(d.module.variables[id.index()].space)?;
    let window = Decoder::window(space);
    let value = d.value(operand, 64)?;
    let address = d.plane_of(value, 64);
    if window == 0 {
        return Ok(address);
    }
    let to = d.temporary(64);
    d.emit_part(Op { d: to, a: address, imm: window, ..op(crate::ops::tensor_map::add) });
    Ok(to)
}

/// The elements of a vector or bracket.
fn parts(d: &Decoder<'_>, operand: Operand) -> Vec<Operand> {
    match operand {
        Operand::Vector(list) => d.body.elements(&list).to_vec(),
        Operand::Absent => Vec::new(),
        other => vec![other],
    }
}

fn tensormap_replace(d: &mut Decoder<'_>) -> Decoded {
    use Modifier as M;
    let opcode = d.opcode;
    let ordinal = match find(d, "ord").map(|index| d.operand(index)) {
        Some(Operand::Immediate(ordinal)) => ordinal as usize,
        _ => 0,
    };
    let most = |count: usize| match ordinal < count {
        true => Ok(ordinal),
        false => Err(format!("ordinal {ordinal} of a field of {count}")),
    };
    let field = match opcode.get(Slot::Field) {
        Some(M::GlobalAddress) => Field::GlobalAddress,
        Some(M::Rank) => Field::Rank,
        Some(M::BoxDim) => Field::BoxSize(most(MAX_RANK)?),
        Some(M::GlobalDim) => Field::Size(most(MAX_RANK)?),
        // A tensor has one less; an H200 treats a fifth as it does the others, and so changes the upper bits of them all.
        Some(M::GlobalStride) => Field::Stride(most(MAX_RANK)?),
        Some(M::ElementStride) => Field::ElementStride(most(MAX_RANK)?),
        Some(M::Elemtype) => Field::ElementType,
        Some(M::InterleaveLayout) => Field::Interleave,
        Some(M::SwizzleMode) => Field::Swizzle,
        Some(M::FillMode) => Field::Fill,
        other => return Err(format!("tensormap.replace of {}", other.map_or("no field", M::text))),
    };
    let address = d.address(0, 1)?;
    let bits = opcode.ty(Slot::Type).map_or(64, ScalarType::bits);
    let value = named_plane(d, "value", bits)?;
    let replacement = Replacement { address: pointer(address), space: address.space, field, value, bits };
    let a = d.image.replacements.len() as u32;
    d.image.replacements.push(replacement);
    d.emit(Op { a, ..op(replace) });
    Ok(())
}

/// What a multimem instruction moves, with the planes of its vector: their bits, and where they are in the lists.
fn multimem_of(d: &mut Decoder<'_>, planes: &[u32], width: u32, address: usize) -> Result<Multimem, Missing> {
    use ScalarType as T;
    let opcode = d.opcode;
    let ty = opcode.ty(Slot::Type).unwrap_or(T::B32);
    // Packed types are two elements.
    let element = match ty {
        T::F16x2 => T::F16,
        T::Bf16x2 => T::Bf16,
        other => other,
    };
    let missing = || format!("instruction `{}`", opcode.text());
    let sum = match (opcode.get(Slot::Op), opcode.get(Slot::Accumulator) == Some(Modifier::AccF32)) {
        (Some(_), true) if element == T::F16 => Sum::HalfInF32,
        (Some(_), true) => Sum::Bf16InF32,
        (Some(by), false) => Sum::Each(combine(by, element, false).ok_or_else(missing)?),
        (None, _) => Sum::None,
    };
    let bytes = ty.bytes() * planes.len() as u32;
    let address = d.address_in_one_of(address, bytes, &[SpaceKind::Global, SpaceKind::Generic])?;
    let count = planes.len() as u32;
    let list = d.list(planes);
    Ok(Multimem { address: pointer(address), list, count, width, bytes: ty.bytes(), sum })
}

fn emit_multimem(d: &mut Decoder<'_>, site: Multimem, access: Access, execute: crate::ops::Execute) {
    let x = d.image.multimems.len() as u32;
    let Pointer { a, y, imm } = site.address;
    let meta = Meta::Memory { space: SpaceKind::Global, access, bytes: site.bytes * site.count };
    d.image.multimems.push(site);
    d.emit_as(Op { a, y, imm, x, ..op(execute) }, meta);
}

fn multimem_load(d: &mut Decoder<'_>) -> Decoded {
    let bits = d.opcode.ty(Slot::Type).map_or(32, ScalarType::bits);
    let vector = parts(d, d.operand(0));
    let (planes, width) = super::movement::planes_of_elements(d, &vector, bits)?;
    let site = multimem_of(d, &planes, width, 1)?;
    super::movement::order(d);
    emit_multimem(d, site, Access::Load, multimem::load);
    Ok(())
}

/// `multimem.st` and `multimem.red`.
fn multimem_store(d: &mut Decoder<'_>) -> Decoded {
    let bits = d.opcode.ty(Slot::Type).map_or(32, ScalarType::bits);
    super::movement::order(d);
    let mut planes = Vec::new();
    for part in parts(d, d.operand(1)) {
        planes.push(plane(d, part, bits)?);
    }
    let site = multimem_of(d, &planes, bits, 0)?;
    let access = if matches!(site.sum, Sum::None) { Access::Store } else { Access::Atomic };
    emit_multimem(d, site, access, multimem::store);
    Ok(())
}
