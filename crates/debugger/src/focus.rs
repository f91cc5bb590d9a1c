//! The thread that commands are about: of the CTA that has stopped, or of another one that is resident.

use crate::Error;
use crate::engine::{Stop, Whereabouts};
use crate::evaluate::Scene;
use crate::plan::{Calls, Step, Unit};
use crate::session::Session;
use machine::inspect::Snapshot;

/// A thread, in one of its activations: the number of calls from the innermost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Focus {
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%warpid`.
    pub warp: u32,
    /// The lane.
    pub lane: usize,
    /// The frame, 0 for the innermost; inlined ones count.
    pub frame: usize,
}

impl Focus {
    /// The first thread of a warp that has not exited.
    pub fn of_warp(snapshot: &Snapshot, warp: u32) -> Option<Self> {
        let group = snapshot.warp(warp)?.groups.first()?;
        Some(Self { block: snapshot.block, warp, lane: group.mask.trailing_zeros() as usize, frame: 0 })
    }

    /// A thread by its number, if it has not exited.
    pub(crate) fn of_thread(snapshot: &Snapshot, thread: [u32; 3]) -> Option<Self> {
        snapshot.warps.iter().find_map(|warp| {
            let lane = warp.threads.iter().position(|known| *known == thread)?;
            warp.group_of(lane)?;
            Some(Self { block: snapshot.block, warp: warp.number, lane, frame: 0 })
        })
    }
}

/// `block (1,0,0)`.
pub(crate) fn block_text([x, y, z]: [u32; 3]) -> String {
    format!("block ({x},{y},{z})")
}

impl Session {
    /// The thread in focus.
    pub fn focus(&self) -> Option<Focus> {
        self.focus
    }

    /// The same, of a launch that stands still.
    ///
    /// # Errors
    /// If it does not.
    pub fn focused(&self) -> Result<Focus, Error> {
        let next = self.stop()?.next;
        Ok(self.focus.unwrap_or(Focus { block: next.block, warp: next.warp, lane: 0, frame: 0 }))
    }

    /// The thread in focus, in its activation.
    ///
    /// # Errors
    /// If the launch does not stand still.
    pub fn scene(&self) -> Result<Scene<'_>, Error> {
        self.scene_at(self.focused()?)
    }

    /// The thread in focus, in its innermost activation.
    ///
    /// # Errors
    /// If the launch does not stand still.
    pub fn innermost(&self) -> Result<Scene<'_>, Error> {
        self.innermost_at(self.focused()?)
    }

    /// A thread, in its activation.
    ///
    /// # Errors
    /// If it is not there any more, or its CTA was not [looked at](Self::look).
    pub fn scene_at(&self, focus: Focus) -> Result<Scene<'_>, Error> {
        let frames = self.innermost_at(focus)?.frames();
        let frame = frames.get(focus.frame).map(|frame| frame.scene);
        frame.ok_or_else(|| Error::Command("there is no such frame".to_owned()))
    }

    /// A thread, in its innermost activation.
    ///
    /// # Errors
    /// If it is not there any more, or its CTA was not [looked at](Self::look).
    pub fn innermost_at(&self, Focus { block, warp, lane, .. }: Focus) -> Result<Scene<'_>, Error> {
        let (grid, snapshot) = (&self.stop()?.grid, self.snapshot(block)?);
        Scene::innermost(&self.program, &self.symbols, grid, snapshot, warp, lane)
            .ok_or_else(|| Error::Command(format!("lane {lane} of warp {warp} is not there, or has exited")))
    }

    /// What a CTA has: the one that has stopped, or one that was [looked at](Self::look).
    ///
    /// # Errors
    /// If it is none of these.
    pub fn snapshot(&self, block: [u32; 3]) -> Result<&Snapshot, Error> {
        let own = std::iter::once(&self.stop()?.snapshot);
        let mut known = own.chain(&self.others).filter(|snapshot| snapshot.block == block);
        known.next().ok_or_else(|| Error::Command(format!("{} was not looked at", block_text(block))))
    }

    /// Looks at a CTA, so that its threads can be put into focus until the launch goes on.
    ///
    /// # Errors
    /// If it has no threads: it has ended, has not begun, or is none of the grid.
    pub fn look(&mut self, block: [u32; 3]) -> Result<(), Error> {
        if self.snapshot(block).is_err() {
            let snapshot = self.peek(block)?;
            self.others.push(snapshot);
        }
        Ok(())
    }

    /// What a CTA has.
    ///
    /// # Errors
    /// As of [`Self::look`].
    pub fn peek(&mut self, block: [u32; 3]) -> Result<Snapshot, Error> {
        let Stop { grid, snapshot, .. } = self.stop()?;
        if snapshot.block == block {
            return Ok(snapshot.clone());
        }
        let name = block_text(block);
        let why = if block.iter().zip(grid.extent).any(|(&at, extent)| at >= extent) {
            format!("there is no {name}")
        } else {
            match self.engine.look(block)? {
                Whereabouts::Resident(snapshot) => return Ok(*snapshot),
                Whereabouts::Ended => {
                    format!(
                        "{name} has ended: its registers and memory are gone; they are there before that, in reverse"
                    )
                }
                Whereabouts::NotBegun => {
                    format!("{name} has not begun: it has no registers and no memory yet")
                }
            }
        };
        Err(Error::Command(why))
    }

    /// Puts a thread into focus.
    ///
    /// # Errors
    /// If it is not there.
    pub fn set_focus(&mut self, focus: Focus) -> Result<(), Error> {
        self.look(focus.block)?;
        self.scene_at(focus)?;
        self.focus = Some(focus);
        Ok(())
    }

    /// A step of the thread in focus.
    pub(crate) fn step_of_focus(&self, unit: Unit, calls: Calls) -> Result<Step, Error> {
        let scene = self.innermost()?;
        let frames = scene.frames();
        if calls == Calls::Out && frames.len() < 2 {
            return Err(Error::Command("the kernel itself is the outermost function".to_owned()));
        }
        let depth = std::iter::successors(Some(scene), Scene::caller).count() - 1;
        Ok(Step {
            grid: scene.grid.number,
            block: scene.snapshot.block,
            warp: scene.warp.number,
            lane: scene.lane,
            unit,
            calls,
            from: scene.place,
            depth,
        })
    }

    /// The thread in focus stays if it is among those that have stopped; breakpoints count.
    pub(crate) fn settle(&mut self, stop: &Stop) {
        let lanes = self.breakpoints.hit(&stop.reason).unwrap_or(stop.next.active);
        let (block, warp) = (stop.next.block, stop.next.warp);
        let is_there =
            |focus: &Focus| (focus.block, focus.warp) == (block, warp) && lanes >> focus.lane & 1 != 0;
        let lane =
            self.focus.filter(is_there).map_or(lanes.trailing_zeros().min(31) as usize, |focus| focus.lane);
        self.focus = Some(Focus { block, warp, lane, frame: 0 });
    }
}
