//! The search for an execution that does not end.

use super::Execution;
use crate::consistency::Decided;
use crate::facts::Base;
use crate::plan::Values;
use crate::relation::EventId;
use crate::search::Goal;
use crate::unfold::{State, Status};

pub(super) struct FindStuck {
    pub(super) found: Option<(Vec<usize>, Box<Execution>)>,
}

impl FindStuck {
    /// Whether a thread that spins has not seen a later write: then it would in the end.
    fn is_unfair(state: &State) -> bool {
        state.threads.iter().enumerate().any(|(thread, of)| {
            let Status::Spinning(first) = of.status else { return false };
            let own =
                |event: EventId| event >= first && state.facts.events()[event].thread == Some(thread as u32);
            state.sources.iter().filter(|source| own(source.read)).any(|source| {
                let Some(write) = source.write else { return false };
                let overwrites = |later: EventId| {
                    !own(later)
                        && state.facts.events()[later].bytes().is_some_and(|bytes| source.cell.is_in(bytes))
                };
                state.facts.base(Base::Co).row(write).iter().any(overwrites)
            })
        })
    }
}

impl Goal for FindStuck {
    fn is_hopeless(&self, state: &State, _: &Values) -> bool {
        Self::is_unfair(state) || state.threads.iter().all(|thread| thread.status == Status::Ended)
    }

    fn found(&mut self, state: &State, decided: &Decided, _: &Values) -> bool {
        if Self::is_unfair(state) {
            return false;
        }
        let stuck: Vec<usize> = (0..state.threads.len())
            .filter(|&thread| state.threads[thread].status != Status::Ended)
            .collect();
        if stuck.is_empty() {
            return false;
        }
        self.found = Some((stuck, Box::new(Execution::new(state, decided, Vec::new()))));
        true
    }
}
