//! A launch from its beginning to its end: CTAs to SMs, SMs in the order of time.

use crate::code::{self, Unmodelled};
use crate::counters::Counters;
use crate::crew::{self, Crew};
use crate::device::{Device, Parameters};
use crate::memory::{Rate, Shared};
use crate::placement::{self, Occupancy};
use crate::report::{Report, Span};
use crate::sm::{Ended, Halt, Kernel, NEVER, Sm, Tally, World};
use sass_machine::{Fault, Launch, Loaded};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// Why a launch has no cycles.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It is not modelled.
    #[error(transparent)]
    Unmodelled(#[from] Unmodelled),
    /// It faults.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It takes more instructions than it may.
    #[error("the launch's budget of instructions is spent")]
    Budget,
}

/// Shared memory that an SM of compute capability 9.0 can be given, in KiB: the rest is the L1's (CUDA programming guide).
const CARVED: [u64; 10] = [0, 8, 16, 32, 64, 100, 132, 164, 196, 228];

/// What shared memory leaves to the L1.
fn l1(of: &Parameters, used: u64) -> u64 {
    let carved = CARVED.iter().map(|kib| kib << 10).find(|&carved| carved >= used);
    of.l1_and_shared.saturating_sub(carved.unwrap_or(of.shared))
}

/// Executes a launch, and counts its cycles: the same on however many host threads.
///
/// # Errors
/// If the kernel is not there or has what the device's file says nothing of; if it faults; if it takes more instructions than it may.
pub fn simulate(
    loaded: &Loaded<'_>,
    launch: &Launch<'_>,
    device: &Device,
    threads: NonZeroUsize,
) -> Result<Report, Failure> {
    execute(loaded, launch, device, threads, u64::MAX)
}

/// Executes the first CTAs of a launch, so many that all places of the device have had one so many times, at least three, and says what all of
/// them would take: for grids whose CTAs do alike. A grid that has no more is executed whole.
///
/// # Errors
/// As [`simulate`].
pub fn sample(
    loaded: &Loaded<'_>,
    launch: &Launch<'_>,
    device: &Device,
    threads: NonZeroUsize,
    waves: u64,
) -> Result<Report, Failure> {
    execute(loaded, launch, device, threads, waves.max(3))
}

fn execute(
    loaded: &Loaded<'_>,
    launch: &Launch<'_>,
    device: &Device,
    threads: NonZeroUsize,
    waves: u64,
) -> Result<Report, Failure> {
    let missing = || Unmodelled::Kernel(launch.kernel.to_owned());
    let grid = loaded.choose(launch).ok_or_else(missing)??;
    let code = code::of(&grid, device)?;
    let of = &device.parameters;
    let occupancy = Occupancy::of(&grid, of);
    if occupancy.ctas == 0 {
        return Err(Unmodelled::Resources(occupancy.limit()).into());
    }
    let counts = code.iter().flatten().any(|code| code.waits.iter().any(|&(_, left)| left > 0));
    let kernel = Kernel { grid: &grid, device, code: &code, counts };
    let wave = of.sms * occupancy.ctas;
    let executed = grid.count().min(waves.saturating_mul(wave));
    let at_once = occupancy.ctas.min(grid.count().div_ceil(of.sms));
    let l1 = l1(of, occupancy.shared * at_once);
    let threads = threads.get().min(of.sms as usize);
    let order = placement::order(of.sms as usize, &device.order);
    let mut groups = vec![0; order.len()];
    for (at, &number) in order.iter().enumerate() {
        groups[number] = placement::gpc(at, of.group as usize, order.len());
    }
    let sm = |number: usize| {
        Mutex::new(Sm::new(number as u32, groups[number], &kernel, occupancy.ctas as usize, l1))
    };
    let sms = Sms {
        kernel: &kernel,
        all: (0..of.sms as usize).map(sm).collect(),
        ready: RwLock::default(),
        until: AtomicU64::new(0),
        taken: AtomicUsize::new(0),
        tallies: (0..threads).map(|_| Mutex::new(Tally::new(code.len()))).collect(),
    };
    let mut run = Run::new(&sms, executed);
    run.first_wave(&order, occupancy.ctas);
    let cycles = crew::with(threads, &|thread| sms.advance(thread), |crew| run.finish(crew, launch.budget))?;
    let Run { spans, active, .. } = run;
    let mut all = Tally::new(code.len());
    sms.tallies.iter().for_each(|tally| all.add_all(&lock(tally)));
    let Tally { counters, lines } = all;
    let mut report = Report {
        kernel: launch.kernel.to_owned(),
        grid: launch.grid,
        block: launch.block,
        cycles,
        sampled: None,
        counters: Counters { ctas: grid.count(), active, ..counters },
        lines,
        spans,
        occupancy,
    };
    if executed < grid.count() {
        extrapolate(&mut report, executed, grid.count(), wave);
    }
    // Once, however many CTAs there are: the code, and what else a launch is begun with.
    report.counters.dram_read += of.launch_sectors + (code.len() as u64).div_ceil(INSTRUCTIONS_OF_SECTOR);
    Ok(report)
}

