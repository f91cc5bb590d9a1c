//! `warploom sim --tune`: what the compiler guesses of a kernel, found by the model, and measured on this machine's GPU if that is asked for.

use super::launch::{Code, Modelled, Shape, compile, compiled_already, refused};
use crate::failure::{Exit, Failure};
use crate::run::binding;
use crate::run::progress;
use crate::terminal::{self, thousands};
use crate::{input, run};
use machine::memory::Buffers;
use ptx::module::{Checked, Module};
use ptx::source::Source;
use ptxas::Tuning;
use ptxas::tuning::{Cost, descend};
use real_gpu::{Gpu, Launch};
use serde_json::{Value, json};
use sim::Device;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

/// Launches in a row between two events on a GPU, and how often that is measured.
const LAUNCHES: u32 = 20;
const REPEATS: usize = 9;

/// What is tuned.
pub(super) struct Subject<'a> {
    pub(super) file: &'a Path,
    pub(super) kernel: Option<&'a str>,
    pub(super) shape: Shape,
    pub(super) arguments: &'a [String],
    pub(super) device: &'a Device,
    /// Code may write other bytes than what the compiler makes by itself.
    pub(super) any_order: bool,
}

/// What was tried. No two have the same code.
pub(super) struct Tuned {
    kernel: String,
    module: Checked<Module>,
    /// The first is what the compiler makes by itself.
    tried: Vec<Tried>,
    best: usize,
    /// The GPU that all were measured on.
    gpu: Option<String>,
}

/// A tuning, and what comes of it.
struct Tried {
    tuning: Tuning,
    cost: Cost,
    /// What buffers held behind the launch, if all CTAs were executed.
    wrote: Option<u64>,
    cubin: Vec<u8>,
    /// On a GPU, of a launch.
    nanoseconds: Option<f64>,
}

impl Subject<'_> {
    /// Finds the best tuning.
    pub(super) fn tune(&self) -> Result<Tuned, Failure> {
        if run::cubin(self.file)?.is_some() {
            return Err(compiled_already(self.file));
        }
        let (source, module) = input::module(self.file)?;
        let kernel = run::request::choose(&module, self.kernel, &source)?.name.clone();
        let mut tuned = Tuned { kernel, module, tried: Vec::new(), best: 0, gpu: None };
        let mut found = Ok(None);
        progress::watch(0, ("codes", "tuning"), |report| {
            found = descend(|tuning| {
                let cost = self.cost(&source, &mut tuned, tuning);
                report.into_iter().for_each(|report| report(tuned.tried.len() as u64));
                cost
            });
        });
        let best = found?.map(|(_, cost)| cost);
        let is_best = |it: &Tried| Some(it.cost) == best && self.is_right(&tuned, it);
        tuned.best = tuned.tried.iter().position(is_best).unwrap_or(0);
        Ok(tuned)
    }

    /// What code with a tuning costs; none if it is not compiled so, or writes what it should not.
    fn cost(&self, source: &Source, tuned: &mut Tuned, tuning: Tuning) -> Result<Option<Cost>, Failure> {
        let ptxas::Compiled { cubin, kernels, .. } = match compile(&tuned.module, Some(&tuned.kernel), tuning)
        {
            Ok(compiled) => compiled,
            Err(errors) if tuned.tried.is_empty() => return Err(refused(source, &errors)),
            Err(_) => return Ok(None),
        };
        if let Some(same) = tuned.tried.iter().find(|it| it.cubin == cubin) {
            return Ok(self.is_right(tuned, same).then_some(same.cost));
        }
        let code = Code::new(self.file, &cubin, false)?;
        let Modelled { report, bound, memory } = code
            .model(&tuned.kernel, self.shape, self.arguments, self.device)
            .map_err(|stopped| stopped.failure)?;
        let wrote = match report.sampled {
            Some(_) => None,
            None => Some(contents(&bound.buffers, memory.memory())?),
        };
        let registers = kernels.first().map_or(0, |usage| usage.registers);
        let cost = Cost { cycles: report.cycles, registers };
        tuned.tried.push(Tried { tuning, cost, wrote, cubin, nanoseconds: None });
        let is_right = tuned.tried.last().is_some_and(|it| self.is_right(tuned, it));
        Ok(is_right.then_some(cost))
    }

    /// Whether code may be taken for what it writes.
    fn is_right(&self, tuned: &Tuned, it: &Tried) -> bool {
        self.any_order || !tuned.writes_other_bytes(it)
    }

    /// Measures all that was tried on this machine's GPU, in turns.
    pub(super) fn confirm(&self, tuned: &mut Tuned) -> Result<(), Failure> {
        let unsupported = |error: real_gpu::Error| Failure::new(Exit::Unsupported, error.to_string());
        let gpu = Gpu::open().map_err(unsupported)?;
        let (id, _) = tuned
            .module
            .entries()
            .find(|(_, entry)| entry.name == tuned.kernel)
            .ok_or_else(|| Failure::usage("the kernel is gone"))?;
        let parameters = machine::parameter_layout(&tuned.module, id);
        let binding = binding::bind(&tuned.kernel, &parameters, self.arguments, &gpu)?;
        binding::upload(&binding.buffers, &gpu, true)?;
        let launch = Launch {
            kernel: &tuned.kernel,
            grid: self.shape.grid,
            block: self.shape.block,
            cluster: (self.shape.cluster > 1).then_some([self.shape.cluster, 1, 1]),
            cooperative: false,
            dynamic_shared: self.shape.shared,
            params: &binding.params,
        };
        let loaded = tuned.tried.iter().map(|it| gpu.load(&it.cubin).map_err(unsupported));
        let loaded = loaded.collect::<Result<Vec<_>, _>>()?;
        let mut times = vec![Vec::new(); loaded.len()];
        for repeat in 0..=REPEATS {
            for (module, times) in loaded.iter().zip(&mut times) {
                let time = module.time(&launch, LAUNCHES).map_err(unsupported)?;
                // The first round brings the code there.
                times.extend((repeat > 0).then_some(time / f64::from(LAUNCHES)));
            }
        }
        for (it, mut times) in tuned.tried.iter_mut().zip(times) {
            times.sort_by(f64::total_cmp);
            it.nanoseconds = times.get(times.len() / 2).copied();
        }
        drop(loaded);
        tuned.gpu = Some(gpu.name().to_owned());
        Ok(())
    }
}

