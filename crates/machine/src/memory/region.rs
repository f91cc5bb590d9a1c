//! One reserved range of host addresses: the only place where guest addresses become pointers.
//!
//! The whole range is mapped when the device is made, and costs memory only where it has been touched. Nothing here
//! decides whether an access is allowed: [`super::DeviceMemory`] asks its page map first. Were that ever wrong, the
//! access would still end inside this mapping, which holds nothing but guest bytes.

use portable_atomic::AtomicU128;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bytes in a page of the page map.
pub const PAGE: u64 = 4096;

/// Bytes in a large page of an x86-64 host.
#[cfg(not(miri))]
const LARGE_PAGE: u64 = 2 << 20;

/// A reserved address range.
#[derive(Debug)]
pub(super) struct Region {
    base: *mut u8,
    size: u64,
}

// SAFETY: the region is plain bytes; guest threads may race on them as they may on a GPU. Accesses of up to 8 bytes are
// relaxed atomics, longer ones are copies of bytes (see `read` and `write`).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves `size` bytes, a multiple of [`PAGE`]. The host commits a page when it is first touched.
    #[cfg(not(miri))]
    pub(super) fn reserve(size: u64) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), size as usize, rights, flags) }?;
        Ok(Self { base: base.cast(), size })
    }

    /// Under Miri, which has no `mmap`, a zeroed heap block stands for the reservation.
    #[cfg(miri)]
    pub(super) fn reserve(size: u64) -> io::Result<Self> {
        let layout = std::alloc::Layout::from_size_align(size as usize, PAGE as usize).unwrap();
        // SAFETY: the layout has a size greater than zero.
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        Ok(Self { base, size })
    }

    /// The address of the first byte, which is also its guest address.
    pub(super) fn base(&self) -> u64 {
        self.base.addr() as u64
    }

    /// Bytes reserved.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Asks the host to back what it can of `offset .. offset + size` by large pages: the fewer pages there are, the fewer are faulted
    /// in, and the more of them the processor finds without a walk. It is a wish: what the host says does not matter.
    pub(super) fn prefer_large_pages(&self, offset: u64, size: u64) {
        assert!(offset + size <= self.size);
        #[cfg(not(miri))]
        {
            let base = self.base();
            let start = (base + offset).next_multiple_of(LARGE_PAGE) - base;
            let end = (base + offset + size) / LARGE_PAGE * LARGE_PAGE;
            let Some(bytes) = end.checked_sub(base + start).filter(|&bytes| bytes != 0) else { return };
            let at = self.base.wrapping_add(start as usize).cast();
            // SAFETY: the range lies inside our own mapping; what is in it stays.
            let _ = unsafe { rustix::mm::madvise(at, bytes as usize, rustix::mm::Advice::LinuxHugepage) };
        }
    }

    /// Gives the memory of `offset .. offset + size`, whole pages, back to the host; it reads as zero afterwards.
    pub(super) fn discard(&self, offset: u64, size: u64) -> io::Result<()> {
        assert!(offset.is_multiple_of(PAGE) && size.is_multiple_of(PAGE) && offset + size <= self.size);
        // SAFETY: the range lies inside our own mapping; guest code that races with this reads zeros or old bytes.
        unsafe {
            let start = self.base.add(offset as usize);
            #[cfg(not(miri))]
            rustix::mm::madvise(start.cast(), size as usize, rustix::mm::Advice::LinuxDontNeed)?;
            #[cfg(miri)]
            start.write_bytes(0, size as usize);
        }
        Ok(())
    }

    /// Lets `offset .. offset + size`, whole pages, be the bytes of a file, which is as long as that and stays so.
    pub(super) fn map_file(&self, offset: u64, size: u64, file: BorrowedFd<'_>) -> io::Result<()> {
        assert!(offset.is_multiple_of(PAGE) && size.is_multiple_of(PAGE) && offset + size <= self.size);
        #[cfg(not(miri))]
        {
            use rustix::mm::{MapFlags, ProtFlags, mmap};
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            let start = self.base.wrapping_add(offset as usize).cast();
            // SAFETY: the range lies inside our own mapping and stays mapped all the time; guest code that races with this
            // sees the old bytes or the new ones. Nobody holds references into it but to atomics that are accessed now.
            unsafe { mmap(start, size as usize, rights, MapFlags::SHARED | MapFlags::FIXED, file, 0) }?;
            Ok(())
        }
        #[cfg(miri)]
        {
            let _ = file;
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// Undoes [`Region::map_file`]; the range reads as zero afterwards.
    pub(super) fn unmap_file(&self, offset: u64, size: u64) -> io::Result<()> {
        assert!(offset.is_multiple_of(PAGE) && size.is_multiple_of(PAGE) && offset + size <= self.size);
        #[cfg(not(miri))]
        {
            use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            let start = self.base.wrapping_add(offset as usize).cast();
            // SAFETY: as for `map_file`.
            unsafe { mmap_anonymous(start, size as usize, rights, flags) }?;
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
    /// The range lies inside the region.
    pub(super) unsafe fn read(&self, address: u64, into: &mut [u8]) {
        // SAFETY: inside the mapping by contract. A guest race on these bytes is a race of the guest program: each byte is
        // copied once and used as a value, never as a pointer, length or discriminant of ours.
        unsafe { self.at(address, into.len()).copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) }
    }

    /// Copies bytes into guest memory.
    ///
    /// # Safety
    /// The range lies inside the region.
    pub(super) unsafe fn write(&self, address: u64, from: &[u8]) {
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
pub trait Cell: bytemuck::Pod {
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
cell! { u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; u128, AtomicU128; }

impl Region {
    /// The atomic cell at a guest address.
    ///
    /// # Safety
    /// The cell lies inside the region, and `address` is a multiple of its size.
    #[inline(always)]
    pub(super) unsafe fn cell<T: Cell>(&self, address: u64) -> &T::Atomic {
        debug_assert!(address.is_multiple_of(T::BYTES));
        // SAFETY: inside the mapping and aligned by contract; every bit pattern is a value.
        unsafe { &*self.at(address, T::BYTES as usize).cast::<T::Atomic>() }
    }
}
