//! `warploom run k.cubin`: machine code of sm_90 on the machine for SASS.
//!
//! Arguments, buffers and what is done with them are the same; a cubin tells how many bytes a parameter has, and not its type, so a
//! number without one is an integer. What only the machine for PTX knows is refused.

use super::request::{Extents, block, choose_of};
use super::{Arguments, Engine, Wanted, binding, outcome};
use crate::failure::{Exit, Failure};
use crate::terminal::{self, count, thousands};
use machine::output::Output;
use machine::{Asynchrony, ParameterLayout, SchedulerKind};
use ptx::types::ScalarType;
use sass_machine::{Broken, Fault, FaultKind, Launch, Loaded, Program};
use serde_json::{Value, json};
use std::time::Instant;

/// Options that are given and mean nothing here.
fn not_of_sass(arguments: &Arguments) -> Option<&'static str> {
    let given = [
        ("--stats", arguments.stats),
        ("--trace", arguments.trace.is_some()),
        ("--threads", arguments.threads.is_some()),
        ("--repeat", arguments.repeat != 1),
        ("--strict", arguments.strict),
        ("--emit", arguments.emit.is_some()),
        ("--cluster", arguments.request.cluster.is_some()),
        ("--scheduler", arguments.request.scheduler != SchedulerKind::default()),
        ("--async", arguments.asynchrony != Asynchrony::default()),
        ("--engine cuda", arguments.engine == Engine::Cuda),
        ("--engine jit", arguments.engine == Engine::Jit),
        ("a check that is not `hazards`", matches!(arguments.check, Some(Wanted::Concurrency(_)))),
    ];
    given.into_iter().find_map(|(option, given)| given.then_some(option))
}

pub(super) fn execute(arguments: &Arguments, cubin: &[u8]) -> Result<Exit, Failure> {
    let request = &arguments.request;
    let name = request.file.display().to_string();
    if let Some(option) = not_of_sass(arguments) {
        return Err(Failure::usage(format!("{name} is a cubin, and {option} is for PTX")));
    }
    let program = read(&name, cubin, arguments.own_code)?;
    let arch = program.arch();
    if u32::from(request.device.sm) != arch.number() {
        return Err(Failure::usage(format!("{} is no device of {arch}", request.device.name)));
    }
    let kernels: Vec<_> = program.kernels().collect();
    if kernels.is_empty() {
        return Err(Failure::usage(format!("{name} has no kernel")));
    }
    let kernel = kernels[choose_of(&kernels, request.kernel.as_deref(), &name)?];
    let block = block(request, None)?;
    let device = request.make_device(Output::default())?;
    let loaded = Loaded::new(&program, device.memory())
        .map_err(|why| Failure::new(Exit::Unsupported, format!("{name}: {why}")))?;
    executable(&loaded, kernel)?;
    let binding = binding::bind(kernel, &layout(&program, kernel), &request.arguments, device.memory())?;
    binding::upload(&binding.buffers, device.memory(), true)?;
    let launch = Launch {
        kernel,
        grid: request.grid.0,
        block,
        cluster: 1,
        dynamic_shared: request.shared,
        params: &binding.params,
        budget: request.max_instructions.unwrap_or(u64::MAX),
        timed: arguments.check.is_some(),
    };
    let begun = Instant::now();
    let ended = loaded.launch(&launch);
    let elapsed = begun.elapsed();
    if let Some(Fault { kind: kind @ (FaultKind::Block(_) | FaultKind::Shared(_)), .. }) = &ended.fault {
        return Err(Failure::usage(kind.to_string()));
    }
    let mut report = arguments.json.then(Vec::new);
    let mut exit = match &ended.fault {
        None => outcome::deliver(&binding.buffers, device.memory(), report.as_mut())?,
        Some(fault) => exit_of(&fault.kind),
    };
    if !ended.hazards.is_empty() {
        exit = exit.max(Exit::Findings);
    }
    let text = |address| program.instruction(kernel, address).unwrap_or_default();
    if let Some(outputs) = report {
        terminal::json(&json!({
            "file": name,
            "kernel": kernel,
            "grid": launch.grid,
            "block": launch.block,
            "dynamic_shared": launch.dynamic_shared,
            "warp_instructions": ended.instructions,
            "time_ns": u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            "outputs": outputs,
            "hazards": arguments.check.map(|_| ended.hazards.iter().map(|broken| hazard_json(broken, text)).collect::<Vec<_>>()),
            "error": ended.fault.as_ref().map_or(Value::Null, |fault| fault_json(fault, text)),
            "exit": exit as u8,
        }))?;
        return Ok(exit);
    }
    for broken in &ended.hazards {
        terminal::note(&hazard_text(broken, text));
    }
    if arguments.check.is_some() {
        terminal::note(&match ended.hazards.len() {
            0 if ended.fault.is_some() => "no hazard was met before the kernel was stopped".to_owned(),
            0 => "no hazard was met".to_owned(),
            met => format!("{} met", count(met, "hazard")),
        });
    }
    match &ended.fault {
        Some(fault) => terminal::note(&fault_text(fault, text)),
        None => terminal::note(&format!(
            "{kernel}, grid {}, block {}, machine code of {}: {} warp instructions in {elapsed:?}",
            Extents(launch.grid),
            Extents(launch.block),
            program.arch(),
            thousands(ended.instructions),
        )),
    }
    Ok(exit)
}

