//! Bulk and tensor copies, changes of tensor maps, and multicast memory (PTX ISA, "Data Movement and Conversion":
//! cp.async.bulk and its relatives, tensormap.replace, multimem; tensormap.cp_fenceproxy).

use super::decoder::{Decoded, Decoder, Memory, Missing};
use super::movement::order;
use crate::fault::Access;
use crate::image::copy::{Action, Bulk, End, Multimem, Replacement, Sum, TensorCopy};
use crate::lanes::PlaneId;
use crate::memory::SpaceKind;
use crate::operation::kinds::{
    AddOffset, ClusterLaunch, CopyBulk, CopyTensor, CopyTensorMap, LoadMultimem, ReplaceField, StoreMultimem,
    StoreZeros,
};
use crate::operation::{Address as Pointer, Immediate};
use crate::ops::bulk;
use crate::ops::combine::reduction;
use crate::tensormap::{self, MAX_RANK};
use ir::instruction::CpAsyncBulkTensorLoadLoadMode as LoadMode;
use ir::instruction::CpAsyncBulkTensorStoreLoadMode as StoreMode;
use ir::instruction::{
    CpAsyncBulk, CpAsyncBulkPrefetch, CpAsyncBulkPrefetchTensor, CpAsyncBulkTensorLoad,
    CpAsyncBulkTensorStore, CpReduceAsyncBulk, CpReduceAsyncBulkTensor, Dim, MultimemCpAsyncBulk,
    MultimemLoad, MultimemLoadOp, MultimemReduce, MultimemStore, StBulk, TensormapCpFenceproxy,
    TensormapReplace,
};
use ir::operand::{Address, Lookup, Space, Value};
use ptx::module::Symbol;
use ptx::types::ScalarType;

fn pointer(d: &mut Decoder<'_>, address: &Address) -> Result<Pointer, Missing> {
    Ok(d.memory(address, 1)?.address)
}

/// Where a copy ends, in global or in shared memory.
fn end(d: &mut Decoder<'_>, address: &Address) -> Result<(End, Pointer), Missing> {
    let end = if address.space == Space::Global { End::Global } else { End::Shared };
    Ok((end, pointer(d, address)?))
}

/// The mask of the CTAs that get the data.
fn ranks(d: &mut Decoder<'_>, mask: Option<&Value>) -> Result<Option<PlaneId>, Missing> {
    mask.map(|mask| d.read_plane(mask, 16)).transpose()
}

/// A copy of so many bytes and nothing else, or a prefetch.
fn plain(d: &mut Decoder<'_>, to: Option<&Address>, from: &Address, size: &Value) -> Result<Bulk, Missing> {
    let (from, to) = (end(d, from)?, to.map(|to| end(d, to)).transpose()?);
    if let (End::Shared, Some((End::Shared, _))) = (from.0, to) {
        d.emit(ClusterLaunch {})?;
    }
    let size = d.read_plane(size, 32)?;
    Ok(Bulk { from, to, size, barrier: None, ranks: None, multicast: false, reduction: None })
}

/// `cp.async.bulk`.
pub(super) fn copy(d: &mut Decoder<'_>, cp: &CpAsyncBulk) -> Decoded {
    if cp.byte_mask.is_some() {
        return Err("cp.async.bulk with .cp_mask".to_owned());
    }
    let copy = plain(d, Some(&cp.dst), &cp.src, &cp.size)?;
    let barrier = cp.mbar.as_ref().map(|mbar| pointer(d, mbar)).transpose()?;
    let ranks = ranks(d, cp.cta_mask.as_ref())?;
    let site = d.site(Bulk { barrier, ranks, ..copy });
    d.emit(CopyBulk { site })
}

/// `multimem.cp.async.bulk`.
pub(super) fn copy_to_all(d: &mut Decoder<'_>, cp: &MultimemCpAsyncBulk) -> Decoded {
    let copy = plain(d, Some(&cp.dst), &cp.src, &cp.size)?;
    let site = d.site(Bulk { multicast: true, ..copy });
    d.emit(CopyBulk { site })
}

