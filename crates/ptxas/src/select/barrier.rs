//! Barriers of the CTA and of the cluster (PTX ISA, "bar", "barrier", "barrier.cluster").
//!
//! An aligned barrier brings all lanes of the warp together in front of it; at one without `.aligned` lanes [meet](super::meet)
//! that stand at any of its kind.

use super::meet::Members;
use super::{Done, Refusal, Select};
use crate::code::{Class, Operand};
use ir::Op;
use ir::instruction as i;
use ir::operand::Value;
use ptx::isa::Order;
use ptx::isa::Scope;

const WORD: Class = Class::General(1);

impl Select<'_> {
    pub(super) fn barriers(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::BarSync(op) => {
                let apart = self.apart && !op.aligned;
                self.behind_guard(|this| {
                    this.barrier("BAR.SYNC.DEFER_BLOCKING", &op.a, op.b.as_ref(), None, apart)?;
                    Ok(())
                })
            }
            Op::BarArrive(op) => {
                let apart = self.apart && !op.aligned;
                self.behind_guard(|this| {
                    this.barrier("BAR.ARV", &op.a, Some(&op.b), None, apart)?;
                    Ok(())
                })
            }
            Op::BarRed(op) => {
                let apart = self.apart && !op.aligned;
                self.behind_guard(|this| this.reduce_at_barrier(op, apart))
            }
            Op::BarClusterArrive(op) => {
                let aligned = op.aligned;
                self.behind_guard(|this| this.arrive_at_cluster(op.order, aligned))
            }
            Op::BarClusterWait(op) => {
                let aligned = op.aligned;
                self.behind_guard(|this| this.wait_for_cluster(op.order, aligned))
            }
            _ => return None,
        })
    }

    /// The number of a barrier and how many threads it is for, in one register: bits 0 to 3, and from 16 on.
    fn in_register(&mut self, number: Operand, count: Option<Operand>) -> Operand {
        let above = match count {
            None => Operand::zero(),
            Some(count) => {
                Operand::low(self.one("SHF.L.U32", vec![count, Operand::number(16), Operand::zero()]))
            }
        };
        let read = vec![above, Operand::number(0xf), number, Operand::number(0xf8), Operand::always(true)];
        Operand::low(self.one("LOP3.LUT", read))
    }

    /// A barrier, and what a reduction at it gave: a count and a truth.
    fn barrier(
        &mut self,
        kind: &str,
        number: &Value,
        count: Option<&Value>,
        predicate: Option<Operand>,
        apart: bool,
    ) -> Result<Option<(crate::code::Reg, crate::code::Reg)>, Refusal> {
        let reduces = predicate.is_some();
        let counted = count.is_some();
        let result = |this: &mut Self, to, flag| {
            let written = vec![Operand::low(to), Operand::Predicate(flag, false)];
            this.code.push(None, "B2R.RESULT", written, vec![]);
        };
        if apart {
            let (number, count) = (self.word(number)?, count.map(|count| self.word(count)).transpose()?);
            let both = self.in_register(number, count);
            let flag = predicate.map(|it| (Class::Predicate, it));
            let given = std::iter::once((WORD, both)).chain(flag).collect();
            let classes: &[Class] = if reduces { &[WORD, Class::Predicate] } else { &[] };
            let key = format!("{kind} {counted}");
            let found = self.meet(&key, Members::All, given, classes, |this, given, results| {
                let flag = given.get(1).map(|&flag| Operand::Predicate(flag, false));
                let both = Operand::low(given[0]);
                let count = counted.then(|| both.clone());
                let read = std::iter::once(both).chain(count).chain(flag).collect();
                this.code.push(None, kind, vec![], read);
                if let &[to, flag] = results {
                    result(this, to, flag);
                }
            });
            return Ok(found.first().copied().zip(found.get(1).copied()));
        }
        self.code.push(None, "WARPSYNC.ALL", vec![], vec![]);
        let constants = (Self::constant_of(number), count.map(Self::constant_of));
        let (name, operands) = match constants {
            (Some(number), None) => {
                // What ptxas sets beside: no register, and whether no number is given.
                (format!("{kind} &residue=0xff00000200"), vec![Operand::number(number as u32)])
            }
            (Some(number), Some(Some(count))) => {
                let both = vec![Operand::number(number as u32), Operand::number(count as u32)];
                (format!("{kind} &residue=0xff00000000"), both)
            }
            _ => {
                let (number, count) = (self.word(number)?, count.map(|count| self.word(count)).transpose()?);
                let both = self.in_register(number, count);
                let count = counted.then(|| both.clone());
                (kind.to_owned(), std::iter::once(both).chain(count).collect())
            }
        };
        self.code.push(None, name, vec![], operands.into_iter().chain(predicate).collect());
        if !reduces {
            return Ok(None);
        }
        let (to, flag) = (self.temporary(1), self.flag());
        result(self, to, flag);
        Ok(Some((to, flag)))
    }

    fn reduce_at_barrier(&mut self, op: &i::BarRed, apart: bool) -> Done {
        let kind = match op.op {
            None => "POPC",
            Some(i::BarRedOp::And) => "AND",
            Some(i::BarRedOp::Or) => "OR",
        };
        let predicate = self.predicate_operand(Some(&op.c))?;
        let name = format!("BAR.RED.{kind}.DEFER_BLOCKING");
        let found = self.barrier(&name, &op.a, op.b.as_ref(), Some(predicate), apart)?;
        if let Some((count, truth)) = found {
            if let Some(d) = op.d {
                self.set(d, count);
            }
            if let Some(p) = op.p {
                self.set_flag(p, truth);
            }
        }
        Ok(())
    }

    /// Where the kernel runs in clusters, `act`; else `alone`.
    fn in_clusters(&mut self, act: impl FnOnce(&mut Self), alone: impl FnOnce(&mut Self)) -> Done {
        let kind = self.clusters_of_device()?.kind;
        let (not, end) = (self.code.label(), self.code.label());
        let word = self.one("LDC", vec![Operand::bank0(kind)]);
        let inside = self.compare("ISETP.EQ.U32.AND", Operand::low(word), Operand::number(1));
        self.branch(Some((inside, true)), not);
        act(self);
        self.branch(None, end);
        self.code.place(not);
        alone(self);
        self.code.place(end);
        Ok(())
    }

    /// All lanes of the warp together.
    fn whole_warp(&mut self, kind: &str, aligned: bool, act: impl FnOnce(&mut Self)) {
        if aligned {
            self.code.push(None, "WARPSYNC.ALL", vec![], vec![]);
            return act(self);
        }
        self.meet(kind, Members::All, vec![], &[], |this, _, _| act(this));
    }

    fn arrive_at_cluster(&mut self, order: Order, aligned: bool) -> Done {
        self.in_clusters(
            |this| {
                this.whole_warp("UCGABAR_ARV", aligned, |this| {
                    if order != Order::Relaxed {
                        this.membar("ALL", Scope::Gpu);
                    }
                    this.code.push(None, "UCGABAR_ARV", vec![], vec![]);
                });
            },
            |_| {},
        )
    }

    fn wait_for_cluster(&mut self, order: Order, aligned: bool) -> Done {
        let _ = order;
        self.in_clusters(
            |this| {
                this.whole_warp("UCGABAR_WAIT", aligned, |this| {
                    this.code.push(None, "UCGABAR_WAIT", vec![], vec![]);
                    this.code.push(None, "CCTL.IVALL", vec![], vec![]);
                });
            },
            |this| {
                this.whole_warp("BAR.SYNC 0", aligned, |this| {
                    let name = "BAR.SYNC.DEFER_BLOCKING &residue=0xff00000200";
                    this.code.push(None, name, vec![], vec![Operand::number(0)]);
                });
            },
        )
    }
}
