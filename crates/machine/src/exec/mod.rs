//! What an operation sees while it runs: the registers of the current frame, the active lanes, and the memories.

pub(crate) mod event;
mod local;
mod tell;
pub(crate) mod unclaimed;

use crate::asynchrony::Asynchrony;
use crate::asynchrony::fragments::Fragments;
use crate::asynchrony::pending::Pending;
use crate::common::{ClusterBarrier, Common};
use crate::fault::{Access, Trap};
use crate::image::Image;
use crate::lanes::simd::Simd;
use crate::lanes::{EMPTY, Files, LANES, Lane, MAX_WARPS, Mask, PlaneId};
use crate::matrix::workspace::Workspace;
use crate::memory::mbarrier::Mbarrier;
use crate::memory::{CODE_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, RANK_SHIFT, SHARED_WINDOW, View, WINDOW_SIZE};
use crate::misuse::{Masks, Misuses};
use crate::output::Output;
use crate::spinning::SpinDetector;
use crate::tensor_core::memory::TensorMemory;
use crate::texture::table::{Handle, Object};
pub(crate) use local::LocalMemory;
use ptx::module::{FuncId, Module};
use ptx::types::ScalarType;
use std::collections::HashMap;
use unclaimed::Unclaimed;

/// What is the same for every thread of a launch.
pub(crate) struct Grid<'a> {
    pub(crate) memory: View<'a>,
    /// The kernel's module.
    pub(crate) module: &'a Module,
    /// The decoded kernel and everything it may call.
    pub(crate) image: &'a Image,
    /// The kernel's parameter buffer.
    pub(crate) params: &'a [u8],
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// `%tid` in each dimension, a plane for each warp of a CTA.
    pub(crate) tid: [Vec<[u32; LANES]>; 3],
    /// Whether threads of a pack that all stand at a CTA barrier need not wait: a CTA is one pack, and all its barriers are
    /// for all its threads.
    pub(crate) packs_pass_barriers: bool,
    /// CTAs of a cluster; one if nobody asked for more.
    pub(crate) cluster: [u32; 3],
    /// Those that nobody has taken up.
    pub(crate) unclaimed: Unclaimed,
    /// Whether somebody asked for clusters at all.
    pub(crate) explicit_cluster: bool,
    /// Bytes of shared memory of a CTA: static, then dynamic.
    pub(crate) static_shared: u32,
    pub(crate) dynamic_shared: u32,
    /// What of it threads can reach.
    pub(crate) shared_end: u32,
    /// Where they begin in the CTA's part of the shared window, and what the system has of it.
    pub(crate) shared_start: u32,
    pub(crate) reserved_shared: u32,
    /// Bytes of local memory of a thread.
    pub(crate) local: u32,
    pub(crate) multiprocessors: u32,
    /// Warps that a multiprocessor can hold, `%nwarpid`.
    pub(crate) warp_slots: u32,
    pub(crate) grid_id: u64,
    /// What `%envreg1` and `%envreg2` hold: see [`crate::LaunchOptions::grid_workspace`].
    pub(crate) workspace: u64,
    pub(crate) started: std::time::Instant,
    /// What clocks go by, and how fast.
    pub(crate) time: crate::time::Time,
    pub(crate) clock_khz: u32,
    /// Where `vprintf` writes.
    pub(crate) output: &'a Output,
    /// Texture, sampler and surface objects by handle.
    pub(crate) objects: &'a HashMap<Handle, Object>,
    /// Addresses of the module's opaque variables, ascending, and their types.
    pub(crate) opaque: &'a [(u64, ScalarType)],
    /// Where the module's constant variables are.
    pub(crate) constants: &'a [std::ops::Range<u64>],
    /// The grids behind this one that may begin before its end.
    pub(crate) dependents: crate::dependents::Dependents<'a>,
    /// Bytes of the heap that device-side `malloc` may still take.
    pub(crate) heap: &'a std::sync::atomic::AtomicI64,
    /// When asynchronous operations are performed.
    pub(crate) asynchrony: Asynchrony,
    /// What is done with lanes that member masks leave out.
    pub(crate) masks: Masks,
    /// What a GPU would not have noticed.
    pub(crate) misuses: &'a Misuses,
    /// Who is told what orders threads.
    pub(crate) observer: Option<&'a dyn crate::observe::Observer>,
    /// The handle of the graph that it is in, if kernels may launch that graph; otherwise 0.
    pub(crate) graph: u64,
    /// What stands around it, if it can launch others.
    pub(crate) runtime: Option<&'a dyn crate::device_runtime::DeviceRuntime>,
}

