//! Graphs: functions on nodes in the forms that older versions of `cuda.h` have.

use super::graph_node::{
    PLAIN, add, add_any, kernel, kernel_parameters, kernel_task, newer_kernel, set, shown_kernel,
};
use crate::border::api;
use crate::pointers::put;
use crate::state::NODES;
use crate::sys::*;
use driver::graph::Task;

api! {
    #[order(initialised, handle(graph), given(params))]
    fn cuGraphAddNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        behind: *const CUgraphNode,
        count: usize,
        params: *mut CUgraphNodeParams,
    ) {
        add_any(out, graph, (behind, PLAIN, count), params)
    }

    #[order(initialised, given(out), given(graph), given(params))]
    fn cuGraphAddKernelNode(
        out: *mut CUgraphNode,
        graph: CUgraph,
        behind: *const CUgraphNode,
        count: usize,
        params: *const CUDA_KERNEL_NODE_PARAMS_v1,
    ) {
        let work = kernel(&newer_kernel(params)?, None)?;
        add(out, graph, (behind, PLAIN, count), (Task::Kernel(work), None)).map(drop)
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphKernelNodeGetParams(node: CUgraphNode, params: *mut CUDA_KERNEL_NODE_PARAMS_v1) {
        let p = shown_kernel(&*NODES.get(node)?)?;
        put(params, kernel_parameters!(CUDA_KERNEL_NODE_PARAMS_v1, p))
    }

    #[order(given(node), initialised, given(params))]
    fn cuGraphKernelNodeSetParams(node: CUgraphNode, params: *const CUDA_KERNEL_NODE_PARAMS_v1) {
        let params = newer_kernel(params)?;
        set(node, |node| Ok((kernel_task(node, &params)?, None)))
    }
}
