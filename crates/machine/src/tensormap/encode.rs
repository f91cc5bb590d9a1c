//! From arguments to tensor maps, as `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col` do it for `sm_90`, and what `cuda.h` says of
//! later devices.
//!
//! What is refused is what the driver refuses; each reason has a name here where the driver has one error for all.

use super::{
    BOX_ALIGNMENT, BOX_BYTES, CORNERS, DataType, FILL, Fill, IM2COL, INTERLEAVE, Interleave, MAX_RANK,
    PIXELS, PROMOTION, Promotion, RANK, Swizzle, TensorMap, WIDE, box_size, corner_bits, element_stride,
    mask, size,
};

/// A tensor in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// The type of its elements.
    pub ty: DataType,
    /// Where it begins.
    pub address: u64,
    /// Its size in each dimension, the innermost first.
    pub sizes: &'a [u64],
    /// Bytes from one index to the next in each dimension but the innermost.
    pub strides: &'a [u64],
    /// The step between the elements of a box in each dimension.
    pub element_strides: &'a [u32],
    /// How channels lie in memory.
    pub interleave: Interleave,
    /// How boxes are permuted in shared memory.
    pub swizzle: Swizzle,
    /// What is fetched into L2.
    pub promotion: Promotion,
    /// What stands for elements outside.
    pub fill: Fill,
}

/// A column of pixels, each with some channels, and the bounding box that it walks through.
#[derive(Clone, Copy, Debug)]
pub struct Im2col<'a> {
    /// How far the bounding box begins behind the tensor's begin in each spatial dimension, W first.
    pub lower: &'a [i32],
    /// How far it ends behind the tensor's end.
    pub upper: &'a [i32],
    /// Channels of a pixel.
    pub channels: u32,
    /// Pixels of a column.
    pub pixels: u32,
}

