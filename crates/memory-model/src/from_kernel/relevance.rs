//! Which instructions of a kernel matter to memory, and which registers matter where.
//!
//! Loops that wait count how often they have looked, read the clock and sleep. Nothing of that matters: a branch between
//! ways on which nothing happens that matters is no branch. Without this a thread that waits would never be seen to do
//! the same again.

use ir::{Access, BlockId, Cfg, Function, Op};
use ptx::isa::Flow;
use ptx::module::LabelId;

/// What matters of a function.
pub(super) struct Relevance {
    /// For each instruction whether it does.
    pub(super) relevant: Vec<bool>,
    /// For each instruction that begins a block, the registers whose values may be used from there on.
    pub(super) live: Vec<Option<Vec<bool>>>,
    /// Where control goes on from a branch that does not matter.
    pub(super) meets: Vec<Option<u32>>,
}

/// Whether an instruction matters whatever becomes of its results.
fn is_effect(instruction: &ir::Instruction) -> bool {
    match &instruction.op {
        Op::Mov(_) | Op::MovPred(_) | Op::Nanosleep(_) | Op::Bra(_) | Op::BrxIdx(_) => false,
        Op::Ret(_) => instruction.guard.is_some(),
        op => !op.effects().is_pure(),
    }
}

impl Relevance {
    /// Finds out what matters.
    pub(super) fn new(function: &Function<'_>, cfg: &Cfg) -> Self {
        let count = function.instructions.len();
        let mut all =
            Self { relevant: vec![false; count], live: vec![None; count + 1], meets: vec![None; count] };
        let meeting = cfg.reconvergence();
        // For each block that ends in a branch, the blocks between it and where its ways meet.
        let between: Vec<Vec<bool>> =
            cfg.blocks.iter().zip(&meeting).map(|(block, meeting)| between(cfg, block, *meeting)).collect();
        let mut needed = vec![false; function.body.registers.len()];
        loop {
            let before = all.relevant.clone();
            let of_block: Vec<bool> = cfg
                .blocks
                .iter()
                .map(|block| (block.first..block.end).any(|at| all.relevant[at as usize]))
                .collect();
            for (id, block) in cfg.blocks.iter().enumerate() {
                for at in block.first..block.end {
                    let Some(instruction) = function.instruction(at) else { continue };
                    let branches = matches!(instruction.op.effects().flow, Flow::Branch | Flow::Switch);
                    let decides = branches && (0..of_block.len()).any(|b| between[id][b] && of_block[b]);
                    let mut wanted = false;
                    instruction.registers(&mut |register, access| {
                        wanted |= access != Access::Read && needed[register.index()];
                    });
                    if is_effect(instruction) || decides || wanted {
                        all.relevant[at as usize] = true;
                        all.meets[at as usize] = None;
                        instruction.registers(&mut |register, access| {
                            needed[register.index()] |= access != Access::Write;
                        });
                    } else if branches {
                        let next = meeting[id].map(|meeting| cfg.blocks[meeting.index()].first);
                        all.meets[at as usize] = Some(next.unwrap_or(count as u32));
                    }
                }
            }
            if before == all.relevant {
                break;
            }
        }
        all.liveness(function, cfg);
        all
    }

    fn liveness(&mut self, function: &Function<'_>, cfg: &Cfg) {
        let registers = function.body.registers.len();
        let mut into = vec![vec![false; registers]; cfg.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (id, block) in cfg.blocks.iter().enumerate().rev() {
                let mut live = vec![false; registers];
                for successor in &block.successors {
                    live.iter_mut().zip(&into[successor.index()]).for_each(|(here, there)| *here |= there);
                }
                for at in (block.first..block.end).rev() {
                    let Some(instruction) = function.instruction(at) else { continue };
                    if !self.relevant[at as usize] {
                        continue;
                    }
                    instruction.registers(&mut |register, access| {
                        live[register.index()] &= access != Access::Write;
                    });
                    instruction.registers(&mut |register, access| {
                        live[register.index()] |= access != Access::Write;
                    });
                }
                if live != into[id] {
                    into[id] = live;
                    changed = true;
                }
            }
        }
        for (block, live) in cfg.blocks.iter().zip(into) {
            self.live[block.first as usize] = Some(live);
        }
    }
}

fn between(cfg: &Cfg, block: &ir::Block, meeting: Option<BlockId>) -> Vec<bool> {
    let mut found = vec![false; cfg.blocks.len()];
    if block.successors.len() < 2 {
        return found;
    }
    let mut open: Vec<BlockId> = block.successors.clone().into_iter().collect();
    while let Some(next) = open.pop() {
        if Some(next) != meeting && !std::mem::replace(&mut found[next.index()], true) {
            open.extend(cfg.blocks[next.index()].successors.iter().copied());
        }
    }
    found
}

/// The instruction of a label.
pub(super) fn place(function: &Function<'_>, label: LabelId) -> u32 {
    function.body.labels.get(label.index()).map_or(u32::MAX, |label| label.target)
}
