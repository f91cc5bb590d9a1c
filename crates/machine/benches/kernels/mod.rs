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
    pub(crate) params: Vec<u8>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::of(include_str!("../kernels.ptx"))
    }

    /// A device that has the kernels of a text.
    pub(crate) fn of(text: &str) -> Self {
        let source = ptx::source::Source::new("kernels.ptx", text);
        let (module, _) = ptx::compile(&source).into_result().expect("the benchmark's kernels are correct");
        let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
        let module = device.load(module).expect("the benchmark's kernels load");
        Self { device, module }
    }

    /// Zeroed memory of the device.
    pub(crate) fn buffer(&self, bytes: u64) -> u64 {
        self.device.memory().allocate(bytes).expect("memory")
    }

    pub(crate) fn fill(&self, address: u64, bytes: &[u8]) {
        self.device.memory().write(address, bytes).expect("memory");
    }

    /// One launch of each kernel.
    pub(crate) fn cases(&self) -> [Case; 4] {
        let out = self.buffer(1 << 22);
        let (a, b) = (self.buffer(1 << 18), self.buffer(1 << 18));
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
        self.run_on(1, case, observer)
    }

    /// Runs a kernel on so many host threads; the warp instructions issued.
    pub(crate) fn run_on(&self, threads: usize, case: &Case, observer: Option<&dyn Observer>) -> u64 {
        let launch = Launch {
            kernel: self.module.kernel(case.kernel).expect("the kernel"),
            grid: case.grid,
            block: case.block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: case.params.clone(),
        };
        let options = LaunchOptions { threads, observer, ..LaunchOptions::default() };
        self.device.launch(&launch, &options).expect("a launch without fault").warp_instructions
    }
}
