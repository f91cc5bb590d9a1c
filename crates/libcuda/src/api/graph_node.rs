//! Graphs: what nodes do, from C and for C.
//!
//! Each kind of node has one function here that makes its task from C's parameters and one that shows it; adding, setting
//! and updating nodes of all kinds go through them.

use crate::api::execution::{host_call, parameters};
use crate::api::graph::{front, graph_handle, node_handle};
use crate::api::transfer::request_3d;
use crate::api::values::operations;
use crate::api::values::shown;
use crate::ffi::api;
use crate::pointers::{Array, In, Opaque, Out, get, put};
use crate::state::{CONTEXTS, EVENTS, GRAPHS, NODES, Table, current, function};
use crate::sys::*;
use driver::copy::{End, Side};
use driver::event::Event;
use driver::fill::Pattern;
use driver::graph::memory::GraphAllocation;
use driver::graph::{Attachment, Conditional, ConditionalKind, Graph, Node, Task};
use driver::launch::{Configuration, PreparedLaunch};
use driver::memory::MemoryKind;
use driver::{Context, Error, Result};
use std::ffi::{c_uint, c_void};
use std::sync::Arc;

/// The context that a node is for; the current one for null.
pub(crate) fn context_of(handle: CUcontext) -> Result<Arc<Context>> {
    if handle.is_null() { current() } else { CONTEXTS.get(handle) }
}

/// Parameters as the program has given them, kept to be shown again.
struct AsGiven<T>(T);

// SAFETY: what it holds is copied out again and never followed by us.
unsafe impl<T> Send for AsGiven<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for AsGiven<T> {}

/// A kernel's parameters for C: pointers to their bytes. Both stay as long as the node does what it does.
struct ShownParameters {
    _bytes: Box<[u8]>,
    pointers: Box<[Opaque]>,
}

impl ShownParameters {
    fn new(work: &PreparedLaunch) -> Self {
        let mut bytes: Box<[u8]> = work.params().into();
        let start = bytes.as_mut_ptr();
        let places = work.function().parameters().iter();
        let pointer = |offset: u32| Opaque(start.wrapping_add(offset as usize).cast());
        let pointers = places.map(|parameter| pointer(parameter.offset)).collect();
        Self { _bytes: bytes, pointers }
    }
}

/// What a node keeps of this type; made now if it is not there.
fn kept<T: Send + Sync + 'static>(node: &Node, make: impl FnOnce() -> T) -> Arc<T> {
    if let Some(there) = node.attachment().and_then(|kept| kept.downcast::<T>().ok()) {
        return there;
    }
    let made = Arc::new(make());
    node.attach(made.clone());
    made
}

/// A kernel's launch; what only attributes say is as it was.
///
/// # Safety
/// The parameters are as `cuLaunchKernel` wants them.
pub(super) unsafe fn kernel(
    p: &CUDA_KERNEL_NODE_PARAMS_v3,
    before: Option<&PreparedLaunch>,
) -> Result<Arc<PreparedLaunch>> {
    let handle = if p.func.is_null() { p.kern.cast() } else { p.func };
    crate::order::handle(&handle)?;
    let context = context_of(p.ctx)?;
    let function = function(handle, Some(&context))?;
    let old = before.map(PreparedLaunch::configuration);
    let configuration = Configuration {
        grid: [p.gridDimX, p.gridDimY, p.gridDimZ],
        block: [p.blockDimX, p.blockDimY, p.blockDimZ],
        cluster: old.and_then(|old| old.cluster),
        dynamic_shared: p.sharedMemBytes,
        cooperative: old.is_some_and(|old| old.cooperative),
    };
    // SAFETY: by contract.
    let buffer = unsafe { parameters(&function, Out::new(p.kernelParams), Out::new(p.extra))? };
    let work = function.module().context()?.prepare_launch(&function, configuration, buffer)?;
    Ok(match before {
        Some(before) => work.with_attributes_of(before),
        None => work,
    })
}

