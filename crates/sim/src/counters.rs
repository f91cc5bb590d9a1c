//! What is counted: for the device, and for each instruction why warps waited.

use sass_machine::Way;

/// Why a warp does not issue; the names are Nsight Compute's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// It does.
    Selected,
    /// The stall count of the instruction before.
    Wait,
    /// A scoreboard of an access to global or local memory.
    LongScoreboard,
    /// A scoreboard of anything else.
    ShortScoreboard,
    /// A barrier of the CTA.
    Barrier,
    /// The target of a branch.
    BranchResolving,
    /// Code that the SM does not have.
    NoInstruction,
    /// The pipe is busy.
    MathPipeThrottle,
    /// The queue to what sub-cores share is full, or its pipe busy.
    MioThrottle,
    /// Operands lie in one bank of registers.
    DispatchStall,
    /// Another warp was chosen.
    NotSelected,
}

/// All of them.
pub const STALLS: [(Stall, &str); 11] = [
    (Stall::Selected, "selected"),
    (Stall::Wait, "wait"),
    (Stall::LongScoreboard, "long_scoreboard"),
    (Stall::ShortScoreboard, "short_scoreboard"),
    (Stall::Barrier, "barrier"),
    (Stall::BranchResolving, "branch_resolving"),
    (Stall::NoInstruction, "no_instruction"),
    (Stall::MathPipeThrottle, "math_pipe_throttle"),
    (Stall::MioThrottle, "mio_throttle"),
    (Stall::DispatchStall, "dispatch_stall"),
    (Stall::NotSelected, "not_selected"),
];

/// Cycles of warps by why they waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls([u64; STALLS.len()]);

impl Stalls {
    /// Adds cycles.
    pub fn add(&mut self, stall: Stall, cycles: u64) {
        self.0[stall as usize] += cycles;
    }

    /// Adds all of another one's.
    pub fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own += other);
    }

    /// The cycles for a reason.
    #[must_use]
    pub fn of(&self, stall: Stall) -> u64 {
        self.0[stall as usize]
    }

    fn scale(&mut self, scale: impl Fn(&mut u64)) {
        self.0.iter_mut().for_each(scale);
    }

    /// The cycles in which a warp was not issued.
    #[must_use]
    pub fn waited(&self) -> u64 {
        self.all() - self.of(Stall::Selected)
    }

    /// All cycles.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// What is known of an instruction of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// How often a warp executed it.
    pub warps: u64,
    /// How many lanes did.
    pub threads: u64,
    /// Why warps waited in front of it.
    pub stalls: Stalls,
}

impl Line {
    /// Adds what another one has counted.
    pub fn add_all(&mut self, other: &Self) {
        self.warps += other.warps;
        self.threads += other.threads;
        self.stalls.add_all(&other.stalls);
    }

    /// What all of a launch would count, of which so many CTAs were executed.
    pub(crate) fn extrapolate(&mut self, all: u64, executed: u64) {
        let scale = |count: &mut u64| *count = scaled(*count, all, executed);
        scale(&mut self.warps);
        scale(&mut self.threads);
        self.stalls.scale(scale);
    }
}

/// A count of a part as one of the whole.
fn scaled(count: u64, all: u64, executed: u64) -> u64 {
    let exact = u128::from(count) * u128::from(all) / u128::from(executed.max(1));
    u64::try_from(exact).unwrap_or(u64::MAX)
}

/// The device's counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Warp instructions.
    pub instructions: u64,
    /// Instructions of threads.
    pub threads: u64,
    /// Cycles in which an SM had a CTA, of all SMs.
    pub active: u64,
    /// Warps that were resident, cycle by cycle, of all SMs.
    pub resident: u64,
    /// Sectors of global loads, stores and atomic operations at the L1, then those of local loads and stores.
    pub global_load: u64,
    /// Stores.
    pub global_store: u64,
    /// Atomic operations.
    pub global_atomic: u64,
    /// Of local memory.
    pub local_load: u64,
    /// Of local memory.
    pub local_store: u64,
    /// Sectors of loads that the L1 had.
    pub l1_hit: u64,
    /// Instructions that loaded from global memory.
    pub load_requests: u64,
    /// Sectors read at the L2.
    pub l2_read: u64,
    /// Those that it had.
    pub l2_read_hit: u64,
    /// Sectors written.
    pub l2_write: u64,
    /// Sectors changed by atomic operations.
    pub l2_atomic: u64,
    /// Sectors that memory gave.
    pub dram_read: u64,
    /// Sectors that it took.
    pub dram_write: u64,
    /// Rounds of shared memory by loads.
    pub shared_load: u64,
    /// By stores.
    pub shared_store: u64,
    /// By atomic operations.
    pub shared_atomic: u64,
    /// Of loads' and stores', those beyond what there would be without conflicts.
    pub load_conflicts: u64,
    /// Of stores.
    pub store_conflicts: u64,
    /// CTAs.
    pub ctas: u64,
}

impl Counters {
    /// What all of a launch would count, of which so many CTAs were executed.
    pub(crate) fn extrapolate(&mut self, all: u64, executed: u64) {
        self.counts().for_each(|count| *count = scaled(*count, all, executed));
    }

    /// Adds what another one has counted.
    pub(crate) fn add_all(&mut self, other: &Self) {
        let mut other = other.clone();
        self.counts().zip(other.counts()).for_each(|(own, other)| *own += *other);
    }

    /// All that is counted while CTAs are executed.
    fn counts(&mut self) -> impl Iterator<Item = &mut u64> {
        let Self {
            instructions,
            threads,
            active,
            resident,
            global_load,
            global_store,
            global_atomic,
            local_load,
            local_store,
            l1_hit,
            load_requests,
            l2_read,
            l2_read_hit,
            l2_write,
            l2_atomic,
            dram_read,
            dram_write,
            shared_load,
            shared_store,
            shared_atomic,
            load_conflicts,
            store_conflicts,
            // Known before.
            ctas: _,
        } = self;
        let executions = [instructions, threads, active, resident];
        let l1 = [global_load, global_store, global_atomic, local_load, local_store, l1_hit, load_requests];
        let behind = [l2_read, l2_read_hit, l2_write, l2_atomic, dram_read, dram_write];
        let shared = [shared_load, shared_store, shared_atomic, load_conflicts, store_conflicts];
        executions.into_iter().chain(l1).chain(behind).chain(shared)
    }

    /// A sector at the L1.
    pub(crate) fn l1(&mut self, way: Way, is_local: bool) {
        match (way, is_local) {
            (Way::Load, false) => self.global_load += 1,
            (Way::Load, true) => self.local_load += 1,
            (Way::Store, false) => self.global_store += 1,
            (Way::Store, true) => self.local_store += 1,
            (Way::Atomic | Way::Reduction, _) => self.global_atomic += 1,
        }
    }
}
