//! Immediate dominators (Lengauer and Tarjan 1979, with simple linking).
//!
//! The iterative algorithm of Cooper, Harvey and Kennedy is shorter, but quadratic in the depth of the dominator tree: a
//! long chain of bounds checks that all leave to one place is enough. This one is O(edges · log nodes) on any graph.

/// A graph with its edges in one array: the successors of `n` are `targets[starts[n]..starts[n + 1]]`.
#[derive(Clone, Debug)]
pub struct Graph {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    /// A graph of `nodes` nodes; `edges(n, add)` adds every successor of `n`.
    pub fn new(nodes: usize, mut edges: impl FnMut(u32, &mut dyn FnMut(u32))) -> Self {
        let mut graph = Self { starts: Vec::with_capacity(nodes + 1), targets: Vec::new() };
        graph.starts.push(0);
        for node in 0..nodes as u32 {
            edges(node, &mut |target| graph.targets.push(target));
            graph.starts.push(graph.targets.len() as u32);
        }
        graph
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where edges from `node` lead.
    pub fn successors(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

const NONE: u32 = u32::MAX;

/// The nodes reachable from the root, numbered in depth-first preorder, and what the algorithm knows of each number.
struct Search {
    /// Number to node.
    node: Vec<u32>,
    /// Node to number, `NONE` if unreachable.
    number: Vec<u32>,
    /// Number to the number of its parent in the depth-first tree.
    parent: Vec<u32>,
    /// Number to the least number that reaches it through higher numbers only.
    semi: Vec<u32>,
    /// The forest of linked numbers: the ancestor, `NONE` for a root.
    ancestor: Vec<u32>,
    /// The number with the least `semi` on the compressed path to the ancestor.
    label: Vec<u32>,
    /// Scratch of `evaluate`.
    path: Vec<u32>,
}

impl Search {
    fn new(graph: &Graph, root: u32) -> Self {
        let mut number = vec![NONE; graph.nodes()];
        let (mut node, mut parent) = (vec![root], vec![NONE]);
        number[root as usize] = 0;
        // Number of a node on the current path, and which of its edges is next.
        let mut stack = vec![(0, 0)];
        while let Some((from, edge)) = stack.last_mut() {
            let Some(&next) = graph.successors(node[*from as usize]).get(*edge) else {
                stack.pop();
                continue;
            };
            *edge += 1;
            if number[next as usize] == NONE {
                let new = node.len() as u32;
                number[next as usize] = new;
                node.push(next);
                parent.push(*from);
                stack.push((new, 0));
            }
        }
        let count = node.len() as u32;
        Self {
            node,
            number,
            parent,
            semi: (0..count).collect(),
            ancestor: vec![NONE; count as usize],
            label: (0..count).collect(),
            path: Vec::new(),
        }
    }

    /// The number with the least `semi` on the path from `v` up to, but without, the root of its tree in the forest.
    fn evaluate(&mut self, v: u32) -> u32 {
        let mut top = v;
        while self.ancestor[top as usize] != NONE
            && self.ancestor[self.ancestor[top as usize] as usize] != NONE
        {
            self.path.push(top);
            top = self.ancestor[top as usize];
        }
        while let Some(v) = self.path.pop() {
            let above = self.ancestor[v as usize] as usize;
            let candidate = self.label[above];
            if self.semi[candidate as usize] < self.semi[self.label[v as usize] as usize] {
                self.label[v as usize] = candidate;
            }
            self.ancestor[v as usize] = self.ancestor[above];
        }
        self.label[v as usize]
    }
}

/// The immediate dominator of every node on paths from `root`; `None` for the root and for nodes it does not reach.
pub fn immediate_dominators(graph: &Graph, root: u32) -> Vec<Option<u32>> {
    let mut search = Search::new(graph, root);
    let count = search.node.len();
    let reversed = reverse(graph, &search);

    let mut dominator = vec![0; count];
    // The numbers whose semidominator is the index, as linked lists.
    let (mut bucket, mut next_in_bucket) = (vec![NONE; count], vec![NONE; count]);
    for w in (1..count as u32).rev() {
        for &v in reversed.successors(w) {
            let u = search.evaluate(v);
            search.semi[w as usize] = search.semi[w as usize].min(search.semi[u as usize]);
        }
        let semi = search.semi[w as usize] as usize;
        next_in_bucket[w as usize] = std::mem::replace(&mut bucket[semi], w);
        let parent = search.parent[w as usize];
        search.ancestor[w as usize] = parent;
        let mut v = std::mem::replace(&mut bucket[parent as usize], NONE);
        while v != NONE {
            let u = search.evaluate(v);
            // If `u` has a lower semidominator, both have the same dominator, which is found below.
            dominator[v as usize] =
                if search.semi[u as usize] < search.semi[v as usize] { u } else { parent };
            v = next_in_bucket[v as usize];
        }
    }
    for w in 1..count {
        if dominator[w] != search.semi[w] {
            dominator[w] = dominator[dominator[w] as usize];
        }
    }

    let mut result = vec![None; graph.nodes()];
    for w in 1..count {
        result[search.node[w] as usize] = Some(search.node[dominator[w] as usize]);
    }
    result
}

/// Dominators as a tree, to ask whether one node dominates another.
#[derive(Clone, Debug)]
pub struct DominatorTree {
    /// The reachable nodes, each after its dominators.
    pub order: Vec<u32>,
    /// For each node its place in `order` and the place after the last node that it dominates; an empty range if it is
    /// unreachable.
    spans: Vec<(u32, u32)>,
}

impl DominatorTree {
    /// The tree of immediate dominators of nodes on paths from `root`.
    pub fn new(dominators: &[Option<u32>], root: u32) -> Self {
        let mut children: Vec<(u32, u32)> =
            (0..).zip(dominators).filter_map(|(node, dominator)| Some(((*dominator)?, node))).collect();
        children.sort_unstable();
        let edges: Vec<u32> = children.iter().map(|&(_, child)| child).collect();
        let mut starts = vec![0; dominators.len() + 1];
        children.iter().for_each(|&(dominator, _)| starts[dominator as usize + 1] += 1);
        (0..dominators.len()).for_each(|node| starts[node + 1] += starts[node]);
        let tree = Graph { starts, targets: edges };

        let Search { node: order, parent, .. } = Search::new(&tree, root);
        let mut sizes = vec![1; order.len()];
        for place in (1..order.len()).rev() {
            sizes[parent[place] as usize] += sizes[place];
        }
        let mut spans = vec![(0, 0); dominators.len()];
        for (place, &node) in order.iter().enumerate() {
            spans[node as usize] = (place as u32, place as u32 + sizes[place]);
        }
        Self { order, spans }
    }

    /// The place in `order` of a reachable node.
    pub fn place(&self, node: u32) -> u32 {
        self.spans[node as usize].0
    }

    /// One past the last place in `order` of a node that `node` dominates.
    pub fn end(&self, node: u32) -> usize {
        self.spans[node as usize].1 as usize
    }

    /// Whether every path to `node` passes through `dominator`; both are reachable. A node dominates itself.
    pub fn dominates(&self, dominator: u32, node: u32) -> bool {
        let (first, end) = self.spans[dominator as usize];
        (first..end).contains(&self.spans[node as usize].0)
    }
}

/// The dominance frontier of every node: where paths that pass through it meet others that do not. `predecessors` are
/// those of the reachable nodes. `None` if there are more than `limit` entries in all.
pub(crate) fn frontiers(
    predecessors: &Graph,
    dominators: &[Option<u32>],
    mut limit: usize,
) -> Option<Vec<Vec<u32>>> {
    let mut frontiers: Vec<Vec<u32>> = vec![vec![]; predecessors.nodes()];
    for node in 0..predecessors.nodes() as u32 {
        for &predecessor in predecessors.successors(node) {
            let mut runner = Some(predecessor);
            // What the runner finds done was done from another predecessor, up to the end.
            while let Some(from) = runner.filter(|_| runner != dominators[node as usize])
                && frontiers[from as usize].last() != Some(&node)
            {
                limit = limit.checked_sub(1)?;
                frontiers[from as usize].push(node);
                runner = dominators[from as usize];
            }
        }
    }
    Some(frontiers)
}

/// The edges between reachable nodes, reversed, in numbers.
fn reverse(graph: &Graph, search: &Search) -> Graph {
    let count = search.node.len();
    let edges = || {
        let from = search.node.iter().enumerate();
        from.flat_map(|(from, &node)| graph.successors(node).iter().map(move |&to| (from as u32, to)))
    };
    let mut starts = vec![0; count + 1];
    for (_, to) in edges() {
        starts[search.number[to as usize] as usize + 1] += 1;
    }
    for i in 0..count {
        starts[i + 1] += starts[i];
    }
    let mut fill = starts.clone();
    let mut targets = vec![0; starts[count] as usize];
    for (from, to) in edges() {
        let place = &mut fill[search.number[to as usize] as usize];
        targets[*place as usize] = from;
        *place += 1;
    }
    Graph { starts, targets }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random (xorshift).
    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    /// The nodes that a search from the root finds when it may not enter `removed`.
    fn reached(graph: &Graph, removed: Option<u32>) -> Vec<bool> {
        let mut reached = vec![false; graph.nodes()];
        let mut pending: Vec<u32> = if removed == Some(0) { vec![] } else { vec![0] };
        while let Some(node) = pending.pop() {
            if !std::mem::replace(&mut reached[node as usize], true) {
                pending.extend(graph.successors(node).iter().filter(|&&next| Some(next) != removed));
            }
        }
        reached
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for round in 0..2000 {
            let nodes = 1 + random(&mut state) as u32 % 14;
            let density = 1 + round % 4;
            let graph = Graph::new(nodes as usize, |_, add| {
                for _ in 0..random(&mut state) % (density + 1) {
                    add(random(&mut state) as u32 % nodes);
                }
            });
            let reachable = reached(&graph, None);
            // `by_definition[d][n]`: every path to `n` passes through `d`.
            let by_definition: Vec<Vec<bool>> = (0..nodes)
                .map(|d| {
                    let without = reached(&graph, Some(d));
                    (0..nodes as usize).map(|n| reachable[n] && !without[n]).collect()
                })
                .collect();

            let found = immediate_dominators(&graph, 0);
            let tree = DominatorTree::new(&found, 0);
            for n in 0..nodes as usize {
                let strict: Vec<u32> =
                    (0..nodes).filter(|&d| d as usize != n && by_definition[d as usize][n]).collect();
                // The immediate one is the strict dominator that all the others dominate.
                let immediate = strict.iter().copied().find(|&candidate| {
                    strict.iter().all(|&other| by_definition[other as usize][candidate as usize])
                });
                assert_eq!(found[n], immediate, "round {round}, node {n}");
                for d in (0..nodes).filter(|&d| reachable[n] && reachable[d as usize]) {
                    assert_eq!(tree.dominates(d, n as u32), by_definition[d as usize][n]);
                }
            }
            let place = |node: u32| tree.order.iter().position(|&n| n == node);
            for (node, dominator) in (0..nodes).filter_map(|n| Some((n, found[n as usize]?))) {
                assert!(place(dominator) < place(node));
            }
        }
    }

    #[test]
    fn long_chains_that_meet_are_not_quadratic() {
        // Each link of the chain also goes to a node of its own, which the root reaches too.
        let links = 200_000;
        let graph = Graph::new(2 * links as usize, |node, add| {
            if node < links {
                add(node + links);
                if node + 1 < links {
                    add(node + 1);
                }
            }
            if node == 0 {
                (links..2 * links).for_each(add);
            }
        });
        let dominators = immediate_dominators(&graph, 0);
        assert!((links..2 * links).all(|node| dominators[node as usize] == Some(0)));
        assert!((1..links).all(|node| dominators[node as usize] == Some(node - 1)));
    }
}
