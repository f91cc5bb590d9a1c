//! The laws that the machine executes whatever PTX has for `sm_90a`, as far as decoding goes, which is where it refuses:
//!
//! - every form of the instruction table that the target has, with every combination of its modifiers (of very large
//!   families a part that covers each of them), is decoded;
//! - whatever a recorded ptxas and the checker accept for the target is decoded, with all the operands that were asked
//!   about, but for what [`REFUSED`] and [`STRANGE`] list.
//!
//! An instruction is decoded several times, since a register that nobody reads, one that threads have values of their
//! own of and one that is the same for all of them live in different places.

#[path = "decode/surroundings.rs"]
mod surroundings;

use machine::{Device, DeviceOptions, Profile};
use ptx::isa::{self, FormId, Mnemonic, Slot};
use ptx::source::Source;
use ptx::types::{Arch, ArchVariant, ScalarType, Version};
use replay::verdicts;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use surroundings::Around;

const TARGET: Arch = Arch { sm: 90, variant: ArchVariant::Specific };
const VERSION: Version = Version { major: 9, minor: 1 };

/// The most opcodes of a form that are all decoded.
const MOST: usize = 400;

/// How the messages end with which something is refused that ptxas and the checker accept: what another module would have
/// to define, and operands that ptxas takes though the manual has no such ones, so that nothing says what they mean.
const REFUSED: [&str; 4] = [
    "which the module only declares",
    "and nothing defines it",
    "a texture offset of fewer dimensions than the texture",
    "a vector in place of a register",
];

/// What ptxas takes as operands though nothing says what it means: how the refusal begins, and how it ends.
const STRANGE: [(&str, &str); 13] = [
    ("operand Immediate(", "as an address"),
    ("operand Register(", "as an address"),
    ("operand SymbolAddress {", "as an address"),
    ("operand Symbol", "as a predicate"),
    ("operand NotPredicate(", "as a value"),
    ("operand Special {", "as a result"),
    ("operand Sink", "as a result"),
    ("operand Vector(", "as a result"),
    ("operand Vector(", "as a value"),
    ("operand Vector(", "as an address"),
    ("register %p", "as a 32-bit result"),
    ("register %p", "as a 32-bit value"),
    ("register %xhh", "as a predicate"),
];

/// Whether an instruction of the recorded verdicts may be refused so.
fn may_be_refused(why: &str) -> bool {
    REFUSED.iter().any(|end| why.ends_with(end))
        || STRANGE.iter().any(|(start, end)| why.starts_with(start) && why.ends_with(end))
}

fn device() -> Arc<Device> {
    let profile = Profile { memory: 1 << 20, ..Profile::default() };
    Device::new(profile, DeviceOptions::default()).expect("memory")
}

/// Why decoding was refused, and what was.
#[derive(Default)]
struct Refusals(BTreeMap<String, BTreeSet<String>>);

impl Refusals {
    fn add(&mut self, why: String, what: String) {
        self.0.entry(why).or_default().insert(what);
    }

    fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, (why, what)| {
            let some: Vec<_> = what.iter().take(4).map(String::as_str).collect();
            let _ = writeln!(text, "{why}: {} times, as {}", what.len(), some.join("; "));
            text
        })
    }
}

