//! What a pointer is.

use crate::border::api;
use crate::border::pointers::put;
use crate::context::ensure;
use crate::error::Error;
use crate::sys::*;
use client::{cu, sys};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

api! {
    fn cudaPointerGetAttributes(out: *mut cudaPointerAttributes, pointer: *const c_void) {
        if out.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        ensure()?;
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
        let address = pointer.expose_provenance() as u64;
        cu::cuPointerGetAttributes(which.len() as c_uint, which.as_mut_ptr(), places.as_mut_ptr(), address)?;
        let kind = match kind {
            _ if managed != 0 => cudaMemoryTypeManaged,
            sys::CU_MEMORYTYPE_HOST => cudaMemoryTypeHost,
            sys::CU_MEMORYTYPE_DEVICE => cudaMemoryTypeDevice,
            _ => cudaMemoryTypeUnregistered,
        };
        if kind == cudaMemoryTypeUnregistered {
            (on_device, on_host) = (null_mut(), pointer.cast_mut());
        }
        // The structure of CUDA 12 ends after these four, that of CUDA 13 has room for more.
        put(&raw mut (*out).type_, kind)?;
        put(&raw mut (*out).device, device)?;
        put(&raw mut (*out).devicePointer, on_device)?;
        put(&raw mut (*out).hostPointer, on_host)
    }
}
