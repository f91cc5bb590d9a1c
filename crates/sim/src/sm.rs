//! A streaming multiprocessor: sub-cores that issue an instruction a cycle each, pipes, the unit for memory that they share, its CTAs.

use crate::code::{Beside, Code};
use crate::constants::Constants;
use crate::counters::{Counters, Line, Stall};
use crate::device::{Device, Parameters, Throttle};
use crate::fetch::Fetch;
use crate::memory::{LINE, PAGE, Private, Rate, Request, Shared, Touch, count_crowds, lines, rounds};
use crate::unit::Unit;
use crate::warp::Warp;
use sass_machine::{Completion, Fault, Grid, LANES, Memory, Resident, Touched, Way};
use std::collections::VecDeque;

/// A CTA that is here.
struct Cta {
    resident: Resident,
    /// Warps that have not exited.
    left: usize,
    begun: u64,
    /// Copies to its shared memory that are on their way, and when their bytes have come.
    copies: Vec<(u64, Completion)>,
    /// When warps go on for which the cluster's CTAs have met last.
    met: u64,
}

/// One of the quarters.
struct SubCore {
    /// In the order in which they came.
    warps: Vec<Warp>,
    /// From when on the next instruction of each can be issued, if its pipe is free: beside one another, as they are looked through in every
    /// cycle.
    ready: Vec<u64>,
    /// When each pipe takes the next instruction; of pipes that are shared the SM knows.
    pipes: Vec<u64>,
    /// When operands of the next instruction can be read.
    dispatch: u64,
    /// When each bank of registers has given what it was asked for.
    banks: Vec<u64>,
    /// When the unit for memory takes each access that waits for it, and when the way there is free.
    queue: VecDeque<u64>,
    port: u64,
    /// The warp that was issued last: its CTA's place and its number.
    last: Option<(usize, usize)>,
    /// No warp can be issued before this cycle: pipes only become busier, and warps say when they may go on.
    due: u64,
}

impl SubCore {
    /// When the operands of an instruction can be read: a bank may be behind by so many cycles.
    fn operands(&self, kernel: &Kernel<'_>, code: &Code) -> u64 {
        let behind = kernel.device.parameters.bank_queue;
        let banks = code.banks.iter().map(|&(bank, _)| self.banks[bank].saturating_sub(behind));
        let dispatch = if code.reads { self.dispatch } else { 0 };
        banks.fold(dispatch, u64::max)
    }
}

/// What stays the same for all of a launch.
pub(crate) struct Kernel<'a> {
    pub(crate) grid: &'a Grid<'a>,
    pub(crate) device: &'a Device,
    pub(crate) code: &'a [Option<Code>],
    /// Some wait until so many instructions are left that hold a scoreboard.
    pub(crate) counts: bool,
}

/// What all SMs change, one after the other in the order of time.
pub(crate) struct World {
    pub(crate) memory: Shared,
    /// The page of global memory that was touched first: what a launch takes must not depend on where the host has its memory, but for pages,
    /// which lie in slices of their own.
    pub(crate) origin: Option<u64>,
    /// Clusters whose warps have all met.
    pub(crate) met: Vec<u64>,
}

/// What is counted: sums, so that it does not matter who counts what.
pub(crate) struct Tally {
    pub(crate) counters: Counters,
    pub(crate) lines: Vec<Line>,
}

impl Tally {
    /// Of a kernel of so many instructions.
    pub(crate) fn new(instructions: usize) -> Self {
        Self { counters: Counters::default(), lines: vec![Line::default(); instructions] }
    }

    /// Adds what another one has counted.
    pub(crate) fn add_all(&mut self, other: &Self) {
        self.counters.add_all(&other.counters);
        self.lines.iter_mut().zip(&other.lines).for_each(|(own, other)| own.add_all(other));
    }
}

/// Why an SM does not go on alone.
pub(crate) enum Halt {
    /// A sub-core is about to issue what may touch memory that all SMs have together.
    Leaves { core: usize },
    /// CTAs have ended.
    Ended,
    /// All its warps wait for one another.
    Deadlock,
    /// An instruction faults.
    Fault(Fault),
}

