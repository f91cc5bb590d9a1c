//! Observers: who wants to know what a launch does. They cost nothing when absent: the dispatch loop is compiled twice.

use crate::fault::{Access, Trap};
use crate::inspect::{Change, State};
use crate::lanes::{LANES, Plane};
use crate::memory::SpaceKind;
use crate::memory::mbarrier::Mbarrier;
use ptx::module::{FuncId, VarId};

/// One warp is about to execute one instruction.
#[derive(Debug)]
pub struct Event<'a> {
    /// The function.
    pub function: FuncId,
    /// Index in the function's body.
    pub instruction: u32,
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%warpid`.
    pub warp: u32,
    /// Lanes that execute it: active, and their guard holds.
    pub mask: u32,
    /// Lanes that are active, whether their guard holds or not.
    pub active: u32,
    /// What it accesses, if it is a memory instruction.
    pub access: Option<MemoryAccess<'a>>,
    /// The lanes that take it, if it is a conditional branch.
    pub taken: Option<u32>,
}

/// The memory that a warp's instruction accesses.
#[derive(Debug)]
pub struct MemoryAccess<'a> {
    /// The state space that the instruction names.
    pub space: SpaceKind,
    /// Load, store or atomic.
    pub access: Access,
    /// Bytes a lane.
    pub bytes: u32,
    /// The address of every lane; meaningless for lanes outside the mask.
    pub addresses: &'a [u64; LANES],
}

/// The warps of a pack, one dispatch for all of them, are about to execute one instruction.
pub struct Issue<'a> {
    /// The function.
    pub function: FuncId,
    /// Index in the function's body.
    pub instruction: u32,
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%warpid` of the first of the warps.
    pub first_warp: u32,
    /// Of each warp the lanes that execute it: active, and their guard holds.
    pub masks: &'a [u32],
    /// Of each warp the lanes that are active, whether their guard holds or not.
    pub active: &'a [u32],
    /// What it accesses, if it is a memory instruction.
    pub access: Option<PackAccess<'a>>,
    /// The lanes of each warp that take it, if it is a conditional branch.
    pub taken: Option<&'a [u32]>,
    /// What the threads of the CTA have.
    pub state: &'a dyn State,
}

/// The memory that the instruction of a pack accesses.
#[derive(Clone, Copy, Debug)]
pub struct PackAccess<'a> {
    /// The state space that the instruction names.
    pub space: SpaceKind,
    /// Load, store or atomic.
    pub access: Access,
    /// Bytes a lane.
    pub bytes: u32,
    /// Where.
    pub addresses: PackAddresses<'a>,
    /// How far the next lane of each half of a warp is, if the program's text tells, of lanes that are active. Whether that is so, the first and
    /// the last of them show, since all that can break it is arithmetic that wraps once.
    pub step: Option<i64>,
}

/// Addresses as registers hold them.
#[derive(Clone, Copy, Debug)]
pub enum PackAddresses<'a> {
    /// One for all lanes of all warps.
    Uniform(u64),
    /// Planes of 32 bits, and what is added to them.
    Narrow(&'a [Plane<u32>], u32),
    /// Planes of 64 bits, and what is added to them.
    Wide(&'a [Plane<u64>], u64),
}

impl PackAddresses<'_> {
    /// Those of a warp.
    #[inline(always)]
    pub fn lanes(&self, warp: usize) -> [u64; LANES] {
        let mut lanes = [0; LANES];
        match *self {
            Self::Uniform(address) => lanes = [address; LANES],
            Self::Narrow(planes, offset) => {
                for (lane, &address) in lanes.iter_mut().zip(&planes[warp].0) {
                    *lane = u64::from(address.wrapping_add(offset));
                }
            }
            Self::Wide(planes, offset) => {
                for (lane, &address) in lanes.iter_mut().zip(&planes[warp].0) {
                    *lane = address.wrapping_add(offset);
                }
            }
        }
        lanes
    }

    /// Whether those of two warps are the same.
    #[inline(always)]
    pub fn alike(&self, a: usize, b: usize) -> bool {
        match self {
            Self::Uniform(_) => true,
            Self::Narrow(planes, _) => planes[a] == planes[b],
            Self::Wide(planes, _) => planes[a] == planes[b],
        }
    }
}

impl<'a> Issue<'a> {
    /// One of the warps; `addresses` are its own.
    pub fn of_warp<'e>(&self, warp: usize, addresses: &'e [u64; LANES]) -> Event<'e> {
        let of_access =
            |PackAccess { space, access, bytes, .. }| MemoryAccess { space, access, bytes, addresses };
        Event {
            function: self.function,
            instruction: self.instruction,
            block: self.block,
            warp: self.first_warp + warp as u32,
            mask: self.masks[warp],
            active: self.active[warp],
            access: self.access.map(of_access),
            taken: self.taken.map(|taken| taken[warp]),
        }
    }

    /// Calls for each warp that has an active lane.
    pub fn each_warp(&self, mut act: impl FnMut(&Event<'_>)) {
        for warp in (0..self.active.len()).filter(|&warp| self.active[warp] != 0) {
            let addresses = self.access.map_or([0; LANES], |access| access.addresses.lanes(warp));
            act(&self.of_warp(warp, &addresses));
        }
    }
}

