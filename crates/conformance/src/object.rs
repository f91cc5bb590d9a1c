//! What a kernel works on besides its rows and only the host can make: textures, surfaces and tensor maps.
//!
//! A kernel finds it in its parameter `object`: the handle of a texture or a surface, or the 128 bytes of a tensor map.
//! What textures and tensors hold follows from their shape, so that either engine makes the same.

use crate::domain::elements;
use crate::random::Random;
use machine::tensormap::{DataType, Fill, Im2col, Interleave, Promotion, Swizzle, Tensor, TensorMap};
use machine::texture::{ArrayDescriptor, Element, Kind, TextureDescriptor};
use ptx::isa::Modifier;

/// Bytes of the parameter.
pub(crate) const BYTES: usize = 128;

/// What the parameter stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Object {
    /// A texture of an array with these contents.
    Texture {
        /// Its texels' array.
        array: ArrayDescriptor,
        /// How it is read.
        texture: TextureDescriptor,
        /// Whether `tld4` gathers from it.
        gathered: bool,
    },
    /// A surface.
    Surface {
        /// Its texels' array.
        array: ArrayDescriptor,
        /// Whether kernels write to it: then what it held at first has no meaning.
        written: bool,
    },
    /// A tensor map.
    Tensor(TensorShape),
}

/// What a tensor map describes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorShape {
    /// Of the elements.
    pub ty: DataType,
    /// Dimensions.
    pub rank: usize,
    /// Whether it is for the im2col mode.
    pub column: bool,
    /// Whether the tensor is the kernel's results, a row for each thread, and not a pattern.
    pub results: bool,
}

/// Bytes that a copy through a tensor map moves.
pub(crate) const BOX: u32 = 16;

/// Elements of 16 bytes in the first dimension of a tensor that is a pattern, and the extents of the others.
const PATTERN: [u64; 5] = [4, 7, 5, 4, 3];

impl Object {
    /// The bytes of every level of an array.
    pub(crate) fn levels(array: &ArrayDescriptor) -> Vec<Vec<u8>> {
        (0..array.levels).map(|level| texels(array, level)).collect()
    }
}

/// The texels of a level.
fn texels(array: &ArrayDescriptor, level: u32) -> Vec<u8> {
    let halved = |extent: u32| (extent >> level).max(1) as usize;
    let depth = if array.kind == Kind::Plain { halved(array.depth) } else { array.depth as usize };
    let channels = halved(array.width) * halved(array.height) * depth * array.format.channels as usize;
    let bytes = channels * array.format.element.bytes() as usize;
    let mut random = Random::new(u64::from(level) + 7);
    let mut texels = Vec::with_capacity(bytes + 8);
    while texels.len() < bytes {
        // One word in eight is any bits, if it is of floats; the others are near one.
        let mode = if random.one_in(8) { 3 } else { 1 };
        let word = match array.format.element {
            Element::F16 => elements(Modifier::F16, mode, &mut random),
            Element::F32 => elements(Modifier::F32, mode, &mut random),
            _ => random.next() >> 32,
        };
        texels.extend_from_slice(&(word as u32).to_le_bytes());
    }
    texels.truncate(bytes);
    texels
}

impl TensorShape {
    /// How many elements a copy moves.
    pub(crate) fn elements(&self) -> u32 {
        BOX * 8 / self.ty.bits()
    }

    /// The sizes of a tensor of `rows` rows of results, or of the pattern.
    pub(crate) fn sizes(&self, rows: u64) -> Vec<u64> {
        let wide = u64::from(self.elements());
        let mut sizes: Vec<u64> = match (self.results, self.rank) {
            (true, 1) => vec![wide * rows],
            (true, _) => vec![wide, rows, 1, 1, 1],
            (false, _) => {
                PATTERN.iter().enumerate().map(|(i, &n)| if i == 0 { n * wide } else { n }).collect()
            }
        };
        sizes.truncate(self.rank);
        sizes
    }

    /// The pattern's bytes.
    pub(crate) fn pattern(&self) -> Vec<u8> {
        let bytes = self.sizes(0).iter().product::<u64>() * u64::from(self.ty.bits()) / 8;
        let mut random = Random::new(11);
        (0..bytes / 8).flat_map(|_| random.next().to_le_bytes()).collect()
    }

    /// The tensor map for a tensor at an address.
    ///
    /// # Errors
    /// If there is no such map.
    pub(crate) fn map(&self, address: u64, rows: u64) -> Result<[u8; BYTES], String> {
        let sizes = self.sizes(rows);
        let mut strides = Vec::new();
        let mut bytes = u64::from(self.ty.bits()) / 8;
        for size in &sizes[..self.rank - 1] {
            bytes *= size;
            strides.push(bytes);
        }
        let tensor = Tensor {
            ty: self.ty,
            address,
            sizes: &sizes,
            strides: &strides,
            element_strides: &[1; 5][..self.rank],
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            promotion: Promotion::None,
            fill: Fill::Zeros,
        };
        let map = if self.column {
            // The window is as large as the tensor where results are written, and else a pixel smaller on every side.
            let border = if self.results { 0 } else { 1 };
            let (lower, upper) = ([-border; 3], [-border; 3]);
            let spatial = self.rank - 2;
            TensorMap::im2col(
                &tensor,
                &Im2col {
                    lower: &lower[..spatial],
                    upper: &upper[..spatial],
                    channels: self.elements(),
                    pixels: 1,
                },
            )
        } else {
            let mut sides = [1; 5];
            sides[0] = self.elements();
            TensorMap::tiled(&tensor, &sides[..self.rank])
        };
        map.map(|map| map.to_bytes()).map_err(|error| error.to_string())
    }
}
