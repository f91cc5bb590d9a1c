//! Replays what an H200 computed (`hardware/sm_90.gz`, made by `cargo xtask record instructions`) against this crate.
//!
//! With `WARPLOOM_RECORDING` set to a file, that recording is replayed instead (say, an exhaustive one).
//! Every recorded instruction must have an implementation here and agree in every bit.

#[path = "hardware/dispatch.rs"]
mod dispatch;

use replay::instructions::Recording;
use std::path::Path;

#[test]
fn recorded_instructions_agree_in_every_bit() {
    let path = std::env::var("WARPLOOM_RECORDING")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hardware/sm_90.gz").to_owned());
    let text = replay::read(Path::new(&path)).expect("the recording is in the repository");
    let recording = Recording::parse(&text);
    let mut failures = Vec::new();
    let mut compared = 0;
    for instruction in &recording.instructions {
        let (name, digits) = (instruction.name, instruction.digits);
        let Some(f) = dispatch::implementation(name) else {
            failures.push(format!("{name}: no implementation"));
            continue;
        };
        let rows: Vec<_> = recording.sets[instruction.set].iter().zip(instruction.results()).collect();
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
