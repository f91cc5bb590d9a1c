//! Matrix instructions (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions", "Asynchronous Warpgroup Level
//! Matrix Multiply-Accumulate Instructions").

use super::emit::op;
use super::function::Decoder;
use super::movement::{nothing, planes_of_elements};
use super::operand::Source;
use super::{Decoded, Missing};
use crate::fault::Access;
use crate::memory::SpaceKind;
use crate::ops::matrix::WARPGROUP;
use crate::ops::matrix::fragment::Fragment;
use crate::ops::matrix::layout::{Layout, Order};
use crate::ops::matrix::product::{Factor, Place, Product, multiply};
use crate::ops::matrix::sparsity::{Granule, Sparsity};
use crate::ops::matrix::transfer::{
    self, GENERIC_ROWS, SHARED_ROWS, Stored, Stride, TRANSPOSED, load_matrix, load_rows, store_matrix,
    store_rows,
};
use crate::ops::{NONE, Op};
use crate::program::Meta;
use numerics::rounding::Mode;
use numerics::tensor::{Accumulator, BitOperation, Config, Operand as ElementType, Unit};
use ptx::isa::{Mnemonic, Modifier, Opcode, Sem, Slot};
use ptx::module::Operand;

/// Bytes of a row of an 8x8 matrix.
const ROW_BYTES: u32 = 16;
/// Rows of A that a warp of a warpgroup has.
const WARP_ROWS: u32 = 16;

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    match sem {
        Sem::Ldmatrix => rows(d, Access::Load),
        Sem::Stmatrix => rows(d, Access::Store),
        Sem::Movmatrix => {
            let to = d.destination_plane(0, 32)?;
            let value = d.source(1, 32)?;
            let a = d.plane_of(value, 32);
            d.emit(Op { d: to, a, ..op(transfer::transpose) });
            Ok(())
        }
        Sem::WmmaLoad => matrix(d, Access::Load),
        Sem::WmmaStore => matrix(d, Access::Store),
        Sem::Mma => product(d),
        Sem::Wgmma => group_product(d),
        // A product is done when it is issued, so there is nothing to order or to wait for.
        Sem::WgmmaFence | Sem::WgmmaCommitGroup | Sem::WgmmaWaitGroup => {
            d.emit(op(nothing));
            Ok(())
        }
        other => Err(format!("{other:?} among the matrix instructions")),
    }
}

/// Operand `i` as planes that are read.
fn source_planes(d: &mut Decoder<'_>, i: usize, bits: u32) -> Result<Vec<u32>, Missing> {
    let parts = d.elements(i);
    let mut planes = Vec::with_capacity(parts.len());
    for part in parts {
        let value = d.value(part, bits)?;
        planes.push(d.plane_of(value, bits));
    }
    Ok(planes)
}

/// Operand `i` as planes that are written.
fn destination_planes(d: &mut Decoder<'_>, i: usize, bits: u32) -> Result<Vec<u32>, Missing> {
    let parts = d.elements(i);
    let (planes, width) = planes_of_elements(d, &parts, bits)?;
    match width == bits {
        true => Ok(planes.into_iter().map(|p| if p == NONE { d.temporary(bits) } else { p }).collect()),
        false => Err(format!("a matrix in registers of {width} bits")),
    }
}

/// `ldmatrix` and `stmatrix`.
fn rows(d: &mut Decoder<'_>, access: Access) -> Decoded {
    let (memory, registers) = if access == Access::Load { (1, 0) } else { (0, 1) };
    let transposed = if d.opcode.has(Modifier::Trans) { TRANSPOSED } else { 0 };
    let address = d.address(memory, ROW_BYTES)?;
    let x = match address.space {
        SpaceKind::Shared => SHARED_ROWS,
        _ => GENERIC_ROWS,
    };
    let planes = match access {
        Access::Load => destination_planes(d, registers, 32)?,
        _ => source_planes(d, registers, 32)?,
    };
    let c = planes.len() as u32 | transposed;
    let list = d.list(&planes);
    let meta = Meta::Memory { space: address.space, access, bytes: ROW_BYTES };
    let (a, y, imm) = (address.a, address.y, address.imm);
    d.emit_as(
        match access {
            Access::Load => Op { d: list, a, c, x, y, imm, ..op(load_rows) },
            _ => Op { a, b: list, c, x, y, imm, ..op(store_rows) },
        },
        meta,
    );
    Ok(())
}

/// The sizes of a multiplication.
fn shape(opcode: &Opcode) -> Result<[u32; 3], Missing> {
    opcode.matrix_shape().ok_or_else(|| format!("instruction `{}`", opcode.text()))
}