/// A kernel node's parameters in another form of the structure, which has these fields besides.
macro_rules! kernel_parameters {
    ($form:ident, $p:expr $(, $field:ident: $value:expr)*) => {
        $form {
            func: $p.func,
            gridDimX: $p.gridDimX,
            gridDimY: $p.gridDimY,
            gridDimZ: $p.gridDimZ,
            blockDimX: $p.blockDimX,
            blockDimY: $p.blockDimY,
            blockDimZ: $p.blockDimZ,
            sharedMemBytes: $p.sharedMemBytes,
            kernelParams: $p.kernelParams,
            extra: $p.extra,
            $($field: $value,)*
        }
    };
}
pub(super) use kernel_parameters;

/// The parameters of before CUDA 12 as today's.
fn newer(p: &CUDA_KERNEL_NODE_PARAMS_v1) -> CUDA_KERNEL_NODE_PARAMS_v3 {
    kernel_parameters!(CUDA_KERNEL_NODE_PARAMS_v3, p, kern: std::ptr::null_mut(), ctx: std::ptr::null_mut())
}

/// The same structure by its other name.
fn same(p: &CUDA_KERNEL_NODE_PARAMS_v2) -> CUDA_KERNEL_NODE_PARAMS_v3 {
    kernel_parameters!(CUDA_KERNEL_NODE_PARAMS_v3, p, kern: p.kern, ctx: p.ctx)
}

pub(super) fn shown_kernel(node: &Node) -> Result<CUDA_KERNEL_NODE_PARAMS_v2> {
    let Task::Kernel(work) = node.task() else { return Err(Error::InvalidValue) };
    let shown = kept(node, || ShownParameters::new(&work));
    let Configuration { grid, block, dynamic_shared, .. } = work.configuration();
    let context = work.function().module().context()?;
    // The handle may be a kernel's, which the program has in another table; that of the function is always right.
    let func = crate::state::FUNCTIONS.insert(work.function().id(), Arc::clone(work.function()));
    Ok(CUDA_KERNEL_NODE_PARAMS_v2 {
        func,
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: dynamic_shared,
        kernelParams: shown.pointers.as_ptr().cast_mut().cast(),
        extra: std::ptr::null_mut(),
        kern: std::ptr::null_mut(),
        ctx: Table::<Context, CUctx_st>::handle(context.id()),
    })
}

/// A copy.
fn copy(d: &CUDA_MEMCPY3D, ctx: CUcontext) -> Result<(Task, Attachment)> {
    Ok((Task::Copy(context_of(ctx)?.prepare_copy(request_3d(d)?)?), Arc::new(AsGiven(*d))))
}

fn shown_copy(node: &Node) -> Result<CUDA_MEMCPY3D> {
    let Task::Copy(copy) = node.task() else { return Err(Error::InvalidValue) };
    let request = *copy.request();
    let end = |end: &End| match end.side {
        Side::Host => CU_MEMORYTYPE_HOST,
        Side::Device => CU_MEMORYTYPE_DEVICE,
        Side::Unified => CU_MEMORYTYPE_UNIFIED,
    };
    let rows = |end: &End| end.slice.checked_div(end.pitch).unwrap_or(0) as usize;
    let host = |address: u64| std::ptr::with_exposed_provenance_mut::<c_void>(address as usize);
    let (from, to) = (request.from, request.to);
    let shown = kept(node, || {
        AsGiven(CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: end(&from),
            srcHost: host(from.address),
            srcDevice: from.address,
            srcArray: std::ptr::null_mut(),
            reserved0: std::ptr::null_mut(),
            srcPitch: from.pitch as usize,
            srcHeight: rows(&from),
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: end(&to),
            dstHost: host(to.address),
            dstDevice: to.address,
            dstArray: std::ptr::null_mut(),
            reserved1: std::ptr::null_mut(),
            dstPitch: to.pitch as usize,
            dstHeight: rows(&to),
            WidthInBytes: request.extent[0] as usize,
            Height: request.extent[1] as usize,
            Depth: request.extent[2] as usize,
        })
    });
    Ok(shown.0)
}

/// A fill.
fn fill(p: &CUDA_MEMSET_NODE_PARAMS, ctx: CUcontext) -> Result<Task> {
    if p.width == 0 || p.height == 0 {
        return Err(Error::InvalidValue);
    }
    let pattern = Pattern {
        address: p.dst,
        pitch: p.pitch as u64,
        value: p.value,
        size: p.elementSize.into(),
        width: p.width as u64,
        height: p.height as u64,
    };
    Ok(Task::Fill(context_of(ctx)?.prepare_fill(pattern)?))
}