/// A CTA that has ended.
pub(crate) struct Ended {
    /// The place where it was.
    pub(crate) place: usize,
    pub(crate) block: [u32; 3],
    pub(crate) begun: u64,
}

/// The SM.
pub(crate) struct Sm {
    number: u32,
    sub_cores: Vec<SubCore>,
    /// The one that the next warp goes to.
    next_core: usize,
    pipes: Vec<u64>,
    ctas: Vec<Option<Cta>>,
    fetch: Fetch,
    constants: Constants,
    private: Private,
    unit: Unit,
    /// What atomic operations on other CTAs' shared memory go through.
    remote: Rate,
    /// What arrivals at barriers go through.
    arrivals: Rate,
    /// When the first of the copies is done that are on their way to its CTAs, or [`NEVER`].
    arriving: u64,
    /// When it has something to do, or [`NEVER`]; and the last cycle in which it had.
    pub(crate) due: u64,
    pub(crate) last: u64,
    /// What it waits for, in the cycle that is due, or in the last one.
    pub(crate) halt: Option<(u64, Halt)>,
    /// CTAs that have ended in the last cycle.
    pub(crate) ended: Vec<Ended>,
    /// Scratch.
    touched: Touched,
    touches: Vec<Touch>,
}

/// Later than anything happens.
pub(crate) const NEVER: u64 = u64::MAX;

/// Where the local memory of a warp of a CTA in a place of an SM is, for caches: no other memory is so far up, no lane has more than half a
/// MiB, and the frames of warps, at the end of what they may have, lie in other sets.
fn local(sm: u32, place: usize, warp: usize) -> u64 {
    const MOST: u64 = (1 << 19) * LANES as u64;
    const BETWEEN: u64 = 149 * LINE;
    (1 << 60) + (u64::from(sm) << 40) + (32 * place + warp) as u64 * (MOST + BETWEEN)
}

impl Sm {
    pub(crate) fn new(number: u32, group: usize, kernel: &Kernel<'_>, places: usize, l1: u64) -> Self {
        let device = kernel.device;
        let sub_core = || SubCore {
            warps: Vec::new(),
            ready: Vec::new(),
            pipes: vec![0; device.pipes.len()],
            dispatch: 0,
            banks: vec![0; device.parameters.banks as usize],
            queue: VecDeque::new(),
            port: 0,
            last: None,
            due: NEVER,
        };
        Self {
            number,
            sub_cores: (0..device.parameters.sub_cores).map(|_| sub_core()).collect(),
            next_core: 0,
            pipes: vec![0; device.pipes.len()],
            ctas: (0..places).map(|_| None).collect(),
            fetch: Fetch::new(&device.parameters, kernel.code.len()),
            constants: Constants::new(&device.parameters),
            private: Private::new(&device.parameters, group, l1),
            unit: Unit::new(device.parameters.sub_cores as usize),
            remote: Rate::new(device.parameters.cluster_atomics),
            arrivals: Rate::new(device.parameters.arrivals),
            arriving: NEVER,
            due: NEVER,
            last: 0,
            halt: None,
            ended: Vec::new(),
            touched: Touched::default(),
            touches: Vec::new(),
        }
    }

    /// Begins a CTA in a place, at a cycle. Its first warp goes to the sub-core behind that of the last warp before it.
    pub(crate) fn begin(&mut self, kernel: &Kernel<'_>, place: usize, number: u64, now: u64) {
        let mut resident = kernel.grid.begin(number);
        let count = self.sub_cores.len();
        for warp in 0..resident.warps() {
            let mut timed = Warp::new(place, warp, now);
            let ready = Self::resume(kernel, &mut self.fetch, &mut resident, &mut timed, now).unwrap_or(now);
            let core = &mut self.sub_cores[self.next_core];
            self.next_core = (self.next_core + 1) % count;
            core.due = core.due.min(ready);
            core.warps.push(timed);
            core.ready.push(ready);
        }
        self.ctas[place] =
            Some(Cta { left: resident.warps(), resident, begun: now, copies: Vec::new(), met: 0 });
        self.due = self.due.min(now);
    }

    /// The last cycle at which something of it is under way: a thread, or what was written.
    pub(crate) fn settled(&self) -> u64 {
        self.last.max(self.private.settled())
    }

