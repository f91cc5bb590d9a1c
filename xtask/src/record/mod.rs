//! `cargo xtask record NAME`: what a real GPU computes, for the tests that ask ours the same.
//!
//! | name | what is recorded | who asks |
//! | --- | --- | --- |
//! | `forms` | every form of the instruction table | `conformance` |
//! | `instructions` | arithmetic, instruction by instruction | tests of `numerics` |
//! | `products` | tensor cores, tile by tile | tests of `numerics` |
//! | `matrices` | matrix instructions with their registers and memory | tests of `machine` |
//! | `tensor-copies` | tensor maps, tensor copies, bulk reductions | tests of `machine` |
//! | `textures` | textures and surfaces | tests of `machine` |
//!
//! A recording is made on a machine with a GPU; `forms` needs ptxas there, for the others the driver assembles. All but `forms` name their
//! cases themselves: they are made again from what is committed, or from a file of the same notation with other cases (`--cases`), whose
//! results are not looked at. The program stands alone: where there is no cargo, carry `target/debug/xtask` over and name the files that it
//! should read and write. Kernels and operands are the crate `replay`'s.

mod forms;
mod instructions;
mod matrices;
mod products;
mod tensor_copies;
mod textures;

use crate::root;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use flate2::{Compression, GzBuilder};
use machine::memory::{Buffers, MemoryError};
use real_gpu::Gpu;
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    recording: Recording,
}

#[derive(Subcommand)]
enum Recording {
    /// What every form of the instruction table computes, and how the machine compares.
    Forms(forms::Arguments),
    /// What instructions compute.
    Instructions(Files),
    /// What tensor cores compute.
    Products(Files),
    /// What matrix instructions do with registers and memory.
    Matrices(Whole),
    /// What the driver and copies make of tensor maps; bulk reductions.
    TensorCopies(tensor_copies::Arguments),
    /// What textures and surfaces hold.
    Textures(Whole),
}

/// What a recording is made of and where it goes.
#[derive(Args)]
struct Files {
    /// The recording whose cases are run, if not the committed one.
    #[arg(long)]
    cases: Option<PathBuf>,
    /// The recording to write, if not the committed one.
    #[arg(long)]
    to: Option<PathBuf>,
}

/// The same of recordings that have digests for results.
#[derive(Args)]
struct Whole {
    #[command(flatten)]
    files: Files,
    /// Also write all results, for tests that show differences.
    #[arg(long)]
    outputs: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.recording {
        Recording::Forms(arguments) => forms::run(arguments),
        Recording::Instructions(files) => instructions::run(files),
        Recording::Products(files) => products::run(files),
        Recording::Matrices(whole) => matrices::run(whole),
        Recording::TensorCopies(arguments) => tensor_copies::run(arguments),
        Recording::Textures(whole) => textures::run(whole),
    }
}

impl Files {
    /// Makes a recording from its cases.
    fn again(&self, committed: &str, make: impl FnOnce(&str) -> Result<String>) -> Result<()> {
        let committed = root().join(committed);
        let from = self.cases.as_ref().unwrap_or(&committed);
        let cases = replay::read(from).with_context(|| from.display().to_string())?;
        let made = make(&cases)?;
        let lines = |text| -> HashSet<&str> { str::lines(text).collect() };
        let (new, old) = (lines(&made), lines(&cases));
        let (more, less) = (new.difference(&old).count(), old.difference(&new).count());
        println!(
            "{} different lines: {more} are not in {}, {less} of it are gone",
            new.len(),
            from.display()
        );
        let to = self.to.as_ref().unwrap_or(&committed);
        // What is the same is not packed anew.
        if to == from && more + less == 0 {
            return Ok(());
        }
        write(to, &made).with_context(|| to.display().to_string())
    }
}

/// Writes a recording, packed if its name says so.
fn write(path: &Path, text: &str) -> Result<()> {
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Ok(fs::write(path, text)?);
    }
    let mut packed = GzBuilder::new().write(fs::File::create(path)?, Compression::best());
    packed.write_all(text.as_bytes())?;
    packed.finish()?;
    Ok(())
}

/// Memory of a GPU, given back when this goes.
struct Buffer<'g> {
    gpu: &'g Gpu,
    address: u64,
}

impl<'g> Buffer<'g> {
    fn holding(gpu: &'g Gpu, bytes: &[u8]) -> Result<Self, MemoryError> {
        let buffer = Self { gpu, address: gpu.allocate(bytes.len() as u64)? };
        gpu.write(buffer.address, bytes)?;
        Ok(buffer)
    }

    fn zeros(gpu: &'g Gpu, bytes: usize) -> Result<Self> {
        let buffer = Self { gpu, address: gpu.allocate(bytes as u64)? };
        gpu.fill(buffer.address, 0, bytes)?;
        Ok(buffer)
    }

    fn read(&self, bytes: usize) -> Result<Vec<u8>, MemoryError> {
        let mut read = vec![0; bytes];
        self.gpu.read(self.address, &mut read)?;
        Ok(read)
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // After a fault the driver refuses; the memory goes with the process.
        let _ = self.gpu.free(self.address);
    }
}

/// A launch of a grid in one dimension, without anything special.
fn launch<'a>(kernel: &'a str, [grid, block]: [u32; 2], params: &'a [u8]) -> real_gpu::Launch<'a> {
    real_gpu::Launch {
        kernel,
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster: None,
        cooperative: false,
        dynamic_shared: 0,
        params,
    }
}

/// Addresses as parameters.
fn addresses<'b>(buffers: impl IntoIterator<Item = &'b Buffer<'b>>) -> Vec<u8> {
    buffers.into_iter().flat_map(|buffer| buffer.address.to_le_bytes()).collect()
}

/// A GPU that says its name.
fn open() -> Result<Gpu> {
    let gpu = Gpu::open()?;
    let (major, minor) = gpu.driver_version();
    println!("recording on {}, driver of CUDA {major}.{minor}", gpu.name());
    Ok(gpu)
}
