//! `compile FILE.ptx FILE.cubin`: a module as a cubin, and what each kernel takes.

use ptx::source::Source;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = arguments.as_slice() else {
        eprintln!("usage: compile FILE.ptx FILE.cubin");
        return ExitCode::FAILURE;
    };
    let text = match std::fs::read_to_string(input) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{input}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let source = Source::new(input.as_str(), text.as_str());
    let compiled = ptx::compile(&source).into_result().and_then(|(module, _)| ptxas::compile(&module));
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
