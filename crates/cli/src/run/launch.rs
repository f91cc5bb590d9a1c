//! Launching: observers, cancellation, repetition and what the launches together tell.

use super::binding::{self, Buffer};
use super::check;
use super::progress;
use super::request::Extents;
use super::{Arguments, Engine};
use crate::failure::{Exit, Failure};
use crate::terminal::thousands;
use jit::Choice;
use machine::observe::{Observer, Observers};
use machine::stats::{Report, Stats};
use machine::trace::Trace;
use machine::{Device, Launch, LaunchError, LaunchOptions, LaunchReport, LoadedModule, Masks, SchedulerKind};
use reports::statistics;
use sanitizer::Seen;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What became of the launches.
pub(crate) struct Launched {
    /// The last launch.
    pub(crate) result: Result<LaunchReport, LaunchError>,
    /// The times of all launches that ended well, sorted.
    times: Vec<Duration>,
    pub(crate) statistics: Option<Report>,
    /// Whether the engine compiles the kernel, where statistics have kept it from running the code.
    pub(crate) compiles: Option<Result<(), String>>,
    pub(crate) trace_error: Option<io::Error>,
    /// What the checks have found, if there were any.
    pub(crate) reports: Option<Vec<sanitizer::Report>>,
}

/// Warp instructions that a launch may issue under another schedule than the one asked for, unless the command line says.
const MOST_UNDER_OTHERS: u64 = 50_000_000;

/// Set by Ctrl-C.
static CANCEL: AtomicBool = AtomicBool::new(false);

/// Whether lanes that member masks leave out are a fault.
fn exact_masks(arguments: &Arguments) -> bool {
    arguments.strict || arguments.checks().is_some_and(|checks| checks.sync)
}

/// Launches a kernel as often as the command line says.
pub(crate) fn run(
    arguments: &Arguments,
    device: &Device,
    loaded: &LoadedModule,
    launch: &Launch<'_>,
    buffers: &[Buffer],
) -> Result<Launched, Failure> {
    let module = loaded.module();
    let stats = arguments.stats.then(|| Stats::new(module));
    let trace = match &arguments.trace {
        Some(path) => {
            let writer = trace_writer(path)
                .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
            Some(Trace::new(module, writer))
        }
        None => None,
    };
    let stats_observer = stats.iter().map(|stats| stats as &dyn Observer);
    let trace_observer = trace.iter().map(|trace| trace as &dyn Observer);
    let lasting: Vec<&dyn Observer> = stats_observer.chain(trace_observer).collect();
    let sanitizer = check::sanitizer(arguments)?;
    // The first Ctrl-C stops the kernel, a second one the command.
    let _ = ctrlc::set_handler(|| {
        if CANCEL.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Cancelled as i32);
        }
    });
    let total = launch.grid.iter().map(|&extent| u64::from(extent)).product();
    let choice = match arguments.engine {
        Engine::Jit => Choice::Compiled,
        Engine::Auto => Choice::Automatic,
        Engine::Interp | Engine::Cuda => Choice::Interpreter,
    };
    let engine = choice.engine().map_err(|why| Failure::new(Exit::Unsupported, why.to_string()))?;
    let mut times = Vec::new();
    let mut result = None;
    // Other schedules come first, so that memory is as the last round has left it.
    let others = sanitizer::other_schedules(arguments.schedules.unwrap_or(1)).map(Some);
    let rounds = others.chain((0..arguments.repeat).map(|_| None));
    for (round, other) in rounds.enumerate() {
        binding::upload(buffers, device.memory(), round == 0)?;
        let seen = other.map_or(Seen::InRun, |scheduler| Seen::Under(scheduler.to_string()));
        sanitizer.iter().for_each(|sanitizer| sanitizer.seeing(seen.clone()));
        let watch = sanitizer.as_ref().map(|sanitizer| {
            let cluster = launch.cluster.unwrap_or([1; 3]);
            let Launch { grid, block, .. } = *launch;
            let shape = sanitizer::Shape { kernel: launch.kernel.name(), grid, block, cluster };
            sanitizer.begin(loaded.shared_module(), shape)
        });
        let of_launch = watch.iter().map(|watch| watch as &dyn Observer);
        let own = lasting.iter().copied().filter(|_| other.is_none());
        let all = Observers(own.chain(of_launch).collect());
        let observer = match all.0[..] {
            [] => None,
            [only] => Some(only),
            _ => Some(&all as &dyn Observer),
        };
        // What lies between two accesses is told in their order only if there is one.
        let one = arguments.trace.is_some() || watch.is_some();
        let scheduler = other.unwrap_or(arguments.request.scheduler);
        // Schedules are those of one host thread, and who else watches is to be told of every instruction once.
        let spreads =
            all.0.len() == 1 && scheduler == SchedulerKind::default() && arguments.threads.is_none();
        progress::watch(total, ("CTAs", launch.kernel.name()), |progress| {
            let run = |observer: Option<&dyn Observer>, threads: usize| {
                let options = LaunchOptions {
                    threads,
                    scheduler,
                    asynchrony: arguments.asynchrony,
                    budget: arguments.request.max_instructions.or(other.map(|_| MOST_UNDER_OTHERS)),
                    observer,
                    masks: if exact_masks(arguments) { Masks::Exact } else { Masks::Converged },
                    grid_workspace: 0,
                    cancel: Some(&CANCEL),
                    progress,
                    engine: engine.as_deref(),
                    ..LaunchOptions::default()
                };
                device.launch(launch, &options)
            };
            result = Some(match &watch {
                Some(watch) if spreads => {
                    let threads = std::thread::available_parallelism().map_or(1, usize::from);
                    watch.run(device, threads, |observer, threads| run(Some(observer), threads))
                }
                _ => run(observer, arguments.threads.unwrap_or(usize::from(one))),
            });
        });
        drop(all);
        if let (Some(sanitizer), Some(watch)) = (&sanitizer, watch) {
            watch.end();
            if let Some(Err(LaunchError::Fault(fault))) = &result {
                sanitizer.fault(fault);
            }
        }
        match &result {
            _ if other.is_some() => {}
            Some(Ok(report)) => times.push(report.elapsed),
            _ => break,
        }
    }
    times.sort_unstable();
    // The option's range begins at 1.
    let result = result.ok_or_else(|| Failure::usage("nothing was launched"))?;
    let statistics = stats.as_ref().map(Stats::report);
    let trace_error = trace.and_then(|trace| trace.finish().err());
    let reports = sanitizer.map(|sanitizer| {
        sanitizer.finish();
        sanitizer.reports()
    });
    // `auto` compiles what runs for long, which a launch that is observed does not tell.
    let of_engine = engine.as_deref().filter(|_| arguments.stats && choice == Choice::Compiled);
    let compiles = of_engine.map(|engine| launch.kernel.compiles(engine, launch.block));
    Ok(Launched { result, times, statistics, compiles, trace_error, reports })
}

