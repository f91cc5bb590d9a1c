//! A litmus test: a few threads with their places, memory with its first values, and a question about how it may end.
//!
//! This is what both front ends ([`crate::dialect`] and [`crate::ptx`]) make and everything else reads.

use crate::event::{Bytes, Cell, Order, Part, Placement, Proxy, Scope};

/// A register of a thread.
pub type Register = usize;

/// A register or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A number.
    Constant(i64),
}

/// Arithmetic on 64 bits, wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a / b`, and zero if `b` is.
    Div,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The smaller, signed.
    Min,
    /// The greater, signed.
    Max,
    /// `b` alone.
    Second,
    /// `a` shifted to the left by `b` bits; zero from 64 on.
    ShiftLeft,
    /// `a` shifted to the right by `b` bits, zeros coming in; zero from 64 on.
    ShiftRight,
    /// `a` shifted to the right by `b` bits, at most 63, its sign coming in.
    ShiftRightSigned,
    /// `a / b` of numbers without sign, and all ones if `b` is zero.
    DivUnsigned,
    /// The remainder of that, and `a` if `b` is zero.
    RemUnsigned,
    /// `atom.inc`: `a + 1`, and zero from `b` on.
    Inc,
    /// `atom.dec`: `a - 1`, and `b` where `a` is zero or greater than `b`.
    Dec,
    /// The sum of the floats that have these bits, rounded to nearest.
    AddF32,
    /// 1 if the comparison holds, otherwise 0.
    Compare(Comparison),
}

impl Arithmetic {
    /// What it computes.
    pub fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::Div => a.checked_div(b).unwrap_or(0),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Second => b,
            Self::ShiftLeft => u32::try_from(b).ok().and_then(|by| a.checked_shl(by)).unwrap_or(0),
            Self::ShiftRight => {
                u32::try_from(b).ok().and_then(|by| (a as u64).checked_shr(by)).unwrap_or(0) as i64
            }
            Self::ShiftRightSigned => a >> b.clamp(0, 63),
            Self::DivUnsigned => (a as u64).checked_div(b as u64).unwrap_or(u64::MAX) as i64,
            Self::RemUnsigned => (a as u64).checked_rem(b as u64).unwrap_or(a as u64) as i64,
            Self::Inc => {
                if (a as u64) < b as u64 {
                    a + 1
                } else {
                    0
                }
            }
            Self::Dec => {
                if a == 0 || a as u64 > b as u64 {
                    b
                } else {
                    a - 1
                }
            }
            Self::AddF32 => i64::from((f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits()),
            Self::Compare(comparison) => i64::from(comparison.holds(a, b)),
        }
    }
}

/// A comparison of signed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`.
    Eq,
    /// `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
}

impl Comparison {
    /// Whether it holds.
    pub fn holds(self, a: i64, b: i64) -> bool {
        match self {
            Self::Eq => a == b,
            Self::Ne => a != b,
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
        }
    }

    /// The comparison that holds where this one does not.
    pub fn negated(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
        }
    }

    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

/// How an access reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The bytes; of the first element, if there are several.
    pub bytes: Bytes,
    /// The proxy.
    pub proxy: Proxy,
    /// The order.
    pub order: Order,
    /// The scope, unless it is weak.
    pub scope: Option<Scope>,
}

