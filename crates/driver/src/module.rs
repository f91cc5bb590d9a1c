//! Code: from [what a program hands over](crate::image) to functions that can be launched.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::extensions::Extensions;
use crate::image::{Image, LoadFailure, log};
use crate::{Id, lock};
use abi::names::demangled;
use machine::{LoadedModule, ParameterLayout, Profile, Usage};
use ptx::module::{Checked, FuncId, LaunchBounds};
use ptx::source::Source;
use ptx::types::ScalarType;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Loaded code of a context.
pub struct Module {
    id: Id,
    context: Weak<Context>,
    loaded: Arc<LoadedModule>,
    functions: Mutex<HashMap<FuncId, Weak<Function>>>,
    pub(crate) extensions: Extensions,
    /// Warnings, for the program's information log.
    pub log: String,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Module {}", self.id.0)
    }
}

impl Module {
    /// Loads code into a context.
    pub fn load(context: &Arc<Context>, image: &Image) -> std::result::Result<Arc<Self>, LoadFailure> {
        context.usable().map_err(|error| LoadFailure::new(error, ""))?;
        let text = image.text(context.device().profile())?;
        if let Some(told) = &context.device().process().settings.loaded {
            told(&text);
        }
        let source = Source::new("ptx", text);
        let compiled = ptx::compile(&source);
        let (module, warnings): (Checked<_>, _) = compiled
            .into_result()
            .map_err(|diagnostics| LoadFailure::new(Error::InvalidPtx, log(&source, &diagnostics)))?;
        let loaded = context
            .machine()
            .load(module)
            .map_err(|error| LoadFailure::new(Error::of_load(&error), error.to_string()))?;
        let module = Self {
            id: Id::next(),
            context: Arc::downgrade(context),
            loaded: Arc::new(loaded),
            functions: Mutex::default(),
            extensions: Extensions::default(),
            log: log(&source, &warnings),
        };
        let kernels: Vec<String> = module.entries().iter().map(|name| demangled(name)).collect();
        log::info!("module {} has the kernels {}", module.id.0, kernels.join(", "));
        Ok(Arc::new(module))
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The entry called `name`.
    pub fn function(self: &Arc<Self>, name: &str) -> Result<Arc<Function>> {
        let kernel = self.loaded.kernel(name).ok_or(Error::NotFound)?;
        let profile = self.context()?.device().profile().clone();
        let make = || {
            Arc::new(Function {
                id: Id::next(),
                module: Arc::clone(self),
                entry: kernel.id(),
                name: name.to_owned(),
                // Names of PTX hold no zero.
                c_name: CString::new(name).unwrap_or_default(),
                parameters: kernel.parameters(),
                static_shared: kernel.static_shared(),
                usage: OnceLock::new(),
                profile,
                limits: Mutex::new(Limits::default()),
                checked: Mutex::default(),
                extensions: Extensions::default(),
            })
        };
        let mut functions = lock(&self.functions);
        if let Some(function) = functions.get(&kernel.id()).and_then(Weak::upgrade) {
            return Ok(function);
        }
        let function = make();
        functions.insert(kernel.id(), Arc::downgrade(&function));
        Ok(function)
    }

    /// The names of all entries.
    pub fn entries(&self) -> Vec<String> {
        self.loaded.module().entries().map(|(_, function)| function.name.clone()).collect()
    }

    /// Address and size of a variable. Those that other modules cannot see have names for the program all the same: nvcc
    /// declares none of a whole program's variables visible.
    pub fn global(&self, name: &str) -> Result<(u64, u64)> {
        self.loaded.variable(name).ok_or(Error::NotFound)
    }

    /// The type of a texture, sampler or surface variable.
    pub(crate) fn opaque(&self, name: &str) -> Option<ScalarType> {
        let named = |variable: &&ptx::module::Variable| variable.name == name && variable.function.is_none();
        self.loaded.module().variables.iter().find(named).map(|variable| variable.ty)
    }

    /// Lets such a variable name an object.
    pub(crate) fn bind(&self, name: &str, object: u64) -> Result<()> {
        Ok(self.loaded.bind(name, object)?)
    }

    /// It on its device.
    pub(crate) fn loaded(&self) -> &Arc<LoadedModule> {
        &self.loaded
    }

    /// The context that it is loaded into.
    pub fn context(&self) -> Result<Arc<Context>> {
        self.context.upgrade().ok_or(Error::ContextIsDestroyed)
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster in each dimension, if the launch says it.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Whether all CTAs must be resident together.
    pub cooperative: bool,
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub struct Function {
    id: Id,
    module: Arc<Module>,
    entry: FuncId,
    name: String,
    c_name: CString,
    parameters: Vec<ParameterLayout>,
    static_shared: u32,
    usage: OnceLock<Option<Usage>>,
    profile: Profile,
    limits: Mutex<Limits>,
    /// The last configuration that passed the machine's checks: most programs repeat it.
    pub(crate) checked: Mutex<Option<Configuration>>,
    pub(crate) extensions: Extensions,
}

/// What a program may change about a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most dynamic shared memory; `None` for what is there without opting in.
    pub dynamic_shared: Option<u32>,
    /// Part of the L1 cache that is to be shared memory, in percent; -1 for none preferred.
    pub carveout: i32,
    /// Whether clusters may be larger than what is portable.
    pub nonportable_cluster: bool,
    /// The preferred size of L1 against shared memory, as an integer of CUDA's.
    pub cache: i32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { dynamic_shared: None, carveout: -1, nonportable_cluster: false, cache: 0 }
    }
}

impl Function {
    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name with a zero at its end.
    pub fn c_name(&self) -> &CStr {
        &self.c_name
    }

