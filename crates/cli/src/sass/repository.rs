//! `warploom sass gather`, `verify`, `merge` and `keys`: what dumped code says of encodings.

use super::arch;
use crate::failure::{Exit, Failure};
use crate::{images, terminal};
use ::sass::Arch;
use ::sass_learn::dump::{self, KeySummary, Repository, Sample, Update, Verdict, Verification, Weight};
use ::sass_learn::{Nvdisasm, Oracle, sections};
use serde_json::json;
use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const GATHER_EXAMPLES: &str = "\
Examples:
  cuobjdump -sass -arch sm_90 libnvjpeg.so.13 > nvjpeg.sass
  warploom sass gather --arch sm_90 nvjpeg.sass -o sm_90.samples
  nvdisasm -hex kernel.cubin | warploom sass gather --arch sm_90 - -o sm_90.samples
  warploom sass gather --arch sm_90 --oracle nvdisasm kernel.cubin -o sm_90.samples";

/// Learn encodings from dumped code
///
/// Reads listings with encodings, as `cuobjdump -sass` and `nvdisasm -hex` print them; with --oracle, cubins and files with cubins too.
/// Each instruction's text is taken apart into a key (mnemonic and kinds of operands), numbers and modifiers; words are sums of
/// values times weights, and exact linear algebra finds the weights. FILE holds the samples that matter; if it exists, it is added to.
#[derive(Debug, clap::Args)]
#[command(after_help = GATHER_EXAMPLES)]
pub(super) struct Gather {
    #[command(flatten)]
    input: Input,
    /// The file of samples
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Forget what FILE holds
    #[arg(long)]
    anew: bool,
}

/// Encode dumped code by a file of samples and compare with its words
///
/// Without listings: the file's own samples. The exit code is 1 if a word is not what the samples say.
#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// The file of samples
    #[arg(value_name = "SAMPLES")]
    repository: PathBuf,
    /// Encode by the built-in table too
    #[arg(long)]
    table: bool,
    /// How many examples of what is not right
    #[arg(long, value_name = "N", default_value_t = 10)]
    examples: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    listings: Listings,
}

/// Join files of samples
///
/// The exit code is 1 if samples of one file contradict another's. They are taken in all the same: the bits in which they differ are
/// then not determined by the text.
#[derive(Debug, clap::Args)]
pub(super) struct Merge {
    /// Files of samples of one architecture
    #[arg(required = true, num_args = 2.., value_name = "SAMPLES")]
    repositories: Vec<PathBuf>,
    /// The file of all of them
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Show what a file of samples determines, and what it leaves open
///
/// Without a mnemonic: a line for each key. With one: the weights of its keys. `#2` is the second number of the text, `.FTZ` a
/// modifier of the mnemonic, `-2` the sign before the second number, `2.64` a modifier behind it, `2=SR_TID.X` a name in its
/// place, `2<0` that it is negative.
#[derive(Debug, clap::Args)]
pub(super) struct Keys {
    /// The file of samples
    #[arg(value_name = "SAMPLES")]
    repository: PathBuf,
    /// Only the keys that leave something open
    #[arg(long)]
    open: bool,
    /// A mnemonic
    mnemonic: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Input {
    /// The architecture: sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120
    #[arg(long, value_parser = arch)]
    arch: Arch,
    #[command(flatten)]
    listings: Listings,
}

#[derive(Debug, clap::Args)]
struct Listings {
    /// The path of nvdisasm: then files may be cubins, libraries and so on
    #[arg(long, value_name = "PATH")]
    oracle: Option<PathBuf>,
    /// Only a part of the functions: 1/2 is every second one from the first, 2/2 from the second
    #[arg(long, value_name = "K/N", value_parser = part)]
    part: Option<(usize, usize)>,
    /// Listings with encodings; `-` is standard input
    #[arg(value_name = "LISTING")]
    files: Vec<PathBuf>,
}

fn part(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    parts
        .filter(|&(k, n): &(usize, usize)| k >= 1 && k <= n)
        .ok_or_else(|| "a part is K/N with K from 1 to N".to_owned())
}

impl Listings {
    /// The samples of all files, copied out of their texts. Functions are numbered through.
    fn read(&self, arch: Arch) -> Result<Vec<Sample<'static>>, Failure> {
        let mut all = Vec::new();
        let mut functions = 0;
        for path in &self.files {
            let bytes = if path == Path::new("-") {
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)
                    .map_err(|error| Failure::usage(format!("standard input: {error}")))?;
                bytes
            } else {
                images::read(path)?
            };
            let (samples, count) = match std::str::from_utf8(&bytes) {
                Ok(text) => listing(text, path, arch)?,
                Err(_) => self.code(&bytes, path, arch)?,
            };
            let wanted =
                |it: &Sample<'_>| self.part.is_none_or(|(k, n)| (it.function + functions) % n == k - 1);
            all.extend(samples.into_iter().filter(wanted));
            functions += count;
        }
        Ok(all)
    }

