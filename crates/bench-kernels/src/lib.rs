//! The benchmark kernels on a device, with their launches: for the interpreter alone, and for who watches it.
//!
//! `kernels.ptx` is what clang makes of `kernels.cu`:
//! `clang-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx80 -nocudalib -nocudainc -O2
//! -ffp-contract=off -S kernels.cu`.

use machine::observe::Observer;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use std::sync::Arc;

/// A device that has the kernels.
pub struct Bench {
    device: Arc<Device>,
    /// The kernels.
    pub module: LoadedModule,
}

/// A launch of one of them.
pub struct Case {
    /// Its name.
    pub kernel: &'static str,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// The parameter buffer.
    pub params: Vec<u8>,
}

impl Bench {
    /// A device that has the kernels of this crate.
    #[expect(clippy::new_without_default, reason = "a device is nobody's default")]
    pub fn new() -> Self {
        Self::of(include_str!("kernels.ptx"))
    }

    /// A device that has the kernels of a text.
    pub fn of(text: &str) -> Self {
        let source = ptx::source::Source::new("kernels.ptx", text);
        let (module, _) = ptx::compile(&source).into_result().expect("the benchmark's kernels are correct");
        let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
        let module = device.load(module).expect("the benchmark's kernels load");
        Self { device, module }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Zeroed memory of the device.
    pub fn buffer(&self, bytes: u64) -> u64 {
        self.device.memory().allocate(bytes).expect("memory")
    }

    /// Writes to memory of the device.
    pub fn fill(&self, address: u64, bytes: &[u8]) {
        self.device.memory().write(address, bytes).expect("memory");
    }

    /// One launch of each kernel.
    pub fn cases(&self) -> [Case; 4] {
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
    pub fn run(&self, case: &Case, observer: Option<&dyn Observer>) -> u64 {
        self.run_on(1, case, observer)
    }

    /// Runs a kernel on so many host threads; the warp instructions issued.
    pub fn run_on(&self, threads: usize, case: &Case, observer: Option<&dyn Observer>) -> u64 {
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
