//! Where the lanes of a row part, what they must not lose while others run, and so of which class each register is.
//!
//! A branch is divergent if its predicate varies. Lanes that go one way wait while others go the other way, up to the
//! block where all paths meet again (the branch's nearest post-dominator). While a block of one arm runs, the registers
//! that are live in a block of the other arm, or where they meet, belong to lanes that wait: there a write must blend, and
//! a register with such a write cannot be uniform. Every other write may go to all lanes, since nobody reads what is in
//! those that are not active. So values in one definition cost no blending, and the counter of a loop is a scalar even
//! where lanes that left the function no longer take part.
//!
//! A block that does nothing but end the thread is no arm: lanes that go there are dead, and the rest go on as one.
//!
//! A register's slot is of the class that all its definitions have in common. A read may know better, by the definitions that reach
//! it: the counter of a loop that starts as a copy of what is a zero here and a sum elsewhere, the thread's number in the register of
//! a loop's counter ([`crate::flow`]). Not so where only some lanes run, since what others have done meanwhile is in the slot, too.

use crate::class::{ALL_ZERO, Class, Known, Rows, UNIFORM};
use crate::flow::Flow;
use crate::linear::Linears;
use crate::order::{Order, successors};
use ir::instruction::Op;
use ir::{Access, BlockId, Cfg, Function, Liveness};
use ptx::module::{RegId, Variable};
use ptx::types::StateSpace;
use std::collections::HashMap;

/// A set of small numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub(crate) fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    pub(crate) fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub(crate) fn remove(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(all, more)| *all |= more);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len() * 64).filter(|&at| self.has(at))
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Divergence {
    pub(crate) classes: Vec<Class>,
    /// See [`Known::zeros`].
    zeros: Vec<u32>,
    /// What reaches each block.
    flow: Flow,
    /// What each instruction computes, before its guard is looked at.
    results: Vec<Class>,
    /// Reads that find a step from lane to lane in a slot that varies.
    pub(crate) steps: HashMap<(u32, RegId), i64>,
    /// See [`Known::has_local`].
    has_local: bool,
    /// Blocks that only a part of the live lanes may run.
    pub(crate) divergent: Vec<bool>,
    /// For each block those where lanes may wait when its turn is over: all that lie between where the same lanes part and where
    /// they meet. In other divergent blocks there is nobody then, and what follows them is not where lanes meet.
    pub(crate) beside: Vec<Bits>,
    /// For each block the registers whose old values lanes that wait may need.
    kept: Vec<Bits>,
    /// Blocks that do nothing but end the thread.
    pub(crate) ends: Vec<bool>,
}

impl Divergence {
    pub(crate) fn new(
        function: &Function<'_>,
        cfg: &Cfg,
        order: &Order,
        live: &Liveness,
        linears: &Linears,
        rows: Rows,
    ) -> Self {
        let (blocks, registers) = (cfg.blocks.len(), function.body.registers.len());
        let live_in: Vec<Bits> = (0..blocks)
            .map(|block| {
                let mut bits = Bits::new(registers);
                live.live_in(BlockId(block as u32)).for_each(|register| bits.add(register.index()));
                bits
            })
            .collect();
        let ends = (0..blocks).map(|block| only_ends(function, cfg, block)).collect();
        let mut this = Self {
            classes: vec![Class::Unknown; registers],
            zeros: vec![ALL_ZERO; registers],
            flow: Flow::new(function, cfg),
            results: vec![Class::Unknown; function.instructions.len()],
            steps: HashMap::new(),
            has_local: has_local(function),
            divergent: vec![false; blocks],
            beside: vec![Bits::new(blocks); blocks],
            kept: vec![Bits::new(registers); blocks],
            ends,
        };
        // A register that is read before it is written is zero.
        live_in[0].iter().for_each(|register| this.classes[register] = UNIFORM);
        this.flow.begin(&this.classes);
        let meets = this.meeting_points(cfg, order);
        let mut parted = vec![false; blocks];
        loop {
            let mut changed = this.classify(function, cfg, order, linears, rows);
            for &block in &order.blocks {
                if !parted[block] && this.parts(function, cfg, block) {
                    parted[block] = true;
                    changed = true;
                    this.part(cfg, block, meets[block], &live_in);
                }
            }
            if !changed {
                return this;
            }
        }
    }

    /// What an instruction computes, before its guard is looked at.
    pub(crate) fn result(&self, index: u32) -> Class {
        self.results[index as usize]
    }

