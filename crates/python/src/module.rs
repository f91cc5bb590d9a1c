//! Modules on a virtual GPU, and launches of their kernels.

use crate::arguments::Arguments;
use crate::text::told;
use crate::value::object;
use jit::Choice;
use machine::observe::{Observer, Observers};
use machine::output::Output;
use machine::profile::PROFILES;
use machine::stats::Stats;
use machine::trace::Trace;
use machine::{Device, DeviceOptions, Launch, LaunchError, LaunchOptions, LaunchReport, Masks, Profile};
use ptx::source::Source;
use pyo3::exceptions::{PyKeyError, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use reports::{fault, statistics};
use sanitizer::{Sanitizer, Suppressions};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often Python is asked whether it goes on, and told how far a launch is.
const BEAT: Duration = Duration::from_millis(50);

/// The names of the devices that there are.
#[pyfunction]
pub(crate) fn devices() -> Vec<&'static str> {
    PROFILES.iter().map(|profile| profile.name).collect()
}

/// The file of the LLVM that compiles kernels, or why there is none.
#[pyfunction]
pub(crate) fn compiler() -> (Option<String>, Option<String>) {
    match jit::Jit::find() {
        Ok(jit) => (Some(jit.compiler()), None),
        Err(why) => (None, Some(why.to_string())),
    }
}

/// Bytes that kernels write: what they print, or a trace.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

/// A module on a device of its own.
#[pyclass(frozen)]
pub(crate) struct Module {
    source: Arc<Source>,
    device: Arc<Device>,
    loaded: machine::LoadedModule,
    printed: Written,
    /// Launches take turns: what a kernel prints goes to one place.
    turn: Mutex<()>,
}

/// What is asked of a launch.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Request {
    grid: [u32; 3],
    block: [u32; 3],
    cluster: Option<[u32; 3]>,
    shared: u32,
    engine: String,
    threads: Option<usize>,
    scheduler: String,
    asynchrony: String,
    strict: bool,
    stats: bool,
    trace: bool,
    check: Option<String>,
    max_instructions: Option<u64>,
}

#[pymethods]
impl Module {
    /// Checks a text and loads it: the module or none, and diagnostics.
    #[staticmethod]
    fn load<'py>(
        py: Python<'py>,
        text: &str,
        name: &str,
        device: &str,
    ) -> PyResult<(Option<Self>, Bound<'py, PyAny>)> {
        let profile = Profile::by_name(device).ok_or_else(|| {
            PyValueError::new_err(format!("there is no device `{device}`, but {}", devices().join(", ")))
        })?;
        let source = Source::new(name, text);
        let (module, found) = match py.detach(|| ptx::compile(&source)).into_result() {
            Ok((module, warnings)) => (module, warnings),
            Err(found) => return Ok((None, object(py, &told(&source, &found))?)),
        };
        let printed = Written::default();
        let options = DeviceOptions { output: Output::new(printed.clone()), ..DeviceOptions::default() };
        let device = Device::new(profile.clone(), options)
            .map_err(|error| PyMemoryError::new_err(error.to_string()))?;
        let loaded = device.load(module).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let warnings = object(py, &told(&source, &found))?;
        Ok((Some(Self { source, device, loaded, printed, turn: Mutex::default() }), warnings))
    }

    /// The names of its kernels.
    fn kernels(&self) -> Vec<&str> {
        self.loaded.module().entries().map(|(_, function)| function.name.as_str()).collect()
    }

    /// A kernel's parameters, and the block that it requires.
    fn kernel<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let kernel = self.find(name)?;
        let parameters: Vec<Value> = kernel
            .parameters()
            .iter()
            .map(|p| json!({ "name": p.name, "type": p.ty.to_string(), "offset": p.offset, "size": p.size }))
            .collect();
        let told = json!({ "parameters": parameters, "block": kernel.function().bounds.req_ntid });
        object(py, &told)
    }

    /// Launches a kernel, and tells what came of it.
    fn launch<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        arguments: Vec<Bound<'py, PyAny>>,
        request: Request,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let turn = self.turn.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let kernel = self.find(name)?;
        let memory = self.device.memory();
        let bound = Arguments::read(name, &kernel.parameters(), &arguments, memory);
        let bound = bound?;
        let told = self.run(py, kernel, &bound, &request, progress.as_ref());
        let told = told.and_then(|told| {
            if told["error"].is_null() {
                bound.back(memory)?;
            }
            object(py, &told)
        });
        bound.free(memory);
        drop(turn);
        told
    }
}

