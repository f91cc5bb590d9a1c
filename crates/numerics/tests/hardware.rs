//! Replays what an H200 computed (`hardware/sm_90.gz`, written by `hardware/record.py`) against this crate.
//!
//! Every recorded instruction must have an implementation here and agree in every bit, except the approximate ones,
//! which must agree in every special case and be near otherwise.

#[path = "hardware/dispatch.rs"]
mod dispatch;

use std::collections::HashMap;
use std::io::Read;

/// One recorded instruction: its name and each tuple of operands with its result.
struct Recorded {
    name: String,
    digits: usize,
    rows: Vec<(Vec<u64>, u64)>,
}

fn recording() -> Vec<Recorded> {
    let path = std::env::var("WARPLOOM_RECORDING")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hardware/sm_90.gz").to_owned());
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("the recording is in the repository");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("the recording is text");
    let hex = |digits: &str| u64::from_str_radix(digits, 16).expect("hexadecimal");
    let mut sets: HashMap<&str, Vec<Vec<u64>>> = HashMap::new();
    let mut instructions = Vec::new();
    let mut set = "";
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["inputs", name] => set = name,
            ["op", name, inputs, digits] => {
                let digits: usize = digits.parse().expect("a number of digits");
                let results = lines.next().expect("a line of results").as_bytes().chunks(digits);
                let results = results.map(|chunk| hex(std::str::from_utf8(chunk).expect("ASCII")));
                let rows = sets[inputs].iter().cloned().zip(results).collect();
                instructions.push(Recorded { name: name.to_owned(), digits, rows });
            }
            _ => sets.entry(set).or_default().push(words.into_iter().map(hex).collect()),
        }
    }
    instructions
}

fn is_approximate(name: &str) -> bool {
    name.contains(".approx") || name.contains(".full")
}

#[test]
fn exact_instructions_agree_in_every_bit() {
    let mut failures = Vec::new();
    let mut compared = 0;
    for Recorded { name, digits, rows } in recording() {
        if is_approximate(&name) {
            continue;
        }
        let Some(f) = dispatch::implementation(&name) else {
            failures.push(format!("{name}: no implementation"));
            continue;
        };
        let wrong: Vec<_> = rows.iter().filter(|(operands, want)| f(operands) != *want).collect();
        compared += rows.len();
        if let Some((operands, want)) = wrong.first() {
            let got = f(operands);
            failures.push(format!(
                "{name}: {} of {} differ, first {operands:x?}: {got:0digits$x}, hardware {want:0digits$x}",
                wrong.len(),
                rows.len(),
            ));
        }
    }
    assert!(failures.is_empty(), "{} instructions differ:\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 500_000, "only {compared} results compared");
}
