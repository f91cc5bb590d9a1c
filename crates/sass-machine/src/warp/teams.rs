//! Teams: lanes that stand at one place and run on together. They part where a branch is not taken by all, and are one again when an
//! instruction has waited for them.

use super::{State, Warp};
use crate::fault::FaultKind;
use crate::registers::{Banks, LANES, Registers, lanes};
use crate::step::Source;

/// Branches that lanes take while others are ready elsewhere, before those have their turn.
const PATIENCE: u32 = 4096;

/// Where a team stands, and its number.
pub(super) type Standing = (usize, u8);

impl Warp {
    fn standing(&self, lane: usize) -> Standing {
        (self.places[lane], self.teams[lane])
    }

    /// The first team that is ready behind another one.
    fn next_behind(&self, standing: Standing) -> Option<Standing> {
        lanes(self.ready).map(|lane| self.standing(lane)).filter(|it| *it > standing).min()
    }

    /// Chooses who runs: the team whose turn it is, or that which is behind all others.
    pub(super) fn select(&mut self) -> bool {
        let ready = self.ready;
        let here = self.turn.take().filter(|turn| lanes(ready).any(|lane| self.standing(lane) == *turn));
        let first = || lanes(ready).map(|lane| self.standing(lane)).min();
        let Some(standing) = here.or_else(first) else { return false };
        self.place = standing.0;
        let of_team = lanes(ready).filter(|&lane| self.standing(lane) == standing);
        self.running = of_team.fold(0, |mask, lane| mask | 1 << lane);
        true
    }

    /// Lanes are a team of their own from now on.
    pub(super) fn part(&mut self, team: u32) {
        let used = (0..LANES).filter(|&lane| self.states[lane] != State::Exited);
        let used = used.fold(0_u64, |used, lane| used | 1 << self.teams[lane]);
        let number = (!used).trailing_zeros() as u8;
        lanes(team).for_each(|lane| self.teams[lane] = number);
    }

    /// Those that run stand where they are, and somebody is chosen anew.
    pub(super) fn park(&mut self) {
        lanes(self.running).for_each(|lane| self.places[lane] = self.place);
        self.running = 0;
    }

    /// Lanes stop running, each for a reason, at a place.
    pub(super) fn stop(&mut self, stopped: u32, place: usize, state: State) {
        for lane in lanes(stopped) {
            (self.states[lane], self.places[lane]) = (state, place);
        }
        self.leave_running(stopped);
    }

    /// Lanes run no longer; the others of their team, if there are any, are another one.
    pub(super) fn leave_running(&mut self, stopped: u32) {
        self.running &= !stopped;
        self.ready &= !stopped;
        if self.running != 0 {
            self.part(stopped);
            self.park();
        }
    }

    /// Gives the turn to the next lanes behind those that run, or to the first.
    pub(super) fn pass_on(&mut self) {
        self.branches = 0;
        if self.running == self.ready {
            return;
        }
        let team = self.running.trailing_zeros() as usize % LANES;
        self.park();
        self.turn = self.next_behind(self.standing(team));
    }

    /// Lanes go to a target, each to its own. If lanes have parted, those behind go first.
    pub(super) fn branch(&mut self, taken: u32, target: impl Fn(&Registers, usize) -> usize) {
        if taken == 0 {
            return;
        }
        let first = target(&self.registers, taken.trailing_zeros() as usize);
        let alike = lanes(taken).all(|lane| target(&self.registers, lane) == first);
        if alike && taken == self.ready {
            self.place = first;
            return;
        }
        // Those who go to one place are a team.
        let (mut rest, mut is_new) = (taken, self.running & !taken != 0);
        self.park();
        while rest != 0 {
            let to = target(&self.registers, rest.trailing_zeros() as usize);
            let team = lanes(rest).filter(|&lane| target(&self.registers, lane) == to);
            let team = team.fold(0, |team, lane| team | 1 << lane);
            lanes(team).for_each(|lane| self.places[lane] = to);
            if is_new {
                self.part(team);
            }
            (rest, is_new) = (rest & !team, true);
        }
        self.turn = None;
        self.branches += 1;
        if self.branches >= PATIENCE {
            self.branches = 0;
            self.turn = self.next_behind(self.standing(taken.trailing_zeros() as usize));
        }
    }

    /// Waits for the lanes of a mask.
    pub(super) fn wait_for(
        &mut self,
        mask: Option<&Source>,
        active: u32,
        place: usize,
        banks: &Banks,
        state: fn(u32) -> State,
    ) -> Result<(), FaultKind> {
        let mut masks = [u32::MAX; LANES];
        if let Some(source) = mask {
            for lane in lanes(active) {
                masks[lane] = self.registers.read(source, banks, lane)? as u32;
            }
        }
        let away = !(active | self.exited());
        let first = masks[active.trailing_zeros() as usize % LANES];
        let are_apart =
            matches!(state(0), State::Exclusive(_)) && lanes(active).any(|lane| masks[lane] != first);
        if lanes(active).all(|lane| masks[lane] & away == 0) && !are_apart {
            return Ok(());
        }
        for lane in lanes(active) {
            (self.states[lane], self.places[lane]) = (state(masks[lane]), place);
        }
        self.leave_running(active);
        self.meet();
        Ok(())
    }

    /// Lanes go on whose company is complete, as far as it has not exited: those at one place as one team.
    pub(super) fn meet(&mut self) {
        let mut gone_on: Vec<((usize, Option<u32>), u32)> = Vec::new();
        let (states, places, exited) = (self.states, self.places, self.exited());
        for lane in 0..LANES {
            let complete = match states[lane] {
                State::Together(mask) => lanes(mask & !exited).all(|other| {
                    matches!(states[other], State::Together(_)) && places[other] == places[lane]
                }),
                State::Exclusive(mask) => lanes(mask & !exited)
                    .all(|other| states[other] == State::Exclusive(mask) && places[other] == places[lane]),
                State::Collective(mask) => {
                    lanes(mask & !exited).all(|other| matches!(states[other], State::Collective(_)))
                }
                State::Converging(barrier) => {
                    let mask = self.barriers[usize::from(barrier)][lane] & !exited;
                    lanes(mask).all(|other| states[other] == State::Converging(barrier))
                }
                State::Ready
                | State::Barrier
                | State::Cluster(_)
                | State::Products(_)
                | State::Phase { .. }
                | State::Exited => false,
            };
            if complete {
                // Of a collective all go on where the first lane of its mask stands.
                let from = match states[lane] {
                    State::Collective(mask) => lanes(mask & !exited).next().unwrap_or(lane),
                    State::Ready
                    | State::Together(_)
                    | State::Exclusive(_)
                    | State::Converging(_)
                    | State::Barrier
                    | State::Cluster(_)
                    | State::Products(_)
                    | State::Phase { .. }
                    | State::Exited => lane,
                };
                let place = places[from] + 1;
                self.places[lane] = place;
                self.wake(lane);
                let company = match states[lane] {
                    State::Exclusive(mask) => Some(mask),
                    _ => None,
                };
                match gone_on.iter_mut().find(|(at, _)| *at == (place, company)) {
                    Some((_, team)) => *team |= 1 << lane,
                    None => gone_on.push(((place, company), 1 << lane)),
                }
            }
        }
        for ((place, _), team) in gone_on {
            self.part(team);
            if self.running == 0 {
                self.turn = Some((place, self.teams[team.trailing_zeros() as usize]));
            }
        }
    }
}
