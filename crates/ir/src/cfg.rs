//! The control-flow graph of a function body (PTX ISA, "Control Flow Instructions").
//!
//! A **block** is a run of instructions that only its last one can leave. What ends a block: `bra`, `brx.idx`, `ret`,
//! `exit`, `trap`, and calls of `.noreturn` functions. A guard on any of them adds the way to the next instruction. Other
//! calls do not end a block: the callee comes back to the same place.
//!
//! A label may stand behind the last instruction, and the last instruction may fall through; arriving there ends the
//! function as `ret` does. Where that can happen, the graph's last block is an empty one that starts and ends there.

use crate::dominance::{self, Graph};
use crate::instruction::{Instruction, Op};
use crate::lower::Function;
use crate::operand::Callees;
use ptx::isa::Flow;
use ptx::module::{LabelId, Table, TableId};
use std::collections::HashSet;

/// A block: an index into [`Cfg::blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

impl BlockId {
    /// The handle as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How control leaves a function; in the order in which [`Cfg::reconvergence`] prefers lanes to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exit {
    /// It goes back to the caller, or ends the thread of an entry: `ret`, or the end of the body.
    Return,
    /// It ends the thread: `exit`.
    Thread,
    /// It ends the thread in an error or somewhere in a callee: `trap`, or a call of a `.noreturn` function.
    Abort,
}

/// Instructions that run one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Index of the first instruction.
    pub first: u32,
    /// One past the index of the last instruction.
    pub end: u32,
    /// Where control can go from the last instruction, without duplicates; empty if it can only leave the function. A
    /// guarded branch has its target first and the next instruction second, unless they are the same.
    pub successors: Vec<BlockId>,
    /// The reachable blocks that have this one among their successors, in order. Only the entry and unreachable blocks
    /// can have none.
    pub predecessors: Vec<BlockId>,
    /// How the last instruction can leave the function. If it is guarded, there is a successor too.
    pub exit: Option<Exit>,
}

/// A function's blocks in program order; block 0 is the entry.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// The blocks, which cover the body without gap or overlap.
    pub blocks: Vec<Block>,
    /// For each instruction, and for the end of the body, its block.
    block_of: Vec<BlockId>,
}

/// What an instruction does to control when its guard holds.
enum Way<'a> {
    Next,
    Branch(LabelId),
    Switch(&'a [LabelId]),
    Leave(Exit),
}

fn way<'a>(function: &Function<'a>, instruction: &Instruction) -> Way<'a> {
    let labels = |table: TableId| match &function.body.tables[table.index()] {
        Table::Branch(labels) => Way::Switch(labels),
        Table::Call(_) => Way::Next,
    };
    match (&instruction.op, instruction.op.effects().flow) {
        (Op::Bra(bra), _) => Way::Branch(bra.target),
        (Op::BrxIdx(brx), _) => labels(brx.targets),
        (Op::Call(call), _) if function.module.functions[call.function.index()].noreturn => {
            Way::Leave(Exit::Abort)
        }
        (Op::CallIndirect(call), _) if never_returns(function, call.targets) => Way::Leave(Exit::Abort),
        (_, Flow::Return) => Way::Leave(Exit::Return),
        (_, Flow::Exit) => Way::Leave(Exit::Thread),
        (_, Flow::Trap) => Way::Leave(Exit::Abort),
        (_, Flow::Call | Flow::Next | Flow::Branch | Flow::Switch) => Way::Next,
    }
}

/// Whether no possible callee of an indirect call returns.
fn never_returns(function: &Function<'_>, callees: Callees) -> bool {
    match callees {
        Callees::Prototype(prototype) => function.body.prototypes[prototype.index()].noreturn,
        Callees::Table(table) => match &function.body.tables[table.index()] {
            Table::Call(callees) => {
                let mut all = callees.iter();
                !callees.is_empty() && all.all(|f| function.module.functions[f.index()].noreturn)
            }
            Table::Branch(_) => false,
        },
    }
}

