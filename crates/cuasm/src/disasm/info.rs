//! Attributes of nv.info.

use super::labels::{Labels, code_of, is_auto, is_ordered, words};
use super::plan::{Content, Plan};
use crate::flow::counts;
use crate::info::{self, SMALL, Word};
use cubin::info::{Attribute, Value};
use std::fmt::Write;

pub(super) fn print(plan: &Plan<'_>, labels: &Labels, index: usize, out: &mut String) {
    for attribute in cubin::info::decode(plan.elf.sections[index].data()).unwrap_or_default() {
        let name = info::name(attribute.code);
        let small = |format: usize, value: u16| {
            let value = match attribute.code == info::BARRIERS && is_barrier_count(plan, index, value) {
                true => "auto".to_owned(),
                false => format!("{value:#x}"),
            };
            format!("{}\t{name}, {value}", SMALL[format].1)
        };
        let line = match &attribute.value {
            Value::None(value) => small(0, *value),
            Value::Byte(value, second) => small(1, u16::from_le_bytes([*value, *second])),
            Value::Half(value) => small(2, *value),
            Value::Sized(payload) => {
                let arguments = arguments(plan, labels, index, &attribute, payload);
                let comma = if arguments.is_empty() { "" } else { ", " };
                format!(".attr\t{name}{comma}{}", arguments.join(", "))
            }
        };
        let _ = writeln!(out, "\t{line}");
    }
}

/// Whether a number of barriers is that which the assembler would count.
fn is_barrier_count(plan: &Plan<'_>, index: usize, value: u16) -> bool {
    let count = code_of(plan, index).and_then(|(_, code)| plan.counts(code)).map(|counts| counts.barriers);
    count == Some(value.into())
}

fn arguments(
    plan: &Plan<'_>,
    labels: &Labels,
    index: usize,
    attribute: &Attribute,
    payload: &[u8],
) -> Vec<String> {
    let words = words(payload);
    let code = code_of(plan, index).map(|(_, code)| code);
    if let Some(code) = code
        && info::is_offsets(attribute.code)
        && payload.len().is_multiple_of(4)
    {
        if is_auto(plan, code, attribute.code, &words) {
            return vec!["auto".to_owned()];
        }
        if is_ordered(plan, code, &words) {
            return vec!["offsets".to_owned()];
        }
    }
    let argument = |(at, (&word, kind)): (usize, (&u32, Word))| {
        if attribute.code == info::REGISTERS && at == 1 && is_register_count(plan, words[0], word) {
            return "auto".to_owned();
        }
        let label = code.filter(|_| kind == Word::Offset).and_then(|code| labels.plain(code, word.into()));
        match label {
            Some(label) => format!("{label}@srel"),
            None if kind == Word::Symbol && (word as usize) < plan.symbols.len() => {
                format!("index@({})", plan.symbol(word))
            }
            None => format!("{word:#x}"),
        }
    };
    let rest = payload[words.len() * 4..].iter().map(|byte| format!("byte@({byte:#x})"));
    words.iter().zip(info::words(attribute.code, &words)).enumerate().map(argument).chain(rest).collect()
}

/// Whether a number of registers is that which the assembler would count.
fn is_register_count(plan: &Plan<'_>, symbol: u32, value: u32) -> bool {
    let symbol = plan.symbols.get(symbol as usize).filter(|_| plan.is_label(symbol as usize));
    let code = symbol.map(|symbol| usize::from(symbol.section));
    let code = code.filter(|&code| plan.contents[code] == Content::Code);
    let counts = code.and_then(|code| plan.counts(code));
    counts.is_some_and(|counts: counts::Counts| counts.registers() == value)
}