/// Why there is no tensor map of some arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorMapError {
    /// A rank that the mode does not have.
    #[error("a tensor of {rank} dimensions; {mode} mode has {lowest} to {MAX_RANK}")]
    Rank {
        /// The rank.
        rank: usize,
        /// `tile`, `interleaved tile` or `im2col`.
        mode: &'static str,
        /// The least that it takes.
        lowest: usize,
    },
    /// A list that is too short or too long.
    #[error("{given} {what} for a tensor of {rank} dimensions, which has {wanted}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many there should be.
        wanted: usize,
        /// Dimensions of the tensor.
        rank: usize,
    },
    /// A global address that is not aligned.
    #[error("global address {address:#x} is not a multiple of {alignment}")]
    Alignment {
        /// The address.
        address: u64,
        /// What it must be a multiple of.
        alignment: u64,
    },
    /// A global address that no device has.
    #[error("global address {0:#x} is not below 2^57")]
    Address(u64),
    /// A value of a list that is not in its range.
    #[error("{what} {index} is {value}; it must be in {lowest}..={highest}")]
    Range {
        /// What it is.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Its value.
        value: i64,
        /// The least that is allowed.
        lowest: i64,
        /// The most that is allowed.
        highest: i64,
    },
    /// A stride that is not aligned or too large.
    #[error("global stride {index} is {stride}; it must be a multiple of {alignment} below 2^40")]
    Stride {
        /// Which one.
        index: usize,
        /// Its value.
        stride: u64,
        /// What it must be a multiple of.
        alignment: u64,
    },
    /// An inner extent of a box that is no whole number of 16-byte chunks.
    #[error("the inner extent of the box is {elements} elements of {ty}; its bytes must be a multiple of 16")]
    Inner {
        /// Elements.
        elements: u32,
        /// Their type.
        ty: &'static str,
    },
    /// An inner extent of a box that is larger than the swizzle span.
    #[error("the inner extent of the box is {bytes} bytes, more than the {span} that are swizzled")]
    Span {
        /// Its bytes.
        bytes: u64,
        /// Those of the span.
        span: u32,
    },
    /// A box larger than shared memory.
    #[error("a box of {bytes} bytes, more than the {MAX_BOX} of shared memory")]
    Large {
        /// Its bytes.
        bytes: u64,
    },
    /// A size that packed elements cannot have.
    #[error("{what} of {ty} is {value}; it must be a multiple of {step}")]
    Packed {
        /// What it is.
        what: &'static str,
        /// Their type.
        ty: &'static str,
        /// Its value.
        value: u64,
        /// What it must be a multiple of.
        step: u64,
    },
    /// An interleave layout or swizzle mode that elements with gaps cannot have.
    #[error("{0} is neither interleaved nor swizzled so")]
    Gaps(&'static str),
    /// A NaN for a type that has none.
    #[error("elements of {0} cannot be filled with NaN")]
    Fill(&'static str),
    /// A bounding box with nothing inside.
    #[error("the bounding box is empty in spatial dimension {dimension}: from {lower} up to {upper}")]
    Empty {
        /// Which spatial dimension.
        dimension: usize,
        /// Where it begins.
        lower: i64,
        /// Where it ends.
        upper: i64,
    },
}

/// The most bytes that a box may have: all that a CTA can have of shared memory.
const MAX_BOX: u64 = 227 << 10;

impl TensorMap {
    /// A map for copies of boxes (`.tile`).
    ///
    /// # Errors
    /// What the driver refuses.
    pub fn tiled(tensor: &Tensor<'_>, box_sizes: &[u32]) -> Result<Self, TensorMapError> {
        let interleaved = tensor.interleave != Interleave::None;
        let (mode, lowest) = if interleaved { ("interleaved tile", 3) } else { ("tile", 1) };
        let mut map = common(tensor, mode, lowest)?;
        let rank = tensor.sizes.len();
        exactly("box sizes", box_sizes.len(), rank, rank)?;
        for (i, &extent) in box_sizes.iter().enumerate() {
            in_range("box size", i, extent.into(), 1, 256)?;
            map.set(box_size(i), extent - 1);
        }
        check_inner(tensor, box_sizes[0])?;
        let counts = box_sizes.iter().zip(tensor.element_strides);
        let elements = counts.map(|(&extent, &step)| u64::from(extent / step)).product::<u64>();
        finish(map, tensor, elements)
    }

    /// A map for copies of columns of pixels (`.im2col`).
    ///
    /// # Errors
    /// What the driver refuses.
    pub fn im2col(tensor: &Tensor<'_>, column: &Im2col<'_>) -> Result<Self, TensorMapError> {
        Self::of_pixels(tensor, column, false)
    }

    /// A map for copies of pixels along W alone (`.im2col::w`), with one lower and one upper corner: what
    /// `cuTensorMapEncodeIm2colWide` makes.
    ///
    /// # Errors
    /// What the driver refuses.
    pub fn im2col_wide(tensor: &Tensor<'_>, column: &Im2col<'_>) -> Result<Self, TensorMapError> {
        Self::of_pixels(tensor, column, true)
    }

    fn of_pixels(tensor: &Tensor<'_>, column: &Im2col<'_>, wide: bool) -> Result<Self, TensorMapError> {
        let mut map = common(tensor, "im2col", 3)?;
        let rank = tensor.sizes.len();
        let spatial = if wide { 1 } else { rank - 2 };
        exactly("lower corners", column.lower.len(), spatial, rank)?;
        exactly("upper corners", column.upper.len(), spatial, rank)?;
        let count = if wide { 16 } else { corner_bits(rank) };
        let furthest = 1 << (count - 1);
        let mut corners = 0;
        for (name, values, from) in [("lower corner", column.lower, 0), ("upper corner", column.upper, 16)] {
            for (k, &value) in values.iter().enumerate() {
                in_range(name, k, value.into(), -furthest, furthest - 1)?;
                corners |= (value as u32 & mask(count)) << (from + count * k as u32);
            }
        }
        map.set(IM2COL, 1);
        map.set(WIDE, wide.into());
        map.set(CORNERS, corners);
        let first = usize::from(tensor.interleave == Interleave::None);
        for k in 0..spatial {
            let (lower, size) = (i64::from(column.lower[k]), tensor.sizes[first + k] as i64);
            let upper = size + i64::from(column.upper[k]);
            // The driver counts with 32 bits.
            if (upper - lower) as i32 <= 0 {
                return Err(TensorMapError::Empty { dimension: k, lower, upper });
            }
        }
        in_range("channels per pixel", 0, column.channels.into(), 1, 256)?;
        in_range("pixels per column", 0, column.pixels.into(), 1, 1024)?;
        map.set(box_size(0), column.channels - 1);
        map.set(PIXELS, column.pixels - 1);
        check_inner(tensor, column.channels)?;
        finish(map, tensor, u64::from(column.channels) * u64::from(column.pixels))
    }
}

/// What both modes have.
fn common(tensor: &Tensor<'_>, mode: &'static str, lowest: usize) -> Result<TensorMap, TensorMapError> {
    let rank = tensor.sizes.len();
    if !(lowest..=MAX_RANK).contains(&rank) {
        return Err(TensorMapError::Rank { rank, mode, lowest });
    }
    exactly("global strides", tensor.strides.len(), rank - 1, rank)?;
    exactly("element strides", tensor.element_strides.len(), rank, rank)?;
    check_address(tensor.address, tensor.interleave)?;
    check_packed(tensor)?;
    if tensor.fill == Fill::Nan && !tensor.ty.is_float() {
        return Err(TensorMapError::Fill(tensor.ty.name()));
    }
    let mut map = TensorMap::zeroed();
    map.set_address(tensor.address);
    map.set_type(tensor.ty);
    map.set(RANK, rank as u32 - 1);
    map.set(INTERLEAVE, tensor.interleave as u32);
    map.set_swizzle(tensor.swizzle);
    map.set(FILL, tensor.fill as u32);
    map.set(PROMOTION, tensor.promotion as u32);
    let alignment = alignment(tensor.interleave);
    for (i, &extent) in tensor.sizes.iter().enumerate() {
        in_range("global size", i, i64::try_from(extent).unwrap_or(i64::MAX), 1, 1 << 32)?;
        map.set(size(i), (extent - 1) as u32);
    }
    for (index, &stride) in tensor.strides.iter().enumerate() {
        if !stride.is_multiple_of(alignment) || stride >= 1 << 40 {
            return Err(TensorMapError::Stride { index, stride, alignment });
        }
        map.set_stride(index, stride);
    }
    for (i, &step) in tensor.element_strides.iter().enumerate() {
        in_range("element stride", i, step.into(), 1, 8)?;
        map.set(element_stride(i), step - 1);
    }
    Ok(map)
}

/// The last checks, and the words that describe the box as a whole.
fn finish(mut map: TensorMap, tensor: &Tensor<'_>, elements: u64) -> Result<TensorMap, TensorMapError> {
    let bytes = elements.saturating_mul(tensor.ty.bits().into()) / 8;
    if bytes > MAX_BOX {
        return Err(TensorMapError::Large { bytes });
    }
    map.set(BOX_BYTES, bytes as u32);
    let alignment = match tensor.swizzle {
        Swizzle::None => 16,
        swizzle => swizzle.span() * 8,
    };
    map.set(BOX_ALIGNMENT, alignment);
    Ok(map)
}

fn check_inner(tensor: &Tensor<'_>, elements: u32) -> Result<(), TensorMapError> {
    let bits = u64::from(elements) * u64::from(tensor.ty.bits());
    if !bits.is_multiple_of(128) {
        return Err(TensorMapError::Inner { elements, ty: tensor.ty.name() });
    }
    let bytes = bits / 8 * 16 / tensor.ty.packed();
    if has_gaps(tensor.ty) && elements != ROW_WITH_GAPS as u32 {
        let (ty, value) = (tensor.ty.name(), elements.into());
        return Err(TensorMapError::Packed {
            what: "the inner extent of a box",
            ty,
            value,
            step: ROW_WITH_GAPS,
        });
    }
    let span = tensor.swizzle.span();
    if tensor.interleave == Interleave::None && span != 0 && bytes > span.into() {
        return Err(TensorMapError::Span { bytes, span });
    }
    Ok(())
}

/// Elements with gaps that a box has in a row, no more and no less.
const ROW_WITH_GAPS: u64 = 128;

fn has_gaps(ty: DataType) -> bool {
    ty.packed() != 16
}

/// What `cuda.h` asks of elements that are no bytes.
fn check_packed(tensor: &Tensor<'_>) -> Result<(), TensorMapError> {
    let ty = tensor.ty.name();
    let multiple = |what, value: u64, step| match value.is_multiple_of(step) {
        true => Ok(()),
        false => Err(TensorMapError::Packed { what, ty, value, step }),
    };
    if tensor.ty == DataType::B4x16 {
        multiple("global size 0", tensor.sizes[0], 2)?;
    }
    if !has_gaps(tensor.ty) {
        return Ok(());
    }
    multiple("global size 0", tensor.sizes[0], ROW_WITH_GAPS)?;
    multiple("the global address", tensor.address, 32)?;
    tensor.strides.iter().try_for_each(|&stride| multiple("a global stride", stride, 32))?;
    let swizzled = match tensor.swizzle {
        Swizzle::None | Swizzle::Bytes128 | Swizzle::Bytes128Atom32 => true,
        Swizzle::Bytes128Atom64 => tensor.ty == DataType::B6x16P32,
        Swizzle::Bytes32 | Swizzle::Bytes64 | Swizzle::Bytes128Atom32Flip8 => false,
    };
    match swizzled && tensor.interleave == Interleave::None {
        true => Ok(()),
        false => Err(TensorMapError::Gaps(ty)),
    }
}

/// What addresses and strides must be multiples of.
fn alignment(interleave: Interleave) -> u64 {
    if interleave == Interleave::Bytes32 { 32 } else { 16 }
}

pub(super) fn check_address(address: u64, interleave: Interleave) -> Result<(), TensorMapError> {
    let alignment = alignment(interleave);
    if !address.is_multiple_of(alignment) {
        return Err(TensorMapError::Alignment { address, alignment });
    }
    if address >= 1 << 57 {
        return Err(TensorMapError::Address(address));
    }
    Ok(())
}

fn exactly(what: &'static str, given: usize, wanted: usize, rank: usize) -> Result<(), TensorMapError> {
    if given == wanted { Ok(()) } else { Err(TensorMapError::Count { what, given, wanted, rank }) }
}

fn in_range(
    what: &'static str,
    index: usize,
    value: i64,
    lowest: i64,
    highest: i64,
) -> Result<(), TensorMapError> {
    match (lowest..=highest).contains(&value) {
        true => Ok(()),
        false => Err(TensorMapError::Range { what, index, value, lowest, highest }),
    }
}
