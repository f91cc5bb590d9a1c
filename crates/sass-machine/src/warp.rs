//! A warp: each lane stands somewhere, and lanes at one instruction execute it together.
//!
//! Those that execute are the running ones; where the others stand, and what they wait for, is noted for each. Lanes part where a branch is
//! not taken by all, and are different teams then, until an instruction waits for them: as on a GPU, teams that come to one place execute it
//! one after the other. Of teams that are ready that goes first which is behind all others, until a `YIELD` or too many branches give the
//! others their turn.

mod objects;
mod products;
mod teams;

use crate::cluster::{Cluster, Member};
use crate::fault::FaultKind;
use crate::groups::{Begun, Fetched, Groups};
use crate::mbarrier::Mbarrier;
use crate::memory::{Local, Reach};
use crate::operand::{Operand, Special};
use crate::registers::{Banks, LANES, Registers, lanes};
use crate::step::{Access, Action, Arrival, Compute, Place, Scratch, Source, Step};
use crate::system::{self, Caller, System};
use crate::timing::Timing;
use crate::touched::Touched;
use crate::{access, bulk, collective, groups, tensor, texture, warpgroup};
use machine::lanes::simd::{Simd, Work, on_host};
use machine::memory::{Buffers, SHARED_WINDOW};
use machine::texture::Unit;

/// What a lane does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Waits at this very place for the lanes of a mask.
    Together(u32),
    /// Waits for them there, and goes on with nobody else.
    Exclusive(u32),
    /// Waits for them wherever they wait like this.
    Collective(u32),
    /// Waits at a barrier of convergence.
    Converging(u8),
    /// Waits at a barrier of the CTA.
    Barrier,
    /// Waits for all CTAs of the cluster, since a time that they had met.
    Cluster(u64),
    /// Waits for products of its warpgroup, of which so many groups may be left.
    Products(usize),
    /// Waits for the end of a phase of an object in shared memory, which a predicate then tells.
    Phase {
        address: u64,
        phase: bool,
        flag: u8,
    },
    Exited,
}

/// Barriers of convergence.
const BARRIERS: usize = 16;
/// Bytes of an instruction.
const WORD: u64 = crate::decode::WORD as u64;

/// What a warp needs to know of its surroundings.
pub(crate) struct Around<'a> {
    pub(crate) steps: &'a [Step],
    pub(crate) banks: &'a Banks,
    pub(crate) block: [u32; 3],
    /// The dimensions of a CTA.
    pub(crate) threads: [u32; 3],
    /// Instructions that have been executed, as a clock; or what somebody else counts who chooses the warps.
    pub(crate) clock: u64,
    /// The SM's number.
    pub(crate) sm: u32,
    /// The device's textures and surfaces, if it is known which.
    pub(crate) textures: Option<&'a Unit<'a>>,
    /// The CTA's place in its cluster.
    pub(crate) member: Option<Member>,
    pub(crate) system: &'a System,
}

/// What an instruction means for the CTA.
pub(crate) enum Event {
    /// An arrival at a barrier: of which number, for how many threads, and the lanes whose predicate held.
    Arrived { number: u8, threads: Option<u32>, arrival: Arrival, held: u32, active: u32 },
    /// All warps of the cluster have met.
    Met,
    /// A phase has ended for which warps may wait.
    Phase,
    /// A product of the warpgroup has begun, or somebody waits for some.
    Product,
    /// Others should have a turn.
    Yielded,
}

/// A warp.
pub(crate) struct Warp {
    pub(crate) number: u32,
    registers: Registers,
    local: Local,
    /// Where those stand that run, and which lanes they are.
    place: usize,
    running: u32,
    /// Lanes that could run.
    ready: u32,
    /// Where each other lane stands.
    places: [usize; LANES],
    states: [State; LANES],
    /// The team of each lane: those of one team stand at one place.
    teams: [u8; LANES],
    /// The team whose turn is next, and where it stands.
    turn: Option<teams::Standing>,
    /// Branches since others had their turn.
    branches: u32,
    /// Where lanes go that leave a collective.
    leave_to: [usize; LANES],
    /// For each barrier of convergence and lane, the lanes that it waits for.
    barriers: [[u32; LANES]; BARRIERS],
    /// What the last reduction at a barrier gave: a count, a truth.
    pub(crate) result: (u32, bool),
    /// How often the cluster had met when it arrived there last.
    cluster_phase: u64,
    /// Cycles, or instructions where nobody counts those.
    clock: u64,
    /// Copies to shared memory and products of four warps that go on beside it.
    copies: Groups<Fetched>,
    products: Groups<Begun>,
    /// How many products it has begun.
    begun: u64,
    /// When results are there, if anybody wants to know.
    pub(crate) timing: Option<Box<Timing>>,
}

