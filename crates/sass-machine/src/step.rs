//! An instruction, ready to be executed.

use crate::mbarrier::Arrives;
use crate::operand::{Half, Operand, Sign, Special};
use crate::registers::{LANES, Plane};
use crate::sparsity::Sparsity;
use crate::system::Function;
use ir::instruction::ShflMode;
use machine::tensormap::{Direction, Mode};
use machine::texture::{Beyond, Lookup};
use numerics::tensor::lanes;

/// How a source is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 32 bits; `-` is the two's complement.
    Word,
    /// A pair of registers, 64 bits.
    Wide,
    /// A single-precision number: `-` and `||` are its sign bit's.
    Single,
    /// A double-precision number in a pair.
    Double,
    /// Two halves.
    Packed,
    /// A predicate: 0 or 1.
    Flag,
}

/// What is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) operand: Operand,
    pub(crate) kind: Kind,
}

/// Where a result goes. What has the last number is dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// So many registers from this one on.
    Registers(u8, u8),
    /// The same in the uniform file.
    Uniform(u8, u8),
    Predicate(u8),
    UniformPredicate(u8),
}

impl Place {
    /// Whether it is there once for a warp.
    pub(crate) fn is_uniform(self) -> bool {
        matches!(self, Self::Uniform(..) | Self::UniformPredicate(_))
    }
}

/// Sources and results of a computation, at most.
pub(crate) const MOST_SOURCES: usize = 6;
pub(crate) const MOST_PLACES: usize = 3;

/// What a computation of up to 64 bits is given, source by source, and what comes out.
pub(crate) type Given = [[u64; LANES]; MOST_SOURCES];
pub(crate) type Results = [[u64; LANES]; MOST_PLACES];

/// A source of 32 bits.
pub(crate) enum Input {
    /// A register as it is.
    Register(u8),
    /// One word in all lanes.
    Same(Box<Plane>),
    Other(Source),
}

impl From<Source> for Input {
    fn from(source: Source) -> Self {
        match source.operand {
            Operand::Register { number, sign, half }
                if sign == Sign::default() && half == Half::Both && source.kind != Kind::Flag =>
            {
                Self::Register(number)
            }
            Operand::Immediate(word) if source.kind != Kind::Flag => Self::Same(Box::new([word; LANES])),
            _ => Self::Other(source),
        }
    }
}

/// Three words to one, in all lanes at once.
pub(crate) type Words = Box<dyn for<'x> Fn(([&'x Plane; 3], &'x mut Plane)) + Send + Sync>;
/// The lanes in which something holds of two words.
pub(crate) type Test = Box<dyn for<'x> Fn([&'x Plane; 2]) -> u32 + Send + Sync>;
/// Three words and two carries, as masks of lanes, to a word; the lanes in which the sum carries once, and twice.
pub(crate) type Sum =
    Box<dyn for<'x> Fn(([&'x Plane; 3], [u32; 2], &'x mut Plane)) -> [u32; 2] + Send + Sync>;
/// What lanes compute from their sources: sources to results, in their orders.
pub(crate) type Lanes = Box<dyn for<'x> Fn((&'x Given, &'x mut Results)) + Send + Sync>;

/// Where operands and results lie while an instruction is executed.
#[repr(align(64))]
pub(crate) struct Scratch {
    pub(crate) words: [Plane; 3],
    pub(crate) to: Plane,
    pub(crate) given: Given,
    pub(crate) results: Results,
}

impl Default for Scratch {
    fn default() -> Self {
        let wide = [0; LANES];
        Self {
            words: [[0; LANES]; 3],
            to: [0; LANES],
            given: [wide; MOST_SOURCES],
            results: [wide; MOST_PLACES],
        }
    }
}

