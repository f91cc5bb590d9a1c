#![allow(warnings)]
use memory_model::{mutants, model::*};
fn main() {
    let model = Model::new(Family::Isa, mutants::VERSION).unwrap();
    let t = std::time::Instant::now();
    let texts = mutants::suite();
    println!("{} tests {:?}", texts.len(), t.elapsed());
    let tests = mutants::prepare(texts, &model);
    println!("{} prepared {:?}", tests.len(), t.elapsed());
    let all = mutants::all();
    let mut killed = 0;
    for m in &all {
        let Some(changed) = m.model(mutants::VERSION) else { println!("BAD {m:?}"); continue };
        match mutants::killer(&changed, &tests) { Some(_) => killed += 1, None => println!("SURVIVES {} => {}", m.from, m.to) }
    }
    println!("{killed} of {} {:?}", all.len(), t.elapsed());
}