/// A cubin's program.
pub(crate) fn read(name: &str, cubin: &[u8], own_code: bool) -> Result<Program, Failure> {
    Program::read(cubin, own_code).map_err(|why| {
        let failure = Failure::new(Exit::Unsupported, format!("{name}: {why}"));
        match why {
            sass_machine::Refused::Foreign(_) => failure.hint("if it is your own code, say --own-code"),
            _ => failure,
        }
    })
}

/// That a kernel has nothing that is not executed.
pub(crate) fn executable(loaded: &Loaded<'_>, kernel: &str) -> Result<(), Failure> {
    let missing = loaded.not_executed(kernel);
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join("\n  ");
    Err(Failure::new(Exit::Unsupported, format!("kernel {kernel} has what is not executed:\n  {list}")))
}

/// A kernel's parameters, as bits of their size; one that is no register's size is an array of bytes.
pub(crate) fn layout(program: &Program, kernel: &str) -> Vec<ParameterLayout> {
    let layout = program.parameters(kernel).iter().map(|parameter| ParameterLayout {
        name: format!("p{}", parameter.ordinal),
        ty: match parameter.size {
            2 => ScalarType::B16,
            4 => ScalarType::B32,
            8 => ScalarType::B64,
            _ => ScalarType::B8,
        },
        offset: u32::from(parameter.offset),
        size: u32::from(parameter.size),
    });
    layout.collect()
}

pub(crate) fn exit_of(kind: &FaultKind) -> Exit {
    match kind {
        FaultKind::NotExecuted(_) => Exit::Unsupported,
        FaultKind::Block(_)
        | FaultKind::Cluster(_)
        | FaultKind::Shared(_)
        | FaultKind::Address { .. }
        | FaultKind::Misaligned { .. }
        | FaultKind::Trap
        | FaultKind::Assert(_)
        | FaultKind::Object(_)
        | FaultKind::NoInstruction(_)
        | FaultKind::OutsideOfCode
        | FaultKind::Deadlock
        | FaultKind::Budget => Exit::Fault,
    }
}

pub(crate) fn fault_text(fault: &Fault, text: impl Fn(u64) -> String) -> String {
    format!(
        "error: {}\n  in kernel {}, block {}, warp {}\n  at {:#06x}: {}",
        fault.kind,
        fault.kernel,
        Extents(fault.block),
        fault.warp,
        fault.address,
        text(fault.address),
    )
}

fn fault_json(fault: &Fault, text: impl Fn(u64) -> String) -> Value {
    json!({
        "fault": fault.kind.to_string(),
        "address": fault.address,
        "instruction": text(fault.address),
        "block": fault.block,
        "warp": fault.warp,
    })
}

fn hazard_text(broken: &Broken, text: impl Fn(u64) -> String) -> String {
    format!(
        "hazard: {}\n  at {:#06x}: {}\n  of {:#06x}: {}\n  first in block {}\n",
        broken.message,
        broken.address,
        text(broken.address),
        broken.on,
        text(broken.on),
        Extents(broken.block),
    )
}

fn hazard_json(broken: &Broken, text: impl Fn(u64) -> String) -> Value {
    json!({
        "message": broken.message,
        "address": broken.address,
        "instruction": text(broken.address),
        "on": broken.on,
        "on_instruction": text(broken.on),
        "block": broken.block,
    })
}
