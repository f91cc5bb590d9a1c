//! A single instruction of the kernel for lanes of one warp, its operands given and its results taken: what compiled code
//! leaves to the interpreter.
//!
//! It is executed by the operations that the image has for it, in the kernel's own frame of the pack. Registers are put into
//! their planes before and read from them behind; what has no name in the program, such as the carry bit or the stack, stays
//! in the frame from one instruction to the next. A call runs until its lanes are back.

use super::frame::Frame;
use super::pack::{Group, Pack, Step, Wait};
use super::watch::{Nobody, Others, Unwatched};
use crate::common::Common;
use crate::compiled::list_bytes;
use crate::exec::{Awaited, Exec, Grid, LaneTrap, event};
use crate::fault::Trap;
use crate::image::places::Home;
use crate::lanes::{EMPTY, Files, LANES, Lane, Mask, PlaneId};
use crate::ops::control::run_until;
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

    /// Puts lists of values into the places that registers have at an instruction.
    pub(crate) fn put(&mut self, frame: usize, homes: &[(Home, u32)], lanes: Lanes, lists: &[u8]) {
        let files = &mut self.frames[frame].files;
        let mut at = 0;
        for &(home, bits) in homes {
            let list = &lists[at..at + list_bytes(bits, lanes.width)];
            at += list.len();
            match home {
                Home::Plane(plane) => put_plane(files, plane, lanes, Stripe { bytes: list, bits, from: 0 }),
                Home::Pair(pair) => pair.iter().zip([0, 8]).for_each(|(&plane, from)| {
                    put_plane(files, plane, lanes, Stripe { bytes: list, bits, from });
                }),
                Home::Scalar(scalar) => {
                    let active = (lanes.mask >> lanes.first).trailing_zeros() as usize;
                    files.s[scalar.index()] = match bits {
                        1 => u64::from(holds(list) >> active & 1),
                        bits => {
                            let bytes = bits as usize / 8;
                            let value = list.get(active * bytes..(active + 1) * bytes).unwrap_or_default();
                            value.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
                        }
                    };
                }
                Home::Predicate(predicate) => {
                    let all = row(lanes);
                    files.write_predicate(predicate, lanes.warp, all, holds(list) << lanes.first);
                }
                Home::Unused => {}
            }
        }
    }

    /// Takes them out.
    pub(crate) fn take(&self, frame: usize, homes: &[(Home, u32)], lanes: Lanes, lists: &mut [u8]) {
        let files = &self.frames[frame].files;
        let mut at = 0;
        for &(home, bits) in homes {
            let end = at + list_bytes(bits, lanes.width);
            let list = &mut lists[at..end];
            at = end;
            match home {
                Home::Plane(plane) => take_plane(files, plane, lanes, Stripe { bytes: list, bits, from: 0 }),
                Home::Pair(pair) => pair.iter().zip([0, 8]).for_each(|(&plane, from)| {
                    take_plane(files, plane, lanes, Stripe { bytes: &mut *list, bits, from });
                }),
                Home::Scalar(scalar) => {
                    let value = files.s[scalar.index()].to_le_bytes();
                    match bits {
                        1 => list[..4].fill(if value[0] & 1 == 0 { 0 } else { 0xff }),
                        bits => {
                            let bytes = bits as usize / 8;
                            let lanes = list.chunks_exact_mut(bytes).take(lanes.width);
                            lanes.for_each(|lane| lane.copy_from_slice(&value[..bytes]));
                        }
                    }
                }
                Home::Predicate(predicate) => {
                    let holds = files.p[predicate.index() + lanes.warp] >> lanes.first;
                    list[..4].copy_from_slice(&holds.to_le_bytes());
                }
                Home::Unused => {}
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
                // Whoever it waits for has had the processor.
                Some(event::YIELD) if goes_on() => {}
                Some(event::WAIT | event::YIELD) => return Err(Failure::Stopped),
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
        let ended = run_until(&mut x, &grid.image.ops, pc, end);
        if ended == Some(event::YIELD) {
            *pc = x.resume;
        }
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
            if let Step::Fault(trap, pc) = self.step(
                group,
                grid,
                common,
                &mut Unwatched,
                &mut Others { packs: Default::default(), elsewhere: &mut Nobody },
                &mut fuel,
            ) {
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

/// The predicates in a list.
fn holds(list: &[u8]) -> u32 {
    list.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The values in a list, or their halves from some byte on.
struct Stripe<B> {
    bytes: B,
    bits: u32,
    from: usize,
}

fn put_plane(files: &mut Files, plane: PlaneId, lanes: Lanes, list: Stripe<&[u8]>) {
    fn put<T: Lane, const BYTES: usize>(lanes: &mut [T], list: &[u8]) {
        for (lane, bytes) in lanes.iter_mut().zip(list.as_chunks::<BYTES>().0) {
            let mut word = [0; 8];
            word[..BYTES.min(8)].copy_from_slice(&bytes[..BYTES.min(8)]);
            *lane = T::from_scalar(u64::from_le_bytes(word));
        }
    }
    fn of<T: Lane>(files: &mut Files, at: usize, lanes: Lanes, list: Stripe<&[u8]>) {
        let first = lanes.first % LANES;
        let plane = &mut T::planes_mut(files)[at].0[first..first + lanes.width];
        match list.bits {
            8 => put::<T, 1>(plane, list.bytes),
            16 => put::<T, 2>(plane, list.bytes),
            32 => put::<T, 4>(plane, list.bytes),
            64 => put::<T, 8>(plane, list.bytes),
            _ => put::<T, 16>(plane, &list.bytes[list.from..]),
        }
    }
    let at = plane.index() + lanes.warp;
    match plane.bits() {
        16 => of::<u16>(files, at, lanes, list),
        32 => of::<u32>(files, at, lanes, list),
        _ => of::<u64>(files, at, lanes, list),
    }
}

fn take_plane(files: &Files, plane: PlaneId, lanes: Lanes, list: Stripe<&mut [u8]>) {
    fn take<T: Lane, const BYTES: usize>(lanes: &[T], list: &mut [u8]) {
        for (lane, bytes) in lanes.iter().zip(list.as_chunks_mut::<BYTES>().0) {
            bytes[..BYTES.min(8)].copy_from_slice(&lane.to_scalar().to_le_bytes()[..BYTES.min(8)]);
        }
    }
    fn of<T: Lane>(files: &Files, at: usize, lanes: Lanes, list: Stripe<&mut [u8]>) {
        let first = lanes.first % LANES;
        let plane = &T::planes(files)[at].0[first..first + lanes.width];
        match list.bits {
            8 => take::<T, 1>(plane, list.bytes),
            16 => take::<T, 2>(plane, list.bytes),
            32 => take::<T, 4>(plane, list.bytes),
            64 => take::<T, 8>(plane, list.bytes),
            _ => take::<T, 16>(plane, &mut list.bytes[list.from..]),
        }
    }
    let at = plane.index() + lanes.warp;
    match plane.bits() {
        16 => of::<u16>(files, at, lanes, list),
        32 => of::<u32>(files, at, lanes, list),
        _ => of::<u64>(files, at, lanes, list),
    }
}
