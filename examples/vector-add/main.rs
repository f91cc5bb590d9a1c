//! Adds two vectors of integers on the virtual GPU, one thread an element.

use anyhow::{Result, ensure};
use clap::Parser;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use warploom_examples::gpu::Gpu;

/// Adds two vectors on the virtual GPU.
#[derive(Parser)]
struct Options {
    /// How many elements each vector has.
    #[arg(long, default_value_t = 2048 * 2048, value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    elements: u32,
    /// How many threads a block has.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1024))]
    block: u32,
    /// Seed of the random vectors.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The GPU to be.
    #[arg(long, default_value = "h200")]
    gpu: String,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut vector =
        || -> Vec<i32> { (0..options.elements).map(|_| random.random_range(-1000..1000)).collect() };
    let (a, b) = (vector(), vector());

    let gpu = Gpu::new(&options.gpu)?;
    let kernels = gpu.load("vector-add/kernels.ptx", include_str!("kernels.ptx"))?;
    let device_a = gpu.upload(&a)?;
    let device_b = gpu.upload(&b)?;
    let device_sum = gpu.zeroed::<i32>(a.len())?;

    // Whole blocks only: the kernel compares each thread's index with the number of elements.
    let blocks = options.elements.div_ceil(options.block);
    let arguments =
        [(&device_sum).into(), (&device_a).into(), (&device_b).into(), (options.elements as i32).into()];
    let took = kernels.launch("vector_add", [blocks, 1, 1], [options.block, 1, 1], &arguments)?;

    let sum = device_sum.download()?;
    for i in 0..a.len() {
        ensure!(sum[i] == a[i] + b[i], "element {i}: {} + {} gave {}", a[i], b[i], sum[i]);
    }
    for i in 0..a.len().min(4) {
        println!("{:5} + {:5} = {:5}", a[i], b[i], sum[i]);
    }
    println!(
        "vector_add<<<{blocks}, {}>>> added {} elements in {took:.1?}: all of them right",
        options.block, options.elements
    );
    Ok(())
}
