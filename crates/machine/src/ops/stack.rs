//! The stack in local memory (PTX ISA, "Stack Manipulation Instructions"): behind the frame of function `x` lies what it
//! has allocated. Pointers and sizes are planes of `y` bits.

use super::Op;
use crate::exec::Exec;
use crate::fault::Trap;
use crate::lanes::simd::Baseline;
use crate::lanes::{LANES, MAX_WARPS};
use crate::run::frame::read_register;
use ptx::module::FuncId;

/// `alloca`: plane `d` = the stack pointer, raised to alignment `imm`; plane `a` is the size.
pub(crate) fn allocate(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let frame = frame_end(x, op.x);
    let limit = u64::from(x.grid.local);
    let mut pointers = [[0; LANES]; MAX_WARPS];
    for (warp, lane) in x.active_lanes() {
        let size = read_register(&x.files, op.a, op.y, warp, lane);
        let used = u64::from(x.stack[warp][lane]);
        let start = (frame + used).next_multiple_of(op.imm);
        if start > limit || size > limit - start {
            return x.raise(warp, lane, Trap::StackOverflow { limit });
        }
        pointers[warp][lane] = start;
        x.stack[warp][lane] = (start + size - frame) as u32;
    }
    for warp in 0..x.warps {
        write_pointers(x, op, warp, pointers[warp]);
    }
    pc + 1
}

/// `stacksave`: plane `d` = the stack pointer.
pub(crate) fn save(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let frame = frame_end(x, op.x);
    for warp in 0..x.warps {
        write_pointers(x, op, warp, x.stack[warp].map(|used| frame + u64::from(used)));
    }
    pc + 1
}

/// `stackrestore`: the stack pointer = plane `a`.
pub(crate) fn restore(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let frame = frame_end(x, op.x);
    for (warp, lane) in x.active_lanes() {
        let used = read_register(&x.files, op.a, op.y, warp, lane).wrapping_sub(frame);
        if used > u64::from(x.stack[warp][lane]) {
            let trap = Trap::StackOverflow { limit: u64::from(x.grid.local) };
            return x.raise(warp, lane, trap);
        }
        x.stack[warp][lane] = used as u32;
    }
    pc + 1
}

/// Where the fixed part of the frame of function `f` ends.
fn frame_end(x: &Exec<'_>, f: u32) -> u64 {
    let code = x.grid.image.code(FuncId(f));
    u64::from(x.local_base) + u64::from(code.frame)
}

fn write_pointers(x: &mut Exec<'_>, op: &Op, warp: usize, values: [u64; LANES]) {
    match op.y {
        32 => x.store_plane::<Baseline, u32>(op.d, warp, values.map(|v| v as u32)),
        _ => x.store_plane::<Baseline, u64>(op.d, warp, values),
    }
}
