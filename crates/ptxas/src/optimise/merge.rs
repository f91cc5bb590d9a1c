//! Copies between registers that can be one. Two registers can if neither is written while the other's value still matters, but for
//! copies of one to the other (Chaitin's coalescing). So what only a copy reads is computed where the copy leads, values that a
//! loop carries stay where they are, and the accumulators of a product of matrices are the parts of one register.

use super::graph::Flow;
use super::values::remove;
use crate::allocate::{MOST_WORDS, Units, live_out, reads_late};
use crate::code::{Class, Code, Line, Operand, Reg, alignment};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Most 32-bit parts of registers that are compared with one another.
const MOST: usize = 8192;

/// A copy of one 32-bit part of a register to one of another.
#[derive(Clone, Copy)]
struct Copy {
    to: (Reg, u8),
    from: (Reg, u8),
    /// How many loops it is in.
    depth: usize,
}

/// Makes one of two registers wherever that spares a copy.
pub(crate) fn merge(code: &mut Code) {
    let flow = Flow::new(code);
    let units = Units::new(code);
    if units.count.div_ceil(64) * flow.blocks.len() > MOST_WORDS {
        return;
    }
    let copies = copies(code, &flow);
    let mut groups = Groups::new(code, &units, &copies);
    if groups.of_unit.len() > MOST {
        return;
    }
    groups.interfere(code, &units, &flow);
    for copy in &copies {
        groups.join(code, copy);
    }
    groups.rename(code);
}

/// The copies, those of inner loops first.
fn copies(code: &Code, flow: &Flow) -> Vec<Copy> {
    let kept = kept(code);
    let mut depth = vec![0; flow.blocks.len()];
    flow.loops().iter().flat_map(|it| &it.blocks).for_each(|&block| depth[block] += 1);
    let mut found = Vec::new();
    for (block, depth) in flow.blocks.iter().zip(depth) {
        for line in &code.lines[block.lines.clone()] {
            let Line::Instruction(one) = line else { continue };
            let Some((to, from)) = one.copied() else { continue };
            if to.0 != from.0 && !kept.contains(&to.0) && !kept.contains(&from.0) {
                found.push(Copy { to, from, depth });
            }
        }
    }
    found.sort_by_key(|copy| std::cmp::Reverse(copy.depth));
    found
}

/// Registers that stay as they are: those that are pinned, and temporaries that are written under a guard, of which older values do not
/// matter.
fn kept(code: &Code) -> HashSet<Reg> {
    let mut kept = code.pinned().clone();
    for line in &code.lines {
        let Line::Instruction(one) = line else { continue };
        if one.guard.is_some() {
            let written = one.operands[..one.written].iter().filter_map(Operand::register);
            kept.extend(written.map(|(reg, ..)| reg).filter(|reg| code.registers[reg.0 as usize].temporary));
        }
    }
    kept
}

/// Registers that have become one.
struct Groups {
    /// The register that each belongs to, and its first part there.
    within: HashMap<Reg, (Reg, u8)>,
    /// The members of each group.
    members: HashMap<Reg, Vec<Reg>>,
    widths: HashMap<Reg, u8>,
    /// Registers that stand in addresses, which name no part.
    addresses: HashSet<Reg>,
    /// A number for each part of a register that a copy names.
    of_unit: HashMap<u32, usize>,
    first: HashMap<Reg, usize>,
    /// By the parts of registers that stand for groups: those in that place, and what must not be there.
    here: Vec<Vec<usize>>,
    clash: Vec<Vec<u64>>,
}

impl Groups {
    fn new(code: &Code, units: &Units, copies: &[Copy]) -> Self {
        let mut addresses = HashSet::default();
        for line in &code.lines {
            let Line::Instruction(one) = line else { continue };
            for operand in &one.operands {
                if let Operand::Address { reg, .. } = operand {
                    addresses.insert(*reg);
                }
            }
        }
        let mut widths = HashMap::default();
        let mut first = HashMap::default();
        let mut of_unit = HashMap::default();
        for reg in copies.iter().flat_map(|copy| [copy.to.0, copy.from.0]) {
            let Class::General(width) = code.registers[reg.0 as usize].class else { continue };
            if widths.insert(reg, width).is_none() {
                first.insert(reg, of_unit.len());
                for part in 0..u32::from(width) {
                    let next = of_unit.len();
                    of_unit.insert(units.first[reg.0 as usize] + part, next);
                }
            }
        }
        let within = widths.keys().map(|&reg| (reg, (reg, 0))).collect();
        let members = widths.keys().map(|&reg| (reg, vec![reg])).collect();
        let here = (0..of_unit.len()).map(|unit| vec![unit]).collect();
        Self { within, members, widths, addresses, of_unit, first, here, clash: Vec::new() }
    }

