//! Matrix instructions (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions", "Asynchronous Warpgroup Level
//! Matrix Multiply-Accumulate Instructions").

use super::decoder::{Decode, Decoded, Decoder, Memory, Missing, decoders};
use crate::fault::Access;
use crate::image::asynchronous::Completes;
use crate::image::matrix::{Factor, Product, Stored};
use crate::lanes::{Operand as Source, PlaneId};
use crate::matrix::WARPGROUP;
use crate::matrix::moved::Moved;
use crate::matrix::packing::Packing;
use crate::matrix::scales::{Factors, Scales};
use crate::matrix::sparsity::Sparsity;
use crate::matrix::types::{self, accumulator_bits, register_bits};
use crate::memory::SpaceKind;
use crate::operation::kinds::{
    LoadMatrix, LoadRows, LoadSquares, MultiplyMatrices, StoreColumns, StoreMatrix, StoreRows,
    TransposeMatrix,
};
use crate::ops::matrix::product::multiply;
use ir::Rounds;
use ir::instruction::{self, Alayout, Blayout, Matrix, MmaAtype, MmaSparseAtype, Stype, Wgmma};
use ir::operand::{Address, Def, MatrixShape, Value};
use numerics::tensor::{Config, Operand, Scale, Unit};
use ptx::isa::Group;
use ptx::types::ScalarType;

/// Bytes of a row of an 8x8 matrix.
const ROW_BYTES: u32 = 16;

/// A dense product of a warp, of factors of these types.
macro_rules! dense {
    ($d:ident, $op:ident, $unit:ident, $atype:expr, $btype:expr) => {{
        let config = Config {
            satfinite: $op.satfinite,
            rounding: $op.rnd.mode(),
            bits: types::bit_operation($op.op),
            ..types::config(Unit::$unit, $atype, $btype, [$op.ctype, $op.dtype])
        };
        let lines = [$op.alayout == Alayout::Row, $op.blayout == Blayout::Col];
        product($d, config, $op.shape, lines, [&$op.a, &$op.b, &$op.c], &$op.d, None)
    }};
}

/// A product of a warp with block scaling, dense or sparse.
macro_rules! scaled {
    ($d:ident, $op:ident, $sparse:expr) => {{
        let types =
            [types::scaled_factor($op.kind, $op.atype), types::scaled_factor($op.kind, $op.btype.into())];
        let config = types::config_of(Unit::Exact, types, [ScalarType::F32; 2]);
        let factors = [(&$op.sa, &*$op.ia), (&$op.sb, &*$op.ib)];
        let scales = scales($d, types::scales($op.kind, $op.scale_vec_size), $op.stype, factors)?;
        let matrices = [&*$op.a, &*$op.b, &*$op.c];
        let product = warp_product($d, config, $op.shape, [true; 2], matrices, &$op.d, $sparse)?;
        emit_product($d, Product { scales: Some(scales), ..product }, 1)
    }};
}

