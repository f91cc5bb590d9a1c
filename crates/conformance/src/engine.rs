//! Running cases: on the machine one by one, on a GPU many to a module.

use crate::case::{Case, TARGET};
use crate::inputs::{Inputs, THREADS};
use crate::kernel::{self, CONSTANTS, Setting, stride};
use crate::object::{self, Object, TensorShape};
use crate::random::Random;
use machine::memory::Buffers;
use machine::texture::Resource;
use machine::{Device, DeviceOptions, Launch, LaunchError, LaunchOptions, Profile};
use real_gpu::{Gpu, Texels, Use};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

/// Warp instructions that a case may issue.
const BUDGET: u64 = 50_000_000;

/// Why a case has no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The engine does not execute the instruction.
    Unsupported(String),
    /// It was refused or it faulted.
    Failed(String),
}

/// The bytes of words, each row padded to its stride.
fn padded(words: &[u64], row: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(words.len() * 8);
    for words in words.chunks(row.max(1)) {
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.resize(bytes.len() + (stride(row) - row) * 8, 0);
    }
    bytes
}

/// The words of a buffer without the padding of its rows.
fn unpadded(bytes: &[u8], row: usize) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(stride(row) * 8).flat_map(|row_bytes| row_bytes.chunks(8).take(row).map(word)).collect()
}

/// The bytes of the parameter `object`.
type ObjectBytes = [u8; object::BYTES];

/// The parameter for a handle.
fn handle(handle: u64) -> ObjectBytes {
    let mut bytes = [0; object::BYTES];
    bytes[..8].copy_from_slice(&handle.to_le_bytes());
    bytes
}

/// Objects that an engine has made, for the many cases that share them.
type Objects = Vec<(Object, ObjectBytes)>;

fn made(objects: &Objects, object: &Object) -> Option<ObjectBytes> {
    objects.iter().find(|(other, _)| other == object).map(|(_, bytes)| *bytes)
}

/// The tensor map of a case's results, if it has one: that is another for each run.
fn map_of_results(case: &Case, results: u64, rows: usize) -> Option<Result<ObjectBytes, String>> {
    match case.kernel.object() {
        Some(Object::Tensor(shape)) if shape.results => Some(shape.map(results, rows as u64)),
        _ => None,
    }
}

/// Where the parameter `object` lies on the machine.
const OBJECT_OFFSET: usize = (16 + CONSTANTS * 8usize).next_multiple_of(64);
/// Which one it is.
pub const OBJECT_INDEX: usize = 3;

/// The parameter buffer of a case's kernel, with an object at an offset.
fn parameters(
    rows: u64,
    results: u64,
    constants: Option<&[u64]>,
    object: Option<(ObjectBytes, usize)>,
) -> Vec<u8> {
    let mut random = Random::new(5);
    let mut words: Vec<u64> = vec![rows, results];
    words.extend((0..CONSTANTS).map(|i| match constants {
        Some(constants) => constants.get(i).copied().unwrap_or(0),
        None => random.next(),
    }));
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    if let Some((object, offset)) = object {
        bytes.resize(offset, 0);
        bytes.extend(object);
    }
    bytes
}

/// The machine, as it runs cases.
#[derive(Debug)]
pub struct Machine {
    device: Arc<Device>,
    objects: Mutex<Objects>,
}

impl Machine {
    /// A machine of the recorded target.
    ///
    /// # Errors
    /// If the host has no memory for it.
    pub fn new() -> Result<Self, String> {
        let options = DeviceOptions { memory_limit: Some(1 << 30), ..DeviceOptions::default() };
        let device = Device::new(Profile::default(), options).map_err(|error| error.to_string())?;
        Ok(Self { device, objects: Mutex::default() })
    }

    /// The parameter `object` of a case that has one.
    fn object(&self, case: &Case, results: u64, rows: usize) -> Result<Option<ObjectBytes>, String> {
        let Some(object) = case.kernel.object() else { return Ok(None) };
        if let Some(map) = map_of_results(case, results, rows) {
            return map.map(Some);
        }
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = made(&objects, object) {
            return Ok(Some(bytes));
        }
        let bytes = self.make(object)?;
        objects.push((*object, bytes));
        Ok(Some(bytes))
    }

