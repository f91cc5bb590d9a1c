//! `warploom run --engine cuda`: the same launch on this machine's NVIDIA GPU.
//!
//! Arguments, buffers and what is done with them are the same. What only the machine knows is refused: schedulers,
//! budgets, traces and statistics. What the kernel prints goes to standard output, as the driver has it.

use super::request::{Extents, block, choose};
use super::{Arguments, binding, outcome};
use crate::failure::{Exit, Failure};
use crate::terminal;
use machine::{Asynchrony, SchedulerKind};
use ptx::module::{Checked, Module};
use ptx::source::Source;
use real_gpu::{Gpu, Launch};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Options that are given and mean nothing to a GPU.
fn not_of_a_gpu(arguments: &Arguments) -> Option<&'static str> {
    let given = [
        ("--stats", arguments.stats),
        ("--trace", arguments.trace.is_some()),
        ("--threads", arguments.threads.is_some()),
        ("--max-instructions", arguments.request.max_instructions.is_some()),
        ("--scheduler", arguments.request.scheduler != SchedulerKind::default()),
        ("--async", arguments.asynchrony != Asynchrony::default()),
    ];
    given.into_iter().find_map(|(option, given)| given.then_some(option))
}

pub(super) fn execute(
    arguments: &Arguments,
    source: &Source,
    module: &Checked<Module>,
) -> Result<Exit, Failure> {
    if let Some(option) = not_of_a_gpu(arguments) {
        return Err(Failure::usage(format!("{option} is an option of the machine, not of --engine cuda")));
    }
    let function = choose(module, arguments.request.kernel.as_deref(), source)?;
    let block = block(&arguments.request, function.bounds.req_ntid)?;
    let gpu = Gpu::open().map_err(|error| Failure::new(Exit::Unsupported, error.to_string()))?;
    let loaded = gpu
        .load(source.text().as_bytes())
        .map_err(|error| Failure::new(Exit::Unsupported, format!("{}: {error}", source.name())))?;
    let (id, _) = module
        .entries()
        .find(|(_, entry)| entry.name == function.name)
        .ok_or_else(|| Failure::usage("the kernel is gone"))?;
    let parameters = machine::parameter_layout(module, id);
    let binding = binding::bind(&function.name, &parameters, &arguments.request.arguments, &gpu)?;
    let launch = Launch {
        kernel: &function.name,
        grid: arguments.request.grid.0,
        block,
        cluster: arguments.request.cluster.map(|extents| extents.0),
        cooperative: false,
        dynamic_shared: arguments.request.shared,
        params: &binding.params,
    };
    let mut times = Vec::new();
    let mut stopped = None;
    for _ in 0..arguments.repeat {
        binding::upload(&binding.buffers, &gpu, false)?;
        let started = Instant::now();
        match loaded.launch(&launch) {
            Ok(()) => times.push(started.elapsed()),
            Err(error) => {
                stopped = Some(error);
                break;
            }
        }
    }
    times.sort_unstable();
    let mut report = arguments.json.then(Vec::new);
    let exit = match &stopped {
        None => outcome::deliver(&binding.buffers, &gpu, report.as_mut())?,
        Some(error) if error.is_fault() => Exit::Fault,
        Some(_) => Exit::Usage,
    };
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    if let Some(outputs) = report {
        let nanoseconds = |time: &Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let value = json!({
            "file": arguments.request.file.to_string_lossy(),
            "kernel": launch.kernel,
            "device": gpu.name(),
            "grid": launch.grid,
            "block": launch.block,
            "dynamic_shared": launch.dynamic_shared,
            "time_ns": times.first().map(|_| nanoseconds(&median)),
            "times_ns": times.iter().map(nanoseconds).collect::<Vec<_>>(),
            "outputs": outputs,
            "error": stopped.map_or(Value::Null, |error| error.to_string().into()),
            "exit": exit as u8,
        });
        terminal::json(&value)?;
    } else if let Some(error) = stopped {
        Failure::new(exit, format!("kernel {}: {error}", launch.kernel)).report();
    } else {
        terminal::note(&format!(
            "{}, grid {}, block {}, on {}: {median:?} with launch and wait",
            launch.kernel,
            Extents(launch.grid),
            Extents(launch.block),
            gpu.name(),
        ));
    }
    Ok(exit)
}
