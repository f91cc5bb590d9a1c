//! Dependences that control codes break, along every path of a function.

use super::graph::{Graph, Step};
use sass::hazards::{Hazard, Issue, State};
use sass::latency::Latencies;

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
            issue(step, latencies, &mut state, &mut |_| {});
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
            issue(step, latencies, &mut state, &mut |hazard| found.push(hazard));
        }
    }
    found
}

/// Goes over an instruction.
fn issue(step: &Step, latencies: &Latencies, state: &mut State, report: &mut impl FnMut(Hazard)) {
    match &step.instruction {
        Some(instruction) => Issue::of(instruction, step.offset, latencies).issue(state, latencies, report),
        // Nobody knows what it does.
        None => *state = State::default(),
    }
}
