//! Graphs: nodes and edges.

use crate::border::api;
use crate::pointers::{get, put, text};
use crate::state::{GRAPHS, NODES, OBJECTS};
use crate::sys::*;
use driver::capture::Front;
use driver::graph::dot::Detail;
use driver::graph::user_object::UserObject;
use driver::graph::{Edge, EdgeData, Graph, Node};
use driver::{Error, Result};
use std::ffi::{c_char, c_uint, c_void};
use std::sync::Arc;

/// The handle of a node.
pub(crate) fn node_handle(node: &Arc<Node>) -> CUgraphNode {
    NODES.insert(node.id(), Arc::clone(node))
}

/// The handle of a graph, the program's own or one inside another.
pub(crate) fn graph_handle(graph: &Arc<Graph>) -> CUgraph {
    GRAPHS.insert(graph.id(), Arc::clone(graph))
}

/// Forgets a graph's handle and those of all that it holds.
pub(crate) fn forget_graph(graph: &Arc<Graph>) {
    for graph in graph.inner_graphs().iter().chain([graph]) {
        graph.nodes().iter().for_each(|node| NODES.forget(node.id()));
        GRAPHS.forget(graph.id());
    }
}

/// What an edge says, from C.
pub(crate) fn edge_data(data: &CUgraphEdgeData) -> Result<EdgeData> {
    if data.reserved != [0; 5] {
        return Err(Error::InvalidValue);
    }
    Ok(EdgeData { from_port: data.from_port, to_port: data.to_port, kind: data.type_ })
}

/// What an edge says, for C.
pub(crate) fn edge_bytes(data: EdgeData) -> CUgraphEdgeData {
    CUgraphEdgeData { from_port: data.from_port, to_port: data.to_port, type_: data.kind, reserved: [0; 5] }
}

/// Nodes, and what the edges from them say.
///
/// # Safety
/// The arrays are null or have `count` elements.
pub(crate) unsafe fn front(
    nodes: *const CUgraphNode,
    edges: *const CUgraphEdgeData,
    count: usize,
) -> Result<Front> {
    // The count is the program's: nothing is allocated by it before the nodes are found.
    let mut front = Vec::new();
    for index in 0..count {
        // SAFETY: by contract.
        unsafe {
            let node = NODES.get(crate::api::module::element(nodes, index)?)?;
            let data =
                if edges.is_null() { EdgeData::default() } else { edge_data(&get(edges.add(index))?)? };
            front.push((node, data));
        }
    }
    Ok(front)
}

/// Writes as many values as fit, and how many there are. With no array only the number is asked for.
///
/// # Safety
/// `count` is null or may be read and written; the array is null or has as many elements as it says.
unsafe fn put_list<T: Copy>(values: &[T], array: *mut T, count: *mut usize, filler: T) -> Result<()> {
    // SAFETY: by contract.
    unsafe {
        let room = get(count)?;
        if !array.is_null() {
            if room == 0 {
                return Err(Error::InvalidValue);
            }
            for index in 0..room {
                put(array.add(index), values.get(index).copied().unwrap_or(filler))?;
            }
        }
        put(count, if array.is_null() { values.len() } else { room.min(values.len()) })
    }
}

/// Writes handles of nodes.
///
/// # Safety
/// As [`put_list`].
unsafe fn put_nodes(nodes: &[Arc<Node>], array: *mut CUgraphNode, count: *mut usize) -> Result<()> {
    let handles: Vec<CUgraphNode> = nodes.iter().map(node_handle).collect();
    // SAFETY: by contract.
    unsafe { put_list(&handles, array, count, std::ptr::null_mut()) }
}

/// Writes the neighbours of a node. What edges say must be asked for where they say something.
///
/// # Safety
/// As [`put_list`], for both arrays.
unsafe fn put_neighbours(
    node: CUgraphNode,
    after: bool,
    nodes: *mut CUgraphNode,
    edges: Option<*mut CUgraphEdgeData>,
    count: *mut usize,
) -> Result<()> {
    let node = NODES.get(node)?;
    let found = node.graph()?.neighbours(&node, after)?;
    let data: Vec<EdgeData> = found.iter().map(|(_, data)| *data).collect();
    let found: Vec<Arc<Node>> = found.into_iter().map(|(node, _)| node).collect();
    // SAFETY: by contract.
    unsafe {
        put_edge_data(&data, nodes.is_null(), edges, count)?;
        put_nodes(&found, nodes, count)
    }
}

/// # Safety
/// As [`put_list`]; the count is left as it is.
unsafe fn put_edge_data(
    data: &[EdgeData],
    only_count: bool,
    edges: Option<*mut CUgraphEdgeData>,
    count: *mut usize,
) -> Result<()> {
    let edges = edges.unwrap_or(std::ptr::null_mut());
    if only_count {
        return Ok(());
    }
    if edges.is_null() {
        let plain = data.iter().all(|data| *data == EdgeData::default());
        return if plain { Ok(()) } else { Err(Error::LossyQuery) };
    }
    // SAFETY: by contract.
    unsafe {
        let mut room = get(count)?;
        let bytes: Vec<CUgraphEdgeData> = data.iter().map(|&data| edge_bytes(data)).collect();
        put_list(&bytes, edges, &mut room, edge_bytes(EdgeData::default()))
    }
}

