//! C++ atomics in PTX (guide, "Atomics Application Binary Interface"): which instructions an atomic operation is.
//!
//! The table is data: `warploom abi atomics` prints it, and `memory-model` compiles litmus tests by it and so proves it.
//! The guide allows to mix its choices, and to use a stronger order than a row has.

use std::fmt;

/// An operation of `<atomic>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Operation {
    Fence,
    Load,
    Store,
    ReadModifyWrite,
}

impl Operation {
    /// As a call, without its arguments.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fence => "atomic_thread_fence",
            Self::Load => "atomic_load",
            Self::Store => "atomic_store",
            Self::ReadModifyWrite => "atomic_<rmw op>",
        }
    }
}

/// An order: of C++ where sequentially consistent accesses have one, of PTX where only fences do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Order {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl Order {
    /// `seq_cst`, as behind `memory_order_`.
    pub fn cpp(self) -> &'static str {
        match self {
            Self::SeqCst => "seq_cst",
            other => other.ptx(),
        }
    }

    /// `sc`, as a modifier of PTX.
    pub fn ptx(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::SeqCst => "sc",
        }
    }
}

/// An instruction of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A fence, with the scope of the operation.
    Fence(Order),
    /// The access itself, with this order.
    Access(Order),
}

/// An operation with an order, and the sequences that it may be, the recommended one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Row {
    pub operation: Operation,
    pub order: Order,
    pub sequences: &'static [&'static [Step]],
}

impl Row {
    /// A sequence as PTX, with `scope` for the scope.
    pub fn text(&self, sequence: &[Step], scope: &str) -> String {
        let steps = sequence.iter().map(|step| match (step, self.operation) {
            (Step::Fence(order), _) => format!("fence.{}.{scope};", order.ptx()),
            (Step::Access(order), Operation::Load) => format!("ld.{}.{scope};", order.ptx()),
            (Step::Access(order), Operation::Store) => format!("st.{}.{scope};", order.ptx()),
            (Step::Access(order), _) => format!("atom.{}.{scope}.<rmw op>;", order.ptx()),
        });
        steps.collect::<Vec<_>>().join(" ")
    }
}

/// The table of one edition of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Edition {
    pub name: &'static str,
    pub rows: &'static [Row],
    /// What is wrong with it, if something is.
    pub flaw: Option<&'static str>,
}

impl Edition {
    /// The row of an operation. Orders that an edition has no row for are those of PTX's own instructions.
    pub fn row(&self, operation: Operation, order: Order) -> Option<&'static Row> {
        let rows = self.rows.iter().chain(PLAIN);
        rows.into_iter().find(|row| row.operation == operation && row.order == order)
    }

    /// All rows: the edition's, and those that follow from the instructions' orders.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        let own = self.rows;
        let known =
            move |row: &&Row| !own.iter().any(|o| (o.operation, o.order) == (row.operation, row.order));
        own.iter().chain(PLAIN.iter().filter(known))
    }
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX Writer's Guide to Interoperability of {}", self.name)
    }
}

use Operation::{Fence, Load, ReadModifyWrite, Store};
use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};

const fn row(operation: Operation, order: Order, sequences: &'static [&'static [Step]]) -> Row {
    Row { operation, order, sequences }
}

const SC_FENCE: Row = row(Fence, SeqCst, &[&[Step::Fence(SeqCst)]]);

/// Operations that PTX has an instruction of the same order for.
const PLAIN: &[Row] = &[
    row(Fence, Release, &[&[Step::Fence(Release)]]),
    row(Store, Release, &[&[Step::Access(Release)]]),
    row(ReadModifyWrite, Release, &[&[Step::Access(Release)]]),
    row(Fence, Acquire, &[&[Step::Fence(Acquire)]]),
    row(Load, Acquire, &[&[Step::Access(Acquire)]]),
    row(ReadModifyWrite, Acquire, &[&[Step::Access(Acquire)]]),
    row(Fence, AcqRel, &[&[Step::Fence(AcqRel)]]),
    row(ReadModifyWrite, AcqRel, &[&[Step::Access(AcqRel)]]),
    row(Load, Relaxed, &[&[Step::Access(Relaxed)]]),
    row(Store, Relaxed, &[&[Step::Access(Relaxed)]]),
    row(ReadModifyWrite, Relaxed, &[&[Step::Access(Relaxed)]]),
];

/// The edition of CUDA 13.
pub const CUDA_13: Edition = Edition {
    name: "CUDA 13",
    rows: &[
        SC_FENCE,
        row(
            Load,
            SeqCst,
            &[
                &[Step::Fence(SeqCst), Step::Access(Acquire)],
                &[Step::Fence(SeqCst), Step::Access(Relaxed), Step::Fence(Acquire)],
            ],
        ),
        row(Store, SeqCst, &[&[Step::Fence(SeqCst), Step::Access(Relaxed)]]),
        row(
            ReadModifyWrite,
            SeqCst,
            &[
                &[Step::Fence(SeqCst), Step::Access(Acquire)],
                &[Step::Fence(SeqCst), Step::Access(Relaxed), Step::Fence(Acquire)],
            ],
        ),
        row(Store, Release, &[&[Step::Access(Release)], &[Step::Fence(Release), Step::Access(Relaxed)]]),
        row(
            ReadModifyWrite,
            Release,
            &[&[Step::Access(Release)], &[Step::Fence(Release), Step::Access(Relaxed)]],
        ),
        row(Load, Acquire, &[&[Step::Access(Acquire)], &[Step::Access(Relaxed), Step::Fence(Acquire)]]),
        row(
            ReadModifyWrite,
            Acquire,
            &[&[Step::Access(Acquire)], &[Step::Access(Relaxed), Step::Fence(Acquire)]],
        ),
    ],
    flaw: None,
};

/// The edition of CUDA 12.8.
pub const CUDA_12_8: Edition = Edition {
    name: "CUDA 12.8",
    rows: &[
        SC_FENCE,
        row(Load, SeqCst, &[&[Step::Fence(SeqCst), Step::Access(Acquire)]]),
        row(Store, SeqCst, &[&[Step::Fence(SeqCst), Step::Access(Release)]]),
        row(ReadModifyWrite, SeqCst, &[&[Step::Fence(SeqCst), Step::Access(AcqRel)]]),
    ],
    flaw: None,
};

/// What an edition between them had for loads.
pub const CUDA_12_9: Edition = Edition {
    name: "CUDA 12.9",
    rows: &[
        SC_FENCE,
        row(Load, SeqCst, &[&[Step::Fence(SeqCst), Step::Access(Relaxed)]]),
        row(Store, SeqCst, &[&[Step::Fence(SeqCst), Step::Access(Relaxed)]]),
        row(ReadModifyWrite, SeqCst, &[&[Step::Fence(SeqCst), Step::Access(Acquire)]]),
    ],
    flaw: Some("its sequentially consistent load is too weak: PTX then allows outcomes that C++ forbids"),
};

/// All editions, the newest first.
pub const EDITIONS: [Edition; 3] = [CUDA_13, CUDA_12_9, CUDA_12_8];
