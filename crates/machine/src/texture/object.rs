//! Texture, sampler and surface objects: descriptors, and what is made of them.

use super::array::{Array, Format, Kind, Level};
use super::table::{Handle, TextureError};
use numerics::texture::address::AddressMode;
use numerics::texture::anisotropy::greatest_ratio;
use numerics::texture::format::Meaning;
use numerics::texture::level::{LevelFilter, Ramp, bias, fixed};
use std::sync::Arc;

/// Where the texels of a texture are, as `CUDA_RESOURCE_DESC` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// An array, with all its levels.
    Array(Handle),
    /// Texels one after the other in device memory; read by integer coordinates alone.
    Linear {
        /// The first.
        address: u64,
        /// Of a texel.
        format: Format,
        /// How many bytes.
        bytes: u64,
    },
    /// Rows of texels in device memory.
    Pitched {
        /// The first.
        address: u64,
        /// Of a texel.
        format: Format,
        /// Texels in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Bytes from a row to the next.
        pitch: u64,
    },
}

/// How coordinates become texels, and texels results: the part of `CUDA_TEXTURE_DESC` that a `.samplerref` stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerDescriptor {
    /// For each axis.
    pub address: [AddressMode; 3],
    /// Whether texels are blended.
    pub linear: bool,
    /// Whether coordinates count textures (0 to 1) or texels.
    pub normalized: bool,
    /// Whether mip levels are blended.
    pub mip_linear: bool,
    /// Added to every level of detail.
    pub mip_bias: f32,
    /// The least level of detail.
    pub mip_least: f32,
    /// The greatest level of detail.
    pub mip_greatest: f32,
    /// The border's colour.
    pub border: [f32; 4],
    /// Whether filtering goes on across the edges of a cube.
    pub seamless_cube: bool,
    /// The greatest ratio of a footprint's length to its width at which the width chooses the level of detail.
    pub max_anisotropy: u32,
    /// Whether two levels are blended as the level of detail says, also with anisotropy.
    pub disable_trilinear_optimization: bool,
}

impl Default for SamplerDescriptor {
    fn default() -> Self {
        Self {
            address: [AddressMode::Clamp; 3],
            linear: false,
            normalized: false,
            mip_linear: false,
            mip_bias: 0.0,
            mip_least: 0.0,
            mip_greatest: 0.0,
            border: [0.0; 4],
            seamless_cube: false,
            max_anisotropy: 0,
            disable_trilinear_optimization: false,
        }
    }
}

impl SamplerDescriptor {
    /// What the fields of a `.samplerref` variable's initialiser say.
    pub(crate) fn of_fields(fields: &[ptx::module::OpaqueField]) -> Self {
        let mut sampler = Self { normalized: true, ..Self::default() };
        for field in fields {
            let word = field.word.as_deref().unwrap_or_default();
            match field.name.as_str() {
                "filter_mode" => sampler.linear = word == "linear" || field.number == 1,
                "force_unnormalized_coords" => sampler.normalized = field.number == 0,
                name => {
                    let axis = name.strip_prefix("addr_mode_").and_then(|axis| axis.parse::<usize>().ok());
                    let Some(mode) = axis.and_then(|axis| sampler.address.get_mut(axis)) else { continue };
                    *mode = match (word, field.number) {
                        ("wrap", _) | ("", 0) => AddressMode::Wrap,
                        ("mirror", _) | ("", 1) => AddressMode::Mirror,
                        ("clamp_to_border", _) | ("", 4) => AddressMode::Border,
                        _ => AddressMode::Clamp,
                    };
                }
            }
        }
        sampler
    }
}

/// How a texture is read, as `CUDA_TEXTURE_DESC` says it.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TextureDescriptor {
    /// Coordinates and filtering.
    pub sampler: SamplerDescriptor,
    /// Whether 8- and 16-bit integers are integers rather than fractions (`CU_TRSF_READ_AS_INTEGER`).
    pub as_integer: bool,
    /// Whether bytes are encoded by sRGB (`CU_TRSF_SRGB`).
    pub srgb: bool,
}

