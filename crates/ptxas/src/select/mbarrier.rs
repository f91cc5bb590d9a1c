//! `mbarrier` (PTX ISA, "Parallel Synchronization and Communication Instructions"): the hardware keeps such objects itself, the unit is
//! SYNCS; [older devices](super::early_mbarrier) count in words. How its modifiers stand for arrivals and bytes was seen in ptxas' output.
//!
//! | modifier | |
//! | --- | --- |
//! | `A1`, `A0`, `AR` | one arrival, none, as many as the register says |
//! | `T1`, `T0`, `TR`, `TX` | transactions that are expected: one, none, as many as the register says; that are done |
//! | `RED` | without a state as the result |
//! | `OPTOUT` | whoever arrives takes no part in later phases |

use super::{Done, Refusal, Select};
use crate::code::{Class, Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Address, Space};
use ptx::isa::{Order, Scope};
use ptx::types::ScalarType;

/// Arrivals that an object counts down from.
const MOST_ARRIVALS: u32 = 0x10_0000;
/// Where pending arrivals stand in the upper half of a state.
const PENDING_AT: u32 = 11;

/// `[R0+URZ]`.
pub(super) fn beside(reg: Reg) -> Operand {
    Operand::Address { before: "", reg, width: 1, beside: "+URZ", offset: 0 }
}

