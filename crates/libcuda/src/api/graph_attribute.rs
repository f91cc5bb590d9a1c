//! Graphs: attributes of kernel nodes.

use crate::api::execution::{Wanted, apply_attribute, asks_for_updates, updatable};
use crate::api::graph_node::work_of;
use crate::ffi::api;
use crate::pointers::{Out, get, put};
use crate::state::NODES;
use crate::sys::*;
use driver::graph::{Node, Task};
use driver::launch::{Configuration, PreparedLaunch};
use driver::module::Function;
use driver::{Error, Result};
use std::sync::Arc;

/// Gives a node's kernel what attributes ask for.
fn set_attributes(node: &Node, work: &PreparedLaunch, wanted: Wanted) -> Result<()> {
    let function: &Arc<Function> = work.function();
    let context = function.module().context()?;
    let made = context.prepare_launch(function, wanted.configuration, work.params().to_vec())?;
    let priority = wanted.priority.unwrap_or(work.priority());
    node.set_task(Task::Kernel(made.with_priority(priority).with_overlap(wanted.overlaps)))
}

api! {
    fn cuGraphKernelNodeGetAttribute(
        node: CUgraphNode,
        which: CUkernelNodeAttrID,
        value: *mut CUkernelNodeAttrValue,
    ) {
        let node = NODES.get(node)?;
        let work = work_of(&node)?;
        let mut shown = CUkernelNodeAttrValue { pad: [0; 64] };
        let Configuration { cluster, cooperative, .. } = work.configuration();
        match which {
            CU_LAUNCH_ATTRIBUTE_COOPERATIVE => shown.cooperative = cooperative.into(),
            CU_LAUNCH_ATTRIBUTE_PRIORITY => shown.priority = work.priority(),
            CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => {
                shown = updatable(node.updatable().map(|updatable| updatable.handle()));
            }
            CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                let [x, y, z] = cluster.unwrap_or([0; 3]);
                shown.clusterDim = CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            }
            CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
            | CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
            | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
            | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
            | CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {}
            _ => return Err(Error::InvalidValue),
        }
        put(value, shown)
    }

    fn cuGraphKernelNodeSetAttribute(
        node: CUgraphNode,
        which: CUkernelNodeAttrID,
        value: *const CUkernelNodeAttrValue,
    ) {
        let node = NODES.get(node)?;
        let work = work_of(&node)?;
        if which == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE {
            let given = get(value)?;
            // SAFETY: the attribute's number says that this member is meant.
            if !unsafe { given.deviceUpdatableKernelNode.devNode }.is_null() {
                return Err(Error::InvalidValue);
            }
            if !asks_for_updates(&given)? {
                return if node.updatable().is_none() { Ok(()) } else { Err(Error::NotSupported) };
            }
            let handle = node.make_updatable(&*work.function().module().context()?)?;
            // SAFETY: the value was read; this one is also written, as its manual says.
            return put(unsafe { Out::new(value.raw().cast_mut()) }, updatable(Some(handle)));
        }
        let mut wanted = Wanted {
            configuration: work.configuration(),
            priority: Some(work.priority()),
            overlaps: work.overlaps(),
        };
        // What only launches have is nothing that a node could be given.
        apply_attribute(&mut wanted, which, &get(value)?).map_err(|_| Error::InvalidValue)?;
        set_attributes(&node, &work, wanted)
    }

    fn cuGraphKernelNodeCopyAttributes(to: CUgraphNode, from: CUgraphNode) {
        let node = NODES.get(to)?;
        let from = NODES.get(from)?;
        if node.updatable().is_some() || from.updatable().is_some() {
            return Err(Error::NotSupported);
        }
        let (work, from) = (work_of(&node)?, work_of(&from)?);
        let Configuration { cluster, cooperative, .. } = from.configuration();
        let configuration = Configuration { cluster, cooperative, ..work.configuration() };
        set_attributes(&node, &work, Wanted { configuration, priority: Some(from.priority()), overlaps: from.overlaps() })
    }
}