/// A computation.
pub(crate) enum Compute {
    Words {
        sources: [Input; 3],
        place: Place,
        function: Words,
    },
    /// Two predicates: the truth and its opposite, each joined with a third one.
    Test {
        sources: [Input; 2],
        places: [Place; 2],
        with: Source,
        join: fn(u32, u32) -> u32,
        function: Test,
    },
    /// A sum whose carries come from predicates and go to predicates.
    Sum {
        sources: [Input; 3],
        carries: [Option<Source>; 2],
        place: Place,
        flags: [Place; 2],
        function: Sum,
    },
    /// Anything else, up to 64 bits a source and a result.
    Lanes {
        sources: Vec<Source>,
        places: Vec<Place>,
        function: Lanes,
    },
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
    pub(crate) register: u8,
    pub(crate) wide: bool,
    pub(crate) uniform: u8,
    /// The uniform register is a pair.
    pub(crate) pair: bool,
    pub(crate) offset: i64,
}

/// What an atomic operation makes of what is there and of its operands.
pub(crate) type Update = Box<dyn Fn(u128, u128, u128) -> u128 + Send + Sync>;

/// What goes to memory: up to 64 bits, and those above them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datum {
    pub(crate) low: Source,
    pub(crate) high: Option<Source>,
}

/// An access to memory.
pub(crate) enum Access {
    /// Reads bytes; fewer than four are extended by sign or zeros.
    Load {
        to: u8,
        address: Address,
        bytes: u8,
        signed: bool,
    },
    Store {
        from: Datum,
        address: Address,
        bytes: u8,
    },
    Atomic {
        to: u8,
        /// Whether the address was global memory's; elsewhere nothing is done then.
        done: Option<u8>,
        address: Address,
        bytes: u8,
        operands: [Datum; 2],
        update: Update,
    },
    /// From a constant bank.
    Constant {
        to: Place,
        bank: u8,
        register: u8,
        uniform: u8,
        offset: i64,
        bytes: u8,
        signed: bool,
    },
    /// As an atomic operation, but what comes back is whether a value was exchanged.
    Exchange {
        to: u8,
        address: Address,
        bytes: u8,
        operands: [Source; 2],
    },
    /// Matrices of eight rows of eight halves: eight lanes have the addresses of a matrix's rows.
    Matrices {
        store: bool,
        transposed: bool,
        count: u8,
        register: u8,
        address: Address,
    },
    /// From global memory to shared memory; zeros where a flag does not hold.
    Copy {
        to: Address,
        from: Address,
        bytes: u8,
        /// The source stands so far inside an element as there are zeros at its end.
        fills: bool,
        flag: Option<Source>,
    },
    /// Asks which memory a generic address is in.
    Which {
        flag: Place,
        to: Place,
        address: Address,
        /// None for the shared memory of another CTA, where no address here is.
        space: Option<Space>,
    },
}

impl Access {
    /// Which memory it may touch, if that is none of constants.
    pub(crate) fn space(&self) -> Option<Space> {
        match self {
            Self::Load { address, .. }
            | Self::Store { address, .. }
            | Self::Atomic { address, .. }
            | Self::Exchange { address, .. }
            | Self::Matrices { address, .. }
            | Self::Copy { from: address, .. } => Some(address.space),
            Self::Constant { .. } | Self::Which { .. } => None,
        }
    }
}

/// What a vote asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    Any,
    All,
    Equal,
}

/// What lanes do together.
pub(crate) enum Collective {
    Shuffle {
        mode: ShflMode,
        inside: Place,
        to: Place,
        sources: [Source; 3],
    },
    /// The lanes whose predicate holds; whether that is so in any, in all, or the same in all.
    Vote {
        vote: Vote,
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
        /// Each value is joined with itself first.
        twice: bool,
    },
    /// The first active lane, or the first whose predicate holds.
    Elect {
        flag: Place,
        to: Place,
        source: Option<Source>,
    },
    Product(Product),
    /// A matrix of eight rows of eight halves, its rows and columns exchanged.
    Transpose {
        to: Place,
        from: u8,
    },
}

