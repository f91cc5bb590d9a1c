//! Barriers, and what lanes of a warp do together (PTX ISA, "Parallel Synchronization and Communication Instructions").
//!
//! Lanes may be apart when they come here. WARPSYNC brings those of a mask together, and an aligned barrier all of the warp.

use super::{Done, Refusal, Select};
use crate::code::Operand;
use ir::Op;
use ir::instruction as i;
use ir::operand::Value;
use ptx::types::{ScalarType, TypeKind};

/// A uniform register that nothing else holds.
const UNIFORM: &str = "UR6";

/// Why a barrier is refused: WARPSYNC.ALL in front of it would wait for lanes that never come.
const APART: &str = "which lanes of a warp may reach apart";

impl Select<'_> {
    pub(super) fn warps(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::BarSync(op) if self.apart && !op.aligned => Err(APART.to_owned()),
            Op::BarArrive(op) if self.apart && !op.aligned => Err(APART.to_owned()),
            Op::BarRed(op) if self.apart && !op.aligned => Err(APART.to_owned()),
            Op::BarSync(op) => self.barrier("SYNC.DEFER_BLOCKING", &op.a, op.b.as_ref(), None),
            Op::BarArrive(op) => self.barrier("ARV", &op.a, Some(&op.b), None),
            Op::BarRed(op) => self.reduce_at_barrier(op),
            Op::BarWarpSync(op) => self.together(Some(&op.membermask)),
            Op::Shfl(op) => self.shuffle(op),
            Op::Vote(op) => self.vote(op),
            Op::MatchSync(op) => self.matching(op),
            Op::Redux(op) => self.redux(op),
            Op::Elect(op) => self.elect(op),
            Op::Activemask(op) => {
                let result = self.ballot(Operand::always(false));
                self.set(op.d, result);
                Ok(())
            }
            _ => return None,
        })
    }

    /// Brings the lanes of a mask together.
    fn together(&mut self, mask: Option<&Value>) -> Done {
        match mask {
            Some(mask) => {
                let mask = self.word(mask)?;
                self.effect("WARPSYNC", vec![], vec![mask]);
            }
            None => self.effect("WARPSYNC.ALL", vec![], vec![]),
        }
        Ok(())
    }

    fn barrier(&mut self, kind: &str, a: &Value, b: Option<&Value>, predicate: Option<Operand>) -> Done {
        let number = match *a {
            Value::Constant(number) => number as u32,
            _ => return Err("whose barrier is in a register".to_owned()),
        };
        let count = match b {
            None => None,
            Some(Value::Constant(count)) => Some(Operand::number(*count as u32)),
            Some(_) => return Err("whose number of threads is in a register".to_owned()),
        };
        self.effect("WARPSYNC.ALL", vec![], vec![]);
        // What ptxas sets beside: no register, and whether no number is given.
        let residue = if count.is_some() { "&residue=0xff00000000" } else { "&residue=0xff00000200" };
        let read = std::iter::once(Operand::number(number)).chain(count).chain(predicate).collect();
        self.effect(format!("BAR.{kind} {residue}"), vec![], read);
        Ok(())
    }

    fn reduce_at_barrier(&mut self, op: &i::BarRed) -> Done {
        let kind = match op.op {
            None => "RED.POPC",
            Some(i::BarRedOp::And) => "RED.AND",
            Some(i::BarRedOp::Or) => "RED.OR",
        };
        if op.b.is_some() {
            return Err("with a number of threads".to_owned());
        }
        let predicate = self.predicate_operand(Some(&op.c))?;
        self.barrier(&format!("{kind}.DEFER_BLOCKING"), &op.a, None, Some(predicate))?;
        match (op.d, op.p) {
            (Some(d), _) => {
                let to = self.temporary(1);
                self.effect("B2R.RESULT", vec![Operand::low(to)], vec![]);
                self.set(d, to);
            }
            (None, Some(p)) => {
                let to = self.flag();
                self.effect("B2R.RESULT", vec![Operand::zero(), Operand::Predicate(to, false)], vec![]);
                self.set_flag(p, to);
            }
            (None, None) => {}
        }
        Ok(())
    }

    fn shuffle(&mut self, op: &i::Shfl) -> Done {
        let mode = match op.mode {
            i::ShflMode::Up => "UP",
            i::ShflMode::Down => "DOWN",
            i::ShflMode::Bfly => "BFLY",
            i::ShflMode::Idx => "IDX",
        };
        let (a, b, c) = (self.word(&op.a)?, self.word(&op.b)?, self.word(&op.c)?);
        self.together(op.membermask.as_ref())?;
        let to = self.temporary(1);
        let inside = op.p.filter(|p| p.0.is_some()).map(|_| self.flag());
        let predicate = inside.map_or(Operand::always(false), |flag| Operand::Predicate(flag, false));
        self.effect(format!("SHFL.{mode}"), vec![predicate, Operand::low(to)], vec![a, b, c]);
        self.set(op.d, to);
        if let (Some(p), Some(inside)) = (op.p, inside) {
            self.set_flag(p, inside);
        }
        Ok(())
    }

    fn elect(&mut self, op: &i::Elect) -> Done {
        self.together(Some(&op.membermask))?;
        let flag = self.flag();
        let written = vec![Operand::Predicate(flag, false), Operand::Text(UNIFORM.to_owned())];
        self.effect("ELECT", written, vec![Operand::always(false)]);
        let to = self.temporary(1);
        self.effect("MOV", vec![Operand::low(to)], vec![Operand::Text(UNIFORM.to_owned())]);
        self.set(op.d, to);
        self.set_flag(op.p, flag);
        Ok(())
    }

    fn ballot(&mut self, predicate: Operand) -> crate::code::Reg {
        let to = self.temporary(1);
        self.effect("VOTE.ANY", vec![Operand::low(to), Operand::always(false)], vec![predicate]);
        to
    }

    /// Lanes of another mask may run along, and do not count.
    fn vote(&mut self, op: &i::Vote) -> Done {
        let (flag, not) = self.predicate(&op.a)?;
        let mask = match &op.membermask {
            Some(mask) => self.word(mask)?,
            None => self.constant(u32::MAX),
        };
        self.together(op.membermask.as_ref())?;
        let mut who = |not| {
            let all = self.ballot(Operand::Predicate(flag, not));
            self.lop(Operand::low(all), mask.clone(), 0xc0)
        };
        let holds = who(not);
        if op.mode == i::VoteMode::Ballot {
            self.set(op.d, holds);
            return Ok(());
        }
        let fails = who(!not);
        let some = self.compare("ISETP.NE.U32.AND", Operand::low(holds), Operand::zero());
        let every = self.compare("ISETP.EQ.U32.AND", Operand::low(fails), Operand::zero());
        let to = self.flag();
        let table = match op.mode {
            i::VoteMode::Ballot | i::VoteMode::Any => 0xf0,
            i::VoteMode::All => 0xcc,
            // All, or none.
            i::VoteMode::Uni => 0xcf,
        };
        self.plop(None, to, Operand::Predicate(some, false), Operand::Predicate(every, false), table);
        self.set_flag(op.d, to);
        Ok(())
    }

    fn matching(&mut self, op: &i::MatchSync) -> Done {
        let wide = op.ty.bits() == 64;
        let a = if wide { Operand::wide(self.double(&op.a)?, 2) } else { self.word(&op.a)? };
        self.together(Some(&op.membermask))?;
        let (to, size) = (self.temporary(1), if wide { ".U64" } else { "" });
        match op.mode {
            i::MatchSyncMode::Any => self.effect(format!("MATCH.ANY{size}"), vec![Operand::low(to)], vec![a]),
            i::MatchSyncMode::All => {
                let flag = self.flag();
                self.effect(
                    format!("MATCH.ALL{size}"),
                    vec![Operand::Predicate(flag, false), Operand::low(to)],
                    vec![a],
                );
                if let Some(p) = op.p {
                    self.set(op.d, to);
                    self.set_flag(p, flag);
                    return Ok(());
                }
            }
        }
        self.set(op.d, to);
        Ok(())
    }

    fn redux(&mut self, op: &i::Redux) -> Result<(), Refusal> {
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
        let a = self.word(&op.a)?;
        self.together(Some(&op.membermask))?;
        let name = format!("REDUX{kind}{}", if signed { ".S32" } else { "" });
        self.effect(name, vec![Operand::Text(UNIFORM.to_owned())], vec![a]);
        let to = self.temporary(1);
        self.effect("MOV", vec![Operand::low(to)], vec![Operand::Text(UNIFORM.to_owned())]);
        self.set(op.d, to);
        Ok(())
    }
}
