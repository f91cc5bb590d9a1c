//! The interpreter with and without the sanitizer, on one host thread: the machine's own benchmark kernels.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use machine::observe::Observer;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use sanitizer::{Sanitizer, Shape, Suppressions};
use std::sync::Arc;

struct Bench {
    device: Arc<Device>,
    module: LoadedModule,
}

impl Bench {
    fn new() -> Self {
        let source =
            ptx::source::Source::new("kernels.ptx", include_str!("../../machine/benches/kernels.ptx"));
        let (module, _) = ptx::compile(&source).into_result().expect("the benchmark's kernels are correct");
        let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
        let module = device.load(module).expect("the benchmark's kernels load");
        Self { device, module }
    }

    fn buffer(&self, bytes: u64) -> u64 {
        self.device.memory().allocate(bytes).expect("memory")
    }

    /// Runs a kernel; the warp instructions issued.
    fn run(
        &self,
        kernel: &str,
        [grid, block]: [[u32; 3]; 2],
        params: &[u8],
        observer: Option<&dyn Observer>,
    ) -> u64 {
        let launch = Launch {
            kernel: self.module.kernel(kernel).expect("the kernel"),
            grid,
            block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: params.to_vec(),
        };
        let options = LaunchOptions { threads: 1, observer, ..LaunchOptions::default() };
        self.device.launch(&launch, &options).expect("a launch without fault").warp_instructions
    }

    fn checked(&self, kernel: &str, shape: [[u32; 3]; 2], params: &[u8]) -> u64 {
        let checks = "all".parse().expect("the name of all checks");
        let sanitizer = Sanitizer::new(checks, Suppressions::default());
        let [grid, block] = shape;
        let watch =
            sanitizer.begin(self.module.shared_module(), Shape { kernel, grid, block, cluster: [1; 3] });
        let issued = self.run(kernel, shape, params, Some(&watch));
        watch.end();
        assert!(sanitizer.reports().is_empty(), "{}", sanitizer.reports()[0].text());
        issued
    }
}

fn params(pointers: &[u64], numbers: &[i32]) -> Vec<u8> {
    let pointers = pointers.iter().flat_map(|p| p.to_le_bytes());
    pointers.chain(numbers.iter().flat_map(|n| n.to_le_bytes())).collect()
}

fn slowdown(c: &mut Criterion) {
    let bench = Bench::new();
    let out = bench.buffer(1 << 22);
    let (a, b) = (bench.buffer(1 << 18), bench.buffer(1 << 18));
    let cases = [
        ("integer", [[8, 1, 1], [256, 1, 1]], params(&[out], &[2000])),
        ("floating", [[8, 1, 1], [256, 1, 1]], params(&[out], &[2000])),
        ("shared", [[16, 16, 1], [16, 16, 1]], params(&[a, b, out], &[256])),
        ("divergent", [[64, 1, 1], [256, 1, 1]], params(&[out], &[128, 512])),
    ];
    let mut group = c.benchmark_group("sanitizer");
    for (name, shape, params) in cases {
        let issued = bench.run(name, shape, &params, None);
        group.throughput(Throughput::Elements(issued));
        group.bench_function(format!("{name}/without"), |bencher| {
            bencher.iter(|| bench.run(name, shape, &params, None));
        });
        group.bench_function(format!("{name}/with"), |bencher| {
            bencher.iter(|| bench.checked(name, shape, &params));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(std::time::Duration::from_secs(2));
    targets = slowdown
}
criterion_main!(benches);
