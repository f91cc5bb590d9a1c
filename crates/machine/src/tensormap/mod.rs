//! Tensor maps: the 128-byte objects that tell tensor copies how a tensor lies in global memory and how tiles of it lie
//! in shared memory (PTX ISA, "Tensors" and "Tensor-map"; `CUtensorMap` of the driver).
//!
//! What `sm_90` does not have is where `ptxas` puts it for `sm_100`.
//!
//! The object is opaque, but kernels change single fields of it with `tensormap.replace`, which `sm_90` carries out with
//! plain loads and stores. The fields are therefore where an H200 and its driver have them:
//!
//! | word | bits | what |
//! | --- | --- | --- |
//! | 0, 1 | all | global address |
//! | 2 | 0 | mode: 0 tile, 1 im2col |
//! | 2 | 1 | im2col along W alone |
//! | 2 | 4-6 | rank - 1 |
//! | 2 | 7-10 | element type |
//! | 2 | 11-12 | interleave layout |
//! | 2 | 13-14 | swizzle mode |
//! | 2 | 15 | out-of-bounds fill |
//! | 2 | 16 | `.tf32` |
//! | 2 | 17-18 | L2 promotion |
//! | 2 | 19-21 | what of the 128-byte swizzle stays together; `sm_100` and later |
//! | 3-6 | all | global strides / 16, their low 32 bits |
//! | 7 | 4 a stride | the bits above |
//! | 8-12 | all | sizes - 1 |
//! | 13 | 3 a dimension | element strides - 1 |
//! | 13 | 24-31 | box size of dimension 0 - 1, channels - 1 |
//! | 14 | 8 a dimension | tile: box sizes of dimensions 1 to 4 - 1 |
//! | 14 | 0-15, 16-31 | im2col: lower and upper corner of the bounding box, 16, 8 or 5 bits a dimension |
//! | 15 | 0-9 | im2col: pixels - 1 |
//! | 16, 18 | all | bytes of a box and their alignment, which nothing reads |
//!
//! | file | what it alone knows |
//! | --- | --- |
//! | `encode` | the host's side: arguments to objects, and what the driver refuses |
//! | `walk` | which bytes of which memory a copy moves, in order |

mod encode;
mod walk;

pub use encode::{Im2col, Tensor, TensorMapError};
use ir::instruction;
pub use walk::{Direction, Mode, Run, Start, Walk};

/// Bytes of a tensor map.
pub const BYTES: usize = 128;

/// The most dimensions.
pub const MAX_RANK: usize = 5;

/// A tensor map, by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap([u32; BYTES / 4]);

/// Some bits of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bits {
    word: usize,
    from: u32,
    count: u32,
}

const fn bits(word: usize, from: u32, count: u32) -> Bits {
    Bits { word, from, count }
}

const IM2COL: Bits = bits(2, 0, 1);
/// Only W is walked (`.im2col::w`). Where hardware has it is not known: a tensor map is opaque.
const WIDE: Bits = bits(2, 1, 1);
const RANK: Bits = bits(2, 4, 3);
const TYPE: Bits = bits(2, 7, 4);
const INTERLEAVE: Bits = bits(2, 11, 2);
const SWIZZLE: Bits = bits(2, 13, 2);
const FILL: Bits = bits(2, 15, 1);
const TF32: Bits = bits(2, 16, 1);
const PROMOTION: Bits = bits(2, 17, 2);
/// What the 128-byte swizzle keeps together: 16 bytes, 32, 32 with their halves exchanged in every other line, 64.
const ATOMICITY: Bits = bits(2, 19, 3);
/// Set in maps with atoms of the 128-byte swizzle, which `sm_90` does not have; choosing a swizzle mode clears it.
const HAS_ATOMICITY: Bits = bits(2, 22, 1);
const CORNERS: Bits = bits(14, 0, 32);
const PIXELS: Bits = bits(15, 0, 10);
const BOX_BYTES: Bits = bits(16, 0, 32);
const BOX_ALIGNMENT: Bits = bits(18, 0, 32);