    /// Whether a CTA is here.
    pub(crate) fn is_busy(&self) -> bool {
        self.ctas.iter().any(Option::is_some)
    }

    /// That its warps all wait for one another, if a CTA is here.
    pub(crate) fn deadlock(&self, kernel: &Kernel<'_>) -> Option<Fault> {
        let cta = self.ctas.iter().flatten().next()?;
        Some(kernel.grid.deadlock(&cta.resident))
    }

    /// Goes on alone until it halts, or until a cycle.
    pub(crate) fn advance(&mut self, kernel: &Kernel<'_>, tally: &mut Tally, until: u64) {
        while self.halt.is_none() && self.due < until {
            self.cycle(kernel, tally, None, 0);
        }
    }

    /// The cycle that is due, from a sub-core on: each issues what it can. Without the world it halts in front of what touches that.
    pub(crate) fn cycle(
        &mut self,
        kernel: &Kernel<'_>,
        tally: &mut Tally,
        mut world: Option<&mut World>,
        from: usize,
    ) {
        let now = self.due;
        self.last = now;
        if self.arriving <= now {
            self.arrive(kernel, now);
        }
        for core in from..self.sub_cores.len() {
            if self.sub_cores[core].due <= now
                && let Some(at) = self.choose(kernel, core, now)
            {
                if world.is_none() && self.leaves(kernel, core, at) {
                    self.halt = Some((now, Halt::Leaves { core }));
                    return;
                }
                if let Err(fault) = self.issue(kernel, tally, world.as_deref_mut(), core, at, now) {
                    self.halt = Some((now, Halt::Fault(fault)));
                    return;
                }
            }
        }
        let mut due = NEVER;
        for core in 0..self.sub_cores.len() {
            if self.sub_cores[core].due <= now {
                self.sub_cores[core].due = self.next(kernel, core, now + 1);
            }
            due = due.min(self.sub_cores[core].due);
        }
        due = due.min(self.arriving);
        self.due = due;
        if !self.ended.is_empty() {
            self.halt = Some((now, Halt::Ended));
        } else if due == NEVER && self.is_busy() && kernel.grid.cluster() == 1 {
            self.halt = Some((now, Halt::Deadlock));
        }
    }

    /// All warps of a cluster have met: those that are here go on, at a cycle that has not passed here.
    pub(crate) fn meet(&mut self, kernel: &Kernel<'_>, cluster: u64, at: u64) {
        let at = at.max(self.last + 1);
        for place in 0..self.ctas.len() {
            let Some(cta) = &mut self.ctas[place] else { continue };
            if cluster_of(kernel, &cta.resident) == cluster {
                cta.resident.meet();
                cta.met = at;
                self.resume_waiting(kernel, place, at, at);
            }
        }
        let due = self.sub_cores.iter().map(|core| core.due).min().unwrap_or(NEVER);
        self.due = self.due.min(due.max(at));
    }

    /// Copies whose bytes have come are done, and warps go on that wait for them.
    fn arrive(&mut self, kernel: &Kernel<'_>, now: u64) {
        self.arriving = NEVER;
        for place in 0..self.ctas.len() {
            let Some(cta) = &mut self.ctas[place] else { continue };
            let before = cta.copies.len();
            let resident = &mut cta.resident;
            cta.copies.retain(|&(ready, copy)| {
                let is_there = ready <= now;
                if is_there {
                    resident.done(copy);
                }
                !is_there
            });
            let next = cta.copies.iter().map(|&(ready, _)| ready).min();
            self.arriving = self.arriving.min(next.unwrap_or(NEVER));
            if cta.copies.len() < before {
                self.resume_waiting(kernel, place, now, now);
            }
        }
    }

    /// Warps of a CTA that waited and can go on do so, from a cycle on.
    fn resume_waiting(&mut self, kernel: &Kernel<'_>, place: usize, freed: u64, now: u64) {
        let Some(cta) = &mut self.ctas[place] else { return };
        for core in &mut self.sub_cores {
            for (warp, ready) in core.warps.iter_mut().zip(&mut core.ready) {
                if warp.cta != place || warp.next.is_some() {
                    continue;
                }
                warp.release(freed);
                *ready =
                    Self::resume(kernel, &mut self.fetch, &mut cta.resident, warp, now).unwrap_or(*ready);
                core.due = core.due.min(*ready);
            }
        }
    }

