//! Graphs: functions on nodes in the forms that older versions of `cuda.h` have.

use super::graph_node::{
    PLAIN, add, add_any, kernel, kernel_parameters, kernel_task, newer_kernel, set, shown_kernel,
};
use crate::ffi::api;
use crate::pointers::put;
use crate::state::NODES;
use crate::sys::*;
use driver::graph::Task;

api! {
    #[order(initialised, handle(graph), given(params))]
    fn cuGraphAddNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        params: *mut CUgraphNodeParams,
    ) {
        // SAFETY: the parameters are the program's, as their manual wants them.
        unsafe { add_any(out, graph, (behind, PLAIN), params) }
    }

    #[order(initialised, given(out), given(graph), given(params))]
    fn cuGraphAddKernelNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        #[elements(count)] behind: *const CUgraphNode,
        count: usize,
        params: *const CUDA_KERNEL_NODE_PARAMS_v1,
    ) {
        // SAFETY: the parameters are the program's, as their manual wants them.
        let work = unsafe { kernel(&newer_kernel(params)?, None)? };
        add(out, graph, (behind, PLAIN), (Task::Kernel(work), None)).map(drop)
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphKernelNodeGetParams(node: CUgraphNode, params: *mut CUDA_KERNEL_NODE_PARAMS_v1) {
        let p = shown_kernel(&*NODES.get(node)?)?;
        put(params, kernel_parameters!(CUDA_KERNEL_NODE_PARAMS_v1, p))
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphKernelNodeSetParams(node: CUgraphNode, params: *const CUDA_KERNEL_NODE_PARAMS_v1) {
        let params = newer_kernel(params)?;
        // SAFETY: the parameters are the program's, as their manual wants them.
        set(node, |node| Ok((unsafe { kernel_task(node, &params)? }, None)))
    }
}
