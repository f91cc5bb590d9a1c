//! Clusters: the barrier that their threads meet at (PTX ISA, "barrier.cluster"), and what takes a launch with them.

use crate::exec::{Awaited, Exec, event};
use crate::fault::Trap;
use crate::observe::Happening;
use crate::operation::kinds::{ArriveCluster, ClusterLaunch, WaitCluster};

#[cold]
fn misused(x: &mut Exec<'_>, warp: usize, lanes: u32, why: &str) -> u32 {
    x.raise(warp, lanes.trailing_zeros() as usize, Trap::InvalidBarrier(why.to_owned()))
}

/// `barrier.cluster.arrive`.
pub(crate) fn arrive(x: &mut Exec<'_>, _: &ArriveCluster, pc: u32) -> u32 {
    x.communicated = true;
    for warp in 0..x.warps {
        let mask = x.mask[warp];
        let twice = mask & x.threads.at_cluster_barrier[warp];
        if twice != 0 {
            return misused(x, warp, twice, "barrier.cluster.arrive again before barrier.cluster.wait");
        }
        if mask != 0 {
            let phase = x.cluster_barrier.phase();
            x.tell(|x| Happening::ClusterArrived { lanes: x.lanes_at(pc, warp, mask), phase });
        }
        let phase = if x.cluster_barrier.phase() { mask } else { 0 };
        x.threads.at_cluster_barrier[warp] |= mask;
        x.threads.cluster_phase[warp] = (x.threads.cluster_phase[warp] & !mask) | phase;
        x.cluster_barrier.arrive(mask.count_ones());
    }
    pc + 1
}

/// `barrier.cluster.wait`.
pub(crate) fn wait(x: &mut Exec<'_>, _: &WaitCluster, pc: u32) -> u32 {
    x.communicated = true;
    let current = if x.cluster_barrier.phase() { !0 } else { 0 };
    let mut waits = false;
    for warp in 0..x.warps {
        let mask = x.mask[warp];
        let early = mask & !x.threads.at_cluster_barrier[warp];
        if early != 0 {
            return misused(x, warp, early, "barrier.cluster.wait without barrier.cluster.arrive before it");
        }
        waits |= mask & !(x.threads.cluster_phase[warp] ^ current) != 0;
    }
    if waits {
        x.awaited = Some(Awaited::Cluster { threads: x.cluster_barrier.pending() });
        return event::WAIT;
    }
    for warp in 0..x.warps {
        let mask = x.mask[warp];
        if mask != 0 {
            let odd = x.threads.cluster_phase[warp] & mask;
            x.tell(|x| Happening::ClusterWaited { lanes: x.lanes_at(pc, warp, mask), odd });
        }
        x.threads.at_cluster_barrier[warp] &= !x.mask[warp];
    }
    pc + 1
}

/// What sends from a CTA into the shared memory of its cluster while the thread goes on (`st.async`, `red.async`, bulk copies and
/// reductions from shared memory): in a launch without clusters an H200 does not execute it, not even on the CTA's own
/// memory. A cluster of one CTA is enough. Loads, stores, atomics and copies from global memory need none.
pub(crate) fn launched_with(x: &mut Exec<'_>, _: &ClusterLaunch, pc: u32) -> u32 {
    if x.grid.explicit_cluster {
        return pc + 1;
    }
    match x.active_lanes().next() {
        Some((warp, lane)) => {
            let why = "it needs a launch with clusters".to_owned();
            x.raise(warp, lane, Trap::IllegalInstruction(why))
        }
        None => pc + 1,
    }
}
