//! Textures and surfaces: arrays, the objects through which kernels see them, and what the instructions do with them.
//!
//! ```text
//! Array (levels of texels in device memory) ──┐
//! linear memory, pitched rows ────────────────┴── Resource + Sampler ──▶ texture object ──▶ handle
//!                                     Array ────────────────────────▶ surface object ──▶ handle
//! ```
//!
//! Descriptors say what those of the CUDA driver interface say, and a [`crate::Device`] takes them in the same order:
//! make an array, copy into it, make an object, pass its handle to a kernel. A handle is a small number; a variable of
//! type `.texref`, `.samplerref` or `.surfref` is eight bytes of global memory that hold one
//! ([`crate::LoadedModule::bind`]). So a kernel can name an object by its variable, by the variable's address in a
//! register, or by the handle itself. What is none of these is a fault.
//!
//! Texels lie in device memory row by row, layer by layer, level by level; a kernel can reach them only through
//! objects, as it never learns the address.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`array`] | formats, arrays, copies |
//! | [`object`] | descriptors of textures, samplers and surfaces; what is allowed |
//! | `table` | handles |
//! | `lookup` | `tex` and `tld4` |
//! | `surface` | where a surface coordinate leads |
//! | `query` | `txq` and `suq` |
//! | `unit` | all of these by handle, for other engines |

pub mod array;
pub(crate) mod lookup;
pub mod object;
pub(crate) mod query;
pub(crate) mod surface;
pub(crate) mod table;
mod unit;

pub use array::{Array, ArrayDescriptor, CopyRegion, Format, Kind, Level};
pub use lookup::{Geometry, Lookup, Mip, Request, Results};
pub use numerics::texture::address::AddressMode;
pub use numerics::texture::format::Element;
pub use object::{Resource, ResourceView, SamplerDescriptor, Surface, TextureDescriptor};
pub use surface::{Beyond, Coordinates, Target};
pub use table::{Handle, TextureError};
pub use unit::Unit;
