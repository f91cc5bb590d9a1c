//! Which bytes a tensor copy moves: boxes (`.tile`) and columns of pixels (`.im2col`) as runs of neighbouring bytes.
//!
//! A copy walks through positions of the tensor in order, the lower dimensions first, and lays what it finds one after
//! the other in shared memory. Without interleaving a run is a row of dimension 0; with it, the slice of 16 or 32 bytes
//! that stands for one element of dimension 0, and the dimension before the last selects the slice of channels: its box
//! size is not walked. With swizzling, a row takes the whole swizzle span, however short it is.
//!
//! Bytes outside the tensor are filled by loads and left out by stores. A store leaves out whole 16-byte chunks only:
//! of a row whose end is not a multiple of 16 bytes it writes up to the next one, as an H200 does.

use super::{DataType, Interleave, MAX_RANK, Swizzle, TensorMap};
use std::ops::Range;

/// Whether a copy goes from or to global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From it.
    Load,
    /// To it.
    Store,
}

/// How a copy finds its way through the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `.tile`: a box.
    Tile,
    /// `.tile::gather4` and `.tile::scatter4`: four rows of a matrix, each with a coordinate of its own.
    Rows,
    /// `.im2col` and `.im2col_no_offs`: pixels of a bounding box.
    Im2col,
    /// `.im2col::w`: pixels along W.
    Im2colW,
    /// `.im2col::w::128`: 128 of them, in groups of 32.
    Im2colW128,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Tile | Self::Rows => "tile",
            Self::Im2col => "im2col",
            Self::Im2colW | Self::Im2colW128 => "im2col::w",
        }
    }

    /// Coordinates of a tensor of so many dimensions.
    pub(crate) fn coordinates(self, rank: usize) -> usize {
        match self {
            Self::Tile | Self::Im2col | Self::Im2colW | Self::Im2colW128 => rank,
            Self::Rows => 1 + ROWS,
        }
    }

    /// Offsets, or what stands for them.
    pub(crate) fn offsets(self, rank: usize) -> usize {
        match self {
            Self::Tile | Self::Rows => 0,
            Self::Im2col => rank.saturating_sub(2),
            Self::Im2colW | Self::Im2colW128 => 2,
        }
    }
}

/// Rows that are gathered or scattered.
const ROWS: usize = 4;

/// Pixels of `.im2col::w::128`, and those of them that have a halo together.
const PIXELS_OF_128: u64 = 128;
const GROUP_OF_128: u64 = 32;

/// What an instruction says about where a copy begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// `.1d` to `.5d`.
    pub rank: usize,
    /// How it goes on.
    pub mode: Mode,
    /// Where it begins, dimension 0 first.
    pub coordinates: [i32; MAX_RANK],
    /// Added to the spatial coordinates of every pixel; of the modes along W the pixels of the halo, and a signed offset.
    pub offsets: [u16; MAX_RANK - 2],
}

/// Why a map does not serve an instruction. An H200 reports an illegal instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the tensor map has rank {map}, the instruction .{instruction}d")]
    Rank { map: usize, instruction: usize },
    #[error("the tensor map is for {map} mode, the instruction for {instruction} mode")]
    Mode { map: &'static str, instruction: &'static str },
    #[error("the tensor map's field {field} holds {value}, which means nothing")]
    Field { field: &'static str, value: u32 },
    #[error("the tensor map's box has {0} rows or is interleaved; four rows are copied by maps of one row")]
    NotARow(u32),
    #[error("the tensor map's swizzle mode is none that copies along W have")]
    Swizzle,
    #[error("the tensor map's box has rows of {0} bytes, which is no multiple of 16")]
    Inner(u64),
    #[error("the tensor map's box has rows of {bytes} bytes, more than the {span} that are swizzled")]
    Span { bytes: u64, span: u64 },
    #[error("coordinate {0} of dimension 0 is at byte {1} of its row, which is no multiple of 16")]
    Unaligned(i32, i64),
    #[error("coordinate {value} of dimension {dimension} is negative, which a store cannot have")]
    Negative { dimension: usize, value: i32 },
    #[error("coordinate {value} of dimension {dimension} is outside the bounding box, {lower} up to {upper}")]
    OutsideBox { dimension: usize, value: i32, lower: i64, upper: i64 },
    #[error("the bounding box leaves the tensor in dimension {dimension}, which a store's cannot")]
    LargeBox { dimension: usize },
}

