//! Which element of a matrix each register of each lane holds (PTX ISA, "Matrix Fragments for mma", "for wmma" and
//! "Register Fragments and Shared Memory Matrix Layouts" of wgmma).
//!
//! All but one of the fragments are made of one piece: a block of 8 *lines* and 4 *units*. Lane l holds the unit
//! l % 4 of line l / 4. For A a line is a row and a unit 32 bits of consecutive elements along k; for B a line is a
//! column; for C and D a line is a row and a unit two neighbours in it. What differs is the order in which a lane's
//! registers go through the blocks. The manual leaves the fragments of `wmma` open; on an H200 they are these, too.

use ir::operand::MatrixShape;
use numerics::tensor::Accumulator;

/// How the registers of a lane go through the blocks of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    /// Along the lines, then to the next 8 lines: B.
    Lines,
    /// In tiles of 16 lines: both blocks of a tile, then the next blocks along its lines: A, C and D.
    Tiles,
}

/// Who holds which element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Layout {
    /// Blocks of 8 lines by 4 units.
    Blocks {
        /// The matrix's size across its lines.
        lines: u32,
        /// The matrix's size along its lines.
        length: u32,
        /// Elements of a unit.
        unit: u32,
        order: Order,
        /// Whether the lines are columns of the matrix as it is used, so that they come second.
        transposed: bool,
    },
    /// `mma.m8n8k4`: four products, each by 4 lanes of the warp's lower half and the 4 that lie 16 above them. An
    /// 8x4 factor has a line a lane, in two halves.
    QuadLine,
    /// The same for a factor that is stored the other way: a lane holds half of the elements at one k.
    QuadAcross,
    /// Its `.f32` accumulators.
    QuadPairs,
    /// Its `.f16` accumulators: a row a lane.
    QuadRow,
}

impl Layout {
    /// A factor: `lines` of `length` elements of `bits`.
    pub(crate) fn factor(lines: u32, length: u32, bits: u32, order: Order) -> Self {
        Self::Blocks { lines, length, unit: (32 / bits).max(1), order, transposed: false }
    }

    /// How many different elements a lane holds. A fragment with more registers has them several times.
    pub(crate) fn elements(self) -> u32 {
        match self {
            Self::Blocks { lines, length, .. } => lines * length / 32,
            Self::QuadLine | Self::QuadAcross => 4,
            Self::QuadPairs | Self::QuadRow => 8,
        }
    }

    /// How many neighbours in a line a lane holds.
    pub(crate) fn unit(self) -> u32 {
        match self {
            Self::Blocks { unit, .. } => unit,
            Self::QuadLine => 4,
            Self::QuadAcross => 1,
            Self::QuadPairs => 2,
            Self::QuadRow => 8,
        }
    }

    /// The line of element `i` of a lane, and its place along the line.
    pub(crate) fn line(self, lane: u32, i: u32) -> (u32, u32) {
        // Quad layouts: the product is part of the line.
        let half = lane / 16;
        let product = 8 * (lane / 4 % 4);
        match self {
            Self::Blocks { lines, length, unit, order, .. } => {
                let along = length / (4 * unit);
                let block = i / unit;
                let (line_block, unit_block) = match order {
                    Order::Tiles if lines >= 16 => (block / (2 * along) * 2 + block % 2, block / 2 % along),
                    Order::Lines | Order::Tiles => (block / along, block % along),
                };
                (8 * line_block + lane / 4, (4 * unit_block + lane % 4) * unit + i % unit)
            }
            Self::QuadLine => (product + lane % 4 + 4 * half, i),
            Self::QuadAcross => (product + i + 4 * half, lane % 4),
            Self::QuadPairs => (product + (lane & 1) + (i & 2) + 4 * half, (i & 4) + (lane & 2) + (i & 1)),
            Self::QuadRow => (product + lane % 4 + 4 * half, i),
        }
    }

    /// The place of element `i` of a lane in an array: factors line by line, C and D row by row.
    pub(crate) fn position(self, lane: u32, i: u32) -> u32 {
        let (line, along) = self.line(lane, i % self.elements());
        match self {
            Self::Blocks { lines, transposed: true, .. } => along * lines + line,
            Self::Blocks { length, .. } => line * length + along,
            Self::QuadLine | Self::QuadAcross => line * 4 + along,
            Self::QuadPairs | Self::QuadRow => line * 8 + along,
        }
    }
}

/// The layouts of a product's matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layouts {
    pub(crate) a: Layout,
    pub(crate) b: Layout,
    /// Of C and D, but for those of [`Layout::QuadLine`].
    result: Layout,
}

impl Layouts {
    /// Of matrices of such sizes and bits of an element. `lines` says whether A is row-major and B column-major.
    ///
    /// `wmma.m8n32k16` is computed as its transpose, with A and B in each other's place.
    pub(crate) fn new(MatrixShape { m, n, k }: MatrixShape, bits: [u32; 2], lines: [bool; 2]) -> Self {
        let swapped = m == 8 && n == 32;
        let [a, b] = match [m, n, k, bits[0]] {
            // A lane has a line of a row-major A and of a column-major B.
            [8, 8, 4, 16] => lines.map(|line| if line { Layout::QuadLine } else { Layout::QuadAcross }),
            _ if swapped => {
                [Layout::factor(m, k, bits[0], Order::Lines), Layout::factor(n, k, bits[1], Order::Tiles)]
            }
            _ => [Layout::factor(m, k, bits[0], Order::Tiles), Layout::factor(n, k, bits[1], Order::Lines)],
        };
        let (lines, length) = if swapped { (n, m) } else { (m, n) };
        let result = Layout::Blocks { lines, length, unit: 2, order: Order::Tiles, transposed: swapped };
        Self { a, b, result }
    }

    /// Of C and D.
    pub(crate) fn accumulator(&self, ty: Accumulator) -> Layout {
        match (self.a, ty) {
            (Layout::QuadLine | Layout::QuadAcross, Accumulator::F16) => Layout::QuadRow,
            (Layout::QuadLine | Layout::QuadAcross, _) => Layout::QuadPairs,
            _ => self.result,
        }
    }
}
