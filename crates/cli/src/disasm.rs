//! `warploom disasm`: a cubin as text.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{images, terminal};
use cuasm::highlight::{Word, words};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  warploom disasm kernel.cubin
  warploom disasm kernel.cubin -o kernel.cuasm && warploom asm kernel.cuasm -o same.cubin
  warploom disasm --index 4 program -o kernel.cuasm
  warploom disasm kernel.cubin --dot | dot -Tsvg > kernel.svg";

/// Write a cubin as text that `warploom asm` reads back to the same bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// A cubin, or a file with cubins in it
    file: PathBuf,
    /// Which of several cubins, as `warploom fatbin list` numbers them
    #[arg(long, value_name = "N")]
    index: Option<usize>,
    /// Where the text goes; `-` is standard output, with colours on a terminal
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Draw the control flow for Graphviz instead
    #[arg(long)]
    dot: bool,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let name = arguments.file.display().to_string();
    let bytes = images::cubin(&arguments.file, arguments.index)?;
    let wrong = |error: cuasm::Malformed| Failure::usage(format!("{name}: {error}"));
    let text = if arguments.dot {
        cuasm::dot(&bytes).map_err(wrong)?
    } else {
        cuasm::disassemble(&bytes).map_err(wrong)?
    };
    if arguments.output != Path::new("-") {
        let written = std::fs::write(&arguments.output, text);
        return written.map(|()| Exit::Ok).map_err(|error| {
            Failure::usage(format!("cannot write {}: {error}", arguments.output.display()))
        });
    }
    let text = if arguments.dot { text } else { colored(&text) };
    terminal::result(&text).map(|()| Exit::Ok)
}

/// A listing with escape sequences, which are taken out again where nobody wants colours.
fn colored(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.split_inclusive('\n') {
        let mut at = 0;
        for (range, word) in words(line) {
            let _ =
                write!(out, "{}\x1b[{}m{}\x1b[0m", &line[at..range.start], style(word), &line[range.clone()]);
            at = range.end;
        }
        out.push_str(&line[at..]);
    }
    out
}

/// The parameters of a word's escape sequence.
fn style(word: Word) -> &'static str {
    match word {
        Word::Comment | Word::Control => "2",
        Word::Directive => "35",
        Word::Label => "1;33",
        Word::Mnemonic => "1;36",
        Word::Register => "32",
        Word::Number => "34",
        Word::Text => "33",
    }
}