/// What an atomic writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Update {
    /// The old value combined with an operand.
    Combine(Arithmetic, Operand),
    /// A value, if the old one is the expected one.
    CompareAndSwap {
        /// The expected value.
        expected: Operand,
        /// The value to write.
        new: Operand,
    },
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Reads consecutive elements, in no order.
    Load {
        /// Where the elements go.
        destinations: Vec<Register>,
        /// What is read.
        access: Access,
    },
    /// Writes consecutive elements, in no order.
    Store {
        /// The elements.
        values: Vec<Operand>,
        /// What is written.
        access: Access,
    },
    /// Reads and writes; without a destination it is a reduction.
    Atomic {
        /// Where the old value goes.
        destination: Option<Register>,
        /// What is written.
        update: Update,
        /// What is read and written.
        access: Access,
    },
    /// A fence of memory operations.
    Fence {
        /// Its order.
        order: Order,
        /// Its scope.
        scope: Scope,
    },
    /// A fence between the generic proxy and another.
    ProxyFence(Proxy),
    /// A fence between addresses of one location.
    AliasFence,
    /// A barrier.
    Barrier {
        /// Which use of it.
        instance: u32,
        /// How the thread takes part.
        part: Part,
        /// CTA or cluster.
        scope: Scope,
        /// The barrier resource, if the instance does not say all.
        resource: Option<Operand>,
        /// How many threads meet, if not all.
        quorum: Option<Operand>,
    },
    /// Starts a copy outside of program order.
    CopyAsync {
        /// The destination.
        to: Bytes,
        /// The source.
        from: Bytes,
        /// Its proxy: generic, or that of bulk copies.
        proxy: Proxy,
    },
    /// Waits for the thread's copies.
    WaitAsync,
    /// Computes.
    Set {
        /// Where the result goes.
        destination: Register,
        /// What is computed.
        operation: Arithmetic,
        /// The first operand.
        a: Operand,
        /// The second operand.
        b: Operand,
    },
    /// Goes elsewhere if the comparison holds.
    Branch {
        /// The comparison.
        comparison: Comparison,
        /// Its left side.
        a: Operand,
        /// Its right side.
        b: Operand,
        /// The instruction to go to.
        target: usize,
    },
    /// Goes elsewhere.
    Jump(usize),
}

impl Instruction {
    /// The bytes that it reads, and those that it writes, by element.
    pub fn accesses(&self) -> (Vec<Bytes>, Vec<Bytes>) {
        match self {
            Self::Load { destinations, access } => (elements(access.bytes, destinations.len()), Vec::new()),
            Self::Store { values, access } => (Vec::new(), elements(access.bytes, values.len())),
            Self::Atomic { access, .. } => (vec![access.bytes], vec![access.bytes]),
            Self::CopyAsync { to, from, .. } => (vec![*from], vec![*to]),
            Self::Fence { .. }
            | Self::ProxyFence(_)
            | Self::AliasFence
            | Self::Barrier { .. }
            | Self::WaitAsync
            | Self::Set { .. }
            | Self::Branch { .. }
            | Self::Jump(_) => (Vec::new(), Vec::new()),
        }
    }

    /// The registers that it writes, and those that it reads.
    pub fn registers(&self) -> (Vec<Register>, Vec<Register>) {
        let (written, read) = match self {
            Self::Load { destinations, .. } => (destinations.clone(), Vec::new()),
            Self::Store { values, .. } => (Vec::new(), values.clone()),
            Self::Atomic { destination, update, .. } => {
                let operands = match *update {
                    Update::Combine(_, operand) => vec![operand],
                    Update::CompareAndSwap { expected, new } => vec![expected, new],
                };
                (destination.iter().copied().collect(), operands)
            }
            Self::Barrier { resource, quorum, .. } => {
                (Vec::new(), resource.iter().chain(quorum).copied().collect())
            }
            Self::Set { destination, a, b, .. } => (vec![*destination], vec![*a, *b]),
            Self::Branch { a, b, .. } => (Vec::new(), vec![*a, *b]),
            Self::Fence { .. }
            | Self::ProxyFence(_)
            | Self::AliasFence
            | Self::CopyAsync { .. }
            | Self::WaitAsync
            | Self::Jump(_) => (Vec::new(), Vec::new()),
        };
        let register = |operand| match operand {
            Operand::Register(register) => Some(register),
            Operand::Constant(_) => None,
        };
        (written, read.into_iter().filter_map(register).collect())
    }
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// Where it runs.
    pub placement: Placement,
    /// Its instructions.
    pub code: Vec<Instruction>,
    /// The text of each instruction, for explanations.
    pub texts: Vec<String>,
    /// The names of its registers.
    pub registers: Vec<String>,
    /// The first values of its registers.
    pub initial: Vec<i64>,
}

