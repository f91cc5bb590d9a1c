//! Replays what an H200 computed (`hardware/sm_90.gz`, written by `hardware/record.py`) against this crate.
//!
//! With `WARPLOOM_RECORDING` set to a file, that recording is replayed instead (say, an exhaustive one).
//! Every recorded instruction must have an implementation here and agree in every bit, except the approximate ones,
//! which must agree in every special case and be near otherwise.

#[path = "hardware/dispatch.rs"]
mod dispatch;
#[path = "hardware/recording.rs"]
mod recording;

use recording::{Recorded, is_approximate, recording};

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

/// How far an approximate result may be from the recorded one: units in the last place, or an absolute distance.
fn tolerance(name: &str) -> (u64, f64) {
    match name.split('.').next().unwrap_or_default() {
        "rcp" | "rsqrt" if name.ends_with("ftz.f64") => (1 << 32, 0.0),
        "rcp" | "rsqrt" | "sqrt" | "ex2" => (1, 0.0),
        "div" => (2, 0.0),
        "tanh" if name.ends_with("16") => (1, 0.0),
        "tanh" => (200, 0.0),
        // The hardware's own errors: the manual allows 2^-20.5 for sin and cos near zero, 2^-22 for lg2.
        "sin" | "cos" => (1, f64::exp2(-20.0)),
        "lg2" => (2, f64::exp2(-22.0)),
        _ => (0, 0.0),
    }
}

/// A recorded result as a number, and its format's infinity.
fn number(name: &str, bits: u64) -> (f64, u64) {
    match name.rsplit('.').next() {
        Some("f64") => (f64::from_bits(bits), 0x7ff0_0000_0000_0000),
        Some("f32") => (f64::from(f32::from_bits(bits as u32)), 0x7f80_0000),
        Some("f16") => (half::f16::from_bits(bits as u16).to_f64(), 0x7c00),
        _ => (half::bf16::from_bits(bits as u16).to_f64(), 0x7f80),
    }
}

#[test]
fn approximate_instructions_are_near_and_exact_in_special_cases() {
    let mut failures = Vec::new();
    for Recorded { name, rows, .. } in recording() {
        if !is_approximate(&name) || name.ends_with("x2") {
            continue;
        }
        let f = dispatch::implementation(&name).unwrap_or_else(|| panic!("{name}: no implementation"));
        let (ulps, distance) = tolerance(&name);
        for (operands, want) in &rows {
            let got = f(operands);
            let ((got_value, _), (want_value, infinity)) = (number(&name, got), number(&name, *want));
            let special = want & infinity == infinity || got & infinity == infinity;
            let near = got.abs_diff(*want) <= ulps || (got_value - want_value).abs() <= distance;
            if got != *want && (special || !near) {
                failures.push(format!("{name} {operands:x?}: {got:x}, hardware {want:x}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} results differ:\n{}", failures.len(), failures.join("\n"));
}
