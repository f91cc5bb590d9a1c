//! Everything that ends a straight run of operations: branches, calls, barriers, exits (PTX ISA, "Control Flow" and the
//! barriers of "Parallel Synchronization and Communication").
//!
//! Each says how long the straight run is that ends here, for the accounts of [`Exec::tick`].

use crate::exec::{Exec, event};
use crate::fault;
use crate::image::Op;
use crate::lanes::{EMPTY, MAX_WARPS, Mask};
use crate::observe::Happening;
use crate::operation::Target;
use crate::operation::kinds::{
    Account, Barrier, Branch, BranchIndexed, Breakpoint, Call, CallIndirect, Exit, Fence, Guard, Join, Jump,
    LaunchDependents, Look, Nothing, Pause, Return, Trap, WaitForGrids,
};

/// Goes on at `target`, unless the time slice is used up.
#[inline(always)]
fn go(x: &mut Exec<'_>, target: u32) -> u32 {
    if x.fuel < 0 {
        x.resume = target;
        return event::YIELD;
    }
    target
}

/// What has no effect here: a hint, or a wait for what is done when it is issued.
pub(crate) fn nothing(_: &mut Exec<'_>, _: &Nothing, pc: u32) -> u32 {
    pc + 1
}

/// `bra target`.
pub(crate) fn jump(x: &mut Exec<'_>, op: &Jump, _: u32) -> u32 {
    x.tick(op.run.0);
    go(x, op.target.0)
}

/// `@p bra target`: to the target where the condition is met, to the next operation elsewhere.
pub(crate) fn branch(x: &mut Exec<'_>, op: &Branch, pc: u32) -> u32 {
    x.tick(op.run.0);
    let flip = op.condition.flip();
    let (mut any, mut rest) = (0, 0);
    let mut taken = EMPTY;
    for warp in 0..x.warps.min(MAX_WARPS) {
        let condition = x.files.p[op.condition.index() + warp] ^ flip;
        taken[warp] = x.mask[warp] & condition;
        any |= taken[warp];
        rest |= x.mask[warp] & !condition;
    }
    if rest == 0 {
        return go(x, op.target.0);
    }
    if any == 0 {
        return pc + 1;
    }
    if op.around && x.grid.observer.is_none() {
        return around(x, op, pc, &taken);
    }
    x.taken = taken;
    event::DIVERGE
}

/// The lanes that a branch has not `taken` execute what is between it and its target; the others wait there.
fn around(x: &mut Exec<'_>, op: &Branch, pc: u32, taken: &Mask) -> u32 {
    let outer = x.mask;
    let mut inner = outer;
    for (lanes, taken) in inner.iter_mut().zip(taken) {
        *lanes &= !taken;
    }
    x.set_mask(inner);
    let mut at = pc + 1;
    let event = run_until(x, &x.grid.image.ops, &mut at, op.target.0);
    x.set_mask(outer);
    match event {
        None => go(x, op.target.0),
        Some(event) => {
            x.trap_at.get_or_insert(at);
            event
        }
    }
}

/// `brx.idx index, targets`.
pub(crate) fn branch_indexed(x: &mut Exec<'_>, op: &BranchIndexed, _: u32) -> u32 {
    x.tick(op.run.0);
    let targets = x.grid.image.targets(op.targets);
    let mut first = None;
    let mut uniform = true;
    for (warp, lane) in x.active_lanes() {
        let index = x.files.w[op.index.index() + warp].0[lane];
        let Some(&Target(target)) = targets.get(index as usize) else {
            let why = format!("index {index} in a table of {} targets", targets.len());
            return x.raise(warp, lane, fault::Trap::InvalidBranch(why));
        };
        x.threads.targets[warp][lane] = u64::from(target);
        uniform &= *first.get_or_insert(target) == target;
    }
    match first {
        Some(target) if uniform => go(x, target),
        _ => event::SCATTER,
    }
}

/// Stands where branches reconverge.
pub(crate) fn join(x: &mut Exec<'_>, _: &Join, pc: u32) -> u32 {
    if x.join_pc == pc { event::JOIN } else { pc + 1 }
}

/// Ends a straight run that falls through, so that the accounts are kept.
pub(crate) fn account(x: &mut Exec<'_>, op: &Account, pc: u32) -> u32 {
    x.tick(op.run.0);
    pc + 1
}

/// `exit`, and `ret` of an entry.
pub(crate) fn exit(x: &mut Exec<'_>, op: &Exit, _: u32) -> u32 {
    x.tick(op.run.0);
    event::EXIT
}

/// `ret` of a device function.
pub(crate) fn ret(x: &mut Exec<'_>, op: &Return, _: u32) -> u32 {
    x.tick(op.run.0);
    event::RETURN
}

