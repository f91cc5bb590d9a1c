//! Small blocks of memory for a command that ends within milliseconds.
//!
//! Build systems start `ptxas` for each file, and a tenth of what a file took was the C library's allocator, with a fault of the kernel for each new
//! page on top. The thread that calls [`begin`] takes blocks of up to [`LARGEST`] bytes from a region of its own from then on: by their size, without
//! locks, from pages that the kernel gives many of at once. A block that it frees is its next one of that size; nothing goes back to the kernel. Larger
//! blocks, and those of other threads, are the system's as ever.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sizes are multiples of this, and blocks aligned to it.
const STEP: usize = 16;
/// Larger blocks are the system's.
const LARGEST: usize = 1024;
/// Bytes of the region. None of them takes memory before it is used; behind its end all blocks are the system's.
const REGION: usize = 1 << 30;
/// Bytes whose pages are asked for together.
const CHUNK: usize = 64 << 10;

/// Where the region lies. It is set once, before there is any block in it.
static FIRST: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// The region, as its thread knows it.
struct Region {
    /// What no block has taken yet, and where its pages end that are there.
    free: Cell<*mut u8>,
    ready: Cell<*mut u8>,
    end: Cell<*mut u8>,
    /// By size: the block that was freed last, which says which one was before it.
    freed: [Cell<*mut u8>; LARGEST / STEP + 1],
}

thread_local! {
    static REGION_OF_THIS: Region = const {
        Region {
            free: Cell::new(null_mut()),
            ready: Cell::new(null_mut()),
            end: Cell::new(null_mut()),
            freed: [const { Cell::new(null_mut()) }; LARGEST / STEP + 1],
        }
    };
}

/// The allocator of the command.
pub(crate) struct Arena;

/// From now on this thread's small blocks come from the region. Only the first call of a process does anything.
pub(crate) fn begin() {
    if FIRST.load(Ordering::Relaxed) != 0 {
        return;
    }
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a new mapping, which overlaps nothing.
    let Ok(first) = (unsafe { mmap_anonymous(null_mut(), REGION, protection, flags) }) else { return };
    let first = first.cast::<u8>();
    if FIRST.compare_exchange(0, first.addr(), Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return;
    }
    END.store(first.addr() + REGION, Ordering::Relaxed);
    REGION_OF_THIS.with(|region| {
        region.free.set(first);
        region.ready.set(first);
        region.end.set(first.wrapping_add(REGION));
    });
}

/// Whether a block is one of the region.
fn is_ours(block: *mut u8) -> bool {
    (FIRST.load(Ordering::Relaxed)..END.load(Ordering::Relaxed)).contains(&block.addr())
}

/// Which of the sizes a block has.
fn class(layout: Layout) -> usize {
    layout.size().div_ceil(STEP)
}

impl Region {
    /// A block of a size, if there is room for it.
    fn take(&self, class: usize) -> Option<NonNull<u8>> {
        let freed = &self.freed[class];
        if let Some(block) = NonNull::new(freed.get()) {
            // SAFETY: a freed block of the region, whose first bytes are `give`'s.
            freed.set(unsafe { block.cast::<*mut u8>().read() });
            return Some(block);
        }
        let block = self.free.get();
        let behind = block.wrapping_add(class * STEP);
        if behind > self.ready.get() {
            let ready = self.ready.get();
            if ready == self.end.get() {
                return None;
            }
            // SAFETY: the pages are the region's, and hold nothing yet. Where the kernel does not know this, each comes when it is used.
            let _ = unsafe { madvise(ready.cast(), CHUNK, Advice::LinuxPopulateWrite) };
            self.ready.set(ready.wrapping_add(CHUNK));
        }
        self.free.set(behind);
        NonNull::new(block)
    }

    /// Takes a block back.
    fn give(&self, block: *mut u8, class: usize) {
        let freed = &self.freed[class];
        // SAFETY: nobody uses the block any more, it is aligned to 16 bytes, and has at least as many.
        unsafe { block.cast::<*mut u8>().write(freed.get()) };
        freed.set(block);
    }
}

// SAFETY: blocks of the region are cut from it one behind the other, at multiples of 16, and given again only when they have been freed. Only its
// own thread touches it: what another one frees stays as it is. All else is the system's.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() <= LARGEST && layout.align() <= STEP {
            let block = REGION_OF_THIS.try_with(|region| region.take(class(layout)));
            if let Ok(Some(block)) = block {
                return block.as_ptr();
            }
        }
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGEST {
            // SAFETY: as the caller says.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as the caller says; a block has as many bytes as it was asked for.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !is_ours(block) {
            // SAFETY: the system's own.
            return unsafe { System.dealloc(block, layout) };
        }
        let _ = REGION_OF_THIS.try_with(|region| {
            if !region.end.get().is_null() {
                region.give(block, class(layout));
            }
        });
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_ours(block) {
            // SAFETY: the system's own.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: the caller's size and alignment are a layout's.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if class(new) == class(layout) {
            return block;
        }
        // SAFETY: both have at least the smaller of the two sizes, and are not the same.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, begin, is_ours};

    /// The allocator is this test program's, too.
    #[test]
    fn blocks_come_from_the_region_and_back() {
        begin();
        let mut lists: Vec<Vec<u8>> = Vec::new();
        for size in 0..3000_usize {
            let mut list = vec![0; size % 1500];
            assert!(list.iter().all(|&byte| byte == 0));
            list.fill(size as u8);
            // Some grow, some go.
            list.resize(list.len() * 2, size as u8);
            match size % 3 {
                0 => drop(list),
                _ => lists.push(list),
            }
        }
        for list in &lists {
            assert!(list.iter().all(|&byte| byte == list[0]));
        }
        let mut small = Box::new(0_u64);
        assert!(is_ours(std::ptr::from_mut(&mut *small).cast()));
        let mut large = vec![0_u8; LARGEST + 1];
        assert!(!is_ours(large.as_mut_ptr()));
        // Another thread frees what is not its own, and has none itself.
        let elsewhere = std::thread::spawn(move || {
            drop((small, lists));
            !is_ours(std::ptr::from_mut(&mut *Box::new(0_u64)).cast())
        });
        assert!(elsewhere.join().expect("it ends"));
    }
}
