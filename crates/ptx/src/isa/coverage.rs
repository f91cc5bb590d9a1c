//! The instruction table as a page of documentation.

use super::{FORMS, FormData, Gate, Modifier};
use crate::types::{Arch, ArchVariant, Version};
use std::fmt::Write;

/// The text of `docs/isa-coverage.md`.
pub fn coverage_markdown() -> String {
    let executed = FORMS.iter().filter(|form| form.sem.is_some()).count();
    let mut text = format!(
        "# Instruction coverage\n\n\
         Generated from `crates/ptx/isa/`; `BLESS=1 cargo test -p warploom-ptx --test isa_coverage` rewrites it.\n\n\
         {} forms of {} instructions are known: parsed, checked against `.version` and `.target`, and printed. {executed} \
         of the forms have a semantic function, so that the virtual GPU executes them; the others are the coded error \
         \"unsupported instruction\".\n",
        FORMS.len(),
        super::Mnemonic::ALL.len(),
    );
    let mut chapter = "";
    let mut section = "";
    for form in &FORMS {
        if form.chapter != chapter {
            chapter = form.chapter;
            let _ = write!(
                text,
                "\n## {chapter}\n\n| section | form | since | executed |\n| --- | --- | --- | --- |\n"
            );
        }
        let heading = if form.section == section {
            String::new()
        } else {
            section = form.section;
            format!("{section} {}", form.section_title())
        };
        let executed = form.sem.map_or("-", |sem| sem.text());
        let template = form.template.replace('|', "\\|");
        let _ = writeln!(text, "| {heading} | `{template}`{} | {} | {executed} |", types(form), since(form));
    }
    text
}

/// The choices of the slots that hold a type, which often are all that tells two forms apart.
fn types(form: &FormData) -> String {
    let mut text = String::new();
    for slot in form.slots {
        let names = slot.choices.iter().map(|choice| choice.modifier);
        if slot.choices.len() > 1 && slot.choices[0].modifier.scalar_type().is_some() {
            let names: Vec<_> = names.map(Modifier::text).collect();
            let _ = write!(text, "<br>.{} = {}", slot.slot.text(), names.join(" "));
        }
    }
    text
}

/// The form's gate, with the modifiers that came later.
fn since(form: &FormData) -> String {
    let mut text = gate(&form.gate);
    for slot in form.slots {
        let later = slot.choices.iter().filter(|choice| choice.gate != Gate::NONE);
        for choice in later {
            let _ = write!(text, "; `{}` {}", choice.modifier.text(), gate(&choice.gate));
        }
    }
    text
}

fn gate(gate: &Gate) -> String {
    let always = gate.ptx == Version { major: 1, minor: 0 };
    let mut parts = Vec::new();
    if !always {
        parts.push(gate.ptx.to_string());
    }
    let target = |arch: &Arch| match arch.variant {
        ArchVariant::Base => arch.to_string(),
        ArchVariant::Family | ArchVariant::Specific => format!("only {arch}"),
    };
    parts.extend(gate.targets.iter().map(target));
    parts.extend(gate.before.map(|sm| format!("before sm_{sm}")));
    if parts.is_empty() { "1.0".to_owned() } else { parts.join(", ") }
}