impl Grid<'_> {
    /// Threads of a CTA.
    pub(crate) fn threads(&self) -> usize {
        self.block.iter().map(|&extent| extent as usize).product()
    }

    /// `%ctaid` of the first CTA of a cluster.
    pub(crate) fn first_cta(&self, cluster: u64) -> [u32; 3] {
        let [nx, ny, nz] = self.cluster;
        let [gx, gy] = [self.grid[0] / nx, self.grid[1] / ny].map(u64::from);
        [(cluster % gx) as u32 * nx, (cluster / gx % gy) as u32 * ny, (cluster / (gx * gy)) as u32 * nz]
    }

    /// Warps of a CTA.
    pub(crate) fn warps(&self) -> usize {
        self.threads().div_ceil(LANES)
    }

    /// Whether an address is in a constant variable of the module.
    pub(crate) fn is_constant(&self, address: u64) -> bool {
        self.constants.iter().any(|variable| variable.contains(&address))
    }
}

/// What the threads of a CTA are called: `%tid` in each dimension, a plane a warp, for so many warps.
pub(crate) fn thread_numbers(block: [u32; 3], warps: usize) -> [Vec<[u32; LANES]>; 3] {
    let mut numbers = block.map(|_| vec![[0; LANES]; warps]);
    let mut at = [0; 3];
    for thread in 0..block.iter().product::<u32>() as usize {
        for (plane, at) in numbers.iter_mut().zip(at) {
            plane[thread / LANES][thread % LANES] = at;
        }
        for (at, extent) in at.iter_mut().zip(block) {
            *at += 1;
            if *at < extent {
                break;
            }
            *at = 0;
        }
    }
    numbers
}

/// What the threads of a pack have besides registers.
#[derive(Debug)]
pub(crate) struct Threads {
    /// `%ctaid`.
    pub(crate) ctaid: [u32; 3],
    /// `%cluster_ctarank`.
    pub(crate) rank: u32,
    /// The CTA's place in residency, from which `%smid` follows.
    pub(crate) slot: u32,
    /// `%warpid` of the pack's first warp.
    pub(crate) first_warp: u32,
    /// Warps that the pack really has; the last pack of a CTA may have fewer than the image provides for.
    pub(crate) warps: usize,
    /// Lanes that have not exited.
    pub(crate) live: Mask,
    /// Lanes that have arrived at the cluster barrier and not yet waited for it, and the parity of the phase that each
    /// arrived in.
    pub(crate) at_cluster_barrier: Mask,
    pub(crate) cluster_phase: Mask,
    /// Where each lane goes that has come to [`event::SCATTER`], or to a call through an address.
    pub(crate) targets: Vec<[u64; LANES]>,
    /// Their local memory.
    pub(crate) local: LocalMemory,
    /// What the device runtime last refused them, by warp of the pack and lane.
    pub(crate) last_errors: HashMap<(usize, usize), u32>,
    /// What they have seen of memory that others change.
    pub(crate) spinning: SpinDetector,
    /// What their matrix products work on.
    pub(crate) matrices: Workspace,
    /// Their registers as products see them that are computed later than they are issued.
    pub(crate) fragments: Fragments,
    /// Their clock.
    pub(crate) clock: crate::time::Clock,
}

/// A trap and the lane that raised it.
#[derive(Debug)]
pub(crate) struct LaneTrap {
    pub(crate) trap: Trap,
    /// Warp of the pack and lane; `None` when no single thread is to blame.
    pub(crate) lane: Option<(usize, usize)>,
}

/// What a thread waits for besides CTA barriers and other lanes of its warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// The end of a phase of the mbarrier object that holds this word.
    Mbarrier { address: u64, word: u64, lane: (usize, usize) },
    /// The cluster barrier, which waits for so many threads.
    Cluster { threads: u32 },
    /// Columns of tensor memory, of which so many are free, or a warp of the CTA's peer.
    TensorMemory { free: u32, lane: (usize, usize) },
    /// So many nanoseconds after the launch.
    Time { until: u64 },
}

impl std::fmt::Display for Awaited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Mbarrier { address, word, .. } => {
                let object = Mbarrier::from_bits(word);
                let (arrivals, bytes) = (object.pending(), object.outstanding());
                write!(f, "the mbarrier at {address:#x} waits for {arrivals} arrivals and {bytes} bytes")
            }
            Self::Time { until } => write!(f, "a thread sleeps until {until} ns after the launch"),
            Self::TensorMemory { free, .. } => {
                write!(
                    f,
                    "a warp waits for tensor memory, of which {free} columns are free, or for one of its peer CTA"
                )
            }
            Self::Cluster { threads } => write!(f, "the cluster barrier waits for {threads} threads"),
        }
    }
}

