//! Hardware registers for virtual ones: linear scan over live ranges, from the first to the last place where a value matters.

use crate::code::{Class, Code, Instruction, Label, Line, Operand, Reg, alignment};
use crate::file::File;
use crate::opcode::Kind;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// R252 is the highest of a thread's registers that code names; R1 is the stack pointer.
pub const GENERAL: u32 = 253;
const STACK_POINTER: u32 = 1;
/// P7 is PT.
const PREDICATES: u32 = 7;
/// The uniform registers for values. Each value has its own for the whole kernel: lanes that have parted take turns in ways that nobody
/// knows, and what one way writes the other would find. Those below are for instructions that take their operands there; UR63 is URZ.
pub(crate) const UNIFORM: std::ops::Range<u32> = 24..63;

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

/// Which of the places that are free is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// The first, so that few are used at all.
    First,
    /// The one that has been free for longest: who was there has been read by then, and nobody waits for that.
    Longest,
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
    let units = Units::new(code);
    let of_parts = ranges_of_parts(code, &units);
    let ranges = hulls(code, &units, &of_parts);
    let placing = Placing { code, ranges: &ranges, of_parts: &of_parts, units: &units };
    let used = |allocation: &Allocation| {
        let registers = code.registers.iter().zip(&ranges).zip(&allocation.0);
        let ends = registers.map(|((info, range), &at)| match info.class {
            Class::General(width) if range.is_some() => at + u32::from(width),
            Class::General(_) | Class::Predicate | Class::Uniform(_) => 0,
        });
        ends.max().unwrap_or(0).max(STACK_POINTER + 1)
    };
    // Wide ones fit in between others or not at all.
    let of_width = |wide: u8| {
        let registers = code.registers.iter().zip(&ranges).filter(|(_, range)| range.is_some());
        registers.filter(|(info, _)| matches!(info.class, Class::General(width) if width >= wide)).count()
    };
    // What takes the same out of the order twice gives the same places twice.
    let mut wides = vec![NARROW, 4, 2];
    wides.dedup_by_key(|wide| of_width(*wide));
    let ways = |first: First| {
        let placing = &placing;
        let found = wides.iter().filter_map(move |&wide| {
            let order = Order { wide, first };
            let found = placing.place(limit, &|_, _| None, Choice::First, order).ok()?;
            Some((used(&found), order, found))
        });
        found.min_by_key(|&(used, ..)| used)
    };
    let Some(mut best) = ways(First::Begins) else {
        return placing.place(limit, cost, Choice::First, Order { wide: NARROW, first: First::Begins });
    };
    let peak = counts(code, &units, &of_parts, 1).into_iter().max().unwrap_or(0);
    // Where the gaps are too small for rows, another order may leave fewer.
    if best.0 > peak + STACK_POINTER
        && let Some(other) = ways(First::Longest).filter(|other| other.0 < best.0)
    {
        best = other;
    }
    let (used, order, few) = best;
    Ok(placing.place(used, &|_, _| None, Choice::Longest, order).unwrap_or(few))
}

/// In which order registers are given places.
#[derive(Clone, Copy)]
struct Order {
    /// Those of so many parts and more come first.
    wide: u8,
    /// Which of the others.
    first: First,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// Who begins to matter first.
    Begins,
    /// Who matters longest.
    Longest,
}

/// A width that no register has.
const NARROW: u8 = u8::MAX;

struct Placing<'a> {
    code: &'a Code,
    ranges: &'a [Option<Range>],
    of_parts: &'a [Vec<Range>],
    units: &'a Units,
}

