//! Looks: strong loads by one lane, most of them of threads that wait for something to change. Who looks where they have looked before, when
//! nothing but looks has been told since, sees what they have seen and learns nothing: nobody is told of it.

use crate::runs::{address_of, lane_alone};
use machine::memory::SpaceKind;
use machine::observe::{Issue, PackAccess};
use ptx::module::FuncId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Of each function of a module which instructions are strong loads; empty if none is.
pub(crate) type Looking = Arc<Vec<Vec<bool>>>;

/// Looks that are known, at most: in two places each, by a number that is made of them.
const KNOWN: usize = 1024;

/// A look of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    place: (u32, u32),
    block: [u32; 3],
    warp: u32,
    lane: u32,
    at: (Option<SpaceKind>, u64),
}

impl Look {
    /// What an instruction is that looks, if one lane executes it.
    fn of(issue: &Issue<'_>) -> Option<Self> {
        let PackAccess { space, addresses, .. } = issue.access.as_ref()?;
        let (warp, lane) = lane_alone(issue.masks)?;
        Some(Self {
            place: (issue.function.0, issue.instruction),
            block: issue.block,
            warp: issue.first_warp + warp as u32,
            lane: lane as u32,
            at: (Some(*space), address_of(addresses, warp, lane)),
        })
    }

    pub(crate) fn address(&self) -> u64 {
        self.at.1
    }

    fn number(&self) -> usize {
        let Self { place, block: [x, y, z], warp, lane, at } = *self;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let parts = [pair(place.1, x), pair(z, y), pair(lane, warp), at.1];
        let mixed = parts.into_iter().zip(ODD).fold(0, |all: u64, (part, odd)| all ^ part.wrapping_mul(odd));
        (mixed >> 32) as usize % KNOWN
    }
}

/// Odd numbers without a pattern, that places of a table are made by.
const ODD: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];

/// The looks of a launch.
#[derive(Debug)]
pub(crate) struct Looks {
    looking: Looking,
    /// Each with how much else was told before.
    known: Mutex<Vec<(Look, u64)>>,
}

impl Looks {
    /// Those of a launch from a module.
    pub(crate) fn new(looking: &Looking) -> Option<Self> {
        let looks =
            || Self { looking: Arc::clone(looking), known: Mutex::new(vec![Default::default(); KNOWN]) };
        (!looking.is_empty()).then(looks)
    }

    /// Whether an instruction is a look that says nothing new, if so much else was told; else that is more from now on. Nobody else
    /// in the launch asks at the same time.
    pub(crate) fn says_nothing(&self, issue: &Issue<'_>, others: &AtomicU64) -> bool {
        let now = others.load(Ordering::Relaxed);
        let look = self.look(issue);
        if look.is_none() {
            others.store(now + 1, Ordering::Relaxed);
        }
        look.is_some_and(|look| self.repeats(look, now))
    }

    /// What an instruction looks at, if it is a look.
    pub(crate) fn look(&self, issue: &Issue<'_>) -> Option<Look> {
        let FuncId(function) = issue.function;
        let of_function = self.looking.get(function as usize)?;
        if *of_function.get(issue.instruction as usize)? { Look::of(issue) } else { None }
    }

    /// Whether a look was made when so much else had been told; from now on it was.
    pub(crate) fn repeats(&self, look: Look, now: u64) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let number = look.number();
        let places = [number, number ^ 1];
        let known_at = places.into_iter().any(|at| known[at] == (look, now));
        if !known_at {
            let free = places.into_iter().find(|&at| known[at].1 != now);
            known[free.unwrap_or(places[0])] = (look, now);
        }
        known_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Past;
    use machine::fault::Access;
    use machine::observe::PackAddresses;

    /// An instruction of which one CTA's lanes execute it, at an address.
    fn says_nothing(
        looks: &Looks,
        others: &AtomicU64,
        (instruction, block): (u32, u32),
        masks: &[u32],
        at: u64,
    ) -> bool {
        let (space, access, addresses) = (SpaceKind::Global, Access::Load, PackAddresses::Uniform(at));
        let issue = Issue {
            function: FuncId(0),
            instruction,
            block: [block, 0, 0],
            first_warp: 0,
            masks,
            active: masks,
            access: Some(PackAccess { space, access, bytes: 4, addresses, step: None }),
            taken: None,
            state: &Past,
        };
        looks.says_nothing(&issue, others)
    }

    #[test]
    fn who_looks_again_is_told_of_when_something_else_was() {
        let (looking, others) = (Arc::new(vec![vec![false, true, true]]), AtomicU64::new(1));
        assert!(Looks::new(&Looking::default()).is_none());
        let looks = Looks::new(&looking).expect("two instructions look");
        let looks = |of, masks: &[u32], at| says_nothing(&looks, &others, of, masks, at);
        // Everybody looks for the first time once.
        let all = [
            ((1, 0), [1, 0], 8),
            ((2, 0), [1, 0], 8),
            ((1, 7), [1, 0], 8),
            ((1, 0), [0, 4], 8),
            ((1, 0), [1, 0], 12),
        ];
        assert!(!all.iter().any(|(of, masks, at)| looks(*of, masks, *at)));
        assert!(all.iter().all(|(of, masks, at)| looks(*of, masks, *at)));
        // Several lanes, and what is no look, always say something.
        for (of, masks) in [((1, 0), [3, 0]), ((1, 0), [1, 1]), ((0, 0), [1, 0])] {
            assert!(!looks(of, &masks, 8) && !looks(of, &masks, 8));
            let first = !looks(all[0].0, &all[0].1, all[0].2);
            assert!(first && looks(all[0].0, &all[0].1, all[0].2));
        }
        others.fetch_add(1, Ordering::Relaxed);
        assert!(!all.iter().any(|(of, masks, at)| looks(*of, masks, *at)));
    }
}
