//! What a program registers before `main` begins: fat binaries, and which of the program's addresses stand for which
//! kernels and variables in them.
//!
//! nvcc puts a wrapper around each fat binary and writes code that registers it, then every kernel under the address of
//! a function of the host, and every variable under the address of its shadow. Nothing is loaded then: a program may
//! never use the device. A fat binary becomes a library of the driver's when something in it is first needed, in
//! whatever context is current, and the driver loads it into other contexts when they use it.

use crate::context;
use crate::error::{Error, Result};
use crate::ffi::pointers::{Out, put};
use crate::image;
use driver_api::cu;
use driver_api::sys::{CUkernel, CUlibrary};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

/// A registered fat binary.
#[derive(Debug)]
pub(crate) struct Binary {
    /// The address of its wrapper.
    wrapper: usize,
    /// The driver's library, as the number of its handle; or why there is none.
    library: Mutex<Option<Result<usize>>>,
    managed: Mutex<Vec<Managed>>,
}

/// A kernel or a variable.
#[derive(Debug)]
struct Symbol {
    binary: Arc<Binary>,
    name: CString,
    /// The driver's kernel, as the number of its handle; zero until it is asked for.
    kernel: AtomicUsize,
}

/// A managed variable: the program has a pointer to it, at an address that it registers.
#[derive(Debug)]
struct Managed {
    pointer: usize,
    name: CString,
}

#[derive(Debug, Default)]
struct Registry {
    binaries: HashMap<usize, Arc<Binary>>,
    kernels: HashMap<usize, Arc<Symbol>>,
    variables: HashMap<usize, Arc<Symbol>>,
}

static REGISTRY: LazyLock<RwLock<Registry>> = LazyLock::new(RwLock::default);

fn with<T>(work: impl FnOnce(&mut Registry) -> T) -> T {
    work(&mut REGISTRY.write().unwrap_or_else(PoisonError::into_inner))
}

/// Registers a fat binary by the address of its wrapper; its handle.
pub(crate) fn add(wrapper: *const c_void) -> usize {
    let binary =
        Binary { wrapper: wrapper.expose_provenance(), library: Mutex::default(), managed: Mutex::default() };
    let binary = Arc::new(binary);
    let handle = Arc::as_ptr(&binary).addr();
    with(|registry| registry.binaries.insert(handle, binary));
    handle
}

/// Forgets a fat binary and what is in it. The driver keeps its code: at the end of a program kernels may still run.
pub(crate) fn remove(handle: usize) {
    with(|registry| {
        if let Some(gone) = registry.binaries.remove(&handle) {
            registry.kernels.retain(|_, symbol| !Arc::ptr_eq(&symbol.binary, &gone));
            registry.variables.retain(|_, symbol| !Arc::ptr_eq(&symbol.binary, &gone));
        }
    });
}

/// Which of the registered addresses an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Kernel,
    Variable,
}

/// Registers the address that stands for a kernel or a variable.
///
/// # Safety
/// The name is null or a string that ends.
pub(crate) unsafe fn name(
    handle: usize,
    kind: Kind,
    address: *const c_void,
    name: *const c_char,
) -> Result<()> {
    // SAFETY: by contract.
    let name = unsafe { owned(name)? };
    with(|registry| {
        let binary = Arc::clone(registry.binaries.get(&handle).ok_or(Error::INVALID_VALUE)?);
        let symbol = Arc::new(Symbol { binary, name, kernel: AtomicUsize::new(0) });
        let table = if kind == Kind::Kernel { &mut registry.kernels } else { &mut registry.variables };
        table.insert(address.addr(), symbol);
        Ok(())
    })
}

/// Registers a managed variable and where the program has the pointer to it.
///
/// # Safety
/// The name is null or a string that ends; the pointer's place may be written from now on.
pub(crate) unsafe fn manage(handle: usize, pointer: *mut *mut c_void, name: *const c_char) -> Result<()> {
    // SAFETY: by contract.
    let name = unsafe { owned(name)? };
    with(|registry| {
        let binary = registry.binaries.get(&handle).ok_or(Error::INVALID_VALUE)?;
        let mut managed = binary.managed.lock().unwrap_or_else(PoisonError::into_inner);
        managed.push(Managed { pointer: pointer.expose_provenance(), name });
        Ok(())
    })
}

