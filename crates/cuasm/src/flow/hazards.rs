//! Dependences that control codes break, along every path of a function.

use super::graph::Graph;
use sass::hazards::{Hazard, Issue, Reader, State};
use sass::latency::Latencies;

/// The broken dependences of a function.
pub(crate) fn hazards(graph: &Graph, latencies: &Latencies) -> Vec<Hazard> {
    // Blocks are gone over several times.
    let mut reader = Reader::new(latencies);
    let issues: Vec<Option<Issue>> = graph
        .steps
        .iter()
        .map(|step| step.instruction.as_ref().map(|it| reader.issue(it, step.offset)))
        .collect();
    let mut entries: Vec<Option<State>> = vec![None; graph.blocks.len()];
    if let Some(first) = entries.first_mut() {
        *first = Some(State::default());
    }
    let mut work: Vec<usize> = (0..graph.blocks.len()).rev().collect();
    let mut waiting = vec![true; graph.blocks.len()];
    // What is wrong in each block, by the last time it was gone over, which knew of all ways there.
    let mut found: Vec<Vec<Hazard>> = vec![Vec::new(); graph.blocks.len()];
    // Each block's state only grows, and ages only fall.
    while let Some(number) = work.pop() {
        waiting[number] = false;
        let mut state = entries[number].clone().unwrap_or_default();
        let found = &mut found[number];
        found.clear();
        for issue in &issues[graph.blocks[number].steps.clone()] {
            self::issue(issue.as_ref(), latencies, &mut state, &mut |hazard| found.push(hazard));
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
    found.concat()
}

/// Goes over an instruction.
fn issue(issue: Option<&Issue>, latencies: &Latencies, state: &mut State, report: &mut impl FnMut(Hazard)) {
    match issue {
        Some(issue) => issue.issue(state, latencies, report),
        // Nobody knows what it does.
        None => *state = State::default(),
    }
}
