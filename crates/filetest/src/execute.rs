//! A case on the machine, or on a GPU.

use super::case::{Case, Parameter, Place};
use super::directive::Program;
use super::schedule::Schedule;
use machine::memory::Buffers;
use machine::output::Output;
use machine::{Device, DeviceOptions, Launch, LaunchError, LaunchOptions, LoadedModule, ParameterLayout};
use ptx::diagnostic::Diagnostic;
use ptx::module::{Checked, Module};
use silicon::Gpu;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Bytes of global memory that a test may use.
const MEMORY: u64 = 256 << 20;

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

/// Runs a case once on the machine.
///
/// # Errors
/// If the file is wrong: PTX that does not compile, a kernel or variable that it does not have, parameters that do not
/// fit. What the machine refuses is an [`Outcome`].
pub fn run(program: &Program, case: &Case, schedule: Schedule) -> Result<Outcome, String> {
    let at = |why: String| format!("{}:{}: {why}", program.name, case.line);
    let module = compile(program)?;
    let capture = Capture::default();
    let options = DeviceOptions { memory_limit: Some(MEMORY), output: Output::new(capture.clone()) };
    let device = Device::new(case.profile.clone(), options).map_err(|error| at(error.to_string()))?;
    let loaded = match device.load(module) {
        Ok(loaded) => loaded,
        Err(error) => {
            return Ok(Outcome { end: End::NotLoaded(error.to_string()), printed: None, memory: Vec::new() });
        }
    };
    launch(&device, &loaded, case, schedule, &capture).map_err(at)
}

fn launch(
    device: &Device,
    loaded: &LoadedModule,
    case: &Case,
    schedule: Schedule,
    capture: &Capture,
) -> Result<Outcome, String> {
    let variable = |name: &str| {
        let found = loaded.variable(name).ok_or_else(|| format!("no variable {name} in memory"));
        found.map(|(address, _)| address)
    };
    let kernel = loaded.kernel(&case.kernel).ok_or_else(|| format!("no kernel {}", case.kernel))?;
    let memory = device.memory();
    let multicast =
        |members: &[u64], bytes| memory.bind_multicast(members, bytes).map_err(|error| error.to_string());
    let placed = Placed::new(case, &kernel.parameters(), memory, &variable, &multicast)?;
    let launch = Launch {
        kernel,
        grid: case.grid,
        block: case.block,
        cluster: case.cluster,
        nonportable_cluster: case.nonportable_cluster,
        dynamic_shared: case.shared,
        params: placed.params.clone(),
    };
    let options = LaunchOptions {
        threads: schedule.threads,
        scheduler: schedule.scheduler,
        budget: Some(case.budget),
        ..LaunchOptions::default()
    };
    let end = match device.launch(&launch, &options) {
        Ok(_) => End::Finished,
        Err(LaunchError::Fault(fault)) => End::Fault(fault),
        Err(LaunchError::Unsupported(unsupported)) => End::Unsupported(unsupported.to_string()),
        Err(error @ (LaunchError::InvalidConfiguration(_) | LaunchError::OutOfResources(_))) => {
            End::Refused(error.to_string())
        }
    };
    let printed = capture.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    Ok(Outcome { end, printed: Some(printed), memory: placed.contents(case, memory, &variable)? })
}

/// Runs a case once on a GPU.
///
/// # Errors
/// If the file is wrong, or there is no such kernel or variable. What the driver refuses is an [`Outcome`].
pub fn run_on_gpu(program: &Program, case: &Case, gpu: &Gpu) -> Result<Outcome, String> {
    let at = |why: String| format!("{}:{}: {why}", program.name, case.line);
    let module = compile(program)?;
    let stopped = |error: &silicon::Error| Outcome {
        end: End::Stopped(error.to_string()),
        printed: None,
        memory: Vec::new(),
    };
    let loaded = match gpu.load(program.source.text().as_bytes()) {
        Ok(loaded) => loaded,
        Err(error) => return Ok(stopped(&error)),
    };
    let variable =
        |name: &str| loaded.variable(name).map(|(address, _)| address).map_err(|error| error.to_string());
    let kernel = module.entries().find(|(_, function)| function.name == case.kernel);
    let (kernel, _) = kernel.ok_or_else(|| at(format!("no kernel {}", case.kernel)))?;
    let layout = machine::parameter_layout(&module, kernel);
    let no_multicast = |_: &[u64], _| Err("multicast addresses are not made for a GPU".to_owned());
    let placed = Placed::new(case, &layout, gpu, &variable, &no_multicast).map_err(at)?;
    let launch = silicon::Launch {
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
            memory: placed.contents(case, gpu, &variable).map_err(at)?,
        }),
        Err(error) => Ok(stopped(&error)),
    }
}

/// A case's inputs in an engine's memory.
struct Placed {
    /// The address of each parameter that is a buffer.
    addresses: Vec<Option<u64>>,
    /// The parameter buffer.
    params: Vec<u8>,
}