/// Compiles, loads and decodes; why that was refused.
fn decode(device: &Arc<Device>, text: &str) -> Vec<String> {
    let compiled = ptx::compile(&Source::new("form", text));
    let Some(module) = compiled.module else {
        return compiled
            .diagnostics
            .first()
            .map(|d| format!("{} {}", d.code, d.message))
            .into_iter()
            .collect();
    };
    let module = Arc::new(module);
    match device.load(Arc::clone(&module)) {
        Ok(loaded) => {
            let kernels = module.entries().filter_map(|(id, _)| loaded.entry(id));
            kernels.flat_map(|kernel| kernel.unsupported()).map(|unsupported| unsupported.what).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

/// The instance of an opcode at the laws' target, with the surroundings.
fn surrounded(instance: &str, around: Around) -> String {
    let registers = instance.lines().filter_map(|line| line.trim().strip_prefix(".reg ."));
    let registers = registers.filter_map(|rest| rest.trim_end_matches(';').split_once(' '));
    let (before, after) = around.text(registers);
    let lines: Vec<_> = instance.lines().skip(2).collect();
    let end = lines.iter().position(|line| line.trim() == "end:").expect("an instance has an end");
    let [head, tail] = [&lines[..end - 1], &lines[end..]].map(|part| part.join("\n"));
    format!(".version {VERSION}\n.target {TARGET}\n{head}\n{before}{}\n{after}{tail}\n", lines[end - 1])
}

#[test]
fn every_form_is_decoded() {
    let device = device();
    let mut refusals = Refusals::default();
    let mut decoded = 0;
    for form in FormId::all() {
        for opcode in isa::opcodes_of_target(form, VERSION, TARGET, MOST) {
            // Generic addresses of 32 bits are those of `.address_size 32`, which no device loads.
            if opcode.mnemonic() == Mnemonic::Cvta && opcode.ty(Slot::Type) == Some(ScalarType::U32) {
                continue;
            }
            let operands = opcode.data().operands;
            let optional = operands.iter().any(|operand| operand.optional && operand.with.is_none());
            for full in [false, true].into_iter().take(if optional { 2 } else { 1 }) {
                let instance = isa::instance(&opcode, full).expect("the target has all that it needs");
                for around in Around::ALL {
                    decoded += 1;
                    let whys = decode(&device, &surrounded(&instance, around));
                    for why in whys.into_iter().filter(|why| !REFUSED.iter().any(|end| why.ends_with(end))) {
                        refusals.add(why, format!("{} ({around:?})", opcode.text()));
                    }
                }
            }
        }
    }
    assert!(refusals.0.is_empty() && decoded > 50_000, "of {decoded} are refused:\n{}", refusals.text());
}

/// The types of registers by the beginning of their name in the recorded instructions.
const CLASSES: &[(&str, &str)] = &[
    ("%p", "pred"),
    ("%c", "b8"),
    ("%h", "b16"),
    ("%r", "b32"),
    ("%d", "b64"),
    ("%q", "b128"),
    ("%f", "f32"),
    ("%g", "f64"),
];

/// The numbered registers in a recorded instruction, each once, with their types.
fn registers(instruction: &str) -> BTreeSet<(&'static str, &str)> {
    let starts = instruction.match_indices('%').map(|(at, _)| &instruction[at..]);
    let names = starts.filter_map(|rest| {
        let (class, ty) = CLASSES.iter().find(|(class, _)| rest.starts_with(class))?;
        let digits =
            rest[class.len()..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - class.len());
        (digits > 0).then(|| (*ty, &rest[..class.len() + digits]))
    });
    names.collect()
}

#[test]
fn whatever_ptxas_accepts_is_decoded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx/tests/verdicts");
    let judged = verdicts::judge(&folder, &|_| true);
    let device = device();
    let mut refusals = Refusals::default();
    let mut decoded = 0;
    let home = format!("9.0/{TARGET}");
    for verdict in judged.iter().filter(|verdict| verdict.ours && verdict.theirs && verdict.header == home) {
        let module = verdicts::module(&verdict.header, &verdict.text);
        let is_instruction = !verdict.text.starts_with("module ") && !verdict.text.starts_with("file ");
        for around in Around::ALL.into_iter().take(if is_instruction { 3 } else { 1 }) {
            let (before, after) = around.text(registers(&verdict.text));
            let mut text = module.replacen(
                &format!("{}; end:", verdict.text),
                &format!("{before}{}; {after}end:", verdict.text),
                1,
            );
            if !before.is_empty() && !module.contains("in_global[") {
                text = text.replacen(".visible", ".global .align 16 .b8 in_global[64];\n.visible", 1);
            }
            decoded += 1;
            for why in decode(&device, &text) {
                if !may_be_refused(&why) {
                    refusals.add(why, format!("{} ({around:?})", verdict.text));
                }
            }
        }
    }
    assert!(refusals.0.is_empty() && decoded > 50_000, "of {decoded} are refused:\n{}", refusals.text());
}
