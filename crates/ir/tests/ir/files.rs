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

use ir::{Cfg, Function, Liveness, Ssa, pass};
use ptx::module::FuncId;
use std::path::Path;

/// What is done with a function.
fn text(action: &str, function: &Function<'_>, form: &str) -> String {
    if action == "print" {
        return function.to_string();
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

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

fn check(path: &Path) {
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
    assert_eq!(lines(&found), lines(&expected), "{name} gives\n{found}");
}

#[test]
fn texts_are_what_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        check(&entry.unwrap().path());
        count += 1;
    }
    assert!(count >= 8, "only {count} files");
}
