//! Multiplies two matrices on the virtual GPU, with and without tiles in shared memory.

use anyhow::{Result, ensure};
use clap::Parser;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use warploom_examples::gpu::Gpu;

/// Width and height of a block, as `TILE` in kernels.cu.
const TILE: u32 = 16;

/// Multiplies an m x k by a k x n matrix on the virtual GPU.
#[derive(Parser)]
struct Options {
    /// Rows of the first matrix and of the product.
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..=8192))]
    m: u32,
    /// Columns of the second matrix and of the product.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=8192))]
    n: u32,
    /// Columns of the first matrix and rows of the second.
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u32).range(1..=8192))]
    k: u32,
    /// Seed of the random matrices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The GPU to be.
    #[arg(long, default_value = "h200")]
    gpu: String,
}

/// The product in double precision, by the definition, and beside each element the sum of its terms' magnitudes: the
/// scale of the rounding error that it may have.
fn product(a: &[f32], b: &[f32], n: usize, k: usize) -> Vec<(f64, f64)> {
    let element = |row: &[f32], column: usize| {
        row.iter().enumerate().fold((0.0, 0.0), |(sum, scale), (i, &x)| {
            let term = f64::from(x) * f64::from(b[i * n + column]);
            (sum + term, scale + term.abs())
        })
    };
    a.chunks(k).flat_map(|row| (0..n).map(move |column| element(row, column))).collect()
}

fn main() -> Result<()> {
    let options = Options::parse();
    let (m, n, k) = (options.m as usize, options.n as usize, options.k as usize);
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut matrix = |size| -> Vec<f32> { (0..size).map(|_| random.random_range(-1.0..1.0)).collect() };
    let (a, b) = (matrix(m * k), matrix(k * n));
    let expected = product(&a, &b, n, k);

    let gpu = Gpu::new(&options.gpu)?;
    let kernels = gpu.load("matmul/kernels.ptx", include_str!("kernels.ptx"))?;
    let device_a = gpu.upload(&a)?;
    let device_b = gpu.upload(&b)?;
    let grid = [options.n.div_ceil(TILE), options.m.div_ceil(TILE), 1];
    println!("({m} x {k}) * ({k} x {n}), grid {} x {}, block {TILE} x {TILE}", grid[0], grid[1]);

    for kernel in ["matmul_naive", "matmul_tiled"] {
        let device_c = gpu.zeroed::<f32>(m * n)?;
        let arguments = [
            (&device_c).into(),
            (&device_a).into(),
            (&device_b).into(),
            (m as i32).into(),
            (n as i32).into(),
            (k as i32).into(),
        ];
        let took = kernels.launch(kernel, grid, [TILE, TILE, 1], &arguments)?;

        let mut largest = 0.0_f64;
        for (index, (got, (exact, scale))) in device_c.download()?.into_iter().zip(&expected).enumerate() {
            let error = (f64::from(got) - exact).abs();
            // k roundings, each of half a unit in the last place of a partial sum, which `scale` bounds.
            let allowed = k as f64 * f64::from(f32::EPSILON / 2.0) * scale;
            let (row, column) = (index / n, index % n);
            ensure!(error <= allowed, "{kernel}: row {row}, column {column}: got {got}, expected {exact}");
            largest = largest.max(error);
        }
        println!("{kernel:12}  {took:8.1?}  largest error {largest:.1e}");
    }
    Ok(())
}
