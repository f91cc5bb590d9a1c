//! A launch in the model: code, a kernel of it, its shape and its arguments. For one launch, and for the points of a sweep.

use super::lines::Lines;
use crate::failure::{Exit, Failure};
use crate::run::binding::{self, Binding};
use crate::run::request::choose_of;
use crate::run::{cubin, sass};
use crate::{diagnostics, input, terminal};
use machine::output::Output;
use machine::{Device as Memory, DeviceOptions, Profile};
use ptx::diagnostic::Diagnostic;
use ptx::module::{Checked, Module};
use ptx::source::Source;
use ptxas::{Compiled, Tuning};
use sass_machine::{Fault, Launch, Loaded, Program};
use sim::{Device, Failure as Unsimulated, Report, sample, simulate};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

/// Machine code that can be launched.
pub(super) struct Code {
    name: String,
    pub(super) program: Program,
    pub(super) lines: Lines,
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// CTAs of a cluster along x; 1 where there are none.
    pub(super) cluster: u32,
    pub(super) shared: u32,
    /// Warp instructions that it may take.
    pub(super) budget: u64,
    /// Waves of CTAs that are executed, if not all of them are.
    pub(super) waves: Option<u64>,
    /// Threads of the host that model it.
    pub(super) threads: NonZeroUsize,
}

/// A launch that has ended.
pub(super) struct Modelled {
    pub(super) report: Report,
    pub(super) bound: Binding,
    pub(super) memory: Arc<Memory>,
}

/// A launch that has no cycles, and its fault if it met one.
pub(super) struct Stopped {
    pub(super) failure: Failure,
    pub(super) fault: Option<Box<Fault>>,
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self { failure, fault: None }
    }
}

impl Code {
    /// That of a cubin, or of PTX, of which only the kernel is compiled that is wanted.
    pub(super) fn read(
        file: &Path,
        kernel: Option<&str>,
        own_code: bool,
        tuning: Tuning,
    ) -> Result<Self, Failure> {
        if let Some(bytes) = cubin(file)? {
            return match tuning == Tuning::default() {
                true => Self::new(file, &bytes, own_code),
                false => Err(compiled_already(file)),
            };
        }
        let (source, module) = input::module(file)?;
        let compiled = compile(&module, kernel, tuning).map_err(|errors| refused(&source, &errors))?;
        Self::new(file, &compiled.cubin, own_code)
    }

    /// That of a cubin, which was read from a file or made of one.
    pub(super) fn new(file: &Path, cubin: &[u8], own_code: bool) -> Result<Self, Failure> {
        let name = file.display().to_string();
        let program = sass::read(&name, cubin, own_code)?;
        if program.arch() != ::sass::Arch::Sm90 {
            let why =
                format!("{name}: the model is of machine code of sm_90, and this is of {}", program.arch());
            return Err(Failure::new(Exit::Unsupported, why));
        }
        Ok(Self { name, program, lines: Lines::read(cubin) })
    }

    /// Its kernel of a name, or the only one.
    pub(super) fn kernel(&self, wanted: Option<&str>) -> Result<&str, Failure> {
        let kernels: Vec<_> = self.program.kernels().collect();
        if kernels.is_empty() {
            return Err(Failure::usage(format!("{} has no kernel", self.name)));
        }
        Ok(kernels[choose_of(&kernels, wanted, &self.name)?])
    }

    /// What a launch with such arguments costs.
    pub(super) fn model(
        &self,
        kernel: &str,
        shape: Shape,
        arguments: &[String],
        device: &Device,
    ) -> Result<Modelled, Stopped> {
        let options = DeviceOptions { output: Output::default(), ..DeviceOptions::default() };
        let memory = Memory::new(Profile::default(), options)
            .map_err(|error| Failure::usage(format!("cannot make the device's memory: {error}")))?;
        let loaded = Loaded::new(&self.program, memory.memory())
            .map_err(|why| Failure::new(Exit::Unsupported, format!("{}: {why}", self.name)))?;
        sass::executable(&loaded, kernel)?;
        let layout = sass::layout(&self.program, kernel);
        let bound = binding::bind(kernel, &layout, arguments, memory.memory())?;
        binding::upload(&bound.buffers, memory.memory(), true)?;
        let launch = Launch {
            kernel,
            grid: shape.grid,
            block: shape.block,
            cluster: shape.cluster,
            dynamic_shared: shape.shared,
            params: &bound.params,
            budget: shape.budget,
            timed: false,
        };
        let text = |address| self.program.instruction(kernel, address).unwrap_or_default();
        let modelled = match shape.waves {
            Some(waves) => sample(&loaded, &launch, device, shape.threads, waves),
            None => simulate(&loaded, &launch, device, shape.threads),
        };
        let report = modelled.map_err(|why| match why {
            Unsimulated::Unmodelled(why) => {
                Failure::new(Exit::Unsupported, format!("not modelled: {why}")).into()
            }
            Unsimulated::Fault(fault) => Stopped {
                failure: Failure::new(sass::exit_of(&fault.kind), sass::fault_text(&fault, text)),
                fault: Some(Box::new(fault)),
            },
            Unsimulated::Budget => Failure::new(Exit::Fault, why.to_string()).into(),
        })?;
        drop(loaded);
        Ok(Modelled { report, bound, memory })
    }
}

/// The kernel of a module that is wanted, or all of them, as machine code, which says of which lines it is.
pub(super) fn compile(
    module: &Checked<Module>,
    kernel: Option<&str>,
    tuning: Tuning,
) -> Result<Compiled, Vec<Diagnostic>> {
    let wanted = |name: &str| kernel.is_none_or(|kernel| kernel == name);
    let level = ptxas::Level::Overlapped;
    let how = ptxas::Options { level, lines: true, tuning, ..ptxas::Options::default() };
    ptxas::compile_entries(module, how, wanted)
}

/// That a file is no PTX, of which code could be made otherwise.
pub(super) fn compiled_already(file: &Path) -> Failure {
    Failure::usage(format!("{} is machine code: only PTX is tuned", file.display()))
}

/// That a file is not compiled, when its errors have been told.
pub(super) fn refused(source: &Source, errors: &[Diagnostic]) -> Failure {
    let texts = errors.iter().map(|error| diagnostics::render(source, error, diagnostics::Format::Text));
    terminal::note(texts.collect::<String>().trim_end());
    Failure::new(Exit::Unsupported, format!("{} is not compiled to machine code", source.name()))
}

/// A device that comes along, or one that a file describes.
pub(super) fn device(name: &str) -> Result<Device, Failure> {
    let wrong = |error: sim::DeviceError| Failure::usage(format!("{name}: {error}"));
    if Device::names().any(|known| known.eq_ignore_ascii_case(name)) {
        return Device::named(name).map_err(wrong);
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        let names: Vec<_> = Device::names().collect();
        Failure::usage(format!("cannot read {name}: {error}"))
            .hint(format!("devices that come along: {}", names.join(", ")))
    })?;
    Device::read(&text).map_err(wrong)
}
