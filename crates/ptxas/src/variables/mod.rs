//! Where finished code has what PTX has: found forwards, by which registers and places in the frame still hold what was written there for
//! a register of PTX. It is said of an instruction only if that is so on every way to it, and if nothing has been written there for the
//! instruction of PTX that it belongs to: within that, a result may be half there.

mod optimised;
mod reference;

use crate::allocate::{Allocation, Block, blocks, operand_units};
use crate::code::{Class, Code, Instruction, Line, Notes, Reg};
use crate::emit::Kernel;
use crate::layout::Layout;
use crate::opcode::Kind;
use crate::schedule::Level;
use debug_info::Origin;
use debug_info::machine_code::variables::{Hardware, Home, Kept, Variables};
use ptx::module::{Module, VarId};
use ptx::types::StateSpace;
pub(crate) use reference::Reference;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// What is known of a kernel's variables. `starts`: by lines of its code, how many machine instructions there are in front.
pub(crate) fn of(module: &Module, kernel: &Kernel<'_>, level: Level, starts: &[u32]) -> Option<Variables> {
    let notes = kernel.code.notes.as_ref()?;
    let first_routine = kernel.code.lines.iter().position(|line| kernel.code.is_routine(line));
    let mut homes = places(module, &kernel.layout);
    let kernels_own = |call: u32| {
        let site = |call: &u32| notes.calls[*call as usize].site.map(|(outer, _)| outer);
        std::iter::successors(Some(call), site).last() == Some(0)
    };
    for &(call, variable, at) in notes.locals.iter().filter(|(call, ..)| kernels_own(*call)) {
        homes.insert((call, variable), Home::Frame(at));
    }
    let (code, allocation) = (&kernel.code, &kernel.allocation);
    let (kept, settled) = match level {
        Level::Serial => {
            let registers = Registers::new(code, allocation, notes, &kernels_own);
            (registers.kept(code, starts), None)
        }
        Level::Overlapped => {
            let found = optimised::find(code, allocation, notes, starts, &kernels_own);
            (found.kept, Some(found.settled))
        }
    };
    Some(Variables {
        calls: notes.calls.clone(),
        kept,
        settled,
        homes: homes.into_iter().collect(),
        own: first_routine.map_or(starts[kernel.code.lines.len()], |line| starts[line]),
        frame: kernel.frames.first().copied().unwrap_or(0),
    })
}

/// Where variables are that have an address beside the frame.
fn places(module: &Module, layout: &Layout) -> HashMap<(u32, VarId), Home> {
    let mut homes = HashMap::default();
    for (index, variable) in module.variables.iter().enumerate() {
        let id = VarId(index as u32);
        let home = match variable.space {
            StateSpace::Shared => {
                let placed = layout.shared(id).filter(|_| !layout.relocatable);
                placed.map(|offset| Home::Shared(offset + u64::from(layout.target.system_shared)))
            }
            StateSpace::Const => layout.constant(id).map(|_| Home::Symbol),
            StateSpace::Global => layout.symbol(id).map(|_| Home::Symbol),
            _ => layout
                .parameter(id)
                .map(|offset| Home::Parameter(offset + u64::from(layout.target.parameters))),
        };
        homes.extend(home.map(|home| ((0, id), home)));
    }
    homes
}

/// Something that is known in front of each block, found by going forwards until nothing changes.
struct Forwards<'a, S> {
    code: &'a Code,
    blocks: &'a [Block],
    /// What changes as a block is entered.
    enter: &'a dyn Fn(&Block, &mut S),
    /// What changes by an instruction.
    step: &'a dyn Fn(&Instruction, &mut S),
    /// What is known where two ways meet.
    meet: &'a dyn Fn(&S, &S) -> S,
}

impl<S: Clone + PartialEq> Forwards<'_, S> {
    /// What is known of the kernel and of routines as they begin leads to what is known elsewhere; nothing of what nobody reaches.
    fn solve(&self, begin: &S) -> Vec<Option<S>> {
        let mut before: Vec<Option<S>> = vec![None; self.blocks.len()];
        let begins = |index: &usize| {
            let first = self.code.lines.get(self.blocks[*index].lines.start);
            *index == 0 || first.is_some_and(|line| self.code.is_routine(line))
        };
        let mut pending: Vec<usize> = (0..self.blocks.len()).filter(begins).collect();
        pending.iter().for_each(|&index| before[index] = Some(begin.clone()));
        while let Some(index) = pending.pop() {
            let Some(mut state) = before[index].clone() else { continue };
            for line in &self.code.lines[self.blocks[index].lines.clone()] {
                if let Line::Instruction(one) = line {
                    (self.step)(one, &mut state);
                }
            }
            for &next in &self.blocks[index].successors {
                let mut state = state.clone();
                (self.enter)(&self.blocks[next], &mut state);
                let merged = match &before[next] {
                    None => state,
                    Some(known) => (self.meet)(known, &state),
                };
                if before[next].as_ref() != Some(&merged) {
                    before[next] = Some(merged);
                    pending.push(next);
                }
            }
        }
        before
    }

    /// Looks at each instruction that somebody reaches, with what is known in front of it.
    fn in_front(&self, begin: &S, mut look: impl FnMut(&Instruction, &S)) {
        for (block, state) in self.blocks.iter().zip(self.solve(begin)) {
            let Some(mut state) = state else { continue };
            for line in &self.code.lines[block.lines.clone()] {
                let Line::Instruction(one) = line else { continue };
                look(one, &state);
                (self.step)(one, &mut state);
            }
        }
    }
}

