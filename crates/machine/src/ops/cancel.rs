//! Clusters that are not launched, since running ones do their work (PTX ISA, "clusterlaunchcontrol").
//!
//! The answer of 128 bits is opaque to programs. Here its words are `%ctaid` of the cluster's first CTA, and 1 if there is one.

use super::address::lane_address;
use super::bulk::{aligned, complete, copy_in_turn, in_ranks};
use crate::exec::Exec;
use crate::fault::Trap;
use crate::image::copy::{Cancellation, End};
use crate::operation::kinds::CancelCluster;

/// Bytes of an answer.
const ANSWER: u64 = 16;

/// `clusterlaunchcontrol.try_cancel`.
pub(crate) fn try_cancel(x: &mut Exec<'_>, op: &CancelCluster, pc: u32) -> u32 {
    let cancellation = *x.grid.image.site(op.site);
    copy_in_turn(x, pc, |x, warp, lane| cancellation.execute(x, warp, lane))
}

impl Cancellation {
    fn execute(&self, x: &mut Exec<'_>, warp: usize, lane: usize) -> Result<(), Trap> {
        let answer = lane_address(x, self.answer, warp, lane);
        aligned("destination", answer, ANSWER)?;
        let barrier = lane_address(x, self.barrier, warp, lane);
        aligned("mbarrier", barrier, 8)?;
        let words = match x.grid.unclaimed.cancel() {
            Some(cluster) => {
                let [a, b, c] = x.grid.first_cta(cluster);
                [a, b, c, 1]
            }
            None => [0; 4],
        };
        let bytes = words.map(u32::to_le_bytes);
        let ctas: u32 = x.grid.cluster.iter().product();
        let all = self.to_all.then_some(u16::MAX >> (u16::BITS - ctas.clamp(1, u16::BITS)));
        match all {
            None => End::Shared.write(x, answer, bytes.as_flattened())?,
            Some(all) => {
                in_ranks(all, answer).try_for_each(|at| End::Shared.write(x, at, bytes.as_flattened()))?;
            }
        }
        complete(x, (warp, lane), barrier, (all, false), ANSWER)
    }
}