/// `cp.reduce.async.bulk`.
pub(super) fn reduce(d: &mut Decoder<'_>, cp: &CpReduceAsyncBulk) -> Decoded {
    let how = reduction(cp.op.into(), cp.ty, false).ok_or_else(|| no_reduction(cp.ty))?;
    let copy = plain(d, Some(&cp.dst), &cp.src, &cp.size)?;
    let barrier = cp.mbar.as_ref().map(|mbar| pointer(d, mbar)).transpose()?;
    let site = d.site(Bulk { barrier, reduction: Some(how), ..copy });
    d.emit(CopyBulk { site })
}

fn no_reduction(ty: ScalarType) -> Missing {
    format!("a reduction of .{ty}")
}

/// `cp.async.bulk.prefetch`.
pub(super) fn prefetch(d: &mut Decoder<'_>, cp: &CpAsyncBulkPrefetch) -> Decoded {
    let copy = plain(d, None, &cp.src, &cp.size)?;
    let site = d.site(copy);
    d.emit(CopyBulk { site })
}

/// `st.bulk`.
pub(super) fn store(d: &mut Decoder<'_>, st: &StBulk) -> Decoded {
    let (address, bytes) = (d.memory(&st.a, 1)?, d.read_plane(&st.size, 64)?);
    let function = bulk::store_zeros(address.space);
    d.emit(function.with(StoreZeros { address: address.address, bytes }))
}

/// `tensormap.cp_fenceproxy`.
pub(super) fn copy_map(d: &mut Decoder<'_>, cp: &TensormapCpFenceproxy) -> Decoded {
    let copy = plain(d, Some(&cp.dst), &cp.src, &Value::Constant(cp.size))?;
    let site = d.site(copy);
    d.emit(CopyTensorMap { site })
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
    let mut coordinates = [None; MAX_RANK];
    for (to, value) in coordinates.iter_mut().zip(on_each(rank, "coordinates", &tensor.coordinates)?) {
        *to = Some(d.read_plane(value, 32)?);
    }
    let map = generic_address(d, &tensor.object)?;
    let mut offsets = [None; MAX_RANK - 2];
    if let Some(values) = values {
        for (to, value) in offsets.iter_mut().zip(on_each(rank - 2, "im2col offsets", values)?) {
            *to = Some(d.read_plane(value, 16)?);
        }
    }
    Ok(TensorCopy { action, map, coordinates, rank, im2col, offsets, tile: None, barrier: None, ranks: None })
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
    let site = d.site(TensorCopy { tile, barrier, ranks, ..copy });
    d.emit(CopyTensor { site })
}

/// `cp.async.bulk.tensor` to global memory.
pub(super) fn store_tensor(d: &mut Decoder<'_>, cp: &CpAsyncBulkTensorStore) -> Decoded {
    let im2col = (stores_im2col(cp.load_mode)?, None);
    let copy = of_tensor(d, Action::Store, cp.dim, &cp.tensor_map, im2col)?;
    let tile = Some(pointer(d, &cp.src)?);
    let site = d.site(TensorCopy { tile, ..copy });
    d.emit(CopyTensor { site })
}

/// `cp.reduce.async.bulk.tensor`.
pub(super) fn reduce_tensor(d: &mut Decoder<'_>, cp: &CpReduceAsyncBulkTensor) -> Decoded {
    let im2col = (stores_im2col(cp.load_mode.map(StoreMode::from))?, None);
    let copy = of_tensor(d, Action::Reduce(cp.op.into()), cp.dim, &cp.tensor_map, im2col)?;
    let tile = Some(pointer(d, &cp.src)?);
    let site = d.site(TensorCopy { tile, ..copy });
    d.emit(CopyTensor { site })
}

/// `cp.async.bulk.prefetch.tensor`.
pub(super) fn prefetch_tensor(d: &mut Decoder<'_>, cp: &CpAsyncBulkPrefetchTensor) -> Decoded {
    let im2col = (is_im2col(cp.load_mode)?, cp.im2col.as_deref());
    let copy = of_tensor(d, Action::Prefetch, cp.dim, &cp.tensor_map, im2col)?;
    let site = d.site(copy);
    d.emit(CopyTensor { site })
}

