//! Comparing what came out of a run with what its case expects.

use super::case::{Case, End as Wanted, Expected, Fault, OutputBuffer, Parameter, Printed, Tolerance};
use super::execute::{End, Outcome};
use super::value::{Kind, Type};

/// How many wrong elements of an array are shown.
const SHOWN: usize = 8;

/// Everything that differs, a line each; nothing if the case passes.
pub fn judge(case: &Case, outcome: &Outcome) -> Vec<String> {
    let mut differences = Vec::new();
    end(&case.end, &outcome.end, &mut differences);
    for (expected, bytes) in case.expected.iter().zip(&outcome.memory) {
        memory(case, expected, bytes, &mut differences);
    }
    if let (Some(expected), Some(text)) = (&case.printed, &outcome.printed) {
        printed(expected, &String::from_utf8_lossy(text), &mut differences);
    }
    differences
}

fn end(wanted: &Wanted, end: &End, differences: &mut Vec<String>) {
    let contains = |kind: &str, part: &str, whole: &str, differences: &mut Vec<String>| {
        if !whole.contains(part) {
            differences.push(format!("  {kind}: `{part}` is not in:\n{whole}"));
        }
    };
    match (wanted, end) {
        (Wanted::Finished, End::Finished) => {}
        // A driver's words are its own.
        (Wanted::Fault(_) | Wanted::Refused(_) | Wanted::NotLoaded(_), End::Stopped(_)) => {}
        (Wanted::Fault(wanted), End::Fault(fault)) => self::fault(wanted, fault, differences),
        (Wanted::Unsupported(part), End::Unsupported(whole)) => {
            contains("unsupported", part, whole, differences)
        }
        (Wanted::Refused(part), End::Refused(whole)) => contains("refused", part, whole, differences),
        (Wanted::NotLoaded(part), End::NotLoaded(whole)) => contains("not loaded", part, whole, differences),
        (
            Wanted::Finished
            | Wanted::Fault(_)
            | Wanted::Unsupported(_)
            | Wanted::Refused(_)
            | Wanted::NotLoaded(_),
            _,
        ) => {
            let ended = match end {
                End::Finished => "finished".to_owned(),
                End::Fault(fault) => format!("fault {}: {fault}", fault.trap.name()),
                End::Unsupported(why) | End::Refused(why) | End::NotLoaded(why) | End::Stopped(why) => {
                    why.clone()
                }
            };
            differences.push(format!("  ended with: {ended}\n  expected: {wanted:?}"));
        }
    }
}

fn fault(wanted: &Fault, fault: &machine::Fault, differences: &mut Vec<String>) {
    let line = fault.location.ptx.as_ref().map(|place| place.line);
    let message = fault.to_string();
    let wrong = wanted.name != fault.trap.name()
        || wanted.block.is_some() && wanted.block != fault.block
        || wanted.thread.is_some() && wanted.thread != fault.thread
        || wanted.line.is_some() && wanted.line != line
        || wanted.text.as_ref().is_some_and(|part| !message.contains(part));
    if wrong {
        differences.push(format!("  fault {}: {message}\n  expected: {wanted:?}", fault.trap.name()));
    }
}

fn memory(case: &Case, expected: &Expected, bytes: &[u8], differences: &mut Vec<String>) {
    let ty = expected.values.ty;
    let name = match &expected.place {
        OutputBuffer::Variable(name) => name.as_str(),
        OutputBuffer::Parameter(index) => match &case.parameters[*index] {
            Parameter::Buffer { name, .. } | Parameter::TensorMap { name, .. } => name.as_str(),
            Parameter::Object(_) => "the surface",
            Parameter::Value(_) | Parameter::Multicast { .. } => return,
        },
    };
    if expected.is_open {
        differences
            .push(format!("  {name} is not recorded yet: `filetest --engine cuda --record` does that"));
    }
    let pairs = expected.values.bits.iter().zip(ty.elements(bytes)).enumerate();
    let wrong: Vec<_> = pairs
        .filter_map(|(i, (wanted, got))| wanted.map(|wanted| (i, wanted, got)))
        .filter(|&(_, wanted, got)| !agrees(ty, expected.tolerance, wanted, got))
        .collect();
    for &(i, wanted, got) in wrong.iter().take(SHOWN) {
        differences.push(format!("  {name}[{i}] is {}, expected {}", ty.show(got), ty.show(wanted)));
    }
    if wrong.len() > SHOWN {
        differences.push(format!(
            "  ... {} of {} elements of {name} differ",
            wrong.len(),
            expected.values.bits.len()
        ));
    }
}

fn agrees(ty: Type, tolerance: Tolerance, wanted: u64, got: u64) -> bool {
    let float = matches!(ty.kind, Kind::Float | Kind::Bfloat);
    let difference = || (ty.as_f64(wanted) - ty.as_f64(got)).abs();
    match tolerance {
        Tolerance::Absolute(by) if float => wanted == got || difference() <= by,
        Tolerance::Relative(by) if float => wanted == got || difference() <= by * ty.as_f64(wanted).abs(),
        Tolerance::Exact | Tolerance::Absolute(_) | Tolerance::Relative(_) => wanted == got,
    }
}

fn printed(expected: &Printed, text: &str, differences: &mut Vec<String>) {
    let same = match expected {
        Printed::Text(expected) => text == expected,
        Printed::Lines(expected) => {
            let sorted = |mut lines: Vec<String>| {
                lines.sort_unstable();
                lines
            };
            sorted(text.lines().map(str::to_owned).collect()) == sorted(expected.clone())
        }
    };
    if !same {
        differences.push(format!("  printed: {text:?}\n  expected: {expected:?}"));
    }
}
