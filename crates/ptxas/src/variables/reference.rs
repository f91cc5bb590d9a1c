//! What selected code says of the registers of PTX before anything is optimised: which instructions of PTX write each, which of these
//! writes may be the last one in front of an instruction, and which machine instruction carries out which write.

use super::Forwards;
use crate::allocate::{Block, blocks, operand_units};
use crate::code::{Class, Code, Instruction, Line, Notes, Operand, Reg};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// An instruction of PTX in one of its calls.
pub(super) type Event = (u32, u32);

/// The event that a machine instruction is for.
pub(super) fn event(one: &Instruction) -> Option<Event> {
    one.origin.map(|origin| (origin.call, origin.instruction))
}

/// What a machine instruction writes as its first result: so many parts of a register, and which write that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// The register, as an index of [`Notes::registers`].
    pub(super) home: u32,
    pub(super) part: u8,
    pub(super) width: u8,
    /// The write, as an index of [`Reference::writes`].
    pub(super) write: u32,
}

/// A copy that is gone: its number, and the part of a register that both of its own are.
type Gone = (u32, Reg, u8);

/// Copies of one register to another, part by part: to which, from which, and which part.
type Copies = Vec<(u32, u32, u8)>;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Reference {
    /// By machine instruction, as they were numbered.
    marks: Vec<Option<Mark>>,
    /// The writes: of which register, by which event.
    pub(super) writes: Vec<(u32, Event)>,
    /// Those of each register.
    of_home: HashMap<u32, Vec<u32>>,
    /// The writes that may be the last ones in front of an event, as a set.
    reaching: HashMap<Event, Vec<u64>>,
    /// Events that are carried out without branches or calls.
    straight: HashMap<Event, bool>,
    /// Copies that are gone, by the number of the instruction that they stood beside, and whether that was behind it: their own number, and
    /// the register.
    merged: HashMap<(u32, bool), Vec<Gone>>,
    /// The writes that do nothing but copy another register: which.
    copied: HashMap<u32, u32>,
    /// Registers that are copies of others in front of an event: which, and of which.
    copies: HashMap<Event, Vec<(u32, u32)>>,
    /// The numbers of instructions that are elsewhere than they were selected.
    moved: HashSet<u32>,
    /// By number, the places of machine instructions before they change them; of those that there are several of, none.
    order: HashMap<u32, Option<u32>>,
}

impl Reference {
    /// Numbers a kernel's instructions, and looks at them.
    pub(crate) fn new(code: &mut Code) -> Self {
        let Some(notes) = code.notes.take() else { return Self::default() };
        let mut found = Self::default();
        let homes: HashMap<Reg, u32> =
            notes.registers.iter().zip(0..).map(|((.., reg), home)| (*reg, home)).collect();
        let mut next = 0;
        for line in &mut code.lines {
            if let Line::Instruction(one) = line {
                next += 1;
                one.mark = next;
            }
        }
        let blocks = blocks(code);
        found.find_writes(code, &homes);
        found.mark(code, &homes);
        found.reach(code, &blocks, &homes);
        found.find_straight(code, &notes);
        found.find_copies(code, &notes, &blocks, &homes);
        code.notes = Some(notes);
        found
    }

    /// Instructions are about to go to other blocks: they are not where their events are.
    pub(crate) fn note_moved(&mut self, code: &Code, lines: &HashSet<usize>) {
        self.moved.extend(lines.iter().filter_map(|&at| match &code.lines[at] {
            Line::Instruction(one) => Some(one.mark),
            Line::Label(_) => None,
        }));
    }

    /// The numbers of instructions as they stand now, in front of what puts them in another order.
    pub(crate) fn note_order(&mut self, code: &Code) {
        self.order.clear();
        for (line, at) in code.lines.iter().zip(0..) {
            if let Line::Instruction(one) = line {
                self.order.entry(one.mark).and_modify(|place| *place = None).or_insert(Some(at));
            }
        }
        self.order.remove(&0);
    }

