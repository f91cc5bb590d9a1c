//! A CTA: its warps in turn, its shared memory, its barriers.

use crate::cluster::Member;
use crate::fault::FaultKind;
use crate::mbarrier::Completion;
use crate::memory::Reach;
use crate::registers::LANES;
use crate::step::{Arrival, Scratch, Step};
use crate::timing::{Schedule, Timing};
use crate::warp::{Around, Event, Warp};
use crate::warpgroup::WARPS;
use machine::memory::Buffers;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Instructions of a warp before another one has its turn.
const TURN: u32 = 256;

/// A barrier: who has arrived since it was complete for the last time.
#[derive(Clone, Default)]
struct Barrier {
    threads: u32,
    /// How many threads complete it; those of all warps that have not exited, if an arrival did not say.
    expected: Option<u32>,
    /// Warps that wait here.
    waiting: Vec<usize>,
    /// Threads whose predicate held, and threads in all.
    held: u32,
    asked: u32,
    arrival: Option<Arrival>,
}

/// A CTA that runs.
pub(crate) struct Cta {
    pub(crate) block: [u32; 3],
    pub(crate) shared: Vec<u8>,
    /// Its place in its cluster, where its shared memory is then.
    member: Option<Member>,
    scratch: Box<Scratch>,
    pub(crate) warps: Vec<Warp>,
    barriers: Vec<Barrier>,
    /// Copies that are not done before somebody says so, if that is how it is.
    copies: Option<Vec<Completion>>,
    /// Whether all warps of its cluster have met since somebody asked.
    met: bool,
}

/// Why a turn ended with a fault: which warp, which instruction, what.
pub(crate) struct Stopped {
    pub(crate) warp: u32,
    pub(crate) place: usize,
    pub(crate) kind: FaultKind,
}

impl Cta {
    pub(crate) fn new(
        block: [u32; 3],
        threads: u32,
        shared: u64,
        registers: usize,
        schedule: Option<&Arc<Schedule>>,
        member: Option<Member>,
    ) -> Self {
        let timing = || schedule.map(|schedule| Timing::new(Arc::clone(schedule)));
        let warps = (0..threads.div_ceil(LANES as u32))
            .map(|number| Warp::new(number, threads - number * LANES as u32, registers, timing()))
            .collect();
        Self {
            block,
            shared: if member.is_some() { Vec::new() } else { vec![0; shared as usize] },
            member,
            scratch: Box::default(),
            warps,
            barriers: vec![Barrier::default(); 16],
            copies: None,
            met: false,
        }
    }

    /// Its place in its cluster.
    pub(crate) fn member(&self) -> Option<&Member> {
        self.member.as_ref()
    }

    /// Whether all warps of its cluster have met since this was asked for the last time, by what one of its own did.
    pub(crate) fn has_met(&mut self) -> bool {
        std::mem::take(&mut self.met)
    }

    /// Whether warps wait for other CTAs.
    pub(crate) fn waits_for_cluster(&self) -> bool {
        self.warps.iter().any(Warp::waits_for_cluster)
    }

    /// Warps that wait for other CTAs which have all arrived go on, and those at an object where others were the last.
    pub(crate) fn meet(&mut self) {
        if let Some(member) = &self.member {
            self.warps.iter_mut().for_each(|warp| warp.meet_cluster(&member.cluster));
            // Others may have come to an object of this one.
            self.pass();
        }
    }

    /// From now on copies are done when somebody says so.
    pub(crate) fn hold_copies(&mut self) {
        self.copies = Some(Vec::new());
    }

    /// The copies that have begun since this was asked for the last time.
    pub(crate) fn begun_copies(&mut self) -> impl Iterator<Item = Completion> {
        self.copies.iter_mut().flat_map(std::mem::take)
    }

    /// A copy is done.
    pub(crate) fn done(&mut self, copy: Completion) {
        // Its object was there when it began, or the copy tells nobody.
        let mut own = self.member.as_ref().map(Member::memory);
        let is_over = copy.done(own.as_deref_mut().unwrap_or(&mut self.shared)).unwrap_or(false);
        drop(own);
        if is_over {
            self.pass();
        }
    }

    fn pass(&mut self) {
        let mut own = self.member.as_ref().map(Member::memory);
        let shared = own.as_deref_mut().unwrap_or(&mut self.shared);
        self.warps.iter_mut().for_each(|warp| warp.pass(shared));
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.warps.iter().all(Warp::has_exited)
    }

    /// The broken dependences that its warps have met.
    pub(crate) fn hazards(&mut self) -> BTreeSet<(u64, u64, String)> {
        let timings = self.warps.iter_mut().filter_map(|warp| warp.timing.take());
        timings.flat_map(|timing| timing.found()).collect()
    }

