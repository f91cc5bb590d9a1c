//! Dependences that control codes break: a register read before it is written, or written before it is read.
//!
//! The hardware checks nothing. An instruction of fixed latency is followed by a count of cycles; one of variable
//! latency names a scoreboard, and who depends on it waits for that. A [`State`] keeps how long ago each register was written
//! and which registers each scoreboard still guards: along every path, for whoever reads code; along the one that is
//! taken, for whoever executes it.
//!
//! What ptxas relies on, and what therefore is no mistake:
//! - A guard and uniform registers are read when the instruction is issued, so no scoreboard guards them.
//! - A unit ends its instructions in their order: one without a scoreboard is guarded by that of a later one.
//! - Units of one queue, such as those of all accesses to memory, take operands in their order: a load need not wait for
//!   the operands of the store before it.
//! - Who waits for a result need not wait for the operands of the same instruction.
//! - Of two instructions with opposite guards a thread carries out one.
//! - An operand that is kept need not be taken by the next instruction; and who takes it may have a guard.

use crate::effects::{Effects, Register, Registers};
use crate::latency::{Class, Consumer, Facts, Latencies};
use crate::pending::{Access, Guard, Kept, Pending};
pub use crate::pending::{BANKS, BOARDS, State};
use crate::{Control, Flow, Instruction, Name, Operand};
use rustc_hash::FxHashMap as HashMap;
use smallvec::SmallVec;

/// A broken dependence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The instruction that comes too early.
    pub offset: u64,
    /// The one that it depends on.
    pub on: u64,
    /// Which register, and what is missing.
    pub message: String,
}

/// An instruction that is issued, with all that its place in time depends on.
#[derive(Clone, Debug)]
pub struct Issue {
    /// What it reads and writes.
    pub effects: Effects,
    /// Which latency its results have, if that has been measured.
    pub class: Option<Class>,
    /// Its control code.
    pub control: Control,
    access: Access,
    /// How much later it reads the upper half of an addend.
    late: u32,
    /// The scoreboards that it waits for, and how many instructions may still hold each.
    waits: SmallVec<[(usize, usize); 2]>,
    /// The registers that it takes through the places for kept operands, and whether it keeps them.
    slots: SmallVec<[(usize, Register, bool); 4]>,
    /// Whether control may go elsewhere, or lanes wait for one another.
    turns: bool,
    /// Whether its result may go without a scoreboard.
    lenient: bool,
    /// A predicate among its operands is read as a guard is.
    asks: bool,
    /// Cycles to a result of variable latency, at least.
    takes: u32,
    /// What is written two cycles later than the rest, as the upper half of a product.
    upper: Registers,
    /// What it asks to be kept for the next one.
    kept: Registers,
}

/// What a table says of the mnemonics of some code. They are few, and each is asked for only once.
#[derive(Debug)]
pub struct Reader<'a> {
    latencies: &'a Latencies,
    known: HashMap<String, Facts>,
    spelled: String,
}

impl<'a> Reader<'a> {
    /// Of which nothing has been asked yet.
    pub fn new(latencies: &'a Latencies) -> Self {
        Self { latencies, known: HashMap::default(), spelled: String::new() }
    }

    fn facts(&mut self, instruction: &Instruction) -> Facts {
        self.spelled.clear();
        instruction.spell(&mut self.spelled);
        if let Some(&facts) = self.known.get(self.spelled.as_str()) {
            return facts;
        }
        let facts = self.latencies.facts(&self.spelled);
        self.known.insert(self.spelled.clone(), facts);
        facts
    }

    /// What there is to know of an instruction at this offset.
    pub fn issue(&mut self, instruction: &Instruction, offset: u64) -> Issue {
        Issue::with(instruction, offset, self.facts(instruction))
    }
}

impl Issue {
    /// What there is to know of an instruction at this offset.
    pub fn of(instruction: &Instruction, offset: u64, latencies: &Latencies) -> Self {
        Reader::new(latencies).issue(instruction, offset)
    }

