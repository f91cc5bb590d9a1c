//! A single instruction of the kernel for lanes of one warp, its operands given and its results taken: what compiled code
//! leaves to the interpreter.
//!
//! It is executed by the operations that the image has for it, in the kernel's own frame of the pack. Registers are put into
//! their planes before and read from them behind; what has no name in the program, such as the carry bit or the stack, stays
//! in the frame from one instruction to the next. A call runs until its lanes are back.

use super::frame::Frame;
use super::pack::{Group, Pack, Step, Wait, interpret_until};
use super::watch::Unwatched;
use crate::common::Common;
use crate::exec::{Awaited, Exec, Grid, LaneTrap, event};
use crate::fault::Trap;
use crate::image::places::Home;
use crate::lanes::{EMPTY, Files, LANES, Lane, Mask, PlaneId};
use std::ops::Range;

/// Operations of a callee between two questions whether the launch goes on.
const SLICE: i64 = 1 << 16;

/// Why it was not executed to its end.
pub(crate) enum Failure {
    /// A trap, and the operation that raised it.
    Trap(LaneTrap, u32),
    /// The launch stops.
    Stopped,
}

/// Lanes of one warp of a pack, the first of so many that lists hold values of.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    pub(crate) warp: usize,
    pub(crate) first: usize,
    pub(crate) width: usize,
    /// Which of them execute it, by their place in the warp.
    pub(crate) mask: u32,
}

impl Pack {
    /// The kernel's frame; the threads have none but that.
    pub(crate) fn kernel_frame(&mut self) -> usize {
        self.groups.pop().map_or(0, |group| group.frame)
    }

    /// Puts values into the places that registers have at an instruction, one list after the other.
    pub(crate) fn put(&mut self, frame: usize, homes: &[Home], lanes: Lanes, lists: &[u64]) {
        let files = &mut self.frames[frame].files;
        let mut lists = lists.chunks(lanes.width);
        let mut next = || lists.next().unwrap_or_default();
        for &home in homes {
            match home {
                Home::Plane(plane) => put_plane(files, plane, lanes, next()),
                Home::Pair(pair) => pair.iter().for_each(|&plane| put_plane(files, plane, lanes, next())),
                Home::Scalar(scalar) => {
                    let active = (lanes.mask >> lanes.first).trailing_zeros() as usize;
                    files.s[scalar.index()] = next().get(active).copied().unwrap_or_default();
                }
                Home::Predicate(predicate) => {
                    let holds = next().iter().rev().fold(0, |bits, &value| bits << 1 | (value & 1) as u32);
                    let all = row(lanes);
                    files.write_predicate(predicate, lanes.warp, all, holds << lanes.first);
                }
                Home::Unused => {
                    next();
                }
            }
        }
    }

    /// Takes them out.
    pub(crate) fn take(&self, frame: usize, homes: &[Home], lanes: Lanes, lists: &mut [u64]) {
        let files = &self.frames[frame].files;
        let mut lists = lists.chunks_mut(lanes.width);
        let mut next = || lists.next().unwrap_or_default();
        for &home in homes {
            match home {
                Home::Plane(plane) => take_plane(files, plane, lanes, next()),
                Home::Pair(pair) => pair.iter().for_each(|&plane| take_plane(files, plane, lanes, next())),
                Home::Scalar(scalar) => next().fill(files.s[scalar.index()]),
                Home::Predicate(predicate) => {
                    let holds = files.p[predicate.index() + lanes.warp] >> lanes.first;
                    next().iter_mut().enumerate().for_each(|(l, value)| *value = u64::from(holds >> l & 1));
                }
                Home::Unused => {
                    next();
                }
            }
        }
    }

    /// Executes the operations of an instruction.
    pub(crate) fn execute(
        &mut self,
        grid: &Grid<'_>,
        common: &mut Common,
        frame: usize,
        lanes: Lanes,
        operations: Range<u32>,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), Failure> {
        let mut mask = EMPTY;
        mask[lanes.warp] = lanes.mask;
        let (mut pc, mut expired) = (operations.start, false);
        while operations.contains(&pc) {
            let (event, raised, awaited) =
                self.straight(grid, common, frame, mask, &mut pc, operations.end, expired);
            expired = false;
            match event {
                // What ends the function stands behind its last instruction.
                None | Some(event::EXIT | event::RETURN) => break,
                Some(event::CALL) => {
                    self.call_and_return(grid, common, frame, mask, pc, goes_on)?;
                    pc += 1;
                }
                // Time comes by itself; what else is waited for comes from outside of the CTA.
                Some(event::WAIT) if goes_on() => {
                    expired = matches!(awaited, Some(Awaited::Time { .. }));
                    std::thread::yield_now();
                }
                Some(event::WAIT) => return Err(Failure::Stopped),
                Some(event::FAULT) => {
                    let trap = raised.unwrap_or(LaneTrap { trap: Trap::Trap, lane: None });
                    return Err(Failure::Trap(trap, pc));
                }
                Some(_) => return Err(apart(pc)),
            }
        }
        Ok(())
    }