/// Neighbouring bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where they are in global memory.
    pub global: u64,
    /// Where they are in shared memory, from the begin of the copy's block there, before swizzling.
    pub shared: u64,
    /// Those of them that are in the tensor; the others of a load are filled.
    pub inside: Range<u64>,
    /// Where the 16-byte chunk of the last of them ends, which a store writes whole.
    pub padded: u64,
}

/// The runs of a copy.
#[derive(Clone, Debug)]
pub struct Walk {
    map: TensorMap,
    order: Order,
    /// Where the next run begins.
    position: [i64; MAX_RANK],
    offsets: [i64; MAX_RANK],
    /// Bits of an element of dimension 0.
    element: u64,
    /// Bytes of the part of a row that is in the tensor.
    row: i128,
    /// Bytes of a run.
    bytes: u64,
    /// Bytes from one run to the next in shared memory.
    pitch: u64,
    runs: u64,
    next: u64,
}

/// How positions follow one another.
#[derive(Clone, Debug)]
enum Order {
    Box {
        start: [i64; MAX_RANK],
        index: [u32; MAX_RANK],
        counts: [u32; MAX_RANK],
        steps: [i64; MAX_RANK],
    },
    Pixels {
        spatial: Range<usize>,
        lower: [i64; MAX_RANK],
        upper: [i64; MAX_RANK],
    },
    Rows {
        rows: [i64; ROWS],
    },
    /// Pixels along dimension `w` between two corners, then of the next image. Behind every `group` of them `halo` more, past the
    /// last one whatever the corners; `at` pixels of a group and its halo are done, and the next one that is none is `resume`.
    Wide {
        w: usize,
        corners: [i64; 2],
        group: u64,
        halo: u64,
        at: u64,
        resume: [i64; MAX_RANK],
    },
}

impl TensorMap {
    /// The runs of a copy.
    ///
    /// # Errors
    /// If the map does not serve the instruction.
    pub fn runs(&self, start: &Start, direction: Direction) -> Result<Walk, String> {
        self.walk(start, direction).map_err(|why| why.to_string())
    }

    /// The runs of a copy, if the map serves the instruction.
    pub(crate) fn walk(&self, start: &Start, direction: Direction) -> Result<Walk, Refusal> {
        let rank = self.rank();
        let mode = match (self.is_im2col(), self.is_wide()) {
            (false, _) => Mode::Tile,
            (true, false) => Mode::Im2col,
            (true, true) => Mode::Im2colW,
        };
        if mode.name() != start.mode.name() {
            return Err(Refusal::Mode { map: mode.name(), instruction: start.mode.name() });
        }
        if rank != start.rank {
            return Err(Refusal::Rank { map: rank, instruction: start.rank });
        }
        let field = |field, bits| Refusal::Field { field, value: self.get(bits) };
        let ty = self.data_type().ok_or_else(|| field("element type", super::TYPE))?;
        let interleave = self.interleave().ok_or_else(|| field("interleave layout", super::INTERLEAVE))?;
        if start.mode == Mode::Rows && (self.box_size(1) != 1 || interleave != Interleave::None) {
            return Err(Refusal::NotARow(self.box_size(1)));
        }
        if mode == Mode::Im2colW && matches!(self.swizzle(), Swizzle::None | Swizzle::Bytes128Atom32Flip8) {
            return Err(Refusal::Swizzle);
        }
        let walk = match interleave {
            Interleave::None => self.rows(start, ty)?,
            Interleave::Bytes16 => self.slices(start, 16),
            Interleave::Bytes32 => self.slices(start, 32),
        };
        if direction == Direction::Store && start.mode != Mode::Rows {
            for (dimension, &value) in start.coordinates[..rank].iter().enumerate() {
                if value < 0 {
                    return Err(Refusal::Negative { dimension, value });
                }
            }
        }
        if let Order::Pixels { spatial, lower, upper } = &walk.order {
            for dimension in spatial.clone() {
                let (value, lower, upper) =
                    (start.coordinates[dimension], lower[dimension], upper[dimension]);
                if !(lower..upper).contains(&value.into()) {
                    return Err(Refusal::OutsideBox { dimension, value, lower, upper });
                }
                if direction == Direction::Store && (lower < 0 || upper > self.size(dimension) as i64) {
                    return Err(Refusal::LargeBox { dimension });
                }
            }
        }
        Ok(walk)
    }

