//! Addresses and memory apart from one another: a range of addresses is reserved, backings are made, and backings are
//! mapped at addresses (CUDA's virtual memory management). A backing can be mapped at several places, which then are
//! the same bytes, and it can be handed to another process as a file.

use super::{Allocator, DeviceMemory, Footprint, MemoryError, PAGE, Retired};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Memory without an address.
#[derive(Debug)]
pub struct Backing {
    memory: Arc<DeviceMemory>,
    file: OwnedFd,
    bytes: u64,
}

/// A backing at an address.
#[derive(Debug)]
pub(super) struct Mapping {
    bytes: u64,
    backing: Arc<Backing>,
    usable: bool,
}

/// What an allocator knows of reserved addresses, by offset.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    reserved: BTreeMap<u64, u64>,
    mappings: BTreeMap<u64, Mapping>,
}

impl Mapped {
    /// The usable range that mappings next to one another make around an offset.
    pub(super) fn around(&self, offset: u64) -> Option<(u64, u64)> {
        let usable =
            |(&start, mapping): (&u64, &Mapping)| mapping.usable.then_some((start, start + mapping.bytes));
        let (mut start, mut end) = self.mappings.range(..=offset).next_back().and_then(usable)?;
        if end <= offset {
            return None;
        }
        while let Some((before, behind)) = self.mappings.range(..start).next_back().and_then(usable)
            && behind == start
        {
            start = before;
        }
        while let Some((_, behind)) = self.mappings.get_key_value(&end).and_then(usable) {
            end = behind;
        }
        Some((start, end - start))
    }

    /// The mappings that a range consists of; `None` if there are gaps, or if one is only partly in it.
    fn whole(&self, offset: u64, bytes: u64) -> Option<Vec<u64>> {
        let (mut at, end) = (offset, offset.checked_add(bytes)?);
        let mut found = Vec::new();
        while at < end {
            let mapping = self.mappings.get(&at)?;
            found.push(at);
            at += mapping.bytes;
        }
        (at == end && !found.is_empty()).then_some(found)
    }
}

