//! What loops count: values that advance by a constant in every round, and how many rounds there are.

use crate::instruction::{AddInt, CvtInt, Mov, Op, SetIntCmp, SetpInt, SubInt};
use crate::loops::Loop;
use crate::operand::Value;
use crate::ssa::{Definitions, Ssa};
use ptx::module::RegId;
use ptx::types::{ScalarType, TypeKind};

/// A value that a loop advances by the same step in every round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Induction {
    /// The header's parameter that holds it.
    pub parameter: RegId,
    /// What it is in the first round.
    pub start: Value,
    /// What is added in each round, modulo the register's width.
    pub step: i64,
    /// The value after it was advanced.
    pub next: RegId,
}

/// What decides whether a loop goes on: how an induction compares with something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The induction.
    pub induction: Induction,
    /// It is the advanced value that is compared.
    pub is_advanced: bool,
    /// Only its lower 32 bits are compared.
    pub is_cut: bool,
    /// The comparison, its type, and with what.
    pub cmp: SetIntCmp,
    /// The type that is compared.
    pub ty: ScalarType,
    /// With what.
    pub bound: Value,
    /// The loop goes on while the comparison gives this.
    pub goes_on: bool,
}

/// What the loops of a function count.
pub struct Inductions<'s, 'a> {
    ssa: &'s Ssa<'a>,
    definitions: Definitions,
}

impl<'s, 'a> Inductions<'s, 'a> {
    /// What is asked of the loops of a function.
    pub fn new(ssa: &'s Ssa<'a>) -> Self {
        Self { ssa, definitions: Definitions::new(ssa) }
    }

    /// The values that a loop with one latch and one entry advances by constants.
    pub fn of(&self, of: &Loop) -> Vec<Induction> {
        let &[latch] = &of.latches[..] else { return vec![] };
        let entries =
            self.ssa.cfg.blocks[of.header.index()].predecessors.iter().filter(|from| **from != latch);
        let [entry] = entries.copied().collect::<Vec<_>>()[..] else { return vec![] };
        let (Some(first), Some(again)) = (self.ssa.edge(entry, of.header), self.ssa.edge(latch, of.header))
        else {
            return vec![];
        };
        let parameters = self.ssa.blocks[of.header.index()].parameters.iter();
        let found = parameters.zip(first.iter().zip(again)).filter_map(|(&parameter, (&start, again))| {
            let Value::Register(next) = *again else { return None };
            let next = self.copied(next);
            let step = self.step(parameter, next)?;
            Some(Induction { parameter, start, step, next })
        });
        found.collect()
    }

    /// What is added to a value to get another, if it is a constant.
    fn step(&self, from: RegId, to: RegId) -> Option<i64> {
        let instruction =
            self.definitions.of(self.ssa, to).filter(|instruction| instruction.typed.guard.is_none())?;
        let sum = |a: &Value, b: &Value| self.constant(b).filter(|_| *a == Value::Register(from));
        let (ty, step) = match &instruction.typed.op {
            Op::AddInt(AddInt { sat: false, ty, a, b, .. }) => (*ty, sum(a, b).or_else(|| sum(b, a))?),
            Op::SubInt(SubInt { sat: false, ty, a, b, .. }) => (*ty, sum(a, b)?.wrapping_neg()),
            _ => return None,
        };
        let unused = 64 - ty.bits().clamp(1, 64);
        Some(((step << unused) as i64) >> unused)
    }

    /// The instruction of the register form that advances an induction.
    pub fn counts(&self, one: &Induction) -> Option<u32> {
        self.definitions.of(self.ssa, one.next).map(|instruction| instruction.origin)
    }

    /// What a value is, if that is a constant or a copy of one.
    pub fn constant(&self, value: &Value) -> Option<u64> {
        let register = match value {
            Value::Constant(bits) => return Some(*bits),
            Value::Register(register) => *register,
            Value::Special { .. } | Value::Symbol { .. } | Value::Unused => return None,
        };
        let copy = self.definitions.of(self.ssa, register).filter(|copy| copy.typed.guard.is_none())?;
        if let Op::Mov(Mov { a: Value::Constant(bits), .. }) = &copy.typed.op { Some(*bits) } else { None }
    }

    /// What a value is a copy of.
    fn copied(&self, mut value: RegId) -> RegId {
        loop {
            let made = self.definitions.of(self.ssa, value).filter(|made| made.typed.guard.is_none());
            match made.map(|made| &made.typed.op) {
                Some(Op::Mov(Mov { a: Value::Register(from), .. })) => value = *from,
                _ => return value,
            }
        }
    }