    /// Gives each warp a turn; whether any could go on, or waits for another CTA.
    ///
    /// # Errors
    /// If an instruction faults, if nobody can go on, or if the budget is spent.
    pub(crate) fn turn(
        &mut self,
        around: &mut Around<'_>,
        global: &dyn Buffers,
        budget: &mut u64,
    ) -> Result<bool, Stopped> {
        (around.block, around.member) = (self.block, self.member.clone());
        self.meet();
        let mut moved = false;
        for index in 0..self.warps.len() {
            let mut left = u64::from(TURN);
            while left > 0 && self.warps[index].is_ready() {
                moved = true;
                let warp = &mut self.warps[index];
                let (number, most) = (warp.number, left.min(*budget));
                if most == 0 {
                    return Err(Stopped { warp: number, place: warp.place(), kind: FaultKind::Budget });
                }
                let mut own = self.member.as_ref().map(Member::memory);
                let mut reach = Reach {
                    global,
                    shared: own.as_deref_mut().unwrap_or(&mut self.shared),
                    scratch: &mut self.scratch,
                    copies: self.copies.as_mut(),
                    member: self.member.as_ref(),
                    textures: around.textures,
                };
                let (executed, event) = warp.run(around, &mut reach, most);
                *budget -= executed;
                left -= executed;
                drop(own);
                let event = event.map_err(|(place, kind)| Stopped { warp: number, place, kind })?;
                if self.tell(index, event, around.steps)? {
                    break;
                }
            }
        }
        if moved || self.has_exited() {
            return Ok(true);
        }
        // A wait for a phase may end before that does.
        if self.warps.iter_mut().map(Warp::give_up).filter(|&waited| waited).count() > 0 {
            return Ok(true);
        }
        if self.waits_for_cluster() {
            return Ok(false);
        }
        Err(self.deadlock())
    }

    /// That no warp can go on: told of the first that has not exited.
    pub(crate) fn deadlock(&self) -> Stopped {
        let warp = self.warps.iter().find(|warp| !warp.has_exited());
        let (warp, place) = warp.map_or((0, 0), |warp| (warp.number, warp.place()));
        Stopped { warp, place, kind: FaultKind::Deadlock }
    }

    /// Executes one instruction of a warp that can go on; whether others should have a turn.
    ///
    /// # Errors
    /// If it faults.
    pub(crate) fn step(
        &mut self,
        index: usize,
        around: &Around<'_>,
        global: &dyn Buffers,
    ) -> Result<bool, Stopped> {
        let warp = &mut self.warps[index];
        let number = warp.number;
        let mut own = self.member.as_ref().map(Member::memory);
        let mut reach = Reach {
            global,
            shared: own.as_deref_mut().unwrap_or(&mut self.shared),
            scratch: &mut self.scratch,
            copies: self.copies.as_mut(),
            member: self.member.as_ref(),
            textures: around.textures,
        };
        let event = warp.execute(around, &mut reach);
        drop(own);
        let event = event.map_err(|(place, kind)| Stopped { warp: number, place, kind })?;
        self.tell(index, event, around.steps)
    }

    /// What an instruction of a warp means for the others; whether they should have a turn.
    fn tell(&mut self, index: usize, event: Option<Event>, steps: &[Step]) -> Result<bool, Stopped> {
        match event {
            // Who exits need not be waited for.
            None if self.warps[index].has_exited() => {
                self.complete();
                self.multiply(index, steps)?;
                self.met |= self.member.as_ref().is_some_and(|member| member.cluster.leave());
            }
            None => {}
            Some(Event::Yielded) => return Ok(true),
            Some(Event::Phase) => self.pass(),
            Some(Event::Product) => self.multiply(index, steps)?,
            Some(Event::Met) => self.met = true,
            Some(Event::Arrived { number, threads, arrival, held, active }) => {
                let barrier = &mut self.barriers[usize::from(number) % 16];
                barrier.threads += LANES as u32;
                barrier.expected = barrier.expected.or(threads);
                barrier.held += held.count_ones();
                barrier.asked += active.count_ones();
                barrier.arrival = barrier.arrival.or(Some(arrival));
                if arrival != Arrival::Arrive {
                    barrier.waiting.push(index);
                }
                self.complete();
            }
        }
        Ok(false)
    }

    /// Products of a warp's warpgroup are done which all of its warps have begun and one waits for. Who has waited may change their factors,
    /// so that these are read for all warps; the others have their results when they wait themselves.
    fn multiply(&mut self, index: usize, steps: &[Step]) -> Result<(), Stopped> {
        let first = index - index % WARPS;
        let last = self.warps.len().min(first + WARPS);
        let warps = &mut self.warps[first..last];
        let begun = warps.iter().map(Warp::begun_products).min().unwrap_or(0);
        let waited = warps.iter().filter_map(Warp::awaited_products).map(|(_, count)| count);
        let Some(done) = waited.filter(|&count| count <= begun).max() else { return Ok(()) };
        let own = self.member.as_ref().map(Member::memory);
        let shared = own.as_deref().unwrap_or(&self.shared);
        for warp in &mut *warps {
            warp.read_factors(done, steps, shared).map_err(|(place, kind)| Stopped {
                warp: warp.number,
                place,
                kind,
            })?;
        }
        for warp in warps {
            if let Some((left, count)) = warp.awaited_products()
                && count <= done
            {
                warp.finish_products(left, steps);
            }
        }
        Ok(())
    }

    /// Barriers at which all have arrived let those go on who wait.
    fn complete(&mut self) {
        let left = self.warps.iter().filter(|warp| !warp.has_exited()).count() * LANES;
        for barrier in &mut self.barriers {
            if barrier.threads == 0 || barrier.threads < barrier.expected.unwrap_or(left as u32) {
                continue;
            }
            let done = std::mem::take(barrier);
            let truth = match done.arrival {
                Some(Arrival::And) => done.held == done.asked,
                _ => done.held > 0,
            };
            for warp in done.waiting {
                self.warps[warp].result = (done.held, truth);
                self.warps[warp].release();
            }
        }
    }
}
