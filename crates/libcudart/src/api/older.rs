//! CUDA 12: functions whose parameters or results CUDA 13 changed. In `libcudart.so.12` they stand under their names
//! without `cudart12_`.

use crate::api::device::{chosen, properties12};
use crate::api::general::entry_point;
use crate::api::graph::add_node;
use crate::context::ensure;
use crate::error::Error;
use crate::ffi::define;
use crate::ffi::pointers::{get, put, put_if};
use crate::sys::*;
use crate::sys12;
use driver_api::cu;
use driver_api::sys::CUmemLocation;
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr::{null, null_mut};

/// The version of CUDA 12.9's runtime.
const VERSION: c_int = sys12::CUDART_VERSION as c_int;

/// A place for memory, which CUDA 12 gives as the number of a device or of the host.
fn location(device: c_int) -> CUmemLocation {
    let kind = if device < 0 { cudaMemLocationTypeHost } else { cudaMemLocationTypeDevice };
    CUmemLocation { type_: kind, id: device.max(0) }
}

define! {
    fn cudaGetDeviceProperties_v2(out: *mut sys12::cudaDeviceProp, device: c_int) {
        put(out, properties12(device)?)
    }

    fn cudart12_cudaGetDeviceProperties(_out: *mut c_void, _device: c_int) {
        // The structure of CUDA 11, for which no program of CUDA 12 asks.
        Err(Error::NOT_SUPPORTED)
    }

    fn cudart12_cudaChooseDevice(out: *mut c_int, wanted: *const sys12::cudaDeviceProp) {
        let wanted = get(wanted)?;
        put(out, chosen((wanted.major, wanted.minor), wanted.totalGlobalMem)?)
    }

    fn cudart12_cudaRuntimeGetVersion(version: *mut c_int) {
        put(version, VERSION)
    }

    fn cudart12_cudaGetDriverEntryPoint(
        symbol: *const c_char,
        out: *mut *mut c_void,
        flags: c_ulonglong,
        status: *mut cudaDriverEntryPointQueryResult,
    ) {
        entry_point(symbol, out, VERSION, flags, status)
    }

    fn cudart12_cudaMemAdvise(pointer: *const c_void, bytes: usize, advice: cudaMemoryAdvise, device: c_int) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemAdvise_v2(pointer.raw().expose_provenance() as u64, bytes, advice, location(device)) }?)
    }

    fn cudart12_cudaMemPrefetchAsync(pointer: *const c_void, bytes: usize, device: c_int, on: cudaStream_t) {
        ensure()?;
        let start = pointer.raw().expose_provenance() as u64;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemPrefetchAsync_v2(start, bytes, location(device), 0, on.cast()) }?)
    }

    fn cudart12_cudaGraphAddNode(
        out: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        after: *const cudaGraphNode_t,
        count: usize,
        of: *mut cudaGraphNodeParams,
    ) {
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        unsafe { add_node(out.raw(), graph, (after.raw(), null(), count), of.raw()) }
    }

    fn cudart12_cudaGraphAddDependencies(
        graph: cudaGraph_t,
        from: *const cudaGraphNode_t,
        to: *const cudaGraphNode_t,
        count: usize,
    ) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphAddDependencies_v2(graph.cast(), from.raw().cast(), to.raw().cast(), null(), count) }?)
    }

    fn cudart12_cudaGraphRemoveDependencies(
        graph: cudaGraph_t,
        from: *const cudaGraphNode_t,
        to: *const cudaGraphNode_t,
        count: usize,
    ) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphRemoveDependencies_v2(graph.cast(), from.raw().cast(), to.raw().cast(), null(), count) }?)
    }

    fn cudart12_cudaGraphGetEdges(
        graph: cudaGraph_t,
        from: *mut cudaGraphNode_t,
        to: *mut cudaGraphNode_t,
        count: *mut usize,
    ) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphGetEdges_v2(graph.cast(), from.raw().cast(), to.raw().cast(), null_mut(), count.raw()) }?)
    }

    fn cudart12_cudaGraphNodeGetDependencies(node: cudaGraphNode_t, out: *mut cudaGraphNode_t, count: *mut usize) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphNodeGetDependencies_v2(node.cast(), out.raw().cast(), null_mut(), count.raw()) }?)
    }

    fn cudart12_cudaGraphNodeGetDependentNodes(node: cudaGraphNode_t, out: *mut cudaGraphNode_t, count: *mut usize) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphNodeGetDependentNodes_v2(node.cast(), out.raw().cast(), null_mut(), count.raw()) }?)
    }

    fn cudaStreamGetCaptureInfo_v2(
        on: cudaStream_t,
        status: *mut cudaStreamCaptureStatus,
        id: *mut c_ulonglong,
        graph: *mut cudaGraph_t,
        after: *mut *const cudaGraphNode_t,
        count: *mut usize,
    ) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuStreamGetCaptureInfo_v3(
            on.cast(),
            status.raw(),
            id.raw(),
            graph.raw().cast(),
            after.raw().cast(),
            null_mut(),
            count.raw(),
        ) }?)
    }

    fn cudart12_cudaStreamGetCaptureInfo(
        on: cudaStream_t,
        status: *mut cudaStreamCaptureStatus,
        id: *mut c_ulonglong,
    ) {
        ensure()?;
        let none = null_mut();
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuStreamGetCaptureInfo_v3(on.cast(), status.raw(), id.raw(), none, null_mut(), null_mut(), null_mut()) }?)
    }

    fn cudart12_cudaStreamUpdateCaptureDependencies(
        on: cudaStream_t,
        nodes: *mut cudaGraphNode_t,
        count: usize,
        flags: c_uint,
    ) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuStreamUpdateCaptureDependencies_v2(on.cast(), nodes.raw().cast(), null(), count, flags) }?)
    }

    fn cudart12_cudaMemcpyBatchAsync(
        to: *mut *mut c_void,
        from: *mut *mut c_void,
        bytes: *mut usize,
        count: usize,
        attributes: *mut cudaMemcpyAttributes,
        first: *mut usize,
        kinds: usize,
        failed: *mut usize,
        on: cudaStream_t,
    ) {
        ensure()?;
        // Which copy was wrong is not known.
        put_if(failed, usize::MAX);
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemcpyBatchAsync_v2(
            to.raw().cast(),
            from.raw().cast(),
            bytes.raw(),
            count,
            attributes.raw().cast(),
            first.raw(),
            kinds,
            on.cast(),
        ) }?)
    }

    fn cudart12_cudaMemcpy3DBatchAsync(
        count: usize,
        copies: *mut cudaMemcpy3DBatchOp,
        failed: *mut usize,
        flags: c_ulonglong,
        on: cudaStream_t,
    ) {
        ensure()?;
        put_if(failed, usize::MAX);
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuMemcpy3DBatchAsync_v2(count, copies.raw().cast(), flags, on.cast()) }?)
    }
}
