//! The process's driver, and which handle means what.

use crate::pointers::ProcessMemory;
use crate::sys;
use abi::names::demangled_within;
use driver::array::{Array, Mipmapped};
use driver::current;
use driver::event::Event;
use driver::graph::user_object::UserObject;
use driver::graph::{Exec, Graph, Node};
use driver::library::{Kernel, Library};
use driver::link::Link;
use driver::module::{Function, Module};
use driver::pool::Pool;
use driver::reference::{SurfaceReference, TextureReference};
use driver::settings::{Execution, Settings};
use driver::stream::Stream;
use driver::virtual_memory::Physical;
use driver::{Context, Device, Driver, Error, Id, Result};
use machine::memory::Bounds;
use machine::{Asynchrony, Masks, Profile};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, RwLock};

/// The most devices that a process can ask for.
const MOST_DEVICES: usize = 64;

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// Whether this process was forked off from one that has a driver: it has not, since it has none of the threads.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Notes forks from now on.
fn watch_forks() {
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<unsafe extern "C" fn()>,
            parent: Option<unsafe extern "C" fn()>,
            child: Option<unsafe extern "C" fn()>,
        ) -> std::ffi::c_int;
    }
    unsafe extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    // SAFETY: POSIX declares the function so, and the handler only stores to an atomic. If it cannot be registered, forks
    // go unnoticed.
    let _ = unsafe { pthread_atfork(None, None, Some(in_child)) };
}

/// Lets what is pending when the process ends be done and judged.
fn watch_end() {
    unsafe extern "C" {
        fn atexit(handler: extern "C" fn()) -> std::ffi::c_int;
    }
    extern "C" fn at_exit() {
        if !FORKED.load(Ordering::Relaxed)
            && let Some(driver) = DRIVER.get()
            && std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| driver.finish_checks())).is_ok()
        {
            crate::checks::ended();
        }
    }
    // SAFETY: C declares the function so, and the handler lets no panic out. If it cannot be registered, the end is missed,
    // and whoever reads the reports is told so.
    let _ = unsafe { atexit(at_exit) };
}

/// What `cuInit` does.
pub(crate) fn initialise() -> Result<()> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(Error::NotInitialized);
    }
    if DRIVER.get().is_some() {
        return Ok(());
    }
    let wanted = std::env::var("WARPLOOM_DEVICES").unwrap_or_default();
    let mut profiles = profiles(&wanted).map_err(|why| {
        log::error!("WARPLOOM_DEVICES: {why}");
        Error::NoDevice
    })?;
    let limit = std::env::var("WARPLOOM_MEMORY").ok().filter(|text| !text.trim().is_empty());
    let memory_limit = limit.map(|text| bytes(&text)).transpose().map_err(|why| {
        log::error!("WARPLOOM_MEMORY: {why}");
        Error::NoDevice
    })?;
    if let Ok(visible) = std::env::var("CUDA_VISIBLE_DEVICES") {
        profiles = self::visible(profiles, &visible);
    }
    let names: Vec<&str> = profiles.iter().map(|profile| profile.name).collect();
    if names.is_empty() {
        log::warn!("CUDA_VISIBLE_DEVICES leaves no device");
        return Err(Error::NoDevice);
    }
    log::info!("devices: {}", names.join(", "));
    let execution = match std::env::var("WARPLOOM_STUB").as_deref() {
        Ok("1") => {
            log::warn!("WARPLOOM_STUB: kernels are not executed");
            Execution::Skipped
        }
        _ => Execution::Full,
    };
    // What the sanitizer looks for must not go unnoticed.
    let strict = std::env::var("WARPLOOM_STRICT").is_ok_and(|text| text == "1");
    let (checks, checking) = crate::checks::wanted().unzip();
    let checks = checks.unwrap_or_default();
    let bounds = if strict || checks.memory { Bounds::Exact } else { Bounds::Granules };
    let masks = if strict || checks.sync { Masks::Exact } else { Masks::Converged };
    let asynchrony = asynchrony(checking.is_some());
    let engine = crate::engine::wanted();
    let debugging =
        crate::debug::wanted().or_else(|| crate::modelled::wanted(engine.clone(), asynchrony, masks));
    DRIVER.get_or_init(|| {
        watch_forks();
        if checking.is_some() {
            watch_end();
        }
        let settings = Settings {
            execution,
            memory_limit,
            checking,
            debugging,
            loaded: crate::saved::wanted(),
            bounds,
            masks,
            asynchrony,
            engine,
            attribute: Some(crate::api::device::attribute_for_kernels),
        };
        Driver::with_settings(
            profiles,
            Box::new(ProcessMemory),
            Box::new(|fault| log::error!("{}", demangled_within(&fault.to_string()))),
            settings,
        )
    });
    Ok(())
}