/// What a modifier names as the type of a factor's elements.
fn element_type(modifier: Modifier) -> Result<ElementType, Missing> {
    Ok(match modifier {
        Modifier::F16 => ElementType::F16,
        Modifier::Bf16 => ElementType::Bf16,
        Modifier::Tf32 => ElementType::Tf32,
        Modifier::E4m3 => ElementType::E4m3,
        Modifier::E5m2 => ElementType::E5m2,
        Modifier::F64 => ElementType::F64,
        Modifier::S8 => ElementType::S8,
        Modifier::U8 => ElementType::U8,
        Modifier::S4 => ElementType::S4,
        Modifier::U4 => ElementType::U4,
        Modifier::B1 => ElementType::B1,
        other => return Err(format!("matrix elements {}", other.text())),
    })
}

/// The type of a factor. `wmma.mma` on `.f16` does not spell it.
fn factor_type(opcode: &Opcode, slot: Slot) -> Result<ElementType, Missing> {
    element_type(opcode.get(slot).unwrap_or(Modifier::F16))
}

/// Bits of an element in a register. 32 elements of `.b1` count as one.
fn element_bits(ty: ElementType) -> u32 {
    match ty {
        ElementType::F16 | ElementType::Bf16 => 16,
        ElementType::Tf32 | ElementType::B1 => 32,
        ElementType::F64 => 64,
        ElementType::E4m3 | ElementType::E5m2 | ElementType::S8 | ElementType::U8 => 8,
        ElementType::S4 | ElementType::U4 => 4,
    }
}

/// The type of C or D.
fn accumulator(opcode: &Opcode, slot: Slot) -> Accumulator {
    // `wgmma` spells the type of D alone.
    match opcode.get(slot).or(opcode.get(Slot::Dtype)) {
        Some(Modifier::F16) => Accumulator::F16,
        Some(Modifier::F64) => Accumulator::F64,
        Some(Modifier::S32) => Accumulator::S32,
        _ => Accumulator::F32,
    }
}

fn accumulator_bits(ty: Accumulator) -> u32 {
    match ty {
        Accumulator::F16 => 16,
        Accumulator::F32 | Accumulator::S32 => 32,
        Accumulator::F64 => 64,
    }
}

/// The width of the registers that hold elements of `bits`.
fn register_bits(bits: u32) -> u32 {
    bits.max(32)
}

/// The layout of a factor: `lines` of `length` elements of `bits`.
fn factor_layout(lines: u32, length: u32, bits: u32, order: Order) -> Layout {
    Layout::Blocks { lines, length, unit: (32 / bits).max(1), order, transposed: false }
}

/// The layouts of A, B, and of C and D with such accumulators, each with elements of so many bits.
///
/// `wmma.m8n32k16` is computed as its transpose, with A and B in each other's place.
fn layouts(
    opcode: &Opcode,
    [m, n, k]: [u32; 3],
    bits: [u32; 2],
) -> (Layout, Layout, impl Fn(Accumulator) -> Layout) {
    let swapped = m == 8 && n == 32;
    let quad = [m, n, k] == [8, 8, 4] && bits[0] == 16;
    let (a, b) = if quad {
        // A lane has a line of a row-major A and of a column-major B.
        let of = |slot, line| match opcode.get(slot) == Some(line) {
            true => Layout::QuadLine,
            false => Layout::QuadAcross,
        };
        (of(Slot::Alayout, Modifier::Row), of(Slot::Blayout, Modifier::Col))
    } else {
        let (for_a, for_b) =
            if swapped { (Order::Lines, Order::Tiles) } else { (Order::Tiles, Order::Lines) };
        (factor_layout(m, k, bits[0], for_a), factor_layout(n, k, bits[1], for_b))
    };
    (a, b, move |ty| match (quad, ty) {
        (true, Accumulator::F16) => Layout::QuadRow,
        (true, _) => Layout::QuadPairs,
        (false, _) => {
            let (lines, length) = if swapped { (n, m) } else { (m, n) };
            Layout::Blocks { lines, length, unit: 2, order: Order::Tiles, transposed: swapped }
        }
    })
}