    fn make(&self, object: &Object) -> Result<ObjectBytes, String> {
        let device = &self.device;
        let array = match object {
            Object::Texture { array, .. } | Object::Surface { array, .. } => array,
            Object::Tensor(shape) => return pattern(device.memory(), shape),
        };
        let failed = |error: machine::texture::TextureError| error.to_string();
        let placed = device.create_array(*array).map_err(failed)?;
        let shown = device.array(placed).map_err(failed)?;
        for (level, bytes) in (0..).zip(Object::levels(array)) {
            let region = shown.whole_level(level).ok_or("no such level")?;
            device.write_array(placed, &region, &bytes).map_err(failed)?;
        }
        let made = match object {
            Object::Texture { texture, .. } => device.create_texture(&Resource::Array(placed), texture, None),
            _ => device.create_surface(placed, 0),
        };
        made.map(handle).map_err(failed)
    }

    /// Runs a case and gives the words of its results, row by row.
    ///
    /// # Errors
    /// If the machine does not execute the instruction, or stops.
    pub fn run(&self, case: &Case, rows: &[u64]) -> Result<Vec<u64>, Failure> {
        self.run_in(case, rows, case.inputs.count(rows), Setting::default(), None)
    }

    /// The same in another setting, with these words as the kernel parameter that holds operands. If there is one row
    /// alone, all threads have it.
    ///
    /// # Errors
    /// If the machine does not execute the instruction, or stops.
    pub fn run_in(
        &self,
        case: &Case,
        rows: &[u64],
        count: usize,
        setting: Setting,
        constants: Option<&[u64]>,
    ) -> Result<Vec<u64>, Failure> {
        let text = kernel::header([&case.kernel]) + &case.kernel.text("k", case.inputs.words(), setting);
        let source = ptx::source::Source::new("case.ptx", text);
        let module = ptx::compile(&source).into_result().map_err(|wrong| {
            let (line, column) = source.line_column(wrong[0].span.start);
            Failure::Failed(format!("{line}:{column}: {} {}", wrong[0].code, wrong[0].message))
        })?;
        let loaded = self.device.load(module.0).map_err(|error| Failure::Failed(error.to_string()))?;
        self.run_by(case, rows, (count, OBJECT_OFFSET), constants, |device, shape| {
            let launch = Launch {
                kernel: loaded.kernel("k").ok_or_else(|| Failure::Failed("no kernel".into()))?,
                grid: shape.grid,
                block: shape.block,
                cluster: None,
                nonportable_cluster: false,
                dynamic_shared: 0,
                params: shape.params,
            };
            let options = LaunchOptions { threads: 1, budget: Some(BUDGET), ..LaunchOptions::default() };
            match device.launch(&launch, &options) {
                Ok(_) => Ok(()),
                Err(LaunchError::Unsupported(unsupported)) => {
                    Err(Failure::Unsupported(unsupported.what.clone()))
                }
                Err(error) => Err(Failure::Failed(error.to_string())),
            }
        })
    }

    /// The same by whoever launches kernels on the machine's device: its memory, textures and surfaces. The object, if there is one, is so many
    /// bytes behind the first parameter.
    ///
    /// # Errors
    /// What `launch` says, or if there is no memory.
    pub fn run_by(
        &self,
        case: &Case,
        rows: &[u64],
        (count, object_at): (usize, usize),
        constants: Option<&[u64]>,
        launch: impl FnOnce(&Arc<Device>, Shape) -> Result<(), Failure>,
    ) -> Result<Vec<u64>, Failure> {
        let failed = |error: machine::memory::MemoryError| Failure::Failed(error.to_string());
        let memory = self.device.memory();
        let width = case.kernel.results();
        let input = memory.allocate((rows.len().max(1) * 16) as u64).map_err(failed)?;
        let bytes = count * stride(width) * 8;
        let output = memory.allocate(bytes as u64).map_err(failed)?;
        memory.write(input, &padded(rows, case.inputs.words())).map_err(failed)?;
        let object = self.object(case, output, count).map_err(Failure::Failed)?;
        let object = object.map(|object| (object, object_at));
        let shape = Shape {
            grid: [count.div_ceil(THREADS) as u32, 1, 1],
            block: [THREADS as u32, 1, 1],
            params: parameters(input, output, constants, object),
        };
        let done = launch(&self.device, shape);
        let mut results = vec![0; bytes];
        memory.read(output, &mut results).map_err(failed)?;
        for address in [input, output] {
            memory.free(address).map_err(failed)?;
        }
        done.map(|()| unpadded(&results, width))
    }
}

/// How the kernel of a case is launched.
#[derive(Clone, Debug)]
pub struct Shape {
    /// CTAs along each axis.
    pub grid: [u32; 3],
    /// Threads of a CTA along each axis.
    pub block: [u32; 3],
    /// The parameters, each where it lies.
    pub params: Vec<u8>,
}

