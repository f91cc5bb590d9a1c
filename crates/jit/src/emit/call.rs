//! What the host executes: calls, lane functions, operations of a whole warp.

use super::Emitter;
use super::context;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use crate::lanes::lane_function;
use crate::sites::{Action, Site};
use crate::warp::Across;
use ir::instruction::Op;
use ir::operand::{Def, Value};

impl Emitter<'_> {
    /// A value as a list of lanes of 64 bits.
    pub(crate) fn list_of(&mut self, lanes: &Lanes) -> String {
        let vector = self.vector(lanes);
        if lanes.bits == 64 {
            return vector;
        }
        let (from, to) = (self.text.int(lanes.bits, Kind::Vector), self.text.int(64, Kind::Vector));
        self.text.value(&format!("zext {from} {vector} to {to}"))
    }

    /// Calls the host for the active lanes: with lists of operands, for lists of results.
    pub(crate) fn host(
        &mut self,
        action: Action,
        operands: &[String],
        results: usize,
        active: &str,
    ) -> Vec<String> {
        let site = self.sites.len();
        self.sites.push(Site { instruction: self.index, action });
        let (width, list) = (self.rows.width as usize, self.text.int(64, Kind::Vector));
        self.lists = self.lists.max(operands.len() + results);
        for (at, operand) in operands.iter().enumerate() {
            let place = self.text.value(&format!("getelementptr i64, ptr %args, i64 {}", at * width));
            self.text.line(&format!("store {list} {operand}, ptr {place}, align 64"));
        }
        let mask = self.text.mask_bits(active);
        let call = self.constant_field(context::CALL, "ptr");
        let answer = self
            .text
            .value(&format!("call i32 {call}(ptr %ctx, i32 {site}, i32 %row, i32 {mask}, ptr %args)"));
        let goes_on = self.text.value(&format!("icmp eq i32 {answer}, 0"));
        let on = self.text.new_label();
        self.text.likely(&goes_on, &on, "stop");
        self.text.begin(&on);
        (operands.len()..operands.len() + results)
            .map(|at| {
                let place = self.text.value(&format!("getelementptr i64, ptr %args, i64 {}", at * width));
                self.text.value(&format!("load {list}, ptr {place}, align 64"))
            })
            .collect()
    }

    /// An instruction that the host computes lane by lane.
    pub(crate) fn lane_function(&mut self, op: &Op) -> Result<(), Refusal> {
        let function = lane_function(op).ok_or_else(|| self.unsupported())?;
        let sources: Vec<Lanes> = function
            .operands
            .iter()
            .map(|(value, bits)| self.read_bits(value, *bits))
            .collect::<Result<_, _>>()?;
        let uniform = sources.iter().all(Lanes::is_uniform);
        let lists: Vec<String> = sources.iter().map(|source| self.list_of(source)).collect();
        let action = Action::Lanes { operands: lists.len(), function: function.function };
        let (d, bits, signed) = (function.d, function.bits, function.signed);
        let active = match uniform {
            // Lane 0 computes for all.
            true => self.text.list(1, |l| i64::from(l == 0)),
            false => self.active().0,
        };
        let result = self.host(action, &lists, 1, &active).remove(0);
        let list = self.text.int(64, Kind::Vector);
        let result = match uniform {
            true => Lanes::uniform(64, self.text.value(&format!("extractelement {list} {result}, i32 0"))),
            false => Lanes::varying(64, result),
        };
        let result = self.resized(result, bits, false);
        self.write(d, result, signed)
    }

    /// A value, or a predicate, which has one bit.
    fn read_bits(&mut self, value: &Value, bits: u32) -> Result<Lanes, Refusal> {
        if bits != 1 {
            return self.read(value, bits);
        }
        self.predicate(&ir::operand::Predicate { value: *value, negated: false })
    }

    /// `trap`.
    pub(crate) fn trap(&mut self) -> Result<(), Refusal> {
        let (active, _) = self.active();
        let any = self.text.any(&active);
        let (trap, on) = (self.text.new_label(), self.text.new_label());
        self.text.branch(&any, &trap, &on);
        self.text.begin(&trap);
        self.host(Action::Trap, &[], 0, &active);
        self.text.jump(&on);
        self.text.begin(&on);
        Ok(())
    }

    /// An operation of a whole warp. All its lanes that are alive must be here.
    pub(crate) fn across(&mut self, op: &Op) -> Result<(), Refusal> {
        if self.divergence.divergent[self.block] || self.guard.is_some() || self.rows.width != 32 {
            return Err(Refusal::Across);
        }
        let zero = Value::Constant(0);
        let (across, a, b, c, members): (_, Lanes, _, _, Option<&Value>) = match op {
            Op::BarWarpSync(i) => (Across::Sync, Lanes::uniform(32, "0"), &zero, &zero, Some(&i.membermask)),
            Op::Shfl(i) => {
                let a = self.read(&i.a, 32)?;
                (Across::Shuffle(i.mode), a, &i.b, &i.c, i.membermask.as_ref())
            }
            Op::Vote(i) => {
                let a = self.predicate(&i.a)?;
                (Across::Vote(i.mode), a, &zero, &zero, i.membermask.as_ref())
            }
            _ => (Across::Active, Lanes::uniform(32, "0"), &zero, &zero, None),
        };
        if members.is_some_and(|members| !self.names_all(members)) {
            return Err(Refusal::Across);
        }
        let (b, c) = (self.read(b, 32)?, self.read(c, 32)?);
        let lists: Vec<String> = [&a, &b, &c].into_iter().map(|lanes| self.list_of(lanes)).collect();
        let active = self.mask.clone();
        let lists = self.host(Action::Across(across), &lists, 2, &active);
        let mut results: Vec<Lanes> = Vec::new();
        for (list, bits) in lists.into_iter().zip([32, 1]) {
            let result = Lanes::varying(64, list);
            results.push(self.resized(result, bits, false));
        }
        let (value, holds) = (results[0].clone(), results[1].clone());
        match op {
            Op::Shfl(i) => {
                self.write(i.d, value, false)?;
                self.write(i.p.unwrap_or(Def(None)), holds, false)
            }
            Op::Vote(i) if i.ty.bits() == 1 => self.write_from_first(i.d, &holds, &active),
            Op::Vote(i) => self.write_from_first(i.d, &value, &active),
            Op::Activemask(i) => self.write(i.d, value, false),
            _ => Ok(()),
        }
    }

    /// Whether a member mask is known to name all lanes: a constant, or a register that is never anything else.
    fn names_all(&self, members: &Value) -> bool {
        let is_all = |value: &Value| matches!(value, Value::Constant(bits) if *bits as u32 == !0);
        let Value::Register(register) = members else { return is_all(members) };
        self.function.instructions.iter().flatten().all(|instruction| {
            let mut writes = false;
            instruction.registers(&mut |written, access| {
                writes |= written == *register && access != ir::Access::Read;
            });
            !writes || matches!(&instruction.op, Op::Mov(mov) if is_all(&mov.a))
        })
    }

    /// Writes what is the same in all active lanes.
    fn write_from_first(&mut self, d: Def, lanes: &Lanes, active: &str) -> Result<(), Refusal> {
        let first = self.first_lane(active);
        let (vector, ty) = (self.vector(lanes), self.text.int(lanes.bits, Kind::Vector));
        let value = self.text.value(&format!("extractelement {ty} {vector}, i32 {first}"));
        self.write(d, Lanes::uniform(lanes.bits, value), false)
    }
}
