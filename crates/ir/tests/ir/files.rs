//! The file tests of `tests/ir`: PTX, what to do with its functions, and the text that must come of it.
//!
//! ```text
//! //: simplify            what to do, of the functions below
//! .version ...            PTX
//! //: form                optionally, an SSA form in place of the one that is constructed
//! function k
//! //: expect
//! function k              what must come
//! ```
//!
//! Lines are compared without their indentation; empty ones and those that begin with `#` are for people.

use ir::analysis::Analysis;
use ir::{Cfg, Function, LaneOrder, Liveness, Ssa, pass};
use ptx::module::{FuncId, RegId};
use std::path::Path;

/// What is done with a function.
fn text(action: &str, function: &Function<'_>, form: &str) -> String {
    if action == "print" {
        return function.to_string();
    }
    if let Some(dimensions) = action.strip_prefix("analyze block=") {
        let dimensions: Vec<u32> = dimensions.split(',').map(|size| size.parse().unwrap()).collect();
        let lanes = LaneOrder::of_block([dimensions[0], dimensions[1], dimensions[2]]);
        let analysis = Analysis::new(function, lanes).unwrap();
        return notes(function, &analysis) + &loops(function, &analysis);
    }
    if action == "loops" {
        return loops(function, &Analysis::new(function, LaneOrder::ConsecutiveX).unwrap());
    }
    let cfg = Cfg::new(function);
    let mut ssa = match form.is_empty() {
        true => Ssa::new(function, cfg.clone(), &Liveness::new(function, &cfg)).unwrap(),
        false => Ssa::parse(function, form).unwrap_or_else(|error| panic!("{error} of\n{form}")),
    };
    match action {
        "ssa" => {}
        "verify" => {
            let violations = ssa.verify();
            return violations.iter().map(|violation| format!("{violation}\n")).collect();
        }
        "fold" => {
            pass::fold(&mut ssa);
        }
        "copies" => {
            pass::copies(&mut ssa);
        }
        "dead-code" => pass::dead_code(&mut ssa),
        "simplify" => pass::simplify(&mut ssa),
        unknown => panic!("there is no action `{unknown}`"),
    }
    ssa.to_string()
}

/// A line for each instruction that there is something to know of.
fn notes(function: &Function<'_>, analysis: &Analysis<'_>) -> String {
    let registers = &function.body.registers;
    let name = |register: RegId| function.module.text(registers[register.index()].name).to_owned();
    let mut text = String::new();
    for (index, notes) in analysis.notes().into_iter().filter(|(_, notes)| !notes.is_empty()) {
        let notes: Vec<String> = notes.iter().map(|note| note.text(name)).collect();
        text.push_str(&format!("{index}: {}\n", notes.join("; ")));
    }
    text
}

/// A line for each loop: what it counts, and how often its header runs.
fn loops(function: &Function<'_>, analysis: &Analysis<'_>) -> String {
    let registers = &function.body.registers;
    let name = |register: RegId| function.module.text(registers[register.index()].name).to_owned();
    let mut text = String::new();
    for (id, inductions, count) in analysis.loops() {
        let one = &analysis.facts.loops().all[id.index()];
        let counted: Vec<_> = inductions
            .iter()
            .map(|one| {
                format!("{} by {}", name(analysis.ssa.values[one.parameter.index()].register), one.step)
            })
            .collect();
        let times = count.map_or(String::new(), |count| format!(", {count} times"));
        text.push_str(&format!(
            "loop block{} depth {}: {}{times}\n",
            one.header.0,
            one.depth,
            counted.join(", ")
        ));
    }
    text
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// What a file gives, if that is not what it says.
fn check(path: &Path) -> Option<String> {
    let text_of_file = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let (mut action, mut form, mut source, mut expected) = ("", String::new(), String::new(), String::new());
    let mut section = 0;
    for line in text_of_file.lines() {
        match line.strip_prefix("//: ") {
            Some("form") => section = 1,
            Some("expect") => section = 2,
            Some(other) => action = other,
            None => {
                let part = [&mut source, &mut form, &mut expected];
                part[section].push_str(line);
                part[section].push('\n');
            }
        }
    }
    let module = crate::compile::compile(name, &source);
    let functions = (0..module.functions.len() as u32).filter_map(|id| Function::lower(&module, FuncId(id)));
    let found: String = functions.map(|function| text(action, &function, &form)).collect();
    (lines(&found) != lines(&expected)).then(|| format!("{name} gives\n{found}"))
}

#[test]
fn texts_are_what_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "ir")).collect();
    assert!(files.len() >= 8, "only {} files", files.len());
    let wrong: Vec<_> = files.iter().filter_map(|path| check(path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
