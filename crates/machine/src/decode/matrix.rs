//! Matrix instructions (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions", "Asynchronous Warpgroup Level
//! Matrix Multiply-Accumulate Instructions").

use super::decoder::{Decoded, Decoder, Memory, Missing};
use crate::fault::Access;
use crate::image::matrix::{Factor, Place, Product, Stored};
use crate::lanes::{Operand as Source, PlaneId};
use crate::matrix::WARPGROUP;
use crate::matrix::fragment::Fragment;
use crate::matrix::layout::{Layout, Layouts, Order};
use crate::matrix::moved::Moved;
use crate::matrix::sparsity::Sparsity;
use crate::matrix::types::{self, accumulator_bits, element_bits, register_bits};
use crate::memory::SpaceKind;
use crate::operation::kinds::{
    LoadMatrix, LoadRows, MultiplyMatrices, StoreMatrix, StoreRows, TransposeMatrix,
};
use crate::ops::matrix::product::multiply;
use ir::instruction::{
    Alayout, Blayout, Ldmatrix, Matrix, Mma, MmaAtype, MmaSparse, Movmatrix, Stmatrix, Wgmma, WmmaLoad,
    WmmaMma, WmmaStore,
};
use ir::operand::{Address, Def, MatrixShape, Value};
use numerics::tensor::{Config, Operand, Unit};
use ptx::types::ScalarType;

/// Bytes of a row of an 8x8 matrix.
const ROW_BYTES: u32 = 16;
/// Rows of A that a warp of a warpgroup has.
const WARP_ROWS: u32 = 16;

/// Planes that are written.
fn destinations(d: &mut Decoder<'_>, defs: &[Def], bits: u32) -> Result<Vec<PlaneId>, Missing> {
    let (planes, width) = d.write_elements(defs, bits, false)?;
    match width == bits {
        true => Ok(planes.into_iter().map(|p| p.unwrap_or_else(|| d.frame.temporary(bits))).collect()),
        false => Err(format!("a matrix in registers of {width} bits")),
    }
}

/// `ldmatrix`.
pub(super) fn load_matrices(d: &mut Decoder<'_>, load: &Ldmatrix) -> Decoded {
    let Memory { address, space, .. } = d.memory(&load.p, ROW_BYTES)?;
    let planes = destinations(d, &load.d, 32)?;
    let to = d.code.image.add_planes(planes.into_iter().map(Some));
    let (transposed, generic) = (load.trans, space != SpaceKind::Shared);
    d.emit_access((space, address), Access::Load, ROW_BYTES, LoadRows { d: to, transposed, generic, address })
}

/// `stmatrix`.
pub(super) fn store_matrices(d: &mut Decoder<'_>, store: &Stmatrix) -> Decoded {
    let Memory { address, space, .. } = d.memory(&store.p, ROW_BYTES)?;
    let planes = d.read_planes(&store.r, 32)?;
    let a = d.code.image.add_planes(planes.into_iter().map(Some));
    let (transposed, generic) = (store.trans, space != SpaceKind::Shared);
    d.emit_access((space, address), Access::Store, ROW_BYTES, StoreRows { a, transposed, generic, address })
}

/// `movmatrix`.
pub(super) fn transpose(d: &mut Decoder<'_>, movmatrix: &Movmatrix) -> Decoded {
    let (to, a) = (d.write_plane(movmatrix.d, 32)?, d.read_plane(&movmatrix.a, 32)?);
    d.emit(TransposeMatrix { d: to, a })
}

/// `mma`.
pub(super) fn multiply_warp(d: &mut Decoder<'_>, mma: &Mma) -> Decoded {
    let config = Config {
        satfinite: mma.satfinite,
        rounding: types::rounding(mma.rnd),
        bits: types::bit_operation(mma.op),
        ..types::config(Unit::Mma, mma.atype, mma.btype, [mma.ctype, mma.dtype])
    };
    let lines = [mma.alayout == Alayout::Row, mma.blayout == Blayout::Col];
    product(d, config, mma.shape, lines, [&mma.a, &mma.b, &mma.c], &mma.d, None)
}