    fn with(instruction: &Instruction, offset: u64, facts: Facts) -> Self {
        let operands: SmallVec<[Operand; 8]> = instruction.operands().collect();
        let control = instruction.control();
        let class = facts.class;
        let unit = match class {
            Some(Class::Variable(unit)) => Some(unit),
            Some(Class::Fixed(_)) | None => None,
        };
        let masked = (0..BOARDS).filter(|board| control.wait_mask >> board & 1 == 1);
        let mut waits: SmallVec<[(usize, usize); 2]> = masked.map(|board| (board, 0)).collect();
        if instruction.flow() == Flow::Wait {
            let mut text = String::new();
            instruction.print(offset, &mut text);
            let left = text.rsplit_once("0x").and_then(|(_, digits)| usize::from_str_radix(digits, 16).ok());
            waits.extend(operands.iter().filter_map(|operand| match operand.name {
                Name::Scoreboard(board) => Some((usize::from(board), left.unwrap_or(0))),
                _ => None,
            }));
            waits.retain(|it| it.0 < BOARDS);
        }
        let slots = operands.iter().filter_map(|operand| {
            Some((usize::from(operand.slot?), Register::named(operand.name)?, operand.reused))
        });
        let slots = slots.filter(|&(_, register, _)| matches!(register, Register::Vector(_))).collect();
        let turns = instruction.flow() != Flow::Next && instruction.flow() != Flow::Wait || facts.turns;
        let halves = operands.iter().filter(|it| it.access != crate::Access::Read && it.count == 2);
        let upper = if facts.has_late_half {
            halves.flat_map(|it| it.names().skip(1)).filter_map(Register::named).collect()
        } else {
            Registers::default()
        };
        let ends = board(control.write_scoreboard);
        Self {
            effects: Effects::of_operands(&operands),
            class,
            control,
            access: Access { offset, guard: guard(instruction), unit, ends },
            late: facts.late,
            waits,
            slots,
            turns,
            lenient: facts.may_be_unguarded,
            asks: facts.asks,
            takes: facts.takes,
            upper,
            kept: Effects::reused(&operands),
        }
    }

    /// The scoreboards that it waits for, and how many instructions may still hold each.
    pub fn waits(&self) -> &[(usize, usize)] {
        &self.waits
    }

    /// The registers that it takes through the places for kept operands: the place, the register, whether it is kept there.
    pub fn slots(&self) -> &[(usize, Register, bool)] {
        &self.slots
    }

    /// Whether control may go elsewhere behind it, or lanes wait for one another.
    pub fn turns(&self) -> bool {
        self.turns
    }

    /// Cycles from its issue to a result of variable latency, as few as there can be.
    pub fn takes(&self) -> u32 {
        self.takes
    }

    /// How much later than its other results it writes a register.
    pub fn written_late(&self, register: Register) -> u32 {
        if self.upper.contains(register) { 2 } else { 0 }
    }

    /// Who reads a register, if this instruction does.
    pub fn consumer(&self, register: Register) -> Consumer {
        match register {
            _ if self.is_guard(register) => Consumer::Guard,
            Register::Predicate(_) if self.asks => Consumer::Guard,
            Register::Predicate(_) | Register::UniformPredicate(_) => Consumer::Predicate(self.class),
            Register::Vector(_) | Register::Uniform(_) => Consumer::Class(self.class),
        }
    }

    /// How much later than its other operands it reads a register.
    pub fn late(&self, register: Register) -> u32 {
        if self.effects.late.contains(register) { self.late } else { 0 }
    }

    /// Issues it: says which dependences that breaks, and notes what is under way from now on.
    pub fn issue(&self, state: &mut State, latencies: &Latencies, report: &mut impl FnMut(Hazard)) {
        // It may wait until few enough are left; which those are depends on the order in which they end.
        state.wait(self.waits.iter().map(|&(board, _)| board));
        self.reads(state, latencies, report);
        self.writes(state, report);
        self.takes_kept(state, report);
        for register in self.kept.iter().filter(|&register| self.effects.writes.contains(register)) {
            let message = format!("{register} is kept for the next instruction, but this one writes it");
            report(Hazard { offset: self.access.offset, on: self.access.offset, message });
        }
        self.apply(state);
    }

    /// Says what is wrong, unless one of the two instructions is not carried out.
    fn say(&self, other: Access, report: &mut impl FnMut(Hazard), message: impl FnOnce() -> String) {
        if !self.access.excludes(other) {
            report(Hazard { offset: self.access.offset, on: other.offset, message: message() });
        }
    }

    fn is_guard(&self, register: Register) -> bool {
        self.access.guard.is_some_and(|guard| guard.register == register)
    }