impl Select<'_> {
    pub(super) fn mbarriers(&mut self, op: &Op) -> Option<Done> {
        if !self.target().has("SYNCS")
            && let Some(done) = self.early_mbarriers(op)
        {
            return Some(done);
        }
        Some(match op {
            Op::MbarrierInit(op) => self.initialise_mbarrier(op),
            Op::MbarrierInval(op) => self.in_shared(&op.addr).map(|at| {
                self.effect("SYNCS.CCTL.IV", vec![], vec![beside(at)]);
            }),
            Op::MbarrierArrive(op) if op.no_complete => self.behind_guard(|this| this.arrive_alone(op)),
            Op::MbarrierArrive(op) => self.arrive(op),
            Op::MbarrierExpectTx(op) => self.in_shared(&op.addr).and_then(|at| {
                let count = self.word(&op.count)?;
                self.syncs("RED.A0TR", None, at, count);
                Ok(())
            }),
            Op::MbarrierCompleteTx(op) => self.in_shared(&op.addr).and_then(|at| {
                let count = self.word(&op.count)?;
                self.syncs("RED.A0TX", None, at, count);
                Ok(())
            }),
            Op::MbarrierPendingCount(op) => {
                let state = match self.double(&op.state) {
                    Ok(state) => state,
                    Err(why) => return Some(Err(why)),
                };
                let read = vec![Operand::zero(), Operand::number(PENDING_AT), Operand::part(state, 1)];
                let moved = self.one("SHF.R.U32.HI", read);
                let left = self.lop(Operand::low(moved), Operand::number(MOST_ARRIVALS - 1), 0xc0);
                let all = self.constant(MOST_ARRIVALS);
                let count = self.add(all, Operand::low(left).signed("-"));
                self.set(op.d, count);
                Ok(())
            }
            Op::MbarrierWait(op) => self.behind_guard(|this| this.wait_for_phase(op)),
            Op::CpAsyncMbarrierArrive(op) => self.behind_guard(|this| this.arrive_behind_copies(op)),
            Op::StAsync(op) => self.store_asynchronously(op),
            // Of a store that nothing completes, ptxas makes no instruction.
            Op::StAsyncDropped(_) => Ok(()),
            Op::RedAsync(op) => self.reduce_asynchronously(op),
            Op::RedAsyncRelease(_) => Err("of global memory, which sm_90 does not have".to_owned()),
            _ => return None,
        })
    }

    /// The address in shared memory, with its offset, in one register. Of a generic address that is the lower half.
    pub(super) fn in_shared(&mut self, address: &Address) -> Result<Reg, Refusal> {
        let place = self.place(address)?;
        self.address_of(&place)
    }

    fn syncs(&mut self, kind: &str, to: Option<Reg>, at: Reg, value: Operand) {
        let to = to.map_or(Operand::zero(), |to| Operand::wide(to, 2));
        let name = match kind {
            "" => "SYNCS.ARRIVE.TRANS64".to_owned(),
            _ => format!("SYNCS.ARRIVE.TRANS64.{kind}"),
        };
        self.effect(name, vec![to], vec![beside(at), value]);
    }

    /// A new object: the counts of this phase and of the next, as what is left to the most.
    fn initialise_mbarrier(&mut self, op: &i::MbarrierInit) -> Done {
        let at = self.in_shared(&op.addr)?;
        let count = self.word(&op.count)?;
        // What all lanes write to one object is written once.
        let is_alike = self.is_alike_address(&op.addr) && self.is_alike(&op.count);
        self.behind_guard(|this| {
            let all = this.constant(MOST_ARRIVALS);
            let left = Operand::low(this.add(all, count.signed("-")));
            let shifted = |this: &mut Self, by| {
                Operand::low(this.one("SHF.L.U32", vec![left.clone(), Operand::number(by), Operand::zero()]))
            };
            let (low, high) = (shifted(this, 1), shifted(this, PENDING_AT));
            let act = |this: &mut Self| {
                let text = |text: &str| Operand::Text(text.into());
                this.code.push(None, "FENCE.VIEW.ASYNC.S", vec![], vec![]);
                this.code.push(None, "SYNCS.EXCH.64", vec![text("URZ")], vec![text("[UR10]"), text("UR8")]);
            };
            let values = [(8, low), (9, high), (10, Operand::low(at))];
            if is_alike {
                this.in_uniform(&values);
                act(this);
            } else {
                this.for_each_lane(&values, act);
            }
            Ok(())
        })
    }

    /// What is to be visible to whom the arrival tells.
    fn before_arrival(&mut self, order: Order, scope: Scope) {
        if order != Order::Relaxed && scope != Scope::Cta {
            self.membar("ALL", scope);
        }
    }

    fn arrive(&mut self, op: &i::MbarrierArrive) -> Done {
        let at = self.in_shared(&op.addr)?;
        let count = op.count.as_ref().map(|count| self.word(count)).transpose()?;
        self.before_arrival(op.order, op.scope);
        let leaves = op.action == i::MbarrierArriveAction::ArriveDrop;
        // An object of another CTA has no state to give back.
        let remote = op.addr.space == Space::SharedCluster && op.d.0.is_none();
        let parts = match (op.expect_tx, count.is_some()) {
            (true, _) => None,
            (false, true) => Some("ART0"),
            (false, false) => Some("A1T0"),
        };
        let kind = [remote.then_some("RED"), leaves.then_some("OPTOUT"), parts];
        let kind = kind.into_iter().flatten().collect::<Vec<_>>().join(".");
        let to = (!remote).then(|| self.temporary(2));
        self.syncs(&kind, to, at, count.unwrap_or(Operand::zero()));
        if let Some(to) = to {
            self.set(op.d, to);
        }
        Ok(())
    }

    /// The address of what is stored to, and that of the object that is told, in one pair.
    fn told_pair(&mut self, to: &Address, mbarrier: &Address) -> Result<Operand, Refusal> {
        let (to, mbarrier) = (self.in_shared(to)?, self.in_shared(mbarrier)?);
        let reg = self.join(Operand::low(to), Operand::low(mbarrier));
        Ok(Operand::Address { before: "", reg, width: 2, beside: ".64", offset: 0 })
    }

    fn store_asynchronously(&mut self, op: &i::StAsync) -> Done {
        let at = self.told_pair(&op.a, &op.mbar)?;
        let mut words = Vec::new();
        for value in &op.b {
            match op.ty.bits() {
                64 => {
                    let both = self.double(value)?;
                    words.extend([Operand::part(both, 0), Operand::part(both, 1)]);
                }
                _ => words.push(self.word(value)?),
            }
        }
        let (width, size) = match words.len() {
            1 => (1, ""),
            2 => (2, ".64"),
            4 => (4, ".128"),
            _ => return Err("of this size".to_owned()),
        };
        let row = self.temporary(width);
        for (part, word) in (0..).zip(words) {
            self.code.push(None, "MOV", vec![Operand::part(row, part)], vec![word]);
        }
        self.effect(format!("STAS{size}"), vec![], vec![at, Operand::wide(row, width)]);
        Ok(())
    }

    fn reduce_asynchronously(&mut self, op: &i::RedAsync) -> Done {
        let at = self.told_pair(&op.a, &op.mbar)?;
        let (value, width) = self.datum(&op.b, op.ty)?;
        let kind = match (width, op.ty) {
            (2, _) => ".64",
            (_, ScalarType::S32) => ".S32",
            _ => "",
        };
        let what = op.op.modifier().text().to_uppercase();
        self.effect(format!("REDAS{what}{kind}"), vec![], vec![at, Operand::wide(value, width)]);
        Ok(())
    }

    /// The arrival of each thread's copies. The unit takes the address from a uniform register alone.
    fn arrive_behind_copies(&mut self, op: &i::CpAsyncMbarrierArrive) -> Done {
        let at = self.in_shared(&op.addr)?;
        let kind = if op.noinc { "ARVCNT" } else { "TRANSCNT" };
        self.one_by_one(|this, mine| {
            let guard = Some((mine, false));
            let text = |text: &str| Operand::Text(text.into());
            this.code.push(guard, "R2UR", vec![text("UR8")], vec![Operand::low(at)]);
            if !op.noinc {
                let read = vec![text("[UR8]"), Operand::zero()];
                this.code.push(guard, "SYNCS.ARRIVE.TRANS64.RED.A0T1", vec![Operand::zero()], read);
            }
            this.code.push(guard, format!("ARRIVES.LDGSTSBAR.64.{kind}"), vec![], vec![text("[UR8]")]);
        });
        Ok(())
    }

    /// An arrival that ends no phase, lane by lane: those together would be given one state.
    fn arrive_alone(&mut self, op: &i::MbarrierArrive) -> Done {
        let at = self.in_shared(&op.addr)?;
        let count = op.count.as_ref().map_or(Ok(Operand::number(1)), |count| self.word(count))?;
        let count = self.one("MOV", vec![count]);
        let leaves = if op.action == i::MbarrierArriveAction::ArriveDrop { ".OPTOUT" } else { "" };
        let state = self.code.register(Class::General(2), false);
        self.one_by_one(|this, mine| {
            let name = format!("SYNCS.ARRIVE.TRANS64.TMASK{leaves}.ART0");
            let written = vec![Operand::wide(state, 2)];
            this.code.push(Some((mine, false)), name, written, vec![beside(at), Operand::low(count)]);
        });
        let result = self.join(Operand::part(state, 0), Operand::part(state, 1));
        self.set(op.d, result);
        Ok(())
    }

    /// The phase that is waited for: the highest bit of a state.
    pub(super) fn awaited_phase(&mut self, op: &i::MbarrierWait) -> Result<Operand, Refusal> {
        Ok(match (&op.state, &op.parity) {
            (Some(state), _) => Operand::part(self.double(state)?, 1),
            (None, Some(parity)) => {
                let parity = self.word(parity)?;
                Operand::low(self.one("SHF.L.U32", vec![parity, Operand::number(31), Operand::zero()]))
            }
            (None, None) => return Err("without a phase".to_owned()),
        })
    }

    fn wait_for_phase(&mut self, op: &i::MbarrierWait) -> Done {
        let at = self.in_shared(&op.addr)?;
        let phase = self.awaited_phase(op)?;
        let done = self.flag();
        let tries = if op.action == i::MbarrierWaitAction::TryWait { ".TRYWAIT" } else { "" };
        let check = |this: &mut Self, guard, tries: &str| {
            let written = vec![Operand::Predicate(done, false)];
            let name = format!("SYNCS.PHASECHK.TRANS64{tries}");
            this.code.push(guard, name, written, vec![beside(at), phase.clone()]);
        };
        check(self, None, tries);
        if let Some(hint) = &op.hint {
            let time = self.word(hint)?;
            self.code.push(Some((done, true)), "NANOSLEEP.SYNCS", vec![], vec![time]);
            // Where the first look said so, it stays.
            let again = self.copy_predicate(done);
            check(self, Some((again, true)), "");
        }
        if op.order != Order::Relaxed && op.scope != Scope::Cta {
            self.code.push(Some((done, false)), "CCTL.IVALL", vec![], vec![]);
        }
        self.set_flag(op.p, done);
        Ok(())
    }
}