    /// Whether a write to a register in a block must leave the lanes alone that are not active.
    pub(crate) fn blends(&self, block: usize, register: RegId) -> bool {
        self.kept[block].has(register.index())
    }

    /// Whether lanes part at the end of a block, to go on in different places.
    fn parts(&self, function: &Function<'_>, cfg: &Cfg, block: usize) -> bool {
        let last = cfg.blocks[block].end.wrapping_sub(1);
        let going_on = successors(cfg, block).filter(|&to| !self.ends[to]).count();
        going_on > 1 && last >= cfg.blocks[block].first && self.varies(function, last)
    }

    /// Whether the guard of an instruction varies, or the index of a switch.
    pub(crate) fn varies(&self, function: &Function<'_>, index: u32) -> bool {
        let Some(instruction) = function.instruction(index) else { return false };
        let varies = |register: RegId| {
            self.classes[register.index()] == Class::Varying && !self.steps.contains_key(&(index, register))
        };
        let is_switch = matches!(&instruction.op, Op::BrxIdx(_));
        is_switch || instruction.guard.is_some_and(|guard| varies(guard.register))
    }

    /// One round over all definitions; whether anything is known less well now.
    fn classify(
        &mut self,
        function: &Function<'_>,
        cfg: &Cfg,
        order: &Order,
        linears: &Linears,
        rows: Rows,
    ) -> bool {
        let types = |register: RegId| function.body.registers[register.index()].ty;
        let mut changed = false;
        // What is known of each register at the instruction.
        let (mut classes, mut zeros) = (self.classes.clone(), self.zeros.clone());
        self.steps.clear();
        for &block in &order.blocks {
            let together = !self.divergent[block];
            match together {
                true => self.flow.enter(block, &self.classes, &mut classes, &mut zeros),
                false => self.flow.forget((&self.classes, &self.zeros), &mut classes, &mut zeros),
            }
            for index in cfg.blocks[block].first..cfg.blocks[block].end {
                let Some(instruction) = function.instruction(index) else { continue };
                let known = Known {
                    rows,
                    registers: &classes,
                    zeros: &zeros,
                    types: &types,
                    has_local: self.has_local,
                };
                let mut class = known.result(&instruction.op);
                let fewer = known.zeros(&instruction.op);
                changed |= self.results[index as usize] != class;
                self.results[index as usize] = class;
                let guard = instruction.guard.map(|guard| classes[guard.register.index()]);
                let mut results = Vec::new();
                instruction.registers(&mut |register, access| {
                    if access != Access::Read {
                        results.push(register);
                    }
                    if access != Access::Write
                        && self.classes[register.index()] == Class::Varying
                        && let Class::Affine(stride) = classes[register.index()]
                    {
                        self.steps.insert((index, register), stride);
                    }
                });
                if guard == Some(Class::Unknown) {
                    class = Class::Unknown;
                }
                for register in results {
                    let at = register.index();
                    // Without a slot there is nothing that lanes which wait could lose.
                    let blends = !linears.has(register)
                        && (guard == Some(Class::Varying) || self.blends(block, register));
                    let narrow = types(register).bits() < 32 || types(register).bits() > 64;
                    let class = match class {
                        _ if blends => Class::Varying,
                        Class::Affine(stride) if stride != 0 && narrow => Class::Varying,
                        Class::Bent { .. } | Class::Scaled { .. } if types(register).bits() != 64 => {
                            Class::Varying
                        }
                        class => class,
                    };
                    let class = linears.of(register).map_or(class, |linear| linear.class());
                    let joined = self.classes[at].join(class);
                    let least = self.zeros[at].min(fewer);
                    changed |= joined != self.classes[at] || least != self.zeros[at];
                    (self.classes[at], self.zeros[at]) = (joined, least);
                    (classes[at], zeros[at]) = match (together && self.flow.follows(register), guard) {
                        (false, _) => (joined, least),
                        (true, None) => (class, fewer),
                        // What was there may still be.
                        (true, Some(_)) => (classes[at].join(class), zeros[at].min(fewer)),
                    };
                    classes[at] = self.flow.readable(classes[at], joined);
                }
            }
            for to in successors(cfg, block) {
                changed |= self.flow.leave(to, &classes, &zeros);
            }
        }
        changed
    }

