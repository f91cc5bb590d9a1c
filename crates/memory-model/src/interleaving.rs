//! How a test ends if its threads take turns on one memory: sequential consistency, against which weak outcomes are told.

use crate::event::{Part, Placement, Scope};
use crate::program::{Instruction, Operand, Program, Term, Update};
use std::collections::{BTreeSet, HashSet};

/// The most states that are visited.
const MOST_STATES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    at: Vec<usize>,
    registers: Vec<Vec<i64>>,
    memory: Vec<i64>,
}

/// All ways to end by taking turns, told by the terms' values; none if there are too many states, or accesses of parts of
/// locations, or copies.
pub fn outcomes(program: &Program, terms: &[Term]) -> Option<BTreeSet<Vec<i64>>> {
    let whole = |bytes: &Vec<u8>| Some(i64::from_le_bytes(bytes.as_slice().try_into().ok()?));
    let begin = State {
        at: vec![0; program.threads.len()],
        registers: program.threads.iter().map(|thread| thread.initial.clone()).collect(),
        memory: program.objects.iter().map(whole).collect::<Option<_>>()?,
    };
    let (mut found, mut seen, mut open) = (BTreeSet::new(), HashSet::from([begin.clone()]), vec![begin]);
    while let Some(state) = open.pop() {
        let ended = |thread: usize| state.at[thread] >= program.threads[thread].code.len();
        if (0..program.threads.len()).all(ended) {
            let value = |term: &Term| match *term {
                Term::Constant(value) => value,
                Term::Register(thread, register) => state.registers[thread][register],
                Term::Memory(location) => state.memory[program.locations[location].bytes.object as usize],
            };
            found.insert(terms.iter().map(value).collect());
        }
        for thread in (0..program.threads.len()).filter(|&thread| !ended(thread)) {
            if let Some(next) = turn(program, &state, thread)?
                && seen.insert(next.clone())
            {
                open.push(next);
            }
        }
        if seen.len() > MOST_STATES {
            return None;
        }
    }
    Some(found)
}

/// The state after a thread's next instruction, if it does not wait; none at all if the instruction is not understood.
fn turn(program: &Program, state: &State, thread: usize) -> Option<Option<State>> {
    let mut next = state.clone();
    let value = |operand: Operand| match operand {
        Operand::Register(register) => state.registers[thread][register],
        Operand::Constant(value) => value,
    };
    let at = state.at[thread];
    next.at[thread] = at + 1;
    match &program.threads[thread].code[at] {
        Instruction::Load { destinations, access } => {
            let [destination] = destinations[..] else { return None };
            next.registers[thread][destination] = state.memory[access.bytes.object as usize];
        }
        Instruction::Store { values, access } => {
            let [stored] = values[..] else { return None };
            next.memory[access.bytes.object as usize] = value(stored);
        }
        Instruction::Atomic { destination, update, access } => {
            let cell = &mut next.memory[access.bytes.object as usize];
            let old = *cell;
            *cell = match *update {
                Update::Combine(operation, operand) => operation.apply(old, value(operand)),
                Update::CompareAndSwap { expected, new } if old == value(expected) => value(new),
                Update::CompareAndSwap { .. } => old,
            };
            if let Some(destination) = *destination {
                next.registers[thread][destination] = old;
            }
        }
        Instruction::Set { destination, operation, a, b } => {
            next.registers[thread][*destination] = operation.apply(value(*a), value(*b));
        }
        Instruction::Branch { comparison, a, b, target } if comparison.holds(value(*a), value(*b)) => {
            next.at[thread] = *target;
        }
        Instruction::Jump(target) => next.at[thread] = *target,
        Instruction::Barrier { instance, part, scope, resource: None, quorum: None } => {
            let place = program.threads[thread].placement;
            if *part != Part::Arrive && !all_came(program, state, (*instance, *scope), place) {
                return Some(None);
            }
        }
        Instruction::Barrier { .. } | Instruction::CopyAsync { .. } => return None,
        Instruction::Branch { .. }
        | Instruction::Fence { .. }
        | Instruction::ProxyFence(_)
        | Instruction::AliasFence
        | Instruction::WaitAsync => {}
    }
    Some(Some(next))
}

/// Whether every thread that has the barrier in its text has come to it. Barriers are not in loops.
fn all_came(program: &Program, state: &State, (instance, scope): (u32, Scope), place: Placement) -> bool {
    program.threads.iter().zip(&state.at).all(|(thread, &reached)| {
        let came = |(at, instruction): (usize, &Instruction)| match instruction {
            Instruction::Barrier { instance: own, part, .. } if *own == instance => match part {
                Part::Sync => reached >= at,
                Part::Arrive => reached > at,
                Part::Wait => true,
            },
            _ => true,
        };
        !thread.placement.shares(place, scope) || thread.code.iter().enumerate().all(came)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{self, ThreadPosition};
    use crate::kernel;

    fn ends(columns: [&str; 2]) -> BTreeSet<Vec<i64>> {
        let places = [ThreadPosition::default(), ThreadPosition { warp: 1, ..ThreadPosition::default() }];
        let program = catalogue::program("test", &columns.map(str::to_owned), &places).unwrap();
        outcomes(&program, &kernel::terms(&program)).unwrap()
    }

    #[test]
    fn turns_do_not_buffer_stores() {
        let of_stores = ends(["st.weak x, 1; ld.weak r0, y", "st.weak y, 1; ld.weak r0, x"]);
        assert_eq!(of_stores, BTreeSet::from([vec![0, 1, 1, 1], vec![1, 0, 1, 1], vec![1, 1, 1, 1]]));
        let of_barrier = ends(["st.weak x, 1; bar.cta.sync 1", "bar.cta.sync 1; ld.weak r0, x"]);
        assert_eq!(of_barrier, BTreeSet::from([vec![1, 1]]));
        let of_split =
            ["st.weak x, 1; bar.cluster.arrive 1", "bar.cluster.arrive 1; bar.cluster.wait 1; ld.weak r0, x"];
        assert_eq!(ends(of_split), BTreeSet::from([vec![1, 1]]));
    }
}
