//! Launching: devices, loaded modules, kernels, and the checks that stand between a request and a running grid.

use crate::decode::{self, Unsupported};
use crate::dependents::Neighbours;
use crate::exec::code_address;
use crate::fault::Fault;
use crate::lanes::simd::Level;
use crate::lanes::{LANES, MAX_WARPS};
use crate::memory::{Bounds, DeviceMemory, MemoryError, Reach, host_memory};
use crate::misuse::{Masks, Misuse};
use crate::observe::Observer;
use crate::ops::matrix::WARPGROUP;
use crate::ops::time::Time;
use crate::output::Output;
use crate::profile::Profile;
use crate::program::Image;
use crate::schedule::SchedulerKind;
use crate::system::System;
use crate::texture::object::SamplerDescriptor;
use crate::texture::table::{Handle, Table, TextureError};
use ir::LaneOrder;
use ptx::module::{Checked, FuncId, FunctionKind, Module, Param, Symbol, VarId};
use ptx::types::{Arch, ArchVariant, ScalarType, StateSpace, TypeKind};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

mod session;

pub(crate) use session::{Prepared, Session};

/// What a device is made with besides its profile.
#[derive(Debug, Default)]
pub struct DeviceOptions {
    /// Bytes of global memory; the profile's if `None`, but never more than half of the host's memory by default.
    pub memory_limit: Option<u64>,
    /// Where device code prints; standard output by default.
    pub output: Output,
    /// Where memory ends for kernels.
    pub bounds: Bounds,
}

/// A virtual GPU.
#[derive(Debug)]
pub struct Device {
    profile: Profile,
    memory: Arc<DeviceMemory>,
    reach: Reach,
    output: Output,
    bounds: Bounds,
    objects: Table,
    launches: AtomicU64,
}

/// Bytes that device-side `malloc` may take, as `cudaLimitMallocHeapSize` by default.
const HEAP: i64 = 8 << 20;

/// Bytes of stack of a thread beyond what the call graph is known to need, where it is not known.
const STACK: u32 = 16 << 10;

impl Device {
    /// A device with an empty memory.
    pub fn new(profile: Profile, options: DeviceOptions) -> Result<Arc<Self>, MemoryError> {
        let limit = options.memory_limit.unwrap_or_else(|| profile.memory.min(host_memory() / 2));
        let memory = Arc::new(DeviceMemory::new(profile.memory, limit)?.with_bounds(options.bounds));
        Ok(Arc::new(Self {
            profile,
            memory,
            reach: Reach::default(),
            output: options.output,
            bounds: options.bounds,
            objects: Table::default(),
            launches: AtomicU64::new(0),
        }))
    }

    /// What the device is.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Global memory.
    pub fn memory(&self) -> &DeviceMemory {
        &self.memory
    }

    /// Global memory, for kernels of other devices: see [`Reach::attach`].
    pub fn shared_memory(&self) -> &Arc<DeviceMemory> {
        &self.memory
    }

    /// What kernels reach besides.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Arrays, textures, samplers and surfaces.
    pub(crate) fn objects(&self) -> &Table {
        &self.objects
    }