/// What a launch would take of which so many CTAs were executed: each further wave as long as those from the second one on, which does not
/// find caches cold.
fn extrapolate(report: &mut Report, executed: u64, all: u64, wave: u64) {
    let mut begun: Vec<u64> = report.spans.iter().map(|span| span.begun).collect();
    begun.sort_unstable();
    let mean = |of: &[u64]| of.iter().sum::<u64>() as f64 / of.len().max(1) as f64;
    let places = wave as usize;
    let [second, last] = [places, begun.len().saturating_sub(places)].map(|at| begun.get(at..at + places));
    let waves = (executed / wave).saturating_sub(2).max(1) as f64;
    let each = (last.map_or(0.0, mean) - second.map_or(0.0, mean)) / waves;
    report.cycles += (each * (all - executed) as f64 / wave as f64) as u64;
    report.sampled = Some(executed);
    report.counters.extrapolate(all, executed);
    report.lines.iter_mut().for_each(|line| line.extrapolate(all, executed));
}

/// Instructions of 16 bytes in a sector.
const INSTRUCTIONS_OF_SECTOR: u64 = 2;

/// Cycles that SMs may be ahead of one another.
const AHEAD: u64 = 4096;
/// With fewer SMs in a round, calling the others takes longer than doing their work.
const FEW: usize = 6;

/// What the host threads have together.
struct Sms<'a> {
    kernel: &'a Kernel<'a>,
    /// Each is one thread's at a time.
    all: Vec<Mutex<Sm>>,
    /// Those that can go on, up to which cycle, and how many have been taken.
    ready: RwLock<Vec<usize>>,
    until: AtomicU64,
    taken: AtomicUsize,
    /// What each thread has counted.
    tallies: Vec<Mutex<Tally>>,
}

/// What a lock guards is whole after a panic too: nobody looks at it any more.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sms<'_> {
    /// A thread's part of a round: SMs go on, each alone, until they halt.
    fn advance(&self, thread: usize) {
        let mut tally = lock(&self.tallies[thread]);
        let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner);
        let until = self.until.load(Ordering::Relaxed);
        while let Some(&sm) = ready.get(self.taken.fetch_add(1, Ordering::Relaxed)) {
            lock(&self.all[sm]).advance(self.kernel, &mut tally, until);
        }
    }

    /// No more instructions than so many.
    fn check(&self, budget: u64) -> Result<(), Failure> {
        let executed = self.tallies.iter().map(|tally| lock(tally).counters.instructions).sum::<u64>();
        if executed > budget { Err(Failure::Budget) } else { Ok(()) }
    }

    /// A round for these SMs.
    fn round(&self, crew: &Crew<'_>, sms: &mut Vec<usize>, until: u64) {
        if sms.len() < FEW || crew.threads() == 1 {
            let mut tally = lock(&self.tallies[0]);
            sms.iter().for_each(|&sm| lock(&self.all[sm]).advance(self.kernel, &mut tally, until));
            return;
        }
        std::mem::swap(&mut *self.ready.write().unwrap_or_else(PoisonError::into_inner), sms);
        self.until.store(until, Ordering::Relaxed);
        self.taken.store(0, Ordering::Relaxed);
        crew.round();
        std::mem::swap(&mut *self.ready.write().unwrap_or_else(PoisonError::into_inner), sms);
    }
}