fn trace_writer(path: &Path) -> io::Result<Box<dyn io::Write + Send>> {
    Ok(match path == Path::new("-") {
        true => Box::new(BufWriter::new(io::stderr())),
        false => Box::new(BufWriter::new(File::create(path)?)),
    })
}

impl Launched {
    fn median(&self) -> Duration {
        self.times.get(self.times.len() / 2).copied().unwrap_or_default()
    }

    /// One line about a launch that ended well.
    pub(crate) fn summary(&self, launch: &Launch<'_>, arguments: &Arguments) -> String {
        let Ok(report) = &self.result else { return String::new() };
        let mut text = format!(
            "{}, grid {}, block {}, as {}: {} warp instructions in {:?} on {}",
            launch.kernel.name(),
            Extents(launch.grid),
            Extents(launch.block),
            arguments.request.device.name,
            thousands(report.warp_instructions),
            self.median(),
            crate::terminal::count(report.threads, "host thread"),
        );
        match &report.compiled {
            Some(Ok(())) => text += ", compiled",
            Some(Err(why)) if arguments.engine == Engine::Jit => text += &format!(", interpreted: {why}"),
            // Most kernels do not run for long enough to be worth compiling.
            Some(Err(_)) | None => {}
        }
        if let [least, .., most] = self.times[..] {
            text += &format!(" (median of {}, {least:?} to {most:?})", self.times.len());
        }
        text
    }

    /// The report, without what came of the buffers.
    pub(crate) fn json(&self, arguments: &Arguments, launch: &Launch<'_>, loaded: &LoadedModule) -> Value {
        let report = self.result.as_ref().ok();
        let nanoseconds = |time: &Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        json!({
            "file": arguments.request.file.to_string_lossy(),
            "kernel": launch.kernel.name(),
            "device": arguments.request.device.name,
            "grid": launch.grid,
            "block": launch.block,
            "cluster": launch.cluster,
            "dynamic_shared": launch.dynamic_shared,
            "scheduler": arguments.request.scheduler.to_string(),
            "async": arguments.asynchrony.to_string(),
            "threads": report.map(|r| r.threads),
            "warp_instructions": report.map(|r| r.warp_instructions),
            "time_ns": report.map(|_| nanoseconds(&self.median())),
            "times_ns": self.times.iter().map(nanoseconds).collect::<Vec<_>>(),
            "compiled": report.and_then(|r| r.compiled.as_ref()).map(Result::is_ok),
            "interpreted_because": report.and_then(|r| r.compiled.as_ref()?.as_ref().err()),
            "compiles": self.compiles.as_ref().map(Result::is_ok),
            "refused_because": self.compiles.as_ref().and_then(|compiles| compiles.as_ref().err()),
            "stats": self.statistics.as_ref().map(|stats| statistics::json(stats, loaded.module())),
        })
    }
}
