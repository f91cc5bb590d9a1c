//! What a pointer is.

use crate::ffi::api;
use crate::pointers::{Out, get, put};
use crate::state::{Table, driver};
use crate::sys::*;
use driver::memory::MemoryKind;
use driver::{Context, Error, Id, Result, current};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

/// Memory is mapped in blocks of this size.
const BLOCK: u64 = 2 << 20;

/// What is known of an address.
struct Known {
    kind: MemoryKind,
    start: u64,
    bytes: u64,
    /// Where the memory itself begins, and its size; otherwise it is whole blocks around the range.
    mapping: Option<(u64, u64)>,
    /// Whether it may be used.
    usable: bool,
    id: Id,
    context: Option<Id>,
    device: usize,
    synchronous: bool,
}

/// The allocation, or the variable of a module, that an address lies in.
fn known(address: u64) -> Result<Option<Known>> {
    let driver = driver()?;
    if let Some(known) = driver.allocation_of(address) {
        return Ok(Some(Known {
            kind: known.kind,
            start: known.address,
            bytes: known.bytes,
            mapping: None,
            usable: true,
            id: known.id,
            context: known.context,
            device: known.device,
            synchronous: known.synchronous,
        }));
    }
    if let Ok(mapped) = driver.mapped_at(address) {
        return Ok(Some(Known {
            kind: MemoryKind::Device,
            start: mapped.reserved.0,
            bytes: mapped.reserved.1,
            mapping: Some((mapped.start, mapped.physical.bytes())),
            usable: !mapped.access.is_empty(),
            id: mapped.physical.id(),
            context: None,
            device: mapped.physical.ordinal(),
            synchronous: true,
        }));
    }
    let variable = driver.range_of(address).map(|(device, start, bytes)| {
        let here = current::context().filter(|context| context.device().ordinal() == device);
        let context = here.map(|context| context.id());
        Known {
            kind: MemoryKind::Device,
            start,
            bytes,
            mapping: None,
            usable: true,
            id: Id(start),
            context,
            device,
            synchronous: true,
        }
    });
    Ok(variable)
}

/// Writes an attribute. What is not known to CUDA is an error where one is asked for, and zero in a list.
///
/// # Safety
/// The pointer may be written with a value of the attribute's type.
unsafe fn attribute(out: Out<c_void>, which: CUpointer_attribute, address: u64, lenient: bool) -> Result<()> {
    let known = known(address)?;
    // SAFETY: by contract; each arm writes the type that the manual gives for the attribute.
    unsafe {
        let Some(known) = known else {
            let value = match which {
                CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => put(out.cast::<c_int>(), -2),
                CU_POINTER_ATTRIBUTE_MEMORY_TYPE
                | CU_POINTER_ATTRIBUTE_IS_MANAGED
                | CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
                | CU_POINTER_ATTRIBUTE_MAPPED
                | CU_POINTER_ATTRIBUTE_ACCESS_FLAGS
                | CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
                | CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
                | CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => put(out.cast::<c_uint>(), 0),
                // It is the program's own, at the address that the program gave.
                CU_POINTER_ATTRIBUTE_HOST_POINTER if lenient => put(out.cast::<u64>(), address),
                _ => put(out.cast::<u64>(), 0),
            };
            return if lenient { value } else { Err(Error::InvalidValue) };
        };
        let whole_blocks = || {
            let start = known.start / BLOCK * BLOCK;
            (start, (known.start + known.bytes).next_multiple_of(BLOCK) - start)
        };
        let (mapping, mapped) = known.mapping.unwrap_or_else(whole_blocks);
        let of_pool = !crate::api::pool::pool_of(known.start)?.is_null();
        // Such memory can be handed to other processes as it is.
        let of_context = known.kind == MemoryKind::Device && known.context.is_some() && !of_pool;
        let is_host = matches!(known.kind, MemoryKind::Host | MemoryKind::Registered);
        match which {
            CU_POINTER_ATTRIBUTE_CONTEXT => {
                // Memory of pools is no context's.
                let handle = known.context.filter(|_| !of_pool).map(Table::<Context, CUctx_st>::handle);
                put(out.cast(), handle.unwrap_or(std::ptr::null_mut()))
            }
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE => {
                put(out.cast(), if is_host { CU_MEMORYTYPE_HOST } else { CU_MEMORYTYPE_DEVICE })
            }
            CU_POINTER_ATTRIBUTE_DEVICE_POINTER if known.usable => put(out.cast(), address),
            CU_POINTER_ATTRIBUTE_HOST_POINTER if known.kind != MemoryKind::Device => put(out.cast(), address),
            CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => put(out.cast::<c_uint>(), known.synchronous.into()),
            CU_POINTER_ATTRIBUTE_BUFFER_ID | CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => {
                put(out.cast::<c_ulonglong>(), known.id.0)
            }
            CU_POINTER_ATTRIBUTE_IS_MANAGED => {
                put(out.cast::<c_uint>(), (known.kind == MemoryKind::Managed).into())
            }
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => put(out.cast(), known.device as c_int),
            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => put(out.cast(), known.start),
            CU_POINTER_ATTRIBUTE_RANGE_SIZE => put(out.cast(), known.bytes as usize),
            CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => put(out.cast(), mapping),
            CU_POINTER_ATTRIBUTE_MAPPING_SIZE => put(out.cast(), mapped as usize),
            CU_POINTER_ATTRIBUTE_MAPPED => put(out.cast::<c_uint>(), 1),
            CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => {
                let all = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
                put(out.cast::<c_uint>(), if known.usable { all } else { 0 })
            }
            CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => put(out.cast::<c_uint>(), of_context.into()),
            CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
            | CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => put(out.cast::<c_uint>(), 0),
            CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => put(out.cast::<c_ulonglong>(), 0),
            CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => put(out.cast(), crate::api::pool::pool_of(known.start)?),
            _ if lenient => put(out.cast::<u64>(), 0),
            _ => Err(Error::InvalidValue),
        }
    }
}

api! {
    fn cuPointerGetAttribute(out: *mut c_void, which: CUpointer_attribute, address: CUdeviceptr) {
        // SAFETY: there is room for a value of the attribute's type.
        unsafe { attribute(out, which, address, false) }
    }

    #[order(initialised, given(address))]
    fn cuPointerGetAttributes(
        count: c_uint,
        #[elements(count)] which: *mut CUpointer_attribute,
        #[elements(count)] out: *mut *mut c_void,
        address: CUdeviceptr,
    ) {
        if count == 0 || which.is_null() || out.is_null() {
            return Err(Error::InvalidValue);
        }
        for index in 0..count as usize {
            let (which, out) = (get(which.at(index))?, get(out.at(index))?);
            // SAFETY: there is room for a value of the attribute's type.
            unsafe { attribute(Out::new(out), which, address, true)? };
        }
        Ok(())
    }

    #[order(initialised, no_capture)]
    fn cuPointerSetAttribute(value: *const c_void, which: CUpointer_attribute, address: CUdeviceptr) {
        if which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
            return Err(Error::InvalidValue);
        }
        // SAFETY: it is a number, as the manual says.
        driver()?.set_synchronous(address, get(unsafe { value.cast::<c_uint>() })? != 0)
    }
}
