//! What comes out of a launch: prints, files and comparisons, as text or as parts of a JSON report.

use super::binding::{Buffer, Task};
use super::compare::compare;
use super::element::Element;
use super::npy;
use crate::failure::{Exit, Failure};
use crate::terminal::{self, thousands};
use machine::memory::Buffers;
use serde_json::{Value, json};
use std::path::Path;

/// Elements that `print` shows if it is not told how many.
const SHOWN: u64 = 64;
/// Elements in a line of a one-dimensional array.
const IN_LINE: usize = 16;

/// Does what the arguments say about every buffer. One that fails does not keep the others from being done.
pub(crate) fn deliver(
    buffers: &[Buffer],
    memory: &dyn Buffers,
    mut report: Option<&mut Vec<Value>>,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Ok;
    for buffer in buffers.iter().filter(|buffer| !buffer.tasks.is_empty()) {
        let bytes = buffer.download(memory).map_err(|error| {
            Failure::usage(format!("cannot read the buffer of {} back: {error}", buffer.name))
        })?;
        for task in &buffer.tasks {
            let value = match (task, report.is_some()) {
                (Task::Print { limit, hex }, false) => {
                    terminal::result(&print(buffer, &bytes, limit.unwrap_or(SHOWN), *hex))?;
                    continue;
                }
                (Task::Print { limit, hex }, true) => {
                    json!({ "print": values(buffer, &bytes, limit.unwrap_or(u64::MAX), *hex) })
                }
                (Task::Output(path), _) => {
                    let error = write(path, buffer, &bytes).err();
                    if let Some(error) = &error {
                        Failure::usage(format!("cannot write {}: {error}", path.display())).report();
                        exit = exit.max(Exit::Usage);
                    }
                    json!({ "out": path.to_string_lossy(), "error": error.map(|e| e.to_string()) })
                }
                (Task::Expect { expected, tolerance }, json) => {
                    let comparison = compare(buffer.element, &bytes, expected, tolerance);
                    if !comparison.passed() {
                        exit = exit.max(Exit::Findings);
                        if !json {
                            let text = comparison.text(&buffer.name, buffer.element, &buffer.shape);
                            Failure::new(Exit::Findings, format!("expectation failed: {}", text.trim_end()))
                                .report();
                        }
                    }
                    json!({ "expect": comparison.json(buffer.element, &buffer.shape) })
                }
            };
            if let Some(report) = &mut report {
                report.push(entry(buffer, value));
            }
        }
    }
    Ok(exit)
}

fn entry(buffer: &Buffer, mut value: Value) -> Value {
    value["parameter"] = buffer.parameter.into();
    value["name"] = buffer.name.as_str().into();
    value["type"] = buffer.element.to_string().into();
    value["shape"] = buffer.shape.clone().into();
    value
}

fn write(path: &Path, buffer: &Buffer, bytes: &[u8]) -> std::io::Result<()> {
    match npy::is_npy(path) {
        true => npy::write(path, buffer.element, &buffer.shape, bytes),
        false => std::fs::write(path, bytes),
    }
}

fn values(buffer: &Buffer, bytes: &[u8], limit: u64, hex: bool) -> Vec<Value> {
    let value = |bits| if hex { buffer.element.hex(bits).into() } else { buffer.element.json(bits) };
    bits(buffer.element, bytes, limit).map(value).collect()
}

fn bits(element: Element, bytes: &[u8], limit: u64) -> impl Iterator<Item = u64> + '_ {
    let elements = (bytes.len() / element.bytes()) as u64;
    (0..elements.min(limit) as usize).map(move |index| element.get(bytes, index))
}

/// `c: f32[2x3]` and the elements: a line for each row of the last dimension.
fn print(buffer: &Buffer, bytes: &[u8], limit: u64, hex: bool) -> String {
    let element = buffer.element;
    let text = |bits| if hex { element.hex(bits) } else { element.text(bits) };
    let shown: Vec<String> = bits(element, bytes, limit).map(text).collect();
    let mut all = format!("{}: {}\n", buffer.name, buffer.described());
    let row = match buffer.shape[..] {
        [_, .., columns] => usize::try_from(columns).unwrap_or(usize::MAX).max(1),
        _ => IN_LINE,
    };
    let width = shown.iter().map(String::len).max().unwrap_or(0);
    for (index, line) in shown.chunks(row).enumerate() {
        let line: Vec<_> = line.iter().map(|text| format!("{text:>width$}")).collect();
        all += &format!("  {:>6}: {}\n", index * row, line.join(" "));
    }
    let rest = buffer.elements() - shown.len() as u64;
    if rest > 0 {
        all += &format!("  ... {} more; print:N shows N elements\n", thousands(rest));
    }
    all
}
