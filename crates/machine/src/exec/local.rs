//! Local memory of the threads of a pack, which is zero where a CTA begins.

use crate::lanes::LANES;
use std::ops::{Deref, DerefMut};

/// Bytes, thread-major. Kernels take more of it than they write to, so it is known which warps' may not be zero: whoever is given it to
/// write may change all.
#[derive(Debug)]
pub(crate) struct LocalMemory {
    bytes: Vec<u8>,
    /// Of a warp.
    each: usize,
    /// A bit for each warp.
    changed: u64,
}

impl LocalMemory {
    /// That of some warps, with so many bytes for each thread.
    pub(crate) fn new(warps: usize, of_thread: usize) -> Self {
        let each = of_thread * LANES;
        Self { bytes: vec![0; each * warps], each, changed: 0 }
    }

    /// All is zero again.
    pub(crate) fn clear(&mut self) {
        if self.each != 0 && self.changed != 0 {
            for (warp, bytes) in self.bytes.chunks_exact_mut(self.each).enumerate() {
                if self.changed >> warp & 1 != 0 {
                    bytes.fill(0);
                }
            }
        }
        self.changed = 0;
    }

    /// All of it from a place on, for who will say which warps' it has changed.
    pub(crate) fn silently(&mut self, from: usize) -> &mut [u8] {
        self.bytes.get_mut(from..).unwrap_or_default()
    }

    /// A warp's may not be zero any more.
    pub(crate) fn note_change(&mut self, warp: usize) {
        self.changed |= 1 << warp;
    }
}

impl Deref for LocalMemory {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for LocalMemory {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.changed = u64::MAX;
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_zero_again() {
        let mut local = LocalMemory::new(3, 2);
        local[70] = 1;
        local.clear();
        assert!(local.iter().all(|&byte| byte == 0));
        local.silently(LANES * 2)[0] = 1;
        local.clear();
        assert_eq!(local.iter().position(|&byte| byte != 0), Some(64), "nobody said so");
        local.note_change(1);
        local.clear();
        assert!(local.iter().all(|&byte| byte == 0));
        LocalMemory::new(3, 0).clear();
    }
}
