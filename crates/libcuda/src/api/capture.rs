//! Stream capture.

use crate::api::graph::{edge_bytes, forget_graph, front, graph_handle, node_handle};
use crate::ffi::api;
use crate::pointers::{Array, Out, get, put, put_if};
use crate::state::{GRAPHS, stream};
use crate::sys::*;
use driver::capture::{self, CaptureInfo, Mode, Status};
use driver::graph::EdgeData;
use driver::{Error, Result};
use std::cell::RefCell;
use std::ffi::c_uint;
use std::mem::ManuallyDrop;

fn mode(mode: CUstreamCaptureMode) -> Result<Mode> {
    match mode {
        CU_STREAM_CAPTURE_MODE_GLOBAL => Ok(Mode::Global),
        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => Ok(Mode::ThreadLocal),
        CU_STREAM_CAPTURE_MODE_RELAXED => Ok(Mode::Relaxed),
        _ => Err(Error::InvalidValue),
    }
}

fn number(mode: Mode) -> CUstreamCaptureMode {
    match mode {
        Mode::Global => CU_STREAM_CAPTURE_MODE_GLOBAL,
        Mode::ThreadLocal => CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        Mode::Relaxed => CU_STREAM_CAPTURE_MODE_RELAXED,
    }
}

fn status_of(on: CUstream) -> Result<CUstreamCaptureStatus> {
    let (context, stream) = stream(on)?;
    Ok(match context.capture_status(&stream)? {
        Status::None => CU_STREAM_CAPTURE_STATUS_NONE,
        Status::Active => CU_STREAM_CAPTURE_STATUS_ACTIVE,
        Status::Invalidated => CU_STREAM_CAPTURE_STATUS_INVALIDATED,
    })
}

/// Arrays of nodes and edges.
type Answer = RefCell<(Vec<CUgraphNode>, Vec<CUgraphEdgeData>)>;

thread_local! {
    /// What the last question of this thread about a capture was answered with. It stays until the thread's very end,
    /// when a program may still ask.
    static ANSWER: ManuallyDrop<Answer> =
        const { ManuallyDrop::new(RefCell::new((Vec::new(), Vec::new()))) };
}

/// Answers what is asked about the capture of a stream. `edges` is `None` where they cannot be shown.
fn describe(
    on: CUstream,
    status: Out<CUstreamCaptureStatus>,
    id: Out<cuuint64_t>,
    graph: Out<CUgraph>,
    nodes: Out<*const CUgraphNode>,
    edges: Option<Out<*const CUgraphEdgeData>>,
    count: Out<usize>,
) -> Result<()> {
    put(status, status_of(on)?)?;
    let (context, stream) = stream(on)?;
    let Some(CaptureInfo { id: capture, graph: growing, front, .. }) = context.capture_info(&stream) else {
        put_if(count, 0);
        return Ok(());
    };
    let plain = front.iter().all(|(_, data)| *data == EdgeData::default());
    let shows_edges = edges.is_some_and(|edges| !edges.is_null());
    if !nodes.is_null() && !shows_edges && !plain {
        return Err(Error::LossyQuery);
    }
    put_if(id, capture.0);
    if !graph.is_null() {
        put(graph, graph_handle(&growing))?;
    }
    put_if(count, front.len());
    ANSWER.with(|answer| {
        let (handles, data) = &mut *answer.borrow_mut();
        *handles = front.iter().map(|(node, _)| node_handle(node)).collect();
        *data = front.iter().map(|&(_, data)| edge_bytes(data)).collect();
        put_if(nodes, handles.as_ptr());
        put_if(edges.unwrap_or(Out::none()), data.as_ptr());
    });
    Ok(())
}

fn update(
    on: CUstream,
    nodes: Array<CUgraphNode>,
    edges: Array<CUgraphEdgeData>,
    flags: c_uint,
) -> Result<()> {
    let (context, stream) = stream(on)?;
    context.require_capture(&stream)?;
    let replace = match flags {
        CU_STREAM_ADD_CAPTURE_DEPENDENCIES => false,
        CU_STREAM_SET_CAPTURE_DEPENDENCIES => true,
        _ => return Err(Error::InvalidValue),
    };
    context.update_capture(&stream, front(nodes, edges)?, replace)
}