/// A launch under way: what is done in the order of time.
struct Run<'a> {
    sms: &'a Sms<'a>,
    world: World,
    /// SMs that have something to do by what another one did.
    woken: Vec<usize>,
    /// When SMs have halted, the first of them on top; for each of the others when it has something to do.
    halts: BinaryHeap<Reverse<(u64, usize)>>,
    dues: Vec<u64>,
    /// Since when each SM has had a CTA.
    busy: Vec<Option<u64>>,
    /// The CTA that begins next, the one behind the last that does, and how fast they do.
    next: u64,
    last: u64,
    placed: Rate,
    spans: Vec<Span>,
    active: u64,
}

impl<'a> Run<'a> {
    fn new(sms: &'a Sms<'a>, last: u64) -> Self {
        let device = &sms.kernel.device.parameters;
        Self {
            sms,
            world: World { memory: Shared::new(device), origin: None, met: Vec::new() },
            woken: Vec::new(),
            halts: BinaryHeap::new(),
            dues: vec![NEVER; sms.all.len()],
            busy: vec![None; sms.all.len()],
            next: 0,
            last,
            placed: Rate::new(device.place),
            spans: Vec::new(),
            active: 0,
        }
    }

    /// The next CTA begins in a place of an SM, not before a cycle.
    fn begin(&mut self, number: usize, sm: &mut Sm, place: usize, now: u64) {
        if self.next == self.last {
            return;
        }
        let begins = self.placed.serve(now, 1);
        sm.begin(self.sms.kernel, place, self.next, begins);
        self.next += 1;
        self.busy[number].get_or_insert(begins);
    }

    fn first_wave(&mut self, order: &[usize], places: u64) {
        let (all, device) = (&self.sms.all, self.sms.kernel.device);
        let size = self.sms.kernel.grid.cluster() as usize;
        if size > 1 {
            let sms = placement::clusters(&device.gpcs, all.len(), size, places as usize);
            let mut taken = vec![0; all.len()];
            for &at in sms.iter().take(self.last as usize) {
                self.begin(at, &mut lock(&all[at]), taken[at], device.parameters.launch);
                taken[at] += 1;
            }
            if !sms.is_empty() {
                return;
            }
        }
        let count = self.last.min(all.len() as u64 * places) as usize;
        let first = placement::first(order, device.parameters.group as usize, count.min(all.len()));
        for number in 0..count {
            let at = first[number % first.len()];
            self.begin(at, &mut lock(&all[at]), number / first.len(), device.parameters.launch);
        }
    }

