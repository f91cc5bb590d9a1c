//! Nodes and edges.

use super::memory::GraphAllocation;
use super::task::{Condition, Task, TaskKind};
use super::updatable::Updatable;
use super::user_object::UserObject;
use crate::error::{Error, Result};
use crate::{Id, lock};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

/// Graphs inside graphs: no deeper than this.
pub const DEEPEST: usize = 32;

/// What an edge says besides that one node is before the other: the bytes of `CUgraphEdgeData`. A programmatic edge lets
/// a kernel begin before the other has ended; here it waits for its end, which is one of the orders allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeData {
    /// Which point of the first node.
    pub from_port: u8,
    /// Which point of the second.
    pub to_port: u8,
    /// 0, or 1 for a programmatic edge.
    pub kind: u8,
}

/// That a node is before another.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The first.
    pub from: Arc<Node>,
    /// The second.
    pub to: Arc<Node>,
    /// More about it.
    pub data: EdgeData,
}

/// What a C library keeps with a node.
pub type Attachment = Arc<dyn Any + Send + Sync>;

/// A node of a graph.
pub struct Node {
    id: Id,
    graph: Weak<Graph>,
    pub(super) task: Mutex<Task>,
    attachment: Mutex<Option<Attachment>>,
    /// If kernels may change it.
    pub(super) updatable: Mutex<Option<Arc<Updatable>>>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node {} ({:?})", self.id.0, self.task().kind())
    }
}

impl Node {
    pub(super) fn new(graph: &Arc<Graph>, task: Task, attachment: Option<Attachment>) -> Arc<Self> {
        let (task, attachment) = (Mutex::new(task), Mutex::new(attachment));
        let updatable = Mutex::new(None);
        Arc::new(Self { id: Id::next(), graph: Arc::downgrade(graph), task, attachment, updatable })
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The graph that it belongs to.
    pub fn graph(&self) -> Result<Arc<Graph>> {
        self.graph.upgrade().ok_or(Error::InvalidValue)
    }

    /// What it does.
    pub fn task(&self) -> Task {
        lock(&self.task).clone()
    }

    /// Lets it do something else of the same kind. What the C library has kept with it is forgotten.
    pub fn set_task(&self, task: Task) -> Result<()> {
        let mut present = lock(&self.task);
        if present.kind() != task.kind() {
            return Err(Error::InvalidValue);
        }
        // A child stays the graph that it is; its nodes are set one by one.
        if matches!(
            task.kind(),
            TaskKind::Child | TaskKind::Conditional | TaskKind::Allocate | TaskKind::Free
        ) {
            return Err(Error::NotSupported);
        }
        *present = task;
        drop(present);
        *lock(&self.attachment) = None;
        Ok(())
    }

    /// What kernels change it by, if they may.
    pub fn updatable(&self) -> Option<Arc<Updatable>> {
        lock(&self.updatable).clone()
    }

    /// Lets kernels change it, if it is a kernel, which cannot be taken back: the handle that they know it by.
    pub fn make_updatable(&self, context: &crate::Context) -> Result<u64> {
        if !matches!(self.task(), Task::Kernel(_)) {
            return Err(Error::InvalidValue);
        }
        let mut updatable = lock(&self.updatable);
        Ok(updatable.get_or_insert_with(|| context.new_updatable()).handle())
    }

    /// Keeps something of the C library's.
    pub fn attach(&self, attachment: Attachment) {
        *lock(&self.attachment) = Some(attachment);
    }

    /// What the C library has kept.
    pub fn attachment(&self) -> Option<Attachment> {
        lock(&self.attachment).clone()
    }
}

/// A graph.
pub struct Graph {
    id: Id,
    /// How many graphs it lies in.
    pub(super) depth: usize,
    /// Whether it is the body of a conditional node.
    pub(super) body: bool,
    pub(super) contents: Mutex<Contents>,
    pub(super) conditions: Conditions,
    /// What the program keeps alive with it, and how many references to each are the graph's.
    pub(super) objects: Mutex<Vec<(Arc<UserObject>, usize)>>,
}

/// What conditional nodes may decide by: those of a graph and of the bodies in it alike.
pub(super) type Conditions = Arc<Mutex<Vec<Arc<Condition>>>>;

#[derive(Default)]
pub(super) struct Contents {
    pub(super) nodes: BTreeMap<Id, Links>,
    /// In a clone: the copy of each node of the graph that was cloned.
    pub(super) copies: HashMap<Id, Id>,
    /// Is there as long as what it was last instantiated as.
    pub(super) instance: Weak<()>,
}

pub(super) struct Links {
    pub(super) node: Arc<Node>,
    pub(super) before: Vec<(Id, EdgeData)>,
    pub(super) after: Vec<(Id, EdgeData)>,
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Graph {}", self.id.0)
    }
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Arc<Self> {
        Self::inside(0, false, Conditions::default())
    }