fn shown_fill(node: &Node) -> Result<CUDA_MEMSET_NODE_PARAMS> {
    let Task::Fill(fill) = node.task() else { return Err(Error::InvalidValue) };
    let p = fill.pattern();
    Ok(CUDA_MEMSET_NODE_PARAMS {
        dst: p.address,
        pitch: p.pitch as usize,
        value: p.value,
        elementSize: p.size as c_uint,
        width: p.width as usize,
        height: p.height as usize,
    })
}

/// A call of the program.
fn host(p: &CUDA_HOST_NODE_PARAMS) -> Result<(Task, Attachment)> {
    Ok((Task::Host(host_call(p.fn_, p.userData)?), Arc::new(AsGiven(*p))))
}

fn shown_host(node: &Node) -> Result<CUDA_HOST_NODE_PARAMS> {
    let Task::Host(call) = node.task() else { return Err(Error::InvalidValue) };
    let shown = kept(node, || {
        let function = std::ptr::with_exposed_provenance::<c_void>(call.function as usize);
        // SAFETY: the number was made from a function pointer of this type, which the option has the size of.
        let function = unsafe { std::mem::transmute::<*const c_void, CUhostFn>(function) };
        let data = std::ptr::with_exposed_provenance_mut(call.argument as usize);
        AsGiven(CUDA_HOST_NODE_PARAMS { fn_: function, userData: data })
    });
    Ok(shown.0)
}

/// Operations on values.
///
/// # Safety
/// The array is null or has as many elements as its count says.
unsafe fn values(p: &CUDA_BATCH_MEM_OP_NODE_PARAMS) -> Result<Task> {
    let context = context_of(p.ctx)?;
    // SAFETY: by contract.
    let array = unsafe { Array::new(p.paramArray, p.count as usize) };
    Ok(Task::Values(context.prepare_values(operations(array)?)?))
}

fn shown_values(node: &Node) -> Result<CUDA_BATCH_MEM_OP_NODE_PARAMS> {
    let Task::Values(values) = node.task() else { return Err(Error::InvalidValue) };
    let list = kept(node, || AsGiven(values.operations().iter().map(shown).collect::<Vec<_>>()));
    let array = list.0.as_ptr().cast_mut();
    Ok(CUDA_BATCH_MEM_OP_NODE_PARAMS {
        ctx: std::ptr::null_mut(),
        count: list.0.len() as c_uint,
        paramArray: array,
        flags: 0,
    })
}

/// Memory of the graph's.
fn allocation(props: &CUmemPoolProps, bytes: usize) -> Result<Arc<GraphAllocation>> {
    let kind = match props.allocType {
        CU_MEM_ALLOCATION_TYPE_PINNED => MemoryKind::Device,
        CU_MEM_ALLOCATION_TYPE_MANAGED => MemoryKind::Managed,
        _ => return Err(Error::InvalidValue),
    };
    if props.location.type_ != CU_MEM_LOCATION_TYPE_DEVICE {
        return Err(Error::NotSupported);
    }
    let device = crate::state::device(props.location.id)?;
    let context = current()?;
    if context.device().ordinal() != device.ordinal() {
        return Err(Error::NotSupported);
    }
    GraphAllocation::new(&context, kind, bytes as u64)
}

fn shown_allocation(node: &Node) -> Result<CUDA_MEM_ALLOC_NODE_PARAMS> {
    let Task::Allocate(allocation) = node.task() else { return Err(Error::InvalidValue) };
    let location = CUmemLocation { type_: CU_MEM_LOCATION_TYPE_DEVICE, id: allocation.ordinal() as i32 };
    let props = CUmemPoolProps {
        allocType: match allocation.kind() {
            MemoryKind::Managed => CU_MEM_ALLOCATION_TYPE_MANAGED,
            _ => CU_MEM_ALLOCATION_TYPE_PINNED,
        },
        handleTypes: 0,
        location,
        win32SecurityAttributes: std::ptr::null_mut(),
        maxSize: 0,
        usage: 0,
        reserved: [0; 54],
    };
    Ok(CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: props,
        accessDescs: std::ptr::null(),
        accessDescCount: 0,
        bytesize: allocation.bytes() as usize,
        dptr: allocation.address(),
    })
}

