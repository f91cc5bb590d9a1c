//! Lanes of a warp brought together for a `.sync` operation.
//!
//! The operation itself knows its member mask, or how many warps it takes, and says which lanes are complete. So it is
//! offered all lanes that wait at it: those that are complete execute it and go on, the others keep waiting.
//!
//! The members of a `bar.warp.sync` need not be at the same one: a lane waits until every member has executed one with
//! the same mask (PTX ISA, bar.warp.sync). So those that are left are also looked at together.

use super::pack::{Group, Pack, Wait};
use crate::common::Common;
use crate::exec::{Exec, Grid, LaneTrap, event};
use crate::fault::Trap;
use crate::lanes::{EMPTY, Mask};
use crate::observe::{Happening, Lanes};
use crate::operation::Operation;

impl Pack {
    /// Executes every waiting operation whose members have arrived.
    pub(super) fn converge(&mut self, grid: &Grid<'_>, common: &mut Common) -> Result<(), (LaneTrap, u32)> {
        let mut places: Vec<(usize, u32)> =
            self.groups.iter().filter(|g| g.wait == Wait::Members).map(|g| (g.frame, g.pc)).collect();
        places.sort_unstable();
        places.dedup();
        let mut barriers = Vec::new();
        for (frame, pc) in places {
            let here = self.waiting_at(frame, pc);
            let (done, next, meets) = self.execute_complete(frame, pc, here, grid, common)?;
            if done != EMPTY {
                self.advance(frame, pc, next, &done);
            }
            if meets {
                barriers.push((frame, pc));
            }
        }
        if barriers.len() > 1 {
            self.meet(&barriers, grid);
        }
        Ok(())
    }

    /// The lanes that wait at an operation.
    fn waiting_at(&self, frame: usize, pc: u32) -> Mask {
        let mut here = EMPTY;
        for group in self.groups.iter().filter(|g| waits_at(g, frame, pc)) {
            for (all, lanes) in here.iter_mut().zip(group.mask) {
                *all |= lanes;
            }
        }
        here
    }

    /// Lets lanes go on that wait at different `bar.warp.sync`, where all members that they name are at one of them.
    fn meet(&mut self, places: &[(usize, u32)], grid: &Grid<'_>) {
        let waiting: Vec<Mask> = places.iter().map(|&(frame, pc)| self.waiting_at(frame, pc)).collect();
        let mut complete = EMPTY;
        for (warp, complete) in complete.iter_mut().enumerate().take(grid.image.warps) {
            // The lanes by the members that they name.
            let mut teams: Vec<(u32, u32)> = Vec::new();
            for (&(frame, pc), waiting) in places.iter().zip(&waiting) {
                let Operation::WarpBarrier(barrier) = grid.image.ops[pc as usize].operation() else {
                    continue;
                };
                let files = &self.frames[frame].files;
                for lane in (0..32).filter(|lane| waiting[warp] >> lane & 1 != 0) {
                    let named = files.read(barrier.members, warp, lane) as u32;
                    match teams.iter_mut().find(|(members, _)| *members == named) {
                        Some((_, lanes)) => *lanes |= 1 << lane,
                        None => teams.push((named, 1 << lane)),
                    }
                }
            }
            let live = self.threads.live[warp];
            for (_, lanes) in teams.into_iter().filter(|(members, lanes)| members & live & !lanes == 0) {
                *complete |= lanes;
                if let Some(observer) = grid.observer {
                    let at = waiting.iter().position(|waiting| waiting[warp] & lanes != 0).unwrap_or(0);
                    let origin = grid.image.origins[places[at].1 as usize];
                    observer.happening(&Happening::WarpBarrier(Lanes {
                        block: self.threads.ctaid,
                        warp: self.threads.first_warp + warp as u32,
                        mask: lanes,
                        place: (origin.function, origin.instruction),
                    }));
                }
            }
        }
        for (&(frame, pc), mut done) in places.iter().zip(waiting) {
            done.iter_mut().zip(complete).for_each(|(done, complete)| *done &= complete);
            if done != EMPTY {
                self.advance(frame, pc, pc + 1, &done);
            }
        }
    }

    /// Executes the operation for those of the lanes that are complete. Which they are, where they go on, and whether the
    /// others may meet those that are elsewhere.
    fn execute_complete(
        &mut self,
        index: usize,
        pc: u32,
        here: Mask,
        grid: &Grid<'_>,
        common: &mut Common,
    ) -> Result<(Mask, u32, bool), (LaneTrap, u32)> {
        let frame = &mut self.frames[index];
        let mut x = Exec::new(std::mem::take(&mut frame.files), grid, &mut self.threads, common);
        let op = &grid.image.ops[pc as usize];
        let mut done = here;
        x.local_base = frame.local_base;
        x.at = pc;
        x.set_mask(here);
        // SAFETY: operations of an image were selected for this host (see `ops::select`).
        let mut outcome = unsafe { (op.execute)(&mut x, op.operation(), pc) };
        let meets = outcome == event::MEET;
        if matches!(outcome, event::CONVERGE | event::MEET) {
            done = x.taken;
            if done != EMPTY {
                x.set_mask(done);
                // SAFETY: as above.
                outcome = unsafe { (op.execute)(&mut x, op.operation(), pc) };
            }
        }
        if outcome == event::WAIT {
            // Together they wait for something else, and ask again when the others are looked at again.
            done = EMPTY;
        }
        let trap = if outcome == event::FAULT { x.trap.take() } else { None };
        let at = x.trap_at.unwrap_or(pc);
        frame.files = x.files;
        let next = if outcome < event::FIRST { outcome } else { pc + 1 };
        trap.map_or(Ok((done, next, meets)), |trap| Err((trap, at)))
    }

    /// The lanes of `done` go on behind the operation, at `next`; lanes of their groups that are not done keep waiting.
    fn advance(&mut self, frame: usize, pc: u32, next: u32, done: &Mask) {
        let mut moved = Vec::new();
        for group in self.groups.iter_mut().filter(|g| waits_at(g, frame, pc)) {
            let mut mask = EMPTY;
            for warp in 0..mask.len() {
                mask[warp] = group.mask[warp] & done[warp];
                group.mask[warp] &= !done[warp];
            }
            if mask != EMPTY {
                moved.push(Group { pc: next, mask, wait: Wait::Ready, ..group.clone() });
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