    pub(super) fn inside(depth: usize, body: bool, conditions: Conditions) -> Arc<Self> {
        let (contents, objects) = (Mutex::default(), Mutex::default());
        Arc::new(Self { id: Id::next(), depth, body, contents, conditions, objects })
    }

    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Whether it belongs to a node of another graph.
    pub fn is_nested(&self) -> bool {
        self.depth > 0
    }

    /// Whether a node is one of this graph.
    pub fn has(&self, node: &Node) -> bool {
        lock(&self.contents).nodes.contains_key(&node.id)
    }

    /// All nodes, in the order in which they were made.
    pub fn nodes(&self) -> Vec<Arc<Node>> {
        lock(&self.contents).nodes.values().map(|links| Arc::clone(&links.node)).collect()
    }

    /// The nodes with none before them.
    pub fn roots(&self) -> Vec<Arc<Node>> {
        let contents = lock(&self.contents);
        let roots = contents.nodes.values().filter(|links| links.before.is_empty());
        roots.map(|links| Arc::clone(&links.node)).collect()
    }

    /// All edges.
    pub fn edges(&self) -> Vec<Edge> {
        let contents = lock(&self.contents);
        let of = |links: &Links| {
            let edge = |&(to, data): &(Id, EdgeData)| Edge {
                from: Arc::clone(&links.node),
                to: Arc::clone(&contents.nodes[&to].node),
                data,
            };
            links.after.iter().map(edge).collect::<Vec<_>>()
        };
        contents.nodes.values().flat_map(of).collect()
    }

    /// The nodes right before one, or right after it.
    pub fn neighbours(&self, node: &Node, after: bool) -> Result<Vec<(Arc<Node>, EdgeData)>> {
        let contents = lock(&self.contents);
        let links = contents.nodes.get(&node.id).ok_or(Error::InvalidValue)?;
        let found = if after { &links.after } else { &links.before };
        Ok(found.iter().map(|&(id, data)| (Arc::clone(&contents.nodes[&id].node), data)).collect())
    }

    /// These nodes and all before them.
    pub(crate) fn ancestors(&self, of: Vec<Id>) -> BTreeSet<Id> {
        let contents = lock(&self.contents);
        let (mut open, mut found) = (of, BTreeSet::new());
        while let Some(id) = open.pop() {
            if let Some(links) = contents.nodes.get(&id)
                && found.insert(id)
            {
                open.extend(links.before.iter().map(|&(before, _)| before));
            }
        }
        found
    }

    /// Adds a node behind others.
    pub fn add(self: &Arc<Self>, task: Task, behind: &[(Arc<Node>, EdgeData)]) -> Result<Arc<Node>> {
        if let Task::Free(address) = &task {
            self.check_free(*address)?;
        }
        let task = match task {
            Task::Child(child) => Task::Child(child.nested(self.depth + 1, self.body)?),
            Task::Conditional(conditional) => Task::Conditional(conditional.nested(self)?),
            task => task,
        };
        let node = Node::new(self, task, None);
        let mut contents = lock(&self.contents);
        let mut before = Vec::with_capacity(behind.len());
        for (other, data) in behind {
            if !contents.nodes.contains_key(&other.id) || before.iter().any(|&(id, _)| id == other.id) {
                return Err(Error::InvalidValue);
            }
            check_edge(other, &node, *data)?;
            before.push((other.id, *data));
        }
        for (other, data) in &before {
            contents.nodes.entry(*other).and_modify(|links| links.after.push((node.id, *data)));
        }
        contents.nodes.insert(node.id, Links { node: Arc::clone(&node), before, after: Vec::new() });
        Ok(node)
    }

