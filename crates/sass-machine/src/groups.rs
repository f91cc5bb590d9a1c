//! What goes on beside a warp in groups, and is done no sooner than somebody waits for it: who forgets to wait finds what was there before.

use crate::fault::FaultKind;
use crate::memory::{Local, Reach};
use crate::registers::{LANES, Registers};
use crate::step::{Action, Step};
use crate::warpgroup::Factors;
use crate::{access, warpgroup};
use std::collections::VecDeque;

/// So much may be under way; beyond that the oldest is done at once.
const MOST: usize = 1024;

/// Things under way, in the order in which they began.
pub(crate) struct Groups<T> {
    /// Those that belong to no group yet.
    open: Vec<T>,
    groups: VecDeque<Vec<T>>,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self { open: Vec::new(), groups: VecDeque::new() }
    }
}

impl<T> Groups<T> {
    /// Something begins. Gives out what is due for it.
    pub(crate) fn begin(&mut self, it: T) -> Vec<T> {
        self.open.push(it);
        if self.groups.len() + self.open.len() <= MOST {
            return Vec::new();
        }
        self.groups.pop_front().unwrap_or_else(|| std::mem::take(&mut self.open))
    }

    /// What has begun since the last group is one.
    pub(crate) fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// What is due if so many groups may be left.
    pub(crate) fn due(&self, left: usize) -> impl Iterator<Item = &T> {
        self.groups.iter().take(self.groups.len().saturating_sub(left)).flatten()
    }

    /// The same, which is under way no longer.
    pub(crate) fn leave(&mut self, left: usize) -> Vec<T> {
        let due = self.groups.len().saturating_sub(left);
        self.groups.drain(..due).flatten().collect()
    }

    /// All that is under way.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut T> {
        self.groups.iter_mut().flatten().chain(&mut self.open)
    }
}

/// What lanes have fetched for shared memory: where it goes to, in which lanes.
pub(crate) struct Fetched {
    pub(crate) lanes: u32,
    pub(crate) places: [u64; LANES],
    pub(crate) bytes: u8,
    pub(crate) data: [[u8; 16]; LANES],
}

/// A warp's part of a product: its instruction's number, and what the uniform registers and predicates held.
pub(crate) struct Begun {
    pub(crate) place: usize,
    /// How many the warp has begun before, as each warp of its warpgroup has.
    pub(crate) number: u64,
    pub(crate) descriptors: [u64; 2],
    pub(crate) is_added: bool,
    /// What shared memory held of its factors, once somebody has waited for the product.
    pub(crate) factors: Option<Factors>,
}

/// What lanes have fetched is there.
pub(crate) fn finish_copies(
    due: &[Fetched],
    local: &mut Local,
    reach: &mut Reach<'_>,
) -> Result<(), FaultKind> {
    due.iter().try_for_each(|fetched| access::put(local, fetched, reach))
}

/// The factors of products of a warp are what shared memory holds now, if nobody has waited for these products before.
///
/// # Errors
/// With the number of the instruction whose factors lie outside.
pub(crate) fn read_factors<'a>(
    products: impl Iterator<Item = &'a mut Begun>,
    warp: u32,
    steps: &[Step],
    shared: &[u8],
) -> Result<(), (usize, FaultKind)> {
    for begun in products.filter(|begun| begun.factors.is_none()) {
        if let Some(Step { action: Action::Group(product), .. }) = steps.get(begun.place) {
            let factors = warpgroup::factors(shared, warp, product, begun.descriptors);
            begun.factors = Some(factors.map_err(|kind| (begun.place, kind))?);
        }
    }
    Ok(())
}

/// Products of a warp are there, whose factors have been read.
pub(crate) fn finish_products(due: &[Begun], registers: &mut Registers, steps: &[Step]) {
    for begun in due {
        if let (Some(Step { action: Action::Group(product), .. }), Some(factors)) =
            (steps.get(begun.place), &begun.factors)
        {
            warpgroup::perform(registers, product, factors, begun.is_added);
        }
    }
}
