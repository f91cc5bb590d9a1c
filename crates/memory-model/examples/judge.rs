#![allow(warnings)]
use memory_model::{answer::*, checker::*, dialect, generate::Shape, language::Version, model::*};
use std::collections::BTreeSet;
fn main() {
    let accesses: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let others: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let judge = std::env::args().nth(3).is_some();
    let t = std::time::Instant::now();
    let models: Vec<Model> = [
        (Family::Isa, Version(7, 4)),
        (Family::Isa, Version(8, 6)),
        (Family::Dartagnan, Version(6, 0)),
        (Family::Dartagnan, Version(7, 5)),
    ]
    .iter()
    .map(|&(f, v)| Model::new(f, v).unwrap())
    .collect();
    let mut count = 0usize;
    let mut bad = 0;
    for places in [
        vec!["cta 0,gpu 0"; 1],
        vec!["cta 0,gpu 0", "cta 1,gpu 0"],
        vec!["cta 0,gpu 0", "cta 0,gpu 0", "cta 1,gpu 0"],
    ] {
        for n in 1..=accesses {
            let mut templates = vec![
                "ld.weak {r}, {x}",
                "ld.relaxed.gpu {r}, {x}",
                "ld.acquire.gpu {r}, {x}",
                "st.weak {x}, {v}",
                "st.relaxed.cta {x}, {v}",
                "st.release.gpu {x}, {v}",
                "atom.acq_rel.gpu.exch {r}, {x}, {v}",
            ];
            if others > 0 {
                templates.extend(["fence.sc.gpu", "fence.acq_rel.gpu"]);
            }
            let shape = Shape {
                places: places.clone(),
                templates,
                accesses: n,
                others,
                locations: 2,
                connected: places.len() > 1,
            };
            shape.programs(&mut |text| {
                count += 1;
                if !judge {
                    return true;
                }
                let program = dialect::parse(&text).unwrap();
                for model in &models {
                    let o = Question::new(&program, model, Options::default()).outcomes().unwrap();
                    let set: BTreeSet<Vec<i64>> = o.list.into_iter().map(|o| o.values).collect();
                    let all = all_outcomes(
                        &Checker::new(&program, model.family, model.version, Options::default()),
                        &o.terms,
                    )
                    .unwrap();
                    if all != set {
                        bad += 1;
                        println!("{model} differs on\n{text}\njudge {all:?}\nsearch {set:?}");
                    }
                }
                bad < 5
            });
            println!("{} threads {n} accesses: {count} {:?} bad {bad}", places.len(), t.elapsed());
        }
    }
}