impl Module {
    fn find(&self, name: &str) -> PyResult<machine::Kernel<'_>> {
        let missing =
            || PyKeyError::new_err(format!("there is no kernel `{name}`, but {}", self.kernels().join(", ")));
        self.loaded.kernel(name).ok_or_else(missing)
    }

    fn run(
        &self,
        py: Python<'_>,
        kernel: machine::Kernel<'_>,
        arguments: &Arguments,
        request: &Request,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Value> {
        let wrong = |message: String| PyValueError::new_err(message);
        let choice: Choice = request.engine.parse().map_err(wrong)?;
        let scheduler = request.scheduler.parse().map_err(wrong)?;
        let asynchrony = request.asynchrony.parse::<machine::Asynchrony>().map_err(wrong)?;
        if asynchrony != machine::Asynchrony::Eager && request.check.is_some() {
            return Err(wrong(
                "`check` watches asynchronous operations where they are issued: `asynchrony` must be eager"
                    .to_owned(),
            ));
        }
        let checks =
            request.check.as_deref().map(str::parse::<sanitizer::Checks>).transpose().map_err(wrong)?;
        let engine = choice.engine().map_err(|why| PyRuntimeError::new_err(why.to_string()))?;
        let launch = Launch {
            kernel,
            grid: request.grid,
            block: request.block,
            cluster: request.cluster,
            nonportable_cluster: false,
            dynamic_shared: request.shared,
            params: arguments.parameters.clone(),
        };
        let module = self.loaded.module();
        let stats = request.stats.then(|| Stats::new(module));
        let lines = Written::default();
        let trace = request.trace.then(|| Trace::new(module, lines.clone()));
        let sanitizer = checks.map(|checks| Sanitizer::new(checks, Suppressions::default()).in_background());
        let watch = sanitizer.as_ref().map(|sanitizer| {
            let (grid, block) = (request.grid, request.block);
            let cluster = request.cluster.unwrap_or([1; 3]);
            let shape = sanitizer::Shape { kernel: kernel.name(), grid, block, cluster };
            sanitizer.begin(self.loaded.shared_module(), shape)
        });
        let of_stats = stats.iter().map(|stats| stats as &dyn Observer);
        let of_trace = trace.iter().map(|trace| trace as &dyn Observer);
        let of_watch = watch.iter().map(|watch| watch as &dyn Observer);
        let observers = Observers(of_stats.chain(of_trace).chain(of_watch).collect());
        let one = request.trace || request.check.is_some();
        let (cancel, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let count = |ctas: u64| {
            done.fetch_max(ctas, Relaxed);
        };
        let options = LaunchOptions {
            threads: if one { 1 } else { request.threads.unwrap_or(0) },
            scheduler,
            asynchrony,
            budget: request.max_instructions,
            observer: (!observers.0.is_empty()).then_some(&observers as &dyn Observer),
            masks: if request.strict || checks.is_some_and(|checks| checks.sync) {
                Masks::Exact
            } else {
                Masks::Converged
            },
            cancel: Some(&cancel),
            progress: Some(&count),
            engine: engine.as_deref(),
            ..LaunchOptions::default()
        };
        let total: u64 = request.grid.iter().map(|&extent| u64::from(extent)).product();
        let result = interruptible(
            py,
            &cancel,
            || self.device.launch(&launch, &options),
            || progress.map_or(Ok(()), |progress| progress.call1((done.load(Relaxed), total)).map(drop)),
        )?;
        drop(observers);
        if let (Some(sanitizer), Some(watch)) = (&sanitizer, watch) {
            watch.end();
            if let Err(LaunchError::Fault(fault)) = &result {
                sanitizer.fault(fault);
            }
            sanitizer.finish();
        }
        let trace = trace.map(|trace| trace.finish().map(|_| lines.take())).transpose();
        let mut told = told_of(&result, &self.source);
        told["kernel"] = kernel.name().into();
        told["grid"] = request.grid.to_vec().into();
        told["block"] = request.block.to_vec().into();
        told["printed"] = self.printed.take().into();
        told["stats"] = stats.map_or(Value::Null, |stats| statistics::json(&stats.report(), module));
        told["trace"] = trace.map_err(|error| PyRuntimeError::new_err(error.to_string()))?.into();
        told["reports"] = sanitizer.map_or(Value::Null, |sanitizer| {
            let of = |report: &sanitizer::Report| {
                let mut value = report.json();
                value["text"] = report.text().into();
                value
            };
            sanitizer.reports().iter().map(of).collect::<Vec<_>>().into()
        });
        Ok(told)
    }
}

/// Runs work on another thread, without the interpreter's lock, and asks Python from time to time whether to go on.
fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: &AtomicBool,
    work: impl FnOnce() -> T + Send,
    mut beat: impl FnMut() -> PyResult<()>,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (sender, over) = mpsc::channel();
        scope.spawn(move || drop(sender.send(work())));
        let mut stopped = Ok(());
        let over = Mutex::new(over);
        loop {
            let waited = py.detach(|| over.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(BEAT));
            match waited {
                Ok(result) => break stopped.map(|()| result),
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(PyRuntimeError::new_err("the launch ended without a result"));
                }
                Err(RecvTimeoutError::Timeout) if stopped.is_ok() => {
                    stopped = py.check_signals().and_then(|()| beat());
                    cancel.store(stopped.is_err(), Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    })
}

/// What came of a launch, or why nothing did, in `error`.
fn told_of(result: &Result<LaunchReport, LaunchError>, source: &Source) -> Value {
    match result {
        Ok(report) => json!({
            "error": null,
            "warp_instructions": report.warp_instructions,
            "seconds": report.elapsed.as_secs_f64(),
            "threads": report.threads,
            "compiled": report.compiled.as_ref().map(Result::is_ok),
            "interpreted_because": report.compiled.as_ref().and_then(|compiled| compiled.as_ref().err()),
            "misuses": report.misuses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        Err(LaunchError::Fault(stopped)) => {
            let mut error = fault::json(stopped, None);
            error["kind"] = "fault".into();
            error["text"] = fault::plain(source, stopped).into();
            json!({ "error": error })
        }
        Err(LaunchError::Unsupported(unsupported)) => {
            let mut error = fault::unsupported_json(unsupported);
            error["kind"] = "unsupported".into();
            error["message"] = format!("unsupported: {}", unsupported.what).into();
            json!({ "error": error })
        }
        Err(error @ (LaunchError::InvalidConfiguration(_) | LaunchError::OutOfResources(_))) => {
            json!({ "error": { "kind": "launch", "message": error.to_string() } })
        }
    }
}