/// A product of matrices in registers: D = A * B + C.
pub(crate) struct Product {
    pub(crate) config: numerics::tensor::Config,
    /// Rows of A, and elements in each.
    pub(crate) rows: usize,
    pub(crate) k: usize,
    pub(crate) to: u8,
    pub(crate) a: u8,
    pub(crate) b: u8,
    pub(crate) c: u8,
    /// Half of A is stored, if it is sparse.
    pub(crate) sparsity: Option<Sparsity>,
    /// What computes it with all lanes side by side.
    pub(crate) side_by_side: Option<lanes::Kind>,
}

/// How many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    None,
    One,
    /// As an operand says.
    Given,
    /// So many fewer.
    Done,
}

/// What is done at an object in shared memory that counts arrivals.
pub(crate) enum Phase {
    Arrive {
        to: u8,
        address: Address,
        arrivals: Count,
        transactions: Count,
        count: Source,
        /// They take no part in later phases.
        leave: bool,
    },
    /// What a thread has copied is there, of which an object is told.
    Copied { address: Address, arrives: Arrives },
    /// Whether a phase is over; or until it is.
    Check { flag: u8, address: Address, phase: Source, waits: bool },
}

/// From where to where a copy in bulk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// From global memory.
    ToShared,
    /// To global memory.
    FromShared,
    /// From one place in shared memory to another.
    Between,
}

/// A copy in bulk; uniform registers say from where to where. Behind the one with the place in shared memory, that of the destination if both
/// are there, stands that of the object which counts the bytes.
pub(crate) struct Bulk {
    pub(crate) transfer: Transfer,
    pub(crate) shared: u8,
    pub(crate) other: u8,
    pub(crate) size: u8,
    /// Whether above the size stand the CTAs of the cluster that get it.
    pub(crate) many: bool,
    /// What elements of so many bytes become, if they are not replaced.
    pub(crate) update: Option<(Update, u8)>,
}

/// A store to shared memory, or an update, of which an object is told: its address is the upper half of the pair's.
pub(crate) struct Told {
    pub(crate) address: Address,
    pub(crate) from: Datum,
    pub(crate) bytes: u8,
    pub(crate) update: Option<Update>,
}

/// A copy between shared memory and a tensor, whose map and coordinates stand in uniform registers: the map's address, behind the place in
/// shared memory the object that counts, if something is loaded, then the coordinates.
pub(crate) struct Tensor {
    pub(crate) direction: Direction,
    pub(crate) mode: Mode,
    pub(crate) rank: usize,
    pub(crate) shared: u8,
    pub(crate) map: u8,
    /// Where windows begin, below; above stand the CTAs that get it, if there are `many`.
    pub(crate) window: Option<u8>,
    pub(crate) many: bool,
    /// An operation on elements: the map says of which type they are.
    pub(crate) operation: Option<&'static str>,
}

/// A fetch of a texture's texels.
pub(crate) struct Fetch {
    pub(crate) lookup: Lookup,
    /// Two pairs of registers for the channels.
    pub(crate) to: [u8; 2],
    /// A predicate that holds where a texel is absent.
    pub(crate) absent: Option<u8>,
    pub(crate) at: u8,
    pub(crate) more: Option<u8>,
    pub(crate) has_offsets: bool,
    pub(crate) handle: u8,
}

/// What is done on a surface.
pub(crate) enum Way {
    Load,
    /// So many channels, if it counts texels.
    Store {
        channels: usize,
    },
    /// Of unsigned elements, and of those with a sign.
    Reduce([Update; 2]),
}

/// An access to a surface.
pub(crate) struct OnSurface {
    pub(crate) way: Way,
    pub(crate) dimensions: usize,
    pub(crate) layered: bool,
    /// Whether the first coordinate counts texels.
    pub(crate) formatted: bool,
    pub(crate) bytes: u8,
    pub(crate) beyond: Beyond,
    pub(crate) at: u8,
    pub(crate) data: u8,
    pub(crate) handle: u8,
}