/// What an instruction computes.
fn config(opcode: &Opcode, unit: Unit) -> Result<Config, Missing> {
    Ok(Config {
        a: factor_type(opcode, Slot::Atype)?,
        b: factor_type(opcode, Slot::Btype)?,
        c: accumulator(opcode, Slot::Ctype),
        d: accumulator(opcode, Slot::Dtype),
        unit,
        satfinite: opcode.has(Modifier::Satfinite),
        rounding: match opcode.get(Slot::Rnd) {
            Some(Modifier::Rz) => Mode::TowardZero,
            Some(Modifier::Rm) => Mode::Down,
            Some(Modifier::Rp) => Mode::Up,
            _ => Mode::NearestEven,
        },
        bits: match opcode.has(Modifier::Xor) {
            true => BitOperation::Xor,
            false => BitOperation::And,
        },
    })
}

/// The elements that one counts for: 32 of `.b1`.
fn packed(ty: ElementType) -> u32 {
    if ty == ElementType::B1 { 32 } else { 1 }
}

/// The sparsity that operands `i` and `i + 1` give, the metadata and the selector.
fn sparsity(d: &mut Decoder<'_>, ty: ElementType, i: usize) -> Result<Sparsity, Missing> {
    let granule = match ty {
        ElementType::Tf32 => Granule::HalfElement,
        ElementType::S4 | ElementType::U4 => Granule::TwoElements,
        _ => Granule::Element,
    };
    let Operand::Immediate(selector) = d.operand(i + 1) else {
        return Err("a sparsity selector that is not a constant".to_owned());
    };
    let value = d.source(i, 32)?;
    let by_halves = element_bits(ty) >= 16;
    Ok(Sparsity { granule, by_halves, plane: d.plane_of(value, 32), selector: selector as u32 })
}

fn in_registers(d: &mut Decoder<'_>, i: usize, layout: Layout, bits: u32) -> Result<Factor, Missing> {
    let planes = source_planes(d, i, register_bits(bits))?;
    Ok(Factor { place: Place::Registers(Fragment::distinct(layout, planes, bits)), negated: false })
}

/// `mma`, `mma.sp` and `wmma.mma`.
fn product(d: &mut Decoder<'_>) -> Decoded {
    let opcode = d.opcode;
    let sparse = opcode.get(Slot::Sparse).is_some();
    let unit = match opcode.mnemonic() {
        Mnemonic::Wmma => Unit::Wmma,
        _ if sparse => Unit::SparseMma,
        _ => Unit::Mma,
    };
    let config = config(opcode, unit)?;
    let [m, n, k] = shape(opcode)?;
    let k = k / packed(config.a);
    let bits = [config.a, config.b].map(element_bits);
    let stored = if sparse { k / 2 } else { k };
    let (_, for_b, accumulators) = layouts(opcode, [m, n, k], bits);
    let (for_a, ..) = layouts(opcode, [m, n, stored], bits);
    let (c_bits, d_bits) = (accumulator_bits(config.c), accumulator_bits(config.d));
    let a = in_registers(d, 1, for_a, bits[0])?;
    let b = in_registers(d, 2, for_b, bits[1])?;
    let c = Fragment::new(accumulators(config.c), source_planes(d, 3, register_bits(c_bits))?, c_bits);
    let sparsity = if sparse { Some(sparsity(d, config.a, 4)?) } else { None };
    let to = destination_planes(d, 0, register_bits(d_bits))?;
    let product = Product {
        m: m as usize,
        n: n as usize,
        k: k as usize,
        a,
        b,
        c,
        d: Fragment::new(accumulators(config.d), to, d_bits),
        sparsity,
        scale_d: None,
        config,
    };
    d.image.products.push(product);
    let a = d.image.products.len() as u32 - 1;
    d.emit(Op { a, x: 1, ..op(multiply(d.level)) });
    Ok(())
}