impl Cfg {
    /// The graph of a function.
    pub fn new(function: &Function<'_>) -> Self {
        let count = function.body.instructions.len();
        let ways: Vec<_> = (0..count as u32)
            .map(|i| function.instruction(i).map_or(Way::Next, |instruction| way(function, instruction)))
            .collect();
        let leaders = leaders(function, &ways);

        let mut blocks = Vec::new();
        let mut block_of = Vec::with_capacity(count + 1);
        for (index, leads) in leaders.iter().enumerate() {
            let index = index as u32;
            if *leads {
                blocks.push(Block {
                    first: index,
                    end: index,
                    successors: vec![],
                    predecessors: vec![],
                    exit: None,
                });
            }
            let last = blocks.len() as u32 - 1;
            block_of.push(BlockId(last));
            if let Some(block) = blocks.last_mut()
                && (index as usize) < count
            {
                block.end = index + 1;
            }
        }

        let mut graph = Self { blocks, block_of };
        graph.connect(function, &ways);
        graph
    }

    /// Fills in the edges.
    fn connect(&mut self, function: &Function<'_>, ways: &[Way<'_>]) {
        // The last block that has each block as a successor so far.
        let mut seen = vec![u32::MAX; self.blocks.len()];
        for block in 0..self.blocks.len() as u32 {
            let Block { first, end, .. } = self.blocks[block as usize];
            if first == end {
                self.blocks[block as usize].exit = Some(Exit::Return);
                continue;
            }
            let mut successors = Vec::new();
            let add = |to: BlockId| {
                if seen[to.index()] != block {
                    seen[to.index()] = block;
                    successors.push(to);
                }
            };
            let way = &ways[end as usize - 1];
            let exit = self.leads(function, way, is_guarded(function, end - 1), end, add);
            self.blocks[block as usize].successors = successors;
            self.blocks[block as usize].exit = exit;
        }
        let mut reached = vec![false; self.blocks.len()];
        reached[0] = true;
        let mut pending = vec![BlockId(0)];
        while let Some(block) = pending.pop() {
            for &next in &self.blocks[block.index()].successors {
                if !reached[next.index()] {
                    reached[next.index()] = true;
                    pending.push(next);
                }
            }
        }
        for block in (0..self.blocks.len()).filter(|&block| reached[block]) {
            for edge in 0..self.blocks[block].successors.len() {
                let to = self.blocks[block].successors[edge];
                self.blocks[to.index()].predecessors.push(BlockId(block as u32));
            }
        }
    }

    /// Shows where a block's last instruction leads, the block ending at `end`: its successors in order, perhaps with
    /// duplicates, and how it leaves the function.
    fn leads(
        &self,
        function: &Function<'_>,
        way: &Way<'_>,
        guarded: bool,
        end: u32,
        mut show: impl FnMut(BlockId),
    ) -> Option<Exit> {
        let target = |label: LabelId| self.block_of(function.body.labels[label.index()].target);
        match way {
            Way::Next => show(self.block_of(end)),
            Way::Branch(label) => show(target(*label)),
            Way::Switch(labels) => labels.iter().for_each(|label| show(target(*label))),
            Way::Leave(_) => {}
        }
        if guarded {
            show(self.block_of(end));
        }
        match way {
            Way::Leave(exit) => Some(*exit),
            Way::Next | Way::Branch(_) | Way::Switch(_) => None,
        }
    }

    /// Whether a block leads where it would if it ended with `last`, or with nothing.
    pub(crate) fn ends_with(
        &self,
        function: &Function<'_>,
        block: BlockId,
        last: Option<&Instruction>,
    ) -> bool {
        let known = &self.blocks[block.index()];
        if known.first == known.end {
            return last.is_none();
        }
        let way = last.map_or(Way::Next, |last| way(function, last));
        let guarded = last.is_some_and(|last| last.guard.is_some());
        let (mut successors, mut seen) = (Vec::new(), HashSet::new());
        let exit = self.leads(function, &way, guarded, known.end, |to| {
            if seen.insert(to) {
                successors.push(to);
            }
        });
        exit == known.exit && successors == known.successors
    }

    /// The block of an instruction. The index one past the last instruction is in the last block.
    pub fn block_of(&self, instruction: u32) -> BlockId {
        self.block_of[instruction as usize]
    }

    /// Whether some path from the entry leads to a block.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        block.0 == 0 || !self.blocks[block.index()].predecessors.is_empty()
    }

    /// The immediate dominator of every block: the nearest other block that every path from the entry passes through.
    /// `None` for the entry and for unreachable blocks.
    pub fn dominators(&self) -> Vec<Option<BlockId>> {
        let graph = Graph::new(self.blocks.len(), |node, add| {
            self.blocks[node as usize].successors.iter().for_each(|to| add(to.0));
        });
        let dominators = dominance::immediate_dominators(&graph, 0);
        dominators.into_iter().map(|node| node.map(BlockId)).collect()
    }

    /// Where the lanes that part at the end of a block meet again: its immediate post-dominator, the nearest other
    /// block that every path from it to the end of the function passes through. `None` where paths only meet in
    /// leaving the function, and for unreachable blocks.
    ///
    /// Lanes that end early are not waited for, or an assertion in one arm of a branch would keep both arms apart to the
    /// end. So only the paths with the best [`Exit`] that a block can reach count, and a guarded exit counts for
    /// nothing, since its block goes on. A loop that nothing leaves has no path at all; its last block in program order
    /// is then taken to leave, so that lanes which part inside such a loop still meet.
    pub fn reconvergence(&self) -> Vec<Option<BlockId>> {
        let (ranks, leaving) = self.ranks();
        // The graph with its edges reversed; its root, the last node, stands for having left.
        let root = self.blocks.len() as u32;
        let reversed = Graph::new(self.blocks.len() + 1, |node, add| match self.blocks.get(node as usize) {
            Some(block) => {
                let same_rank = |from: &&BlockId| ranks[from.index()] == ranks[node as usize];
                block.predecessors.iter().filter(same_rank).for_each(|from| add(from.0));
            }
            None => leaving.iter().for_each(|block| add(block.0)),
        });
        let mut dominators = dominance::immediate_dominators(&reversed, root);
        dominators.truncate(self.blocks.len());
        dominators.into_iter().map(|node| node.filter(|&node| node != root).map(BlockId)).collect()
    }

    /// For each reachable block the best exit that it can reach, `None` if it is caught in a loop; and the blocks at
    /// which paths are taken to end.
    fn ranks(&self) -> (Vec<Option<Exit>>, Vec<BlockId>) {
        let mut ranks = vec![None; self.blocks.len()];
        let mut ranked = vec![false; self.blocks.len()];
        let mut leaving = Vec::new();
        let mut pending = Vec::new();
        let mut close = |from: BlockId, rank: Option<Exit>| {
            if ranked[from.index()] || !self.is_reachable(from) {
                return;
            }
            leaving.push(from);
            ranked[from.index()] = true;
            pending.push(from);
            while let Some(block) = pending.pop() {
                ranks[block.index()] = rank;
                for &previous in &self.blocks[block.index()].predecessors {
                    if !ranked[previous.index()] {
                        ranked[previous.index()] = true;
                        pending.push(previous);
                    }
                }
            }
        };
        let ids = || (0..self.blocks.len() as u32).map(BlockId);
        for exit in [Exit::Return, Exit::Thread, Exit::Abort] {
            let ends = |id: &BlockId| {
                let block = &self.blocks[id.index()];
                block.successors.is_empty() && block.exit == Some(exit)
            };
            ids().filter(ends).for_each(|block| close(block, Some(exit)));
        }
        ids().rev().for_each(|block| close(block, None));
        (ranks, leaving)
    }
}

fn is_guarded(function: &Function<'_>, index: u32) -> bool {
    function.instruction(index).is_some_and(|instruction| instruction.guard.is_some())
}

/// For each instruction and the end of the body, whether a block begins there.
fn leaders(function: &Function<'_>, ways: &[Way<'_>]) -> Vec<bool> {
    let count = ways.len();
    let mut leaders = vec![false; count + 1];
    leaders[0] = true;
    for (index, way) in ways.iter().enumerate() {
        let mut mark = |label: &LabelId| leaders[function.body.labels[label.index()].target as usize] = true;
        match way {
            Way::Next | Way::Leave(_) => {}
            Way::Branch(label) => mark(label),
            Way::Switch(labels) => labels.iter().for_each(mark),
        }
        let guarded = is_guarded(function, index as u32);
        let splits = !matches!(way, Way::Next);
        let falls_off = index + 1 == count && (!splits || guarded);
        if (splits && index + 1 < count) || falls_off {
            leaders[index + 1] = true;
        }
    }
    leaders
}
