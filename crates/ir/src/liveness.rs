//! Where registers are live: where a later instruction may read the value that they hold.
//!
//! A register whose every read follows a write in the same block needs no data flow at all, and most are like that.
//! The others are solved 64 at a time, one bit each in a word for every block, from the last block to the first until
//! nothing changes. A set for every block and register at once would be quadratic in the body; here, scratch memory is
//! a word for each block, and the answer keeps only words that are not zero.
//!
//! `.reg` parameters hold a value when the function begins, and the caller reads `.reg` return values when it ends. The
//! body does not say so, hence [`Liveness::new`] takes the function.

use crate::access::{Access, registers};
use crate::cfg::{BlockId, Cfg, Exit};
use ptx::module::{Body, Function, Module, Param, RegId};

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

/// Where the registers of a function are live.
#[derive(Clone, Debug)]
pub struct Liveness {
    intervals: Vec<Option<Interval>>,
    /// The registers that bits stand for: bit `b` of word `w` is `registers[64 * w + b]`.
    registers: Vec<RegId>,
    /// The words of each block that are not zero, with their indices.
    live_in: Vec<Vec<(u32, u64)>>,
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
    /// The liveness of a function of `module` with the graph of its body; of nothing if it has none.
    pub fn new(module: &Module, function: &Function, cfg: &Cfg) -> Self {
        let Some(body) = &function.body else {
            return Self { intervals: vec![], registers: vec![], live_in: vec![] };
        };
        let mut intervals = vec![None; body.registers.len()];
        let touches = touches(module, function, body, cfg, &mut intervals);
        let mut liveness = Self { intervals, registers: vec![], live_in: vec![vec![]; cfg.blocks.len()] };

        let crossing: Vec<&[Touch]> = touches
            .chunk_by(|a, b| a.register == b.register)
            .filter(|touches| touches.iter().any(|touch| touch.exposed))
            .collect();
        let mut solver = Solver::new(cfg);
        for (word, batch) in crossing.chunks(64).enumerate() {
            liveness.registers.extend(batch.iter().map(|touches| touches[0].register));
            solver.solve(batch);
            liveness.record(word as u32, &solver);
            solver.reset();
        }
        liveness
    }

    /// Takes a solved batch into the answer.
    fn record(&mut self, word: u32, solver: &Solver<'_>) {
        let batch = 64 * word as usize;
        for &block in &solver.touched {
            let Solver { cfg, live_in, live_out, .. } = solver;
            let (live_in, live_out) = (live_in[block.index()], live_out[block.index()]);
            let bounds = &cfg.blocks[block.index()];
            if live_in != 0 {
                self.live_in[block.index()].push((word, live_in));
            }
            for (bits, instruction) in [(live_in, bounds.first), (live_out, bounds.end.saturating_sub(1))] {
                for bit in ones(bits) {
                    let register = self.registers[batch + bit];
                    Interval::cover(&mut self.intervals[register.index()], instruction);
                }
            }
        }
    }

    /// The registers that may be read, before they are written, from the start of a block on.
    pub fn live_in(&self, block: BlockId) -> impl Iterator<Item = RegId> + '_ {
        let words = self.live_in.get(block.index()).into_iter().flatten();
        words.flat_map(move |&(word, bits)| {
            ones(bits).map(move |bit| self.registers[64 * word as usize + bit])
        })
    }

    /// For each register the smallest range of instructions that covers every one which names it and every one before
    /// or after which it is live, so a loop that needs the value in its next round is covered to its end. `None` if
    /// nothing names it.
    pub fn intervals(&self) -> Vec<Option<Interval>> {
        self.intervals.clone()
    }
}

/// The positions of the ones in a word.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(bit)
    })
}

/// How every block touches every register, ordered by register; `intervals` gets every mention.
fn touches(
    module: &Module,
    function: &Function,
    body: &Body,
    cfg: &Cfg,
    intervals: &mut [Option<Interval>],
) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    // The last touch of each register.
    let mut latest = vec![usize::MAX; body.registers.len()];
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
    let returns = parameters(&function.returns);
    for register in parameters(&function.params) {
        // The caller writes it, even if nothing reads it.
        Interval::cover(&mut intervals[register.index()], 0);
    }

    for (id, block) in (0..).map(BlockId).zip(&cfg.blocks) {
        for index in block.first..block.end {
            registers(module, body, &body.instructions[index as usize], &mut |register, access| {
                Interval::cover(&mut intervals[register.index()], index);
                touch(register, id, access);
            });
        }
        if block.exit == Some(Exit::Return) {
            returns.iter().for_each(|&register| touch(register, id, Access::Read));
        }
    }
    touches.sort_unstable_by_key(|touch| (touch.register, touch.block));
    touches
}

/// The data flow of up to 64 registers.
struct Solver<'a> {
    cfg: &'a Cfg,
    exposed: Vec<u64>,
    killed: Vec<u64>,
    live_in: Vec<u64>,
    live_out: Vec<u64>,
    /// A bit for each block that is to be looked at.
    pending: Vec<u64>,
    /// The blocks that hold anything, to be cleared for the next batch.
    touched: Vec<BlockId>,
    is_touched: Vec<bool>,
}

impl<'a> Solver<'a> {
    fn new(cfg: &'a Cfg) -> Self {
        let blocks = cfg.blocks.len();
        Self {
            cfg,
            exposed: vec![0; blocks],
            killed: vec![0; blocks],
            live_in: vec![0; blocks],
            live_out: vec![0; blocks],
            pending: vec![0; blocks.div_ceil(64)],
            touched: Vec::new(),
            is_touched: vec![false; blocks],
        }
    }

    fn reset(&mut self) {
        for block in self.touched.drain(..).map(BlockId::index) {
            self.exposed[block] = 0;
            self.killed[block] = 0;
            self.live_in[block] = 0;
            self.live_out[block] = 0;
            self.is_touched[block] = false;
        }
    }

    fn touch(&mut self, block: BlockId) {
        if !std::mem::replace(&mut self.is_touched[block.index()], true) {
            self.touched.push(block);
        }
    }

    /// Solves for the registers of `batch`, one bit for each.
    fn solve(&mut self, batch: &[&[Touch]]) {
        for (bit, touches) in batch.iter().enumerate() {
            for touch in *touches {
                self.exposed[touch.block.index()] |= u64::from(touch.exposed) << bit;
                self.killed[touch.block.index()] |= u64::from(touch.killed) << bit;
                self.touch(touch.block);
                self.pending[touch.block.index() / 64] |= 1 << (touch.block.index() % 64);
            }
        }
        // Program order is close to an order in which successors come later, so going down settles most blocks at once.
        let mut word = self.pending.len();
        while let Some(above) = word.checked_sub(1) {
            let Some(bit) = self.pending[above].checked_ilog2() else {
                word = above;
                continue;
            };
            self.pending[above] &= !(1 << bit);
            let block = 64 * above + bit as usize;
            let live_in = self.exposed[block] | (self.live_out[block] & !self.killed[block]);
            let added = live_in & !self.live_in[block];
            if added == 0 {
                continue;
            }
            self.live_in[block] = live_in;
            for &previous in &self.cfg.blocks[block].predecessors {
                self.live_out[previous.index()] |= live_in;
                self.touch(previous);
                self.pending[previous.index() / 64] |= 1 << (previous.index() % 64);
                word = word.max(previous.index() / 64 + 1);
            }
        }
    }
}
