//! Registers that follow from the thread's number alone: `first + x * %tid.x + y * %tid.y + z * %tid.z`, all four known when the kernel
//! is compiled, since the block's shape is.
//!
//! Such a register needs no slot and no place in a frame: where it is read it is computed from the row's number. What it can be
//! in a block is a range, so that no widening wraps ([`Class::Affine`], never bent), and an access of a variable at
//! such an address needs no test. A predicate that compares two of them is a [`Condition`], which has no slot either.
//!
//! A register is one if it has one definition, which is not guarded, and none of its reads can come before that: so every
//! read of a thread sees the one value that there is. What the numbers of threads can be that come to the definition, branches on such
//! conditions have decided; in lanes that do not come to it, the value in 64 bits may be another one than the instruction's.

use crate::class::{Class, Rows, is_signed};
use crate::order::{Order, successors};
use ir::instruction::{MulIntMode, Op, Or, SetIntCmp, SetpInt, Xor};
use ir::operand::{Def, Value};
use ir::{Access, BlockId, Cfg, Function, Liveness};
use machine::compiled::Source;
use ptx::isa::SpecialRegister;
use ptx::module::{Guard, RegId, Symbol};
use ptx::types::{ScalarType, StateSpace};
use std::ops::RangeInclusive;

/// The greatest values, as sums and products of two must not leave 64 bits.
const MOST: i64 = 1 << 40;

/// What `%tid.x`, `%tid.y` and `%tid.z` can be.
pub(crate) type Threads = [RangeInclusive<i64>; 3];

/// The numbers of all lanes of a block's rows, also of those that have no thread.
pub(crate) fn all_threads(rows: Rows) -> Threads {
    let [x, y, z] = rows.block;
    let x = if y * z == 1 { x.next_multiple_of(rows.width) } else { x };
    [x, y, z].map(|threads| 0..=i64::from(threads) - 1)
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Linear {
    pub(crate) first: i64,
    pub(crate) steps: [i64; 3],
}

impl Linear {
    fn constant(first: i64) -> Self {
        Self { first, steps: [0; 3] }
    }

    fn plus(self, other: Self, sign: i64) -> Self {
        let sum = |a: i64, b: i64| a + sign * b;
        Self {
            first: sum(self.first, other.first),
            steps: [0, 1, 2].map(|axis: usize| sum(self.steps[axis], other.steps[axis])),
        }
    }

    /// The product, if one of them is the same in all threads and both are small.
    fn times(self, other: Self) -> Option<Self> {
        let (factor, of) = match (self.steps, other.steps) {
            (_, [0, 0, 0]) => (other.first, self),
            ([0, 0, 0], _) => (self.first, other),
            _ => return None,
        };
        let product = |n: i64| n.checked_mul(factor).filter(|n| (-MOST..=MOST).contains(n));
        let [x, y, z] = of.steps;
        Some(Self { first: product(of.first)?, steps: [product(x)?, product(y)?, product(z)?] })
    }

    /// The least and the greatest value in threads with such numbers.
    pub(crate) fn range(&self, threads: &Threads) -> RangeInclusive<i64> {
        let mut range = [self.first; 2];
        for (step, numbers) in self.steps.iter().zip(threads) {
            let ends = [step * numbers.start(), step * numbers.end()];
            range = [range[0] + ends[0].min(ends[1]), range[1] + ends[0].max(ends[1])];
        }
        range[0]..=range[1]
    }

    /// Whether it is a multiple of a power of two in every thread.
    pub(crate) fn is_multiple_of(&self, power: i64) -> bool {
        self.steps.iter().chain([&self.first]).all(|part| part & (power - 1) == 0)
    }

    pub(crate) fn class(&self) -> Class {
        Class::Affine(self.steps[0])
    }
}

/// What a predicate is: how a difference compares with zero, as numbers with signs that do not wrap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub(crate) cmp: SetIntCmp,
    pub(crate) difference: Linear,
}

impl Condition {
    /// What it is in all threads, if that is one thing.
    pub(crate) fn constant(&self, rows: Rows) -> Option<bool> {
        use SetIntCmp as C;
        let (least, greatest) = self.difference.range(&all_threads(rows)).into_inner();
        let (below, above, zero) = (greatest < 0, least > 0, least == 0 && greatest == 0);
        let (holds, fails) = match self.cmp {
            C::Eq => (zero, below || above),
            C::Ne => (below || above, zero),
            C::Lt | C::Lo => (below, least >= 0),
            C::Le | C::Ls => (greatest <= 0, above),
            C::Gt | C::Hi => (above, greatest <= 0),
            C::Ge | C::Hs => (least >= 0, below),
        };
        (holds || fails).then_some(holds)
    }

