//! Checks: the sanitizer watches every launch, and is told what orders launches.
//!
//! What a launch comes after is a [`Moment`]: that of its stream, which grows with every operation of the stream, with the
//! streams and events that it waits for, and with what the host knew when it submitted the operation. The host knows what
//! it has waited for. A stream has a thread of its own, so its moment is that thread's while it runs an operation.

use crate::launch::Work;
use crate::lock;
use machine::Fault;
use sanitizer::{Moment, Report, Sanitizer, Shape, Watch};
use std::cell::RefCell;
use std::sync::Mutex;

thread_local! {
    /// What the operation that this thread runs comes after; `None` on threads of the program.
    static KNOWN: RefCell<Option<Moment>> = const { RefCell::new(None) };
}

/// See the module.
pub struct Checking {
    sanitizer: Sanitizer,
    tell: Box<dyn Fn(&Report) + Send + Sync>,
    told: Mutex<usize>,
    host: Mutex<Moment>,
}

impl Checking {
    /// Checks; `tell` hears of what they find.
    pub fn new(sanitizer: Sanitizer, tell: Box<dyn Fn(&Report) + Send + Sync>) -> Self {
        Self { sanitizer, tell, told: Mutex::default(), host: Mutex::default() }
    }

    /// What the host has waited for.
    pub(crate) fn host(&self) -> Moment {
        lock(&self.host).clone()
    }

    /// The calling thread, of the program or of a stream, has waited for a moment.
    pub(crate) fn learn(&self, moment: &Moment) {
        KNOWN.with_borrow_mut(|known| match known {
            Some(known) => known.join(moment),
            None => lock(&self.host).join(moment),
        });
    }

    /// The same for what is not followed: everything so far.
    pub(crate) fn learn_everything(&self) {
        self.learn(&self.sanitizer.now());
    }

    /// Runs an operation of a stream.
    pub(crate) fn run(&self, stream: &Mutex<Moment>, operation: impl FnOnce()) {
        KNOWN.set(Some(lock(stream).clone()));
        operation();
        if let Some(moment) = KNOWN.take() {
            *lock(stream) = moment;
        }
    }

    /// A launch begins.
    pub(crate) fn begin(&self, work: &Work) -> Watch<'_> {
        let configuration = work.configuration();
        let shape = Shape {
            kernel: work.function().name(),
            grid: configuration.grid,
            block: configuration.block,
            cluster: configuration.cluster.unwrap_or([1; 3]),
        };
        let module = work.function().kernel().module().shared_module();
        match KNOWN.with_borrow(Clone::clone) {
            Some(after) => self.sanitizer.begin_after(module, shape, &after),
            // A branch of a graph has a thread of its own; its order is not followed.
            None => self.sanitizer.begin(module, shape),
        }
    }

    /// It is over.
    pub(crate) fn end(&self, watch: Watch<'_>, fault: Option<&Fault>) {
        let moment = watch.end();
        KNOWN.with_borrow_mut(|known| known.iter_mut().for_each(|known| known.join(&moment)));
        if let Some(fault) = fault {
            self.sanitizer.fault(fault);
        }
        self.tell();
    }

    fn tell(&self) {
        let mut told = lock(&self.told);
        let reports = self.sanitizer.reports();
        reports.iter().skip(*told).for_each(|report| (self.tell)(report));
        *told = reports.len();
    }

    /// The program has allocated memory of a device.
    pub(crate) fn allocated(&self, address: u64, bytes: u64) {
        self.sanitizer.allocated(address, bytes);
    }

    pub(crate) fn freed(&self, address: u64) {
        self.sanitizer.freed(address);
    }

    /// A copy or a fill writes to memory of a device.
    pub(crate) fn written(&self, address: u64, bytes: u64) {
        self.sanitizer.written(address, bytes);
    }

    /// A context is destroyed: what it has not freed has leaked.
    pub(crate) fn finish(&self) {
        self.sanitizer.finish();
        self.tell();
    }
}