    /// What is compared, and whether that is only the lower half of it.
    fn compared(&self, value: RegId) -> (RegId, bool) {
        let value = self.copied(value);
        let made = self.definitions.of(self.ssa, value).filter(|made| made.typed.guard.is_none());
        match made.map(|made| &made.typed.op) {
            Some(Op::CvtInt(CvtInt { sat: false, dtype, atype, a: Value::Register(from), .. }))
                if dtype.bits() == 32 && atype.bits() == 64 =>
            {
                (self.copied(*from), true)
            }
            _ => (value, false),
        }
    }

    /// What decides whether a loop goes on, if it has one exit, at its latch or its header, which asks an induction.
    pub fn test(&self, of: &Loop) -> Option<Test> {
        let &[(from, to)] = &of.exits[..] else { return None };
        if !of.latches.contains(&from) && from != of.header && !self.leads_back(of, from) {
            return None;
        }
        let instructions = &self.ssa.blocks[from.index()].instructions;
        let branch = instructions.last().filter(|last| matches!(last.typed.op, Op::Bra(_)))?;
        let guard = branch.typed.guard?;
        let setp = self.definitions.of(self.ssa, guard.register).filter(|it| it.typed.guard.is_none())?;
        let Op::SetpInt(setp) = &setp.typed.op else { return None };
        let SetpInt { cmp, ty, combine: None, p, a: Value::Register(a), b: bound, .. } = **setp else {
            return None;
        };
        let Op::Bra(bra) = &branch.typed.op else { return None };
        let target = self.ssa.cfg.block_of(self.ssa.function.body.labels[bra.target.index()].target);
        // The second result is the opposite.
        let is_first = p.0 == Some(guard.register);
        let goes_on = (guard.negated == (target == to)) == is_first;
        let (compared, is_cut) = self.compared(a);
        let inductions = self.of(of);
        let after = inductions.iter().find(|one| one.next == compared);
        let before = inductions.iter().find(|one| one.parameter == compared);
        let (&induction, is_advanced) = after.map(|one| (one, true)).or(before.map(|one| (one, false)))?;
        Some(Test { induction, is_advanced, is_cut, cmp, ty, bound, goes_on })
    }

    /// Whether a block of a loop leads out of it or to a latch that does nothing but go back.
    fn leads_back(&self, of: &Loop, from: crate::BlockId) -> bool {
        let is_empty = |latch: &crate::BlockId| self.ssa.blocks[latch.index()].instructions.len() == 1;
        of.latches
            .iter()
            .all(|latch| is_empty(latch) && self.ssa.cfg.blocks[latch.index()].predecessors == [from])
    }

    /// How often the header of a loop runs each time the loop is entered, if that is known: the loop has one exit, at its
    /// latch or its header, which compares an induction that starts at a constant with a constant.
    pub fn trip_count(&self, of: &Loop) -> Option<u64> {
        let Test { induction, is_advanced, cmp, ty, bound, goes_on, .. } = self.test(of)?;
        let bound = self.constant(&bound)?;
        let start = self.constant(&induction.start)?;
        let bits = ty.bits();
        let number = |raw: u64| {
            let unused = 64 - bits.clamp(1, 64);
            match ty.kind() {
                TypeKind::Signed => i128::from(((raw << unused) as i64) >> unused),
                _ => i128::from((raw << unused) >> unused),
            }
        };
        let (start, bound, step) = (number(start), number(bound), i128::from(induction.step));
        let advanced = i128::from(is_advanced);
        let rounds = rounds(cmp, goes_on, start + step * advanced, bound, step)?;
        // The sequence must not wrap before it ends.
        let last = start + step * (rounds + advanced);
        let (least, most) = match ty.kind() {
            TypeKind::Signed => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            _ => (0, (1_i128 << bits) - 1),
        };
        (least..=most).contains(&last).then(|| u64::try_from(rounds + 1).ok())?
    }
}

/// How often in a row `first + n * step` compares with `bound` so that the loop goes on.
fn rounds(cmp: SetIntCmp, goes_on: bool, first: i128, bound: i128, step: i128) -> Option<i128> {
    use SetIntCmp::{Eq, Ge, Gt, Hi, Hs, Le, Lo, Ls, Lt, Ne};
    let up_to = |end: i128| (step > 0).then(|| ((end - first + step - 1) / step).max(0));
    let down_to = |end: i128| (step < 0).then(|| ((first - end - step - 1) / -step).max(0));
    match (cmp, goes_on) {
        (Lt | Lo, true) | (Ge | Hs, false) => up_to(bound),
        (Le | Ls, true) | (Gt | Hi, false) => up_to(bound + 1),
        (Gt | Hi, true) | (Le | Ls, false) => down_to(bound),
        (Ge | Hs, true) | (Lt | Lo, false) => down_to(bound - 1),
        (Ne, true) | (Eq, false) => {
            let distance = bound - first;
            (step != 0 && distance % step == 0 && distance / step >= 0).then(|| distance / step)
        }
        (Eq, true) | (Ne, false) => (step != 0).then(|| i128::from(first == bound)),
    }
}
