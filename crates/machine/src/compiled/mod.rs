//! The interface to an engine that compiles kernels instead of interpreting them.
//!
//! The machine checks launches, hands out CTAs to host threads, stops them and describes faults, whoever executes; an
//! [`Engine`] gives it [`Code`] for a kernel, which runs one CTA at a time from its first to its last instruction. A
//! compiled CTA does not take turns with others, so an engine must refuse a kernel whose CTAs can wait for one another.
//!
//! Code accesses memory in one of two ways. It may do so itself where [`Cta::pages`] tells that bytes are valid, and in
//! the CTA's shared memory and parameters between their bounds. Everything else it asks of a [`Cta`], row by row, which
//! does what the interpreter does, refuses what the interpreter refuses, and says why.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `cta` | what the machine does for the code of a CTA |
//! | `host` | what a CTA asks of the host thread that runs it |
//! | `interpret` | single instructions that the interpreter executes for a row |
//! | `lists` | how values of a row's lanes lie in memory that code hands over |
//! | `multiply` | products of matrices without the interpreter |
//! | `runner` | CTAs on a host thread, one after the other |
//! | `stopped` | why a CTA has not ended |
//! | `unit` | what has become of a kernel: interpreted, asked for, compiled, refused |

mod cta;
mod host;
mod interpret;
mod lists;
mod multiply;
mod runner;
mod stopped;
mod unit;

use crate::build::layout::{Layout, entry_parameter, place};
pub use cta::{Atomic, Cta, Row, RowTrap};
pub(crate) use host::Host;
pub use interpret::Single;
pub use lists::{LIST_ALIGN, list_bytes};
use ptx::module::{FuncId, Function, Module, Param, VarId};
use ptx::types::StateSpace;
pub(crate) use runner::Runner;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
pub use stopped::Stopped;
pub use unit::Request;
pub(crate) use unit::{Promise, State, Unit};

/// What tells an engine from all others of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EngineId(u64);

impl EngineId {
    /// One that no engine has.
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What compiles kernels.
pub trait Engine: Send + Sync {
    /// Which engine it is. What it makes of a kernel is kept under this.
    fn id(&self) -> EngineId;

    /// Its way to compile beside the launches, if kernels are interpreted until they are worth it; `None` if they are
    /// compiled when they are first launched.
    fn background(&self) -> Option<&dyn Background>;

    /// Code for a kernel in blocks of some shape.
    ///
    /// # Errors
    /// What of the kernel it does not compile, by name: the interpreter then runs it.
    fn compile(&self, source: &Source<'_>) -> Result<Arc<dyn Code>, String>;

    /// Told when the interpreter runs a kernel, and why; once for each kernel and shape of blocks.
    fn declined(&self, kernel: &str, why: &str);
}

/// An engine that compiles beside the launches.
pub trait Background: Send + Sync {
    /// Warp instructions of a kernel that are interpreted before it is worth compiling.
    fn threshold(&self) -> u64;

    /// Carries a request out some time, on another thread than the calling one, which does not wait.
    fn submit(&self, request: Request);
}

/// A compiled kernel.
pub trait Code: Send + Sync {
    /// Runs a CTA to its end, and those that follow, until there is none ([`Cta::advance`]). `scratch` is the host thread's, kept
    /// from run to run.
    ///
    /// # Errors
    /// Why the grid must stop.
    fn run(&self, cta: &mut Cta<'_>, scratch: &mut Vec<u64>) -> Result<(), Stopped>;
}

impl std::fmt::Debug for dyn Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code")
    }
}

/// A kernel to be compiled.
pub struct Source<'a> {
    module: &'a Module,
    /// Where its variables are in memory.
    addresses: &'a [Option<u64>],
    kernel: FuncId,
    block: [u32; 3],
    layout: Layout,
    shared_start: u32,
}

impl<'a> Source<'a> {
    pub(crate) fn new(
        module: &'a Module,
        addresses: &'a [Option<u64>],
        kernel: FuncId,
        block: [u32; 3],
        shared_start: u32,
    ) -> Self {
        let layout = Layout::new(module, kernel);
        Self { module, addresses, kernel, block, layout, shared_start }
    }

    /// The module that the kernel is in. What it calls stands in its code, where that can be.
    pub fn module(&self) -> &'a Module {
        self.module
    }

    /// The kernel's handle in it.
    pub fn kernel(&self) -> FuncId {
        self.kernel
    }

    /// The kernel's name.
    pub fn name(&self) -> &'a str {
        &self.function().name
    }

    fn function(&self) -> &'a Function {
        &self.module.functions[self.kernel.index()]
    }

    /// Threads of a CTA in each dimension.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// The address of a variable in its own state space: global, constant, shared and local variables, parameters of the
    /// kernel, and those of its calls, which are in local memory.
    pub fn address_of(&self, variable: VarId) -> Option<u64> {
        match self.module.variables[variable.index()].space {
            StateSpace::Global | StateSpace::Const => self.addresses[variable.index()],
            StateSpace::Shared => self.layout.offset(variable).map(|at| u64::from(at + self.shared_start)),
            StateSpace::Local | StateSpace::ParamFunc => {
                let variable = (variable, self.module.variables[variable.index()].function);
                let frame = match variable {
                    (_, None) => 0,
                    (_, Some(owner)) if owner == self.kernel => self.layout.module_local(),
                    _ => return None,
                };
                self.layout.offset(variable.0).map(|at| u64::from(at + frame))
            }
            StateSpace::ParamEntry => entry_parameter(self.module, self.kernel, variable).map(u64::from),
            _ => None,
        }
    }

    /// Bytes of the kernel's parameters.
    pub fn parameter_bytes(&self) -> u32 {
        let mut bytes = 0;
        for param in &self.function().params {
            if let Param::Memory(id) = *param {
                place(&mut bytes, &self.module.variables[id.index()]);
            }
        }
        bytes
    }

    /// The address of the first byte of a CTA's shared memory.
    pub fn shared_start(&self) -> u32 {
        self.shared_start
    }
}
