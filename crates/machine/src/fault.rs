//! Faults: what stops a kernel, and where. A fault is a value; the host never crashes with the guest.

use crate::location::Location;
use std::fmt;

/// What a thread did that stops the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trap {
    /// An access outside every allocation or window.
    IllegalAddress {
        /// The address.
        address: u64,
        /// Bytes accessed.
        bytes: u64,
        /// Load, store or atomic.
        access: Access,
        /// What lies near: "16 bytes past the end of the 400-byte allocation at 0x...".
        nearby: Option<String>,
    },
    /// An address that is not a multiple of the access's size.
    MisalignedAddress {
        /// The address.
        address: u64,
        /// Bytes accessed.
        bytes: u64,
        /// Load, store or atomic.
        access: Access,
    },
    /// An operand of an instruction with alignment rules of its own that breaks them.
    MisalignedOperand {
        /// Which operand.
        operand: &'static str,
        /// The address.
        address: u64,
        /// What it must be a multiple of.
        alignment: u64,
    },
    /// A multimem access where there is no multicast object.
    NotMulticast {
        /// The address.
        address: u64,
        /// Bytes accessed.
        bytes: u64,
    },
    /// Operands that the instruction does not take.
    IllegalInstruction(String),
    /// A CTA that ends with tensor memory.
    TensorMemoryLeak {
        /// Columns of an allocation.
        columns: u32,
    },
    /// The `trap` instruction.
    Trap,
    /// The `brkpt` instruction, with no debugger to take it.
    Breakpoint,
    /// A failed device-side `assert`.
    Assert {
        /// The condition's text.
        message: String,
        /// Source file.
        file: String,
        /// Source line.
        line: u32,
        /// Function.
        function: String,
    },
    /// A barrier used against its rules, or one that can never complete.
    InvalidBarrier(String),
    /// An indirect call to something that is not a function, or whose signature differs.
    InvalidCall(String),
    /// A handle that names no object, an object of another kind or shape, or a surface access that `.trap` forbids.
    InvalidObject(String),
    /// An index past the end of a `brx.idx` table.
    InvalidBranch(String),
    /// The thread's local memory (stack) is used up.
    StackOverflow {
        /// Bytes that a thread may use.
        limit: u64,
    },
    /// The instruction budget of the launch is used up.
    BudgetExhausted {
        /// Warp instructions allowed.
        budget: u64,
        /// What a thread was waiting for: "in block (0, 0, 0) the mbarrier at 0x400 waits for 1 arrivals and 0 bytes".
        awaited: Option<String>,
    },
    /// The launch was cancelled by the host.
    Cancelled,
}

/// How memory was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `ld` and the like.
    Load,
    /// `st` and the like.
    Store,
    /// `atom` and `red`.
    Atomic,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic operation",
        })
    }
}

impl Trap {
    /// Whether it is an access to memory that cannot take place.
    pub(crate) fn is_bad_access(&self) -> bool {
        match self {
            Self::IllegalAddress { .. }
            | Self::MisalignedAddress { .. }
            | Self::MisalignedOperand { .. }
            | Self::NotMulticast { .. } => true,
            Self::IllegalInstruction(_)
            | Self::TensorMemoryLeak { .. }
            | Self::Trap
            | Self::Breakpoint
            | Self::Assert { .. }
            | Self::InvalidBarrier(_)
            | Self::InvalidCall(_)
            | Self::InvalidObject(_)
            | Self::InvalidBranch(_)
            | Self::StackOverflow { .. }
            | Self::BudgetExhausted { .. }
            | Self::Cancelled => false,
        }
    }

