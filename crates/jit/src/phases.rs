//! Barriers that only an order of rows has to stand for.
//!
//! The rows of a CTA run one after the other. Between two barriers that is any order; where every access behind a barrier that meets one
//! before it finds it done, if rows run upwards or if they run downwards, the barrier has nothing to wait for: each row goes through it on
//! its own. A prefix sum reads what lies before and then writes its own: downwards, what is read has not yet been written. A tree that adds
//! the upper half to the lower one needs no barrier at all downwards.
//!
//! A fault is to be told, and to leave memory, as if all had waited: so what stands before such a barrier may only fail if nothing behind it can
//! fail or be seen by the host, and rows run downwards only where nothing can fail at all.
//!
//! A vector that is loaded over the ends of those that were just stored has to wait until they are in the cache, for longer than it takes to keep
//! a row's registers over a barrier. So a barrier stays where most rows would read, elsewhere, what they have written in front of it.
//!
//! What a row accesses is known where addresses in shared memory follow from thread numbers ([`crate::linear`]); whatever
//! else is done with memory meets everything of its kind. Only a barrier that all threads of a CTA come to equally often may go, as nobody would
//! notice otherwise that some never come.

use crate::class::Rows;
use crate::deciding::Deciding;
use crate::divergence::Bits;
use crate::linear::{Linears, Threads};
use crate::order::{Order, successors};
use ir::instruction::Op;
use ir::operand::{Address, Space};
use ir::{Access as Use, BlockId, Cfg, Converged, Function, Group, LaneOrder, Liveness, Ssa};
use ptx::isa::{Convergence, Effects, Order as Strength};
use ptx::module::{AddressBase, RegId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Barriers of a kernel that are looked at, and accesses between two of them: with more, all stay.
const MOST_BARRIERS: usize = 256;
const MOST_ACCESSES: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    /// Instructions that are barriers at which no row waits.
    passed: BTreeSet<u32>,
    /// Barriers behind which rows run downwards, and `None` for the start of the kernel.
    downwards: BTreeSet<Option<u32>>,
}

/// What a row does from one barrier to the next ones.
#[derive(Debug, Default)]
struct Phase {
    accesses: Vec<Access>,
    /// The barriers at which it ends.
    ends: BTreeSet<u32>,
    /// Registers that it writes.
    writes: BTreeSet<RegId>,
}

impl Phase {
    fn may_fail(&self) -> bool {
        self.accesses.iter().any(|access| access.may_fail)
    }

    /// Whether a row would read, at another place, some of what it has written in a phase before.
    fn stalls(&self, before: &Self, row: usize) -> bool {
        let reads = self.accesses.iter().filter(|access| access.memory == Memory::Shared && !access.writes);
        let mut pairs = reads.flat_map(|read| before.accesses.iter().map(move |written| (read, written)));
        pairs.any(|(read, written)| {
            written.memory == Memory::Shared
                && written.writes
                && read.rows[row] != written.rows[row]
                && overlap(&read.rows[row], &written.rows[row])
        })
    }

    /// Whether it writes what the host can see.
    fn is_seen(&self) -> bool {
        self.accesses.iter().any(|access| access.writes && access.memory != Memory::Shared)
    }
}

/// Bytes that each row may access, if it accesses any.
#[derive(Debug)]
struct Access {
    memory: Memory,
    writes: bool,
    may_fail: bool,
    rows: Vec<Option<Range<i64>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// A thread's own.
    Own,
    Shared,
    Global,
    Any,
}

/// How rows follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// What is known of a kernel.
pub(crate) struct Knowledge<'a> {
    pub(crate) function: &'a Function<'a>,
    pub(crate) cfg: &'a Cfg,
    pub(crate) order: &'a Order,
    pub(crate) live: &'a Liveness,
    pub(crate) linears: &'a Linears,
    pub(crate) rows: Rows,
    /// Where the variables in shared memory lie.
    pub(crate) shared: Range<u64>,
}

