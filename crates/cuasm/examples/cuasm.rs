//! Without the whole command: `cuasm disasm X.cubin`, `cuasm asm X.cuasm X.cubin`, `cuasm dot X.cubin`, and
//! `cuasm count PATH...`, which takes cubins, fatbins, objects, archives and libraries, and folders of them, writes each
//! cubin as text and reads it back, and reports counts.

use std::error::Error;
use std::path::{Path, PathBuf};

/// What has been counted.
#[derive(Default)]
struct Counts {
    cubins: usize,
    same: usize,
    functions: usize,
    instructions: usize,
    raw: usize,
    hazards: usize,
}

impl Counts {
    fn take(&mut self, name: &str, bytes: &[u8]) {
        self.cubins += 1;
        let text = match cuasm::disassemble(bytes) {
            Ok(text) => text,
            Err(error) => return println!("{name}: {error}"),
        };
        let source = ptx::source::Source::new(name, text);
        let lines = source.text().lines().filter(|line| line.starts_with('['));
        for line in lines {
            self.instructions += 1;
            self.raw += usize::from(line.contains("  .raw "));
        }
        self.functions += source.text().matches("@function").count();
        match cuasm::assemble_with(&source, cuasm::Options { hazards: true }) {
            Ok(found) => {
                match found.bytes == bytes {
                    true => self.same += 1,
                    false => println!("{name}: reads back to other bytes"),
                }
                self.hazards += found.warnings.len();
                print(&source, &found.warnings[..found.warnings.len().min(3)]);
            }
            Err(found) => print(&source, &found),
        }
    }

    /// A file of any kind that holds cubins.
    fn file(&mut self, path: &Path) -> Result<(), Box<dyn Error>> {
        let bytes = std::fs::read(path)?;
        let name = path.display().to_string();
        if bytes.starts_with(b"\x7fELF") && bytes.get(18..20) == Some(&[190, 0]) {
            self.take(&name, &bytes);
            return Ok(());
        }
        let fatbins = match cubin::object::members(&bytes) {
            Ok(members) => members.into_iter().flat_map(|member| member.fatbins).collect(),
            Err(_) => vec![&bytes[..]],
        };
        for (number, fatbin) in fatbins.into_iter().enumerate() {
            for entry in cubin::fatbin::entries(fatbin)? {
                let code = entry.bytes()?;
                if code.starts_with(b"\x7fELF") {
                    self.take(&format!("{name}:{number}"), &code);
                }
            }
        }
        Ok(())
    }
}

fn print(source: &ptx::source::Source, found: &[ptx::diagnostic::Diagnostic]) {
    for finding in found.iter().take(10) {
        let (line, column) = source.line_column(finding.span.start);
        let text = source.text().lines().nth(line as usize - 1).unwrap_or("");
        println!("{}:{line}:{column}: {} {}\n    {text}", source.name(), finding.code, finding.message);
    }
}

fn read(path: &str) -> Result<std::sync::Arc<ptx::source::Source>, Box<dyn Error>> {
    Ok(ptx::source::Source::new(path, std::fs::read_to_string(path)?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words[..] {
        [command, path] if command == "disasm" => print!("{}", cuasm::disassemble(&std::fs::read(path)?)?),
        [command, path] if command == "dot" => print!("{}", cuasm::dot(&std::fs::read(path)?)?),
        [command, path, output] if command == "asm" => {
            let source = read(path)?;
            match cuasm::assemble_with(&source, cuasm::Options { hazards: true }) {
                Ok(found) => {
                    print(&source, &found.warnings);
                    std::fs::write(output, found.bytes)?;
                }
                Err(found) => {
                    print(&source, &found);
                    return Err("not assembled".into());
                }
            }
        }
        [command, paths @ ..] if command == "count" => {
            let mut counts = Counts::default();
            let mut paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            while let Some(path) = paths.pop() {
                if path.is_dir() {
                    paths.extend(std::fs::read_dir(path)?.filter_map(|entry| Some(entry.ok()?.path())));
                } else if let Err(error) = counts.file(&path) {
                    println!("{}: {error}", path.display());
                }
            }
            let Counts { cubins, same, functions, instructions, raw, hazards } = counts;
            println!("{cubins} cubins, {same} read back to the same bytes");
            println!(
                "{functions} functions, {instructions} instructions, {raw} raw words, {hazards} hazards"
            );
        }
        _ => return Err("cuasm disasm|dot CUBIN, cuasm asm TEXT CUBIN, cuasm count PATH...".into()),
    }
    Ok(())
}
