//! `txq` and `suq`: what kernels can ask of textures, samplers and surfaces.
//!
//! Extents are those that an H200 tells. What the CUDA driver does not answer is as the manual's example of OpenCL
//! numbers it.

use super::array::{Format, Kind};
use super::object::{Sampler, Shape, Surface, Texels};
use ir::instruction::{SuqQuery, TxqQuery};
use numerics::texture::address::AddressMode;
use numerics::texture::format::Element;

/// An attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Query {
    Width,
    Height,
    Depth,
    ChannelDataType,
    ChannelOrder,
    NormalizedCoords,
    ArraySize,
    NumMipmapLevels,
    NumSamples,
    ForceUnnormalizedCoords,
    FilterMode,
    AddrMode(usize),
    MemoryLayout,
}

impl From<TxqQuery> for Query {
    fn from(query: TxqQuery) -> Self {
        match query {
            TxqQuery::Width => Self::Width,
            TxqQuery::Height => Self::Height,
            TxqQuery::Depth => Self::Depth,
            TxqQuery::ChannelDataType => Self::ChannelDataType,
            TxqQuery::ChannelOrder => Self::ChannelOrder,
            TxqQuery::NormalizedCoords => Self::NormalizedCoords,
            TxqQuery::ArraySize => Self::ArraySize,
            TxqQuery::NumMipmapLevels => Self::NumMipmapLevels,
            TxqQuery::NumSamples => Self::NumSamples,
            TxqQuery::ForceUnnormalizedCoords => Self::ForceUnnormalizedCoords,
            TxqQuery::FilterMode => Self::FilterMode,
            TxqQuery::AddrMode0 => Self::AddrMode(0),
            TxqQuery::AddrMode1 => Self::AddrMode(1),
            TxqQuery::AddrMode2 => Self::AddrMode(2),
        }
    }
}

impl From<SuqQuery> for Query {
    fn from(query: SuqQuery) -> Self {
        match query {
            SuqQuery::Width => Self::Width,
            SuqQuery::Height => Self::Height,
            SuqQuery::Depth => Self::Depth,
            SuqQuery::ChannelDataType => Self::ChannelDataType,
            SuqQuery::ChannelOrder => Self::ChannelOrder,
            SuqQuery::ArraySize => Self::ArraySize,
            SuqQuery::MemoryLayout => Self::MemoryLayout,
        }
    }
}

/// `cl_channel_type`.
fn data_type(format: Format, as_integer: bool) -> u32 {
    match format.element {
        Element::S8 if !as_integer => 0x10d0,
        Element::S16 if !as_integer => 0x10d1,
        Element::U8 if !as_integer => 0x10d2,
        Element::U16 if !as_integer => 0x10d3,
        Element::S8 => 0x10d7,
        Element::S16 => 0x10d8,
        Element::S32 => 0x10d9,
        Element::U8 => 0x10da,
        Element::U16 => 0x10db,
        Element::U32 => 0x10dc,
        Element::F16 => 0x10dd,
        Element::F32 => 0x10de,
    }
}

/// `cl_channel_order`.
fn channel_order(format: Format) -> u32 {
    match format.channels {
        1 => 0x10b0,
        2 => 0x10b2,
        _ => 0x10b5,
    }
}

/// The attribute of a sampler.
pub(crate) fn of_sampler(sampler: &Sampler, query: Query) -> Option<u32> {
    let descriptor = &sampler.descriptor;
    Some(match query {
        Query::ForceUnnormalizedCoords => u32::from(!descriptor.normalized),
        Query::FilterMode => u32::from(descriptor.linear),
        Query::AddrMode(axis) => match descriptor.address[axis] {
            AddressMode::Wrap => 0,
            AddressMode::Mirror => 1,
            AddressMode::Clamp => 3,
            AddressMode::Border => 4,
        },
        _ => return None,
    })
}

/// The attribute of a texture's texels, of mip level `lod`; beyond the last level extents are zero.
pub(crate) fn of_texels(texels: &Texels, sampler: &Sampler, query: Query, lod: u32) -> Option<u32> {
    let linear = texels.shape == Shape::Linear;
    let layers = texels.layers / if texels.kind == Kind::LayeredCube { 6 } else { 1 };
    let extent = |axis: usize| texels.planes.get(lod as usize).map_or(0, |plane| plane.extents[axis]);
    Some(match query {
        Query::Width => extent(0),
        Query::Height if linear => 0,
        // The layers of a one-dimensional array stand where its rows would.
        Query::Height if texels.kind == Kind::Layered && texels.dimensions == 1 => layers,
        Query::Height => extent(1),
        Query::Depth => match texels.kind {
            Kind::Plain if texels.dimensions == 3 => extent(2),
            Kind::Layered if texels.dimensions == 2 => layers,
            Kind::LayeredCube => layers,
            Kind::Plain | Kind::Layered | Kind::Cube => 0,
        },
        Query::ChannelDataType => data_type(texels.format, texels.as_integer),
        Query::ChannelOrder => channel_order(texels.format),
        Query::NormalizedCoords => u32::from(sampler.descriptor.normalized),
        Query::ArraySize => {
            if texels.kind == Kind::Plain || texels.kind == Kind::Cube {
                0
            } else {
                layers
            }
        }
        Query::NumMipmapLevels => texels.planes.len() as u32,
        Query::NumSamples => texels.samples,
        _ => return of_sampler(sampler, query),
    })
}

/// The attribute of a surface.
pub(crate) fn of_surface(surface: &Surface, query: Query) -> Option<u32> {
    let [width, height, depth] = surface.extents;
    Some(match query {
        Query::Width => width,
        // As for textures.
        Query::Height if height == 0 => depth,
        Query::Height => height,
        Query::Depth if height == 0 => 0,
        Query::Depth => depth,
        Query::ChannelDataType => data_type(surface.format, !surface.format.normalized),
        Query::ChannelOrder => channel_order(surface.format),
        Query::ArraySize => {
            if surface.layered {
                depth
            } else {
                0
            }
        }
        // Texels that lie in device memory row by row: `.memory_layout` is 0 for a linear one, 1 for a block one.
        Query::MemoryLayout => 1,
        _ => return None,
    })
}