/// `WARPLOOM_ASYNC`: when asynchronous operations are done. The sanitizer watches them where they are issued.
fn asynchrony(checking: bool) -> Asynchrony {
    let wanted = std::env::var("WARPLOOM_ASYNC").ok().filter(|text| !text.trim().is_empty());
    match wanted.map(|text| text.trim().parse()) {
        None => Asynchrony::Eager,
        Some(Err(why)) => {
            log::error!("WARPLOOM_ASYNC: {why}");
            Asynchrony::Eager
        }
        Some(Ok(Asynchrony::Eager)) => Asynchrony::Eager,
        Some(Ok(asynchrony)) if checking => {
            log::error!("WARPLOOM_ASYNC={asynchrony} does not go with WARPLOOM_CHECK; it is eager");
            Asynchrony::Eager
        }
        Some(Ok(asynchrony)) => asynchrony,
    }
}

/// `512M`, `2G`: a number of bytes, of KiB, MiB or GiB.
fn bytes(text: &str) -> std::result::Result<u64, String> {
    let text = text.trim();
    let (number, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let value = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    value.ok_or_else(|| format!("`{text}` is not a number of bytes, such as 512M or 2G"))
}

/// Those of `profiles` that `CUDA_VISIBLE_DEVICES` names, in its order; as with NVIDIA's driver, what is no number of a
/// device ends the list, and so does one that is there already.
fn visible(profiles: Vec<Profile>, numbers: &str) -> Vec<Profile> {
    let mut chosen = Vec::new();
    for number in numbers.split(',') {
        match number.trim().parse::<usize>() {
            Ok(index) if index < profiles.len() && !chosen.contains(&index) => chosen.push(index),
            _ => break,
        }
    }
    chosen.into_iter().map(|index| profiles[index].clone()).collect()
}

/// `h200:4,l40s`: names of profiles, each with a number of devices.
fn profiles(wanted: &str) -> std::result::Result<Vec<Profile>, String> {
    let mut profiles = Vec::new();
    for part in wanted.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, count) = part.split_once(':').unwrap_or((part, "1"));
        let profile = Profile::by_name(name).ok_or_else(|| format!("no device is called `{name}`"))?;
        let count: usize = count.parse().map_err(|_| format!("`{count}` is not a number of devices"))?;
        if profiles.len() + count.min(MOST_DEVICES + 1) > MOST_DEVICES {
            return Err(format!("more than {MOST_DEVICES} devices"));
        }
        profiles.extend(std::iter::repeat_n(profile.clone(), count));
    }
    Ok(if wanted.trim().is_empty() { vec![Profile::default()] } else { profiles })
}

/// The driver, once `cuInit` was called.
pub(crate) fn driver() -> Result<&'static Driver> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(Error::NotInitialized);
    }
    DRIVER.get().ok_or(Error::NotInitialized)
}

/// The device with an ordinal.
pub(crate) fn device(ordinal: i32) -> Result<&'static Arc<Device>> {
    driver()?.device(ordinal)
}

/// The current context, which must be usable.
pub(crate) fn current() -> Result<Arc<Context>> {
    driver()?;
    current::usable_context()
}

