//! CTAs of a cluster: they reach one another's shared memory, and wait for one another.

use crate::fault::FaultKind;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where the CTA's rank stands in an address of shared memory.
const RANK_AT: u32 = 24;
/// CTAs of a cluster, at most.
pub(crate) const MOST: u32 = 16;

/// An address of shared memory in each CTA of a mask, or where it leads without one.
pub(crate) fn in_each(address: u64, mask: Option<u16>) -> impl Iterator<Item = u64> {
    let inside = address & ((1 << RANK_AT) - 1);
    let ranks = (0..MOST).filter(move |&rank| mask.is_some_and(|mask| mask >> rank & 1 == 1));
    let own = mask.is_none().then_some(address);
    ranks.map(move |rank| inside | u64::from(rank) << RANK_AT).chain(own)
}

/// What CTAs of a cluster have together.
pub(crate) struct Cluster {
    memories: Vec<Mutex<Vec<u8>>>,
    meeting: Mutex<Meeting>,
}

/// Where warps of all CTAs wait for one another.
#[derive(Default)]
struct Meeting {
    /// Warps that have arrived since the last time that all had, and those that there are.
    arrived: usize,
    expected: usize,
    /// How often all have.
    phase: u64,
}

/// Shared memory that others reach, while it is looked at.
pub(crate) type OwnMemory<'m> = MutexGuard<'m, Vec<u8>>;

/// A CTA's place in its cluster.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) rank: u32,
}

/// The clusters of which some CTAs have begun and others have not.
#[derive(Default)]
pub(crate) struct Begun(Mutex<BTreeMap<u64, (Arc<Cluster>, u32)>>);

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Begun {
    /// The place of the CTA of a number, of so many in a cluster, with so many warps and bytes each.
    pub(crate) fn member(&self, number: u64, ctas: u32, warps: usize, shared: u64) -> Member {
        let (cluster, rank) = (number / u64::from(ctas), (number % u64::from(ctas)) as u32);
        let mut begun = lock(&self.0);
        let (found, count) = begun.entry(cluster).or_insert_with(|| {
            let memories = (0..ctas).map(|_| Mutex::new(vec![0; shared as usize])).collect();
            let meeting = Meeting { expected: warps * ctas as usize, ..Meeting::default() };
            (Arc::new(Cluster { memories, meeting: Mutex::new(meeting) }), 0)
        });
        *count += 1;
        let member = Member { cluster: Arc::clone(found), rank };
        if *count == ctas {
            begun.remove(&cluster);
        }
        member
    }
}

impl Cluster {
    /// The shared memory of a CTA.
    pub(crate) fn memory(&self, rank: u32) -> MutexGuard<'_, Vec<u8>> {
        lock(&self.memories[rank as usize])
    }

    /// A warp arrives: for which phase it then waits, and whether it was the last.
    pub(crate) fn arrive(&self) -> (u64, bool) {
        let mut meeting = lock(&self.meeting);
        let phase = meeting.phase;
        meeting.arrived += 1;
        (phase, meeting.complete())
    }

    /// A warp is no longer waited for; whether it was the last.
    pub(crate) fn leave(&self) -> bool {
        let mut meeting = lock(&self.meeting);
        meeting.expected = meeting.expected.saturating_sub(1);
        meeting.complete()
    }

    /// Whether all have arrived since a warp arrived.
    pub(crate) fn has_met(&self, phase: u64) -> bool {
        lock(&self.meeting).phase > phase
    }
}

impl Meeting {
    fn complete(&mut self) -> bool {
        let all = self.arrived >= self.expected && self.expected > 0;
        if all {
            (self.arrived, self.phase) = (0, self.phase + 1);
        }
        all
    }
}

impl Member {
    /// Its shared memory.
    pub(crate) fn memory(&self) -> OwnMemory<'_> {
        self.cluster.memory(self.rank)
    }

    /// Whether an address leads to the CTA's own memory.
    pub(crate) fn is_own(&self, address: u64) -> bool {
        address >> RANK_AT == u64::from(self.rank)
    }

    /// Where in its own.
    pub(crate) fn own(&self, address: u64) -> u64 {
        address & ((1 << RANK_AT) - 1)
    }

    /// The memory of another CTA that an address leads to, and where in it; none if it is the CTA's own.
    pub(crate) fn elsewhere(&self, address: u64) -> Result<Option<(OwnMemory<'_>, u64)>, FaultKind> {
        if self.is_own(address) {
            return Ok(None);
        }
        let rank = address >> RANK_AT;
        let outside = FaultKind::Address { space: "shared", address, bytes: 1 };
        let memory = self.cluster.memories.get(rank as usize).ok_or(outside)?;
        Ok(Some((lock(memory), self.own(address))))
    }
}
