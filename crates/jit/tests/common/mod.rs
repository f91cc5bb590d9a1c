//! A device with a module and a buffer of zeros, for the tests of this folder.

use machine::{Device, DeviceOptions, Launch, LoadedModule, Profile};
use std::sync::Arc;

/// See the module.
pub(crate) struct Setting {
    pub(crate) device: Arc<Device>,
    pub(crate) module: LoadedModule,
    pub(crate) buffer: u64,
}

impl Setting {
    pub(crate) fn new(text: &str, bytes: usize) -> Self {
        let source = ptx::source::Source::new("kernels.ptx", text);
        let (module, _) = ptx::compile(&source).into_result().expect("a correct module");
        let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
        let module = device.load(module).expect("a loaded module");
        let buffer = device.memory().allocate(bytes as u64).expect("memory");
        device.memory().write(buffer, &vec![0; bytes]).expect("memory");
        Self { device, module, buffer }
    }

    /// A launch whose first parameter is the buffer.
    pub(crate) fn launch(&self, kernel: &str, grid: u32, block: u32, numbers: &[u32]) -> Launch<'_> {
        let mut params = self.buffer.to_le_bytes().to_vec();
        numbers.iter().for_each(|number| params.extend(number.to_le_bytes()));
        Launch {
            kernel: self.module.kernel(kernel).expect("the kernel"),
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params,
        }
    }

    pub(crate) fn words(&self, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.device.memory().read(self.buffer, &mut bytes).expect("memory");
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }
}
