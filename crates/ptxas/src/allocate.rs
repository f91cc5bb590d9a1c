//! Hardware registers for virtual ones: linear scan over live ranges, from the first to the last place where a value matters.

use crate::code::{Class, Code, Instruction, Label, Line, Operand, Reg, alignment};
use std::collections::{HashMap, HashSet};

/// R254 is the highest of a thread's registers; R1 is the stack pointer.
pub const GENERAL: u32 = 255;
const STACK_POINTER: u32 = 1;
/// P7 is PT.
const PREDICATES: u32 = 7;

/// Most words of a set for each block: 256 MiB, of which there are four.
pub(crate) const MOST_WORDS: usize = 1 << 25;

/// What did not suffice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// General registers. Without these there are more; if there are none, nothing can go.
    General(Vec<Reg>),
    /// Predicates.
    Predicates,
    /// Memory of the compiler itself.
    Memory,
}

/// Hardware registers, by virtual ones.
#[derive(Debug)]
pub struct Allocation(Vec<u32>);

impl Allocation {
    /// The first hardware register of a virtual one.
    pub fn of(&self, reg: Reg) -> u32 {
        self.0[reg.0 as usize]
    }

    /// The same with a place for one more register.
    #[cfg(test)]
    pub(crate) fn with(mut self, reg: Reg, place: u32) -> Self {
        self.0.resize(reg.0 as usize + 1, place);
        self
    }
}

/// Where a register matters: even places are reads, odd ones writes of the same instruction.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The first place.
    pub start: u32,
    /// The last place.
    pub end: u32,
}

/// Gives every register its place, below `limit` if it is a general one. Where there is none, the cheapest goes, by what `cost` says of a
/// register in its range; those without a cost stay.
///
/// # Errors
/// If there are too few.
pub fn allocate(
    code: &Code,
    limit: u32,
    cost: &dyn Fn(Reg, Range) -> Option<f64>,
) -> Result<Allocation, Shortage> {
    if Units::new(code).count.div_ceil(64) * blocks(code).len() > MOST_WORDS {
        return Err(Shortage::Memory);
    }
    let ranges = ranges(code);
    let mut order: Vec<(Range, usize)> =
        ranges.iter().enumerate().filter_map(|(i, range)| Some(((*range)?, i))).collect();
    order.sort_by_key(|&(range, i)| (range.start, i));
    let mut places = vec![0; ranges.len()];
    // Which register has each hardware register, and until which place.
    let mut general: Vec<Option<Taken>> = vec![None; limit.min(GENERAL) as usize];
    general[STACK_POINTER as usize] = Some(Taken { end: u32::MAX, by: None });
    let mut predicates = vec![None; PREDICATES as usize];
    let mut without = Vec::new();
    for (range, i) in order {
        let reg = Reg(i as u32);
        let (file, width) = match code.registers[i].class {
            Class::General(width) => (&mut general, usize::from(width)),
            Class::Predicate => (&mut predicates, 1),
        };
        let step = alignment(width as u8) as usize;
        let windows = || (0..).step_by(step).take_while(|&at| at + width <= file.len());
        let free = |taken: &Option<Taken>| taken.is_none_or(|taken| taken.end < range.start);
        let found = windows().find(|&at| file[at..at + width].iter().all(free));
        let place = match (found, code.registers[i].class) {
            (Some(place), _) => place,
            (None, Class::Predicate) => return Err(Shortage::Predicates),
            (None, Class::General(_)) => {
                // What has to go for each place, by cost.
                let dear = |at: usize| {
                    let mut sum = 0.0;
                    let mut last = None;
                    for taken in file[at..at + width].iter().filter(|taken| !free(taken)).flatten() {
                        let by = taken.by?;
                        if last != Some(by) {
                            sum += cost(by, ranges[by.0 as usize]?)?;
                        }
                        last = Some(by);
                    }
                    Some((sum, at))
                };
                let cheapest = windows().filter_map(dear).min_by(|a, b| a.0.total_cmp(&b.0));
                let own = cost(reg, range);
                match (cheapest, own) {
                    (Some((sum, at)), own) if own.is_none_or(|own| sum < own) => {
                        let there = file[at..at + width].iter().filter(|taken| !free(taken)).flatten();
                        let gone: HashSet<Reg> = there.filter_map(|taken| taken.by).collect();
                        for taken in file.iter_mut() {
                            if taken.is_some_and(|taken| taken.by.is_some_and(|by| gone.contains(&by))) {
                                *taken = None;
                            }
                        }
                        without.extend(gone);
                        at
                    }
                    (_, Some(_)) => {
                        without.push(reg);
                        continue;
                    }
                    (_, None) => return Err(Shortage::General(without)),
                }
            }
        };
        file[place..place + width].fill(Some(Taken { end: range.end, by: Some(reg) }));
        places[i] = place as u32;
    }
    if without.is_empty() { Ok(Allocation(places)) } else { Err(Shortage::General(without)) }
}