    /// Copies are about to go, as both registers of each are one.
    pub(crate) fn note_merged(&mut self, code: &Code, lines: &[usize]) {
        let gone: HashSet<usize> = lines.iter().copied().collect();
        for &at in lines {
            let Line::Instruction(copy) = &code.lines[at] else { continue };
            let Some(&Operand::General { reg, part, .. }) = copy.operands.first() else { continue };
            let next = (at + 1..code.lines.len()).find(|at| !gone.contains(at));
            let last = (0..at).rev().find(|at| !gone.contains(at));
            // At a label others come, too.
            let beside = [(next, false), (last, true)].into_iter().find_map(|(line, is_behind)| match &code
                .lines[line?]
            {
                Line::Instruction(one) => Some((one.mark, is_behind)),
                Line::Label(_) => None,
            });
            if let Some(beside) = beside.filter(|(mark, _)| *mark != 0 && copy.mark != 0) {
                self.merged.entry(beside).or_default().push((copy.mark, reg, part));
            }
        }
    }

    /// The copies that stood in front of an instruction, or behind it: what each wrote, and the register that has it now.
    pub(super) fn merged(
        &self,
        one: &Instruction,
        behind: bool,
    ) -> impl Iterator<Item = (Mark, Reg, u8)> + '_ {
        let of = |&(number, reg, part): &Gone| Some(((*self.marks.get(number as usize - 1)?)?, reg, part));
        self.merged.get(&(one.mark, behind)).into_iter().flatten().filter_map(of)
    }

    /// The register that a write does nothing but copy.
    pub(super) fn copied(&self, write: u32) -> Option<u32> {
        self.copied.get(&write).copied()
    }

    /// The registers that are copies of others in front of an event.
    pub(super) fn copies(&self, event: Event) -> &[(u32, u32)] {
        self.copies.get(&event).map_or(&[], Vec::as_slice)
    }

    /// Where an instruction was then, if it was in the block of its event.
    pub(super) fn place(&self, one: &Instruction) -> Option<u32> {
        if self.moved.contains(&one.mark) {
            return None;
        }
        self.order.get(&one.mark).copied().flatten()
    }

    /// What an instruction still writes for PTX.
    pub(super) fn of(&self, one: &Instruction) -> Option<Mark> {
        let mark = (*self.marks.get((one.mark as usize).checked_sub(1)?)?)?;
        // Whoever writes more or less than it did does something else.
        let (Operand::General { width, .. } | Operand::Uniform { width, .. }) = one.operands.first()? else {
            return None;
        };
        (one.written > 0 && *width == mark.width).then_some(mark)
    }

    /// The last writes in front of an event.
    pub(super) fn last_writes(&self, event: Event) -> Option<&[u64]> {
        self.reaching.get(&event).map(Vec::as_slice)
    }

    /// The writes of a register.
    pub(super) fn writes_of(&self, home: u32) -> impl Iterator<Item = u32> + '_ {
        self.of_home.get(&home).into_iter().flatten().copied()
    }

    /// Whether an event is carried out without branches and calls.
    pub(super) fn is_straight(&self, event: Event) -> bool {
        self.straight.get(&event).copied().unwrap_or(false)
    }

    fn find_writes(&mut self, code: &Code, homes: &HashMap<Reg, u32>) {
        let mut known = HashMap::default();
        for (home, event, ..) in all_writes(code, homes) {
            known.entry((home, event)).or_insert_with(|| {
                self.of_home.entry(home).or_default().push(self.writes.len() as u32);
                self.writes.push((home, event));
            });
        }
    }

    /// What is written once by an event is its result; of what is written several times nobody knows which is. So is what is computed into
    /// a temporary, and copied from there.
    fn mark(&mut self, code: &Code, homes: &HashMap<Reg, u32>) {
        let numbers: HashMap<(u32, Event), u32> = self.writes.iter().copied().zip(0..).collect();
        let mut times: HashMap<(Reg, Option<Event>, u8), u32> = HashMap::default();
        let instructions = || {
            code.lines.iter().filter_map(|line| match line {
                Line::Instruction(one) => Some(one),
                Line::Label(_) => None,
            })
        };
        let within = |reg: Reg, one: &Instruction| event(one).filter(|_| homes.contains_key(&reg));
        for one in instructions() {
            for (reg, part) in one.operands[..one.written].iter().flat_map(operand_units) {
                *times.entry((reg, within(reg, one), part)).or_default() += 1;
            }
        }
        let once =
            |reg: Reg, one: &Instruction, part: u8| times.get(&(reg, within(reg, one), part)) == Some(&1);
        // Where parts of temporaries are copied to, by the same event.
        let mut copied: HashMap<(Reg, u8, Event), (u32, u8)> = HashMap::default();
        for one in instructions() {
            let Some((to, from)) = one.copied() else { continue };
            if let (Some(home), Some(event)) = (homes.get(&to.0), event(one))
                && once(to.0, one, to.1)
            {
                copied.insert((from.0, from.1, event), (*home, to.1));
            }
        }
        for one in instructions() {
            let mark = || {
                let Operand::General { reg, part, width, .. } = *one.operands.first()? else { return None };
                let event = event(one)?;
                // Products go on beside the threads.
                if one.written == 0 || one.name.head().ends_with("GMMA") {
                    return None;
                }
                let (home, first) = match homes.get(&reg) {
                    Some(home) => (*home, part),
                    None if one.guard.is_none() => *copied.get(&(reg, part, event))?,
                    None => return None,
                };
                let follows = |at: u8| {
                    let is_own = homes.contains_key(&reg);
                    is_own || copied.get(&(reg, part + at, event)) == Some(&(home, first + at))
                };
                let known = (0..width).all(|at| once(reg, one, part + at) && follows(at));
                known.then(|| Mark { home, part: first, width, write: numbers[&(home, event)] })
            };
            self.marks.push(mark());
        }
    }

    fn reach(&mut self, code: &Code, blocks: &[Block], homes: &HashMap<Reg, u32>) {
        let numbers: HashMap<(u32, Event), usize> = self.writes.iter().copied().zip(0..).collect();
        let of_home = &self.of_home;
        let words = self.writes.len().div_ceil(64);
        let step = |one: &Instruction, state: &mut Vec<u64>| {
            let Some(event) = event(one) else { return };
            for (reg, _) in one.operands[..one.written].iter().flat_map(operand_units) {
                let Some(home) = homes.get(&reg) else { continue };
                if one.guard.is_none() {
                    of_home[home]
                        .iter()
                        .for_each(|&write| state[write as usize / 64] &= !(1 << (write % 64)));
                }
                let number = numbers[&(*home, event)];
                state[number / 64] |= 1 << (number % 64);
            }
        };
        let either = |a: &Vec<u64>, b: &Vec<u64>| a.iter().zip(b).map(|(a, b)| a | b).collect();
        let forwards = Forwards { code, blocks, enter: &|_, _| (), step: &step, meet: &either };
        forwards.in_front(&vec![0; words], |one, state| {
            if let Some(event) = event(one) {
                self.reaching.entry(event).or_insert_with(|| state.clone());
            }
        });
    }

    /// Events that do nothing but copy one register to another, and in front of which events both still are the same.
    fn find_copies(&mut self, code: &Code, notes: &Notes, blocks: &[Block], homes: &HashMap<Reg, u32>) {
        let mut of_event: HashMap<Event, Option<Copies>> = HashMap::default();
        for line in &code.lines {
            let Line::Instruction(one) = line else { continue };
            let Some(event) = event(one) else { continue };
            let copied = || {
                let ((to, part), (from, same)) = one.copied()?;
                let (to, from) = (*homes.get(&to)?, *homes.get(&from)?);
                (part == same && to != from).then_some((to, from, part))
            };
            let all = of_event.entry(event).or_insert_with(|| Some(Vec::new()));
            match (all.as_mut(), copied()) {
                (Some(all), Some(copy)) => all.push(copy),
                _ => *all = None,
            }
        }
        let width = |home: u32| {
            let (.., reg) = notes.registers[home as usize];
            code.registers[reg.0 as usize].class.width()
        };
        let mut pairs: Vec<(Event, u32, u32)> = Vec::new();
        for (event, parts) in of_event {
            let Some(&[(to, from, _), ..]) = parts.as_deref() else { continue };
            let parts = parts.unwrap_or_default();
            let one = parts.iter().all(|copy| (copy.0, copy.1) == (to, from));
            if one && parts.len() == usize::from(width(to)) && width(to) == width(from) {
                pairs.push((event, to, from));
            }
        }
        pairs.sort_unstable();
        let numbers: HashMap<(u32, Event), u32> = self.writes.iter().copied().zip(0..).collect();
        for (event, to, from) in &pairs {
            self.copied.extend(numbers.get(&(*to, *event)).map(|write| (*write, *from)));
        }
        let made: HashMap<Event, usize> =
            pairs.iter().zip(0..).map(|((event, ..), pair)| (*event, pair)).collect();
        let mut broken: HashMap<u32, Vec<usize>> = HashMap::default();
        for (pair, (_, to, from)) in pairs.iter().enumerate() {
            broken.entry(*to).or_default().push(pair);
            broken.entry(*from).or_default().push(pair);
        }
        let words = pairs.len().div_ceil(64);
        let step = |one: &Instruction, state: &mut Vec<u64>| {
            for (reg, _) in one.operands[..one.written].iter().flat_map(operand_units) {
                for pair in homes.get(&reg).and_then(|home| broken.get(home)).into_iter().flatten() {
                    state[pair / 64] &= !(1 << (pair % 64));
                }
            }
            if let Some(pair) = event(one).and_then(|event| made.get(&event)) {
                state[pair / 64] |= 1 << (pair % 64);
            }
        };
        let both = |a: &Vec<u64>, b: &Vec<u64>| a.iter().zip(b).map(|(a, b)| a & b).collect();
        let forwards = Forwards { code, blocks, enter: &|_, _| (), step: &step, meet: &both };
        forwards.in_front(&vec![0; words], |one, state| {
            let Some(event) = event(one) else { return };
            self.copies.entry(event).or_insert_with(|| {
                let holds = |pair: &usize| state[pair / 64] >> (pair % 64) & 1 == 1;
                let all = (0..pairs.len()).filter(holds);
                all.map(|pair| (pairs[pair].1, pairs[pair].2)).collect()
            });
        });
    }

    fn find_straight(&mut self, code: &Code, notes: &Notes) {
        let mut last = None;
        for line in &code.lines {
            match line {
                Line::Label(_) => {
                    // What is behind a label within an event is not behind its first instruction alone.
                    last = last.map(|(event, _)| (event, true));
                }
                Line::Instruction(one) => {
                    let event = event(one);
                    let again = matches!(last, Some((before, true)) if before == event);
                    if let Some(event) = event {
                        let seen = self.straight.contains_key(&event)
                            && last.is_none_or(|(it, _)| it != Some(event));
                        let straight = self.straight.entry(event).or_insert(true);
                        *straight &= !again && !seen;
                    }
                    last = Some((event, false));
                }
            }
        }
        for site in notes.calls.iter().filter_map(|call| call.site) {
            self.straight.insert(site, false);
        }
    }
}

/// The parts of registers of PTX that are written: which, by which event, and whether under a guard.
fn all_writes<'a>(
    code: &'a Code,
    homes: &'a HashMap<Reg, u32>,
) -> impl Iterator<Item = (u32, Event, u8, bool)> + 'a {
    code.lines.iter().flat_map(move |line| {
        let one = match line {
            Line::Instruction(one) => Some(one),
            Line::Label(_) => None,
        };
        one.into_iter().flat_map(move |one| {
            let written = one.operands[..one.written].iter().flat_map(operand_units);
            written.filter_map(move |(reg, part)| {
                let is_general = !matches!(code.registers[reg.0 as usize].class, Class::Uniform(_));
                let home = homes.get(&reg).filter(|_| is_general)?;
                Some((*home, event(one)?, part, one.guard.is_some()))
            })
        })
    })
}