fn stride_low(i: usize) -> Bits {
    bits(3 + i, 0, 32)
}

fn stride_high(i: usize) -> Bits {
    bits(7, 4 * i as u32, 4)
}

fn size(i: usize) -> Bits {
    bits(8 + i, 0, 32)
}

fn element_stride(i: usize) -> Bits {
    bits(13, 3 * i as u32, 3)
}

fn box_size(i: usize) -> Bits {
    match i {
        0 => bits(13, 24, 8),
        _ => bits(14, 8 * (i as u32 - 1), 8),
    }
}

/// The type of a tensor's elements (`CUtensorMapDataType`, in its order).
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    F32Ftz,
    Tf32,
    Tf32Ftz,
    /// Elements of 4 bits, packed; the last three are of `sm_100` and later.
    B4x16,
    /// The same with 8 bytes of gap behind each 16 elements in shared memory.
    B4x16P64,
    /// Elements of 6 bits, with 4 bytes of gap behind each 16 in shared memory.
    B6x16P32,
}

impl DataType {
    /// All, by the driver's numbers.
    pub const ALL: [Self; 16] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
        Self::B4x16,
        Self::B4x16P64,
        Self::B6x16P32,
    ];

    /// Its name in PTX.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::S32 => "s32",
            Self::U64 => "u64",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
            Self::F32Ftz => "f32.ftz",
            Self::Tf32 => "tf32",
            Self::Tf32Ftz => "tf32.ftz",
            Self::B4x16 => "b4x16",
            Self::B4x16P64 => "b4x16_p64",
            Self::B6x16P32 => "b6x16_p32",
        }
    }

    /// Bits of an element in global memory.
    pub fn bits(self) -> u32 {
        match self {
            Self::B4x16 | Self::B4x16P64 => 4,
            Self::B6x16P32 => 6,
            Self::U8 => 8,
            Self::U16 | Self::F16 | Self::Bf16 => 16,
            Self::U32 | Self::S32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 32,
            Self::U64 | Self::S64 | Self::F64 => 64,
        }
    }

    /// How many of 16 bytes of shared memory hold elements; behind them is a gap.
    pub(crate) fn packed(self) -> u64 {
        match self {
            Self::B4x16P64 => 8,
            Self::B6x16P32 => 12,
            Self::U8 | Self::U16 | Self::F16 | Self::Bf16 | Self::U32 | Self::S32 | Self::F32 => 16,
            Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz | Self::U64 | Self::S64 | Self::F64 | Self::B4x16 => 16,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        (Self::F16 as u8..Self::B4x16 as u8).contains(&(self as u8))
    }

    /// Whether loads round elements to `.tf32`.
    pub fn is_tf32(self) -> bool {
        matches!(self, Self::Tf32 | Self::Tf32Ftz)
    }

    /// The code in the object, without [`TF32`]. It is the immediate of `tensormap.replace.elemtype` but for 11 and 12.
    fn code(self) -> u32 {
        match self {
            Self::U8 => 0,
            Self::U16 => 1,
            Self::U32 => 2,
            Self::S32 => 3,
            Self::U64 => 4,
            Self::S64 => 5,
            Self::F16 => 6,
            Self::F32 | Self::Tf32 => 7,
            Self::F32Ftz | Self::Tf32Ftz => 8,
            Self::F64 => 9,
            Self::Bf16 => 10,
            Self::B4x16 => 13,
            Self::B4x16P64 => 14,
            Self::B6x16P32 => 15,
        }
    }
}

/// How channels lie in memory (`CUtensorMapInterleave`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interleave {
    /// Elements of dimension 0 are next to one another.
    #[default]
    None,
    /// Slices of 16 bytes: NC/8HWC8 for 2-byte elements.
    Bytes16,
    /// Slices of 32 bytes.
    Bytes32,
}

