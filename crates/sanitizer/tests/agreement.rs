//! The sanitizer and the axioms judge the same executions.
//!
//! Litmus tests run on the virtual machine as kernels ([`memory_model::once`]), watched by the sanitizer, under several
//! schedulers and with the threads of a CTA in one warp or in several. All registers are observed, and every write writes
//! a value of its own, so that the execution is known as far as a race depends on it: reads-from and barriers. Then:
//!
//! - the outcome is one that the model allows;
//! - the sanitizer reports a race if, and only if, that very execution has one by the axioms, where no order of Fence-SC
//!   is taken for granted (which `fence.sc` comes first is the schedule's choice: `order.rs` of the sanitizer);
//! - what the sanitizer reports of a test, the model finds in some execution of the test, all orders included.
//!
//! Of tests whose values do not tell the sources, such as those that add, the last is asked alone. And where a thread writes
//! one location strongly more than once, the sanitizer may report more: of writes at one time it does not know which was
//! observed. These runs are counted.

mod schedulers;

use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile, SchedulerKind};
use memory_model::answer::{Options, Question, races_of_trace};
use memory_model::catalogue::{self, ThreadPosition};
use memory_model::event::Order;
use memory_model::facts::Base;
use memory_model::language::Version;
use memory_model::model::{Family, Model};
use memory_model::once::{self, NAME, Once};
use memory_model::program::{Comparison, Condition, Instruction, Program, Quantifier, Term, Thread};
use sanitizer::{Sanitizer, Shape, Suppressions};
use schedulers::SCHEDULERS;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// A device with memory for a test.
struct Bench {
    device: Arc<Device>,
    memory: u64,
    results: u64,
    model: Model,
    tally: Tally,
    disagreements: Vec<String>,
}

/// What was compared.
#[derive(Debug, Default)]
struct Tally {
    tests: usize,
    runs: usize,
    /// Runs whose execution was judged by the axioms, and those of them with a race.
    judged: usize,
    racy: usize,
    /// Runs without a race of which the sanitizer reports one, for it cannot tell a thread's writes apart.
    cautious: usize,
    /// Tests that have a race in some execution, and those of them in which a run showed one.
    racy_tests: usize,
    shown: usize,
}

const BYTES: u64 = 256;

impl Bench {
    fn new() -> Self {
        let options = DeviceOptions { memory_limit: Some(1 << 20), ..DeviceOptions::default() };
        let device = Device::new(Profile::default(), options).expect("a device");
        let [memory, results] = [(); 2].map(|()| device.memory().allocate(BYTES).expect("memory"));
        let model = Model::new(Family::Isa, Version(8, 6)).expect("the model");
        Self { device, memory, results, model, tally: Tally::default(), disagreements: Vec::new() }
    }

    fn load(&self, once: &Once) -> LoadedModule {
        let source = ptx::source::Source::new("once.ptx", &*once.text);
        let (module, _) =
            ptx::compile(&source).into_result().unwrap_or_else(|why| panic!("{why:?}\n{}", once.text));
        self.device.load(module).expect("it loads")
    }

    /// Runs a test under a scheduler: the values of its registers, and what the sanitizer reports.
    fn run(&self, once: &Once, module: &LoadedModule, scheduler: SchedulerKind) -> (Vec<i64>, Vec<String>) {
        for address in [self.memory, self.results] {
            self.device.memory().write(address, &[0; BYTES as usize]).expect("it is memory");
        }
        let sanitizer = Sanitizer::new("race".parse().expect("a check"), Suppressions::default());
        let (grid, block) = ([once.ctas, 1, 1], [once.threads, 1, 1]);
        let shape = Shape { kernel: NAME, grid, block, cluster: [1; 3] };
        let watch = sanitizer.begin(module.shared_module(), shape);
        let launch = Launch {
            kernel: module.kernel(NAME).expect("the kernel"),
            grid,
            block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: [self.memory, self.results].iter().flat_map(|address| address.to_le_bytes()).collect(),
        };
        let options =
            LaunchOptions { threads: 1, scheduler, observer: Some(&watch), ..LaunchOptions::default() };
        self.device.launch(&launch, &options).expect("no fault");
        watch.end();
        let mut values = [0; BYTES as usize];
        self.device.memory().read(self.results, &mut values).expect("it is memory");
        let values = values.chunks(8).take(once.terms.len());
        let values = values.map(|word| i64::from_le_bytes(word.try_into().expect("eight bytes")));
        (values.collect(), sanitizer.reports().iter().map(|report| report.text()).collect())
    }