    fn reads(&self, state: &State, latencies: &Latencies, report: &mut impl FnMut(Hazard)) {
        for register in self.effects.reads.iter() {
            let (consumer, late) = (self.consumer(register), self.late(register));
            if let Some(pending) = state.results.get(register)
                && let Some(cycles) = latencies.cycles(pending.class, consumer)
                && pending.age + late < cycles
            {
                self.say(pending.access, report, || {
                    let age = count(pending.age);
                    let (takes, more) = (cycles - late, cycles - late - pending.age);
                    format!(
                        "{register} is read {age} after it was written, which takes {takes}: {} more",
                        count(more)
                    )
                });
            }
            for (board, writes) in state.writes.iter().enumerate() {
                if let Some(other) = writes.get(register) {
                    self.say(other, report, || {
                        format!("{register} is read without waiting for scoreboard {board}, which guards it")
                    });
                }
            }
            if let Some(other) = state.unguarded.get(register) {
                self.say(other, report, || {
                    format!("{register} is read, but the instruction that writes it sets no scoreboard")
                });
            }
        }
    }

    fn writes(&self, state: &State, report: &mut impl FnMut(Hazard)) {
        for register in self.effects.writes.iter() {
            for board in 0..BOARDS {
                if let Some(other) = state.writes[board].get(register)
                    && !self.access.in_order_with(other)
                {
                    self.say(other, report, || {
                        format!(
                            "{register} is written without waiting for scoreboard {board}, whose instruction writes it too"
                        )
                    });
                }
                if let Some(other) = state.reads[board].get(register)
                    && !self.access.queued_with(other)
                {
                    self.say(other, report, || {
                        format!(
                            "{register} is written without waiting for scoreboard {board}, whose instruction still reads it"
                        )
                    });
                }
            }
        }
    }

    /// What was kept is taken by who reads the same register through the same place, and goes for another one of its bank. What the next instruction does not
    /// take stays for a later one: on purpose, or because it comes through another place there, and then the register may have been written by then.
    fn takes_kept(&self, state: &mut State, report: &mut impl FnMut(Hazard)) {
        for kept in &mut state.kept {
            let register = Register::Vector(kept.register);
            let is_taken = self.slots.iter().any(|it| it.0 == kept.place && it.1 == register);
            if kept.is_old && is_taken {
                self.say(kept.by, report, || {
                    format!("{register} is taken as it was kept, but has been written since")
                });
            }
            kept.is_old |= self.effects.writes.contains(register);
        }
        for &(place, register, keeps) in &self.slots {
            let Register::Vector(number) = register else { continue };
            state.kept.retain(|kept| !kept.makes_room(place, number));
            if keeps {
                let by = self.access;
                state.kept.push(Kept { place, register: number, by, is_old: false });
            }
        }
        if self.turns {
            state.kept.clear();
        }
    }

    fn apply(&self, state: &mut State) {
        let Self { access, control, effects, .. } = self;
        let fixed = self.class.filter(|class| matches!(class, Class::Fixed(_)));
        let fixed = fixed.filter(|_| control.write_scoreboard.is_none());
        let result = fixed.map(|class| Pending { class, age: 0, access: *access });
        state.write(effects.writes, result);
        let accesses = effects.writes.iter().map(|register| (register, *access));
        match access.ends {
            Some(board) => {
                state.writes[board].extend(accesses);
                let State { writes, unguarded, .. } = state;
                unguarded.retain(|register, earlier| {
                    let ends_before = earlier.in_order_with(*access);
                    if ends_before {
                        writes[board].insert(register, *earlier);
                    }
                    !ends_before
                });
            }
            None if access.unit.is_some() && !self.lenient => state.unguarded.extend(accesses),
            None => {}
        }
        if let Some(board) = board(control.read_scoreboard) {
            let at_issue = |register| matches!(register, Register::Uniform(_)) || self.is_guard(register);
            let reads = effects.reads.iter().filter(|&register| !at_issue(register));
            state.reads[board].extend(reads.map(|register| (register, *access)));
        }
        state.pass(control.stall);
    }
}

/// A scoreboard that the hardware has.
fn board(number: Option<u8>) -> Option<usize> {
    number.map(usize::from).filter(|&number| number < BOARDS)
}

fn count(cycles: u32) -> String {
    if cycles == 1 { "1 cycle".to_owned() } else { format!("{cycles} cycles") }
}

/// The guard of an instruction.
fn guard(instruction: &Instruction) -> Option<Guard> {
    let guard = instruction.guard()?;
    Some(Guard { register: Register::named(guard.name?)?, negated: guard.negated })
}
