//! What a semantic function does beside computing results from its operands: the lines `does` of the table.
//!
//! Whoever wants to know whether an instruction touches memory, needs other threads or ends a block asks here, and keeps
//! no list of instructions. An effect on an operand that a form does not have is not there for that form.

use super::{Modifier, Opcode, Sem, Slot};
use std::fmt;

/// What a semantic function does beside computing results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Where control goes.
    pub flow: Flow,
    /// Which threads have to execute it together.
    pub convergence: Convergence,
    /// The barrier that it takes part in.
    pub barrier: Option<Barrier>,
    /// What it does to memory, operand by operand.
    pub memory: &'static [MemoryEffect],
    /// What it orders.
    pub fence: Option<Fence>,
    /// Whether its accesses take place later, and what collects them.
    pub asynchronous: Option<Group>,
    /// What it does to asynchronous operations that were issued before.
    pub groups: Option<GroupEffect>,
    /// What it reads or changes that no operand names.
    pub state: State,
    /// Whether it can wait for others, or for time to pass.
    pub waits: bool,
    /// The order of its accesses, or as a fence, where the opcode does not name one.
    pub order: Option<Order>,
    /// The scope, likewise.
    pub scope: Option<Scope>,
}

impl Effects {
    /// Nothing but results that follow from operands.
    pub const PURE: Self = Self {
        flow: Flow::Next,
        convergence: Convergence::Thread,
        barrier: None,
        memory: &[],
        fence: None,
        asynchronous: None,
        groups: None,
        state: State::NONE,
        waits: false,
        order: None,
        scope: None,
    };

    /// Whether the results follow from the operands, and nothing else happens.
    pub fn is_pure(&self) -> bool {
        *self == Self::PURE
    }

    /// Whether it can only be the last instruction of a block.
    pub fn ends_block(&self) -> bool {
        match self.flow {
            Flow::Branch | Flow::Switch | Flow::Return | Flow::Exit | Flow::Trap => true,
            Flow::Next | Flow::Call => false,
        }
    }

    /// The effect on an operand.
    pub fn on(&self, operand: &str) -> Option<&'static MemoryEffect> {
        self.memory.iter().find(|effect| effect.operand == operand)
    }
}

/// Where control goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// On to the next instruction.
    Next,
    /// To a label.
    Branch,
    /// To one of several labels.
    Switch,
    /// To a function, and back.
    Call,
    /// Back to the caller; out of an entry.
    Return,
    /// The thread is done.
    Exit,
    /// The thread has failed.
    Trap,
}

/// Which threads have to execute an instruction together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Convergence {
    /// Each thread for itself.
    Thread,
    /// The lanes of a warp, or those that a member mask names.
    Warp,
    /// The four warps of a warpgroup.
    Warpgroup,
}

/// A part in a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Who meets at it.
    pub of: Meeting,
    /// Whether the thread is counted as arrived.
    pub arrives: bool,
    /// Whether it waits until all have arrived.
    pub waits: bool,
}

/// Who meets at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Meeting {
    Cta,
    Cluster,
}

/// What happens to the memory behind an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEffect {
    /// The operand's name in the table.
    pub operand: &'static str,
    /// What happens to it.
    pub access: Access,
    /// The way to memory.
    pub proxy: Proxy,
    /// Which bytes the operand names.
    pub footprint: Footprint,
}

/// Which bytes an address operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Footprint {
    /// Those of one element or vector, for each lane.
    Lane,
    /// A row of a matrix; only the first lanes name one.
    Rows,
    /// A matrix for the whole warp.
    Matrix,
    /// What lies where a descriptor says.
    Descriptor,
    /// A block, or a tile of a tensor.
    Block,
}

/// What happens to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read.
    Load,
    /// It is written.
    Store,
    /// It is read and written at once, and what was read is a result.
    Atomic,
    /// It is read and written at once, and only if it was as expected.
    CompareAndSwap,
    /// It is read and written at once, and nobody learns what was read.
    Reduce,
    /// An operation on an mbarrier object.
    Mbarrier(MbarrierAction),
}