    /// Finds what is written while something else matters.
    fn interfere(&mut self, code: &Code, units: &Units, flow: &Flow) {
        let count = self.of_unit.len();
        let words = count.div_ceil(64);
        self.clash = vec![vec![0; words]; count];
        let number = |unit: u32| self.of_unit.get(&unit).copied();
        for (block, out) in flow.blocks.iter().zip(live_out(code, units, &flow.blocks)) {
            let mut live = vec![0_u64; words];
            for (&unit, &at) in &self.of_unit {
                live[at / 64] |= (out[unit as usize / 64] >> (unit % 64) & 1) << (at % 64);
            }
            for line in code.lines[block.lines.clone()].iter().rev() {
                let Line::Instruction(one) = line else { continue };
                let (mut reads, mut writes) = (Vec::new(), Vec::new());
                units.reads(code, one, &mut |unit| reads.extend(number(unit)));
                units.writes(one, &mut |unit| writes.extend(number(unit)));
                let spared = one.copied().and_then(|_| reads.first().copied());
                let late = if reads_late(one) { reads.as_slice() } else { &[] };
                late.iter().for_each(|at| live[at / 64] |= 1 << (at % 64));
                for &written in &writes {
                    for (word, &bits) in live.iter().enumerate() {
                        let spared = spared.filter(|at| at / 64 == word).map_or(0, |at| 1 << (at % 64));
                        self.clash[written][word] |= bits & !spared;
                    }
                    // Parts of one result that nobody reads are written all the same.
                    writes.iter().for_each(|at| self.clash[written][at / 64] |= 1 << (at % 64));
                    self.clash[written][written / 64] &= !(1 << (written % 64));
                }
                writes.iter().for_each(|at| live[at / 64] &= !(1 << (at % 64)));
                reads.iter().for_each(|at| live[at / 64] |= 1 << (at % 64));
            }
        }
        for one in 0..count {
            for other in 0..count {
                if self.clash[one][other / 64] >> (other % 64) & 1 == 1 {
                    self.clash[other][one / 64] |= 1 << (one % 64);
                }
            }
        }
    }

    /// Makes one register of the two of a copy, if they can be.
    fn join(&mut self, code: &mut Code, copy: &Copy) {
        let place = |(reg, part): (Reg, u8)| {
            let &(group, first) = self.within.get(&reg)?;
            Some((group, first + part))
        };
        let (Some(to), Some(from)) = (place(copy.to), place(copy.from)) else { return };
        let (large, small) = if self.widths[&to.0] >= self.widths[&from.0] { (to, from) } else { (from, to) };
        let (width, inner) = (self.widths[&large.0], self.widths[&small.0]);
        let Some(offset) = large.1.checked_sub(small.1).filter(|offset| offset + inner <= width) else {
            return;
        };
        let moved = offset > 0 && self.members[&small.0].iter().any(|it| self.addresses.contains(it));
        if large.0 == small.0 || moved || !u32::from(offset).is_multiple_of(alignment(inner)) {
            return;
        }
        let pairs = || {
            let (large, small) = (self.first[&large.0] + usize::from(offset), self.first[&small.0]);
            (0..usize::from(inner)).map(move |part| (large + part, small + part))
        };
        let clashes = |&(large, small): &(usize, usize)| {
            self.here[small].iter().any(|at| self.clash[large][at / 64] >> (at % 64) & 1 == 1)
        };
        if pairs().any(|pair| clashes(&pair)) {
            return;
        }
        for (large, small) in pairs().collect::<Vec<_>>() {
            let more = std::mem::take(&mut self.here[small]);
            self.here[large].extend(more);
            let more = std::mem::take(&mut self.clash[small]);
            self.clash[large].iter_mut().zip(more).for_each(|(own, more)| *own |= more);
        }
        for member in self.members.remove(&small.0).unwrap_or_default() {
            if let Some((group, first)) = self.within.get_mut(&member) {
                (*group, *first) = (large.0, *first + offset);
            }
            self.members.entry(large.0).or_default().push(member);
        }
        let info = code.registers[small.0.0 as usize];
        code.registers[large.0.0 as usize].temporary &= info.temporary;
    }

    /// Lets all operands name what stands for a group, and takes out copies within one.
    fn rename(&self, code: &mut Code) {
        let mut gone = Vec::new();
        for (at, line) in code.lines.iter_mut().enumerate() {
            let Line::Instruction(one) = line else { continue };
            for operand in &mut one.operands {
                match operand {
                    Operand::General { reg, part, .. } => {
                        if let Some(&(group, first)) = self.within.get(reg) {
                            (*reg, *part) = (group, *part + first);
                        }
                    }
                    Operand::Address { reg, .. } => {
                        if let Some(&(group, _)) = self.within.get(reg) {
                            *reg = group;
                        }
                    }
                    Operand::Predicate(..)
                    | Operand::Uniform { .. }
                    | Operand::Target(_)
                    | Operand::Text(_) => {}
                }
            }
            if one.copied().is_some_and(|(to, from)| to == from) {
                gone.push(at);
            }
        }
        code.note_merged(&gone);
        remove(code, &gone);
    }
}
