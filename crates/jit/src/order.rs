//! Blocks in an order in which masks flow forward: every block after those that lead to it, but for the way back to a
//! loop's head, and each loop's blocks together.
//!
//! Lanes that part then wait at the blocks that they go to, and are picked up when their block's turn comes; a loop's
//! blocks are run again as long as a lane has gone back to its head.

use crate::Refusal;
use ir::Cfg;

/// Loops in loops: nobody writes more.
const MAX_NESTING: usize = 64;

/// Blocks: the analyses of control have a bit for each pair.
const MAX_BLOCKS: usize = 2048;

/// A loop: all blocks that can come back to its head.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// The only block by which it is entered.
    pub(crate) head: usize,
    /// Its places in the order: the first, and one past the last.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// The loop around it.
    pub(crate) parent: Option<usize>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Order {
    /// Reachable blocks.
    pub(crate) blocks: Vec<usize>,
    /// The place of each block, if it is reachable.
    pub(crate) place: Vec<Option<usize>>,
    pub(crate) loops: Vec<Loop>,
    /// The innermost loop around each block.
    pub(crate) loop_of: Vec<Option<usize>>,
}

impl Order {
    pub(crate) fn new(cfg: &Cfg) -> Result<Self, Refusal> {
        let count = cfg.blocks.len();
        if count > MAX_BLOCKS {
            return Err(Refusal::TooLarge { blocks: count });
        }
        let mut order = Self {
            blocks: Vec::new(),
            place: vec![None; count],
            loops: Vec::new(),
            loop_of: vec![None; count],
        };
        let mut inside = vec![false; count];
        for block in 0..count {
            inside[block] = cfg.is_reachable(ir::BlockId(block as u32));
        }
        order.arrange(cfg, &inside, 0, None, 0)?;
        for (place, &block) in order.blocks.iter().enumerate() {
            order.place[block] = Some(place);
        }
        Ok(order)
    }

    /// Appends the blocks that are `inside`, of which `entry` is the first. Edges to it are ways back.
    fn arrange(
        &mut self,
        cfg: &Cfg,
        inside: &[bool],
        entry: usize,
        around: Option<usize>,
        depth: usize,
    ) -> Result<(), Refusal> {
        if depth > MAX_NESTING {
            return Err(Refusal::Nesting);
        }
        // A way back to where the function begins makes a loop of its own.
        for component in components(cfg, inside, entry, depth > 0) {
            let again = |block: usize| successors(cfg, block).any(|to| to == block);
            let [only] = component[..] else {
                self.arrange_loop(cfg, &component, around, depth)?;
                continue;
            };
            match again(only) && !(only == entry && depth > 0) {
                true => self.arrange_loop(cfg, &component, around, depth)?,
                false => {
                    self.loop_of[only] = around;
                    self.blocks.push(only);
                }
            }
        }
        Ok(())
    }

    fn arrange_loop(
        &mut self,
        cfg: &Cfg,
        component: &[usize],
        around: Option<usize>,
        depth: usize,
    ) -> Result<(), Refusal> {
        let mut inside = vec![false; cfg.blocks.len()];
        component.iter().for_each(|&block| inside[block] = true);
        let entered = |block: usize| {
            let reached = cfg.blocks[block].predecessors.iter().any(|from| !inside[from.index()]);
            reached || block == 0
        };
        let mut heads = component.iter().copied().filter(|&block| entered(block));
        let (Some(head), None) = (heads.next(), heads.next()) else { return Err(Refusal::Irreducible) };
        let number = self.loops.len();
        self.loops.push(Loop { head, first: self.blocks.len(), end: 0, parent: around });
        self.arrange(cfg, &inside, head, Some(number), depth + 1)?;
        self.loops[number].end = self.blocks.len();
        Ok(())
    }
}

pub(crate) fn successors(cfg: &Cfg, block: usize) -> impl Iterator<Item = usize> + '_ {
    cfg.blocks[block].successors.iter().map(|to| to.index())
}

/// Strongly connected components of the blocks inside, in topological order, edges to `entry` left out if it is `headed` (Tarjan;
/// a stack of our own, since graphs are as deep as programs are long).
fn components(cfg: &Cfg, inside: &[bool], entry: usize, headed: bool) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let count = cfg.blocks.len();
    let (mut number, mut low) = (vec![UNSEEN; count], vec![UNSEEN; count]);
    let mut open = vec![false; count];
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    // A block and how many of its successors have been looked at.
    let mut path = vec![(entry, 0)];
    while let Some(&mut (block, ref mut at)) = path.last_mut() {
        if *at == 0 {
            (number[block], low[block], next) = (next, next, next + 1);
            stack.push(block);
            open[block] = true;
        }
        let follows = |to: &usize| inside[*to] && !(headed && *to == entry);
        if let Some(to) = cfg.blocks[block].successors.get(*at).map(|to| to.index()) {
            *at += 1;
            if !follows(&to) {
                // Nothing: left out. The counter must not be zero again.
            } else if number[to] == UNSEEN {
                path.push((to, 0));
            } else if open[to] {
                low[block] = low[block].min(number[to]);
            }
            continue;
        }
        path.pop();
        if let Some(&(parent, _)) = path.last() {
            low[parent] = low[parent].min(low[block]);
        }
        if low[block] == number[block] {
            let from = stack.iter().rposition(|&on| on == block).unwrap_or(0);
            let component = stack.split_off(from);
            component.iter().for_each(|&block| open[block] = false);
            found.push(component);
        }
    }
    found.reverse();
    found
}