/// The state that operations work on.
pub(crate) struct Exec<'a> {
    /// Registers of the current frame.
    pub(crate) files: Files,
    /// Where this frame's locals and parameters start in each thread's local memory.
    pub(crate) local_base: u32,
    /// Bytes that each lane has taken by `alloca`, above the frame.
    pub(crate) stack: Vec<[u32; LANES]>,
    /// Active lanes.
    pub(crate) mask: Mask,
    /// Whether every lane of every warp of the pack is active.
    pub(crate) full: bool,
    /// Warps in the pack.
    pub(crate) warps: usize,
    /// Warps with an active lane.
    pub(crate) active_warps: u64,
    /// The program counter where the current group reconverges, in this frame.
    pub(crate) join_pc: u32,
    /// The operation that is executed.
    pub(crate) at: u32,
    /// Warp instructions issued.
    pub(crate) issued: u64,
    /// What is left of the time slice, in operations.
    pub(crate) fuel: i64,
    /// Set by operations that other threads may be waiting for or that may be waiting for others.
    pub(crate) communicated: bool,
    /// With `WAIT`: for what. With `YIELD`: what has not happened yet, so that there is no use in going on at once.
    pub(crate) awaited: Option<Awaited>,
    /// Whether an operation with a time limit, which returned `WAIT` before, has reached it.
    pub(crate) expired: bool,
    /// With [`event::DIVERGE`]: the lanes that take the branch.
    pub(crate) taken: Mask,
    /// With `YIELD`: where to go on.
    pub(crate) resume: u32,
    /// With `FAULT`.
    pub(crate) trap: Option<LaneTrap>,
    /// The operation that it is of, if that was issued earlier.
    pub(crate) trap_at: Option<u32>,
    pub(crate) threads: &'a mut Threads,
    /// Shared memory of the CTA.
    pub(crate) shared: &'a mut [u8],
    /// The address of its first byte.
    pub(crate) shared_base: u64,
    /// Shared memory of the other CTAs of the cluster by rank; empty where one has exited.
    pub(crate) peers: &'a mut [Vec<u8>],
    pub(crate) cluster_barrier: &'a mut ClusterBarrier,
    /// Tensor memory of the CTAs of the cluster by rank.
    pub(crate) tensor: &'a mut [TensorMemory],
    /// What asynchronous operations of the cluster have still to do.
    pub(crate) pending: &'a mut Pending,
    pub(crate) grid: &'a Grid<'a>,
}

/// A resolved generic address. One of shared memory still holds the rank of its CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    Global(u64),
    Shared(u64),
    Local(u64),
    Param(u64),
}

/// Which memory a generic address is in.
#[inline(always)]
pub(crate) fn resolve(address: u64) -> Resolved {
    if address < SHARED_WINDOW {
        return Resolved::Global(address);
    }
    let offset = address & (WINDOW_SIZE - 1);
    match address & !(WINDOW_SIZE - 1) {
        SHARED_WINDOW => Resolved::Shared(offset),
        LOCAL_WINDOW => Resolved::Local(offset),
        PARAM_WINDOW => Resolved::Param(offset),
        // Code is not data: no allocation is there, so the access faults as a global one.
        _ => Resolved::Global(address),
    }
}

/// The function that a code address names.
pub(crate) fn code_address(function: u32) -> u64 {
    CODE_WINDOW + u64::from(function) * 16
}

/// The function at a code address.
pub(crate) fn function_at(address: u64) -> Option<FuncId> {
    let offset = address.checked_sub(CODE_WINDOW).filter(|offset| offset.is_multiple_of(16))?;
    u32::try_from(offset / 16).ok().map(FuncId)
}

impl<'a> Exec<'a> {
    /// The state for a frame with these registers; no lane is active yet.
    pub(crate) fn new(
        files: Files,
        grid: &'a Grid<'a>,
        threads: &'a mut Threads,
        common: &'a mut Common,
    ) -> Self {
        Self {
            files,
            local_base: 0,
            stack: Vec::new(),
            mask: EMPTY,
            full: false,
            warps: grid.image.warps,
            active_warps: 0,
            join_pc: u32::MAX,
            at: 0,
            issued: 0,
            fuel: 0,
            communicated: false,
            awaited: None,
            expired: false,
            taken: EMPTY,
            resume: 0,
            trap: None,
            trap_at: None,
            threads,
            shared: &mut common.own,
            shared_base: common.base,
            peers: &mut common.peers,
            cluster_barrier: &mut common.barrier,
            tensor: &mut common.tensor,
            pending: &mut common.pending,
            grid,
        }
    }
}

