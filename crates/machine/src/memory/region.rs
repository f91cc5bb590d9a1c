//! One reserved range of host addresses: the only place where guest addresses become pointers.
//!
//! The whole range is reserved without access rights when the device is made; pages become readable and writable when
//! an allocation covers them. Nothing here decides whether an access is allowed: [`super::DeviceMemory`] asks its page
//! map first, and the functions below state that as their contract.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bytes in a page of the page map, and the granularity of access rights.
pub const PAGE: u64 = 4096;

/// A reserved address range.
#[derive(Debug)]
pub struct Region {
    base: *mut u8,
    size: u64,
}

// SAFETY: the region is plain bytes; guest threads may race on them as they may on a GPU. Accesses of up to 8 bytes are
// relaxed atomics, longer ones are copies of bytes (see `read` and `write`).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves `size` bytes, a multiple of [`PAGE`], without committing any memory.
    #[cfg(not(miri))]
    pub fn reserve(size: u64) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no existing memory.
        let base =
            unsafe { mmap_anonymous(std::ptr::null_mut(), size as usize, ProtFlags::empty(), flags) }?;
        Ok(Self { base: base.cast(), size })
    }

    /// Under Miri, which has no `mmap`, a zeroed heap block stands for the reservation.
    #[cfg(miri)]
    pub fn reserve(size: u64) -> io::Result<Self> {
        let layout = std::alloc::Layout::from_size_align(size as usize, PAGE as usize).unwrap();
        // SAFETY: the layout has a size greater than zero.
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        Ok(Self { base, size })
    }

    /// The address of the first byte, which is also its guest address.
    pub fn base(&self) -> u64 {
        self.base.addr() as u64
    }

    /// Bytes reserved.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Makes the pages of `offset .. offset + size` usable; they read as zero.
    pub fn commit(&self, offset: u64, size: u64) -> io::Result<()> {
        assert!(offset % PAGE == 0 && size % PAGE == 0 && offset + size <= self.size);
        #[cfg(not(miri))]
        {
            use rustix::mm::{MprotectFlags, mprotect};
            // SAFETY: the range lies inside our own mapping.
            unsafe {
                let start = self.base.add(offset as usize);
                mprotect(start.cast(), size as usize, MprotectFlags::READ | MprotectFlags::WRITE)?;
            }
        }
        Ok(())
    }

    /// Gives the pages of `offset .. offset + size` back; no access may be under way there.
    pub fn decommit(&self, offset: u64, size: u64) -> io::Result<()> {
        assert!(offset % PAGE == 0 && size % PAGE == 0 && offset + size <= self.size);
        // SAFETY: the range lies inside our own mapping, and the caller's contract keeps accesses away.
        unsafe {
            let start = self.base.add(offset as usize);
            #[cfg(not(miri))]
            {
                use rustix::mm::{Advice, MprotectFlags, madvise, mprotect};
                madvise(start.cast(), size as usize, Advice::LinuxDontNeed)?;
                mprotect(start.cast(), size as usize, MprotectFlags::empty())?;
            }
            #[cfg(miri)]
            start.write_bytes(0, size as usize);
        }
        Ok(())
    }

    fn at(&self, address: u64, bytes: usize) -> *mut u8 {
        debug_assert!(address >= self.base() && address + bytes as u64 <= self.base() + self.size);
        self.base.with_addr(address as usize)
    }

    /// Copies guest bytes out.
    ///
    /// # Safety
    /// The range is committed.
    pub unsafe fn read(&self, address: u64, into: &mut [u8]) {
        // SAFETY: committed by contract. A guest race on these bytes is a race of the guest program: each byte is
        // copied once and used as a value, never as a pointer, length or discriminant of ours.
        unsafe { self.at(address, into.len()).copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) }
    }

    /// Copies bytes into guest memory.
    ///
    /// # Safety
    /// The range is committed.
    pub unsafe fn write(&self, address: u64, from: &[u8]) {
        // SAFETY: as for `read`.
        unsafe { self.at(address, from.len()).copy_from_nonoverlapping(from.as_ptr(), from.len()) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no reference into it outlives `self`.
        unsafe {
            #[cfg(not(miri))]
            let _ = rustix::mm::munmap(self.base.cast(), self.size as usize);
            #[cfg(miri)]
            std::alloc::dealloc(
                self.base,
                std::alloc::Layout::from_size_align(self.size as usize, PAGE as usize).unwrap(),
            );
        }
    }
}

/// An unsigned integer that guest memory can hold in one naturally aligned, single-copy atomic cell.
pub trait Cell: Copy {
    /// Bytes.
    const BYTES: u64;
    /// The host's atomic of this width.
    type Atomic: AtomicCell<Self>;
}

/// What the interpreter asks of a host atomic.
pub trait AtomicCell<T> {
    /// A relaxed load.
    fn load_relaxed(&self) -> T;
    /// A relaxed store.
    fn store_relaxed(&self, value: T);
    /// A sequentially consistent compare and exchange; the old value, and whether it was replaced.
    fn compare_exchange_seq(&self, expected: T, value: T) -> Result<T, T>;
}

macro_rules! cell {
    ($($t:ty, $atomic:ty);* $(;)?) => {$(
        impl Cell for $t {
            const BYTES: u64 = size_of::<$t>() as u64;
            type Atomic = $atomic;
        }
        impl AtomicCell<$t> for $atomic {
            #[inline(always)]
            fn load_relaxed(&self) -> $t { self.load(Relaxed) }
            #[inline(always)]
            fn store_relaxed(&self, value: $t) { self.store(value, Relaxed) }
            #[inline(always)]
            fn compare_exchange_seq(&self, expected: $t, value: $t) -> Result<$t, $t> {
                use std::sync::atomic::Ordering::SeqCst;
                self.compare_exchange(expected, value, SeqCst, SeqCst)
            }
        }
    )*};
}
cell! { u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; }

impl Region {
    /// The atomic cell at a guest address.
    ///
    /// # Safety
    /// The cell is committed, and `address` is a multiple of its size.
    #[inline(always)]
    pub unsafe fn cell<T: Cell>(&self, address: u64) -> &T::Atomic {
        debug_assert!(address % T::BYTES == 0);
        // SAFETY: committed and aligned by contract; every bit pattern is a value.
        unsafe { &*self.at(address, T::BYTES as usize).cast::<T::Atomic>() }
    }
}