fn event(node: CUgraphNode, records: bool) -> Result<Arc<Event>> {
    match NODES.get(node)?.task() {
        Task::Record(event) if records => Ok(event),
        Task::Wait(event) if !records => Ok(event),
        _ => Err(Error::InvalidValue),
    }
}

/// What parameters of any kind ask for. `before` is the node that is to be set, if there is one.
///
/// # Safety
/// The parameters are what their manual asks for.
pub(crate) unsafe fn task(
    graph: Option<&Graph>,
    p: &CUgraphNodeParams,
    before: Option<&Node>,
) -> Result<(Task, Option<Attachment>)> {
    // SAFETY: which member of the union is meant is what the type says; all of them are numbers, handles and pointers.
    unsafe {
        let u = &p.__bindgen_anon_1;
        let kept = |(task, attachment)| (task, Some(attachment));
        Ok(match p.type_ {
            CU_GRAPH_NODE_TYPE_KERNEL => {
                let old = before.map(Node::task);
                let old = old
                    .as_ref()
                    .and_then(|task| if let Task::Kernel(work) = task { Some(&**work) } else { None });
                (Task::Kernel(kernel(&u.kernel, old)?), None)
            }
            CU_GRAPH_NODE_TYPE_MEMCPY => kept(copy(&u.memcpy.copyParams, u.memcpy.copyCtx)?),
            CU_GRAPH_NODE_TYPE_MEMSET => {
                let m = u.memset;
                let plain = CUDA_MEMSET_NODE_PARAMS {
                    dst: m.dst,
                    pitch: m.pitch,
                    value: m.value,
                    elementSize: m.elementSize,
                    width: m.width,
                    height: m.height,
                };
                (fill(&plain, m.ctx)?, None)
            }
            CU_GRAPH_NODE_TYPE_HOST => {
                kept(host(&CUDA_HOST_NODE_PARAMS { fn_: u.host.fn_, userData: u.host.userData })?)
            }
            CU_GRAPH_NODE_TYPE_GRAPH => (Task::Child(GRAPHS.get(u.graph.graph)?), None),
            CU_GRAPH_NODE_TYPE_EMPTY => (Task::Empty, None),
            CU_GRAPH_NODE_TYPE_WAIT_EVENT => (Task::Wait(EVENTS.get(u.eventWait.event)?), None),
            CU_GRAPH_NODE_TYPE_EVENT_RECORD => (Task::Record(EVENTS.get(u.eventRecord.event)?), None),
            CU_GRAPH_NODE_TYPE_MEM_ALLOC => {
                (Task::Allocate(allocation(&u.alloc.poolProps, u.alloc.bytesize)?), None)
            }
            CU_GRAPH_NODE_TYPE_MEM_FREE => (Task::Free(u.free.dptr), None),
            CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => {
                let m = u.memOp;
                let plain = CUDA_BATCH_MEM_OP_NODE_PARAMS {
                    ctx: m.ctx,
                    count: m.count,
                    paramArray: m.paramArray,
                    flags: m.flags,
                };
                (values(&plain)?, None)
            }
            CU_GRAPH_NODE_TYPE_CONDITIONAL => {
                let c = u.conditional;
                let kind = match c.type_ {
                    CU_GRAPH_COND_TYPE_IF => ConditionalKind::If,
                    CU_GRAPH_COND_TYPE_WHILE => ConditionalKind::While,
                    CU_GRAPH_COND_TYPE_SWITCH => ConditionalKind::Switch,
                    _ => return Err(Error::InvalidValue),
                };
                let condition = graph.ok_or(Error::NotSupported)?.condition(c.handle)?;
                (Task::Conditional(Arc::new(Conditional::new(&condition, kind, c.size as usize)?)), None)
            }
            CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL | CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => {
                return Err(Error::NotSupported);
            }
            _ => return Err(Error::InvalidValue),
        })
    }
}