/// The tensor map of a pattern, which is put into memory.
fn pattern(memory: &impl Buffers, shape: &TensorShape) -> Result<ObjectBytes, String> {
    let bytes = shape.pattern();
    let address = memory.allocate(bytes.len() as u64).map_err(|error| error.to_string())?;
    memory.write(address, &bytes).map_err(|error| error.to_string())?;
    shape.map(address, 0)
}

/// A module of many cases.
#[derive(Clone, Debug)]
pub struct Module<'a> {
    /// Its cases; the kernel of the first is `k0`.
    pub cases: Vec<&'a Case>,
    /// Its text.
    pub text: String,
    /// The lines of each case's kernel.
    lines: Vec<Range<usize>>,
}

/// What ptxas made of a module.
#[derive(Clone, Debug)]
pub struct Assembled<'a> {
    /// The module with the cases that it took.
    pub module: Module<'a>,
    /// The binary.
    pub cubin: Vec<u8>,
    /// The cases that it refused, with what it said.
    pub refused: Vec<(&'a Case, String)>,
}

impl<'a> Module<'a> {
    /// The module of these cases.
    pub fn new(cases: Vec<&'a Case>) -> Self {
        let mut text = kernel::header(cases.iter().map(|case| &case.kernel));
        let mut line = text.lines().count();
        let mut lines = Vec::new();
        for (i, case) in cases.iter().enumerate() {
            let kernel = case.kernel.text(&format!("k{i}"), case.inputs.words(), Setting::default());
            let first = line;
            line += kernel.lines().count();
            lines.push(first..line);
            text.push_str(&kernel);
        }
        Self { cases, text, lines }
    }

    /// Assembles the module with ptxas. Cases that it refuses are taken out and given back with what it said.
    ///
    /// # Errors
    /// If ptxas cannot be run, or says something that has no line.
    pub fn assemble(mut self, ptxas: &Path, folder: &Path) -> Result<Assembled<'a>, String> {
        let mut refused = Vec::new();
        loop {
            if self.cases.is_empty() {
                return Ok(Assembled { module: self, cubin: Vec::new(), refused });
            }
            let (source, cubin) = (folder.join("module.ptx"), folder.join("module.cubin"));
            let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&source, &self.text))
                .map_err(failed)?;
            let mut command = Command::new(ptxas);
            command.arg(format!("-arch={TARGET}")).arg("-o").arg(&cubin).arg(&source);
            let output = command.output().map_err(|error| format!("{}: {error}", ptxas.display()))?;
            if output.status.success() {
                let cubin = std::fs::read(&cubin).map_err(failed)?;
                return Ok(Assembled { module: self, cubin, refused });
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let wrong = self.blamed(&said);
            if wrong.is_empty() {
                return Err(format!("{}: {said}", self.cases[0].name));
            }
            let kept =
                self.cases.iter().enumerate().filter(|(i, _)| !wrong.contains_key(i)).map(|(_, case)| *case);
            let kept = kept.collect();
            refused.extend(wrong.into_iter().map(|(i, message)| (self.cases[i], message)));
            self = Self::new(kept);
        }
    }

    /// The cases that lines like `ptxas m.ptx, line 12; error : ...` complain about.
    fn blamed(&self, said: &str) -> HashMap<usize, String> {
        let mut wrong = HashMap::new();
        for line in said.lines().filter(|line| line.contains("error")) {
            let number = line.split_once("line ").and_then(|(_, rest)| {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<usize>().ok()
            });
            // Errors after assembly name the function.
            let named =
                line.split_once("function 'k").and_then(|(_, rest)| rest.split_once('\'')?.0.parse().ok());
            let at =
                number.and_then(|number| self.lines.iter().position(|lines| lines.contains(&(number - 1))));
            if let Some(case) = at.or(named) {
                let message = line.rsplit("; ").next().unwrap_or(line).to_owned();
                wrong.entry(case).or_insert(message);
            }
        }
        wrong
    }
}

/// A GPU, as it runs cases: inputs stay there for all cases that share them.
#[derive(Debug)]
pub struct RealGpu {
    gpu: Gpu,
    inputs: HashMap<Inputs, (u64, usize)>,
    objects: Objects,
}

impl RealGpu {
    /// The GPU of this host.
    ///
    /// # Errors
    /// If there is none.
    pub fn open() -> Result<Self, real_gpu::Error> {
        Ok(Self { gpu: Gpu::open()?, inputs: HashMap::new(), objects: Vec::new() })
    }

    /// What it is, for the recording.
    pub fn description(&self) -> String {
        let (major, minor) = self.gpu.driver_version();
        format!("{}, driver of CUDA {major}.{minor}", self.gpu.name())
    }

