//! What is under way at a place of the code: results that are not there yet, operands that are still to be read.

use crate::effects::{Register, Registers};
use crate::latency::{Class, Unit};

/// Scoreboards.
pub const BOARDS: usize = 6;

/// No fixed latency is longer.
const LONGEST: u32 = 64;

/// The predicate under which an instruction is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) register: Register,
    pub(crate) negated: bool,
}

/// An instruction that reads or writes a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) offset: u64,
    /// Its guard, as long as that has the value that it had then.
    pub(crate) guard: Option<Guard>,
    /// The unit that carries it out, if its latency is variable.
    pub(crate) unit: Option<Unit>,
    /// The scoreboard that its results release.
    pub(crate) ends: Option<usize>,
}

impl Access {
    /// Whether a thread that carries out the one does not carry out the other.
    pub(crate) fn excludes(self, other: Self) -> bool {
        match (self.guard, other.guard) {
            (Some(one), Some(other)) => one.register == other.register && one.negated != other.negated,
            _ => false,
        }
    }

    /// Whether the one ends before the other, because one unit carries out both in their order.
    pub(crate) fn in_order_with(self, other: Self) -> bool {
        self.unit.is_some() && self.unit == other.unit
    }

    /// Whether the operands of the one are taken before those of the other, so before it writes anything.
    pub(crate) fn queued_with(self, other: Self) -> bool {
        let queue = |access: Self| access.unit.map(|unit| unit.queue);
        queue(self).is_some() && queue(self) == queue(other)
    }

    /// What is known of both of two paths.
    fn join(&mut self, other: Self) {
        if other.offset < self.offset {
            self.offset = other.offset;
        }
        if self.guard != other.guard {
            self.guard = None;
        }
        if self.unit != other.unit {
            self.unit = None;
        }
        if self.ends != other.ends {
            self.ends = None;
        }
    }
}

/// A result of fixed latency on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) class: Class,
    /// Cycles since it was issued.
    pub(crate) age: u32,
    pub(crate) access: Access,
}

/// What is known of registers, in their order: seldom of more than a few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known<T>(Vec<(Register, T)>);

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + PartialEq> Known<T> {
    fn place(&self, register: Register) -> Result<usize, usize> {
        self.0.binary_search_by_key(&register, |it| it.0)
    }

    pub(crate) fn get(&self, register: Register) -> Option<T> {
        if self.0.is_empty() {
            return None;
        }
        self.place(register).ok().map(|at| self.0[at].1)
    }

    pub(crate) fn insert(&mut self, register: Register, what: T) {
        match self.place(register) {
            Ok(at) => self.0[at].1 = what,
            Err(at) => self.0.insert(at, (register, what)),
        }
    }

    fn remove(&mut self, register: Register) {
        if let Ok(at) = self.place(register) {
            self.0.remove(at);
        }
    }

    pub(crate) fn extend(&mut self, more: impl Iterator<Item = (Register, T)>) {
        more.for_each(|(register, what)| self.insert(register, what));
    }

    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(Register, &mut T) -> bool) {
        self.0.retain_mut(|(register, what)| keeps(*register, what));
    }

    fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|it| &mut it.1)
    }

    /// Takes in what is known on another path. Whether that changed anything.
    fn merge(&mut self, others: &Self, join: impl Fn(&mut T, T)) -> bool {
        let mut changed = false;
        for &(register, new) in &others.0 {
            match self.place(register) {
                Err(at) => {
                    self.0.insert(at, (register, new));
                    changed = true;
                }
                Ok(at) => {
                    let before = self.0[at].1;
                    join(&mut self.0[at].1, new);
                    changed |= self.0[at].1 != before;
                }
            }
        }
        changed
    }
}

type Accesses = Known<Access>;

/// Banks of registers: each place for kept operands has room for one of each. A random kernel gave an H100's result with four, and not with two.
pub const BANKS: u8 = 4;

/// An operand that was kept in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) place: usize,
    /// The number of the register.
    pub(crate) register: u8,
    /// The instruction that has kept it.
    pub(crate) by: Access,
    /// The register has been written since.
    pub(crate) is_old: bool,
}

impl Kept {
    /// Whether a register that comes through a place takes the room of this one.
    pub(crate) fn makes_room(self, place: usize, register: u8) -> bool {
        self.place == place && self.register % BANKS == register % BANKS
    }
}

/// What is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub(crate) results: Known<Pending>,
    /// For each scoreboard registers that will be written, and who writes them.
    pub(crate) writes: [Accesses; BOARDS],
    /// For each scoreboard registers that will be read.
    pub(crate) reads: [Accesses; BOARDS],
    /// Results of variable latency that no scoreboard guards so far. The next scoreboard that an instruction of the same unit
    /// sets does.
    pub(crate) unguarded: Accesses,
    /// Operands that were kept and not taken so far.
    pub(crate) kept: Vec<Kept>,
}

impl State {
    /// Adds what is under way on another path. Whether that changed anything.
    pub fn join(&mut self, other: &Self) -> bool {
        let mut changed = self.results.merge(&other.results, |kept, pending| {
            if pending.age < kept.age {
                (kept.age, kept.class) = (pending.age, pending.class);
            }
            kept.access.join(pending.access);
        });
        let own = self.writes.iter_mut().chain(&mut self.reads).chain([&mut self.unguarded]);
        let others = other.writes.iter().chain(&other.reads).chain([&other.unguarded]);
        for (own, others) in own.zip(others) {
            changed |= own.merge(others, Access::join);
        }
        for &kept in &other.kept {
            if !self.kept.contains(&kept) {
                self.kept.push(kept);
                changed = true;
            }
        }
        changed
    }

    /// Waits for scoreboards. Who has written its results has read its operands.
    pub(crate) fn wait(&mut self, boards: impl Iterator<Item = usize>) {
        for board in boards {
            self.writes[board].0.clear();
            self.reads[board].0.clear();
            self.reads.iter_mut().for_each(|reads| reads.retain(|_, access| access.ends != Some(board)));
        }
    }

    /// Puts a result of fixed latency on its way, and takes those off that it replaces.
    pub(crate) fn write(&mut self, writes: Registers, result: Option<Pending>) {
        for register in writes.iter() {
            self.unguarded.remove(register);
            match result {
                Some(pending) => self.results.insert(register, pending),
                None => self.results.remove(register),
            }
            if matches!(register, Register::Predicate(_) | Register::UniformPredicate(_)) {
                self.forget(register);
            }
        }
    }

    /// A predicate gets another value.
    fn forget(&mut self, predicate: Register) {
        let sets = self.writes.iter_mut().chain(&mut self.reads).chain([&mut self.unguarded]);
        let accesses = sets.flat_map(Known::values_mut);
        let pending = self.results.values_mut().map(|pending| &mut pending.access);
        let kept = self.kept.iter_mut().map(|kept| &mut kept.by);
        for access in accesses.chain(pending).chain(kept) {
            access.guard = access.guard.filter(|guard| guard.register != predicate);
        }
    }

    /// Lets cycles pass.
    pub(crate) fn pass(&mut self, cycles: u8) {
        self.results.retain(|_, pending| {
            pending.age += u32::from(cycles);
            pending.age < LONGEST
        });
    }
}
