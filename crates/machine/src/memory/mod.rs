//! The memory of the virtual GPU.
//!
//! Global memory (and constant memory, which is read-only to kernels) lives in one reserved range of host addresses:
//! **a device pointer is the host address**. A page map says for every page how many of its bytes are valid, so an
//! access is checked to the byte at the end of an allocation before it touches anything; at least one page that is
//! never valid lies between two allocations. Reserved addresses at which memory is mapped ([`mapped`]) are in the
//! same range. What kernels reach besides is in [`Reach`]. Shared and local memory have windows in the generic address
//! space above every host address.

mod bounds;
mod buffers;
mod host;
pub mod mapped;
pub mod mbarrier;
mod multicast;
mod reach;
mod region;
pub mod shared;

use crate::lanes::{LANES, Plane};
pub use bounds::Bounds;
use bounds::Footprint;
pub use buffers::Buffers;
pub use host::HostRange;
pub(crate) use multicast::Members;
pub use reach::Reach;
pub(crate) use reach::View;
use region::Region;
pub use region::{AtomicCell, Cell, PAGE};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering};

/// Generic addresses of shared memory: window base plus the address in shared memory.
pub const SHARED_WINDOW: u64 = 0x0001_0000_0000_0000;
/// From this bit on, an address in shared memory holds the rank of a CTA in its cluster; below it is the place in that
/// CTA's shared memory. So an address of `.shared::cta` is one of `.shared::cluster`.
pub const RANK_SHIFT: u32 = 24;
/// Observers are told of tensor memory as of bytes in the shared window of its CTA, from here on, behind all shared memory that
/// a CTA can have: lane by lane, each with all of its columns.
pub const TENSOR_MEMORY: u64 = 1 << 18;
/// Columns of tensor memory, of 32 bits in each lane (PTX ISA, "Tensor Memory").
pub const TENSOR_COLUMNS: u32 = 512;
/// Generic addresses of local memory: window base plus the offset in the thread's local memory.
pub const LOCAL_WINDOW: u64 = 0x0002_0000_0000_0000;
/// Generic addresses of kernel parameters.
pub const PARAM_WINDOW: u64 = 0x0003_0000_0000_0000;
/// Addresses of functions: window base plus 16 times the function's index.
pub const CODE_WINDOW: u64 = 0x0004_0000_0000_0000;
/// Bytes in a window.
pub const WINDOW_SIZE: u64 = 1 << 32;

/// The memory that an access names: several of PTX's state spaces can mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpaceKind {
    /// `.global` and `.const`.
    Global,
    /// `.shared`, which is `.shared::cta`.
    Shared,
    /// `.shared::cluster`.
    Cluster,
    /// `.local`, and `.param` of device functions and call sites.
    Local,
    /// `.param` of an entry.
    Param,
    /// None named: the address tells.
    Generic,
}

impl SpaceKind {
    /// What to add to an address of it to make it generic.
    pub(crate) fn window(self) -> u64 {
        match self {
            Self::Global | Self::Generic => 0,
            Self::Shared | Self::Cluster => SHARED_WINDOW,
            Self::Local => LOCAL_WINDOW,
            Self::Param => PARAM_WINDOW,
        }
    }
}

/// How far apart cells may lie that are accessed together: 16 pages.
const NEAR: u64 = 16 * PAGE;

/// The alignment that allocations have at least, as `cudaMalloc` promises.
pub const ALLOCATION_ALIGN: u64 = 256;

/// Why host code could not use device memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// More than the device (or the user's limit) has.
    #[error("out of device memory: {requested} bytes requested, {free} of {limit} free")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes left.
        free: u64,
        /// The device's memory or the limit set by the user.
        limit: u64,
    },
    /// A range that no allocation covers.
    #[error("{bytes} bytes at {address:#x} are not inside an allocation")]
    NotAllocated {
        /// First byte.
        address: u64,
        /// Length.
        bytes: u64,
    },
    /// An address that no allocation starts at.
    #[error("{address:#x} is not the start of an allocation")]
    NotAnAllocation {
        /// The address.
        address: u64,
    },
    /// The host refused.
    #[error("the host refused memory: {0}")]
    Host(String),
    /// The driver of a real GPU refused.
    #[error("{0}")]
    Driver(String),
}

impl From<io::Error> for MemoryError {
    fn from(error: io::Error) -> Self {
        Self::Host(error.to_string())
    }
}

