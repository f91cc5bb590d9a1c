//! What selected code says of the registers of PTX before anything is optimised: which instructions of PTX write each, which of these
//! writes may be the last one in front of an instruction, and which machine instruction carries out which write.

use crate::allocate::{Block, blocks, operand_units};
use crate::code::{Class, Code, Instruction, Line, Notes, Operand, Reg};
use rustc_hash::FxHashMap as HashMap;

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
        code.notes = Some(notes);
        found
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

    /// Where an instruction was then.
    pub(super) fn place(&self, one: &Instruction) -> Option<u32> {
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

    /// What is written once by an event is its result; of what is written several times nobody knows which is.
    fn mark(&mut self, code: &Code, homes: &HashMap<Reg, u32>) {
        let numbers: HashMap<(u32, Event), u32> = self.writes.iter().copied().zip(0..).collect();
        let mut times: HashMap<(u32, Event, u8), u32> = HashMap::default();
        for (home, event, part, _) in all_writes(code, homes) {
            *times.entry((home, event, part)).or_default() += 1;
        }
        for line in &code.lines {
            let Line::Instruction(one) = line else { continue };
            let mark = || {
                let Operand::General { reg, part, width, .. } = *one.operands.first()? else { return None };
                let (home, event) = (*homes.get(&reg)?, event(one)?);
                // Products go on beside the threads.
                let is_known = one.written > 0 && !one.name.head().ends_with("GMMA");
                let once = (part..part + width).all(|part| times.get(&(home, event, part)) == Some(&1));
                (is_known && once).then(|| Mark { home, part, width, write: numbers[&(home, event)] })
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
        let mut before: Vec<Option<Vec<u64>>> = vec![None; blocks.len()];
        let begins = |index: &usize| {
            let first = code.lines.get(blocks[*index].lines.start);
            *index == 0 || first.is_some_and(|line| code.is_routine(line))
        };
        let mut pending: Vec<usize> = (0..blocks.len()).filter(begins).collect();
        pending.iter().for_each(|&index| before[index] = Some(vec![0; words]));
        while let Some(index) = pending.pop() {
            let Some(mut state) = before[index].clone() else { continue };
            for line in &code.lines[blocks[index].lines.clone()] {
                if let Line::Instruction(one) = line {
                    step(one, &mut state);
                }
            }
            for &next in &blocks[index].successors {
                let mut changed = before[next].is_none();
                let known = before[next].get_or_insert_with(|| vec![0; words]);
                for (known, new) in known.iter_mut().zip(&state) {
                    changed |= *known | new != *known;
                    *known |= new;
                }
                if changed {
                    pending.push(next);
                }
            }
        }
        for (block, state) in blocks.iter().zip(before) {
            let Some(mut state) = state else { continue };
            for line in &code.lines[block.lines.clone()] {
                let Line::Instruction(one) = line else { continue };
                if let Some(event) = event(one) {
                    self.reaching.entry(event).or_insert_with(|| state.clone());
                }
                step(one, &mut state);
            }
        }
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
