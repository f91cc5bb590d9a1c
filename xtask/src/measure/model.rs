//! The same in the model: probes and kernels beside what a GPU answered.

use super::placed::{KERNEL, Left, Placed, assemble};
use super::probe::{Probe, ROUNDS};
use super::set::{Case, Set, is_aside};
use super::{Family, cycles, validation};
use anyhow::{Context, Result};
use machine::output::Output;
use machine::{Device as Memory, DeviceOptions, Profile as Limits};
use sass_machine::{Launch, Loaded, Program};
use sim::{Device, Profile, Report, profiles, simulate};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Nsight Compute's names of what is compared.
const COMPARED: [&str; 13] = [
    "sm__cycles_elapsed.max",
    "smsp__inst_executed.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
];

/// All threads of the host.
fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn memory() -> Result<Arc<Memory>> {
    let options = DeviceOptions { output: Output::default(), ..DeviceOptions::default() };
    Ok(Memory::new(Limits::default(), options)?)
}

/// What a probe leaves in the model.
pub(crate) fn left(probe: &Probe, device: &Device) -> Result<Vec<Left>> {
    Ok(probed(probe, device)?.1)
}

/// A probe in the model: what it costs, and what it leaves.
fn probed(probe: &Probe, device: &Device) -> Result<(Report, Vec<Left>)> {
    let memory = memory()?;
    let program = Program::read(&assemble(probe)?, false)?;
    let loaded = Loaded::new(&program, memory.memory())?;
    let placed = Placed::new(memory.memory(), probe)?;
    let launch = Launch {
        kernel: KERNEL,
        grid: [probe.grid, 1, 1],
        block: [probe.block, 1, 1],
        cluster: probe.cluster,
        dynamic_shared: probe.shared,
        params: &placed.params,
        budget: u64::MAX,
        timed: false,
    };
    let report = simulate(&loaded, &launch, device, threads()).with_context(|| probe.name.clone())?;
    Ok((report, placed.left()?))
}

/// What a profiler counted in each probe, in their order, beside what the model counts.
pub(crate) fn counts(probes: &[Probe], profile: &str, device: &Device) -> Result<String> {
    let mut lines = String::from("probe,variable,grid,block,metric,gpu,model\n");
    for (probe, silicon) in probes.iter().zip(profiles(profile)) {
        let metrics = probed(probe, device)?.0.metrics(device);
        let Probe { name, variable, grid, block, .. } = probe;
        for metric in COMPARED {
            let model = metrics.iter().find(|it| it.name == metric).map(|it| it.value);
            if let (Some(gpu), Some(model)) = (silicon.metrics.get(metric), model) {
                writeln!(lines, "{name},{variable},{grid},{block},{metric},{gpu},{model}")?;
            }
        }
    }
    Ok(lines)
}

/// A line for each probe of a table of a GPU's: what its last warm round took there, and what it takes in the model.
pub(crate) fn probes(family: Family, probes: &[Probe], table: &str, device: &Device) -> Result<String> {
    // probe,variable,grid,block,count,launch,round,span,least,most: the last launch and round stays.
    let mut silicon = HashMap::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        if let [name, variable, grid, block, _, _, _, span, _, _] = cells[..] {
            silicon.insert(format!("{name},{variable},{grid},{block}"), span.parse::<i64>()?);
        }
    }
    let mut lines = String::from("probe,variable,grid,block,gpu,model,error_percent\n");
    for probe in probes {
        let key = format!("{},{},{},{}", probe.name, probe.variable, probe.grid, probe.block);
        let Some(&gpu) = silicon.get(&key) else { continue };
        match left(probe, device) {
            Ok(left) => {
                let model = i64::from(cycles(&left, ROUNDS - 1..=ROUNDS - 1).span);
                let error = 100.0 * (model - gpu) as f64 / gpu as f64;
                writeln!(lines, "{key},{gpu},{model},{error:.1}")?;
            }
            Err(error) => println!("{family:?} {key}: {error:#}"),
        }
    }
    Ok(lines)
}

