//! A launch whose warps somebody else chooses, an instruction at a time: whoever has a notion of time.
//!
//! Results are there for the next instruction, as in a functional launch. What an instruction touches is told, so that its cost can be
//! known; `%clock` is what the chooser says.

use crate::cta::Cta;
use crate::decode::WORD;
use crate::fault::Fault;
use crate::grid::{Launch, Loaded, Prepared};
use crate::mbarrier::Completion;
use crate::step::{Action, Space};
use crate::touched::Touched;

/// A launch, no CTA of which has begun.
pub struct Grid<'a> {
    prepared: Prepared<'a>,
}

/// A CTA that is somewhere on the way.
pub struct Resident {
    cta: Cta,
}

impl Loaded<'_> {
    /// A launch to be executed by choice; none of a kernel that is not there.
    ///
    /// # Errors
    /// If its CTAs have more threads or shared memory than there can be.
    pub fn choose(&self, launch: &Launch<'_>) -> Option<Result<Grid<'_>, Fault>> {
        let kernel = self.kernel(launch.kernel)?;
        let launch = Launch { timed: false, ..launch.clone() };
        Some(self.prepare(kernel, &launch).map(|prepared| Grid { prepared }))
    }
}

impl Grid<'_> {
    /// CTAs along each axis.
    #[must_use]
    pub fn extents(&self) -> [u32; 3] {
        self.prepared.grid
    }

    /// CTAs in all.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.prepared.count()
    }

    /// Threads of a CTA.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.prepared.threads
    }

    /// Registers of a thread.
    #[must_use]
    pub fn registers(&self) -> u32 {
        self.prepared.kernel.registers as u32
    }

    /// Bytes of shared memory of a CTA, with those that the system keeps.
    #[must_use]
    pub fn shared(&self) -> u64 {
        self.prepared.shared
    }

    /// The kernel's code.
    #[must_use]
    pub fn words(&self) -> &[u128] {
        &self.prepared.kernel.words
    }

    /// Whether the instruction of a number may touch memory that lies outside of an SM: any but shared memory and constants.
    #[must_use]
    pub fn leaves_the_sm(&self, number: usize) -> bool {
        match self.prepared.kernel.step(number).map(|step| &step.action) {
            Some(Action::Access(access)) => access.space().is_some_and(|space| space != Space::Shared),
            // A copy between the SM and that memory.
            Some(Action::Bulk(_) | Action::Tensor(_) | Action::ClusterArrive | Action::ClusterWait) => true,
            // The others of a cluster may wait for it.
            Some(Action::Exit) => self.prepared.cluster > 1,
            _ => false,
        }
    }

    /// CTAs of a cluster; 1 where there are none.
    #[must_use]
    pub fn cluster(&self) -> u32 {
        self.prepared.cluster
    }

    /// Begins a CTA.
    #[must_use]
    pub fn begin(&self, number: u64) -> Resident {
        let mut cta = self.prepared.cta(number);
        cta.hold_copies();
        Resident { cta }
    }

    /// Executes the next instruction of a warp that can go on, on an SM, at a cycle; which lanes carry it out, and what they touch.
    ///
    /// # Errors
    /// If it faults.
    pub fn step(
        &self,
        resident: &mut Resident,
        warp: usize,
        sm: u32,
        clock: u64,
        touched: &mut Touched,
    ) -> Result<u32, Fault> {
        let cta = &mut resident.cta;
        let mut around = self.prepared.around();
        (around.block, around.sm, around.clock) = (cta.block, sm, clock);
        around.member = cta.member().cloned();
        let global = self.prepared.memory;
        let active = cta.warps.get(warp).map_or(0, |warp| warp.touches(&around, global, touched));
        let block = cta.block;
        cta.step(warp, &around, global).map_err(|stopped| self.prepared.fault(block, stopped))?;
        Ok(active)
    }

    /// That a CTA's warps all wait for one another.
    #[must_use]
    pub fn deadlock(&self, resident: &Resident) -> Fault {
        self.prepared.fault(resident.cta.block, resident.cta.deadlock())
    }
}

impl Resident {
    /// Its place in the grid.
    #[must_use]
    pub fn block(&self) -> [u32; 3] {
        self.cta.block
    }

    /// Whether all warps of its cluster have met since this was asked for the last time, by what one of its own did.
    pub fn has_met(&mut self) -> bool {
        self.cta.has_met()
    }

    /// Warps that wait for CTAs of the cluster which have all arrived go on.
    pub fn meet(&mut self) {
        self.cta.meet();
    }

    /// The copies to shared memory of which objects are told, and that have begun since this was asked for the last time.
    pub fn begun_copies(&mut self) -> impl Iterator<Item = Completion> {
        self.cta.begun_copies()
    }

    /// The bytes of one have come.
    pub fn done(&mut self, copy: Completion) {
        self.cta.done(copy);
    }

    /// Its warps.
    #[must_use]
    pub fn warps(&self) -> usize {
        self.cta.warps.len()
    }

    /// The number of the instruction that a warp would execute next; none if it waits at a barrier, or has exited.
    pub fn next(&mut self, warp: usize) -> Option<usize> {
        self.cta.warps.get_mut(warp)?.next()
    }

    /// The lanes of a warp that stand where [`next`](Self::next) says, whether the instruction's guard holds for them or not.
    #[must_use]
    pub fn standing(&self, warp: usize) -> u32 {
        self.cta.warps.get(warp).map_or(0, |warp| warp.running())
    }

    /// A register of a lane.
    #[must_use]
    pub fn register(&self, warp: usize, lane: usize, number: u8) -> u32 {
        self.cta.warps[warp].registers().plane(number)[lane]
    }

    /// A uniform register.
    #[must_use]
    pub fn uniform(&self, warp: usize, number: u8) -> u32 {
        self.cta.warps[warp].registers().uniform(number)
    }

    /// A predicate of a lane.
    #[must_use]
    pub fn predicate(&self, warp: usize, lane: usize, number: u8) -> bool {
        self.cta.warps[warp].registers().predicate(number) >> lane & 1 == 1
    }

    /// Bytes of a lane's local memory; zero where nothing was written.
    #[must_use]
    pub fn local(&self, warp: usize, lane: usize, address: u64, bytes: usize) -> Vec<u8> {
        let local = self.cta.warps[warp].local();
        (address..).take(bytes).map(|at| local.byte(lane, at)).collect()
    }

    /// Shared memory of the CTA, with what the system keeps; none where CTAs of a cluster have it in common.
    #[must_use]
    pub fn shared(&self) -> &[u8] {
        &self.cta.shared
    }

    /// Whether a warp has exited.
    #[must_use]
    pub fn has_exited(&self, warp: usize) -> bool {
        self.cta.warps.get(warp).is_none_or(crate::warp::Warp::has_exited)
    }
}

/// Bytes of an instruction.
pub const BYTES: u64 = WORD as u64;