impl Phases {
    pub(crate) fn new(knows: &Knowledge<'_>) -> Self {
        let barriers: Vec<(u32, usize)> = knows.barriers().collect();
        if knows.rows.are_one()
            || !knows.rows.are_straight()
            || !(1..=MOST_BARRIERS).contains(&barriers.len())
        {
            return Self::default();
        }
        let places = std::iter::once((None, 0)).chain(barriers.iter().map(|&(at, block)| (Some(at), block)));
        let phases: Option<BTreeMap<Option<u32>, Phase>> =
            places.map(|(at, block)| Some((at, knows.phase(at, block)?))).collect();
        let Some(phases) = phases else { return Self::default() };
        // What costs most to keep goes first.
        let cost = |at: u32, block: usize| -> usize {
            let live = live_behind(knows.function, knows.cfg, knows.live, (block, at));
            let ending = phases.values().filter(|phase| phase.ends.contains(&at));
            ending.flat_map(|phase| &phase.writes).filter(|register| live.has(register.index())).count()
        };
        let stays = |at: u32| {
            let (behind, mut before) =
                (&phases[&Some(at)], phases.values().filter(|phase| phase.ends.contains(&at)));
            before.any(|before| {
                2 * (0..knows.count()).filter(|&row| behind.stalls(before, row)).count() > knows.count()
            })
        };
        let met = knows.met_by_all(&barriers);
        let mut candidates: Vec<(usize, u32)> = barriers
            .iter()
            .filter(|&&(at, _)| met.contains(&at) && !stays(at))
            .map(|&(at, block)| (cost(at, block), at))
            .collect();
        candidates.sort_by_key(|&(cost, at)| (std::cmp::Reverse(cost), at));
        let mut search = Search { phases: &phases, meets: BTreeMap::new() };
        let mut this = Self::default();
        for (_, at) in candidates {
            this.passed.insert(at);
            match search.ways(&this.passed) {
                Some(downwards) => this.downwards = downwards,
                None => drop(this.passed.remove(&at)),
            }
        }
        this
    }

    /// Whether rows go through a barrier without waiting.
    pub(crate) fn passes(&self, barrier: u32) -> bool {
        self.passed.contains(&barrier)
    }

    /// Whether rows run from the last to the first behind a barrier, or from the start on.
    pub(crate) fn runs_downwards(&self, from: Option<u32>) -> bool {
        self.downwards.contains(&from)
    }
}

struct Search<'a> {
    phases: &'a BTreeMap<Option<u32>, Phase>,
    /// Whether rows may go from one phase to another without waiting: upwards, and downwards.
    meets: BTreeMap<(Option<u32>, Option<u32>), [bool; 2]>,
}

impl Search<'_> {
    /// Where rows have to run downwards if they go through some barriers; `None` if no order of rows does.
    fn ways(&mut self, passed: &BTreeSet<u32>) -> Option<BTreeSet<Option<u32>>> {
        let starts = self.phases.keys().filter(|at| at.is_none_or(|at| !passed.contains(&at)));
        let mut downwards = BTreeSet::new();
        for &start in starts {
            let mut fits = [true; 2];
            let mut before = self.behind(start, passed);
            before.insert(start);
            if before.iter().any(|phase| self.phases[phase].may_fail()) {
                fits[1] = false;
            }
            for from in before {
                let behind = self.behind(from, passed);
                // A phase that comes behind itself would have to be compared round by round.
                if behind.contains(&from) {
                    return None;
                }
                for to in behind {
                    let fit = self.fit(from, to);
                    fits = [fits[0] && fit[0], fits[1] && fit[1]];
                }
            }
            match fits {
                [true, _] => {}
                [false, true] => drop(downwards.insert(start)),
                [false, false] => return None,
            }
        }
        Some(downwards)
    }

    /// The phases that a row comes to behind one without waiting.
    fn behind(&self, from: Option<u32>, passed: &BTreeSet<u32>) -> BTreeSet<Option<u32>> {
        let mut reached = BTreeSet::new();
        let mut pending = vec![from];
        while let Some(at) = pending.pop() {
            let ends = self.phases[&at].ends.intersection(passed).map(|&end| Some(end));
            pending.extend(ends.filter(|&end| reached.insert(end)));
        }
        reached
    }

    fn fit(&mut self, before: Option<u32>, behind: Option<u32>) -> [bool; 2] {
        let phases = self.phases;
        *self.meets.entry((before, behind)).or_insert_with(|| {
            let (before, behind) = (&phases[&before], &phases[&behind]);
            let is_told = !before.may_fail() || !(behind.may_fail() || behind.is_seen());
            [Way::Up, Way::Down].map(|way| {
                let pairs = |access: &Access| behind.accesses.iter().all(|other| !access.is_late(other, way));
                is_told && before.accesses.iter().all(pairs)
            })
        })
    }
}

