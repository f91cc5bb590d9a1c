//! Bulk and tensor copies, changes of tensor maps, and multicast memory (PTX ISA, "Data Movement and Conversion":
//! cp.async.bulk and its relatives, tensormap.replace, multimem; tensormap.cp_fenceproxy).

use super::decoder::{Decoded, Decoder, Memory, Missing, decoders};
use super::movement::order;
use crate::fault::Access;
use crate::image::asynchronous::Completes;
use crate::image::copy::{Action, Bulk, End, Multimem, Narrow, Ranks, Replacement, Sum, TensorCopy};
use crate::lanes::PlaneId;
use crate::memory::{SHARED_WINDOW, SpaceKind};
use crate::operation::kinds::{
    ClusterLaunch, CopyBulk, CopyTensor, CopyTensorMap, LoadMultimem, ReplaceField, StoreMultimem, StoreZeros,
};
use crate::operation::{Address as Pointer, Site};
use crate::ops::bulk::store_zeros;
use crate::ops::combine::reduction;
use crate::tensormap::{Field, MAX_RANK, Mode};
use ir::instruction::CpAsyncBulkTensorLoadLoadMode as LoadMode;
use ir::instruction::CpAsyncBulkTensorStoreLoadMode as StoreMode;
use ir::instruction::{CtaGroup, Dim, MultimemLoadNarrowOp, MultimemLoadNarrowType, MultimemLoadOp};
use ir::operand::{Address, Lookup, Space, Value};
use ptx::isa::Group;
use ptx::module::Symbol;
use ptx::types::ScalarType;

decoders! { d, op:
    CpAsyncBulk => {
        let copy = plain(d, Some(&op.dst), &op.src, &op.size)?;
        let barrier = op.mbar.as_ref().map(|mbar| pointer(d, mbar)).transpose()?;
        let ranks = ranks(d, op.cta_mask.as_ref(), None)?;
        let byte_mask = op.byte_mask.as_ref().map(|mask| d.read_plane(mask, 16)).transpose()?;
        d.performed_later(completes(barrier, ranks));
        d.emit_with(Bulk { barrier, ranks, byte_mask, ..copy }, |site| CopyBulk { site })
    };
    MultimemCpAsyncBulk => {
        let copy = plain(d, Some(&op.dst), &op.src, &op.size)?;
        d.performed_later(completes(None, None));
        d.emit_with(Bulk { multicast: true, ..copy }, |site| CopyBulk { site })
    };
    CpReduceAsyncBulk => {
        let reduction = Some(reduction(op.op.into(), op.ty, false).ok_or_else(|| no_reduction(op.ty))?);
        let copy = plain(d, Some(&op.dst), &op.src, &op.size)?;
        let barrier = op.mbar.as_ref().map(|mbar| pointer(d, mbar)).transpose()?;
        d.performed_later(completes(barrier, None));
        d.emit_with(Bulk { barrier, reduction, ..copy }, |site| CopyBulk { site })
    };
    CpAsyncBulkPrefetch => {
        let copy = plain(d, None, &op.src, &op.size)?;
        d.emit_with(copy, |site| CopyBulk { site })
    };
    StBulk => {
        let (at, bytes) = (d.memory(&op.a, 1)?, d.read_plane(&op.size, 64)?);
        d.emit(store_zeros(at.space).with(StoreZeros { address: at.address, bytes }))
    };
    TensormapCpFenceproxy => {
        let copy = plain(d, Some(&op.dst), &op.src, &Value::Constant(op.size))?;
        d.emit_with(copy, |site| CopyTensorMap { site })
    };
    CpAsyncBulkTensorLoad => {
        let mode = (mode_of_load(op.load_mode), op.im2col.as_deref());
        let copy = of_tensor(d, Action::Load, op.dim, &op.tensor_map, mode)?;
        let (tile, barrier) = (Some(pointer(d, &op.dst)?), Some(pointer(d, &op.mbar)?));
        let ranks = ranks(d, op.cta_mask.as_ref(), op.cta_group)?;
        d.performed_later(completes(barrier, ranks));
        d.emit_with(TensorCopy { tile, barrier, ranks, ..copy }, |site| CopyTensor { site })
    };
    CpAsyncBulkTensorStore => {
        let mode = mode_of_store(op.load_mode);
        from_tile(d, Action::Store, op.dim, &op.tensor_map, mode, &op.src)
    };
    CpReduceAsyncBulkTensor => {
        let mode = mode_of_store(op.load_mode.map(StoreMode::from));
        from_tile(d, Action::Reduce(op.op.into()), op.dim, &op.tensor_map, mode, &op.src)
    };
    CpAsyncBulkPrefetchTensor => {
        let mode = (mode_of_load(op.load_mode), op.im2col.as_deref());
        let copy = of_tensor(d, Action::Prefetch, op.dim, &op.tensor_map, mode)?;
        d.emit_with(copy, |site| CopyTensor { site })
    };
    TensormapReplace => {
        let ordinal = op.ord.unwrap_or(0) as usize;
        if ordinal >= MAX_RANK {
            return Err(format!("ordinal {ordinal} of a field of {MAX_RANK}"));
        }
        let field = Field::new(op.field, ordinal);
        let at = d.memory(&op.addr, 1)?;
        let value = d.read_plane(&op.value, op.ty.bits())?;
        let replacement = Replacement { address: at.address, space: at.space, field, value };
        d.emit_with(replacement, |site| ReplaceField { site })
    };
    MultimemLoad => {
        order(d, op.order);
        let (planes, _) = d.write_elements(&op.d, op.ty.bits(), false)?;
        let sum = sum(op.op, op.ty, op.accumulator)?;
        let (at, bytes, site) = multimem(d, &op.a, planes, op.ty, sum)?;
        d.emit_access(at, Access::Load, bytes, LoadMultimem { address: at.address, site })
    };
    MultimemLoadNarrow => {
        order(d, op.order);
        let (element, sum) = narrow(op.op, op.ty, op.accumulator);
        let (planes, _) = d.write_elements(&op.d, element.bits(), false)?;
        let (at, bytes, site) = multimem(d, &op.a, planes, element, sum)?;
        d.emit_access(at, Access::Load, bytes, LoadMultimem { address: at.address, site })
    };
    MultimemStoreNarrow => {
        order(d, op.order);
        scatter(d, (&op.a, Access::Store), &op.b, held(op.ty), Sum::None)
    };
    MultimemStore => {
        order(d, op.order);
        scatter(d, (&op.a, Access::Store), &op.b, op.ty, Sum::None)
    };
    MultimemReduce => {
        order(d, op.order);
        let sum = sum(op.op, op.ty, false)?;
        scatter(d, (&op.a, Access::Atomic), &op.b, op.ty, sum)
    };
}

