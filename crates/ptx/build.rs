//! Turns `isa/*.isa` into the instruction tables that `src/isa/` includes.

#[path = "isa-gen/mod.rs"]
mod isa_gen;

use isa_gen::{TableError, emit, parse::Parser};
use std::path::Path;
use std::{env, fs, process};

fn main() {
    println!("cargo::rerun-if-changed=isa");
    println!("cargo::rerun-if-changed=isa-gen");
    if let Err(message) = generate() {
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn generate() -> Result<(), String> {
    let mut parser = Parser::default();
    let said = |e: TableError| e.to_string();
    let mut chapters = Vec::new();
    for entry in fs::read_dir("isa").map_err(|e| format!("isa: {e}"))? {
        let path = entry.map_err(|e| format!("isa: {e}"))?.path();
        if path.extension().is_some_and(|e| e == "isa") {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            chapters.push((path.to_string_lossy().into_owned(), text));
        }
    }
    chapters.sort();
    for (file, text) in &chapters {
        if file.ends_with("vocabulary.isa") {
            parser.vocabulary(file, text).map_err(said)?;
        }
    }
    for (file, text) in &chapters {
        if file.ends_with("special-registers.isa") {
            parser.special_registers(file, text).map_err(said)?;
        } else if !file.ends_with("vocabulary.isa") {
            parser.forms(file, text).map_err(said)?;
        }
    }
    let table = parser.finish().map_err(said)?;
    let out = env::var("OUT_DIR").map_err(|e| e.to_string())?;
    let write =
        |name: &str, text: String| fs::write(Path::new(&out).join(name), text).map_err(|e| e.to_string());
    write("special_registers.rs", emit::special_registers(&table)?)?;
    write("names.rs", emit::names(&table)?)?;
    write("effects.rs", emit::effects(&table)?)?;
    write("forms.rs", emit::forms(&table))
}
