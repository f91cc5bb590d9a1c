//! Graphs: nodes and edges.

use crate::ffi::api;
use crate::pointers::{Array, Out, Room, element, get, put, text};
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
pub(crate) fn front(nodes: Array<CUgraphNode>, edges: Array<CUgraphEdgeData>) -> Result<Front> {
    // The count is the program's: nothing is allocated by it before the nodes are found.
    let mut front = Vec::new();
    for index in 0..nodes.count() {
        let node = NODES.get(element(nodes, index)?)?;
        let data = if edges.is_null() { EdgeData::default() } else { edge_data(&element(edges, index)?)? };
        front.push((node, data));
    }
    Ok(front)
}

/// Writes as many values as fit: how many. Where there is no list, only their number is asked for.
fn put_list<T: Copy>(values: &[T], list: Room<T>, filler: T) -> Result<usize> {
    if list.is_null() {
        return Ok(values.len());
    }
    if list.count() == 0 {
        return Err(Error::InvalidValue);
    }
    for index in 0..list.count() {
        put(list.at(index), values.get(index).copied().unwrap_or(filler))?;
    }
    Ok(list.count().min(values.len()))
}

/// Writes handles of nodes, and how many there are.
fn put_nodes(nodes: &[Arc<Node>], list: Room<CUgraphNode>, count: Out<usize>) -> Result<()> {
    get(count)?;
    let handles: Vec<CUgraphNode> = nodes.iter().map(node_handle).collect();
    put(count, put_list(&handles, list, std::ptr::null_mut())?)
}

/// Writes the neighbours of a node. What edges say must be asked for where they say something.
fn put_neighbours(
    node: CUgraphNode,
    after: bool,
    nodes: Room<CUgraphNode>,
    edges: Room<CUgraphEdgeData>,
    count: Out<usize>,
) -> Result<()> {
    let node = NODES.get(node)?;
    let found = node.graph()?.neighbours(&node, after)?;
    let data: Vec<EdgeData> = found.iter().map(|(_, data)| *data).collect();
    let found: Vec<Arc<Node>> = found.into_iter().map(|(node, _)| node).collect();
    put_edge_data(&data, nodes.is_null(), edges, count)?;
    put_nodes(&found, nodes, count)
}

/// Writes what edges say; the count is left as it is.
fn put_edge_data(
    data: &[EdgeData],
    only_count: bool,
    edges: Room<CUgraphEdgeData>,
    count: Out<usize>,
) -> Result<()> {
    if only_count {
        return Ok(());
    }
    if edges.is_null() {
        let plain = data.iter().all(|data| *data == EdgeData::default());
        return if plain { Ok(()) } else { Err(Error::LossyQuery) };
    }
    get(count)?;
    let bytes: Vec<CUgraphEdgeData> = data.iter().map(|&data| edge_bytes(data)).collect();
    put_list(&bytes, edges, edge_bytes(EdgeData::default())).map(drop)
}

fn put_edges(
    graph: CUgraph,
    [from, to]: [Room<CUgraphNode>; 2],
    edges: Room<CUgraphEdgeData>,
    count: Out<usize>,
) -> Result<()> {
    let found = GRAPHS.get(graph)?.edges();
    if from.is_null() != to.is_null() {
        return Err(Error::InvalidValue);
    }
    let data: Vec<EdgeData> = found.iter().map(|edge| edge.data).collect();
    let (starts, ends): (Vec<_>, Vec<_>) = found.into_iter().map(|edge| (edge.from, edge.to)).unzip();
    put_edge_data(&data, from.is_null(), edges, count)?;
    get(count)?;
    let starts: Vec<CUgraphNode> = starts.iter().map(node_handle).collect();
    put_list(&starts, from, std::ptr::null_mut())?;
    put_nodes(&ends, to, count)
}