    /// Marks what follows from lanes parting at the end of a block.
    fn part(&mut self, cfg: &Cfg, block: usize, meet: Option<usize>, live_in: &[Bits]) {
        let arms: Vec<Bits> =
            successors(cfg, block).filter(|&to| !self.ends[to]).map(|to| self.reach(cfg, to, meet)).collect();
        let needs = |arm: &Bits| {
            let mut needed = Bits::new(self.classes.len());
            arm.iter().chain(meet).for_each(|at| needed.extend(&live_in[at]));
            needed
        };
        let needed: Vec<Bits> = arms.iter().map(needs).collect();
        let mut between = Bits::new(cfg.blocks.len());
        arms.iter().for_each(|arm| between.extend(arm));
        for at in between.iter().chain([block]) {
            self.beside[at].extend(&between);
        }
        for (this, arm) in arms.iter().enumerate() {
            for at in arm.iter() {
                self.divergent[at] = true;
                for (other, needed) in needed.iter().enumerate() {
                    if other != this {
                        self.kept[at].extend(needed);
                    }
                }
            }
        }
    }

    /// The blocks from one on to where paths meet.
    fn reach(&self, cfg: &Cfg, from: usize, meet: Option<usize>) -> Bits {
        let mut reached = Bits::new(cfg.blocks.len());
        let mut pending = vec![from];
        while let Some(block) = pending.pop() {
            if Some(block) == meet || reached.has(block) || self.ends[block] {
                continue;
            }
            reached.add(block);
            pending.extend(successors(cfg, block));
        }
        reached
    }

    /// For each block the nearest one that all paths from it pass, those left out that only end the thread.
    fn meeting_points(&self, cfg: &Cfg, order: &Order) -> Vec<Option<usize>> {
        let count = cfg.blocks.len();
        // The blocks on all paths from each, by iteration: a block's own number and what its successors agree on.
        let all = {
            let mut all = Bits::new(count);
            (0..count).for_each(|at| all.add(at));
            all
        };
        let mut passed = vec![all; count];
        // From a loop that is only left to end, lanes go nowhere else: whatever comes behind it, none of them gets there.
        let mut goes_on = vec![false; count];
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.blocks.iter().rev() {
                let mut behind = successors(cfg, block).filter(|&to| !self.ends[to]).peekable();
                if !goes_on[block] && (behind.peek().is_none() || behind.any(|to| goes_on[to])) {
                    goes_on[block] = true;
                    changed = true;
                }
            }
        }
        let only_ends = |block: usize| !goes_on[block] && successors(cfg, block).any(|to| self.ends[to]);
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.blocks.iter().rev() {
                let mut common: Option<Bits> = None;
                for to in successors(cfg, block).filter(|&to| !self.ends[to]) {
                    let next = &passed[to];
                    match &mut common {
                        None => common = Some(next.clone()),
                        Some(common) => common.0.iter_mut().zip(&next.0).for_each(|(a, b)| *a &= b),
                    }
                }
                let leaves = cfg.blocks[block].successors.is_empty() || only_ends(block);
                let mut new = common.filter(|_| !leaves).unwrap_or_else(|| Bits::new(count));
                new.add(block);
                if new != passed[block] {
                    passed[block] = new;
                    changed = true;
                }
            }
        }
        // Of those the nearest is passed by none of the others: it has the most blocks behind it.
        let nearest = |block: usize| {
            let others = passed[block].iter().filter(|&at| at != block && order.place[at].is_some());
            others.max_by_key(|&at| passed[at].iter().count())
        };
        (0..count).map(|block| order.place[block].and_then(|_| nearest(block))).collect()
    }
}

/// Whether threads have memory of their own whose address can be a generic one.
fn has_local(function: &Function<'_>) -> bool {
    let own = |variable: &Variable| {
        let here = variable.function.is_none_or(|owner| owner == function.id);
        here && matches!(variable.space, StateSpace::Local | StateSpace::ParamFunc)
    };
    let allocates = |instruction: &ir::Instruction| matches!(instruction.op, Op::Alloca(_));
    function.module.variables.iter().any(own) || function.instructions.iter().flatten().any(allocates)
}

/// Whether a block does nothing but end the thread.
fn only_ends(function: &Function<'_>, cfg: &Cfg, block: usize) -> bool {
    let ir::Block { first, end, ref successors, .. } = cfg.blocks[block];
    let ends = |index| {
        let instruction = function.instruction(index);
        instruction.is_some_and(|i| i.guard.is_none() && matches!(i.op, Op::Ret(_) | Op::Exit(_)))
    };
    successors.is_empty() && (first == end || (end - first == 1 && ends(first)))
}
