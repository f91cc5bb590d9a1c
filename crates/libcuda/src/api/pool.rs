//! Memory pools, and allocations in a stream's order.

use crate::api::module::element;
use crate::border::api;
use crate::pointers::{get, put};
use crate::state::{POOLS, Table, current, device, stream};
use crate::sys::*;
use driver::pool::Pool;
use driver::{Device, Error, Result};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The handle of a pool.
pub(crate) fn handle(pool: &Arc<Pool>) -> CUmemoryPool {
    POOLS.insert(pool.id(), Arc::clone(pool))
}

/// The device that a place is; other places have no pools here.
fn located(location: &CUmemLocation) -> Result<&'static Arc<Device>> {
    match location.type_ {
        CU_MEM_LOCATION_TYPE_DEVICE => device(location.id),
        CU_MEM_LOCATION_TYPE_HOST
        | CU_MEM_LOCATION_TYPE_HOST_NUMA
        | CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

fn located_pinned(location: *const CUmemLocation, kind: CUmemAllocationType) -> Result<&'static Arc<Device>> {
    match kind {
        // SAFETY: the caller has passed a pointer that is null or points to a place.
        CU_MEM_ALLOCATION_TYPE_PINNED => located(&unsafe { get(location)? }),
        CU_MEM_ALLOCATION_TYPE_MANAGED => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
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
        put(out, handle(&device(dev)?.default_pool()?))
    }

    fn cuDeviceGetMemPool(out: *mut CUmemoryPool, dev: CUdevice) {
        put(out, handle(&device(dev)?.current_pool()?))
    }

    fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool) {
        device(dev)?.set_current_pool(&POOLS.get(pool)?)
    }

    fn cuMemGetDefaultMemPool(out: *mut CUmemoryPool, place: *mut CUmemLocation, kind: CUmemAllocationType) {
        put(out, handle(&located_pinned(place, kind)?.default_pool()?))
    }

    fn cuMemGetMemPool(out: *mut CUmemoryPool, place: *mut CUmemLocation, kind: CUmemAllocationType) {
        put(out, handle(&located_pinned(place, kind)?.current_pool()?))
    }

    fn cuMemSetMemPool(place: *mut CUmemLocation, kind: CUmemAllocationType, pool: CUmemoryPool) {
        located_pinned(place, kind)?.set_current_pool(&POOLS.get(pool)?)
    }

    fn cuMemPoolCreate(out: *mut CUmemoryPool, props: *const CUmemPoolProps) {
        let props = get(props)?;
        if props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || out.is_null() {
            return Err(Error::InvalidValue);
        }
        // Pools that other processes share are not supported.
        if props.handleTypes.0 != 0 {
            return Err(Error::NotSupported);
        }
        put(out, handle(&located(&props.location)?.create_pool(props.maxSize as u64)?))
    }

    fn cuMemPoolDestroy(pool: CUmemoryPool) {
        let found = POOLS.get(pool)?;
        device(found.ordinal() as c_int)?.forget_pool(&found)?;
        POOLS.forget(found.id());
        Ok(())
    }

    fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) {
        POOLS.get(pool)?.trim(keep as u64);
        Ok(())
    }

    fn cuMemPoolGetAttribute(pool: CUmemoryPool, which: CUmemPool_attribute, value: *mut c_void) {
        let statistics = POOLS.get(pool)?.statistics();
        let flag = |set: bool| put(value.cast::<c_int>(), set.into());
        let bytes = |bytes: u64| put(value.cast::<cuuint64_t>(), bytes);
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

    fn cuMemPoolSetAttribute(pool: CUmemoryPool, which: CUmemPool_attribute, value: *mut c_void) {
        let pool = POOLS.get(pool)?;
        let flag = || get(value.cast::<c_int>()).map(|value| value != 0);
        let bytes = || get(value.cast::<cuuint64_t>());
        // The highest values can only be set to what there is now.
        let zero = || bytes().and_then(|bytes| if bytes == 0 { Ok(()) } else { Err(Error::InvalidValue) });
        match which {
            CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => {
                let set = flag()?;
                pool.configure(|s| s.follow_events = set);
            }
            CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => {
                let set = flag()?;
                pool.configure(|s| s.opportunistic = set);
            }
            CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
                let set = flag()?;
                pool.configure(|s| s.internal_dependencies = set);
            }
            CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => {
                let keep = bytes()?;
                pool.configure(|s| s.release_threshold = keep);
            }
            CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => {
                zero()?;
                pool.configure(|s| s.reserved_high = s.reserved);
            }
            CU_MEMPOOL_ATTR_USED_MEM_HIGH => {
                zero()?;
                pool.configure(|s| s.used_high = s.used);
            }
            _ => return Err(Error::InvalidValue),
        }
        Ok(())
    }

    fn cuMemPoolSetAccess(pool: CUmemoryPool, places: *const CUmemAccessDesc, count: usize) {
        let pool = POOLS.get(pool)?;
        let owner = device(pool.ordinal() as c_int)?;
        for index in 0..count {
            let place = element(places, index)?;
            let other = located(&place.location)?;
            let usable = match place.flags {
                CU_MEM_ACCESS_FLAGS_PROT_NONE => false,
                CU_MEM_ACCESS_FLAGS_PROT_READWRITE => true,
                _ => return Err(Error::InvalidValue),
            };
            match other.can_access(owner) {
                true => pool.set_access(other, owner, usable)?,
                false if usable => {}
                // A device cannot be kept from its own memory.
                false => return Err(Error::InvalidValue),
            }
        }
        Ok(())
    }

    fn cuMemPoolGetAccess(flags: *mut CUmemAccess_flags, pool: CUmemoryPool, place: *mut CUmemLocation) {
        let pool = POOLS.get(pool)?;
        let usable = pool.accessible(located(&get(place)?)?.ordinal());
        put(flags, if usable { CU_MEM_ACCESS_FLAGS_PROT_READWRITE } else { CU_MEM_ACCESS_FLAGS_PROT_NONE })
    }
}

/// The handle of the pool that an allocation is from; null if it is from none.
pub(crate) fn pool_of(address: u64) -> Result<CUmemoryPool> {
    let pool = current()?.pool_of(address);
    Ok(pool.map_or(std::ptr::null_mut(), |pool| Table::<Pool, CUmemPoolHandle_st>::handle(pool.id())))
}