    /// Loads a module: places its variables in memory and writes their initial values.
    pub fn load(
        self: &Arc<Self>,
        module: impl Into<Arc<Checked<Module>>>,
    ) -> Result<LoadedModule, LoadError> {
        let module = module.into();
        self.accepts(&module)?;
        let mut addresses = vec![None; module.variables.len()];
        let loaded_in_memory = |space| matches!(space, StateSpace::Global | StateSpace::Const);
        let mut placed = Placed { device: self, addresses: Vec::new() };
        for (index, variable) in module.variables.iter().enumerate() {
            if loaded_in_memory(variable.space) {
                if variable.linkage == ptx::module::Linkage::Extern {
                    return Err(LoadError::UndefinedSymbol(variable.name.clone()));
                }
                let address = self.memory.allocate(variable.size)?;
                placed.addresses.push(address);
                addresses[index] = Some(address);
            }
        }
        let mut samplers = Vec::new();
        for (index, variable) in module.variables.iter().enumerate() {
            let Some(address) = addresses[index] else { continue };
            self.memory.write(address, &initial_bytes(variable, &addresses))?;
            if variable.ty == ScalarType::SamplerRef {
                let sampler = self.create_sampler(SamplerDescriptor::of_fields(&variable.fields));
                samplers.push(sampler);
                self.memory.write(address, &sampler.to_le_bytes())?;
            }
        }
        let mut opaque: Vec<_> = module
            .variables
            .iter()
            .zip(&addresses)
            .filter_map(|(variable, address)| {
                (variable.ty.kind() == TypeKind::Opaque).then_some(((*address)?, variable.ty))
            })
            .collect();
        opaque.sort_unstable_by_key(|&(address, _)| address);
        let is_constant = |variable: &ptx::module::Variable| variable.space == StateSpace::Const;
        let constants = module.variables.iter().zip(&addresses);
        let constants = constants.filter(|(variable, _)| is_constant(variable));
        let constants = constants.filter_map(|(v, address)| address.map(|start| start..start + v.size));
        let constants = constants.collect();
        let addresses_owned = std::mem::take(&mut placed.addresses);
        Ok(LoadedModule {
            opaque,
            constants,
            samplers,
            device: Arc::clone(self),
            module,
            addresses,
            allocations: addresses_owned,
            images: Mutex::new(HashMap::new()),
        })
    }

    fn accepts(&self, module: &Module) -> Result<(), LoadError> {
        let Arch { sm, variant } = module.arch;
        let runs = match variant {
            ArchVariant::Base => sm <= self.profile.sm,
            ArchVariant::Family => sm <= self.profile.sm && sm / 10 == self.profile.sm / 10,
            ArchVariant::Specific => sm == self.profile.sm && self.profile.arch_specific,
        };
        if !runs {
            return Err(LoadError::Target { target: module.arch, device: self.profile.name });
        }
        if module.address_size != 64 {
            return Err(LoadError::AddressSize(module.address_size));
        }
        Ok(())
    }
}

/// Frees what a failed load had placed.
struct Placed<'a> {
    device: &'a Device,
    addresses: Vec<u64>,
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        for &address in &self.addresses {
            let _ = self.device.memory.free(address);
        }
    }
}

/// A variable's bytes with the addresses of symbols written in.
fn initial_bytes(variable: &ptx::module::Variable, addresses: &[Option<u64>]) -> Vec<u8> {
    let mut bytes = variable.init.clone();
    for relocation in &variable.relocations {
        let symbol = match relocation.target {
            // A variable of another space has a fixed offset in its window, which only code can name.
            Symbol::Variable(id) => addresses[id.index()].unwrap_or(0),
            Symbol::Function(id) => code_address(id.0),
        };
        let value = symbol.wrapping_add_signed(relocation.addend) >> relocation.shift.unwrap_or(0);
        let (start, len) = (relocation.offset as usize, relocation.bytes as usize);
        if bytes.len() < start + len {
            bytes.resize(start + len, 0);
        }
        bytes[start..start + len].copy_from_slice(&value.to_le_bytes()[..len]);
    }
    bytes
}

/// Why a module cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its target is newer than the device, or is for one architecture alone.
    #[error("the module is for {target}, which device {device} does not run")]
    Target {
        /// The module's target.
        target: Arch,
        /// The device's profile.
        device: &'static str,
    },
    /// 32-bit addresses.
    #[error("the module has .address_size {0}; only 64 is supported")]
    AddressSize(u32),
    /// `.extern` without a definition.
    #[error("undefined symbol `{0}`: the module declares it .extern, and nothing defines it")]
    UndefinedSymbol(String),
    /// No room for its variables.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// A module whose variables have addresses.