    /// Whether a warp's next instruction may touch what all SMs have together.
    fn leaves(&self, kernel: &Kernel<'_>, core: usize, at: usize) -> bool {
        let code = self.sub_cores[core].warps[at].next.and_then(|place| kernel.code.get(place)?.as_ref());
        code.is_some_and(|code| code.leaves)
    }

    /// When a pipe takes an instruction, and which: of those that would, the first that is free. Where all take it, the last.
    fn pipe(&self, core: usize, kernel: &Kernel<'_>, code: &Code) -> (u64, usize) {
        let free = |pipe: usize| match kernel.device.pipes[pipe].is_shared {
            true => self.pipes[pipe],
            false => self.sub_cores[core].pipes[pipe],
        };
        let (mut at, pipe) = match code.pipes[..] {
            [pipe] => (free(pipe), pipe),
            ref pipes => {
                let free = pipes.iter().map(|&pipe| (free(pipe), pipe));
                let found = match code.takes_all {
                    true => free.max_by_key(|(at, _)| *at),
                    false => free.min_by_key(|(at, _)| *at),
                };
                found.unwrap_or((0, 0))
            }
        };
        if code.throttle == Throttle::Mio {
            let queue = &self.sub_cores[core].queue;
            let most = kernel.device.parameters.queue as usize;
            // A place becomes free when the unit takes the access that is so many before.
            at = at.max(queue.len().checked_sub(most).map_or(0, |behind| queue[behind]));
        }
        (at, pipe)
    }

    /// When a warp can be issued, as things stand.
    fn ready(&self, kernel: &Kernel<'_>, core: usize, at: usize) -> Option<u64> {
        let sub_core = &self.sub_cores[core];
        let (place, ready) = (sub_core.warps[at].next?, sub_core.ready[at]);
        let Some(code) = kernel.code.get(place).and_then(Option::as_ref) else { return Some(ready) };
        Some(ready.max(sub_core.operands(kernel, code)).max(self.pipe(core, kernel, code).0))
    }

    /// When a sub-core has something to issue from a cycle on, as things stand.
    fn next(&self, kernel: &Kernel<'_>, core: usize, now: u64) -> u64 {
        let mut due = NEVER;
        for (at, &ready) in self.sub_cores[core].ready.iter().enumerate() {
            // Its pipe matters if it could be the first.
            if ready < due
                && let Some(ready) = self.ready(kernel, core, at)
            {
                due = due.min(ready);
            }
            if due <= now {
                return now;
            }
        }
        due
    }

    /// The warp that is issued: the one before goes on unless it yields, else the one that came first.
    fn choose(&self, kernel: &Kernel<'_>, core: usize, now: u64) -> Option<usize> {
        let sub_core = &self.sub_cores[core];
        let (mut first, mut again) = (None, None);
        for (at, &ready) in sub_core.ready.iter().enumerate() {
            // Most warps are not ready, whatever the pipes are.
            if ready > now {
                continue;
            }
            let warp = &sub_core.warps[at];
            let is_last = sub_core.last == Some((warp.cta, warp.number));
            if !is_last && first.is_some() || self.ready(kernel, core, at).is_none_or(|ready| ready > now) {
                continue;
            }
            match (is_last, warp.yields) {
                (true, false) => return Some(at),
                (true, true) => again = Some(at),
                (false, _) => first = Some(at),
            }
        }
        first.or(again)
    }