/// How many instructions were executed, and how the last one ended: with an event, or in which place with which fault.
pub(crate) type Ended = (u64, Result<Option<Event>, (usize, FaultKind)>);

/// A turn of a warp, of so many instructions at most.
struct Turn<'x, 'a, 'r> {
    warp: &'x mut Warp,
    around: &'x mut Around<'a>,
    reach: &'x mut Reach<'r>,
    most: u64,
}

impl Work for Turn<'_, '_, '_> {
    type Output = Ended;

    #[inline(always)]
    fn run<S: Simd>(self) -> Ended {
        let Self { warp, around, reach, most } = self;
        for executed in 1..=most {
            around.clock += 1;
            match warp.execute(around, reach) {
                Ok(None) if warp.ready != 0 => {}
                ended => return (executed, ended),
            }
        }
        (most, Ok(None))
    }
}

impl Warp {
    pub(crate) fn new(number: u32, threads: u32, registers: usize, timing: Option<Timing>) -> Self {
        let count = threads.min(LANES as u32);
        let mut states = [State::Exited; LANES];
        states[..count as usize].fill(State::Ready);
        Self {
            number,
            registers: Registers::new(registers),
            local: Local::new(),
            place: 0,
            running: 0,
            ready: if count == 32 { u32::MAX } else { (1 << count) - 1 },
            places: [0; LANES],
            states,
            teams: [0; LANES],
            turn: None,
            branches: 0,
            leave_to: [0; LANES],
            barriers: [[0; LANES]; BARRIERS],
            result: (0, false),
            cluster_phase: 0,
            clock: 0,
            copies: Groups::default(),
            products: Groups::default(),
            begun: 0,
            timing: timing.map(Box::new),
        }
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.ready == 0 && self.states.iter().all(|&state| state == State::Exited)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready != 0
    }

    /// Lanes that wait at a barrier go on.
    pub(crate) fn release(&mut self) {
        for lane in 0..LANES {
            if self.states[lane] == State::Barrier {
                self.wake(lane);
            }
        }
    }

    /// Lanes that wait for the end of a phase wait no longer, and are told that it has not come; whether there are any.
    pub(crate) fn give_up(&mut self) -> bool {
        let waiting = |state: &State| matches!(state, State::Phase { .. });
        let any = self.states.iter().any(waiting);
        for lane in (0..LANES).filter(|&lane| waiting(&self.states[lane])).collect::<Vec<_>>() {
            self.wake(lane);
        }
        any
    }

    /// Whether lanes wait for other CTAs.
    pub(crate) fn waits_for_cluster(&self) -> bool {
        self.states.iter().any(|state| matches!(state, State::Cluster(_)))
    }

    /// Lanes go on that wait for CTAs which have all arrived.
    pub(crate) fn meet_cluster(&mut self, cluster: &Cluster) {
        for lane in 0..LANES {
            if let State::Cluster(phase) = self.states[lane]
                && cluster.has_met(phase)
            {
                self.wake(lane);
            }
        }
    }

    /// Lanes go on that wait for a phase which is over.
    pub(crate) fn pass(&mut self, shared: &mut [u8]) {
        for lane in 0..LANES {
            if let State::Phase { address, phase, flag } = self.states[lane]
                && Mbarrier::read(shared, address).is_ok_and(|object| object.phase() != phase)
            {
                self.registers.set_mask(Place::Predicate(flag), 1 << lane, u32::MAX);
                self.wake(lane);
            }
        }
    }