fn begin(on: CUstream, how: CUstreamCaptureMode) -> Result<()> {
    let (context, stream) = stream(on)?;
    context.begin_capture(&stream, mode(how)?, None)
}

api! {
    fn cuStreamBeginCapture_v2(on: CUstream, how: CUstreamCaptureMode) {
        begin(on, how)
    }

    #[order(given(graph), initialised)]
    fn cuStreamBeginCaptureToGraph(
        on: CUstream,
        graph: CUgraph,
        #[elements(count)] nodes: *const CUgraphNode,
        #[elements(count)] edges: *const CUgraphEdgeData,
        count: usize,
        how: CUstreamCaptureMode,
    ) {
        let (context, stream) = stream(on)?;
        let graph = GRAPHS.get(graph)?;
        context.begin_capture(&stream, mode(how)?, Some((&graph, front(nodes, edges)?)))
    }

    fn cuStreamEndCapture(on: CUstream, out: *mut CUgraph) {
        let (context, stream) = stream(on)?;
        let own = context.capture_info(&stream).filter(|info| info.own).map(|info| info.graph);
        match context.end_capture(&stream) {
            // Who does not want the graph gets none.
            Ok(graph) if out.is_null() => {
                own.iter().for_each(|_| forget_graph(&graph));
                Ok(())
            }
            Ok(graph) => put(out, graph_handle(&graph)),
            Err(error) => {
                put_if(out, std::ptr::null_mut());
                if context.capture_status(&stream)? == Status::None {
                    own.iter().for_each(forget_graph);
                }
                Err(error)
            }
        }
    }

    fn cuStreamIsCapturing(on: CUstream, status: *mut CUstreamCaptureStatus) {
        put(status, status_of(on)?)
    }

    fn cuStreamGetCaptureInfo_v3(
        on: CUstream,
        status: *mut CUstreamCaptureStatus,
        id: *mut cuuint64_t,
        graph: *mut CUgraph,
        nodes: *mut *const CUgraphNode,
        edges: *mut *const CUgraphEdgeData,
        count: *mut usize,
    ) {
        describe(on, status, id, graph, nodes, Some(edges), count)
    }

    fn cuStreamUpdateCaptureDependencies_v2(
        on: CUstream,
        #[elements(count)] nodes: *mut CUgraphNode,
        #[elements(count)] edges: *const CUgraphEdgeData,
        count: usize,
        flags: c_uint,
    ) {
        update(on, nodes.input(), edges, flags)
    }

    #[order(initialised)]
    fn cuThreadExchangeStreamCaptureMode(how: *mut CUstreamCaptureMode) {
        let before = capture::exchange_mode(mode(get(how)?)?);
        put(how, number(before))
    }
}

// Older forms.
api! {
    fn cuStreamBeginCapture(on: CUstream) {
        begin(on, CU_STREAM_CAPTURE_MODE_GLOBAL)
    }

    fn cuStreamGetCaptureInfo(on: CUstream, status: *mut CUstreamCaptureStatus, id: *mut cuuint64_t) {
        describe(on, status, id, Out::none(), Out::none(), None, Out::none())
    }

    fn cuStreamGetCaptureInfo_v2(
        on: CUstream,
        status: *mut CUstreamCaptureStatus,
        id: *mut cuuint64_t,
        graph: *mut CUgraph,
        nodes: *mut *const CUgraphNode,
        count: *mut usize,
    ) {
        describe(on, status, id, graph, nodes, None, count)
    }

    fn cuStreamUpdateCaptureDependencies(
        on: CUstream,
        #[elements(count)] nodes: *mut CUgraphNode,
        count: usize,
        flags: c_uint,
    ) {
        update(on, nodes.input(), Array::none(), flags)
    }
}
