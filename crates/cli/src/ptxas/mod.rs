//! `warploom ptxas`: what compilers call in the place of NVIDIA's assembler.
//!
//! nvcc, Triton, XLA and others hand PTX to `ptxas` and the result to a linker or to the driver. Our driver wants the PTX, so
//! this checks it and puts it into a [cubin that carries it](cubin::carrier), which all of them take. `warploom exec` names
//! them a link to this program that is called `ptxas`.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`options`] | ptxas' command line |
//! | [`messages`] | its words |
//! | [`explain`] | the page that shows what became of what |
//! | [`output`] | how a file gets its bytes |
//! | [`resources`] | what it says of kernels |
//! | [`verify`] | whether machine code does what the PTX does |

mod explain;
mod messages;
mod options;
mod output;
mod resources;
mod verify;

use crate::failure::{Exit, Failure};
use crate::{arena, input, terminal};
use cubin::carrier::{self, Purpose};
use cubin::fatbin::{self, Reach};
use cubin::read::{CudaInfo, ToolInfo};
use messages::{ABORTED, Fatal};
use options::{Input, Options, Target};
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::module::{Checked, Module};
use ptx::source::Source;
use ptx::types::{Arch, ArchVariant};
use ptxas::Level;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use verify::Verdict;

/// Stand in for NVIDIA's ptxas: check PTX and pack it for the virtual GPU.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Arguments {
    /// ptxas' arguments: FILE.ptx -o OUTPUT --gpu-name sm_90, and others that have no effect
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

const HELP: &str = "\
Usage: warploom ptxas [--gpu-name sm_NN] -o OUTPUT FILE.ptx...