#[derive(Debug)]
pub struct LoadedModule {
    device: Arc<Device>,
    module: Arc<Checked<Module>>,
    addresses: Vec<Option<u64>>,
    allocations: Vec<u64>,
    /// Addresses of the opaque variables, ascending, and their types.
    opaque: Vec<(u64, ScalarType)>,
    /// Where the constant variables are.
    constants: Vec<Range<u64>>,
    /// Samplers that variables were initialised with.
    samplers: Vec<Handle>,
    images: Mutex<HashMap<(FuncId, usize, LaneOrder), Arc<Image>>>,
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        for &address in &self.allocations {
            let _ = self.device.memory.free(address);
        }
        for &sampler in &self.samplers {
            let _ = self.device.destroy_object(sampler);
        }
    }
}

/// An entry of a loaded module.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    module: &'a LoadedModule,
    function: FuncId,
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

impl LoadedModule {
    /// The module as it was checked.
    pub fn module(&self) -> &Checked<Module> {
        &self.module
    }

    /// The same, to be kept.
    pub fn shared_module(&self) -> &Arc<Checked<Module>> {
        &self.module
    }

    /// The entry called `name`.
    pub fn kernel(&self, name: &str) -> Option<Kernel<'_>> {
        let (function, _) = self.module.entries().find(|(_, f)| f.name == name)?;
        Some(Kernel { module: self, function })
    }

    /// The entry with this handle.
    pub fn entry(&self, function: FuncId) -> Option<Kernel<'_>> {
        let known = self.module.functions.get(function.index())?;
        (known.kind == FunctionKind::Entry).then_some(Kernel { module: self, function })
    }

    /// The address and size of a global or constant variable.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let named = |v: &ptx::module::Variable| v.name == name && v.function.is_none();
        let index = self.module.variables.iter().position(named)?;
        Some((self.addresses[index]?, self.module.variables[index].size))
    }

    /// Binds an object to a `.texref`, `.samplerref` or `.surfref` variable: kernels launched from now on see it.
    pub fn bind(&self, name: &str, object: Handle) -> Result<(), TextureError> {
        let named = |v: &ptx::module::Variable| v.name == name && v.ty.kind() == TypeKind::Opaque;
        let index = self.module.variables.iter().position(named);
        let address = index.and_then(|index| Some((self.addresses[index]?, self.module.variables[index].ty)));
        let (address, ty) = address.ok_or_else(|| {
            TextureError::Invalid(format!("no texture, sampler or surface variable `{name}`"))
        })?;
        self.device.objects.check(object, ty)?;
        Ok(self.device.memory.write(address, &object.to_le_bytes())?)
    }

    pub(crate) fn address(&self, variable: VarId) -> Option<u64> {
        self.addresses[variable.index()]
    }

    fn image(&self, kernel: FuncId, warps: usize, order: LaneOrder) -> Result<Arc<Image>, Box<Unsupported>> {
        let mut images = self.images.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(image) = images.get(&(kernel, warps, order)) {
            return Ok(Arc::clone(image));
        }
        let image = decode::image(self, kernel, warps, order, Level::detect());
        let first = |unsupported: Vec<Unsupported>| {
            Box::new(unsupported.into_iter().next().expect("a refusal has a reason"))
        };
        let image = Arc::new(image.map_err(first)?);
        images.insert((kernel, warps, order), Arc::clone(&image));
        Ok(image)
    }
}

impl<'a> Kernel<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        &self.function().name
    }

    /// The function in the module.
    pub fn function(&self) -> &'a ptx::module::Function {
        &self.module.module.functions[self.function.index()]
    }

    /// How its parameters lie in the buffer of [`Launch::params`].
    pub fn parameters(&self) -> Vec<ParameterLayout> {
        parameter_layout(&self.module.module, self.function)
    }

    /// The module that it is in.
    pub fn module(&self) -> &'a LoadedModule {
        self.module
    }

    /// Its handle: see [`LoadedModule::entry`].
    pub fn id(&self) -> FuncId {
        self.function
    }

    /// Every instruction, of it and of what it can call, for which the machine would refuse a launch.
    pub fn unsupported(&self) -> Vec<Unsupported> {
        let order = LaneOrder::ConsecutiveX;
        decode::image(self.module, self.function, 1, order, Level::detect()).err().unwrap_or_default()
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
        decode::layout::Layout::new(&self.module.module, self.function).shared()
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
            let start = decode::layout::place(&mut offset, variable);
            ParameterLayout {
                name: variable.name.clone(),
                ty: variable.ty,
                offset: start,
                size: offset - start,
            }
        })
        .collect()
}

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
    /// Of whom device code asks what the machine does not know. It then decides who watches, too.
    pub system: Option<&'a dyn System>,
}

