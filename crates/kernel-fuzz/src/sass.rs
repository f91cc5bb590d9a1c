//! Running a case as SASS: what our ptxas makes of it, for a GPU at each level, and above the lowest on the machine that executes that, with control codes
//! honoured: a dependence that one of them breaks gives an old value. (The dependences that the machine names are those of a warp. Where
//! lanes have parted, one side need not wait for what the other has under way, so that names alone are no findings.)

use crate::case::Case;
use crate::engine::{self, Outcome};
use ptx::diagnostic::Diagnostic;
use ptx::source::Source;
use ptxas::{Options, Target};
use sass_machine::{Launch, Loaded, Program};

/// Machine instructions that a case may issue.
const BUDGET: u64 = 1 << 28;

/// What SASS makes of a case; declined if our compiler refuses an instruction, or the machine does not execute one.
pub fn run(case: &Case, options: Options) -> Outcome {
    attempt(case, options).unwrap_or_else(Outcome::Stopped)
}

/// What our ptxas makes of a case.
///
/// # Errors
/// If it refuses an instruction, or does not assemble what it made.
pub fn compile(case: &Case, options: impl Into<Options>) -> Result<Vec<u8>, Outcome> {
    let told = |wrong: &[Diagnostic]| wrong.first().map_or(String::new(), |first| first.message.clone());
    let options = options.into();
    let is_own = options.target == Target::default();
    let text = if is_own { case.text.clone() } else { options.target.declared(&case.text) };
    let source = Source::new("kernel.ptx", text);
    let compiled = ptx::compile(&source).into_result().map_err(|wrong| match is_own {
        true => Outcome::Stopped(told(&wrong)),
        // The device does not have all that the kernel uses.
        false => Outcome::Declined(told(&wrong)),
    });
    let compiled = ptxas::compile_entries(&compiled?.0, options, |_| true);
    compiled.map(|compiled| compiled.cubin).map_err(|wrong| {
        // What cannot be assembled is a mistake; what is refused has its place in the PTX.
        match wrong.iter().any(|one| one.code == ptxas::codes::INTERNAL) {
            true => Outcome::Stopped(told(&wrong)),
            false => Outcome::Declined(told(&wrong)),
        }
    })
}

/// The launch of a case's kernel, which may issue so many instructions; `timed` honours control codes.
pub(crate) fn launch<'a>(case: &Case, params: &'a [u8], budget: u64, timed: bool) -> Launch<'a> {
    Launch {
        kernel: "kernel",
        grid: [case.ctas, 1, 1],
        block: case.block,
        cluster: 1,
        dynamic_shared: 0,
        params,
        budget,
        timed,
    }
}

fn attempt(case: &Case, options: Options) -> Result<Outcome, String> {
    let cubin = match compile(case, options) {
        Ok(cubin) => cubin,
        Err(outcome) => return Ok(outcome),
    };
    let device = engine::device()?;
    let program = Program::read(&cubin, false).map_err(|error| error.to_string())?;
    let loaded = Loaded::new(&program, device.memory()).map_err(|error| error.to_string())?;
    if let Some(text) = loaded.not_executed("kernel").into_iter().next() {
        return Ok(Outcome::Declined(format!("not executed: {text}")));
    }
    let placed = case.place(device.memory()).map_err(|error| error.to_string())?;
    let launch = launch(case, &placed.params, BUDGET, true);
    let end = loaded.launch(&launch);
    if let Some(fault) = end.fault {
        return Err(fault.to_string());
    }
    Ok(Outcome::Memory(placed.take(device.memory()).map_err(|error| error.to_string())?))
}