/// # Safety
/// As [`put_list`], for all arrays.
unsafe fn put_edges(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    edges: Option<*mut CUgraphEdgeData>,
    count: *mut usize,
) -> Result<()> {
    let found = GRAPHS.get(graph)?.edges();
    if from.is_null() != to.is_null() {
        return Err(Error::InvalidValue);
    }
    let data: Vec<EdgeData> = found.iter().map(|edge| edge.data).collect();
    let (starts, ends): (Vec<_>, Vec<_>) = found.into_iter().map(|edge| (edge.from, edge.to)).unzip();
    // SAFETY: by contract.
    unsafe {
        put_edge_data(&data, from.is_null(), edges, count)?;
        let mut room = get(count)?;
        put_nodes(&starts, from, &mut room)?;
        put_nodes(&ends, to, count)
    }
}

/// # Safety
/// The arrays are null or have `count` elements.
unsafe fn edges(
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
) -> Result<Vec<Edge>> {
    // SAFETY: by contract.
    let (from, to) = unsafe { (front(from, data, count)?, front(to, std::ptr::null(), count)?) };
    Ok(from.into_iter().zip(to).map(|((from, data), (to, _))| Edge { from, to, data }).collect())
}

api! {
    fn cuGraphCreate(out: *mut CUgraph, flags: c_uint) {
        crate::state::driver()?;
        if flags != 0 || out.is_null() {
            return Err(Error::InvalidValue);
        }
        put(out, graph_handle(&Graph::new()))
    }

    fn cuGraphDestroy(graph: CUgraph) {
        let graph = GRAPHS.get(graph)?;
        if graph.is_nested() {
            return Err(Error::InvalidValue);
        }
        forget_graph(&graph);
        Ok(())
    }

    fn cuGraphClone(out: *mut CUgraph, original: CUgraph) {
        let copy = GRAPHS.get(original)?.duplicate()?;
        put(out, graph_handle(&copy))
    }

    fn cuGraphNodeFindInClone(out: *mut CUgraphNode, original: CUgraphNode, clone: CUgraph) {
        let copy = GRAPHS.get(clone)?.copy_of(&*NODES.get(original)?)?;
        put(out, node_handle(&copy))
    }

    fn cuGraphDestroyNode(node: CUgraphNode) {
        let found = NODES.get(node)?;
        let inner: Vec<Arc<Graph>> = found.task().graphs();
        found.graph()?.remove(&found)?;
        inner.iter().for_each(forget_graph);
        NODES.forget(found.id());
        Ok(())
    }

    fn cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType) {
        put(kind, NODES.get(node)?.task().kind() as CUgraphNodeType)
    }

    #[order(initialised)]
    fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) {
        put_nodes(&GRAPHS.get(graph)?.nodes(), nodes, count)
    }

    #[order(initialised)]
    fn cuGraphGetRootNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) {
        put_nodes(&GRAPHS.get(graph)?.roots(), nodes, count)
    }

    #[order(initialised, given(data))]
    fn cuGraphGetEdges_v2(
        graph: CUgraph,
        from: *mut CUgraphNode,
        to: *mut CUgraphNode,
        data: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        put_edges(graph, from, to, Some(data), count)
    }

    #[order(initialised, given(nodes), given(data))]
    fn cuGraphNodeGetDependencies_v2(
        node: CUgraphNode,
        nodes: *mut CUgraphNode,
        data: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        put_neighbours(node, false, nodes, Some(data), count)
    }

    #[order(initialised, given(nodes), given(data))]
    fn cuGraphNodeGetDependentNodes_v2(
        node: CUgraphNode,
        nodes: *mut CUgraphNode,
        data: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        put_neighbours(node, true, nodes, Some(data), count)
    }

    #[order(given(graph), initialised)]
    fn cuGraphAddDependencies_v2(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        data: *const CUgraphEdgeData,
        count: usize,
    ) {
        GRAPHS.get(graph)?.connect(&edges(from, to, data, count)?)
    }

    #[order(given(graph), initialised)]
    fn cuGraphRemoveDependencies_v2(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        data: *const CUgraphEdgeData,
        count: usize,
    ) {
        GRAPHS.get(graph)?.disconnect(&edges(from, to, data, count)?)
    }

    #[order(given(graph), initialised, given(path))]
    fn cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint) {
        let verbose = flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE != 0;
        let handles = verbose || flags & CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES != 0;
        let others = !(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES
            | CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES
            | CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO);
        let detail = Detail { parameters: flags & others != 0, handles };
        let drawn = GRAPHS.get(graph)?.dot(detail);
        std::fs::write(text(path)?, drawn).map_err(|_| Error::OperatingSystem)
    }

    #[order(given(graph), initialised, given(out))]
    fn cuGraphConditionalHandleCreate(
        out: *mut CUgraphConditionalHandle,
        graph: CUgraph,
        ctx: CUcontext,
        value: c_uint,
        flags: c_uint,
    ) {
        if flags & !CU_GRAPH_COND_ASSIGN_DEFAULT != 0 || out.is_null() {
            return Err(Error::InvalidValue);
        }
        let context = super::graph_node::context_of(ctx)?;
        let default = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT != 0).then_some(value);
        put(out, GRAPHS.get(graph)?.add_condition(&context, default)?.handle())
    }

    #[order(given(out), given(destroy))]
    fn cuUserObjectCreate(
        out: *mut CUuserObject,
        pointer: *mut c_void,
        destroy: CUhostFn,
        count: c_uint,
        flags: c_uint,
    ) {
        crate::state::driver()?;
        if flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC || out.is_null() {
            return Err(Error::InvalidValue);
        }
        let destroy = crate::api::execution::host_call(destroy, pointer)?;
        let object = UserObject::new(count as usize, Box::new(move || (destroy.call)()))?;
        put(out, OBJECTS.insert(object.id(), object))
    }

    #[order(given(object), initialised)]
    fn cuUserObjectRetain(object: CUuserObject, count: c_uint) {
        OBJECTS.get(object)?.retain(count as usize)
    }

    #[order(given(object), initialised)]
    fn cuUserObjectRelease(object: CUuserObject, count: c_uint) {
        let found = OBJECTS.get(object)?;
        found.release(count as usize)?;
        if found.is_gone() {
            OBJECTS.forget(found.id());
        }
        Ok(())
    }

    #[order(given(graph), given(object), initialised)]
    fn cuGraphRetainUserObject(graph: CUgraph, object: CUuserObject, count: c_uint, flags: c_uint) {
        if flags & !CU_GRAPH_USER_OBJECT_MOVE != 0 {
            return Err(Error::InvalidValue);
        }
        let moved = flags & CU_GRAPH_USER_OBJECT_MOVE != 0;
        GRAPHS.get(graph)?.retain(&OBJECTS.get(object)?, count as usize, moved)
    }

    #[order(given(graph), given(object), initialised)]
    fn cuGraphReleaseUserObject(graph: CUgraph, object: CUuserObject, count: c_uint) {
        // To take back what the graph does not hold is no mistake.
        match GRAPHS.get(graph)?.release(&OBJECTS.get(object)?, count as usize) {
            Err(Error::InvalidValue) if count != 0 => Ok(()),
            result => result,
        }
    }

    fn cuDeviceGetGraphMemAttribute(dev: CUdevice, which: CUgraphMem_attribute, value: *mut c_void) {
        let usage = crate::state::device(dev)?.graph_memory().usage();
        let bytes = match which {
            CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT | CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => usage.used,
            CU_GRAPH_MEM_ATTR_USED_MEM_HIGH | CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => usage.used_high,
            _ => return Err(Error::InvalidValue),
        };
        put(value.cast::<u64>(), bytes)
    }

    fn cuDeviceSetGraphMemAttribute(dev: CUdevice, which: CUgraphMem_attribute, value: *mut c_void) {
        let memory = crate::state::device(dev)?.graph_memory();
        if get(value.cast::<u64>())? != 0 {
            return Err(Error::InvalidValue);
        }
        match which {
            // What is reserved is what is used.
            CU_GRAPH_MEM_ATTR_USED_MEM_HIGH | CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => memory.reset(),
            _ => return Err(Error::InvalidValue),
        }
        Ok(())
    }

    fn cuDeviceGraphMemTrim(dev: CUdevice) {
        crate::state::device(dev)?.graph_memory().trim();
        Ok(())
    }
}

// The forms from before edges said more than that there is one.
api! {
    #[order(initialised)]
    fn cuGraphGetEdges(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, count: *mut usize) {
        put_edges(graph, from, to, None, count)
    }

    #[order(initialised)]
    fn cuGraphNodeGetDependencies(node: CUgraphNode, nodes: *mut CUgraphNode, count: *mut usize) {
        put_neighbours(node, false, nodes, None, count)
    }

    #[order(initialised)]
    fn cuGraphNodeGetDependentNodes(node: CUgraphNode, nodes: *mut CUgraphNode, count: *mut usize) {
        put_neighbours(node, true, nodes, None, count)
    }

    #[order(given(graph), initialised)]
    fn cuGraphAddDependencies(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, count: usize) {
        GRAPHS.get(graph)?.connect(&edges(from, to, std::ptr::null(), count)?)
    }

    #[order(given(graph), initialised)]
    fn cuGraphRemoveDependencies(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        count: usize,
    ) {
        GRAPHS.get(graph)?.disconnect(&edges(from, to, std::ptr::null(), count)?)
    }
}
