//! The stack in local memory (PTX ISA, "Stack Manipulation Instructions"): behind the frame of a function lies what it
//! has allocated.

use crate::exec::Exec;
use crate::fault::Trap;
use crate::lanes::simd::Baseline;
use crate::lanes::{LANES, MAX_WARPS, PlaneId};
use crate::operation::kinds::{Allocate, RestoreStack, SaveStack};
use ptx::module::FuncId;

/// `alloca`.
pub(crate) fn allocate(x: &mut Exec<'_>, op: &Allocate, pc: u32) -> u32 {
    let frame = frame_end(x, op.function);
    let limit = u64::from(x.grid.local);
    let mut pointers = [[0; LANES]; MAX_WARPS];
    for (warp, lane) in x.active_lanes() {
        let size = x.files.read(op.size, warp, lane);
        let used = u64::from(x.stack[warp][lane]);
        let start = (frame + used).next_multiple_of(op.align.0);
        if start > limit || size > limit - start {
            return x.raise(warp, lane, Trap::StackOverflow { limit });
        }
        pointers[warp][lane] = start;
        x.stack[warp][lane] = (start + size - frame) as u32;
    }
    for warp in 0..x.warps {
        write_pointers(x, op.d, warp, pointers[warp]);
    }
    pc + 1
}

/// `stacksave`.
pub(crate) fn save(x: &mut Exec<'_>, op: &SaveStack, pc: u32) -> u32 {
    let frame = frame_end(x, op.function);
    for warp in 0..x.warps {
        write_pointers(x, op.d, warp, x.stack[warp].map(|used| frame + u64::from(used)));
    }
    pc + 1
}

/// `stackrestore`.
pub(crate) fn restore(x: &mut Exec<'_>, op: &RestoreStack, pc: u32) -> u32 {
    let frame = frame_end(x, op.function);
    for (warp, lane) in x.active_lanes() {
        let used = x.files.read(op.a, warp, lane).wrapping_sub(frame);
        if used > u64::from(x.stack[warp][lane]) {
            let trap = Trap::StackOverflow { limit: u64::from(x.grid.local) };
            return x.raise(warp, lane, trap);
        }
        x.stack[warp][lane] = used as u32;
    }
    pc + 1
}

/// Where the fixed part of a function's frame ends.
fn frame_end(x: &Exec<'_>, function: FuncId) -> u64 {
    let code = x.grid.image.code(function);
    u64::from(x.local_base) + u64::from(code.frame)
}

fn write_pointers(x: &mut Exec<'_>, d: PlaneId, warp: usize, values: [u64; LANES]) {
    match d.bits() {
        32 => x.store_plane::<Baseline, u32>(d, warp, values.map(|v| v as u32)),
        _ => x.store_plane::<Baseline, u64>(d, warp, values),
    }
}
