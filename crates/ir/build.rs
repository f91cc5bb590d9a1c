//! Turns the instruction table into the typed instructions that `src/instruction.rs` includes.

#[path = "instruction-gen/mod.rs"]
mod instruction_gen;

use std::path::Path;
use std::{env, fs, process};

fn main() {
    println!("cargo::rerun-if-changed=instruction-gen");
    if let Err(message) = generate() {
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn generate() -> Result<(), String> {
    let functions = instruction_gen::shape::functions()?;
    let out = env::var("OUT_DIR").map_err(|e| e.to_string())?;
    let text = instruction_gen::emit::instructions(&functions);
    fs::write(Path::new(&out).join("instructions.rs"), text).map_err(|e| e.to_string())
}
