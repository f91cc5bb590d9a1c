//! The order within a block: what others wait for longest comes first, so that loads are under way while other things are computed,
//! as long as there are registers for what has been loaded.
//!
//! Nothing passes an instruction that is not known to be simple. Loads and stores keep their order where they may meet: in one
//! space, unless both addresses are offsets from the same register that lie apart.

use super::pressure::{Lives, Pressure};
use crate::Tuning;
use crate::allocate::{Units, blocks, live_out};
use crate::code::{Class, Code, Instruction, Line, Operand};
use crate::registers::{RESERVED, WARPS, warps_together};
use crate::schedule::{Latency, Weight, guard_cycles, latency, weight};
use rustc_hash::FxHashMap as HashMap;
use std::cell::Cell;

/// Most instructions that are put in order together.
const MOST: usize = 768;
/// General registers that may be live at once without a reason to hold back.
const EASY: i32 = 30;
/// With so many at once a kernel still has no more than 32.
const FEW: i32 = 27;
/// How far ahead of the oldest instruction that is left others may come, where no distance is asked for.
const WINDOWS: [usize; 4] = [12, 20, 28, 40];
/// Registers beyond that are worth this part of a cost.
const DEAR: u32 = 8;
/// Registers that are none of a block's values: the stack pointer, and what does not fit in between.
const OTHERS: u32 = RESERVED + 2;
/// One warp less for a scheduler is worth this part of a cost.
const WAVE: u32 = 32;
/// Cycles until an `mbarrier` has answered.
const TOLD: u32 = 24;
/// Schedulers of an SM.
const SCHEDULERS: u32 = 4;
/// The same of predicates.
const PREDICATES: i32 = 5;

/// Puts all blocks in order.
pub(crate) fn order(code: &mut Code, tuning: &Tuning) {
    let units = Units::new(code);
    let blocks = blocks(code);
    if units.count.div_ceil(64) * blocks.len() > crate::allocate::MOST_WORDS {
        return;
    }
    let classes: Vec<Class> =
        code.registers.iter().flat_map(|info| vec![info.class; usize::from(info.class.width())]).collect();
    let out = live_out(code, &units, &blocks);
    let count = |live: &Vec<u64>| {
        let is_live = |unit: &usize| live[unit / 64] >> (unit % 64) & 1 == 1;
        (0..units.count).filter(is_live).filter(|&unit| matches!(classes[unit], Class::General(_))).count()
    };
    let elsewhere = out.iter().map(count).max().unwrap_or(0) as i32;
    for (block, live) in blocks.iter().zip(out) {
        let mut live = live;
        let mut end = block.lines.end;
        while end > block.lines.start {
            let movable =
                |at: usize| matches!(&code.lines[at], Line::Instruction(one) if cycles_of(one).is_some());
            let mut start = end;
            while start > block.lines.start && end - start < MOST && movable(start - 1) {
                start -= 1;
            }
            if end - start > 1 {
                let region = Region::new(code, &units, start..end, &live, &classes);
                if let Some(order) = region.best(elsewhere, tuning) {
                    let lines: Vec<Line> = order.iter().map(|&at| code.lines[start + at].clone()).collect();
                    code.lines.splice(start..end, lines);
                }
            }
            let first = start.min(end - 1);
            for at in (first..end).rev() {
                let Line::Instruction(one) = &code.lines[at] else { continue };
                units.writes(one, &mut |unit| live[unit as usize / 64] &= !(1 << (unit % 64)));
                units.reads(code, one, &mut |unit| live[unit as usize / 64] |= 1 << (unit % 64));
            }
            end = first;
        }
    }
}

/// Instructions that may change places.
struct Region {
    lives: Lives,
    /// Who waits for each, and how many cycles.
    after: Vec<Vec<(usize, u32)>>,
    before: Vec<usize>,
    /// Cycles from the issue of each to its result, and to the end.
    weights: Vec<u32>,
    height: Vec<u32>,
}

