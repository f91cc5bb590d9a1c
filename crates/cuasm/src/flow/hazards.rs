//! Dependences that control codes break, along every path of a function.

use super::graph::Graph;
use sass::hazards::{Hazard, Issue, State};
use sass::latency::Latencies;

/// The broken dependences of a function.
pub(crate) fn hazards(graph: &Graph, latencies: &Latencies) -> Vec<Hazard> {
    // Blocks are gone over several times.
    let issues: Vec<Option<Issue>> = graph
        .steps
        .iter()
        .map(|step| step.instruction.as_ref().map(|it| Issue::of(it, step.offset, latencies)))
        .collect();
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
        for issue in &issues[graph.blocks[number].steps.clone()] {
            self::issue(issue.as_ref(), latencies, &mut state, &mut |_| {});
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
        for issue in &issues[block.steps.clone()] {
            self::issue(issue.as_ref(), latencies, &mut state, &mut |hazard| found.push(hazard));
        }
    }
    found
}

/// Goes over an instruction.
fn issue(issue: Option<&Issue>, latencies: &Latencies, state: &mut State, report: &mut impl FnMut(Hazard)) {
    match issue {
        Some(issue) => issue.issue(state, latencies, report),
        // Nobody knows what it does.
        None => *state = State::default(),
    }
}