    /// A body of a conditional node of this graph.
    pub(super) fn new_body(&self) -> Result<Arc<Self>> {
        if self.depth + 1 > DEEPEST {
            return Err(Error::NotSupported);
        }
        Ok(Self::inside(self.depth + 1, true, Arc::clone(&self.conditions)))
    }

    /// Adds edges: all of them or none.
    pub fn connect(&self, edges: &[Edge]) -> Result<()> {
        let mut contents = lock(&self.contents);
        let mut new = BTreeSet::new();
        for edge in edges {
            let (from, to) = (edge.from.id, edge.to.id);
            let known = contents.nodes.get(&from).ok_or(Error::InvalidValue)?;
            let there = known.after.iter().any(|&(id, _)| id == to) || !new.insert((from, to));
            if there || from == to || !contents.nodes.contains_key(&to) {
                return Err(Error::InvalidValue);
            }
            check_edge(&edge.from, &edge.to, edge.data)?;
        }
        for Edge { from, to, data } in edges {
            contents.nodes.entry(from.id).and_modify(|links| links.after.push((to.id, *data)));
            contents.nodes.entry(to.id).and_modify(|links| links.before.push((from.id, *data)));
        }
        Ok(())
    }

    /// Takes edges away: all of them or none.
    pub fn disconnect(&self, edges: &[Edge]) -> Result<()> {
        let mut contents = lock(&self.contents);
        for Edge { from, to, data } in edges {
            let known = contents.nodes.get(&from.id).ok_or(Error::InvalidValue)?;
            if !known.after.contains(&(to.id, *data)) {
                return Err(Error::InvalidValue);
            }
        }
        for Edge { from, to, .. } in edges {
            contents.nodes.entry(from.id).and_modify(|links| links.after.retain(|&(id, _)| id != to.id));
            contents.nodes.entry(to.id).and_modify(|links| links.before.retain(|&(id, _)| id != from.id));
        }
        Ok(())
    }

    /// Takes a node and its edges away.
    pub fn remove(&self, node: &Node) -> Result<()> {
        // Memory that a graph allocates must be freed where it says so, and kernels may know the node.
        if matches!(node.task().kind(), TaskKind::Allocate | TaskKind::Free) || node.updatable().is_some() {
            return Err(Error::NotSupported);
        }
        let mut contents = lock(&self.contents);
        let links = contents.nodes.remove(&node.id).ok_or(Error::InvalidValue)?;
        for (other, _) in &links.before {
            contents.nodes.entry(*other).and_modify(|links| links.after.retain(|&(id, _)| id != node.id));
        }
        for (other, _) in &links.after {
            contents.nodes.entry(*other).and_modify(|links| links.before.retain(|&(id, _)| id != node.id));
        }
        Ok(())
    }

    /// The memory that its nodes allocate, and the addresses of what they free.
    pub(crate) fn memory(&self) -> (Vec<Arc<GraphAllocation>>, Vec<u64>) {
        let (mut allocated, mut freed) = (Vec::new(), Vec::new());
        for node in self.nodes() {
            match node.task() {
                Task::Allocate(allocation) => allocated.push(allocation),
                Task::Free(address) => freed.push(address),
                _ => {}
            }
        }
        (allocated, freed)
    }

    /// Whether one of its nodes allocates the memory at an address.
    pub(crate) fn allocates(&self, address: u64) -> bool {
        self.memory().0.iter().any(|allocation| allocation.address() == address)
    }

    /// That there is memory to free, and that what the graph allocates is freed once only.
    fn check_free(&self, address: u64) -> Result<()> {
        if address == 0 {
            return Err(Error::InvalidValue);
        }
        let freed = |node: &Arc<Node>| matches!(node.task(), Task::Free(other) if other == address);
        if self.nodes().iter().any(freed) { Err(Error::InvalidValue) } else { Ok(()) }
    }

