//! `warploom litmus FILE.ptx --kernel NAME`: a small launch of a kernel under the memory model.

use super::undecided;
use crate::failure::{Exit, Failure};
use crate::run::binding;
use crate::run::request::Extents;
use crate::{input, terminal};
use machine::ParameterLayout;
use machine::memory::{Buffers, MemoryError};
use memory_model::answer::{Options, Question, Verdict};
use memory_model::explain;
use memory_model::from_kernel::{self, Buffer, FAILED, FromKernel, Launch};
use memory_model::model::Model;
use memory_model::program::Term;
use ptx::module::{Function, Module, Param};
use reports::litmus::{Test, certify};
use serde_json::json;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// How a kernel is launched.
#[derive(Debug, clap::Args)]
#[group(id = "launch")]
pub(super) struct Arguments {
    /// Check a launch of this kernel, as far as the memory model goes
    #[arg(short, long, value_name = "NAME")]
    pub(super) kernel: Option<String>,
    /// CTAs of the grid: X[,Y[,Z]]
    #[arg(short, long, value_name = "X[,Y[,Z]]", default_value = "1", requires = "kernel")]
    grid: Extents,
    /// Threads of a CTA: X[,Y[,Z]]
    #[arg(short, long, value_name = "X[,Y[,Z]]", default_value = "1", requires = "kernel")]
    block: Extents,
    /// CTAs of a cluster: X[,Y[,Z]]
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1", requires = "kernel")]
    cluster: Extents,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "kernel")]
    shared: u32,
    /// A value for each parameter of the kernel, in order, as `warploom run` takes them; NAME=VALUE names a buffer
    #[arg(long = "arg", value_name = "[NAME=]VALUE", allow_negative_numbers = true, requires = "kernel")]
    values: Vec<String>,
    /// What memory must be like in the end, such as 'forall (x[0] == 2)', of buffers and global variables
    #[arg(long, value_name = "CONDITION", requires = "kernel")]
    condition: Option<String>,
}

/// Memory that buffers are placed in before there is a test.
#[derive(Default)]
struct Placed(Mutex<Vec<(u64, Vec<u8>)>>);

/// The most bytes of a buffer.
const MAX_BUFFER: u64 = 1 << 16;

impl Placed {
    fn with<T>(&self, address: u64, bytes: u64, then: impl FnOnce(&mut [u8]) -> T) -> Result<T, MemoryError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut()
            .find_map(|(base, contents)| {
                let start = usize::try_from(address.checked_sub(*base)?).ok()?;
                contents.get_mut(start..start.checked_add(bytes as usize)?)
            })
            .map(then)
            .ok_or(MemoryError::NotAllocated { address, bytes })
    }
}