/// Lanes of a warp at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%warpid`.
    pub warp: u32,
    /// Which of its lanes.
    pub mask: u32,
    /// The function, and the index in its body.
    pub place: (FuncId, u32),
}

/// What an operation does to an mbarrier object. Addresses are those of the shared window, with the rank of the CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierEvent {
    /// `mbarrier.init`, `.inval`, `.arrive`, `.expect_tx`, `.complete_tx`, `cp.async.mbarrier.arrive`: the instruction
    /// says which.
    Changed {
        /// The object before.
        before: Mbarrier,
        /// The object after.
        after: Mbarrier,
    },
    /// An asynchronous operation of these lanes has told the object that its bytes have come.
    Completed {
        /// The object before.
        before: Mbarrier,
        /// The object after.
        after: Mbarrier,
    },
    /// `mbarrier.test_wait` or `.try_wait` found the phase of this parity over.
    Waited {
        /// The parity of the phase that is over.
        parity: bool,
    },
}

/// A variable, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which of the module.
    pub variable: VarId,
    /// Whether each CTA has its own.
    pub shared: bool,
    /// Its first byte: in the shared window, or in global memory.
    pub start: u64,
}

/// What happens besides the accesses that [`Event`]s tell of. Nothing is told twice: waiting operations are executed again
/// and again, and tell when they are done.
#[derive(Clone, Copy, Debug)]
pub enum Happening<'a> {
    /// A grid begins: its shape, as kernel and launch say it together.
    Began {
        /// The kernel.
        kernel: FuncId,
        /// Where the variables in shared, global and constant memory are that its code can name.
        variables: &'a [Placed],
        /// Whether it can launch others.
        launches: bool,
        /// CTAs in each dimension.
        grid: [u32; 3],
        /// Threads of a CTA in each dimension.
        block: [u32; 3],
        /// CTAs of a cluster in each dimension.
        cluster: [u32; 3],
    },
    /// `bar.warp.sync`: these lanes have met.
    WarpBarrier(Lanes),
    /// Lanes have arrived at a CTA barrier.
    BarrierArrived {
        /// Who. Their place is the barrier instruction.
        lanes: Lanes,
        /// Which of the CTA's barriers.
        number: usize,
        /// Whether they wait there, or have only arrived.
        waits: bool,
        /// The thread count that they name.
        threads: Option<u32>,
        /// Lanes of the warp that have not exited.
        live: u32,
    },
    /// A CTA barrier lets its threads go on.
    BarrierCompleted {
        /// `%ctaid`.
        block: [u32; 3],
        /// Which of the CTA's barriers.
        number: usize,
    },
    /// All threads that a CTA has left have met at a CTA barrier that waits for all of them, and go on: nothing else is told of it.
    BarrierPassed {
        /// `%ctaid`.
        block: [u32; 3],
        /// Which of the CTA's barriers.
        number: usize,
        /// The barrier instruction: the function, and the index in its body.
        place: (FuncId, u32),
        /// The lanes of each warp.
        masks: &'a [u32],
    },
    /// `barrier.cluster.arrive`.
    ClusterArrived {
        /// Who.
        lanes: Lanes,
        /// The parity of the phase that they arrive in.
        phase: bool,
    },
    /// `barrier.cluster.wait`: the phase is over.
    ClusterWaited {
        /// Who.
        lanes: Lanes,
        /// The parity of the phase that they have waited for, of those lanes where it is odd.
        odd: u32,
    },
    /// An mbarrier object.
    Mbarrier {
        /// Who.
        lanes: Lanes,
        /// Where it is.
        address: u64,
        /// What happened to it.
        event: MbarrierEvent,
    },
    /// `cp.async`: the destination of every lane in the shared window. The source is in the event before.
    CopiedAsync {
        /// Who.
        lanes: Lanes,
        /// Where to, each.
        to: &'a [u64; LANES],
        /// Bytes written.
        bytes: u32,
        /// Bytes read, by lane.
        read: &'a [u32; LANES],
    },
    /// Lanes access memory by an instruction that does not name an element or a vector for each of them: matrices, blocks, what
    /// stands behind objects and descriptors.
    Accessed {
        /// Who. Of what a warpgroup reads together, all lanes of its first warp.
        lanes: Lanes,
        /// The generic address of every lane; meaningless for lanes outside the mask.
        addresses: &'a [u64; LANES],
        /// Bytes a lane.
        bytes: u64,
        /// Load, store or atomic.
        access: Access,
    },
    /// A lane begins a bulk or tensor copy: what follows belongs to it.
    BulkCopy(Lanes),
    /// A part of that copy: generic address and bytes.
    BulkAccess {
        /// The first byte.
        address: u64,
        /// How many.
        bytes: u64,
        /// Load, store or reduction.
        access: Access,
    },
    /// Lanes have issued an instruction of the tensor core, or a copy between tensor memory and registers.
    TensorCore {
        /// Who.
        lanes: Lanes,
        /// What it accesses of shared memory, and [from here on](crate::memory::TENSOR_MEMORY) of tensor memory: generic address,
        /// bytes, load or store.
        ranges: &'a [(u64, u64, Access)],
    },
    /// A compare-and-swap: lanes for which memory was changed.
    Swapped(Lanes),
    /// `shfl.sync` reads the register of a lane that does not take part; the mask has the lanes that do.
    ShuffledFromOutside(Lanes),
    /// Device code has allocated memory, or freed it.
    Heap {
        /// Who.
        lanes: Lanes,
        /// The first byte.
        address: u64,
        /// How many; 0 when freed.
        bytes: u64,
    },
    /// `griddepcontrol.wait`: the grids before this one are complete.
    GridsComplete(Lanes),
    /// Lanes have exited.
    Exited(Lanes),
    /// All threads of a CTA have exited.
    BlockDone {
        /// `%ctaid`.
        block: [u32; 3],
    },
}