/// A device's global memory.
#[derive(Debug)]
pub struct DeviceMemory {
    region: Region,
    /// For every page, a `u16`: how many of its first bytes are valid. Lazily zero, as the pages themselves are.
    page_map: Region,
    limit: u64,
    bounds: Bounds,
    multicast: multicast::Objects,
    allocator: Mutex<Allocator>,
    /// Kernels under way: freed addresses are not given out again until none is, so that an access which has passed
    /// the page map never reaches a later allocation.
    kernels: AtomicUsize,
    /// How often bytes that were valid ceased to be.
    revocations: AtomicU64,
}

#[derive(Debug, Default)]
struct Allocator {
    /// Allocations: offset to bytes.
    live: BTreeMap<u64, u64>,
    /// Free pages: offset to bytes, coalesced.
    free: BTreeMap<u64, u64>,
    /// Freed while kernels ran.
    retired: Vec<Retired>,
    used: u64,
    /// The files of allocations that other processes use too.
    shared: BTreeMap<u64, OwnedFd>,
    /// Reserved addresses.
    mapped: mapped::Mapped,
}

/// Memory that is given back when no kernel can use it any more.
#[derive(Debug)]
struct Retired {
    offset: u64,
    bytes: u64,
    /// Addresses that it takes.
    footprint: u64,
}

impl Retired {
    fn reserved(offset: u64, bytes: u64) -> Self {
        Self { offset, bytes, footprint: Footprint::of_reserved(bytes).bytes }
    }
}

impl Allocator {
    fn release(&mut self, offset: u64, bytes: u64) {
        let (mut start, mut end) = (offset, offset + bytes);
        if let Some((&before, &size)) = self.free.range(..offset).next_back()
            && before + size == start
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(size) = self.free.remove(&end) {
            end += size;
        }
        self.free.insert(start, end - start);
    }

    /// Takes free addresses of a range that begins at `base`: the first where they fit.
    fn take(&mut self, footprint: Footprint, base: u64) -> Option<u64> {
        let fits = |(&offset, &size): (&u64, &u64)| {
            let start = footprint.place(base + offset) - base;
            (start + footprint.bytes <= offset + size).then_some((offset, size, start))
        };
        let (offset, size, start) = self.free.iter().find_map(fits)?;
        self.free.remove(&offset);
        if start > offset {
            self.free.insert(offset, start - offset);
        }
        let (end, behind) = (start + footprint.bytes, offset + size);
        if behind > end {
            self.free.insert(end, behind - end);
        }
        Some(start)
    }

    /// Whether some allocation has memory between two offsets.
    fn has_memory(&self, offsets: Range<u64>) -> bool {
        let last = self.live.range(..offsets.end).next_back();
        last.is_some_and(|(start, bytes)| start + bytes > offsets.start)
    }
}

impl DeviceMemory {
    /// Reserves `capacity` bytes of addresses, of which allocations may use `limit`.
    pub fn new(capacity: u64, limit: u64) -> io::Result<Self> {
        // Guard pages and rounding take addresses but no memory: reserve twice the capacity, in whole pages.
        let size = capacity.div_ceil(PAGE) * PAGE * 2;
        let region = Region::reserve(size)?;
        let map_size = (size / PAGE * 2).div_ceil(PAGE) * PAGE;
        let page_map = Region::reserve(map_size)?;
        let mut allocator = Allocator::default();
        allocator.free.insert(0, size);
        Ok(Self {
            region,
            page_map,
            limit: limit.min(capacity),
            bounds: Bounds::Exact,
            multicast: multicast::Objects::default(),
            allocator: Mutex::new(allocator),
            kernels: AtomicUsize::new(0),
            revocations: AtomicU64::new(0),
        })
    }

