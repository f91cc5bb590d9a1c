//! What the thread numbers of a row can be where some of its lanes run a block ([`Linears::threads`] are those of such lanes), and of which lanes
//! just those run it that have certain numbers.

use crate::class::{Rows, UNIFORM};
use crate::divergence::Divergence;
use crate::linear::{Condition, Linears, Threads, all_threads};
use crate::order::{Order, successors};
use ir::{Cfg, Function};
use std::ops::RangeInclusive;

/// See the module.
#[derive(Debug)]
pub(crate) struct Bounds {
    blocks: Vec<Known>,
}

/// What is known where a block runs.
#[derive(Clone, Debug)]
struct Known {
    /// The numbers of all lanes of a row of which some run it.
    rows: Threads,
    /// The lanes that run it are just those with such a `%tid.x`, if no thread has ended.
    exactly: Option<RangeInclusive<i64>>,
}

impl Bounds {
    pub(crate) fn new(
        function: &Function<'_>,
        cfg: &Cfg,
        order: &Order,
        linears: &Linears,
        divergence: &Divergence,
        rows: Rows,
    ) -> Self {
        let dominators = cfg.dominators();
        let all = all_threads(rows);
        let everywhere = Known { rows: all.clone(), exactly: Some(all[0].clone()) };
        let mut blocks = vec![everywhere.clone(); cfg.blocks.len()];
        // Dominators come first in this order.
        for &block in &order.blocks {
            let Some(dominator) = dominators[block] else { continue };
            let mut known = blocks[dominator.index()].clone();
            let is_divergent = divergence.divergent[block];
            match cfg.blocks[block].predecessors[..] {
                [only] => {
                    let only = only.index();
                    if let Some((guard, condition)) = linears.decided(function, cfg, (only, block)) {
                        let is_uniform = divergence.classes[guard.register.index()] == UNIFORM;
                        known.decide(&condition, linears.threads(block), is_uniform);
                    } else if successors(cfg, only).count() > 1 && is_divergent {
                        known.exactly = None;
                    }
                }
                _ if is_divergent => known.exactly = None,
                _ => {}
            }
            if !is_divergent {
                known.exactly = everywhere.exactly.clone();
            }
            blocks[block] = known;
        }
        Self { blocks }
    }

    /// The numbers of all lanes of rows of which some run a block.
    pub(crate) fn rows(&self, block: usize) -> &Threads {
        &self.blocks[block].rows
    }

    /// What `%tid.x` is in the lanes that run a block, and in no other lane, if no thread has ended.
    pub(crate) fn exactly(&self, block: usize) -> Option<&RangeInclusive<i64>> {
        self.blocks[block].exactly.as_ref()
    }
}

impl Known {
    /// A condition holds, in threads with such numbers.
    fn decide(&mut self, condition: &Condition, threads: &Threads, is_uniform: bool) {
        if is_uniform {
            if let Some((narrowed, _)) = condition.narrowed(&self.rows) {
                self.rows = narrowed;
            }
            return;
        }
        self.exactly = self.exactly.take().and_then(|x| condition.exactly(x, threads));
    }
}
