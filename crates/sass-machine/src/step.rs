//! An instruction, ready to be executed.

use crate::operand::{Operand, Special};
use ir::instruction::ShflMode;

/// How a source is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 32 bits; `-` is the two's complement.
    Word,
    /// 32 bits as a term of a sum with carry: `-` adds the complement and one, which carries where the word is zero.
    Term,
    /// A pair of registers, 64 bits.
    Wide,
    /// A single-precision number: `-` and `||` are its sign bit's.
    Single,
    /// A double-precision number in a pair.
    Double,
    /// A predicate: 0 or 1.
    Flag,
}

/// What is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) operand: Operand,
    pub(crate) kind: Kind,
}

/// Where a result goes. What has no number is dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// So many registers from this one on.
    Registers(Option<u8>, u8),
    /// The same in the uniform file.
    Uniform(Option<u8>, u8),
    Predicate(Option<u8>),
}

/// What each lane computes from its sources alone: sources to results, in their orders.
pub(crate) type Function = Box<dyn Fn(&[u64], &mut [u64]) + Send + Sync>;

/// A computation.
pub(crate) struct Compute {
    pub(crate) sources: Vec<Source>,
    pub(crate) places: Vec<Place>,
    pub(crate) function: Function,
}

/// Which memory an access reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
}

/// Where an access goes: a register or a pair, a uniform register, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) space: Space,
    pub(crate) register: Option<u8>,
    pub(crate) wide: bool,
    pub(crate) uniform: Option<u8>,
    pub(crate) offset: i64,
}

/// What an atomic operation makes of what is there and of its operands.
pub(crate) type Update = Box<dyn Fn(u64, u64, u64) -> u64 + Send + Sync>;

/// An access to memory.
pub(crate) enum Access {
    /// Reads bytes; fewer than four are extended by sign or zeros.
    Load {
        to: Option<u8>,
        address: Address,
        bytes: u8,
        signed: bool,
    },
    Store {
        from: Source,
        second: Option<Source>,
        address: Address,
        bytes: u8,
    },
    Atomic {
        to: Option<u8>,
        address: Address,
        bytes: u8,
        operands: [Source; 2],
        update: Update,
    },
    /// From a constant bank.
    Constant {
        to: Place,
        bank: u8,
        register: Option<u8>,
        offset: i64,
        bytes: u8,
    },
}

/// What lanes do together.
pub(crate) enum Collective {
    Shuffle {
        mode: ShflMode,
        inside: Place,
        to: Place,
        sources: [Source; 3],
    },
    /// The lanes whose predicate holds; whether any does, or all.
    Vote {
        all: bool,
        to: Place,
        flag: Place,
        source: Source,
    },
    /// The lanes with the same value; for `all`, the active ones if they have one value.
    Match {
        all: bool,
        to: Place,
        flag: Place,
        source: Source,
    },
    Reduce {
        to: Place,
        source: Source,
        join: fn(u32, u32) -> u32,
    },
    /// The first active lane.
    Elect {
        flag: Place,
        to: Place,
    },
}

/// What a barrier of the CTA does beside waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    Sync,
    /// It does not wait.
    Arrive,
    Count,
    And,
    Or,
}

/// What an instruction does.
pub(crate) enum Action {
    Compute(Compute),
    /// Reads a special register; 64 bits of a clock.
    Special(Special, Place),
    Access(Access),
    Collective(Collective),
    /// To the instruction with this number.
    Branch(usize),
    Exit,
    Barrier {
        number: u8,
        threads: Option<u32>,
        arrival: Arrival,
        flag: Option<Source>,
    },
    /// What the last reduction at a barrier gave.
    Result {
        to: Place,
        flag: Place,
    },
    /// Waits for the lanes of a mask; for all without one.
    Together(Option<Source>),
    Yield,
    Nothing,
    Trap,
    NotExecuted(String),
    NoInstruction(u128),
}

/// An instruction.
pub(crate) struct Step {
    /// The predicate and whether it must be false.
    pub(crate) guard: Option<(u8, bool)>,
    pub(crate) action: Action,
}