    /// What holds where this does not.
    pub(crate) fn negated(self) -> Self {
        use SetIntCmp as C;
        let cmp = match self.cmp {
            C::Eq => C::Ne,
            C::Ne => C::Eq,
            C::Lt | C::Lo => C::Ge,
            C::Ge | C::Hs => C::Lt,
            C::Gt | C::Hi => C::Le,
            C::Le | C::Ls => C::Gt,
        };
        Self { cmp, ..self }
    }

    /// The `%tid.x` for which it holds, of those of some threads, if that is just these.
    pub(crate) fn exactly(&self, x: RangeInclusive<i64>, [_, y, z]: &Threads) -> Option<RangeInclusive<i64>> {
        let ([x, ..], is_exact) = self.narrowed(&[x, y.clone(), z.clone()])?;
        is_exact.then_some(x)
    }

    /// Those of some threads for which it can hold, if one of their numbers decides it, and whether it holds for just those. `None` where it
    /// tells nothing, or there would be none.
    pub(crate) fn narrowed(&self, threads: &Threads) -> Option<(Threads, bool)> {
        use SetIntCmp as C;
        let varies = |axis: &usize| {
            self.difference.steps[*axis] != 0 && threads[*axis].start() != threads[*axis].end()
        };
        let mut axes = (0..3).filter(varies);
        let (axis, None) = (axes.next()?, axes.next()) else { return None };
        let mut others = threads.clone();
        others[axis] = 0..=0;
        let (rest, step) = (*self.difference.range(&others).start(), self.difference.steps[axis]);
        // The number times the step compares with so much.
        let than = -rest;
        let (start, end) = (*threads[axis].start(), *threads[axis].end());
        let at_most = |most: i64| match step > 0 {
            true => start..=end.min(most.div_euclid(step)),
            false => start.max(-most.div_euclid(-step))..=end,
        };
        let at_least = |least: i64| match step > 0 {
            true => start.max(-(-least).div_euclid(step))..=end,
            false => start..=end.min((-least).div_euclid(-step)),
        };
        let (numbers, is_exact) = match self.cmp {
            C::Lt | C::Lo => (at_most(than - 1), true),
            C::Le | C::Ls => (at_most(than), true),
            C::Gt | C::Hi => (at_least(than + 1), true),
            C::Ge | C::Hs => (at_least(than), true),
            C::Eq => (*at_least(than).start()..=*at_most(than).end(), false),
            C::Ne if than == start * step => (start + 1..=end, true),
            C::Ne if than == end * step => (start..=end - 1, true),
            C::Ne => return None,
        };
        let mut narrowed = threads.clone();
        narrowed[axis] = numbers;
        (!narrowed[axis].is_empty()).then_some((narrowed, is_exact))
    }
}

/// What is known of the registers of a function.
#[derive(Debug)]
pub(crate) struct Linears {
    registers: Vec<Option<Linear>>,
    conditions: Vec<Option<Condition>>,
    /// Instructions that compute one.
    defines: Vec<bool>,
    /// The numbers of threads that run each block.
    threads: Vec<Threads>,
}