/// How a new order is made.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Choice {
    /// General registers that may be live at once.
    limit: i32,
    /// With hardly one left it goes on in the old order.
    is_careful: bool,
    /// How far in front of the oldest that is left others may come.
    ahead: usize,
}

/// An order that was made.
struct List {
    order: Vec<usize>,
    /// The number of registers had a say.
    is_bound: bool,
    /// How far in front of the oldest that was left another one came.
    reach: usize,
}

impl List {
    /// Whether another choice than that which it was made by gives the same.
    fn is_of(&self, own: Choice, other: Choice) -> bool {
        let near = other.ahead == own.ahead || (self.reach..own.ahead).contains(&other.ahead);
        let registers = match self.is_bound {
            true => other.limit == own.limit && other.is_careful == own.is_careful,
            false => other.limit >= own.limit,
        };
        near && registers
    }
}

/// An access to memory.
struct Access {
    at: usize,
    space: Space,
    store: bool,
    /// The register and how often it had been written, the first byte, and how many.
    place: Option<((u32, usize), i64, i64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Global,
    Shared,
    Local,
    Any,
}

/// Cycles until the result of an instruction that may change places with others. What is done to an `mbarrier` keeps its place among
/// accesses to memory, and is passed by what computes registers.
fn cycles_of(one: &Instruction) -> Option<u32> {
    let Weight(cycles) = match latency(one) {
        Latency::Variable { result } if one.name.starts_with("SYNCS.") => {
            Weight(if result { TOLD } else { 1 })
        }
        _ => weight(one)?,
    };
    Some(cycles)
}

fn access(one: &Instruction) -> Option<(Space, bool)> {
    Some(match one.name.head() {
        // What is constant nobody writes.
        "LDG" if one.name.contains(".CONSTANT") => return None,
        "LDG" => (Space::Global, false),
        "STG" => (Space::Global, true),
        "LDS" | "LDSM" => (Space::Shared, false),
        "STS" => (Space::Shared, true),
        "LDL" => (Space::Local, false),
        "STL" => (Space::Local, true),
        "LD" => (Space::Any, false),
        "ST" | "SYNCS" => (Space::Any, true),
        _ => return None,
    })
}

/// Bytes that an access takes.
fn bytes(name: &str) -> i64 {
    if name.contains(".128") {
        16
    } else if name.contains(".64") {
        8
    } else {
        4
    }
}

impl Region {
    fn new(
        code: &Code,
        units: &Units,
        lines: std::ops::Range<usize>,
        live: &[u64],
        classes: &[Class],
    ) -> Self {
        let count = lines.len();
        let (mut reads, mut writes) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let mut after: Vec<Vec<(usize, u32)>> = vec![Vec::new(); count];
        let mut before = vec![0; count];
        let mut writer: HashMap<u32, usize> = HashMap::default();
        let mut readers: HashMap<u32, Vec<usize>> = HashMap::default();
        let mut versions: HashMap<u32, usize> = HashMap::default();
        let mut memory: Vec<Access> = Vec::new();
        let (mut weights, mut guards) = (vec![1; count], vec![1; count]);
        for index in 0..count {
            let Line::Instruction(one) = &code.lines[lines.start + index] else { continue };
            weights[index] = cycles_of(one).unwrap_or(1);
            guards[index] = match latency(one) {
                Latency::Fixed(pipe) => guard_cycles(pipe),
                Latency::Variable { .. }
                | Latency::Branch
                | Latency::Meeting
                | Latency::Uniform
                | Latency::Product
                | Latency::Products
                | Latency::Group
                | Latency::Serial => weights[index],
            };
            units.reads(code, one, &mut |unit| reads[index].push(unit));
            units.writes(one, &mut |unit| writes[index].push(unit));
            let mut edge = |from: usize, cycles: u32| {
                after[from].push((index, cycles));
                before[index] += 1;
            };
            let guard = one.guard.map(|(reg, _)| units.first[reg.0 as usize]);
            for unit in &reads[index] {
                if let Some(&from) = writer.get(unit) {
                    edge(from, if guard == Some(*unit) { guards[from] } else { weights[from] });
                }
            }
            for unit in &writes[index] {
                readers
                    .get(unit)
                    .into_iter()
                    .flatten()
                    .filter(|&&from| from != index)
                    .for_each(|&from| edge(from, 1));
                if let Some(&from) = writer.get(unit) {
                    edge(from, 1);
                }
            }
            if let Some((space, store)) = access(one) {
                let place = one.operands[one.written..].iter().find_map(|it| match *it {
                    // Beside its object it is about what was accessed before.
                    Operand::Address { .. } if one.name.starts_with("SYNCS.") => None,
                    Operand::Address { reg, offset, .. } => {
                        let unit = units.first[reg.0 as usize];
                        Some(((unit, versions.get(&unit).copied().unwrap_or(0)), offset, bytes(&one.name)))
                    }
                    _ => None,
                });
                let this = Access { at: index, space, store, place };
                memory.iter().filter(|other| meet(other, &this)).for_each(|other| edge(other.at, 1));
                memory.push(this);
            }
            for &unit in &reads[index] {
                readers.entry(unit).or_default().push(index);
            }
            for &unit in &writes[index] {
                writer.insert(unit, index);
                readers.remove(&unit);
                *versions.entry(unit).or_default() += 1;
            }
        }
        let mut height = vec![0; count];
        for at in (0..count).rev() {
            let rest =
                after[at].iter().map(|&(next, cycles)| height[next] + cycles).max().unwrap_or(weights[at]);
            height[at] = rest;
        }
        Self { lives: Lives::new(&reads, &writes, live, classes), after, before, weights, height }
    }

