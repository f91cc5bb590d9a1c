//! Loaded modules: variables that have addresses, and the code of kernels, which is kept.

use super::device::Device;
use super::inlined::Inlined;
use super::kernel::Kernel;
use crate::build::layout::is_entry;
use crate::build::{self, Unsupported};
use crate::compiled::{Engine, EngineId, State, Unit};
use crate::exec::code_address;
use crate::image::{Image, Origin, Purpose};
use crate::lanes::simd::Level;
use crate::memory::MemoryError;
use crate::texture::object::SamplerDescriptor;
use crate::texture::table::{Handle, TextureError};
use ir::LaneOrder;
use ptx::module::{Checked, FuncId, Module, Symbol};
use ptx::types::{Arch, ArchVariant, ScalarType, StateSpace, TypeKind};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

impl Device {
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
                let address = self.memory().allocate(variable.size)?;
                placed.addresses.push(address);
                addresses[index] = Some(address);
            }
        }
        let mut samplers = Vec::new();
        for (index, variable) in module.variables.iter().enumerate() {
            let Some(address) = addresses[index] else { continue };
            self.memory().write(address, &initial_bytes(variable, &addresses))?;
            if variable.ty == ScalarType::SamplerRef {
                let sampler = self.create_sampler(SamplerDescriptor::of_fields(&variable.fields));
                samplers.push(sampler);
                self.memory().write(address, &sampler.to_le_bytes())?;
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
            inlined: OnceLock::new(),
            addresses: addresses.into(),
            allocations: addresses_owned,
            images: Mutex::new(HashMap::new()),
            units: Mutex::new(HashMap::new()),
        })
    }

    fn accepts(&self, module: &Module) -> Result<(), LoadError> {
        let Arch { sm, variant } = module.arch;
        let runs = match variant {
            ArchVariant::Base => sm <= self.profile().sm,
            ArchVariant::Family => sm <= self.profile().sm && sm / 10 == self.profile().sm / 10,
            ArchVariant::Specific => sm == self.profile().sm && self.profile().arch_specific,
        };
        if !runs {
            return Err(LoadError::Target { target: module.arch, device: self.profile().name });
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
            let _ = self.device.memory().free(address);
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

/// The code of kernels, by warps of a pack, order of lanes, and what it is for.
type Images = HashMap<(FuncId, usize, LaneOrder, Purpose), Arc<Image>>;

/// Kernels in blocks of some shape, for each engine.
type Units = HashMap<(EngineId, FuncId, [u32; 3]), Arc<Unit>>;

/// A module whose variables have addresses.
#[derive(Debug)]
pub struct LoadedModule {
    pub(super) device: Arc<Device>,
    pub(super) module: Arc<Checked<Module>>,
    inlined: OnceLock<Arc<Inlined>>,
    pub(super) addresses: Arc<[Option<u64>]>,
    pub(super) allocations: Vec<u64>,
    /// Addresses of the opaque variables, ascending, and their types.
    pub(super) opaque: Vec<(u64, ScalarType)>,
    /// Where the constant variables are.
    pub(super) constants: Vec<Range<u64>>,
    /// Samplers that variables were initialised with.
    pub(super) samplers: Vec<Handle>,
    pub(super) images: Mutex<Images>,
    /// What engines make of kernels in blocks of some shape.
    units: Mutex<Units>,
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        for &address in &self.allocations {
            let _ = self.device.memory().free(address);
        }
        for &sampler in &self.samplers {
            let _ = self.device.destroy_object(sampler);
        }
    }
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

    fn inlined(&self) -> &Arc<Inlined> {
        self.inlined.get_or_init(|| Arc::new(Inlined::new(&self.module)))
    }

    /// The module whose code is executed for a purpose.
    pub(super) fn executed(&self, purpose: Purpose) -> &Module {
        if purpose.calls { &self.module } else { self.inlined() }
    }

    /// Where the instruction was written that an image has an operation of.
    pub(super) fn written(&self, image: &Image, origin: Origin) -> (FuncId, u32) {
        let Origin { function, instruction } = origin;
        let body = match image.purpose.calls {
            true => None,
            false => self.inlined().functions[function.index()].body.as_ref(),
        };
        let moved = body.and_then(|body| body.instructions.get(instruction as usize));
        moved
            .and_then(|moved| ir::inline::written(&self.module, moved.span))
            .unwrap_or((function, instruction))
    }

    /// The entry called `name`.
    pub fn kernel(&self, name: &str) -> Option<Kernel<'_>> {
        let (function, _) = self.module.entries().find(|(_, f)| f.name == name)?;
        Some(Kernel { module: self, function })
    }

    /// The entry with this handle.
    pub fn entry(&self, function: FuncId) -> Option<Kernel<'_>> {
        let is_known = function.index() < self.module.functions.len();
        (is_known && is_entry(&self.module, function)).then_some(Kernel { module: self, function })
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
        self.device.objects().check(object, ty)?;
        Ok(self.device.memory().write(address, &object.to_le_bytes())?)
    }

    /// A kernel in blocks of this shape, for an engine.
    pub(super) fn unit(&self, engine: &dyn Engine, kernel: FuncId, block: [u32; 3]) -> Arc<Unit> {
        let mut units = self.units.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let unit = || {
            Arc::new(Unit {
                module: Arc::clone(self.inlined()),
                addresses: Arc::clone(&self.addresses),
                kernel,
                block,
                shared_start: self.device.profile().shared_start(),
                state: State::default(),
            })
        };
        Arc::clone(units.entry((engine.id(), kernel, block)).or_insert_with(unit))
    }

    /// A kernel's code for packs of so many warps and a purpose.
    pub(super) fn image(
        &self,
        kernel: FuncId,
        warps: usize,
        order: LaneOrder,
        purpose: Purpose,
    ) -> Result<Arc<Image>, Box<Unsupported>> {
        let mut images = self.images.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(image) = images.get(&(kernel, warps, order, purpose)) {
            return Ok(Arc::clone(image));
        }
        let build = |module: &Module, purpose: Purpose| {
            build::image(module, &self.addresses, kernel, warps, order, Level::detect(), purpose)
        };
        // Why there is none is told of the code as it was written.
        let image = build(self.executed(purpose), purpose)
            .or_else(|_| build(&self.module, Purpose { calls: true, ..purpose }));
        let first = |unsupported: Vec<Unsupported>| {
            Box::new(unsupported.into_iter().next().expect("a refusal has a reason"))
        };
        let image = Arc::new(image.map_err(first)?);
        images.insert((kernel, warps, order, purpose), Arc::clone(&image));
        Ok(image)
    }
}