/// A number for what buffers hold.
fn contents(buffers: &[binding::Buffer], memory: &dyn Buffers) -> Result<u64, Failure> {
    let mut hasher = DefaultHasher::new();
    for buffer in buffers {
        let bytes = buffer.download(memory).map_err(|error| Failure::usage(error.to_string()))?;
        hasher.write(&bytes);
    }
    Ok(hasher.finish())
}

impl Tuned {
    /// The best code.
    pub(super) fn cubin(&self) -> &[u8] {
        &self.tried[self.best].cubin
    }

    fn writes_other_bytes(&self, it: &Tried) -> bool {
        it.wrote != self.tried[0].wrote
    }

    /// All that was tried, the best first.
    pub(super) fn page(&self) -> String {
        let first = &self.tried[0];
        let mut order: Vec<&Tried> = self.tried.iter().collect();
        order.sort_by_key(|it| it.cost.cycles);
        let share = |of: f64, to: f64| format!("{:+.1} %", 100.0 * (of / to - 1.0));
        let name = |it: &Tried| match it.tuning == Tuning::default() {
            true => "as it is".to_owned(),
            false => it.tuning.to_string(),
        };
        let mut head = vec!["tuning", "registers", "cycles", ""];
        let on = self.gpu.as_ref().map(|gpu| format!("us on {gpu}"));
        if let Some(on) = &on {
            head.extend([on.as_str(), ""]);
        }
        let rows = order.into_iter().map(|it| {
            let mut row = vec![
                name(it) + if self.writes_other_bytes(it) { " (writes other bytes)" } else { "" },
                it.cost.registers.to_string(),
                thousands(it.cost.cycles),
                share(it.cost.cycles as f64, first.cost.cycles as f64),
            ];
            if let (Some(time), Some(own)) = (it.nanoseconds, first.nanoseconds) {
                row.extend([format!("{:.2}", time / 1000.0), share(time, own)]);
            }
            row
        });
        let table = terminal::table(&head, rows.collect(), true);
        let best = &self.tried[self.best];
        let end = match self.best {
            0 => "nothing that was tried is better by a hundredth than the code as it is".to_owned(),
            _ => format!(
                "best: {} cycles instead of {}; a number that spares less than a hundredth stays as it was\n  warploom ptxas --sass --tuning {} ...",
                thousands(best.cost.cycles),
                thousands(first.cost.cycles),
                best.tuning
            ),
        };
        format!("{table}\n{end}\n")
    }

    pub(super) fn json(&self) -> Value {
        let tried = self.tried.iter().map(|it| {
            json!({
                "tuning": it.tuning.to_string(),
                "registers": it.cost.registers,
                "cycles": it.cost.cycles,
                "writes_other_bytes": self.writes_other_bytes(it),
                "time_ns": it.nanoseconds,
            })
        });
        json!({
            "tried": tried.collect::<Vec<_>>(),
            "best": self.tried[self.best].tuning.to_string(),
            "gpu": self.gpu,
        })
    }
}
