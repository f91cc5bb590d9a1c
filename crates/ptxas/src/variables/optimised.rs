//! Where optimised code has registers of PTX. An instruction that writes one still writes that value wherever it stands and whatever
//! register it writes, so that it is known what each place holds: the value of a register of PTX by one of some writes of it. In front of
//! an instruction that is worth something if PTX, too, has one of these as the last write there ([`Reference`]), and if nothing that
//! writes the register has changed places with the instruction.

use super::Forwards;
use super::reference::{Event, Reference, event};
use crate::allocate::{Allocation, Block, blocks, operand_units};
use crate::code::{Class, Code, Instruction, Line, Notes, Operand, Reg};
use crate::opcode::Kind;
use debug_info::machine_code::variables::{Hardware, Kept};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use smallvec::SmallVec;
use std::ops::Range;

/// Writes that a place may hold the value of; of more nothing is known.
const MOST_WRITES: usize = 8;

/// A part of a register of PTX, by one of some writes.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    home: u32,
    part: u8,
    writes: SmallVec<[u32; 2]>,
}

impl Held {
    /// The value by a write of this one or of another; nothing, if there are too many.
    fn or(&self, other: &Self) -> Option<Self> {
        let mut writes = self.writes.clone();
        writes.extend(other.writes.iter().copied());
        writes.sort_unstable();
        writes.dedup();
        (writes.len() <= MOST_WRITES).then_some(Self { home: self.home, part: self.part, writes })
    }
}

/// What is at a place: the same bits may be the value of several registers.
type Content = SmallVec<[Held; 1]>;

/// What is known in front of a line.
type State = HashMap<Hardware, Content>;

fn meet(a: &State, b: &State) -> State {
    let of = |(place, content): (&Hardware, &Content)| {
        let other = b.get(place)?;
        let both = content.iter().filter_map(|held| {
            let same = |it: &&Held| (it.home, it.part) == (held.home, held.part);
            held.or(other.iter().find(same)?)
        });
        let both: Content = both.collect();
        (!both.is_empty()).then_some((*place, both))
    };
    a.iter().filter_map(of).collect()
}

/// A part of a register is written: where else it was, it is not any more.
fn forget(state: &mut State, beside: Option<Hardware>, home: u32, part: u8) {
    state.retain(|place, content| {
        if Some(*place) != beside {
            content.retain(|held| (held.home, held.part) != (home, part));
        }
        !content.is_empty()
    });
}

fn is_in(set: &[u64], write: u32) -> bool {
    set[write as usize / 64] >> (write % 64) & 1 == 1
}

/// What is known of finished code.
pub(super) struct Found {
    /// Where registers are.
    pub(super) kept: Vec<Kept>,
    /// The machine instructions in front of which memory has what it has in PTX.
    pub(super) settled: Vec<Range<u32>>,
}

/// Looks at a kernel's code. `starts`: by lines, how many machine instructions there are in front.
pub(super) fn find(
    code: &Code,
    allocation: &Allocation,
    notes: &Notes,
    starts: &[u32],
    wanted: &dyn Fn(u32) -> bool,
) -> Found {
    let Some(reference) = &notes.reference else { return Found { kept: Vec::new(), settled: Vec::new() } };
    let (done, named) = (done(code, reference), named(code));
    let search = Search { code, allocation, notes, reference, done, named };
    let blocks = blocks(code);
    let before = search.solve(&blocks);
    let mut kept: Vec<Kept> = Vec::new();
    let mut settled: Vec<Range<u32>> = Vec::new();
    // Where what was kept in front of the instruction before ends, by register, part and place.
    let mut open: HashMap<(u32, u8, Hardware), usize> = HashMap::default();
    for (block, state) in blocks.iter().zip(before) {
        let Some(mut state) = state else { continue };
        let order = Order::new(code, reference, block);
        for at in block.lines.clone() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            let start = starts[at];
            search.copies(one, false, &mut state);
            let mut still = HashMap::default();
            for (home, part, place) in search.here(one, at, &state, &order) {
                let (call, register, _) = notes.registers[home as usize];
                if !wanted(call) {
                    continue;
                }
                let index = match open.get(&(home, part, place)) {
                    Some(&index) => index,
                    None => {
                        kept.push(Kept {
                            call,
                            register,
                            part: part.into(),
                            place,
                            instructions: start..start,
                        });
                        kept.len() - 1
                    }
                };
                kept[index].instructions.end = start + 1;
                still.insert((home, part, place), index);
            }
            open = still;
            if order.is_settled(one, at) {
                match settled.last_mut() {
                    Some(last) if last.end == start => last.end = start + 1,
                    _ => settled.push(start..start + 1),
                }
            }
            search.step(one, &mut state);
            search.copies(one, true, &mut state);
        }
    }
    kept.sort_by_key(|kept| (kept.place, kept.instructions.start, kept.call, kept.register.0));
    Found { kept, settled }
}

