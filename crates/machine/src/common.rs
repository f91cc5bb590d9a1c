//! What the threads of a cluster have in common: the shared memory of its CTAs, and the cluster barrier.
//!
//! The CTAs of a cluster take turns on one host thread. The memory of the CTA whose turn it is stands apart from that of
//! the others, so that its own accesses cost no more than in a launch without clusters, where every CTA is a cluster of
//! its own and has no peers.

use crate::asynchrony::pending::Pending;
use crate::memory::RANK_SHIFT;
use crate::tensor_core::memory::TensorMemory;

/// See the module.
#[derive(Debug)]
pub(crate) struct Common {
    /// Shared memory of the CTA that runs.
    pub(crate) own: Vec<u8>,
    /// The address of its first byte.
    pub(crate) base: u64,
    /// Shared memory of the others by rank; empty where a CTA has exited. No place at all in a cluster of one.
    pub(crate) peers: Vec<Vec<u8>>,
    pub(crate) barrier: ClusterBarrier,
    /// Tensor memory of the CTAs by rank.
    pub(crate) tensor: Vec<TensorMemory>,
    /// What their asynchronous operations have still to do.
    pub(crate) pending: Pending,
    running: usize,
    /// Where a CTA's memory begins in its part of the window, and how much it is.
    start: u32,
    bytes: usize,
    /// Threads of the cluster.
    threads: u32,
}

impl Common {
    /// The storage of so many CTAs of so many threads, which have `bytes` of memory each.
    pub(crate) fn new(ctas: usize, threads: u32, start: u32, bytes: u32) -> Self {
        Self {
            own: Vec::new(),
            base: u64::from(start),
            peers: vec![Vec::new(); if ctas == 1 { 0 } else { ctas }],
            barrier: ClusterBarrier::new(ctas as u32 * threads),
            tensor: (0..ctas).map(|_| TensorMemory::default()).collect(),
            pending: Pending::default(),
            running: 0,
            start,
            bytes: bytes as usize,
            threads: ctas as u32 * threads,
        }
    }

    /// Lets the threads of a cluster begin, with zeroed memory, whoever was here before. The first CTA runs.
    pub(crate) fn begin(&mut self) {
        self.switch(0);
        // To set no bytes would take as long as all the rest of beginning a CTA.
        if self.bytes != 0 {
            for memory in std::iter::once(&mut self.own).chain(self.peers.iter_mut().skip(1)) {
                memory.clear();
                memory.resize(self.bytes, 0);
            }
        }
        self.barrier = ClusterBarrier::new(self.threads);
        self.tensor.iter_mut().for_each(TensorMemory::begin);
    }

    /// Makes the CTA of this rank the one that runs.
    pub(crate) fn switch(&mut self, rank: usize) {
        if rank != self.running {
            std::mem::swap(&mut self.own, &mut self.peers[self.running]);
            std::mem::swap(&mut self.own, &mut self.peers[rank]);
            self.running = rank;
            self.base = shared_base(rank as u32, self.start);
        }
    }

    /// The memory of the CTA of a rank.
    pub(crate) fn shared_of(&self, rank: usize) -> &[u8] {
        if rank == self.running { &self.own } else { &self.peers[rank] }
    }

    /// The same, to change it.
    pub(crate) fn shared_of_mut(&mut self, rank: usize) -> &mut [u8] {
        if rank == self.running { &mut self.own } else { &mut self.peers[rank] }
    }

    /// The running CTA has exited: nobody can reach its memory any more.
    pub(crate) fn exit(&mut self) {
        self.own.clear();
    }
}

/// The address of the first byte of a CTA's shared memory.
pub(crate) fn shared_base(rank: u32, start: u32) -> u64 {
    u64::from(rank) << RANK_SHIFT | u64::from(start)
}

/// The barrier of a cluster. A thread arrives, and later waits for the phase that it arrived in; a thread that has exited
/// is not waited for.
#[derive(Debug)]
pub(crate) struct ClusterBarrier {
    /// Threads that have not exited.
    live: u32,
    /// Those of them that the current phase still waits for.
    pending: u32,
    phase: bool,
}

impl ClusterBarrier {
    fn new(threads: u32) -> Self {
        Self { live: threads, pending: threads, phase: false }
    }

    /// The parity of the current phase.
    pub(crate) fn phase(&self) -> bool {
        self.phase
    }

    /// Threads that the current phase still waits for.
    pub(crate) fn pending(&self) -> u32 {
        self.pending
    }

    /// So many threads arrive.
    pub(crate) fn arrive(&mut self, threads: u32) {
        self.pending -= threads;
        if self.pending == 0 {
            self.phase = !self.phase;
            self.pending = self.live;
        }
    }

    /// So many threads exit, of which some have arrived in the current phase.
    pub(crate) fn exit(&mut self, threads: u32, arrived: u32) {
        self.live -= threads;
        self.arrive(threads - arrived);
    }
}
