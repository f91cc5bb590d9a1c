//! Virtual memory management.

use crate::ffi::api;
use crate::pointers::{In, Out, element, get, put};
use crate::state::{PHYSICAL, Table, current, driver};
use crate::sys::*;
use driver::virtual_memory::{GRANULARITY, Physical};
use driver::{Error, Result};
use std::ffi::{c_int, c_ulonglong, c_void};
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

/// The only form in which memory and pools go to other processes: a file descriptor.
pub(crate) const POSIX_FILE: u32 = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// A file that the program hands over, as its own descriptor in the place of a pointer.
///
/// # Safety
/// The program has it open, and keeps it so during the call.
pub(crate) unsafe fn handed(descriptor: Out<c_void>) -> Result<OwnedFd> {
    let number = descriptor.addr() as c_int;
    if number < 0 {
        return Err(Error::Unknown);
    }
    // SAFETY: by contract.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    file.try_clone_to_owned().map_err(|_| Error::Unknown)
}

/// What a handle of memory is a number for.
fn physical(handle: CUmemGenericAllocationHandle) -> Result<Arc<Physical>> {
    PHYSICAL.get(std::ptr::without_provenance_mut(handle as usize))
}

fn handle(physical: &Arc<Physical>) -> CUmemGenericAllocationHandle {
    PHYSICAL.insert(physical.id(), Arc::clone(physical)).addr() as CUmemGenericAllocationHandle
}

/// The device that memory is asked for on, and whether it may go to other processes.
fn wanted(props: In<CUmemAllocationProp>) -> Result<(c_int, bool)> {
    let props = get(props)?;
    if props.type_ != CU_MEM_ALLOCATION_TYPE_PINNED || props.allocFlags.compressionType != 0 {
        return Err(Error::InvalidValue);
    }
    match props.location.type_ {
        CU_MEM_LOCATION_TYPE_DEVICE => {}
        CU_MEM_LOCATION_TYPE_HOST
        | CU_MEM_LOCATION_TYPE_HOST_NUMA
        | CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => {
            return Err(Error::NotSupported);
        }
        _ => return Err(Error::InvalidValue),
    }
    match props.requestedHandleTypes {
        0 => Ok((props.location.id, false)),
        POSIX_FILE => Ok((props.location.id, true)),
        _ => Err(Error::NotSupported),
    }
}

