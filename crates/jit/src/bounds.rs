//! What thread numbers can be where a block runs: branches whose conditions follow from them leave only some.
//!
//! What a branch has decided about a thread stays so, since such conditions have one value in each thread. So a block knows what its
//! dominators know, and what the branch says by which alone it is reached.

use crate::class::{Rows, UNIFORM};
use crate::divergence::Divergence;
use crate::linear::{Condition, Linears, Threads, all_threads};
use crate::order::{Order, successors};
use ir::instruction::Op;
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
    /// The numbers of threads that run it.
    threads: Threads,
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
        let everywhere = Known { threads: all.clone(), rows: all.clone(), exactly: Some(all[0].clone()) };
        let mut blocks = vec![everywhere.clone(); cfg.blocks.len()];
        // Dominators come first in this order.
        for &block in &order.blocks {
            let Some(dominator) = dominators[block] else { continue };
            let mut known = blocks[dominator.index()].clone();
            let is_divergent = divergence.divergent[block];
            match cfg.blocks[block].predecessors[..] {
                [only] => {
                    let only = only.index();
                    if let Some((condition, is_uniform)) =
                        decided(function, cfg, linears, divergence, (only, block))
                    {
                        known.decide(&condition, is_uniform);
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

    /// The numbers of threads that run a block; or of all lanes of rows of which some do.
    pub(crate) fn threads(&self, block: usize, of_rows: bool) -> &Threads {
        match of_rows {
            false => &self.blocks[block].threads,
            true => &self.blocks[block].rows,
        }
    }

    /// What `%tid.x` is in the lanes that run a block, and in no other lane, if no thread has ended.
    pub(crate) fn exactly(&self, block: usize) -> Option<&RangeInclusive<i64>> {
        self.blocks[block].exactly.as_ref()
    }
}

impl Known {
    fn decide(&mut self, condition: &Condition, is_uniform: bool) {
        let exactly = self.exactly.take();
        let others = &self.threads[1..];
        let of_x = [exactly.clone().unwrap_or(0..=0), others[0].clone(), others[1].clone()];
        self.exactly = exactly.and_then(|_| match is_uniform {
            true => Some(of_x[0].clone()),
            false => condition.narrowed(&of_x).filter(|(_, is_exact)| *is_exact).map(|([x, ..], _)| x),
        });
        for (threads, decides) in [(&mut self.threads, true), (&mut self.rows, is_uniform)] {
            if decides && let Some((narrowed, _)) = condition.narrowed(threads) {
                *threads = narrowed;
            }
        }
    }
}

/// What the branch between two blocks says of the threads that take it, if it follows from their numbers, and whether it says so of all lanes of a
/// row.
fn decided(
    function: &Function<'_>,
    cfg: &Cfg,
    linears: &Linears,
    divergence: &Divergence,
    (from, to): (usize, usize),
) -> Option<(Condition, bool)> {
    let mut ways = successors(cfg, from);
    let (taken, not_taken) = (ways.next()?, ways.next()?);
    let last = function.instruction(cfg.blocks[from].end.checked_sub(1)?)?;
    let guard = last.guard.filter(|_| matches!(last.op, Op::Bra(_)) && taken != not_taken)?;
    let condition = linears.guarded(guard)?;
    let is_uniform = divergence.classes[guard.register.index()] == UNIFORM;
    Some((if to == taken { condition } else { condition.negated() }, is_uniform))
}
