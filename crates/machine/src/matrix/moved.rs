//! The matrices that `wmma.load` and `wmma.store` move.

use super::layout::{Layout, Layouts};
use super::types::{self, accumulator_bits};
use ir::instruction::MmaAtype;
use ir::operand::MatrixShape;
use numerics::tensor::Operand;
use ptx::types::ScalarType;

/// A matrix of `wmma` that is loaded or stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) layout: Layout,
    /// Of what counts as an element.
    pub(crate) bits: u32,
    /// How many elements that is.
    pub(crate) packed: u32,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    /// Whether the lines of the layout are rows.
    pub(crate) lines_are_rows: bool,
}

impl Moved {
    /// A factor, A or B.
    pub(crate) fn factor(shape: MatrixShape, ty: MmaAtype, is_b: bool) -> Self {
        let (bits, packed) = match types::factor(ty) {
            Operand::B1 => (32, 32),
            Operand::S4 | Operand::U4 => (32, 8),
            ty => (ty.bits(), 1),
        };
        let MatrixShape { m, n, k } = shape;
        let layouts = Layouts::new(MatrixShape { k: k / packed, ..shape }, [bits; 2], [true; 2]);
        let (layout, rows, columns) = if is_b { (layouts.b, k, n) } else { (layouts.a, m, k) };
        Self { layout, bits, packed, rows, columns, lines_are_rows: !is_b }
    }

    /// C or D.
    pub(crate) fn accumulator(shape: MatrixShape, ty: ScalarType) -> Self {
        let ty = types::accumulator(ty);
        let bits = accumulator_bits(ty);
        let layout = Layouts::new(shape, [bits; 2], [true; 2]).accumulator(ty);
        let lines_are_rows = !matches!(layout, Layout::Blocks { transposed: true, .. });
        Self { layout, bits, packed: 1, rows: shape.m, columns: shape.n, lines_are_rows }
    }
}
