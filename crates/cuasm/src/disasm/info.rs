//! Records of nv.info.

use super::labels::{branch_target_offsets, code_of, is_auto, is_ordered, words};
use super::plan::Plan;
use crate::info::{self, Record, SMALL, Shape, Value};
use std::fmt::Write;

/// Whether a section's bytes are records that are written as they are read.
pub(super) fn reads_back(bytes: &[u8]) -> bool {
    let Some(records) = info::read(bytes) else { return false };
    let mut again = Vec::with_capacity(bytes.len());
    records.iter().all(|record| record.write(&mut again).is_ok()) && again == bytes
}

pub(super) fn print(plan: &Plan<'_>, index: usize, out: &mut String) {
    for record in info::read(plan.elf.sections[index].data()).unwrap_or_default() {
        let name = info::name(record.attribute);
        let _ = match &record.value {
            Value::Small(format, value) => {
                let directive = SMALL.iter().find(|row| row.0 == *format).map_or("", |row| row.1);
                writeln!(out, "\t{directive}\t{name}, {value:#x}")
            }
            Value::Sized(payload) => {
                let arguments = payload_arguments(plan, index, &record, payload);
                let comma = if arguments.is_empty() { "" } else { ", " };
                writeln!(out, "\t.attr\t{name}{comma}{}", arguments.join(", "))
            }
        };
    }
}

fn payload_arguments(plan: &Plan<'_>, index: usize, record: &Record, payload: &[u8]) -> Vec<String> {
    let words = words(payload);
    let shape = info::shape(record.attribute);
    let code = code_of(plan, index).map(|(_, code)| code);
    if let (Shape::Offsets, Some(code)) = (shape, code)
        && payload.len().is_multiple_of(4)
    {
        if is_auto(plan, code, record.attribute, &words) {
            return vec!["auto".to_owned()];
        }
        if is_ordered(plan, code, &words) {
            return vec!["offsets".to_owned()];
        }
    }
    let offsets = match shape {
        Shape::Offsets => (0..words.len()).collect(),
        Shape::BranchTargets => branch_target_offsets(&words),
        _ => Vec::new(),
    };
    let argument = |(at, &word): (usize, &u32)| {
        let symbol = shape == Shape::Symbols || shape == Shape::Symbol && at == 0;
        let label = code.filter(|_| offsets.contains(&at)).and_then(|code| plan.labels.plain(code, word.into()));
        match label {
            Some(label) => format!("{label}@srel"),
            None if symbol && (word as usize) < plan.symbols.len() => format!("index@({})", plan.symbol(word)),
            None => format!("{word:#x}"),
        }
    };
    let rest = payload[words.len() * 4..].iter().map(|byte| format!("byte@({byte:#x})"));
    words.iter().enumerate().map(argument).chain(rest).collect()
}
