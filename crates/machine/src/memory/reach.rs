//! What kernels of a device reach besides its own memory: memories that they share with others, and memory of the
//! program that it has registered.
//!
//! A kernel sees what there is when it begins. What is taken away is out of use when the call that takes it returns:
//! it waits for the kernels that may still see it. Looking beyond the device's own memory costs nothing before an
//! access has failed there.

use super::host::HostRange;
use super::{Cell, DeviceMemory, KernelGuard};
use std::ops::{Deref, Range};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// What there is beyond a device's own memory at one time.
#[derive(Clone, Debug, Default)]
struct Beyond {
    memories: Vec<Arc<DeviceMemory>>,
    /// By address; they do not overlap.
    host: Vec<HostRange>,
}

impl Beyond {
    fn host_range(&self, address: u64, bytes: u64) -> Option<&HostRange> {
        let behind = self.host.partition_point(|range| range.start() <= address);
        self.host[..behind].last().filter(|range| range.contains(address, bytes))
    }

    fn memory(&self, address: u64) -> Option<&DeviceMemory> {
        self.memories.iter().find(|memory| memory.reserves(address)).map(|memory| &**memory)
    }
}

/// What a device reaches beyond its own memory.
#[derive(Debug, Default)]
pub struct Reach {
    state: Mutex<State>,
    /// A kernel has ended.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    now: Arc<Beyond>,
    /// What kernels that are under way may see, the present state left out.
    before: Vec<Weak<Beyond>>,
}

impl Reach {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Beyond)) {
        let mut state = self.state();
        let mut next = (*state.now).clone();
        change(&mut next);
        let before = Arc::downgrade(&state.now);
        state.now = Arc::new(next);
        state.before.push(before);
        state.before.retain(|before| before.strong_count() > 0);
    }

    /// Waits until no kernel sees an earlier state than the present one.
    fn settle(&self) {
        let mut state = self.state();
        let before = state.before.clone();
        while before.iter().any(|before| before.strong_count() > 0) {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets kernels use another memory as they use their own.
    pub fn attach(&self, memory: &Arc<DeviceMemory>) {
        self.change(|beyond| {
            if !beyond.memories.iter().any(|known| Arc::ptr_eq(known, memory)) {
                beyond.memories.push(Arc::clone(memory));
            }
        });
    }

    /// Undoes [`Reach::attach`].
    pub fn detach(&self, memory: &Arc<DeviceMemory>) {
        self.change(|beyond| beyond.memories.retain(|known| !Arc::ptr_eq(known, memory)));
        self.settle();
    }

    /// Lets kernels use memory of the program at its own addresses; `false` if some of it is known already.
    pub fn share(&self, range: HostRange) -> bool {
        let mut added = false;
        self.change(|beyond| {
            let at = beyond.host.partition_point(|other| other.start() < range.start());
            let overlaps = |other: &HostRange| other.start() < range.end() && range.start() < other.end();
            let neighbours = &beyond.host[at.saturating_sub(1)..beyond.host.len().min(at + 1)];
            if !neighbours.iter().any(overlaps) {
                beyond.host.insert(at, range);
                added = true;
            }
        });
        added
    }

    /// Takes the range that begins at an address away again.
    pub fn withdraw(&self, start: u64) {
        self.change(|beyond| beyond.host.retain(|range| range.start() != start));
        self.settle();
    }

    /// The memories that kernels use besides their own.
    pub fn memories(&self) -> Vec<Arc<DeviceMemory>> {
        self.state().now.memories.clone()
    }

    /// The ranges of the program's memory that kernels use, by address.
    pub fn host_ranges(&self) -> Vec<HostRange> {
        self.state().now.host.clone()
    }

    /// The range around an address that kernels reach: its start and size.
    pub(crate) fn range_of(&self, address: u64) -> Option<(u64, u64)> {
        let now = Arc::clone(&self.state().now);
        match now.memory(address) {
            Some(memory) => memory.allocation_of(address),
            None => now.host_range(address, 1).map(|range| (range.start(), range.end() - range.start())),
        }
    }

    /// What a kernel sees that begins now.
    pub(crate) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot { reach: self, beyond: Some(Arc::clone(&self.state().now)) }
    }
}

/// What a kernel sees; freed addresses in it are not given out again while this exists.
pub(crate) struct Snapshot<'a> {
    reach: &'a Reach,
    beyond: Option<Arc<Beyond>>,
}

impl Snapshot<'_> {
    fn beyond(&self) -> &Beyond {
        self.beyond.as_deref().expect("it is there until the snapshot is dropped")
    }

    /// Guards of the memories in it.
    pub(crate) fn guards(&self) -> Vec<KernelGuard<'_>> {
        self.beyond().memories.iter().map(|memory| memory.kernel_guard()).collect()
    }

    pub(crate) fn view<'a>(&'a self, own: &'a DeviceMemory) -> View<'a> {
        View { own, beyond: self.beyond() }
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Under the lock, so that nobody who waits has looked before and sleeps after.
        let _state = self.reach.state();
        self.beyond = None;
        self.reach.ended.notify_all();
    }
}

/// Global memory as a kernel sees it: the device's own, and what lies beyond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    own: &'a DeviceMemory,
    beyond: &'a Beyond,
}

impl Deref for View<'_> {
    type Target = DeviceMemory;
    fn deref(&self) -> &DeviceMemory {
        self.own
    }
}

