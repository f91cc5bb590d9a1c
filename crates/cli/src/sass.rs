//! `warploom sass`: words of machine code to text and back, and the tools by which the tables are made and checked.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::terminal;
use ::sass::learn::{Nvdisasm, compare, learn, samples, scan};
use ::sass::{Arch, Control, NoSymbols, decode, parse};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  warploom sass decode --arch sm_90 0x000fe200000001000000000302017221
  warploom sass encode --arch sm_90 '[B------:R-:W-:-:S04] FADD.FTZ R1, R2, -R3'
  warploom sass learn --arch sm_90 --oracle /usr/local/cuda/bin/nvdisasm -o sm_90.sass
  warploom sass compare --arch sm_90 --oracle /usr/local/cuda/bin/nvdisasm --each 1000";

/// Translate words of machine code, or make and check the tables of an architecture.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print words of 128 bits as instructions
    Decode {
        /// The architecture
        #[arg(long)]
        arch: Arch,
        /// Hexadecimal words
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Print the word of an instruction; a control code in brackets may stand before it
    Encode {
        /// The architecture
        #[arg(long)]
        arch: Arch,
        /// The instruction
        text: String,
    },
    /// Learn an architecture's table from nvdisasm (a tool for development: it takes minutes)
    Learn {
        #[command(flatten)]
        oracle: OracleArguments,
        /// Only these opcodes, hexadecimal
        #[arg(long, value_delimiter = ',')]
        opcodes: Vec<String>,
        /// Tables of other architectures, from which forms are taken over where they are right
        #[arg(long)]
        like: Vec<PathBuf>,
        /// Where the table goes
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Compare the built-in table with nvdisasm on random words
    Compare {
        #[command(flatten)]
        oracle: OracleArguments,
        /// Random words for each form
        #[arg(long, default_value_t = 100)]
        each: usize,
        /// Other numbers give other words
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Print a word of each form with nvdisasm's text: the samples of the crate's tests
    Samples {
        #[command(flatten)]
        oracle: OracleArguments,
    },
}

#[derive(Debug, clap::Args)]
struct OracleArguments {
    /// The architecture
    #[arg(long)]
    arch: Arch,
    /// The path of nvdisasm
    #[arg(long)]
    oracle: PathBuf,
    /// A folder for its input files
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    scratch: PathBuf,
}

impl OracleArguments {
    fn open(&self) -> Nvdisasm {
        Nvdisasm::new(&self.oracle, self.arch, &self.scratch)
    }
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Decode { arch, words } => print_words(*arch, words),
        Command::Encode { arch, text } => print_encoded(*arch, text),
        Command::Learn { oracle, opcodes, like, output } => write_table(oracle, opcodes, like, output),
        Command::Compare { oracle, each, seed } => print_comparison(oracle, *each, *seed),
        Command::Samples { oracle } => {
            let lines = samples(&oracle.open(), oracle.arch).map_err(Failure::usage)?;
            terminal::result(&lines)?;
            Ok(Exit::Ok)
        }
    }
}

fn number(text: &str) -> Result<u128, Failure> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u128::from_str_radix(digits, 16).map_err(|_| Failure::usage(format!("`{text}` is not a hexadecimal number of 128 bits")))
}

fn print_words(arch: Arch, words: &[String]) -> Result<Exit, Failure> {
    let mut exit = Exit::Ok;
    for word in words {
        let word = number(word)?;
        match decode(arch, word) {
            Some(instruction) => terminal::result(&format!("{} {instruction}\n", instruction.control()))?,
            None => {
                terminal::note(&format!("{word:#034x} is no instruction of {arch}"));
                exit = Exit::Findings;
            }
        }
    }
    Ok(exit)
}

fn print_encoded(arch: Arch, text: &str) -> Result<Exit, Failure> {
    let (control, text) = match text.split_once(']') {
        Some((control, rest)) if control.starts_with("[B") => {
            (format!("{control}]").parse().map_err(|error| Failure::usage(format!("{error}")))?, rest)
        }
        _ => (Control::default(), text),
    };
    match parse(arch, text, control, 0, &mut NoSymbols) {
        Ok(instruction) => {
            terminal::result(&format!("{:#034x}\n", instruction.word()))?;
            Ok(Exit::Ok)
        }
        Err(error) => {
            let mark = format!("{}{}", " ".repeat(error.span.start), "^".repeat(error.span.len().max(1)));
            Err(Failure::new(Exit::Findings, format!("{error}\n{text}\n{mark}")))
        }
    }
}

fn write_table(
    oracle: &OracleArguments,
    opcodes: &[String],
    like: &[PathBuf],
    output: &PathBuf,
) -> Result<Exit, Failure> {
    let nvdisasm = oracle.open();
    let unreadable = |path: &PathBuf, error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
    let known: Vec<String> =
        like.iter().map(|it| std::fs::read_to_string(it).map_err(|error| unreadable(it, error))).collect::<Result<_, _>>()?;
    let opcodes = if opcodes.is_empty() {
        scan(&nvdisasm).map_err(Failure::usage)?
    } else {
        opcodes.iter().map(|it| number(it).map(|it| it as usize & 0x1fff)).collect::<Result<_, _>>()?
    };
    terminal::note(&format!("{} opcodes of {}", opcodes.len(), oracle.arch));
    let outcome = learn(&nvdisasm, &opcodes, &known, &|note| terminal::note(note)).map_err(Failure::usage)?;
    for line in &outcome.open {
        terminal::note(line);
    }
    std::fs::write(output, outcome.table).map_err(|error| unreadable(output, error))?;
    Ok(if outcome.open.is_empty() { Exit::Ok } else { Exit::Findings })
}

fn print_comparison(oracle: &OracleArguments, each: usize, seed: u64) -> Result<Exit, Failure> {
    let verdict = compare(&oracle.open(), oracle.arch, each, seed).map_err(Failure::usage)?;
    let mut text = String::new();
    for (word, ours, theirs) in &verdict.different {
        text.push_str(&format!("{word:#034x}\n  ours     {ours}\n  nvdisasm {theirs}\n"));
    }
    for (word, theirs) in &verdict.missing {
        text.push_str(&format!("{word:#034x} is missing: {theirs}\n"));
    }
    text.push_str(&format!(
        "{}: {} words have the same text, {} another, {} are missing, {} are illegal for nvdisasm only\n",
        oracle.arch,
        verdict.same,
        verdict.different.len(),
        verdict.missing.len(),
        verdict.extra.len()
    ));
    terminal::result(&text)?;
    let right = verdict.different.is_empty() && verdict.missing.is_empty();
    Ok(if right { Exit::Ok } else { Exit::Findings })
}