/// The address of a module variable.
type Variable<'a> = &'a dyn Fn(&str) -> Result<u64, String>;

/// Makes an address that stands for several buffers of so many bytes.
type Multicast<'a> = &'a dyn Fn(&[u64], u64) -> Result<u64, String>;

/// Whether a case has parameters that only the machine makes here: tensor maps, whose format is the driver's own affair,
/// and multicast addresses.
pub fn needs_the_machine(case: &Case) -> bool {
    let made = |parameter: &Parameter| {
        matches!(parameter, Parameter::TensorMap { .. } | Parameter::Multicast { .. })
    };
    case.parameters.iter().any(made)
}

impl Placed {
    fn new(
        case: &Case,
        layout: &[ParameterLayout],
        memory: &dyn Buffers,
        variable: Variable<'_>,
        multicast: Multicast<'_>,
    ) -> Result<Self, String> {
        for (name, values) in &case.presets {
            memory.write(variable(name)?, &values.bytes()).map_err(|error| error.to_string())?;
        }
        let mut addresses = Vec::new();
        for parameter in &case.parameters {
            addresses.push(match parameter {
                // Made of the buffers, below.
                Parameter::Value(_) | Parameter::TensorMap { .. } | Parameter::Multicast { .. } => None,
                Parameter::Buffer { bytes, .. } => {
                    let address = memory.allocate(bytes.len() as u64).map_err(|error| error.to_string())?;
                    memory.write(address, bytes).map_err(|error| error.to_string())?;
                    Some(address)
                }
            });
        }
        let mut made = Vec::new();
        for (index, parameter) in case.parameters.iter().enumerate() {
            let buffer = |i: usize| addresses[i].ok_or("a parameter that is no buffer");
            made.push(match parameter {
                Parameter::Value(_) | Parameter::Buffer { .. } => None,
                Parameter::TensorMap { buffer: tensor, plan, in_memory, .. } => {
                    let map = plan.make(buffer(*tensor)?)?.to_bytes();
                    if *in_memory {
                        let address = memory.allocate(map.len() as u64).map_err(|error| error.to_string())?;
                        memory.write(address, &map).map_err(|error| error.to_string())?;
                        addresses[index] = Some(address);
                        None
                    } else {
                        Some(map.to_vec())
                    }
                }
                Parameter::Multicast { members, bytes } => {
                    let members = members.iter().map(|&i| buffer(i)).collect::<Result<Vec<_>, _>>()?;
                    addresses[index] = Some(multicast(&members, *bytes)?);
                    None
                }
            });
        }
        // After every allocation, so that none takes the place of what is freed.
        for (parameter, &address) in case.parameters.iter().zip(&addresses) {
            if let (Parameter::Buffer { freed: true, .. }, Some(address)) = (parameter, address) {
                memory.free(address).map_err(|error| error.to_string())?;
            }
        }
        let passed = |parameter: &Parameter| !matches!(parameter, Parameter::Buffer { passed: false, .. });
        let given = case.parameters.iter().filter(|parameter| passed(parameter)).count();
        if layout.len() != given {
            let wanted = layout.len();
            return Err(format!("{given} parameters are given; kernel {} takes {wanted}", case.kernel));
        }
        let mut params = vec![0; layout.last().map_or(0, |p| (p.offset + p.size) as usize)];
        let parameters = case.parameters.iter().zip(made).zip(&addresses);
        let parameters = parameters.filter(|((parameter, _), _)| passed(parameter));
        for (place, ((parameter, made), address)) in layout.iter().zip(parameters) {
            let bytes = match (parameter, made) {
                (Parameter::Value(bytes), _) => bytes.clone(),
                (_, Some(made)) => made,
                (_, None) => address.unwrap_or(0).to_le_bytes().to_vec(),
            };
            if bytes.len() != place.size as usize {
                let (given, name, wanted) = (bytes.len(), &place.name, place.size);
                return Err(format!("{given} bytes are given for parameter {name}, which has {wanted}"));
            }
            params[place.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        Ok(Self { addresses, params })
    }

    /// What memory holds after the launch, in the order of [`Case::expected`].
    fn contents(
        &self,
        case: &Case,
        memory: &dyn Buffers,
        variable: Variable<'_>,
    ) -> Result<Vec<Vec<u8>>, String> {
        let mut contents = Vec::new();
        for expected in &case.expected {
            let address = match &expected.place {
                Place::Variable(name) => variable(name)?,
                Place::Parameter(index) => {
                    self.addresses[*index].ok_or("`out` names a value, not a buffer")?
                }
            };
            let mut bytes = vec![0; expected.values.bits.len() * expected.values.ty.bytes];
            memory.read(address, &mut bytes).map_err(|error| error.to_string())?;
            contents.push(bytes);
        }
        Ok(contents)
    }
}
