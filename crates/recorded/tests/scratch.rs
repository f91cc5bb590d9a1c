//! scratch
use recorded::engine::*;
use std::time::Instant;
#[test]
fn scratch() {
    let m = Machine::new().unwrap();
    let start = Instant::now();
    let n = 0; let unsup = 0; let gen_time = 0.0; let failed: Vec<String> = vec![]; let rows_total = 0;
    let worst: Vec<(f64, String)> = vec![];
    let all: Vec<_> = ptx::isa::FormId::all().flat_map(|f| recorded::case::cases(f).unwrap_or_default()).collect();
    eprintln!("{} cases made in {:?}", all.len(), start.elapsed());

    let mut seen = std::collections::HashSet::new();
    let start = Instant::now();
    let mut words = 0;
    for case in &all { if seen.insert(case.inputs.clone()) { words += case.inputs.rows().len(); } }
    eprintln!("{} inputs, {words} words, {:?}", seen.len(), start.elapsed());
    drop((m, n, unsup, gen_time, failed, rows_total, worst));
}