    fn issue(
        &mut self,
        kernel: &Kernel<'_>,
        tally: &mut Tally,
        world: Option<&mut World>,
        core: usize,
        at: usize,
        now: u64,
    ) -> Result<(), Fault> {
        let Kernel { grid, device, code, .. } = kernel;
        let parameters = &device.parameters;
        let warp = &self.sub_cores[core].warps[at];
        let (cta, number, Some(place)) = (warp.cta, warp.number, warp.next) else { return Ok(()) };
        let Some(resident) = self.ctas[cta].as_mut().map(|cta| &mut cta.resident) else { return Ok(()) };
        let active = grid.step(resident, number, self.number, now, &mut self.touched)?;
        let mut world = world;
        if resident.has_met()
            && let Some(world) = &mut world
        {
            world.met.push(cluster_of(kernel, resident));
        }
        // A word that is no instruction has faulted.
        let Some(code) = code.get(place).and_then(Option::as_ref) else { return Ok(()) };

        let (was_free, pipe) = self.pipe(core, kernel, code);
        let throttle = match code.throttle {
            Throttle::Math => Stall::MathPipeThrottle,
            Throttle::Mio => Stall::MioThrottle,
        };
        let line = &mut tally.lines[place];
        line.warps += 1;
        line.threads += u64::from(active.count_ones());
        tally.counters.instructions += 1;
        tally.counters.threads += u64::from(active.count_ones());
        let sub_core = &mut self.sub_cores[core];
        let dispatch = sub_core.operands(kernel, code);
        for &(bank, cycles) in &code.banks {
            sub_core.banks[bank] = sub_core.banks[bank].max(now) + cycles;
        }
        sub_core.warps[at].account(now, (was_free, throttle), dispatch, &mut line.stalls);
        let taken = if code.takes_all { &code.pipes[..] } else { &[pipe] };
        let free = match code.arrives {
            true => self.arrivals.serve(now, 1).max(now + 1),
            false => now + code.interval,
        };
        for &pipe in taken {
            match device.pipes[pipe].is_shared {
                true => self.pipes[pipe] = free,
                false => sub_core.pipes[pipe] = free,
            }
        }
        sub_core.dispatch = sub_core.dispatch.max(now + 1 + code.dispatch);
        sub_core.last = Some((cta, number));

        let mut done = self.perform(parameters, (&mut tally.counters, world), core, (cta, number), code, now);
        if code.beside == Some(Beside::Copies) {
            let warp = &mut self.sub_cores[core].warps[at];
            done.ends = done.ends.max(warp.copies);
            done.stall = Stall::LongScoreboard;
            // One that names no scoreboard holds the first.
            if code.control.write_scoreboard.is_none() {
                warp.hold(0, (now, done.ends), done.stall, kernel.counts);
            }
        }
        if code.beside == Some(Beside::Arrival) {
            done.ends = done.ends.max(self.sub_cores[core].warps[at].copies);
        }
        if code.beside == Some(Beside::Fence) {
            let performed = self.sub_cores[core].warps[at].performed;
            (done.taken, done.ends) = (done.taken.max(performed), done.ends.max(performed));
        } else if self.touched.lanes != 0 && self.touched.way != Way::Load {
            let warp = &mut self.sub_cores[core].warps[at];
            warp.performed = warp.performed.max(done.ends);
        }
        let mut met = 0;
        if let Some(cta) = &mut self.ctas[cta] {
            met = cta.met;
            for copy in cta.resident.begun_copies() {
                cta.copies.push((done.ends, copy));
                self.arriving = self.arriving.min(done.ends);
            }
        }
        let warp = &mut self.sub_cores[core].warps[at];
        warp.issued(now, code, if active == 0 { 0 } else { parameters.branch });
        for (board, ends) in
            [(code.control.read_scoreboard, done.taken), (code.control.write_scoreboard, done.ends)]
        {
            if let Some(board) = board.filter(|_| code.holds) {
                warp.hold(board, (now, ends), done.stall, kernel.counts);
            }
        }
        match code.beside {
            Some(Beside::Bulk | Beside::Copy) => warp.copies = warp.copies.max(done.ends),
            Some(Beside::Product) => warp.products = warp.products.max(done.ends),
            Some(Beside::Products) => warp.release(warp.products),
            Some(Beside::Meeting) => warp.release(met),
            Some(Beside::Copies | Beside::Arrival | Beside::Fence) | None => {}
        }
        // Who holds no scoreboard for them waits itself.
        if code.control.write_scoreboard.is_none() {
            warp.release(done.constants);
        }
        warp.next = None;
        let place = warp.cta;
        self.follow(kernel, &mut tally.counters, core, at, now, code.is_barrier);
        if matches!(code.beside, Some(Beside::Product | Beside::Products)) {
            // The last of a warpgroup to begin a product lets those go on that wait for it.
            self.resume_waiting(kernel, place, now, now);
        }
        Ok(())
    }

