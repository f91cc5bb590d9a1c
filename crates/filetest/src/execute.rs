//! A case on the machine.

use super::case::{Case, Parameter, Place};
use super::directive::Program;
use super::schedule::Schedule;
use machine::output::Output;
use machine::{Device, DeviceOptions, Launch, LaunchError, LaunchOptions, LoadedModule};
use ptx::diagnostic::Diagnostic;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Bytes of global memory that a test may use.
const MEMORY: u64 = 256 << 20;

/// What came out of a run.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What device code printed.
    pub printed: Vec<u8>,
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

/// Runs a case once.
///
/// # Errors
/// If the file is wrong: PTX that does not compile, a kernel or variable that it does not have, parameters that do not
/// fit. What the machine refuses is an [`Outcome`].
pub fn run(program: &Program, case: &Case, schedule: Schedule) -> Result<Outcome, String> {
    let at = |why: String| format!("{}:{}: {why}", program.name, case.line);
    let module = ptx::compile(&program.source)
        .into_result()
        .map_err(|diagnostics| diagnostics.iter().map(|d| show(program, d)).collect::<Vec<_>>().join("\n"))?;
    let capture = Capture::default();
    let options = DeviceOptions { memory_limit: Some(MEMORY), output: Output::new(capture.clone()) };
    let device = Device::new(case.profile.clone(), options).map_err(|error| at(error.to_string()))?;
    let loaded = match device.load(module.0) {
        Ok(loaded) => loaded,
        Err(error) => {
            return Ok(Outcome {
                end: End::NotLoaded(error.to_string()),
                printed: Vec::new(),
                memory: Vec::new(),
            });
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
    let memory = device.memory();
    let variable = |name: &str| loaded.variable(name).ok_or_else(|| format!("no variable {name} in memory"));
    for (name, values) in &case.presets {
        let (address, _) = variable(name)?;
        memory.write(address, &values.bytes()).map_err(|error| error.to_string())?;
    }
    for (name, object) in &case.bindings {
        let (_, handle) = object.make(device)?;
        loaded.bind(name, handle).map_err(|error| error.to_string())?;
    }
    let mut addresses = Vec::new();
    let mut arrays = vec![0; case.parameters.len()];
    for (parameter, array) in case.parameters.iter().zip(&mut arrays) {
        addresses.push(match parameter {
            Parameter::Value(_) => None,
            Parameter::Object(object) => {
                let (made, handle) = object.make(device)?;
                *array = made;
                Some(handle)
            }
            Parameter::Buffer { bytes, .. } => {
                let address = memory.allocate(bytes.len() as u64).map_err(|error| error.to_string())?;
                memory.write(address, bytes).map_err(|error| error.to_string())?;
                Some(address)
            }
        });
    }
    // After every allocation, so that none takes the place of what is freed.
    for (parameter, &address) in case.parameters.iter().zip(&addresses) {
        if let (Parameter::Buffer { freed: true, .. }, Some(address)) = (parameter, address) {
            memory.free(address).map_err(|error| error.to_string())?;
        }
    }
    let kernel = loaded.kernel(&case.kernel).ok_or_else(|| format!("no kernel {}", case.kernel))?;
    let layout = kernel.parameters();
    if layout.len() != case.parameters.len() {
        let (given, wanted) = (case.parameters.len(), layout.len());
        return Err(format!("{given} parameters are given; kernel {} takes {wanted}", case.kernel));
    }
    let mut params = vec![0; layout.last().map_or(0, |p| (p.offset + p.size) as usize)];
    for ((place, parameter), address) in layout.iter().zip(&case.parameters).zip(&addresses) {
        let bytes = match (parameter, address) {
            (Parameter::Value(bytes), _) => bytes.clone(),
            (Parameter::Buffer { .. } | Parameter::Object(_), address) => {
                address.unwrap_or(0).to_le_bytes().to_vec()
            }
        };
        if bytes.len() != place.size as usize {
            let (given, name, wanted) = (bytes.len(), &place.name, place.size);
            return Err(format!("{given} bytes are given for parameter {name}, which has {wanted}"));
        }
        params[place.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    let launch = Launch { kernel, grid: case.grid, block: case.block, dynamic_shared: case.shared, params };
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
    let mut contents = Vec::new();
    for expected in &case.expected {
        let length = expected.values.bits.len() * expected.values.ty.bytes;
        if let Place::Parameter(index) = expected.place
            && let Parameter::Object(object) = &case.parameters[index]
        {
            contents.push(object.read(device, arrays[index], length)?);
            continue;
        }
        let address = match &expected.place {
            Place::Variable(name) => variable(name)?.0,
            Place::Parameter(index) => addresses[*index].ok_or("`out` names a value, not a buffer")?,
        };
        let mut bytes = vec![0; length];
        memory.read(address, &mut bytes).map_err(|error| error.to_string())?;
        contents.push(bytes);
    }
    let printed = capture.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    Ok(Outcome { end, printed, memory: contents })
}
