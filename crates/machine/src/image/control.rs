//! Calls and barriers.

use super::builtin::Builtin;
use crate::lanes::{Condition, Operand, PlaneId, PredicateId};
use ptx::module::FuncId;

/// Where a parameter lies in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    /// Bytes of local memory, from the frame's base.
    Memory { offset: u32, bytes: u32 },
    /// A register's plane.
    Register(PlaneId),
    /// A predicate register.
    Predicate(PredicateId),
}

/// What a call reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Function(FuncId),
    /// Through a register: `Exec::targets` has the addresses.
    Indirect,
    Builtin(Builtin),
}

/// A `call` instruction.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    pub(crate) callee: Callee,
    /// Actual parameters in the caller's frame.
    pub(crate) args: Vec<ParameterLocation>,
    /// Where results go in the caller's frame.
    pub(crate) returns: Vec<ParameterLocation>,
}

/// What a barrier does besides waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// `bar.red`: combine a predicate of all threads.
    Reduce {
        op: Reduction,
        predicate: Condition,
    },
}

/// `bar.red` operations, and where the result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    And(PredicateId),
    Or(PredicateId),
    Popc(PlaneId),
}

/// A CTA barrier instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierSite {
    pub(crate) kind: BarrierKind,
    /// Which of the 16 barriers.
    pub(crate) barrier: Operand,
    /// Threads that take part; `None` for all of the CTA.
    pub(crate) threads: Option<Operand>,
}
