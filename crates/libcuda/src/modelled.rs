//! `WARPLOOM_SIM`: each launch runs in the model in cycles too, before it is executed as always.
//!
//! The model executes machine code that our compiler makes of the kernel. It sees memory as it is at the launch, and what it writes it keeps
//! for itself ([`Overlay`]), so that the program's memory is the normal execution's alone. What a launch costs, or why that is not
//! known, is a line of JSON in the file that `WARPLOOM_SIM_REPORT` names.

use driver::debug::{Debugging, Execute};
use machine::compiled::Engine;
use machine::memory::{Buffers, MemoryError};
use machine::output::Output;
use machine::{Asynchrony, Launch, LaunchError, LaunchOptions, LaunchReport, LoadedModule, Masks, Time};
use ptx::module::{Checked, Module};
use ptx::types::StateSpace;
use sass_machine::{Loaded, Program};
use serde_json::{Value, json};
use sim::{Device, Report, STALLS};
use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Warp instructions of a launch in the model, which takes half a second for a million.
const BUDGET: u64 = 1 << 26;

/// Machine code of a kernel, or why there is none.
type Code = Result<Arc<Program>, String>;

/// Code by module and kernel, with the module, so that no other has its address.
type Compiled = HashMap<(usize, String), (Arc<Checked<Module>>, Code)>;

struct Modelling {
    device: Device,
    engine: Option<Arc<dyn Engine>>,
    asynchrony: Asynchrony,
    masks: Masks,
    threads: NonZeroUsize,
    code: Mutex<Compiled>,
}

/// The model that the environment asks for. What cannot be understood is logged, and nothing is modelled then. Launches are executed as
/// they would be without it.
pub(crate) fn wanted(
    engine: Option<Arc<dyn Engine>>,
    asynchrony: Asynchrony,
    masks: Masks,
) -> Option<Arc<dyn Debugging>> {
    let name = std::env::var("WARPLOOM_SIM").ok().filter(|text| !text.trim().is_empty())?;
    let device = Device::named(name.trim()).map_err(|error| log::error!("WARPLOOM_SIM: {error}")).ok()?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Some(Arc::new(Modelling { device, engine, asynchrony, masks, threads, code: Mutex::default() }))
}

impl Debugging for Modelling {
    fn output(&self) -> Output {
        Output::default()
    }

    fn wants(&self, _: &Launch<'_>) -> bool {
        true
    }

    fn launch(
        &self,
        device: &Arc<machine::Device>,
        module: &Arc<LoadedModule>,
        launch: &Launch<'_>,
        execute: &Execute<'_>,
    ) -> Result<LaunchReport, LaunchError> {
        let mut line = match self.model(device, module, launch) {
            Ok(report) => self.told(&report),
            Err(why) => json!({ "why": why }),
        };
        line["kernel"] = launch.kernel.name().into();
        tell(&line);
        let options = LaunchOptions {
            threads: self.threads.get(),
            engine: self.engine.as_deref(),
            asynchrony: self.asynchrony,
            masks: self.masks,
            time: Time::Host,
            ..LaunchOptions::default()
        };
        execute(launch, &options)
    }
}

impl Modelling {
    fn model(
        &self,
        device: &machine::Device,
        module: &LoadedModule,
        launch: &Launch<'_>,
    ) -> Result<Report, String> {
        let (grid, cluster) = shape(launch)?;
        let name = launch.kernel.name();
        let program = self.code(module, name)?;
        constants(device, module)?;
        let place = |name: &str| {
            let (address, _) = module.variable(name).ok_or_else(|| format!("`{name}` has no address"))?;
            Ok((name.to_owned(), address))
        };
        let variables = program.variables().map(place).collect::<Result<BTreeMap<_, _>, String>>()?;
        let memory = Overlay::new(device);
        let loaded =
            Loaded::with_variables(&program, &memory, variables).map_err(|error| error.to_string())?;
        if let Some(text) = loaded.not_executed(name).into_iter().next() {
            return Err(format!("the machine for SASS does not execute `{text}`"));
        }
        let modelled = sass_machine::Launch {
            kernel: name,
            grid,
            block: launch.block,
            cluster,
            dynamic_shared: launch.dynamic_shared,
            params: &placed(launch, &program),
            budget: BUDGET,
            timed: false,
        };
        sim::simulate(&loaded, &modelled, &self.device, self.threads).map_err(|error| error.to_string())
    }

