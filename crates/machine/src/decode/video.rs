//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions"): [`ir::lanewise::video`] reads
//! their modifiers and selectors, [`numerics::video`] computes.

use super::decoder::{Decoded, Decoder, decoders};
use crate::operation::kinds;
use ir::lanewise::video::{ReadVideo, Video};

decoders! { d, op:
    VideoAdd | VideoSub | VideoAbsdiff | VideoMin | VideoMax | VideoShl | VideoShr | VideoSet |
    VideoMad | VideoAdd2 | VideoSub2 | VideoAvrg2 | VideoAbsdiff2 | VideoMin2 | VideoMax2 |
    VideoSet2 | VideoAdd4 | VideoSub4 | VideoAvrg4 | VideoAbsdiff4 | VideoMin4 | VideoMax4 |
    VideoSet4 => video(d, op.video());
}

fn video(d: &mut Decoder<'_>, video: Option<Video>) -> Decoded {
    let selectors = "a selector of several parts in a scalar video instruction";
    let Video { instruction, d: to, sources: [a, b, c] } = video.ok_or(selectors)?;
    let to = d.write_plane(to, 32)?;
    let [a, b, c] = [d.read_plane(&a, 32)?, d.read_plane(&b, 32)?, d.read_plane(&c, 32)?];
    d.emit_with(instruction, |site| kinds::Video { d: to, a, b, c, site })
}
