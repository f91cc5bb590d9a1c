//! Groups that wait for something in memory, a phase of an mbarrier or of the cluster barrier, or for time (`nanosleep`).
//!
//! Such a group stands at the operation that waits. The operation is executed again at each turn of the pack, and is
//! done when it no longer says [`event::WAIT`]. A wait with a time limit (`mbarrier.try_wait`) ends in vain when it has
//! asked for long, or when nobody else in the cluster can move. A program that then comes straight back to the same
//! wait, with the same registers and without a look at memory or at a clock, will do so for ever.

use super::pack::{Pack, Wait};
use crate::common::Common;
use crate::exec::{Awaited, Exec, Grid, LaneTrap, event};
use crate::fault::Trap;
use crate::image::Meta;
use crate::lanes::Files;
use crate::operation::Operation;

/// How often a wait with a time limit asks before it gives up, while others run.
const LIMIT: u32 = 64;

/// How many operations a group is followed from one vain wait to the next.
const FOLLOWED: u32 = 64;

/// A trap and the operation that raised it.
type Raised = (LaneTrap, u32);

impl Pack {
    /// Whether a group waits for something in memory.
    pub(super) fn awaits_events(&self) -> bool {
        self.groups.iter().any(|g| matches!(g.wait, Wait::Event { .. }))
    }

    /// Lets waiting groups ask again.
    pub(super) fn ask_again(&mut self, grid: &Grid<'_>, common: &mut Common) -> Result<(), Raised> {
        for index in 0..self.groups.len() {
            let Wait::Event { asked, awaited } = self.groups[index].wait else { continue };
            // What it waits for may be the work of lanes that wait for it to join them.
            let sleeps = matches!(awaited, Awaited::Time { .. });
            let expired = !sleeps && asked >= LIMIT && !self.release_join();
            let asked = if asked >= LIMIT { 0 } else { asked + 1 };
            self.groups[index].wait = Wait::Event { asked, awaited };
            self.follow(index, expired, 1, grid, common)?;
        }
        Ok(())
    }

    /// Ends waits in vain, since nobody in the cluster can move. Returns whether a group got anywhere.
    pub(super) fn give_up_waiting(&mut self, grid: &Grid<'_>, common: &mut Common) -> Result<bool, Raised> {
        let mut moved = false;
        for index in 0..self.groups.len() {
            if matches!(self.groups[index].wait, Wait::Event { .. }) {
                moved |= self.follow(index, true, FOLLOWED, grid, common)?;
            }
        }
        Ok(moved)
    }

    /// Executes the wait of a group and up to `most` operations altogether, but none that touches memory or needs the
    /// run loop. Returns whether the group is anywhere but where it was, with the registers that it had.
    fn follow(
        &mut self,
        index: usize,
        expired: bool,
        most: u32,
        grid: &Grid<'_>,
        common: &mut Common,
    ) -> Result<bool, Raised> {
        let group = &mut self.groups[index];
        let frame = &mut self.frames[group.frame];
        let before = (most > 1).then(|| frame.files.clone());
        let mut x = Exec::new(std::mem::take(&mut frame.files), grid, &mut self.threads, common);
        (x.local_base, x.stack) = (frame.local_base, std::mem::take(&mut frame.stack));
        (x.issued, x.fuel, x.expired) = (self.issued, i64::MAX, expired);
        if let Some(join) = group.join.filter(|&j| self.joins[j].frame == group.frame) {
            x.join_pc = self.joins[join].pc;
        }
        x.set_mask(group.mask);
        let image = grid.image;
        let mut pc = group.pc;
        let mut waits = false;
        let mut fault = None;
        for step in 0..most {
            let is_memory = |pc: u32| matches!(image.metas.get(pc as usize), Some(Meta::Memory { .. }));
            let is_guard = matches!(image.ops[pc as usize].operation(), Operation::Guard(_));
            let guarded = is_guard && is_memory(pc + 1);
            if pc != group.pc && (is_memory(pc) || guarded) {
                break;
            }
            let op = &image.ops[pc as usize];
            x.communicated = false;
            x.at = pc;
            let issued = x.issued;
            // SAFETY: operations of an image were selected for this host (see `ops::select`).
            let next = unsafe { (op.execute)(&mut x, op.operation(), pc) };
            x.expired = false;
            let stop = match next {
                event::WAIT => {
                    waits = true;
                    true
                }
                event::YIELD => {
                    pc = x.resume;
                    step > 0
                }
                event::FAULT => {
                    fault = x.trap.take().map(|trap| (trap, x.trap_at.unwrap_or(pc)));
                    true
                }
                // The run loop executes the operation again, and acts on what it says.
                event::FIRST.. => {
                    x.issued = issued;
                    true
                }
                next => {
                    pc = next;
                    step > 0 && x.communicated
                }
            };
            if stop {
                break;
            }
        }
        (frame.files, frame.stack) = (x.files, x.stack);
        self.issued = x.issued;
        let awaited = x.awaited;
        self.awaited = awaited.map(|awaited| (awaited, pc));
        if let Some(fault) = fault {
            return Err(fault);
        }
        // Time comes by itself.
        let comes = matches!(awaited, Some(Awaited::Time { .. }));
        let same = pc == group.pc && waits && !comes && before.is_none_or(|before| before == frame.files);
        group.pc = pc;
        match (&mut group.wait, awaited) {
            (Wait::Event { awaited, .. }, Some(now)) if waits => *awaited = now,
            (wait, _) => *wait = Wait::Ready,
        }
        Ok(!same)
    }

    /// Does something about asynchronous operations of the cluster that are pending.
    pub(super) fn perform(
        &mut self,
        grid: &Grid<'_>,
        common: &mut Common,
        act: impl FnOnce(&mut Exec<'_>) -> Result<(), LaneTrap>,
    ) -> Result<(), Raised> {
        if common.pending.is_empty() {
            return Ok(());
        }
        let mut x = Exec::new(Files::default(), grid, &mut self.threads, common);
        act(&mut x).map_err(|trap| (trap, x.trap_at.unwrap_or(0)))
    }

    /// The trap of a group that waits for what can never come: for the end of a phase of an mbarrier, or for the cluster.
    pub(super) fn never_comes(&self, for_the_cluster: bool) -> Option<Raised> {
        self.groups.iter().find_map(|group| {
            let Wait::Event { awaited, .. } = group.wait else { return None };
            let lane = match awaited {
                Awaited::Mbarrier { lane, .. } | Awaited::TensorMemory { lane, .. } if !for_the_cluster => {
                    Some(lane)
                }
                Awaited::Cluster { .. } if for_the_cluster => crate::exec::lanes_of(group.mask).next(),
                Awaited::Mbarrier { .. }
                | Awaited::TensorMemory { .. }
                | Awaited::Cluster { .. }
                | Awaited::Time { .. } => return None,
            };
            let why = format!("{awaited}, and no thread of the cluster can go on");
            Some((LaneTrap { trap: Trap::InvalidBarrier(why), lane }, group.pc))
        })
    }
}
