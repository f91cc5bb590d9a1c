//! Allocations that other processes use too: their bytes are those of a file, which stands at their address in each
//! process's range. An allocation becomes one when it is first shared, at its place.

use super::mapped::{checked_file, new_file};
use super::{DeviceMemory, MemoryError, PAGE};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::AtomicU64;

/// Bytes that are copied at a time while an allocation becomes a file.
const PIECE: u64 = 1 << 20;

/// Where another process finds a shared allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The file's number in this process, as long as the allocation is not freed.
    pub descriptor: RawFd,
    /// What tells the file from all others of the host.
    pub identity: u64,
    /// Bytes of the allocation.
    pub bytes: u64,
}

/// What tells a file from all others of the host.
pub fn identity(file: &OwnedFd) -> io::Result<u64> {
    Ok(File::from(file.try_clone()?).metadata()?.ino())
}

impl DeviceMemory {
    /// Lets other processes use the allocation that begins at an address. Nobody may write to it meanwhile.
    pub fn share(&self, address: u64) -> Result<Shared, MemoryError> {
        let offset = address.wrapping_sub(self.region.base());
        let missing = MemoryError::NotAnAllocation { address };
        let (bytes, known) = {
            let allocator = self.allocator();
            let bytes = *allocator.live.get(&offset).ok_or(missing.clone())?;
            (bytes, allocator.shared.contains_key(&offset))
        };
        let whole = bytes.div_ceil(PAGE) * PAGE;
        let file = if known { None } else { Some(self.copy_to_file(address, bytes, whole)?) };
        let mut allocator = self.allocator();
        if allocator.live.get(&offset) != Some(&bytes) {
            return Err(missing);
        }
        if let Some(file) = file.filter(|_| !allocator.shared.contains_key(&offset)) {
            self.region.map_file(offset, whole, file.as_fd())?;
            allocator.shared.insert(offset, file);
        }
        let file = allocator.shared.get(&offset).ok_or(missing)?;
        Ok(Shared { descriptor: file.as_raw_fd(), identity: identity(file)?, bytes })
    }

    /// A file with the bytes of an allocation.
    fn copy_to_file(&self, address: u64, bytes: u64, whole: u64) -> Result<OwnedFd, MemoryError> {
        let file = File::from(new_file(whole)?);
        let mut piece = vec![0; PIECE.min(bytes) as usize];
        for at in (0..bytes).step_by(PIECE as usize) {
            let piece = &mut piece[..PIECE.min(bytes - at) as usize];
            self.read(address + at, piece)?;
            // What is zero need not be there.
            if piece.iter().any(|&byte| byte != 0) {
                file.write_all_at(piece, at)?;
            }
        }
        Ok(file.into())
    }

    /// An allocation that is one of another process's.
    pub fn adopt(&self, file: OwnedFd, bytes: u64) -> Result<u64, MemoryError> {
        let whole = bytes.div_ceil(PAGE) * PAGE;
        if checked_file(&file)? != whole {
            return Err(MemoryError::Host("the file is no allocation".to_owned()));
        }
        let address = self.allocate(bytes)?;
        let offset = address - self.region.base();
        if let Err(error) = self.region.map_file(offset, whole, file.as_fd()) {
            self.free(address)?;
            return Err(error.into());
        }
        self.allocator().shared.insert(offset, file);
        Ok(address)
    }

    /// A counter in an allocation, which processes that share it change together.
    pub fn counter(&self, address: u64) -> Option<&AtomicU64> {
        self.cell::<u64>(address)
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_at_two_addresses() {
        let one = DeviceMemory::new(1 << 20, 1 << 20).unwrap();
        let other = DeviceMemory::new(1 << 20, 1 << 20).unwrap();
        let bytes = 3 * PAGE + 10;
        let a = one.allocate(bytes).unwrap();
        one.write(a + PAGE, b"before").unwrap();
        let shared = one.share(a).unwrap();
        assert_eq!(one.share(a).unwrap(), shared);
        let reopen = || OwnedFd::from(File::open(format!("/proc/self/fd/{}", shared.descriptor)).unwrap());
        // Only who may write can map it for writing.
        assert!(other.adopt(reopen(), bytes).is_err());
        let path = format!("/proc/self/fd/{}", shared.descriptor);
        let open = || OwnedFd::from(File::options().read(true).write(true).open(&path).unwrap());
        assert_eq!(identity(&open()).unwrap(), shared.identity);
        assert!(other.adopt(open(), bytes + PAGE).is_err());
        let b = other.adopt(open(), bytes).unwrap();
        let mut seen = [0; 6];
        other.read(b + PAGE, &mut seen).unwrap();
        assert_eq!(&seen, b"before");
        other.write(b + PAGE, b"behind").unwrap();
        one.read(a + PAGE, &mut seen).unwrap();
        assert_eq!(&seen, b"behind");
        other.counter(b).unwrap().fetch_add(5, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(one.counter(a).unwrap().load(std::sync::atomic::Ordering::Relaxed), 5);
        // Freed by the one, it stays for the other; and what comes to its place is zero.
        one.free(a).unwrap();
        let again = one.allocate(bytes).unwrap();
        one.read(again + PAGE, &mut seen).unwrap();
        assert_eq!(seen, [0; 6]);
        other.read(b + PAGE, &mut seen).unwrap();
        assert_eq!(&seen, b"behind");
        other.free(b).unwrap();
        assert_eq!((one.used(), other.used()), (bytes, 0));
    }
}