/// How many general registers have a value at each line that matters there or later.
pub(crate) fn in_use(code: &Code) -> Vec<u32> {
    let mut change = vec![0i64; code.lines.len() + 1];
    for (range, info) in ranges(code).iter().zip(&code.registers) {
        if let (Some(range), Class::General(width)) = (range, info.class) {
            change[range.start as usize / 2] += i64::from(width);
            change[range.end as usize / 2 + 1] -= i64::from(width);
        }
    }
    let mut now = 0;
    change.truncate(code.lines.len());
    change
        .into_iter()
        .map(|change| {
            now += change;
            u32::try_from(now).unwrap_or(0)
        })
        .collect()
}

/// A hardware register that is in use.
#[derive(Clone, Copy, Debug)]
struct Taken {
    end: u32,
    by: Option<Reg>,
}

/// The parts of all registers, each with its number, and what instructions do to them.
pub(crate) struct Units {
    pub(crate) first: Vec<u32>,
    pub(crate) count: usize,
}

impl Units {
    pub(crate) fn new(code: &Code) -> Self {
        let mut count = 0;
        let first = code
            .registers
            .iter()
            .map(|info| {
                let at = count;
                count += match info.class {
                    Class::General(width) => u32::from(width),
                    Class::Predicate => 1,
                };
                at
            })
            .collect();
        Self { first, count: count as usize }
    }

    pub(crate) fn of(&self, operand: &Operand) -> std::ops::Range<u32> {
        operand.register().map_or(0..0, |(reg, part, width)| {
            let first = self.first[reg.0 as usize] + u32::from(part);
            first..first + u32::from(width)
        })
    }

    /// Visits what an instruction reads.
    pub(crate) fn reads(&self, code: &Code, instruction: &Instruction, visit: &mut dyn FnMut(u32)) {
        if let Some((guard, _)) = instruction.guard {
            visit(self.first[guard.0 as usize]);
        }
        instruction.operands[instruction.written..].iter().flat_map(|o| self.of(o)).for_each(&mut *visit);
        if instruction.guard.is_some() {
            // What a guard leaves as it was still matters.
            for operand in &instruction.operands[..instruction.written] {
                let kept = operand.register().filter(|(reg, ..)| !code.registers[reg.0 as usize].temporary);
                kept.into_iter().flat_map(|_| self.of(operand)).for_each(&mut *visit);
            }
        }
    }

    pub(crate) fn writes(&self, instruction: &Instruction, visit: &mut dyn FnMut(u32)) {
        instruction.operands[..instruction.written].iter().flat_map(|o| self.of(o)).for_each(visit);
    }

    /// How often each is written, and how often it is read.
    pub(crate) fn counts(&self, code: &Code) -> (Vec<u32>, Vec<u32>) {
        let (mut written, mut read) = (vec![0; self.count], vec![0; self.count]);
        for line in &code.lines {
            let Line::Instruction(one) = line else { continue };
            self.writes(one, &mut |unit| written[unit as usize] += 1);
            self.reads(code, one, &mut |unit| read[unit as usize] += 1);
        }
        (written, read)
    }
}

