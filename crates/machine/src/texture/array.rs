//! Arrays: texels in device memory, in levels, layers and rows.

use super::table::TextureError;
use crate::memory::DeviceMemory;
use numerics::texture::format::Element;

/// How a texel is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Each channel.
    pub element: Element,
    /// 1, 2 or 4.
    pub channels: u32,
    /// Whether 8- and 16-bit integers are fractions whatever a sampler says (CUDA's `UNORM` and `SNORM` formats).
    pub normalized: bool,
}

impl Format {
    /// A format whose integers are what a sampler says.
    pub fn new(element: Element, channels: u32) -> Self {
        Self { element, channels, normalized: false }
    }

    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> u32 {
        self.element.bytes() * self.channels
    }

    pub(crate) fn check(&self) -> Result<(), TextureError> {
        match self.channels {
            1 | 2 | 4 => Ok(()),
            n => Err(TextureError::invalid(format!("a texel of {n} channels"))),
        }
    }
}

/// What an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One, two or three dimensions, as many as extents are not zero.
    Plain,
    /// Layers of one or two dimensions.
    Layered,
    /// Six square layers, a face each.
    Cube,
    /// Layers of six faces.
    LayeredCube,
}

/// What to make an array of, as `CUDA_ARRAY3D_DESCRIPTOR` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayDescriptor {
    /// Texels in a row.
    pub width: u32,
    /// Rows; 0 in one dimension.
    pub height: u32,
    /// Slices, or layers, or faces times layers; 0 for none.
    pub depth: u32,
    /// Of a texel.
    pub format: Format,
    /// What the extents mean.
    pub kind: Kind,
    /// Mip levels; 1 for an array without.
    pub levels: u32,
    /// Samples of a texel; 1 but for multi-sample textures.
    pub samples: u32,
}

impl ArrayDescriptor {
    /// A plain array of one level.
    pub fn plain(width: u32, height: u32, depth: u32, format: Format) -> Self {
        Self { width, height, depth, format, kind: Kind::Plain, levels: 1, samples: 1 }
    }

    /// Whether `depth` counts layers.
    pub(crate) fn is_layered(&self) -> bool {
        self.kind != Kind::Plain
    }

    /// How many dimensions a layer has.
    pub(crate) fn dimensions(&self) -> usize {
        match (self.height, self.depth) {
            (0, _) => 1,
            (_, 0) => 2,
            _ if self.is_layered() => 2,
            _ => 3,
        }
    }

    fn check(&self) -> Result<(), TextureError> {
        let invalid = |why: &str| Err(TextureError::invalid(why.to_owned()));
        self.format.check()?;
        let (w, h, d) = (self.width, self.height, self.depth);
        match self.kind {
            _ if w == 0 => return invalid("an array without width"),
            Kind::Plain if h == 0 && d != 0 => return invalid("an array with depth and without height"),
            Kind::Layered if d == 0 => return invalid("a layered array without layers"),
            Kind::Cube if w != h || d != 6 => return invalid("a cube needs six square faces"),
            Kind::LayeredCube if w != h || d == 0 || !d.is_multiple_of(6) => {
                return invalid("a layered cube needs square faces, a multiple of six");
            }
            Kind::Plain | Kind::Layered | Kind::Cube | Kind::LayeredCube => {}
        }
        let limits = match (self.kind, self.dimensions()) {
            (Kind::Plain, 3) => [16384, 16384, 16384],
            (Kind::Plain, _) => [131_072, 65536, 0],
            (Kind::Layered, _) => [32768, 32768, 2048],
            (Kind::Cube | Kind::LayeredCube, _) => [32768, 32768, 2046],
        };
        if w > limits[0] || h > limits[1] || d > limits[2] {
            return invalid("an array larger than a device supports");
        }
        let longest = w.max(h).max(if self.is_layered() { 0 } else { d });
        if self.levels == 0 || self.levels > 32 - longest.leading_zeros() {
            return invalid("more levels than halving the size gives");
        }
        match self.samples {
            1 => Ok(()),
            2 | 4 | 8 | 16 if self.dimensions() == 2 && self.levels == 1 && self.kind != Kind::Cube => Ok(()),
            _ => invalid("samples that this array cannot have"),
        }
    }
}

/// A mip level of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The address of its first texel, for who copies rows.
    pub address: u64,
    /// Texels along each axis; at least 1, but for what is zero in the descriptor.
    pub extents: [u32; 3],
    /// Bytes from a row to the next. Slices and layers follow one another without gaps.
    pub row_pitch: u64,
}