decoders! { d, op:
    Ldmatrix => {
        let at = d.memory(&op.p, ROW_BYTES)?;
        let planes = destinations(d, &op.d, 32)?;
        let to = d.code.image.add_planes(planes.into_iter().map(Some));
        let generic = at.space != SpaceKind::Shared;
        let packing = Packing::Whole;
        let load = LoadRows { d: to, transposed: op.trans, packing, generic, address: at.address };
        d.emit_access(at, Access::Load, ROW_BYTES, load)
    };
    LdmatrixBytes => {
        let at = d.memory(&op.p, ROW_BYTES)?;
        let planes = destinations(d, &op.d, 32)?;
        let to = d.code.image.add_planes(planes.into_iter().map(Some));
        let (generic, address) = (at.space != SpaceKind::Shared, at.address);
        let packing = Packing::of(op.atype);
        match op.trans {
            true => d.emit_access(at, Access::Load, ROW_BYTES, LoadSquares { d: to, packing, generic, address }),
            // A row of bytes lies in registers as one of half as many halves.
            false => {
                let load = LoadRows { d: to, transposed: false, packing, generic, address };
                d.emit_access(at, Access::Load, ROW_BYTES, load)
            }
        }
    };
    StmatrixBytes => {
        let at = d.memory(&op.p, ROW_BYTES)?;
        let planes = d.read_planes(&op.r, 32)?;
        let a = d.code.image.add_planes(planes.into_iter().map(Some));
        let store = StoreColumns { a, generic: at.space != SpaceKind::Shared, address: at.address };
        d.emit_access(at, Access::Store, ROW_BYTES, store)
    };
    Stmatrix => {
        let at = d.memory(&op.p, ROW_BYTES)?;
        let planes = d.read_planes(&op.r, 32)?;
        let a = d.code.image.add_planes(planes.into_iter().map(Some));
        let generic = at.space != SpaceKind::Shared;
        let store = StoreRows { a, transposed: op.trans, generic, address: at.address };
        d.emit_access(at, Access::Store, ROW_BYTES, store)
    };
    Movmatrix => {
        let (to, a) = (d.write_plane(op.d, 32)?, d.read_plane(&op.a, 32)?);
        d.emit(TransposeMatrix { d: to, a })
    };
    WmmaLoad => {
        let moved = match op.matrix {
            Matrix::A => Moved::factor(op.shape, factor_type(op.atype), false),
            Matrix::B => Moved::factor(op.shape, factor_type(op.btype), true),
            Matrix::C => Moved::accumulator(op.shape, op.ctype.unwrap_or(ScalarType::F32)),
        };
        let (row_major, stride) = lines_in_memory(d, &moved, op.layout, op.stride.as_ref())?;
        let planes = destinations(d, &op.d, register_bits(moved.bits))?;
        move_fragment(d, (&op.p, Access::Load), moved, row_major, stride, planes)
    };
    WmmaStore => {
        let moved = Moved::accumulator(op.shape, op.dtype);
        let (row_major, stride) = lines_in_memory(d, &moved, op.layout, op.stride.as_ref())?;
        let planes = d.read_planes(&op.r, register_bits(moved.bits))?;
        move_fragment(d, (&op.p, Access::Store), moved, row_major, stride, planes)
    };
    Mma => dense!(d, op, Mma, op.atype, op.btype);
    MmaKind => {
        let factors = [types::narrow_factor(op.atype), types::narrow_factor(op.btype.into())];
        let config = types::config_of(Unit::Exact, factors, [op.ctype, op.dtype]);
        product(d, config, op.shape, [true; 2], [&op.a, &op.b, &op.c], &op.d, None)
    };
    MmaScaled => scaled!(d, op, None);
    WmmaMma => dense!(d, op, Wmma, factor_type(op.atype), factor_type(op.btype));
    MmaSparse => {
        // No Hopper has 8-bit floats with halves to add to.
        let unit = match (op.atype, op.dtype) {
            (MmaSparseAtype::E4m3 | MmaSparseAtype::E5m2, ScalarType::F16) => Unit::Exact,
            _ => Unit::SparseMma,
        };
        let types = types::config(unit, op.atype, op.btype, [op.ctype, op.dtype]);
        let config = Config { satfinite: op.satfinite, ..types };
        product(d, config, op.shape, [true; 2], [&op.a, &op.b, &op.c], &op.d, Some((&op.e, op.f)))
    };
    MmaSparseKind => {
        let factors = [types::narrow_factor(op.atype), types::narrow_factor(op.btype.into())];
        let config = types::config_of(Unit::Exact, factors, [op.ctype, op.dtype]);
        let shape = MatrixShape { m: 16, n: 8, k: 64 };
        product(d, config, shape, [true; 2], [&op.a, &op.b, &op.c], &op.d, Some((&op.e, op.f)))
    };
    MmaSparseScaled => scaled!(d, op, Some((&op.e, op.f)));
}

/// The type of a factor of `wmma`, which is not spelt for `.f16`.
fn factor_type(ty: Option<impl Into<MmaAtype>>) -> MmaAtype {
    ty.map_or(MmaAtype::F16, Into::into)
}

/// Planes that are written.
fn destinations(d: &mut Decoder<'_>, defs: &[Def], bits: u32) -> Result<Vec<PlaneId>, Missing> {
    let (planes, width) = d.write_elements(defs, bits, false)?;
    match width == bits {
        true => Ok(planes.into_iter().map(|p| p.unwrap_or_else(|| d.frame.temporary(bits))).collect()),
        false => Err(format!("a matrix in registers of {width} bits")),
    }
}

fn sparsity(d: &mut Decoder<'_>, ty: Operand, (e, f): (&Value, u64)) -> Result<Sparsity, Missing> {
    Ok(Sparsity::new(ty, d.read_plane(e, 32)?, f as u32))
}

/// The scale factors of A and B, so many each: a register, and the selectors of a byte and of threads.
fn scales(
    d: &mut Decoder<'_>,
    count: usize,
    format: Stype,
    factors: [(&Value, &[Value]); 2],
) -> Result<Scales, Missing> {
    let mut read = |(data, selectors): (&Value, &[Value])| {
        let [byte, thread] = selectors else { return Err(format!("{} selectors", selectors.len())) };
        let data = d.read_plane(data, 32)?;
        Ok(Factors { data, byte: d.read_plane(byte, 16)?, thread: d.read_plane(thread, 16)? })
    };
    let [a, b] = factors;
    let format = match format {
        Stype::Ue8m0 => Scale::Ue8m0,
        Stype::Ue4m3 => Scale::Ue4m3,
    };
    Ok(Scales { format, count, a: read(a)?, b: read(b)? })
}

