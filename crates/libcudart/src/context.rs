//! Each host thread's device, and the context that it means.
//!
//! A thread that has no current context gets the primary context of its device when it first needs one. A context that
//! the program made current through the driver API is used as it is. The runtime keeps every primary context that it has
//! taken until the device is reset.

use crate::error::{Error, Result};
use crate::ffi::pointers::{In, get};
use driver_api::cu;
use driver_api::sys::{CUDA_ERROR_CONTEXT_IS_DESTROYED, CUcontext, CUdevice};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The contexts of the process.
#[derive(Default)]
struct Primaries {
    /// The context that the runtime holds of each device, as the number of its handle.
    held: HashMap<CUdevice, usize>,
    /// Those of devices that were reset since.
    gone: Vec<usize>,
}

static PRIMARIES: Mutex<Option<Primaries>> = Mutex::new(None);
/// Counts resets: a thread that has seen all of them need not look for its context among those that are gone.
static RESETS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The device that this thread has chosen.
    static CHOSEN: Cell<CUdevice> = const { Cell::new(0) };
    /// How many resets this thread has seen.
    static SEEN: Cell<u64> = const { Cell::new(0) };
}

fn primaries() -> MutexGuard<'static, Option<Primaries>> {
    PRIMARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The current context's handle; null if there is none that can be used.
fn current() -> Result<CUcontext> {
    driver_api::initialise()?;
    let mut context = null_mut();
    // SAFETY: a place for a handle.
    unsafe { cu::cuCtxGetCurrent(&raw mut context)? };
    let resets = RESETS.load(Ordering::Acquire);
    if SEEN.get() != resets {
        if primaries().as_ref().is_some_and(|known| known.gone.contains(&context.addr())) {
            return Ok(null_mut());
        }
        SEEN.set(resets);
    }
    Ok(context)
}

/// Makes sure that there is a current context; whether it can be used is the driver's to say.
pub(crate) fn some() -> Result<()> {
    if current()?.is_null() { bind(CHOSEN.get()) } else { Ok(()) }
}

/// Makes sure that there is a current context, which the program has not destroyed.
pub(crate) fn ensure() -> Result<()> {
    let context = current()?;
    if context.is_null() {
        return bind(CHOSEN.get());
    }
    let mut id = 0;
    // SAFETY: a place for a number.
    match unsafe { cu::cuCtxGetId(context, &raw mut id) } {
        Err(driver_api::Error(CUDA_ERROR_CONTEXT_IS_DESTROYED)) => Err(Error::UNINITIALIZED),
        _ => Ok(()),
    }
}

/// The context of a device that the runtime holds, taken if need be.
pub(crate) fn primary(device: CUdevice) -> Result<CUcontext> {
    let mut primaries = primaries();
    let known = primaries.get_or_insert_default();
    if let Some(&context) = known.held.get(&device) {
        return Ok(std::ptr::without_provenance_mut(context));
    }
    let mut context = null_mut();
    // SAFETY: a place for a handle.
    unsafe { cu::cuDevicePrimaryCtxRetain(&raw mut context, device)? };
    known.held.insert(device, context.addr());
    known.gone.retain(|&gone| gone != context.addr());
    Ok(context)
}

fn bind(device: CUdevice) -> Result<()> {
    let context = primary(device)?;
    // SAFETY: a handle of the driver's.
    unsafe { cu::cuCtxSetCurrent(context) }.map_err(Error::from)
}

/// How many devices there are.
pub(crate) fn count() -> Result<c_int> {
    driver_api::initialise()?;
    let mut count = 0;
    // SAFETY: a place for a number.
    unsafe { cu::cuDeviceGetCount(&raw mut count)? };
    Ok(count)
}

/// Checks that there is a device with this number.
pub(crate) fn device_exists(device: c_int) -> Result<()> {
    if (0..count()?).contains(&device) { Ok(()) } else { Err(Error::INVALID_DEVICE) }
}

/// This thread's device: that of its context, or the chosen one.
pub(crate) fn device() -> Result<CUdevice> {
    if current()?.is_null() {
        return Ok(CHOSEN.get());
    }
    let mut device = 0;
    // SAFETY: a place for a number.
    unsafe { cu::cuCtxGetDevice(&raw mut device)? };
    Ok(device)
}

/// Chooses a device for this thread, whose context becomes current.
pub(crate) fn choose(device: c_int) -> Result<()> {
    device_exists(device)?;
    bind(device)?;
    CHOSEN.set(device);
    Ok(())
}

/// Chooses the first of these devices for this thread, without making a context.
///
/// # Safety
/// The list has `count` elements.
pub(crate) unsafe fn prefer(devices: *const c_int, count: usize) -> Result<()> {
    // SAFETY: by contract.
    let all = (0..count).map(|index| unsafe { get(In::new(devices.wrapping_add(index))) });
    let all: Vec<c_int> = all.collect::<Result<_>>()?;
    all.iter().try_for_each(|&device| device_exists(device))?;
    if let Some(&first) = all.first() {
        CHOSEN.set(first);
    }
    Ok(())
}

/// Destroys the context of this thread's device.
pub(crate) fn reset() -> Result<()> {
    let device = device()?;
    let mut primaries = primaries();
    let known = primaries.get_or_insert_default();
    if let Some(context) = known.held.remove(&device) {
        known.gone.push(context);
        RESETS.fetch_add(1, Ordering::Release);
    }
    drop(primaries);
    // SAFETY: no pointers; the context that is current belongs to the device and is about to go.
    unsafe {
        cu::cuDevicePrimaryCtxReset_v2(device)?;
        cu::cuCtxSetCurrent(null_mut())?;
    }
    Ok(())
}
