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

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::ast::Name;
    use ptx::module::Register;
    use ptx::types::ScalarType;

    fn body(registers: usize) -> Body {
        let register = |i| Register { name: Name(i as u32), ty: ScalarType::B32 };
        Body { registers: (0..registers).map(register).collect(), ..Body::default() }
    }

    #[test]
    fn registers_of_a_class_share_only_when_apart_and_need_no_more_slots_than_overlap() {
        let mut state = 1_u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32 % below
        };
        for _ in 0..300 {
            let count = 1 + random(40) as usize;
            let intervals: Vec<Option<Interval>> = (0..count)
                .map(|_| {
                    let start = random(60);
                    (random(10) != 0).then(|| Interval { start, end: start + random(20) })
                })
                .collect();
            let classes: Vec<Option<usize>> =
                (0..count).map(|_| Some(random(4) as usize).filter(|&class| class < 3)).collect();
            let slots = allocate_slots(&body(count), &intervals, |r| classes[r.index()], 3);

            for a in 0..count {
                assert_eq!(slots.slot[a].is_some(), intervals[a].is_some() && classes[a].is_some());
                for b in 0..a {
                    if let (Some(x), Some(y)) = (intervals[a], intervals[b])
                        && classes[a] == classes[b]
                        && slots.slot[a].is_some()
                        && slots.slot[a] == slots.slot[b]
                    {
                        assert!(!x.overlaps(y), "{x:?} and {y:?} share a slot");
                    }
                }
            }
            for class in 0..3 {
                let alive = |at: u32| {
                    let covers = |i: Interval| i.start <= at && at <= i.end;
                    let of_class = (0..count).filter(|&r| classes[r] == Some(class));
                    of_class.filter(|&r| intervals[r].is_some_and(covers)).count()
                };
                let most = (0..100).map(alive).max().unwrap_or(0);
                assert_eq!(slots.counts[class] as usize, most);
            }
        }
    }

    #[test]
    fn an_instruction_does_not_overwrite_what_it_reads() {
        let intervals = [Some(Interval { start: 0, end: 5 }), Some(Interval { start: 5, end: 9 })];
        let slots = allocate_slots(&body(2), &intervals, |_| Some(0), 1);
        assert_ne!(slots.slot[0], slots.slot[1]);
    }
}