/// How chunks of a box are permuted in shared memory (`CUtensorMapSwizzle`, in its order; the 128-byte modes with larger
/// atoms exist from `sm_100` on).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None,
    /// Within 32 bytes.
    Bytes32,
    /// Within 64 bytes.
    Bytes64,
    /// Within 128 bytes.
    Bytes128,
    /// Chunks of 32 bytes within 128.
    Bytes128Atom32,
    /// The same, and in every other line the halves of 16 bytes change places.
    Bytes128Atom32Flip8,
    /// Chunks of 64 bytes within 128.
    Bytes128Atom64,
}

impl Swizzle {
    /// All, by the driver's numbers.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Bytes32,
        Self::Bytes64,
        Self::Bytes128,
        Self::Bytes128Atom32,
        Self::Bytes128Atom32Flip8,
        Self::Bytes128Atom64,
    ];

    /// Bytes within which chunks are permuted; 0 without swizzling.
    pub fn span(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Bytes32 => 32,
            Self::Bytes64 => 64,
            Self::Bytes128 | Self::Bytes128Atom32 | Self::Bytes128Atom32Flip8 | Self::Bytes128Atom64 => 128,
        }
    }

    /// The codes of the mode and of its atoms.
    fn codes(self) -> (u32, u32) {
        match self {
            Self::None => (0, 0),
            Self::Bytes32 => (1, 0),
            Self::Bytes64 => (2, 0),
            Self::Bytes128 => (3, 0),
            Self::Bytes128Atom32 => (3, 1),
            Self::Bytes128Atom32Flip8 => (3, 2),
            Self::Bytes128Atom64 => (3, 3),
        }
    }

    /// Bytes that stay together.
    pub(crate) fn chunk(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes128Atom32Flip8 => Some(8),
            Self::Bytes32 | Self::Bytes64 | Self::Bytes128 | Self::Bytes128Atom32 | Self::Bytes128Atom64 => {
                Some(16)
            }
        }
    }

    /// Where the byte that would be at shared address `address` is: the number of a chunk in its span is combined with
    /// the number of its 128-byte line.
    pub fn permute(self, address: u64) -> u64 {
        match self {
            Self::None => address,
            Self::Bytes32 => address ^ (address >> 3 & 0x10),
            Self::Bytes64 => address ^ (address >> 3 & 0x30),
            Self::Bytes128 => address ^ (address >> 3 & 0x70),
            Self::Bytes128Atom32 => address ^ (address >> 2 & 0x60),
            Self::Bytes128Atom32Flip8 => address ^ (address >> 2 & 0x60) ^ (address >> 4 & 0x08),
            Self::Bytes128Atom64 => address ^ (address >> 1 & 0x40),
        }
    }
}

/// How much more than asked for is fetched into L2 (`CUtensorMapL2promotion`). It has no effect here.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Promotion {
    #[default]
    None,
    Bytes64,
    Bytes128,
    Bytes256,
}

/// What loads put in place of elements outside the tensor (`CUtensorMapFloatOOBfill`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Zeros.
    #[default]
    Zeros,
    /// A NaN of the bytes `f7 7f` over and over, in every floating-point type.
    Nan,
}

impl Fill {
    /// The bytes at an even and at an odd address.
    pub fn pattern(self) -> [u8; 2] {
        match self {
            Self::Zeros => [0, 0],
            Self::Nan => 0x7ff7u16.to_le_bytes(),
        }
    }
}

/// A field that `tensormap.replace` names.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    GlobalAddress,
    Rank,
    BoxSize(usize),
    Size(usize),
    Stride(usize),
    ElementStride(usize),
    ElementType,
    Interleave,
    Swizzle,
    SwizzleAtomicity,
    Fill,
}