/// A file of zeros that stays as long as this.
pub(super) fn new_file(bytes: u64) -> io::Result<OwnedFd> {
    #[cfg(not(miri))]
    {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
        let file = memfd_create("warploom", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes)?;
        // Nobody may make it shorter: an access behind its end would end the process.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(file)
    }
    #[cfg(miri)]
    {
        let _ = bytes;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Bytes of a file that another process has made as [`new_file`] does.
pub(super) fn checked_file(file: &OwnedFd) -> Result<u64, MemoryError> {
    #[cfg(not(miri))]
    {
        use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
        let sealed = fcntl_get_seals(file).map_err(io::Error::from)?;
        let bytes = fstat(file).map_err(io::Error::from)?.st_size as u64;
        if sealed.contains(SealFlags::SHRINK) && bytes != 0 && bytes.is_multiple_of(PAGE) {
            return Ok(bytes);
        }
    }
    #[cfg(miri)]
    let _ = file;
    Err(MemoryError::Host("the file is no memory of a device".to_owned()))
}

impl Backing {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The memory that it counts for.
    pub fn memory(&self) -> &Arc<DeviceMemory> {
        &self.memory
    }

    /// The file that it is, which another process can take it from.
    pub fn file(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.file)
    }

    /// Memory of its own.
    pub fn new(memory: &Arc<DeviceMemory>, bytes: u64) -> Result<Arc<Self>, MemoryError> {
        memory.count(bytes)?;
        match new_file(bytes) {
            Ok(file) => Ok(Arc::new(Self { memory: Arc::clone(memory), file, bytes })),
            Err(error) => {
                memory.uncount(bytes);
                Err(error.into())
            }
        }
    }

    /// Memory that another process has made as [`Backing::new`] does.
    pub fn import(memory: &Arc<DeviceMemory>, file: OwnedFd) -> Result<Arc<Self>, MemoryError> {
        let bytes = checked_file(&file)?;
        memory.count(bytes)?;
        Ok(Arc::new(Self { memory: Arc::clone(memory), file, bytes }))
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        self.memory.uncount(self.bytes);
    }
}

impl DeviceMemory {
    fn count(&self, bytes: u64) -> Result<(), MemoryError> {
        let mut allocator = self.allocator();
        let free = self.limit - allocator.used;
        if bytes > free {
            return Err(MemoryError::OutOfMemory { requested: bytes, free, limit: self.limit });
        }
        allocator.used += bytes;
        Ok(())
    }

    fn uncount(&self, bytes: u64) {
        self.allocator().used -= bytes;
    }

    fn offset(&self, address: u64) -> Result<u64, MemoryError> {
        if self.reserves(address) {
            Ok(address - self.region.base())
        } else {
            Err(MemoryError::NotAnAllocation { address })
        }
    }

    /// Reserves addresses: `bytes`, whole pages, aligned to `align`, a power of two.
    pub fn reserve(&self, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let mut allocator = self.allocator();
        let full = MemoryError::OutOfMemory { requested: bytes, free: 0, limit: self.limit };
        if bytes.checked_add(align).is_none_or(|sum| sum > self.region.size()) {
            return Err(full);
        }
        let base = self.region.base();
        let offset = allocator.take(Footprint::of_reserved(bytes).aligned(align), base).ok_or(full)?;
        allocator.mapped.reserved.insert(offset, bytes);
        Ok(base + offset)
    }

    /// Gives reserved addresses back, at which nothing is mapped.
    pub fn unreserve(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        let offset = self.offset(address)?;
        let mut allocator = self.allocator();
        let mapped = &allocator.mapped;
        let empty = mapped.mappings.range(offset..offset.saturating_add(bytes)).next().is_none();
        if mapped.reserved.get(&offset) != Some(&bytes) || !empty {
            return Err(MemoryError::NotAnAllocation { address });
        }
        allocator.mapped.reserved.remove(&offset);
        allocator.retired.push(Retired::reserved(offset, bytes));
        self.reclaim(&mut allocator)
    }

    /// The reservation around an address.
    pub fn reservation_of(&self, address: u64) -> Option<(u64, u64)> {
        let offset = self.offset(address).ok()?;
        let allocator = self.allocator();
        let (&start, &bytes) = allocator.mapped.reserved.range(..=offset).next_back()?;
        (offset - start < bytes).then_some((self.region.base() + start, bytes))
    }

    /// Maps the whole of a backing at reserved addresses where nothing is mapped. It cannot be used before
    /// [`DeviceMemory::set_usable`] says so.
    pub fn map(&self, address: u64, backing: &Arc<Backing>) -> Result<(), MemoryError> {
        let not_there = || MemoryError::NotAllocated { address, bytes: backing.bytes };
        let offset = self.offset(address)?;
        let end = offset.checked_add(backing.bytes).ok_or_else(not_there)?;
        let mut allocator = self.allocator();
        let Allocator { mapped, .. } = &mut *allocator;
        let inside = |(&start, &bytes): (&u64, &u64)| end <= start + bytes;
        let reserved = mapped.reserved.range(..=offset).next_back().is_some_and(inside);
        let before = mapped.mappings.range(..end).next_back();
        let taken = before.is_some_and(|(&start, mapping)| start + mapping.bytes > offset);
        if !reserved || taken || !offset.is_multiple_of(PAGE) {
            return Err(not_there());
        }
        self.region.map_file(offset, backing.bytes, backing.file())?;
        let mapping = Mapping { bytes: backing.bytes, backing: Arc::clone(backing), usable: false };
        mapped.mappings.insert(offset, mapping);
        Ok(())
    }

    /// Undoes [`DeviceMemory::map`] for all that is mapped in a range.
    pub fn unmap(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        let offset = self.offset(address)?;
        let mut allocator = self.allocator();
        let found =
            allocator.mapped.whole(offset, bytes).ok_or(MemoryError::NotAllocated { address, bytes })?;
        self.set_valid(offset, bytes, false);
        self.region.unmap_file(offset, bytes)?;
        let gone: Vec<_> = found.iter().filter_map(|start| allocator.mapped.mappings.remove(start)).collect();
        // Backings count themselves out, for which they need the allocator.
        drop(allocator);
        drop(gone);
        Ok(())
    }

    /// Lets kernels use what is mapped in a range, or not.
    pub fn set_usable(&self, address: u64, bytes: u64, usable: bool) -> Result<(), MemoryError> {
        let offset = self.offset(address)?;
        let mut allocator = self.allocator();
        let found =
            allocator.mapped.whole(offset, bytes).ok_or(MemoryError::NotAllocated { address, bytes })?;
        for start in found {
            allocator.mapped.mappings.entry(start).and_modify(|mapping| mapping.usable = usable);
        }
        self.set_valid(offset, bytes, usable);
        Ok(())
    }

    fn set_valid(&self, offset: u64, bytes: u64, valid: bool) {
        let count = if valid { PAGE as u16 } else { 0 };
        for page in offset / PAGE..(offset + bytes) / PAGE {
            self.valid_bytes(page).store(count, Ordering::Release);
        }
        if !valid {
            self.revocations.fetch_add(1, Ordering::Release);
        }
    }

    /// The mapping around an address: where it begins, the backing, and whether it can be used.
    pub fn mapping_of(&self, address: u64) -> Option<(u64, Arc<Backing>, bool)> {
        let offset = self.offset(address).ok()?;
        let allocator = self.allocator();
        let (&start, mapping) = allocator.mapped.mappings.range(..=offset).next_back()?;
        let inside = offset - start < mapping.bytes;
        inside.then(|| (self.region.base() + start, Arc::clone(&mapping.backing), mapping.usable))
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_backing_is_the_same_bytes_wherever_it_is_mapped() {
        let memory = Arc::new(DeviceMemory::new(16 * MIB, 8 * MIB).unwrap());
        let range = memory.reserve(4 * MIB, 2 * MIB).unwrap();
        assert_eq!(range % (2 * MIB), 0);
        let (a, b) = (Backing::new(&memory, MIB).unwrap(), Backing::new(&memory, MIB).unwrap());
        assert_eq!(memory.used(), 2 * MIB);
        memory.map(range, &a).unwrap();
        memory.map(range + MIB, &b).unwrap();
        memory.map(range + 2 * MIB, &a).unwrap();
        assert!(memory.map(range + MIB, &a).is_err() && memory.map(range + 4 * MIB, &a).is_err());
        assert!(!memory.is_valid(range, 1) && memory.write(range, b"no").is_err());
        memory.set_usable(range, 3 * MIB, true).unwrap();
        assert!(memory.set_usable(range, 3 * MIB + PAGE, true).is_err());
        memory.write(range + MIB - 2, b"over").unwrap();
        let mut back = [0; 2];
        memory.read(range + 3 * MIB - 2, &mut back).unwrap();
        assert_eq!(&back, b"ov");
        assert_eq!(memory.allocation_of(range + 5), Some((range, 3 * MIB)));
        assert!(memory.is_valid(range + MIB - 4, 8) && !memory.is_valid(range + 3 * MIB - 4, 8));
        drop((a, b));
        assert_eq!(memory.used(), 2 * MIB, "mappings keep backings");
        assert!(memory.unreserve(range, 4 * MIB).is_err() && memory.unmap(range, MIB / 2).is_err());
        memory.unmap(range + 2 * MIB, MIB).unwrap();
        assert!(!memory.is_valid(range + 2 * MIB, 1) && memory.is_valid(range, 1));
        memory.unmap(range, 2 * MIB).unwrap();
        assert_eq!(memory.used(), 0);
        memory.unreserve(range, 4 * MIB).unwrap();
        // The addresses are clean for whoever comes next.
        let next = memory.allocate(4 * MIB).unwrap();
        memory.read(next, &mut back).unwrap();
        assert_eq!(back, [0; 2]);
    }

    #[test]
    fn limits_hold_and_files_go_to_others() {
        let memory = Arc::new(DeviceMemory::new(16 * MIB, 2 * MIB).unwrap());
        let backing = Backing::new(&memory, MIB).unwrap();
        assert!(matches!(Backing::new(&memory, 2 * MIB), Err(MemoryError::OutOfMemory { .. })));
        assert!(memory.reserve(u64::MAX / 2, PAGE).is_err());
        let other = Arc::new(DeviceMemory::new(16 * MIB, 2 * MIB).unwrap());
        let file = backing.file().try_clone_to_owned().unwrap();
        let imported = Backing::import(&other, file).unwrap();
        assert_eq!(imported.bytes(), MIB);
        let (here, there) = (memory.reserve(MIB, PAGE).unwrap(), other.reserve(MIB, PAGE).unwrap());
        memory.map(here, &backing).unwrap();
        other.map(there, &imported).unwrap();
        memory.set_usable(here, MIB, true).unwrap();
        other.set_usable(there, MIB, true).unwrap();
        memory.write(here + 100, b"warp").unwrap();
        let mut back = [0; 4];
        other.read(there + 100, &mut back).unwrap();
        assert_eq!(&back, b"warp");
        let stranger = std::fs::File::open("/dev/null").unwrap();
        assert!(Backing::import(&other, stranger.into()).is_err());
    }
}