impl View<'_> {
    /// As [`DeviceMemory::cell`].
    #[inline(always)]
    pub(crate) fn cell<T: Cell>(&self, address: u64) -> Option<&T::Atomic> {
        match self.own.cell::<T>(address) {
            Some(cell) => Some(cell),
            None => self.cell_beyond::<T>(address),
        }
    }

    /// As [`DeviceMemory::cell_in_granule`].
    #[cold]
    pub(crate) fn cell_in_granule<T: Cell>(&self, address: u64) -> Option<(&T::Atomic, u64)> {
        self.beyond.memory(address).unwrap_or(self.own).cell_in_granule::<T>(address)
    }

    #[cold]
    #[inline(never)]
    fn cell_beyond<T: Cell>(&self, address: u64) -> Option<&T::Atomic> {
        match self.beyond.memory(address) {
            Some(memory) => memory.cell::<T>(address),
            None => self.beyond.host_range(address, T::BYTES)?.cell::<T>(address),
        }
    }

    /// As [`DeviceMemory::read_block`].
    #[inline(always)]
    pub(crate) fn read_block(&self, address: u64, into: &mut [u8]) -> bool {
        self.own.read_block(address, into) || self.read_beyond(address, into)
    }

    #[cold]
    #[inline(never)]
    fn read_beyond(&self, address: u64, into: &mut [u8]) -> bool {
        match self.beyond.memory(address) {
            Some(memory) => memory.read_block(address, into),
            None => self.beyond.host_range(address, into.len() as u64).is_some_and(|r| r.read(address, into)),
        }
    }

    /// As [`DeviceMemory::write_block`].
    #[inline(always)]
    pub(crate) fn write_block(&self, address: u64, from: &[u8]) -> bool {
        self.own.write_block(address, from) || self.write_beyond(address, from)
    }

    #[cold]
    #[inline(never)]
    fn write_beyond(&self, address: u64, from: &[u8]) -> bool {
        match self.beyond.memory(address) {
            Some(memory) => memory.write_block(address, from),
            None => {
                self.beyond.host_range(address, from.len() as u64).is_some_and(|r| r.write(address, from))
            }
        }
    }

    /// As [`DeviceMemory::valid_around`].
    pub(crate) fn valid_around(&self, address: u64, most: u64) -> Range<u64> {
        let memory = self.beyond.memory(address).unwrap_or(self.own);
        let host = || self.beyond.host_range(address, 1).map(|range| range.start()..range.end());
        let valid = memory.valid_around(address, most);
        if valid.is_empty() { host().unwrap_or(valid) } else { valid }
    }

    /// As [`DeviceMemory::revocations`], of all that there is; what is withdrawn stays until the kernel has ended.
    #[inline]
    pub(crate) fn revocations(&self) -> u64 {
        let beyond = self.beyond.memories.iter().map(|memory| memory.revocations());
        beyond.fold(self.own.revocations(), u64::wrapping_add)
    }

    /// As [`DeviceMemory::nearest_below`].
    pub(crate) fn nearest_below(&self, address: u64) -> Option<(u64, u64)> {
        let host =
            || self.beyond.host_range(address, 1).map(|range| (range.start(), range.end() - range.start()));
        let memory = self.beyond.memory(address).unwrap_or(self.own);
        memory.nearest_below(address).or_else(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn memory() -> Arc<DeviceMemory> {
        Arc::new(DeviceMemory::new(1 << 16, 1 << 16).unwrap())
    }

    #[test]
    fn kernels_see_what_there_was_when_they_began() {
        let (own, other) = (memory(), memory());
        let address = other.allocate(16).unwrap();
        let mut words = [1u32, 2, 3];
        let start = words.as_mut_ptr().expose_provenance() as u64;
        let reach = Reach::default();
        let before = reach.snapshot();
        // SAFETY: the array outlives every view of the range.
        assert!(reach.share(unsafe { HostRange::new(start, 12) }));
        // SAFETY: as above.
        assert!(!reach.share(unsafe { HostRange::new(start + 8, 4) }));
        reach.attach(&other);
        let after = reach.snapshot();
        assert!(before.view(&own).cell::<u32>(address).is_none());
        assert!(before.view(&own).cell::<u32>(start).is_none());
        let view = after.view(&own);
        assert!(view.write_block(address + 8, &[7; 8]) && !view.write_block(address + 9, &[7; 8]));
        assert!(view.cell::<u32>(start + 8).is_some() && view.cell::<u32>(start + 12).is_none());
        assert!(view.cell::<u32>(start + 2).is_none(), "it is not aligned");
        let mut bytes = [0; 8];
        assert!(view.read_block(start + 4, &mut bytes) && !view.read_block(start + 5, &mut bytes));
        assert_eq!(bytes, [2, 0, 0, 0, 3, 0, 0, 0]);
    }

    #[test]
    fn taking_away_waits_for_kernels_that_see_it() {
        let own = memory();
        let mut word = 5u32;
        let start = (&raw mut word).expose_provenance() as u64;
        let reach = Reach::default();
        // SAFETY: the word outlives every view of the range.
        assert!(reach.share(unsafe { HostRange::new(start, 4) }));
        let kernel = reach.snapshot();
        let gone = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                reach.withdraw(start);
                gone.store(true, Ordering::SeqCst);
            });
            while reach.snapshot().view(&own).cell::<u32>(start).is_some() {
                std::thread::yield_now();
            }
            assert!(!gone.load(Ordering::SeqCst));
            assert!(kernel.view(&own).cell::<u32>(start).is_some());
            drop(kernel);
        });
        assert!(gone.load(Ordering::SeqCst));
    }
}
