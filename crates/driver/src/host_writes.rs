//! What the program writes to page-locked and managed memory by itself while a kernel runs, for the checks.
//!
//! No driver sees such writes. But memory that is another when a kernel has ended than when it began, and that nothing on a
//! device has written, the program has written meanwhile. Where the kernel accesses the same bytes that is a race, unless the two
//! have talked to one another, which takes strong operations or fences of the kernel's. What is written before it begins or to the
//! same values, and what the program reads, nobody can tell.

use crate::allocation::MemoryKind;
use crate::check::Checking;
use crate::lock;
use crate::process::Process;
use machine::memory::DeviceMemory;
use sanitizer::Watch;
use std::sync::Arc;

/// Bytes that are compared, at most.
const BYTES: u64 = 16 << 20;

/// What a kernel finds in memory that the program can write, too.
pub(crate) struct Found<'a> {
    checking: &'a Checking,
    memory: Arc<DeviceMemory>,
    contents: Vec<(u64, Vec<u8>)>,
    /// What had begun when the kernel began.
    begun: u64,
}

impl<'a> Found<'a> {
    /// Keeps what is there, if nothing else uses memory meanwhile.
    pub(crate) fn now(checking: &'a Checking, process: &Process) -> Option<Self> {
        let of_both = |kind| matches!(kind, MemoryKind::Host | MemoryKind::Managed);
        let mut left = BYTES;
        let mut ranges = Vec::new();
        for allocation in lock(&process.allocations).values().filter(|known| of_both(known.kind)) {
            if allocation.bytes <= left {
                left -= allocation.bytes;
                ranges.push((allocation.address, allocation.bytes));
            }
        }
        // Where there is nothing nobody must be asked: launches under other schedules keep others from beginning.
        if ranges.is_empty() || !checking.looks_for_races() {
            return None;
        }
        let begun = checking.lone()?;
        let memory = Arc::clone(process.common().ok()?);
        let read = |(address, bytes)| Some((address, read(&memory, address, bytes)?));
        let contents = ranges.into_iter().filter_map(read).collect();
        Some(Self { checking, memory, contents, begun })
    }

    /// Tells of what is another now, if nothing else has used memory meanwhile.
    pub(crate) fn compare(self, watch: &Watch<'_>) {
        let mut changed = Vec::new();
        for (address, before) in &self.contents {
            let Some(after) = read(&self.memory, *address, before.len() as u64) else { continue };
            let differs = before.iter().zip(&after).map(|(before, after)| before != after);
            for (at, _) in (*address..).zip(differs).filter(|(_, differs)| *differs) {
                match changed.last_mut() {
                    Some((_, end)) if *end == at => *end += 1,
                    _ => changed.push((at, at + 1)),
                }
            }
        }
        if !changed.is_empty() && self.checking.lone() == Some(self.begun) {
            watch.changed(&changed);
        }
    }
}

fn read(memory: &DeviceMemory, address: u64, bytes: u64) -> Option<Vec<u8>> {
    let mut contents = vec![0; usize::try_from(bytes).ok()?];
    memory.read(address, &mut contents).ok().map(|()| contents)
}
