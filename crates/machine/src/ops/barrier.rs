//! What CTA barriers do to registers, and how a CTA that is one pack passes them.

use crate::exec::Exec;
use crate::image::control::{BarrierKind, BarrierSite, Reduction};
use crate::lanes::{Files, LANES, Mask, Source};

/// Barriers of a CTA.
pub(crate) const BARRIERS: usize = 16;

impl Reduction {
    /// What threads get of whom so many voted, and the predicate of so many held.
    pub(crate) fn result(self, held: u32, voted: u32) -> u32 {
        match self {
            Self::Popc(_) => held,
            Self::And(_) => u32::from(held == voted),
            Self::Or(_) => u32::from(held != 0),
        }
    }
}

/// Lets the active lanes of a pack pass a barrier, if they are all that its CTA has
/// ([`Grid::packs_pass_barriers`](crate::exec::Grid)). `false` if the CTA must count them.
#[inline]
pub(crate) fn pass(x: &mut Exec<'_>, site: &BarrierSite, pc: u32) -> bool {
    if !x.grid.packs_pass_barriers || x.mask != x.threads.live {
        return false;
    }
    let Source::Scalar(number) = site.barrier.source() else { return false };
    let number = x.files.s[number.index()] as u32 as usize;
    if number >= BARRIERS {
        return false;
    }
    x.tell_passed(pc, number);
    if let BarrierKind::Reduce { op, .. } = site.kind {
        let (held, voted) = votes(&x.files, site.kind, &x.mask);
        store_reduction(&mut x.files, &x.mask, site.kind, op.result(held, voted));
    }
    true
}

/// How many lanes' predicates hold, and how many lanes vote.
pub(crate) fn votes(files: &Files, kind: BarrierKind, lanes: &Mask) -> (u32, u32) {
    let BarrierKind::Reduce { predicate, .. } = kind else { return (0, 0) };
    let active = lanes.iter().enumerate().filter(|(_, mask)| **mask != 0);
    active.fold((0, 0), |(held, voted), (warp, &mask)| {
        let holds = files.p[predicate.index() + warp] ^ predicate.flip();
        (held + (holds & mask).count_ones(), voted + mask.count_ones())
    })
}

/// Lanes get the result of their `bar.red`.
pub(crate) fn store_reduction(files: &mut Files, lanes: &Mask, kind: BarrierKind, result: u32) {
    let BarrierKind::Reduce { op, .. } = kind else { return };
    for (warp, &mask) in lanes.iter().enumerate().filter(|(_, mask)| **mask != 0) {
        match op {
            Reduction::Popc(d) => {
                for lane in (0..LANES).filter(|l| mask >> l & 1 != 0) {
                    files.w[d.index() + warp].0[lane] = result;
                }
            }
            Reduction::And(d) | Reduction::Or(d) => {
                files.write_predicate(d, warp, mask, if result != 0 { !0 } else { 0 });
            }
        }
    }
}
