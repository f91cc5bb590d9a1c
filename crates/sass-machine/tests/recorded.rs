//! The recorded cases of the instruction table, what an H200 gave of each form, by our own ptxas on this machine.
//!
//! Two of each form run with every test; all of them at both levels, which takes ten minutes of one core, with
//! `cargo test -p warploom-sass-machine --test recorded -- --ignored`.

use conformance::Case;
use conformance::engine::{Failure, Machine, Module, OBJECT_INDEX, Shape};
use conformance::inputs::Made;
use conformance::recording::{Entry, Recording};
use machine::Device;
use ptx::isa::FormId;
use ptx::source::Source;
use ptxas::Level;
use sass_machine::{Launch, Loaded, Program};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Machine instructions that a case may issue.
const BUDGET: u64 = 1 << 28;
/// So many cases of a form are among those that always run.
const SAMPLES: usize = 2;

/// What became of a case that has not given what was recorded.
enum Ended {
    /// It was not compiled, or not executed, and why.
    Not(String),
    Differs(String),
}

fn run(device: &Device, program: &Program, shape: &Shape, cluster: u32) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(error.to_string());
    let textures = device.texture_unit();
    let loaded =
        Loaded::new(program, device.memory()).map_err(|error| failed(&error))?.with_textures(&textures);
    if let Some(text) = loaded.not_executed("k0").into_iter().next() {
        return Err(Failure::Unsupported(text));
    }
    let launch = Launch {
        kernel: "k0",
        grid: shape.grid,
        block: shape.block,
        cluster,
        dynamic_shared: 0,
        params: &shape.params,
        budget: BUDGET,
        timed: false,
    };
    loaded.launch(&launch).fault.map_or(Ok(()), |fault| Err(failed(&fault)))
}

fn judge(machine: &Machine, made: &Made, case: &Case, entry: &Entry, level: Level) -> Result<(), Ended> {
    let text = Module::new(vec![case]).text;
    let compiled = ptx::compile(&Source::new("case.ptx", text.as_str())).into_result();
    let (module, _) = compiled.map_err(|why| Ended::Differs(why[0].message.clone()))?;
    let bounds = module.entries().next().map(|(_, kernel)| kernel.bounds.clone()).unwrap_or_default();
    let cluster = bounds.req_nctapercluster.map_or(1, |[x, ..]| x);
    let compiled = ptxas::compile_entries(&module, level, |_| true);
    let cubin = compiled.map_err(|why| Ended::Not(format!("not compiled: {}", why[0].label)))?.cubin;
    let rows = made.rows(&case.inputs);
    let program = Program::read(&cubin, false).map_err(|error| Ended::Differs(error.to_string()))?;
    let object = program.parameters("k0").get(OBJECT_INDEX).map_or(0, |object| usize::from(object.offset));
    let words = machine.run_by(case, &rows, (case.inputs.count(&rows), object), None, |device, shape| {
        run(device, &program, &shape, cluster)
    });
    let words = words.map_err(|why| match why {
        // The mnemonic and its modifiers.
        Failure::Unsupported(text) => Ended::Not(format!("not executed: {}", sass::Instruction::head(&text))),
        Failure::Failed(why) => Ended::Differs(why),
    })?;
    let now = Entry::new(case, &rows, &words);
    (now == *entry).then_some(()).ok_or_else(|| {
        Ended::Differs(format!("the first row is {:x?}, recorded {:x?}", now.first, entry.first))
    })
}

/// Judges cases at a level; those that are not compiled or not executed, by why.
fn all(cases: &[(Case, &Entry)], level: Level) -> BTreeMap<String, usize> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new((BTreeMap::new(), Vec::new()));
    let made = Made::default();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                let machine = Machine::new().expect("a machine");
                while let Some((case, entry)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Err(ended) = judge(&machine, &made, case, entry, level) else { continue };
                    let (not, differ) = &mut *found.lock().unwrap_or_else(PoisonError::into_inner);
                    match ended {
                        Ended::Not(why) => *not.entry(why).or_default() += 1,
                        Ended::Differs(what) => differ.push(format!("{}: {what}", case.name)),
                    }
                }
            });
        }
    });
    let (not, mut differ) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    differ.sort();
    let shown = differ[..differ.len().min(60)].join("\n");
    assert!(differ.is_empty(), "{} cases differ at {level:?}:\n{shown}\n{not:#?}", differ.len());
    not
}

/// Recorded cases: of each form so many, from all over its modifiers.
fn cases(recording: &Recording, of_each: usize) -> Vec<(Case, &Entry)> {
    let mut chosen = Vec::new();
    for form in FormId::all().filter(|form| form.data().sem.is_some()) {
        let cases = conformance::case::cases(form).unwrap_or_default().into_iter();
        let cases: Vec<_> =
            cases.filter_map(|case| recording.entries.get(&case.name).map(|entry| (case, entry))).collect();
        let step = cases.len().div_ceil(of_each).max(1);
        chosen.extend(cases.into_iter().step_by(step));
    }
    chosen
}

fn recording() -> Recording {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(Recording::PATH);
    Recording::read(&path).expect("the recording is in the repository")
}

#[test]
fn some_of_each_form() {
    let recording = recording();
    let cases = cases(&recording, SAMPLES);
    let left = all(&cases, Level::Overlapped);
    assert_eq!(left, BTreeMap::new());
    assert!(cases.len() > 900, "{} cases", cases.len());
}

#[test]
#[ignore = "it takes ten minutes"]
fn every_recorded_case() {
    let recording = recording();
    let cases = cases(&recording, usize::MAX);
    for level in [Level::Overlapped, Level::Serial] {
        let left = all(&cases, level);
        assert_eq!(left, BTreeMap::new());
        assert_eq!(cases.len(), 23_803);
    }
}
