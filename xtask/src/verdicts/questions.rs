//! What to ask: the legal opcodes of the table, and everything one step around them.

use super::canonical::{self, NEWEST, instruction, joined};
use ptx::isa::{FormId, Limit, Modifier, Opcode, Slot, TARGETS, lookup, sample_opcodes};
use ptx::types::{Arch, TypeKind, Version};
use std::collections::{BTreeMap, BTreeSet};

/// The file, the `version/target` and the text, one of these two with a `$`; and what to put there.
pub(crate) type Questions = BTreeMap<(String, String, String), BTreeSet<String>>;

/// All of them. With `deep`, the steps start from every legal opcode of forms that do not have very many.
pub(crate) fn all(deep: bool) -> Questions {
    let mut questions = Questions::new();
    let mut mnemonics = BTreeMap::new();
    for form in FormId::all() {
        let samples = sample_opcodes(form);
        let mnemonic = &*mnemonics.entry(form.data().mnemonic).or_insert_with(|| Mnemonic::of(form));
        for (i, opcode) in legal(form, &samples, deep).iter().enumerate() {
            opcode_questions(&mut questions, mnemonic, opcode, i < samples.len());
        }
        for (i, opcode) in samples.iter().enumerate() {
            gate_questions(&mut questions, opcode, i == 0);
            operand_questions(&mut questions, opcode, &samples[0], i == 0, i % 4 == 1);
        }
    }
    super::directives::questions(&mut questions);
    questions
}

pub(crate) fn add(questions: &mut Questions, file: &str, header: &str, template: String, fill: String) {
    let key = (file.to_owned(), header.to_owned(), template);
    questions.entry(key).or_default().insert(fill);
}

/// `9.7.9.25 Bulk and tensor copies` to `09.25-bulk-and-tensor-copies`.
fn file_of(opcode: &Opcode) -> String {
    let (number, title) = opcode.data().chapter.split_once(' ').unwrap_or_default();
    let number = number.trim_start_matches("9.7.");
    let number =
        if number.find('.').unwrap_or(number.len()) == 1 { format!("0{number}") } else { number.into() };
    format!("{number}-{}", title.to_lowercase().replace([' ', '/'], "-"))
}

/// What an opcode is made of.
type Modifiers = Vec<(Slot, Modifier)>;

/// All that the forms of a mnemonic know.
struct Mnemonic {
    /// Each modifier with the slots it stands in.
    modifiers: Vec<(Slot, Modifier)>,
    /// The targets at which opcodes with a modifier are asked about.
    homes: BTreeMap<Modifier, BTreeSet<String>>,
}

impl Mnemonic {
    fn of(form: FormId) -> Self {
        let mnemonic = form.data().mnemonic;
        let mut modifiers = Vec::new();
        let mut homes: BTreeMap<Modifier, BTreeSet<String>> = BTreeMap::new();
        for form in FormId::all().filter(|form| form.data().mnemonic == mnemonic) {
            for spec in form.data().slots {
                for choice in spec.choices.iter().map(|choice| (spec.slot, choice.modifier)) {
                    if !modifiers.iter().any(|(_, modifier)| *modifier == choice.1) {
                        modifiers.push(choice);
                    }
                }
            }
            for opcode in sample_opcodes(form) {
                let Some(home) = canonical::home(&opcode, false) else { continue };
                for (_, modifier) in &opcode.modifiers {
                    homes.entry(*modifier).or_default().insert(home.to_string());
                }
            }
        }
        Self { modifiers, homes }
    }
}

