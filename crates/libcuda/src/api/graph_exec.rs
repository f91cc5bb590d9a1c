//! Graphs: instances, launches and updates.

use crate::api::graph::node_handle;
use crate::api::graph_node::{
    copy_task, fill_task, host_task, kernel_task, newer_kernel, same_kernel, same_kind, task, values_task,
};
use crate::ffi::api;
use crate::pointers::{Out, Room, get, put, put_if};
use crate::state::{EVENTS, EXECS, GRAPHS, NODES, stream};
use crate::sys::*;
use driver::graph::update::UpdateFailure;
use driver::graph::{Exec, Node, Task};
use driver::graph::{Refusal, RefusalReason};
use driver::{Error, Result};
use std::ffi::{c_char, c_uint, c_ulonglong};
use std::sync::Arc;

/// Makes an instance.
fn instantiate(out: Out<CUgraphExec>, graph: CUgraph, flags: u64) -> std::result::Result<(), Refusal> {
    if out.is_null() {
        return Err(Error::InvalidValue.into());
    }
    let exec = GRAPHS.get(graph)?.instantiate(flags)?;
    put(out, EXECS.insert(exec.id(), exec))?;
    Ok(())
}

/// Lets the step of a node do something else.
fn update(exec: CUgraphExec, node: CUgraphNode, task: impl FnOnce(&Node) -> Result<Task>) -> Result<()> {
    let node: Arc<Node> = NODES.get(node)?;
    let exec: Arc<Exec> = EXECS.get(exec)?;
    exec.set_task(node.id(), task(&node)?)
}

/// Updates an instance: what the failure says, or nothing.
fn update_whole(exec: CUgraphExec, graph: CUgraph) -> Result<Option<UpdateFailure>> {
    EXECS.get(exec)?.update(&*GRAPHS.get(graph)?)
}

/// The older forms tell of one node.
fn instantiate_with_log(
    out: Out<CUgraphExec>,
    graph: CUgraph,
    node: Out<CUgraphNode>,
    log: Room<c_char>,
) -> Result<()> {
    put_if(node, std::ptr::null_mut());
    put_if(log.at(0), 0);
    instantiate(out, graph, 0).map_err(|refusal| {
        put_if(node, refusal.node.as_ref().map_or(std::ptr::null_mut(), node_handle));
        refusal.error
    })
}

