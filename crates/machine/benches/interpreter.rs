//! Warp instructions a second, one host thread, for kernels that are integer, floating, shared-memory and divergent.
//!
//! `kernels.ptx` is what clang makes of `kernels.cu`:
//! `clang-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx80 -nocudalib -nocudainc -O2
//! -ffp-contract=off -S kernels.cu`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use std::sync::Arc;

struct Bench {
    device: Arc<Device>,
    module: LoadedModule,
}

impl Bench {
    fn new() -> Self {
        let source = ptx::source::Source::new("kernels.ptx", include_str!("kernels.ptx"));
        let (module, _) = ptx::compile(&source).into_result().expect("the benchmark's kernels are correct");
        let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
        let module = device.load(module).expect("the benchmark's kernels load");
        Self { device, module }
    }

    fn buffer(&self, bytes: u64) -> u64 {
        self.device.memory().allocate(bytes).expect("memory")
    }

    /// Runs a kernel on one host thread; the warp instructions issued.
    fn run(&self, kernel: &str, grid: [u32; 3], block: [u32; 3], params: &[u8]) -> u64 {
        let kernel = self.module.kernel(kernel).expect("the kernel");
        let launch = Launch {
            kernel,
            grid,
            block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: params.to_vec(),
        };
        let options = LaunchOptions { threads: 1, ..LaunchOptions::default() };
        self.device.launch(&launch, &options).expect("a launch without fault").warp_instructions
    }
}

fn params(pointers: &[u64], numbers: &[i32]) -> Vec<u8> {
    let pointers = pointers.iter().flat_map(|p| p.to_le_bytes());
    pointers.chain(numbers.iter().flat_map(|n| n.to_le_bytes())).collect()
}

fn interpreter(c: &mut Criterion) {
    let bench = Bench::new();
    let out = bench.buffer(1 << 22);
    let (a, b) = (bench.buffer(1 << 18), bench.buffer(1 << 18));
    let cases = [
        ("integer", [8, 1, 1], [256, 1, 1], params(&[out], &[2000])),
        ("floating", [8, 1, 1], [256, 1, 1], params(&[out], &[2000])),
        ("shared", [16, 16, 1], [16, 16, 1], params(&[a, b, out], &[256])),
        ("divergent", [64, 1, 1], [256, 1, 1], params(&[out], &[128, 512])),
    ];
    let mut group = c.benchmark_group("interpreter");
    for (name, grid, block, params) in cases {
        let issued = bench.run(name, grid, block, &params);
        group.throughput(Throughput::Elements(issued));
        group.bench_function(name, |bencher| bencher.iter(|| bench.run(name, grid, block, &params)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(3));
    targets = interpreter
}
criterion_main!(benches);
