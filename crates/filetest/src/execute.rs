//! A case on the machine, or on a GPU.

use super::case::{Case, Parameter};
use super::directive::Program;
use super::place::{OnGpu, OnMachine, OnSass, Placed};
use super::schedule::Schedule;
use machine::compiled::Engine;
use machine::observe::Observer;
use machine::output::Output;
use machine::{Device, DeviceOptions, Launch, LaunchError, LaunchOptions, LoadedModule, Masks};
use ptx::diagnostic::Diagnostic;
use ptx::module::{Checked, Module};
use ptxas::{Options, Target};
use real_gpu::Gpu;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Bytes of global memory that a test may use.
const MEMORY: u64 = 256 << 20;

/// Machine instructions that one of PTX becomes on the average, at most, for a budget that counts PTX's.
const INSTRUCTIONS_FOR_ONE: u64 = 4;

/// What came out of a run.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What device code printed, if the engine tells.
    pub printed: Option<Vec<u8>>,
    /// What memory holds, in the order of [`Case::expected`]; nothing if it never ran.
    pub memory: Vec<Vec<u8>>,
}

/// How a run ended.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum End {
    Finished,
    Fault(Box<machine::Fault>),
    Unsupported(String),
    Refused(String),
    NotLoaded(String),
    /// A GPU's driver stopped or refused it; what it says is less than what the machine does.
    Stopped(String),
}

#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<u8>>>);