    /// The code of a binary file with the oracle's texts.
    fn code(&self, bytes: &[u8], path: &Path, arch: Arch) -> Result<(Vec<Sample<'static>>, usize), Failure> {
        let name = path.display();
        let found = sections(bytes, arch).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        let Some(sections) = found else {
            return Err(Failure::usage(format!("{name} is neither a listing nor a file with device code")));
        };
        let Some(oracle) = &self.oracle else {
            let hint = "name NVIDIA's disassembler with --oracle, or dump the file with `cuobjdump -sass`";
            return Err(Failure::usage(format!("{name} has no texts")).hint(hint));
        };
        let oracle = Nvdisasm::open(oracle, arch)
            .map_err(|error| Failure::usage(error).hint("--oracle takes the path of NVIDIA's nvdisasm"))?;
        let words: Vec<u128> = sections.iter().flatten().copied().collect();
        let texts = oracle.ask(&words, 0).map_err(Failure::usage)?;
        let numbers =
            sections.iter().enumerate().flat_map(|(number, it)| std::iter::repeat_n(number, it.len()));
        let samples = words.iter().zip(texts).zip(numbers).enumerate();
        let samples = samples.filter_map(|(at, ((&word, text), function))| {
            Some(Sample { function, address: 16 * at as u64, text: Cow::Owned(text?), word })
        });
        Ok((samples.collect(), sections.len()))
    }
}

/// The samples of a listing, and how many functions it has.
fn listing(text: &str, path: &Path, arch: Arch) -> Result<(Vec<Sample<'static>>, usize), Failure> {
    let name = path.display();
    let listing = dump::read(text, arch).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    if listing.samples.is_empty() && listing.others > 0 {
        return Err(Failure::usage(format!("{name} has no code for {arch}")));
    }
    if let Some((line, why)) = listing.skipped.first() {
        let count = terminal::count(listing.skipped.len(), "instruction");
        terminal::note(&format!("{name}: {count} left out; line {line}: {why}"));
    }
    let owned = |it: Sample<'_>| Sample { text: Cow::Owned(it.text.into_owned()), ..it };
    Ok((listing.samples.into_iter().map(owned).collect(), listing.functions))
}

fn load(path: &Path) -> Result<Repository, Failure> {
    let name = path.display();
    let bytes = images::read(path)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{name} is no file of samples")))?;
    let (repository, _) =
        Repository::load(&text).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Ok(repository)
}

pub(super) fn gather(arguments: &Gather) -> Result<Exit, Failure> {
    let Input { arch, listings } = &arguments.input;
    if listings.files.is_empty() {
        return Err(Failure::usage("there is no listing to learn from"));
    }
    let mut repository = if arguments.output.exists() && !arguments.anew {
        load(&arguments.output)?
    } else {
        Repository::new(*arch)
    };
    if repository.arch() != *arch {
        let message = format!("{} has samples of {}", arguments.output.display(), repository.arch());
        return Err(Failure::usage(message));
    }
    let samples = listings.read(*arch)?;
    let update = repository.update(&samples);
    images::write(&arguments.output, repository.save().as_bytes())?;
    let mut out = String::new();
    for text in update.unreadable.iter().take(3) {
        let _ = writeln!(out, "not understood: {text}");
    }
    let _ = writeln!(
        out,
        "{} instructions, {} of them not understood",
        terminal::thousands(update.samples as u64),
        update.unreadable_count
    );
    let _ = writeln!(
        out,
        "{} new keys; {} instructions say more of their key, {} need a less general model, {} contradict others",
        update.new_keys, update.determining, update.refined, update.contradiction_count
    );
    out.push_str(&state(&repository));
    terminal::result(&out).map(|()| Exit::Ok)
}

