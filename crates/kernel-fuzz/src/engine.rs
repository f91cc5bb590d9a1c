//! Running a case on the machine, interpreted and compiled.

use crate::case::Case;
use jit::{Effort, Jit};
use machine::compiled::Engine;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use ptx::source::Source;
use std::sync::Arc;

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What memory holds.
    Memory(Vec<u8>),
    /// It was not run to its end.
    Stopped(String),
    /// The engine leaves it to the interpreter.
    Declined(String),
}

/// The engines of the machine.
#[derive(Debug)]
pub struct Engines {
    device: Arc<Device>,
    /// The compiled engine, with each effort.
    jits: Result<[(&'static str, Jit); 2], String>,
}

/// Warp instructions that a case may issue. Loops count to seven, four deep.
const BUDGET: u64 = 1 << 26;
/// Bytes of global memory.
const MEMORY: u64 = 64 << 20;

/// A device for cases.
pub(crate) fn device() -> Result<Arc<Device>, String> {
    let options = DeviceOptions { memory_limit: Some(MEMORY), ..DeviceOptions::default() };
    Device::new(Profile::default(), options).map_err(|error| error.to_string())
}

/// The launch of a case's kernel.
pub(crate) fn launch<'a>(
    case: &Case,
    module: &'a LoadedModule,
    params: Vec<u8>,
) -> Result<Launch<'a>, String> {
    Ok(Launch {
        kernel: module.kernel("kernel").ok_or("no entry `kernel`")?,
        grid: [case.ctas, 1, 1],
        block: case.block,
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params,
    })
}

impl Engines {
    /// The engines that this host has.
    ///
    /// # Errors
    /// If the host has no memory for a device.
    pub fn find() -> Result<Self, String> {
        let device = device()?;
        let jit = |effort| Jit::find().map(|jit| jit.always(effort)).map_err(|why| why.to_string());
        let jits =
            jit(Effort::Quick).and_then(|quick| Ok([("quick: ", quick), ("full: ", jit(Effort::Full)?)]));
        Ok(Self { device, jits })
    }

    /// Why nothing is compiled here, if so.
    pub fn without_jit(&self) -> Option<&str> {
        self.jits.as_ref().err().map(String::as_str)
    }

    /// What the interpreter makes of a case.
    pub fn interpret(&self, case: &Case) -> Outcome {
        self.run(case, None)
    }

    /// What compiled code makes of it, by the effort that was put into it.
    pub fn compile(&self, case: &Case) -> Vec<(&'static str, Outcome)> {
        match &self.jits {
            Ok(jits) => jits.iter().map(|(effort, jit)| (*effort, self.run(case, Some(jit)))).collect(),
            Err(why) => vec![("", Outcome::Declined(why.clone()))],
        }
    }

    fn run(&self, case: &Case, engine: Option<&dyn Engine>) -> Outcome {
        self.attempt(case, engine).unwrap_or_else(Outcome::Stopped)
    }

    fn attempt(&self, case: &Case, engine: Option<&dyn Engine>) -> Result<Outcome, String> {
        let source = Source::new("kernel.ptx", case.text.as_str());
        let module = ptx::compile(&source).into_result().map_err(|wrong| {
            let (line, column) = source.line_column(wrong[0].span.start);
            format!("{line}:{column}: {} {}", wrong[0].code, wrong[0].message)
        })?;
        let module = self.device.load(module.0).map_err(|error| error.to_string())?;
        let placed = case.place(self.device.memory()).map_err(|error| error.to_string())?;
        let launch = launch(case, &module, placed.params.clone())?;
        // The interpreter calls functions that engines find in the kernel's code.
        let calls = engine.is_none();
        let options =
            LaunchOptions { threads: 1, engine, calls, budget: Some(BUDGET), ..LaunchOptions::default() };
        let report = self.device.launch(&launch, &options);
        let memory = placed.take(self.device.memory()).map_err(|error| error.to_string())?;
        match report.map_err(|error| error.to_string())?.compiled {
            Some(Err(why)) => Ok(Outcome::Declined(why)),
            None | Some(Ok(())) => Ok(Outcome::Memory(memory)),
        }
    }
}

/// What differs from one outcome in others, which are named, if anything does.
pub fn differences(one: &Outcome, others: &[(&str, Outcome)]) -> Option<String> {
    others.iter().find_map(|(name, other)| Some(format!("{name}{}", difference(one, other)?)))
}

/// What differs between two outcomes, for people; nothing if one engine has left the case to the other. What no engine runs to its
/// end is a mistake of the generator, and as bad.
pub fn difference(one: &Outcome, other: &Outcome) -> Option<String> {
    match (one, other) {
        (Outcome::Stopped(why), Outcome::Declined(_)) => Some(format!("not run: {why}")),
        (Outcome::Declined(_), _) | (_, Outcome::Declined(_)) => None,
        (Outcome::Memory(one), Outcome::Memory(other)) => {
            let at = one.iter().zip(other).position(|(one, other)| one != other)?;
            let all = one.iter().zip(other).filter(|(one, other)| one != other).count();
            let word = at & !7;
            Some(format!(
                "{all} bytes differ, first at {at}: {:02x?} and {:02x?}",
                &one[word..one.len().min(word + 8)],
                &other[word..other.len().min(word + 8)]
            ))
        }
        (Outcome::Stopped(one), Outcome::Stopped(other)) => Some(format!("not run: {one}; {other}")),
        (Outcome::Stopped(why), Outcome::Memory(_)) => Some(format!("only the first stopped: {why}")),
        (Outcome::Memory(_), Outcome::Stopped(why)) => Some(format!("only the second stopped: {why}")),
    }
}