    /// The same with allocations that end so for kernels.
    pub fn with_bounds(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The page map's entry of a page of the region.
    #[inline(always)]
    fn valid_bytes(&self, page: u64) -> &AtomicU16 {
        debug_assert!(page < self.region.size() / PAGE);
        // SAFETY: the map has an aligned entry for every page of the region as long as the region has pages.
        unsafe { self.page_map.cell::<u16>(self.page_map.base() + page * 2) }
    }

    fn allocator(&self) -> std::sync::MutexGuard<'_, Allocator> {
        // The allocator holds plain maps that are consistent between statements, so a poisoned lock is still good.
        self.allocator.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Allocates zeroed memory; the address is a multiple of 4096.
    pub fn allocate(&self, bytes: u64) -> Result<u64, MemoryError> {
        let mut allocator = self.allocator();
        let out_of_memory = |used: u64| MemoryError::OutOfMemory {
            requested: bytes,
            free: self.limit - used,
            limit: self.limit,
        };
        if bytes > self.limit - allocator.used {
            return Err(out_of_memory(allocator.used));
        }
        let used = allocator.used;
        let footprint = self.bounds.footprint(bytes);
        let offset = allocator.take(footprint, self.region.base()).ok_or_else(|| out_of_memory(used))?;
        for page in 0..bytes.div_ceil(PAGE) {
            let valid = (bytes - page * PAGE).min(PAGE) as u16;
            self.valid_bytes(offset / PAGE + page).store(valid, Ordering::Release);
        }
        self.region.prefer_large_pages(offset, bytes);
        allocator.live.insert(offset, bytes);
        allocator.used += bytes;
        Ok(self.region.base() + offset)
    }

    /// Frees what [`DeviceMemory::allocate`] gave. Kernels under way that still use it fault.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        let mut allocator = self.allocator();
        let offset = address.wrapping_sub(self.region.base());
        let bytes = allocator.live.remove(&offset).ok_or(MemoryError::NotAnAllocation { address })?;
        for page in offset / PAGE..(offset + bytes).div_ceil(PAGE) {
            self.valid_bytes(page).store(0, Ordering::Release);
        }
        self.revocations.fetch_add(1, Ordering::Release);
        allocator.used -= bytes;
        if allocator.shared.remove(&offset).is_some() {
            self.region.unmap_file(offset, bytes.div_ceil(PAGE) * PAGE)?;
        }
        let footprint = self.bounds.footprint(bytes).bytes;
        allocator.retired.push(Retired { offset, bytes, footprint });
        self.reclaim(&mut allocator)
    }

    fn reclaim(&self, allocator: &mut Allocator) -> Result<(), MemoryError> {
        if self.kernels.load(Ordering::SeqCst) != 0 {
            return Ok(());
        }
        for Retired { offset, bytes, footprint } in std::mem::take(&mut allocator.retired) {
            self.region.discard(offset, bytes.div_ceil(PAGE) * PAGE)?;
            allocator.release(offset, footprint);
        }
        Ok(())
    }

