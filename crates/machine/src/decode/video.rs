//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions"): [`ir::lanewise::video`] reads
//! their modifiers and selectors, [`numerics::video`] computes.

use super::decoder::{Decoded, Decoder};
use crate::operation::kinds;
use ir::instruction::Op;
use ir::lanewise::video::Video;

pub(super) fn video(d: &mut Decoder<'_>, op: &Op) -> Decoded {
    let Video { instruction, d: to, sources: [a, b, c] } =
        Video::new(op).ok_or("a selector of several parts in a scalar video instruction")?;
    let to = d.write_plane(to, 32)?;
    let [a, b, c] = [d.read_plane(&a, 32)?, d.read_plane(&b, 32)?, d.read_plane(&c, 32)?];
    let site = d.site(instruction);
    d.emit(kinds::Video { d: to, a, b, c, site })
}
