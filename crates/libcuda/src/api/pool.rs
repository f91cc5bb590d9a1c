//! Memory pools, and allocations in a stream's order.

use crate::api::virtual_memory::POSIX_FILE;
use crate::ffi::api;
use crate::pointers::{In, element, get, put};
use crate::state::{POOLS, Table, device, driver, stream};
use crate::sys::*;
use driver::pool::{Home, Pool, Sharing};
use driver::{Error, Result};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The handle of a pool.
pub(crate) fn handle(pool: &Arc<Pool>) -> CUmemoryPool {
    POOLS.insert(pool.id(), Arc::clone(pool))
}

/// Whose memory pools of a kind and place have.
fn home(place: &CUmemLocation, kind: CUmemAllocationType) -> Result<Home> {
    match (kind, place.type_) {
        (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE) => {
            Ok(Home::Device(device(place.id)?.ordinal()))
        }
        (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST) => Ok(Home::Host(None)),
        (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST_NUMA) => Ok(Home::Host(Some(place.id))),
        (CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_LOCATION_TYPE_INVALID) => Ok(Home::Managed(None)),
        (CU_MEM_ALLOCATION_TYPE_MANAGED, _) => {
            let best = crate::api::managed::location(*place).map_err(|_| Error::InvalidValue)?;
            Ok(Home::Managed(Some(best)))
        }
        _ => Err(Error::InvalidValue),
    }
}

/// The same where a default is asked for.
fn default_home(place: In<CUmemLocation>, kind: CUmemAllocationType) -> Result<Home> {
    let place = get(place)?;
    if place.type_ == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT {
        return Err(Error::NotSupported);
    }
    home(&place, kind)
}

/// Where a device's pool is. Functions that ask so say of a wrong device that it is a wrong value.
fn of_device(dev: CUdevice) -> Result<Home> {
    driver()?;
    device(dev).map(|device| Home::Device(device.ordinal())).map_err(|_| Error::InvalidValue)
}

