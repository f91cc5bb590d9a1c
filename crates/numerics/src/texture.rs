//! What the texture unit computes (PTX ISA, "Texture Instructions", "Surface Instructions"; CUDA programming guide,
//! "Texture Fetching").
//!
//! A lookup is a chain of small integer calculations, and each is a module here:
//!
//! ```text
//! coordinates ──cube──> face, s, t ──address──> texels and 8-bit weights of each axis
//!  gradients ──footprint──> level: two mip levels, a weight  │
//!                       └───> anisotropy: probes            │
//! texel's bytes ──format──> channels ──────────────────────blend──> f32
//! ```
//!
//! All of it was measured on an H200; docs/numerics.md says how. Values follow the convention of this crate: floats are
//! bit patterns.

pub mod address;
pub mod anisotropy;
pub mod blend;
pub mod cube;
pub mod footprint;
pub mod format;
pub mod level;

/// A coordinate as the texture unit reads it: subnormals and NaN are zero, and what is far outside any texture is cut
/// so that fixed-point arithmetic on it cannot overflow.
pub fn coordinate(bits: u32) -> f64 {
    const FAR: f64 = (1u64 << 34) as f64;
    match bits >> 23 & 0xff {
        0 => 0.0,
        0xff if bits << 9 != 0 => 0.0,
        _ => f64::from(f32::from_bits(bits)).clamp(-FAR, FAR),
    }
}