/// What handles of one kind mean. `H` is what `cuda.h` lets them point to.
pub(crate) struct Table<T, H> {
    objects: LazyLock<RwLock<HashMap<u64, Arc<T>>>>,
    missing: Error,
    /// Handles that once were there, if they have an error of their own.
    gone: Option<(Error, LazyLock<RwLock<HashSet<u64>>>)>,
    handle: std::marker::PhantomData<fn(H)>,
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

impl<T, H> Table<T, H> {
    const fn new(missing: Error) -> Self {
        Self {
            objects: LazyLock::new(RwLock::default),
            missing,
            gone: None,
            handle: std::marker::PhantomData,
        }
    }

    /// One that remembers what was in it.
    const fn remembering(missing: Error, gone: Error) -> Self {
        let gone = Some((gone, LazyLock::new(RwLock::default as fn() -> _)));
        Self { objects: LazyLock::new(RwLock::default), missing, gone, handle: std::marker::PhantomData }
    }

    /// The handle that stands for an object.
    pub(crate) fn handle(id: Id) -> *mut H {
        std::ptr::without_provenance_mut(id.handle() as usize)
    }

    pub(crate) fn insert(&self, id: Id, object: Arc<T>) -> *mut H {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).insert(id.0, object);
        Self::handle(id)
    }

    pub(crate) fn find(&self, handle: *mut H) -> Option<Arc<T>> {
        let id = Id::of_handle(handle.addr() as u64)?;
        self.objects.read().unwrap_or_else(PoisonError::into_inner).get(&id.0).cloned()
    }

    pub(crate) fn get(&self, handle: *mut H) -> Result<Arc<T>> {
        driver()?;
        self.find(handle).ok_or_else(|| match (&self.gone, Id::of_handle(handle.addr() as u64)) {
            (Some((gone, known)), Some(id)) if read(known).contains(&id.0) => *gone,
            _ => self.missing,
        })
    }

    pub(crate) fn remove(&self, handle: *mut H) -> Result<Arc<T>> {
        let object = self.get(handle)?;
        let id = Id::of_handle(handle.addr() as u64).unwrap_or_default();
        self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(&id.0);
        Ok(object)
    }

    /// Forgets an object that is gone without the program having said so.
    pub(crate) fn forget(&self, id: Id) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(&id.0);
    }

    pub(crate) fn retain(&self, keep: impl Fn(&T) -> bool) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).retain(|&key, object| {
            let stays = keep(object);
            if let (false, Some((_, known))) = (stays, &self.gone) {
                known.write().unwrap_or_else(PoisonError::into_inner).insert(key);
            }
            stays
        });
    }
}

/// A stream and the context it belongs to.
pub(crate) struct OwnedStream {
    pub(crate) context: Arc<Context>,
    pub(crate) stream: Arc<Stream>,
}

/// What `cuLink` works on, and the result that it hands out until the end.
#[derive(Default)]
pub(crate) struct LinkState {
    pub(crate) link: Link,
    pub(crate) device: Option<Arc<Device>>,
    pub(crate) result: Vec<u8>,
    pub(crate) logs: crate::api::jit::Logs,
}

pub(crate) static CONTEXTS: Table<Context, sys::CUctx_st> =
    Table::remembering(Error::InvalidContext, Error::ContextIsDestroyed);