fn pointer(d: &mut Decoder<'_>, address: &Address) -> Result<Pointer, Missing> {
    Ok(d.memory(address, 1)?.address)
}

/// Where a copy ends, in global or in shared memory.
fn end(d: &mut Decoder<'_>, address: &Address) -> Result<(End, Pointer), Missing> {
    let end = if address.space == Space::Global { End::Global } else { End::Shared };
    Ok((end, pointer(d, address)?))
}

/// The CTAs that get the data.
fn ranks(
    d: &mut Decoder<'_>,
    mask: Option<&Value>,
    group: Option<CtaGroup>,
) -> Result<Option<Ranks>, Missing> {
    let by_pairs = group == Some(CtaGroup::CtaGroup2);
    mask.map(|mask| Ok(Ranks { mask: d.read_plane(mask, 16)?, by_pairs })).transpose()
}

/// What forces a copy: the phase of the object that it tells, or a wait for its group.
fn completes(barrier: Option<Pointer>, ranks: Option<Ranks>) -> Completes {
    match barrier {
        Some(object) => Completes::Phase { object: (object, SHARED_WINDOW), ranks, arrival: None },
        None => Completes::Group(Group::Bulk),
    }
}

/// A copy of so many bytes and nothing else, or a prefetch.
fn plain(d: &mut Decoder<'_>, to: Option<&Address>, from: &Address, size: &Value) -> Result<Bulk, Missing> {
    let (from, to) = (end(d, from)?, to.map(|to| end(d, to)).transpose()?);
    if let (End::Shared, Some((End::Shared, _))) = (from.0, to) {
        d.emit(ClusterLaunch {})?;
    }
    let size = d.read_plane(size, 32)?;
    Ok(Bulk {
        from,
        to,
        size,
        barrier: None,
        ranks: None,
        byte_mask: None,
        multicast: false,
        reduction: None,
    })
}

fn no_reduction(ty: ScalarType) -> Missing {
    format!("a reduction of .{ty}")
}

/// What all tensor copies have, with the offsets of im2col mode: prefetches have nothing else.
fn of_tensor(
    d: &mut Decoder<'_>,
    action: Action,
    dim: Dim,
    tensor: &Lookup,
    (mode, values): (Mode, Option<&[Value]>),
) -> Result<TensorCopy, Missing> {
    let rank = dim as usize + 1;
    let mut coordinates = [None; MAX_RANK];
    let given = on_each(mode.coordinates(rank), "coordinates", &tensor.coordinates)?;
    for (to, value) in coordinates.iter_mut().zip(given) {
        *to = Some(d.read_plane(value, 32)?);
    }
    let map = generic_address(d, &tensor.object)?;
    let mut offsets = [None; MAX_RANK - 2];
    if let Some(values) = values {
        for (to, value) in offsets.iter_mut().zip(on_each(mode.offsets(rank), "im2col offsets", values)?) {
            *to = Some(d.read_plane(value, 16)?);
        }
    }
    Ok(TensorCopy { action, map, coordinates, rank, mode, offsets, tile: None, barrier: None, ranks: None })
}

