//! Kernels, and what they need.

use super::module::LoadedModule;
use crate::build::layout::{Layout, entry_parameter, place};
use crate::build::{self, Unsupported};
use crate::compiled::Engine;
use crate::image::Purpose;
use crate::lanes::simd::Level;
use crate::memory::{LOCAL_WINDOW, PARAM_WINDOW};
use crate::observe::Placed;
use ir::LaneOrder;
use ptx::module::{FuncId, Module, Param, VarId};
use ptx::types::StateSpace;

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

    /// Where the variables are that its code can name.
    pub fn variables(&self) -> Variables<'a> {
        let layout = Layout::new(self.module.module(), self.function);
        Variables { module: self.module, kernel: self.function, layout }
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
        build::image(
            self.module.module(),
            &self.module.addresses,
            self.function,
            1,
            order,
            Level::detect(),
            Purpose { calls: true, ..Purpose::default() },
        )
        .err()
        .unwrap_or_default()
    }

    /// What a thread of it needs, as the machine's decoder lays it out.
    pub fn usage(&self) -> Result<Usage, Box<Unsupported>> {
        let image = self.module.image(self.function, 1, LaneOrder::ConsecutiveX, Purpose::default())?;
        let sizes = image.code(self.function).sizes;
        let registers = sizes.w + 2 * sizes.d + sizes.h.div_ceil(2);
        Ok(Usage { registers, local: image.local_bytes(0), launches_graphs: image.launches_graphs() })
    }

    /// Bytes of shared memory that its variables take.
    pub fn static_shared(&self) -> u32 {
        Layout::new(self.module.module(), self.function).shared()
    }
}

/// Where the variables are that a kernel's code can name.
#[derive(Debug)]
pub struct Variables<'a> {
    module: &'a LoadedModule,
    kernel: FuncId,
    layout: Layout,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariablePlace {
    /// At a generic address.
    At(u64),
    /// So many bytes behind the beginning of the CTA's own shared memory.
    Shared(u32),
    /// So many bytes behind the beginning of its function's part of local memory.
    Frame(u32),
}

impl Variables<'_> {
    /// Where a variable is; `None` if the kernel has no use for it.
    pub fn of(&self, variable: VarId) -> Option<VariablePlace> {
        let module = self.module.module();
        let declared = module.variables.get(variable.index())?;
        let offset = || self.layout.offset(variable);
        match declared.space {
            StateSpace::Shared => offset().map(VariablePlace::Shared),
            StateSpace::Local if declared.function.is_none() => {
                Some(VariablePlace::At(LOCAL_WINDOW + u64::from(offset()?)))
            }
            StateSpace::Local | StateSpace::ParamFunc => offset().map(VariablePlace::Frame),
            StateSpace::ParamEntry => {
                let offset = entry_parameter(module, self.kernel, variable)?;
                Some(VariablePlace::At(PARAM_WINDOW + u64::from(offset)))
            }
            _ => self.module.addresses[variable.index()].map(VariablePlace::At),
        }
    }
}

impl Variables<'_> {
    /// Those in shared, global and constant memory; those of a CTA begin at an address in the shared window.
    pub(crate) fn lasting(&self, shared_start: u32) -> Vec<Placed> {
        let module = self.module.module();
        let lasting = |space| matches!(space, StateSpace::Shared | StateSpace::Global | StateSpace::Const);
        let all = (0..).map(VarId).zip(&module.variables);
        let of = |(variable, _): (VarId, _)| {
            Some(match self.of(variable)? {
                VariablePlace::Shared(offset) => {
                    Placed { variable, shared: true, start: u64::from(shared_start) + u64::from(offset) }
                }
                VariablePlace::At(start) => Placed { variable, shared: false, start },
                VariablePlace::Frame(_) => return None,
            })
        };
        all.filter(|(_, declared)| lasting(declared.space)).filter_map(of).collect()
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