/// Samples, and if they are few, all other combinations of modifiers.
fn legal(form: FormId, samples: &[Opcode], deep: bool) -> Vec<Opcode> {
    let slots = form.data().slots;
    let choices = |i: usize| slots[i].choices.len() + usize::from(slots[i].optional);
    let count = (0..slots.len()).try_fold(1usize, |n, i| n.checked_mul(choices(i))).unwrap_or(usize::MAX);
    let most = if deep { 4000 } else { 60 };
    let mut all = samples.to_vec();
    if count <= most {
        for number in 0..count {
            let mut rest = number;
            let mut modifiers = Vec::new();
            for (i, spec) in slots.iter().enumerate() {
                let choice = rest % choices(i);
                rest /= choices(i);
                if let Some(choice) = spec.choices.get(choice) {
                    modifiers.push((spec.slot, choice.modifier));
                }
            }
            let opcode = Opcode { form, modifiers };
            if !all.contains(&opcode) {
                all.push(opcode);
            }
        }
    }
    all
}

/// An opcode, and what is one modifier away from it.
fn opcode_questions(questions: &mut Questions, mnemonic: &Mnemonic, opcode: &Opcode, sample: bool) {
    let Some(home) = canonical::home(opcode, false) else { return };
    let name = opcode.mnemonic().text();
    let file = file_of(opcode);
    let none = BTreeSet::new();
    let mut ask = |variant: &Opcode, other: Option<Modifier>| {
        let text = variant.text();
        let known = other.is_some() && lookup(&text).is_ok();
        let suffix = &text[name.len()..];
        let suffix = if suffix.is_empty() { "~" } else { suffix };
        let mut homes = other.and_then(|other| mnemonic.homes.get(&other)).unwrap_or(&none).clone();
        homes.insert(home.to_string());
        for full in [false, true].into_iter().take(if known { 1 } else { 2 }) {
            let operands = joined(&canonical::operands(variant, full));
            let template = instruction(&format!("{name}$"), &operands);
            for home in &homes {
                add(questions, &file, &format!("{NEWEST}/{home}"), template.clone(), suffix.to_owned());
            }
        }
    };
    ask(opcode, None);
    let modifiers = &opcode.modifiers;
    // A slot with very many choices has neighbours enough at a few of them.
    let crowded = |i: usize| {
        let slots = opcode.data().slots;
        let spec = slots.iter().find(|spec| spec.slot == modifiers[i].0);
        spec.is_some_and(|spec| {
            let at = spec.choices.iter().position(|choice| choice.modifier == modifiers[i].1);
            spec.choices.len() > 6 && at.is_some_and(|at| at % (spec.choices.len() / 3) != 0)
        })
    };
    if !sample || (0..modifiers.len()).any(crowded) {
        return;
    }
    let alone = modifiers.iter().filter(|(_, modifier)| modifier.scalar_type().is_some()).count() == 1;
    let with = |change: &dyn Fn(&mut Modifiers)| {
        let mut changed = opcode.clone();
        change(&mut changed.modifiers);
        changed
    };
    for i in 0..modifiers.len() {
        ask(
            &with(&|m| {
                m.remove(i);
            }),
            None,
        );
        if i > 0 {
            ask(&with(&|m| m.swap(i - 1, i)), None);
        }
        let (slot, present) = modifiers[i];
        for &(_, other) in &mnemonic.modifiers {
            if other != present && other.kind() == present.kind() {
                ask(&with(&|m| m[i] = (slot, other)), Some(other));
            }
        }
        if alone && present.scalar_type().is_some_and(|ty| ty.kind() != TypeKind::Opaque) {
            for other in Modifier::ALL {
                if other != present && other.scalar_type().is_some_and(|ty| ty.kind() != TypeKind::Opaque) {
                    ask(&with(&|m| m[i] = (slot, other)), Some(other));
                }
            }
        }
    }
    let is_type = |modifier: Modifier| modifier.scalar_type().is_some();
    for &(slot, other) in &mnemonic.modifiers {
        if modifiers.iter().any(|(_, modifier)| *modifier == other) {
            continue;
        }
        let first_type = modifiers.iter().position(|(_, m)| is_type(*m)).unwrap_or(modifiers.len());
        ask(&with(&|m| m.insert(first_type, (slot, other))), Some(other));
        if is_type(other) {
            ask(&with(&|m| m.push((slot, other))), Some(other));
        }
    }
}

