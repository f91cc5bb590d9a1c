//! What is debugged: a launch, with the memory that it begins with.

use crate::Error;
use debug_info::DebugInfo;
use machine::memory::{DeviceMemory, MemoryError};
use machine::{Device, Kernel, Launch, LoadedModule, SchedulerKind};
use ptx::module::{FuncId, Module};
use sanitizer::Checks;
use std::sync::Arc;

/// A launch of a kernel. Global memory is as it is to be when the kernel begins.
#[derive(Debug)]
pub struct Program {
    /// The device.
    pub device: Arc<Device>,
    /// The module, loaded there.
    pub loaded: Arc<LoadedModule>,
    /// The name of the kernel.
    pub kernel: String,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster in each dimension.
    pub cluster: Option<[u32; 3]>,
    /// Whether clusters may be larger than every device with clusters allows.
    pub nonportable_cluster: bool,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameter buffer.
    pub params: Vec<u8>,
    /// Who runs next.
    pub scheduler: SchedulerKind,
    /// Warp instructions that the launch may issue.
    pub budget: Option<u64>,
    /// What is looked for while it runs, for stops at what is found.
    pub checks: Option<Checks>,
}

impl Program {
    /// The module.
    pub fn module(&self) -> &Module {
        self.loaded.module()
    }

    /// The kernel.
    ///
    /// # Errors
    /// If the module has none of that name.
    pub fn kernel(&self) -> Result<Kernel<'_>, Error> {
        let missing = || Error::Command(format!("the module has no kernel `{}`", self.kernel));
        self.loaded.kernel(&self.kernel).ok_or_else(missing)
    }

    pub(crate) fn launch<'a>(&'a self, kernel: Kernel<'a>) -> Launch<'a> {
        Launch {
            kernel,
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            nonportable_cluster: self.nonportable_cluster,
            dynamic_shared: self.dynamic_shared,
            params: self.params.clone(),
        }
    }

    /// Its debug information.
    pub fn debug_info(&self) -> DebugInfo {
        DebugInfo::new(self.module())
    }
}

/// A grid: the one that the host has launched, or one that a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// How many of the launch have begun before it; 0 for the host's.
    pub number: u32,
    /// Its kernel.
    pub kernel: FuncId,
    /// CTAs in each dimension.
    pub extent: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster in each dimension, as launch and kernel say it together.
    pub cluster: [u32; 3],
}

/// Global memory at some moment: every allocation with its bytes, and what else kernels reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    own: Vec<(u64, Vec<u8>)>,
    /// Memory that devices share, and memory of the program that it has registered.
    beyond: Vec<(u64, Vec<u8>)>,
}

impl Memory {
    /// All that a kernel of a device reaches.
    pub(crate) fn of(device: &Device) -> Result<Self, MemoryError> {
        let contents = |memory: &DeviceMemory| {
            let read = |(start, bytes): (u64, u64)| {
                let mut contents = vec![0; usize::try_from(bytes).unwrap_or(0)];
                memory.read(start, &mut contents)?;
                Ok((start, contents))
            };
            memory.allocations().into_iter().map(read).collect::<Result<Vec<_>, MemoryError>>()
        };
        let mut beyond = Vec::new();
        for memory in device.reach().memories() {
            beyond.extend(contents(&memory)?);
        }
        for range in device.reach().host_ranges() {
            let mut bytes = vec![0; (range.end() - range.start()) as usize];
            range.read(range.start(), &mut bytes);
            beyond.push((range.start(), bytes));
        }
        Ok(Self { own: contents(device.memory())?, beyond })
    }

    /// Makes memory that again: what device code has allocated since is freed, and is no longer in `heap`.
    pub(crate) fn restore(&self, device: &Device, heap: &mut Vec<u64>) -> Result<(), MemoryError> {
        let memory = device.memory();
        let since: Vec<u64> =
            heap.extract_if(.., |start| !self.own.iter().any(|(known, _)| known == start)).collect();
        since.into_iter().try_for_each(|start| memory.free(start))?;
        self.own.iter().try_for_each(|(start, bytes)| memory.write(*start, bytes))?;
        // What the program has taken away from its devices meanwhile no kernel reaches any more.
        for (start, bytes) in &self.beyond {
            let _ = device.write(*start, bytes);
        }
        Ok(())
    }
}
