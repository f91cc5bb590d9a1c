//! Dependences that control codes break: a register read before it is written, or written before it is read.
//!
//! The hardware checks nothing. An instruction of fixed latency is followed by a count of cycles; one of variable
//! latency names a scoreboard, and who depends on it waits for that. The walk below keeps, along every path, how long ago
//! each register was written and which registers each scoreboard still guards.
//!
//! What ptxas relies on, and what therefore is no mistake:
//! - A guard and uniform registers are read when the instruction is issued, so no scoreboard guards them.
//! - A unit ends its instructions in their order: one without a scoreboard is guarded by that of a later one.
//! - Units of one queue, such as those of all accesses to memory, take operands in their order: a load need not wait for
//!   the operands of the store before it.
//! - Who waits for a result need not wait for the operands of the same instruction.
//! - Of two instructions with opposite guards a thread carries out one.

use super::effects::{Effects, Register};
use super::graph::{Graph, Step};
use super::latency::{Class, Consumer, Latencies};
use super::pending::{Access, BOARDS, Guard, Pending, State};
use sass::{Control, Flow, Instruction, Name};

/// A broken dependence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hazard {
    /// The instruction that comes too early.
    pub(crate) offset: u64,
    /// The one that it depends on.
    pub(crate) on: u64,
    pub(crate) message: String,
}

/// The broken dependences of a function.
pub(crate) fn hazards(graph: &Graph, latencies: &Latencies) -> Vec<Hazard> {
    let mut entries: Vec<Option<State>> = vec![None; graph.blocks.len()];
    if let Some(first) = entries.first_mut() {
        *first = Some(State::default());
    }
    let mut work: Vec<usize> = (0..graph.blocks.len()).rev().collect();
    let mut waiting = vec![true; graph.blocks.len()];
    // Each block's state only grows, and ages only fall.
    while let Some(number) = work.pop() {
        waiting[number] = false;
        let mut state = entries[number].clone().unwrap_or_default();
        for step in &graph.steps[graph.blocks[number].steps.clone()] {
            self::step(step, latencies, &mut state, &mut |_| {});
        }
        for &next in &graph.blocks[number].next {
            let changed = match &mut entries[next] {
                Some(entry) => entry.join(&state),
                empty => {
                    *empty = Some(state.clone());
                    true
                }
            };
            if changed && !std::mem::replace(&mut waiting[next], true) {
                work.push(next);
            }
        }
    }
    let mut found = Vec::new();
    for (number, block) in graph.blocks.iter().enumerate() {
        let mut state = entries[number].clone().unwrap_or_default();
        for step in &graph.steps[block.steps.clone()] {
            self::step(step, latencies, &mut state, &mut |hazard| found.push(hazard));
        }
    }
    found
}

/// Goes over an instruction.
fn step(step: &Step, latencies: &Latencies, state: &mut State, report: &mut impl FnMut(Hazard)) {
    let control = Control::of(step.word);
    let (Some(instruction), Some(text)) = (&step.instruction, step.text()) else {
        // Nobody knows what it does.
        *state = State::default();
        return;
    };
    let head = Instruction::head(&text);
    state.wait((0..BOARDS).filter(|board| control.wait_mask >> board & 1 == 1));
    if instruction.flow() == Flow::Wait {
        // It waits until few enough are left; which those are depends on the order in which they end.
        state.wait(instruction.operands().filter_map(|operand| match operand.name {
            Name::Scoreboard(board) => Some(usize::from(board)).filter(|&board| board < BOARDS),
            _ => None,
        }));
    }
    let class = latencies.class(head);
    let unit = match class {
        Some(Class::Variable(unit)) => Some(unit),
        _ => None,
    };
    let issue = Issue {
        access: Access {
            offset: step.offset,
            guard: guard(instruction),
            unit,
            ends: board(control.write_scoreboard),
        },
        class,
        effects: Effects::of(instruction),
        late: latencies.late(head),
        control,
    };
    issue.reads(state, latencies, report);
    issue.writes(state, report);
    for register in
        Effects::reused(instruction).iter().filter(|&register| issue.effects.writes.contains(register))
    {
        let message = format!("{register} is kept for the next instruction, but this one writes it");
        report(Hazard { offset: step.offset, on: step.offset, message });
    }
    issue.apply(state);
}

/// An instruction that is issued.
struct Issue {
    access: Access,
    class: Option<Class>,
    effects: Effects,
    /// How much later it reads the upper half of an addend.
    late: u32,
    control: Control,
}

impl Issue {
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
            let consumer = match register {
                _ if self.is_guard(register) => Consumer::Guard,
                Register::Predicate(_) | Register::UniformPredicate(_) => Consumer::Predicate(self.class),
                _ => Consumer::Class(self.class),
            };
            let late = if self.effects.late.contains(register) { self.late } else { 0 };
            if let Some(pending) = state.results.get(&register)
                && let Some(cycles) = latencies.cycles(pending.class, consumer)
                && pending.age + late < cycles
            {
                self.say(pending.access, report, || {
                    let age = count(pending.age);
                    format!("{register} is read {age} after it was written, which takes {}", cycles - late)
                });
            }
            for (board, writes) in state.writes.iter().enumerate() {
                if let Some(&other) = writes.get(&register) {
                    self.say(other, report, || {
                        format!("{register} is read without waiting for scoreboard {board}, which guards it")
                    });
                }
            }
            if let Some(&other) = state.unguarded.get(&register) {
                self.say(other, report, || {
                    format!("{register} is read, but the instruction that writes it sets no scoreboard")
                });
            }
        }
    }

    fn writes(&self, state: &State, report: &mut impl FnMut(Hazard)) {
        for register in self.effects.writes.iter() {
            for board in 0..BOARDS {
                if let Some(&other) = state.writes[board].get(&register)
                    && !self.access.in_order_with(other)
                {
                    self.say(other, report, || {
                        format!(
                            "{register} is written without waiting for scoreboard {board}, whose instruction writes it too"
                        )
                    });
                }
                if let Some(&other) = state.reads[board].get(&register)
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
                unguarded.retain(|&register, earlier| {
                    let ends_before = earlier.in_order_with(*access);
                    if ends_before {
                        writes[board].insert(register, *earlier);
                    }
                    !ends_before
                });
            }
            None if access.unit.is_some() => state.unguarded.extend(accesses),
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