/// Values of which there must be so many.
fn on_each<'v>(count: usize, what: &str, values: &'v [Value]) -> Result<&'v [Value], Missing> {
    match values.len() == count {
        true => Ok(values),
        false => Err(format!("{} {what} of a tensor where {count} are needed", values.len())),
    }
}

/// The mode of a load or prefetch.
fn mode_of_load(mode: Option<LoadMode>) -> Mode {
    match mode {
        None | Some(LoadMode::Tile) => Mode::Tile,
        Some(LoadMode::TileGather4) => Mode::Rows,
        Some(LoadMode::Im2col) => Mode::Im2col,
        Some(LoadMode::Im2colW) => Mode::Im2colW,
        Some(LoadMode::Im2colW128) => Mode::Im2colW128,
    }
}

/// The mode of a store or reduction.
fn mode_of_store(mode: Option<StoreMode>) -> Mode {
    match mode {
        None | Some(StoreMode::Tile) => Mode::Tile,
        Some(StoreMode::TileScatter4) => Mode::Rows,
        Some(StoreMode::Im2colNoOffs) => Mode::Im2col,
    }
}

/// A copy of a tile to global memory.
fn from_tile(
    d: &mut Decoder<'_>,
    action: Action,
    dim: Dim,
    tensor: &Lookup,
    mode: Mode,
    tile: &Address,
) -> Decoded {
    let copy = of_tensor(d, action, dim, tensor, (mode, None))?;
    let tile = Some(pointer(d, tile)?);
    d.performed_later(completes(None, None));
    d.emit_with(TensorCopy { tile, ..copy }, |site| CopyTensor { site })
}

/// A plane with the generic address that a value is, or that a variable has.
fn generic_address(d: &mut Decoder<'_>, value: &Value) -> Result<PlaneId, Missing> {
    let Value::Symbol { symbol: Symbol::Variable(id), .. } = *value else { return d.read_plane(value, 64) };
    let window = d.space_of_variable(id).window();
    match d.read(value, 64)?.as_scalar() {
        Some(address) if window != 0 => {
            let address = d.offset(address, window);
            Ok(d.plane_of(address.into(), 64))
        }
        _ => d.read_plane(value, 64),
    }
}

fn sum(by: MultimemLoadOp, ty: ScalarType, in_f32: bool) -> Result<Sum, Missing> {
    Sum::new(by, ty, in_f32).ok_or_else(|| no_reduction(ty))
}

/// What holds so many elements of 8 bits.
fn held(ty: MultimemLoadNarrowType) -> ScalarType {
    match ty {
        MultimemLoadNarrowType::E4m3 | MultimemLoadNarrowType::E5m2 => ScalarType::B8,
        MultimemLoadNarrowType::E4m3x2 | MultimemLoadNarrowType::E5m2x2 => ScalarType::B16,
        MultimemLoadNarrowType::E4m3x4 | MultimemLoadNarrowType::E5m2x4 => ScalarType::B32,
    }
}

/// What holds elements of 8 bits, and how these become one.
fn narrow(by: MultimemLoadNarrowOp, ty: MultimemLoadNarrowType, in_f16: bool) -> (ScalarType, Sum) {
    let how = match (by, in_f16) {
        (MultimemLoadNarrowOp::Add, false) => Narrow::Add,
        (MultimemLoadNarrowOp::Add, true) => Narrow::AddInF16,
        (MultimemLoadNarrowOp::Min, _) => Narrow::Min,
        (MultimemLoadNarrowOp::Max, _) => Narrow::Max,
    };
    use MultimemLoadNarrowType::{E4m3, E4m3x2, E4m3x4, E5m2, E5m2x2, E5m2x4};
    let sum = match ty {
        E4m3 | E4m3x2 | E4m3x4 => Sum::E4m3(how),
        E5m2 | E5m2x2 | E5m2x4 => Sum::E5m2(how),
    };
    (held(ty), sum)
}

/// Where an access of multicast memory is, how many bytes a lane has of it, and what it is to do.
fn multimem(
    d: &mut Decoder<'_>,
    address: &Address,
    planes: impl IntoIterator<Item = Option<PlaneId>>,
    ty: ScalarType,
    sum: Sum,
) -> Result<(Memory, u32, Site<Multimem>), Missing> {
    let planes = d.code.image.add_planes(planes);
    let bytes = ty.bytes() * planes.count;
    let at = d.memory_in_one_of(address, bytes, &[SpaceKind::Global, SpaceKind::Generic])?;
    let site = d.site(Multimem { planes, bytes: ty.bytes(), sum });
    // Whatever names it, a multicast address is global.
    Ok((Memory { space: SpaceKind::Global, ..at }, bytes, site))
}

fn scatter(
    d: &mut Decoder<'_>,
    (address, access): (&Address, Access),
    values: &[Value],
    ty: ScalarType,
    sum: Sum,
) -> Decoded {
    let planes = d.read_planes(values, ty.bits())?;
    let (at, bytes, site) = multimem(d, address, planes.into_iter().map(Some), ty, sum)?;
    d.emit_access(at, access, bytes, StoreMultimem { address: at.address, site })
}