/// Adds a node to a graph.
pub(super) fn add(
    out: Out<CUgraphNode>,
    graph: CUgraph,
    behind: (Array<CUgraphNode>, Array<CUgraphEdgeData>),
    (task, attachment): (Task, Option<Attachment>),
) -> Result<Arc<Node>> {
    if out.is_null() {
        return Err(Error::InvalidValue);
    }
    let node = GRAPHS.get(graph)?.add(task, &front(behind.0, behind.1)?)?;
    attachment.into_iter().for_each(|attachment| node.attach(attachment));
    put(out, node_handle(&node))?;
    Ok(node)
}

/// Adds a node of any kind, and shows what the driver has made for it.
///
/// # Safety
/// As [`task`].
pub(super) unsafe fn add_any(
    out: Out<CUgraphNode>,
    graph: CUgraph,
    behind: (Array<CUgraphNode>, Array<CUgraphEdgeData>),
    params: Out<CUgraphNodeParams>,
) -> Result<()> {
    let mut shown = get(params)?;
    // SAFETY: by contract.
    let wanted = unsafe { task(Some(&*GRAPHS.get(graph)?), &shown, None)? };
    let node = add(out, graph, behind, wanted)?;
    let parameters = &mut shown.__bindgen_anon_1;
    match node.task() {
        Task::Allocate(allocation) => parameters.alloc.dptr = allocation.address(),
        Task::Conditional(conditional) => {
            let handles: Vec<CUgraph> = conditional.bodies.iter().map(graph_handle).collect();
            let handles = Arc::new(AsGiven(handles));
            parameters.conditional.phGraph_out = handles.0.as_ptr().cast_mut();
            node.attach(handles);
        }
        _ => return Ok(()),
    }
    put(params, shown)
}

/// Sets what a node does.
pub(super) fn set(
    node: CUgraphNode,
    task: impl FnOnce(&Node) -> Result<(Task, Option<Attachment>)>,
) -> Result<()> {
    let node = NODES.get(node)?;
    let (task, attachment) = task(&node)?;
    node.set_task(task)?;
    attachment.into_iter().for_each(|attachment| node.attach(attachment));
    Ok(())
}

pub(super) fn work_of(node: &Node) -> Result<Arc<PreparedLaunch>> {
    if let Task::Kernel(work) = node.task() { Ok(work) } else { Err(Error::InvalidValue) }
}

/// That parameters are those of a node of this kind.
pub(crate) fn same_kind(node: &Node, params: &CUgraphNodeParams) -> Result<()> {
    if node.task().kind() as u32 == params.type_ { Ok(()) } else { Err(Error::InvalidValue) }
}

/// A kernel's task that replaces a node's.
///
/// # Safety
/// As [`kernel`].
pub(crate) unsafe fn kernel_task(node: &Node, p: &CUDA_KERNEL_NODE_PARAMS_v3) -> Result<Task> {
    // SAFETY: by contract.
    Ok(Task::Kernel(unsafe { kernel(p, Some(&*work_of(node)?))? }))
}

pub(crate) fn newer_kernel(p: In<CUDA_KERNEL_NODE_PARAMS_v1>) -> Result<CUDA_KERNEL_NODE_PARAMS_v3> {
    Ok(newer(&get(p)?))
}

pub(crate) fn same_kernel(p: In<CUDA_KERNEL_NODE_PARAMS_v2>) -> Result<CUDA_KERNEL_NODE_PARAMS_v3> {
    Ok(same(&get(p)?))
}

pub(crate) fn copy_task(d: In<CUDA_MEMCPY3D>, ctx: CUcontext) -> Result<(Task, Attachment)> {
    copy(&get(d)?, ctx)
}

pub(crate) fn fill_task(p: In<CUDA_MEMSET_NODE_PARAMS>, ctx: CUcontext) -> Result<Task> {
    fill(&get(p)?, ctx)
}

pub(crate) fn host_task(p: In<CUDA_HOST_NODE_PARAMS>) -> Result<(Task, Attachment)> {
    host(&get(p)?)
}

