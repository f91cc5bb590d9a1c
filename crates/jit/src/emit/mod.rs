//! From a kernel's typed instructions to LLVM's text.
//!
//! The text is about a **row**: the threads of a CTA that run in lockstep, as many as a vector has lanes. PTX
//! registers are stack slots, which LLVM makes values of; what all lanes have in common is a scalar ([`crate::class`]). Blocks
//! stand in the order of [`crate::order`]. A block that all live lanes run together is an ordinary block; one that only some
//! run has a mask, collects those that come to it, and is skipped while the mask is empty.
//!
//! # Barriers
//!
//! At a barrier the row stores what is live in its frame, and its **turn** is over; when all rows of the CTA are there, each
//! has a turn from behind it ([`turns`]). Barriers that some lanes reach without the others are refused.
//!
//! # No access leaves the guest's memory
//!
//! Each access in the text is behind a test that the interpreter's memory would pass ([`window`]), but for parameters and variables at
//! constant offsets, which are compared with their size when the text is written, as are addresses in shared memory that follow from thread
//! numbers. What passes lies in the access's **window**:
//!
//! * In *global memory*, also that of others which kernels reach, it holds bytes that the machine says are valid
//!   ([`machine::compiled::Cta::valid_around`]). It is forgotten when bytes cease to be valid anywhere, before the next CTA and
//!   behind each call of the machine; memory that is freed meanwhile stays mapped and is given to nobody while a kernel
//!   runs, as for the interpreter.
//! * In *shared memory*, and at generic addresses of it, it is the CTA's bytes; in *local memory* those of each thread.
//!
//! A row's common address, or addresses a step apart, are tested as one, from the lowest byte to the highest; others lane by
//! lane. Any access that fails its test, and every access of another kind, is the host's ([`crate::context::Call`]), which
//! does what the interpreter does, and moves the window. What is computed is never used as an address otherwise.

mod ahead;
mod atomic;
mod barrier;
mod call;
mod carry;
mod control;
mod float;
mod functions;
mod half;
mod integer;
mod interpret;
mod logic;
mod memory;
mod scattered;
mod switch;
#[cfg(test)]
mod tests;
mod text;
mod turns;
mod values;
mod warp;
mod window;

use crate::Refusal;
use crate::bounds::Bounds;
use crate::class::Rows;
use crate::constants::{Constants, State};
use crate::divergence::Divergence;
use crate::linear::Linears;
use crate::order::Order;
use crate::phases::Phases;
use crate::sites::Site;
pub(crate) use barrier::Barrier;
pub(crate) use control::emit;
use ir::instruction::Op;
use ir::operand::Value;
use ir::{Cfg, Function, Liveness};
use machine::compiled::Source;
use ptx::isa::Convergence;
use ptx::module::VarId;
use text::{Kind, Text};
use values::Lanes;
pub(crate) use window::Span;

/// Offsets of the context's fields.
pub(crate) mod context {
    use crate::context::Context;
    use std::mem::offset_of;
    pub(crate) const WINDOWS: usize = offset_of!(Context, windows);
    pub(crate) const PARAMS: usize = offset_of!(Context, params);
    pub(crate) const SHARED: usize = offset_of!(Context, shared);
    pub(crate) const ADDRESSES: usize = offset_of!(Context, addresses);
    pub(crate) const ZERO: usize = offset_of!(Context, zero);
    pub(crate) const LOCAL: usize = offset_of!(Context, local);
    pub(crate) const LOCAL_CHANGED: usize = offset_of!(Context, local_changed);
    pub(crate) const LOCAL_BYTES: usize = offset_of!(Context, local_bytes);
    pub(crate) const FUEL: usize = offset_of!(Context, fuel);
    pub(crate) const VOTES: usize = offset_of!(Context, votes);
    pub(crate) const VOTERS: usize = offset_of!(Context, voters);
    pub(crate) const ALL_VOTES: usize = offset_of!(Context, all_votes);
    pub(crate) const ALL_VOTERS: usize = offset_of!(Context, all_voters);
    pub(crate) const CTAID: usize = offset_of!(Context, ctaid);
    pub(crate) const NCTAID: usize = offset_of!(Context, nctaid);
    pub(crate) const CALL: usize = offset_of!(Context, call);
    pub(crate) const POLL: usize = offset_of!(Context, poll);
    pub(crate) const SPECIAL: usize = offset_of!(Context, special);
    pub(crate) const SCATTERED: usize = offset_of!(Context, scattered);
}

/// The text of a kernel, and what it needs.
pub(crate) struct Emitted {
    pub(crate) text: String,
    /// What the host executes.
    pub(crate) sites: Vec<Site>,
    /// What the window of each access must hold.
    pub(crate) windows: Vec<Span>,
    /// Where the variables are whose addresses the code reads.
    pub(crate) addresses: Vec<u64>,
    /// Bytes of a row's frame.
    pub(crate) frame: usize,
    /// Where rows go on, from state 1 on.
    pub(crate) barriers: Vec<Barrier>,
}

