//! `warploom litmus`: what the PTX memory model allows.

mod cpp;
mod kernel;

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use clap::{Subcommand, ValueEnum};
use memory_model::answer::{Options, Question, Undecided};
use memory_model::catalogue::{self, ThreadPosition};
use memory_model::generate::{self, Annotation, Edge, Shape};
use memory_model::language::{Version, parse_version};
use memory_model::model::{Family, Model};
use memory_model::{dialect, draw, from_ptx};
use reports::litmus::{Answers, Picture, Test, Wanted};
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  warploom litmus mp.litmus
  warploom litmus --ptx 6.0 --outcomes mp.litmus
  warploom litmus --json --outcomes tests/*.litmus
  warploom litmus --svg mp.svg mp.ptx
  warploom litmus lock.ptx --kernel add --grid 3 --arg lock=zeros:u32[1] --arg data=zeros:u32[1] \
      --condition 'forall (data == 3)'
  warploom litmus --cpp mp-cpp.litmus
  warploom litmus --model dartagnan --ptx 7.5 --expected PTXv7_5-expected.csv
  warploom litmus generate --cycle 'Pod:fence.sc.gpu Fre Pod:fence.sc.gpu Fre'
  warploom litmus generate --threads 2 --accesses 3 --output tests/";

/// Decide litmus tests under the PTX memory model.
///
/// A test is a file in the PTX dialect of Dartagnan, or a PTX module (.ptx) with directives. The answer is whether its
/// assertion holds, with an execution, or the axiom and the edges that forbid one. An independent checker verifies every
/// answer.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"), args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Litmus tests
    #[arg(value_name = "FILE", required_unless_present = "expected")]
    files: Vec<PathBuf>,
    /// Whose reading of the model
    #[arg(long, value_enum, default_value_t, value_name = "MODEL")]
    model: Reading,
    /// The PTX version whose text is in force [default: a module's own, otherwise the newest]
    #[arg(long, value_name = "VERSION", value_parser = version)]
    ptx: Option<Version>,
    /// Also say whether every execution ends
    #[arg(long)]
    liveness: bool,
    /// Also find all outcomes, each with its number of executions: far more work than the verdict
    #[arg(long)]
    outcomes: bool,
    /// Print one JSON object a file
    #[arg(long)]
    json: bool,
    /// Write the execution for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Draw the execution
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The most iterations of a loop that writes or synchronises
    #[arg(long, visible_alias = "unroll", default_value_t = Options::default().bound, value_name = "N")]
    bound: u32,
    /// Compare with a table of `FILE,1` (the assertion holds) or `FILE,0`; with --liveness, whether all executions end
    #[arg(long, value_name = "TABLE")]
    expected: Option<PathBuf>,
    /// Where the files of the table are
    #[arg(long, value_name = "FOLDER", requires = "expected", default_value = ".")]
    root: PathBuf,
    #[command(flatten)]
    launch: kernel::Arguments,
    /// Read C++ atomics in herd's C dialect, with scopes: what scoped RC11 and, once compiled, PTX say of them
    #[arg(long, conflicts_with_all = ["kernel", "expected", "dot", "svg"])]
    cpp: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Generate(Generate),
}

/// Write litmus tests: every program of a shape, or the test of a cycle.
#[derive(Debug, clap::Args)]
struct Generate {
    /// A cycle of Rfe, Fre, Coe, Pod and Pos (program order to another or the same location), with `:INSTRUCTION` for what
    /// stands between
    #[arg(long, value_name = "EDGES", conflicts_with_all = ["threads", "accesses"])]
    cycle: Option<String>,
    /// The order and scope of writes that are read, for cycles
    #[arg(long, default_value = "weak", value_name = "ORDER")]
    write: String,
    /// The order and scope of reads of them, for cycles
    #[arg(long, default_value = "weak", value_name = "ORDER")]
    read: String,
    /// The order and scope of all other accesses, for cycles
    #[arg(long, default_value = "weak", value_name = "ORDER")]
    other: String,
    /// The tests that are known by name, in every style, each thread in a cluster of its own
    #[arg(long, conflicts_with_all = ["cycle", "threads", "accesses"])]
    classics: bool,
    /// How many threads a shape has
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    threads: u8,
    /// How many instructions of a shape access memory
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    accesses: u8,
    /// The most fences of a shape
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    fences: u8,
    /// The instructions to choose from: {r} is a fresh register, {v} a fresh value, {x} a location
    #[arg(long, value_name = "INSTRUCTION")]
    instruction: Vec<String>,
    /// Where threads run, in turn, such as `cta 0,gpu 0`
    #[arg(long, value_name = "PLACE")]
    place: Vec<String>,
    /// Write files to a folder, rather than one behind the other to standard output
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Reading {
    /// The manual's text of the version
    #[default]
    Isa,
    /// The files of the model checker Dartagnan, for 6.0 and 7.5
    Dartagnan,
}

impl Reading {
    fn family(self) -> Family {
        match self {
            Self::Isa => Family::Isa,
            Self::Dartagnan => Family::Dartagnan,
        }
    }
}

fn version(text: &str) -> Result<Version, String> {
    let version = parse_version(text).ok_or("a version is like 7.5")?;
    if version < Version(6, 0) { Err("there is no memory model before PTX 6.0".into()) } else { Ok(version) }
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(Command::Generate(generate)) = &arguments.command {
        return generate_tests(generate);
    }
    if let Some(table) = &arguments.expected {
        return compare(arguments, table);
    }
    let mut exit = Exit::Ok;
    for path in &arguments.files {
        let done = match &arguments.launch.kernel {
            Some(name) => kernel::execute(arguments, path, name),
            None if arguments.cpp => cpp::execute(arguments, path),
            None => load(arguments, path).and_then(|loaded| answer(arguments, path, &loaded)),
        };
        match done {
            Ok(of_file) => exit = exit.max(of_file),
            Err(failure) => {
                failure.report();
                exit = exit.max(failure.exit);
            }
        }
    }
    Ok(exit)
}

fn load(arguments: &Arguments, path: &Path) -> Result<Test, Failure> {
    let at = |problem| Failure::usage(format!("{}:{problem}", path.display()));
    let (program, own) = if path.extension().is_some_and(|extension| extension == "ptx") {
        let (_, module) = input::module(path)?;
        let test = from_ptx::parse(&module).map_err(at)?;
        (test.program, Some(test.version))
    } else {
        (dialect::parse(input::read(path)?.text()).map_err(at)?, None)
    };
    let family = arguments.model.family();
    let newest = family.versions().last().copied();
    let version = arguments.ptx.or(own).or(newest).unwrap_or(Version(6, 0));
    let model = Model::new(family, version)
        .ok_or_else(|| Failure::usage(format!("there is no memory model for PTX {version}")))?;
    Ok(Test { program, model })
}

fn undecided(path: &Path) -> impl Fn(Undecided) -> Failure {
    move |reason| Failure::new(Exit::Unsupported, format!("{}: not decided: {reason}", path.display()))
}

fn answer(arguments: &Arguments, path: &Path, test: &Test) -> Result<Exit, Failure> {
    let options = Options { bound: arguments.bound, ..Options::default() };
    let wanted = Wanted { outcomes: arguments.outcomes, liveness: arguments.liveness || arguments.json };
    let fail = undecided(path);
    let answers = Answers::of(test, options, wanted).map_err(&fail)?;
    let name = path.display().to_string();
    if arguments.json {
        terminal::json(&answers.json(&name))?;
    } else {
        terminal::result(&answers.text(&name).map_err(&fail)?)?;
    }
    for (path, picture) in [(&arguments.dot, draw::dot as Picture), (&arguments.svg, draw::svg)] {
        if let Some(path) = path
            && let Some(picture) = answers.picture(picture).map_err(&fail)?
        {
            write(path, &picture)?;
        }
    }
    let findings = !answers.verdict.holds || !answers.certified;
    Ok(if findings { Exit::Findings } else { Exit::Ok })
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
}

/// Compares verdicts with a table.
fn compare(arguments: &Arguments, table: &Path) -> Result<Exit, Failure> {
    let rows = fs::read_to_string(table)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", table.display())))?;
    let (mut met, mut total, mut slowest) = (0, 0, (std::time::Duration::ZERO, String::new()));
    let begin = std::time::Instant::now();
    for row in rows.lines().filter(|row| !row.trim().is_empty()) {
        let Some((file, expected)) = row.rsplit_once(',') else {
            return Err(Failure::usage(format!("`{row}` is not a row of a table")));
        };
        total += 1;
        let start = std::time::Instant::now();
        let path = arguments.root.join(file);
        let loaded = load(arguments, &path)?;
        let options = Options { bound: arguments.bound, ..Options::default() };
        let question = Question::new(&loaded.program, &loaded.model, options);
        let found = if arguments.liveness {
            question.liveness().map(|liveness| liveness.terminates)
        } else {
            question.verdict().map(|verdict| verdict.holds)
        };
        let found = found.map_err(undecided(&path))?;
        slowest = slowest.max((start.elapsed(), file.to_owned()));
        if found == (expected.trim() == "1") {
            met += 1;
        } else {
            terminal::result(&format!("{file}: expected {}, found {}\n", expected.trim(), u8::from(found)))?;
        }
    }
    let time = begin.elapsed();
    terminal::result(&format!(
        "{met} of {total} rows are met, in {:.3} s; the slowest, {}, took {:.1} ms\n",
        time.as_secs_f64(),
        slowest.1,
        slowest.0.as_secs_f64() * 1e3
    ))?;
    Ok(if met == total { Exit::Ok } else { Exit::Findings })
}

/// The instructions of shapes, unless others are asked for.
const INSTRUCTIONS: [&str; 9] = [
    "ld.weak {r}, {x}",
    "ld.relaxed.gpu {r}, {x}",
    "ld.acquire.gpu {r}, {x}",
    "st.weak {x}, {v}",
    "st.relaxed.gpu {x}, {v}",
    "st.release.gpu {x}, {v}",
    "atom.acq_rel.gpu.exch {r}, {x}, {v}",
    "fence.acq_rel.gpu",
    "fence.sc.gpu",
];

fn generate_tests(arguments: &Generate) -> Result<Exit, Failure> {
    let mut places: Vec<&str> = arguments.place.iter().map(String::as_str).collect();
    if places.is_empty() {
        places = vec!["cta 0,gpu 0", "cta 1,gpu 0"];
    }
    let mut count = 0;
    let mut emit = |text: String| -> Result<(), Failure> {
        count += 1;
        match &arguments.output {
            Some(folder) => write(&folder.join(format!("{count:06}.litmus")), &text),
            None => terminal::result(&text),
        }
    };
    if let Some(cycle) = &arguments.cycle {
        let edges: Option<Vec<Edge>> =
            cycle.split(' ').filter(|edge| !edge.is_empty()).map(Edge::parse).collect();
        let annotation =
            Annotation { write: &arguments.write, read: &arguments.read, other: &arguments.other };
        let text = edges.and_then(|edges| generate::from_cycle("cycle", &edges, &annotation, &places));
        emit(
            text.ok_or_else(|| {
                Failure::usage(format!("`{cycle}` is not a cycle that ends between threads"))
            })?,
        )?;
        return Ok(Exit::Ok);
    }
    if arguments.classics {
        for (shape, style, columns) in catalogue::classics() {
            let name = format!("{shape}+{style}").replace([';', ','], "").replace(' ', "-");
            let apart: Vec<ThreadPosition> = (0..columns.len() as u32)
                .map(|cluster| ThreadPosition { cluster, ..ThreadPosition::default() })
                .collect();
            emit(catalogue::text(&name, &columns, &apart))?;
        }
        return Ok(Exit::Ok);
    }
    let own: Vec<&str> = arguments.instruction.iter().map(String::as_str).collect();
    let shape = Shape {
        places: (0..usize::from(arguments.threads)).map(|thread| places[thread % places.len()]).collect(),
        templates: if own.is_empty() { INSTRUCTIONS.to_vec() } else { own },
        accesses: arguments.accesses.into(),
        others: arguments.fences.into(),
        locations: 2,
        connected: true,
    };
    let mut failure = None;
    shape.programs(&mut |text| {
        failure = emit(text).err();
        failure.is_none()
    });
    match failure {
        Some(failure) => Err(failure),
        None => {
            terminal::note(&terminal::count(count, "test"));
            Ok(Exit::Ok)
        }
    }
}