/// Rows begin at multiples of this, so that any access of a surface is aligned if its coordinate is.
const ROW_ALIGN: u64 = 16;

/// An array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// What it was made of.
    pub descriptor: ArrayDescriptor,
    pub(crate) levels: Vec<Level>,
    /// What was allocated.
    pub(crate) address: u64,
}

/// Texels of an array that are copied: their first, and how many along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRegion {
    /// The mip level.
    pub level: u32,
    /// The first texel: column, row, slice or layer.
    pub origin: [u32; 3],
    /// How many.
    pub extents: [u32; 3],
    /// Bytes from a row to the next in the host's memory.
    pub row_pitch: usize,
    /// Bytes from a slice to the next in the host's memory.
    pub slice_pitch: usize,
}

impl Array {
    pub(crate) fn allocate(memory: &DeviceMemory, descriptor: ArrayDescriptor) -> Result<Self, TextureError> {
        descriptor.check()?;
        let texel = u64::from(descriptor.format.texel_bytes()) * u64::from(descriptor.samples);
        let mut levels = Vec::new();
        let mut bytes = 0;
        for level in 0..descriptor.levels {
            let smaller = |extent: u32| if extent == 0 { 0 } else { (extent >> level).max(1) };
            let depth = if descriptor.is_layered() { descriptor.depth } else { smaller(descriptor.depth) };
            let extents = [smaller(descriptor.width), smaller(descriptor.height), depth];
            let row_pitch = (u64::from(extents[0]) * texel).next_multiple_of(ROW_ALIGN);
            levels.push(Level { address: bytes, extents, row_pitch });
            bytes += extents[1..].iter().map(|&e| u64::from(e.max(1))).product::<u64>() * row_pitch;
        }
        let address = memory.allocate(bytes)?;
        levels.iter_mut().for_each(|level| level.address += address);
        Ok(Self { descriptor, levels, address })
    }

    /// All mip levels, the largest first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// A mip level.
    pub fn level(&self, level: u32) -> Option<&Level> {
        self.levels.get(level as usize)
    }

    /// A region that is a whole level, with rows and slices that follow one another in the host's memory.
    pub fn whole_level(&self, level: u32) -> Option<CopyRegion> {
        let [w, h, d] = self.level(level)?.extents.map(|e| e.max(1));
        let row_pitch = w as usize * self.element_bytes();
        let slice_pitch = row_pitch * h as usize;
        Some(CopyRegion { level, origin: [0; 3], extents: [w, h, d], row_pitch, slice_pitch })
    }

    fn element_bytes(&self) -> usize {
        (self.descriptor.format.texel_bytes() * self.descriptor.samples) as usize
    }

    /// Calls `copy` with the device address and the range of host bytes of every row of a region.
    pub(crate) fn rows(
        &self,
        region: &CopyRegion,
        host_bytes: usize,
        mut copy: impl FnMut(u64, std::ops::Range<usize>) -> Result<(), TextureError>,
    ) -> Result<(), TextureError> {
        let outside = || TextureError::invalid("a copy outside the array".to_owned());
        let level = self.level(region.level).ok_or_else(outside)?;
        let extents = level.extents.map(|e| e.max(1));
        for axis in 0..3 {
            let end = region.origin[axis].checked_add(region.extents[axis]).ok_or_else(outside)?;
            if end > extents[axis] {
                return Err(outside());
            }
        }
        let texel = self.element_bytes();
        let row = region.extents[0] as usize * texel;
        for z in 0..region.extents[2] as usize {
            for y in 0..region.extents[1] as usize {
                let slice = z.checked_mul(region.slice_pitch);
                let start = slice.and_then(|s| y.checked_mul(region.row_pitch)?.checked_add(s));
                let end = start.and_then(|s| s.checked_add(row)).filter(|&end| end <= host_bytes);
                let (Some(start), Some(end)) = (start, end) else {
                    return Err(TextureError::invalid("a copy outside the host's buffer".to_owned()));
                };
                let slice = u64::from(region.origin[2]) + z as u64;
                let row = slice * u64::from(extents[1]) + u64::from(region.origin[1]) + y as u64;
                let column = u64::from(region.origin[0]) * texel as u64;
                let address = level.address + row * level.row_pitch + column;
                copy(address, start..end)?;
            }
        }
        Ok(())
    }
}
