//! What a pointer is.

use crate::context::some;
use crate::error::Error;
use crate::ffi::api;
use crate::ffi::pointers::{Out, put};
use crate::sys::*;
use driver_api::{cu, sys};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

api! {
    fn cudaPointerGetAttributes(out: *mut cudaPointerAttributes, pointer: *const c_void) {
        if out.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        some()?;
        let (mut kind, mut managed): (c_uint, c_uint) = (0, 0);
        let mut device: c_int = 0;
        let (mut on_device, mut on_host): (*mut c_void, *mut c_void) = (null_mut(), null_mut());
        let mut which = [
            sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            sys::CU_POINTER_ATTRIBUTE_IS_MANAGED,
            sys::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            sys::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
            sys::CU_POINTER_ATTRIBUTE_HOST_POINTER,
        ];
        let mut places: [*mut c_void; 5] = [
            (&raw mut kind).cast(),
            (&raw mut managed).cast(),
            (&raw mut device).cast(),
            (&raw mut on_device).cast(),
            (&raw mut on_host).cast(),
        ];
        let address = pointer.raw().expose_provenance() as u64;
        // Nothing lies at no address.
        if address != 0 {
            // SAFETY: the places are this function's own, one for each attribute.
            unsafe { cu::cuPointerGetAttributes(which.len() as c_uint, which.as_mut_ptr(), places.as_mut_ptr(), address) }?;
        }
        let kind = match kind {
            _ if managed != 0 => cudaMemoryTypeManaged,
            sys::CU_MEMORYTYPE_HOST => cudaMemoryTypeHost,
            sys::CU_MEMORYTYPE_DEVICE => cudaMemoryTypeDevice,
            _ => cudaMemoryTypeUnregistered,
        };
        if kind == cudaMemoryTypeUnregistered {
            (on_device, on_host) = (null_mut(), pointer.raw().cast_mut());
        }
        // The structure of CUDA 12 ends after these four, that of CUDA 13 has room for more.
        let out = out.raw();
        // SAFETY: these four are there.
        let (kind_at, device_at, on_device_at, on_host_at) = unsafe {
            (
                Out::new(&raw mut (*out).type_),
                Out::new(&raw mut (*out).device),
                Out::new(&raw mut (*out).devicePointer),
                Out::new(&raw mut (*out).hostPointer),
            )
        };
        put(kind_at, kind)?;
        put(device_at, device)?;
        put(on_device_at, on_device)?;
        put(on_host_at, on_host)
    }
}
