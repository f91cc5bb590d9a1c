//! Every short sequence of barriers in two threads, against threads that are let run: greedily, for whoever may pass a
//! barrier may pass it later too.

use memory_model::answer::{Options, Question};
use memory_model::checker::Checker;
use memory_model::dialect;
use memory_model::generate::from_columns;
use memory_model::language::Version;
use memory_model::model::{Family, Model};

const OPERATIONS: [&str; 4] =
    ["bar.cta.sync 1", "bar.cta.sync 2", "bar.cluster.arrive 3", "bar.cluster.wait 3"];
const ARRIVE: usize = 2;
const WAIT: usize = 3;

/// All sequences up to a length in which whoever waits for the cluster has arrived there.
fn sequences(length: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..length {
        let longer = |sequence: &Vec<usize>| {
            (0..OPERATIONS.len()).map(|next| [&sequence[..], &[next]].concat()).collect::<Vec<_>>()
        };
        last = last.iter().flat_map(longer).collect();
        last.retain(|sequence| {
            let count = |of: usize| sequence.iter().filter(|&&operation| operation == of).count();
            count(WAIT) <= count(ARRIVE)
        });
        all.extend(last.iter().cloned());
    }
    all
}

/// Whether both threads get to their ends.
fn end(texts: [&[usize]; 2]) -> bool {
    let mut at = [0, 0];
    // How often a thread has arrived, at each barrier; the operation it is at counts, for it has come there.
    let arrivals = |thread: usize, upto: usize, barrier: usize| {
        texts[thread].iter().take(upto + 1).filter(|&&operation| operation == barrier).count()
    };
    loop {
        let mut moved = false;
        for thread in 0..2 {
            let Some(&operation) = texts[thread].get(at[thread]) else { continue };
            let other = 1 - thread;
            let exited = at[other] == texts[other].len();
            let passes = match operation {
                ARRIVE => true,
                WAIT => {
                    let phase = arrivals(thread, at[thread], ARRIVE);
                    exited || arrivals(other, at[other], ARRIVE) >= phase || !texts[other].contains(&ARRIVE)
                }
                sync => {
                    arrivals(other, at[other], sync) >= arrivals(thread, at[thread], sync)
                        || !texts[other].contains(&sync)
                }
            };
            if passes {
                at[thread] += 1;
                moved = true;
            }
        }
        if !moved {
            return (0..2).all(|thread| at[thread] == texts[thread].len());
        }
    }
}

#[test]
fn barriers_are_passed_if_threads_that_run_pass_them() {
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    let sequences = sequences(3);
    let (mut passed, mut stuck) = (0, 0);
    for first in &sequences {
        for second in &sequences {
            let column = |of: &[usize]| of.iter().map(|&o| OPERATIONS[o]).collect::<Vec<_>>().join(";");
            let (one, other) = (column(first), column(second));
            let places = ["cta 0,cluster 0,gpu 0"; 2];
            let text = from_columns("barriers", &places, &[&one, &other]);
            let program = dialect::parse(&text).unwrap();
            let question = Question::new(&program, &model, Options::default());
            let verdict = question.verdict().unwrap();
            let ends = end([first, second]);
            assert_eq!(verdict.execution.is_some(), ends, "{text}");
            assert_eq!(question.liveness().unwrap().terminates, ends, "{text}");
            let checker = Checker::new(&program, model.family, model.version, Options::default().bound);
            assert!(checker.accepts(&question.certificate(&verdict).unwrap()), "{text}");
            *(if ends { &mut passed } else { &mut stuck }) += 1;
        }
    }
    assert!(passed > 300 && stuck > 300, "{passed} end, {stuck} do not");
}
