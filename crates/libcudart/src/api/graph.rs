//! Nodes of graphs whose parameters are not the driver's: kernels, copies, fills. All other functions of graphs are the
//! driver's own.

use crate::api::execution::function;
use crate::api::transfer::{described, description, rows};
use crate::context::ensure;
use crate::error::{Error, Result};
use crate::ffi::api;
use crate::ffi::pointers::{In, get, put};
use crate::ffi::same;
use crate::registry::variable;
use crate::sys::*;
use driver_api::cu;
use driver_api::sys::{
    self, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUgraphNodeParams,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The current context, which copies and fills are to run in.
fn current() -> Result<CUcontext> {
    ensure()?;
    let mut context = null_mut();
    // SAFETY: a place for a handle.
    unsafe { cu::cuCtxGetCurrent(&raw mut context)? };
    Ok(context)
}

fn kernel_node(of: In<cudaKernelNodeParams>) -> Result<CUDA_KERNEL_NODE_PARAMS> {
    let of = get(of)?;
    Ok(CUDA_KERNEL_NODE_PARAMS {
        func: function(of.func)?,
        gridDimX: of.gridDim.x,
        gridDimY: of.gridDim.y,
        gridDimZ: of.gridDim.z,
        blockDimX: of.blockDim.x,
        blockDimY: of.blockDim.y,
        blockDimZ: of.blockDim.z,
        sharedMemBytes: of.sharedMemBytes,
        kernelParams: of.kernelParams,
        extra: of.extra,
        kern: null_mut(),
        ctx: null_mut(),
    })
}

fn memset_node(of: In<cudaMemsetParams>) -> Result<CUDA_MEMSET_NODE_PARAMS> {
    let of = get(of)?;
    Ok(CUDA_MEMSET_NODE_PARAMS {
        dst: of.dst.expose_provenance() as u64,
        pitch: of.pitch,
        value: of.value,
        elementSize: of.elementSize,
        width: of.width,
        height: of.height,
    })
}

/// A node of any kind, as the driver has it. Kinds that are not named have the same parameters in both APIs.
///
/// # Safety
/// As [`get`]; the kind says which member of the union is meant.
unsafe fn node(of: In<cudaGraphNodeParams>) -> Result<CUgraphNodeParams> {
    // SAFETY: by contract.
    unsafe {
        let of = get(of)?;
        let mut out: CUgraphNodeParams = same(of);
        let into = &mut out.__bindgen_anon_1;
        match of.type_ {
            cudaGraphNodeTypeKernel => {
                let of = of.__bindgen_anon_1.kernel;
                let of = cudaKernelNodeParams {
                    func: of.func,
                    gridDim: of.gridDim,
                    blockDim: of.blockDim,
                    sharedMemBytes: of.sharedMemBytes,
                    kernelParams: of.kernelParams,
                    extra: of.extra,
                };
                into.kernel = same(kernel_node(In::new(&raw const of))?);
            }
            cudaGraphNodeTypeMemcpy => {
                let of = of.__bindgen_anon_1.memcpy;
                into.memcpy.flags = of.flags;
                into.memcpy.copyCtx = current()?;
                into.memcpy.copyParams = described(In::new(&raw const of.copyParams))?;
            }
            cudaGraphNodeTypeMemset => into.memset.ctx = current()?,
            cudaGraphNodeTypeConditional => into.conditional.ctx = current()?,
            _ => {}
        }
        Ok(out)
    }
}

/// Adds a node of any kind, and tells the program what came of it: memory, graphs of its own.
///
/// # Safety
/// As [`node`]; the lists have `count` elements, but for the second, which may be null.
pub(crate) unsafe fn add_node(
    out: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    (after, edges, count): (*const cudaGraphNode_t, *const cudaGraphEdgeData, usize),
    of: *mut cudaGraphNodeParams,
) -> Result<()> {
    ensure()?;
    // SAFETY: by contract.
    unsafe {
        let mut what = node(In::new(of))?;
        cu::cuGraphAddNode_v2(out.cast(), graph.cast(), after.cast(), edges.cast(), count, &raw mut what)?;
        let (into, from) = (&mut (*of).__bindgen_anon_1, &what.__bindgen_anon_1);
        match (*of).type_ {
            cudaGraphNodeTypeMemAlloc => into.alloc.dptr = same(from.alloc.dptr),
            cudaGraphNodeTypeConditional => {
                into.conditional.phGraph_out = from.conditional.phGraph_out.cast()
            }
            _ => {}
        }
    }
    Ok(())
}

/// A copy of bytes in a row.
fn row(to: *mut c_void, from: *const c_void, bytes: usize, kind: cudaMemcpyKind) -> Result<CUDA_MEMCPY3D> {
    if bytes == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let ((to, _), (from, _)) = (rows(to, bytes), rows(from, bytes));
    description((to, [0; 3]), (from, [0; 3]), [bytes, 1, 1], kind)
}

/// Part of a variable.
fn part(symbol: *const c_void, offset: usize, bytes: usize) -> Result<*mut c_void> {
    let (start, size) = variable(symbol)?;
    if offset.checked_add(bytes).is_none_or(|end| end > size) {
        return Err(Error::INVALID_VALUE);
    }
    Ok(std::ptr::with_exposed_provenance_mut(start as usize + offset))
}

/// The runtime's structure for a copy that the driver describes.
fn shown(of: &CUDA_MEMCPY3D) -> cudaMemcpy3DParms {
    let side = |kind: u32, host: *const c_void, device: u64| match kind {
        sys::CU_MEMORYTYPE_HOST => host.cast_mut(),
        _ => std::ptr::with_exposed_provenance_mut(device as usize),
    };
    let rows =
        |start, pitch, height| cudaPitchedPtr { ptr: start, pitch, xsize: of.WidthInBytes, ysize: height };
    cudaMemcpy3DParms {
        srcArray: of.srcArray.cast(),
        srcPos: cudaPos { x: of.srcXInBytes, y: of.srcY, z: of.srcZ },
        srcPtr: rows(side(of.srcMemoryType, of.srcHost, of.srcDevice), of.srcPitch, of.srcHeight),
        dstArray: of.dstArray.cast(),
        dstPos: cudaPos { x: of.dstXInBytes, y: of.dstY, z: of.dstZ },
        dstPtr: rows(side(of.dstMemoryType, of.dstHost, of.dstDevice), of.dstPitch, of.dstHeight),
        extent: cudaExtent { width: of.WidthInBytes, height: of.Height, depth: of.Depth },
        kind: match (of.dstMemoryType, of.srcMemoryType) {
            (sys::CU_MEMORYTYPE_HOST, sys::CU_MEMORYTYPE_HOST) => cudaMemcpyHostToHost,
            (sys::CU_MEMORYTYPE_HOST, _) => cudaMemcpyDeviceToHost,
            (_, sys::CU_MEMORYTYPE_HOST) => cudaMemcpyHostToDevice,
            (sys::CU_MEMORYTYPE_UNIFIED, _) | (_, sys::CU_MEMORYTYPE_UNIFIED) => cudaMemcpyDefault,
            _ => cudaMemcpyDeviceToDevice,
        },
    }
}

/// Adds a copy to a graph.
///
/// # Safety
/// The list has `count` elements; the first pointer is null or may be written.
unsafe fn add_copy(
    out: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    (after, count): (*const cudaGraphNode_t, usize),
    what: &CUDA_MEMCPY3D,
) -> Result<()> {
    let context = current()?;
    // SAFETY: by contract.
    unsafe { cu::cuGraphAddMemcpyNode(out.cast(), graph.cast(), after.cast(), count, what, context) }
        .map_err(Error::from)
}

fn set_copy(node: cudaGraphNode_t, what: &CUDA_MEMCPY3D) -> Result<()> {
    // SAFETY: the description is there; the driver looks the node up.
    unsafe { cu::cuGraphMemcpyNodeSetParams(node.cast(), what) }.map_err(Error::from)
}

fn set_copy_in(executable: cudaGraphExec_t, node: cudaGraphNode_t, what: &CUDA_MEMCPY3D) -> Result<()> {
    let context = current()?;
    // SAFETY: the description is there; the driver looks the handles up.
    unsafe { cu::cuGraphExecMemcpyNodeSetParams(executable.cast(), node.cast(), what, context) }
        .map_err(Error::from)
}

api! {
    fn cudaGraphAddNode(
        out: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        after: *const cudaGraphNode_t,
        edges: *const cudaGraphEdgeData,
        count: usize,
        of: *mut cudaGraphNodeParams,
    ) {
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        unsafe { add_node(out.raw(), graph, (after.raw(), edges.raw(), count), of.raw()) }
    }

    fn cudaGraphNodeSetParams(which: cudaGraphNode_t, of: *mut cudaGraphNodeParams) {
        ensure()?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        let mut what = unsafe { node(of.input()) }?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphNodeSetParams(which.cast(), &raw mut what) }?)
    }

    fn cudaGraphExecNodeSetParams(
        executable: cudaGraphExec_t,
        which: cudaGraphNode_t,
        of: *mut cudaGraphNodeParams,
    ) {
        ensure()?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        let mut what = unsafe { node(of.input()) }?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphExecNodeSetParams(executable.cast(), which.cast(), &raw mut what) }?)
    }

    fn cudaGraphAddKernelNode(
        out: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        after: *const cudaGraphNode_t,
        count: usize,
        of: *const cudaKernelNodeParams,
    ) {
        let what = kernel_node(of)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphAddKernelNode_v2(out.raw().cast(), graph.cast(), after.raw().cast(), count, &raw const what) }?)
    }

    fn cudaGraphKernelNodeGetParams(node: cudaGraphNode_t, out: *mut cudaKernelNodeParams) {
        ensure()?;
        // SAFETY: the structure is of numbers and addresses.
        // SAFETY: it is plain data, for which zeroes are values.
        let mut found: CUDA_KERNEL_NODE_PARAMS = unsafe { std::mem::zeroed() };
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        unsafe { cu::cuGraphKernelNodeGetParams_v2(node.cast(), &raw mut found) }?;
        put(
            out,
            cudaKernelNodeParams {
                func: if found.func.is_null() { found.kern.cast() } else { found.func.cast() },
                gridDim: dim3 { x: found.gridDimX, y: found.gridDimY, z: found.gridDimZ },
                blockDim: dim3 { x: found.blockDimX, y: found.blockDimY, z: found.blockDimZ },
                sharedMemBytes: found.sharedMemBytes,
                kernelParams: found.kernelParams,
                extra: found.extra,
            },
        )
    }

    fn cudaGraphKernelNodeSetParams(node: cudaGraphNode_t, of: *const cudaKernelNodeParams) {
        let what = kernel_node(of)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphKernelNodeSetParams_v2(node.cast(), &raw const what) }?)
    }

    fn cudaGraphExecKernelNodeSetParams(
        executable: cudaGraphExec_t,
        node: cudaGraphNode_t,
        of: *const cudaKernelNodeParams,
    ) {
        let what = kernel_node(of)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphExecKernelNodeSetParams_v2(executable.cast(), node.cast(), &raw const what) }?)
    }

    fn cudaGraphAddMemsetNode(
        out: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        after: *const cudaGraphNode_t,
        count: usize,
        of: *const cudaMemsetParams,
    ) {
        let (context, what) = (current()?, memset_node(of)?);
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphAddMemsetNode(out.raw().cast(), graph.cast(), after.raw().cast(), count, &raw const what, context) }?)
    }

    fn cudaGraphMemsetNodeGetParams(node: cudaGraphNode_t, out: *mut cudaMemsetParams) {
        ensure()?;
        // SAFETY: the structure is of numbers.
        // SAFETY: it is plain data, for which zeroes are values.
        let mut found: CUDA_MEMSET_NODE_PARAMS = unsafe { std::mem::zeroed() };
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        unsafe { cu::cuGraphMemsetNodeGetParams(node.cast(), &raw mut found) }?;
        put(
            out,
            cudaMemsetParams {
                dst: std::ptr::with_exposed_provenance_mut(found.dst as usize),
                pitch: found.pitch,
                value: found.value,
                elementSize: found.elementSize,
                width: found.width,
                height: found.height,
            },
        )
    }

    fn cudaGraphMemsetNodeSetParams(node: cudaGraphNode_t, of: *const cudaMemsetParams) {
        ensure()?;
        let what = memset_node(of)?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphMemsetNodeSetParams(node.cast(), &raw const what) }?)
    }

    fn cudaGraphExecMemsetNodeSetParams(
        executable: cudaGraphExec_t,
        node: cudaGraphNode_t,
        of: *const cudaMemsetParams,
    ) {
        let (context, what) = (current()?, memset_node(of)?);
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphExecMemsetNodeSetParams(executable.cast(), node.cast(), &raw const what, context) }?)
    }

    fn cudaGraphMemcpyNodeGetParams(node: cudaGraphNode_t, out: *mut cudaMemcpy3DParms) {
        ensure()?;
        // SAFETY: the structure is of numbers and addresses.
        // SAFETY: it is plain data, for which zeroes are values.
        let mut found: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        unsafe { cu::cuGraphMemcpyNodeGetParams(node.cast(), &raw mut found) }?;
        put(out, shown(&found))
    }

    fn cudaGraphMemFreeNodeGetParams(node: cudaGraphNode_t, out: *mut c_void) {
        ensure()?;
        // SAFETY: the pointers are the program's, of whom the driver asks what CUDA's manual does, or this function's own.
        Ok(unsafe { cu::cuGraphMemFreeNodeGetParams(node.cast(), out.raw().cast()) }?)
    }

    fn cudaGraphAddMemcpyNode(
        out: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        after: *const cudaGraphNode_t,
        count: usize,
        of: *const cudaMemcpy3DParms,
    ) {
        ensure()?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        unsafe { add_copy(out.raw(), graph, (after.raw(), count), &described(of)?) }
    }

    fn cudaGraphMemcpyNodeSetParams(
        node: cudaGraphNode_t,
        of: *const cudaMemcpy3DParms,
    ) {
        ensure()?;
        set_copy(node, &described(of)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams(
        executable: cudaGraphExec_t,
        node: cudaGraphNode_t,
        of: *const cudaMemcpy3DParms,
    ) {
        ensure()?;
        set_copy_in(executable, node, &described(of)?)
    }

    fn cudaGraphAddMemcpyNode1D(
        out: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        after: *const cudaGraphNode_t,
        count: usize,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        kind: cudaMemcpyKind,
    ) {
        ensure()?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        unsafe { add_copy(out.raw(), graph, (after.raw(), count), &row(to.raw(), from.raw(), bytes, kind)?) }
    }

    fn cudaGraphMemcpyNodeSetParams1D(
        node: cudaGraphNode_t,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        kind: cudaMemcpyKind,
    ) {
        ensure()?;
        set_copy(node, &row(to.raw(), from.raw(), bytes, kind)?)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(
        executable: cudaGraphExec_t,
        node: cudaGraphNode_t,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        kind: cudaMemcpyKind,
    ) {
        ensure()?;
        set_copy_in(executable, node, &row(to.raw(), from.raw(), bytes, kind)?)
    }

    fn cudaGraphAddMemcpyNodeToSymbol(
        out: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        after: *const cudaGraphNode_t,
        count: usize,
        symbol: *const c_void,
        from: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        ensure()?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        unsafe { add_copy(out.raw(), graph, (after.raw(), count), &row(part(symbol.raw(), offset, bytes)?, from.raw(), bytes, kind)?) }
    }

    fn cudaGraphMemcpyNodeSetParamsToSymbol(
        node: cudaGraphNode_t,
        symbol: *const c_void,
        from: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        ensure()?;
        set_copy(node, &row(part(symbol.raw(), offset, bytes)?, from.raw(), bytes, kind)?)
    }

    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        executable: cudaGraphExec_t,
        node: cudaGraphNode_t,
        symbol: *const c_void,
        from: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        ensure()?;
        set_copy_in(executable, node, &row(part(symbol.raw(), offset, bytes)?, from.raw(), bytes, kind)?)
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(
        out: *mut cudaGraphNode_t,
        graph: cudaGraph_t,
        after: *const cudaGraphNode_t,
        count: usize,
        to: *mut c_void,
        symbol: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        ensure()?;
        // SAFETY: the structures and arrays are the program's, as CUDA's manual wants them.
        unsafe { add_copy(out.raw(), graph, (after.raw(), count), &row(to.raw(), part(symbol.raw(), offset, bytes)?, bytes, kind)?) }
    }

    fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        node: cudaGraphNode_t,
        to: *mut c_void,
        symbol: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        ensure()?;
        set_copy(node, &row(to.raw(), part(symbol.raw(), offset, bytes)?, bytes, kind)?)
    }

    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        executable: cudaGraphExec_t,
        node: cudaGraphNode_t,
        to: *mut c_void,
        symbol: *const c_void,
        bytes: usize,
        offset: usize,
        kind: cudaMemcpyKind,
    ) {
        ensure()?;
        set_copy_in(executable, node, &row(to.raw(), part(symbol.raw(), offset, bytes)?, bytes, kind)?)
    }
}