    /// A short stable name that scripts can match, after the CUDA error it becomes.
    pub fn name(&self) -> &'static str {
        match self {
            Self::IllegalAddress { .. } | Self::NotMulticast { .. } => "illegal-address",
            Self::MisalignedAddress { .. } | Self::MisalignedOperand { .. } => "misaligned-address",
            Self::IllegalInstruction(_) => "illegal-instruction",
            Self::TensorMemoryLeak { .. } => "tensor-memory-leak",
            Self::Trap => "trap",
            Self::Breakpoint => "breakpoint",
            Self::Assert { .. } => "assert",
            Self::InvalidBarrier(_) => "invalid-barrier",
            Self::InvalidCall(_) => "invalid-call",
            Self::InvalidBranch(_) => "invalid-branch",
            Self::InvalidObject(_) => "invalid-object",
            Self::StackOverflow { .. } => "stack-overflow",
            Self::BudgetExhausted { .. } => "budget-exhausted",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllegalAddress { address, bytes, access, nearby } => {
                write!(f, "illegal address: {access} of {bytes} bytes at {address:#x}")?;
                nearby.as_ref().map_or(Ok(()), |near| write!(f, ", {near}"))
            }
            Self::MisalignedAddress { address, bytes, access } => {
                write!(f, "misaligned address: {access} of {bytes} bytes at {address:#x}")
            }
            Self::MisalignedOperand { operand, address, alignment } => {
                write!(f, "misaligned address: {operand} {address:#x} is no multiple of {alignment}")
            }
            Self::NotMulticast { address, bytes } => {
                write!(
                    f,
                    "illegal address: multimem access of {bytes} bytes at {address:#x}, where no multicast object is bound"
                )
            }
            Self::IllegalInstruction(why) => write!(f, "illegal instruction: {why}"),
            Self::TensorMemoryLeak { columns } => {
                write!(
                    f,
                    "{columns} columns of tensor memory are allocated here and not freed when the CTA ends"
                )
            }
            Self::Trap => f.write_str("trap instruction"),
            Self::Breakpoint => f.write_str("breakpoint instruction without a debugger"),
            Self::Assert { message, file, line, function } => {
                write!(f, "assertion `{message}` failed in {function} at {file}:{line}")
            }
            Self::InvalidBarrier(why) => write!(f, "invalid barrier use: {why}"),
            Self::InvalidCall(why) => write!(f, "invalid call: {why}"),
            Self::InvalidBranch(why) => write!(f, "invalid branch: {why}"),
            Self::InvalidObject(why) => write!(f, "invalid object: {why}"),
            Self::StackOverflow { limit } => {
                write!(f, "stack overflow: a thread has {limit} bytes of local memory")
            }
            Self::BudgetExhausted { budget, awaited } => {
                write!(f, "runaway kernel: the budget of {budget} warp instructions is used up")?;
                awaited.as_ref().map_or(Ok(()), |awaited| write!(f, "; {awaited}"))
            }
            Self::Cancelled => f.write_str("cancelled by the host"),
        }
    }
}

/// A trap with the place and the thread it happened in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub trap: Trap,
    /// The kernel that was launched.
    pub kernel: String,
    /// The function that was executing, if another than the kernel.
    pub function: Option<String>,
    /// Where the instruction stands.
    pub location: Location,
    /// `%ctaid`.
    pub block: Option<[u32; 3]>,
    /// `%tid`.
    pub thread: Option<[u32; 3]>,
    /// The scheduler that reproduces it, as `--scheduler` takes it.
    pub scheduler: String,
}

impl Fault {
    /// What something other than a thread of a kernel has run into.
    pub(crate) fn of_system(trap: Trap, what: &str) -> Self {
        Self {
            trap,
            kernel: what.to_owned(),
            function: None,
            location: Location::default(),
            block: None,
            thread: None,
            scheduler: String::new(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.trap)?;
        write!(f, "\n  kernel {}", self.kernel)?;
        if let Some(function) = &self.function {
            write!(f, ", in function {function}")?;
        }
        if let (Some(b), Some(t)) = (self.block, self.thread) {
            write!(f, "\n  block ({}, {}, {}), thread ({}, {}, {})", b[0], b[1], b[2], t[0], t[1], t[2])?;
        }
        write!(f, "{}", self.location)
    }
}

impl std::error::Error for Fault {}
