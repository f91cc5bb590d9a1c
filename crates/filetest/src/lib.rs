//! Data-driven tests: one readable file holds a program, how to launch it, and what must come out.
//!
//! ```text
//! file --case--> [Case] --machine, once for every Schedule--> Outcome --judge--> what differs
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`directive`] | the lines that start with `//:`, and where a file's program is |
//! | [`case`](mod@case) | a launch with its inputs and expectations, from directives |
//! | [`value`] | element types, lists of values, exactness |
//! | [`expression`] | integer formulas of the element's index |
//! | [`tensor`] | tensor maps |
//! | [`schedule`] | under which schedulers and host threads a case runs |
//! | [`execute`] | a case on the machine, or on a GPU |
//! | [`judge`] | comparing what came out with what was expected |
//! | [`record`] | a GPU's results as the expected values of a file |
//! | [`generate`] | made-up programs, for the law that no checked module panics the machine |
//!
//! `tests/README.md` describes the files for those who write them.

pub mod case;
pub mod directive;
pub mod execute;
pub mod expression;
pub mod generate;
pub mod judge;
mod place;
pub mod record;
pub mod schedule;
pub mod tensor;
pub mod texture;
pub mod value;

use machine::Asynchrony;
pub use ptxas::{Level, Options, Target};
use std::path::Path;

/// Runs every case of a file under every schedule; its program is in `ptx`, which may be the file itself.
///
/// # Errors
/// What failed, for people: the first differences of each failing run, and the line that replays it.
pub fn run_file(file: &Path, ptx: &Path, schedules: &schedule::Choice) -> Result<(), String> {
    let program = directive::Program::read(file, ptx)?;
    let cases = case::parse(&program)?;
    let is_asynchronous = execute::is_asynchronous(&program);
    for (number, case) in cases.iter().enumerate() {
        for schedule in schedules.of(case, is_asynchronous) {
            let mistaken = case.mistaken.contains(&schedule.asynchrony);
            // What becomes of a mistake at other times than it names is open.
            if !case.mistaken.is_empty() && !mistaken && schedule.asynchrony != Asynchrony::Eager {
                continue;
            }
            let outcome = execute::run(&program, case, schedule)?;
            let mut differences = judge::judge(case, &outcome);
            if mistaken {
                differences = match differences.is_empty() {
                    true => vec!["  the mistake is not seen: everything is as expected".to_owned()],
                    false => Vec::new(),
                };
            }
            if !differences.is_empty() {
                return Err(format!(
                    "{}:{}: case {} ({}) under {schedule}:\n{}\n  replay: {}",
                    program.name,
                    case.line,
                    number + 1,
                    case.kernel,
                    differences.join("\n"),
                    schedule.replay(&program.name),
                ));
            }
        }
    }
    Ok(())
}

/// What became of a file elsewhere than on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Cases that ran and gave what is expected.
    pub passed: usize,
    /// Cases that nothing else can judge: they expect a fault, after which a GPU's driver is of no more use to this process, or
    /// that the machine refuses something, or have parameters that only the machine makes; as SASS, also those whose
    /// kernels our `ptxas` does not compile or that have instructions which are not executed.
    pub skipped: usize,
}

/// Runs every case of a file on a GPU, whose results judge what the file expects.
///
/// # Errors
/// What differs, for people.
pub fn run_file_on_gpu(file: &Path, ptx: &Path, gpu: &real_gpu::Gpu) -> Result<Elsewhere, String> {
    elsewhere(file, ptx, gpu.name(), |program, case| match execute::needs_the_machine(case) {
        true => Ok(None),
        false => execute::run_on_gpu(program, case, gpu).map(Some),
    })
}

/// Runs every case of a file on a GPU by the cubins of our own compiler: the GPU judges those.
///
/// # Errors
/// What differs, for people.
pub fn run_file_as_cubin_on_gpu(
    file: &Path,
    ptx: &Path,
    options: Options,
    gpu: &real_gpu::Gpu,
) -> Result<Elsewhere, String> {
    let on = format!("{}, {options:?}", gpu.name());
    elsewhere(file, ptx, &on, |program, case| {
        if execute::needs_the_machine(case) {
            return Ok(None);
        }
        match execute::run_cubin_on_gpu(program, case, options, gpu) {
            Ok(outcome) => Ok(Some(outcome)),
            Err(execute::NotOnSass::NotCompiled(_) | execute::NotOnSass::NotExecuted(_)) => Ok(None),
            Err(execute::NotOnSass::Wrong(why)) => Err(why),
        }
    })
}

/// Runs every case of a file as SASS of our own compiler, on the machine that executes that; `timed`: with control codes honoured.
///
/// # Errors
/// What differs, for people.
pub fn run_file_on_sass(file: &Path, ptx: &Path, options: Options, timed: bool) -> Result<Elsewhere, String> {
    let on = format!("the SASS machine, {options:?}");
    elsewhere(file, ptx, &on, |program, case| match execute::run_on_sass(program, case, options, timed) {
        // What is loaded and launched, and for which device, a driver decides.
        _ if matches!(case.end, case::End::Refused(_) | case::End::NotLoaded(_)) => Ok(None),
        Ok(outcome) => Ok(Some(outcome)),
        Err(execute::NotOnSass::NotCompiled(_) | execute::NotOnSass::NotExecuted(_)) => Ok(None),
        Err(execute::NotOnSass::Wrong(why)) => Err(why),
    })
}

/// Runs the cases of a file that can be judged elsewhere; `run` may have none that it can run.
fn elsewhere(
    file: &Path,
    ptx: &Path,
    on: &str,
    run: impl Fn(&directive::Program, &case::Case) -> Result<Option<execute::Outcome>, String>,
) -> Result<Elsewhere, String> {
    let program = directive::Program::read(file, ptx)?;
    let mut count = Elsewhere::default();
    for (number, case) in case::parse(&program)?.iter().enumerate() {
        let is_lost = matches!(case.end, case::End::Fault(_) | case::End::Unsupported(_));
        let outcome = if is_lost { None } else { run(&program, case)? };
        let Some(outcome) = outcome else {
            count.skipped += 1;
            continue;
        };
        let differences = judge::judge(case, &outcome);
        if !differences.is_empty() {
            return Err(format!(
                "{}:{}: case {} ({}) on {on}:\n{}",
                program.name,
                case.line,
                number + 1,
                case.kernel,
                differences.join("\n"),
            ));
        }
        count.passed += 1;
    }
    Ok(count)
}