/// The registers that an operand names, part by part.
pub(crate) fn operand_units(operand: &Operand) -> impl Iterator<Item = (Reg, u8)> {
    let register = operand.register();
    register.into_iter().flat_map(|(reg, part, width)| (part..part + width).map(move |part| (reg, part)))
}

/// Whether control goes nowhere that is known from an instruction.
fn ends(name: &str) -> bool {
    name == "EXIT" || name.starts_with("RET.")
}

pub(crate) fn is_call(name: &str) -> bool {
    name.starts_with("CALL.")
}

pub(crate) fn is_branch(name: &str) -> bool {
    name.split('.').next() == Some("BRA")
}

/// A run of lines that only its last one leaves.
pub(crate) struct Block {
    pub(crate) lines: std::ops::Range<usize>,
    pub(crate) successors: Vec<usize>,
}

/// The runs of lines of a kernel, the first of which is its entry.
pub(crate) fn blocks(code: &Code) -> Vec<Block> {
    let leaves = |line: &Line| matches!(line, Line::Instruction(i) if is_branch(&i.name) || ends(&i.name));
    let mut starts = vec![0];
    for (at, line) in code.lines.iter().enumerate() {
        match line {
            Line::Label(_) => starts.push(at),
            Line::Instruction(_) if leaves(line) => starts.push(at + 1),
            Line::Instruction(_) => {}
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|&at| at < code.lines.len());
    let mut labels: HashMap<Label, usize> = HashMap::new();
    for (block, &start) in starts.iter().enumerate() {
        if let Line::Label(label) = code.lines[start] {
            labels.insert(label, block);
        }
    }
    let end = |block: usize| starts.get(block + 1).copied().unwrap_or(code.lines.len());
    (0..starts.len())
        .map(|block| {
            let lines = starts[block]..end(block);
            let mut successors = Vec::new();
            let mut falls = true;
            if let Some(Line::Instruction(last)) = code.lines[lines.clone()].last() {
                if let (true, Some(Operand::Target(label))) = (is_branch(&last.name), last.operands.last()) {
                    successors.extend(labels.get(label));
                }
                falls = !(is_branch(&last.name) || ends(&last.name)) || last.guard.is_some();
            }
            if falls && block + 1 < starts.len() {
                successors.push(block + 1);
            }
            Block { lines, successors }
        })
        .collect()
}

/// The lines that write nothing but what nobody reads, and are pure; in order.
pub(crate) fn dead_lines(code: &Code, pure: &dyn Fn(&Instruction) -> bool) -> Vec<usize> {
    let units = Units::new(code);
    let blocks = blocks(code);
    if units.count.div_ceil(64) * blocks.len() > MOST_WORDS {
        return Vec::new();
    }
    let mut dead = Vec::new();
    for (block, out) in blocks.iter().zip(live_out(code, &units, &blocks)) {
        let mut live = out;
        for at in block.lines.clone().rev() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            let mut read = false;
            units.writes(one, &mut |unit| read |= live[unit as usize / 64] >> (unit % 64) & 1 == 1);
            if !read && pure(one) {
                dead.push(at);
                continue;
            }
            units.writes(one, &mut |unit| live[unit as usize / 64] &= !(1 << (unit % 64)));
            units.reads(code, one, &mut |unit| live[unit as usize / 64] |= 1 << (unit % 64));
        }
    }
    dead.sort_unstable();
    dead
}

