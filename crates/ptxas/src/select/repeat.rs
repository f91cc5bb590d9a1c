//! Loops that are [unrolled](crate::unroll): their rounds one behind the other.
//!
//! In such code every instruction writes a register of its own, and the last round's values are copied to where the next ones find them,
//! so that nothing but what a round reads of the one in front keeps them apart. Counters are counted from where the code begins.

use super::{Done, Refusal, Select};
use crate::code::{Label, Operand, Reg};
use crate::unroll::{Bound, Counter, Rounds, Unrolled};
use ir::instruction::SetIntCmp;
use ir::operand::{Predicate, Value};
use ptx::module::LabelId;
use ptx::types::TypeKind;
use rustc_hash::FxHashMap as HashMap;

/// Where a counter stood when the code began: a constant or a register.
#[derive(Clone, Copy)]
enum Start {
    Constant(u64),
    Register(Reg),
}

impl Select<'_> {
    /// A loop whose labels in front have been placed.
    pub(super) fn repeat(&mut self, of: &Unrolled) {
        self.is_for_branch(of);
        let done = match &of.rounds {
            Rounds::All(rounds) => {
                self.rounds(of, *rounds, true);
                self.is_for_branch(of);
                self.go_out(of);
                Ok(())
            }
            Rounds::Known(before, group) => {
                self.rounds(of, *before, true);
                let top = self.code.label();
                self.code.place(top);
                self.rounds(of, *group, false);
                self.is_for_branch(of);
                self.go_back(of, top).map(|()| self.go_out(of))
            }
            Rounds::Asked(group, bound) => self.asked(of, *group, bound),
        };
        if let Err(why) = done {
            self.refuse(of.tail, why);
        }
    }

    /// Groups of rounds as long as there are enough, then one by one.
    fn asked(&mut self, of: &Unrolled, group: u32, bound: &Bound) -> Done {
        let (groups, one, end) = (self.code.label(), self.code.label(), self.code.label());
        let ahead = self.enough(bound, group, true, None)?;
        self.branch(Some((ahead, true)), one);
        self.code.place(groups);
        self.rounds(of, group, false);
        self.is_for_branch(of);
        let again = self.again(of)?;
        let enough = self.enough(bound, group, false, Some(again))?;
        self.branch(Some((enough, false)), groups);
        self.branch(Some((again.0, !again.1)), end);
        self.code.place(one);
        self.rounds(of, 1, false);
        self.is_for_branch(of);
        self.go_back(of, one)?;
        self.code.place(end);
        self.go_out(of);
        Ok(())
    }

    fn is_for_branch(&mut self, of: &Unrolled) {
        self.guard = None;
        self.code.is_for(Some(self.origin(of.tail)));
    }

    fn again(&mut self, of: &Unrolled) -> Result<(Reg, bool), Refusal> {
        self.predicate(&Predicate { value: Value::Register(of.again.0), negated: of.again.1 })
    }

    fn go_back(&mut self, of: &Unrolled, top: Label) -> Done {
        let again = self.again(of)?;
        self.branch(Some(again), top);
        Ok(())
    }

    fn go_out(&mut self, of: &Unrolled) {
        if let Some(exit) = of.exit {
            let exit = self.label(exit);
            self.branch(None, exit);
        }
    }

    /// So many rounds. Whether they are the first ones.
    fn rounds(&mut self, of: &Unrolled, count: u32, are_first: bool) {
        let starts: HashMap<u32, Start> = of
            .counters
            .iter()
            .map(|(&at, counter)| (at, self.start(counter, counter.start.filter(|_| are_first))))
            .collect();
        let inside: Vec<_> = self.labels_between(of.first + 1, of.tail).collect();
        let was_apart = self.code.writes_apart(count > 1);
        for round in 1..=count {
            for (label, _) in &inside {
                self.at.labels.remove(label);
            }
            for at in of.first..of.tail {
                for (label, _) in inside.iter().filter(|(_, target)| *target == at) {
                    let label = self.label(*label);
                    self.code.place(label);
                }
                match of.counters.get(&at).zip(starts.get(&at)) {
                    Some((counter, start)) => {
                        self.guard = None;
                        self.code.is_for(Some(self.origin(at)));
                        self.count(counter, *start, round);
                    }
                    None => self.instruction_at(at),
                }
            }
            for (label, _) in inside.iter().filter(|(_, target)| *target == of.tail) {
                let label = self.label(*label);
                self.code.place(label);
            }
        }
        self.code.writes_apart(was_apart);
    }

    fn start(&mut self, counter: &Counter, constant: Option<u64>) -> Start {
        if let Some(constant) = constant {
            return Start::Constant(constant);
        }
        let home = self.home(counter.register);
        let parts = (counter.ty.bits() / 32) as u8;
        let to = self.temporary(parts);
        for part in 0..parts {
            self.code.push(None, "MOV", vec![Operand::part(to, part)], vec![Operand::part(home, part)]);
        }
        Start::Register(to)
    }

    /// A counter behind so many rounds.
    fn count(&mut self, counter: &Counter, start: Start, rounds: u32) {
        let by = counter.step.wrapping_mul(i64::from(rounds)) as u64;
        let is_wide = counter.ty.bits() == 64;
        let result = match (start, is_wide) {
            (Start::Constant(bits), true) => self.constant64(bits.wrapping_add(by)),
            (Start::Constant(bits), false) => {
                self.one("MOV", vec![Operand::number(bits.wrapping_add(by) as u32)])
            }
            (Start::Register(from), true) => {
                let by = self.constant64(by);
                self.add64(from, by)
            }
            (Start::Register(from), false) => {
                let by = self.constant(by as u32);
                self.add(Operand::low(from), by)
            }
        };
        self.set(counter.to, result);
    }

    /// Whether there are so many rounds more. In front of the first round of a loop (`ahead`) the comparison that another one needs has
    /// not been made; behind one its result is `again`.
    ///
    /// The counter only comes nearer to its bound. While it has not reached that, the distance is what the difference is as an unsigned
    /// number, which the rounds are compared with.
    fn enough(
        &mut self,
        bound: &Bound,
        rounds: u32,
        ahead: bool,
        again: Option<(Reg, bool)>,
    ) -> Result<Reg, Refusal> {
        use SetIntCmp::{Eq, Ge, Gt, Hi, Hs, Le, Lo, Ls, Lt, Ne};
        let is_wide = bound.ty.bits() == 64;
        let (name, strict) = match bound.cmp {
            Lt | Lo => ("LT", true),
            Gt | Hi => ("GT", true),
            Le | Ls => ("LE", false),
            Ge | Hs => ("GE", false),
            Ne | Eq => ("NE", true),
        };
        let signed = bound.ty.kind() == TypeKind::Signed && matches!(bound.cmp, Lt | Le | Gt | Ge);
        // As many rounds lie between the counter as it is compared and the last comparison that must hold.
        let between = u64::from(rounds) - 1 - u64::from(ahead);
        let distance = bound.step.unsigned_abs() * between;
        let far = if strict { "GT" } else { "GE" };
        let step = Value::Constant(bound.step as u64);
        let counter = Value::Register(bound.register);
        if is_wide {
            let (mut at, to) = (self.double(&counter)?, self.double(&bound.to)?);
            if ahead {
                let step = self.double(&step)?;
                at = self.add64(at, step);
            }
            let with = match again {
                Some((reg, not)) => Operand::Predicate(reg, not),
                None => Operand::Predicate(
                    self.compare64(name, signed, at, to, Operand::always(false), "AND").0,
                    false,
                ),
            };
            let (near, beyond) = if bound.step > 0 { (at, to) } else { (to, at) };
            let difference = self.sum64(beyond, near, true);
            let distance = self.constant64(distance);
            return Ok(self.compare64(far, false, difference, distance, with, "AND").0);
        }
        let (mut at, to) = (self.word(&counter)?, self.word(&bound.to)?);
        if ahead {
            let step = self.word(&step)?;
            at = Operand::low(self.add(at, step));
        }
        let kind = if signed { "" } else { ".U32" };
        let with = match again {
            Some((reg, not)) => Operand::Predicate(reg, not),
            None => Operand::Predicate(
                self.compare(&format!("ISETP.{name}{kind}.AND"), at.clone(), to.clone()),
                false,
            ),
        };
        let (near, beyond) = if bound.step > 0 { (at, to) } else { (to, at) };
        let difference = self.add(beyond, near.signed("-"));
        let distance = self.constant(distance as u32);
        let flag = self.flag();
        let written = vec![Operand::Predicate(flag, false), Operand::always(false)];
        self.code.push(
            None,
            format!("ISETP.{far}.U32.AND"),
            written,
            vec![Operand::low(difference), distance, with],
        );
        Ok(flag)
    }

    /// The labels that stand in front of some instructions.
    fn labels_between(&self, first: u32, last: u32) -> impl Iterator<Item = (LabelId, u32)> + use<> {
        let labels = self.at.function.body.labels.iter().enumerate();
        let found: Vec<_> = labels
            .filter(|(_, label)| (first..=last).contains(&label.target))
            .map(|(index, label)| (LabelId(index as u32), label.target))
            .collect();
        found.into_iter()
    }
}