impl std::fmt::Debug for LaunchOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaunchOptions")
            .field("threads", &self.threads)
            .field("scheduler", &self.scheduler)
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

/// Warps of a pack: packs are of equal size, and as few as possible. The warps of a warpgroup multiply matrices
/// together, so that none may be in another pack.
fn pack_size(module: &LoadedModule, warps: usize) -> usize {
    let size = warps.div_ceil(warps.div_ceil(MAX_WARPS));
    let is_group_product = |opcode: &ptx::isa::Opcode| opcode.mnemonic() == ptx::isa::Mnemonic::Wgmma;
    match size < warps && module.module().opcodes.iter().any(is_group_product) {
        true => size.next_multiple_of(WARPGROUP),
        false => size,
    }
}

impl Device {
    /// All checks that stand before a launch, without running it. What passes them can only be stopped by a fault.
    pub fn check(&self, launch: &Launch<'_>) -> Result<(), LaunchError> {
        check_extents(launch)?;
        self.shape(launch)?;
        let image = Self::image(launch)?;
        self.check_resources(launch, image.static_shared, image.local_bytes(STACK))
    }

    /// The code of a launch, for its packs and its order of lanes.
    fn image(launch: &Launch<'_>) -> Result<Arc<Image>, Box<Unsupported>> {
        let module = launch.kernel.module;
        let threads: u32 = launch.block.iter().product();
        let warps = pack_size(module, threads.div_ceil(LANES as u32) as usize);
        module.image(launch.kernel.function, warps, LaneOrder::of_block(launch.block))
    }