/// # Safety
/// The pointer is null or may be read; so may its array.
pub(crate) unsafe fn values_task(p: In<CUDA_BATCH_MEM_OP_NODE_PARAMS>) -> Result<Task> {
    let params = get(p)?;
    if params.count == 0 {
        return Err(Error::InvalidValue);
    }
    // SAFETY: by contract.
    unsafe { values(&params) }
}

/// Both at once.
fn with<A>((task, attachment): (Task, A)) -> (Task, Option<A>) {
    (task, Some(attachment))
}

/// No edge says more than that there is one.
pub(super) const PLAIN: Array<CUgraphEdgeData> = Array::none();

api! {
    #[order(initialised, handle(graph), given(params))]
    fn cuGraphAddNode_v2(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        #[elements(count)] edges: *const CUgraphEdgeData,
        count: usize,
        params: *mut CUgraphNodeParams,
    ) {
        // SAFETY: the parameters are the program's, as their manual wants them.
        unsafe { add_any(out, graph, (behind, edges), params) }
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphNodeSetParams(node: CUgraphNode, params: *mut CUgraphNodeParams) {
        let params = get(params)?;
        same_kind(&*NODES.get(node)?, &params)?;
        // SAFETY: the parameters are the program's, as their manual wants them.
        set(node, |node| unsafe { task(None, &params, Some(node)) })
    }

    #[order(initialised, given(out), given(graph), given(params))]
    fn cuGraphAddKernelNode_v2(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        params: *const CUDA_KERNEL_NODE_PARAMS,
    ) {
        // SAFETY: the parameters are the program's, as their manual wants them.
        let work = unsafe { kernel(&same_kernel(params)?, None)? };
        add(out, graph, (behind, PLAIN), (Task::Kernel(work), None)).map(drop)
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphKernelNodeGetParams_v2(node: CUgraphNode, params: *mut CUDA_KERNEL_NODE_PARAMS) {
        put(params, shown_kernel(&*NODES.get(node)?)?)
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphKernelNodeSetParams_v2(node: CUgraphNode, params: *const CUDA_KERNEL_NODE_PARAMS) {
        let params = same_kernel(params)?;
        // SAFETY: the parameters are the program's, as their manual wants them.
        set(node, |node| Ok((unsafe { kernel_task(node, &params)? }, None)))
    }

    fn cuGraphAddMemcpyNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        params: *const CUDA_MEMCPY3D,
        ctx: CUcontext,
    ) {
        add(out, graph, (behind, PLAIN), with(copy_task(params, ctx)?)).map(drop)
    }

    fn cuGraphMemcpyNodeGetParams(node: CUgraphNode, params: *mut CUDA_MEMCPY3D) {
        put(params, shown_copy(&*NODES.get(node)?)?)
    }

    #[order(given(node), initialised, given(params), usable)]
    fn cuGraphMemcpyNodeSetParams(node: CUgraphNode, params: *const CUDA_MEMCPY3D) {
        set(node, |_| Ok(with(copy_task(params, std::ptr::null_mut())?)))
    }

    #[order(initialised, given(out), given(graph), given(params))]
    fn cuGraphAddMemsetNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        params: *const CUDA_MEMSET_NODE_PARAMS,
        ctx: CUcontext,
    ) {
        add(out, graph, (behind, PLAIN), (fill_task(params, ctx)?, None)).map(drop)
    }

    fn cuGraphMemsetNodeGetParams(node: CUgraphNode, params: *mut CUDA_MEMSET_NODE_PARAMS) {
        put(params, shown_fill(&*NODES.get(node)?)?)
    }

    #[order(given(node), initialised, given(params), usable)]
    fn cuGraphMemsetNodeSetParams(node: CUgraphNode, params: *const CUDA_MEMSET_NODE_PARAMS) {
        set(node, |_| Ok((fill_task(params, std::ptr::null_mut())?, None)))
    }

    #[order(given(graph), initialised, given(out), given(params))]
    fn cuGraphAddHostNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        params: *const CUDA_HOST_NODE_PARAMS,
    ) {
        add(out, graph, (behind, PLAIN), with(host_task(params)?)).map(drop)
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphHostNodeGetParams(node: CUgraphNode, params: *mut CUDA_HOST_NODE_PARAMS) {
        put(params, shown_host(&*NODES.get(node)?)?)
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphHostNodeSetParams(node: CUgraphNode, params: *const CUDA_HOST_NODE_PARAMS) {
        set(node, |_| Ok(with(host_task(params)?)))
    }

    fn cuGraphAddChildGraphNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        child: CUgraph,
    ) {
        add(out, graph, (behind, PLAIN), (Task::Child(GRAPHS.get(child)?), None)).map(drop)
    }

    fn cuGraphChildGraphNodeGetGraph(node: CUgraphNode, out: *mut CUgraph) {
        match NODES.get(node)?.task() {
            Task::Child(child) => put(out, graph_handle(&child)),
            _ => Err(Error::InvalidValue),
        }
    }

    #[order(given(graph), initialised, given(out))]
    fn cuGraphAddEmptyNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
    ) {
        add(out, graph, (behind, PLAIN), (Task::Empty, None)).map(drop)
    }

    #[order(given(graph), given(event), initialised, given(out))]
    fn cuGraphAddEventRecordNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        event: CUevent,
    ) {
        add(out, graph, (behind, PLAIN), (Task::Record(EVENTS.get(event)?), None)).map(drop)
    }

    #[order(given(graph), given(event), initialised, given(out))]
    fn cuGraphAddEventWaitNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        event: CUevent,
    ) {
        add(out, graph, (behind, PLAIN), (Task::Wait(EVENTS.get(event)?), None)).map(drop)
    }

    #[order(given(node), initialised, given(out))]
    fn cuGraphEventRecordNodeGetEvent(node: CUgraphNode, out: *mut CUevent) {
        put(out, Table::<Event, CUevent_st>::handle(event(node, true)?.id()))
    }

    #[order(given(node), given(event), initialised)]
    fn cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) {
        set(node, |_| Ok((Task::Record(EVENTS.get(event)?), None)))
    }

    #[order(given(node), initialised, given(out))]
    fn cuGraphEventWaitNodeGetEvent(node: CUgraphNode, out: *mut CUevent) {
        put(out, Table::<Event, CUevent_st>::handle(event(node, false)?.id()))
    }

    #[order(given(node), given(event), initialised)]
    fn cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) {
        set(node, |_| Ok((Task::Wait(EVENTS.get(event)?), None)))
    }

    #[order(initialised)]
    fn cuGraphAddMemAllocNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        params: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
    ) {
        let mut given = get(params)?;
        let allocation = allocation(&given.poolProps, given.bytesize)?;
        given.dptr = allocation.address();
        add(out, graph, (behind, PLAIN), (Task::Allocate(allocation), None))?;
        put(params, given)
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphMemAllocNodeGetParams(node: CUgraphNode, params: *mut CUDA_MEM_ALLOC_NODE_PARAMS) {
        put(params, shown_allocation(&*NODES.get(node)?)?)
    }

    #[order(initialised, given(behind))]
    fn cuGraphAddMemFreeNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        address: CUdeviceptr,
    ) {
        add(out, graph, (behind, PLAIN), (Task::Free(address), None)).map(drop)
    }

    #[order(given(node), initialised, given(address))]
    fn cuGraphMemFreeNodeGetParams(node: CUgraphNode, address: *mut CUdeviceptr) {
        match NODES.get(node)?.task() {
            Task::Free(freed) => put(address, freed),
            _ => Err(Error::InvalidValue),
        }
    }

    #[order(given(behind))]
    fn cuGraphAddBatchMemOpNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        params: *const CUDA_BATCH_MEM_OP_NODE_PARAMS,
    ) {
        // SAFETY: the parameters are the program's, as their manual wants them.
        let task = unsafe { values_task(params)? };
        add(out, graph, (behind, PLAIN), (task, None)).map(drop)
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphBatchMemOpNodeGetParams(node: CUgraphNode, params: *mut CUDA_BATCH_MEM_OP_NODE_PARAMS) {
        put(params, shown_values(&*NODES.get(node)?)?)
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphBatchMemOpNodeSetParams(node: CUgraphNode, params: *const CUDA_BATCH_MEM_OP_NODE_PARAMS) {
        // SAFETY: the parameters are the program's, as their manual wants them.
        set(node, |_| Ok((unsafe { values_task(params)? }, None)))
    }
}
