//! The law that the machine executes whatever PTX has for `sm_90a`: every form of the instruction table that the target
//! has, with every combination of its modifiers (of very large families a part that covers each of them), is decoded.
//!
//! An instance is decoded several times, since a register that nobody reads, one that threads have values of their own
//! of and one that is the same for all of them live in different places.

use machine::{Device, DeviceOptions, Profile};
use ptx::isa::{self, FormId, Mnemonic, Slot};
use ptx::source::Source;
use ptx::types::{Arch, ArchVariant, ScalarType, Version};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

const TARGET: Arch = Arch { sm: 90, variant: ArchVariant::Specific };
const VERSION: Version = Version { major: 9, minor: 1 };

/// The most opcodes of a form that are all decoded.
const MOST: usize = 400;

/// What stands around the instruction of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    /// Nothing: no register is initialised, none is read afterwards.
    Nothing,
    /// All registers start as values of the threads' own, and are stored afterwards.
    Threads,
    /// All registers start as what a kernel parameter holds, and are stored afterwards.
    Uniform,
}

/// The instance at the law's target, with the surroundings.
fn surrounded(instance: &str, around: Around) -> String {
    let mut text = format!(".version {VERSION}\n.target {TARGET}\n");
    let mut before = String::new();
    let mut after = String::new();
    for line in instance.lines().skip(2) {
        if let Some((ty, name)) = line.trim().strip_prefix(".reg .").and_then(|rest| rest.split_once(' ')) {
            let name = name.trim_end_matches(';');
            let space = if around == Around::Threads { "global" } else { "param" };
            let from = if around == Around::Threads { "%own" } else { "parameter" };
            let _ = match ty {
                "pred" => {
                    let _ =
                        writeln!(before, "\tld.{space}.b32 %word, [{from}]; setp.ne.b32 {name}, %word, 0;");
                    writeln!(after, "\t@{name} st.global.b32 [in_global], 1;")
                }
                "b128" => {
                    let _ =
                        writeln!(before, "\tld.{space}.b64 %own, [{from}]; mov.b128 {name}, {{%own, %own}};");
                    writeln!(after, "\tst.global.b128 [in_global], {name};")
                }
                _ => {
                    let bits = ty.trim_start_matches(|c: char| c.is_ascii_alphabetic());
                    let _ = writeln!(before, "\tld.{space}.b{bits} {name}, [{from}];");
                    writeln!(after, "\tst.global.b{bits} [in_global], {name};")
                }
            };
        }
        let is_end = line.trim() == "end:";
        if is_end && around != Around::Nothing {
            // The instruction is the line before: what prepares it goes there.
            let at = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
            let instruction = text.split_off(at);
            let _ = write!(
                text,
                "\t.reg .b32 %word; .reg .b64 %own;\n\tmov.u32 %word, %tid.x; mov.b64 %own, in_global; \
                 mad.wide.u32 %own, %word, 4, %own;\n{before}{instruction}{after}"
            );
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[test]
fn every_form_is_decoded() {
    let options = DeviceOptions::default();
    let device =
        Arc::new(Device::new(Profile { memory: 1 << 20, ..Profile::default() }, options).expect("memory"));
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut decoded = 0;
    for form in FormId::all() {
        for opcode in isa::opcodes_of_target(form, VERSION, TARGET, MOST) {
            let written = opcode.text();
            // Generic addresses of 32 bits are those of `.address_size 32`, which no device loads.
            if opcode.mnemonic() == Mnemonic::Cvta && opcode.ty(Slot::Type) == Some(ScalarType::U32) {
                continue;
            }
            let optional =
                opcode.data().operands.iter().any(|operand| operand.optional && operand.with.is_none());
            for full in [false, true].into_iter().take(if optional { 2 } else { 1 }) {
                let Some(instance) = isa::instance(&opcode, full) else {
                    wrong.entry("no instance".to_owned()).or_default().push(written.clone());
                    continue;
                };
                for around in [Around::Nothing, Around::Threads, Around::Uniform] {
                    let text = surrounded(&instance, around);
                    let mut refused = |why: &str| {
                        wrong.entry(why.to_owned()).or_default().push(format!("{written} ({around:?})"));
                    };
                    let compiled = ptx::compile(&Source::new("form", text.as_str()));
                    let Some(module) = compiled.module else {
                        let why = compiled.diagnostics.first().map(|d| format!("{} {}", d.code, d.message));
                        refused(&why.unwrap_or_default());
                        continue;
                    };
                    let loaded = device.load(module).expect("the device has memory for it");
                    match loaded.kernel("kernel").expect("the instance is an entry").usage() {
                        Ok(_) => decoded += 1,
                        Err(why) => refused(&why.what),
                    }
                }
            }
        }
    }
    let list = wrong.iter().fold(String::new(), |mut list, (why, forms)| {
        let _ = writeln!(list, "{why}: {} times, as {}", forms.len(), forms[..forms.len().min(4)].join("; "));
        list
    });
    assert!(wrong.is_empty() && decoded > 10_000, "{decoded} decoded; refused:\n{list}");
}
