//! Lanes that meet. PTX lets the lanes of a mask execute a `shfl.sync` each at another place of the code, as long as all are of one
//! kind; the hardware has for that
//!
//! ```text
//! WARPSYNC.COLLECTIVE mask, `(behind)    a lane waits here for those of its mask, which stand at any WARPSYNC.COLLECTIVE
//! SHFL.IDX ...                           then all of them execute what follows one of these
//! ENDCOLLECTIVE                          and each goes on behind its own
//! behind:
//! ```
//!
//! So what stands between must name the same registers wherever it stands: a kind has registers of its own in the whole kernel,
//! into which operands are copied. The mask is in one register in the whole kernel too: with others an H100 waited for ever.
//! Lanes with another mask are not among them. That ptxas does this at its `-O0` was seen in its output.

use super::{Done, Select};
use crate::code::{Class, Label, Operand, Reg};

/// Who meets.
pub(super) enum Members {
    /// All lanes of the warp that have not exited.
    All,
    /// Those of a mask.
    Of(Operand),
}

/// The registers of a kind: what goes in, and what comes out.
#[derive(Clone)]
pub(super) struct Convention {
    given: Vec<Reg>,
    results: Vec<Reg>,
}

impl Select<'_> {
    /// Runs what has no guard of its own around a branch that the opposite of the guard takes. Behind that the guard holds again.
    pub(super) fn behind_guard(&mut self, act: impl FnOnce(&mut Self) -> Done) -> Done {
        let Some((guard, not)) = self.guard.take() else { return act(self) };
        let skip = self.code.label();
        self.branch(Some((guard, !not)), skip);
        let done = act(self);
        self.code.place(skip);
        self.guard = Some((guard, not));
        done
    }

    fn convention(&mut self, kind: &str, given: &[(Class, Operand)], results: &[Class]) -> Convention {
        let code = &mut self.code;
        let made = self.conventions.entry(kind.to_owned()).or_insert_with(|| Convention {
            given: given.iter().map(|&(class, _)| code.register(class, false)).collect(),
            results: results.iter().map(|&class| code.register(class, false)).collect(),
        });
        made.clone()
    }

    /// What lanes of one kind do where all of them have come. `kind` is the same for all that may meet, and says how many
    /// registers of which classes go in and come out.
    pub(super) fn meet(
        &mut self,
        kind: &str,
        members: Members,
        given: Vec<(Class, Operand)>,
        results: &[Class],
        act: impl FnOnce(&mut Self, &[Reg], &[Reg]),
    ) -> Vec<Reg> {
        let convention = self.convention(kind, &given, results);
        for (&to, (class, value)) in convention.given.iter().zip(given) {
            self.copy(to, class, value);
        }
        let behind = self.code.label();
        let back = self.way_back(behind);
        match members {
            Members::All => {
                self.code.push(None, "WARPSYNC.COLLECTIVE.ALL", vec![], vec![Operand::Target(behind)]);
            }
            Members::Of(mask) => {
                let class = Class::General(1);
                let own = self.convention("members", &[(class, mask.clone())], &[]).given[0];
                self.copy(own, class, mask);
                let read = vec![Operand::low(own), Operand::Target(behind)];
                self.code.push(None, "WARPSYNC.COLLECTIVE", vec![], read);
            }
        }
        act(self, &convention.given, &convention.results);
        self.code.push(None, "ENDCOLLECTIVE", vec![], back.into_iter().collect());
        self.code.place(behind);
        let taken = convention.results.iter().zip(results).map(|(&from, &class)| {
            let to = self.code.register(class, true);
            match class {
                Class::General(width) | Class::Uniform(width) => {
                    self.copy(to, class, Operand::wide(from, width))
                }
                Class::Predicate => self.copy(to, class, Operand::Predicate(from, false)),
            }
            to
        });
        taken.collect()
    }

    /// Where each goes on, in registers that are the same in the whole kernel, if [that](crate::collectives) is for the code to say.
    fn way_back(&mut self, behind: Label) -> Option<Operand> {
        if self.target().has("ENDCOLLECTIVE") {
            return None;
        }
        let class = Class::General(2);
        let both = self.convention("back", &[(class, Operand::zero())], &[]).given[0];
        self.code.push(None, "MOV", vec![Operand::part(both, 0)], vec![Operand::Target(behind)]);
        self.code.push(None, "MOV", vec![Operand::part(both, 1)], vec![Operand::zero()]);
        Some(Operand::wide(both, 2))
    }

    /// Copies an operand into a register of its class.
    fn copy(&mut self, to: Reg, class: Class, value: Operand) {
        match class {
            Class::Predicate => self.plop(None, to, value, Operand::always(false), 0xf0),
            Class::General(width) | Class::Uniform(width) => {
                for part in 0..width {
                    let from = match &value {
                        Operand::General { reg, part: first, .. } => Operand::part(*reg, first + part),
                        other => other.clone(),
                    };
                    self.code.push(None, "MOV", vec![Operand::part(to, part)], vec![from]);
                }
            }
        }
    }
}
