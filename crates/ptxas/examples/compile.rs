//! `compile FILE.ptx FILE.cubin [sm_80] [-c]`: a module as a cubin, or with `-c` as what a linker takes, and what each kernel takes.

use ptx::source::Source;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, more @ ..] = arguments.as_slice() else {
        eprintln!("usage: compile FILE.ptx FILE.cubin [sm_80] [-c]");
        return ExitCode::FAILURE;
    };
    let mut options = ptxas::Options::from(ptxas::Level::Overlapped);
    for argument in more {
        match argument.as_str() {
            "-c" => options.relocatable = true,
            target => match target.parse() {
                Ok(target) => options.target = target,
                Err(why) => {
                    eprintln!("{why}");
                    return ExitCode::FAILURE;
                }
            },
        }
    }
    let text = match std::fs::read_to_string(input) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{input}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let source = Source::new(input.as_str(), text.as_str());
    let compiled = ptx::compile(&source)
        .into_result()
        .and_then(|(module, _)| ptxas::compile_entries(&module, options, |_| true));
    match compiled {
        Ok(compiled) => {
            for kernel in &compiled.kernels {
                println!(
                    "{}: {} registers, {} instructions",
                    kernel.name,
                    kernel.registers,
                    kernel.instructions.len()
                );
            }
            match std::fs::write(output, &compiled.cubin) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{output}: {error}");
                    ExitCode::FAILURE
                }
            }
        }
        Err(diagnostics) => {
            for diagnostic in diagnostics {
                let (line, column) = source.line_column(diagnostic.span.start);
                eprintln!(
                    "{input}:{line}:{column}: {}: {} ({})",
                    diagnostic.code, diagnostic.message, diagnostic.label
                );
            }
            ExitCode::FAILURE
        }
    }
}
