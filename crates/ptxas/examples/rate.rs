//! `rate sm_80 FOLDER [OUT]`: compiles all PTX files of a folder for a device, at both levels, and says what of them is refused. What is compiled
//! at the upper level is kept in OUT.

use ptx::source::Source;
use ptxas::{Level, Target};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (target, folder, out) = match arguments.as_slice() {
        [target, folder] => (target, folder, None),
        [target, folder, out] => (target, folder, Some(PathBuf::from(out))),
        _ => {
            eprintln!("usage: rate sm_80 FOLDER [OUT]");
            return ExitCode::FAILURE;
        }
    };
    let target: Target = match target.parse() {
        Ok(target) => target,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    let (mut total, mut compiled, mut kernels, mut without) = (0, 0, 0, 0);
    let mut refused: BTreeMap<String, (u32, String)> = BTreeMap::new();
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(path) else { continue };
        let checked = ptx::compile(&Source::new(name.as_str(), text.as_str()));
        let Some(module) = checked.module else {
            println!("{name}: no PTX that is taken");
            without += 1;
            continue;
        };
        total += 1;
        let mut reasons = BTreeMap::new();
        for level in [Level::Serial, Level::Overlapped] {
            let options = ptxas::Options { target, level, ..ptxas::Options::default() };
            match ptxas::compile_entries(&module, options, |_| true) {
                Ok(done) if level == Level::Overlapped => {
                    kernels += done.kernels.len();
                    if let Some(out) = &out {
                        fs::write(out.join(&name).with_extension("cubin"), &done.cubin).expect("a folder");
                    }
                }
                Ok(_) => {}
                Err(why) => reasons.extend(why.into_iter().map(|it| {
                    let opcode = it.message.split(' ').next().unwrap_or_default();
                    let text = if it.label.is_empty() {
                        it.message.clone()
                    } else {
                        format!("{opcode}: {}", it.label)
                    };
                    (text, level)
                })),
            }
        }
        compiled += u32::from(reasons.is_empty());
        for (reason, level) in reasons {
            let entry = refused.entry(reason).or_insert_with(|| (0, format!("{name} at {level:?}")));
            entry.0 += 1;
        }
    }
    for (reason, (count, first)) in &refused {
        println!("{count:5} {reason} ({first})");
    }
    println!(
        "{target}: {compiled} of {total} files are compiled, with {kernels} kernels; {without} are not taken"
    );
    ExitCode::SUCCESS
}