    /// A kernel's machine code, which is made once.
    fn code(&self, module: &LoadedModule, name: &str) -> Code {
        let checked = module.shared_module();
        let key = (Arc::as_ptr(checked) as usize, name.to_owned());
        let mut known = lock(&self.code);
        let (_, code) = &*known.entry(key).or_insert_with(|| {
            let compiled = ptxas::compile_entries(checked, ptxas::Level::Overlapped, |it| it == name);
            let code = match compiled {
                Ok(compiled) => {
                    Program::read(&compiled.cubin, false).map(Arc::new).map_err(|why| why.to_string())
                }
                Err(why) => Err(why.first().map_or_else(String::new, |first| {
                    format!("{}: {}", first.message, first.label).trim_end_matches(": ").to_owned()
                })),
            };
            (Arc::clone(checked), code)
        });
        code.clone()
    }

    fn told(&self, report: &Report) -> Value {
        let stalls = report.stalls();
        let named = STALLS.iter().map(|(stall, name)| ((*name).to_owned(), json!(stalls.of(*stall))));
        json!({
            "device": self.device.name,
            "cycles": report.cycles,
            "nanoseconds": report.nanoseconds(&self.device),
            "instructions": report.counters.instructions,
            "resident": report.counters.resident,
            "room": report.counters.active * self.device.parameters.warps,
            "stalls": named.collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// A launch's parameters, each where machine code has it: what is aligned to more than eight bytes lies elsewhere than in PTX.
fn placed(launch: &Launch<'_>, program: &Program) -> Vec<u8> {
    let mut params = Vec::new();
    for (parameter, there) in launch.kernel.parameters().iter().zip(program.parameters(launch.kernel.name()))
    {
        let from = parameter.offset as usize..(parameter.offset + parameter.size) as usize;
        let to = usize::from(there.offset);
        let value = launch.params.get(from).unwrap_or_default();
        params.resize(params.len().max(to + value.len()), 0);
        params[to..to + value.len()].copy_from_slice(value);
    }
    params
}

/// CTAs of a launch along each axis, and those of a cluster, as launch and kernel say them together.
fn shape(launch: &Launch<'_>) -> Result<([u32; 3], u32), String> {
    let bounds = &launch.kernel.function().bounds;
    let cluster = bounds.req_nctapercluster.or(launch.cluster).unwrap_or([1; 3]);
    let [ctas, 1, 1] = cluster else { return Err("clusters along y and z are not modelled".to_owned()) };
    // The grid of a kernel with .blocksareclusters counts clusters.
    let [x, y, z] = launch.grid;
    let x = if bounds.blocks_are_clusters { x.saturating_mul(ctas) } else { x };
    Ok(([x, y, z], ctas))
}

/// Machine code has constants as the module begins with them: whether a program has written others.
fn constants(device: &machine::Device, module: &LoadedModule) -> Result<(), String> {
    let declared = module.module().variables.iter().filter(|variable| variable.space == StateSpace::Const);
    for variable in declared {
        let Some((address, size)) = module.variable(&variable.name) else { continue };
        let mut now = vec![0; usize::try_from(size).unwrap_or(0)];
        let mut first = variable.init.clone();
        first.resize(now.len(), 0);
        if variable.relocations.is_empty() && (!device.read(address, &mut now) || now != first) {
            return Err(format!("the program has written the constant `{}`", variable.name));
        }
    }
    Ok(())
}

fn tell(line: &Value) {
    let Some(path) = std::env::var_os("WARPLOOM_SIM_REPORT").filter(|path| !path.is_empty()) else {
        return log::info!("in the model: {line}");
    };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())) {
        log::error!("WARPLOOM_SIM_REPORT: {}: {error}", path.display());
    }
}

/// Bytes that are kept together, with a bit for each that has been written.
const PAGE: usize = 256;

#[derive(Clone)]
struct Page {
    bytes: [u8; PAGE],
    written: [bool; PAGE],
}

/// Where memory begins that a launch in the model has for itself: no device has any there.
const OWN: u64 = 1 << 56;

/// Memory as kernels of a device see it, the host's with it, with what is written on top of it and leaves it alone.
struct Overlay<'a> {
    below: &'a machine::Device,
    written: Mutex<HashMap<u64, Box<Page>>>,
    /// What the launch has for itself, as a copy of its parameters: where it begins, and its bytes.
    own: Mutex<BTreeMap<u64, u64>>,
}

impl<'a> Overlay<'a> {
    fn new(below: &'a machine::Device) -> Self {
        Self { below, written: Mutex::default(), own: Mutex::default() }
    }

