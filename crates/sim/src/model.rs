//! A launch from its beginning to its end: CTAs to SMs, SMs in the order of time.

use crate::code::{self, Unmodelled};
use crate::counters::{Counters, Line};
use crate::device::{Device, Parameters};
use crate::memory::{Rate, Shared};
use crate::placement::{self, Occupancy};
use crate::report::{Report, Span};
use crate::sm::{Ended, Kernel, NEVER, Sm, World};
use sass_machine::{Fault, Launch, Loaded};

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

/// Executes a launch, and counts its cycles.
///
/// # Errors
/// If the kernel is not there or has what the device's file says nothing of; if it faults; if it takes more instructions than it may.
pub fn simulate(loaded: &Loaded<'_>, launch: &Launch<'_>, device: &Device) -> Result<Report, Failure> {
    execute(loaded, launch, device, u64::MAX)
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
    waves: u64,
) -> Result<Report, Failure> {
    execute(loaded, launch, device, waves.max(3))
}

fn execute(loaded: &Loaded<'_>, launch: &Launch<'_>, device: &Device, waves: u64) -> Result<Report, Failure> {
    let missing = || Unmodelled::Kernel(launch.kernel.to_owned());
    let grid = loaded.choose(launch).ok_or_else(missing)??;
    let code = code::of(grid.words(), device)?;
    let occupancy = Occupancy::of(&grid, &device.parameters);
    if occupancy.ctas == 0 {
        return Err(Unmodelled::Resources(occupancy.limit()).into());
    }
    let kernel = Kernel { grid: &grid, device, code: &code };
    let wave = device.parameters.sms * occupancy.ctas;
    let mut run = Run::new(&kernel, &occupancy);
    run.last = run.last.min(waves.saturating_mul(wave));
    let executed = run.last;
    run.first_wave(occupancy.ctas);
    let cycles = run.finish(launch.budget)?;
    let Run { world, spans, .. } = run;
    let World { counters, lines, .. } = world;
    let mut report = Report {
        kernel: launch.kernel.to_owned(),
        grid: launch.grid,
        block: launch.block,
        cycles,
        sampled: None,
        counters,
        lines,
        spans,
        occupancy,
    };
    if executed < grid.count() {
        extrapolate(&mut report, executed, grid.count(), wave);
    }
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

/// A launch under way.
struct Run<'a> {
    kernel: &'a Kernel<'a>,
    world: World,
    sms: Vec<Sm>,
    /// When each SM has something to do, or [`NEVER`]. All are looked at for the next cycle in which any has, which most have together.
    due: Vec<u64>,
    /// Since when each SM has had a CTA.
    busy: Vec<Option<u64>>,
    /// The CTA that begins next, the one behind the last that does, and how fast they do.
    next: u64,
    last: u64,
    placed: Rate,
    spans: Vec<Span>,
}

impl<'a> Run<'a> {
    fn new(kernel: &'a Kernel<'a>, occupancy: &Occupancy) -> Self {
        let device = &kernel.device.parameters;
        let sms = device.sms as usize;
        let count = kernel.grid.count();
        let places = occupancy.ctas as usize;
        let at_once = occupancy.ctas.min(count.div_ceil(sms as u64));
        let l1 = l1(device, occupancy.shared * at_once);
        Self {
            kernel,
            world: World {
                memory: Shared::new(device),
                counters: Counters { ctas: count, ..Counters::default() },
                lines: vec![Line::default(); kernel.code.len()],
                origin: None,
                ended: Vec::new(),
            },
            sms: (0..sms).map(|number| Sm::new(number as u32, kernel, places, l1)).collect(),
            due: vec![NEVER; sms],
            busy: vec![None; sms],
            next: 0,
            last: count,
            placed: Rate::new(device.place),
            spans: Vec::new(),
        }
    }

    /// The next CTA begins in a place of an SM, not before a cycle.
    fn begin(&mut self, sm: usize, place: usize, now: u64) {
        if self.next == self.last {
            return;
        }
        let begins = self.placed.serve(now, 1);
        self.sms[sm].begin(self.kernel, place, self.next, begins);
        self.next += 1;
        self.busy[sm].get_or_insert(begins);
        self.due[sm] = self.due[sm].min(begins);
    }

    fn first_wave(&mut self, places: u64) {
        let sms = self.sms.len();
        let order = placement::order(sms, &self.kernel.device.order);
        for number in 0..self.last.min(sms as u64 * places) as usize {
            self.begin(order[number % sms], number / sms, self.kernel.device.parameters.launch);
        }
    }

    /// The cycles until the launch has ended.
    fn finish(&mut self, budget: u64) -> Result<u64, Failure> {
        let parameters = &self.kernel.device.parameters;
        let mut last = parameters.launch;
        loop {
            let now = self.due.iter().copied().min().unwrap_or(NEVER);
            if now == NEVER {
                return Ok(last + 1 + parameters.drain);
            }
            last = now;
            for sm in 0..self.sms.len() {
                if self.due[sm] == now {
                    if self.world.counters.instructions > budget {
                        return Err(Failure::Budget);
                    }
                    self.cycle(sm, now)?;
                }
            }
        }
    }

    /// A cycle of an SM in which it has something to do.
    fn cycle(&mut self, sm: usize, now: u64) -> Result<(), Failure> {
        self.due[sm] = self.sms[sm].cycle(self.kernel, &mut self.world, now)?;
        for Ended { place, block, begun } in std::mem::take(&mut self.world.ended) {
            self.spans.push(Span { sm: sm as u32, place: place as u32, block, begun, ended: now + 1 });
            self.begin(sm, place, now + self.kernel.device.parameters.replace);
        }
        if self.sms[sm].is_busy() {
            if self.due[sm] == NEVER {
                let deadlock = self.sms[sm].deadlock(self.kernel);
                return Err(deadlock.map_or(Failure::Budget, Failure::Fault));
            }
        } else if let Some(since) = self.busy[sm].take() {
            self.world.counters.active += now + 1 - since;
        }
        Ok(())
    }
}
