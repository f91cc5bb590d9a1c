//! ptxas' command line: its options are not those that clap knows. Long ones may have one dash, and a value may stand in the
//! same word, behind `=`, or in the next.

use super::Fatal;
use ptx::isa::TARGETS;
use ptx::types::Arch;
use ptxas::{Level, Tuning};
use std::ffi::OsString;
use std::path::PathBuf;

/// What there is to assemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    File(PathBuf),
    Text(String),
}

/// What code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A device: `sm_90`.
    Real(Arch),
    /// No code is made, the input is only checked: `compute_90`.
    Virtual(Arch),
}

/// What the options that matter say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) inputs: Vec<Input>,
    pub(super) output: Option<PathBuf>,
    pub(super) target: Option<Target>,
    /// A linker shall take the result.
    pub(super) relocatable: bool,
    pub(super) verbose: bool,
    /// Machine code for a real device in the place of PTX for the virtual one.
    pub(super) sass: bool,
    /// How much is done for speed, if that is said.
    pub(super) level: Option<Level>,
    /// The most registers of kernels that say nothing of it.
    pub(super) max_registers: Option<u32>,
    /// Machine code says of which lines it is.
    pub(super) lines: bool,
    /// It also says where variables are.
    pub(super) variables: bool,
    /// What is guessed of machine code.
    pub(super) tuning: Tuning,
    /// A page that shows what machine code was made of.
    pub(super) explain: Option<PathBuf>,
    /// Machine code is compared with its PTX.
    pub(super) verify: bool,
    pub(super) no_warnings: bool,
    pub(super) help: bool,
    pub(super) version: bool,
}

/// The options whose value may be the next word, by the `--help` of ptxas 13.0: those of the first row matter here, the others
/// only for SASS. All others are flags; ptxas refuses those that it does not know, which may be a later one's.
#[rustfmt::skip]
const WITH_VALUE: [&str; 40] = [
    "output-file", "o", "gpu-name", "arch", "input-as-string", "ias", "options-file", "optf", "explain", "tuning",
    "Ofast-compile", "Ofc", "allow-expensive-optimizations", "def-load-cache", "dlcm", "def-store-cache", "dscm",
    "device-function-maxrregcount", "func-maxrregcount", "device-stack-protector", "entry", "e", "fmad",
    "force-load-cache", "flcm", "force-store-cache", "fscm", "machine", "m", "maxntid", "maxrregcount", "minnctapersm",
    "opt-level", "O", "position-independent-code", "pic", "register-usage-level", "regUsageLevel", "sanitize",
    "split-compile",
];
/// Files with options name files with options; more in one another are a circle.
const MOST_NESTED: usize = 8;

impl Options {
    pub(super) fn parse(words: &[OsString]) -> Result<Self, Fatal> {
        let mut options = Self::default();
        options.read(words, 0)?;
        Ok(options)
    }

