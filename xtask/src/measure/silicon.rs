//! Probes on a real GPU.

use super::placed::{KERNEL, Left, Placed, assemble};
use super::probe::Probe;
use anyhow::Result;
use real_gpu::{Gpu, Launch, Module};

/// A probe on a GPU.
pub(crate) struct OnGpu<'a> {
    probe: &'a Probe,
    module: Module<'a>,
    placed: Placed<'a>,
}

impl<'a> OnGpu<'a> {
    pub(crate) fn new(gpu: &'a Gpu, probe: &'a Probe) -> Result<Self> {
        Ok(Self { probe, module: gpu.load(&assemble(probe)?)?, placed: Placed::new(gpu, probe)? })
    }

    fn launch(&self) -> Launch<'_> {
        Launch {
            kernel: KERNEL,
            grid: [self.probe.grid, 1, 1],
            block: [self.probe.block, 1, 1],
            cluster: (self.probe.cluster > 1).then_some([self.probe.cluster, 1, 1]),
            cooperative: false,
            dynamic_shared: self.probe.shared,
            params: &self.placed.params,
        }
    }

    pub(crate) fn run(&self) -> Result<Vec<Left>> {
        self.module.launch(&self.launch())?;
        self.placed.left()
    }

    /// Nanoseconds of so many launches in a row.
    pub(crate) fn time(&self, times: u32) -> Result<f64> {
        Ok(self.module.time(&self.launch(), times)?)
    }
}
