//! The `warploom` command: one file a subcommand.
//!
//! Results go to standard output, remarks and errors to standard error. A command that fails says why in one message
//! and ends with one of the exit codes of [`failure::Exit`]. Nothing below this crate prints, exits or reads paths.

mod abi;
mod analyze;
mod arena;
mod asm;
mod cache;
mod check;
mod cubin;
mod dap;
mod debug;
mod debug_info;
mod devices;
mod disasm;
mod doctor;
mod exec;
mod failure;
mod fatbin;
mod findings;
mod fmt;
mod images;
mod input;
mod kernels;
mod link;
mod litmus;
mod lsp;
mod pages;
mod ptxas;
mod replace;
mod run;
mod sass;
mod sim;
mod smi;
mod terminal;

use clap::{Parser, Subcommand};
use failure::{EXIT_CODES, Exit, Failure};
use reports::diagnostics;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: arena::Arena = arena::Arena;

/// The open PTX toolchain and virtual GPU.
///
/// Checks, formats and runs PTX on an ordinary CPU: no GPU and no driver are needed.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: terminal::Color,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Arguments),
    Fmt(fmt::Arguments),
    Kernels(kernels::Arguments),
    Analyze(analyze::Arguments),
    Abi(abi::Arguments),
    Link(link::Arguments),
    Devices(devices::Arguments),
    Run(run::Arguments),
    Sim(sim::Arguments),
    Debug(debug::Arguments),
    Dap(dap::Arguments),
    Lsp(lsp::Arguments),
    DebugInfo(debug_info::Arguments),
    Exec(exec::Arguments),
    Cache(cache::Arguments),
    Doctor(doctor::Arguments),
    Smi(smi::Arguments),
    Ptxas(ptxas::Arguments),
    Litmus(litmus::Arguments),
    Cubin(cubin::Arguments),
    Fatbin(fatbin::Arguments),
    Disasm(disasm::Arguments),
    Asm(asm::Arguments),
    Sass(sass::Arguments),
    Completions(pages::Completions),
    Man(pages::Man),
}

impl Command {
    fn execute(self) -> Result<Exit, Failure> {
        match self {
            Self::Check(arguments) => check::execute(&arguments),
            Self::Fmt(arguments) => fmt::execute(&arguments),
            Self::Kernels(arguments) => kernels::execute(&arguments),
            Self::Analyze(arguments) => analyze::execute(&arguments),
            Self::Abi(arguments) => abi::execute(&arguments),
            Self::Link(arguments) => link::execute(&arguments),
            Self::Devices(arguments) => devices::execute(&arguments),
            Self::Run(arguments) => run::execute(&arguments),
            Self::Sim(arguments) => sim::execute(&arguments),
            Self::Debug(arguments) => debug::execute(arguments),
            Self::Dap(arguments) => dap::execute(&arguments),
            Self::Lsp(arguments) => lsp::execute(&arguments),
            Self::DebugInfo(arguments) => debug_info::execute(&arguments),
            Self::Exec(arguments) => exec::execute(&arguments),
            Self::Cache(arguments) => cache::execute(&arguments),
            Self::Doctor(arguments) => doctor::execute(&arguments),
            Self::Smi(arguments) => smi::execute(&arguments),
            Self::Ptxas(arguments) => ptxas::execute(&arguments),
            Self::Litmus(arguments) => litmus::execute(&arguments),
            Self::Cubin(arguments) => cubin::execute(&arguments),
            Self::Fatbin(arguments) => fatbin::execute(&arguments),
            Self::Disasm(arguments) => disasm::execute(&arguments),
            Self::Asm(arguments) => asm::execute(&arguments),
            Self::Sass(arguments) => sass::execute(&arguments),
            Self::Completions(arguments) => pages::completions(&arguments),
            Self::Man(arguments) => pages::man(&arguments),
        }
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    let words: Vec<_> = words.collect();
    // Programs call it by the names of NVIDIA's tools.
    let called = |tool: &str| Path::new(&name).file_name() == Some(OsStr::new(tool));
    let outcome = if called(ptxas::NAME) {
        ptxas::run(&words)
    } else if called(smi::NAME) {
        smi::run(words)
    } else if let Some(words) = ptxas::own_words(&words) {
        ptxas::run(words)
    } else {
        let cli = Cli::parse();
        cli.color.apply();
        cli.command.execute()
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.report();
            failure.exit.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
