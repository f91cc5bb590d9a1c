//! The instruction table as a page of documentation: what is known, executed and recorded.

use crate::case::{Absent, TARGET, cases};
use crate::recording::Recording;
use ptx::isa::{FORMS, FormData, FormId, Gate, Mnemonic, Modifier};
use ptx::source::Source;
use ptx::types::{Arch, ArchVariant, Version};
use std::collections::HashSet;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// The version of ptxas with which the recording was made.
const ASSEMBLER: &str = "13.0";

/// The line by which a file test says that a GPU gave its expected values.
const RECORDED_FILE: &str = "//: recorded ";

/// The text of `docs/isa-coverage.md` for the repository at `root`.
///
/// # Errors
/// If the recording or the file tests cannot be read.
pub fn page(root: &Path) -> io::Result<String> {
    let recording = Recording::read(&root.join(Recording::PATH))?;
    let by_file = forms_of_files(&root.join("tests/run"))?;
    let executed = FORMS.iter().filter(|form| form.sem.is_some()).count();
    let mut counts = [0; 2];
    let mut table = String::new();
    let (mut chapter, mut section) = ("", "");
    for id in FormId::all() {
        let form = id.data();
        if form.chapter != chapter {
            chapter = form.chapter;
            let _ = write!(
                table,
                "\n## {chapter}\n\n| section | form | since | machine | recorded |\n| --- | --- | --- | --- | --- |\n"
            );
        }
        let heading = if form.section == section {
            String::new()
        } else {
            section = form.section;
            format!("{section} {}", form.section_title())
        };
        let mut recorded = recorded(id, &recording, &by_file);
        if form.sem.is_some() && recorded == Absent::Target.text() {
            recorded = "by the manual".to_owned();
        }
        let has_recording = recorded.starts_with(|c: char| c.is_ascii_digit()) || recorded == "file";
        counts[0] += usize::from(has_recording);
        counts[1] += usize::from(form.sem.is_some() && recorded == "-");
        let machine = form.sem.map_or("-", |sem| sem.text());
        let template = form.template.replace('|', "\\|");
        let _ = writeln!(
            table,
            "| {heading} | `{template}`{} | {} | {machine} | {recorded} |",
            types(form),
            since(form)
        );
    }
    let [with_recording, missing] = counts;
    Ok(format!(
        "# Instruction coverage\n\n\
         Generated from `crates/ptx/isa/` and the recordings: `cargo xtask docs` rewrites it.\n\n\
         {} forms of {} instructions are known: parsed, checked against `.version` and `.target`, and printed. The \
         column **machine** names the semantic function with which the virtual GPU executes a form: {executed} of them.\n\n\
         The column **recorded** tells what there is from a real GPU ({TARGET}) for {with_recording} forms: how many \
         cases of the form, by the recorder of `crates/conformance`; \"file\" where a file test has recorded values. \
         \"-\" means that there should be one and is not: {missing} forms that the machine executes. What cannot be \
         recorded says why: the target does not have it, so that what is executed is \"by the manual\"; ptxas \
         {ASSEMBLER} refuses it; a form has nothing to observe, \
         but time or order, or ends the kernel; its result is a value that means something to the implementation \
         alone; it needs several GPUs, or an object that CUDA's driver does not make.\n{table}",
        FORMS.len(),
        Mnemonic::ALL.len(),
    ))
}

/// What the page says about a form's recordings.
fn recorded(form: FormId, recording: &Recording, by_file: &HashSet<FormId>) -> String {
    let cases = match cases(form) {
        Ok(cases) => cases,
        Err(Absent::ByFile) => Vec::new(),
        Err(_) if by_file.contains(&form) => Vec::new(),
        Err(why) => return why.text().to_owned(),
    };
    let count = cases.iter().filter(|case| recording.entries.contains_key(&case.name)).count();
    match (count, by_file.contains(&form)) {
        (0, true) => "file".to_owned(),
        (0, false)
            if !cases.is_empty() && cases.iter().all(|case| recording.refused.contains(&case.name)) =>
        {
            "ptxas refuses".to_owned()
        }
        (0, false) => "-".to_owned(),
        (count, _) => count.to_string(),
    }
}

/// The forms that occur in file tests with recorded values.
fn forms_of_files(folder: &Path) -> io::Result<HashSet<FormId>> {
    let mut forms = HashSet::new();
    for path in files(folder)? {
        let text = std::fs::read_to_string(&path)?;
        if !text.lines().any(|line| line.starts_with(RECORDED_FILE)) {
            continue;
        }
        if let Ok((module, _)) = ptx::compile(&Source::new(path.display().to_string(), text)).into_result() {
            forms.extend(module.opcodes.iter().map(|opcode| opcode.form));
        }
    }
    Ok(forms)
}

/// The PTX files under a folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.extend(Some(path).filter(|path| path.extension().is_some_and(|e| e == "ptx"))),
        }
    }
    Ok(found)
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