/// Emits a product of a warp. `sparse` are the metadata and the selector.
fn product(
    d: &mut Decoder<'_>,
    config: Config,
    shape: MatrixShape,
    lines: [bool; 2],
    matrices: [&[Value]; 3],
    to: &[Def],
    sparse: Option<(&Value, u64)>,
) -> Decoded {
    let product = warp_product(d, config, shape, lines, matrices, to, sparse)?;
    emit_product(d, product, 1)
}

/// A product of a warp.
fn warp_product(
    d: &mut Decoder<'_>,
    config: Config,
    shape: MatrixShape,
    lines: [bool; 2],
    [a, b, c]: [&[Value]; 3],
    to: &[Def],
    sparse: Option<(&Value, u64)>,
) -> Result<Product, Missing> {
    let a = d.read_planes(a, register_bits(config.a.bits()))?;
    let b = d.read_planes(b, register_bits(config.b.bits()))?;
    let c = d.read_planes(c, register_bits(accumulator_bits(config.c)))?;
    let sparsity = sparse.map(|sparse| sparsity(d, config.a, sparse)).transpose()?;
    let to = destinations(d, to, register_bits(accumulator_bits(config.d)))?;
    Ok(Product::of_warp(config, shape, lines, [a, b, c, to], sparsity))
}

/// Emits a product of so many warps.
fn emit_product(d: &mut Decoder<'_>, product: Product, warps: u8) -> Decoded {
    let function = multiply(d.level);
    d.emit_with(product, |site| function.with(MultiplyMatrices { site, warps }))
}

impl Decode for Wgmma {
    fn decode(&self, d: &mut Decoder<'_>) -> Decoded {
        let unit = if self.sparse { Unit::SparseWgmma } else { Unit::Wgmma };
        let types = types::config(unit, self.atype, self.btype, [self.dtype; 2]);
        let config = Config { satfinite: self.satfinite, ..types };
        let negated = |scale: Option<u64>| scale.is_some_and(|scale| scale as i32 == -1);
        let in_shared = |d: &mut Decoder<'_>, descriptor: &Value, transposition: Option<u64>, scale| {
            let descriptor = d.read_plane(descriptor, 64)?;
            Ok::<_, Missing>(Factor::in_shared(descriptor, transposition == Some(1), negated(scale)))
        };
        let a = match (&self.a, &self.adesc) {
            (Some(a), _) => {
                let planes = d.read_planes(a, register_bits(config.a.bits()))?;
                Factor::of_warpgroup(&config, self.shape, planes, negated(self.sa))
            }
            (None, Some(descriptor)) => in_shared(d, descriptor, self.ta, self.sa)?,
            (None, None) => return Err("a product without A".to_owned()),
        };
        let b = in_shared(d, &self.bdesc, self.tb, self.sb)?;
        let sparse = self.e.as_ref().zip(self.f);
        let sparsity = sparse.map(|sparse| sparsity(d, config.a, sparse)).transpose()?;
        let planes = destinations(d, &self.d, register_bits(accumulator_bits(config.d)))?;
        let scale_d = d.read_predicate(&self.scaled)?;
        let product = Product::of_warpgroup(config, self.shape, [a, b], planes, sparsity, scale_d);
        d.performed_later(Completes::Group(Group::Wgmma));
        emit_product(d, product, WARPGROUP as u8)
    }
}

/// Whether a matrix of `wmma` is row-major in memory, and the distance of its rows or columns there.
fn lines_in_memory(
    d: &mut Decoder<'_>,
    moved: &Moved,
    layout: instruction::Layout,
    stride: Option<&Value>,
) -> Result<(bool, Source), Missing> {
    let row_major = layout == instruction::Layout::Row;
    let least = Value::Constant(u64::from(if row_major { moved.columns } else { moved.rows }));
    Ok((row_major, d.read(stride.unwrap_or(&least), 32)?))
}

fn move_fragment(
    d: &mut Decoder<'_>,
    (address, access): (&Address, Access),
    Moved { layout, bits, packed, lines_are_rows, .. }: Moved,
    row_major: bool,
    stride: Source,
    planes: Vec<PlaneId>,
) -> Decoded {
    let at @ Memory { address, space, .. } = d.memory(address, bits / 8)?;
    let (lines_contiguous, packed) = (lines_are_rows == row_major, packed.into());
    let site = d.site(Stored { layout, planes, bits, lines_contiguous, stride, packed, space });
    match access {
        Access::Load => d.emit_access(at, access, bits / 8, LoadMatrix { address, site }),
        _ => d.emit_access(at, access, bits / 8, StoreMatrix { address, site }),
    }
}
