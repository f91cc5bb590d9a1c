//! Turns the tables in `isa/` into static data. A line that is wrong fails the build.

use sass_table::pack::Packed;
use sass_table::roles::Roles;
use sass_table::source::Source;
use std::path::Path;
use std::{env, fs, process};

/// The architectures' tables, as the statics and the files are called.
const TABLES: [&str; 7] = ["SM_75", "SM_80", "SM_86", "SM_89", "SM_90", "SM_100", "SM_120"];

fn main() {
    println!("cargo::rerun-if-changed=isa");
    if let Err(message) = generate() {
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn generate() -> Result<(), String> {
    let text = |name: &str| {
        let file = format!("isa/{name}.sass");
        let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        Ok::<_, String>((file, text))
    };
    let (sets_file, sets) = text("sets")?;
    let (roles_file, roles) = text("operands")?;
    let roles = Roles::read(&roles_file, &roles).map_err(|error| error.to_string())?;
    let mut sources = Vec::new();
    for table in TABLES {
        let (file, table) = text(&table.to_ascii_lowercase())?;
        let source =
            Source::read(&[(&sets_file, &sets), (&file, &table)]).map_err(|error| error.to_string())?;
        sources.push(source);
    }
    let sources: Vec<&Source> = sources.iter().collect();
    let packed = Packed::new(&sources, Some(&roles)).map_err(|bad| {
        let lines: Vec<String> = bad.iter().map(ToString::to_string).collect();
        lines.join("\n")
    })?;
    let out = env::var("OUT_DIR").map_err(|error| error.to_string())?;
    let path = Path::new(&out).join("tables.rs");
    fs::write(&path, sass_table::emit::rust(&packed, &TABLES)).map_err(|error| error.to_string())
}