/// Every version and target for an opcode that is the first of its form or has a modifier with a gate.
fn gate_questions(questions: &mut Questions, opcode: &Opcode, first: bool) {
    let gated = opcode.gates().skip(1).any(|(_, gate)| gate != ptx::isa::Gate::NONE);
    let Some(home) = canonical::home(opcode, false) else { return };
    if !first && !gated {
        return;
    }
    let text = instruction(&opcode.text(), &joined(&canonical::operands(opcode, false)));
    let mut ask = |version: Version, target: String| {
        add(questions, "gates", "$", text.clone(), format!("{version}/{target}"));
    };
    for version in versions() {
        ask(version, home.to_string());
    }
    for arch in targets() {
        ask(NEWEST, arch.to_string());
    }
}

/// All targets.
pub(crate) fn targets() -> impl Iterator<Item = Arch> {
    TARGETS.iter().map(|(arch, _)| *arch)
}

/// The versions from 2.3 on, which began `.address_size`.
pub(crate) fn versions() -> Vec<Version> {
    let minors =
        [(2, 3..=3), (3, 0..=2), (4, 0..=3), (5, 0..=0), (6, 0..=5), (7, 0..=8), (8, 0..=8), (9, 0..=0)];
    minors.into_iter().flat_map(|(major, minors)| minors.map(move |minor| Version { major, minor })).collect()
}

/// What could stand at any operand.
const OPERANDS: &[&str] = &[
    "%p9",
    "%c9",
    "%h9",
    "%r9",
    "%d9",
    "%q9",
    "%f9",
    "%g9",
    "%xu16",
    "%xs16",
    "%xf16",
    "%xu32",
    "%xs32",
    "%xhh",
    "%xu64",
    "%xs64",
    "0",
    "1",
    "-1",
    "5",
    "16",
    "128",
    "255",
    "256",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "1.0",
    "0f3F800000",
    "0d3FF0000000000000",
    "_",
    "!%p9",
    "-%r9",
    "!%r9",
    "{%r8,%r9}",
    "{%r9}",
    "{%d8,%d9}",
    "{%h8,%h9}",
    "[%d9]",
    "[%f9]",
    "[in_global]",
    "[in_shared]",
    "[in_const]",
    "[in_local]",
    "[parameter]",
    "[argument]",
    "[in_global+4]",
    "[in_shared+4]",
    "[%d9+8]",
    "[%d9+-8]",
    "[0]",
    "[16]",
    "in_global",
    "in_shared",
    "in_local",
    "parameter",
    "argument",
    "callee",
    "end",
    "%tid.x",
    "%tid",
    "%laneid",
    "%clock64",
    "%r9.x",
    "%r9.b0",
];

/// The same for operands of other opcodes of the form.
const SOME_OPERANDS: &[&str] = &[
    "%p9",
    "%c9",
    "%h9",
    "%r9",
    "%d9",
    "%f9",
    "%g9",
    "%xu16",
    "%xf16",
    "%xs32",
    "%xhh",
    "%xs64",
    "1",
    "-1",
    "65536",
    "4294967296",
    "1.0",
    "0f3F800000",
];

