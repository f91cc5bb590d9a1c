//! Products of a warpgroup, as its warps begin them and wait for them.

use super::{State, Warp};
use crate::fault::FaultKind;
use crate::groups;
use crate::registers::LANES;
use crate::step::Step;

impl Warp {
    /// How many products it has begun. One that has exited keeps nobody waiting.
    pub(crate) fn begun_products(&self) -> u64 {
        if self.has_exited() { u64::MAX } else { self.begun }
    }

    /// If it waits for products: how many groups may be left, and how many products all warps of its warpgroup must have begun.
    pub(crate) fn awaited_products(&self) -> Option<(usize, u64)> {
        let left = self.states.iter().find_map(|state| match state {
            State::Products(left) => Some(*left),
            _ => None,
        })?;
        let last = self.products.due(left).map(|begun| begun.number).max();
        Some((left, last.map_or(0, |last| last + 1)))
    }

    /// The factors of its first products are what shared memory holds now.
    ///
    /// # Errors
    /// With the number of the instruction whose factors lie outside.
    pub(crate) fn read_factors(
        &mut self,
        first: u64,
        steps: &[Step],
        shared: &[u8],
    ) -> Result<(), (usize, FaultKind)> {
        let products = self.products.all().filter(|begun| begun.number < first);
        groups::read_factors(products, self.number, steps, shared)
    }

    /// Products are there but for so many groups, and lanes that waited for them go on.
    pub(crate) fn finish_products(&mut self, left: usize, steps: &[Step]) {
        let due = self.products.leave(left);
        groups::finish_products(&due, &mut self.registers, steps);
        for lane in 0..LANES {
            if matches!(self.states[lane], State::Products(_)) {
                self.wake(lane);
            }
        }
    }
}