    /// The walk without interleaving: runs are rows.
    fn rows(&self, start: &Start, ty: DataType) -> Result<Walk, Refusal> {
        let element = u64::from(ty.bits());
        let bytes = u64::from(self.box_size(0)) * element / 8;
        let span = u64::from(self.swizzle().span());
        if !bytes.is_multiple_of(16) {
            return Err(Refusal::Inner(bytes));
        }
        let shared = bytes * 16 / ty.packed();
        if span != 0 && shared > span {
            return Err(Refusal::Span { bytes: shared, span });
        }
        let bits = i64::from(start.coordinates[0]) * element as i64;
        if bits % 128 != 0 {
            return Err(Refusal::Unaligned(start.coordinates[0], bits / 8));
        }
        let counts = |dimension| (dimension != 0).then(|| self.box_size(dimension));
        Ok(self.walk_of(start, 1, element, bytes, shared.max(span), counts))
    }

    /// The walk with interleaving: runs are slices.
    fn slices(&self, start: &Start, slice: u64) -> Walk {
        let channels = self.rank().saturating_sub(2);
        let counts = |dimension| (dimension != channels).then(|| self.box_size(dimension));
        self.walk_of(start, 0, slice * 8, slice, slice, counts)
    }

    /// The pixels of the modes along W.
    fn order_along_w(&self, start: &Start, w: usize) -> (Order, u64) {
        let [halo, offset, _] = start.offsets;
        let (halo, offset) = (u64::from(halo), i64::from(offset as i16));
        let (lower, upper) = self.corners(0);
        let corners = [i64::from(lower) + offset, self.size(w) as i64 + i64::from(upper) + offset];
        let (pixels, group) = match start.mode {
            Mode::Im2colW128 => (PIXELS_OF_128, GROUP_OF_128),
            Mode::Tile | Mode::Rows | Mode::Im2col | Mode::Im2colW => {
                (self.pixels().into(), self.pixels().into())
            }
        };
        let mut resume = start.coordinates.map(i64::from);
        resume[w] += offset;
        let runs = pixels + pixels.div_ceil(group) * halo;
        (Order::Wide { w, corners, group, halo, at: 0, resume }, runs)
    }

    /// `first` is the first spatial dimension, `extent` the box size of a dimension that is walked.
    fn walk_of(
        &self,
        start: &Start,
        first: usize,
        element: u64,
        bytes: u64,
        pitch: u64,
        extent: impl Fn(usize) -> Option<u32>,
    ) -> Walk {
        let rank = self.rank();
        let position = start.coordinates.map(i64::from);
        let mut offsets = [0; MAX_RANK];
        let (order, runs) = if self.is_wide() {
            self.order_along_w(start, first)
        } else if start.mode == Mode::Rows {
            let rows = std::array::from_fn(|row| start.coordinates[1 + row].into());
            (Order::Rows { rows }, ROWS as u64)
        } else if self.is_im2col() {
            let spatial = first..first + rank - 2;
            let (mut lower, mut upper) = ([0; MAX_RANK], [0; MAX_RANK]);
            for (k, dimension) in spatial.clone().enumerate() {
                let (low, high) = self.corners(k);
                lower[dimension] = low.into();
                upper[dimension] = self.size(dimension) as i64 + i64::from(high);
                offsets[dimension] = start.offsets[k].into();
            }
            (Order::Pixels { spatial, lower, upper }, self.pixels().into())
        } else {
            let (mut counts, mut steps, mut runs) = ([1; MAX_RANK], [1; MAX_RANK], 1);
            for dimension in 0..rank {
                if let Some(extent) = extent(dimension) {
                    let step = self.element_stride(dimension);
                    counts[dimension] = extent.div_ceil(step);
                    steps[dimension] = step.into();
                    runs *= u64::from(counts[dimension]);
                }
            }
            (Order::Box { start: position, index: [0; MAX_RANK], counts, steps }, runs)
        };
        let row = i128::from(self.size(0)) * i128::from(element) / 8;
        let mut position = position;
        match &order {
            Order::Wide { resume, .. } => position = *resume,
            Order::Rows { rows } => position[1..=ROWS].copy_from_slice(&[rows[0], 0, 0, 0]),
            Order::Box { .. } | Order::Pixels { .. } => {}
        }
        Walk { map: *self, order, position, offsets, element, row, bytes, pitch, runs, next: 0 }
    }
}

