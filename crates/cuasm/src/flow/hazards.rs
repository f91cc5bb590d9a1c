//! Dependences that control codes break: a register read before it is written, or written before it is read.
//!
//! The hardware checks nothing. An instruction of fixed latency is followed by a count of cycles; one of variable
//! latency names a scoreboard, and who depends on it waits for that. The walk below keeps, along every path, how long ago
//! each register was written and which registers each scoreboard still guards.

use super::effects::{Register, Registers, effects};
use super::graph::Graph;
use super::latency::{Class, Consumer, Latencies};
use sass::{Control, Instruction};
use std::collections::BTreeMap;

/// A broken dependence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hazard {
    /// The instruction that comes too early.
    pub(crate) offset: u64,
    /// The one that it depends on.
    pub(crate) on: u64,
    pub(crate) message: String,
}

/// Scoreboards.
const BOARDS: usize = 6;

/// A result on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    class: Class,
    /// Cycles since it was issued.
    age: u32,
    offset: u64,
}

/// What is under way at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    results: BTreeMap<Register, Pending>,
    /// For each scoreboard registers that will be written, and who writes them.
    writes: [BTreeMap<Register, u64>; BOARDS],
    /// For each scoreboard registers that will be read.
    reads: [BTreeMap<Register, u64>; BOARDS],
}

/// No fixed latency is longer.
const LONGEST: u32 = 64;

impl State {
    /// Adds what is under way on another path. Whether that changed anything.
    fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (&register, &pending) in &other.results {
            let kept = self.results.entry(register).or_insert(pending);
            if pending.age < kept.age {
                *kept = pending;
            }
        }
        for board in 0..BOARDS {
            self.writes[board].extend(&other.writes[board]);
            self.reads[board].extend(&other.reads[board]);
        }
        *self != before
    }
}

/// The broken dependences of a function.
pub(crate) fn hazards(graph: &Graph, latencies: &Latencies) -> Vec<Hazard> {
    let mut entries: Vec<Option<State>> = vec![None; graph.blocks.len()];
    if let Some(first) = entries.first_mut() {
        *first = Some(State::default());
    }
    let mut work: Vec<usize> = (0..graph.blocks.len()).rev().collect();
    // Each block's state only grows, and ages only fall.
    while let Some(number) = work.pop() {
        let mut state = entries[number].clone().unwrap_or_default();
        for index in graph.blocks[number].steps.clone() {
            step(graph, index, latencies, &mut state, &mut |_| {});
        }
        for &next in &graph.blocks[number].next {
            let changed = match &mut entries[next] {
                Some(entry) => entry.join(&state),
                empty => {
                    *empty = Some(state.clone());
                    true
                }
            };
            if changed && !work.contains(&next) {
                work.push(next);
            }
        }
    }
    let mut found = Vec::new();
    for (number, block) in graph.blocks.iter().enumerate() {
        let mut state = entries[number].clone().unwrap_or_default();
        for index in block.steps.clone() {
            step(graph, index, latencies, &mut state, &mut |hazard| found.push(hazard));
        }
    }
    found
}

/// Goes over an instruction.
fn step(
    graph: &Graph,
    index: usize,
    latencies: &Latencies,
    state: &mut State,
    report: &mut impl FnMut(Hazard),
) {
    let step = &graph.steps[index];
    let control = Control::of(step.word);
    let Some(text) = &step.text else {
        // Nobody knows what it does.
        *state = State::default();
        return;
    };
    let head = Instruction::head(text);
    for board in (0..BOARDS).filter(|board| control.wait_mask >> board & 1 == 1) {
        state.writes[board].clear();
        state.reads[board].clear();
    }
    if head.starts_with("DEPBAR") {
        // It waits until few enough are left; which those are depends on the order in which they end.
        for board in (0..BOARDS).filter(|board| text.contains(&format!("SB{board}"))) {
            state.writes[board].clear();
            state.reads[board].clear();
        }
    }
    let effects = effects(text);
    let guard = guard(text);
    let class = latencies.class(head);
    let offset = step.offset;
    let mut say = |on: u64, message: String| report(Hazard { offset, on, message });
    for register in effects.reads.iter() {
        let consumer = if guard == Some(register) { Consumer::Guard } else { Consumer::Class(class) };
        if let Some(pending) = state.results.get(&register)
            && let Some(cycles) = latencies.cycles(pending.class, consumer)
            && pending.age < cycles
        {
            let message = format!(
                "{register} is read {} after it was written, which takes {cycles}",
                count(pending.age)
            );
            say(pending.offset, message);
        }
        for board in 0..BOARDS {
            if let Some(&on) = state.writes[board].get(&register) {
                say(
                    on,
                    format!("{register} is read without waiting for scoreboard {board}, which guards it"),
                );
            }
        }
    }
    for register in effects.writes.iter() {
        for board in 0..BOARDS {
            if let Some(&on) = state.writes[board].get(&register) {
                say(
                    on,
                    format!(
                        "{register} is written without waiting for scoreboard {board}, whose instruction writes it too"
                    ),
                );
            }
            if let Some(&on) = state.reads[board].get(&register) {
                say(
                    on,
                    format!(
                        "{register} is written without waiting for scoreboard {board}, whose instruction still reads it"
                    ),
                );
            }
        }
    }
    if class == Some(Class::Variable) && control.write_scoreboard.is_none() && !effects.writes.is_empty() {
        say(
            offset,
            "this instruction's result comes at no fixed time, but it sets no write scoreboard".to_owned(),
        );
    }
    apply(state, control, effects.reads, effects.writes, class, offset);
}

fn count(cycles: u32) -> String {
    if cycles == 1 { "1 cycle".to_owned() } else { format!("{cycles} cycles") }
}

/// The register of an instruction's guard.
fn guard(text: &str) -> Option<Register> {
    let guard = text.strip_prefix('@')?.trim_start_matches('!');
    let (uniform, guard) = guard.strip_prefix('U').map_or((false, guard), |rest| (true, rest));
    let number = guard.strip_prefix('P')?.split(' ').next()?.parse().ok()?;
    Some(if uniform { Register::UniformPredicate(number) } else { Register::Predicate(number) })
}

fn apply(
    state: &mut State,
    control: Control,
    reads: Registers,
    writes: Registers,
    class: Option<Class>,
    offset: u64,
) {
    for register in writes.iter() {
        state.results.remove(&register);
        if let (Some(class @ Class::Fixed(_)), None) = (class, control.write_scoreboard) {
            state.results.insert(register, Pending { class, age: 0, offset });
        }
    }
    let board = |number: Option<u8>| number.map(usize::from).filter(|&number| number < BOARDS);
    if let Some(board) = board(control.write_scoreboard) {
        state.writes[board].extend(writes.iter().map(|register| (register, offset)));
    }
    if let Some(board) = board(control.read_scoreboard) {
        state.reads[board].extend(reads.iter().map(|register| (register, offset)));
    }
    state.results.retain(|_, pending| {
        pending.age += u32::from(control.stall);
        pending.age < LONGEST
    });
}