/// What a texture shows of its array, as `CUDA_RESOURCE_VIEW_DESC` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceView {
    /// Another format of the same size; that of the array if `None`.
    pub format: Option<Format>,
    /// The first and last mip level.
    pub levels: [u32; 2],
    /// The first and last layer.
    pub layers: [u32; 2],
}

/// A mip level as lookups see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    pub(crate) address: u64,
    /// Texels along the axes of one layer; at least 1.
    pub(crate) extents: [u32; 3],
    pub(crate) row_pitch: u64,
    pub(crate) slice_pitch: u64,
}

impl Plane {
    fn of_level(level: &Level) -> Self {
        let extents = level.extents.map(|e| e.max(1));
        let row_pitch = level.row_pitch;
        Self { address: level.address, extents, row_pitch, slice_pitch: row_pitch * u64::from(extents[1]) }
    }
}

/// Which coordinates a texture takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An array of one to three dimensions, or pitched rows.
    Grid,
    /// Linear memory.
    Linear,
}

/// A sampler in the texture unit's terms.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    pub(crate) descriptor: SamplerDescriptor,
    pub(crate) levels: LevelFilter,
    /// Of anisotropy, as a logarithm; 0 if there is none.
    pub(crate) greatest_ratio: i32,
    /// Bits of the border's channels.
    pub(crate) border: [u32; 4],
}

impl Sampler {
    pub(crate) fn new(descriptor: SamplerDescriptor) -> Self {
        let fixed = |value: f32| fixed(value.to_bits());
        Self {
            descriptor,
            levels: LevelFilter {
                linear: descriptor.mip_linear,
                bias: bias(descriptor.mip_bias.to_bits()),
                least: fixed(descriptor.mip_least),
                greatest: fixed(descriptor.mip_greatest),
                ramp: match descriptor.disable_trilinear_optimization {
                    true => Ramp::EXACT,
                    false => Ramp::steeper(descriptor.max_anisotropy),
                },
            },
            greatest_ratio: greatest_ratio(descriptor.max_anisotropy),
            border: descriptor.border.map(f32::to_bits),
        }
    }
}

/// The texels of a texture, without a sampler.
#[derive(Clone, Debug)]
pub(crate) struct Texels {
    pub(crate) format: Format,
    pub(crate) shape: Shape,
    pub(crate) planes: Vec<Plane>,
    /// How many dimensions a layer has.
    pub(crate) dimensions: usize,
    pub(crate) kind: Kind,
    /// Layers (faces, for cubes) that can be seen.
    pub(crate) layers: u32,
    pub(crate) samples: u32,
    /// What channels mean, and what the last one of several does, which is never encoded by sRGB.
    pub(crate) meanings: [Meaning; 2],
    /// Whether integers are read as integers.
    pub(crate) as_integer: bool,
}

impl Texels {
    /// What channel `c` means.
    pub(crate) fn meaning(&self, c: usize) -> Meaning {
        self.meanings[usize::from(c > 0 && c + 1 == self.format.channels as usize)]
    }
}

/// A texture object.
#[derive(Clone, Debug)]
pub(crate) struct Texture {
    pub(crate) texels: Texels,
    pub(crate) sampler: Sampler,
}

