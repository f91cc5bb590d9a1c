//! Bulk and tensor copies, changes of tensor maps, and multicast memory (PTX ISA, "Data Movement and Conversion":
//! cp.async.bulk and its relatives, tensormap.replace, multimem; tensormap.cp_fenceproxy).

use super::emit::op;
use super::function::Decoder;
use super::movement::order;
use super::{Decoded, Missing};
use crate::fault::Access;
use crate::memory::SpaceKind;
use crate::ops::bulk::{Bulk, End, Pointer, bulk, copy_tensor_map};
use crate::ops::combine::combine;
use crate::ops::multimem::{self, Multimem, Sum};
use crate::ops::tensor::{Action, TensorCopy, tensor};
use crate::ops::tensor_map::{Replacement, add, replace};
use crate::ops::{Execute, NONE, Op};
use crate::tensormap::{self, MAX_RANK};
use ir::instruction::CpAsyncBulkPrefetchTensorLoadMode as LoadMode;
use ir::instruction::CpAsyncBulkTensorStoreLoadMode as StoreMode;
use ir::instruction::{
    CpAsyncBulk, CpAsyncBulkPrefetch, CpAsyncBulkPrefetchTensor, CpAsyncBulkTensorLoad,
    CpAsyncBulkTensorStore, CpReduceAsyncBulk, CpReduceAsyncBulkTensor, Dim, MultimemCpAsyncBulk,
    MultimemLoad, MultimemLoadOp, MultimemReduce, MultimemStore, TensormapCpFenceproxy, TensormapReplace,
};
use ir::operand::{Address, Lookup, Space, Value};
use ptx::module::Symbol;
use ptx::types::ScalarType;

fn pointer(d: &mut Decoder<'_>, address: &Address) -> Result<Pointer, Missing> {
    let address = d.memory(address, 1)?;
    Ok(Pointer { a: address.a, y: address.y, imm: address.imm })
}

/// Where a copy ends, in global or in shared memory.
fn end(d: &mut Decoder<'_>, address: &Address) -> Result<(End, Pointer), Missing> {
    let end = if address.space == Space::Global { End::Global } else { End::Shared };
    Ok((end, pointer(d, address)?))
}

/// A plane with the CTAs that get the data, or [`NONE`].
fn ranks(d: &mut Decoder<'_>, mask: Option<&Value>) -> Result<u32, Missing> {
    mask.map_or(Ok(NONE), |mask| d.read_plane(mask, 16))
}

/// A copy of so many bytes and nothing else, or a prefetch.
fn plain(d: &mut Decoder<'_>, to: Option<&Address>, from: &Address, size: &Value) -> Result<Bulk, Missing> {
    let (from, to) = (end(d, from)?, to.map(|to| end(d, to)).transpose()?);
    let size = d.read_plane(size, 32)?;
    Ok(Bulk { from, to, size, barrier: None, ranks: NONE, multicast: false, combine: None })
}

/// `cp.async.bulk`.
pub(super) fn copy(d: &mut Decoder<'_>, cp: &CpAsyncBulk) -> Decoded {
    if cp.byte_mask.is_some() {
        return Err("cp.async.bulk with .cp_mask".to_owned());
    }
    let copy = plain(d, Some(&cp.dst), &cp.src, &cp.size)?;
    let barrier = cp.mbar.as_ref().map(|mbar| pointer(d, mbar)).transpose()?;
    let ranks = ranks(d, cp.cta_mask.as_ref())?;
    d.emit_site(bulk, |image| &mut image.bulks, Bulk { barrier, ranks, ..copy })
}

/// `multimem.cp.async.bulk`.
pub(super) fn copy_to_all(d: &mut Decoder<'_>, cp: &MultimemCpAsyncBulk) -> Decoded {
    let copy = plain(d, Some(&cp.dst), &cp.src, &cp.size)?;
    d.emit_site(bulk, |image| &mut image.bulks, Bulk { multicast: true, ..copy })
}

/// `cp.reduce.async.bulk`.
pub(super) fn reduce(d: &mut Decoder<'_>, cp: &CpReduceAsyncBulk) -> Decoded {
    let how = combine(cp.op.into(), cp.ty, false).ok_or_else(|| no_reduction(cp.ty))?;
    let copy = plain(d, Some(&cp.dst), &cp.src, &cp.size)?;
    let barrier = cp.mbar.as_ref().map(|mbar| pointer(d, mbar)).transpose()?;
    d.emit_site(bulk, |image| &mut image.bulks, Bulk { barrier, combine: Some(how), ..copy })
}

fn no_reduction(ty: ScalarType) -> Missing {
    format!("a reduction of .{ty}")
}