    /// How many graphs lie in one another here.
    pub(super) fn height(&self) -> usize {
        let of =
            |node: &Arc<Node>| node.task().graphs().iter().map(|graph| graph.height() + 1).max().unwrap_or(0);
        self.nodes().iter().map(of).max().unwrap_or(0)
    }

    /// Whether it allocates or frees memory.
    pub(crate) fn has_memory(&self) -> bool {
        let of = |node: &Arc<Node>| {
            let task = node.task();
            matches!(task.kind(), TaskKind::Allocate | TaskKind::Free)
                || task.graphs().iter().any(|graph| graph.has_memory())
        };
        self.nodes().iter().any(of)
    }

    /// Whether kernels may change one of its nodes.
    pub(super) fn has_updatable(&self) -> bool {
        let of = |node: &Arc<Node>| {
            node.updatable().is_some() || node.task().graphs().iter().any(|graph| graph.has_updatable())
        };
        self.nodes().iter().any(of)
    }

    /// A new value for conditional nodes of this graph, of its bodies, and of what it is a body of.
    pub fn add_condition(&self, context: &crate::Context, default: Option<u32>) -> Result<Arc<Condition>> {
        let condition = Condition::new(context, default)?;
        lock(&self.conditions).push(Arc::clone(&condition));
        Ok(condition)
    }

    /// The value with this handle.
    pub fn condition(&self, handle: u64) -> Result<Arc<Condition>> {
        let conditions = lock(&self.conditions);
        let found = conditions.iter().find(|condition| condition.handle() == handle);
        found.cloned().ok_or(Error::InvalidValue)
    }

    /// The values that its conditional nodes, and those of their bodies, decide by.
    pub(super) fn deciding(&self) -> HashSet<u64> {
        let conditional = |node: &Arc<Node>| match node.task() {
            Task::Conditional(conditional) => Some(conditional),
            _ => None,
        };
        let mut handles = HashSet::new();
        for conditional in self.nodes().iter().filter_map(conditional) {
            handles.insert(conditional.condition.handle());
            handles.extend(conditional.bodies.iter().flat_map(|body| body.deciding()));
        }
        handles
    }

    /// All graphs that lie in this one.
    pub fn inner_graphs(&self) -> Vec<Arc<Self>> {
        let mut found = Vec::new();
        for node in self.nodes() {
            for graph in node.task().graphs() {
                found.extend(graph.inner_graphs());
                found.push(graph);
            }
        }
        found
    }

    /// Takes references to an object, either from the program or new ones.
    pub fn retain(&self, object: &Arc<UserObject>, count: usize, moved: bool) -> Result<()> {
        if count == 0 {
            return Err(Error::InvalidValue);
        }
        if !moved {
            object.retain(count)?;
        }
        let mut objects = lock(&self.objects);
        match objects.iter_mut().find(|(known, _)| known.id() == object.id()) {
            Some((_, references)) => *references += count,
            None => objects.push((Arc::clone(object), count)),
        }
        Ok(())
    }

    /// Gives references up.
    pub fn release(&self, object: &Arc<UserObject>, count: usize) -> Result<()> {
        let mut objects = lock(&self.objects);
        let at =
            objects.iter().position(|(known, references)| known.id() == object.id() && *references >= count);
        let at = at.filter(|_| count > 0).ok_or(Error::InvalidValue)?;
        objects[at].1 -= count;
        if objects[at].1 == 0 {
            objects.remove(at);
        }
        drop(objects);
        object.release(count)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        for (object, count) in std::mem::take(&mut *lock(&self.objects)) {
            // The references were counted when they were taken.
            let _ = object.release(count);
        }
    }
}

/// Only kernels have points other than their end.
fn check_edge(from: &Node, to: &Node, data: EdgeData) -> Result<()> {
    let kernel = |node: &Node| node.task().kind() == TaskKind::Kernel;
    let programmatic = data.from_port > 0 || data.kind == 1;
    if data.kind > 1 || data.from_port > 2 || data.to_port > 0 || (programmatic && !kernel(from)) {
        return Err(Error::InvalidValue);
    }
    if data.kind == 1 && !kernel(to) { Err(Error::InvalidValue) } else { Ok(()) }
}
