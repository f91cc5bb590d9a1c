//! Everything that ends a straight run of operations: branches, calls, barriers, exits (PTX ISA, "Control Flow" and the
//! barriers of "Parallel Synchronization and Communication").
//!
//! [`Op::c`] of these is the length of the straight run that ends here, for the accounts of [`Exec::tick`].

use super::shape::NEGATE;
use super::{Op, event};
use crate::exec::Exec;
use crate::fault::Trap;
use crate::lanes::{EMPTY, LANES, MAX_WARPS};

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
pub(crate) fn nothing(_: &mut Exec<'_>, _: &Op, pc: u32) -> u32 {
    pc + 1
}

/// `bra target`: to `a`.
pub(crate) fn jump(x: &mut Exec<'_>, op: &Op, _: u32) -> u32 {
    x.tick(op.c);
    go(x, op.a)
}

/// `@p bra target`: to `a` where predicate `b` holds (does not, with [`NEGATE`] in `y`), to the next operation
/// elsewhere. `x` is the reconvergence point.
pub(crate) fn branch(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.tick(op.c);
    let flip = if op.y & NEGATE != 0 { !0 } else { 0 };
    let (mut any, mut rest) = (0, 0);
    let mut taken = EMPTY;
    for warp in 0..x.warps.min(MAX_WARPS) {
        let condition = x.files.p[op.b as usize + warp] ^ flip;
        taken[warp] = x.mask[warp] & condition;
        any |= taken[warp];
        rest |= x.mask[warp] & !condition;
    }
    if rest == 0 {
        return go(x, op.a);
    }
    if any == 0 {
        return pc + 1;
    }
    x.taken = taken;
    event::DIVERGE
}

/// `brx.idx index, table`: plane `a` is the index; the table is the list at `b`, of `d` entries.
pub(crate) fn branch_indexed(x: &mut Exec<'_>, op: &Op, _: u32) -> u32 {
    x.tick(op.c);
    let table = &x.grid.image.lists[op.b as usize..][..op.d as usize];
    let mut targets = vec![[0; LANES]; x.warps];
    let mut first = None;
    let mut uniform = true;
    for (warp, lane) in x.active_lanes() {
        let index = x.files.w[op.a as usize + warp].0[lane];
        let Some(&target) = table.get(index as usize) else {
            let why = format!("index {index} in a table of {} targets", table.len());
            return x.raise(warp, lane, Trap::InvalidBranch(why));
        };
        targets[warp][lane] = u64::from(target);
        uniform &= *first.get_or_insert(target) == target;
    }
    match first {
        Some(target) if uniform => go(x, target),
        _ => {
            x.targets = targets;
            event::SCATTER
        }
    }
}

/// Stands where branches reconverge.
pub(crate) fn join(x: &mut Exec<'_>, _: &Op, pc: u32) -> u32 {
    if x.join_pc == pc { event::JOIN } else { pc + 1 }
}

/// Ends a straight run that falls through, so that the accounts are kept.
pub(crate) fn account(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.tick(op.c);
    pc + 1
}

/// `exit`, and `ret` of an entry.
pub(crate) fn exit(x: &mut Exec<'_>, op: &Op, _: u32) -> u32 {
    x.tick(op.c);
    event::EXIT
}

/// `ret` of a device function.
pub(crate) fn ret(x: &mut Exec<'_>, op: &Op, _: u32) -> u32 {
    x.tick(op.c);
    event::RETURN
}

/// `call`: call site `a` of the image.
pub(crate) fn call(x: &mut Exec<'_>, op: &Op, _: u32) -> u32 {
    x.tick(op.c);
    event::CALL
}

/// `call` through a register: call site `a`; the addresses are scalar `b`, or plane `b` if `y` is 1.
pub(crate) fn call_indirect(x: &mut Exec<'_>, op: &Op, _: u32) -> u32 {
    x.tick(op.c);
    let mut targets = vec![[0; LANES]; x.warps];
    for (warp, lane) in x.active_lanes() {
        targets[warp][lane] = match op.y {
            0 => x.files.s[op.b as usize],
            _ => x.files.d[op.b as usize + warp].0[lane],
        };
    }
    x.targets = targets;
    event::CALL
}

/// A CTA barrier: barrier site `a` of the image.
pub(crate) fn barrier(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.tick(op.c);
    x.communicated = true;
    let grid = x.grid;
    match crate::run::barrier::pass(x, &grid.image.barriers[op.a as usize]) {
        true => go(x, pc + 1),
        false => event::BARRIER,
    }
}

/// `trap`.
pub(crate) fn trap(x: &mut Exec<'_>, op: &Op, _: u32) -> u32 {
    x.tick(op.c);
    x.raise_first(Trap::Trap)
}

/// `brkpt`.
pub(crate) fn breakpoint(x: &mut Exec<'_>, op: &Op, _: u32) -> u32 {
    x.tick(op.c);
    x.raise_first(Trap::Breakpoint)
}

/// Executes the next operation for the active lanes where predicate `b` holds (does not, with [`NEGATE`] in `y`).
pub(crate) fn guarded(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let flip = if op.y & NEGATE != 0 { !0 } else { 0 };
    let outer = x.mask;
    let mut inner = EMPTY;
    for warp in 0..x.warps.min(MAX_WARPS) {
        inner[warp] = outer[warp] & (x.files.p[op.b as usize + warp] ^ flip);
    }
    if inner == EMPTY {
        return pc + 2;
    }
    x.set_mask(inner);
    let next = &x.grid.image.ops[pc as usize + 1];
    // SAFETY: operations of an image were selected for this host (see `super::select`).
    let result = unsafe { (next.execute)(x, next, pc + 1) };
    x.set_mask(outer);
    result
}

/// An operation without effect on values that still orders memory: `membar`, `fence`. The host fence is sequentially
/// consistent, at least as strong as any that PTX names.
pub(crate) fn fence(x: &mut Exec<'_>, _: &Op, pc: u32) -> u32 {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    x.communicated = true;
    pc + 1
}

/// `griddepcontrol.wait`: stays where it is until the grids before this one are complete.
pub(crate) fn wait_for_grids(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    if x.grid.dependents.may_pass() {
        x.tick(op.c);
        return pc + 1;
    }
    // Those grids need the host's processors.
    std::thread::yield_now();
    (x.fuel, x.resume) = (0, pc);
    event::YIELD
}

/// `griddepcontrol.launch_dependents`.
pub(crate) fn launch_dependents(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.tick(op.c);
    x.grid.dependents.let_begin(x.threads.ctaid);
    pc + 1
}

/// Behind an operation that looks at what others change: it saw plane `d`, of `x` bits. The turn of who spins is over.
pub(crate) fn look(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    if let Some((warp, lane)) = x.active_lanes().next() {
        let plane = op.d as usize + warp;
        let seen = match op.x {
            16 => u64::from(x.files.h[plane].0[lane]),
            32 => u64::from(x.files.w[plane].0[lane]),
            _ => x.files.d[plane].0[lane],
        };
        if x.threads.looks.note(pc, seen) {
            x.fuel = -1;
        }
    }
    pc + 1
}

/// Strong loads and the like: others get a turn soon.
pub(crate) fn pause(x: &mut Exec<'_>, _: &Op, pc: u32) -> u32 {
    x.communicated = true;
    pc + 1
}