/// `cp.async.bulk.prefetch`.
pub(super) fn prefetch(d: &mut Decoder<'_>, cp: &CpAsyncBulkPrefetch) -> Decoded {
    let copy = plain(d, None, &cp.src, &cp.size)?;
    d.emit_site(bulk, |image| &mut image.bulks, copy)
}

/// `tensormap.cp_fenceproxy`.
pub(super) fn copy_map(d: &mut Decoder<'_>, cp: &TensormapCpFenceproxy) -> Decoded {
    let copy = plain(d, Some(&cp.dst), &cp.src, &Value::Constant(cp.size))?;
    d.emit_site(copy_tensor_map, |image| &mut image.bulks, copy)
}

/// What all tensor copies have, with the offsets of im2col mode: prefetches have nothing else.
fn of_tensor(
    d: &mut Decoder<'_>,
    action: Action,
    dim: Dim,
    tensor: &Lookup,
    (im2col, values): (bool, Option<&[Value]>),
) -> Result<TensorCopy, Missing> {
    let rank = dim as usize + 1;
    let mut coordinates = [NONE; MAX_RANK];
    for (to, value) in coordinates.iter_mut().zip(on_each(rank, "coordinates", &tensor.coordinates)?) {
        *to = d.read_plane(value, 32)?;
    }
    let map = generic_address(d, &tensor.object)?;
    let mut offsets = [NONE; MAX_RANK - 2];
    if let Some(values) = values {
        for (to, value) in offsets.iter_mut().zip(on_each(rank - 2, "im2col offsets", values)?) {
            *to = d.read_plane(value, 16)?;
        }
    }
    Ok(TensorCopy { action, map, coordinates, rank, im2col, offsets, tile: None, barrier: None, ranks: NONE })
}

/// Values of which there must be so many.
fn on_each<'v>(count: usize, what: &str, values: &'v [Value]) -> Result<&'v [Value], Missing> {
    match values.len() == count {
        true => Ok(values),
        false => Err(format!("{} {what} of a tensor where {count} are needed", values.len())),
    }
}

/// Whether a load or prefetch is in im2col mode.
fn is_im2col(mode: Option<LoadMode>) -> Result<bool, Missing> {
    match mode {
        None | Some(LoadMode::Tile) => Ok(false),
        Some(LoadMode::Im2col) => Ok(true),
        Some(mode @ (LoadMode::TileGather4 | LoadMode::Im2colW | LoadMode::Im2colW128)) => {
            Err(format!("tensor copies with {}", mode.modifier().text()))
        }
    }
}

/// Whether a store or reduction is in im2col mode.
fn stores_im2col(mode: Option<StoreMode>) -> Result<bool, Missing> {
    match mode {
        None | Some(StoreMode::Tile) => Ok(false),
        Some(StoreMode::Im2colNoOffs) => Ok(true),
        Some(mode @ StoreMode::TileScatter4) => Err(format!("tensor copies with {}", mode.modifier().text())),
    }
}

/// `cp.async.bulk.tensor` to shared memory.
pub(super) fn load_tensor(d: &mut Decoder<'_>, cp: &CpAsyncBulkTensorLoad) -> Decoded {
    if let Some(group) = cp.cta_group {
        return Err(format!("tensor copies with {}", group.modifier().text()));
    }
    let im2col = (is_im2col(cp.load_mode)?, cp.im2col.as_deref());
    let copy = of_tensor(d, Action::Load, cp.dim, &cp.tensor_map, im2col)?;
    let (tile, barrier) = (Some(pointer(d, &cp.dst)?), Some(pointer(d, &cp.mbar)?));
    let ranks = ranks(d, cp.cta_mask.as_ref())?;
    d.emit_site(tensor, |image| &mut image.tensor_copies, TensorCopy { tile, barrier, ranks, ..copy })
}

/// `cp.async.bulk.tensor` to global memory.
pub(super) fn store_tensor(d: &mut Decoder<'_>, cp: &CpAsyncBulkTensorStore) -> Decoded {
    let im2col = (stores_im2col(cp.load_mode)?, None);
    let copy = of_tensor(d, Action::Store, cp.dim, &cp.tensor_map, im2col)?;
    let tile = Some(pointer(d, &cp.src)?);
    d.emit_site(tensor, |image| &mut image.tensor_copies, TensorCopy { tile, ..copy })
}

/// `cp.reduce.async.bulk.tensor`.
pub(super) fn reduce_tensor(d: &mut Decoder<'_>, cp: &CpReduceAsyncBulkTensor) -> Decoded {
    let im2col = (stores_im2col(cp.load_mode.map(StoreMode::from))?, None);
    let copy = of_tensor(d, Action::Reduce(cp.op.into()), cp.dim, &cp.tensor_map, im2col)?;
    let tile = Some(pointer(d, &cp.src)?);
    d.emit_site(tensor, |image| &mut image.tensor_copies, TensorCopy { tile, ..copy })
}