    /// The new order, of some that differ in how many registers they may take; none if the old one is best. So many registers are in use
    /// elsewhere anyway.
    fn best(&self, elsewhere: i32, tuning: &Tuning) -> Option<Vec<usize>> {
        let old: Vec<usize> = (0..self.weights.len()).collect();
        let (was, predicates) = self.lives.peak(&old);
        let more = tuning.more as i32;
        let mut best = (self.cost(&old, was.max(elsewhere), tuning.warps), None);
        let least = self.least(elsewhere, tuning.warps);
        let mut limits = vec![was, was.max(FEW), (was + was / 8).max(EASY), (was + more).max(EASY)];
        let usual = limits.iter().copied().max().unwrap_or(was);
        limits.push(usual + more);
        limits.dedup();
        let (all, windows) = match tuning.ahead {
            0 => (old.len(), &WINDOWS[..]),
            ahead => (ahead, &[][..]),
        };
        let freely = limits.iter().flat_map(|&limit| [(limit, false, all), (limit, true, all)]);
        // With few instructions ahead of the old order as many rounds of an unrolled loop go on at once.
        let near = windows.iter().filter(|&&ahead| ahead < old.len());
        let near = near.flat_map(|&ahead| limits.iter().skip(1).map(move |&limit| (limit, false, ahead)));
        let mut tried: Vec<(Choice, List)> = Vec::new();
        for (limit, is_careful, ahead) in freely.chain(near) {
            if best.0 <= least {
                break;
            }
            let choice = Choice { limit, is_careful, ahead };
            if tried.iter().any(|(other, list)| list.is_of(*other, choice)) {
                continue;
            }
            let list = self.list(choice);
            let new = list.order.clone();
            tried.push((choice, list));
            let (now, flags) = self.lives.peak(&new);
            let mut cost = self.cost(&new, now.max(elsewhere), tuning.warps);
            if limit > usual {
                cost += cost / DEAR;
            }
            if flags <= predicates.max(PREDICATES + 1) && cost < best.0 {
                best = (cost, Some(new));
            }
        }
        best.1
    }

    /// What an order costs a scheduler for one of the warps that share it: an issue for each instruction, and its part of the cycles
    /// that all wait: as many warps as there are registers for, or as are usual, for grids seldom fill a device, nor do all warps wait at
    /// different places. Fewer warps cost something beyond that, as a grid may need another wave.
    fn cost(&self, order: &[usize], registers: i32, usual: u32) -> u32 {
        self.cost_of(self.cycles(order), registers, usual)
    }

