//! How operations tell what happens, and note what a GPU would not have noticed.

use super::{Exec, Grid};
use crate::fault::Access;
use crate::lanes::LANES;
use crate::memory::Cell;
use crate::misuse::Kind;
use crate::observe::{Happening, Lanes, Placed};

impl Grid<'_> {
    /// The grid begins.
    pub(crate) fn tell_begin(&self, variables: &dyn Fn() -> Vec<Placed>) {
        if let Some(observer) = self.observer {
            let Grid { image, grid, block, cluster, .. } = *self;
            let (kernel, launches, variables) = (image.kernel, image.launches_grids(), &variables()[..]);
            observer.happening(&Happening::Began { kernel, variables, launches, grid, block, cluster });
        }
    }
}

impl Exec<'_> {
    /// Lanes of a warp of the pack at an operation.
    #[cold]
    pub(crate) fn lanes_at(&self, pc: u32, warp: usize, mask: u32) -> Lanes {
        let origin = self.grid.image.origins[pc as usize];
        Lanes {
            block: self.threads.ctaid,
            warp: self.threads.first_warp + warp as u32,
            mask,
            place: (origin.function, origin.instruction),
        }
    }

    /// Tells the observer, if there is one, that lanes of a warp access memory otherwise than their instruction says: each so many
    /// bytes at a generic address.
    #[cold]
    pub(crate) fn tell_access(
        &self,
        pc: u32,
        (warp, mask): (usize, u32),
        addresses: &[u64; LANES],
        bytes: u64,
        access: Access,
    ) {
        let lanes = self.lanes_at(pc, warp, mask);
        self.tell(|_| Happening::Accessed { lanes, addresses, bytes, access });
    }

    /// The same of one lane.
    #[cold]
    pub(crate) fn tell_access_of(
        &self,
        pc: u32,
        (warp, lane): (usize, usize),
        address: u64,
        bytes: u64,
        access: Access,
    ) {
        self.tell_access(pc, (warp, 1 << lane), &[address; LANES], bytes, access);
    }

    /// Tells the observer, if there is one, that the active lanes pass a barrier, which all that their CTA has left are.
    #[inline(always)]
    pub(crate) fn tell_passed(&self, pc: u32, number: usize) {
        if let Some(observer) = self.grid.observer {
            let origin = self.grid.image.origins[pc as usize];
            let (block, place) = (self.threads.ctaid, (origin.function, origin.instruction));
            let masks = &self.mask[..self.warps];
            observer.happening(&Happening::BarrierPassed { block, number, place, masks });
        }
    }

    /// Tells the observer, if there is one, what happens.
    #[inline(always)]
    pub(crate) fn tell<'h>(&self, happening: impl FnOnce(&Self) -> Happening<'h>) {
        if let Some(observer) = self.grid.observer {
            observer.happening(&happening(self));
        }
    }
}

impl Exec<'_> {
    /// The cell of global memory at an address that no allocation has but that kernels reach all the same.
    #[cold]
    #[inline(never)]
    pub(crate) fn stray<T: Cell>(&self, address: u64, access: Access) -> Option<&T::Atomic> {
        let (cell, distance) = self.grid.memory.cell_in_granule::<T>(address)?;
        self.grid.misuses.note(self.at, distance, || Kind::Stray {
            bytes: T::BYTES,
            access,
            farthest: self.near_global(address).unwrap_or_else(|| format!("at {address:#x}")),
        });
        Some(cell)
    }

    /// Notes that a lane executes a `.sync` operation whose member mask leaves it out.
    #[cold]
    pub(crate) fn note_mask(&self, mask: u32, lane: usize) {
        self.grid.misuses.note(self.at, 0, || Kind::Mask { mask, lane });
    }
}
