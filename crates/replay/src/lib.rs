//! Recordings of what others answer, and asking ours the same, where the tests of several crates do so.
//!
//! | module | who answered | who asks |
//! | --- | --- | --- |
//! | [`answers`] | an H200's driver and runtime, to wrong calls | tests of `libcuda` and `libcudart` |
//! | [`fingerprints`] | an H200's approximate functions, for all operands | tests of `numerics`, in samples; `cargo xtask fingerprints` |
//! | [`instructions`] | an H200, what instructions compute | tests of `numerics` |
//! | [`products`] | an H200's tensor cores, for a tile of each kind | tests of `numerics` |
//! | [`matrices`] | an H200, what every matrix instruction does with registers and memory | tests of `machine` |
//! | [`tensor_copies`] | an H200 and its driver, about tensor maps, tensor copies and bulk reductions | tests of `machine` |
//! | [`textures`] | an H200, what textures and surfaces hold | tests of `machine` |
//! | [`verdicts`] | ptxas, whether it accepts instructions | tests of `ptx` and `machine`; `cargo xtask verdicts` |
//!
//! The recordings themselves lie with the tests. What an H200 computed is recorded by `cargo xtask record NAME`: a recording names its
//! cases, and these modules make the kernels and operands of a case for whoever runs it, the GPU or our own. Each module
//! that needs another crate of the project is a feature, so that the tests of a crate wait for no other crate than they use.

pub mod answers;
#[cfg(feature = "fingerprints")]
pub mod fingerprints;
pub mod instructions;
#[cfg(feature = "matrices")]
pub mod matrices;
#[cfg(feature = "products")]
pub mod products;
pub mod tensor_copies;
#[cfg(feature = "textures")]
pub mod textures;
#[cfg(feature = "verdicts")]
pub mod verdicts;

use std::io::{self, Read};
use std::path::Path;

/// The text of a recording, which is packed if its file's name ends with `.gz`.
///
/// # Errors
/// If there is no such file, or it is no text.
pub fn read(path: &Path) -> io::Result<String> {
    let bytes = std::fs::read(path)?;
    let mut text = String::new();
    match path.extension().is_some_and(|extension| extension == "gz") {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text)?,
        false => (&bytes[..]).read_to_string(&mut text)?,
    };
    Ok(text)
}

/// The checksum by which recordings name what memory held.
pub fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
