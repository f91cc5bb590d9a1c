//! Kernels, and what they need.

use super::module::LoadedModule;
use crate::build::layout::{Layout, place};
use crate::build::{self, Unsupported};
use crate::compiled::Engine;
use crate::lanes::simd::Level;
use ir::LaneOrder;
use ptx::module::{FuncId, Module, Param};

/// An entry of a loaded module.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    pub(super) module: &'a LoadedModule,
    pub(super) function: FuncId,
}

/// A parameter of a kernel as its buffer holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterLayout {
    /// Its name in PTX.
    pub name: String,
    /// Element type.
    pub ty: ptx::types::ScalarType,
    /// Offset in the parameter buffer.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

impl<'a> Kernel<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        &self.function().name
    }

    /// The function in the module.
    pub fn function(&self) -> &'a ptx::module::Function {
        &self.module.module().functions[self.function.index()]
    }

    /// How its parameters lie in the buffer of [`Launch::params`].
    pub fn parameters(&self) -> Vec<ParameterLayout> {
        parameter_layout(self.module.module(), self.function)
    }

    /// The module that it is in.
    pub fn module(&self) -> &'a LoadedModule {
        self.module
    }

    /// Its handle: see [`LoadedModule::entry`].
    pub fn id(&self) -> FuncId {
        self.function
    }

    /// Whether an engine compiles it in blocks of this shape, or why not.
    ///
    /// # Errors
    /// What of it is not compiled.
    pub fn compiles(&self, engine: &dyn Engine, block: [u32; 3]) -> Result<(), String> {
        self.module
            .unit(engine, self.function, block)
            .compile(engine)
            .as_ref()
            .map(|_| ())
            .map_err(String::clone)
    }

    /// Every instruction, of it and of what it can call, for which the machine would refuse a launch.
    pub fn unsupported(&self) -> Vec<Unsupported> {
        let order = LaneOrder::ConsecutiveX;
        build::image(self.module.module(), &self.module.addresses, self.function, 1, order, Level::detect())
            .err()
            .unwrap_or_default()
    }

    /// What a thread of it needs, as the machine's decoder lays it out.
    pub fn usage(&self) -> Result<Usage, Box<Unsupported>> {
        let image = self.module.image(self.function, 1, LaneOrder::ConsecutiveX)?;
        let sizes = image.code(self.function).sizes;
        let registers = sizes.w + 2 * sizes.d + sizes.h.div_ceil(2);
        Ok(Usage { registers, local: image.local_bytes(0), launches_graphs: image.launches_graphs() })
    }

    /// Bytes of shared memory that its variables take.
    pub fn static_shared(&self) -> u32 {
        Layout::new(self.module.module(), self.function).shared()
    }
}

/// What a thread of a kernel needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Registers of 32 bits that are alive at a time in the kernel itself.
    pub registers: u32,
    /// Bytes of local memory, without a stack for what the code does not tell.
    pub local: u32,
    /// Whether it can launch graphs.
    pub launches_graphs: bool,
}

/// How an entry's parameters lie in its buffer: each aligned as declared, in order.
pub fn parameter_layout(module: &Module, function: FuncId) -> Vec<ParameterLayout> {
    let mut offset: u32 = 0;
    let params = module.functions[function.index()].params.iter().filter_map(|p| match p {
        Param::Memory(id) => Some(&module.variables[id.index()]),
        Param::Register(_) | Param::RegisterType(_) => None,
    });
    params
        .map(|variable| {
            let start = place(&mut offset, variable);
            ParameterLayout {
                name: variable.name.clone(),
                ty: variable.ty,
                offset: start,
                size: offset - start,
            }
        })
        .collect()
}