impl Field {
    /// The one that an instruction names.
    pub(crate) fn new(field: instruction::Field, ordinal: usize) -> Self {
        match field {
            instruction::Field::GlobalAddress => Self::GlobalAddress,
            instruction::Field::Rank => Self::Rank,
            instruction::Field::BoxDim => Self::BoxSize(ordinal),
            instruction::Field::GlobalDim => Self::Size(ordinal),
            // A tensor has one less than sizes; an H200 treats a fifth as it does the others, and so changes the upper
            // bits of them all.
            instruction::Field::GlobalStride => Self::Stride(ordinal),
            instruction::Field::ElementStride => Self::ElementStride(ordinal),
            instruction::Field::Elemtype => Self::ElementType,
            instruction::Field::InterleaveLayout => Self::Interleave,
            instruction::Field::SwizzleMode => Self::Swizzle,
            instruction::Field::FillMode => Self::Fill,
            instruction::Field::SwizzleAtomicity => Self::SwizzleAtomicity,
        }
    }
}

impl TensorMap {
    /// An object of zeros, which no copy accepts.
    fn zeroed() -> Self {
        Self([0; BYTES / 4])
    }

    /// The object that these bytes are; any bytes are one, though copies may refuse it.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        let mut map = Self::zeroed();
        for (word, bytes) in map.0.iter_mut().zip(words) {
            *word = u32::from_le_bytes(*bytes);
        }
        map
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(self.0) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }

    fn get(&self, field: Bits) -> u32 {
        self.0[field.word] >> field.from & mask(field.count)
    }

    fn set(&mut self, field: Bits, value: u32) {
        let word = &mut self.0[field.word];
        *word = *word & !(mask(field.count) << field.from) | (value & mask(field.count)) << field.from;
    }

    /// Where the tensor lies.
    pub fn global_address(&self) -> u64 {
        u64::from(self.0[0]) | u64::from(self.0[1]) << 32
    }

    /// Sets the global address (`cuTensorMapReplaceAddress`).
    ///
    /// # Errors
    /// If it is not aligned as the interleave layout asks, or is no address.
    pub fn set_global_address(&mut self, address: u64) -> Result<(), TensorMapError> {
        encode::check_address(address, self.interleave().unwrap_or_default())?;
        self.set_address(address);
        Ok(())
    }

    fn set_address(&mut self, address: u64) {
        self.0[0] = address as u32;
        self.0[1] = (address >> 32) as u32;
    }

    /// Dimensions.
    pub fn rank(&self) -> usize {
        self.get(RANK) as usize + 1
    }

    /// Whether it is for im2col mode.
    pub fn is_im2col(&self) -> bool {
        self.get(IM2COL) != 0
    }

    /// The element type; `None` for a code that means none.
    pub fn data_type(&self) -> Option<DataType> {
        let is = |ty: &DataType| (ty.code(), ty.is_tf32()) == (self.get(TYPE), self.get(TF32) != 0);
        // The bit for tf32 means something for the two types of 32 bits alone.
        let plain = |ty: &DataType| !ty.is_tf32() && ty.code() == self.get(TYPE);
        DataType::ALL.into_iter().find(is).or_else(|| DataType::ALL.into_iter().find(plain))
    }

    /// The interleave layout; `None` for a code that means none.
    pub fn interleave(&self) -> Option<Interleave> {
        [Interleave::None, Interleave::Bytes16, Interleave::Bytes32]
            .get(self.get(INTERLEAVE) as usize)
            .copied()
    }

    /// The swizzle mode.
    pub fn swizzle(&self) -> Swizzle {
        match (self.get(SWIZZLE), self.get(ATOMICITY)) {
            (0, _) => Swizzle::None,
            (1, _) => Swizzle::Bytes32,
            (2, _) => Swizzle::Bytes64,
            (_, 0) => Swizzle::Bytes128,
            (_, 1) => Swizzle::Bytes128Atom32,
            (_, 2) => Swizzle::Bytes128Atom32Flip8,
            (..) => Swizzle::Bytes128Atom64,
        }
    }

    fn set_swizzle(&mut self, swizzle: Swizzle) {
        let (mode, atoms) = swizzle.codes();
        self.set(SWIZZLE, mode);
        self.set(ATOMICITY, atoms);
        self.set(HAS_ATOMICITY, u32::from(atoms != 0));
    }

    /// What stands for elements outside.
    pub fn fill(&self) -> Fill {
        if self.get(FILL) == 0 { Fill::Zeros } else { Fill::Nan }
    }

    /// The tensor's size in a dimension.
    pub fn size(&self, dimension: usize) -> u64 {
        u64::from(self.get(size(dimension))) + 1
    }

    /// Bytes from one index of dimension `i + 1` to the next.
    pub fn stride(&self, i: usize) -> u64 {
        (u64::from(self.get(stride_low(i))) | u64::from(self.get(stride_high(i))) << 32) << 4
    }

    fn set_stride(&mut self, i: usize, bytes: u64) {
        self.set(stride_low(i), (bytes >> 4) as u32);
        self.set(stride_high(i), (bytes >> 36) as u32);
    }

    /// The step between the elements of a box in a dimension.
    pub fn element_stride(&self, dimension: usize) -> u32 {
        self.get(element_stride(dimension)) + 1
    }

    /// The extent of a box in a dimension; of dimension 0 in im2col mode, the channels.
    pub fn box_size(&self, dimension: usize) -> u32 {
        self.get(box_size(dimension)) + 1
    }

    /// The pixels of a column (im2col mode).
    pub fn pixels(&self) -> u32 {
        self.get(PIXELS) + 1
    }

    /// Whether it is for the im2col modes that move along W alone.
    pub fn is_wide(&self) -> bool {
        self.get(WIDE) != 0
    }

    /// The lower and the upper corner of the bounding box in spatial dimension `k`: how far it begins behind the
    /// tensor's begin, and ends behind its end (im2col mode).
    pub fn corners(&self, k: usize) -> (i32, i32) {
        let count = if self.is_wide() { 16 } else { corner_bits(self.rank()) };
        let half = |from: u32| {
            let from = from + count * k as u32;
            if from + count > 32 {
                return 0;
            }
            let raw = self.get(CORNERS) >> from & mask(count);
            (raw << (32 - count)) as i32 >> (32 - count)
        };
        (half(0), half(16))
    }

    /// Replaces a field as `tensormap.replace` does: the bits that do not fit are dropped, nothing is checked.
    pub fn replace(&mut self, field: Field, value: u64) {
        let minus_one = (value as u32).wrapping_sub(1);
        match field {
            Field::GlobalAddress => self.set_address(value),
            Field::Rank => self.set(RANK, value as u32),
            Field::BoxSize(i) => self.set(box_size(i), minus_one),
            Field::Size(i) => self.set(size(i), minus_one),
            Field::Stride(i) => self.set_stride(i, value),
            Field::ElementStride(i) => self.set(element_stride(i), minus_one),
            Field::ElementType => match value {
                11 => self.set_type(DataType::Tf32),
                12 => self.set_type(DataType::Tf32Ftz),
                // The bit for tf32 stays.
                code => self.set(TYPE, code as u32),
            },
            Field::Interleave => self.set(INTERLEAVE, value as u32),
            Field::Swizzle => {
                self.set(SWIZZLE, value as u32);
                self.set(HAS_ATOMICITY, 0);
            }
            Field::SwizzleAtomicity => self.set(ATOMICITY, value as u32),
            Field::Fill => self.set(FILL, value as u32),
        }
    }

    fn set_type(&mut self, ty: DataType) {
        self.set(TYPE, ty.code());
        self.set(TF32, u32::from(ty.is_tf32()));
    }
}

/// Bits of one corner coordinate of a bounding box.
fn corner_bits(rank: usize) -> u32 {
    match rank {
        ..=3 => 16,
        4 => 8,
        _ => 5,
    }
}

fn mask(count: u32) -> u32 {
    u32::MAX >> (32 - count)
}

#[cfg(test)]
mod tests;