    /// What an instruction's operands and results wait for.
    fn perform(
        &mut self,
        parameters: &Parameters,
        (counters, mut world): (&mut Counters, Option<&mut World>),
        core: usize,
        (cta, number): (usize, usize),
        code: &Code,
        now: u64,
    ) -> Done {
        let touched = &self.touched;
        let is_constant = touched.lanes != 0 && touched.memory == Memory::Constant;
        let is_access = touched.lanes != 0 && !is_constant;
        if !is_access && code.rounds == 0 {
            let (mut constants, mut turns) = (0, 0);
            if is_constant {
                let there = self.constants.ready(touched, now);
                constants = if there > now { there } else { 0 };
                if code.is_indexed {
                    turns = self.constants.turns(touched) + parameters.constant_indexed;
                    // Its pipe is the SM's, and takes no other meanwhile.
                    code.pipes.iter().for_each(|&pipe| self.pipes[pipe] += turns);
                }
            }
            let taken = if code.beside == Some(Beside::Fence) {
                code.latency
            } else {
                code.interval.min(code.latency)
            };
            return Done {
                taken: now + taken,
                ends: constants.max(now) + code.latency + turns,
                constants,
                stall: Stall::ShortScoreboard,
            };
        }
        if let (Some(Beside::Bulk), Some(world)) = (code.beside, world.as_deref_mut()) {
            let origin = *world.origin.get_or_insert(touched.addresses[0] / PAGE * PAGE);
            lines(touched, origin, 0, &mut self.touches);
            let ends = self.private.bulk(&mut world.memory, touched.way, &self.touches, now, counters);
            return Done { taken: now + code.latency, ends: ends + code.latency, ..Done::long() };
        }
        let sub_core = &mut self.sub_cores[core];
        while sub_core.queue.front().is_some_and(|&taken| taken <= now) {
            sub_core.queue.pop_front();
        }
        let comes = sub_core.port.max(now + parameters.lsu);
        let hit = code.latency.saturating_sub(parameters.lsu);
        let unit = &mut self.unit;
        let mut serve = |rounds: u64| {
            let begin = unit.take(now, core, comes, rounds);
            sub_core.queue.push_back(begin);
            sub_core.port = begin + rounds * parameters.port;
            // The last round is as long under way as a single one.
            let ends = sub_core.port.saturating_sub(parameters.port) + hit;
            Done { taken: begin, ends, constants: 0, stall: Stall::ShortScoreboard }
        };
        if !is_access {
            return serve(code.rounds);
        }
        match (touched.memory, world) {
            (Memory::Global | Memory::Local, Some(world)) => {
                let local = local(self.number, cta, number);
                let is_local = touched.memory == Memory::Local;
                let first = touched.places().next().filter(|_| !is_local);
                let origin = world.origin.or(first.map(|place| place / PAGE * PAGE));
                world.origin = origin;
                lines(touched, origin.unwrap_or(0), local, &mut self.touches);
                counters.load_requests += u64::from(touched.way == Way::Load && !is_local);
                if matches!(touched.way, Way::Atomic | Way::Reduction) {
                    count_crowds(touched, origin.unwrap_or(0), &mut self.touches);
                }
                // A lane reads of local memory what it has stored; of words that were stored byte by byte the L1 knows nothing.
                let stays = is_local && touched.bytes >= 4;
                let (rounds, _) = rounds(touched);
                let rounds = if is_local { self.touches.len() as u64 } else { rounds };
                let cycles = self.private.cycles(rounds, &self.touches);
                let begin = self.unit.take(now, core, comes, cycles);
                let request = Request { way: touched.way, is_strong: code.is_strong, is_local, stays, hit };
                let (next, ends) = self.private.access(
                    &mut world.memory,
                    request,
                    &self.touches,
                    begin + cycles - 1,
                    counters,
                );
                self.unit.hold(next);
                sub_core.queue.push_back(begin);
                sub_core.port = begin + rounds * parameters.port;
                Done { taken: begin, ends, ..Done::long() }
            }
            (Memory::Cluster, _) => {
                let (rounds, _) = rounds(touched);
                let done = serve(rounds.max(code.rounds));
                let mut there = done.ends;
                if matches!(touched.way, Way::Atomic | Way::Reduction) {
                    lines(touched, 0, 0, &mut self.touches);
                    count_crowds(touched, 0, &mut self.touches);
                    let sectors = self.touches.iter().flat_map(|touch| touch.crowds);
                    there = there.max(self.remote.serve(done.taken, sectors.map(u64::from).sum()));
                }
                Done { ends: there + parameters.cluster, ..done }
            }
            // What touches the others is issued with the world alone.
            (Memory::Shared | Memory::Constant | Memory::Global | Memory::Local, _) => {
                let (rounds, ideal) = rounds(touched);
                let rounds = rounds.max(code.rounds);
                match touched.way {
                    Way::Load => {
                        counters.shared_load += rounds;
                        counters.load_conflicts += rounds.saturating_sub(ideal.max(code.rounds));
                    }
                    Way::Store => {
                        counters.shared_store += rounds;
                        counters.store_conflicts += rounds.saturating_sub(ideal.max(code.rounds));
                    }
                    Way::Atomic | Way::Reduction => counters.shared_atomic += rounds,
                }
                serve(rounds)
            }
        }
    }

