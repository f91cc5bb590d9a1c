//! How long it takes to compile a kernel, with each effort: from PTX that was checked to code that can be called, without a cache.
//!
//! The throughput is of PTX instructions. `WARPLOOM_BENCH_PTX` names a file whose kernels are compiled instead, in blocks of
//! 256 threads.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ir::Function;
use jit::{Effort, Jit};
use machine::compiled::{Background, Code, Engine, EngineId, Source};
use machine::{Device, DeviceOptions, Profile};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the stopwatch says in place of code.
const DONE: &str = "it is only compiled";

/// Compiles a kernel as often as it is told, and keeps nothing.
struct Stopwatch<'a> {
    jit: &'a Jit,
    id: EngineId,
    times: u64,
    took: Mutex<(Duration, usize)>,
}

impl Engine for Stopwatch<'_> {
    fn id(&self) -> EngineId {
        self.id
    }

    fn background(&self) -> Option<&dyn Background> {
        None
    }

    fn compile(&self, source: &Source<'_>) -> Result<Arc<dyn Code>, String> {
        let function = Function::lower(source.module(), source.kernel());
        let instructions = function.map_or(0, |function| function.instructions.iter().flatten().count());
        let begun = Instant::now();
        for _ in 0..self.times {
            self.jit.compile(source)?;
        }
        *self.took.lock().unwrap() = (begun.elapsed(), instructions);
        Err(DONE.to_owned())
    }

    fn declined(&self, _: &str, _: &str) {}
}

fn compile(c: &mut Criterion) {
    let file = std::env::var_os("WARPLOOM_BENCH_PTX");
    let text = file.map(|file| std::fs::read_to_string(file).expect("a readable file"));
    let text = text.as_deref().unwrap_or(include_str!("../tests/kernels/ordinary.ptx"));
    let (module, _) =
        ptx::compile(&ptx::source::Source::new("kernels.ptx", text)).into_result().expect("a correct module");
    let names: Vec<String> = module.entries().map(|(_, entry)| entry.name.to_string()).collect();
    let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
    let module = device.load(module).expect("a loaded module");
    for (name, effort) in [("quick", Effort::Quick), ("full", Effort::Full)] {
        let jit = match Jit::find() {
            Ok(jit) => jit.always(effort),
            Err(why) => return eprintln!("skipped: {why}"),
        };
        let mut group = c.benchmark_group(name);
        group.sample_size(10).measurement_time(Duration::from_secs(3));
        for name in &names {
            let kernel = module.kernel(name).expect("the kernel");
            let time = |times| {
                let engine = Stopwatch { jit: &jit, id: EngineId::fresh(), times, took: Mutex::default() };
                assert_eq!(kernel.compiles(&engine, [256, 1, 1]), Err(DONE.to_owned()), "{name}");
                engine.took.into_inner().unwrap()
            };
            group.throughput(Throughput::Elements(time(1).1 as u64));
            group.bench_function(BenchmarkId::from_parameter(name), |b| b.iter_custom(|times| time(times).0));
        }
        group.finish();
    }
}

criterion_group!(benches, compile);
criterion_main!(benches);