api! {
    fn cuMemGetAllocationGranularity(
        out: *mut usize,
        props: *const CUmemAllocationProp,
        which: CUmemAllocationGranularity_flags,
    ) {
        if which > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED {
            return Err(Error::InvalidValue);
        }
        crate::state::device(wanted(props)?.0)?;
        put(out, GRANULARITY as usize)
    }

    // A wish for a certain address is one that CUDA need not grant.
    #[order(initialised)]
    fn cuMemAddressReserve(
        out: *mut CUdeviceptr,
        bytes: usize,
        align: usize,
        wish: CUdeviceptr,
        flags: c_ulonglong,
    ) {
        if flags != 0 || out.is_null() || !wish.is_multiple_of(GRANULARITY) {
            return Err(Error::InvalidValue);
        }
        put(out, driver()?.reserve_addresses(bytes as u64, align as u64)?)
    }

    fn cuMemAddressFree(address: CUdeviceptr, bytes: usize) {
        driver()?.free_addresses(address, bytes as u64)
    }

    fn cuMemCreate(
        out: *mut CUmemGenericAllocationHandle,
        bytes: usize,
        props: *const CUmemAllocationProp,
        flags: c_ulonglong,
    ) {
        if flags != 0 || out.is_null() {
            return Err(Error::InvalidValue);
        }
        let (device, exportable) = wanted(props)?;
        put(out, handle(&driver()?.create_physical(device, bytes as u64, exportable)?))
    }

    fn cuMemRelease(memory: CUmemGenericAllocationHandle) {
        let found = physical(memory)?;
        if found.release() {
            PHYSICAL.forget(found.id());
        }
        Ok(())
    }

    fn cuMemRetainAllocationHandle(out: *mut CUmemGenericAllocationHandle, address: *mut c_void) {
        let found = driver()?.mapped_at(address.addr() as u64)?.physical;
        if PHYSICAL.find(Table::<Physical, c_void>::handle(found.id())).is_some() {
            found.retain();
            return put(out, Table::<Physical, c_void>::handle(found.id()).addr() as u64);
        }
        found.revive();
        put(out, handle(&found))
    }

    fn cuMemMap(
        address: CUdeviceptr,
        bytes: usize,
        offset: usize,
        memory: CUmemGenericAllocationHandle,
        flags: c_ulonglong,
    ) {
        if offset != 0 || flags != 0 {
            return Err(Error::InvalidValue);
        }
        driver()?.map(address, bytes as u64, &physical(memory)?)
    }

    fn cuMemUnmap(address: CUdeviceptr, bytes: usize) {
        driver()?.unmap(address, bytes as u64)
    }

    #[order(initialised, given(address), given(places))]
    fn cuMemSetAccess(address: CUdeviceptr, bytes: usize, #[elements(count)] places: *const CUmemAccessDesc, count: usize) {
        if bytes == 0 || count == 0 {
            return Err(Error::InvalidValue);
        }
        for index in 0..count {
            let place = element(places, index)?;
            match place.location.type_ {
                CU_MEM_LOCATION_TYPE_DEVICE => {}
                CU_MEM_LOCATION_TYPE_INVALID => return Err(Error::InvalidValue),
                _ => return Err(Error::NotSupported),
            }
            let usable = match place.flags {
                CU_MEM_ACCESS_FLAGS_PROT_NONE => false,
                CU_MEM_ACCESS_FLAGS_PROT_READWRITE => true,
                CU_MEM_ACCESS_FLAGS_PROT_READ => return Err(Error::NotSupported),
                _ => return Err(Error::InvalidValue),
            };
            driver()?.set_access(address, bytes as u64, place.location.id, usable)?;
        }
        Ok(())
    }

    #[order(initialised, given(flags), given(place), given(address))]
    fn cuMemGetAccess(flags: *mut c_ulonglong, place: *const CUmemLocation, address: CUdeviceptr) {
        let place = get(place)?;
        if place.type_ != CU_MEM_LOCATION_TYPE_DEVICE {
            return Err(Error::NotSupported);
        }
        let ordinal = crate::state::device(place.id)?.ordinal();
        let usable = match driver()?.mapped_at(address) {
            Ok(mapped) => mapped.access.contains(&ordinal),
            // An allocation is its device's.
            Err(error) => driver()?.allocation_of(address).ok_or(error)?.device == ordinal,
        };
        let shown = if usable { CU_MEM_ACCESS_FLAGS_PROT_READWRITE } else { CU_MEM_ACCESS_FLAGS_PROT_NONE };
        put(flags, shown.into())
    }

    fn cuMemGetAllocationPropertiesFromHandle(
        out: *mut CUmemAllocationProp,
        memory: CUmemGenericAllocationHandle,
    ) {
        let found = physical(memory)?;
        let location = CUmemLocation { type_: CU_MEM_LOCATION_TYPE_DEVICE, id: found.ordinal() as c_int };
        let types = if found.exportable() { POSIX_FILE } else { 0 };
        put(out, CUmemAllocationProp {
            type_: CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: types,
            location,
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
                compressionType: 0,
                gpuDirectRDMACapable: 0,
                usage: 0,
                reserved: [0; 4],
            },
        })
    }

    #[order(initialised)]
    fn cuMemExportToShareableHandle(
        out: *mut c_void,
        memory: CUmemGenericAllocationHandle,
        kind: CUmemAllocationHandleType,
        flags: c_ulonglong,
    ) {
        if kind != POSIX_FILE || flags != 0 || out.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: for a file it is a descriptor.
        put(unsafe { out.cast::<c_int>() }, physical(memory)?.export()?.into_raw_fd())
    }

    #[order(initialised, given(out), given(shared))]
    fn cuMemImportFromShareableHandle(
        out: *mut CUmemGenericAllocationHandle,
        shared: *mut c_void,
        kind: CUmemAllocationHandleType,
    ) {
        if kind != POSIX_FILE || out.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the program has it open.
        let file = unsafe { handed(shared)? };
        put(out, handle(&driver()?.import_physical(current()?.device().ordinal(), file)?))
    }
}
