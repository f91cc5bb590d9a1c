//! The order of what is launched on a device, and of what that launches in turn: grids (CUDA programming guide, "Dynamic
//! Parallelism", "Streams and Events"), and graphs ("Device Graph Launch").
//!
//! Whatever runs has streams of its own. What is launched into one of them comes after what was launched there before;
//! into [`Stream::FireAndForget`], after nothing; into [`Stream::Tail`], after who launches, all else that it has
//! launched, and what was launched there before. Something is complete when it has ended and all that it has launched is.
//! So a node here knows how many nodes it waits for, and which ones wait for it; a completed node is gone.
//!
//! The last tail of a node that nobody else waits for takes its place, so that a chain of tails, each launched by the one
//! before, takes no more room than one of them.

use std::collections::{HashMap, VecDeque};

/// What names a node.
pub type Id = u64;

/// What the host has launched, which began it all.
pub const ROOT: Id = 0;

/// Where something is launched to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// At once.
    FireAndForget,
    /// Behind all else.
    Tail,
    /// Behind what was launched there before.
    InOrder(InOrder),
}

/// A stream whose launches run one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InOrder {
    /// The default stream of a CTA.
    Block([u32; 3]),
    /// The default stream of a thread.
    Thread([u32; 3], u32),
    /// A stream that who launches has made.
    Made(u64),
}

/// Something launched that is not complete. It has no task once it has begun, or if it only joins others.
#[derive(Debug)]
struct Node<T> {
    parent: Option<Id>,
    task: Option<T>,
    /// Nodes that must be complete before it begins.
    needs: usize,
    /// Nodes that wait for it.
    then: Vec<Id>,
    ended: bool,
    /// What it has launched and has begun or waits in a stream.
    children: usize,
    /// What it has launched to come after that.
    tail: VecDeque<Id>,
    /// What was last launched into each of its streams.
    last: HashMap<InOrder, Id>,
    /// Whether it is in a stream of its parent's, where others may come to wait for it.
    awaited: bool,
}

/// All that is not complete.
#[derive(Debug)]
pub struct Order<T> {
    nodes: HashMap<Id, Node<T>>,
    next: Id,
    ready: VecDeque<Id>,
    waiting: usize,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        let mut order = Self { nodes: HashMap::new(), next: ROOT, ready: VecDeque::new(), waiting: 0 };
        order.add(None, None);
        order.waiting = 0;
        order
    }
}

