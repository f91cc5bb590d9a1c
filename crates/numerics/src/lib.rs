//! What a PTX instruction computes, as pure functions on bits.
//!
//! This crate alone knows the arithmetic of the instruction set; it knows nothing of registers, lanes or memory. The
//! machine calls these functions lane by lane, in loops which the compiler vectorises. Therefore:
//!
//! - what is commonly hot is `#[inline(always)]` and free of branches: both sides are computed and one is selected;
//! - a modifier is a type ([`rounding::Rz`], [`compare::Lt`]) or a `const` parameter (`FTZ`, `SAT`), in the order in
//!   which PTX writes them, so that each combination is its own straight-line code;
//! - what is rare (f64 under directed rounding) is plain scalar integer code in [`exact`].
//!
//! One convention for values: an integer operand is the Rust integer of the PTX type (`.s32` is `i32`, `.b32` and
//! `.u32` are `u32`), since signedness is part of the instruction; a floating-point operand is its bit pattern in the
//! unsigned integer of its size (`.f32` is `u32`), since the payloads and signs of NaNs matter and a Rust float does
//! not promise to keep them. A packed operand is the `u32` (or `u64`) that holds it.
//!
//! ```
//! use numerics::{float, integer, rounding::Rz};
//!
//! // add.rz.ftz.f32 of 1.0 and 2^-24, and mul.hi.s32.
//! assert_eq!(float::add_f32::<Rz, true, false>(0x3f80_0000, 0x3380_0000), 0x3f80_0000);
//! assert_eq!(integer::mul_hi::<i32>(-1, 1), -1);
//! ```
//!
//! The host's floating-point environment must be the default one: rounding to nearest, subnormals kept.
//!
//! The aim is what an H200 (`sm_90`) computes, bit for bit, where the PTX manual leaves room. `tests/hardware` holds
//! recordings of one, and `tests/hardware.rs` replays them; for the approximate functions in [`special`] there are
//! fingerprints of every result (docs/numerics.md).

pub mod bits;
pub mod compare;
pub mod convert;
pub mod exact;
pub mod extended;
pub mod float;
pub mod format;
pub mod fp8;
pub mod half;
pub mod integer;
pub mod packed;
pub mod rounding;
pub mod scale;
pub mod special;
pub mod stochastic;
pub mod tensor;
pub mod texture;
pub mod video;