impl Thread {
    /// Whether an instruction writes to a cell.
    pub fn writes(&self, cell: Cell) -> bool {
        self.code
            .iter()
            .any(|instruction| instruction.accesses().1.into_iter().any(|bytes| cell.is_in(bytes)))
    }

    /// Where an instruction may go next.
    pub fn successors(&self, at: usize) -> Vec<usize> {
        match self.code[at] {
            Instruction::Branch { target, .. } => vec![at + 1, target],
            Instruction::Jump(target) => vec![target],
            _ => vec![at + 1],
        }
    }
}

/// A name of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The name.
    pub name: String,
    /// Its bytes: the object, and the address it is seen at.
    pub bytes: Bytes,
}

/// A value in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// A number.
    Constant(i64),
    /// A register's last value.
    Register(usize, Register),
    /// A location's final value.
    Memory(usize),
}

/// A condition on how an execution ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// One holds.
    Or(Box<Condition>, Box<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// The comparison holds.
    Compare(Comparison, Term, Term),
}

impl Condition {
    /// Whether it holds, where that follows from the values that are known.
    pub fn evaluate(&self, value: &impl Fn(Term) -> Option<i64>) -> Option<bool> {
        match self {
            Self::And(a, b) => match (a.evaluate(value), b.evaluate(value)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(a, b) => match (a.evaluate(value), b.evaluate(value)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Self::Not(a) => a.evaluate(value).map(|holds| !holds),
            Self::Compare(comparison, a, b) => Some(comparison.holds(value(*a)?, value(*b)?)),
        }
    }

    /// All values it is about.
    pub fn terms(&self, found: &mut Vec<Term>) {
        match self {
            Self::And(a, b) | Self::Or(a, b) => {
                a.terms(found);
                b.terms(found);
            }
            Self::Not(a) => a.terms(found),
            Self::Compare(_, a, b) => {
                for term in [*a, *b] {
                    if !matches!(term, Term::Constant(_)) && !found.contains(&term) {
                        found.push(term);
                    }
                }
            }
        }
    }
}

/// What is claimed of the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// An execution ends so.
    Exists,
    /// No execution does.
    NotExists,
    /// All executions do.
    Forall,
}

impl Quantifier {
    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::NotExists => "~exists",
            Self::Forall => "forall",
        }
    }
}

/// A litmus test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The names of memory.
    pub locations: Vec<Location>,
    /// The first bytes of each object.
    pub objects: Vec<Vec<u8>>,
    /// Only executions that end so are asked about.
    pub filter: Option<Condition>,
    /// What is claimed of the condition.
    pub quantifier: Quantifier,
    /// The condition.
    pub condition: Condition,
    /// The text of the assertion.
    pub assertion: String,
}

impl Program {
    /// What the condition and the filter ask for.
    pub fn asked(&self) -> Vec<Term> {
        let mut terms = Vec::new();
        self.condition.terms(&mut terms);
        self.filter.iter().for_each(|filter| filter.terms(&mut terms));
        terms
    }

    /// How a value is written in conditions.
    pub fn term_name(&self, term: Term) -> String {
        match term {
            Term::Constant(value) => value.to_string(),
            Term::Register(thread, register) => {
                let thread = &self.threads[thread];
                format!("{}:{}", thread.name, thread.registers[register])
            }
            Term::Memory(location) => self.locations[location].name.clone(),
        }
    }

    /// All the bytes that instructions access, element by element.
    pub fn accesses(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.threads.iter().flat_map(|thread| &thread.code).flat_map(|instruction| {
            let (read, written) = instruction.accesses();
            read.into_iter().chain(written)
        })
    }
}

/// The bytes of consecutive elements.
pub fn elements(first: Bytes, count: usize) -> Vec<Bytes> {
    (0..count as u32).map(|index| Bytes { start: first.start + index * first.len, ..first }).collect()
}
