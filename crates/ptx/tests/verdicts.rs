//! The checker and ptxas, over every opcode of the instruction table and what is one step around it: modifiers, types,
//! operands, versions, targets, directives. `cargo xtask verdicts ask` recorded what ptxas of CUDA 13.0 says;
//! `cargo xtask verdicts compare` shows where the checker disagrees.
//!
//! `verdicts/exceptions.txt` lists the disagreements that stay, by class and with the reason and number of each.
//! `BLESS=1` rewrites the numbers.

use replay::verdicts::{Exception, judge};
use std::path::Path;

/// An exception as the list has it, with a count.
fn line(exception: &Exception, count: usize) -> String {
    let verdict = if exception.accepted { "accepts" } else { "rejects" };
    format!("{verdict}  {count}  {}  {}", exception.pattern, exception.reason)
}

#[test]
fn the_checker_agrees_with_ptxas() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts");
    let list = folder.join("exceptions.txt");
    let text = std::fs::read_to_string(&list).expect("the exceptions are there");
    let exceptions = Exception::read(&text);
    let mut found = vec![0; exceptions.len()];
    let mut wrong = Vec::new();
    let judged = judge(&folder, &|_| true);
    for verdict in judged.iter().filter(|verdict| verdict.ours != verdict.theirs) {
        match exceptions.iter().position(|exception| exception.covers(verdict)) {
            Some(class) => found[class] += 1,
            None => {
                let theirs = if verdict.theirs { "accepts" } else { "rejects" };
                wrong.push(format!(
                    "{}: ptxas {theirs} {} {} {}",
                    verdict.file, verdict.header, verdict.text, verdict.said
                ));
            }
        }
    }
    assert!(judged.len() > 100_000, "{}", judged.len());
    assert!(wrong.is_empty(), "{} of {} disagree:\n{}", wrong.len(), judged.len(), wrong.join("\n"));
    let mut lines: Vec<String> =
        text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect();
    lines.extend(exceptions.iter().zip(&found).map(|(exception, count)| line(exception, *count)));
    let now = lines.join("\n") + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&list, now).expect("the list can be written");
        return;
    }
    let changed: Vec<_> = exceptions
        .iter()
        .zip(&found)
        .filter(|(exception, count)| exception.count != **count)
        .map(|(exception, count)| format!("{} (now {count})", line(exception, exception.count)))
        .collect();
    assert!(changed.is_empty(), "the exceptions are not what is listed:\n{}", changed.join("\n"));
    assert!(found.iter().all(|count| *count > 0), "an exception is no longer needed");
}
