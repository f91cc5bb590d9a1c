//! Which forms of the instruction table sm_90a has and this compiler refuses: `refused-forms.txt` lists them, each with the reason.
//! BLESS=1 writes the list anew.

use conformance::case::cases;
use conformance::engine::Module;
use ptx::isa::FormId;
use ptx::source::Source;
use ptxas::Level;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// So many cases of a form are compiled, out of its whole range of modifiers.
const SAMPLES: usize = 3;

#[test]
fn what_is_refused_of_all_forms_is_listed() {
    let mut refused = BTreeSet::new();
    let mut mistakes = Vec::new();
    let mut compiled = 0;
    for form in FormId::all() {
        let Ok(cases) = cases(form) else { continue };
        for case in cases.iter().step_by(cases.len().div_ceil(SAMPLES)) {
            let text = Module::new(vec![case]).text;
            // What ptxas refuses is in no table of ours, but none of this crate's.
            let Some(module) = ptx::compile(&Source::new("case.ptx", text.as_str())).module else { continue };
            match ptxas::compile_entries(&module, Level::Overlapped, |_| true) {
                Ok(_) => compiled += 1,
                Err(why) => {
                    for diagnostic in why {
                        if diagnostic.code == ptxas::codes::INSTRUCTION {
                            refused.insert(format!("{}: {}", form.data().template, diagnostic.label));
                        } else {
                            mistakes.push(format!("{}: {}", case.name, diagnostic.message));
                        }
                    }
                }
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert!(compiled > 1000, "{compiled} cases are compiled");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused-forms.txt");
    if std::env::var_os("BLESS").is_some() {
        let lines: Vec<&str> = refused.iter().map(String::as_str).collect();
        fs::write(&path, lines.join("\n") + "\n").expect("the list");
    }
    let listed = fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<String> = listed.lines().map(str::to_string).collect();
    assert_eq!(refused, listed, "run with BLESS=1 and read the difference");
}