/// The state of writing a kernel.
pub(crate) struct Emitter<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) function: &'a Function<'a>,
    pub(crate) cfg: &'a Cfg,
    pub(crate) order: &'a Order,
    pub(crate) live: &'a Liveness,
    pub(crate) divergence: &'a Divergence,
    pub(crate) linears: &'a Linears,
    pub(crate) bounds: &'a Bounds,
    pub(crate) phases: &'a Phases,
    pub(crate) constants: std::cell::OnceCell<Constants>,
    /// Where the variables in shared memory end.
    pub(crate) shared_end: u64,
    pub(crate) rows: Rows,
    pub(crate) text: Text,
    /// Registers with `.f32` results whose NaN is made canonical where their bits are looked at.
    pub(crate) lazy: Vec<bool>,
    pub(crate) sites: Vec<Site>,
    /// The block, the instruction, its guard, and which lanes run the block.
    pub(crate) block: usize,
    pub(crate) index: u32,
    pub(crate) guard: Option<Lanes>,
    pub(crate) mask: String,
    /// Whether `mask` is all lanes of the row, known when the text is written.
    pub(crate) full: bool,
    /// What the window of each access must hold.
    pub(crate) windows: Vec<Span>,
    /// Variables whose addresses the code reads, in the order of [`Context::addresses`](crate::context::Context::addresses).
    pub(crate) variables: Vec<VarId>,
    /// The stretch of instructions that is being written.
    pub(crate) stretch: window::Stretch,
    /// Slots of where accesses in loops were last: see [`ahead`].
    pub(crate) steps: Vec<String>,
    /// Bytes of lists that calls need at most.
    pub(crate) arguments: usize,
    /// Where rows wait, and go on.
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) frame: usize,
    /// Where slots are in it.
    pub(crate) homes: std::collections::HashMap<String, usize>,
    /// Registers that may have changed since the row was last at a barrier, where blocks begin; empty until they are asked for.
    pub(crate) changed: Vec<crate::divergence::Bits>,
    /// Whether rows count for a barrier's reduction.
    pub(crate) counts_votes: bool,
    /// Whether carries are in a slot, and not the machine's.
    pub(crate) has_chains: bool,
    /// Whether threads can end before others of their row.
    pub(crate) kills: bool,
    /// Text that stands beside the way, until the block that is being written has ended.
    pub(crate) edges: String,
    /// Declarations of intrinsic functions.
    pub(crate) intrinsics: Vec<String>,
    /// Functions of `functions.ll` that are called, and at how many places.
    pub(crate) functions: std::collections::BTreeMap<&'static str, usize>,
    /// Updates of elements that are called.
    pub(crate) updates: std::collections::BTreeSet<atomic::Near>,
    /// The blocks that can be reached from each.
    pub(crate) reach: Vec<crate::divergence::Bits>,
}

impl Emitter<'_> {
    /// What registers hold: looked for when somebody asks first.
    fn constants(&self) -> &Constants {
        self.constants.get_or_init(|| Constants::new(self.function, self.cfg, self.order))
    }

    /// What registers hold before an instruction of the current block.
    fn constants_before(&self, index: u32) -> State {
        let mut state = self.constants().enter(self.block);
        state.follow_all(self.function, self.cfg.blocks[self.block].first..index);
        state
    }

    /// The constant that an operand of the current instruction is in all threads, if it is known.
    fn constant_here(&self, value: &Value) -> Option<u64> {
        match *value {
            Value::Constant(value) => Some(value),
            Value::Register(register) => self.constants_before(self.index).of(register),
            Value::Special { .. } | Value::Symbol { .. } | Value::Unused => None,
        }
    }

    /// Whether all lanes of the row are known to execute the current instruction.
    pub(crate) fn all_execute(&self) -> bool {
        self.full && self.guard.is_none()
    }

    /// The mask of the lanes that execute the current instruction, and whether that is known to be all.
    pub(crate) fn active(&mut self) -> (String, bool) {
        let Some(guard) = self.guard.clone() else { return (self.mask.clone(), self.full) };
        let guard = self.vector(&guard);
        if self.full {
            return (guard, false);
        }
        let (ty, mask) = (self.text.int(1, Kind::Vector), self.mask.clone());
        (self.text.value(&format!("and {ty} {guard}, {mask}")), false)
    }

    /// An instruction that is no control flow: by vector code if there is any, else by the machine.
    fn instruction(&mut self, op: &Op) -> Result<(), Refusal> {
        if op.effects().convergence != Convergence::Thread
            && (self.divergence.divergent[self.block] || self.guard.is_some() || self.rows.width != 32)
        {
            return Err(Refusal::Across);
        }
        let (length, label) = (self.text.lines.len(), self.text.label.clone());
        let (sites, windows, edges) = (self.sites.len(), self.windows.len(), self.edges.len());
        if let Ok(true) = self.native(op) {
            return Ok(());
        }
        // What has been written of it is not used.
        self.text.lines.truncate(length);
        self.text.label = label;
        self.sites.truncate(sites);
        self.windows.truncate(windows);
        self.edges.truncate(edges);
        self.stretch.forget(self.index);
        self.interpreted(op)
    }

    /// An instruction as vector code; `false` if there is none.
    fn native(&mut self, op: &Op) -> Result<bool, Refusal> {
        match op {
            Op::Ld(ld) => self.load(ld)?,
            Op::St(st) => self.store(st)?,
            Op::Atom(_) | Op::AtomCas(_) | Op::Red(_) => self.atomic(op)?,
            Op::Membar(_) | Op::Fence(_) => self.text.line("fence seq_cst"),
            Op::Prefetch(_) | Op::Pmevent(_) => {}
            Op::Trap(_) => self.trap()?,
            _ => {
                let numbers = self.integer(op)?
                    || self.carry(op)?
                    || self.logic(op)?
                    || self.float(op)?
                    || self.half(op)?;
                return Ok(numbers || self.across(op)?);
            }
        }
        Ok(true)
    }

    /// The address of a field of the context.
    pub(crate) fn field(&mut self, offset: usize) -> String {
        self.text.value(&format!("getelementptr i8, ptr %ctx, i64 {offset}"))
    }

    /// A field of the context that does not change while the row runs.
    pub(crate) fn constant_field(&mut self, offset: usize, ty: &str) -> String {
        let place = self.field(offset);
        self.text.value(&format!("load {ty}, ptr {place}, !invariant.load !1"))
    }
}
