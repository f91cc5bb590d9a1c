//! Kernels that the model is compared with: those of `benches/peers`, compiled by our own compiler, timed on a GPU.

use crate::bench_peers::compile;
use crate::bench_peers::inputs::Input;
use crate::bench_peers::kernels::{KERNELS, Kernel};
use anyhow::{Context, Result, anyhow};
use machine::memory::Buffers;
use ptx::source::Source;
use real_gpu::{Gpu, Launch};
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

/// Which kernels with which sizes.
pub(crate) const CASES: &[(&str, &[u32])] = &[
    ("saxpy", &[1 << 18, 1 << 21]),
    ("reduction", &[128 * 16384, 512 * 16384]),
    ("transpose", &[512, 1024]),
    ("sgemm", &[128, 256]),
    ("mandelbrot", &[128, 256]),
    ("histogram", &[1 << 20, 1 << 22]),
    ("copy", &[1 << 18, 1 << 22]),
    ("scan", &[1 << 17, 1 << 20]),
    ("stencil2d", &[512, 1024]),
    ("stencil3d", &[96]),
    ("convolution", &[256, 512]),
    ("dgemm", &[128, 256]),
    ("hgemm", &[256, 512]),
    ("igemm", &[128, 256]),
    ("nbody", &[512, 1024]),
    ("blackscholes", &[1 << 16, 1 << 18]),
    ("sha256", &[1 << 13, 1 << 15]),
    ("radixsort", &[1 << 16, 1 << 18]),
    ("bfs", &[1 << 18]),
    ("spmv", &[1 << 18]),
    ("gather", &[1 << 18, 1 << 20]),
    ("fft", &[1 << 16, 1 << 18]),
    ("montecarlo", &[1 << 13, 1 << 15]),
    ("softmax", &[256, 1024]),
    ("layernorm", &[256, 1024]),
    ("attention", &[256]),
];

/// Launches in a row between two events, and how often that is measured.
const LAUNCHES: u32 = 50;
const REPEATS: usize = 5;

/// Compiles the kernels to cubins in a folder; what our compiler refuses is told.
pub(crate) fn prepare(compiler: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let kernels: Vec<&Kernel> = KERNELS.iter().collect();
    let texts = compile::ptx(compiler, &kernels, folder)?;
    for (kernel, text) in kernels.iter().zip(texts) {
        let source = Source::new(kernel.name, text);
        let (module, _) =
            ptx::compile(&source).into_result().map_err(|_| anyhow!("PTX of {}", kernel.name))?;
        match ptxas::compile_entries(&module, ptxas::Level::Overlapped, |_| true) {
            Ok(compiled) => fs::write(folder.join(kernel.name).with_extension("cubin"), compiled.cubin)?,
            Err(why) => {
                let first = why.first().map_or("", |it| &it.message);
                println!("{}: {first}", kernel.name);
            }
        }
    }
    Ok(())
}

/// A kernel at a size.
pub(crate) struct Case {
    pub(crate) kernel: &'static Kernel,
    pub(crate) n: u32,
}

impl Case {
    /// CTAs of its grid, and threads of a CTA.
    pub(crate) fn shape(&self) -> [[u32; 3]; 2] {
        let block = self.kernel.block;
        [(self.kernel.grid)(self.n, block), block].map(|[x, y]| [x, y, 1])
    }
}

/// All of them.
pub(crate) fn cases() -> impl Iterator<Item = Case> {
    CASES.iter().flat_map(|(name, sizes)| {
        let kernel = KERNELS.iter().find(|kernel| kernel.name == *name);
        sizes.iter().filter_map(move |&n| Some(Case { kernel: kernel?, n }))
    })
}

/// Times all kernels whose cubins are in a folder; with `once` each is launched a single time, for a profiler that looks on.
pub(crate) fn time(gpu: &Gpu, folder: &Path, once: bool) -> Result<String> {
    let mut table =
        String::from("kernel,n,grid_x,grid_y,block_x,block_y,repeat,launches,nanoseconds,output\n");
    let mut inputs: HashMap<Input, u64> = HashMap::new();
    for case in cases() {
        let Case { kernel, n } = case;
        let Ok(cubin) = fs::read(folder.join(kernel.name).with_extension("cubin")) else { continue };
        let module = gpu.load(&cubin).with_context(|| kernel.name)?;
        let input = match inputs.get(&kernel.input) {
            Some(&address) => address,
            None => {
                let bytes = kernel.input.bytes();
                let address = gpu.allocate(bytes.len() as u64)?;
                gpu.write(address, &bytes)?;
                inputs.insert(kernel.input, address);
                address
            }
        };
        let bytes = kernel.bytes(n);
        let out = gpu.allocate(bytes as u64)?;
        gpu.fill(out, 0, bytes)?;
        let params = kernel.params(input, out, n);
        let [grid, block] = case.shape();
        let launch = Launch {
            kernel: kernel.name,
            grid,
            block,
            cluster: None,
            cooperative: false,
            dynamic_shared: 0,
            params: &params,
        };
        module.launch(&launch).with_context(|| kernel.name)?;
        let mut written = vec![0; bytes];
        gpu.read(out, &mut written)?;
        // What tells whether two compilers' code wrote the same.
        let mut hasher = DefaultHasher::new();
        hasher.write(&written);
        let output = hasher.finish();
        for repeat in 0..if once { 0 } else { REPEATS } {
            for launches in [1, LAUNCHES] {
                let taken = module.time(&launch, launches)?;
                let name = kernel.name;
                let ([x, y, _], [width, height, _]) = (grid, block);
                writeln!(
                    table,
                    "{name},{n},{x},{y},{width},{height},{repeat},{launches},{taken:.0},{output:016x}"
                )?;
            }
        }
        gpu.free(out)?;
    }
    Ok(table)
}