    /// The module it is in.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// How its parameters lie in their buffer.
    pub fn parameters(&self) -> &[ParameterLayout] {
        &self.parameters
    }

    /// Bytes of the buffer.
    pub fn parameter_bytes(&self) -> usize {
        self.parameters.last().map_or(0, |last| (last.offset + last.size) as usize)
    }

    /// Bytes of shared memory of its variables.
    pub fn static_shared(&self) -> u32 {
        self.static_shared
    }

    /// Bytes of constant memory that the module's variables take.
    pub fn constant_bytes(&self) -> u64 {
        let variables = &self.module.loaded.module().variables;
        variables
            .iter()
            .filter(|variable| variable.space == ptx::types::StateSpace::Const)
            .map(|v| v.size)
            .sum()
    }

    /// Registers and local memory of a thread; nothing if the kernel has an instruction that is not executed.
    pub fn usage(&self) -> Option<Usage> {
        *self.usage.get_or_init(|| self.kernel().usage().ok())
    }

    /// Registers of a thread that a launch is judged by, at most 255. A compiler gives a kernel no more than `.maxnreg`
    /// says, or than its largest block leaves for each thread; what is beyond would be spilt.
    pub fn registers(&self) -> u32 {
        let (bounds, used) = (self.bounds(), self.usage().map_or(0, |usage| usage.registers));
        let most = bounds.max_nreg.unwrap_or_else(|| {
            let blocks = bounds.min_nctapersm.unwrap_or(1).max(1);
            let fits =
                |registers: &u32| self.profile.ctas_by_registers(self.stated_threads(), *registers) >= blocks;
            (1..=255).rev().find(fits).unwrap_or(1)
        });
        used.clamp(1, 255).min(most.max(1))
    }

    /// The launch directives of its PTX.
    pub fn bounds(&self) -> &LaunchBounds {
        &self.kernel().function().bounds
    }

    /// Target of its module, compute capability times ten.
    pub fn sm(&self) -> u16 {
        self.module.loaded.module().arch.sm
    }

    /// The most threads of a block that its directives allow.
    pub(crate) fn stated_threads(&self) -> u32 {
        let bounds = self.bounds();
        let extents = bounds.req_ntid.or(bounds.max_ntid);
        let threads = extents.map(|extents| extents.iter().try_fold(1u32, |all, &n| all.checked_mul(n)));
        threads.flatten().unwrap_or(Profile::MAX_THREADS).min(Profile::MAX_THREADS)
    }

    /// The most threads of a block: what its directives allow and registers suffice for.
    pub fn max_threads(&self) -> u32 {
        let registers = self.registers();
        let fits = |warps: &u32| self.profile.ctas_by_registers(warps * 32, registers) > 0;
        let warps = (1..=Profile::MAX_THREADS / 32).rev().find(fits).unwrap_or(0);
        self.stated_threads().min(warps * 32)
    }

    /// What the program has set.
    pub fn limits(&self) -> Limits {
        *lock(&self.limits)
    }

    /// Sets what the program may set.
    pub fn set_limits(&self, change: impl FnOnce(&mut Limits)) {
        change(&mut lock(&self.limits));
        *lock(&self.checked) = None;
    }

    /// The most dynamic shared memory of a launch.
    pub fn max_dynamic_shared(&self) -> u32 {
        let otherwise = Profile::SHARED_PER_CTA.saturating_sub(self.static_shared);
        self.limits().dynamic_shared.unwrap_or(otherwise)
    }

    pub(crate) fn kernel(&self) -> machine::Kernel<'_> {
        self.module.loaded.entry(self.entry).expect("a function is made of an entry of its module")
    }
}
