//! Running a case as SASS: what our ptxas makes of it above its lowest level, on the machine that executes that, with control codes
//! honoured: a dependence that one of them breaks gives an old value. (The dependences that the machine names are those of a warp. Where
//! lanes have parted, one side need not wait for what the other has under way, so that names alone are no findings.)

use crate::case::Case;
use crate::engine::{MEMORY, Outcome};
use machine::{Device, DeviceOptions, Profile};
use ptx::diagnostic::Diagnostic;
use ptx::source::Source;
use ptxas::Level;
use sass_machine::{Launch, Loaded, Program};

/// Machine instructions that a case may issue.
const BUDGET: u64 = 1 << 28;

/// What SASS makes of a case; declined if our compiler refuses an instruction, or the machine does not execute one.
pub fn run(case: &Case) -> Outcome {
    attempt(case).unwrap_or_else(Outcome::Stopped)
}

fn attempt(case: &Case) -> Result<Outcome, String> {
    let told = |wrong: &[Diagnostic]| wrong.first().map_or(String::new(), |first| first.message.clone());
    let source = Source::new("kernel.ptx", case.text.as_str());
    let (module, _) = ptx::compile(&source).into_result().map_err(|wrong| told(&wrong))?;
    let compiled = match ptxas::compile_entries(&module, Level::Overlapped, |_| true) {
        Ok(compiled) => compiled,
        // What cannot be assembled is a mistake; what is refused has its place in the PTX.
        Err(wrong) if wrong.iter().any(|one| one.code == ptxas::codes::INTERNAL) => return Err(told(&wrong)),
        Err(wrong) => return Ok(Outcome::Declined(told(&wrong))),
    };
    let options = DeviceOptions { memory_limit: Some(MEMORY), ..DeviceOptions::default() };
    let device = Device::new(Profile::default(), options).map_err(|error| error.to_string())?;
    let program = Program::read(&compiled.cubin, false).map_err(|error| error.to_string())?;
    let loaded = Loaded::new(&program, device.memory()).map_err(|error| error.to_string())?;
    if let Some(text) = loaded.not_executed("kernel").into_iter().next() {
        return Ok(Outcome::Declined(format!("not executed: {text}")));
    }
    let placed = case.place(device.memory()).map_err(|error| error.to_string())?;
    let launch = Launch {
        kernel: "kernel",
        grid: [case.ctas, 1, 1],
        block: case.block,
        cluster: 1,
        dynamic_shared: 0,
        params: &placed.params,
        budget: BUDGET,
        timed: true,
    };
    let end = loaded.launch(&launch);
    if let Some(fault) = end.fault {
        return Err(fault.to_string());
    }
    Ok(Outcome::Memory(placed.take(device.memory()).map_err(|error| error.to_string())?))
}