    fn cost_of(&self, cycles: u32, registers: i32, usual: u32) -> u32 {
        let warps = (warps_together(registers as u32 + OTHERS) / SCHEDULERS).max(1);
        let cost = self.weights.len() as u32 + cycles / warps.min(usual);
        cost + cost * (WARPS / SCHEDULERS - warps) / WAVE
    }

    /// What no order costs less than: it lasts as long as the longest chain, and has an issue for each instruction.
    fn least(&self, elsewhere: i32, usual: u32) -> u32 {
        let chain = self.height.iter().copied().max().unwrap_or(0);
        let cycles = 1 + chain.max(self.weights.len() as u32);
        self.cost_of(cycles, self.lives.at_first().max(elsewhere), usual)
    }

    /// Cycles until the last instruction of an order has its result.
    fn cycles(&self, order: &[usize]) -> u32 {
        let mut earliest = vec![0; order.len()];
        let (mut now, mut end) = (0, 0);
        for &at in order {
            now = earliest[at].max(now + 1);
            end = end.max(now + self.weights[at]);
            for &(next, cycles) in &self.after[at] {
                earliest[next] = earliest[next].max(now + cycles);
            }
        }
        end
    }

    /// A new order. With hardly a register left the careful one goes on as the old one did, which had enough; else it is what takes
    /// fewest that comes next, which may lead into a corner where everything takes one more. None comes before the oldest that is left by more
    /// than `ahead` places.
    fn list(&self, Choice { limit, is_careful, ahead }: Choice) -> List {
        let count = self.weights.len();
        let mut left = self.before.clone();
        let mut earliest = vec![0_u32; count];
        let mut pressure = Pressure::new(&self.lives);
        let mut ready: Vec<usize> = (0..count).filter(|&at| left[at] == 0).collect();
        let mut order = Vec::with_capacity(count);
        let (mut now, mut oldest) = (0, 0);
        let mut issued = vec![false; count];
        let (is_bound, mut reach) = (Cell::new(false), 0);
        while !ready.is_empty() {
            while issued[oldest] {
                oldest += 1;
            }
            let near = |place: &usize| ready[*place] < oldest + ahead;
            let tight = pressure.general >= limit - 2 || pressure.predicates >= PREDICATES;
            let rank = |&at: &usize| {
                let (more, flags) = pressure.change(at);
                let late = earliest[at].saturating_sub(now);
                let bad = pressure.general + more > limit && more > 0
                    || pressure.predicates + flags > PREDICATES && flags > 0;
                is_bound.set(is_bound.get() || bad);
                (
                    bad,
                    if tight { more.max(0) + flags.max(0) } else { 0 },
                    late,
                    u32::MAX - self.height[at],
                    at,
                )
            };
            is_bound.set(is_bound.get() || tight);
            let place = match is_careful && tight {
                true => (0..ready.len()).min_by_key(|&place| ready[place]),
                false => (0..ready.len()).filter(near).min_by_key(|&place| rank(&ready[place])),
            };
            let Some(place) = place else { break };
            let at = ready.swap_remove(place);
            issued[at] = true;
            reach = reach.max(at + 1 - oldest);
            now = now.max(earliest[at]) + 1;
            pressure.issue(at);
            for &(next, cycles) in &self.after[at] {
                earliest[next] = earliest[next].max(now - 1 + cycles);
                left[next] -= 1;
                if left[next] == 0 {
                    ready.push(next);
                }
            }
            order.push(at);
        }
        List { order, is_bound: is_bound.get(), reach }
    }
}

/// Whether two accesses may not change places.
fn meet(one: &Access, other: &Access) -> bool {
    if !one.store && !other.store {
        return false;
    }
    if one.space != other.space && one.space != Space::Any && other.space != Space::Any {
        return false;
    }
    match (one.place, other.place) {
        (Some((base, from, size)), Some((other_base, other_from, other_size))) if base == other_base => {
            from < other_from + other_size && other_from < from + size
        }
        _ => true,
    }
}
