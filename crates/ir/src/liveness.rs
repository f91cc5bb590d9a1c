//! Where registers are live: where a later instruction may read the value that they hold.
//!
//! A register whose every read follows a write in the same block needs no data flow at all, and most are like that.
//! The others are solved 128 at a time, one bit each in a word for every block, from the last block to the first until
//! nothing changes. Scratch memory is a few words for each block, and the answer keeps only words that are not zero. Those
//! could still be as many as blocks times registers; beyond a limit they are dropped, and the sets that
//! [`Liveness::live_in`] gives are larger than need be. Intervals are exact however large the function is.
//!
//! `.reg` parameters hold a value when the function begins, and the caller reads `.reg` return values when it ends. The
//! body does not say so, hence [`Liveness::new`] takes the function.

use crate::cfg::{BlockId, Cfg, Exit};
use crate::dominance::Graph;
use crate::instruction::Access;
use crate::lower::Function;
use ptx::module::{Param, RegId};

/// A closed range of instruction indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The first instruction.
    pub start: u32,
    /// The last instruction.
    pub end: u32,
}

impl Interval {
    /// Whether some instruction is in both.
    pub fn overlaps(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    fn cover(interval: &mut Option<Self>, instruction: u32) {
        let known = interval.get_or_insert(Self { start: instruction, end: instruction });
        known.start = known.start.min(instruction);
        known.end = known.end.max(instruction);
    }
}

/// A set of the registers that are solved together.
type Word = u128;

/// How many those are.
const BATCH: usize = Word::BITS as usize;

/// Most words that are kept: 64 MiB with their indices.
const MOST_WORDS: usize = 1 << 21;

/// Where the registers of a function are live.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    intervals: Vec<Option<Interval>>,
    /// The registers that bits stand for: bit `b` of word `w` is `crossing[BATCH * w + b]`.
    crossing: Vec<RegId>,
    /// For each block its first instruction and the words that are not zero, with their indices.
    blocks: Vec<(u32, Vec<(u32, Word)>)>,
    /// How many words there are in all; none is kept once they are more than [`MOST_WORDS`].
    words: usize,
}

/// How a block touches a register.
#[derive(Clone, Copy)]
struct Touch {
    register: RegId,
    block: BlockId,
    /// It may be read before the block writes it.
    exposed: bool,
    /// It is written, whatever it held.
    killed: bool,
}

impl Liveness {
    /// The liveness of a function with the graph of its body.
    pub fn new(function: &Function<'_>, cfg: &Cfg) -> Self {
        let mut intervals = vec![None; function.body.registers.len()];
        let touches = touches(function, cfg, &mut intervals);
        let blocks = cfg.blocks.iter().map(|block| (block.first, vec![])).collect();
        let mut liveness = Self { intervals, blocks, ..Self::default() };

        let crossing: Vec<&[Touch]> = touches
            .chunk_by(|a, b| a.register == b.register)
            .filter(|touches| touches.iter().any(|touch| touch.exposed))
            .collect();
        let mut solver = Solver::new(cfg);
        for (word, batch) in crossing.chunks(BATCH).enumerate() {
            liveness.crossing.extend(batch.iter().map(|touches| touches[0].register));
            solver.solve(batch);
            liveness.record(word as u32, &solver);
            solver.reset();
        }
        liveness
    }

    /// Takes a solved batch into the answer.
    fn record(&mut self, word: u32, solver: &Solver<'_>) {
        // What each block keeps alive at its first instruction and at its last.
        let ends = |block: usize| {
            let bounds = &solver.cfg.blocks[block];
            let last = bounds.end.saturating_sub(1).max(bounds.first);
            [(solver.states[block].live_in, bounds.first), (solver.states[block].live_out, last)]
        };
        let registers = self.crossing[BATCH * word as usize..].to_vec();
        // Only the first and the last place of each register matter.
        let mut cover = |seen: &mut Word, bits: Word, instruction: u32| {
            for bit in ones(bits & !*seen) {
                Interval::cover(&mut self.intervals[registers[bit].index()], instruction);
            }
            *seen |= bits;
        };
        let (mut from_start, mut from_end) = (0, 0);
        for block in solver.touched.iter() {
            ends(block).into_iter().for_each(|(bits, at)| cover(&mut from_start, bits, at));
        }
        for block in solver.touched.iter().rev() {
            ends(block).into_iter().rev().for_each(|(bits, at)| cover(&mut from_end, bits, at));
        }

        if self.words > MOST_WORDS {
            return;
        }
        for block in solver.touched.iter() {
            let live_in = solver.states[block].live_in;
            if live_in != 0 {
                self.blocks[block].1.push((word, live_in));
                self.words += 1;
            }
        }
        if self.words > MOST_WORDS {
            self.blocks.iter_mut().for_each(|(_, words)| *words = vec![]);
        }
    }