    /// The cycles until the launch has ended.
    ///
    /// SMs go on alone until each is about to do what others notice: an access to memory that they have together, the end of a CTA. Of these
    /// the first ones are done, in the order of the SMs' numbers, and those SMs go on. So it does not matter how many threads there are.
    fn finish(&mut self, crew: &Crew<'_>, budget: u64) -> Result<u64, Failure> {
        let sms = self.sms;
        let mut ready: Vec<usize> = (0..sms.all.len()).collect();
        let mut until = 0;
        loop {
            sms.round(crew, &mut ready, until);
            for number in ready.drain(..) {
                let sm = lock(&sms.all[number]);
                let halts = sm.halt.as_ref().map(|&(at, _)| at);
                self.halts.extend(halts.map(|at| Reverse((at, number))));
                self.dues[number] = if halts.is_some() { NEVER } else { sm.due };
            }
            // Who has not halted has nothing to do before the cycle up to which all may go on, in which somebody else may have halted.
            let halted = self.halts.peek().map_or(NEVER, |Reverse((at, _))| *at);
            let first = match halted {
                NEVER => self.dues.iter().copied().min().unwrap_or(NEVER),
                halted => halted,
            };
            if first == NEVER {
                // CTAs of a cluster that wait for one another are noticed here alone.
                let stuck = sms.all.iter().find_map(|sm| lock(sm).deadlock(sms.kernel));
                if let Some(fault) = stuck {
                    return Err(fault.into());
                }
                sms.check(budget)?;
                let last = sms.all.iter().map(|sm| lock(sm).settled()).max().unwrap_or(0);
                let parameters = &sms.kernel.device.parameters;
                return Ok(last.max(parameters.launch) + 1 + parameters.drain);
            }
            if halted != NEVER {
                while let Some(&Reverse((at, number))) = self.halts.peek()
                    && at == halted
                {
                    self.halts.pop();
                    ready.push(number);
                }
                for &number in &ready {
                    self.go_on(number, &mut lock(&sms.all[number]))?;
                }
                for woken in self.woken.drain(..) {
                    if !ready.contains(&woken) {
                        ready.push(woken);
                    }
                }
            }
            // Who is behind the others by so much that all may go on does.
            if halted == NEVER || first.saturating_add(AHEAD / 2) >= until {
                sms.check(budget)?;
                until = first.saturating_add(AHEAD);
                ready.clear();
                ready.extend(0..sms.all.len());
                self.halts.clear();
            }
        }
    }

    /// Warps of a cluster go on at a cycle, on whichever SMs they are.
    fn meet(&mut self, number: usize, sm: &mut Sm, cluster: u64, at: u64) {
        let kernel = self.sms.kernel;
        sm.meet(kernel, cluster, at);
        for (other, due) in self.dues.iter_mut().enumerate().filter(|(other, _)| *other != number) {
            let mut sm = lock(&self.sms.all[other]);
            sm.meet(kernel, cluster, at);
            if sm.halt.is_none() && sm.due != *due {
                *due = sm.due;
                self.woken.push(other);
            }
        }
    }

    /// An SM does what it has halted for.
    fn go_on(&mut self, number: usize, sm: &mut Sm) -> Result<(), Failure> {
        let kernel = self.sms.kernel;
        while let Some((now, halt)) = sm.halt.take() {
            match halt {
                Halt::Leaves { core } => {
                    let mut tally = lock(&self.sms.tallies[0]);
                    sm.cycle(kernel, &mut tally, Some(&mut self.world), core);
                    drop(tally);
                    for cluster in std::mem::take(&mut self.world.met) {
                        self.meet(number, sm, cluster, now + kernel.device.parameters.cluster_barrier);
                    }
                }
                Halt::Ended => {
                    for Ended { place, block, begun } in std::mem::take(&mut sm.ended) {
                        let (sm_number, ended) = (number as u32, now + 1);
                        self.spans.push(Span { sm: sm_number, place: place as u32, block, begun, ended });
                        self.begin(number, sm, place, now + kernel.device.parameters.replace);
                    }
                    if sm.is_busy() {
                        // In a cluster others may let it go on.
                        if sm.due == NEVER && kernel.grid.cluster() == 1 {
                            sm.halt = Some((now, Halt::Deadlock));
                        }
                    } else if let Some(since) = self.busy[number].take() {
                        self.active += now + 1 - since;
                    }
                }
                Halt::Deadlock => {
                    return Err(sm.deadlock(kernel).map_or(Failure::Budget, Failure::Fault));
                }
                Halt::Fault(fault) => return Err(fault.into()),
            }
        }
        Ok(())
    }
}
