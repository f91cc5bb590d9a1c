//! Operations between the lanes of a warp, all of whose live lanes take part.

use ir::instruction::{ShflMode, VoteMode};

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Across {
    /// `bar.warp.sync`: all are here already.
    Sync,
    /// `activemask`.
    Active,
    Shuffle(ShflMode),
    Vote(VoteMode),
}

impl Across {
    /// From lists of three operands to lists of a result and a predicate.
    pub(crate) fn execute(self, active: u32, operands: &[u64], results: &mut [u64]) {
        let (values, predicates) = results.split_at_mut(LANES);
        let is_active = |lane: usize| active >> lane & 1 != 0;
        match self {
            Self::Sync => {}
            Self::Active => values.fill(active.into()),
            Self::Vote(mode) => {
                let holds = (0..LANES).filter(|&l| is_active(l) && operands[l] & 1 != 0);
                let ballot = holds.fold(0, |ballot, lane| ballot | 1u32 << lane);
                let answer = match mode {
                    VoteMode::All => ballot == active,
                    VoteMode::Any => ballot != 0,
                    VoteMode::Uni => ballot == active || ballot == 0,
                    VoteMode::Ballot => false,
                };
                values.fill(ballot.into());
                predicates.fill(answer.into());
            }
            Self::Shuffle(mode) => {
                for lane in 0..LANES as u32 {
                    let [a, b, c] = [0, 1, 2].map(|list| &operands[list * LANES..][..LANES]);
                    let (source, inside) =
                        source(mode, lane, b[lane as usize] as u32, c[lane as usize] as u32);
                    let from = if inside { source & 31 } else { lane } as usize;
                    // A lane that takes no part gives 0, as on an H200; the manual leaves it open.
                    values[lane as usize] = if is_active(from) { a[from] } else { 0 };
                    predicates[lane as usize] = inside.into();
                }
            }
        }
    }
}

/// The lane that a shuffle reads from, and whether it is inside its segment (PTX ISA, "shfl").
fn source(mode: ShflMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (by, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let most = (lane & segment) | (clamp & !segment);
    match mode {
        ShflMode::Up => {
            let from = lane.wrapping_sub(by);
            (from, from as i32 >= most as i32)
        }
        ShflMode::Down => (lane + by, lane + by <= most),
        ShflMode::Bfly => (lane ^ by, lane ^ by <= most),
        ShflMode::Idx => {
            let from = (lane & segment) | (by & !segment);
            (from, from <= most)
        }
    }
}