/// A line about all keys.
fn state(repository: &Repository) -> String {
    let keys: Vec<KeySummary<'_>> = repository.keys().collect();
    let with = |wanted: &dyn Fn(&KeySummary<'_>) -> bool| keys.iter().filter(|it| wanted(it)).count();
    format!(
        "{}: {} keys, {} with all weights known, {} with hidden bits, {} unexplained; {} samples\n",
        repository.arch(),
        keys.len(),
        with(&|it| !it.unexplained && it.weights.iter().all(|it| it.1 != Weight::Open)),
        with(&|it| !it.unexplained && it.hidden != 0),
        with(&|it| it.unexplained),
        keys.iter().map(|it| it.samples).sum::<usize>()
    )
}

pub(super) fn verify(arguments: &Verify) -> Result<Exit, Failure> {
    let repository = load(&arguments.repository)?;
    let verification = if arguments.listings.files.is_empty() {
        let samples: Vec<Sample<'_>> = repository.samples().collect();
        repository.verify(&samples, arguments.table)
    } else {
        let samples = arguments.listings.read(repository.arch())?;
        repository.verify(&samples, arguments.table)
    };
    print(arguments, &verification)?;
    Ok(if verification.wrong == 0 { Exit::Ok } else { Exit::Findings })
}

fn print(arguments: &Verify, it: &Verification) -> Result<(), Failure> {
    let examples = it.examples.iter().take(arguments.examples);
    if arguments.json {
        let examples: Vec<_> = examples
            .map(|(text, word, verdict)| {
                json!({ "text": text, "word": format!("{word:#034x}"), "verdict": said(verdict) })
            })
            .collect();
        return terminal::json(&json!({
            "samples": it.samples,
            "right": it.right,
            "hidden": it.hidden,
            "wrong": it.wrong,
            "unknown": it.unknown,
            "open": it.open,
            "unexplained": it.unexplained,
            "unreadable": it.unreadable,
            "table": it.table.as_ref().map(|it| it.right),
            "examples": examples,
        }));
    }
    let mut out = String::new();
    for (text, word, verdict) in examples {
        let _ = writeln!(out, "{word:#034x} {text}\n  {}", said(verdict));
    }
    let n = |it: usize| terminal::thousands(it as u64);
    let _ = writeln!(
        out,
        "{} instructions: right {}, right but for hidden bits {}, wrong {}, open {}, unknown key {}, unexplained key {}, not understood {}",
        n(it.samples),
        n(it.right),
        n(it.hidden),
        n(it.wrong),
        n(it.open),
        n(it.unknown),
        n(it.unexplained),
        n(it.unreadable)
    );
    if let Some(table) = &it.table {
        for (text, word, ours) in table.examples.iter().take(arguments.examples) {
            let ours = ours.map_or("not taken".to_owned(), |it| format!("{it:#034x}"));
            let _ = writeln!(out, "{word:#034x} {text}\n  by the table: {ours}");
        }
        let _ = writeln!(out, "the built-in table: right {}", n(table.right));
    }
    terminal::result(&out)
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Right => "right".to_owned(),
        Verdict::RightButHidden => "right but for hidden bits".to_owned(),
        Verdict::Wrong(word) => format!("would be {word:#034x} without its control code"),
        Verdict::UnknownKey => "such an instruction was not among the samples".to_owned(),
        Verdict::Open(features) => format!("open: {}", features.join(" | ")),
        Verdict::Unexplained => "nothing explains the samples of such instructions".to_owned(),
        Verdict::Unreadable => "not understood".to_owned(),
    }
}

pub(super) fn merge(arguments: &Merge) -> Result<Exit, Failure> {
    let mut repositories = arguments.repositories.iter();
    let first = repositories.next().map(PathBuf::as_path).unwrap_or_else(|| Path::new(""));
    let mut all = load(first)?;
    let mut out = String::new();
    let mut contradictions = 0;
    for path in repositories {
        let other = load(path)?;
        if other.arch() != all.arch() {
            let message =
                format!("{} is of {}, {} of {}", first.display(), all.arch(), path.display(), other.arch());
            return Err(Failure::usage(message));
        }
        let update: Update = all.merge(&other);
        contradictions += update.contradiction_count;
        for it in &update.contradictions {
            let _ = writeln!(out, "{}: {:#034x} {}", path.display(), it.word, it.text);
            if let Some(expected) = it.expected {
                let _ = writeln!(out, "  would be {expected:#034x} without its control code");
            }
        }
    }
    images::write(&arguments.output, all.save().as_bytes())?;
    out.push_str(&state(&all));
    terminal::result(&out)?;
    Ok(if contradictions == 0 { Exit::Ok } else { Exit::Findings })
}

pub(super) fn keys(arguments: &Keys) -> Result<Exit, Failure> {
    let repository = load(&arguments.repository)?;
    let mut out = String::new();
    let mut any = false;
    for key in repository.keys() {
        let open: Vec<&str> = key.weights.iter().filter(|it| it.1 == Weight::Open).map(|it| it.0).collect();
        if arguments.open && open.is_empty() {
            continue;
        }
        let name = key.key.split(' ').next().unwrap_or("");
        match &arguments.mnemonic {
            None => {
                let _ = writeln!(
                    out,
                    "{:<40} {:>4} samples  {:>3} weights, {} open  {}",
                    key.key,
                    key.samples,
                    key.weights.len(),
                    open.len(),
                    key.model
                );
            }
            Some(wanted) if name.eq_ignore_ascii_case(wanted) => {
                let _ = writeln!(out, "{}: {} samples, {}", key.key, key.samples, key.model);
                if key.hidden != 0 {
                    let _ = writeln!(out, "  not in the text: {:#x}", key.hidden);
                }
                for (feature, weight) in &key.weights {
                    let _ = writeln!(out, "  {feature:<24} {weight}");
                }
            }
            Some(_) => continue,
        }
        any = true;
    }
    if let Some(mnemonic) = arguments.mnemonic.as_ref().filter(|_| !any && !arguments.open) {
        return Err(Failure::usage(format!("no sample has the mnemonic `{mnemonic}`")));
    }
    terminal::result(&out).map(|()| Exit::Ok)
}
