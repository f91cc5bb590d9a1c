//! Copies of graphs: what a program duplicates, what stands in a node of another graph, what is instantiated.

use super::nodes::{Conditions, DEEPEST, EdgeData, Graph, Links, Node};
use super::task::{Conditional, Task};
use crate::error::{Error, Result};
use crate::{Id, lock};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

impl Graph {
    /// A copy, as deep as there are graphs in it. Memory that a graph allocates cannot be in two of them, nor a node that
    /// kernels change.
    pub fn duplicate(&self) -> Result<Arc<Self>> {
        if self.has_memory() || self.has_updatable() {
            Err(Error::NotSupported)
        } else {
            Ok(self.copied(self.depth, self.body))
        }
    }

    /// A copy that stands in a node of another graph.
    pub(super) fn nested(&self, depth: usize, body: bool) -> Result<Arc<Self>> {
        if depth + self.height() > DEEPEST || self.has_memory() {
            return Err(Error::NotSupported);
        }
        let allowed = |node: &Arc<Node>| node.task().kind().may_be_conditional();
        if body && !self.nodes().iter().all(allowed) {
            return Err(Error::NotSupported);
        }
        Ok(self.copied(depth, body))
    }

    /// A copy with conditions of its own.
    pub(super) fn copied(&self, depth: usize, body: bool) -> Arc<Self> {
        let conditions = lock(&self.conditions).clone();
        self.copied_with(depth, body, &Arc::new(Mutex::new(conditions)))
    }

    fn copied_with(&self, depth: usize, body: bool, conditions: &Conditions) -> Arc<Self> {
        let copy = Self::inside(depth, body, Arc::clone(conditions));
        let contents = lock(&self.contents);
        let mut ids = HashMap::new();
        let mut copied = lock(&copy.contents);
        for (&id, links) in &contents.nodes {
            let task = match links.node.task() {
                Task::Child(child) => Task::Child(child.copied(depth + 1, body)),
                Task::Conditional(conditional) => Task::Conditional(Arc::new(Conditional {
                    bodies: conditional
                        .bodies
                        .iter()
                        .map(|body| body.copied_with(depth + 1, true, conditions))
                        .collect(),
                    ..(*conditional).clone()
                })),
                task => task,
            };
            let node = Node::new(&copy, task, links.node.attachment());
            *lock(&node.updatable) = links.node.updatable();
            ids.insert(id, node.id());
            copied.copies.insert(id, node.id());
            copied.nodes.insert(node.id(), Links { node, before: Vec::new(), after: Vec::new() });
        }
        for (id, links) in &contents.nodes {
            let renamed =
                |ends: &[(Id, EdgeData)]| ends.iter().map(|&(end, data)| (ids[&end], data)).collect();
            let (before, after) = (renamed(&links.before), renamed(&links.after));
            copied.nodes.entry(ids[id]).and_modify(|links| (links.before, links.after) = (before, after));
        }
        drop(copied);
        for (object, count) in lock(&self.objects).iter() {
            if object.retain(*count).is_ok() {
                lock(&copy.objects).push((Arc::clone(object), *count));
            }
        }
        copy
    }

    /// In a clone: the copy of a node of the graph that was cloned.
    pub fn copy_of(&self, original: &Node) -> Result<Arc<Node>> {
        let contents = lock(&self.contents);
        let id = contents.copies.get(&original.id()).ok_or(Error::InvalidValue)?;
        contents.nodes.get(id).map(|links| Arc::clone(&links.node)).ok_or(Error::InvalidValue)
    }

    /// The copies in this clone, and what they were copied from.
    pub(super) fn sources(&self) -> HashMap<Id, Id> {
        lock(&self.contents).copies.iter().map(|(&original, &copy)| (copy, original)).collect()
    }
}
