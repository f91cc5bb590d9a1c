//! Makes and checks the tables in `isa/`: a tool for development, which asks nvdisasm.
//!
//! `learn ARCH NVDISASM COMMAND`, where the command is one of
//! - `learn OUT SECONDS OPCODES [TABLE...]`: learns the opcodes (hexadecimal, joined by commas; `all`, or `@FILE` for those
//!   of a file of words), taking over forms of the tables where they are right. After so many seconds it keeps what it has;
//! - `merge OUT TABLE...`: one table out of several of the architecture;
//! - `renew OUT TABLE LEARNED`: the table with those forms of the other that read random words as well or better;
//! - `check OPCODES`: whether learning these opcodes from nothing gives what the table in use has;
//! - `rehabit OUT`: the table in use, after asking again how its memory operands print RZ and 0;
//! - `settle OUT FILE...`: the table in use with the bits that these words have where their text does not say;
//! - `samples`: a word of each form with its text, for `tests/samples`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sass::learn::{Nvdisasm, Oracle, check, learn, merge, rehabit, renew, samples, scan, settle};
use sass::Arch;

const USAGE: &str = "learn ARCH NVDISASM learn|merge|renew|check|rehabit|settle|samples ...";

/// Answers until the time is up; the learners that still ask then give up.
struct Until<'a> {
    oracle: &'a Nvdisasm,
    end: Instant,
}

impl Oracle for Until<'_> {
    fn ask(&self, words: &[u128], first: usize) -> Result<Vec<Option<String>>, String> {
        if Instant::now() > self.end {
            Err("no time was left".to_string())
        } else {
            self.oracle.ask(words, first)
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    let [arch, program, command @ ..] = arguments else { return Err(USAGE.to_string()) };
    let arch: Arch = arch.parse().map_err(|error| format!("{error}"))?;
    let scratch = std::env::temp_dir();
    let oracle = Nvdisasm::new(Path::new(program), arch, &scratch);
    match command {
        ["learn", out, seconds, opcodes, tables @ ..] => {
            let seconds = seconds.parse().map_err(|error| format!("{seconds}: {error}"))?;
            let oracle = Until { oracle: &oracle, end: Instant::now() + Duration::from_secs(seconds) };
            let opcodes = opcodes_of(opcodes, &oracle)?;
            let start = Instant::now();
            let note = |line: &str| eprintln!("{:>4} s: {line}", start.elapsed().as_secs());
            let outcome = learn(&oracle, &opcodes, &texts(tables)?, &note)?;
            outcome.open.iter().for_each(|line| println!("{line}"));
            println!("{} words asked for, {} lines open", outcome.asked, outcome.open.len());
            write(out, &outcome.table)
        }
        ["merge", out, tables @ ..] => {
            let outcome = merge(&oracle, &scan(&oracle)?, &texts(tables)?)?;
            outcome.open.iter().for_each(|line| println!("{line}"));
            write(out, &outcome.table)
        }
        ["renew", out, known, learned] => {
            let [known, learned] = &texts(&[known, learned])?[..] else { return Err(USAGE.to_string()) };
            let outcome = renew(&oracle, known, learned)?;
            outcome.open.iter().for_each(|line| println!("{line}"));
            write(out, &outcome.table)
        }
        ["check", opcodes] => {
            let checked = check(&oracle, arch, &opcodes_of(opcodes, &oracle)?, &|line| eprintln!("{line}"))?;
            for it in &checked {
                println!("{:#05x} {}", it.opcode, if it.same() { "same" } else { "different" });
            }
            Ok(())
        }
        ["rehabit", out] => write(out, &rehabit(&oracle, arch)?),
        ["settle", out, files @ ..] => write(out, &settle(arch, &words(files)?)),
        ["samples"] => {
            print!("{}", samples(&oracle, arch)?);
            Ok(())
        }
        _ => Err(USAGE.to_string()),
    }
}

fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))
}

fn texts(paths: &[&str]) -> Result<Vec<String>, String> {
    let read = |path: &&str| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    paths.iter().map(read).collect()
}

/// The words of files of nothing but code.
fn words(paths: &[&str]) -> Result<Vec<u128>, String> {
    let mut words = Vec::new();
    for path in paths {
        let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        words.extend(bytes.as_chunks::<16>().0.iter().map(|it| u128::from_le_bytes(*it)));
    }
    Ok(words)
}

fn opcodes_of(list: &str, oracle: &dyn Oracle) -> Result<Vec<usize>, String> {
    if list == "all" {
        return scan(oracle);
    }
    let mut opcodes: Vec<usize> = if let Some(path) = list.strip_prefix('@') {
        words(&[path])?.iter().map(|it| (it & 0xfff | (it >> 91 & 1) << 12) as usize).collect()
    } else {
        let number = |it| usize::from_str_radix(it, 16).map_err(|error| format!("{it}: {error}"));
        list.split(',').map(number).collect::<Result<_, _>>()?
    };
    opcodes.sort_unstable();
    opcodes.dedup();
    Ok(opcodes)
}