    fn wake(&mut self, lane: usize) {
        self.states[lane] = State::Ready;
        self.ready |= 1 << lane;
    }

    /// Where an instruction would be executed next: for a fault that no instruction has.
    pub(crate) fn place(&self) -> usize {
        if self.running != 0 {
            return self.place;
        }
        (0..LANES).find(|&lane| self.states[lane] != State::Exited).map_or(0, |lane| self.places[lane])
    }

    /// The instruction that would be executed next, if any lane can go on.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<usize> {
        (self.running != 0 || self.select()).then_some(self.place)
    }

    /// The lanes that stand there.
    pub(crate) fn running(&self) -> u32 {
        self.running
    }

    pub(crate) fn registers(&self) -> &Registers {
        &self.registers
    }

    pub(crate) fn local(&self) -> &Local {
        &self.local
    }

    /// The lanes that would carry it out, and the memory that they would touch, if it is an access.
    pub(crate) fn touches(&self, around: &Around<'_>, global: &dyn Buffers, touched: &mut Touched) -> u32 {
        touched.lanes = 0;
        touched.rows.clear();
        let Some(step) = around.steps.get(self.place) else { return 0 };
        let active = self.active(step);
        match &step.action {
            Action::Access(access) => {
                access::touches(&self.registers, access, active, around.member.as_ref(), touched);
            }
            Action::Bulk(bulk) if active != 0 => bulk::touches(&self.registers, bulk, touched),
            Action::Tensor(tensor) if active != 0 => {
                tensor::touches(&self.registers, tensor, global, touched);
            }
            _ => {}
        }
        active
    }

    /// The running lanes in which the guard holds.
    #[inline(always)]
    fn active(&self, step: &Step) -> u32 {
        match &step.guard {
            None => self.running,
            Some(guard) => self.running & self.registers.flags(guard),
        }
    }

    /// Executes instructions for the lanes whose turn it is, so many at most, until the CTA has to know of one or no lane can go on; how
    /// many they were, and how the last one ended.
    pub(crate) fn run(&mut self, around: &mut Around<'_>, reach: &mut Reach<'_>, most: u64) -> Ended {
        on_host(Turn { warp: self, around, reach, most })
    }

    /// Executes one instruction for the lanes whose turn it is.
    ///
    /// # Errors
    /// With the instruction's number.
    #[inline(always)]
    pub(crate) fn execute(
        &mut self,
        around: &Around<'_>,
        reach: &mut Reach<'_>,
    ) -> Result<Option<Event>, (usize, FaultKind)> {
        let Some(place) = self.next() else { return Ok(None) };
        let step = around.steps.get(place).ok_or((place, FaultKind::OutsideOfCode))?;
        if self.timing.is_some() {
            return self.execute_timed(step, place, around, reach);
        }
        self.clock = around.clock;
        let active = self.active(step);
        self.place += 1;
        if active == 0 {
            return Ok(None);
        }
        if let Action::Compute(compute) = &step.action {
            let computed = self.compute(compute, active, around.banks, reach.scratch);
            return computed.map(|()| None).map_err(|kind| (place, kind));
        }
        self.act(&step.action, active, place, around, reach).map_err(|kind| (place, kind))
    }

    /// The same where control codes are honoured.
    fn execute_timed(
        &mut self,
        step: &Step,
        place: usize,
        around: &Around<'_>,
        reach: &mut Reach<'_>,
    ) -> Result<Option<Event>, (usize, FaultKind)> {
        let mut timing = self.timing.take();
        if let Some(timing) = &mut timing {
            timing.before(place, &mut self.registers);
            self.clock = timing.now();
        }
        let (running, active) = (self.running, self.active(step));
        self.place += 1;
        let result = if active == 0 {
            Ok(None)
        } else {
            self.act(&step.action, active, place, around, reach).map_err(|kind| (place, kind))
        };
        if let Some(timing) = &mut timing {
            timing.after(place, running, active, &mut self.registers);
        }
        self.timing = timing;
        result
    }

    fn act(
        &mut self,
        action: &Action,
        active: u32,
        place: usize,
        around: &Around<'_>,
        reach: &mut Reach<'_>,
    ) -> Result<Option<Event>, FaultKind> {
        match action {
            Action::Compute(compute) => self.compute(compute, active, around.banks, reach.scratch)?,
            Action::Special(special, to) => {
                let mut values = [0; LANES];
                (0..LANES).for_each(|lane| values[lane] = self.special(*special, lane, around));
                self.registers.set_values(*to, active, &values);
            }
            Action::PackPredicates { to, from, mask, byte, uniform } => {
                let mut words = [0; LANES];
                for lane in 0..LANES {
                    let bits = (0..7).filter(|&number| self.holds(number, *uniform, lane));
                    let bits = bits.fold(0, |bits, number| bits | 1_u32 << number) & mask;
                    let old = self.registers.read(from, around.banks, lane)? as u32;
                    words[lane] = old & !(mask << (8 * byte)) | bits << (8 * byte);
                }
                self.registers.set_plane(*to, active, &words);
            }
            Action::UnpackPredicates { from, mask, uniform } => {
                let mut scratch = [0; LANES];
                let words = *self.registers.word(from, around.banks, active, &mut scratch)?;
                for number in (0..7).filter(|number| mask >> number & 1 == 1) {
                    let bits = (0..LANES).fold(0, |bits, lane| bits | (words[lane] >> number & 1) << lane);
                    let predicate =
                        if *uniform { Place::UniformPredicate(number) } else { Place::Predicate(number) };
                    self.registers.set_mask(predicate, active, bits);
                }
            }
            Action::ToUniform { to, from } => {
                let word = self.registers.read(from, around.banks, active.trailing_zeros() as usize)?;
                self.registers.set_uniform(*to, word as u32);
            }
            Action::Access(Access::Copy { to, from, bytes, fills, flag }) => {
                let copy = (to, from, *bytes, *fills, flag.as_ref());
                let fetched = access::fetch(&self.registers, &self.local, copy, active, reach)?;
                let due = self.copies.begin(fetched);
                groups::finish_copies(&due, &mut self.local, reach)?;
            }
            Action::CommitCopies => self.copies.commit(),
            Action::AwaitCopies(left) => {
                let due = self.copies.leave(*left);
                groups::finish_copies(&due, &mut self.local, reach)?;
            }
            Action::Access(access) => {
                access::perform(&mut self.registers, &mut self.local, access, active, around.banks, reach)?;
            }
            Action::ClusterArrive => {
                let Some(member) = &around.member else { return Ok(None) };
                let (phase, is_last) = member.cluster.arrive();
                self.cluster_phase = phase;
                return Ok(is_last.then_some(Event::Met));
            }
            Action::ClusterWait => {
                if let Some(member) = &around.member
                    && !member.cluster.has_met(self.cluster_phase)
                {
                    self.stop(active, place + 1, State::Cluster(self.cluster_phase));
                }
            }
            Action::Phase(phase) => return self.at_object(phase, active, around.banks, reach),
            Action::Texel(texel) => texture::perform(&mut self.registers, texel, active, reach)?,
            Action::Bulk(bulk) => {
                return objects::finish(bulk::perform(&self.registers, bulk, reach)?, reach);
            }
            Action::Tensor(tensor) => {
                return objects::finish(tensor::perform(&self.registers, tensor, reach)?, reach);
            }
            Action::Told(told) => {
                let banks = around.banks;
                let ended = bulk::tell(&self.registers, &mut self.local, told, active, banks, reach)?;
                return Ok(ended.then_some(Event::Phase));
            }
            Action::Group(product) => {
                let begun = warpgroup::begin(&self.registers, product, place, self.begun);
                self.begun += 1;
                let mut due = self.products.begin(begun);
                if product.commits {
                    self.products.commit();
                }
                groups::read_factors(due.iter_mut(), self.number, around.steps, reach.shared)
                    .map_err(|(_, kind)| kind)?;
                groups::finish_products(&due, &mut self.registers, around.steps);
                return Ok(Some(Event::Product));
            }
            Action::AwaitProducts(left) => {
                if self.products.due(*left).next().is_some() {
                    self.stop(active, place + 1, State::Products(*left));
                    return Ok(Some(Event::Product));
                }
            }
            Action::Lanes(collective) => {
                collective::perform(&mut self.registers, around.banks, active, collective)?;
            }
            Action::Branch { target, flags, any } => {
                let carried = if *any { self.running } else { active };
                let taken = flags.iter().fold(carried, |mask, flag| mask & self.registers.flags(flag));
                if taken == self.ready {
                    self.place = *target;
                } else {
                    self.branch(taken, |_, _| *target);
                }
            }
            Action::Indirect { base, register, uniform } => {
                let (base, register) = (*base, *register);
                if *uniform {
                    let target = base.wrapping_add(self.registers.uniform_pair(register)) / WORD;
                    self.branch(active, |_, _| target as usize);
                } else {
                    let to = |registers: &Registers, lane| {
                        (base.wrapping_add(registers.general(register, true, lane)) / WORD) as usize
                    };
                    self.branch(active, to);
                }
            }
            Action::Gather(barrier) => {
                lanes(active).for_each(|lane| self.barriers[usize::from(*barrier)][lane] = active);
            }
            Action::Meet(barrier) => {
                let all = &self.barriers[usize::from(*barrier)];
                if lanes(active).any(|lane| all[lane] & !self.exited() & !active != 0) {
                    self.stop(active, place, State::Converging(*barrier));
                    self.meet();
                }
            }
            Action::Break(barrier) => {
                self.barriers[usize::from(*barrier)].iter_mut().for_each(|mask| *mask &= !active);
                self.meet();
            }
            Action::BarrierToRegister { to, barrier, clear } => {
                let masks = &mut self.barriers[usize::from(*barrier)];
                self.registers.set_plane(Place::Registers(*to, 1), active, masks);
                if *clear {
                    lanes(active).for_each(|lane| masks[lane] = 0);
                }
            }
            Action::RegisterToBarrier { barrier, from } => {
                for lane in lanes(active) {
                    let mask = self.registers.read(from, around.banks, lane)? as u32;
                    self.barriers[usize::from(*barrier)][lane] = mask;
                }
            }
            Action::ProgramCounter(to, address) => self.registers.set_values(*to, active, &[*address; LANES]),
            Action::Exit => {
                self.stop(active, place, State::Exited);
                self.meet();
            }
            Action::Barrier { number, threads, arrival, flag } => {
                let held = flag.as_ref().map_or(0, |flag| self.registers.flags(flag) & active);
                // All lanes that come by have the same in a register.
                let first = active.trailing_zeros() as usize % LANES;
                let given = |source: &Source, above: u32| {
                    let word = self.registers.read(source, around.banks, first)? as u32;
                    Ok(if matches!(source.operand, Operand::Immediate(_)) { word } else { word >> above })
                };
                let number = given(number, 0)? as u8 & 15;
                let threads = threads.as_ref().map(|threads| given(threads, 16)).transpose()?;
                if *arrival != Arrival::Arrive {
                    self.stop(active, place + 1, State::Barrier);
                }
                return Ok(Some(Event::Arrived { number, threads, arrival: *arrival, held, active }));
            }
            Action::Result { to, flag } => {
                let (count, truth) = self.result;
                self.registers.set_plane(*to, active, &[count; LANES]);
                self.registers.set_mask(*flag, active, if truth { u32::MAX } else { 0 });
            }
            Action::Together(mask) => {
                self.wait_for(mask.as_ref(), active, place, around.banks, State::Together)?;
            }
            Action::Exclusive(mask) => {
                self.wait_for(Some(mask), active, place, around.banks, State::Exclusive)?;
            }
            Action::Collective(mask, target) => {
                lanes(active).for_each(|lane| self.leave_to[lane] = *target);
                self.wait_for(mask.as_ref(), active, place, around.banks, State::Collective)?;
            }
            Action::Leave => {
                let to = self.leave_to;
                self.branch(active, |_, lane| to[lane]);
            }
            Action::Yield => {
                self.pass_on();
                return Ok(Some(Event::Yielded));
            }
            Action::Nothing => {}
            Action::Trap => return Err(FaultKind::Trap),
            Action::System(function) => {
                let caller = Caller { registers: &mut self.registers, local: &mut self.local, reach };
                around.system.call(*function, active, caller)?;
                let back = |registers: &Registers, lane| {
                    (registers.general(system::BACK, true, lane) / WORD) as usize
                };
                self.branch(active, back);
            }
            Action::NotExecuted(text) => return Err(FaultKind::NotExecuted(text.clone())),
            Action::NoInstruction(word) => return Err(FaultKind::NoInstruction(*word)),
        }
        Ok(None)
    }

    fn holds(&self, number: u8, uniform: bool, lane: usize) -> bool {
        if uniform {
            self.registers.uniform_predicate(number)
        } else {
            self.registers.predicate(number) >> lane & 1 == 1
        }
    }

    fn exited(&self) -> u32 {
        (0..LANES).filter(|&lane| self.states[lane] == State::Exited).fold(0, |mask, lane| mask | 1 << lane)
    }

    #[inline(always)]
    fn compute(
        &mut self,
        compute: &Compute,
        active: u32,
        banks: &Banks,
        scratch: &mut Scratch,
    ) -> Result<(), FaultKind> {
        let Scratch { words: [first, second, third], to, given, results } = scratch;
        match compute {
            Compute::Words { sources: [a, b, c], place, function } => {
                let given = [
                    self.registers.input(a, banks, active, first)?,
                    self.registers.input(b, banks, active, second)?,
                    self.registers.input(c, banks, active, third)?,
                ];
                function((given, to));
                self.registers.set_plane(*place, active, to);
            }
            Compute::Test { sources: [a, b], places: [p, q], with, join, function } => {
                let holds = function([
                    self.registers.input(a, banks, active, first)?,
                    self.registers.input(b, banks, active, second)?,
                ]);
                let with = self.registers.flags(with);
                self.registers.set_mask(*p, active, join(holds, with));
                self.registers.set_mask(*q, active, join(!holds, with));
            }
            Compute::Sum { sources: [a, b, c], carries, place, flags, function } => {
                let words = [
                    self.registers.input(a, banks, active, first)?,
                    self.registers.input(b, banks, active, second)?,
                    self.registers.input(c, banks, active, third)?,
                ];
                let carries =
                    carries.each_ref().map(|it| it.as_ref().map_or(0, |it| self.registers.flags(it)));
                let carried = function((words, carries, to));
                self.registers.set_plane(*place, active, to);
                for (&flag, mask) in flags.iter().zip(carried) {
                    self.registers.set_mask(flag, active, mask);
                }
            }
            Compute::Lanes { sources, places, function } => {
                for (values, source) in given.iter_mut().zip(sources) {
                    self.registers.values(source, banks, active, values)?;
                }
                function((given, results));
                for (&place, values) in places.iter().zip(&*results) {
                    self.registers.set_values(place, active, values);
                }
            }
        }
        Ok(())
    }

    fn special(&self, special: Special, lane: usize, around: &Around<'_>) -> u64 {
        let [x, y, _] = around.threads;
        let thread = self.number * LANES as u32 + lane as u32;
        let bit = 1_u32 << lane;
        match special {
            Special::Tid(axis) => {
                u64::from([thread % x, thread / x % y, thread / (x * y)][usize::from(axis)])
            }
            Special::Ctaid(axis) => u64::from(around.block[usize::from(axis)]),
            Special::LaneId => lane as u64,
            Special::VirtualId => u64::from(self.number) << 8,
            Special::EqMask => u64::from(bit),
            Special::LtMask => u64::from(bit - 1),
            Special::LeMask => u64::from(bit | (bit - 1)),
            Special::GtMask => u64::from(!(bit | (bit - 1))),
            Special::GeMask => u64::from(!(bit - 1)),
            Special::SharedWindow => SHARED_WINDOW >> 32,
            Special::Sm => u64::from(around.sm),
            Special::ClusterRank => around.member.as_ref().map_or(0, |member| u64::from(member.rank)),
            Special::Zero => 0,
            Special::Clock | Special::GlobalTimer => self.clock,
        }
    }
}
