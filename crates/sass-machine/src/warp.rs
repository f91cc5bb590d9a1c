//! A warp: each lane stands somewhere, and lanes at one instruction execute it together.

use crate::collective::{self, lanes};
use crate::fault::FaultKind;
use crate::operand::Special;
use crate::step::{Access, Action, Arrival, Compute, Place, Step};
use crate::storage::{Banks, LANES, Reach, Registers};
use machine::memory::SHARED_WINDOW;

/// What a lane does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Waits at this very place for the lanes of a mask.
    Together(u32),
    /// Waits at a barrier of the CTA.
    Barrier,
    Exited,
}

/// What a warp needs to know of its surroundings.
pub(crate) struct Around<'a> {
    pub(crate) steps: &'a [Step],
    pub(crate) banks: &'a Banks,
    pub(crate) block: [u32; 3],
    /// The dimensions of a CTA.
    pub(crate) threads: [u32; 3],
    /// Instructions that have been executed, as a clock.
    pub(crate) clock: u64,
}

/// What an instruction means for the CTA.
pub(crate) enum Event {
    /// An arrival at a barrier: of which number, for how many threads, and the lanes whose predicate held.
    Arrived { number: u8, threads: Option<u32>, arrival: Arrival, held: u32, active: u32 },
    /// Others should have a turn.
    Yielded,
}

/// A warp.
pub(crate) struct Warp {
    pub(crate) number: u32,
    registers: Registers,
    /// Where each lane stands.
    places: [usize; LANES],
    states: [State; LANES],
    /// Where those stand whose turn it is.
    turn: Option<usize>,
    /// What the last reduction at a barrier gave: a count, a truth.
    pub(crate) result: (u32, bool),
}

impl Warp {
    pub(crate) fn new(number: u32, threads: u32) -> Self {
        let mut states = [State::Exited; LANES];
        states[..threads.min(LANES as u32) as usize].fill(State::Ready);
        Self {
            number,
            registers: Registers::new(),
            places: [0; LANES],
            states,
            turn: None,
            result: (0, false),
        }
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.states.iter().all(|&state| state == State::Exited)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.states.contains(&State::Ready)
    }

    /// Lanes that wait at a barrier go on.
    pub(crate) fn release(&mut self) {
        self.states.iter_mut().filter(|state| **state == State::Barrier).for_each(|it| *it = State::Ready);
    }

    /// Where an instruction would be executed next: for a fault that no instruction has.
    pub(crate) fn place(&self) -> usize {
        (0..LANES).find(|&lane| self.states[lane] != State::Exited).map_or(0, |lane| self.places[lane])
    }

    /// The lanes that are ready at one place, and the place: whose turn it is, or those that are behind all others.
    fn group(&self) -> Option<(usize, u32)> {
        let ready = || (0..LANES).filter(|&lane| self.states[lane] == State::Ready);
        let here = self.turn.filter(|turn| ready().any(|lane| self.places[lane] == *turn));
        let place = here.or_else(|| ready().map(|lane| self.places[lane]).min())?;
        Some((
            place,
            ready().filter(|&lane| self.places[lane] == place).fold(0, |mask, lane| mask | 1 << lane),
        ))
    }

    /// Gives the turn to the next lanes behind these, or to the first.
    fn pass_on(&mut self, place: usize) {
        let ready = (0..LANES).filter(|&lane| self.states[lane] == State::Ready);
        self.turn = ready.map(|lane| self.places[lane]).filter(|&it| it > place).min();
    }

