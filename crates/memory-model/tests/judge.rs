//! Every small shape, decided by the search and by the brute-force judge, which tries every execution.

use memory_model::answer::{Options, Question};
use memory_model::checker::Checker;
use memory_model::dialect;
use memory_model::generate::Shape;
use memory_model::judge::all_outcomes;
use memory_model::language::Version;
use memory_model::model::{Family, Model};
use std::collections::BTreeSet;

const NEAR: &str = "cta 0,gpu 0";
const FAR: &str = "cta 1,gpu 0";
const FARTHER: &str = "cta 2,gpu 0";

/// The accesses to choose from: all orders, one too narrow scope, and an atomic.
const ACCESSES: [&str; 7] = [
    "ld.weak {r}, {x}",
    "ld.relaxed.gpu {r}, {x}",
    "ld.acquire.gpu {r}, {x}",
    "st.weak {x}, {v}",
    "st.relaxed.cta {x}, {v}",
    "st.release.gpu {x}, {v}",
    "atom.acq_rel.gpu.exch {r}, {x}, {v}",
];
const FENCES: [&str; 2] = ["fence.sc.gpu", "fence.acq_rel.gpu"];

fn judge(places: &[&'static str], accesses: usize, fences: usize) -> usize {
    let models = [
        (Family::Isa, Version(7, 4)),
        (Family::Isa, Version(8, 6)),
        (Family::Dartagnan, Version(6, 0)),
        (Family::Dartagnan, Version(7, 5)),
    ];
    let models = models.map(|(family, version)| Model::new(family, version).unwrap());
    let mut templates = ACCESSES.to_vec();
    if fences > 0 {
        templates.extend(FENCES);
    }
    let connected = places.len() > 1;
    let shape =
        Shape { places: places.to_vec(), templates, accesses, others: fences, locations: 2, connected };
    let mut count = 0;
    shape.programs(&mut |text| {
        let program = dialect::parse(&text).unwrap();
        for model in &models {
            let outcomes = Question::new(&program, model, Options::default()).outcomes().unwrap();
            let checker = Checker::new(&program, model.family, model.version, Options::default().bound);
            let all = all_outcomes(&checker, &outcomes.terms).unwrap();
            let found: BTreeSet<Vec<i64>> = outcomes.list.into_iter().map(|outcome| outcome.values).collect();
            assert_eq!(found, all, "{model}\n{text}");
        }
        count += 1;
        true
    });
    count
}

#[test]
fn up_to_three_accesses() {
    let mut count = 0;
    for accesses in 1..=3 {
        for places in [&[NEAR][..], &[NEAR, FAR], &[NEAR, NEAR, FAR]] {
            // A thread alone has all orders of three writes to one location: two accesses are enough here.
            if places.len() > 1 || accesses < 3 {
                count += judge(places, accesses, 0);
            }
        }
    }
    assert!(count > 900, "{count}");
}

/// Every choice of CTAs for two and three threads, up to names.
const PLACES: [&[&str]; 5] =
    [&[NEAR, NEAR], &[NEAR, FAR], &[NEAR, NEAR, NEAR], &[NEAR, NEAR, FAR], &[NEAR, FAR, FARTHER]];

fn report(places: &[&'static str], accesses: usize, fences: usize) {
    let begin = std::time::Instant::now();
    let count = judge(places, accesses, fences);
    println!(
        "{places:?}, {accesses} accesses and {fences} fences: {count} programs agree, {:.1?}",
        begin.elapsed()
    );
}

#[test]
#[ignore = "minutes; run with --release -- --ignored"]
fn four_accesses() {
    report(&[NEAR], 3, 0);
    for places in PLACES {
        report(places, 4, 0);
    }
}

#[test]
#[ignore = "minutes; run with --release -- --ignored"]
fn fences() {
    for places in PLACES {
        report(places, 3, 1);
    }
}