/// `wmma.mma`. On `.f16` it does not spell the type of the factors.
pub(super) fn multiply_fragments(d: &mut Decoder<'_>, mma: &WmmaMma) -> Decoded {
    let a = mma.atype.map_or(MmaAtype::F16, MmaAtype::from);
    let b = mma.btype.map_or(MmaAtype::F16, MmaAtype::from);
    let config = Config {
        satfinite: mma.satfinite,
        rounding: types::rounding(mma.rnd),
        bits: types::bit_operation(mma.op),
        ..types::config(Unit::Wmma, a, b, [mma.ctype, mma.dtype])
    };
    let lines = [mma.alayout == Alayout::Row, mma.blayout == Blayout::Col];
    product(d, config, mma.shape, lines, [&mma.a, &mma.b, &mma.c], &mma.d, None)
}

/// `mma.sp`.
pub(super) fn multiply_sparse(d: &mut Decoder<'_>, mma: &MmaSparse) -> Decoded {
    let types = types::config(Unit::SparseMma, mma.atype, mma.btype, [mma.ctype, mma.dtype]);
    let config = Config { satfinite: mma.satfinite, ..types };
    let operands: [&[Value]; 3] = [&mma.a, &mma.b, &mma.c];
    product(d, config, mma.shape, [true; 2], operands, &mma.d, Some((&mma.e, mma.f)))
}

fn in_registers(d: &mut Decoder<'_>, values: &[Value], layout: Layout, bits: u32) -> Result<Factor, Missing> {
    let planes = d.read_planes(values, register_bits(bits))?;
    Ok(Factor { place: Place::Registers(Fragment::distinct(layout, planes, bits)), negated: false })
}

fn sparsity(d: &mut Decoder<'_>, ty: Operand, (e, f): (&Value, u64)) -> Result<Sparsity, Missing> {
    Ok(Sparsity::new(ty, d.read_plane(e, 32)?, f as u32))
}

/// A product of a warp. `sparse` are the metadata and the selector.
fn product(
    d: &mut Decoder<'_>,
    config: Config,
    shape: MatrixShape,
    lines: [bool; 2],
    [a, b, c]: [&[Value]; 3],
    to: &[Def],
    sparse: Option<(&Value, u64)>,
) -> Decoded {
    let (k, stored) = types::depth(&config, shape.k, sparse.is_some());
    let bits = [config.a, config.b].map(element_bits);
    let layouts = Layouts::new(MatrixShape { k, ..shape }, bits, lines);
    let for_a = Layouts::new(MatrixShape { k: stored, ..shape }, bits, lines).a;
    let (c_bits, d_bits) = (accumulator_bits(config.c), accumulator_bits(config.d));
    let a = in_registers(d, a, for_a, bits[0])?;
    let b = in_registers(d, b, layouts.b, bits[1])?;
    let c = d.read_planes(c, register_bits(c_bits))?;
    let sparsity = sparse.map(|sparse| sparsity(d, config.a, sparse)).transpose()?;
    let to = destinations(d, to, register_bits(d_bits))?;
    let product = Product {
        m: shape.m as usize,
        n: shape.n as usize,
        k: k as usize,
        a,
        b,
        c: Fragment::new(layouts.accumulator(config.c), c, c_bits),
        d: Fragment::new(layouts.accumulator(config.d), to, d_bits),
        sparsity,
        scale_d: None,
        config,
    };
    emit_product(d, product, 1)
}

/// Emits a product of so many warps.
fn emit_product(d: &mut Decoder<'_>, product: Product, warps: u8) -> Decoded {
    let site = d.site(product);
    d.emit(multiply(d.level).with(MultiplyMatrices { site, warps }))
}

