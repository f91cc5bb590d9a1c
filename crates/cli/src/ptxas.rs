//! `warploom ptxas`: what compilers call in the place of NVIDIA's assembler.
//!
//! Triton, for one, hands its PTX to `ptxas` and the result to the driver. Our driver wants the PTX, so this checks it and
//! puts it into a fatbin, the container in which the driver takes it from any program. `warploom exec` names
//! it a link to this program that is called `ptxas`.
//!
//! Options are those of ptxas, which are not those that clap knows: long ones may have one dash, and their values may
//! stand in the same word or the next. Those that only matter for SASS are read and have no effect.

use crate::failure::{Exit, Failure};
use crate::{input, terminal};
use cubin::fatbin::{self, Reach};
use ptx::types::ArchVariant;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Stand in for NVIDIA's ptxas: check PTX and pack it for the virtual GPU.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Arguments {
    /// ptxas' arguments: FILE.ptx -o OUTPUT --gpu-name sm_90, and others that have no effect
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

const HELP: &str = "\
Usage: warploom ptxas [--gpu-name sm_NN] -o OUTPUT FILE.ptx

Checks PTX and packs it into a fatbin, which Warploom's driver loads like a cubin. Compilers that call ptxas can call this
instead; its other options are accepted and have no effect.

  -o, --output-file OUTPUT   where to write; FILE with the suffix .fatbin by default
  -arch, --gpu-name sm_NN    the device that the code is for: refuses PTX for a later one
  -V, --version              print the version in ptxas' form
";

/// What is announced. Compilers derive the PTX version from it.
const RELEASE: &str = "Cuda compilation tools, release 13.0, V13.0.0";

/// Options besides those above whose value may be the next word, by ptxas' `--help`.
const WITH_VALUE: [&str; 13] = [
    "O",
    "opt-level",
    "maxrregcount",
    "def-load-cache",
    "dlcm",
    "def-store-cache",
    "dscm",
    "entry",
    "e",
    "input-as-string",
    "machine",
    "m",
    "options-file",
];

/// What the options that matter say.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    input: Option<PathBuf>,
    output: Option<PathBuf>,
    target: Option<u16>,
    help: bool,
    version: bool,
}

/// The name by which compilers call this program instead of `warploom`.
pub(crate) const NAME: &str = "ptxas";

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    run(&arguments.words)
}

/// Does what the words say.
pub(crate) fn run(words: &[OsString]) -> Result<Exit, Failure> {
    let wish = wish(words)?;
    if wish.help {
        return terminal::result(HELP).map(|()| Exit::Ok);
    }
    if wish.version {
        let version = env!("CARGO_PKG_VERSION");
        return terminal::result(&format!("ptxas: stand-in of Warploom {version}\n{RELEASE}\n"))
            .map(|()| Exit::Ok);
    }
    let path =
        wish.input.ok_or_else(|| Failure::usage("no input file").hint("see `warploom ptxas --help`"))?;
    let (source, module) = input::module(&path)?;
    if let Some(target) = wish.target.filter(|&target| target < module.arch.sm) {
        let message = format!("{} is for {}, which sm_{target} does not run", path.display(), module.arch);
        return Err(Failure::new(Exit::Findings, message));
    }
    let reach = match module.arch.variant {
        ArchVariant::Base => Reach::Base,
        ArchVariant::Family => Reach::Family,
        ArchVariant::Specific => Reach::Specific,
    };
    let version = (module.version.major.into(), module.version.minor.into());
    let bytes = fatbin::pack_ptx(source.text(), version, module.arch.sm.into(), reach);
    let output = wish.output.unwrap_or_else(|| path.with_extension("fatbin"));
    let failed = |error| Failure::usage(format!("cannot write {}: {error}", output.display()));
    std::fs::write(&output, bytes).map_err(failed)?;
    Ok(Exit::Ok)
}

fn wish(words: &[OsString]) -> Result<Wish, Failure> {
    let mut wish = Wish::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let Some(option) = text.strip_prefix("--").or(text.strip_prefix('-')).filter(|o| !o.is_empty())
        else {
            if wish.input.replace(Path::new(word).to_owned()).is_some() {
                return Err(Failure::usage("more than one input file; there is no linker here"));
            }
            continue;
        };
        let (name, value) =
            option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let mut value = || match value {
            Some(value) => Ok(OsString::from(value)),
            None => words.next().cloned().ok_or_else(|| Failure::usage(format!("`{text}` needs a value"))),
        };
        match name {
            "o" | "output-file" => wish.output = Some(value()?.into()),
            "arch" | "gpu-name" => wish.target = Some(target(&value()?.to_string_lossy())?),
            "h" | "help" => wish.help = true,
            "V" | "version" => wish.version = true,
            name if WITH_VALUE.contains(&name) => drop(value()?),
            _ => {}
        }
    }
    Ok(wish)
}

/// The number in `sm_90a`.
fn target(name: &str) -> Result<u16, Failure> {
    let digits = name.strip_prefix("sm_").map(|rest| rest.trim_end_matches(['a', 'f']));
    digits
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| Failure::usage(format!("`{name}` is not a target such as sm_90")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_all_their_forms() {
        let words = |text: &str| -> Vec<OsString> { text.split(' ').map(OsString::from).collect() };
        let full =
            wish(&words("-lineinfo -v --opt-level 0 --regAllocOptLevel=2 --gpu-name=sm_90a a.ptx -o b.o"))
                .unwrap();
        let expected = Wish {
            input: Some("a.ptx".into()),
            output: Some("b.o".into()),
            target: Some(90),
            ..Wish::default()
        };
        assert_eq!(full, expected);
        assert_eq!(wish(&words("-arch sm_90 --output-file=b.o -O3 a.ptx")).unwrap(), expected);
        assert!(wish(&words("--version")).unwrap().version);
        for wrong in ["a.ptx b.ptx", "a.ptx -o", "-arch=compute_90"] {
            assert!(wish(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
