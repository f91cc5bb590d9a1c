//! Grids that overlap: one may begin before the grid before it has ended (PTX ISA, `griddepcontrol`).
//!
//! A grid lets those behind it begin when each of its CTAs has executed `griddepcontrol.launch_dependents` or has exited;
//! one that does not contain the instruction lets nobody begin early. `griddepcontrol.wait` waits until the grids
//! before are complete.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What stands before and behind a grid.
#[derive(Clone, Copy)]
pub struct Neighbours<'a> {
    /// Whether all is complete that `griddepcontrol.wait` waits for.
    pub complete: &'a (dyn Fn() -> bool + Sync),
    /// Called at most once, by any host thread of the grid: those behind it may begin.
    pub release: &'a (dyn Fn() + Sync),
}

/// The CTAs of a grid that still keep those behind it waiting.
pub(crate) struct Dependents<'a> {
    neighbours: Option<Neighbours<'a>>,
    left: AtomicU64,
    /// Whether some CTA has let them begin.
    begun: AtomicBool,
    /// CTAs that have let them begin and not exited.
    early: Mutex<HashSet<[u32; 3]>>,
}

impl<'a> Dependents<'a> {
    /// Those behind a grid of this extent.
    pub(crate) fn new(neighbours: Option<Neighbours<'a>>, grid: [u32; 3]) -> Self {
        let left = grid.iter().map(|&extent| u64::from(extent)).product::<u64>().into();
        Self { neighbours, left, begun: AtomicBool::new(false), early: Mutex::default() }
    }

    /// Whether all before the grid is complete.
    pub(crate) fn may_pass(&self) -> bool {
        self.neighbours.is_none_or(|neighbours| (neighbours.complete)())
    }

    /// A thread of a CTA lets them begin.
    pub(crate) fn let_begin(&self, cta: [u32; 3]) {
        if self.neighbours.is_some() && self.early().insert(cta) {
            self.begun.store(true, Ordering::Relaxed);
            self.count_down(1);
        }
    }

    /// A CTA has exited.
    pub(crate) fn exit(&self, cta: [u32; 3]) {
        self.count_down(self.exited(cta));
    }

    /// A CTA has exited: how many [`Dependents::count_down`] has to count for it, when it suits. Who counts each at once
    /// makes a processor wait until memory has all that it has stored.
    #[inline]
    pub(crate) fn exited(&self, cta: [u32; 3]) -> u64 {
        let has_begun = || self.begun.load(Ordering::Relaxed) && self.early().remove(&cta);
        u64::from(self.neighbours.is_some() && !has_begun())
    }

    fn early(&self) -> std::sync::MutexGuard<'_, HashSet<[u32; 3]>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many CTAs keep nobody waiting any more.
    pub(crate) fn count_down(&self, ctas: u64) {
        // At its end a grid need not tell what its end tells anyway.
        if ctas != 0
            && self.left.fetch_sub(ctas, Ordering::AcqRel) == ctas
            && self.begun.load(Ordering::Relaxed)
        {
            self.neighbours.iter().for_each(|neighbours| (neighbours.release)());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn released(events: &[(char, u32)]) -> usize {
        let count = AtomicU64::new(0);
        let release = || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let dependents =
            Dependents::new(Some(Neighbours { complete: &|| false, release: &release }), [3, 1, 1]);
        for &(event, cta) in events {
            match event {
                'b' => dependents.let_begin([cta, 0, 0]),
                _ => dependents.exit([cta, 0, 0]),
            }
        }
        count.load(Ordering::Relaxed) as usize
    }

    #[test]
    fn all_ctas_let_begin_or_exit() {
        assert_eq!(released(&[('b', 0), ('b', 1)]), 0);
        // Twice by one CTA is once.
        assert_eq!(released(&[('b', 0), ('b', 0), ('b', 1)]), 0);
        assert_eq!(released(&[('b', 0), ('b', 1), ('b', 2)]), 1);
        assert_eq!(released(&[('x', 0), ('b', 1), ('b', 2)]), 1);
        assert_eq!(released(&[('b', 1), ('x', 1), ('x', 0), ('b', 2), ('x', 2)]), 1);
        // Nobody has asked for it.
        assert_eq!(released(&[('x', 0), ('x', 1), ('x', 2)]), 0);
    }
}