impl Access {
    /// Whether some row's access behind a barrier would come before another row's access in front of it that it meets.
    fn is_late(&self, behind: &Self, way: Way) -> bool {
        let may_meet =
            self.memory == behind.memory || self.memory == Memory::Any || behind.memory == Memory::Any;
        if !may_meet || !(self.writes || behind.writes) {
            return false;
        }
        let rows = self.rows.len();
        (0..rows).any(|early| {
            let late = match way {
                Way::Up => early + 1..rows,
                Way::Down => 0..early,
            };
            let behind = &behind.rows[early];
            self.rows[late].iter().any(|own| overlap(own, behind))
        })
    }
}

/// Whether there are bytes that two rows may both access.
fn overlap(a: &Option<Range<i64>>, b: &Option<Range<i64>>) -> bool {
    a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.start < b.end && b.start < a.end)
}

impl Knowledge<'_> {
    fn barriers(&self) -> impl Iterator<Item = (u32, usize)> {
        let blocks = self.order.blocks.iter();
        let all = blocks.flat_map(|&block| {
            (self.cfg.blocks[block].first..self.cfg.blocks[block].end).map(move |at| (at, block))
        });
        all.filter(|&(at, _)| self.function.instruction(at).is_some_and(|i| i.op.effects().barrier.is_some()))
    }

    /// What a row does behind a barrier, or from the start on; `None` if that is too much to look at.
    fn phase(&self, from: Option<u32>, block: usize) -> Option<Phase> {
        let mut phase = Phase::default();
        let mut pending = vec![(block, from.map_or(self.cfg.blocks[block].first, |at| at + 1))];
        let mut entered = BTreeSet::new();
        while let Some((block, first)) = pending.pop() {
            let mut goes_on = true;
            for index in first..self.cfg.blocks[block].end {
                let instruction = self.function.instruction(index)?;
                if instruction.op.effects().barrier.is_some() {
                    phase.ends.insert(index);
                    goes_on = false;
                    break;
                }
                instruction.registers(&mut |register, access| {
                    if access != Use::Read && !self.linears.has(register) {
                        phase.writes.insert(register);
                    }
                });
                phase.accesses.extend(self.access(index, block));
            }
            if phase.accesses.len() > MOST_ACCESSES {
                return None;
            }
            if goes_on {
                let next = successors(self.cfg, block).filter(|&to| entered.insert(to));
                pending.extend(next.map(|to| (to, self.cfg.blocks[to].first)));
            }
        }
        Some(phase)
    }

    /// What an instruction does with memory that others see.
    fn access(&self, index: u32, block: usize) -> Option<Access> {
        let instruction = self.function.instruction(index)?;
        let (address, bytes, writes, order) = if let Op::Ld(ld) = &instruction.op {
            (&ld.a, ld.ty.bits() / 8 * ld.d.len() as u32, false, ld.order)
        } else if let Op::St(st) = &instruction.op {
            (&st.a, st.ty.bits() / 8 * st.b.len() as u32, true, st.order)
        } else {
            // Lanes that meet are of one row.
            let alone = Effects { convergence: Convergence::Thread, ..*instruction.op.effects() };
            let is_own = alone.is_pure()
                || matches!(instruction.op, Op::Bra(_) | Op::BrxIdx(_) | Op::Ret(_) | Op::Exit(_));
            return (!is_own).then(|| self.everywhere(Memory::Any, true));
        };
        if order != Strength::Weak {
            return Some(self.everywhere(Memory::Any, true));
        }
        let memory = match address.space {
            Space::Shared | Space::SharedCta => Memory::Shared,
            Space::Global | Space::Const => Memory::Global,
            Space::Generic | Space::SharedCluster => Memory::Any,
            Space::Local | Space::Param | Space::ParamEntry | Space::ParamFunc => {
                // Nobody else sees it, but it can fail.
                let may_fail = matches!(address.base, AddressBase::Register(_));
                let nothing = vec![None; self.count()];
                return may_fail.then_some(Access {
                    memory: Memory::Own,
                    writes: false,
                    may_fail,
                    rows: nothing,
                });
            }
        };
        if memory == Memory::Shared
            && let Some((rows, may_fail)) = self.bytes_of_rows(instruction, block, address, bytes)
        {
            return Some(Access { memory, writes, may_fail, rows });
        }
        Some(self.everywhere(memory, writes))
    }

    fn everywhere(&self, memory: Memory, writes: bool) -> Access {
        let rows = vec![Some(i64::MIN..i64::MAX); self.count()];
        Access { memory, writes, may_fail: true, rows }
    }

    /// Rows of a CTA.
    fn count(&self) -> usize {
        self.rows.block.iter().product::<u32>().div_ceil(self.rows.width) as usize
    }

    /// The bytes that each row can access by an instruction, if the address follows from thread numbers, and whether it can fail.
    fn bytes_of_rows(
        &self,
        instruction: &ir::Instruction,
        block: usize,
        address: &Address,
        bytes: u32,
    ) -> Option<(Vec<Option<Range<i64>>>, bool)> {
        let AddressBase::Register(register) = address.base else { return None };
        let linear = self.linears.of(register).filter(|_| address.offset.unsigned_abs() < 1 << 40)?;
        let mut threads = self.linears.threads(block).clone();
        if let Some(guard) = instruction.guard
            && let Some(condition) = self.linears.guarded(guard)
        {
            threads = condition.narrowed(&threads).map_or(threads, |(narrowed, _)| narrowed);
        }
        let of = |threads: &Threads| {
            let (first, last) = linear.range(threads).into_inner();
            first + address.offset..last + address.offset + i64::from(bytes)
        };
        let of_row = |row: usize| {
            let mut both = self.threads_of(row);
            for (own, may) in both.iter_mut().zip(&threads) {
                *own = *own.start().max(may.start())..=*own.end().min(may.end());
            }
            both.iter().all(|numbers| !numbers.is_empty()).then(|| of(&both))
        };
        let all = of(&threads);
        let inside = |place: i64| {
            u64::try_from(place).is_ok_and(|at| (self.shared.start..=self.shared.end).contains(&at))
        };
        let unit = i64::from(bytes);
        let is_aligned = linear.is_multiple_of(unit) && address.offset & (unit - 1) == 0;
        let may_fail = !(is_aligned && inside(all.start) && inside(all.end));
        Some(((0..self.count()).map(of_row).collect(), may_fail))
    }

    /// The numbers of a row's threads.
    fn threads_of(&self, row: usize) -> Threads {
        let [x, y, _] = self.rows.block.map(i64::from);
        let first = row as i64 * i64::from(self.rows.width);
        let from = first % x;
        let (y, z) = (first / x % y, first / x / y);
        [from..=from + i64::from(self.rows.width) - 1, y..=y, z..=z]
    }

    /// The barriers that all threads of a CTA come to equally often: what decides whether they do is the same for all.
    fn met_by_all(&self, barriers: &[(u32, usize)]) -> BTreeSet<u32> {
        let unguarded = |at: u32| {
            self.function.instruction(at).is_some_and(|i| i.guard.is_none() && matches!(i.op, Op::BarSync(_)))
        };
        let places: BTreeSet<usize> =
            barriers.iter().filter(|barrier| unguarded(barrier.0)).map(|&(_, block)| block).collect();
        let deciding = Deciding::new(self.function, self.cfg, &self.order.blocks);
        let mut parting = None;
        let mut goes_together = |block: usize| {
            let parting = parting.get_or_insert_with(|| {
                let ssa = Ssa::new(self.function, self.cfg.clone(), self.live).ok()?;
                Some(Converged::new(&ssa, LaneOrder::of_block(self.rows.block)))
            });
            let group = parting.as_ref().and_then(|parting| parting.branch(BlockId(block as u32)));
            group.is_some_and(|group| group >= Group::Cta)
        };
        let met: BTreeSet<usize> =
            places.into_iter().filter(|&place| deciding.about(place).all(&mut goes_together)).collect();
        barriers
            .iter()
            .filter(|(at, block)| met.contains(block) && unguarded(*at))
            .map(|&(at, _)| at)
            .collect()
    }
}

/// The registers whose values matter behind an instruction of a block.
pub(crate) fn live_behind(
    function: &Function<'_>,
    cfg: &Cfg,
    live: &Liveness,
    (block, index): (usize, u32),
) -> Bits {
    let mut alive = Bits::new(function.body.registers.len());
    for to in successors(cfg, block) {
        live.live_in(BlockId(to as u32)).for_each(|register| alive.add(register.index()));
    }
    for at in (index + 1..cfg.blocks[block].end).rev() {
        let mut read = Vec::new();
        function.registers(at, &mut |register, access| match access {
            Use::Write => alive.remove(register.index()),
            Use::Read | Use::ReadWrite => read.push(register),
        });
        read.iter().for_each(|register| alive.add(register.index()));
    }
    alive
}
