//! Graphs, capture and pools through the safe interface: order, whatever the shape; failures; work that goes on.

use driver::capture::{Mode, Status};
use driver::graph::{Edge, EdgeData, Graph, Node, RefusalReason, Task};
use driver::host::HostMemory;
use driver::host_call::HostCall;
use driver::image::Image;
use driver::launch::Configuration;
use driver::module::Module;
use driver::settings::Settings;
use driver::values::{Condition, ValueOperation};
use driver::{Context, Driver, Error};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A program without memory of its own: these tests need none.
struct Nothing;

impl HostMemory for Nothing {
    fn read(&self, _: u64, bytes: usize, visit: &mut dyn FnMut(&[u8])) {
        visit(&vec![0; bytes]);
    }

    fn write(&self, _: u64, bytes: usize, visit: &mut dyn FnMut(&mut [u8])) {
        visit(&mut vec![0; bytes]);
    }

    fn share(&self, _: u64, _: u64) -> Option<machine::memory::HostRange> {
        None
    }
}

const FAULTS: &str =
    ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry faults() { trap; ret; }\n";

fn context() -> Arc<Context> {
    let profiles = vec![machine::Profile::default()];
    let settings = Settings { memory_limit: Some(64 << 20), ..Settings::default() };
    let driver = Driver::with_settings(profiles, Box::new(Nothing), Box::new(|_| ()), settings);
    Context::new(driver.device(0).unwrap(), 0).unwrap()
}

fn call(work: impl Fn() + Send + Sync + 'static) -> HostCall {
    HostCall { function: 0, argument: 0, call: Arc::new(work) }
}

fn counting(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::SeqCst);
}

/// A small generator of numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }
}

fn plain(node: &Arc<Node>) -> (Arc<Node>, EdgeData) {
    (Arc::clone(node), EdgeData::default())
}

#[test]
fn every_step_comes_after_those_before_it() {
    let context = context();
    let stream = context.create_stream(true, 0).unwrap();
    let mut numbers = Numbers(7);
    for round in 0..20 {
        let graph = Graph::new();
        let done: Arc<Mutex<Vec<usize>>> = Arc::default();
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        let mut before = Vec::new();
        for index in 0..30 {
            let mut behind: Vec<usize> = (0..index).filter(|_| numbers.below(6) == 0).collect();
            behind.truncate(4);
            let done = Arc::clone(&done);
            let task = Task::Host(call(move || done.lock().unwrap().push(index)));
            let edges: Vec<_> = behind.iter().map(|&other| plain(&nodes[other])).collect();
            nodes.push(graph.add(task, &edges).unwrap());
            before.push(behind);
        }
        // Half of them inside another graph, whose steps are laid out among the others.
        let whole = if round % 2 == 0 {
            graph
        } else {
            let outer = Graph::new();
            outer.add(Task::Child(graph), &[]).unwrap();
            outer
        };
        let exec = whole.instantiate(0).unwrap();
        for launch in 1..=3 {
            context.launch_graph(&exec, &stream).unwrap();
            context.synchronize_stream(&stream).unwrap();
            let order = std::mem::take(&mut *done.lock().unwrap());
            assert_eq!(order.len(), 30, "launch {launch}");
            let place = |index: usize| order.iter().position(|&other| other == index).unwrap();
            for (index, behind) in before.iter().enumerate() {
                assert!(behind.iter().all(|&other| place(other) < place(index)), "{order:?}");
            }
        }
    }
}

#[test]
fn circles_and_wrong_edges_are_refused() {
    let graph = Graph::new();
    let a = graph.add(Task::Empty, &[]).unwrap();
    let b = graph.add(Task::Empty, &[plain(&a)]).unwrap();
    let stranger = Graph::new().add(Task::Empty, &[]).unwrap();
    assert_eq!(graph.add(Task::Empty, &[plain(&stranger)]).unwrap_err(), Error::InvalidValue);
    let edge = |from: &Arc<Node>, to: &Arc<Node>| {
        let (from, to) = (Arc::clone(from), Arc::clone(to));
        [Edge { from, to, data: EdgeData::default() }]
    };
    assert_eq!(graph.connect(&edge(&a, &a)).unwrap_err(), Error::InvalidValue);
    graph.connect(&edge(&b, &a)).unwrap();
    assert_eq!(graph.instantiate(0).unwrap_err().reason, RefusalReason::Structure);
    graph.disconnect(&edge(&b, &a)).unwrap();
    assert!(graph.disconnect(&edge(&b, &a)).is_err());
    graph.instantiate(0).unwrap();
    assert_eq!(graph.instantiate(1 << 20).unwrap_err().error, Error::InvalidValue);
    // Graphs in graphs end somewhere.
    let mut deep = graph;
    let refused = (0..1000).find_map(|_| {
        let outer = Graph::new();
        let added = outer.add(Task::Child(Arc::clone(&deep)), &[]);
        deep = outer;
        added.err()
    });
    assert_eq!(refused, Some(Error::NotSupported));
}

