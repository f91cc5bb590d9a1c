//! Kernels of one pattern, launched with checks on several host threads and on one.

use machine::fault::Access;
use machine::observe::Observer;
use machine::{Device, DeviceOptions, Launch, LaunchError, LaunchOptions, LoadedModule, Profile};
use sanitizer::{Moment, Report, Sanitizer, Shape, Suppressions};
use std::sync::Arc;

/// Kernels with a pointer. There are 64 CTAs of 64 threads, thread `i` of the grid has word `i`.
fn text(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 tile[256];\n\
        .func increment(.param .b64 a)\n{{\n.reg .u64 %d;\n.reg .b32 %r;\nld.param.b64 %d, [a];\nld.global.u32 %r, [%d];\n\
        add.u32 %r, %r, 1;\nst.global.u32 [%d], %r;\nret;\n}}\n\
        .visible .entry k(.param .u64 p)\n{{\n.reg .u64 %d<4>;\n.reg .b32 %r<8>;\n.reg .pred %p<3>;\n\
        ld.param.u64 %d0, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r2, %r1, 64, %r0;\n\
        mul.wide.u32 %d1, %r2, 4;\nadd.u64 %d1, %d0, %d1;\n{body}\nret;\n}}\n"
    )
}

pub(crate) const WORDS: usize = 64 * 64;
pub(crate) const BYTES: u64 = 4 * WORDS as u64;

pub(crate) struct Program {
    pub(crate) device: Arc<Device>,
    pub(crate) module: LoadedModule,
    pub(crate) buffer: u64,
    pub(crate) ctas: u32,
}

/// What has come of a launch: host threads of each try, reports, words that are others than before.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) tries: Vec<usize>,
    pub(crate) reports: Vec<String>,
    pub(crate) changed: Vec<(usize, u32)>,
}

impl Program {
    pub(crate) fn new(body: &str) -> Self {
        let source = ptx::source::Source::new("k.ptx", text(body));
        let (module, _) = ptx::compile(&source).into_result().expect("it compiles");
        let options = DeviceOptions { memory_limit: Some(1 << 20), ..DeviceOptions::default() };
        let device = Device::new(Profile::default(), options).expect("a device");
        let module = device.load(module).expect("it loads");
        let buffer = device.memory().allocate(BYTES).expect("memory");
        let program = Self { device, module, buffer, ctas: 64 };
        program.reset();
        program
    }

    /// Words are their numbers again.
    pub(crate) fn reset(&self) {
        let words = (0..WORDS as u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>();
        self.device.memory().write(self.buffer, &words).expect("it is there");
    }

    /// Launches after a moment, on so many host threads if that can be; how many they were in each try, and what comes after.
    pub(crate) fn launch(
        &self,
        sanitizer: &Sanitizer,
        threads: usize,
        after: &Moment,
    ) -> (Vec<usize>, Moment) {
        let (grid, block, cluster) = ([self.ctas, 1, 1], [64, 1, 1], [1; 3]);
        let shape = Shape { kernel: "k", grid, block, cluster };
        let watch = sanitizer.begin_after(self.module.shared_module(), shape, after);
        let launch = Launch {
            kernel: self.module.kernel("k").expect("the kernel"),
            grid,
            block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: self.buffer.to_le_bytes().to_vec(),
        };
        let mut tries = Vec::new();
        let result = watch.run(&self.device, threads, |observer: &dyn Observer, threads| {
            tries.push(threads);
            let options = LaunchOptions { threads, observer: Some(observer), ..LaunchOptions::default() };
            self.device.launch(&launch, &options)
        });
        let moment = watch.end();
        if let Err(LaunchError::Fault(fault)) = result {
            sanitizer.fault(&fault);
        }
        (tries, moment)
    }

    /// A report, whose addresses are those of its memory.
    fn told(&self, report: &Report) -> String {
        let text = report.text();
        let mut parts = text.split("0x");
        let mut told = parts.next().expect("there is always one").to_owned();
        for part in parts {
            let end = part.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(part.len());
            let address = u64::from_str_radix(&part[..end], 16).expect("a number");
            told += &format!("{}{}", address - self.buffer, &part[end..]);
        }
        told
    }

    pub(crate) fn outcome(&self, sanitizer: &Sanitizer, tries: Vec<usize>) -> Outcome {
        let mut memory = vec![0; BYTES as usize];
        self.device.memory().read(self.buffer, &mut memory).expect("it is there");
        let reports = sanitizer.reports().iter().map(|report| self.told(report)).collect();
        let words = memory.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four")));
        let changed = words.enumerate().filter(|(at, word)| *at as u32 != *word).collect();
        Outcome { tries, reports, changed }
    }
}

pub(crate) fn sanitizer() -> Sanitizer {
    Sanitizer::new("all".parse().expect("all checks"), Suppressions::default()).sharing()
}

/// Runs a kernel once, whose memory nobody has written if it is to be fresh.
fn run(body: &str, threads: usize, fresh: bool) -> Outcome {
    let (program, sanitizer) = (Program::new(body), sanitizer());
    if fresh {
        sanitizer.allocated(program.buffer, BYTES);
    }
    let (tries, _) = program.launch(&sanitizer, threads, &sanitizer.now());
    program.outcome(&sanitizer, tries)
}

/// Whether a kernel leaves what it leaves on one host thread, is judged alike, and is run so often.
pub(crate) fn check(body: &str, fresh: bool, tries: &[usize]) -> Outcome {
    let (spread, alone) = (run(body, 4, fresh), run(body, 1, fresh));
    assert_eq!(alone.tries, [1]);
    assert!(spread.changed == alone.changed, "{:?}", spread.changed.len());
    assert_eq!((&spread.reports, &spread.tries[..]), (&alone.reports, tries));
    spread
}

/// Runs kernels of random numbers below a limit, each on four host threads and on one. What is found is alike, as is what something beside the
/// launch races with. Each is told with what has come of it on several threads and on one.
pub(crate) fn random_kernels(
    count: usize,
    body: impl Fn(&mut dyn FnMut(u32) -> u32) -> String,
    mut each: impl FnMut(&str, &Outcome, &Outcome),
) {
    let mut state = 1_u32;
    let mut next = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    for _ in 0..count {
        let body = body(&mut next);
        let at = 4 * u64::from(next(2048));
        let access = [Access::Load, Access::Store][next(2) as usize];
        let of = |threads| {
            let (program, sanitizer) = (Program::new(&body), sanitizer());
            let (tries, _) = program.launch(&sanitizer, threads, &sanitizer.now());
            let outcome = program.outcome(&sanitizer, tries);
            // Whether something beside the launch races with it.
            sanitizer.copied("a copy", &[(program.buffer + at, 4, access)], &Moment::default());
            (outcome, sanitizer.reports().len())
        };
        let ((several, beside), (one, beside_one)) = (of(4), of(1));
        assert_eq!((&several.reports, beside), (&one.reports, beside_one), "{body}");
        each(&body, &several, &one);
    }
}
