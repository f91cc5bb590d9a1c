//! Updates of an instance from a graph.
//!
//! Both must have the same shape: node by node in the order in which they were made, with the same kinds and edges. What
//! nodes do may then differ, within what [`compatible`] allows.

use super::difference::{Difference, compatible};
use super::exec::Exec;
use super::nodes::{EdgeData, Graph, Node};
use super::task::Task;
use crate::error::Error;
use crate::{Id, lock};
use std::collections::HashMap;
use std::sync::Arc;

/// A difference, and where.
#[derive(Clone, Debug)]
pub struct UpdateFailure {
    /// What differs.
    pub difference: Difference,
    /// The node of the new graph.
    pub node: Option<Arc<Node>>,
    /// The node where an edge begins that differs.
    pub from: Option<Arc<Node>>,
}

/// Pairs the nodes of a graph with those of another of the same shape, and their tasks.
fn pair(old: &Graph, new: &Graph, pairs: &mut Vec<(Id, Task)>) -> Result<(), UpdateFailure> {
    let failure = |difference, node: Option<&Arc<Node>>, from: Option<&Arc<Node>>| UpdateFailure {
        difference,
        node: node.cloned(),
        from: from.cloned(),
    };
    let (before, after) = (old.nodes(), new.nodes());
    if before.len() != after.len() {
        return Err(failure(Difference::Topology, after.get(before.len()), None));
    }
    let mut partner = HashMap::new();
    for (a, b) in before.iter().zip(&after) {
        partner.insert(a.id(), b.id());
        compatible(&a.task(), &b.task()).map_err(|difference| failure(difference, Some(b), None))?;
    }
    let mut edges: HashMap<(Id, Id), EdgeData> = old
        .edges()
        .iter()
        .map(|edge| ((partner[&edge.from.id()], partner[&edge.to.id()]), edge.data))
        .collect();
    for edge in new.edges() {
        if edges.remove(&(edge.from.id(), edge.to.id())) != Some(edge.data) {
            return Err(failure(Difference::Topology, Some(&edge.to), Some(&edge.from)));
        }
    }
    if let Some(&(_, to)) = edges.keys().next() {
        return Err(failure(Difference::Topology, after.iter().find(|node| node.id() == to), None));
    }
    let originals = old.sources();
    for (a, b) in before.iter().zip(&after) {
        let (old, new) = (a.task(), b.task());
        for (old, new) in old.graphs().iter().zip(&new.graphs()) {
            pair(old, new, pairs)?;
        }
        if !matches!(new, Task::Child(_)) {
            let original =
                originals.get(&a.id()).ok_or_else(|| failure(Difference::NotSupported, Some(b), None))?;
            pairs.push((*original, new));
        }
    }
    Ok(())
}

impl Exec {
    /// Lets it do what a graph of the same shape says: all of it, or nothing and a difference.
    ///
    /// # Errors
    /// Kernels may change nodes of either, as an H200 refuses it.
    pub fn update(&self, graph: &Graph) -> crate::Result<Option<UpdateFailure>> {
        if self.source().has_updatable() || graph.has_updatable() {
            return Err(Error::NotSupported);
        }
        Ok(self.update_part(self.source(), graph).err())
    }

    /// Lets the nodes of a child graph do what another of the same shape says.
    pub fn update_child(&self, node: &Node, graph: &Graph) -> Result<(), UpdateFailure> {
        let none = UpdateFailure { difference: Difference::NotSupported, node: None, from: None };
        let graphs = [Arc::clone(self.source())].into_iter().chain(self.source().inner_graphs());
        for outer in graphs {
            if let Ok(copy) = outer.copy_of(node) {
                let Task::Child(child) = copy.task() else { return Err(none) };
                return self.update_part(&child, graph);
            }
        }
        Err(none)
    }

    fn update_part(&self, old: &Graph, graph: &Graph) -> Result<(), UpdateFailure> {
        let mut pairs = Vec::new();
        pair(old, graph, &mut pairs)?;
        for (origin, task) in pairs {
            // The shapes are the same, so every step is there and takes its task.
            let _ = self.set_task(origin, task);
        }
        for (object, count) in lock(&graph.objects).iter() {
            // An instance keeps what the graph that it is of now keeps.
            let _ = self.source().retain(object, *count, false);
        }
        Ok(())
    }
}