/// `call`.
pub(crate) fn call(x: &mut Exec<'_>, op: &Call, _: u32) -> u32 {
    x.tick(op.run.0);
    event::CALL
}

/// `call` through an address.
pub(crate) fn call_indirect(x: &mut Exec<'_>, op: &CallIndirect, _: u32) -> u32 {
    x.tick(op.run.0);
    for (warp, lane) in x.active_lanes() {
        x.threads.targets[warp][lane] = x.files.read(op.address, warp, lane);
    }
    event::CALL
}

/// A CTA barrier.
pub(crate) fn barrier(x: &mut Exec<'_>, op: &Barrier, pc: u32) -> u32 {
    x.tick(op.run.0);
    x.communicated = true;
    let grid = x.grid;
    match super::barrier::pass(x, grid.image.site(op.site), pc) {
        true => go(x, pc + 1),
        false => event::BARRIER,
    }
}

/// `trap`.
pub(crate) fn trap(x: &mut Exec<'_>, op: &Trap, _: u32) -> u32 {
    x.tick(op.run.0);
    x.raise_first(fault::Trap::Trap)
}

/// `brkpt`.
pub(crate) fn breakpoint(x: &mut Exec<'_>, op: &Breakpoint, _: u32) -> u32 {
    x.tick(op.run.0);
    x.raise_first(fault::Trap::Breakpoint)
}

/// Executes the next operation for the active lanes where a condition is met.
pub(crate) fn guard(x: &mut Exec<'_>, op: &Guard, pc: u32) -> u32 {
    let flip = op.condition.flip();
    let outer = x.mask;
    let mut inner = EMPTY;
    for warp in 0..x.warps.min(MAX_WARPS) {
        inner[warp] = outer[warp] & (x.files.p[op.condition.index() + warp] ^ flip);
    }
    if inner == EMPTY {
        return pc + 2;
    }
    x.set_mask(inner);
    let next = &x.grid.image.ops[pc as usize + 1];
    // SAFETY: operations of an image were selected for this host (see `super::select`).
    let result = unsafe { (next.execute)(x, next.operation(), pc + 1) };
    x.set_mask(outer);
    result
}

/// An operation without effect on values that still orders memory: `membar`, `fence`. The host fence is sequentially
/// consistent, at least as strong as any that PTX names.
pub(crate) fn fence(x: &mut Exec<'_>, _: &Fence, pc: u32) -> u32 {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    x.communicated = true;
    pc + 1
}

/// `griddepcontrol.wait`: stays where it is until the grids before this one are complete.
pub(crate) fn wait_for_grids(x: &mut Exec<'_>, op: &WaitForGrids, pc: u32) -> u32 {
    x.communicated = true;
    if x.grid.dependents.may_pass() {
        for warp in (0..x.warps).filter(|&warp| x.mask[warp] != 0) {
            x.tell(|x| Happening::GridsComplete(x.lanes_at(pc, warp, x.mask[warp])));
        }
        x.tick(op.run.0);
        return pc + 1;
    }
    // Those grids need the host's processors.
    std::thread::yield_now();
    (x.fuel, x.resume) = (0, pc);
    event::YIELD
}

/// `griddepcontrol.launch_dependents`.
pub(crate) fn launch_dependents(x: &mut Exec<'_>, op: &LaunchDependents, pc: u32) -> u32 {
    x.tick(op.run.0);
    x.grid.dependents.let_begin(x.threads.ctaid);
    pc + 1
}

/// Behind an operation that looks at what others change. The turn of who spins is over.
pub(crate) fn look(x: &mut Exec<'_>, op: &Look, pc: u32) -> u32 {
    if let Some((warp, lane)) = x.active_lanes().next() {
        let seen = x.files.read(op.a, warp, lane);
        if x.threads.spinning.note(pc, seen) {
            x.fuel = -1;
        }
    }
    pc + 1
}

/// Strong loads and the like: others get a turn soon.
pub(crate) fn pause(x: &mut Exec<'_>, _: &Pause, pc: u32) -> u32 {
    x.communicated = true;
    pc + 1
}

/// Runs operations from `pc` until one returns an event, and leaves `pc` at that operation, or until the operation before
/// `end` is done.
pub(crate) fn run_until(x: &mut Exec<'_>, ops: &[Op], pc: &mut u32, end: u32) -> Option<u32> {
    while *pc < end {
        let op = &ops[*pc as usize];
        x.at = *pc;
        // SAFETY: operations of an image were selected for this host (see `super::select`).
        let next = unsafe { (op.execute)(x, op.operation(), *pc) };
        if next >= event::FIRST {
            return Some(next);
        }
        *pc = next;
    }
    None
}