    /// The registers that may be read, before they are written, from the start of a block on; in very large functions
    /// also some others.
    pub fn live_in(&self, block: BlockId) -> impl Iterator<Item = RegId> + '_ {
        let exact = self.words <= MOST_WORDS;
        let (first, words) = &self.blocks[block.index()];
        let kept = words.iter().flat_map(move |&(word, bits)| {
            ones(bits).map(move |bit| self.crossing[BATCH * word as usize + bit])
        });
        let crossing = if exact { &[] } else { &self.crossing[..] };
        let possible = crossing.iter().copied().filter(move |register| {
            self.intervals[register.index()].is_some_and(|i| i.start <= *first && *first <= i.end)
        });
        kept.chain(possible)
    }

    /// The registers that are live where some block begins; all others live within blocks alone.
    pub fn crossing(&self) -> &[RegId] {
        &self.crossing
    }

    /// For each register the smallest range of instructions that covers every one which names it and every one before
    /// or after which it is live, so a loop that needs the value in its next round is covered to its end. `None` if
    /// nothing names it.
    pub fn intervals(&self) -> Vec<Option<Interval>> {
        self.intervals.clone()
    }
}

/// The positions of the ones in a word.
fn ones(mut bits: Word) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(bit)
    })
}

/// How every block touches every register, ordered by register; `intervals` gets every mention.
fn touches(function: &Function<'_>, cfg: &Cfg, intervals: &mut [Option<Interval>]) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    // The last touch of each register.
    let mut latest = vec![usize::MAX; function.body.registers.len()];
    let mut touch = |register: RegId, block: BlockId, access: Access| {
        let known = touches.get_mut(latest[register.index()]).filter(|touch| touch.block == block);
        let reads = access != Access::Write;
        match known {
            Some(touch) => {
                touch.exposed |= reads && !touch.killed;
                touch.killed |= !reads;
            }
            None => {
                latest[register.index()] = touches.len();
                touches.push(Touch { register, block, exposed: reads, killed: !reads });
            }
        }
    };
    let parameters = |params: &[Param]| -> Vec<RegId> {
        let registers = params.iter().filter_map(|param| match param {
            Param::Register(register) => Some(*register),
            Param::Memory(_) | Param::RegisterType(_) => None,
        });
        registers.collect()
    };
    let returns = parameters(&function.declaration.returns);
    for register in parameters(&function.declaration.params) {
        // The caller writes it, even if nothing reads it.
        Interval::cover(&mut intervals[register.index()], 0);
    }

    for (id, block) in (0..).map(BlockId).zip(&cfg.blocks) {
        for index in block.first..block.end {
            function.registers(index, &mut |register, access| {
                Interval::cover(&mut intervals[register.index()], index);
                touch(register, id, access);
            });
        }
        if block.exit == Some(Exit::Return) {
            for &register in &returns {
                Interval::cover(
                    &mut intervals[register.index()],
                    block.end.saturating_sub(1).max(block.first),
                );
                touch(register, id, Access::Read);
            }
        }
    }
    touches.sort_unstable_by_key(|touch| (touch.register, touch.block));
    touches
}

/// The data flow of a batch of registers.
struct Solver<'a> {
    cfg: &'a Cfg,
    predecessors: Graph,
    states: Vec<State>,
    /// The blocks that are to be looked at.
    pending: BlockSet,
    /// The blocks that hold anything, to be cleared for the next batch.
    touched: BlockSet,
}

/// What is known at a block.
#[derive(Clone, Copy, Default)]
struct State {
    exposed: Word,
    killed: Word,
    live_in: Word,
    live_out: Word,
}

/// A set of block indices.
struct BlockSet(Vec<u64>);

impl BlockSet {
    fn insert(&mut self, block: usize) {
        self.0[block / 64] |= 1 << (block % 64);
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let bits = |word: u64| (0..64).filter(move |bit| word >> bit & 1 != 0);
        let words = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(move |(index, &word)| bits(word).map(move |bit| 64 * index + bit))
    }
}

impl<'a> Solver<'a> {
    fn new(cfg: &'a Cfg) -> Self {
        let blocks = cfg.blocks.len();
        let none = || BlockSet(vec![0; blocks.div_ceil(64)]);
        let predecessors = Graph::new(blocks, |block, add| {
            cfg.blocks[block as usize].predecessors.iter().for_each(|previous| add(previous.0));
        });
        Self { cfg, predecessors, states: vec![State::default(); blocks], pending: none(), touched: none() }
    }

    fn reset(&mut self) {
        for block in self.touched.iter() {
            self.states[block] = State::default();
        }
        self.touched.0.fill(0);
    }

    /// Solves for the registers of `batch`, one bit for each.
    fn solve(&mut self, batch: &[&[Touch]]) {
        for (bit, touches) in batch.iter().enumerate() {
            for touch in *touches {
                let block = touch.block.index();
                self.states[block].exposed |= Word::from(touch.exposed) << bit;
                self.states[block].killed |= Word::from(touch.killed) << bit;
                self.touched.insert(block);
                self.pending.insert(block);
            }
        }
        // Program order is close to an order in which successors come later, so going down settles most blocks at once.
        let mut group = self.pending.0.len();
        while let Some(above) = group.checked_sub(1) {
            let Some(bit) = self.pending.0[above].checked_ilog2() else {
                group = above;
                continue;
            };
            self.pending.0[above] &= !(1 << bit);
            let block = 64 * above + bit as usize;
            let state = &mut self.states[block];
            let live_in = state.exposed | (state.live_out & !state.killed);
            if live_in == state.live_in {
                continue;
            }
            state.live_in = live_in;
            for previous in self.predecessors.successors(block as u32).iter().map(|&block| block as usize) {
                self.states[previous].live_out |= live_in;
                self.touched.insert(previous);
                self.pending.insert(previous);
                group = group.max(previous / 64 + 1);
            }
        }
    }
}
