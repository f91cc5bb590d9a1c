//! Events: what one execution of a program did to memory.
//!
//! PTX ISA, "Memory Consistency Model": operation types, scopes, proxies, overlap. An atomic is two events, its read and
//! its write; a vector is one event an element, unordered among themselves; a barrier and a fence are events without
//! bytes.

use ptx::isa;
pub use ptx::isa::Scope;

/// The memory order of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// No synchronisation; all accesses without another order.
    Weak,
    /// Strong, but orders nothing else.
    Relaxed,
    /// Strong; later operations stay behind.
    Acquire,
    /// Strong; earlier operations stay before.
    Release,
    /// Both of these.
    AcqRel,
    /// A fence that takes part in the Fence-SC order too.
    Sc,
}

impl From<isa::Order> for Order {
    /// A volatile operation has the order of a relaxed one.
    fn from(order: isa::Order) -> Self {
        match order {
            isa::Order::Weak => Self::Weak,
            isa::Order::Volatile | isa::Order::Relaxed => Self::Relaxed,
            isa::Order::Acquire => Self::Acquire,
            isa::Order::Release => Self::Release,
            isa::Order::AcqRel => Self::AcqRel,
            isa::Order::Sc => Self::Sc,
        }
    }
}

impl Order {
    /// The modifier, without its dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::Sc => "sc",
        }
    }

    /// The order of the read of an atomic.
    pub fn of_read(self) -> Self {
        match self {
            Self::Acquire | Self::AcqRel | Self::Sc => Self::Acquire,
            Self::Relaxed | Self::Release => Self::Relaxed,
            Self::Weak => Self::Weak,
        }
    }

    /// The order of the write of an atomic.
    pub fn of_write(self) -> Self {
        match self {
            Self::Release | Self::AcqRel | Self::Sc => Self::Release,
            Self::Relaxed | Self::Acquire => Self::Relaxed,
            Self::Weak => Self::Weak,
        }
    }
}

/// The way an access takes to memory (PTX 7.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Proxy {
    /// Ordinary loads, stores and atomics.
    Generic,
    /// Texture fetches.
    Texture,
    /// Surface accesses.
    Surface,
    /// Loads of constants.
    Constant,
    /// Bulk copies and tensor operations.
    Async,
}

impl Proxy {
    /// All proxies.
    pub const ALL: [Self; 5] = [Self::Generic, Self::Texture, Self::Surface, Self::Constant, Self::Async];

    /// Its name in `fence.proxy`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Texture => "texture",
            Self::Surface => "surface",
            Self::Constant => "constant",
            Self::Async => "async",
        }
    }
}

/// Where a thread runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement {
    /// Its CTA, within the cluster.
    pub cta: u32,
    /// Its cluster, within the device.
    pub cluster: u32,
    /// Its device.
    pub gpu: u32,
}

impl Placement {
    /// Whether two threads are in one instance of a scope.
    pub fn shares(self, other: Self, scope: Scope) -> bool {
        match scope {
            Scope::Cta => self == other,
            Scope::Cluster => self.gpu == other.gpu && self.cluster == other.cluster,
            Scope::Gpu => self.gpu == other.gpu,
            Scope::Sys => true,
        }
    }
}

/// The bytes that an access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes {
    /// The physical object: names that alias share it.
    pub object: u32,
    /// The virtual address of the object that the access goes through.
    pub address: u32,
    /// The first byte.
    pub start: u32,
    /// How many bytes.
    pub len: u32,
}

impl Bytes {
    /// Whether both touch a byte of memory.
    pub fn overlap(self, other: Self) -> bool {
        self.object == other.object
            && self.start < other.start + other.len
            && other.start < self.start + self.len
    }

    /// Whether both touch a byte through the same virtual address.
    pub fn overlap_virtually(self, other: Self) -> bool {
        self.address == other.address && self.overlap(other)
    }

    /// Whether both touch the same bytes through the same virtual address.
    pub fn same(self, other: Self) -> bool {
        self == other
    }
}

/// A piece of an object that every access has whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The object.
    pub object: u32,
    /// The first byte.
    pub start: u32,
    /// How many bytes.
    pub len: u32,
}

impl Cell {
    /// Whether an access has this cell.
    pub fn is_in(self, bytes: Bytes) -> bool {
        bytes.object == self.object && bytes.start <= self.start && self.start < bytes.start + bytes.len
    }
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The write before the program, which gives memory its first values.
    Init(Bytes),
    /// A read.
    Read(Bytes),
    /// A write.
    Write(Bytes),
    /// A fence of memory operations.
    Fence,
    /// A fence between the generic proxy and another.
    ProxyFence(Proxy),
    /// A fence between virtual addresses of one location.
    AliasFence,
    /// A barrier: its instance, and how it takes part.
    Barrier(Barrier),
    /// A wait for the thread's asynchronous copies.
    Wait,
}

/// How a thread takes part in a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Arrives and waits.
    Sync,
    /// Arrives and goes on.
    Arrive,
    /// Waits for those that arrive.
    Wait,
}

/// A barrier event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// Which use of the barrier.
    pub instance: u32,
    /// Arrive, wait or both.
    pub part: Part,
    /// The scope of the threads that meet: CTA or cluster.
    pub scope: Scope,
}

/// One event of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The thread; initial writes have none.
    pub thread: Option<u32>,
    /// The instruction within the thread.
    pub instruction: u32,
    /// Where the thread runs.
    pub placement: Placement,
    /// What it does.
    pub kind: Kind,
    /// Its order.
    pub order: Order,
    /// Its scope; weak accesses and barriers have none.
    pub scope: Option<Scope>,
    /// Its proxy, for accesses and memory fences.
    pub proxy: Proxy,
    /// Whether it is the read of a reduction, which returns nothing.
    pub unobserved: bool,
}

impl Event {
    /// An event of an instruction: weak, of the generic proxy.
    pub fn new(thread: usize, instruction: usize, placement: Placement, kind: Kind) -> Self {
        Self {
            thread: Some(thread as u32),
            instruction: instruction as u32,
            placement,
            kind,
            order: Order::Weak,
            scope: None,
            proxy: Proxy::Generic,
            unobserved: false,
        }
    }

    /// The write before the program to all of an object.
    pub fn initial(object: usize, len: usize) -> Self {
        let bytes = Bytes { object: object as u32, address: u32::MAX, start: 0, len: len as u32 };
        Self { thread: None, ..Self::new(0, 0, Placement::default(), Kind::Init(bytes)) }
    }

    /// Whether it accesses a cell.
    pub fn covers(&self, cell: Cell) -> bool {
        self.bytes().is_some_and(|bytes| cell.is_in(bytes))
    }

    /// The bytes it touches.
    pub fn bytes(&self) -> Option<Bytes> {
        match self.kind {
            Kind::Init(bytes) | Kind::Read(bytes) | Kind::Write(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Whether it writes, initially or later.
    pub fn is_write(&self) -> bool {
        matches!(self.kind, Kind::Init(_) | Kind::Write(_))
    }

    /// Whether it reads.
    pub fn is_read(&self) -> bool {
        matches!(self.kind, Kind::Read(_))
    }
}