    /// What comes behind an instruction that was issued: the next one, or a barrier, or the end of the warp, or of its CTA.
    fn follow(
        &mut self,
        kernel: &Kernel<'_>,
        counters: &mut Counters,
        core: usize,
        at: usize,
        now: u64,
        is_barrier: bool,
    ) {
        let warp = &self.sub_cores[core].warps[at];
        let (place, number) = (warp.cta, warp.number);
        let Some(cta) = &mut self.ctas[place] else { return };
        if !is_barrier && let Some(next) = cta.resident.next(number) {
            let sub_core = &mut self.sub_cores[core];
            sub_core.ready[at] = Self::settle(kernel, &mut self.fetch, &mut sub_core.warps[at], next, now);
            return;
        }
        if cta.resident.has_exited(number) {
            self.sub_cores[core].warps.remove(at);
            self.sub_cores[core].ready.remove(at);
            cta.left -= 1;
            counters.resident += now + 1 - cta.begun;
        }
        if cta.left == 0 {
            self.ended.push(Ended { place, block: cta.resident.block(), begun: cta.begun });
            self.ctas[place] = None;
            return;
        }
        // An arrival or an exit may let all go on who wait.
        let freed = now + kernel.device.parameters.barrier;
        self.resume_waiting(kernel, place, freed, now);
    }

    /// A warp's next instruction, if it has one now: from when on it can be issued.
    fn resume(
        kernel: &Kernel<'_>,
        fetch: &mut Fetch,
        resident: &mut Resident,
        warp: &mut Warp,
        now: u64,
    ) -> Option<u64> {
        let next = resident.next(warp.number)?;
        Some(Self::settle(kernel, fetch, warp, next, now))
    }

    fn settle(kernel: &Kernel<'_>, fetch: &mut Fetch, warp: &mut Warp, next: usize, now: u64) -> u64 {
        let fetched = fetch.ready(next, now);
        warp.settle(next, kernel.code.get(next).and_then(Option::as_ref), fetched)
    }
}

/// When an instruction's operands have been taken, its results are there, and what waits for them is held back by.
struct Done {
    taken: u64,
    ends: u64,
    /// When constants are there that have to come first; 0 if they are.
    constants: u64,
    stall: Stall,
}

/// The number of a CTA's cluster.
fn cluster_of(kernel: &Kernel<'_>, resident: &Resident) -> u64 {
    let ([x, y, z], [width, height, _]) =
        (resident.block().map(u64::from), kernel.grid.extents().map(u64::from));
    (x + width * (y + height * z)) / u64::from(kernel.grid.cluster())
}

impl Done {
    /// What something waits for long.
    fn long() -> Self {
        Self { taken: 0, ends: 0, constants: 0, stall: Stall::LongScoreboard }
    }
}