/// `wgmma.mma_async` and `wgmma.mma_async.sp`.
fn group_product(d: &mut Decoder<'_>) -> Decoded {
    let opcode = d.opcode;
    let sparse = opcode.get(Slot::Sparse).is_some();
    let config = config(opcode, if sparse { Unit::SparseWgmma } else { Unit::Wgmma })?;
    let [_, n, k] = shape(opcode)?;
    let k = k / packed(config.a);
    let bits = [config.a, config.b].map(element_bits);
    let stored = if sparse { k / 2 } else { k };
    let a_in_registers = matches!(d.operand(1), Operand::Vector(_));
    let scale_d = if sparse { 5 } else { 3 };
    let immediate = |d: &Decoder<'_>, i: usize| match d.operand(i) {
        Operand::Immediate(value) => value as i32,
        _ => 0,
    };
    let negated = |d: &Decoder<'_>, i: usize| immediate(d, i) == -1;
    let first_transposition = scale_d + 3;
    let in_shared = |d: &mut Decoder<'_>, i: usize, transposition: usize| {
        let value = d.source(i, 64)?;
        let descriptor = d.plane_of(value, 64);
        Ok::<_, Missing>(Place::Shared { descriptor, transposed: immediate(d, transposition) == 1 })
    };
    let mut a = match a_in_registers {
        true => in_registers(d, 1, factor_layout(WARP_ROWS, stored, bits[0], Order::Tiles), bits[0])?,
        false => Factor { place: in_shared(d, 1, first_transposition)?, negated: false },
    };
    a.negated = negated(d, scale_d + 1);
    let b_transposition = if a_in_registers { first_transposition } else { first_transposition + 1 };
    let b = Factor { place: in_shared(d, 2, b_transposition)?, negated: negated(d, scale_d + 2) };
    let sparsity = if sparse { Some(sparsity(d, config.a, 3)?) } else { None };
    let d_bits = accumulator_bits(config.d);
    let planes = destination_planes(d, 0, register_bits(d_bits))?;
    let layout =
        Layout::Blocks { lines: WARP_ROWS, length: n, unit: 2, order: Order::Tiles, transposed: false };
    let scale_d = d.predicate(scale_d)?;
    let product = Product {
        m: WARP_ROWS as usize,
        n: n as usize,
        k: k as usize,
        a,
        b,
        c: Fragment::new(layout, planes.clone(), d_bits),
        d: Fragment::new(layout, planes, d_bits),
        sparsity,
        scale_d: Some(scale_d),
        config,
    };
    d.image.products.push(product);
    let a = d.image.products.len() as u32 - 1;
    d.emit(Op { a, x: WARPGROUP as u32, ..op(multiply(d.level)) });
    Ok(())
}

/// `wmma.load` and `wmma.store`.
fn matrix(d: &mut Decoder<'_>, access: Access) -> Decoded {
    let opcode = d.opcode;
    let (memory, registers) = if access == Access::Load { (1, 0) } else { (0, 1) };
    let [m, n, k] = shape(opcode)?;
    let (which, slot) = match opcode.get(Slot::Matrix) {
        Some(Modifier::A) => (Modifier::A, Slot::Atype),
        Some(Modifier::B) => (Modifier::B, Slot::Btype),
        Some(Modifier::C) => (Modifier::C, Slot::Ctype),
        _ => (Modifier::D, Slot::Dtype),
    };
    let is_factor = matches!(which, Modifier::A | Modifier::B);
    let (bits, elements_in_one) = match is_factor {
        true => match factor_type(opcode, slot)? {
            ElementType::B1 => (32, 32),
            ElementType::S4 | ElementType::U4 => (32, 8),
            ty => (element_bits(ty), 1),
        },
        false => (accumulator_bits(accumulator(opcode, slot)), 1),
    };
    let ty = accumulator(opcode, slot);
    let (for_a, for_b, accumulators) = layouts(opcode, [m, n, k / elements_in_one], [bits; 2]);
    let layout = match which {
        Modifier::A => for_a,
        Modifier::B => for_b,
        _ => accumulators(ty),
    };
    let row_major = opcode.get(Slot::Layout) == Some(Modifier::Row);
    // Lines are rows, but columns of B and of a transposed C.
    let lines_are_rows = match layout {
        Layout::Blocks { transposed: true, .. } => false,
        _ => which != Modifier::B,
    };
    let (rows, columns) = match which {
        Modifier::A => (m, k),
        Modifier::B => (k, n),
        _ => (m, n),
    };
    let stride = match d.operand(registers.max(memory) + 1) {
        Operand::Absent => {
            let default = if row_major { columns } else { rows };
            Stride::Scalar(d.constant(u64::from(default)))
        }
        _ => match d.source(2, 32)? {
            Source::Scalar(index) => Stride::Scalar(index),
            Source::Plane(index) => Stride::Plane(index),
        },
    };
    let planes = match access {
        Access::Load => destination_planes(d, registers, register_bits(bits))?,
        _ => source_planes(d, registers, register_bits(bits))?,
    };
    let address = d.address(memory, bits / 8)?;
    let stored = Stored {
        layout,
        planes,
        bits,
        lines_contiguous: lines_are_rows == row_major,
        stride,
        packed: u64::from(elements_in_one),
        space: address.space,
    };
    d.image.matrices.push(stored);
    let c = d.image.matrices.len() as u32 - 1;
    let meta = Meta::Memory { space: address.space, access, bytes: bits / 8 };
    let execute = match access {
        Access::Load => load_matrix,
        _ => store_matrix,
    };
    d.emit_as(Op { a: address.a, c, y: address.y, imm: address.imm, ..op(execute) }, meta);
    Ok(())
}