    /// What is below.
    fn there(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        if address >= OWN {
            let own = lock(&self.own);
            let found = own.range(..=address).next_back();
            let end = address.saturating_add(into.len() as u64);
            into.fill(0);
            return match found.is_some_and(|(begin, bytes)| end <= begin + bytes) {
                true => Ok(()),
                false => Err(MemoryError::NotAllocated { address, bytes: into.len() as u64 }),
            };
        }
        match self.below.read(address, into) {
            true => Ok(()),
            false => Err(MemoryError::NotAllocated { address, bytes: into.len() as u64 }),
        }
    }

    /// The pages that a range touches, with where it lies in each.
    fn pages(address: u64, bytes: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = address.checked_add(done as u64).filter(|_| done < bytes)?;
            let from = (at % PAGE as u64) as usize;
            let count = (PAGE - from).min(bytes - done);
            let range = done..done + count;
            done += count;
            Some((at / PAGE as u64, from, range))
        })
    }
}

impl Buffers for Overlay<'_> {
    fn allocate(&self, bytes: u64) -> Result<u64, MemoryError> {
        let mut own = lock(&self.own);
        let last = own.last_key_value().map_or(OWN, |(begin, bytes)| begin.saturating_add(*bytes));
        // What was written to a page that others had before stays there: each begins behind all others.
        let begin = last.next_multiple_of(PAGE as u64);
        own.insert(begin, bytes);
        Ok(begin)
    }

    fn free(&self, address: u64) -> Result<(), MemoryError> {
        let freed = lock(&self.own).remove(&address);
        freed.map(|_| ()).ok_or(MemoryError::NotAllocated { address, bytes: 1 })
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        // What is no memory below is none here.
        self.there(address, &mut vec![0; from.len()])?;
        let mut written = lock(&self.written);
        for (page, at, range) in Self::pages(address, from.len()) {
            let empty = || Box::new(Page { bytes: [0; PAGE], written: [false; PAGE] });
            let page = written.entry(page).or_insert_with(empty);
            let count = range.len();
            page.bytes[at..at + count].copy_from_slice(&from[range]);
            page.written[at..at + count].fill(true);
        }
        Ok(())
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.there(address, into)?;
        let written = lock(&self.written);
        if written.is_empty() {
            return Ok(());
        }
        for (page, at, range) in Self::pages(address, into.len()) {
            let Some(page) = written.get(&page) else { continue };
            for (offset, byte) in into[range].iter_mut().enumerate() {
                if page.written[at + offset] {
                    *byte = page.bytes[at + offset];
                }
            }
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{DeviceOptions, Profile};

    #[test]
    fn what_is_written_on_top_leaves_memory_alone() {
        let options = DeviceOptions { memory_limit: Some(1 << 20), ..DeviceOptions::default() };
        let device = machine::Device::new(Profile::default(), options).expect("a device");
        let base = device.memory().allocate(1024).expect("room");
        let first: Vec<u8> = (0..1024).map(|at| at as u8).collect();
        device.memory().write(base, &first).expect("it is there");
        let overlay = Overlay::new(&device);
        // Over the edges of two pages.
        overlay.write(base + 200, &[0xaa; 400]).expect("it is there");
        let mut expected = first.clone();
        expected[200..600].fill(0xaa);
        let mut found = vec![0; 1024];
        overlay.read(base, &mut found).expect("it is there");
        assert_eq!(found, expected);
        device.memory().read(base, &mut found).expect("it is there");
        assert_eq!(found, first);
        // Memory of its own is zero, ends somewhere, and is nothing of the device's.
        let own = overlay.allocate(300).expect("room");
        overlay.write(own + 1, &[7; 8]).expect("it is there");
        let mut found = vec![1; 300];
        overlay.read(own, &mut found).expect("it is there");
        assert_eq!((found[..10].to_vec(), found[299]), (vec![0, 7, 7, 7, 7, 7, 7, 7, 7, 0], 0));
        assert!(overlay.read(own, &mut [0; 301]).is_err());
        assert!(!device.read(own, &mut [0; 1]));
        overlay.free(own).expect("it was allocated");
        assert!(overlay.free(own).is_err() && overlay.read(own, &mut [0; 1]).is_err());
        // Far behind is no memory in either.
        assert!(overlay.read(base + (1 << 30), &mut [0; 4]).is_err());
        assert!(overlay.write(base + (1 << 30), &[0; 4]).is_err());
    }
}