    fn read(&mut self, words: &[OsString], nested: usize) -> Result<(), Fatal> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            let option = text.strip_prefix("--").or(text.strip_prefix('-')).filter(|o| !o.is_empty());
            let Some(option) = option else {
                self.inputs.push(Input::File(word.into()));
                continue;
            };
            let (name, joined) =
                option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let value = match joined {
                Some(value) => OsString::from(value),
                None if WITH_VALUE.contains(&name) => {
                    let missing = || Fatal::new(format!("Missing value for option '{name}'"));
                    words.next().cloned().ok_or_else(missing)?
                }
                None => OsString::new(),
            };
            match name {
                "o" | "output-file" => self.output = Some(value.into()),
                "arch" | "gpu-name" => self.target = Some(target(&value.to_string_lossy())?),
                "ias" | "input-as-string" => {
                    self.inputs.push(Input::Text(value.to_string_lossy().into_owned()));
                }
                "optf" | "options-file" => self.file(value.into(), nested)?,
                "c" | "compile-only" | "ewp" | "extensible-whole-program" => self.relocatable = true,
                "sass" => self.sass = true,
                "O" | "opt-level" => self.level = Some(level(value == "0")),
                "O0" | "O1" | "O2" | "O3" => self.level = Some(level(name == "O0")),
                "lineinfo" | "generate-line-info" => self.lines = true,
                "g" | "device-debug" => (self.lines, self.variables) = (true, true),
                "explain" => self.explain = Some(value.into()),
                "tuning" => self.tuning = tuning(&value.to_string_lossy())?,
                "verify" => self.verify = true,
                "maxrregcount" => self.max_registers = Some(registers(&value.to_string_lossy())?),
                "v" | "verbose" => self.verbose = true,
                "w" | "disable-warnings" => self.no_warnings = true,
                "h" | "help" => self.help = true,
                "V" | "version" => self.version = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes the options in a file.
    fn file(&mut self, path: PathBuf, nested: usize) -> Result<(), Fatal> {
        let failed = |what: &str| Fatal::new(format!("Options file '{}' {what}", path.display()));
        if nested == MOST_NESTED {
            return Err(failed("is nested too deeply"));
        }
        let text = std::fs::read_to_string(&path).map_err(|_| failed("could not be opened"))?;
        let words = shlex::split(&text).ok_or_else(|| failed("has a quote that does not end"))?;
        self.read(&words.into_iter().map(OsString::from).collect::<Vec<_>>(), nested + 1)
    }
}

/// `-O0`, in which nothing overlaps, or another level.
fn level(is_serial: bool) -> Level {
    if is_serial { Level::Serial } else { Level::Overlapped }
}

/// The numbers in `--tuning rounds=8,warps=1`.
fn tuning(value: &str) -> Result<Tuning, Fatal> {
    value.parse().map_err(|why| Fatal::new(format!("Invalid value for option 'tuning': {why}")))
}

/// The number in `--maxrregcount 32`.
fn registers(value: &str) -> Result<u32, Fatal> {
    let wrong = |_| Fatal::new(format!("Invalid value '{value}' for option 'maxrregcount'"));
    value.parse().map_err(wrong)
}

/// The target in `sm_90a` or `compute_90a`.
fn target(name: &str) -> Result<Target, Fatal> {
    let real = name.strip_prefix("compute_").map_or_else(|| name.to_owned(), |rest| format!("sm_{rest}"));
    let known = TARGETS.iter().map(|(arch, _)| *arch).find(|arch| arch.to_string() == real);
    // XLA looks for these words.
    let undefined = || Fatal::new(format!("Value '{name}' is not defined for option 'gpu-name'"));
    let arch = known.ok_or_else(undefined)?;
    Ok(if name.starts_with("compute_") { Target::Virtual(arch) } else { Target::Real(arch) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::types::ArchVariant;

    fn parse(text: &str) -> Result<Options, Fatal> {
        Options::parse(&text.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    const HOPPER: Arch = Arch { sm: 90, variant: ArchVariant::Specific };

    /// What an input, an output and a target make.
    fn plain() -> Options {
        Options {
            inputs: vec![Input::File("a.ptx".into())],
            output: Some("b.o".into()),
            target: Some(Target::Real(HOPPER)),
            ..Options::default()
        }
    }

    /// The command lines of programs that call ptxas.
    #[test]
    fn the_words_of_compilers() {
        let verbose = Options { verbose: true, ..plain() };
        let lines = Options { lines: true, ..verbose.clone() };
        let debugged = Options { lines: true, variables: true, ..plain() };
        let limited = Options { max_registers: Some(32), ..plain() };
        let relocatable = Options { relocatable: true, ..plain() };
        for (line, expected) in [
            // Triton 3.
            ("-lineinfo -v --gpu-name=sm_90a a.ptx -o b.o", lines.clone()),
            (
                "-lineinfo -v --opt-level 0 --regAllocOptLevel=2 --gpu-name=sm_90a a.ptx -o b.o",
                Options { level: Some(Level::Serial), ..lines.clone() },
            ),
            ("-v --fmad=false -g --gpu-name=sm_90a a.ptx -o b.o", Options { variables: true, ..lines }),
            // XLA.
            ("-v a.ptx -o b.o -arch=sm_90a --warn-on-spills", verbose.clone()),
            (
                "a.ptx -o b.o -arch=sm_90a -O0 --device-debug --generate-line-info",
                Options { level: Some(Level::Serial), ..debugged.clone() },
            ),
            // nvcc 13: whole programs, parts of programs, for debuggers, with limits.
            ("-arch=sm_90a -m64 a.ptx -o b.o", plain()),
            ("-arch=sm_90a -m64 --compile-only a.ptx -o b.o", relocatable.clone()),
            ("-arch=sm_90a -m64 -ewp a.ptx -o b.o", relocatable),
            ("-arch=sm_90a -m64 -g --dont-merge-basicblocks --return-at-end a.ptx -o b.o", debugged),
            (
                "-arch=sm_90a -m64 -maxrregcount=32 -split-compile=0 --def-load-cache=cg a.ptx -o b.o",
                limited.clone(),
            ),
            (
                "-arch=sm_90a -m64 -maxrregcount 32 -split-compile 0 -dlcm cg -fmad false a.ptx -o b.o",
                limited,
            ),
            // PyCUDA and CuPy hand options to nvcc, which passes these on (-Xptxas).
            (
                "-arch=sm_90a -m64 -v -O3 -warn-lmem-usage a.ptx -o b.o",
                Options { level: Some(Level::Overlapped), ..verbose },
            ),
        ] {
            assert_eq!(parse(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn the_other_options() {
        assert_eq!(parse("--version").unwrap(), Options { version: true, ..Options::default() });
        assert_eq!(parse("-arch compute_90a").unwrap().target, Some(Target::Virtual(HOPPER)));
        let text =
            Options::parse(&["--input-as-string".into(), ".version 9.0\n.target sm_90".into()]).unwrap();
        assert_eq!(text.inputs, [Input::Text(".version 9.0\n.target sm_90".into())]);
        assert_eq!(parse("a.ptx b.ptx").unwrap().inputs.len(), 2);
    }

    #[test]
    fn levels_are_joined_or_apart() {
        for (text, level) in [
            ("a.ptx -O0", Some(Level::Serial)),
            ("-O 0 a.ptx", Some(Level::Serial)),
            ("--opt-level=0 a.ptx", Some(Level::Serial)),
            ("-O3 a.ptx", Some(Level::Overlapped)),
            ("-g a.ptx", None),
        ] {
            assert_eq!(parse(text).map(|options| options.level).ok(), Some(level), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_as_ptxas_says_it() {
        let message = |line| parse(line).unwrap_err().to_string();
        assert_eq!(message("-arch=sm_777 a.ptx"), "Value 'sm_777' is not defined for option 'gpu-name'");
        assert_eq!(message("a.ptx -o"), "Missing value for option 'o'");
        assert_eq!(message("-optf no-such-file"), "Options file 'no-such-file' could not be opened");
    }

    #[test]
    fn options_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("options");
        std::fs::write(&file, "-arch=sm_90a -o 'b.o'").unwrap();
        let words = ["a.ptx".into(), "--options-file".into(), file.clone().into_os_string()];
        assert_eq!(Options::parse(&words), Ok(plain()));
        std::fs::write(&file, format!("-optf {}", file.display())).unwrap();
        let message = Options::parse(&words).unwrap_err().to_string();
        assert!(message.ends_with("is nested too deeply"), "{message}");
    }
}