/// What is done to an mbarrier object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MbarrierAction {
    Init,
    Invalidate,
    ExpectTx,
    CompleteTx,
    Arrive,
    Wait,
}

/// The way to memory (PTX ISA, "Proxies").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Proxy {
    Generic,
    Async,
    Texture,
    Surface,
    Tensormap,
    Multimem,
}

/// What an instruction orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// Memory accesses of the thread.
    Memory,
    /// Accesses through different proxies.
    Proxy,
}

/// What collects asynchronous operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The groups of `cp.async`.
    Copy,
    /// Those of bulk copies, or an mbarrier if the instruction names one.
    Bulk,
    /// Those of `wgmma`.
    Wgmma,
    /// An mbarrier.
    Mbarrier,
    /// The pipeline of `tcgen05`: products, copies and shifts, one after the other.
    TensorCore,
    /// `tcgen05.ld`.
    TensorLoad,
    /// `tcgen05.st`.
    TensorStore,
}

/// What is done to asynchronous operations that were issued before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupEffect {
    /// They become a group.
    Commit(Group),
    /// The thread waits for some or all of them.
    Wait(Group),
    /// They will arrive at an mbarrier.
    Arrive(Group),
    /// Registers that they use are ordered with what the thread did before.
    Order(Group),
}

/// What an instruction reads or changes that no operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// It reads the carry bit.
    pub reads_carry: bool,
    /// It writes the carry bit.
    pub writes_carry: bool,
    /// It reads or moves the stack pointer.
    pub stack: bool,
    /// It depends on which lanes are active.
    pub active_lanes: bool,
    /// It is noticed outside of the program: caches, counters, debuggers, other grids.
    pub outside: bool,
}

impl State {
    /// Nothing.
    pub const NONE: Self =
        Self { reads_carry: false, writes_carry: false, stack: false, active_lanes: false, outside: false };
}

/// The memory order of an operation (PTX ISA, "Operation types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Order {
    Weak,
    /// Relaxed at system scope, and neither omitted nor repeated.
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Weak, Self::Volatile, Self::Relaxed, Self::Acquire, Self::Release, Self::AcqRel, Self::Sc];

    /// As PTX spells it, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Volatile => "volatile",
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::Sc => "sc",
        }
    }
}

/// A set of threads that an operation may synchronise with (PTX ISA, "Scope"), from the narrowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The threads of the CTA.
    Cta,
    /// The threads of the cluster (PTX 7.8).
    Cluster,
    /// The threads of the device.
    Gpu,
    /// All threads, the host's included.
    Sys,
}

impl Scope {
    /// All of them, from the narrowest.
    pub const ALL: [Self; 4] = [Self::Cta, Self::Cluster, Self::Gpu, Self::Sys];

    /// As PTX spells it, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cta => "cta",
            Self::Cluster => "cluster",
            Self::Gpu => "gpu",
            Self::Sys => "sys",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Modifier {
    /// The memory order that it names.
    pub fn order(self) -> Option<Order> {
        Order::ALL.into_iter().find(|order| order.name() == &self.text()[1..])
    }

    /// The scope that it names. `.gl` is the old name of `.gpu`.
    pub fn scope(self) -> Option<Scope> {
        match &self.text()[1..] {
            "gl" => Some(Scope::Gpu),
            name => Scope::ALL.into_iter().find(|scope| scope.name() == name),
        }
    }
}

impl Sem {
    /// What it does beside computing results.
    pub fn effects(self) -> &'static Effects {
        &EFFECTS[self as usize]
    }
}

impl Opcode {
    /// The memory order that it names, or that of its semantic function.
    pub fn order(&self) -> Option<Order> {
        let named = self.get(Slot::Sem).and_then(Modifier::order);
        named.or_else(|| self.sem()?.effects().order)
    }

    /// The scope that it names, or that of its semantic function.
    pub fn scope(&self) -> Option<Scope> {
        let named = self.get(Slot::Scope).and_then(Modifier::scope);
        named.or_else(|| self.sem()?.effects().scope)
    }
}

include!(concat!(env!("OUT_DIR"), "/effects.rs"));