/// What is done by the handle of a texture or surface.
pub(crate) enum Texel {
    Fetch(Fetch),
    /// The size of a level along an axis.
    Extent {
        to: u8,
        level: u8,
        axis: usize,
        handle: u8,
    },
    Surface(OnSurface),
}

/// A warp's part of a product of four warps: sixteen rows of D = A * B + C.
pub(crate) struct GroupProduct {
    pub(crate) config: numerics::tensor::Config,
    pub(crate) columns: usize,
    pub(crate) k: usize,
    pub(crate) to: u8,
    /// None if it is in shared memory.
    pub(crate) a: Option<u8>,
    pub(crate) c: u8,
    /// Uniform registers with A's descriptor and B's.
    pub(crate) descriptors: u8,
    /// Whether A's elements have the opposite sign, and B's.
    pub(crate) negated: [bool; 2],
    /// Whether A's elements lie across its rows, and B's.
    pub(crate) transposed: [bool; 2],
    /// Half of A is stored, if it is sparse.
    pub(crate) sparsity: Option<Sparsity>,
    /// What computes it with all lanes side by side.
    pub(crate) side_by_side: Option<lanes::Kind>,
    /// Whether C is added.
    pub(crate) scale: Source,
    /// It ends a group.
    pub(crate) commits: bool,
}

impl GroupProduct {
    /// Elements of a row of A that are stored.
    pub(crate) fn stored(&self) -> usize {
        if self.sparsity.is_some() { self.k / 2 } else { self.k }
    }
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
    /// The predicates of a mask to the bits of a register, which are put into a byte of another.
    PackPredicates {
        to: Place,
        from: Source,
        mask: u32,
        byte: u8,
        uniform: bool,
    },
    /// Bits of a register to the predicates of a mask.
    UnpackPredicates {
        from: Source,
        mask: u32,
        uniform: bool,
    },
    /// A register of the first active lane, or what all of them have, to a uniform one.
    ToUniform {
        to: u8,
        from: Source,
    },
    Access(Access),
    Phase(Phase),
    /// At the barrier of a cluster.
    ClusterArrive,
    ClusterWait,
    Bulk(Bulk),
    Told(Told),
    Tensor(Tensor),
    Texel(Texel),
    Group(GroupProduct),
    /// Waits until so many groups of such products are left.
    AwaitProducts(usize),
    /// The copies by threads since the last group are one, of which so many may be left.
    CommitCopies,
    AwaitCopies(usize),
    Lanes(Collective),
    /// To the instruction with this number, in the lanes in which all of the flags hold; with `any` in all if it is carried out in any.
    Branch {
        target: usize,
        flags: Vec<Source>,
        any: bool,
    },
    /// To this address and what a pair of registers adds to it.
    Indirect {
        base: u64,
        register: u8,
        /// The register is a uniform one.
        uniform: bool,
    },
    /// Lanes enter a barrier of convergence.
    Gather(u8),
    /// Lanes wait at one for those that have entered it.
    Meet(u8),
    /// Lanes leave one.
    Break(u8),
    /// A barrier of convergence to a register, after which nobody is in it if it is cleared.
    BarrierToRegister {
        to: u8,
        barrier: u8,
        clear: bool,
    },
    RegisterToBarrier {
        barrier: u8,
        from: Source,
    },
    /// The address of this instruction, and what is added to it.
    ProgramCounter(Place, u64),
    Exit,
    Barrier {
        number: Source,
        threads: Option<Source>,
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
    /// Waits for the lanes of a mask, with which others do not go on.
    Exclusive(Source),
    /// Waits for them at whichever such instruction each stands; what follows one of these they do together, until they leave each to its
    /// own target.
    Collective(Option<Source>, usize),
    Leave,
    Yield,
    Nothing,
    Trap,
    /// A function of the system, which returns behind its call.
    System(Function),
    NotExecuted(String),
    NoInstruction(u128),
}

/// An instruction.
pub(crate) struct Step {
    /// The predicate under which it is carried out.
    pub(crate) guard: Option<Source>,
    pub(crate) action: Action,
}
