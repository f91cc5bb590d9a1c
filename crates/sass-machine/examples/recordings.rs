//! Asks a real GPU what instructions compute and what code with control codes that are too short does: `recordings make FOLDER` writes
//! the kernels, their inputs and the list that cuasm's `silicon/run.c` runs; `recordings read FOLDER TO` keeps of what came back, in its `opcodes.results` and `hazards.results`, what is committed.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

#[path = "../tests/silicon/mod.rs"]
mod cases;

fn make(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let opcodes = cases::opcodes(include_str!("../silicon/opcodes.cases"));
    let hazards = cases::hazards(include_str!("../silicon/hazards.cases"));
    let (mut list, mut names) = (String::new(), String::new());
    let mut refused = BTreeMap::new();
    for (number, case) in opcodes.into_iter().chain(hazards).enumerate() {
        let source = ptx::source::Source::new(case.name.clone(), case.kernel);
        match cuasm::assemble(&source) {
            Ok(assembled) => {
                std::fs::write(folder.join(format!("k{number}.cubin")), assembled.bytes)?;
                let words = case.threads as usize * cases::WORDS;
                writeln!(list, "k{number} k{number}.cubin probe {} {words} 2", case.threads)?;
                writeln!(names, "k{number}|{}", case.name)?;
            }
            Err(found) => {
                refused.insert(case.name, found[0].message.clone());
            }
        }
    }
    let inputs: Vec<u8> = cases::inputs().into_iter().flat_map(u32::to_le_bytes).collect();
    std::fs::write(folder.join("inputs"), inputs)?;
    std::fs::write(folder.join("list"), &list)?;
    std::fs::write(folder.join("names"), names)?;
    println!("{} kernels", list.lines().count());
    for (name, message) in refused {
        println!("refused: {name}: {message}");
    }
    Ok(())
}

/// Words of a thread's record that are always kept of a hazard: its registers.
const REGISTERS: usize = 8;
/// The lane of a hazard that is kept.
const LANE: usize = 5;

/// A case's name, and words, or what happened instead.
type Answer = (String, Result<Vec<u32>, String>);

/// What came back, by the cases' names.
fn answers(folder: &Path, file: &str) -> Result<Vec<Answer>, Box<dyn Error>> {
    let names = std::fs::read_to_string(folder.join("names"))?;
    let names: BTreeMap<&str, &str> = names.lines().filter_map(|line| line.split_once('|')).collect();
    let mut found = Vec::new();
    for line in std::fs::read_to_string(folder.join(file))?.lines() {
        let (kernel, rest) = line.split_once(' ').ok_or("a line without a result")?;
        let name = *names.get(kernel).ok_or("a kernel without a name")?;
        let words = rest.strip_prefix("ok ").ok_or_else(|| rest.to_owned());
        let words = words.map(|words| {
            words.split(' ').map(|word| u32::from_str_radix(word, 16)).collect::<Result<Vec<u32>, _>>()
        });
        found.push((name.to_owned(), words.map(|words| words.unwrap_or_default())));
    }
    Ok(found)
}

/// Writes what is committed: of instructions all threads, in the columns in which anything happened; of hazards one lane.
fn read(folder: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let opcodes = answers(folder, "opcodes.results")?;
    let nothing =
        opcodes.iter().find(|(name, _)| name == cases::NOTHING).ok_or("no instruction that does nothing")?;
    let nothing = nothing.1.clone()?;
    let mut text = String::new();
    for (name, answer) in &opcodes {
        match answer {
            Err(what) => writeln!(text, "{name}|{what}")?,
            Ok(words) => {
                let column = |column: usize| move |words: &[u32]| words[column];
                let rows = |words: &[u32], at: usize| {
                    words.chunks(cases::WORDS).map(column(at)).collect::<Vec<u32>>()
                };
                let changed: Vec<usize> =
                    (0..cases::WORDS).filter(|&at| rows(words, at) != rows(&nothing, at)).collect();
                if changed.is_empty() {
                    writeln!(text, "{name}|nothing")?;
                }
                for at in changed {
                    let words: Vec<String> = rows(words, at).iter().map(|word| format!("{word:x}")).collect();
                    writeln!(text, "{name}|{at}|{}", words.join(" "))?;
                }
            }
        }
    }
    let file = std::fs::File::create(to.join("sm_90.opcodes.gz"))?;
    let mut file = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.finish()?;
    let mut text = String::new();
    let inputs = cases::inputs();
    for (name, answer) in answers(folder, "hazards.results")? {
        write!(text, "{name}")?;
        match answer {
            Err(what) => write!(text, " {what}")?,
            Ok(words) => {
                let record = &words[LANE * cases::WORDS..(LANE + 1) * cases::WORDS];
                record[..REGISTERS].iter().try_for_each(|word| write!(text, " {word:x}"))?;
                for (at, &word) in record.iter().enumerate().skip(REGISTERS) {
                    if word != inputs[LANE * cases::WORDS + at % 4] {
                        write!(text, " {at}={word:x}")?;
                    }
                }
            }
        }
        writeln!(text)?;
    }
    std::fs::write(to.join("sm_90.hazards"), text)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1..).unwrap_or_default() {
        [command, path] if command == "make" => make(Path::new(path)),
        [command, path, to] if command == "read" => read(Path::new(path), Path::new(to)),
        _ => Err("recordings make FOLDER | recordings read FOLDER TO".into()),
    }
}