/// A kernel of the validation in the model, on so many threads of the host: what it costs, and what its memory holds behind it.
pub(crate) fn report(
    case: &Case<'_>,
    cubin: &[u8],
    device: &Device,
    threads: NonZeroUsize,
) -> Result<(Report, Vec<u8>)> {
    let memory = memory()?;
    let program = Program::read(cubin, false)?;
    let loaded = Loaded::new(&program, memory.memory())?;
    let given = case.give(memory.memory())?;
    let launch = Launch {
        kernel: case.entry,
        grid: case.grid,
        block: case.block,
        cluster: case.cluster.unwrap_or(1),
        dynamic_shared: case.shared,
        params: &given.params,
        budget: BUDGET,
        timed: false,
    };
    let report = simulate(&loaded, &launch, device, threads)?;
    Ok((report, given.left(memory.memory())?))
}

/// Warp instructions of a launch, at most.
const BUDGET: u64 = 200_000_000;

/// Which kernels of the validation are run.
pub(crate) struct Wanted<'w> {
    /// Only these, if there are any.
    pub(crate) names: &'w [String],
    /// Only those that are not kept aside, or only those that are.
    pub(crate) aside: Option<bool>,
}

/// The kernels of the validation, beside what Nsight Compute said of them: in the same order, in which some may be missing. Those that it
/// was given other `codes` of are not compared.
pub(crate) fn kernels(
    folder: &Path,
    profile: &str,
    codes: &str,
    device: &Device,
    wanted: &Wanted<'_>,
) -> Result<String> {
    let silicon = profiles(profile);
    let made = validation::codes(folder)?;
    let stale = validation::of_other_code(codes, &made);
    let mut from = 0;
    let mut lines = String::from("kernel,n,aside,metric,gpu,model,error_percent\n");
    let set = Set::read()?;
    for case in set.cases()? {
        let (name, n, aside) = (case.name, case.n, is_aside(case.name));
        let shape = (Some(case.grid), Some(case.block));
        let same = |it: &Profile| it.kernel == case.entry && (it.grid, it.block) == shape;
        let found = silicon[from..].iter().position(same).map(|at| from + at);
        let Some(found) = found else {
            writeln!(lines, "{name},{n},{aside},not measured,,,")?;
            continue;
        };
        from = found + 1;
        let named = wanted.names.is_empty() || wanted.names.iter().any(|it| it == name);
        if !named || wanted.aside.is_some_and(|wanted| wanted != aside) {
            continue;
        }
        if stale.contains(name) {
            println!("{name} {n}: other code was measured");
            writeln!(lines, "{name},{n},{aside},other code,,,")?;
            continue;
        }
        let begun = Instant::now();
        let cubin = fs::read(folder.join(name).with_extension("cubin"));
        let report =
            match cubin.map_err(Into::into).and_then(|cubin| report(&case, &cubin, device, threads())) {
                Ok((report, _)) => report,
                Err(error) => {
                    println!("{name} {n}: {error:#}");
                    writeln!(lines, "{name},{n},{aside},not modelled,,,")?;
                    continue;
                }
            };
        let speed = report.counters.instructions as f64 / begun.elapsed().as_secs_f64();
        let metrics: HashMap<String, f64> =
            report.metrics(device).into_iter().map(|metric| (metric.name, metric.value)).collect();
        let mut error = 0.0;
        for metric in COMPARED {
            let (Some(&gpu), Some(&model)) = (silicon[found].metrics.get(metric), metrics.get(metric)) else {
                continue;
            };
            let percent = if gpu == model { 0.0 } else { 100.0 * (model - gpu) / gpu };
            if metric == COMPARED[0] {
                error = percent;
            }
            writeln!(lines, "{name},{n},{aside},{metric},{gpu},{model},{percent:.1}")?;
        }
        println!(
            "{name} {n}: {} cycles, {error:+.1} %; {speed:.0} warp instructions a second",
            report.cycles
        );
    }
    Ok(lines)
}