impl Texture {
    pub(crate) fn new(
        resource: &Resource,
        array: Option<&Arc<Array>>,
        descriptor: &TextureDescriptor,
        view: Option<&ResourceView>,
    ) -> Result<Self, TextureError> {
        let invalid = |why: &str| Err(TextureError::invalid(why.to_owned()));
        let mut texels = match (resource, array) {
            (Resource::Array(_), Some(array)) => of_array(array),
            (Resource::Array(handle), None) => return Err(TextureError::NoSuchObject(*handle)),
            (&Resource::Linear { address, format, bytes }, _) => {
                format.check()?;
                let texel = u64::from(format.texel_bytes());
                let width = u32::try_from(bytes / texel).unwrap_or(u32::MAX).min(1 << 27);
                if width == 0 || !address.is_multiple_of(texel.next_power_of_two()) {
                    return invalid("linear memory without a texel, or misaligned");
                }
                of_memory(format, Shape::Linear, address, [width, 1, 1], bytes)
            }
            (&Resource::Pitched { address, format, width, height, pitch }, _) => {
                format.check()?;
                let row = u64::from(width) * u64::from(format.texel_bytes());
                let aligned = pitch.is_multiple_of(32) && address.is_multiple_of(32);
                if width == 0 || height == 0 || pitch < row || width > 131_072 || height > 65536 || !aligned {
                    return invalid("pitched rows of such extents");
                }
                of_memory(format, Shape::Grid, address, [width, height, 1], pitch)
            }
        };
        if let Some(view) = view {
            apply(view, &mut texels)?;
        }
        let as_integer = descriptor.as_integer && !texels.format.normalized;
        let colour = texels.format.element.meaning(as_integer, descriptor.srgb);
        texels.meanings = [colour, texels.format.element.meaning(as_integer, false)];
        texels.as_integer = as_integer;
        if descriptor.sampler.linear && colour.is_integer() {
            return invalid("integers cannot be blended: the filter must be nearest");
        }
        Ok(Self { texels, sampler: Sampler::new(descriptor.sampler) })
    }
}

fn of_array(array: &Array) -> Texels {
    let descriptor = &array.descriptor;
    Texels {
        format: descriptor.format,
        shape: Shape::Grid,
        planes: array.levels.iter().map(Plane::of_level).collect(),
        dimensions: descriptor.dimensions(),
        kind: descriptor.kind,
        layers: if descriptor.is_layered() { descriptor.depth } else { 1 },
        samples: descriptor.samples,
        meanings: [Meaning::Unsigned; 2],
        as_integer: false,
    }
}

fn of_memory(format: Format, shape: Shape, address: u64, extents: [u32; 3], row_pitch: u64) -> Texels {
    Texels {
        format,
        shape,
        planes: vec![Plane { address, extents, row_pitch, slice_pitch: 0 }],
        dimensions: if shape == Shape::Linear { 1 } else { 2 },
        kind: Kind::Plain,
        layers: 1,
        samples: 1,
        meanings: [Meaning::Unsigned; 2],
        as_integer: false,
    }
}

fn apply(view: &ResourceView, texels: &mut Texels) -> Result<(), TextureError> {
    let invalid = |why: &str| Err(TextureError::invalid(why.to_owned()));
    if let Some(format) = view.format {
        format.check()?;
        if format.texel_bytes() != texels.format.texel_bytes() {
            return invalid("a view whose texels have another size");
        }
        texels.format = format;
    }
    let [first, last] = view.levels.map(|level| level as usize);
    if first > last || last >= texels.planes.len() {
        return invalid("a view of levels that the array does not have");
    }
    texels.planes = texels.planes[first..=last].to_vec();
    let [first, last] = view.layers;
    if first > last || last >= texels.layers {
        return invalid("a view of layers that the array does not have");
    }
    for plane in &mut texels.planes {
        plane.address += u64::from(first) * plane.slice_pitch;
    }
    texels.layers = last - first + 1;
    Ok(())
}

/// A surface object: the first level of an array, or another one of its levels.
#[derive(Clone, Debug)]
pub struct Surface {
    pub(crate) format: Format,
    pub(crate) plane: Plane,
    /// As in the descriptor: what is zero there is zero here.
    pub(crate) extents: [u32; 3],
    pub(crate) layered: bool,
}

impl Surface {
    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> u32 {
        self.format.texel_bytes()
    }

    pub(crate) fn new(array: &Array, level: u32) -> Result<Self, TextureError> {
        let descriptor = &array.descriptor;
        let level = array.level(level).ok_or_else(|| {
            TextureError::invalid("a surface of a level that the array does not have".to_owned())
        })?;
        if descriptor.samples != 1 {
            return Err(TextureError::invalid("a surface of several samples".to_owned()));
        }
        Ok(Self {
            format: descriptor.format,
            plane: Plane::of_level(level),
            extents: level.extents,
            layered: descriptor.is_layered(),
        })
    }
}