/// Each operand replaced, left out, doubled.
fn operand_questions(questions: &mut Questions, opcode: &Opcode, minimal: &Opcode, first: bool, few: bool) {
    let types = |opcode: &Opcode| opcode.operand_types();
    // Types of the same kind and width behave alike; the last sample of a form stands for several.
    if !first && (types(opcode) == types(minimal) || !few) {
        return;
    }
    let file = format!("operands-{}", file_of(opcode));
    for full in [false, true] {
        let Some(home) = canonical::home(opcode, full) else { continue };
        let header = format!("{NEWEST}/{home}");
        let operands = canonical::operands(opcode, full);
        if full && operands == canonical::operands(opcode, false) {
            continue;
        }
        let text = opcode.text();
        for i in 0..operands.len() {
            let bar = if operands[i].starts_with('|') { "|" } else { "" };
            let mut holed = operands.clone();
            holed[i] = format!("{bar}$");
            let template = instruction(&text, &joined(&holed));
            let fills = if first { OPERANDS } else { SOME_OPERANDS };
            let mut fills: Vec<String> = fills.iter().map(|fill| (*fill).to_owned()).collect();
            if first {
                fills.extend(limits(opcode, i, full));
            }
            fills.extend(lengths(&operands[i], first));
            for fill in fills {
                add(questions, &file, &header, template.clone(), fill);
            }
        }
        if !first {
            continue;
        }
        let template = format!("{text} $");
        let mut ask = |operands: &[String]| {
            let list = joined(operands);
            add(questions, &file, &header, template.clone(), if list.is_empty() { "~".into() } else { list });
        };
        for i in 0..operands.len() {
            let mut fewer = operands.clone();
            fewer.remove(i);
            if let Some(next) = fewer.first_mut() {
                *next = next.trim_start_matches('|').to_owned();
            }
            ask(&fewer);
            let mut doubled = operands.clone();
            doubled.insert(i, operands[i].clone());
            ask(&doubled);
        }
        for extra in
            ["%r9", "%d9", "%h9", "%f9", "%p9", "!%p9", "0", "1.0", "{%r8,%r9}", "[%d9]", "|%p9", "end"]
        {
            let mut more = operands.clone();
            more.push(extra.to_owned());
            ask(&more);
        }
    }
}

/// Around the ends of a constant's range.
fn limits(opcode: &Opcode, written: usize, full: bool) -> Vec<String> {
    let specs = opcode.data().operands.iter().filter(|spec| match spec.with {
        Some(modifier) => opcode.has(modifier),
        None => full || !spec.optional,
    });
    let values: Vec<i64> = match specs.map(|spec| spec.limit).nth(written).flatten() {
        Some(Limit::Range(low, high) | Limit::Steps(low, high, _)) => vec![low, high],
        Some(Limit::MultipleOf(step)) => vec![step, 2 * step, 100 * step],
        Some(Limit::OneOf(values)) => values.to_vec(),
        None => return Vec::new(),
    };
    values
        .iter()
        .flat_map(|value| [-1, 0, 1].map(|step| i128::from(*value) + step))
        .map(|value| value.to_string())
        .collect()
}

/// A vector operand with other lengths, element types and elements; around a bracket's coordinates too.
fn lengths(operand: &str, first: bool) -> Vec<String> {
    let (Some(open), Some(close)) = (operand.find('{'), operand.rfind('}')) else { return Vec::new() };
    let (before, after) = (&operand[..open], &operand[close + 1..]);
    let elements: Vec<&str> = operand[open + 1..close].split(',').collect();
    let n = elements.len();
    let class = &elements[0][..2];
    let vector = |elements: &[String]| format!("{before}{{{}}}{after}", elements.join(","));
    let count = |class: &str, n: usize| vector(&(0..n).map(|i| format!("{class}{i}")).collect::<Vec<_>>());
    let mut lists: Vec<String> = [1, 2, 3, 4, 5, 8, n - 1, n + 1, n * 2]
        .iter()
        .filter(|n| **n > 0)
        .map(|n| count(class, *n))
        .collect();
    if n <= 16 && first {
        lists.extend(["%h", "%r", "%d", "%f", "%g", "%p", "%q", "%c"].iter().map(|class| count(class, n)));
        for odd in ["_", "1", "1.0", "%r9", "%d9", "%h9", "%f9", "in_global", "%tid.x"] {
            let mut elements: Vec<String> = elements.iter().map(|e| (*e).to_owned()).collect();
            elements[n - 1] = odd.to_owned();
            lists.push(vector(&elements));
            lists.push(vector(&vec![odd.to_owned(); n]));
        }
    }
    lists.push(format!("{before}{}{after}", elements[0]));
    lists.retain(|list| list != operand);
    lists.push(operand.to_owned());
    lists
}