    /// Marks a kernel as under way until the guard is dropped.
    pub(crate) fn kernel_guard(&self) -> KernelGuard<'_> {
        // Under the allocator's lock, so that no reclaim is half done when the kernel starts.
        let _allocator = self.allocator();
        self.kernels.fetch_add(1, Ordering::SeqCst);
        KernelGuard(self)
    }

    /// Whether an address is in the range that allocations come from, allocated or not.
    pub fn reserves(&self, address: u64) -> bool {
        address.wrapping_sub(self.region.base()) < self.region.size()
    }

    /// Bytes in allocations.
    pub fn used(&self) -> u64 {
        self.allocator().used
    }

    /// The most bytes that allocations may use.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// All allocations, by address: start and size.
    pub fn allocations(&self) -> Vec<(u64, u64)> {
        self.allocator().live.iter().map(|(&start, &bytes)| (self.region.base() + start, bytes)).collect()
    }

    /// The allocation that contains an address: its start and size.
    pub fn allocation_of(&self, address: u64) -> Option<(u64, u64)> {
        let (start, bytes) = self.nearest_below(address)?;
        (address - start < bytes.max(1)).then_some((start, bytes))
    }

    /// The allocation nearest below or around an address, for messages: start, size, and whether it is inside.
    pub fn nearest_below(&self, address: u64) -> Option<(u64, u64)> {
        let offset = address.checked_sub(self.region.base())?;
        let allocator = self.allocator();
        let allocated = || allocator.live.range(..=offset).next_back().map(|(&start, &bytes)| (start, bytes));
        let (start, bytes) = allocator.mapped.around(offset).or_else(allocated)?;
        Some((self.region.base() + start, bytes))
    }

    /// Copies from device to host.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.inside(address, into.len() as u64)?;
        // SAFETY: `inside` found the range in a live allocation, which lies in the region.
        unsafe { self.region.read(address, into) };
        Ok(())
    }

    /// Copies from host to device.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        self.inside(address, from.len() as u64)?;
        // SAFETY: `inside` found the range in a live allocation, which lies in the region.
        unsafe { self.region.write(address, from) };
        Ok(())
    }

    fn inside(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        let fits = |(start, size): (u64, u64)| bytes <= size && address - start <= size - bytes;
        match self.nearest_below(address).is_some_and(fits) {
            true => Ok(()),
            false => Err(MemoryError::NotAllocated { address, bytes }),
        }
    }

    /// Whether `bytes` (at most a page) at `address` are valid.
    #[inline(always)]
    pub(crate) fn is_valid(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.region.base());
        let last = offset.wrapping_add(bytes - 1);
        if last >= self.region.size() || offset > last {
            return false;
        }
        let valid = |page: u64| u64::from(self.valid_bytes(page).load(Ordering::Relaxed));
        let (first_page, last_page) = (offset / PAGE, last / PAGE);
        last % PAGE < valid(last_page) && (first_page == last_page || valid(first_page) == PAGE)
    }

    /// The valid bytes around an address, without a gap: at most so many pages of them before its page, and behind it.
    /// Empty if the address is not valid.
    pub(crate) fn valid_around(&self, address: u64, most: u64) -> Range<u64> {
        if !self.is_valid(address, 1) {
            return address..address;
        }
        let valid = |page: u64| u64::from(self.valid_bytes(page).load(Ordering::Relaxed));
        let own = (address - self.region.base()) / PAGE;
        let first = (own.saturating_sub(most)..own).rev().take_while(|&page| valid(page) == PAGE).last();
        // A page that is valid in part is the last one.
        let limit = own.saturating_add(most).min(self.region.size() / PAGE - 1);
        let last = (own..limit).find(|&page| valid(page) != PAGE).unwrap_or(limit);
        let end = match valid(last) {
            0 => last * PAGE,
            bytes => last * PAGE + bytes,
        };
        self.region.base() + first.unwrap_or(own) * PAGE..self.region.base() + end
    }

    /// How often bytes that were valid ceased to be: what [`DeviceMemory::valid_around`] has said holds until this changes.
    #[inline]
    pub(crate) fn revocations(&self) -> u64 {
        self.revocations.load(Ordering::Acquire)
    }

    /// The cell at a valid, naturally aligned address.
    #[inline(always)]
    pub(crate) fn cell<T: Cell>(&self, address: u64) -> Option<&T::Atomic> {
        if !address.is_multiple_of(T::BYTES) || !self.is_valid(address, T::BYTES) {
            return None;
        }
        // SAFETY: a valid range lies in the region; the address is a
        // multiple of the size.
        Some(unsafe { self.region.cell::<T>(address) })
    }

    /// The cell at a naturally aligned address that no allocation has, if a GPU would let kernels use it, and how far it is
    /// behind the end of an allocation.
    #[cold]
    pub(crate) fn cell_in_granule<T: Cell>(&self, address: u64) -> Option<(&T::Atomic, u64)> {
        let granule = self.bounds.granule(address)?;
        let base = self.region.base();
        let inside = address >= base && address - base <= self.region.size() - T::BYTES;
        let offsets = granule.start.saturating_sub(base)..granule.end.saturating_sub(base);
        if !inside || !address.is_multiple_of(T::BYTES) || !self.allocator().has_memory(offsets) {
            return None;
        }
        let distance = self
            .nearest_below(address)
            .map_or(0, |(start, bytes)| address - start - bytes.min(address - start));
        // SAFETY: the cell lies in the region, all of which is mapped and holds nothing but guest bytes; the address is a
        // multiple of the size.
        Some((unsafe { self.region.cell::<T>(address) }, distance))
    }

    /// Copies out up to a page; `false` if the range is not valid.
    #[inline(always)]
    pub(crate) fn read_block(&self, address: u64, into: &mut [u8]) -> bool {
        let valid = self.is_valid(address, into.len() as u64);
        if valid {
            // SAFETY: a valid range lies in the region.
            unsafe { self.region.read(address, into) };
        }
        valid
    }

    /// Copies out consecutive planes, up to a page together; `false` if the range is not valid.
    #[inline(always)]
    pub(crate) fn read_planes<T: Cell>(&self, address: u64, into: &mut [Plane<T>]) -> bool {
        let valid = self.is_valid(address, size_of_val(into) as u64);
        if valid {
            for (plane, at) in into.iter_mut().zip((address..).step_by(size_of::<Plane<T>>())) {
                // SAFETY: a plane has no padding, so each lies within the valid range, which lies in the region.
                unsafe { self.region.read(at, bytemuck::cast_slice_mut(&mut plane.0)) };
            }
        }
        valid
    }

    /// Copies in consecutive planes, up to a page together; `false` if the range is not valid.
    #[inline(always)]
    pub(crate) fn write_planes<T: Cell>(&self, address: u64, from: &[Plane<T>]) -> bool {
        let valid = self.is_valid(address, size_of_val(from) as u64);
        if valid {
            for (plane, at) in from.iter().zip((address..).step_by(size_of::<Plane<T>>())) {
                // SAFETY: as for `read_planes`.
                unsafe { self.region.write(at, bytemuck::cast_slice(&plane.0)) };
            }
        }
        valid
    }

    /// Whether so many bytes are valid, with a look at the page map for each page that they reach.
    #[inline(always)]
    fn are_pages_valid(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.region.base());
        let last = offset.wrapping_add(bytes - 1);
        if last >= self.region.size() || offset > last {
            return false;
        }
        let valid = |page: u64| u64::from(self.valid_bytes(page).load(Ordering::Relaxed));
        last % PAGE < valid(last / PAGE) && (offset / PAGE..last / PAGE).all(|page| valid(page) == PAGE)
    }

    /// Whether cells at these addresses are aligned, valid, and so near one another that a few looks at the page map tell: fewer
    /// than lanes.
    #[inline(always)]
    fn are_near<T: Cell>(&self, addresses: &[u64; LANES]) -> bool {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for &address in addresses {
            (low, high, bits) = (low.min(address), high.max(address), bits | address);
        }
        let apart = high - low;
        apart <= NEAR - T::BYTES
            && bits.is_multiple_of(T::BYTES)
            && self.are_pages_valid(low, apart + T::BYTES)
    }

    /// Loads a cell for each lane; `None` if they are not near one another, aligned and valid.
    #[inline(always)]
    pub(crate) fn read_near<T: Cell>(&self, addresses: &[u64; LANES]) -> Option<[T; LANES]> {
        if !self.are_near::<T>(addresses) {
            return None;
        }
        // A loop, since `map` of an array may stay a call.
        let mut cells = [T::zeroed(); LANES];
        for l in 0..LANES {
            // SAFETY: the addresses are multiples of the size, and all cells lie in a valid range, which lies in the region.
            cells[l] = unsafe { self.region.cell::<T>(addresses[l]) }.load_relaxed();
        }
        Some(cells)
    }

    /// Stores a cell for each lane in this order; `false` if they are not near one another, aligned and valid.
    #[inline(always)]
    pub(crate) fn write_near<T: Cell>(
        &self,
        addresses: &[u64; LANES],
        values: &[T; LANES],
        order: impl Iterator<Item = usize>,
    ) -> bool {
        let near = self.are_near::<T>(addresses);
        if near {
            for lane in order {
                // SAFETY: as for `read_near`.
                unsafe { self.region.cell::<T>(addresses[lane]) }.store_relaxed(values[lane]);
            }
        }
        near
    }

    /// Copies in up to a page; `false` if the range is not valid.
    #[inline(always)]
    pub(crate) fn write_block(&self, address: u64, from: &[u8]) -> bool {
        let valid = self.is_valid(address, from.len() as u64);
        if valid {
            // SAFETY: a valid range lies in the region.
            unsafe { self.region.write(address, from) };
        }
        valid
    }
}