/// The registers of PTX, and where each part of them has its places: in a register, or in the frame.
struct Registers {
    /// Parts of registers: which, and of which register of the code.
    parts: Vec<(Reg, Kept)>,
    /// Where each part is, if it is there.
    places: Vec<Hardware>,
    /// The parts that are at a place.
    at: HashMap<Hardware, Vec<usize>>,
    /// The parts of a register of the code that are in registers, and those that are in the frame.
    of: HashMap<Reg, Vec<usize>>,
    /// Places of registers of the code.
    allocation: HashMap<(Reg, u8), Hardware>,
}

/// What is known in front of a line.
#[derive(Clone, PartialEq)]
struct State {
    /// Which parts are at their places.
    intact: Set,
    /// Which have been written for `origin`.
    begun: Set,
    /// What the instruction before was for; nothing known, if there are several.
    origin: Option<Option<Origin>>,
}

/// A set of parts.
type Set = Vec<u64>;

fn insert(set: &mut Set, part: usize, is_in: bool) {
    let bit = 1 << (part % 64);
    match is_in {
        true => set[part / 64] |= bit,
        false => set[part / 64] &= !bit,
    }
}

impl State {
    /// What is known where two ways meet.
    fn meet(&self, other: &Self) -> Self {
        let of =
            |a: &Set, b: &Set, how: fn(u64, u64) -> u64| a.iter().zip(b).map(|(a, b)| how(*a, *b)).collect();
        Self {
            intact: of(&self.intact, &other.intact, |a, b| a & b),
            begun: of(&self.begun, &other.begun, |a, b| a | b),
            origin: self.origin.filter(|origin| other.origin == Some(*origin)),
        }
    }

    /// The next instruction is for this.
    fn goes_on(&mut self, origin: Option<Origin>) {
        if self.origin.is_some_and(|before| before != origin) {
            self.begun.fill(0);
        }
        self.origin = Some(origin);
    }
}

impl Registers {
    fn new(code: &Code, allocation: &Allocation, notes: &Notes, wanted: &dyn Fn(u32) -> bool) -> Self {
        let place = |reg: Reg, part: u8| match code.registers[reg.0 as usize].class {
            Class::General(_) => Hardware::General(allocation.of(reg) + u32::from(part)),
            Class::Predicate => Hardware::Predicate(allocation.of(reg)),
            Class::Uniform(_) => Hardware::Uniform(allocation.of(reg) + u32::from(part)),
        };
        let slots: HashMap<Reg, u64> = notes.slots.iter().copied().collect();
        let mut found = Self {
            parts: Vec::new(),
            places: Vec::new(),
            at: HashMap::default(),
            of: HashMap::default(),
            allocation: HashMap::default(),
        };
        // Where a register is nowhere in the code, its place says nothing.
        let named: HashSet<(Reg, u8)> = code
            .lines
            .iter()
            .filter_map(|line| match line {
                Line::Instruction(one) => Some(&one.operands[..one.written]),
                Line::Label(_) => None,
            })
            .flatten()
            .flat_map(operand_units)
            .collect();
        found.allocation = named.iter().map(|&(reg, part)| ((reg, part), place(reg, part))).collect();
        let mut registers: Vec<_> = notes.registers.iter().filter(|(call, ..)| wanted(*call)).collect();
        registers.sort_unstable_by_key(|(call, id, reg)| (*call, id.0, reg.0));
        for &&(call, register, reg) in &registers {
            for part in 0..code.registers[reg.0 as usize].class.width() {
                let place = match slots.get(&reg) {
                    Some(at) => Hardware::Frame(*at as u32 + 4 * u32::from(part)),
                    None if named.contains(&(reg, part)) => place(reg, part),
                    None => continue,
                };
                let index = found.parts.len();
                let kept = Kept { call, register, part: part.into(), place, instructions: 0..0 };
                found.parts.push((reg, kept));
                found.places.push(place);
                found.at.entry(place).or_default().push(index);
                found.of.entry(reg).or_default().push(index);
            }
        }
        found
    }

