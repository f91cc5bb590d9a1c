//! Matrix instructions.

use crate::lanes::{Condition, Operand, PlaneId};
use crate::matrix::fragment::Fragment;
use crate::matrix::layout::{Layout, Layouts, Order};
use crate::matrix::scales::Scales;
use crate::matrix::sparsity::Sparsity;
use crate::matrix::types::{accumulator_bits, depth};
use crate::memory::SpaceKind;
use ir::operand::MatrixShape;
use numerics::tensor::{Config, Unit};

/// Rows of A that a warp of a warpgroup has.
const WARP_ROWS: u32 = 16;

/// A matrix multiplication of a warp. Elements of `.b1` are words of 32 of them.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) config: Config,
    /// Rows of A that a warp has.
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: Factor,
    pub(crate) b: Factor,
    pub(crate) c: Fragment,
    pub(crate) d: Fragment,
    pub(crate) sparsity: Option<Sparsity>,
    pub(crate) scales: Option<Scales>,
    /// What says whether C counts.
    pub(crate) scale_d: Option<Condition>,
}

/// A or B.
#[derive(Debug)]
pub(crate) struct Factor {
    pub(crate) source: FactorSource,
    /// Whether every element is negated.
    pub(crate) negated: bool,
}

impl Factor {
    fn in_registers(layout: Layout, planes: Vec<PlaneId>, bits: u32) -> Self {
        Self { source: FactorSource::Registers(Fragment::distinct(layout, planes, bits)), negated: false }
    }

    /// What a warp of a warpgroup has in registers of A.
    pub(crate) fn of_warpgroup(
        config: &Config,
        shape: MatrixShape,
        planes: Vec<PlaneId>,
        negated: bool,
    ) -> Self {
        let sparse = config.unit == Unit::SparseWgmma;
        let ((_, stored), bits) = (depth(config, shape.k, sparse), config.a.bits());
        let layout = Layout::factor(WARP_ROWS, stored, bits, Order::Tiles);
        Self { negated, ..Self::in_registers(layout, planes, bits) }
    }

    /// A factor of a warpgroup in shared memory.
    pub(crate) fn in_shared(descriptor: PlaneId, transposed: bool, negated: bool) -> Self {
        Self { source: FactorSource::Shared { descriptor, transposed }, negated }
    }
}

impl Product {
    /// A product of a warp, all of it in registers: A, B, C and D. `lines` says whether A is row-major and B column-major.
    pub(crate) fn of_warp(
        config: Config,
        shape: MatrixShape,
        lines: [bool; 2],
        [a, b, c, d]: [Vec<PlaneId>; 4],
        sparsity: Option<Sparsity>,
    ) -> Self {
        let (k, stored) = depth(&config, shape.k, sparsity.is_some());
        let bits = [config.a, config.b].map(|factor| factor.bits());
        let layouts = Layouts::new(MatrixShape { k, ..shape }, bits, lines);
        let for_a = Layouts::new(MatrixShape { k: stored, ..shape }, bits, lines).a;
        let accumulator = |ty, planes| Fragment::new(layouts.accumulator(ty), planes, accumulator_bits(ty));
        Self {
            m: shape.m as usize,
            n: shape.n as usize,
            k: k as usize,
            a: Factor::in_registers(for_a, a, bits[0]),
            b: Factor::in_registers(layouts.b, b, bits[1]),
            c: accumulator(config.c, c),
            d: accumulator(config.d, d),
            sparsity,
            scales: None,
            scale_d: None,
            config,
        }
    }

    /// What a warp of a warpgroup computes: its rows of D, which are those of C where `scale_d` holds.
    pub(crate) fn of_warpgroup(
        config: Config,
        MatrixShape { n, k, .. }: MatrixShape,
        [a, b]: [Factor; 2],
        planes: Vec<PlaneId>,
        sparsity: Option<Sparsity>,
        scale_d: Condition,
    ) -> Self {
        let (k, _) = depth(&config, k, sparsity.is_some());
        let order = Order::Tiles;
        let layout = Layout::Blocks { lines: WARP_ROWS, length: n, unit: 2, order, transposed: false };
        let accumulator = |planes| Fragment::new(layout, planes, accumulator_bits(config.d));
        Self {
            m: WARP_ROWS as usize,
            n: n as usize,
            k: k as usize,
            a,
            b,
            c: accumulator(planes.clone()),
            d: accumulator(planes),
            sparsity,
            scales: None,
            scale_d: Some(scale_d),
            config,
        }
    }
}

/// Where a factor is.
#[derive(Debug)]
pub(crate) enum FactorSource {
    Registers(Fragment),
    /// In shared memory, as a descriptor of 64 bits says.
    Shared {
        descriptor: PlaneId,
        transposed: bool,
    },
}

/// A matrix that `wmma.load` or `wmma.store` moves, with its registers. Elements of less than 8 bits count as words of 32 bits.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) layout: Layout,
    /// Planes of 32 bits, or of 64 for `.f64`.
    pub(crate) planes: Vec<PlaneId>,
    /// Bits of an element.
    pub(crate) bits: u32,
    /// Whether elements of a line lie side by side in memory; else those of different lines do.
    pub(crate) lines_contiguous: bool,
    /// The leading dimension in memory, in elements, of 32 bits.
    pub(crate) stride: Operand,
    /// How many elements of the instruction's type make one here.
    pub(crate) packed: u64,
    pub(crate) space: SpaceKind,
}
