//! Requests to run kernels, and what comes of them.

use super::kernel::Kernel;
use crate::asynchrony::Asynchrony;
use crate::build::Unsupported;
use crate::compiled::Engine;
use crate::dependents::Neighbours;
use crate::fault::Fault;
use crate::image::Purpose;
use crate::misuse::{Masks, Misuse};
use crate::observe::Observer;
use crate::schedule::SchedulerKind;
use crate::system::System;
use crate::time::Time;
use std::sync::atomic::AtomicBool;

/// A request to run a kernel.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// What to run.
    pub kernel: Kernel<'a>,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster in each dimension, if the kernel does not say it itself (`.reqnctapercluster`).
    pub cluster: Option<[u32; 3]>,
    /// Whether clusters may have more CTAs than every device with clusters allows.
    pub nonportable_cluster: bool,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameter buffer, laid out as [`Kernel::parameters`] says.
    pub params: Vec<u8>,
}

/// How to run it.
#[derive(Clone, Copy, Default)]
pub struct LaunchOptions<'a> {
    /// Host threads; 0 for one a core.
    pub threads: usize,
    /// Who runs next.
    pub scheduler: SchedulerKind,
    /// When asynchronous operations are performed.
    pub asynchrony: Asynchrony,
    /// Warp instructions that it may issue; without a budget it may run for ever.
    pub budget: Option<u64>,
    /// Bytes of stack of a thread beyond what the call graph is known to need; a number of the machine's if `None`.
    pub stack: Option<u32>,
    /// Bytes that device-side `malloc` may take; 8 MiB if `None`.
    pub heap: Option<u64>,
    /// The address of a workspace for barriers of the whole grid, whose CTAs must all fit on the device. Code of
    /// cooperative groups finds it in `%envreg1` (the upper half) and `%envreg2`; 0 for none.
    pub grid_workspace: u64,
    /// Who watches.
    pub observer: Option<&'a dyn Observer>,
    /// For debuggers: every warp, or warpgroup that multiplies matrices, is dispatched on its own, and a register that has been written keeps its value until its
    /// function ends.
    pub debug: bool,
    /// Functions are called, though nobody observes it, where their code would otherwise stand in the kernel's.
    pub calls: bool,
    /// The first cluster to run, counted along x, y, z: those before it have run already.
    pub first_cluster: u64,
    /// Set by another thread to stop the launch.
    pub cancel: Option<&'a AtomicBool>,
    /// What is done with lanes that execute a `.sync` operation whose member mask leaves them out.
    pub masks: Masks,
    /// What clocks and sleeps go by.
    pub time: Time,
    /// Called with the number of CTAs done, from any host thread.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
    /// The grids before and behind it, if they may overlap with it.
    pub neighbours: Option<Neighbours<'a>>,
    /// What compiles the kernel, if it is not to be interpreted.
    pub engine: Option<&'a dyn Engine>,
    /// Of whom device code asks what the machine does not know. It then decides who watches, too.
    pub system: Option<&'a dyn System>,
}

impl LaunchOptions<'_> {
    /// What the code is for.
    pub(crate) fn purpose(&self) -> Purpose {
        let observed = self.observer.is_some() || self.system.is_some_and(System::observes);
        Purpose {
            debug: self.debug,
            late: self.asynchrony != Asynchrony::Eager,
            calls: self.calls || self.debug || observed || self.masks == Masks::Exact,
        }
    }
}

impl std::fmt::Debug for LaunchOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaunchOptions")
            .field("threads", &self.threads)
            .field("scheduler", &self.scheduler)
            .field("asynchrony", &self.asynchrony)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

/// What a launch did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchReport {
    /// Warp instructions issued.
    pub warp_instructions: u64,
    /// Wall time of the run, without decoding.
    pub elapsed: std::time::Duration,
    /// Host threads used.
    pub threads: usize,
    /// Whether an engine's code ran, or why the interpreter did; `None` if no engine was given.
    pub compiled: Option<Result<(), String>>,
    /// What a GPU would not have noticed, by place in the code.
    pub misuses: Vec<Misuse>,
}

/// Why a launch did not run, or did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Extents that no device of this profile accepts.
    #[error("invalid launch: {0}")]
    InvalidConfiguration(String),
    /// More threads, shared memory or parameters than the device has for a CTA.
    #[error("launch out of resources: {0}")]
    OutOfResources(String),
    /// The kernel, or what it calls, has an instruction that the machine does not execute.
    #[error(transparent)]
    Unsupported(#[from] Box<Unsupported>),
    /// A thread did something that stops a kernel.
    #[error(transparent)]
    Fault(Box<Fault>),
}