/// A plane with the generic address that a value is, or that a variable has.
fn generic_address(d: &mut Decoder<'_>, value: &Value) -> Result<PlaneId, Missing> {
    let Value::Symbol { symbol: Symbol::Variable(id), .. } = *value else { return d.read_plane(value, 64) };
    let window = d.space(d.module.variables[id.index()].space)?.window();
    if window == 0 {
        return d.read_plane(value, 64);
    }
    let Some(a) = d.read(value, 64)?.as_scalar() else {
        return Err("a variable whose address differs between threads".to_owned());
    };
    let address = d.frame.new_scalar();
    d.emit_part(AddOffset { d: address, a, offset: Immediate(window) });
    Ok(d.plane_of(address.into(), 64))
}

/// `tensormap.replace`.
pub(super) fn replace_field(d: &mut Decoder<'_>, cp: &TensormapReplace) -> Decoded {
    let ordinal = cp.ord.unwrap_or(0) as usize;
    if ordinal >= MAX_RANK {
        return Err(format!("ordinal {ordinal} of a field of {MAX_RANK}"));
    }
    let field = tensormap::Field::new(cp.field, ordinal)
        .ok_or_else(|| format!("tensormap.replace of {}", cp.field.modifier().text()))?;
    let Memory { address, space, .. } = d.memory(&cp.addr, 1)?;
    let value = d.read_plane(&cp.value, cp.ty.bits())?;
    let site = d.site(Replacement { address, space, field, value });
    d.emit(ReplaceField { site })
}

fn sum(by: MultimemLoadOp, ty: ScalarType, in_f32: bool) -> Result<Sum, Missing> {
    Sum::new(by, ty, in_f32).ok_or_else(|| no_reduction(ty))
}

/// Where an access of multicast memory is, and what it is to do.
fn multimem(
    d: &mut Decoder<'_>,
    address: &Address,
    planes: impl IntoIterator<Item = Option<PlaneId>>,
    ty: ScalarType,
    sum: Sum,
) -> Result<(Pointer, Multimem), Missing> {
    let planes = d.code.image.add_planes(planes);
    let bytes = ty.bytes() * planes.count;
    let at = d.memory_in_one_of(address, bytes, &[SpaceKind::Global, SpaceKind::Generic])?;
    Ok((at.address, Multimem { planes, bytes: ty.bytes(), sum }))
}

/// `multimem.ld_reduce`.
pub(super) fn load_multimem(d: &mut Decoder<'_>, ld: &MultimemLoad) -> Decoded {
    order(d, ld.order);
    let (planes, _) = d.write_elements(&ld.d, ld.ty.bits(), false)?;
    let sum = sum(ld.op, ld.ty, ld.accumulator)?;
    let bytes = ld.ty.bytes() * planes.len() as u32;
    let (address, site) = multimem(d, &ld.a, planes, ld.ty, sum)?;
    let site = d.site(site);
    d.emit_access((SpaceKind::Global, address), Access::Load, bytes, LoadMultimem { address, site })
}

/// `multimem.st`.
pub(super) fn store_multimem(d: &mut Decoder<'_>, st: &MultimemStore) -> Decoded {
    order(d, st.order);
    scatter(d, (&st.a, Access::Store), &st.b, st.ty, Sum::None)
}

/// `multimem.red`.
pub(super) fn reduce_multimem(d: &mut Decoder<'_>, red: &MultimemReduce) -> Decoded {
    order(d, red.order);
    let sum = sum(red.op, red.ty, false)?;
    scatter(d, (&red.a, Access::Atomic), &red.b, red.ty, sum)
}

fn scatter(
    d: &mut Decoder<'_>,
    (address, access): (&Address, Access),
    values: &[Value],
    ty: ScalarType,
    sum: Sum,
) -> Decoded {
    let planes = d.read_planes(values, ty.bits())?;
    let (address, site) = multimem(d, address, planes.into_iter().map(Some), ty, sum)?;
    let (site, bytes) = (d.site(site), ty.bytes() * values.len() as u32);
    d.emit_access((SpaceKind::Global, address), access, bytes, StoreMultimem { address, site })
}