fn edges(
    from: Array<CUgraphNode>,
    to: Array<CUgraphNode>,
    data: Array<CUgraphEdgeData>,
) -> Result<Vec<Edge>> {
    let (from, to) = (front(from, data)?, front(to, Array::none())?);
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
    fn cuGraphGetNodes(graph: CUgraph, #[elements(count)] nodes: *mut CUgraphNode, count: *mut usize) {
        put_nodes(&GRAPHS.get(graph)?.nodes(), nodes, count)
    }

    #[order(initialised)]
    fn cuGraphGetRootNodes(graph: CUgraph, #[elements(count)] nodes: *mut CUgraphNode, count: *mut usize) {
        put_nodes(&GRAPHS.get(graph)?.roots(), nodes, count)
    }

    #[order(initialised, given(data))]
    fn cuGraphGetEdges_v2(
        graph: CUgraph,
        #[elements(count)] from: *mut CUgraphNode,
        #[elements(count)] to: *mut CUgraphNode,
        #[elements(count)] data: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        put_edges(graph, [from, to], data, count)
    }

    #[order(initialised, given(nodes), given(data))]
    fn cuGraphNodeGetDependencies_v2(
        node: CUgraphNode,
        #[elements(count)] nodes: *mut CUgraphNode,
        #[elements(count)] data: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        put_neighbours(node, false, nodes, data, count)
    }

    #[order(initialised, given(nodes), given(data))]
    fn cuGraphNodeGetDependentNodes_v2(
        node: CUgraphNode,
        #[elements(count)] nodes: *mut CUgraphNode,
        #[elements(count)] data: *mut CUgraphEdgeData,
        count: *mut usize,
    ) {
        put_neighbours(node, true, nodes, data, count)
    }

    #[order(given(graph), initialised)]
    fn cuGraphAddDependencies_v2(
        graph: CUgraph,
        #[elements(count)] from: *const CUgraphNode,
        #[elements(count)] to: *const CUgraphNode,
        #[elements(count)] data: *const CUgraphEdgeData,
        count: usize,
    ) {
        GRAPHS.get(graph)?.connect(&edges(from, to, data)?)
    }

    #[order(given(graph), initialised)]
    fn cuGraphRemoveDependencies_v2(
        graph: CUgraph,
        #[elements(count)] from: *const CUgraphNode,
        #[elements(count)] to: *const CUgraphNode,
        #[elements(count)] data: *const CUgraphEdgeData,
        count: usize,
    ) {
        GRAPHS.get(graph)?.disconnect(&edges(from, to, data)?)
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
        if ctx.is_null() {
            return Err(Error::InvalidContext);
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
        if flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC || out.is_null() {
            return Err(Error::InvalidValue);
        }
        let destroy = crate::api::execution::host_call(destroy, pointer.raw())?;
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
        // SAFETY: all attributes are numbers of 64 bits.
        put(unsafe { value.cast::<u64>() }, bytes)
    }

    fn cuDeviceSetGraphMemAttribute(dev: CUdevice, which: CUgraphMem_attribute, value: *mut c_void) {
        let memory = crate::state::device(dev)?.graph_memory();
        // SAFETY: all attributes are numbers of 64 bits.
        if get(unsafe { value.cast::<u64>() })? != 0 {
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
    fn cuGraphGetEdges(graph: CUgraph, #[elements(count)] from: *mut CUgraphNode, #[elements(count)] to: *mut CUgraphNode, count: *mut usize) {
        put_edges(graph, [from, to], Room::none(), count)
    }

    #[order(initialised)]
    fn cuGraphNodeGetDependencies(node: CUgraphNode, #[elements(count)] nodes: *mut CUgraphNode, count: *mut usize) {
        put_neighbours(node, false, nodes, Room::none(), count)
    }

    #[order(initialised)]
    fn cuGraphNodeGetDependentNodes(node: CUgraphNode, #[elements(count)] nodes: *mut CUgraphNode, count: *mut usize) {
        put_neighbours(node, true, nodes, Room::none(), count)
    }

    #[order(given(graph), initialised)]
    fn cuGraphAddDependencies(graph: CUgraph, #[elements(count)] from: *const CUgraphNode, #[elements(count)] to: *const CUgraphNode, count: usize) {
        GRAPHS.get(graph)?.connect(&edges(from, to, Array::none())?)
    }

    #[order(given(graph), initialised)]
    fn cuGraphRemoveDependencies(
        graph: CUgraph,
        #[elements(count)] from: *const CUgraphNode,
        #[elements(count)] to: *const CUgraphNode,
        count: usize,
    ) {
        GRAPHS.get(graph)?.disconnect(&edges(from, to, Array::none())?)
    }
}
