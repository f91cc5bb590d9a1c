//! A GPU's results as the expected values of a file.
//!
//! An `out` whose values are `?`, or differ from what the GPU gave, is written anew; the others stay as people wrote
//! them. The line `//: recorded GPU` then says where the values are from.

use super::case::{self, Case, Expected};
use super::directive::Program;
use super::value::{Kind, Type};
use super::{execute, judge};
use real_gpu::Gpu;
use std::path::Path;

/// The longest line that is written.
const WIDTH: usize = 120;

/// Records a file: its text with the GPU's results.
///
/// # Errors
/// If a case does not run to its end.
pub fn record(file: &Path, gpu: &Gpu) -> Result<String, String> {
    let program = Program::read(file, file)?;
    let mut outputs: Vec<(u32, String)> = Vec::new();
    let mut ran = 0;
    let cases = case::parse(&program)?;
    let runs = |case: &&Case| case.end == case::End::Finished && !execute::needs_the_machine(case);
    for case in cases.iter().filter(runs) {
        ran += 1;
        let outcome = execute::run_on_gpu(&program, case, gpu)?;
        if let execute::End::Stopped(why) = &outcome.end {
            return Err(format!("{}:{}: {why}", program.name, case.line));
        }
        for (expected, bytes) in case.expected.iter().zip(&outcome.memory) {
            if expected.is_open || differs(case, expected, bytes) {
                outputs.push((expected.line, values(expected.values.ty, bytes)));
            }
        }
    }
    if ran == 0 {
        return Err(format!("{}: no case that a GPU could run to its end", program.name));
    }
    Ok(rewritten(program.source.text(), &outputs, gpu.name()))
}

fn differs(case: &Case, expected: &Expected, bytes: &[u8]) -> bool {
    let alone = Case { expected: vec![expected.clone()], printed: None, ..case.clone() };
    let outcome =
        execute::Outcome { end: execute::End::Finished, printed: None, memory: vec![bytes.to_vec()] };
    !judge::judge(&alone, &outcome).is_empty()
}

/// A list of values as a file has it: repetitions once, floating point as bits.
fn values(ty: Type, bytes: &[u8]) -> String {
    let text = |bits: u64| match ty.kind {
        Kind::Unsigned | Kind::Signed if bits < 10 => bits.to_string(),
        _ => format!("{bits:#x}"),
    };
    let bits: Vec<u64> = ty.elements(bytes).collect();
    let runs = bits.chunk_by(|a, b| a == b).map(|run| match run.len() {
        1 => text(run[0]),
        n => format!("{}*{n}", text(run[0])),
    });
    runs.collect::<Vec<_>>().join(" ")
}

/// The text with new values behind the `out` directives at these lines.
fn rewritten(text: &str, outputs: &[(u32, String)], gpu: &str) -> String {
    let mut lines = Vec::new();
    let mut is_replaced = false;
    let mut is_marked = text.lines().any(|line| line.starts_with("//: recorded "));
    for (index, line) in text.lines().enumerate() {
        if is_replaced && line.starts_with("//|") {
            continue;
        }
        is_replaced = false;
        if line.starts_with("//: run ") && !is_marked {
            is_marked = true;
            lines.push(format!("//: recorded {gpu}"));
        }
        match outputs.iter().find(|(at, _)| *at as usize == index + 1) {
            None => lines.push(line.to_owned()),
            Some((_, values)) => {
                is_replaced = true;
                let head = line.split_once('=').map_or(line, |(head, _)| head).trim_end();
                wrap(&format!("{head} ="), values, &mut lines);
            }
        }
    }
    lines.join("\n") + "\n"
}

fn wrap(head: &str, values: &str, lines: &mut Vec<String>) {
    let mut line = head.to_owned();
    for word in values.split(' ') {
        if line.len() + 1 + word.len() > WIDTH {
            lines.push(std::mem::replace(&mut line, "//| ".trim_end().to_owned()));
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_replace_what_stood_behind_an_output() {
        let text = "// Why.\n//: run k\n//: out d u32[3] = ?\n//: out e u32[2] = 1\n//|  2\n.version 8.0\n";
        let ty = Type::from_name("u32").unwrap();
        let list = values(ty, &[1, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0]);
        assert_eq!(list, "1 0xff*2");
        assert_eq!(
            rewritten(text, &[(3, list), (4, "7*2".into())], "GPU"),
            "// Why.\n//: recorded GPU\n//: run k\n//: out d u32[3] = 1 0xff*2\n//: out e u32[2] = 7*2\n.version 8.0\n"
        );
    }

    #[test]
    fn long_lists_go_on_in_the_next_line() {
        let mut lines = Vec::new();
        wrap("//: out d u32[64] =", &["0x12345678"; 20].join(" "), &mut lines);
        assert!(lines.len() == 3 && lines.iter().all(|line| line.len() <= WIDTH), "{lines:?}");
        assert!(lines[1].starts_with("//| 0x12345678 "));
    }
}
