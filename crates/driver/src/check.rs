//! Checks: the sanitizer watches every launch, and is told what orders launches.
//!
//! What a launch comes after is a [`Moment`]: that of its stream, which grows with every operation of the stream, with the
//! streams and events that it waits for, and with what the host knew when it submitted the operation. The host knows what
//! it has waited for. A stream has a thread of its own, so its moment is that thread's while it runs an operation.

use crate::lock;
use abi::names::demangled;
use machine::fault::Access;
use machine::{Device, Fault, Launch};
use sanitizer::{Host, Moment, Report, Sanitizer, Seen, Shape, Watch, Whole};
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard};

thread_local! {
    /// What the operation that this thread runs comes after; `None` on threads of the program.
    static KNOWN: RefCell<Option<Known>> = const { RefCell::new(None) };
}

/// What an operation comes after.
pub(crate) struct Known {
    pub(crate) moment: Moment,
    /// What it waits for besides, if it has begun early: see [`Watch::begun_early`].
    pub(crate) whole: Option<Whole>,
}

/// What somebody who asked for checks is to hear.
#[derive(Debug)]
pub enum News<'a> {
    /// Something was found: its number, and what is known at that time.
    Found(usize, &'a Report),
    /// The program ends, and the report with a number was found more than once.
    Counted(usize, &'a Report),
    /// Something was not checked to its end, and why.
    CutShort(&'a str),
}

/// See the module.
pub struct Checking {
    sanitizer: Sanitizer,
    tell: Box<dyn Fn(&News<'_>) + Send + Sync>,
    told: Mutex<usize>,
    host: Mutex<Moment>,
    /// Schedules that short launches run under, with the program's own.
    schedules: u32,
    activity: Mutex<Activity>,
    seeing: Mutex<Seen>,
    hosts: Option<Box<Hosts>>,
}

/// Where on the host the calling thread is.
pub type Hosts = dyn Fn() -> Host + Send + Sync;

/// What the process does with devices' memory.
#[derive(Debug, Default)]
struct Activity {
    /// Operations that are under way, and how many have begun.
    running: usize,
    begun: u64,
}

/// An operation that is under way.
pub(crate) struct Busy<'a>(Option<&'a Checking>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|checking| lock(&checking.activity).running -= 1);
    }
}

/// While it is there, no other operation begins.
pub(crate) struct Alone<'a>(#[expect(dead_code, reason = "it is held")] MutexGuard<'a, Activity>);

impl Checking {
    /// Checks; `tell` hears of what they find.
    pub fn new(sanitizer: Sanitizer, tell: Box<dyn Fn(&News<'_>) + Send + Sync>) -> Self {
        let (told, host, activity, seeing) = Default::default();
        Self { sanitizer, tell, told, host, schedules: 1, activity, seeing, hosts: None }
    }

    /// The same that runs short launches under so many schedules.
    pub fn with_schedules(self, schedules: u32) -> Self {
        Self { schedules, ..self }
    }

    /// The same that tells where on the host kernels were launched.
    pub fn with_hosts(self, hosts: Box<Hosts>) -> Self {
        Self { hosts: Some(hosts), ..self }
    }

    /// Where on the host the calling thread is, if that is to be told.
    pub(crate) fn here(&self) -> Option<Host> {
        self.hosts.as_ref().map(|hosts| hosts())
    }

    /// Schedules that short launches run under, with the program's own.
    pub(crate) fn schedules(&self) -> u32 {
        self.schedules
    }

    /// An operation of a stream, or of a thread of the program, uses memory of devices. A part of one that is under way is none.
    pub(crate) fn busy(&self) -> Busy<'_> {
        let inner = KNOWN.try_with(|known| known.borrow().is_some()).unwrap_or(false);
        if inner {
            return Busy(None);
        }
        let mut activity = lock(&self.activity);
        activity.running += 1;
        activity.begun += 1;
        Busy(Some(self))
    }

    /// The number of operations that have begun, if only that of the calling thread is under way.
    pub(crate) fn lone(&self) -> Option<u64> {
        let activity = lock(&self.activity);
        (activity.running == 1).then_some(activity.begun)
    }