impl Walk {
    /// Bytes that count as transferred, whether they are inside the tensor or not.
    pub fn bytes(&self) -> u64 {
        self.runs * self.bytes
    }

    /// Bytes of each run, copied or filled.
    pub fn run_bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of shared memory from the first to the last that is used.
    pub fn footprint(&self) -> u64 {
        self.runs * self.pitch
    }

    fn run(&self) -> Run {
        let rank = self.map.rank();
        let mut at = self.position;
        for (at, offset) in at.iter_mut().zip(self.offsets) {
            *at += offset;
        }
        let byte = i128::from(at[0]) * i128::from(self.element) / 8;
        let outside = (1..rank).any(|d| at[d] < 0 || at[d] >= self.map.size(d) as i64);
        let within = |byte: i128| byte.clamp(0, self.bytes.into()) as u64;
        let (inside, padded) = if outside {
            (0..0, 0)
        } else {
            let start = within(-byte);
            let end = |row: i128| within(row - byte).max(start);
            (start..end(self.row), end((self.row + 15) / 16 * 16))
        };
        let address = (1..rank).fold(i128::from(self.map.global_address()) + byte, |address, d| {
            address + i128::from(at[d]) * i128::from(self.map.stride(d - 1))
        });
        Run { global: address as u64, shared: self.next * self.pitch, inside, padded }
    }

    fn advance(&mut self) {
        let rank = self.map.rank();
        match &mut self.order {
            Order::Box { start, index, counts, steps } => {
                for d in 0..rank {
                    index[d] += 1;
                    self.position[d] += steps[d];
                    if index[d] < counts[d] {
                        return;
                    }
                    index[d] = 0;
                    self.position[d] = start[d];
                }
            }
            Order::Rows { rows } => self.position[1] = rows.get(self.next as usize).copied().unwrap_or(0),
            Order::Wide { w, corners, group, halo, at, resume } => {
                let (step, last) = (i64::from(self.map.element_stride(*w)), rank - 1);
                let is_halo = *at >= *group;
                if !is_halo {
                    *resume = self.position;
                    resume[*w] += step;
                    if resume[*w] >= corners[1] {
                        resume[*w] = corners[0];
                        resume[last] += i64::from(self.map.element_stride(last));
                    }
                }
                *at += 1;
                let (group, all) = (*group, *group + *halo);
                match *at {
                    done if done == all => (*at, self.position) = (0, *resume),
                    done if done >= group => self.position[*w] += step,
                    _ => self.position = *resume,
                }
            }
            Order::Pixels { spatial, lower, upper } => {
                let last = rank - 1;
                for d in spatial.clone() {
                    self.position[d] += i64::from(self.map.element_stride(d));
                    if self.position[d] < upper[d] {
                        return;
                    }
                    self.position[d] = lower[d];
                }
                self.position[last] += i64::from(self.map.element_stride(last));
            }
        }
    }
}

impl Iterator for Walk {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        if self.next == self.runs {
            return None;
        }
        let run = self.run();
        self.next += 1;
        self.advance();
        Some(run)
    }
}