    fn inputs(&mut self, inputs: &Inputs) -> Result<(u64, usize), String> {
        if let Some(&found) = self.inputs.get(inputs) {
            return Ok(found);
        }
        let rows = inputs.rows();
        let bytes = padded(&rows, inputs.words());
        let address = self.gpu.allocate(bytes.len() as u64).map_err(|error| error.to_string())?;
        self.gpu.write(address, &bytes).map_err(|error| error.to_string())?;
        let placed = (address, inputs.count(&rows));
        self.inputs.insert(inputs.clone(), placed);
        Ok(placed)
    }

    /// Makes what a case needs; a tensor map of its results is made when it runs.
    fn make(&mut self, case: &Case) -> Result<(), String> {
        let Some(object) = case.kernel.object() else { return Ok(()) };
        if made(&self.objects, object).is_some() || map_of_results(case, 0, 1).is_some() {
            return Ok(());
        }
        let gpu = &self.gpu;
        let failed = |error: real_gpu::Error| format!("{object:?}: {error}");
        let bytes = match object {
            Object::Tensor(shape) => pattern(gpu, shape)?,
            Object::Texture { array, texture, gathered } => {
                let purpose = if *gathered { Use::Gathered } else { Use::Sampled };
                let array = gpu.array(array, purpose, &Object::levels(array)).map_err(failed)?;
                handle(gpu.texture(Texels::Array(array), texture, None).map_err(failed)?)
            }
            Object::Surface { array, .. } => {
                let array = gpu.array(array, Use::Surface, &Object::levels(array)).map_err(failed)?;
                handle(gpu.surface(array, 0).map_err(failed)?)
            }
        };
        self.objects.push((*object, bytes));
        Ok(())
    }

    /// Runs every case of an assembled module; `each` gets the results.
    ///
    /// # Errors
    /// If the driver does not load the module, or if a case faults: then nothing runs any more in this process.
    pub fn run<'a>(
        &mut self,
        module: &Module<'a>,
        image: &[u8],
        mut each: impl FnMut(&'a Case, Result<Vec<u64>, Failure>),
    ) -> Result<(), String> {
        let mut refused = HashMap::new();
        for (i, case) in module.cases.iter().enumerate() {
            self.inputs(&case.inputs)?;
            if let Err(why) = self.make(case) {
                refused.insert(i, why);
            }
        }
        let loaded = self.gpu.load(image).map_err(|error| error.to_string())?;
        for (i, case) in module.cases.iter().enumerate() {
            if let Some(why) = refused.get(&i) {
                each(case, Err(Failure::Failed(why.clone())));
                continue;
            }
            let object = case.kernel.object().and_then(|object| made(&self.objects, object));
            match on(&self.gpu, &loaded, &format!("k{i}"), case, object, self.inputs[&case.inputs]) {
                Ok(results) => each(case, Ok(results)),
                Err((why, fault)) => {
                    each(case, Err(Failure::Failed(why.clone())));
                    if fault {
                        return Err(format!("{}: {why}", case.name));
                    }
                }
            }
        }
        Ok(())
    }
}

/// One case on a GPU; an error with whether the context is lost.
fn on(
    gpu: &Gpu,
    module: &real_gpu::Module<'_>,
    kernel: &str,
    case: &Case,
    object: Option<ObjectBytes>,
    (rows, count): (u64, usize),
) -> Result<Vec<u64>, (String, bool)> {
    let memory = |error: machine::memory::MemoryError| (error.to_string(), true);
    let driver = |error: real_gpu::Error| (error.to_string(), error.is_fault());
    let width = case.kernel.results();
    let mut bytes = vec![0; count * stride(width) * 8];
    let output = gpu.allocate(bytes.len() as u64).map_err(memory)?;
    gpu.fill(output, 0, bytes.len()).map_err(driver)?;
    let object = match map_of_results(case, output, count) {
        Some(map) => Some(map.map_err(|why| (why, false))?),
        None => object,
    };
    let object = match object {
        Some(object) => Some((object, module.parameter_offset(kernel, OBJECT_INDEX).map_err(driver)?)),
        None => None,
    };
    let launch = real_gpu::Launch {
        kernel,
        grid: [count.div_ceil(THREADS) as u32, 1, 1],
        block: [THREADS as u32, 1, 1],
        cluster: None,
        cooperative: false,
        dynamic_shared: 0,
        params: &parameters(rows, output, None, object),
    };
    module.launch(&launch).map_err(driver)?;
    gpu.read(output, &mut bytes).map_err(memory)?;
    gpu.free(output).map_err(memory)?;
    Ok(unpadded(&bytes, width))
}