impl Buffers for Placed {
    fn allocate(&self, bytes: u64) -> Result<u64, MemoryError> {
        if bytes > MAX_BUFFER {
            return Err(MemoryError::OutOfMemory { requested: bytes, free: MAX_BUFFER, limit: MAX_BUFFER });
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = 0x7000_0000_0000 + 2 * MAX_BUFFER * all.len() as u64;
        all.push((address, vec![0; bytes as usize]));
        Ok(address)
    }

    fn free(&self, _: u64) -> Result<(), MemoryError> {
        Ok(())
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        self.with(address, from.len() as u64, |bytes| bytes.copy_from_slice(from))
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.with(address, into.len() as u64, |bytes| into.copy_from_slice(bytes))
    }
}

fn parameters(module: &Module, kernel: &Function) -> Vec<ParameterLayout> {
    let mut next = 0u64;
    let memory = |param: &Param| match param {
        Param::Memory(variable) => Some(&module.variables[variable.index()]),
        Param::Register(_) | Param::RegisterType(_) => None,
    };
    let place = |variable: &ptx::module::Variable| {
        let offset = next.next_multiple_of(u64::from(variable.align.max(1)));
        next = offset + variable.size;
        let (offset, size) = (offset as u32, variable.size as u32);
        ParameterLayout { name: variable.name.clone(), ty: variable.ty, offset, size }
    };
    kernel.params.iter().filter_map(memory).map(place).collect()
}

/// `NAME=VALUE`, if the name is one.
fn named(argument: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match argument.split_once('=') {
        Some((name, value)) if is_name(name) => (Some(name), value),
        _ => (None, argument),
    }
}

fn launch(arguments: &Arguments, module: &Module, name: &str) -> Result<Launch, Failure> {
    let entry = module.entries().find(|(_, entry)| entry.name == name);
    let (_, entry) = entry.ok_or_else(|| Failure::usage(format!("there is no kernel `{name}`")))?;
    let mut layout = parameters(module, entry);
    let mut values = Vec::new();
    for (index, argument) in arguments.values.iter().enumerate() {
        let (name, value) = named(argument);
        if let (Some(name), Some(parameter)) = (name, layout.get_mut(index)) {
            parameter.name = name.to_owned();
        }
        values.push(value.to_owned());
    }
    let memory = Placed::default();
    let bound = binding::bind(name, &layout, &values, &memory)?;
    let mut buffers = Vec::new();
    for buffer in &bound.buffers {
        let read = buffer.upload(&memory, true).and_then(|()| buffer.download(&memory));
        let bytes = read.map_err(|error| Failure::usage(error.to_string()))?;
        let (name, element) = (buffer.name.clone(), buffer.element.bytes() as u32);
        buffers.push(Buffer { name, address: buffer.address, bytes, element });
    }
    Ok(Launch {
        kernel: name.to_owned(),
        grid: arguments.grid.0,
        block: arguments.block.0,
        cluster: arguments.cluster.0,
        shared: arguments.shared,
        parameters: bound.params,
        buffers,
        condition: arguments.condition.clone(),
    })
}

/// Checks a launch: what is asked of memory, whether a thread fails, races, and whether it always ends.
pub(super) fn execute(arguments: &super::Arguments, path: &Path, name: &str) -> Result<Exit, Failure> {
    let (_, module) = input::module(path)?;
    let launch = launch(&arguments.launch, &module, name)?;
    let test = from_kernel::parse(&module, &launch)
        .map_err(|message| Failure::new(Exit::Unsupported, format!("{}: {message}", path.display())))?;
    let version = arguments.ptx.unwrap_or(test.version);
    let family = arguments.model.family();
    let model = Model::new(family, version)
        .ok_or_else(|| Failure::usage(format!("there is no memory model for PTX {version}")))?;
    let options = Options { bound: arguments.bound, ..Options::default() };
    let loaded = Test { program: test.program.clone(), model };
    report(arguments, path, &test, &loaded, options)
}

/// What an answer is about, in the end.
struct Said {
    text: String,
    /// Whether something is wrong.
    found: bool,
}

fn report(
    arguments: &super::Arguments,
    path: &Path,
    test: &FromKernel,
    loaded: &Test,
    options: Options,
) -> Result<Exit, Failure> {
    let Test { program, model } = loaded;
    let fail = undecided(path);
    let question = Question::new(program, model, options);
    let mut certified = true;
    let mut truncated = false;
    let mut ask = |program: &memory_model::program::Program| -> Result<Verdict, Failure> {
        let question = Question::new(program, model, options);
        let verdict = question.verdict().map_err(&fail)?;
        certified &= certify(program, model, &question, &verdict, options).map_err(&fail)?;
        truncated |= verdict.truncated;
        Ok(verdict)
    };
    let condition = arguments.launch.condition.is_some().then(|| ask(program)).transpose()?;
    let failing = test.failing();
    let failure = failing.as_ref().map(&mut ask).transpose()?;
    let race = question.race().map_err(&fail)?;
    let liveness = question.liveness().map_err(&fail)?;
    truncated |= liveness.truncated;

    let shown = |verdict: &Verdict, program| {
        let execution = verdict.execution.as_ref();
        execution.map(|execution| explain::text(program, model, execution)).unwrap_or_default()
    };
    let asked = condition.as_ref().map(|verdict| {
        let holds = if verdict.holds { "holds" } else { "does not hold" };
        let text = format!("{}: {holds}\n{}", program.assertion, shown(verdict, program));
        Said { text, found: !verdict.holds }
    });
    let failed = match (&failing, &failure) {
        (Some(failing), Some(verdict)) if !verdict.holds => {
            let whom = failures(test, verdict).join(", ");
            Said { text: format!("a thread can fail: {whom}\n{}", shown(verdict, failing)), found: true }
        }
        _ => Said { text: "no thread fails\n".into(), found: false },
    };
    let raced = match &race {
        Some(race) => {
            let of = |event| explain::describe(program, &race.execution, event);
            let text = format!("data race: {} and {}\n", of(race.pair.0), of(race.pair.1));
            Said { text, found: true }
        }
        None => Said { text: "no data race\n".into(), found: false },
    };
    let ends = match &liveness.stuck {
        Some((threads, execution)) => {
            let names: Vec<&str> = threads.iter().map(|&thread| &*program.threads[thread].name).collect();
            let execution = explain::text(program, model, execution);
            let text = format!("does not always end: {} can be stuck\n{execution}", names.join(", "));
            Said { text, found: true }
        }
        None => Said { text: "every execution ends\n".into(), found: false },
    };
    let found = asked.iter().chain([&failed, &raced, &ends]).any(|said| said.found) || !certified;
    if arguments.json {
        terminal::json(&json!({
            "file": path.display().to_string(),
            "kernel": program.name,
            "threads": program.threads.len(),
            "model": model.family.name(),
            "ptx": model.version.to_string(),
            "assertion": arguments.launch.condition,
            "holds": condition.as_ref().map(|verdict| verdict.holds),
            "fails": failure.as_ref().map_or(Vec::new(), |verdict| failures(test, verdict)),
            "race": race.is_some(),
            "terminates": liveness.terminates,
            "bounded": truncated,
            "certified": certified,
        }))?;
    } else {
        let threads = terminal::count(program.threads.len(), "thread");
        let mut out = format!("{}: kernel {} of {threads} ({model})\n", path.display(), program.name);
        for said in asked.iter().chain([&failed, &raced, &ends]) {
            out.push_str(&format!("  {}", said.text));
        }
        if truncated {
            let bound = arguments.bound;
            out.push_str(&format!("  up to {bound} rounds of loops with effects; more were not looked at\n"));
        }
        out.push_str(if certified { "  certificates: accepted\n" } else { "  certificates: REJECTED\n" });
        terminal::result(&out)?;
    }
    Ok(if found { Exit::Findings } else { Exit::Ok })
}

/// Which threads fail in an execution, and how.
fn failures(test: &FromKernel, verdict: &Verdict) -> Vec<String> {
    let outcome = verdict.execution.iter().flat_map(|execution| &execution.outcome);
    outcome
        .filter_map(|(term, value)| {
            let Term::Register(thread, register) = *term else { return None };
            let thread = &test.program.threads[thread];
            let how = test.failures.get(usize::try_from(*value).ok()?.checked_sub(1)?)?;
            (thread.registers[register] == FAILED).then(|| format!("{}: {how}", thread.name))
        })
        .collect()
}