api! {
    fn cuMemAllocAsync(out: *mut CUdeviceptr, bytes: usize, on: CUstream) {
        if out.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, stream) = stream(on)?;
        put(out, context.allocate_async(None, bytes as u64, &stream)?)
    }

    fn cuMemAllocFromPoolAsync(out: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, on: CUstream) {
        if out.is_null() {
            return Err(Error::InvalidValue);
        }
        let (context, stream) = stream(on)?;
        put(out, context.allocate_async(Some(&POOLS.get(pool)?), bytes as u64, &stream)?)
    }

    fn cuMemFreeAsync(address: CUdeviceptr, on: CUstream) {
        let (context, stream) = stream(on)?;
        if address == 0 {
            return context.usable();
        }
        context.free_async(address, &stream)
    }

    fn cuDeviceGetDefaultMemPool(out: *mut CUmemoryPool, dev: CUdevice) {
        put(out, handle(&driver()?.default_pool(Home::Device(device(dev)?.ordinal()))?))
    }

    fn cuDeviceGetMemPool(out: *mut CUmemoryPool, dev: CUdevice) {
        put(out, handle(&driver()?.current_pool(of_device(dev)?)?))
    }

    #[order(initialised, given(pool), no_capture)]
    fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool) {
        driver()?.set_current_pool(of_device(dev)?, &POOLS.get(pool)?)
    }

    fn cuMemGetDefaultMemPool(out: *mut CUmemoryPool, place: *mut CUmemLocation, kind: CUmemAllocationType) {
        put(out, handle(&driver()?.default_pool(default_home(place.input(), kind)?)?))
    }

    fn cuMemGetMemPool(out: *mut CUmemoryPool, place: *mut CUmemLocation, kind: CUmemAllocationType) {
        put(out, handle(&driver()?.current_pool(default_home(place.input(), kind)?)?))
    }

    #[order(initialised, given(place), given(pool), no_capture)]
    fn cuMemSetMemPool(place: *mut CUmemLocation, kind: CUmemAllocationType, pool: CUmemoryPool) {
        driver()?.set_current_pool(default_home(place.input(), kind)?, &POOLS.get(pool)?)
    }

    #[order(initialised, given(out), given(props), no_capture)]
    fn cuMemPoolCreate(out: *mut CUmemoryPool, props: *const CUmemPoolProps) {
        let props = get(props)?;
        if out.is_null() {
            return Err(Error::InvalidValue);
        }
        let home = home(&props.location, props.allocType)?;
        let sharing = match props.handleTypes {
            0 => Sharing::Private,
            POSIX_FILE if !matches!(home, Home::Managed(_)) => Sharing::Exported,
            _ => return Err(Error::NotSupported),
        };
        put(out, handle(&driver()?.create_pool(home, sharing, props.maxSize as u64)?))
    }

    #[order(initialised, given(pool), no_capture)]
    fn cuMemPoolDestroy(pool: CUmemoryPool) {
        let found = POOLS.get(pool)?;
        driver()?.forget_pool(&found)?;
        POOLS.forget(found.id());
        Ok(())
    }

    #[order(initialised, given(pool), no_capture)]
    fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) {
        POOLS.get(pool)?.trim(keep as u64);
        Ok(())
    }

    #[order(initialised, given(pool), given(value), no_capture)]
    fn cuMemPoolGetAttribute(pool: CUmemoryPool, which: CUmemPool_attribute, value: *mut c_void) {
        let statistics = POOLS.get(pool)?.statistics()?;
        // SAFETY: each is used for attributes of which the manual says this type.
        let (flags, numbers) = unsafe { (value.cast::<c_int>(), value.cast::<cuuint64_t>()) };
        let flag = |set: bool| put(flags, set.into());
        let bytes = |bytes: u64| put(numbers, bytes);
        match which {
            CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => flag(statistics.follow_events),
            CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => flag(statistics.opportunistic),
            CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => flag(statistics.internal_dependencies),
            CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => bytes(statistics.release_threshold),
            CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => bytes(statistics.reserved),
            CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => bytes(statistics.reserved_high),
            CU_MEMPOOL_ATTR_USED_MEM_CURRENT => bytes(statistics.used),
            CU_MEMPOOL_ATTR_USED_MEM_HIGH => bytes(statistics.used_high),
            _ => Err(Error::InvalidValue),
        }
    }

    #[order(initialised, given(pool), no_capture)]
    fn cuMemPoolSetAttribute(pool: CUmemoryPool, which: CUmemPool_attribute, value: *mut c_void) {
        let pool = POOLS.get(pool)?;
        // SAFETY: each is used for attributes of which the manual says this type.
        let (flags, numbers) = unsafe { (value.cast::<c_int>(), value.cast::<cuuint64_t>()) };
        let flag = || get(flags).map(|value| value != 0);
        let bytes = || get(numbers);
        // The highest values can only be set to what there is now.
        let zero = || bytes().and_then(|bytes| if bytes == 0 { Ok(()) } else { Err(Error::InvalidValue) });
        match which {
            CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => {
                let set = flag()?;
                pool.configure(|s| s.follow_events = set)?;
            }
            CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => {
                let set = flag()?;
                pool.configure(|s| s.opportunistic = set)?;
            }
            CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
                let set = flag()?;
                pool.configure(|s| s.internal_dependencies = set)?;
            }
            CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => {
                let keep = bytes()?;
                pool.configure(|s| s.release_threshold = keep)?;
            }
            CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => {
                zero()?;
                pool.configure(|s| s.reserved_high = s.reserved)?;
            }
            CU_MEMPOOL_ATTR_USED_MEM_HIGH => {
                zero()?;
                pool.configure(|s| s.used_high = s.used)?;
            }
            _ => return Err(Error::InvalidValue),
        }
        Ok(())
    }

    #[order(initialised, given(pool), given(places), no_capture)]
    fn cuMemPoolSetAccess(pool: CUmemoryPool, #[elements(count)] places: *const CUmemAccessDesc, count: usize) {
        let pool = POOLS.get(pool)?;
        for index in 0..count {
            let place = element(places, index)?;
            let usable = match place.flags {
                CU_MEM_ACCESS_FLAGS_PROT_NONE => false,
                CU_MEM_ACCESS_FLAGS_PROT_READWRITE => true,
                CU_MEM_ACCESS_FLAGS_PROT_READ => return Err(Error::NotSupported),
                _ => return Err(Error::InvalidValue),
            };
            match (place.location.type_, pool.home()) {
                (CU_MEM_LOCATION_TYPE_DEVICE, _) => {
                    pool.set_access(driver()?, device(place.location.id)?, usable)?;
                }
                // The program always has page-locked and managed memory, and never a device's.
                (CU_MEM_LOCATION_TYPE_HOST | CU_MEM_LOCATION_TYPE_HOST_NUMA, Home::Device(_)) => {
                    return Err(Error::NotSupported);
                }
                (CU_MEM_LOCATION_TYPE_HOST | CU_MEM_LOCATION_TYPE_HOST_NUMA, _) => {}
                _ => return Err(Error::NotSupported),
            }
        }
        Ok(())
    }

    #[order(initialised, given(flags), given(pool), given(place), no_capture)]
    fn cuMemPoolGetAccess(flags: *mut CUmemAccess_flags, pool: CUmemoryPool, place: *mut CUmemLocation) {
        let pool = POOLS.get(pool)?;
        let place = get(place)?;
        let usable = match place.type_ {
            CU_MEM_LOCATION_TYPE_DEVICE => pool.accessible(device(place.id)?.ordinal()),
            CU_MEM_LOCATION_TYPE_HOST | CU_MEM_LOCATION_TYPE_HOST_NUMA => matches!(pool.home(), Home::Host(_)),
            _ => return Err(Error::InvalidValue),
        };
        put(flags, if usable { CU_MEM_ACCESS_FLAGS_PROT_READWRITE } else { CU_MEM_ACCESS_FLAGS_PROT_NONE })
    }
}

/// The handle of the pool that an allocation is from; null if it is from none.
pub(crate) fn pool_of(address: u64) -> Result<CUmemoryPool> {
    let pool = driver()?.pool_of(address);
    Ok(pool.map_or(std::ptr::null_mut(), |pool| Table::<Pool, CUmemPoolHandle_st>::handle(pool.id())))
}
