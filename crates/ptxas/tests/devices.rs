//! Code for other devices than sm_90: what of the project's PTX is compiled for each, and what is refused. `refused-sm_80.txt` and so on have the
//! lists; BLESS=1 writes them anew, and says how many files are compiled. `PTXAS_CUBINS=FOLDER` keeps what is made.

use ptx::source::Source;
use ptxas::{Level, Target};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod corpus;

fn check(target: Target) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let keep = std::env::var_os("PTXAS_CUBINS").map(PathBuf::from);
    let mut mistakes = Vec::new();
    let (mut compiled, mut total, mut without) = (0, 0, 0);
    let mut refused = BTreeSet::new();
    for (name, text) in corpus::all(&root) {
        // What the device does not have is an error of such PTX.
        let text = target.declared(&text);
        let Some(module) = ptx::compile(&Source::new(name.as_str(), text.as_str())).module else {
            without += 1;
            continue;
        };
        if module.entries().next().is_none() {
            continue;
        }
        total += 1;
        let mut is_compiled = true;
        for level in [Level::Serial, Level::Overlapped] {
            let options = ptxas::Options { target, level, text: keep.is_some(), ..ptxas::Options::default() };
            match ptxas::compile_entries(&module, options, |_| true) {
                Ok(done) => {
                    if let Some(keep) = &keep {
                        let flat = name.replace('/', "__").replace(".ptx", "");
                        let path = |kind| keep.join(format!("{flat}.{target}.{level:?}.{kind}"));
                        fs::write(path("cubin"), &done.cubin).expect("a folder");
                        fs::write(path("cuasm"), &done.text).expect("a folder");
                    }
                }
                Err(why) => {
                    is_compiled = false;
                    for diagnostic in why {
                        if diagnostic.code == ptxas::codes::INTERNAL {
                            mistakes.push(format!("{name} at {level:?}: {}", diagnostic.message));
                        }
                        println!("{name}: {}", corpus::reason(&diagnostic));
                        refused.insert(corpus::reason(&diagnostic));
                    }
                }
            }
        }
        compiled += u32::from(is_compiled);
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    println!("{target}: {compiled} of {total} files are compiled; {without} are no PTX for it");
    corpus::compare(&format!("refused-{target}.txt"), &refused);
}

#[test]
fn what_is_refused_for_sm_80_is_listed() {
    check(Target::of(sass::Arch::Sm80).expect("it is known"));
}

#[test]
fn what_is_refused_for_sm_86_is_listed() {
    check(Target::of(sass::Arch::Sm86).expect("it is known"));
}

#[test]
fn what_is_refused_for_sm_89_is_listed() {
    check(Target::of(sass::Arch::Sm89).expect("it is known"));
}

#[test]
fn what_is_refused_for_sm_100_is_listed() {
    check(Target::of(sass::Arch::Sm100).expect("it is known"));
}

#[test]
fn what_is_refused_for_sm_120_is_listed() {
    check(Target::of(sass::Arch::Sm120).expect("it is known"));
}