Checks PTX and packs it into a cubin, from which Warploom's driver takes it. Compilers that call ptxas can call this
instead; its other options are accepted and have no effect.

  -o, --output-file OUTPUT      where to write [default: elf.o]
  -arch, --gpu-name sm_NN       the device that the code is for: refuses PTX for a later one [default: the PTX's target];
                                compute_NN only checks
  -ias, --input-as-string PTX   a module in the place of a file
  -optf, --options-file FILE    more options
  -c, --compile-only            make what a linker takes
      --sass                    make machine code for a real device: sm_90, or sm_80, sm_86, sm_89, sm_100 and sm_120, whose code
                                no such device has run; PTX that is not compiled yet is refused by name
  -O, --opt-level N             of machine code: at 0 each instruction waits for the one before it, at 1 to 3 for what it
                                needs [default: 3; 0 with -g]
  -lineinfo, --generate-line-info
                                of machine code: write which line of the PTX and of the source each instruction is for
  -g, --device-debug            of machine code: write that, and where variables are, for debuggers; at -O0 unless -O says
                                otherwise
      --explain OUT.html        of machine code: write a page with PTX, IR and machine code side by side
      --verify                  of machine code: run each kernel and its PTX on random inputs, and compare memory
      --tuning NAME=N,...       of machine code: numbers in place of what is guessed, rounds, warps, ahead, more, guarded,
                                and registers; `warploom sim --tune` finds the best for a launch
      --maxrregcount N          of machine code: the most registers of kernels without launch bounds
  -v, --verbose                 print warnings, and what kernels need
  -w, --disable-warnings        print no warnings
  -V, --version                 print the version in ptxas' form
";

/// What is announced, and its version of PTX, which is that of the instruction table. Compilers derive the one from the other.
const RELEASE: &str = "Cuda compilation tools, release 13.0, V13.0.0";
const PTX_VERSION: &str = "9.0";
/// The same, as a cubin says it.
const TOOLKIT: u16 = 130;
/// The version of the notes in cubins.
const NOTES: u32 = 2;
/// What messages call PTX that stands on the command line.
const TEXT: &str = "application ptx input";
/// Where ptxas writes to if nobody says.
const OUTPUT: &str = "elf.o";
/// The name by which compilers call this program instead of `warploom`.
pub(crate) const NAME: &str = "ptxas";

/// What stands behind `warploom ptxas`, if nothing there is a general option. Build systems start that for each file, and to describe the options of all
/// commands takes as long as to compile a small one.
pub(crate) fn own_words(words: &[OsString]) -> Option<&[OsString]> {
    let (command, rest) = words.split_first()?;
    let is_general = |word: &OsString| word.as_encoded_bytes().starts_with(b"--color");
    (command == NAME && !rest.iter().any(is_general)).then_some(rest)
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    run(&arguments.words)
}

/// Does what the words say.
pub(crate) fn run(words: &[OsString]) -> Result<Exit, Failure> {
    arena::begin();
    let refused = |fatal: Fatal, exit| {
        fatal.report();
        Failure::silent(exit)
    };
    let options = Options::parse(words).map_err(|fatal| refused(fatal, Exit::Usage))?;
    if options.help {
        return terminal::result(HELP).map(|()| Exit::Ok);
    }
    if options.version {
        let version = env!("CARGO_PKG_VERSION");
        return terminal::result(&format!("ptxas: stand-in of Warploom {version}\n{RELEASE}\n"))
            .map(|()| Exit::Ok);
    }
    if options.inputs.is_empty() {
        return Err(refused(Fatal::new("No input files specified; see --help"), Exit::Usage));
    }
    if !options.sass && (options.explain.is_some() || options.verify) {
        return Err(refused(
            Fatal::new("--explain and --verify are about machine code: --sass makes it"),
            Exit::Usage,
        ));
    }
    let modules: Result<Vec<_>, Fatal> =
        options.inputs.iter().map(|input| assemble(input, &options)).collect();
    let modules = modules.map_err(|fatal| refused(fatal, Exit::Findings))?;
    // The default is what runs all modules.
    let natural = modules.iter().map(|module| module.arch).max();
    let target = match options.target {
        Some(Target::Real(target)) => Some(target),
        Some(Target::Virtual(_)) => None,
        None => natural,
    };
    let Some(target) = target else { return Ok(Exit::Ok) };
    let bytes = match options.sass {
        true => machine_code(&modules, target, &options),
        false => pack(&modules, target, &options, words),
    };
    let bytes = bytes.map_err(|fatal| refused(fatal, Exit::Findings))?;
    let output = options.output.clone().unwrap_or_else(|| PathBuf::from(OUTPUT));
    let unwritten = |_| Fatal::new(format!("Could not open output file '{}'", output.display()));
    output::write(&output, &bytes).map_err(|error| refused(unwritten(error), Exit::Usage))?;
    // Of machine code its own registers have been told.
    if options.verbose && !options.sass {
        for module in modules {
            terminal::note(resources::report(module, target).trim_end());
        }
    }
    Ok(Exit::Ok)
}

/// Checks an input, and that the target runs it.
fn assemble(input: &Input, options: &Options) -> Result<Checked<Module>, Fatal> {
    let source = read(input)?;
    let compiled = ptx::compile(&source);
    // ptxas has few warnings, and builds that take every line for an error.
    let warnings = options.verbose && !options.no_warnings;
    // Of a header that it does not take it says nothing else.
    let fatal = compiled.diagnostics.iter().find(|diagnostic| messages::is_fatal(diagnostic));
    let shown = |diagnostic: &&Diagnostic| match fatal {
        Some(fatal) => std::ptr::eq(*diagnostic, fatal),
        None => diagnostic.severity == Severity::Error || warnings,
    };
    for diagnostic in compiled.diagnostics.iter().filter(shown) {
        terminal::note(&messages::line(&source, diagnostic));
    }
    let module = compiled.module.ok_or_else(|| Fatal::new(ABORTED))?;
    match options.target {
        Some(Target::Real(target) | Target::Virtual(target)) => fits(module.arch, target).map(|()| module),
        None => Ok(module),
    }
}

fn read(input: &Input) -> Result<Arc<Source>, Fatal> {
    match input {
        Input::Text(text) => Ok(Source::new(TEXT, text.as_str())),
        Input::File(path) => {
            let unreadable = |failure: Failure| match path.is_file() || path == Path::new("-") {
                true => Fatal::new(failure.message),
                false => Fatal::new(format!("Input file '{}' could not be opened", path.display())),
            };
            input::read(path).map_err(unreadable)
        }
    }
}

/// Whether PTX for one target can become code for another.
fn fits(ptx: Arch, target: Arch) -> Result<(), Fatal> {
    let refuse = |message: String| Err(Fatal::new(message));
    match ptx.variant {
        ArchVariant::Specific if ptx == target => Ok(()),
        ArchVariant::Specific if ptx.sm == target.sm => {
            refuse(format!("PTX with .target '{ptx}' cannot be compiled for architecture '{target}'"))
        }
        ArchVariant::Specific => {
            refuse(format!("Program with .target '{ptx}' cannot be compiled to future architecture"))
        }
        ArchVariant::Base | ArchVariant::Family if ptx.sm > target.sm => {
            refuse("SM version specified by .target is higher than default SM version assumed".to_owned())
        }
        ArchVariant::Family if ptx.sm / 10 != target.sm / 10 => {
            refuse(format!("PTX with .target '{ptx}' cannot be compiled for architecture '{target}'"))
        }
        ArchVariant::Base | ArchVariant::Family => Ok(()),
    }
}

/// A cubin with SASS.
fn machine_code(modules: &[Checked<Module>], target: Arch, options: &Options) -> Result<Vec<u8>, Fatal> {
    let [module] = modules else {
        return Err(Fatal::new("--sass takes one input file"));
    };
    let device = sass::Arch::ALL.into_iter().find(|arch| arch.number() == u32::from(target.sm));
    let Some(device) = device.and_then(ptxas::Target::of) else {
        let known: Vec<_> = ptxas::Target::all().map(|it| it.to_string()).collect();
        return Err(Fatal::new(format!("--sass makes code for {} alone", known.join(", "))));
    };
    // Who debugs code wants what the source says, one after the other.
    let usual = if options.variables { Level::Serial } else { Level::Overlapped };
    let level = options.level.unwrap_or(usual);
    let how = ptxas::Options {
        target: device,
        level,
        max_registers: options.max_registers,
        relocatable: options.relocatable,
        lines: options.lines,
        variables: options.variables,
        text: options.explain.is_some(),
        tuning: options.tuning,
    };
    let compiled = ptxas::compile_entries(module, how, |_| true).map_err(|diagnostics| {
        for diagnostic in &diagnostics {
            terminal::note(&messages::line(&module.source, diagnostic));
        }
        Fatal::new(ABORTED)
    })?;
    if options.verbose {
        for kernel in &compiled.kernels {
            terminal::note(&format!(
                "ptxas info    : Compiling entry function '{}' for '{target}'",
                kernel.name
            ));
            terminal::note(&format!("ptxas info    : Function properties for {}", kernel.name));
            terminal::note(&format!(
                "    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads",
                kernel.frame, kernel.spilled.stores, kernel.spilled.loads
            ));
            terminal::note(&format!(
                "ptxas info    : Used {} registers, {} bytes smem, {} instructions",
                kernel.registers,
                kernel.shared,
                kernel.instructions.len()
            ));
        }
    }
    if let Some(path) = &options.explain {
        let unwritten = |_| Fatal::new(format!("Could not open output file '{}'", path.display()));
        std::fs::write(path, explain::page(module, &compiled)).map_err(unwritten)?;
    }
    if options.verify {
        verified(module, &compiled)?;
    }
    Ok(compiled.cubin)
}

/// Tells of each kernel whether its code does what the PTX does.
fn verified(module: &Checked<Module>, compiled: &ptxas::Compiled) -> Result<(), Fatal> {
    let verdicts = verify::verify(module, compiled);
    for (name, verdict) in &verdicts {
        terminal::note(&match verdict {
            Verdict::Same(runs) => {
                format!("ptxas info    : '{name}' leaves the same memory as its PTX on {runs} random inputs")
            }
            Verdict::Differs(how) => {
                format!("ptxas error   : '{name}' does not do what its PTX does: {how}")
            }
            Verdict::NotRun(why) => format!("ptxas warning : '{name}' was not verified: {why}"),
        });
    }
    match verdicts.iter().any(|(_, verdict)| matches!(verdict, Verdict::Differs(_))) {
        true => Err(Fatal::new("The machine code is wrong")),
        false => Ok(()),
    }
}

/// A cubin with modules.
fn pack(
    modules: &[Checked<Module>],
    target: Arch,
    options: &Options,
    words: &[OsString],
) -> Result<Vec<u8>, Fatal> {
    let fatbin = |module: &Checked<Module>| {
        let reach = match module.arch.variant {
            ArchVariant::Base => Reach::Base,
            ArchVariant::Family => Reach::Family,
            ArchVariant::Specific => Reach::Specific,
        };
        let version = (module.version.major.into(), module.version.minor.into());
        fatbin::pack_ptx(module.source.text(), version, module.arch.sm.into(), reach)
    };
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let purpose = Purpose {
        sm: target.sm,
        specific: target.variant == ArchVariant::Specific,
        relocatable: options.relocatable,
        cuda: CudaInfo {
            version: NOTES as u16,
            virtual_sm: modules.iter().map(|module| module.arch.sm).max().unwrap_or(target.sm),
            toolkit: TOOLKIT,
        },
        tool: ToolInfo {
            version: NOTES,
            object: String::new(),
            tool: NAME.to_owned(),
            tool_version: RELEASE.to_owned(),
            branch: format!("Warploom {}", env!("CARGO_PKG_VERSION")),
            arguments: words.join(" "),
        },
    };
    let fatbins: Vec<_> = modules.iter().map(fatbin).collect();
    carrier::write(&fatbins, &purpose).map_err(|error| Fatal::new(error.to_string()))
}
