//! `warploom cubin info`.

use super::{File, section_name};
use crate::failure::{Exit, Failure};
use crate::terminal;
use ::cubin::elf::section::{CUDA_COMPAT_INFO, CUDA_INFO};
use ::cubin::info::{self, Attribute, Payload, table};
use ::cubin::read::Program;
use serde_json::{Value, json};

pub(super) fn execute(file: &File) -> Result<Exit, Failure> {
    let elf = file.elf()?;
    let program = Program::new(&elf);
    let (mut text, mut values) = (String::new(), Vec::new());
    for (number, section) in (0..).zip(&elf.sections) {
        if !matches!(section.kind, CUDA_INFO | CUDA_COMPAT_INFO) {
            continue;
        }
        let section_name = section_name(&elf, number);
        let attributes = info::decode(section.data());
        let attributes = attributes.map_err(|error| file.unusable(&format!("{section_name}: {error}")))?;
        let compatibility = section.kind == CUDA_COMPAT_INFO;
        let named = attributes.iter().map(|attribute| (name(attribute, compatibility), attribute.payload()));
        if file.json {
            let attributes: Vec<_> = named
                .map(|(name, payload)| json!({ "name": name, "value": value(&program, &payload) }))
                .collect();
            values.push(json!({ "section": section_name, "attributes": attributes }));
        } else {
            text += &format!("{section_name}\n");
            for (name, payload) in named {
                text += format!("  {name:<38}  {}", meaning(&program, &payload)).trim_end();
                text.push('\n');
            }
        }
    }
    if file.json { terminal::json(&values.into()) } else { terminal::result(&text) }.map(|()| Exit::Ok)
}

fn name(attribute: &Attribute, compatibility: bool) -> String {
    let known = match compatibility {
        true => table::compatibility_name(attribute.code),
        false => table::name(attribute.code),
    };
    known.map_or_else(|| format!("{:#04x}", attribute.code), str::to_owned)
}

fn hex(numbers: &[u32]) -> String {
    numbers.iter().map(|number| format!("{number:#x}")).collect::<Vec<_>>().join(" ")
}

/// What an attribute says, in a line.
fn meaning(program: &Program<'_>, payload: &Payload) -> String {
    let symbol = |number: &u32| program.symbol_name(*number);
    let pairs = |pairs: &[(u32, u32)]| {
        pairs.iter().map(|(a, b)| format!("{a:#x}:{b:#x}")).collect::<Vec<_>>().join(" ")
    };
    match payload {
        Payload::Empty => String::new(),
        Payload::Number(number) => format!("{number:#x}"),
        Payload::Numbers(numbers) | Payload::Offsets(numbers) => hex(numbers),
        Payload::Symbols(symbols) => symbols.iter().map(symbol).collect::<Vec<_>>().join(" "),
        Payload::SymbolNumber { symbol: number, number: value } => format!("{} {value}", symbol(number)),
        Payload::Parameter(p) => format!("#{} at {:#x}, {} bytes", p.ordinal, p.offset, p.size),
        Payload::Bank(bank) => format!("{} at {:#x}, {} bytes", symbol(&bank.symbol), bank.offset, bank.size),
        Payload::Branches(branches) => {
            let one = |b: &info::Branch| format!("{:#x} to {}", b.offset, hex(&b.targets));
            branches.iter().map(one).collect::<Vec<_>>().join("; ")
        }
        Payload::Pairs(all) | Payload::Annotations(all) => pairs(all),
        Payload::SymbolPairs(all) => {
            all.iter().map(|(a, b)| format!("{} by {}", symbol(a), symbol(b))).collect::<Vec<_>>().join("; ")
        }
        Payload::KindOffsets { kind, offsets } => format!("kind {kind}: {}", hex(offsets)),
        Payload::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "),
    }
}

fn value(program: &Program<'_>, payload: &Payload) -> Value {
    let symbol = |number: &u32| program.symbol_name(*number);
    match payload {
        Payload::Empty => Value::Null,
        Payload::Number(number) => json!(number),
        Payload::Numbers(numbers) | Payload::Offsets(numbers) => json!(numbers),
        Payload::Symbols(symbols) => json!(symbols.iter().map(symbol).collect::<Vec<_>>()),
        Payload::SymbolNumber { symbol: number, number: value } => {
            json!({ "symbol": symbol(number), "number": value })
        }
        Payload::Parameter(p) => json!({
            "ordinal": p.ordinal,
            "offset": p.offset,
            "size": p.size,
            "bank": p.bank,
            "space": p.space,
        }),
        Payload::Bank(bank) => {
            json!({ "symbol": symbol(&bank.symbol), "offset": bank.offset, "size": bank.size })
        }
        Payload::Branches(branches) => {
            branches.iter().map(|b| json!({ "offset": b.offset, "targets": b.targets })).collect()
        }
        Payload::Pairs(all) | Payload::Annotations(all) => json!(all),
        Payload::SymbolPairs(all) => all.iter().map(|(a, b)| json!([symbol(a), symbol(b)])).collect(),
        Payload::KindOffsets { kind, offsets } => json!({ "kind": kind, "offsets": offsets }),
        Payload::Bytes(bytes) => json!(bytes),
    }
}