/// `wgmma.mma_async` and `wgmma.mma_async.sp`.
pub(super) fn multiply_group(d: &mut Decoder<'_>, wgmma: &Wgmma) -> Decoded {
    let unit = if wgmma.sparse { Unit::SparseWgmma } else { Unit::Wgmma };
    let types = types::config(unit, wgmma.atype, wgmma.btype, [wgmma.dtype; 2]);
    let config = Config { satfinite: wgmma.satfinite, ..types };
    let (k, stored) = types::depth(&config, wgmma.shape.k, wgmma.sparse);
    let negated = |scale: Option<u64>| scale.is_some_and(|scale| scale as i32 == -1);
    let in_shared = |d: &mut Decoder<'_>, descriptor: &Value, transposition: Option<u64>| {
        let descriptor = d.read_plane(descriptor, 64)?;
        let place = Place::Shared { descriptor, transposed: transposition == Some(1) };
        Ok::<_, Missing>(Factor { place, negated: false })
    };
    let bits = element_bits(config.a);
    let a = match (&wgmma.a, &wgmma.adesc) {
        (Some(a), _) => in_registers(d, a, Layout::factor(WARP_ROWS, stored, bits, Order::Tiles), bits)?,
        (None, Some(descriptor)) => in_shared(d, descriptor, wgmma.ta)?,
        (None, None) => return Err("a product without A".to_owned()),
    };
    let b = in_shared(d, &wgmma.bdesc, wgmma.tb)?;
    let sparse = wgmma.e.as_ref().zip(wgmma.f);
    let sparsity = sparse.map(|sparse| sparsity(d, config.a, sparse)).transpose()?;
    let d_bits = accumulator_bits(config.d);
    let planes = destinations(d, &wgmma.d, register_bits(d_bits))?;
    let (n, order) = (wgmma.shape.n, Order::Tiles);
    let layout = Layout::Blocks { lines: WARP_ROWS, length: n, unit: 2, order, transposed: false };
    let product = Product {
        m: WARP_ROWS as usize,
        n: n as usize,
        k: k as usize,
        a: Factor { negated: negated(wgmma.sa), ..a },
        b: Factor { negated: negated(wgmma.sb), ..b },
        c: Fragment::new(layout, planes.clone(), d_bits),
        d: Fragment::new(layout, planes, d_bits),
        sparsity,
        scale_d: Some(d.read_predicate(&wgmma.scaled)?),
        config,
    };
    emit_product(d, product, WARPGROUP as u8)
}

/// `wmma.load`.
pub(super) fn load_fragment(d: &mut Decoder<'_>, load: &WmmaLoad) -> Decoded {
    let moved = match load.matrix {
        Matrix::A => Moved::factor(load.shape, load.atype.map_or(MmaAtype::F16, MmaAtype::from), false),
        Matrix::B => Moved::factor(load.shape, load.btype.map_or(MmaAtype::F16, MmaAtype::from), true),
        Matrix::C => Moved::accumulator(load.shape, load.ctype.unwrap_or(ScalarType::F32)),
    };
    let row_major = load.layout == ir::instruction::Layout::Row;
    let stride = stride(d, &moved, row_major, load.stride.as_ref())?;
    let planes = destinations(d, &load.d, register_bits(moved.bits))?;
    move_fragment(d, (&load.p, Access::Load), moved, row_major, stride, planes)
}

/// `wmma.store`.
pub(super) fn store_fragment(d: &mut Decoder<'_>, store: &WmmaStore) -> Decoded {
    let moved = Moved::accumulator(store.shape, store.dtype);
    let row_major = store.layout == ir::instruction::Layout::Row;
    let stride = stride(d, &moved, row_major, store.stride.as_ref())?;
    let planes = d.read_planes(&store.r, register_bits(moved.bits))?;
    move_fragment(d, (&store.p, Access::Store), moved, row_major, stride, planes)
}

fn stride(
    d: &mut Decoder<'_>,
    moved: &Moved,
    row_major: bool,
    stride: Option<&Value>,
) -> Result<Source, Missing> {
    let least = Value::Constant(u64::from(if row_major { moved.columns } else { moved.rows }));
    d.read(stride.unwrap_or(&least), 32)
}

fn move_fragment(
    d: &mut Decoder<'_>,
    (address, access): (&Address, Access),
    Moved { layout, bits, packed, lines_are_rows, .. }: Moved,
    row_major: bool,
    stride: Source,
    planes: Vec<PlaneId>,
) -> Decoded {
    let Memory { address, space, .. } = d.memory(address, bits / 8)?;
    let (lines_contiguous, packed) = (lines_are_rows == row_major, packed.into());
    let site = d.site(Stored { layout, planes, bits, lines_contiguous, stride, packed, space });
    match access {
        Access::Load => d.emit_access((space, address), access, bits / 8, LoadMatrix { address, site }),
        _ => d.emit_access((space, address), access, bits / 8, StoreMatrix { address, site }),
    }
}
