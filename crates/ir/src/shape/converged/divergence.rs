//! Where threads that disagreed at a branch meet, and in which loops they stay different numbers of rounds.

use crate::cfg::{BlockId, Cfg};
use crate::loops::{LoopId, Loops};
use crate::shape::Group;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The work that all branches together may cost for each block.
const WORK_PER_BLOCK: usize = 256;

/// For which threads control is the same, as far as branches have been found to part them.
#[derive(Clone, Debug)]
pub(super) struct Divergence {
    /// The blocks in reverse postorder, and the place of each.
    order: Vec<BlockId>,
    places: Vec<u32>,
    reconvergence: Vec<Option<BlockId>>,
    /// The threads that go the same way at the end of each block.
    branches: Vec<Option<Group>>,
    /// The threads that come to each block by the same edge.
    joins: Vec<Option<Group>>,
    /// The threads that leave each loop in the same round.
    exits: Vec<Option<Group>>,
    work: usize,
    given_up: bool,
}

impl Divergence {
    /// All threads together everywhere.
    pub(super) fn new(cfg: &Cfg, loops: &Loops) -> Self {
        let blocks = cfg.blocks.len();
        let order = reverse_postorder(cfg);
        let mut places = vec![u32::MAX; blocks];
        (0..).zip(&order).for_each(|(place, block)| places[block.index()] = place);
        Self {
            order,
            places,
            reconvergence: cfg.reconvergence(),
            branches: vec![Some(Group::Grid); blocks],
            joins: vec![Some(Group::Grid); blocks],
            exits: vec![Some(Group::Grid); loops.all.len()],
            work: WORK_PER_BLOCK * (blocks + 1),
            given_up: loops.irreducible,
        }
    }

    pub(super) fn order(&self) -> &[BlockId] {
        &self.order
    }

    pub(super) fn branch(&self, block: BlockId) -> Option<Group> {
        self.branches[block.index()]
    }

    /// The threads that come to a block by the same edge.
    pub(super) fn arrive_together(&self, block: BlockId) -> Option<Group> {
        if self.given_up { None } else { self.joins[block.index()] }
    }

    /// The threads that leave a loop in the same round.
    pub(super) fn leave_together(&self, id: LoopId) -> Option<Group> {
        if self.given_up { None } else { self.exits[id.index()] }
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.given_up
    }

    /// Says nothing of joins and loops any more.
    pub(super) fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Only so many threads go the same way at the end of a block. Whether that is news.
    pub(super) fn lower(&mut self, cfg: &Cfg, loops: &Loops, block: BlockId, group: Option<Group>) -> bool {
        let known = &mut self.branches[block.index()];
        if *known <= group {
            return false;
        }
        *known = group;
        if self.given_up {
            return true;
        }
        let meeting = self.reconvergence[block.index()];
        for id in loops.around(block) {
            if meeting.is_none_or(|meeting| !loops.contains(id, meeting)) {
                self.exits[id.index()] = self.exits[id.index()].min(group);
            }
        }
        self.spread(cfg, block, meeting, group);
        true
    }

    /// Lets each way from a branch carry a label, a block being a join where labels meet. From there on its own goes on.
    fn spread(&mut self, cfg: &Cfg, branch: BlockId, meeting: Option<BlockId>, group: Option<Group>) {
        let mut labels = HashMap::new();
        let mut pending = BinaryHeap::new();
        let mut give = |labels: &mut HashMap<BlockId, BlockId>,
                        pending: &mut BinaryHeap<Reverse<(u32, BlockId)>>,
                        to: BlockId,
                        label: BlockId| {
            let label = match labels.get(&to) {
                None => label,
                Some(known) if *known == label => return,
                Some(_) => {
                    self.joins[to.index()] = self.joins[to.index()].min(group);
                    to
                }
            };
            // A way may be called as the block is that it begins with.
            if labels.insert(to, label) == Some(label) {
                return;
            }
            if to != branch && Some(to) != meeting {
                pending.push(Reverse((self.places[to.index()], to)));
            }
        };
        for &to in &cfg.blocks[branch.index()].successors {
            give(&mut labels, &mut pending, to, to);
        }
        while let Some(Reverse((_, block))) = pending.pop() {
            let successors = &cfg.blocks[block.index()].successors;
            let Some(left) = self.work.checked_sub(1 + successors.len()) else {
                self.given_up = true;
                return;
            };
            self.work = left;
            let label = labels[&block];
            for &to in successors {
                give(&mut labels, &mut pending, to, label);
            }
        }
    }
}

/// The reachable blocks, each before its successors but for edges back.
fn reverse_postorder(cfg: &Cfg) -> Vec<BlockId> {
    let mut order = Vec::new();
    let mut seen = vec![false; cfg.blocks.len()];
    seen[0] = true;
    let mut path = vec![(BlockId(0), 0)];
    while let Some((block, edge)) = path.last_mut() {
        match cfg.blocks[block.index()].successors.get(*edge) {
            None => {
                order.push(*block);
                path.pop();
            }
            Some(&to) => {
                *edge += 1;
                if !std::mem::replace(&mut seen[to.index()], true) {
                    path.push((to, 0));
                }
            }
        }
    }
    order.reverse();
    order
}
