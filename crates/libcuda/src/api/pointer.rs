//! What a pointer is.

use crate::border::api;
use crate::pointers::{get, put};
use crate::state::{Table, current};
use crate::sys::*;
use driver::memory::{Allocation, MemoryKind};
use driver::{Context, Error, Result};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

/// Writes an attribute. What is not known to CUDA is an error where one is asked for, and zero in a list.
///
/// # Safety
/// The pointer may be written with a value of the attribute's type.
unsafe fn attribute(out: *mut c_void, which: CUpointer_attribute, address: u64, lenient: bool) -> Result<()> {
    let context = current()?;
    let allocation = context.allocation_of(address).or_else(|| {
        let (address, bytes) = context.range_of(address)?;
        Some(Allocation { kind: MemoryKind::Device, address, bytes, flags: 0, id: driver::Id(address) })
    });
    let known = allocation.ok_or(Error::InvalidValue);
    // SAFETY: by contract; each arm writes the type that the manual gives for the attribute.
    unsafe {
        let Ok(allocation) = known else {
            let value = match which {
                CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => return put(out.cast::<c_int>(), -2),
                CU_POINTER_ATTRIBUTE_MEMORY_TYPE
                | CU_POINTER_ATTRIBUTE_IS_MANAGED
                | CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
                | CU_POINTER_ATTRIBUTE_MAPPED => put(out.cast::<c_uint>(), 0),
                CU_POINTER_ATTRIBUTE_HOST_POINTER if lenient => put(out.cast::<u64>(), address),
                _ => put(out.cast::<u64>(), 0),
            };
            return if lenient { value } else { Err(Error::InvalidValue) };
        };
        let is_host = matches!(allocation.kind, MemoryKind::Host | MemoryKind::Registered);
        match which {
            CU_POINTER_ATTRIBUTE_CONTEXT => put(out.cast(), Table::<Context, CUctx_st>::handle(context.id())),
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE => {
                put(out.cast(), if is_host { CU_MEMORYTYPE_HOST } else { CU_MEMORYTYPE_DEVICE })
            }
            CU_POINTER_ATTRIBUTE_DEVICE_POINTER if allocation.kind != MemoryKind::Registered => {
                put(out.cast(), address)
            }
            CU_POINTER_ATTRIBUTE_HOST_POINTER if allocation.kind != MemoryKind::Device => {
                put(out.cast(), address)
            }
            CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => put(out.cast::<c_uint>(), 0),
            CU_POINTER_ATTRIBUTE_BUFFER_ID => put(out.cast::<c_ulonglong>(), allocation.id.0),
            CU_POINTER_ATTRIBUTE_IS_MANAGED => {
                put(out.cast::<c_uint>(), (allocation.kind == MemoryKind::Managed).into())
            }
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => put(out.cast(), context.device().ordinal() as c_int),
            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => put(out.cast(), allocation.address),
            CU_POINTER_ATTRIBUTE_RANGE_SIZE => put(out.cast(), allocation.bytes as usize),
            CU_POINTER_ATTRIBUTE_MAPPED => put(out.cast::<c_uint>(), 1),
            CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
            | CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE => put(out.cast::<c_uint>(), 0),
            CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => put(out.cast::<c_ulonglong>(), 0),
            CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => put(out.cast(), crate::api::pool::pool_of(address)?),
            _ if lenient => put(out.cast::<u64>(), 0),
            _ => Err(Error::InvalidValue),
        }
    }
}

api! {
    fn cuPointerGetAttribute(out: *mut c_void, which: CUpointer_attribute, address: CUdeviceptr) {
        attribute(out, which, address, false)
    }

    fn cuPointerGetAttributes(
        count: c_uint,
        which: *mut CUpointer_attribute,
        out: *mut *mut c_void,
        address: CUdeviceptr,
    ) {
        if which.is_null() || out.is_null() {
            return Err(Error::InvalidValue);
        }
        for index in 0..count as usize {
            attribute(get(out.add(index))?, get(which.add(index))?, address, true)?;
        }
        Ok(())
    }

    fn cuPointerSetAttribute(_value: *const c_void, which: CUpointer_attribute, address: CUdeviceptr) {
        current()?.range_of(address).ok_or(Error::InvalidValue)?;
        // Every operation here is synchronous in the sense of this attribute.
        if which == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS { Ok(()) } else { Err(Error::InvalidValue) }
    }
}
