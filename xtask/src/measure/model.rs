//! The same in the model: probes and kernels beside what a GPU answered.

use super::placed::{KERNEL, Left, Placed, assemble};
use super::probe::{Probe, ROUNDS};
use super::validation::{Case, cases};
use super::{Family, cycles};
use crate::bench_peers::inputs::Input;
use anyhow::{Context, Result};
use machine::output::Output;
use machine::{Device as Memory, DeviceOptions, Profile};
use sass_machine::{Launch, Loaded, Program};
use sim::{Device, Report, profiles, simulate};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Nsight Compute's names of what is compared.
const COMPARED: [&str; 7] = [
    "sm__cycles_elapsed.max",
    "smsp__inst_executed.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "dram__sectors_read.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
];

/// All threads of the host.
fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn memory() -> Result<Arc<Memory>> {
    let options = DeviceOptions { output: Output::default(), ..DeviceOptions::default() };
    Ok(Memory::new(Profile::default(), options)?)
}

/// What a probe leaves in the model.
pub(crate) fn left(probe: &Probe, device: &Device) -> Result<Vec<Left>> {
    let memory = memory()?;
    let program = Program::read(&assemble(probe)?, false)?;
    let loaded = Loaded::new(&program, memory.memory())?;
    let placed = Placed::new(memory.memory(), probe)?;
    let launch = Launch {
        kernel: KERNEL,
        grid: [probe.grid, 1, 1],
        block: [probe.block, 1, 1],
        dynamic_shared: probe.shared,
        params: &placed.params,
        budget: u64::MAX,
        timed: false,
    };
    simulate(&loaded, &launch, device, threads()).with_context(|| probe.name.clone())?;
    placed.left()
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

/// A kernel of the validation in the model.
fn report(
    case: &Case,
    folder: &Path,
    inputs: &mut HashMap<Input, Vec<u8>>,
    device: &Device,
) -> Result<Report> {
    let Case { kernel, n } = *case;
    let memory = memory()?;
    let program = Program::read(&fs::read(folder.join(kernel.name).with_extension("cubin"))?, false)?;
    let loaded = Loaded::new(&program, memory.memory())?;
    let bytes = inputs.entry(kernel.input).or_insert_with(|| kernel.input.bytes());
    let input = memory.memory().allocate(bytes.len() as u64)?;
    memory.memory().write(input, bytes)?;
    let out = memory.memory().allocate(kernel.bytes(n) as u64)?;
    let params = kernel.params(input, out, n);
    let [grid, block] = case.shape();
    let launch = Launch {
        kernel: kernel.name,
        grid,
        block,
        dynamic_shared: 0,
        params: &params,
        budget: u64::MAX,
        timed: false,
    };
    Ok(simulate(&loaded, &launch, device, threads())?)
}

/// All kernels of the validation, beside what Nsight Compute said of them in the same order.
pub(crate) fn kernels(folder: &Path, profile: &str, device: &Device, only: &[String]) -> Result<String> {
    let silicon = profiles(profile);
    let mut inputs = HashMap::new();
    let mut lines = String::from("kernel,n,metric,gpu,model,error_percent\n");
    for (case, gpu) in cases().zip(&silicon) {
        if !only.is_empty() && !only.iter().any(|name| name == case.kernel.name) {
            continue;
        }
        let begun = Instant::now();
        let name = case.kernel.name;
        let report = match report(&case, folder, &mut inputs, device) {
            Ok(report) => report,
            Err(error) => {
                println!("{name} {}: {error:#}", case.n);
                continue;
            }
        };
        let speed = report.counters.instructions as f64 / begun.elapsed().as_secs_f64();
        let metrics: HashMap<String, f64> =
            report.metrics(device).into_iter().map(|metric| (metric.name, metric.value)).collect();
        let mut error = 0.0;
        for metric in COMPARED {
            let (Some(&gpu), Some(&model)) = (gpu.metrics.get(metric), metrics.get(metric)) else { continue };
            let percent = if gpu == model { 0.0 } else { 100.0 * (model - gpu) / gpu };
            if metric == COMPARED[0] {
                error = percent;
            }
            writeln!(lines, "{name},{},{metric},{gpu},{model},{percent:.1}", case.n)?;
        }
        println!(
            "{name} {}: {} cycles, {error:+.1} %; {speed:.0} warp instructions a second",
            case.n, report.cycles
        );
    }
    Ok(lines)
}