struct Search<'a> {
    code: &'a Code,
    allocation: &'a Allocation,
    notes: &'a Notes,
    reference: &'a Reference,
    /// The parts of registers that writes still write: what is left out is not known to be there.
    done: HashSet<(u32, u8)>,
    /// The parts of registers that the code writes: only these have places.
    named: HashSet<(Reg, u8)>,
}

fn named(code: &Code) -> HashSet<(Reg, u8)> {
    let written = code.lines.iter().filter_map(|line| match line {
        Line::Instruction(one) => Some(&one.operands[..one.written]),
        Line::Label(_) => None,
    });
    written.flatten().flat_map(operand_units).collect()
}

/// Which writes are left, by the parts that they write.
fn done(code: &Code, reference: &Reference) -> HashSet<(u32, u8)> {
    let mut done = HashSet::default();
    for line in &code.lines {
        let Line::Instruction(one) = line else { continue };
        let merged = [false, true].into_iter().flat_map(|behind| reference.merged(one, behind));
        let merged = merged.map(|(mark, ..)| mark);
        for mark in reference.of(one).into_iter().chain(merged) {
            done.extend((mark.part..mark.part + mark.width).map(|part| (mark.write, part)));
        }
    }
    done
}

impl Search<'_> {
    fn place(&self, reg: Reg, part: u8) -> Hardware {
        let number = self.allocation.of(reg);
        match self.code.registers[reg.0 as usize].class {
            Class::General(_) => Hardware::General(number + u32::from(part)),
            Class::Predicate => Hardware::Predicate(number),
            Class::Uniform(_) => Hardware::Uniform(number + u32::from(part)),
        }
    }

    /// The places in the frame of some parts of a register that is too much.
    fn slots(&self, (reg, first, count): (Reg, u8, u8)) -> impl Iterator<Item = Hardware> + use<> {
        let at = self.notes.slots.iter().find(|(known, _)| *known == reg).map(|(_, at)| *at as u32);
        let place = move |part: u8| at.map(|at| Hardware::Frame(at + 4 * u32::from(part)));
        (first..first + count).filter_map(place)
    }

    /// What stood beside an instruction, and is gone as it copied a register to itself, has its effect.
    fn copies(&self, one: &Instruction, behind: bool, state: &mut State) {
        for (mark, reg, part) in self.reference.merged(one, behind) {
            forget(state, None, mark.home, mark.part);
            let slot = self.slots((reg, part, 1)).next();
            let named = || self.named.contains(&(reg, part)).then(|| self.place(reg, part));
            let Some(content) = slot.or_else(named).and_then(|place| state.get_mut(&place)) else { continue };
            let (_, event) = self.reference.writes[mark.write as usize];
            let Some(last) = self.reference.last_writes(event) else { continue };
            let Some(from) = self.reference.copied(mark.write) else { continue };
            // What was copied, or what that is a copy of, may have been put behind it since.
            let mut same = vec![from];
            let copies = self.reference.copies(event);
            while let Some((_, more)) =
                copies.iter().find(|(to, from)| same.contains(to) && !same.contains(from))
            {
                same.push(*more);
            }
            let copied = |held: &Held| {
                let is_same = same.contains(&held.home) && held.part == mark.part;
                is_same && held.writes.iter().all(|&write| is_in(last, write))
            };
            if content.iter().any(copied) {
                let writes = SmallVec::from_slice(&[mark.write]);
                content.push(Held { home: mark.home, part: mark.part, writes });
            }
        }
    }

    /// What is known behind an instruction.
    fn step(&self, one: &Instruction, state: &mut State) {
        if one.name.kind() == Kind::Call {
            // What the callee does with registers is its own affair.
            state.retain(|place, _| matches!(place, Hardware::Frame(_)));
        }
        let units: Vec<Hardware> = one.operands[..one.written]
            .iter()
            .flat_map(operand_units)
            .map(|(reg, part)| self.place(reg, part))
            .collect();
        // What is moved to the frame or back, and what is copied.
        let copied: Vec<(Hardware, Option<Content>)> = match (one.spills, one.written) {
            (Some(piece), 0) => {
                let from = one.operands.iter().flat_map(operand_units);
                let from = from.map(|(reg, part)| self.place(reg, part));
                self.slots(piece).zip(from).map(|(to, from)| (to, state.get(&from).cloned())).collect()
            }
            (Some(piece), _) => units
                .iter()
                .copied()
                .zip(self.slots(piece))
                .map(|(to, from)| (to, state.get(&from).cloned()))
                .collect(),
            (None, 1) if one.name == "MOV" => match (&units[..], &one.operands[1]) {
                ([to], &Operand::General { reg, part, width: 1, before: "", after: "" }) => {
                    vec![(*to, state.get(&self.place(reg, part)).cloned())]
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let mut written: HashMap<Hardware, Content> =
            units.iter().map(|place| (*place, Content::new())).collect();
        for (to, content) in copied {
            written.entry(to).or_default().extend(content.into_iter().flatten());
        }
        if let Some(mark) = self.reference.of(one) {
            let first = one.operands.first().into_iter().flat_map(operand_units);
            for (place, part) in first.map(|(reg, part)| self.place(reg, part)).zip(mark.part..) {
                let held = Held { home: mark.home, part, writes: SmallVec::from_slice(&[mark.write]) };
                forget(state, Some(place), held.home, held.part);
                let content = written.entry(place).or_default();
                content.retain(|it| (it.home, it.part) != (held.home, held.part));
                content.push(held);
            }
        }
        for (place, content) in written {
            let content: Content = match (one.guard, state.get(&place)) {
                (None, _) => content,
                // Without its guard holding, what was there stays there.
                (Some(_), Some(old)) => {
                    let both = content.iter().filter_map(|held| {
                        held.or(old.iter().find(|it| (it.home, it.part) == (held.home, held.part))?)
                    });
                    both.collect()
                }
                (Some(_), None) => Content::new(),
            };
            match content.is_empty() {
                true => state.remove(&place),
                false => state.insert(place, content),
            };
        }
    }

    fn solve(&self, blocks: &[Block]) -> Vec<Option<State>> {
        let step = |one: &Instruction, state: &mut State| {
            self.copies(one, false, state);
            self.step(one, state);
            self.copies(one, true, state);
        };
        Forwards { code: self.code, blocks, enter: &|_, _| (), step: &step, meet: &meet }
            .solve(&State::default())
    }

    /// The registers, their parts and places in front of an instruction.
    fn here(
        &self,
        one: &Instruction,
        at: usize,
        state: &State,
        order: &Order<'_>,
    ) -> Vec<(u32, u8, Hardware)> {
        // Where a guard does not hold, PTX may be elsewhere; what brings lanes together stands elsewhere than its branch.
        let is_selected = one.guard.is_none() && self.reference.place(one).is_some();
        let Some(event) = event(one).filter(|_| is_selected) else { return Vec::new() };
        let Some(last) = self.reference.last_writes(event) else { return Vec::new() };
        let is_last = |write: &u32| is_in(last, *write);
        let mut found: HashMap<u32, Vec<(u8, Hardware)>> = HashMap::default();
        for (place, content) in state {
            for held in content.iter().filter(|held| held.writes.iter().all(is_last)) {
                found.entry(held.home).or_default().push((held.part, *place));
            }
        }
        let mut all: HashMap<u32, Vec<(u8, Hardware)>> = HashMap::default();
        for (home, mut parts) in found {
            let (.., reg) = self.notes.registers[home as usize];
            let width = self.code.registers[reg.0 as usize].class.width();
            let all_done = self
                .reference
                .writes_of(home)
                .filter(|write| is_last(write))
                .all(|write| (0..width).all(|part| self.done.contains(&(write, part))));
            if !all_done {
                continue;
            }
            // One place for each part: a register rather than one of a warp.
            parts.sort_unstable_by_key(|&(part, place)| (part, place));
            parts.dedup_by_key(|(part, _)| *part);
            if parts.len() == usize::from(width) && order.is_kept(home, event, one, at) {
                all.insert(home, parts);
            }
        }
        // What is a copy of another is where that is, if it is nowhere itself.
        let copies = self.reference.copies(event);
        while let Some((to, from)) =
            copies.iter().find(|(to, from)| all.contains_key(from) && !all.contains_key(to))
        {
            let parts = all[from].clone();
            all.insert(*to, parts);
        }
        all.into_iter()
            .flat_map(|(home, parts)| parts.into_iter().map(move |(part, place)| (home, part, place)))
            .collect()
    }
}

/// Whether an instruction may write memory that variables are in.
fn writes_memory(one: &Instruction) -> bool {
    let head = one.name.head();
    one.written == 0 && (head.starts_with("ST") || head.starts_with("RED"))
        || ["ATOM", "LDGSTS", "UBLK", "UTMA", "SUST", "SURED"].iter().any(|it| head.starts_with(it))
}

/// An instruction of a block: where it is, where it was before the order changed, and what it is for.
#[derive(Clone, Copy)]
struct Stands {
    at: usize,
    was: Option<u32>,
    event: Event,
}

/// What has changed places in a block.
struct Order<'a> {
    reference: &'a Reference,
    /// What carries out a write of each register.
    writers: HashMap<u32, Vec<Stands>>,
    /// What writes memory.
    stores: Vec<Stands>,
}

impl<'a> Order<'a> {
    fn new(code: &Code, reference: &'a Reference, block: &Block) -> Self {
        let mut homes: HashMap<Event, Vec<u32>> = HashMap::default();
        for &(home, event) in &reference.writes {
            homes.entry(event).or_default().push(home);
        }
        let mut order = Self { reference, writers: HashMap::default(), stores: Vec::new() };
        for at in block.lines.clone() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            // What moves registers to the frame stands beside whoever needs it.
            let Some(event) = event(one).filter(|_| one.spills.is_none()) else { continue };
            let stands = Stands { at, was: reference.place(one), event };
            for &home in homes.get(&event).into_iter().flatten() {
                order.writers.entry(home).or_default().push(stands);
            }
            for (mark, ..) in [false, true].into_iter().flat_map(|behind| reference.merged(one, behind)) {
                let (home, event) = reference.writes[mark.write as usize];
                order.writers.entry(home).or_default().push(Stands { event, ..stands });
            }
            if writes_memory(one) {
                order.stores.push(stands);
            }
        }
        order
    }

    /// Whether all of some stand on that side of an instruction on which they stood.
    fn are_in_order(&self, all: &[Stands], one: &Instruction, at: usize) -> bool {
        let Some(was) = self.reference.place(one) else { return false };
        let in_order =
            |it: &Stands| it.at == at || it.was.is_some_and(|it_was| (it_was < was) == (it.at < at));
        all.iter().all(in_order)
    }

    /// Whether an instruction has the last write of a register in front of its event in front of it, and nothing later.
    fn is_kept(&self, home: u32, event: Event, one: &Instruction, at: usize) -> bool {
        let Some(writers) = self.writers.get(&home) else { return true };
        let (own, others): (Vec<Stands>, Vec<Stands>) = writers.iter().partition(|it| it.event == event);
        // Its own result is not there before its first instruction.
        let first = own.is_empty() || self.reference.is_straight(event) && own.iter().all(|it| it.at >= at);
        first && self.are_in_order(&others, one, at)
    }

    /// Whether memory has what it has in front of an instruction of PTX.
    fn is_settled(&self, one: &Instruction, at: usize) -> bool {
        event(one).is_some() && one.guard.is_none() && self.are_in_order(&self.stores, one, at)
    }
}