    /// What is known behind an instruction.
    fn step(&self, one: &Instruction, state: &mut State) {
        state.goes_on(one.origin);
        if one.name.kind() == Kind::Call {
            // What the callee does with registers is its own affair.
            for (index, place) in self.places.iter().enumerate() {
                if !matches!(place, Hardware::Frame(_)) {
                    insert(&mut state.intact, index, false);
                }
            }
        }
        let mut write = |reg: Reg, place: Hardware| {
            for &index in self.at.get(&place).into_iter().flatten() {
                match self.parts[index].0 == reg {
                    true => {
                        // Without its guard holding, what was there stays there.
                        if one.guard.is_none() {
                            insert(&mut state.intact, index, true);
                        }
                        insert(&mut state.begun, index, true);
                    }
                    false => insert(&mut state.intact, index, false),
                }
            }
        };
        for (reg, part) in one.operands[..one.written].iter().flat_map(operand_units) {
            write(reg, self.allocation[&(reg, part)]);
        }
        if let Some((reg, first, count)) = one.spills.filter(|_| one.written == 0) {
            // A place may be that of several registers, one after the other.
            let own = self.of.get(&reg).into_iter().flatten().map(|&index| &self.parts[index].1);
            let stored = own.filter(|kept| (first..first + count).contains(&(kept.part as u8)));
            stored.for_each(|kept| write(reg, kept.place));
        }
    }

    /// What is known in front of each block.
    fn solve(&self, code: &Code, blocks: &[Block]) -> Vec<Option<State>> {
        let words = self.parts.len().div_ceil(64);
        let nothing = State { intact: vec![0; words], begun: vec![0; words], origin: Some(None) };
        // What has been begun is done where something else begins.
        let enter = |block: &Block, state: &mut State| {
            let mut lines = code.lines[block.lines.clone()].iter();
            let first = lines.find_map(|line| match line {
                Line::Instruction(one) => Some(one.origin),
                Line::Label(_) => None,
            });
            first.into_iter().for_each(|origin| state.goes_on(origin));
        };
        let (step, meet) = (|one: &Instruction, state: &mut State| self.step(one, state), State::meet);
        Forwards { code, blocks, enter: &enter, step: &step, meet: &meet }.solve(&nothing)
    }

    /// Where registers are in front of machine instructions.
    fn kept(&self, code: &Code, starts: &[u32]) -> Vec<Kept> {
        let blocks = blocks(code);
        let before = self.solve(code, &blocks);
        let words = self.parts.len().div_ceil(64);
        let mut kept = Vec::new();
        // Since when a part is where it is, and the last instruction in front of which it is.
        let mut since: Vec<Option<(u32, u32)>> = vec![None; self.parts.len()];
        let mut close = |part: usize, open: &mut Option<(u32, u32)>| {
            if let Some((first, last)) = open.take() {
                kept.push(Kept { instructions: first..last + 1, ..self.parts[part].1.clone() });
            }
        };
        for (block, state) in blocks.iter().zip(&before) {
            let mut state = state.clone();
            for at in block.lines.clone() {
                let Line::Instruction(one) = &code.lines[at] else { continue };
                let there = match &mut state {
                    Some(state) => {
                        state.goes_on(one.origin);
                        self.whole(state)
                    }
                    None => vec![0; words],
                };
                for (part, open) in since.iter_mut().enumerate() {
                    match (there[part / 64] >> (part % 64) & 1 == 1, &mut *open) {
                        (true, Some((_, last))) => *last = starts[at],
                        (true, None) => *open = Some((starts[at], starts[at])),
                        (false, _) => close(part, open),
                    }
                }
                state.iter_mut().for_each(|state| self.step(one, state));
            }
        }
        since.iter_mut().enumerate().for_each(|(part, open)| close(part, open));
        kept.sort_by_key(|kept| (kept.place, kept.instructions.start, kept.call, kept.register.0));
        kept
    }

    /// The parts of those registers of which all is there.
    fn whole(&self, state: &State) -> Set {
        let mut there: Set = state.intact.iter().zip(&state.begun).map(|(a, b)| a & !b).collect();
        let mut at = 0;
        while at < self.parts.len() {
            let reg = self.parts[at].0;
            let end = at + self.parts[at..].iter().take_while(|(other, _)| *other == reg).count();
            if (at..end).any(|part| there[part / 64] >> (part % 64) & 1 == 0) {
                (at..end).for_each(|part| insert(&mut there, part, false));
            }
            at = end;
        }
        there
    }
}
