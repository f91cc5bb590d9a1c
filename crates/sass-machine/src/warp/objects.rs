//! What a warp does at objects in shared memory that count arrivals, and how copies come there.

use super::{Event, State, Warp};
use crate::fault::FaultKind;
use crate::mbarrier::{Completion, Mbarrier};
use crate::memory::Reach;
use crate::registers::{Banks, lanes};
use crate::step::{Count, Phase, Place};
use crate::{access, groups};
use std::collections::BTreeMap;

/// Tells the objects of copies of them, or notes that where somebody else says when they are done.
pub(super) fn finish(copies: Vec<Completion>, reach: &mut Reach<'_>) -> Result<Option<Event>, FaultKind> {
    if let Some(noted) = &mut reach.copies {
        noted.extend(copies);
        return Ok(None);
    }
    let mut has_ended = false;
    for copy in copies {
        let done = |shared: &mut [u8], at| copy.at(at).done(shared);
        has_ended |= reach.shared_at(copy.mbarrier, done)??;
    }
    Ok(has_ended.then_some(Event::Phase))
}

impl Warp {
    /// What lanes do at objects in shared memory, one after the other.
    pub(super) fn at_object(
        &mut self,
        what: &Phase,
        active: u32,
        banks: &Banks,
        reach: &mut Reach<'_>,
    ) -> Result<Option<Event>, FaultKind> {
        let mut has_ended = false;
        match what {
            Phase::Arrive { to, address, arrivals, transactions, count, leave } => {
                // Lanes that arrive at one object together get the state that it had before all of them.
                let mut states = BTreeMap::new();
                for lane in lanes(active) {
                    let given = self.registers.read(count, banks, lane)?;
                    let number = |count: Count| match count {
                        Count::None => 0,
                        Count::One => 1,
                        Count::Given => i64::from(given as u32),
                        Count::Done => -i64::from(given as u32),
                    };
                    let at = access::place_of(&self.registers, address, lane);
                    let (arrivals, transactions) = (number(*arrivals), number(*transactions));
                    let arrive = |shared: &mut [u8], at| {
                        Mbarrier::arrive(shared, at, arrivals.unsigned_abs(), transactions, *leave)
                    };
                    let (state, is_over) = reach.shared_at(at, arrive)??;
                    let state = *states.entry(at).or_insert(state);
                    self.registers.write(Place::Registers(*to, 2), state, lane);
                    has_ended |= is_over;
                }
            }
            Phase::Copied { address, arrives } => {
                self.copies.commit();
                let due = self.copies.leave(0);
                groups::finish_copies(&due, &mut self.local, reach)?;
                let told = |lane| Completion {
                    mbarrier: access::place_of(&self.registers, address, lane),
                    arrives: *arrives,
                };
                return finish(lanes(active).map(told).collect(), reach);
            }
            Phase::Check { flag, address, phase, waits } => {
                let (mut over, mut waiting) = (0, 0);
                let place = self.place;
                for lane in lanes(active) {
                    let asked = self.registers.read(phase, banks, lane)? >> 31 & 1 == 1;
                    let at = access::place_of(&self.registers, address, lane);
                    if reach.shared_at(at, Mbarrier::read)??.phase() != asked {
                        over |= 1 << lane;
                    } else if *waits {
                        waiting |= 1 << lane;
                        self.states[lane] = State::Phase { address: at, phase: asked, flag: *flag };
                    }
                }
                self.registers.set_mask(Place::Predicate(*flag), active, over);
                if waiting != 0 {
                    lanes(waiting).for_each(|lane| self.places[lane] = place);
                    self.leave_running(waiting);
                }
            }
        }
        Ok(has_ended.then_some(Event::Phase))
    }
}