/// Watches a launch. Host threads call it concurrently.
pub trait Observer: Sync {
    /// Called before a warp executes an instruction, unless [`Observer::issue`] is provided.
    fn instruction(&self, _event: &Event<'_>) {}

    /// Called before the warps of a pack execute an instruction together, for those who look at them together.
    fn issue(&self, issue: &Issue<'_>) {
        issue.each_warp(|event| self.instruction(event));
    }

    /// What of the threads' state is to be changed before the instruction that it was told of last is executed: asked in launches
    /// for debuggers alone ([`crate::LaunchOptions::debug`]). If there is something, the observer is told of the instruction
    /// again, as it is then.
    fn changes(&self) -> Vec<Change> {
        Vec::new()
    }

    /// Whether it is also to be told of the grids that kernels of the launch launch, each from its [`Happening::Began`] on.
    fn follows_children(&self) -> bool {
        false
    }

    /// Whether it is to be told of this instruction of a function: asked once a launch.
    fn watches(&self, _function: FuncId, _instruction: u32) -> bool {
        true
    }

    /// Whether it is to be told when this instruction of a function has been [executed](Self::executed): asked once a launch.
    fn follows(&self, _function: FuncId, _instruction: u32) -> bool {
        false
    }

    /// Called by the same host thread once an instruction has been executed that it follows, or has faulted: between
    /// [`Observer::issue`] and this it hears of nothing there but what happens while the instruction is executed.
    fn executed(&self) {}

    /// Whether nobody needs what the launch does any more, so that it may end as if it were cancelled: asked again and again.
    fn gives_up(&self) -> bool {
        false
    }

    /// Whether kernels may go on after a bad access: asked once a launch.
    fn forgives(&self) -> bool {
        false
    }

    /// Whether the kernel goes on though an access of a lane cannot take place, if it may at all. The access then does
    /// nothing, and what it would have read is zero.
    fn forgive(&self, _trap: &Trap, _lanes: Lanes) -> bool {
        false
    }

    /// Called for everything else that happens.
    fn happening(&self, _happening: &Happening<'_>) {}
}

/// Several observers at once.
pub struct Observers<'a>(pub Vec<&'a dyn Observer>);

impl Observer for Observers<'_> {
    fn issue(&self, issue: &Issue<'_>) {
        let wants = |observer: &&&dyn Observer| observer.watches(issue.function, issue.instruction);
        self.0.iter().filter(wants).for_each(|observer| observer.issue(issue));
    }

    fn watches(&self, function: FuncId, instruction: u32) -> bool {
        self.0.iter().any(|observer| observer.watches(function, instruction))
    }

    fn follows(&self, function: FuncId, instruction: u32) -> bool {
        self.0.iter().any(|observer| observer.follows(function, instruction))
    }

    fn executed(&self) {
        self.0.iter().for_each(|observer| observer.executed());
    }

    fn gives_up(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|observer| observer.gives_up())
    }

    fn forgives(&self) -> bool {
        self.0.iter().any(|observer| observer.forgives())
    }

    fn forgive(&self, trap: &Trap, lanes: Lanes) -> bool {
        // Each is told.
        self.0.iter().filter(|observer| observer.forgive(trap, lanes)).count() > 0
    }

    fn happening(&self, happening: &Happening<'_>) {
        self.0.iter().for_each(|observer| observer.happening(happening));
    }
}
