//! What lanes of a warp do together (PTX ISA, "Parallel Synchronization and Communication Instructions"): those of a mask
//! [meet](super::meet) for it.

use super::meet::Members;
use super::{Done, Select};
use crate::code::{Class, Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Def, Value};
use ptx::types::{ScalarType, TypeKind};

/// A uniform register that nothing else holds.
const UNIFORM: &str = "UR6";

const WORD: Class = Class::General(1);

impl Select<'_> {
    pub(super) fn warps(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::BarWarpSync(op) => self.behind_guard(|this| {
                let mask = this.word(&op.membermask)?;
                // With nothing in between the lanes never come out, on an H100.
                this.meet("bar.warp.sync", Members::Of(mask), vec![], &[], |this, _, _| {
                    this.code.push(None, "NOP", vec![], vec![]);
                });
                Ok(())
            }),
            Op::Shfl(op) => self.behind_guard(|this| this.shuffle(op)),
            Op::Vote(op) => self.behind_guard(|this| this.vote(op)),
            Op::MatchSync(op) => self.behind_guard(|this| this.matching(op)),
            Op::Redux(op) => self.behind_guard(|this| this.redux(op)),
            Op::ReduxFloat(op) => self.behind_guard(|this| this.redux_float(op)),
            Op::Elect(op) => self.behind_guard(|this| this.elect(op)),
            Op::Activemask(op) => {
                let to = self.temporary(1);
                let written = vec![Operand::low(to), Operand::always(false)];
                self.effect("VOTE.ANY", written, vec![Operand::always(false)]);
                self.set(op.d, to);
                Ok(())
            }
            _ => return None,
        })
    }

    fn shuffle(&mut self, op: &i::Shfl) -> Done {
        let mode = match op.mode {
            i::ShflMode::Up => "UP",
            i::ShflMode::Down => "DOWN",
            i::ShflMode::Bfly => "BFLY",
            i::ShflMode::Idx => "IDX",
        };
        let (a, b, c) = (self.word(&op.a)?, self.word(&op.b)?, self.word(&op.c)?);
        let name = format!("SHFL.{mode}");
        let results = match &op.membermask {
            Some(mask) => {
                let mask = self.word(mask)?;
                let given = vec![(WORD, a), (WORD, b), (WORD, c)];
                let results = [WORD, Class::Predicate];
                self.meet(&name, Members::Of(mask), given, &results, |this, given, results| {
                    let written = vec![Operand::Predicate(results[1], false), Operand::low(results[0])];
                    let read = given.iter().map(|&reg| Operand::low(reg)).collect();
                    this.code.push(None, name.as_str(), written, read);
                })
            }
            None => {
                let (to, inside) = (self.temporary(1), self.flag());
                let written = vec![Operand::Predicate(inside, false), Operand::low(to)];
                self.code.push(None, name.as_str(), written, vec![a, b, c]);
                vec![to, inside]
            }
        };
        self.set(op.d, results[0]);
        if let Some(p) = op.p {
            self.set_flag(p, results[1]);
        }
        Ok(())
    }

    /// What another lane has, where the whole warp is together.
    pub(super) fn shuffled(&mut self, mode: &str, value: &Operand, by: Operand, bounds: u32) -> Operand {
        let to = self.temporary(1);
        let read = vec![value.clone(), by, Operand::number(bounds)];
        self.code.push(None, format!("SHFL.{mode}"), vec![Operand::always(false), Operand::low(to)], read);
        Operand::low(to)
    }

    /// The same of the lane whose number has these bits in common with this one's, and the others of `others`.
    pub(super) fn of_lane(&mut self, value: &Operand, common: u32, others: Operand) -> Operand {
        self.shuffled("IDX", value, others, common << 8 | 31)
    }

    /// Whether a bit of the lane's number is set.
    pub(super) fn lane_has(&mut self, bit: u32) -> Reg {
        let lane = self.one("S2R", vec![Operand::Text("SR_LANEID".into())]);
        let found = self.lop(Operand::low(lane), Operand::number(bit), 0xc0);
        self.compare("ISETP.NE.U32.AND", Operand::low(found), Operand::zero())
    }

    fn elect(&mut self, op: &i::Elect) -> Done {
        let mask = self.word(&op.membermask)?;
        let results = [WORD, Class::Predicate];
        let found = self.meet("ELECT", Members::Of(mask), vec![], &results, |this, _, results| {
            let written = vec![Operand::Predicate(results[1], false), Operand::Text(UNIFORM.into())];
            this.code.push(None, "ELECT", written, vec![Operand::always(false)]);
            this.take_uniform(results[0]);
        });
        self.set(op.d, found[0]);
        self.set_flag(op.p, found[1]);
        Ok(())
    }

    fn take_uniform(&mut self, to: Reg) {
        self.code.push(None, "MOV", vec![Operand::low(to)], vec![Operand::Text(UNIFORM.into())]);
    }

    fn vote(&mut self, op: &i::Vote) -> Done {
        let (flag, not) = self.predicate(&op.a)?;
        let name = match op.mode {
            i::VoteMode::Ballot | i::VoteMode::Any => "VOTE.ANY",
            i::VoteMode::All => "VOTE.ALL",
            i::VoteMode::Uni => "VOTE.EQ",
        };
        let act = |this: &mut Self, given: Operand, results: &[Reg]| {
            let written = vec![Operand::low(results[0]), Operand::Predicate(results[1], false)];
            this.code.push(None, name, written, vec![given]);
        };
        let given = Operand::Predicate(flag, not);
        let results = match &op.membermask {
            Some(mask) => {
                let mask = self.word(mask)?;
                let classes = [WORD, Class::Predicate];
                let given = vec![(Class::Predicate, given)];
                self.meet(name, Members::Of(mask), given, &classes, |this, given, results| {
                    act(this, Operand::Predicate(given[0], false), results);
                })
            }
            None => {
                let results = vec![self.temporary(1), self.flag()];
                act(self, given, &results);
                results
            }
        };
        match op.mode {
            i::VoteMode::Ballot => self.set(op.d, results[0]),
            i::VoteMode::Any | i::VoteMode::All | i::VoteMode::Uni => self.set_flag(op.d, results[1]),
        }
        Ok(())
    }

    fn matching(&mut self, op: &i::MatchSync) -> Done {
        let wide = op.ty.bits() == 64;
        let (class, a) = match wide {
            true => (Class::General(2), Operand::wide(self.double(&op.a)?, 2)),
            false => (WORD, self.word(&op.a)?),
        };
        let mask = self.word(&op.membermask)?;
        let all = op.mode == i::MatchSyncMode::All;
        let name = format!("MATCH.{}{}", if all { "ALL" } else { "ANY" }, if wide { ".U64" } else { "" });
        let classes: &[Class] = if all { &[WORD, Class::Predicate] } else { &[WORD] };
        let results =
            self.meet(&name, Members::Of(mask), vec![(class, a)], classes, |this, given, results| {
                let equal = results.get(1).map(|&flag| Operand::Predicate(flag, false));
                let written = equal.into_iter().chain([Operand::low(results[0])]).collect();
                let read = vec![Operand::wide(given[0], if wide { 2 } else { 1 })];
                this.code.push(None, name.as_str(), written, read);
            });
        self.set(op.d, results[0]);
        if let (Some(p), Some(&flag)) = (op.p, results.get(1)) {
            self.set_flag(p, flag);
        }
        Ok(())
    }

    fn redux(&mut self, op: &i::Redux) -> Done {
        use i::MultimemLoadOp::{Add, And, Max, Min, Or, Xor};
        let kind = match op.op {
            Add => ".SUM",
            Min => ".MIN",
            Max => ".MAX",
            And => "",
            Or => ".OR",
            Xor => ".XOR",
        };
        let signed = op.ty.kind() == TypeKind::Signed || op.op == Add && op.ty == ScalarType::S32;
        let name = format!("REDUX{kind}{}", if signed { ".S32" } else { "" });
        self.reduced(name, op.d, &op.a, &op.membermask)
    }

    fn redux_float(&mut self, op: &i::ReduxFloat) -> Done {
        if !self.target().has("CREDUX") {
            return Err(format!("of floats, for which {} has no unit", self.target()));
        }
        let kind = match op.op {
            i::ReduxFloatOp::Min => "MIN",
            i::ReduxFloatOp::Max => "MAX",
        };
        let (abs, nan) = (if op.abs { "ABS" } else { "" }, if op.nan { ".NAN" } else { "" });
        self.reduced(format!("CREDUX.{kind}{abs}.F32{nan}"), op.d, &op.a, &op.membermask)
    }

    /// What one instruction makes of the values of all lanes.
    fn reduced(&mut self, name: String, d: Def, a: &Value, mask: &Value) -> Done {
        let (a, mask) = (self.word(a)?, self.word(mask)?);
        let results =
            self.meet(&name, Members::Of(mask), vec![(WORD, a)], &[WORD], |this, given, results| {
                let written = vec![Operand::Text(UNIFORM.into())];
                this.code.push(None, name.as_str(), written, vec![Operand::low(given[0])]);
                this.take_uniform(results[0]);
            });
        self.set(d, results[0]);
        Ok(())
    }

    /// A value that is the same in all lanes, for `setmaxnreg` and the like.
    pub(super) fn constant_of(value: &Value) -> Option<u64> {
        match *value {
            Value::Constant(bits) => Some(bits),
            Value::Register(_) | Value::Special { .. } | Value::Symbol { .. } | Value::Unused => None,
        }
    }
}