/// `cp.async.bulk.prefetch.tensor`.
pub(super) fn prefetch_tensor(d: &mut Decoder<'_>, cp: &CpAsyncBulkPrefetchTensor) -> Decoded {
    let im2col = (is_im2col(cp.load_mode)?, cp.im2col.as_deref());
    let copy = of_tensor(d, Action::Prefetch, cp.dim, &cp.tensor_map, im2col)?;
    d.emit_site(tensor, |image| &mut image.tensor_copies, copy)
}

/// A plane with the generic address that a value is, or that a variable has.
fn generic_address(d: &mut Decoder<'_>, value: &Value) -> Result<u32, Missing> {
    let a = d.read_plane(value, 64)?;
    let Value::Symbol { symbol: Symbol::Variable(id), .. } = *value else { return Ok(a) };
    let imm = Decoder::window(d.space(d.module.variables[id.index()].space)?);
    if imm == 0 {
        return Ok(a);
    }
    let to = d.temporary(64);
    d.emit_part(Op { d: to, a, imm, ..op(add) });
    Ok(to)
}

/// `tensormap.replace`.
pub(super) fn replace_field(d: &mut Decoder<'_>, cp: &TensormapReplace) -> Decoded {
    let ordinal = cp.ord.unwrap_or(0) as usize;
    if ordinal >= MAX_RANK {
        return Err(format!("ordinal {ordinal} of a field of {MAX_RANK}"));
    }
    let field = tensormap::Field::new(cp.field, ordinal)
        .ok_or_else(|| format!("tensormap.replace of {}", cp.field.modifier().text()))?;
    let address = d.memory(&cp.addr, 1)?;
    let at = Pointer { a: address.a, y: address.y, imm: address.imm };
    let bits = cp.ty.bits();
    let value = d.read_plane(&cp.value, bits)?;
    let site = Replacement { address: at, space: address.space, field, value, bits };
    d.emit_site(replace, |image| &mut image.replacements, site)
}

fn sum(by: MultimemLoadOp, ty: ScalarType, in_f32: bool) -> Result<Sum, Missing> {
    Sum::new(by, ty, in_f32).ok_or_else(|| no_reduction(ty))
}

/// Emits an instruction on planes of `width` bits.
fn emit_multimem(
    d: &mut Decoder<'_>,
    execute: Execute,
    (address, access): (&Address, Access),
    (planes, width): (&[u32], u32),
    ty: ScalarType,
    sum: Sum,
) -> Decoded {
    let (count, bytes) = (planes.len() as u32, ty.bytes() * planes.len() as u32);
    let at = d.memory_in_one_of(address, bytes, &[SpaceKind::Global, SpaceKind::Generic])?;
    let (list, x) = (d.list(planes), d.image.multimems.len() as u32);
    d.image.multimems.push(Multimem { list, count, width, bytes: ty.bytes(), sum });
    let at = super::operand::Address { space: SpaceKind::Global, ..at };
    d.emit_access(at, access, bytes, Op { x, ..op(execute) });
    Ok(())
}

/// `multimem.ld_reduce`.
pub(super) fn load_multimem(d: &mut Decoder<'_>, ld: &MultimemLoad) -> Decoded {
    order(d, ld.order);
    let (planes, width) = d.write_elements(&ld.d, ld.ty.bits(), false)?;
    let sum = sum(ld.op, ld.ty, ld.accumulator)?;
    emit_multimem(d, multimem::load, (&ld.a, Access::Load), (&planes, width), ld.ty, sum)
}

/// `multimem.st`.
pub(super) fn store_multimem(d: &mut Decoder<'_>, st: &MultimemStore) -> Decoded {
    order(d, st.order);
    let planes = d.read_planes(&st.b, st.ty.bits())?;
    let on = (&*planes, st.ty.bits());
    emit_multimem(d, multimem::store, (&st.a, Access::Store), on, st.ty, Sum::None)
}

/// `multimem.red`.
pub(super) fn reduce_multimem(d: &mut Decoder<'_>, red: &MultimemReduce) -> Decoded {
    order(d, red.order);
    let planes = d.read_planes(&red.b, red.ty.bits())?;
    let (on, sum) = ((&*planes, red.ty.bits()), sum(red.op, red.ty, false)?);
    emit_multimem(d, multimem::store, (&red.a, Access::Atomic), on, red.ty, sum)
}