/// Keeps freed addresses out of use while a kernel runs.
#[derive(Debug)]
pub(crate) struct KernelGuard<'a>(&'a DeviceMemory);

impl Drop for KernelGuard<'_> {
    fn drop(&mut self) {
        let mut allocator = self.0.allocator();
        self.0.kernels.fetch_sub(1, Ordering::SeqCst);
        // A host that refuses to take pages back costs memory, not correctness.
        let _ = self.0.reclaim(&mut allocator);
    }
}

/// Bytes of memory of the host.
pub fn host_memory() -> u64 {
    #[cfg(not(miri))]
    {
        let info = rustix::system::sysinfo();
        (info.totalram as u64).saturating_mul(u64::from(info.mem_unit))
    }
    #[cfg(miri)]
    {
        1 << 24
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> DeviceMemory {
        DeviceMemory::new(1 << 20, 1 << 20).unwrap()
    }

    #[test]
    fn access_is_checked_to_the_byte() {
        let memory = memory();
        let a = memory.allocate(10).unwrap();
        assert_eq!(a % ALLOCATION_ALIGN, 0);
        assert!(memory.is_valid(a, 8) && memory.is_valid(a + 8, 2));
        assert!(!memory.is_valid(a + 8, 4) && !memory.is_valid(a + 10, 1) && !memory.is_valid(a - 1, 1));
        assert!(!memory.is_valid(0, 8) && !memory.is_valid(u64::MAX - 3, 8));
        assert!(memory.cell::<u32>(a + 4).is_some() && memory.cell::<u32>(a + 2).is_none());
        let b = memory.allocate(3 * PAGE).unwrap();
        assert!(memory.is_valid(b + PAGE - 4, 8) && !memory.is_valid(b + 3 * PAGE - 4, 8));
    }

    #[test]
    fn bounds_can_be_those_of_granules() {
        let memory = DeviceMemory::new(16 << 20, 16 << 20).unwrap().with_bounds(Bounds::Granules);
        let a = memory.allocate(PAGE + 10).unwrap();
        let stray = |address| memory.cell_in_granule::<u32>(address).map(|(_, distance)| distance);
        assert!(!memory.is_valid(a + PAGE + 8, 4), "the page map stays exact");
        assert_eq!(stray(a + PAGE + 12), Some(2));
        assert_eq!(stray(a + PAGE + 13), None, "it is not aligned");
        assert!(memory.write(a + PAGE + 8, b"warp").is_err());
        // What lies behind is the granule's, whoever has memory there.
        let granule = |address: u64| address / (2 << 20);
        let b = memory.allocate(100).unwrap();
        assert_eq!(granule(a), granule(b));
        assert!(
            stray((granule(a) + 1) * (2 << 20) - 4).is_some()
                && stray(a - 4).is_some() == (granule(a - 4) == granule(a))
        );
        memory.free(a).unwrap();
        assert!(stray(a).is_some());
        memory.free(b).unwrap();
        assert_eq!(stray(a), None);
        // Large ones have granules of their own.
        let c = memory.allocate(3 << 20).unwrap();
        assert!(c.is_multiple_of(2 << 20));
        assert_eq!(stray(c + (4 << 20) - 4), Some((1 << 20) - 4));
        assert_eq!(stray(c + (4 << 20)), None);
        assert!(DeviceMemory::new(1 << 20, 1 << 20).unwrap().cell_in_granule::<u32>(a).is_none());
    }

    #[test]
    fn host_copies_stay_inside_an_allocation() {
        let memory = memory();
        let a = memory.allocate(16).unwrap();
        memory.write(a + 4, b"warp").unwrap();
        let mut back = [0; 16];
        memory.read(a, &mut back).unwrap();
        assert_eq!(&back, b"\0\0\0\0warp\0\0\0\0\0\0\0\0");
        assert!(memory.write(a + 13, b"warp").is_err());
        assert!(memory.read(a - 1, &mut back).is_err());
    }

    #[test]
    fn what_is_valid_around_an_address_ends_with_its_allocation() {
        let memory = memory();
        let a = memory.allocate(3 * PAGE + 5).unwrap();
        let before = memory.revocations();
        assert_eq!(memory.valid_around(a + PAGE, 10), a..a + 3 * PAGE + 5);
        assert_eq!(memory.valid_around(a + 3 * PAGE + 4, 1), a + 2 * PAGE..a + 3 * PAGE + 5);
        assert_eq!(memory.valid_around(a + PAGE + 7, 0), a + PAGE..a + 2 * PAGE);
        assert!(memory.valid_around(a + 3 * PAGE + 5, 10).is_empty());
        assert!(memory.valid_around(a.wrapping_sub(1 << 40), 10).is_empty());
        memory.free(a).unwrap();
        assert!(memory.valid_around(a, 10).is_empty());
        assert_ne!(memory.revocations(), before);
    }

    #[test]
    fn freed_memory_is_invalid_at_once_and_reused_when_no_kernel_runs() {
        let memory = memory();
        let a = memory.allocate(PAGE).unwrap();
        memory.write(a, &[7; 8]).unwrap();
        let guard = memory.kernel_guard();
        memory.free(a).unwrap();
        assert!(!memory.is_valid(a, 1));
        assert_ne!(memory.allocate(PAGE).unwrap(), a);
        drop(guard);
        let again = memory.allocate(PAGE).unwrap();
        assert_eq!(again, a);
        let mut bytes = [1; 8];
        memory.read(again, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 8]);
        assert!(memory.free(a + 1).is_err());
    }

    #[test]
    fn the_limit_is_an_error_not_a_crash() {
        let memory = memory();
        let half = memory.allocate(1 << 19).unwrap();
        let refused = memory.allocate((1 << 19) + 1);
        assert!(matches!(refused, Err(MemoryError::OutOfMemory { free, .. }) if free == 1 << 19));
        memory.free(half).unwrap();
        memory.allocate(1 << 20).unwrap();
    }
}
