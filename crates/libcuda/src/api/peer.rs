//! Devices that use one another's memory, and copies between them.

use crate::api::transfer::{copy, copy_peer, request_peer};
use crate::ffi::api;
use crate::pointers::{In, get, put};
use crate::state::{CONTEXTS, current, device};
use crate::sys::*;
use driver::{Error, Result};
use std::ffi::{c_int, c_uint};

/// The contexts that a copy between devices names must be there; null is the current one.
fn known(contexts: [CUcontext; 2]) -> Result<()> {
    let named = contexts.into_iter().filter(|context| !context.is_null());
    named.into_iter().try_for_each(|context| CONTEXTS.get(context)?.usable())
}

fn copy_3d_peer(descriptor: In<CUDA_MEMCPY3D_PEER>, on: CUstream, wait: bool) -> Result<()> {
    let stated = get(descriptor)?;
    // Of nothing, the ends are not looked at.
    if [stated.WidthInBytes, stated.Height, stated.Depth].contains(&0) {
        return Ok(());
    }
    copy(request_peer(&stated)?, on, wait)
}

api! {
    fn cuDeviceCanAccessPeer(can: *mut c_int, one: CUdevice, other: CUdevice) {
        put(can, device(one)?.can_access(&**device(other)?).into())
    }

    #[order(initialised, given(value))]
    fn cuDeviceGetP2PAttribute(value: *mut c_int, which: CUdevice_P2PAttribute, one: CUdevice, other: CUdevice) {
        if !device(one)?.can_access(&**device(other)?) {
            return Err(Error::InvalidDevice);
        }
        let known = match which {
            CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED | CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED => 1,
            CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
            | CU_DEVICE_P2P_ATTRIBUTE_ACCESS_ACCESS_SUPPORTED
            | CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED => 0,
            _ => return Err(Error::InvalidValue),
        };
        put(value, known)
    }

    #[order(initialised, context)]
    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        current()?.enable_peer(&*CONTEXTS.get(peer)?)
    }

    #[order(initialised, context, no_capture)]
    fn cuCtxDisablePeerAccess(peer: CUcontext) {
        current()?.disable_peer(&*CONTEXTS.get(peer)?)
    }

    #[order(initialised, needed(to, bytes), needed(from, bytes), context)]
    fn cuMemcpyPeer(to: CUdeviceptr, there: CUcontext, from: CUdeviceptr, here: CUcontext, bytes: usize) {
        known([there, here])?;
        copy_peer(to, from, bytes, std::ptr::null_mut(), true)
    }

    #[order(initialised, needed(to, bytes), needed(from, bytes), usable, uncaptured(on))]
    fn cuMemcpyPeerAsync(
        to: CUdeviceptr,
        there: CUcontext,
        from: CUdeviceptr,
        here: CUcontext,
        bytes: usize,
        on: CUstream,
    ) {
        known([there, here])?;
        copy_peer(to, from, bytes, on, false)
    }

    #[order(initialised, context)]
    fn cuMemcpy3DPeer(descriptor: *const CUDA_MEMCPY3D_PEER) {
        copy_3d_peer(descriptor, std::ptr::null_mut(), true)
    }

    #[order(initialised, usable, uncaptured(on))]
    fn cuMemcpy3DPeerAsync(descriptor: *const CUDA_MEMCPY3D_PEER, on: CUstream) {
        copy_3d_peer(descriptor, on, false)
    }
}