/// # Safety
/// The name is null or a string that ends.
unsafe fn owned(name: *const c_char) -> Result<CString> {
    if name.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: by contract.
    Ok(unsafe { CStr::from_ptr(name) }.to_owned())
}

fn find(kind: Kind, address: *const c_void) -> Option<Arc<Symbol>> {
    let registry = REGISTRY.read().unwrap_or_else(PoisonError::into_inner);
    let table = if kind == Kind::Kernel { &registry.kernels } else { &registry.variables };
    table.get(&address.addr()).cloned()
}

/// The kernel that the address of a function stands for. What is not registered may be a kernel of the driver's itself.
pub(crate) fn kernel(address: *const c_void) -> Result<CUkernel> {
    let Some(symbol) = find(Kind::Kernel, address) else {
        let handle: CUkernel = address.cast_mut().cast();
        let mut name = null();
        // SAFETY: a place for a pointer; the driver looks handles up.
        return match unsafe { cu::cuKernelGetName(&raw mut name, handle) } {
            Ok(()) if !handle.is_null() => Ok(handle),
            _ => Err(Error::INVALID_FUNCTION),
        };
    };
    let known = symbol.kernel.load(Ordering::Relaxed);
    if known != 0 {
        return Ok(std::ptr::without_provenance_mut(known));
    }
    let library = symbol.binary.library()?;
    let mut kernel = null_mut();
    // SAFETY: a place for a handle, and a string that ends.
    unsafe { cu::cuLibraryGetKernel(&raw mut kernel, library, symbol.name.as_ptr()) }.map_err(|error| {
        if error.0 == Error::NOT_FOUND.0 { Error::INVALID_FUNCTION } else { error.into() }
    })?;
    symbol.kernel.store(kernel.addr(), Ordering::Relaxed);
    Ok(kernel)
}

/// Where the variable that an address stands for is in the current context, and its bytes.
pub(crate) fn variable(address: *const c_void) -> Result<(u64, usize)> {
    context::ensure()?;
    let symbol = find(Kind::Variable, address).ok_or(Error::INVALID_SYMBOL)?;
    global(symbol.binary.library()?, &symbol.name).map_err(|error| match error {
        Error::NOT_FOUND => Error::INVALID_SYMBOL,
        error => error,
    })
}

fn global(library: CUlibrary, name: &CStr) -> Result<(u64, usize)> {
    let (mut start, mut bytes) = (0, 0);
    // SAFETY: places for an address and a number, and a string that ends.
    unsafe { cu::cuLibraryGetGlobal(&raw mut start, &raw mut bytes, library, name.as_ptr())? };
    Ok((start, bytes))
}

/// Loads a fat binary and tells the program where its managed variables are.
pub(crate) fn initialise(handle: usize) -> Result<()> {
    let binary = with(|registry| registry.binaries.get(&handle).cloned()).ok_or(Error::INVALID_VALUE)?;
    context::ensure()?;
    let library = binary.library()?;
    for variable in binary.managed.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let (start, _) = global(library, &variable.name)?;
        let place = std::ptr::with_exposed_provenance_mut::<*mut c_void>(variable.pointer);
        // SAFETY: by the contract of `manage`.
        put(unsafe { Out::new(place) }, std::ptr::with_exposed_provenance_mut(start as usize))?;
    }
    Ok(())
}

impl Binary {
    /// The driver's library, loaded by whoever comes first.
    fn library(&self) -> Result<CUlibrary> {
        context::ensure()?;
        let mut library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = library.get_or_insert_with(|| self.load());
        (*loaded).map(std::ptr::without_provenance_mut)
    }

    fn load(&self) -> Result<usize> {
        // SAFETY: it is the address of a wrapper of the program's, which stays.
        let loaded = unsafe { image::load(std::ptr::with_exposed_provenance(self.wrapper)) };
        loaded.map(|library| library.addr()).map_err(|failure| {
            ffi::log::info!("device code cannot be loaded: {}: {}", failure.error, failure.log);
            failure.error
        })
    }
}
