#![allow(warnings)]
use memory_model::{model::*, mutants};
fn main() {
    let t = std::time::Instant::now();
    let texts = mutants::suite();
    println!("{} tests {:?}", texts.len(), t.elapsed());
    let suites: Vec<_> = [mutants::NEWEST, mutants::BEFORE_PROXIES]
        .map(|v| (v, mutants::prepare(texts.clone(), &Model::new(Family::Isa, v).unwrap())))
        .into();
    println!("prepared {:?}", t.elapsed());
    let all = mutants::all();
    let mut killed = 0;
    for m in &all {
        let Some(changed) = m.model() else {
            println!("BAD {m:?}");
            continue;
        };
        match mutants::killer(&changed, &suites.iter().find(|s| s.0 == m.version).unwrap().1) {
            Some(_) => killed += 1,
            None => println!("SURVIVES {} => {}", m.from, m.to),
        }
    }
    println!("{killed} of {} {:?}", all.len(), t.elapsed());
}