pub(crate) static MODULES: Table<Module, sys::CUmod_st> = Table::new(Error::InvalidHandle);
pub(crate) static FUNCTIONS: Table<Function, sys::CUfunc_st> = Table::new(Error::InvalidHandle);
pub(crate) static LIBRARIES: Table<Library, sys::CUlib_st> = Table::new(Error::InvalidHandle);
pub(crate) static KERNELS: Table<Kernel, sys::CUkern_st> = Table::new(Error::InvalidHandle);
pub(crate) static STREAMS: Table<OwnedStream, sys::CUstream_st> = Table::new(Error::InvalidHandle);
pub(crate) static EVENTS: Table<Event, sys::CUevent_st> = Table::new(Error::InvalidHandle);
pub(crate) static ARRAYS: Table<Array, sys::CUarray_st> = Table::new(Error::InvalidHandle);
pub(crate) static MIPMAPPED: Table<Mipmapped, sys::CUmipmappedArray_st> = Table::new(Error::InvalidHandle);
pub(crate) static TEXTURE_REFERENCES: Table<TextureReference, sys::CUtexref_st> =
    Table::new(Error::InvalidHandle);
pub(crate) static SURFACE_REFERENCES: Table<SurfaceReference, sys::CUsurfref_st> =
    Table::new(Error::InvalidHandle);
pub(crate) static LINKS: Table<Mutex<LinkState>, sys::CUlinkState_st> = Table::new(Error::InvalidHandle);
pub(crate) static GRAPHS: Table<Graph, sys::CUgraph_st> = Table::new(Error::InvalidValue);
pub(crate) static NODES: Table<Node, sys::CUgraphNode_st> = Table::new(Error::InvalidValue);
pub(crate) static EXECS: Table<Exec, sys::CUgraphExec_st> = Table::new(Error::InvalidValue);
pub(crate) static OBJECTS: Table<UserObject, sys::CUuserObject_st> = Table::new(Error::InvalidValue);
pub(crate) static POOLS: Table<Pool, sys::CUmemPoolHandle_st> = Table::new(Error::InvalidValue);
pub(crate) static PHYSICAL: Table<Physical, std::ffi::c_void> = Table::new(Error::InvalidValue);

/// Forgets what belonged to a context that is gone.
pub(crate) fn forget(context: &Context) {
    let of_context = |module: &Module| module.context().is_ok_and(|owner| owner.id() == context.id());
    FUNCTIONS.retain(|function| !of_context(function.module()));
    MODULES.retain(|module| !of_context(module));
    ARRAYS.retain(|array| array.context() != context.id());
    MIPMAPPED.retain(|array| array.context() != context.id());
    STREAMS.retain(|owned| owned.context.id() != context.id());
    CONTEXTS.retain(|other| other.id() != context.id());
}

thread_local! {
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Runs a call in which the null stream means this thread's default stream, if so said.
pub(crate) fn with_default_stream(per_thread: bool, call: impl FnOnce() -> u32) -> u32 {
    let before = PER_THREAD.replace(per_thread);
    let result = call();
    PER_THREAD.set(before);
    result
}

/// The handle of the legacy default stream.
const LEGACY: usize = 1;
/// The handle of the thread's default stream.
const OF_THREAD: usize = 2;

/// Whether a handle means the legacy default stream.
pub(crate) fn is_legacy(handle: sys::CUstream) -> bool {
    handle.addr() == LEGACY || (handle.is_null() && !PER_THREAD.get())
}

/// The stream that a handle means, and its context.
pub(crate) fn stream(handle: sys::CUstream) -> Result<(Arc<Context>, Arc<Stream>)> {
    match handle.addr() {
        0 | LEGACY | OF_THREAD => {
            let context = current()?;
            let legacy = is_legacy(handle);
            let stream = if legacy { context.legacy_stream() } else { context.per_thread_stream()? };
            Ok((context, stream))
        }
        _ => {
            let owned = STREAMS.get(handle)?;
            Ok((Arc::clone(&owned.context), Arc::clone(&owned.stream)))
        }
    }
}

/// The function that a handle means: a function, or a kernel in a context.
pub(crate) fn function(handle: sys::CUfunction, context: Option<&Arc<Context>>) -> Result<Arc<Function>> {
    if let Some(function) = FUNCTIONS.find(handle) {
        return Ok(function);
    }
    let kernel = KERNELS.get(handle.cast())?;
    match context {
        Some(context) => kernel.function(context),
        None => kernel.function(&current()?),
    }
}