/// The registers whose values matter behind a call that comes before their last reader.
pub(crate) fn live_across_calls(code: &Code) -> HashSet<Reg> {
    let units = Units::new(code);
    let owners: Vec<Reg> = (0..code.registers.len() as u32)
        .map(Reg)
        .flat_map(|reg| {
            let first = units.first[reg.0 as usize];
            let end = units.first.get(reg.0 as usize + 1).map_or(units.count as u32, |&next| next);
            (first..end).map(move |_| reg)
        })
        .collect();
    let blocks = blocks(code);
    let mut found = HashSet::new();
    for (block, out) in blocks.iter().zip(live_out(code, &units, &blocks)) {
        let mut live = out;
        for at in block.lines.clone().rev() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            if is_call(&one.name) {
                each(&live, |unit| {
                    found.insert(owners[unit]);
                });
            }
            units.writes(one, &mut |unit| live[unit as usize / 64] &= !(1 << (unit % 64)));
            units.reads(code, one, &mut |unit| live[unit as usize / 64] |= 1 << (unit % 64));
        }
    }
    found
}

/// Where each register matters; none if it is never named.
pub fn ranges(code: &Code) -> Vec<Option<Range>> {
    let units = Units::new(code);
    let blocks = blocks(code);
    let live_out = live_out(code, &units, &blocks);
    let mut of_units: Vec<Option<Range>> = vec![None; units.count];
    let mut cover = |unit: usize, at: u32| {
        let range = of_units[unit].get_or_insert(Range { start: at, end: at });
        range.start = range.start.min(at);
        range.end = range.end.max(at);
    };
    for (block, out) in blocks.iter().zip(&live_out) {
        let (first, last) = (2 * block.lines.start as u32, 2 * block.lines.end as u32);
        let mut live = out.clone();
        each(&live, |unit| cover(unit, last));
        for at in block.lines.clone().rev() {
            let Line::Instruction(instruction) = &code.lines[at] else { continue };
            let at = 2 * at as u32;
            units.writes(instruction, &mut |unit| {
                cover(unit as usize, at + 1);
                live[unit as usize / 64] &= !(1 << (unit % 64));
            });
            // The matrices of one LDSM come one after the other.
            let last = if instruction.name.starts_with("LDSM") { at + 1 } else { at };
            units.reads(code, instruction, &mut |unit| {
                cover(unit as usize, last);
                live[unit as usize / 64] |= 1 << (unit % 64);
            });
        }
        each(&live, |unit| cover(unit, first));
    }
    let hull = |reg: usize| {
        let end = units.first.get(reg + 1).map_or(units.count, |&next| next as usize);
        let parts = of_units[units.first[reg] as usize..end].iter().flatten();
        parts.copied().reduce(|a, b| Range { start: a.start.min(b.start), end: a.end.max(b.end) })
    };
    (0..code.registers.len()).map(hull).collect()
}

fn each(set: &[u64], mut visit: impl FnMut(usize)) {
    for (word, &bits) in set.iter().enumerate() {
        let mut left = bits;
        while left != 0 {
            visit(word * 64 + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

pub(crate) fn live_out(code: &Code, units: &Units, blocks: &[Block]) -> Vec<Vec<u64>> {
    let words = units.count.div_ceil(64);
    let (mut exposed, mut killed) =
        (vec![vec![0_u64; words]; blocks.len()], vec![vec![0_u64; words]; blocks.len()]);
    for (index, block) in blocks.iter().enumerate() {
        let (exposed, killed) = (&mut exposed[index], &mut killed[index]);
        for line in &code.lines[block.lines.clone()] {
            let Line::Instruction(instruction) = line else { continue };
            units.reads(code, instruction, &mut |unit| {
                let (word, bit) = (unit as usize / 64, 1 << (unit % 64));
                exposed[word] |= bit & !killed[word];
            });
            units.writes(instruction, &mut |unit| killed[unit as usize / 64] |= 1 << (unit % 64));
        }
    }
    let mut live_in = exposed.clone();
    let mut live_out = vec![vec![0_u64; words]; blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..blocks.len()).rev() {
            for &next in &blocks[index].successors {
                for word in 0..words {
                    live_out[index][word] |= live_in[next][word];
                }
            }
            for word in 0..words {
                let new = exposed[index][word] | live_out[index][word] & !killed[index][word];
                changed |= new != live_in[index][word];
                live_in[index][word] = new;
            }
        }
    }
    live_out
}
