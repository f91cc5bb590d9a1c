//! Video instructions.

use crate::exec::Exec;
use crate::lanes::simd::Baseline;
use crate::lanes::{LANES, PlaneId};
use crate::operation::kinds::Video;

/// [`Video`].
pub(crate) fn compute(x: &mut Exec<'_>, op: &Video, pc: u32) -> u32 {
    let instruction = *x.grid.image.site(op.site);
    for warp in 0..x.warps {
        let plane = |plane: PlaneId| &x.files.w[plane.index() + warp].0;
        let (a, b, c) = (plane(op.a), plane(op.b), plane(op.c));
        let mut result = [0; LANES];
        for l in 0..LANES {
            result[l] = instruction.compute(a[l], b[l], c[l]);
        }
        x.store_plane::<Baseline, u32>(op.d, warp, result);
    }
    pc + 1
}