impl Capture {
    fn text(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Write for Capture {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend_from_slice(text);
        Ok(text.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// `line:column: message` of a diagnostic.
fn show(program: &Program, diagnostic: &Diagnostic) -> String {
    let (line, column) = program.source.line_column(diagnostic.span.start);
    format!("{}:{line}:{column}: {}: {}", program.source.name(), diagnostic.code, diagnostic.message)
}

fn compile(program: &Program) -> Result<Checked<Module>, String> {
    let compiled = ptx::compile(&program.source).into_result();
    let lines = |diagnostics: Vec<Diagnostic>| {
        diagnostics.iter().map(|d| show(program, d)).collect::<Vec<_>>().join("\n")
    };
    compiled.map(|(module, _)| module).map_err(lines)
}

/// Whether a program has operations that may be done later than they are issued. One that does not compile has none.
pub fn is_asynchronous(program: &Program) -> bool {
    let is = |opcode: &ptx::isa::Opcode| opcode.sem().is_some_and(|sem| sem.effects().asynchronous.is_some());
    compile(program).is_ok_and(|module| module.opcodes.iter().any(is))
}

/// Runs a case once on the machine.
///
/// # Errors
/// If the file is wrong: PTX that does not compile, a kernel or variable that it does not have, parameters that do not
/// fit. What the machine refuses is an [`Outcome`].
pub fn run(program: &Program, case: &Case, schedule: Schedule) -> Result<Outcome, String> {
    run_watched(program, case, schedule, &mut |_, run| run(None))
}

/// As [`run`], by code of an engine where it compiles the kernel.
///
/// # Errors
/// As [`run`].
pub fn run_by(
    engine: &dyn Engine,
    program: &Program,
    case: &Case,
    schedule: Schedule,
) -> Result<Outcome, String> {
    run_with(program, case, schedule, Some(engine), &mut |_, run| run(None))
}

/// Launches with an observer; the fault, if it ends with one.
pub type Run<'a> = dyn FnMut(Option<&dyn Observer>) -> Option<Box<machine::Fault>> + 'a;

/// Runs a launch in its own way.
pub type Watched<'a> = dyn FnMut(&Launch<'_>, &mut Run<'_>) -> Option<Box<machine::Fault>> + 'a;

/// As [`run`]; `watch` is to run the launch that it is given, with an observer of its choice.
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    program: &Program,
    case: &Case,
    schedule: Schedule,
    watch: &mut Watched<'_>,
) -> Result<Outcome, String> {
    run_with(program, case, schedule, None, watch)
}

fn run_with(
    program: &Program,
    case: &Case,
    schedule: Schedule,
    engine: Option<&dyn Engine>,
    watch: &mut Watched<'_>,
) -> Result<Outcome, String> {
    let at = |why: String| format!("{}:{}: {why}", program.name, case.line);
    let module = compile(program)?;
    let capture = Capture::default();
    let options = DeviceOptions {
        memory_limit: Some(MEMORY),
        output: Output::new(capture.clone()),
        ..DeviceOptions::default()
    };
    let device = Device::new(case.profile.clone(), options).map_err(|error| at(error.to_string()))?;
    let loaded = match device.load(module) {
        Ok(loaded) => loaded,
        Err(error) => {
            return Ok(Outcome { end: End::NotLoaded(error.to_string()), printed: None, memory: Vec::new() });
        }
    };
    let by = By { schedule, engine };
    launch(&device, &loaded, case, by, &capture, watch).map_err(at)
}

/// What runs a case, and how.
#[derive(Clone, Copy)]
struct By<'a> {
    schedule: Schedule,
    engine: Option<&'a dyn Engine>,
}

fn launch(
    device: &Device,
    loaded: &LoadedModule,
    case: &Case,
    By { schedule, engine: compiler }: By<'_>,
    capture: &Capture,
    watch: &mut Watched<'_>,
) -> Result<Outcome, String> {
    let engine = OnMachine { device, loaded };
    let kernel = loaded.kernel(&case.kernel).ok_or_else(|| format!("no kernel {}", case.kernel))?;
    let placed = Placed::new(case, &kernel.parameters(), &engine)?;
    let launch = Launch {
        kernel,
        grid: case.grid,
        block: case.block,
        cluster: case.cluster,
        nonportable_cluster: case.nonportable_cluster,
        dynamic_shared: case.shared,
        params: placed.params.clone(),
    };
    let mut end = End::Finished;
    watch(&launch, &mut |observer| {
        let options = LaunchOptions {
            threads: schedule.threads,
            scheduler: schedule.scheduler,
            budget: Some(case.budget),
            observer,
            engine: compiler,
            debug: schedule.debug,
            asynchrony: schedule.asynchrony,
            // Who watches wants to be told.
            masks: if observer.is_some() { Masks::Exact } else { Masks::Converged },
            ..LaunchOptions::default()
        };
        end = match device.launch(&launch, &options) {
            Ok(_) => End::Finished,
            Err(LaunchError::Fault(fault)) => End::Fault(fault),
            Err(LaunchError::Unsupported(unsupported)) => End::Unsupported(unsupported.to_string()),
            Err(error @ (LaunchError::InvalidConfiguration(_) | LaunchError::OutOfResources(_))) => {
                End::Refused(error.to_string())
            }
        };
        match &end {
            End::Fault(fault) => Some(fault.clone()),
            _ => None,
        }
    });
    Ok(Outcome { end, printed: Some(capture.text()), memory: placed.contents(case, &engine)? })
}

/// Runs a case once on a GPU.
///
/// # Errors
/// If the file is wrong, or there is no such kernel or variable. What the driver refuses is an [`Outcome`].
pub fn run_on_gpu(program: &Program, case: &Case, gpu: &Gpu) -> Result<Outcome, String> {
    let module = compile(program)?;
    loaded_on_gpu(program, case, gpu, &module, program.source.text().as_bytes())
}

/// Runs a case once on a GPU, by the cubin that our own `ptxas` makes of its kernel.
///
/// # Errors
/// If the file is wrong, or the kernel is not compiled.
pub fn run_cubin_on_gpu(
    program: &Program,
    case: &Case,
    options: Options,
    gpu: &Gpu,
) -> Result<Outcome, NotOnSass> {
    let module = compile(program).map_err(NotOnSass::Wrong)?;
    let cubin = assemble(program, case, options, &module)?;
    loaded_on_gpu(program, case, gpu, &module, &cubin).map_err(NotOnSass::Wrong)
}

/// What our `ptxas` makes of a case's kernel.
fn assemble(
    program: &Program,
    case: &Case,
    options: Options,
    module: &Checked<Module>,
) -> Result<Vec<u8>, NotOnSass> {
    let refused = |refused: Vec<Diagnostic>| {
        let first = refused.first().map_or_else(String::new, |diagnostic| show(program, diagnostic));
        NotOnSass::NotCompiled(first)
    };
    let wanted = |name: &str| name == case.kernel;
    let compiled = if options.target == Target::default() {
        ptxas::compile_entries(module, options, wanted)
    } else {
        let text = options.target.declared(program.source.text());
        let source = ptx::source::Source::new(program.name.as_str(), text);
        let module = ptx::compile(&source);
        let module = module
            .module
            .ok_or_else(|| NotOnSass::NotCompiled(format!("it is no PTX for {}", options.target)))?;
        ptxas::compile_entries(&module, options, wanted)
    };
    Ok(compiled.map_err(refused)?.cubin)
}

fn loaded_on_gpu(
    program: &Program,
    case: &Case,
    gpu: &Gpu,
    module: &Checked<Module>,
    image: &[u8],
) -> Result<Outcome, String> {
    let at = |why: String| format!("{}:{}: {why}", program.name, case.line);
    let stopped = |error: &real_gpu::Error| Outcome {
        end: End::Stopped(error.to_string()),
        printed: None,
        memory: Vec::new(),
    };
    let loaded = match gpu.load(image) {
        Ok(loaded) => loaded,
        Err(error) => return Ok(stopped(&error)),
    };
    let engine = OnGpu { gpu, loaded: &loaded };
    let kernel = module.entries().find(|(_, function)| function.name == case.kernel);
    let (kernel, _) = kernel.ok_or_else(|| at(format!("no kernel {}", case.kernel)))?;
    let layout = machine::parameter_layout(module, kernel);
    let placed = Placed::new(case, &layout, &engine).map_err(at)?;
    let launch = real_gpu::Launch {
        kernel: &case.kernel,
        grid: case.grid,
        block: case.block,
        cluster: case.cluster,
        cooperative: false,
        dynamic_shared: case.shared,
        params: &placed.params,
    };
    match loaded.launch(&launch) {
        Ok(()) => Ok(Outcome {
            end: End::Finished,
            printed: None,
            memory: placed.contents(case, &engine).map_err(at)?,
        }),
        Err(error) => Ok(stopped(&error)),
    }
}

/// Runs a case once as SASS: what our `ptxas` makes of its kernel, on the machine that executes that.
///
/// # Errors
/// If the file is wrong, or the cubin; if the kernel is not compiled, or has instructions that are not executed.
pub fn run_on_sass(
    program: &Program,
    case: &Case,
    options: Options,
    timed: bool,
) -> Result<Outcome, NotOnSass> {
    let at = |why: String| NotOnSass::Wrong(format!("{}:{}: {why}", program.name, case.line));
    let module = compile(program).map_err(NotOnSass::Wrong)?;
    let mut entries = module.entries().map(|(_, function)| function);
    let bounds = entries.find(|entry| entry.name == case.kernel).map(|entry| &entry.bounds);
    let asked = case.cluster.or_else(|| bounds.and_then(|bounds| bounds.req_nctapercluster));
    let [cluster, 1, 1] = asked.unwrap_or([1; 3]) else {
        return Err(NotOnSass::NotExecuted("clusters along several axes".to_owned()));
    };
    if case.cluster == Some([1; 3]) {
        return Err(NotOnSass::NotExecuted("a cluster of one CTA".to_owned()));
    }
    let made = |parameter: &Parameter| matches!(parameter, Parameter::Multicast { .. });
    if !case.bindings.is_empty() || case.parameters.iter().any(made) {
        return Err(NotOnSass::NotExecuted("variables of textures, and multicast objects".to_owned()));
    }
    let cubin = assemble(program, case, options, &module)?;
    let options = DeviceOptions { memory_limit: Some(MEMORY), ..DeviceOptions::default() };
    let device = Device::new(case.profile.clone(), options).map_err(|error| at(error.to_string()))?;
    let image = sass_machine::Program::read(&cubin, false).map_err(|error| at(error.to_string()))?;
    let capture = Capture::default();
    let loaded = sass_machine::Loaded::new(&image, device.memory()).map_err(|error| at(error.to_string()))?;
    let loaded = loaded.printing_to(Output::new(capture.clone()));
    if let Some(text) = loaded.not_executed(&case.kernel).into_iter().next() {
        return Err(NotOnSass::NotExecuted(text));
    }
    let engine = OnSass { device: &device, loaded: &loaded };
    let kernel = module.entries().find(|(_, function)| function.name == case.kernel);
    let (kernel, _) = kernel.ok_or_else(|| at(format!("no kernel {}", case.kernel)))?;
    let mut layout = machine::parameter_layout(&module, kernel);
    for (parameter, own) in layout.iter_mut().zip(image.parameters(&case.kernel)) {
        parameter.offset = own.offset.into();
    }
    let placed = Placed::new(case, &layout, &engine).map_err(at)?;
    // Those that have been made for the case.
    let textures = device.texture_unit();
    let loaded = loaded.with_textures(&textures);
    let engine = OnSass { device: &device, loaded: &loaded };
    let launch = sass_machine::Launch {
        kernel: &case.kernel,
        grid: case.grid,
        block: case.block,
        cluster,
        dynamic_shared: case.shared,
        params: &placed.params,
        budget: case.budget.saturating_mul(INSTRUCTIONS_FOR_ONE),
        timed,
    };
    let outcome = loaded.launch(&launch);
    if let Some(broken) = outcome.hazards.first() {
        return Err(at(format!("at {:#x}: {}", broken.address, broken.message)));
    }
    let end = match outcome.fault {
        None => End::Finished,
        Some(fault) => End::Stopped(fault.to_string()),
    };
    Ok(Outcome { end, printed: Some(capture.text()), memory: placed.contents(case, &engine).map_err(at)? })
}

/// Why a case did not run as SASS.
#[derive(Debug)]
pub enum NotOnSass {
    /// The compiler refuses the kernel, and why.
    NotCompiled(String),
    /// The machine does not execute this instruction.
    NotExecuted(String),
    /// The file or the cubin is wrong.
    Wrong(String),
}

/// Whether a case has parameters that only the machine makes here: tensor maps, whose format is the driver's own affair,
/// multicast addresses, textures and surfaces.
pub fn needs_the_machine(case: &Case) -> bool {
    let made = |parameter: &Parameter| match parameter {
        Parameter::Value(_) | Parameter::Buffer { .. } => false,
        Parameter::TensorMap { .. } | Parameter::Multicast { .. } | Parameter::Object(_) => true,
    };
    !case.bindings.is_empty() || case.parameters.iter().any(made)
}