impl<T> Order<T> {
    /// The root alone, which has begun.
    pub fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, parent: Option<Id>, task: Option<T>) -> Id {
        let id = self.next;
        let node = Node {
            parent,
            task,
            needs: 0,
            then: Vec::new(),
            ended: false,
            children: 0,
            tail: VecDeque::new(),
            last: HashMap::new(),
            awaited: parent.is_none(),
        };
        self.nodes.insert(id, node);
        self.next += 1;
        self.waiting += 1;
        id
    }

    /// Who has begun and not ended launches something; `None` as a task only joins what is before and behind it,
    /// and `point`, if that is not complete.
    pub fn submit(&mut self, parent: Id, stream: Stream, task: Option<T>, point: Option<Id>) {
        let id = self.add(Some(parent), task);
        let mut before = Vec::from_iter(point);
        let Some(launching) = self.nodes.get_mut(&parent) else { return };
        match stream {
            Stream::Tail => {
                launching.tail.push_back(id);
                return;
            }
            Stream::InOrder(stream) => before.extend(launching.last.insert(stream, id)),
            Stream::FireAndForget => {}
        }
        launching.children += 1;
        let mut needs = 0;
        for earlier in before {
            if let Some(earlier) = self.nodes.get_mut(&earlier) {
                earlier.then.push(id);
                needs += 1;
            }
        }
        match self.nodes.get_mut(&id) {
            Some(node) => (node.needs, node.awaited) = (needs, stream != Stream::FireAndForget),
            None => return,
        }
        if needs == 0 {
            self.ready.push_back(id);
        }
    }

    /// Who has launched it.
    pub fn parent(&self, id: Id) -> Option<Id> {
        self.nodes.get(&id)?.parent
    }

    /// What was last launched into a stream.
    pub fn last(&self, parent: Id, stream: InOrder) -> Option<Id> {
        self.nodes.get(&parent)?.last.get(&stream).copied()
    }

    /// The next task that may begin.
    pub fn begin(&mut self) -> Option<(Id, T)> {
        while let Some(id) = self.ready.pop_front() {
            self.waiting -= 1;
            match self.nodes.get_mut(&id).and_then(|node| node.task.take()) {
                Some(task) => return Some((id, task)),
                None => self.end(id),
            }
        }
        None
    }

    /// A task has ended: it launches nothing more.
    pub fn end(&mut self, id: Id) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.ended = true;
        }
        let mut next = Some(id);
        while let Some(id) = next.take() {
            let Some(node) = self.nodes.get_mut(&id) else { return };
            if !node.ended || node.children > 0 {
                return;
            }
            if let Some(tail) = node.tail.pop_front() {
                node.children += 1;
                let (parent, replaced) = (node.parent, node.tail.is_empty() && !node.awaited);
                if replaced {
                    self.nodes.remove(&id);
                    self.nodes.entry(tail).and_modify(|tail| tail.parent = parent);
                }
                self.ready.push_back(tail);
                return;
            }
            let Some(complete) = self.nodes.remove(&id) else { return };
            for waiting in complete.then {
                if let Some(node) = self.nodes.get_mut(&waiting) {
                    node.needs -= 1;
                    if node.needs == 0 {
                        self.ready.push_back(waiting);
                    }
                }
            }
            if let Some(parent) = complete.parent
                && let Some(node) = self.nodes.get_mut(&parent)
            {
                node.children -= 1;
                next = Some(parent);
            }
        }
    }

    /// Launches that have not begun.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether something may begin.
    pub fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether all is complete.
    pub fn complete(&self) -> bool {
        self.nodes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NULL: Stream = Stream::InOrder(InOrder::Block([0; 3]));
    const MADE: Stream = Stream::InOrder(InOrder::Made(1));

    /// Begins all that may begin.
    fn begun(order: &mut Order<char>) -> Vec<(Id, char)> {
        std::iter::from_fn(|| order.begin()).collect()
    }

    fn names(tasks: &[(Id, char)]) -> String {
        tasks.iter().map(|&(_, name)| name).collect()
    }

    #[test]
    fn streams_are_in_order_and_do_not_wait_for_one_another() {
        let mut order = Order::new();
        for (stream, name) in [(NULL, 'a'), (NULL, 'b'), (MADE, 'c'), (Stream::FireAndForget, 'd')] {
            order.submit(ROOT, stream, Some(name), None);
        }
        let first = begun(&mut order);
        assert_eq!(names(&first), "acd");
        order.end(first[0].0);
        assert_eq!(names(&begun(&mut order)), "b");
        assert_eq!(order.waiting(), 0);
    }

    #[test]
    fn tails_come_after_everything_and_their_tails_before_the_next() {
        let mut order = Order::new();
        order.submit(ROOT, Stream::Tail, Some('x'), None);
        order.submit(ROOT, Stream::Tail, Some('z'), None);
        order.submit(ROOT, NULL, Some('a'), None);
        let a = begun(&mut order);
        assert_eq!(names(&a), "a");
        order.submit(a[0].0, NULL, Some('b'), None);
        order.end(a[0].0);
        order.end(ROOT);
        let b = begun(&mut order);
        assert_eq!(names(&b), "b", "a's child is part of what the tail waits for");
        order.end(b[0].0);
        let x = begun(&mut order);
        assert_eq!(names(&x), "x");
        order.submit(x[0].0, Stream::Tail, Some('y'), None);
        order.end(x[0].0);
        let y = begun(&mut order);
        assert_eq!(names(&y), "y");
        order.end(y[0].0);
        let z = begun(&mut order);
        assert_eq!(names(&z), "z");
        assert!(!order.complete());
        order.end(z[0].0);
        assert!(order.complete());
    }

    #[test]
    fn a_stream_waits_for_the_point_of_another() {
        let mut order = Order::new();
        order.submit(ROOT, NULL, Some('a'), None);
        let point = order.last(ROOT, InOrder::Block([0; 3]));
        order.submit(ROOT, MADE, None, point);
        order.submit(ROOT, MADE, Some('b'), None);
        let a = begun(&mut order);
        assert_eq!(names(&a), "a");
        order.end(a[0].0);
        assert_eq!(names(&begun(&mut order)), "b");
        // A point that has been reached is no reason to wait.
        order.submit(ROOT, Stream::InOrder(InOrder::Made(2)), None, point);
        order.submit(ROOT, Stream::InOrder(InOrder::Made(2)), Some('c'), None);
        assert_eq!(names(&begun(&mut order)), "c");
    }

    #[test]
    fn a_chain_of_tails_takes_no_room() {
        let mut order = Order::new();
        let mut last = ROOT;
        for _ in 0..1000 {
            order.submit(last, Stream::Tail, Some('n'), None);
            order.end(last);
            last = order.begin().unwrap().0;
            assert!(order.nodes.len() <= 2);
        }
        order.submit(last, Stream::FireAndForget, Some('f'), None);
        order.end(last);
        let fired = begun(&mut order);
        assert!(!order.complete());
        order.end(fired[0].0);
        assert!(order.complete());
    }

    #[test]
    fn a_long_chain_of_parents_completes_at_once() {
        let mut order = Order::new();
        let mut last = ROOT;
        for _ in 0..100_000 {
            order.submit(last, NULL, Some('n'), None);
            order.end(last);
            last = order.begin().unwrap().0;
        }
        assert!(!order.complete());
        order.end(last);
        assert!(order.complete());
    }
}