    /// The extents of grid and clusters, as kernel and launch say them together.
    fn shape(&self, launch: &Launch<'_>) -> Result<Shape, LaunchError> {
        use LaunchError::InvalidConfiguration as Invalid;
        let bounds = &launch.kernel.function().bounds;
        let text = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let cluster = match (launch.cluster, bounds.req_nctapercluster) {
            (Some(asked), Some(required)) if asked != required => {
                let (asked, required) = (text(asked), text(required));
                return Err(Invalid(format!(
                    "clusters of {asked}; the kernel requires {required}: .reqnctapercluster"
                )));
            }
            (asked, required) => asked.or(required),
        };
        let Some(cluster) = cluster else {
            return match bounds.explicit_cluster {
                true => {
                    Err(Invalid("the kernel needs the extents of a cluster: .explicitcluster".to_owned()))
                }
                false => Ok(Shape { grid: launch.grid, cluster: None }),
            };
        };
        if !self.profile.has_clusters() {
            return Err(Invalid(format!("clusters; device {} has none", self.profile.name)));
        }
        let size = cluster.iter().try_fold(1u32, |size, &n| size.checked_mul(n)).unwrap_or(u32::MAX);
        let (portable, most) = Profile::MAX_CLUSTER;
        let limit = if launch.nonportable_cluster { most } else { portable };
        if size == 0 || size > limit {
            let hint = match size <= most && size != 0 {
                true => format!("; up to {most} if the launch allows sizes that are not portable"),
                false => String::new(),
            };
            let extents = text(cluster);
            return Err(Invalid(format!("clusters of {extents} CTAs; a cluster has 1 to {limit}{hint}")));
        }
        if let Some(max) = bounds.max_clusterrank.filter(|&max| size > max) {
            return Err(Invalid(format!(
                "clusters of {size} CTAs; the kernel's .maxclusterrank allows {max}"
            )));
        }
        // The grid of a kernel with .blocksareclusters counts clusters.
        let scale = if bounds.blocks_are_clusters { cluster } else { [1; 3] };
        let mut grid = launch.grid;
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            grid[axis] = match grid[axis].checked_mul(scale[axis]) {
                Some(extent) if extent <= Profile::MAX_GRID[axis] => extent,
                _ => return Err(Invalid(format!("grid {name} extent {} clusters is too large", grid[axis]))),
            };
            if !grid[axis].is_multiple_of(cluster[axis]) {
                let (extent, by) = (grid[axis], cluster[axis]);
                return Err(Invalid(format!(
                    "grid {name} extent {extent} is not a multiple of the cluster's {by}"
                )));
            }
        }
        Ok(Shape { grid, cluster: Some(cluster) })
    }

    fn check_resources(
        &self,
        launch: &Launch<'_>,
        static_shared: u32,
        local: u32,
    ) -> Result<(), LaunchError> {
        use LaunchError::{InvalidConfiguration as Invalid, OutOfResources};
        let function = launch.kernel.function();
        let threads: u32 = launch.block.iter().product();
        if let Some(required) = function.bounds.req_ntid
            && required != launch.block
        {
            let [x, y, z] = required;
            return Err(Invalid(format!("the kernel requires blocks of ({x}, {y}, {z}): .reqntid")));
        }
        if let Some(max) = function.bounds.max_ntid {
            let max: u32 = max.iter().product();
            if threads > max {
                return Err(OutOfResources(format!(
                    "a block of {threads} threads; the kernel's .maxntid allows {max}"
                )));
            }
        }
        let shared = u64::from(static_shared) + u64::from(launch.dynamic_shared);
        let limit = self.profile.shared_per_cta_optin;
        if shared > u64::from(limit) {
            return Err(OutOfResources(format!("{shared} bytes of shared memory; a CTA can have {limit}")));
        }
        if local > Profile::MAX_LOCAL {
            let limit = Profile::MAX_LOCAL;
            return Err(OutOfResources(format!("{local} bytes of local memory; a thread can have {limit}")));
        }
        let layout = launch.kernel.parameters();
        let size = layout.last().map_or(0, |p| p.offset + p.size);
        if launch.params.len() != size as usize {
            return Err(Invalid(format!(
                "{} bytes of parameters; kernel {} takes {size}",
                launch.params.len(),
                launch.kernel.name()
            )));
        }
        if size > Profile::MAX_PARAMETERS {
            return Err(OutOfResources(format!("{size} bytes of parameters")));
        }
        Ok(())
    }
}

/// How a launch is divided.
#[derive(Debug)]
struct Shape {
    grid: [u32; 3],
    /// `None` if nobody asked for clusters.
    cluster: Option<[u32; 3]>,
}

/// Checks the extents of grid and block, which are the same on every device.
fn check_extents(launch: &Launch<'_>) -> Result<(), LaunchError> {
    use LaunchError::InvalidConfiguration as Invalid;
    let both = [("grid", launch.grid, Profile::MAX_GRID), ("block", launch.block, Profile::MAX_BLOCK)];
    for (name, extents, limits) in both {
        for ((extent, limit), axis) in extents.into_iter().zip(limits).zip(["x", "y", "z"]) {
            if extent == 0 || extent > limit {
                return Err(Invalid(format!("{name} {axis} extent {extent} is not in 1..={limit}")));
            }
        }
    }
    let threads: u32 = launch.block.iter().product();
    if threads > Profile::MAX_THREADS {
        return Err(Invalid(format!("a block of {threads} threads; the limit is {}", Profile::MAX_THREADS)));
    }
    Ok(())
}

/// Whether a function is an entry, for messages.
pub(crate) fn is_entry(module: &Module, function: FuncId) -> bool {
    module.functions[function.index()].kind == FunctionKind::Entry
}
