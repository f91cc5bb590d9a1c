//! The benchmark kernels on a device, with their launches: for the interpreter alone, and for who watches it.

use machine::observe::Observer;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use std::sync::Arc;

/// A device that has the kernels.
pub(crate) struct Bench {
    device: Arc<Device>,
    pub(crate) module: LoadedModule,
}

/// A launch of one of them.
pub(crate) struct Case {
    pub(crate) kernel: &'static str,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    params: Vec<u8>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let source = ptx::source::Source::new("kernels.ptx", include_str!("../kernels.ptx"));
        let (module, _) = ptx::compile(&source).into_result().expect("the benchmark's kernels are correct");
        let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
        let module = device.load(module).expect("the benchmark's kernels load");
        Self { device, module }
    }

    /// One launch of each kernel.
    pub(crate) fn cases(&self) -> [Case; 4] {
        let buffer = |bytes| self.device.memory().allocate(bytes).expect("memory");
        let out = buffer(1 << 22);
        let (a, b) = (buffer(1 << 18), buffer(1 << 18));
        let case = |kernel, grid, block, pointers: &[u64], numbers: &[i32]| {
            let pointers = pointers.iter().flat_map(|p| p.to_le_bytes());
            let params = pointers.chain(numbers.iter().flat_map(|n| n.to_le_bytes())).collect();
            Case { kernel, grid, block, params }
        };
        [
            case("integer", [8, 1, 1], [256, 1, 1], &[out], &[2000]),
            case("floating", [8, 1, 1], [256, 1, 1], &[out], &[2000]),
            case("shared", [16, 16, 1], [16, 16, 1], &[a, b, out], &[256]),
            case("divergent", [64, 1, 1], [256, 1, 1], &[out], &[128, 512]),
        ]
    }

    /// Runs a kernel on one host thread; the warp instructions issued.
    pub(crate) fn run(&self, case: &Case, observer: Option<&dyn Observer>) -> u64 {
        let launch = Launch {
            kernel: self.module.kernel(case.kernel).expect("the kernel"),
            grid: case.grid,
            block: case.block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: case.params.clone(),
        };
        let options = LaunchOptions { threads: 1, observer, ..LaunchOptions::default() };
        self.device.launch(&launch, &options).expect("a launch without fault").warp_instructions
    }
}
