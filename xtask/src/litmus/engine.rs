//! What kernels run on: a GPU, or our machine, on which everything can be tried before.

use anyhow::{Context, Result, anyhow};
use machine::memory::Buffers;
use machine::{Device, DeviceOptions, LaunchOptions, LoadedModule, Profile};
use real_gpu::Gpu;
use std::sync::Arc;

/// A device.
pub(crate) enum Engine {
    RealGpu(Box<Gpu>),
    Machine(Arc<Device>),
}

/// A module on a device.
pub(crate) enum Module<'a> {
    RealGpu(real_gpu::Module<'a>),
    Machine(Arc<Device>, Box<LoadedModule>),
}

/// The extents of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Extents {
    pub(crate) ctas: u32,
    pub(crate) threads: u32,
    pub(crate) cluster: Option<u32>,
}

impl Engine {
    pub(crate) fn gpu() -> Result<Self> {
        Ok(Self::RealGpu(Box::new(Gpu::open()?)))
    }

    pub(crate) fn machine() -> Result<Self> {
        let options = DeviceOptions { memory_limit: Some(1 << 30), ..DeviceOptions::default() };
        Ok(Self::Machine(Device::new(Profile::default(), options)?))
    }

    pub(crate) fn description(&self) -> String {
        match self {
            Self::RealGpu(gpu) => {
                let (major, minor) = gpu.driver_version();
                format!("{}, driver of CUDA {major}.{minor}", gpu.name())
            }
            Self::Machine(_) => "the machine".into(),
        }
    }

    /// Loads PTX, or for a GPU what ptxas made of it.
    pub(crate) fn load(&self, text: &str, assembled: Option<&[u8]>) -> Result<Module<'_>> {
        match self {
            Self::RealGpu(gpu) => Ok(Module::RealGpu(gpu.load(assembled.unwrap_or(text.as_bytes()))?)),
            Self::Machine(device) => {
                let source = ptx::source::Source::new("litmus.ptx", text.to_owned());
                let module = ptx::compile(&source).into_result().map_err(|wrong| {
                    let (line, column) = source.line_column(wrong[0].span.start);
                    anyhow!("{line}:{column}: {} {}", wrong[0].code, wrong[0].message)
                })?;
                Ok(Module::Machine(device.clone(), Box::new(device.load(module.0)?)))
            }
        }
    }

    fn buffers(&self) -> &dyn Buffers {
        match self {
            Self::RealGpu(gpu) => &**gpu,
            Self::Machine(device) => device.memory(),
        }
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Result<u64> {
        Ok(self.buffers().allocate(bytes as u64)?)
    }

    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.buffers().write(address, bytes)?)
    }

    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        Ok(self.buffers().read(address, bytes)?)
    }

    pub(crate) fn clear(&self, address: u64, bytes: usize) -> Result<()> {
        match self {
            Self::RealGpu(gpu) => Ok(gpu.fill(address, 0, bytes)?),
            Self::Machine(_) => self.write(address, &vec![0; bytes]),
        }
    }
}

impl Module<'_> {
    pub(crate) fn launch(&self, kernel: &str, extents: Extents, params: &[u8]) -> Result<()> {
        let grid = [extents.ctas, 1, 1];
        let block = [extents.threads, 1, 1];
        let cluster = extents.cluster.map(|ctas| [ctas, 1, 1]);
        match self {
            Self::RealGpu(module) => module
                .launch(&real_gpu::Launch {
                    kernel,
                    grid,
                    block,
                    cluster,
                    cooperative: false,
                    dynamic_shared: 0,
                    params,
                })
                .with_context(|| kernel.to_owned()),
            Self::Machine(device, module) => {
                let launch = machine::Launch {
                    kernel: module.kernel(kernel).with_context(|| kernel.to_owned())?,
                    grid,
                    block,
                    cluster,
                    nonportable_cluster: false,
                    dynamic_shared: 0,
                    params: params.to_vec(),
                };
                device
                    .launch(&launch, &LaunchOptions::default())
                    .map(drop)
                    .map_err(|error| anyhow!("{error}"))
            }
        }
    }
}