impl Placing<'_> {
    /// Gives places one after the other.
    fn place(
        &self,
        limit: u32,
        cost: &dyn Fn(Reg, Range) -> Option<f64>,
        choice: Choice,
        by: Order,
    ) -> Result<Allocation, Shortage> {
        let mut order: Vec<(Range, usize)> =
            self.ranges.iter().enumerate().filter_map(|(i, range)| Some(((*range)?, i))).collect();
        let is_wide =
            |i: usize| matches!(self.code.registers[i].class, Class::General(width) if width >= by.wide);
        let key = |range: Range| match by.first {
            First::Begins => range.start,
            First::Longest => u32::MAX - (range.end - range.start),
        };
        order.sort_by_key(|&(range, i)| (!is_wide(i), key(range), i));
        let mut places = vec![0; self.ranges.len()];
        let mut uniform = UNIFORM;
        let mut general = File::new(limit.min(GENERAL));
        general.take(STACK_POINTER as usize, &[Range { start: 0, end: u32::MAX }], None);
        if self.code.keeps {
            for kept in (0..limit.min(GENERAL)).filter(|&register| crate::select::is_kept(register)) {
                general.take(kept as usize, &[Range { start: 0, end: u32::MAX }], None);
            }
        }
        let mut predicates = File::new(PREDICATES);
        let mut without = HashSet::default();
        for (range, i) in order {
            let reg = Reg(i as u32);
            let (file, width) = match self.code.registers[i].class {
                Class::General(width) => (&mut general, width),
                Class::Predicate => (&mut predicates, 1),
                // Pairs come from the one end, single ones from the other.
                Class::Uniform(1) => {
                    uniform.end -= 1;
                    places[i] = uniform.end;
                    continue;
                }
                Class::Uniform(width) => {
                    places[i] = uniform.start;
                    uniform.start += u32::from(width);
                    continue;
                }
            };
            let first = self.units.first[i] as usize;
            let parts = &self.of_parts[first..first + usize::from(width)];
            let place = match (choose(file, parts, range, choice), self.code.registers[i].class) {
                (Some(place), _) => place,
                (None, Class::Predicate | Class::Uniform(_)) => return Err(Shortage::Predicates),
                (None, Class::General(_)) => {
                    let own = cost(reg, range);
                    match (self.cheapest(file, parts, cost), own) {
                        (Some((sum, at, gone)), own) if own.is_none_or(|own| sum < own) => {
                            file.release(&gone);
                            without.extend(gone);
                            at
                        }
                        (_, Some(_)) => {
                            without.insert(reg);
                            continue;
                        }
                        (_, None) => return Err(Shortage::General(sorted(without))),
                    }
                }
            };
            for (part, ranges) in parts.iter().enumerate() {
                file.take(place + part, ranges, Some(reg));
            }
            places[i] = place as u32;
        }
        if without.is_empty() { Ok(Allocation(places)) } else { Err(Shortage::General(sorted(without))) }
    }

    /// Who has to go for a register that finds no place, what that costs, and where the place is.
    fn cheapest(
        &self,
        file: &File,
        parts: &[Vec<Range>],
        cost: &dyn Fn(Reg, Range) -> Option<f64>,
    ) -> Option<(f64, usize, HashSet<Reg>)> {
        let step = alignment(parts.len() as u8) as usize;
        let dear = |at: usize| {
            let users = parts.iter().enumerate().flat_map(|(part, ranges)| file.users(at + part, ranges));
            let gone: HashSet<Reg> = users.collect::<Option<_>>()?;
            let costs = sorted(gone.clone()).into_iter().map(|by| cost(by, self.ranges[by.0 as usize]?));
            Some((costs.sum::<Option<f64>>()?, at, gone))
        };
        file.windows(parts.len(), step).filter_map(dear).min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

fn sorted(registers: HashSet<Reg>) -> Vec<Reg> {
    let mut all: Vec<Reg> = registers.into_iter().collect();
    all.sort_unstable();
    all
}

/// A place that is free for a register with some parts, which matter in some ranges.
fn choose(file: &File, parts: &[Vec<Range>], whole: Range, choice: Choice) -> Option<usize> {
    let width = parts.len();
    let fits = |&at: &usize| parts.iter().enumerate().all(|(part, ranges)| file.is_free(at + part, ranges));
    let mut fitting = file.windows(width, alignment(width as u8) as usize).filter(fits);
    match choice {
        // Beside one that is taken, so that pairs stay free; else the first.
        Choice::First if width == 1 => {
            let mut first = None;
            for at in fitting {
                if !file.is_free(at ^ 1, &parts[0]) {
                    return Some(at);
                }
                first = first.or(Some(at));
                // Beside those further on nothing is taken.
                if at > file.highest() {
                    break;
                }
            }
            first
        }
        Choice::First => fitting.next(),
        Choice::Longest => {
            fitting.min_by_key(|&at| (at..at + width).filter_map(|at| file.last_use(at, whole.start)).max())
        }
    }
}

/// How many general registers have a value at each line that matters there or later.
pub(crate) fn in_use(code: &Code) -> Vec<u32> {
    let units = Units::new(code);
    counts(code, &units, &ranges_of_parts(code, &units), 2)
}

/// How many general registers have a value at each place that matters there or later, or in each run of so many places.
fn counts(code: &Code, units: &Units, of_parts: &[Vec<Range>], places: u32) -> Vec<u32> {
    let all = 2 * code.lines.len() / places as usize;
    let mut change = vec![0_i64; all + 2];
    for (info, &first) in code.registers.iter().zip(&units.first) {
        let Class::General(width) = info.class else { continue };
        for range in of_parts[first as usize..first as usize + usize::from(width)].iter().flatten() {
            change[(range.start / places) as usize] += 1;
            change[(range.end / places) as usize + 1] -= 1;
        }
    }
    let mut now = 0;
    change.truncate(all);
    change
        .into_iter()
        .map(|change| {
            now += change;
            u32::try_from(now).unwrap_or(0)
        })
        .collect()
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
                count += u32::from(info.class.width());
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
    pub(crate) fn reads(&self, code: &Code, instruction: &Instruction, visit: &mut impl FnMut(u32)) {
        if let Some((guard, _)) = instruction.guard {
            visit(self.first[guard.0 as usize]);
        }
        for operand in &instruction.operands[instruction.written..] {
            self.of(operand).for_each(&mut *visit);
        }
        if instruction.guard.is_some() {
            // What a guard leaves as it was still matters.
            for operand in &instruction.operands[..instruction.written] {
                let kept = operand.register().filter(|(reg, ..)| !code.registers[reg.0 as usize].temporary);
                if kept.is_some() {
                    self.of(operand).for_each(&mut *visit);
                }
            }
        }
    }

    pub(crate) fn writes(&self, instruction: &Instruction, visit: &mut impl FnMut(u32)) {
        for operand in &instruction.operands[..instruction.written] {
            self.of(operand).for_each(&mut *visit);
        }
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

/// Whether an instruction still reads while it writes: the matrices of one LDSM come one after the other.
pub(crate) fn reads_late(instruction: &Instruction) -> bool {
    instruction.name.starts_with("LDSM")
}

/// A run of lines that only its last one leaves.
pub(crate) struct Block {
    pub(crate) lines: std::ops::Range<usize>,
    pub(crate) successors: Vec<usize>,
}

/// Whether control may go elsewhere than to the next line.
pub(crate) fn leaves(line: &Line) -> bool {
    matches!(line, Line::Instruction(one) if one.name.leaves())
}

/// The runs of lines of a kernel, the first of which is its entry.
pub(crate) fn blocks(code: &Code) -> Vec<Block> {
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
    let mut labels: HashMap<Label, usize> = HashMap::default();
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
                if let (true, Some(Operand::Target(label))) =
                    (last.name.kind() == Kind::Branch, last.operands.last())
                {
                    successors.extend(labels.get(label));
                }
                falls = !last.name.leaves() || last.guard.is_some();
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

/// The registers whose values matter behind a call that comes before their last reader; but for uniform ones, which nobody else has.
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
    let mut found = HashSet::default();
    for (block, out) in blocks.iter().zip(live_out(code, &units, &blocks)) {
        let mut live = out;
        for at in block.lines.clone().rev() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            if one.name.kind() == Kind::Call {
                each(&live, |unit| {
                    found.insert(owners[unit]);
                });
            }
            units.writes(one, &mut |unit| live[unit as usize / 64] &= !(1 << (unit % 64)));
            units.reads(code, one, &mut |unit| live[unit as usize / 64] |= 1 << (unit % 64));
        }
    }
    found.retain(|reg| !matches!(code.registers[reg.0 as usize].class, Class::Uniform(_)));
    found
}

/// Where each register matters; none if it is never named.
pub fn ranges(code: &Code) -> Vec<Option<Range>> {
    let units = Units::new(code);
    hulls(code, &units, &ranges_of_parts(code, &units))
}

/// From where to where registers matter, by the ranges of their parts.
fn hulls(code: &Code, units: &Units, of_parts: &[Vec<Range>]) -> Vec<Option<Range>> {
    let hull = |reg: usize| {
        let end = units.first.get(reg + 1).map_or(units.count, |&next| next as usize);
        let parts = of_parts[units.first[reg] as usize..end].iter().flatten();
        parts.copied().reduce(|a, b| Range { start: a.start.min(b.start), end: a.end.max(b.end) })
    };
    (0..code.registers.len()).map(hull).collect()
}

/// Where each part of a register matters, in order.
fn ranges_of_parts(code: &Code, units: &Units) -> Vec<Vec<Range>> {
    let blocks = blocks(code);
    let live_out = live_out(code, units, &blocks);
    let mut found: Vec<Vec<Range>> = vec![Vec::new(); units.count];
    // Until where each one that is live matters; in front of a block none is.
    let mut ends: Vec<Option<u32>> = vec![None; units.count];
    for (block, out) in blocks.iter().zip(&live_out) {
        let (first, last) = (2 * block.lines.start as u32, 2 * block.lines.end as u32);
        let mut live = out.clone();
        each(&live, |unit| ends[unit] = Some(last));
        for at in block.lines.clone().rev() {
            let Line::Instruction(instruction) = &code.lines[at] else { continue };
            let at = 2 * at as u32;
            units.writes(instruction, &mut |unit| {
                let end = ends[unit as usize].take().unwrap_or(at + 1);
                found[unit as usize].push(Range { start: at + 1, end });
                live[unit as usize / 64] &= !(1 << (unit % 64));
            });
            let last = if reads_late(instruction) { at + 1 } else { at };
            units.reads(code, instruction, &mut |unit| {
                ends[unit as usize].get_or_insert(last);
                live[unit as usize / 64] |= 1 << (unit % 64);
            });
        }
        each(&live, |unit| {
            if let Some(end) = ends[unit].take() {
                found[unit].push(Range { start: first, end });
            }
        });
    }
    for ranges in &mut found {
        ranges.sort_unstable_by_key(|range| range.start);
        // What goes on from one block to the next, or is written under a guard, is one.
        ranges.dedup_by(|next, before| {
            let goes_on = next.start <= before.end + 1;
            before.end = if goes_on { before.end.max(next.end) } else { before.end };
            goes_on
        });
    }
    found
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
    let mut live_out = vec![vec![0_u64; words]; blocks.len()];
    if blocks.iter().all(|block| block.successors.is_empty()) {
        return live_out;
    }
    // One block behind the other.
    let of = |index: usize| index * words..(index + 1) * words;
    let (mut exposed, mut killed) = (vec![0_u64; words * blocks.len()], vec![0_u64; words * blocks.len()]);
    for (index, block) in blocks.iter().enumerate() {
        let (exposed, killed) = (&mut exposed[of(index)], &mut killed[of(index)]);
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
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..blocks.len()).rev() {
            let out = &mut live_out[index];
            for &next in &blocks[index].successors {
                out.iter_mut().zip(&live_in[of(next)]).for_each(|(out, more)| *out |= more);
            }
            let known = exposed[of(index)].iter().zip(&killed[of(index)]);
            for ((live, out), (exposed, killed)) in live_in[of(index)].iter_mut().zip(&*out).zip(known) {
                let new = exposed | out & !killed;
                changed |= new != *live;
                *live = new;
            }
        }
    }
    live_out
}
