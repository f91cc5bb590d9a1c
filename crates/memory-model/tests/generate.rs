//! Cycles give the tests that they are known as.

use memory_model::answer::{Options, Question};
use memory_model::dialect;
use memory_model::generate::{Annotation, Edge, from_cycle};
use memory_model::language::Version;
use memory_model::model::{Family, Model};

/// Whether the outcome of a cycle is allowed, with patterns of releases and acquires or with other accesses.
fn allowed(cycle: &str, write: &str, read: &str, other: &str) -> bool {
    let edges: Vec<Edge> = cycle.split(' ').map(|edge| Edge::parse(edge).unwrap()).collect();
    let annotation = Annotation { write, read, other };
    let text = from_cycle("cycle", &edges, &annotation, &["cta 0,gpu 0", "cta 1,gpu 0"]).unwrap();
    let program = dialect::parse(&text).unwrap();
    let model = Model::new(Family::Isa, Version(8, 6)).unwrap();
    Question::new(&program, &model, Options::default()).verdict().unwrap().holds
}

#[test]
fn cycles_are_allowed_or_forbidden_as_is_known() {
    let (weak, relaxed) = ("weak", "relaxed.gpu");
    // Message passing, load buffering, S and WRC: allowed when weak, forbidden by releases and acquires.
    for cycle in [
        "Pod Rfe Pod Fre",
        "Pod Rfe Pod Rfe",
        "Pod Rfe Pod Coe",
        "Rfe Pod Rfe Pod Fre",
        "Pod Rfe Pod Rfe Pod Fre",
    ] {
        assert!(allowed(cycle, weak, weak, weak), "{cycle}");
        assert!(!allowed(cycle, "release.gpu", "acquire.gpu", weak), "{cycle}");
    }
    // Store buffering, R and 2+2W need fences of order sc.
    for cycle in ["Pod Fre Pod Fre", "Pod Coe Pod Fre", "Pod Coe Pod Coe"] {
        assert!(allowed(cycle, relaxed, relaxed, relaxed), "{cycle}");
        let acq_rel = cycle.replace("Pod", "Pod:fence.acq_rel.gpu");
        assert!(allowed(&acq_rel, relaxed, relaxed, relaxed), "{acq_rel}");
        let sc = cycle.replace("Pod", "Pod:fence.sc.gpu");
        assert!(!allowed(&sc, relaxed, relaxed, relaxed), "{sc}");
    }
    // Coherence of strong accesses to one location.
    for cycle in ["Rfe Pos Fre", "Pos Coe", "Pos Fre"] {
        assert!(!allowed(cycle, relaxed, relaxed, relaxed), "{cycle}");
    }
}