    /// Runs a test in all ways, and compares.
    fn judge(&mut self, program: &Program) {
        let one_cta = program.threads.iter().enumerate().any(|(index, thread)| {
            program.threads[..index].iter().any(|other| other.placement == thread.placement)
        });
        let ways = if one_cta { &[false, true][..] } else { &[false] };
        let Ok(kernels) =
            ways.iter().map(|&one_warp| once::module(program, one_warp)).collect::<Result<Vec<_>, _>>()
        else {
            return;
        };
        self.tally.tests += 1;
        let race = Question::new(program, &self.model, Options::default()).race().expect("it is decided");
        let tells = once::tells_sources(program);
        let twice = program.threads.iter().any(writes_twice);
        let mut shown = false;
        // Whether the execution with these values has a race.
        let mut known: BTreeMap<Vec<i64>, Option<bool>> = BTreeMap::new();
        for once in &kernels {
            let module = self.load(once);
            for scheduler in SCHEDULERS {
                self.tally.runs += 1;
                let (values, reports) = self.run(once, &module, scheduler);
                let mut disagree = |what: String| {
                    let at = format!("{scheduler}, {:?} = {values:?}", once.terms);
                    self.disagreements.push(format!(
                        "{what}\n{at}\n{}\n{}",
                        text(program),
                        reports.join("\n")
                    ));
                };
                shown |= !reports.is_empty();
                if !reports.is_empty() && race.is_none() {
                    disagree("a race that no execution has".into());
                }
                if tells {
                    let racy = match known.entry(values.clone()) {
                        Entry::Occupied(known) => *known.get(),
                        Entry::Vacant(new) => {
                            *new.insert(is_racy(&self.model, program, &once.terms, &values))
                        }
                    };
                    self.tally.judged += 1;
                    self.tally.racy += usize::from(racy == Some(true));
                    match racy {
                        None => disagree("an outcome that is forbidden".into()),
                        Some(false) if !reports.is_empty() && twice => self.tally.cautious += 1,
                        Some(racy) if racy == reports.is_empty() => {
                            disagree(format!("by the axioms, a race: {racy}"));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        self.tally.racy_tests += usize::from(race.is_some());
        self.tally.shown += usize::from(shown);
    }
}

/// Whether the execution in which the registers have these values has a race; none if there is no such execution.
fn is_racy(model: &Model, program: &Program, terms: &[Term], values: &[i64]) -> Option<bool> {
    let is = |(term, value): (&Term, &i64)| Condition::Compare(Comparison::Eq, *term, Term::Constant(*value));
    let all = terms.iter().zip(values).map(is);
    let condition = all.reduce(|all, next| Condition::And(Box::new(all), Box::new(next)));
    let zero = Condition::Compare(Comparison::Eq, Term::Constant(0), Term::Constant(0));
    let mut program = program.clone();
    (program.filter, program.quantifier) = (None, Quantifier::Exists);
    program.condition = condition.unwrap_or(zero);
    let verdict = Question::new(&program, model, Options::default()).verdict().expect("it is decided");
    let mut facts = verdict.execution?.facts;
    let n = facts.len();
    facts.base_mut(Base::Scf).clear(n);
    Some(!races_of_trace(&facts, model).is_empty())
}

/// Whether a thread writes one location strongly more than once.
fn writes_twice(thread: &Thread) -> bool {
    let written = |instruction: &Instruction| match instruction {
        Instruction::Store { access, .. } if access.order != Order::Weak => Some(access.bytes.object),
        Instruction::Atomic { access, .. } => Some(access.bytes.object),
        _ => None,
    };
    let mut objects: Vec<u32> = thread.code.iter().filter_map(written).collect();
    let all = objects.len();
    objects.sort_unstable();
    objects.dedup();
    objects.len() < all
}

fn text(program: &Program) -> String {
    let thread = |thread: &Thread| {
        format!("{} in CTA {:?}: {}", thread.name, thread.placement, thread.texts.join("; "))
    };
    program.threads.iter().map(thread).collect::<Vec<_>>().join("\n")
}

/// The tests of the catalogue, each in every choice of CTAs; every so many of them.
fn catalogue(step: usize) -> impl Iterator<Item = Program> {
    let with_places = catalogue::all()
        .into_iter()
        .flat_map(|(columns, places)| places.into_iter().map(move |places| (columns.clone(), places)));
    with_places.step_by(step).filter_map(|(columns, mut places)| {
        // A warp is of no meaning here, and CTAs are in clusters of their own.
        places.iter_mut().for_each(|place| place.warp = 0);
        catalogue::program("test", &columns, &places).ok()
    })
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

const INSTRUCTIONS: [&str; 20] = [
    "ld.weak {r}, {x}",
    "ld.weak {r}, {x}",
    "st.weak {x}, {v}",
    "st.weak {x}, {v}",
    "ld.relaxed.cta {r}, {x}",
    "ld.relaxed.gpu {r}, {x}",
    "st.relaxed.cta {x}, {v}",
    "st.relaxed.gpu {x}, {v}",
    "ld.acquire.cta {r}, {x}",
    "ld.acquire.gpu {r}, {x}",
    "st.release.cta {x}, {v}",
    "st.release.gpu {x}, {v}",
    "atom.relaxed.gpu.exch {r}, {x}, {v}",
    "atom.acq_rel.gpu.exch {r}, {x}, {v}",
    "atom.acq_rel.cta.exch {r}, {x}, {v}",
    "atom.acquire.gpu.cas {r}, {x}, 0, {v}",
    "fence.acq_rel.gpu",
    "fence.acq_rel.cta",
    "fence.sc.gpu",
    "fence.acq_rel.gpu",
];

/// A program of two to four threads with up to four instructions each, on two or three locations.
fn random(random: &mut Random) -> Option<Program> {
    let threads = 2 + random.below(3);
    let locations = 2 + random.below(2);
    let mut value = 0;
    let mut columns = Vec::new();
    for _ in 0..threads {
        let mut register = 0;
        let mut line = |template: &str, random: &mut Random| {
            let location = ["x", "y", "z"][random.below(locations)];
            let mut line = template.replace("{x}", location);
            if line.contains("{r}") {
                line = line.replace("{r}", &format!("r{register}"));
                register += 1;
            }
            if line.contains("{v}") {
                value += 1;
                line = line.replace("{v}", &value.to_string());
            }
            line
        };
        let lines: Vec<String> = (0..1 + random.below(4))
            .map(|_| {
                let template = INSTRUCTIONS[random.below(INSTRUCTIONS.len())];
                line(template, random)
            })
            .collect();
        columns.push(lines);
    }
    let mut ctas = 1 + random.below(threads);
    // One in four is of one CTA, whose threads all come to a barrier.
    if random.below(4) == 0 {
        ctas = 1;
        for lines in &mut columns {
            lines.insert(random.below(lines.len() + 1), "bar.cta.sync 1".to_owned());
        }
    }
    let columns: Vec<String> = columns.iter().map(|lines| lines.join("; ")).collect();
    let places: Vec<ThreadPosition> = (0..threads)
        .map(|_| ThreadPosition { cluster: random.below(ctas) as u32, ..ThreadPosition::default() })
        .collect();
    catalogue::program("test", &columns, &places).ok()
}

fn compare(step: usize, programs: usize) -> Tally {
    let mut bench = Bench::new();
    catalogue(step).for_each(|program| bench.judge(&program));
    let mut numbers = Random(0x9e37_79b9_7f4a_7c15);
    (0..programs).filter_map(|_| random(&mut numbers)).for_each(|program| bench.judge(&program));
    println!("{:?}", bench.tally);
    let some: Vec<&String> = bench.disagreements.iter().step_by(bench.disagreements.len() / 8 + 1).collect();
    for disagreement in &some {
        println!("{disagreement}\n");
    }
    assert!(some.is_empty(), "{} disagreements, of which some are above", bench.disagreements.len());
    assert!(bench.tally.cautious * 1_000 <= bench.tally.judged, "{:?}", bench.tally);
    bench.tally
}

#[test]
fn the_sanitizer_agrees_with_the_axioms() {
    let tally = compare(10, 1_500);
    assert!(tally.tests > 2_000 && tally.judged > 20_000, "{tally:?}");
    assert!(tally.racy > 5_000 && tally.judged - tally.racy > 5_000, "{tally:?}");
}

#[test]
#[ignore = "minutes; run with -- --ignored"]
fn on_the_whole_catalogue() {
    let programs = std::env::var("AGREEMENT_PROGRAMS").ok().and_then(|text| text.parse().ok());
    compare(1, programs.unwrap_or(20_000));
}