impl Linears {
    pub(crate) fn new(
        source: &Source<'_>,
        function: &Function<'_>,
        cfg: &Cfg,
        order: &Order,
        live: &Liveness,
        rows: Rows,
    ) -> Self {
        let registers = &function.body.registers;
        let mut this = Self {
            registers: vec![None; registers.len()],
            conditions: vec![None; registers.len()],
            defines: vec![false; function.instructions.len()],
            threads: vec![all_threads(rows); cfg.blocks.len()],
        };
        if !rows.are_straight() {
            return this;
        }
        let mut definitions = vec![0_u32; registers.len()];
        for instruction in function.instructions.iter().flatten() {
            instruction.registers(&mut |register, access| {
                definitions[register.index()] += u32::from(access != Access::Read);
            });
        }
        live.live_in(BlockId(0)).for_each(|register| definitions[register.index()] = u32::MAX);
        let dominators = cfg.dominators();
        // A definition stands before its reads in this order, and a dominator before what it dominates.
        for &block in &order.blocks {
            this.decide(function, cfg, block, dominators[block]);
            for index in cfg.blocks[block].first..cfg.blocks[block].end {
                let Some(instruction) = function.instruction(index) else { continue };
                let threads = &this.threads[block];
                let known = Operands { source, rows, function, registers: &this.registers, threads };
                let is_one = |register: RegId, bits: u32| {
                    definitions[register.index()] == 1
                        && instruction.guard.is_none()
                        && registers[register.index()].ty.bits() == bits
                };
                if let Op::SetpInt(setp) = &instruction.op
                    && let SetpInt { p: Def(Some(register)), q: None, c: None, .. } = **setp
                    && is_one(register, 1)
                    && let Some(condition) = known.condition(setp)
                {
                    this.conditions[register.index()] = Some(condition);
                    this.defines[index as usize] = true;
                    continue;
                }
                let Some((Def(Some(register)), bits, value)) = known.result(&instruction.op) else {
                    continue;
                };
                if is_one(register, bits) && fits(value, bits, threads) {
                    this.registers[register.index()] = Some(value);
                    this.defines[index as usize] = true;
                }
            }
        }
        this
    }

    /// What a branch has decided about a thread stays so, since such conditions have one value in each thread: so a block knows what its dominator
    /// knows, and what the branch says by which alone it is reached.
    fn decide(&mut self, function: &Function<'_>, cfg: &Cfg, block: usize, dominator: Option<BlockId>) {
        let Some(dominator) = dominator else { return };
        let mut threads = self.threads[dominator.index()].clone();
        if let [only] = cfg.blocks[block].predecessors[..]
            && let Some((_, condition)) = self.decided(function, cfg, (only.index(), block))
            && let Some((narrowed, _)) = condition.narrowed(&threads)
        {
            threads = narrowed;
        }
        self.threads[block] = threads;
    }

    /// What the branch between two blocks says of the threads that take it, if it follows from their numbers, and its guard.
    pub(crate) fn decided(
        &self,
        function: &Function<'_>,
        cfg: &Cfg,
        (from, to): (usize, usize),
    ) -> Option<(Guard, Condition)> {
        let mut ways = successors(cfg, from);
        let (taken, not_taken) = (ways.next()?, ways.next()?);
        let last = function.instruction(cfg.blocks[from].end.checked_sub(1)?)?;
        let guard = last.guard.filter(|_| matches!(last.op, Op::Bra(_)) && taken != not_taken)?;
        let condition = self.guarded(guard)?;
        Some((guard, if to == taken { condition } else { condition.negated() }))
    }

    /// The numbers of threads that run a block.
    pub(crate) fn threads(&self, block: usize) -> &Threads {
        &self.threads[block]
    }

    pub(crate) fn of(&self, register: RegId) -> Option<Linear> {
        self.registers[register.index()]
    }

    pub(crate) fn condition(&self, register: RegId) -> Option<Condition> {
        self.conditions[register.index()]
    }

    /// What a guard says of the threads that execute its instruction.
    pub(crate) fn guarded(&self, guard: Guard) -> Option<Condition> {
        let condition = self.condition(guard.register)?;
        Some(if guard.negated { condition.negated() } else { condition })
    }

    /// Whether a register has no slot.
    pub(crate) fn has(&self, register: RegId) -> bool {
        self.of(register).is_some() || self.condition(register).is_some()
    }

    /// Whether an instruction does nothing but compute such a register.
    pub(crate) fn defines(&self, index: u32) -> bool {
        self.defines[index as usize]
    }
}

/// Whether a value is the same number in these threads, whether its bits are taken as one with a sign or without.
fn fits(value: Linear, bits: u32, threads: &Threads) -> bool {
    let range = value.range(threads);
    let most = match bits {
        16 => i64::from(i16::MAX),
        32 => i64::from(i32::MAX),
        _ => MOST,
    };
    *range.start() >= 0 && *range.end() <= most && (-MOST_STEP..=MOST_STEP).contains(&value.steps[0])
}

/// Whether a type has as many bits as numbers that are followed.
fn is_whole(ty: ScalarType) -> bool {
    matches!(ty.bits(), 16 | 32 | 64)
}