    /// Keeps others from beginning, if none has begun since.
    pub(crate) fn alone(&self, since: u64) -> Option<Alone<'_>> {
        let activity = lock(&self.activity);
        ((activity.running, activity.begun) == (1, since)).then(|| Alone(activity))
    }

    /// Whether races are looked for.
    pub(crate) fn looks_for_races(&self) -> bool {
        self.sanitizer.looks_for_races()
    }

    /// How what is found from now on is seen.
    pub(crate) fn seeing(&self, seen: &Seen) {
        *lock(&self.seeing) = seen.clone();
        self.sanitizer.seeing(seen.clone());
    }

    /// What the host has waited for.
    pub(crate) fn host(&self) -> Moment {
        lock(&self.host).clone()
    }

    /// The calling thread, of the program or of a stream, has waited for a moment.
    pub(crate) fn learn(&self, moment: &Moment) {
        let by_operation = KNOWN
            .try_with(|known| known.borrow_mut().as_mut().map(|known| known.moment.join(moment)).is_some());
        // A thread that ends has none any more.
        if !by_operation.unwrap_or(false) {
            lock(&self.host).join(moment);
        }
    }

    /// The same for what is not followed: everything so far.
    pub(crate) fn learn_everything(&self) {
        self.learn(&self.sanitizer.now());
    }

    /// What comes next on the calling thread, of the program or of a stream, is after this.
    pub(crate) fn current(&self) -> Moment {
        let of_operation = |known: &RefCell<Option<Known>>| Some(known.borrow().as_ref()?.moment.clone());
        KNOWN.try_with(of_operation).ok().flatten().unwrap_or_else(|| self.host())
    }

    /// Runs an operation of a stream, or a step of a graph, after a moment, which becomes that after it.
    pub(crate) fn run(&self, moment: &Mutex<Moment>, operation: impl FnOnce()) {
        let known = Known { moment: lock(moment).clone(), whole: None };
        self.run_known(moment, known, operation);
    }

    /// The same of one that comes after something else. What comes after it alone.
    pub(crate) fn run_known(
        &self,
        moment: &Mutex<Moment>,
        known: Known,
        operation: impl FnOnce(),
    ) -> Option<Moment> {
        let _busy = self.busy();
        let exchange = |other| KNOWN.try_with(|known| known.replace(other)).ok().flatten();
        let outer = exchange(Some(known));
        operation();
        let after = exchange(outer)?.moment;
        // One that overlaps with it may have ended meanwhile.
        lock(moment).join(&after);
        Some(after)
    }

    /// Whether a launch on a device that comes next on the calling thread may run on so many host threads.
    pub(crate) fn spreads(&self, over: (&Device, usize), launch: &Launch<'_>) -> bool {
        let module = launch.kernel.module().shared_module();
        self.schedules == 1 && self.sanitizer.spreads(over, module, shape_of(launch), &self.current())
    }

    /// A launch begins.
    pub(crate) fn begin(&self, launch: &Launch<'_>, host: Option<&Host>) -> Watch<'_> {
        let shape = shape_of(launch);
        let module = launch.kernel.module().shared_module();
        let watch = self.sanitizer.begin_after(module, shape, &self.current());
        host.into_iter().for_each(|host| watch.launched_at(host));
        let whole = KNOWN.try_with(|known| known.borrow().as_ref()?.whole.clone()).ok().flatten();
        match whole {
            Some(whole) => watch.begun_early(whole),
            None => watch,
        }
    }

    /// It is over.
    pub(crate) fn end(&self, watch: Watch<'_>, fault: Option<&Fault>) {
        self.learn(&watch.end());
        if let Some(fault) = fault {
            self.sanitizer.fault(fault);
        }
        self.tell();
        if let Some(fault) = fault {
            let under = match &*lock(&self.seeing) {
                Seen::InRun => String::new(),
                Seen::Under(schedule) => format!("under the schedule {schedule} "),
            };
            self.cut_short(&format!(
                "{under}kernel {} was stopped: {}",
                demangled(&fault.kernel),
                fault.trap
            ));
        }
    }

    fn tell(&self) {
        let mut told = lock(&self.told);
        let reports = self.sanitizer.reports();
        for (number, report) in reports.iter().enumerate().skip(*told) {
            (self.tell)(&News::Found(number, report));
        }
        *told = reports.len();
    }

    /// The program ends: what was found more than once is told with its counts.
    pub(crate) fn tell_counts(&self) {
        for (number, report) in
            self.sanitizer.reports().iter().enumerate().filter(|(_, report)| report.count > 1)
        {
            (self.tell)(&News::Counted(number, report));
        }
    }

    /// Something is not checked to its end.
    pub(crate) fn cut_short(&self, why: &str) {
        (self.tell)(&News::CutShort(why));
    }

    /// The program has allocated memory of a device.
    pub(crate) fn allocated(&self, address: u64, bytes: u64) {
        self.sanitizer.allocated(address, bytes);
    }

    pub(crate) fn freed(&self, address: u64) {
        self.sanitizer.freed(address);
    }

    /// How often a pool has given away memory at an address.
    pub(crate) fn times_taken(&self, address: u64) -> u32 {
        self.sanitizer.times_taken(address)
    }

    /// Memory that a pool keeps is freed, which was asked for when it had been given away so often.
    pub(crate) fn gave_back(&self, address: u64, bytes: u64, times: u32) {
        self.sanitizer.gave_back(address, bytes, times);
    }

    /// A pool gives memory away.
    pub(crate) fn taken(&self, address: u64, bytes: u64) {
        self.sanitizer.taken(address, bytes);
    }

    /// A copy or a fill of the calling thread reads and writes memory of a device.
    pub(crate) fn copied(&self, name: &str, ranges: &[(u64, u64, Access)]) {
        let after = self.sanitizer.copied(name, ranges, &self.current());
        self.learn(&after);
        self.tell();
    }

    /// A context is destroyed: what it has not freed has leaked.
    pub(crate) fn finish(&self) {
        self.sanitizer.finish();
        self.tell();
    }
}

fn shape_of<'a>(launch: &Launch<'a>) -> Shape<'a> {
    Shape {
        kernel: launch.kernel.name(),
        grid: launch.grid,
        block: launch.block,
        cluster: launch.cluster.unwrap_or([1; 3]),
    }
}
