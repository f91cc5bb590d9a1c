//! Lanes of a warp brought together for a `.sync` operation.
//!
//! The operation itself knows its member mask, or how many warps it takes, and says which lanes are complete. So it is
//! offered all lanes that wait at it: those that are complete execute it and go on, the others keep waiting.

use super::pack::{Group, Pack, Wait};
use crate::common::Common;
use crate::exec::{Exec, Grid, LaneTrap};
use crate::fault::Trap;
use crate::lanes::{EMPTY, Mask};
use crate::ops::event;

impl Pack {
    /// Executes every waiting operation whose members have arrived.
    pub(super) fn converge(&mut self, grid: &Grid<'_>, common: &mut Common) -> Result<(), (LaneTrap, u32)> {
        let mut places: Vec<(usize, u32)> =
            self.groups.iter().filter(|g| g.wait == Wait::Members).map(|g| (g.frame, g.pc)).collect();
        places.sort_unstable();
        places.dedup();
        for (frame, pc) in places {
            let mut here = EMPTY;
            for group in self.groups.iter().filter(|g| waits_at(g, frame, pc)) {
                for (all, lanes) in here.iter_mut().zip(group.mask) {
                    *all |= lanes;
                }
            }
            let done = self.execute_complete(frame, pc, here, grid, common).map_err(|trap| (trap, pc))?;
            if done != EMPTY {
                self.advance(frame, pc, &done);
            }
        }
        Ok(())
    }

    /// Executes the operation for those of the lanes that are complete; which they are.
    fn execute_complete(
        &mut self,
        index: usize,
        pc: u32,
        here: Mask,
        grid: &Grid<'_>,
        common: &mut Common,
    ) -> Result<Mask, LaneTrap> {
        let frame = &mut self.frames[index];
        let mut x = Exec::new(std::mem::take(&mut frame.files), grid, &mut self.threads, common);
        let op = &grid.image.ops[pc as usize];
        let mut done = here;
        x.set_mask(here);
        // SAFETY: operations of an image were selected for this host (see `ops::select`).
        let mut outcome = unsafe { (op.execute)(&mut x, op, pc) };
        if outcome == event::CONVERGE {
            done = x.taken;
            if done != EMPTY {
                x.set_mask(done);
                // SAFETY: as above.
                outcome = unsafe { (op.execute)(&mut x, op, pc) };
            }
        }
        let trap = if outcome == event::FAULT { x.trap.take() } else { None };
        frame.files = x.files;
        trap.map_or(Ok(done), Err)
    }

    /// The lanes of `done` go on behind the operation; lanes of their groups that are not done keep waiting.
    fn advance(&mut self, frame: usize, pc: u32, done: &Mask) {
        let mut moved = Vec::new();
        for group in self.groups.iter_mut().filter(|g| waits_at(g, frame, pc)) {
            let mut mask = EMPTY;
            for warp in 0..mask.len() {
                mask[warp] = group.mask[warp] & done[warp];
                group.mask[warp] &= !done[warp];
            }
            if mask != EMPTY {
                moved.push(Group { pc: pc + 1, mask, wait: Wait::Ready, ..group.clone() });
            }
        }
        self.groups.retain(|g| g.mask != EMPTY);
        self.groups.extend(moved);
        self.coalesce();
    }

    /// The trap of lanes that wait for members that can never come.
    pub(super) fn members_never_come(&self) -> Option<(LaneTrap, u32)> {
        let group = self.groups.iter().find(|g| g.wait == Wait::Members)?;
        let why = "lanes named by the member mask of a .sync operation never execute it".to_owned();
        let lane = crate::exec::lanes_of(group.mask).next();
        Some((LaneTrap { trap: Trap::InvalidBarrier(why), lane }, group.pc))
    }
}

fn waits_at(group: &Group, frame: usize, pc: u32) -> bool {
    group.wait == Wait::Members && group.frame == frame && group.pc == pc
}
