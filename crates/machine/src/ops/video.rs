//! Video instructions.

use super::Op;
use crate::exec::Exec;
use crate::lanes::LANES;
use crate::lanes::simd::Baseline;

/// `d = video instruction imm of (a, b, c)`.
pub(crate) fn compute(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let instruction = x.grid.image.videos[op.imm as usize];
    for warp in 0..x.warps {
        let plane = |index: u32| &x.files.w[index as usize + warp].0;
        let (a, b, c) = (plane(op.a), plane(op.b), plane(op.c));
        let mut result = [0; LANES];
        for l in 0..LANES {
            result[l] = instruction.compute(a[l], b[l], c[l]);
        }
        x.store_plane::<Baseline, u32>(op.d, warp, result);
    }
    pc + 1
}