/// The greatest distance of two lanes, as for [`Class`].
const MOST_STEP: i64 = 1 << 24;

/// What operands are.
struct Operands<'a> {
    source: &'a Source<'a>,
    rows: Rows,
    function: &'a Function<'a>,
    registers: &'a [Option<Linear>],
    /// The numbers of threads for which they are asked.
    threads: &'a Threads,
}

impl Operands<'_> {
    /// A value that is read as one with so many bits, of a register that has as many.
    fn value(&self, value: &Value, bits: u32) -> Option<Linear> {
        use SpecialRegister as R;
        let signed = |bits_of: u64| match bits {
            16 => i64::from(bits_of as i16),
            32 => i64::from(bits_of as i32),
            _ => bits_of as i64,
        };
        let one = |axis: usize| {
            let mut steps = [0; 3];
            steps[axis] = 1;
            Linear { first: 0, steps }
        };
        match *value {
            Value::Register(register) if self.bits_of(register) == bits => self.registers[register.index()],
            Value::Constant(value) => {
                Some(Linear::constant(signed(value))).filter(|c| (-MOST..=MOST).contains(&c.first))
            }
            Value::Special { register: R::Tid, component: axis @ 0..3 } if bits == 32 => {
                Some(one(axis.into()))
            }
            Value::Special { register: R::Ntid, component: axis @ 0..3 } if bits == 32 => {
                Some(Linear::constant(self.rows.block[usize::from(axis)].into()))
            }
            Value::Symbol { symbol: Symbol::Variable(id), offset } => {
                // In global memory a variable is elsewhere in each process.
                let space = self.function.module.variables[id.index()].space;
                let is_fixed = !matches!(space, StateSpace::Global | StateSpace::Const);
                let address = self.source.address_of(id).filter(|_| is_fixed)?.checked_add_signed(offset)?;
                i64::try_from(address).ok().filter(|&address| address <= MOST).map(Linear::constant)
            }
            Value::Register(_) | Value::Special { .. } | Value::Symbol { .. } | Value::Unused => None,
        }
    }

    fn bits_of(&self, register: RegId) -> u32 {
        self.function.body.registers[register.index()].ty.bits()
    }

    /// Both, of one type.
    fn both(&self, a: &Value, b: &Value, ty: ScalarType) -> Option<(Linear, Linear)> {
        is_whole(ty).then_some(())?;
        Some((self.value(a, ty.bits())?, self.value(b, ty.bits())?))
    }

    /// The sum of two that have no bit in common in any thread: one is below a power of two that the other is a multiple of.
    fn disjoint_sum(&self, a: &Value, b: &Value, ty: ScalarType) -> Option<Linear> {
        let (a, b) = self.both(a, b, ty)?;
        let is_below = |low: Linear, high: Linear| {
            let (low, high_range) = (low.range(self.threads), high.range(self.threads));
            let power = u64::try_from(*low.end()).ok()?.checked_add(1)?.checked_next_power_of_two()?;
            let fits = *low.start() >= 0 && *high_range.start() >= 0;
            (fits && high.is_multiple_of(i64::try_from(power).ok()?)).then_some(())
        };
        is_below(a, b).or_else(|| is_below(b, a))?;
        Some(a.plus(b, 1))
    }

    /// A factor read as a number without a sign is not one with a sign that is less than zero.
    fn product(&self, a: &Value, b: &Value, ty: ScalarType, mode: MulIntMode) -> Option<Linear> {
        let (a, b) = self.both(a, b, ty)?;
        let is_wide = mode == MulIntMode::Wide;
        let is_plain = |factor: Linear| is_signed(ty) || *factor.range(self.threads).start() >= 0;
        match mode {
            MulIntMode::Hi => None,
            MulIntMode::Lo | MulIntMode::Wide if is_wide && !(is_plain(a) && is_plain(b)) => None,
            MulIntMode::Lo | MulIntMode::Wide => a.times(b),
        }
    }

    /// What a comparison says.
    fn condition(&self, setp: &SetpInt) -> Option<Condition> {
        use SetIntCmp as C;
        let (a, b) = self.both(&setp.a, &setp.b, setp.ty)?;
        // Numbers that are not less than zero compare alike with signs and without.
        let is_plain = [a, b].iter().all(|value| *value.range(self.threads).start() >= 0);
        let has_signs = is_signed(setp.ty) || matches!(setp.cmp, C::Eq | C::Ne);
        let cmp = match setp.cmp {
            C::Lo => C::Lt,
            C::Ls => C::Le,
            C::Hi => C::Gt,
            C::Hs => C::Ge,
            cmp => cmp,
        };
        (is_plain || has_signs).then(|| Condition { cmp, difference: a.plus(b, -1) })
    }

    /// What an instruction computes, for which register, in how many bits.
    fn result(&self, op: &Op) -> Option<(Def, u32, Linear)> {
        let twice = |ty: ScalarType, mode| if mode == MulIntMode::Wide { 2 * ty.bits() } else { ty.bits() };
        match op {
            Op::Mov(i) if is_whole(i.ty) => {
                let own = match i.a {
                    Value::Special { .. } => 32,
                    _ => i.ty.bits(),
                };
                (own == i.ty.bits()).then_some(())?;
                Some((i.d, own, self.value(&i.a, own)?))
            }
            Op::AddInt(i) if !i.sat => {
                let (a, b) = self.both(&i.a, &i.b, i.ty)?;
                Some((i.d, i.ty.bits(), a.plus(b, 1)))
            }
            Op::SubInt(i) if !i.sat => {
                let (a, b) = self.both(&i.a, &i.b, i.ty)?;
                Some((i.d, i.ty.bits(), a.plus(b, -1)))
            }
            Op::MulInt(i) => Some((i.d, twice(i.ty, i.mode), self.product(&i.a, &i.b, i.ty, i.mode)?)),
            Op::MadInt(i) if !i.sat => {
                let bits = twice(i.ty, i.mode);
                let product = self.product(&i.a, &i.b, i.ty, i.mode)?;
                Some((i.d, bits, product.plus(self.value(&i.c, bits)?, 1)))
            }
            Op::Shl(i) => match i.b {
                Value::Constant(amount) if amount < 24 && is_whole(i.ty) => {
                    let factor = Linear::constant(1 << amount);
                    Some((i.d, i.ty.bits(), self.value(&i.a, i.ty.bits())?.times(factor)?))
                }
                _ => None,
            },
            // Of numbers without a bit in common these are sums.
            Op::Or(Or { d, ty, a, b, .. }) | Op::Xor(Xor { d, ty, a, b, .. }) => {
                Some((*d, ty.bits(), self.disjoint_sum(a, b, *ty)?))
            }
            // Numbers that fit keep their bits, and get zeros.
            Op::CvtInt(i) if !i.sat && is_whole(i.atype) && is_whole(i.dtype) => {
                let value = self.value(&i.a, i.atype.bits()).filter(|_| matches!(i.a, Value::Register(_)))?;
                Some((i.d, i.dtype.bits(), value))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every condition on a number, against all numbers of a block.
    #[test]
    fn threads_are_narrowed_to_those_for_which_a_condition_holds() {
        use SetIntCmp as C;
        let threads: Threads = [0..=31, 3..=3, 0..=0];
        for cmp in [C::Eq, C::Ne, C::Lt, C::Le, C::Gt, C::Ge] {
            for (first, x, y) in
                (-70..70).flat_map(|f| [-3, -1, 1, 2].map(|x| [(f, x, 0), (f, x, 5)])).flatten()
            {
                let condition = Condition { cmp, difference: Linear { first, steps: [x, y, 0] } };
                let holds = |number: i64| {
                    let value = first + x * number + y * 3;
                    match cmp {
                        C::Eq => value == 0,
                        C::Ne => value != 0,
                        C::Lt => value < 0,
                        C::Le => value <= 0,
                        C::Gt => value > 0,
                        _ => value >= 0,
                    }
                };
                let Some((narrowed, is_exact)) = condition.narrowed(&threads) else { continue };
                assert_eq!(narrowed[1..], threads[1..]);
                for number in 0..32 {
                    let is_in = narrowed[0].contains(&number);
                    assert!(is_in || !holds(number), "{condition:?} {number}");
                    assert!(!is_exact || !is_in || holds(number), "{condition:?} {number}");
                }
                let opposite = condition.negated().narrowed(&threads);
                assert!(opposite.is_none_or(|(other, _)| (0..32).all(|n| holds(n) || other[0].contains(&n))));
            }
        }
    }
}