api! {
    #[order(initialised, given(out), given(graph), context, no_capture)]
    fn cuGraphInstantiateWithFlags(out: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) {
        instantiate(out, graph, flags).map_err(|refusal| refusal.error)
    }

    #[order(initialised, given(out), given(graph), given(params), context, no_capture)]
    fn cuGraphInstantiateWithParams(
        out: *mut CUgraphExec,
        graph: CUgraph,
        params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
    ) {
        let mut stated = get(params)?;
        let (result, node, error) = match instantiate(out, graph, stated.flags) {
            Ok(()) => (CUDA_GRAPH_INSTANTIATE_SUCCESS, None, None),
            Err(Refusal { error, reason, node }) => (reason as CUgraphInstantiateResult, node, Some(error)),
        };
        stated.result_out = result;
        stated.hErrNode_out = node.as_ref().map_or(std::ptr::null_mut(), node_handle);
        put(params, stated)?;
        const _: () = assert!(RefusalReason::ConditionUnused as u32 == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
        error.map_or(Ok(()), Err)
    }

    fn cuGraphExecGetFlags(exec: CUgraphExec, flags: *mut cuuint64_t) {
        put(flags, EXECS.get(exec)?.flags())
    }

    #[order(initialised, given(exec), no_capture)]
    fn cuGraphExecDestroy(exec: CUgraphExec) {
        EXECS.remove(exec).map(drop)
    }

    #[order(initialised, given(exec), uncaptured(on))]
    fn cuGraphUpload(exec: CUgraphExec, on: CUstream) {
        stream(on)?.0.upload_graph(&EXECS.get(exec)?)
    }

    #[order(initialised, given(exec))]
    fn cuGraphLaunch(exec: CUgraphExec, on: CUstream) {
        let exec = EXECS.get(exec)?;
        let (context, stream) = stream(on)?;
        context.launch_graph(&exec, &stream)
    }

    #[order(given(exec), given(node), initialised, given(enabled))]
    fn cuGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: *mut c_uint) {
        put(enabled, EXECS.get(exec)?.enabled(&*NODES.get(node)?)?.into())
    }

    #[order(given(exec), given(node), initialised)]
    fn cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: c_uint) {
        EXECS.get(exec)?.enable(&*NODES.get(node)?, enabled != 0)
    }

    fn cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, info: *mut CUgraphExecUpdateResultInfo) {
        let failure = update_whole(exec, graph)?;
        let handle = |node: Option<&Arc<Node>>| node.map_or(std::ptr::null_mut(), node_handle);
        let (node, from) = failure.as_ref().map_or((None, None), |f| (f.node.as_ref(), f.from.as_ref()));
        let result = failure.as_ref().map_or(CU_GRAPH_EXEC_UPDATE_SUCCESS, |f| f.difference as u32);
        put_if(info, CUgraphExecUpdateResultInfo { result, errorNode: handle(node), errorFromNode: handle(from) });
        if failure.is_some() { Err(Error::GraphExecUpdateFailure) } else { Ok(()) }
    }

    #[order(given(exec), given(node), initialised, given(params))]
    fn cuGraphExecNodeSetParams(exec: CUgraphExec, node: CUgraphNode, params: *mut CUgraphNodeParams) {
        let params = get(params)?;
        let found = NODES.get(node)?;
        same_kind(&found, &params)?;
        if params.type_ == CU_GRAPH_NODE_TYPE_GRAPH {
            let child = {
                // SAFETY: which member of the union there is is what the type says.
                GRAPHS.get(unsafe { params.__bindgen_anon_1.graph.graph })?
            };
            return EXECS.get(exec)?.update_child(&found, &child).map_err(|_| Error::GraphExecUpdateFailure);
        }
        // SAFETY: the parameters are the program's, as their manual wants them.
        update(exec, node, |node| Ok(unsafe { task(None, &params, Some(node))? }.0))
    }

    #[order(given(exec), given(node), initialised, given(params))]
    fn cuGraphExecKernelNodeSetParams_v2(
        exec: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_KERNEL_NODE_PARAMS,
    ) {
        // SAFETY: the parameters are the program's, as their manual wants them.
        update(exec, node, |node| unsafe { kernel_task(node, &same_kernel(params)?) })
    }

    #[order(given(exec), given(node), initialised, given(params))]
    fn cuGraphExecMemcpyNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_MEMCPY3D,
        ctx: CUcontext,
    ) {
        update(exec, node, |_| Ok(copy_task(params, ctx)?.0))
    }

    #[order(given(exec), given(node), initialised, given(params))]
    fn cuGraphExecMemsetNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_MEMSET_NODE_PARAMS,
        ctx: CUcontext,
    ) {
        update(exec, node, |_| fill_task(params, ctx))
    }

    #[order(given(exec), given(node), initialised, given(params))]
    fn cuGraphExecHostNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_HOST_NODE_PARAMS,
    ) {
        update(exec, node, |_| Ok(host_task(params)?.0))
    }

    #[order(given(exec), given(node), given(child), initialised)]
    fn cuGraphExecChildGraphNodeSetParams(exec: CUgraphExec, node: CUgraphNode, child: CUgraph) {
        let updated = EXECS.get(exec)?.update_child(&*NODES.get(node)?, &*GRAPHS.get(child)?);
        updated.map_err(|_| Error::GraphExecUpdateFailure)
    }

    #[order(given(exec), given(node), given(event), initialised)]
    fn cuGraphExecEventRecordNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent) {
        update(exec, node, |_| Ok(Task::Record(EVENTS.get(event)?)))
    }

    #[order(given(exec), given(node), given(event), initialised)]
    fn cuGraphExecEventWaitNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent) {
        update(exec, node, |_| Ok(Task::Wait(EVENTS.get(event)?)))
    }

    #[order(given(exec), given(node), initialised, given(params))]
    fn cuGraphExecBatchMemOpNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_BATCH_MEM_OP_NODE_PARAMS,
    ) {
        // SAFETY: the parameters are the program's, as their manual wants them.
        update(exec, node, |_| unsafe { values_task(params) })
    }
}

// Older forms.
api! {
    #[order(initialised, given(out), given(graph), context, no_capture)]
    fn cuGraphInstantiate(
        out: *mut CUgraphExec,
        graph: CUgraph,
        node: *mut CUgraphNode,
        #[elements(size)] log: *mut c_char,
        size: usize,
    ) {
        instantiate_with_log(out, graph, node, log)
    }

    #[order(initialised, given(out), given(graph), context, no_capture)]
    fn cuGraphInstantiate_v2(
        out: *mut CUgraphExec,
        graph: CUgraph,
        node: *mut CUgraphNode,
        #[elements(size)] log: *mut c_char,
        size: usize,
    ) {
        instantiate_with_log(out, graph, node, log)
    }

    fn cuGraphExecUpdate(
        exec: CUgraphExec,
        graph: CUgraph,
        node: *mut CUgraphNode,
        result: *mut CUgraphExecUpdateResult,
    ) {
        let failure = update_whole(exec, graph)?;
        let found = failure.as_ref().and_then(|failure| failure.node.as_ref());
        put_if(node, found.map_or(std::ptr::null_mut(), node_handle));
        put_if(result, failure.as_ref().map_or(CU_GRAPH_EXEC_UPDATE_SUCCESS, |f| f.difference as u32));
        if failure.is_some() { Err(Error::GraphExecUpdateFailure) } else { Ok(()) }
    }

    #[order(given(exec), given(node), initialised, given(params))]
    fn cuGraphExecKernelNodeSetParams(
        exec: CUgraphExec,
        node: CUgraphNode,
        params: *const CUDA_KERNEL_NODE_PARAMS_v1,
    ) {
        // SAFETY: the parameters are the program's, as their manual wants them.
        update(exec, node, |node| unsafe { kernel_task(node, &newer_kernel(params)?) })
    }
}