    /// A straight run of operations up to an event, if there is one before the end.
    #[expect(clippy::too_many_arguments, reason = "the parts of a group and of its turn")]
    fn straight(
        &mut self,
        grid: &Grid<'_>,
        common: &mut Common,
        frame: usize,
        mask: Mask,
        pc: &mut u32,
        end: u32,
        expired: bool,
    ) -> (Option<u32>, Option<LaneTrap>, Option<Awaited>) {
        let Frame { files, stack, local_base, .. } = &mut self.frames[frame];
        let mut x = Exec::new(std::mem::take(files), grid, &mut self.threads, common);
        (x.local_base, x.stack) = (*local_base, std::mem::take(stack));
        (x.issued, x.fuel, x.expired) = (self.issued, i64::MAX / 2, expired);
        x.set_mask(mask);
        let ended = interpret_until(&mut x, &grid.image.ops, pc, end);
        self.issued = x.issued;
        let (raised, awaited) = (x.trap.take(), x.awaited);
        let frame = &mut self.frames[frame];
        (frame.files, frame.stack) = (x.files, x.stack);
        (ended, raised, awaited)
    }

    /// Calls what the operation at a place calls, and runs it until all lanes are back.
    fn call_and_return(
        &mut self,
        grid: &Grid<'_>,
        common: &mut Common,
        frame: usize,
        mask: Mask,
        pc: u32,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), Failure> {
        let group = Group { pc, frame, mask, join: None, wait: Wait::Ready };
        self.call(group, grid, common).map_err(|trap| Failure::Trap(trap, pc))?;
        // Lanes that are back stand behind the call, in the kernel's frame.
        while let Some(away) = self.groups.iter().position(|g| g.frame != frame && g.wait == Wait::Ready) {
            let group = self.groups.remove(away);
            let mut fuel = SLICE;
            if let Step::Fault(trap, pc) = self.step(group, grid, common, &mut Unwatched, &mut fuel) {
                return Err(Failure::Trap(trap, pc));
            }
            if !goes_on() {
                return Err(Failure::Stopped);
            }
        }
        let is_away = self.groups.iter().any(|g| g.frame != frame);
        self.groups.clear();
        if is_away { Err(apart(pc)) } else { Ok(()) }
    }
}

/// The failure of lanes that do not come back together, which compiled code leaves to nobody.
fn apart(pc: u32) -> Failure {
    let trap = Trap::IllegalInstruction("lanes part in a single instruction".to_owned());
    Failure::Trap(LaneTrap { trap, lane: None }, pc)
}

/// All lanes that lists hold values of.
fn row(lanes: Lanes) -> u32 {
    (((1_u64 << lanes.width) - 1) as u32) << lanes.first
}

fn put_plane(files: &mut Files, plane: PlaneId, lanes: Lanes, list: &[u64]) {
    fn put<T: Lane>(files: &mut Files, at: usize, first: usize, list: &[u64]) {
        let plane = &mut T::planes_mut(files)[at].0;
        plane[first % LANES..].iter_mut().zip(list).for_each(|(lane, &value)| *lane = T::from_scalar(value));
    }
    let at = plane.index() + lanes.warp;
    match plane.bits() {
        16 => put::<u16>(files, at, lanes.first, list),
        32 => put::<u32>(files, at, lanes.first, list),
        _ => put::<u64>(files, at, lanes.first, list),
    }
}

fn take_plane(files: &Files, plane: PlaneId, lanes: Lanes, list: &mut [u64]) {
    fn take<T: Lane>(files: &Files, at: usize, first: usize, list: &mut [u64]) {
        let plane = &T::planes(files)[at].0;
        list.iter_mut().zip(&plane[first % LANES..]).for_each(|(value, &lane)| *value = lane.to_scalar());
    }
    let at = plane.index() + lanes.warp;
    match plane.bits() {
        16 => take::<u16>(files, at, lanes.first, list),
        32 => take::<u32>(files, at, lanes.first, list),
        _ => take::<u64>(files, at, lanes.first, list),
    }
}
