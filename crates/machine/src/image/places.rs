//! Where the registers of a function are, at each of its instructions: what a debugger asks.

use crate::lanes::{Operand, PlaneId, PredicateId, ScalarId};
use ir::Interval;
use ptx::module::RegId;

/// Where a register lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// A plane of 16, 32 or 64 bits.
    Plane(PlaneId),
    /// The same for every thread under every schedule.
    Scalar(ScalarId),
    /// A predicate.
    Predicate(PredicateId),
    /// 128 bits: the low and the high 64-bit plane.
    Pair([PlaneId; 2]),
    /// Nobody reads it.
    Unused,
}

/// The map from registers to places. A place serves several registers, one after the other: each has it from the first
/// instruction to the last that its value matters to.
#[derive(Debug)]
pub(crate) struct Places {
    homes: Vec<(Home, Option<Interval>)>,
    constants: Vec<(ScalarId, u64)>,
}

impl Places {
    /// Of registers with these homes, in the ranges of instructions where they are alive; and the scalars that are constants.
    pub(crate) fn new(
        homes: &[Home],
        alive: &[Option<Interval>],
        constants: impl Iterator<Item = (ScalarId, u64)>,
    ) -> Self {
        let homes = homes.iter().copied().zip(alive.iter().copied()).collect();
        Self { homes, constants: constants.collect() }
    }

    /// The constant that a scalar holds, if it holds one.
    pub(crate) fn constant(&self, scalar: ScalarId) -> Option<u64> {
        self.constants.iter().find_map(|&(holds, value)| (holds == scalar).then_some(value))
    }

    /// How many registers there are.
    pub(crate) fn len(&self) -> usize {
        self.homes.len()
    }

    /// Where a register is whenever its value is anywhere.
    pub(crate) fn home(&self, register: RegId) -> Home {
        self.homes[register.index()].0
    }

    /// Where a register is at an instruction; `None` if its value is nowhere any more, or not yet.
    pub(crate) fn of(&self, register: RegId, instruction: u32) -> Option<Home> {
        let (home, alive) = self.homes[register.index()];
        let here = match home {
            Home::Unused => false,
            // Nobody else has its scalar.
            Home::Scalar(_) => true,
            Home::Plane(_) | Home::Predicate(_) | Home::Pair(_) => {
                alive.is_some_and(|range| (range.start..=range.end).contains(&instruction))
            }
        };
        here.then_some(home)
    }

    /// The register that is at an instruction in a plane or scalar, and which half of it that is if it has two.
    pub(crate) fn register_in(&self, operand: Operand, instruction: u32) -> Option<(RegId, Option<usize>)> {
        self.alive_at(instruction).find_map(|(register, home)| match home {
            Home::Plane(plane) => (Operand::from(plane) == operand).then_some((register, None)),
            Home::Scalar(scalar) => (Operand::from(scalar) == operand).then_some((register, None)),
            Home::Pair(pair) => {
                let half = pair.iter().position(|&plane| Operand::from(plane) == operand);
                half.map(|half| (register, Some(half)))
            }
            Home::Predicate(_) | Home::Unused => None,
        })
    }

    /// The register that is at an instruction in a predicate.
    pub(crate) fn register_in_predicate(&self, predicate: PredicateId, instruction: u32) -> Option<RegId> {
        let mut alive = self.alive_at(instruction);
        alive.find_map(|(register, home)| (home == Home::Predicate(predicate)).then_some(register))
    }

    fn alive_at(&self, instruction: u32) -> impl Iterator<Item = (RegId, Home)> + '_ {
        let registers = (0..self.homes.len() as u32).map(RegId);
        registers.filter_map(move |register| Some((register, self.of(register, instruction)?)))
    }
}