impl Exec<'_> {
    /// Sets the active lanes.
    pub(crate) fn set_mask(&mut self, mask: Mask) {
        self.mask = mask;
        self.full = mask[..self.warps].iter().all(|&m| m == !0);
        self.active_warps = mask.iter().filter(|&&m| m != 0).count() as u64;
    }

    /// Accounts for a straight run of operations that ends here.
    #[inline(always)]
    pub(crate) fn tick(&mut self, operations: u32) {
        self.issued += u64::from(operations) * self.active_warps;
        self.fuel -= i64::from(operations);
    }

    /// Raises a trap of one lane.
    #[cold]
    pub(crate) fn raise(&mut self, warp: usize, lane: usize, trap: Trap) -> u32 {
        self.trap = Some(LaneTrap { trap, lane: Some((warp, lane)) });
        event::FAULT
    }

    /// Raises a trap of the first active lane.
    #[cold]
    pub(crate) fn raise_first(&mut self, trap: Trap) -> u32 {
        let warp = self.mask.iter().position(|&m| m != 0).unwrap_or(0);
        let lane = self.mask[warp].trailing_zeros().min(31) as usize;
        self.raise(warp, lane, trap)
    }

    /// The trap of a bad access: misaligned if it is that, illegal otherwise, with what lies near.
    #[cold]
    pub(crate) fn bad_access(&self, address: u64, bytes: u64, access: Access) -> Trap {
        if !address.is_multiple_of(bytes.next_power_of_two()) {
            return Trap::MisalignedAddress { address, bytes, access };
        }
        let nearby = match resolve(address) {
            Resolved::Shared(address) => Some(self.near_shared(address)),
            Resolved::Local(offset) => {
                Some(format!("offset {offset} of the thread's {} bytes of local memory", self.grid.local))
            }
            Resolved::Param(offset) => {
                Some(format!("offset {offset} of {} bytes of kernel parameters", self.grid.params.len()))
            }
            Resolved::Global(_) => self.near_global(address),
        };
        Trap::IllegalAddress { address, bytes, access, nearby }
    }

    /// Which allocation lies before an address of global memory.
    pub(crate) fn near_global(&self, address: u64) -> Option<String> {
        let (start, size) = self.grid.memory.nearest_below(address)?;
        let past = address.saturating_sub(start + size);
        Some(match address < start + size {
            true => format!("which crosses the end of the {size}-byte allocation at {start:#x}"),
            false => format!("{past} bytes past the end of the {size}-byte allocation at {start:#x}"),
        })
    }

    /// What lies near an address of shared memory.
    fn near_shared(&self, address: u64) -> String {
        let (rank, own) = (address >> RANK_SHIFT, self.shared_base >> RANK_SHIFT);
        let start = u64::from(self.grid.shared_start);
        let place = address & ((1 << RANK_SHIFT) - 1);
        let ctas = self.peers.len().max(1) as u64;
        if rank >= ctas {
            return format!("of the CTA with rank {rank} in a cluster of {ctas}");
        }
        if rank != own && self.peers[rank as usize].is_empty() {
            return format!(
                "of the CTA with rank {rank} of the cluster, which has exited or has no shared memory"
            );
        }
        let bytes = self.grid.static_shared + self.grid.dynamic_shared;
        match place.checked_sub(start) {
            None => format!("in the {start} bytes of a CTA's shared memory that the system reserves"),
            Some(offset) if rank == own => {
                format!("offset {offset} of the CTA's {bytes} bytes of shared memory")
            }
            Some(offset) => {
                format!("offset {offset} of the {bytes} bytes of shared memory of the CTA with rank {rank}")
            }
        }
    }

    /// A lane's local memory at `offset`, if the range is inside it.
    #[inline(always)]
    pub(crate) fn local_range(
        &self,
        warp: usize,
        lane: usize,
        offset: u64,
        bytes: u64,
    ) -> Option<std::ops::Range<usize>> {
        let size = u64::from(self.grid.local);
        if offset > size || bytes > size - offset {
            return None;
        }
        let start = (warp * LANES + lane) * self.grid.local as usize + offset as usize;
        Some(start..start + bytes as usize)
    }

    /// Writes one scalar result into the active lanes of a plane. Code for a vector level must be where the level is enabled.
    #[inline(always)]
    pub(crate) fn store_plane<I: Simd, T: Lane>(&mut self, d: PlaneId, warp: usize, values: [T; LANES]) {
        let mask = self.mask[warp];
        let plane = &mut T::planes_mut(&mut self.files)[d.index() + warp].0;
        *plane = T::blend::<I>(mask, values, *plane);
    }

    /// Active lanes, warp by warp.
    pub(crate) fn active_lanes(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        lanes_of(self.mask)
    }
}

/// The lanes of a mask as (warp, lane), in order.
pub(crate) fn lanes_of(mask: Mask) -> impl Iterator<Item = (usize, usize)> {
    (0..MAX_WARPS).flat_map(move |warp| {
        let mut rest = mask[warp];
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let lane = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                (warp, lane)
            })
        })
    })
}
