//! Launches that nothing orders race; the end of one, streams and what waits for them order.

use machine::fault::Access;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use sanitizer::{Moment, Sanitizer, Shape, Suppressions};
use std::sync::Arc;

const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
    .visible .entry set(.param .u64 p)\n{\n.reg .u64 %d;\nld.param.u64 %d, [p];\nst.global.u32 [%d], 1;\nret;\n}\n\
    .visible .entry count(.param .u64 p)\n{\n.reg .u64 %d;\nld.param.u64 %d, [p];\nred.relaxed.cta.global.add.u32 [%d], 1;\nret;\n}\n";

struct Program {
    device: Arc<Device>,
    module: LoadedModule,
    buffer: u64,
}

impl Program {
    fn new() -> Self {
        let source = ptx::source::Source::new("set.ptx", PTX);
        let (module, _) = ptx::compile(&source).into_result().expect("it compiles");
        let options = DeviceOptions { memory_limit: Some(1 << 20), ..DeviceOptions::default() };
        let device = Device::new(Profile::default(), options).expect("a device");
        let module = device.load(module).expect("it loads");
        let buffer = device.memory().allocate(4).expect("memory");
        Self { device, module, buffer }
    }

    /// Launches after a moment; the moment behind it.
    fn launch(&self, sanitizer: &Sanitizer, after: &Moment) -> Moment {
        self.launch_kernel("set", 1, sanitizer, after)
    }

    /// The same of a kernel, with one CTA of so many threads.
    fn launch_kernel(&self, name: &str, threads: u32, sanitizer: &Sanitizer, after: &Moment) -> Moment {
        let kernel = self.module.kernel(name).expect("the kernel");
        let (grid, block, cluster) = ([1; 3], [threads, 1, 1], [1; 3]);
        let watch = sanitizer.begin_after(
            self.module.shared_module(),
            Shape { kernel: name, grid, block, cluster },
            after,
        );
        let launch = Launch {
            kernel,
            grid,
            block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: 0,
            params: self.buffer.to_le_bytes().to_vec(),
        };
        let options = LaunchOptions { threads: 1, observer: Some(&watch), ..LaunchOptions::default() };
        self.device.launch(&launch, &options).expect("no fault");
        watch.end()
    }
}

fn sanitizer() -> Sanitizer {
    Sanitizer::new("all".parse().expect("all checks"), Suppressions::default())
}

#[test]
fn launches_on_unordered_streams_race() {
    let (program, sanitizer) = (Program::new(), sanitizer());
    program.launch(&sanitizer, &Moment::default());
    program.launch(&sanitizer, &Moment::default());
    let reports = sanitizer.reports();
    let names: Vec<_> = reports.iter().map(|r| (r.kind, r.missing.as_ref().map(|(name, _)| *name))).collect();
    assert_eq!(names, [("race", Some("launch-order"))]);
}

#[test]
fn a_stream_an_event_or_the_host_orders_launches() {
    let (program, sanitizer) = (Program::new(), sanitizer());
    let first = program.launch(&sanitizer, &Moment::default());
    let second = program.launch(&sanitizer, &first);
    // Another stream that waits for an event behind the second.
    let mut other = Moment::default();
    other.join(&second);
    program.launch(&sanitizer, &other);
    program.launch(&sanitizer, &sanitizer.now());
    assert_eq!(sanitizer.reports(), []);
}

#[test]
fn one_of_two_streams_is_not_enough() {
    let (program, sanitizer) = (Program::new(), sanitizer());
    let a = program.launch(&sanitizer, &Moment::default());
    program.launch(&sanitizer, &a);
    program.launch(&sanitizer, &a);
    assert_eq!(sanitizer.reports().len(), 1, "the second launch is not before the third");
}

#[test]
fn launches_in_order_need_no_wider_scope() {
    // More operations than are remembered, by CTAs that only have their number in common.
    let (program, ordered) = (Program::new(), sanitizer());
    let mut after = Moment::default();
    for _ in 0..40 {
        after = program.launch_kernel("count", 64, &ordered, &after);
    }
    assert_eq!(ordered.reports(), []);
    let unordered = sanitizer();
    for _ in 0..2 {
        program.launch_kernel("count", 64, &unordered, &Moment::default());
    }
    assert_eq!(names(&unordered), [("race", Some("scope"))]);
}

/// The kinds of reports, with what is missing.
fn names(sanitizer: &Sanitizer) -> Vec<(&'static str, Option<&'static str>)> {
    let reports = sanitizer.reports();
    reports.iter().map(|r| (r.kind, r.missing.as_ref().map(|(name, _)| *name))).collect()
}

#[test]
fn copies_race_with_launches_that_they_are_not_ordered_with() {
    // A launch writes the word; copies read, or write, that and the pages around it.
    for access in [Access::Load, Access::Store] {
        let program = Program::new();
        let page = program.buffer & !4095;
        let ranges = [(page, 3 * 4096, access)];
        let unordered = sanitizer();
        program.launch(&unordered, &Moment::default());
        unordered.copied("a copy", &ranges, &Moment::default());
        assert_eq!(names(&unordered), [("race", Some("launch-order"))]);
        let before = sanitizer();
        before.copied("a copy", &ranges, &Moment::default());
        program.launch(&before, &Moment::default());
        assert_eq!(names(&before), [("race", Some("launch-order"))]);
        let ordered = sanitizer();
        let launched = program.launch(&ordered, &Moment::default());
        let copied = ordered.copied("a copy", &ranges, &launched);
        program.launch(&ordered, &copied);
        assert_eq!(names(&ordered), []);
    }
}

#[test]
fn copies_that_only_read_need_no_order() {
    let sanitizer = sanitizer();
    for _ in 0..3 {
        sanitizer.copied("a copy", &[(0x10_0010, 9000, Access::Load)], &Moment::default());
    }
    assert_eq!(names(&sanitizer), []);
    let written = [(0x10_2000, 64, Access::Store)];
    sanitizer.copied("a fill", &written, &Moment::default());
    assert_eq!(names(&sanitizer).len(), 1);
}

#[test]
fn what_a_copy_writes_is_written() {
    let (program, sanitizer) = (Program::new(), sanitizer());
    let page = program.buffer & !4095;
    sanitizer.allocated(page, 1 << 16);
    let copied = sanitizer.copied("a copy", &[(page, 1 << 15, Access::Store)], &Moment::default());
    // The driver may copy what nobody has written.
    let copied = sanitizer.copied("a copy", &[(page, 1 << 16, Access::Load)], &copied);
    program.launch(&sanitizer, &copied);
    assert_eq!(names(&sanitizer), []);
}
