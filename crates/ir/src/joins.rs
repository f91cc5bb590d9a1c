//! Where paths with different definitions of a register meet: the iterated dominance frontier of its definitions (Cytron
//! and others 1991).

use crate::cfg::{BlockId, Cfg};
use crate::dominance::{self, Graph};
use ptx::module::RegId;

/// The work that joins may cost for each instruction; beyond it, registers with several definitions are given up.
const PER_INSTRUCTION: usize = 64;

/// Where paths with different definitions of registers meet.
pub(crate) struct Joins {
    /// For each block the registers of which it is true.
    pub(crate) at: Vec<Vec<RegId>>,
    /// The registers for which that was too much work to find out.
    pub(crate) too_many: Vec<bool>,
}

impl Joins {
    /// The joins of registers, each with the blocks that define it. One with a single definition needs none: above it the
    /// value is unknown anyway.
    pub(crate) fn new(
        cfg: &Cfg,
        dominators: &[Option<u32>],
        instructions: usize,
        definitions: &[impl AsRef<[BlockId]>],
    ) -> Self {
        let blocks = cfg.blocks.len();
        let mut joins = Self { at: vec![vec![]; blocks], too_many: vec![false; definitions.len()] };
        let mut limit = PER_INSTRUCTION * (instructions + 1);
        let predecessors = Graph::new(blocks, |block, add| {
            cfg.blocks[block as usize].predecessors.iter().for_each(|from| add(from.0));
        });
        let frontiers = dominance::frontiers(&predecessors, dominators, limit);
        // The last register that has a join or was found to be defined at each block.
        let (mut joined, mut pended) = (vec![usize::MAX; blocks], vec![usize::MAX; blocks]);
        let several = definitions.iter().map(AsRef::as_ref).enumerate().filter(|(_, of)| of.len() > 1);
        for (register, definitions) in several {
            let Some(frontiers) = frontiers.as_ref().filter(|_| limit > 0) else {
                joins.too_many[register] = true;
                continue;
            };
            let mut pending = Vec::new();
            for block in definitions {
                if std::mem::replace(&mut pended[block.index()], register) != register {
                    pending.push(block.0);
                }
            }
            while let Some(block) = pending.pop() {
                for &join in &frontiers[block as usize] {
                    limit = limit.saturating_sub(1);
                    if std::mem::replace(&mut joined[join as usize], register) != register {
                        joins.at[join as usize].push(RegId(register as u32));
                        if std::mem::replace(&mut pended[join as usize], register) != register {
                            pending.push(join);
                        }
                    }
                }
            }
        }
        joins
    }
}
