//! Storage for registers: those whose intervals do not overlap share a slot (linear scan, Poletto and Sarkar 1999).
//!
//! Intervals are closed, so a register whose last use is an instruction never shares with one which that instruction
//! defines: an engine may write results before it has read all operands.
//!
//! Liveness speaks of one thread. Sharing is right as long as each thread has its own copy of the slot and writes only
//! that: two lanes of a warp may stand at different instructions, with different registers in the same slot. Values
//! stored once for several threads ([`Shape::Invariant`](crate::Shape)) must not share: give them no class here.

use crate::liveness::Interval;
use ptx::module::{Body, RegId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where each register is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// For each register its slot among those of its class; `None` if it has no class or is never named.
    pub slot: Vec<Option<u32>>,
    /// For each class how many slots it needs.
    pub counts: Vec<u32>,
}

/// The slots of one class while the scan runs.
#[derive(Default)]
struct Class {
    /// Slots in use, the interval that ends first on top.
    busy: BinaryHeap<Reverse<(u32, u32)>>,
    /// Slots free again, the lowest on top, so that hot code stays in few cache lines.
    free: BinaryHeap<Reverse<u32>>,
    count: u32,
}

/// Gives each register with a class below `classes` and an interval a slot that no other register of the class with an
/// overlapping interval has; each class gets as few slots as possible.
pub fn allocate_slots(
    body: &Body,
    intervals: &[Option<Interval>],
    class_of: impl Fn(RegId) -> Option<usize>,
    classes: usize,
) -> Slots {
    let mut order: Vec<(Interval, u32, usize)> = (0..body.registers.len() as u32)
        .zip(intervals)
        .filter_map(|(register, interval)| Some(((*interval)?, register, class_of(RegId(register))?)))
        .filter(|&(_, _, class)| class < classes)
        .collect();
    order.sort_unstable_by_key(|&(interval, register, _)| (interval.start, register));

    let mut slot = vec![None; body.registers.len()];
    let mut state: Vec<Class> = (0..classes).map(|_| Class::default()).collect();
    for (interval, register, class) in order {
        let class = &mut state[class];
        while let Some(&Reverse((end, ended))) = class.busy.peek()
            && end < interval.start
        {
            class.busy.pop();
            class.free.push(Reverse(ended));
        }
        let chosen = class.free.pop().map_or(class.count, |Reverse(slot)| slot);
        class.count = class.count.max(chosen + 1);
        class.busy.push(Reverse((interval.end, chosen)));
        slot[register as usize] = Some(chosen);
    }
    Slots { slot, counts: state.iter().map(|class| class.count).collect() }
}