#[test]
fn launches_of_one_graph_do_not_overlap() {
    let context = context();
    let (inside, most): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
    let graph = Graph::new();
    let (i, m) = (Arc::clone(&inside), Arc::clone(&most));
    let task = Task::Host(call(move || {
        m.fetch_max(i.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(2));
        i.fetch_sub(1, Ordering::SeqCst);
    }));
    graph.add(task, &[]).unwrap();
    let exec = graph.instantiate(0).unwrap();
    let streams: Vec<_> = (0..4).map(|_| context.create_stream(true, 0).unwrap()).collect();
    for round in 0..20 {
        context.launch_graph(&exec, &streams[round % 4]).unwrap();
    }
    context.synchronize().unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[test]
fn a_fault_ends_the_rest_and_nobody_waits_for_ever() {
    let context = context();
    let module = Module::load(&context, &Image::Ptx(FAULTS.to_owned())).unwrap();
    let faults = module.function("faults").unwrap();
    let one = [1; 3];
    let configuration =
        Configuration { grid: one, block: one, cluster: None, dynamic_shared: 0, cooperative: false };
    let work = context.prepare_launch(&faults, configuration, Vec::new()).unwrap();
    let word = context.allocate(driver::memory::MemoryKind::Device, 4, 0).unwrap();
    let waits = ValueOperation { address: word, value: 1, wide: false, wait: Some(Condition::Equal) };
    let ran: Arc<AtomicUsize> = Arc::default();
    let counted = Arc::clone(&ran);
    let graph = Graph::new();
    let first = graph.add(Task::Kernel(work), &[]).unwrap();
    graph.add(Task::Host(call(move || counting(&counted))), &[plain(&first)]).unwrap();
    // It waits for what will never be; the fault ends that.
    graph.add(Task::Values(context.prepare_values(vec![waits]).unwrap()), &[]).unwrap();
    let event = driver::event::Event::new(&context, true);
    graph.add(Task::Record(Arc::clone(&event)), &[plain(&first)]).unwrap();
    let exec = graph.instantiate(0).unwrap();
    let stream = context.create_stream(true, 0).unwrap();
    context.launch_graph(&exec, &stream).unwrap();
    event.wait();
    assert_eq!(context.synchronize_stream(&stream).unwrap_err(), Error::LaunchFailed);
    assert_eq!(context.launch_graph(&exec, &stream).unwrap_err(), Error::LaunchFailed);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[test]
fn capture_of_another_thread_forbids_what_its_mode_says() {
    let context = context();
    let stream = context.create_stream(true, 0).unwrap();
    context.begin_capture(&stream, Mode::ThreadLocal, None).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            context.permit_unsafe().unwrap();
            assert_eq!(context.end_capture(&stream).unwrap_err(), Error::StreamCaptureWrongThread);
        });
    });
    context.submit(&stream, call(|| ())).unwrap();
    let graph = context.end_capture(&stream).unwrap();
    assert_eq!(graph.nodes().len(), 1);
    context.begin_capture(&stream, Mode::Global, None).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(context.permit_unsafe().unwrap_err(), Error::StreamCaptureUnsupported));
    });
    assert_eq!(context.capture_status(&stream).unwrap(), Status::Invalidated);
    assert_eq!(context.end_capture(&stream).unwrap_err(), Error::StreamCaptureInvalidated);
}

#[test]
fn pools_stay_within_the_memory_and_give_it_back() {
    let context = context();
    let streams: Vec<_> = (0..3).map(|_| context.create_stream(true, 0).unwrap()).collect();
    let (free, _) = context.memory_info();
    let mut numbers = Numbers(3);
    let mut live: Vec<(u64, u64)> = Vec::new();
    for _ in 0..500 {
        let stream = &streams[numbers.below(3)];
        if numbers.below(2) == 0 || live.len() > 20 {
            if let Some((address, _)) = live.pop() {
                context.free_async(address, stream).unwrap();
            }
            continue;
        }
        let bytes = 1 + numbers.below(4 << 20) as u64;
        match context.allocate_async(None, bytes, stream) {
            Ok(address) => {
                let apart = |&(other, size): &(u64, u64)| address + bytes <= other || other + size <= address;
                assert!(live.iter().all(apart), "memory in use is given out again");
                live.push((address, bytes));
            }
            Err(error) => assert_eq!(error, Error::OutOfMemory),
        }
    }
    for (address, _) in live {
        context.free_async(address, &streams[0]).unwrap();
    }
    let last = context.allocate_async(None, 16, &streams[0]).unwrap();
    let pool = context.pool_of(last).unwrap();
    context.free_async(last, &streams[0]).unwrap();
    context.synchronize().unwrap();
    assert_eq!(context.memory_info().0, free);
    let statistics = pool.statistics().unwrap();
    assert_eq!((statistics.used, statistics.reserved), (0, 0));
}