    /// Executes one instruction for the lanes whose turn it is.
    ///
    /// # Errors
    /// With the instruction's number.
    pub(crate) fn execute(
        &mut self,
        around: &Around<'_>,
        reach: &mut Reach<'_>,
    ) -> Result<Option<Event>, (usize, FaultKind)> {
        let Some((place, together)) = self.group() else { return Ok(None) };
        let step = around.steps.get(place).ok_or((place, FaultKind::OutsideOfCode))?;
        let active = match step.guard {
            None => together,
            Some((number, false)) => together & self.registers.predicate(Some(number)),
            Some((number, true)) => together & !self.registers.predicate(Some(number)),
        };
        lanes(together).for_each(|lane| self.places[lane] = place + 1);
        self.turn = Some(place + 1);
        if active == 0 {
            return Ok(None);
        }
        self.act(&step.action, active, place, around, reach).map_err(|kind| (place, kind))
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
            Action::Compute(compute) => self.compute(compute, active, around.banks)?,
            Action::Special(special, to) => {
                for lane in lanes(active) {
                    self.registers.write(*to, self.special(*special, lane, around), lane);
                }
            }
            Action::Access(access) => self.access(access, active, around.banks, reach)?,
            Action::Collective(collective) => {
                collective::perform(&mut self.registers, around.banks, active, collective)?;
            }
            Action::Branch(target) => {
                lanes(active).for_each(|lane| self.places[lane] = *target);
                // Lanes that have parted: those behind go first.
                let parted = self.group().is_some_and(|(_, mask)| mask & active == 0);
                self.turn = if parted { None } else { Some(*target) };
            }
            Action::Exit => {
                lanes(active).for_each(|lane| self.states[lane] = State::Exited);
                self.meet();
            }
            Action::Barrier { number, threads, arrival, flag } => {
                let mut held = 0;
                if let Some(flag) = flag {
                    for lane in lanes(active) {
                        held |= (self.registers.read(flag, around.banks, lane)? as u32) << lane;
                    }
                }
                if *arrival != Arrival::Arrive {
                    lanes(active).for_each(|lane| self.states[lane] = State::Barrier);
                }
                return Ok(Some(Event::Arrived {
                    number: *number,
                    threads: *threads,
                    arrival: *arrival,
                    held,
                    active,
                }));
            }
            Action::Result { to, flag } => {
                let (count, truth) = self.result;
                for lane in lanes(active) {
                    self.registers.write(*to, u64::from(count), lane);
                    self.registers.write(*flag, u64::from(truth), lane);
                }
            }
            Action::Together(mask) => {
                for lane in lanes(active) {
                    let mask = mask.as_ref().map(|mask| self.registers.read(mask, around.banks, lane));
                    let mask = mask.transpose()?.map_or(u32::MAX, |mask| mask as u32);
                    self.states[lane] = State::Together(mask);
                    self.places[lane] = place;
                }
                self.meet();
            }
            Action::Yield => {
                self.pass_on(place + 1);
                return Ok(Some(Event::Yielded));
            }
            Action::Nothing => {}
            Action::Trap => return Err(FaultKind::Trap),
            Action::NotExecuted(text) => return Err(FaultKind::NotExecuted(text.clone())),
            Action::NoInstruction(word) => return Err(FaultKind::NoInstruction(*word)),
        }
        Ok(None)
    }

    /// Lanes whose whole masks wait at one place, as far as they have not exited, go on.
    fn meet(&mut self) {
        let (states, places) = (self.states, self.places);
        for lane in 0..LANES {
            let State::Together(mask) = states[lane] else { continue };
            let here = |other: usize| {
                matches!(states[other], State::Together(_)) && places[other] == places[lane]
                    || states[other] == State::Exited
            };
            if lanes(mask).all(here) {
                self.states[lane] = State::Ready;
                self.places[lane] = places[lane] + 1;
                self.turn = Some(places[lane] + 1);
            }
        }
    }

    fn compute(&mut self, compute: &Compute, active: u32, banks: &Banks) -> Result<(), FaultKind> {
        let (mut from, mut to) = ([0; 6], [0; 3]);
        for lane in lanes(active) {
            for (value, source) in from.iter_mut().zip(&compute.sources) {
                *value = self.registers.read(source, banks, lane)?;
            }
            (compute.function)(&from[..compute.sources.len()], &mut to[..compute.places.len()]);
            for (&place, &value) in compute.places.iter().zip(&to) {
                self.registers.write(place, value, lane);
            }
        }
        Ok(())
    }

    fn access(
        &mut self,
        access: &Access,
        active: u32,
        banks: &Banks,
        reach: &mut Reach<'_>,
    ) -> Result<(), FaultKind> {
        // Of lanes that store to one place, the first wins, as on an H200.
        let backwards = matches!(access, Access::Store { .. });
        for index in 0..LANES {
            let lane = if backwards { LANES - 1 - index } else { index };
            if active >> lane & 1 == 0 {
                continue;
            }
            match access {
                Access::Load { to, address, bytes, signed } => {
                    let at = self.registers.address(address, lane);
                    let mut value = [0; 16];
                    let into = &mut value[..usize::from(*bytes)];
                    self.registers.load(reach, address.space, at, lane, into)?;
                    let (words, _) = value.as_chunks::<4>();
                    let first = match (*bytes, *signed) {
                        (1, true) => i32::from(value[0] as i8) as u32,
                        (2, true) => i32::from(i16::from_le_bytes([value[0], value[1]])) as u32,
                        _ => u32::from_le_bytes(words[0]),
                    };
                    let words = words.iter().map(|&word| u32::from_le_bytes(word)).skip(1);
                    for (index, word) in (0..bytes.div_ceil(4)).zip(std::iter::once(first).chain(words)) {
                        self.registers.set_word(to.and_then(|to| to.checked_add(index)), lane, word);
                    }
                }
                Access::Store { from, second, address, bytes } => {
                    let at = self.registers.address(address, lane);
                    let mut value = [0; 16];
                    value[..8].copy_from_slice(&self.registers.read(from, banks, lane)?.to_le_bytes());
                    if let Some(second) = second {
                        value[8..].copy_from_slice(&self.registers.read(second, banks, lane)?.to_le_bytes());
                    }
                    let from = &value[..usize::from(*bytes)];
                    self.registers.store(reach, address.space, at, lane, from)?;
                }
                Access::Atomic { to, address, bytes, operands: [first, second], update } => {
                    let at = self.registers.address(address, lane);
                    let mut old = [0; 8];
                    let size = usize::from(*bytes);
                    self.registers.load(reach, address.space, at, lane, &mut old[..size])?;
                    let old = u64::from_le_bytes(old);
                    let first = self.registers.read(first, banks, lane)?;
                    let second = self.registers.read(second, banks, lane)?;
                    let new = update(old, first, second).to_le_bytes();
                    self.registers.store(reach, address.space, at, lane, &new[..size])?;
                    self.registers.write(Place::Registers(*to, bytes.div_ceil(4)), old, lane);
                }
                Access::Constant { to, bank, register, offset, bytes } => {
                    let index = self.registers.general(*register, false, lane);
                    let value = banks.read(*bank, index.wrapping_add_signed(*offset), *bytes)?;
                    self.registers.write(*to, value, lane);
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
            Special::ClusterRank => 0,
            Special::Clock | Special::GlobalTimer => around.clock,
        }
    }
}
