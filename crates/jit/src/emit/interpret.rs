//! Instructions without vector code: the machine executes them for the row as its interpreter does.
//!
//! The registers that such an instruction reads are handed over as lists of lanes, those that it writes come back; what
//! else it depends on (local memory, the carry bit, textures, the clock) the machine has. So everything that is not control
//! flow compiles, and what is hot is worth code of its own.

use super::Emitter;
use super::values::Lanes;
use crate::Refusal;
use crate::class::UNIFORM;
use crate::sites::Action;
use ir::instruction::{FieldValue, Op};
use ir::operand::{Def, Value};
use ir::{Access, Function};
use ptx::isa::{Convergence, Flow, SpecialRegister};
use ptx::module::{FuncId, FunctionKind, RegId};
use std::collections::HashSet;

/// The clock that an instruction reads.
fn clock(op: &Op) -> Option<SpecialRegister> {
    let mut found = None;
    op.fields(&mut |_, field| {
        if let FieldValue::Value(Value::Special { register, .. }) = field {
            use SpecialRegister as R;
            found = matches!(register, R::Clock | R::Clock64 | R::ClockHi).then_some(*register).or(found);
        }
    });
    found
}

impl Emitter<'_> {
    /// Leaves the current instruction to the machine.
    pub(crate) fn interpreted(&mut self, op: &Op) -> Result<(), Refusal> {
        let effects = op.effects();
        let calls = matches!(op, Op::Call(_) | Op::CallIndirect(_));
        if calls {
            self.check_callees(op)?;
        } else if effects.flow != Flow::Next || effects.convergence == Convergence::Warpgroup {
            return Err(self.unsupported());
        } else if effects.waits && !matches!(op, Op::Nanosleep(_) | Op::Griddepcontrol(_)) {
            return Err(Refusal::Waits);
        } else if effects.barrier.is_some() {
            return Err(Refusal::Barrier);
        } else if let Some(clock) = clock(op) {
            // It counts instructions that are interpreted.
            return Err(Refusal::Operand(clock.text().to_owned()));
        }
        self.by_machine(op)
    }

    /// Hands the current instruction to the machine.
    pub(crate) fn by_machine(&mut self, op: &Op) -> Result<(), Refusal> {
        let calls = matches!(op, Op::Call(_) | Op::CallIndirect(_));
        let (mut reads, mut writes): (Vec<RegId>, Vec<RegId>) = (Vec::new(), Vec::new());
        let Some(instruction) = self.function.instruction(self.index) else { return Err(self.unsupported()) };
        instruction.registers(&mut |register, access| {
            let add = |to: &mut Vec<RegId>| {
                if !to.contains(&register) {
                    to.push(register);
                }
            };
            if access != Access::Write {
                add(&mut reads);
            }
            if access != Access::Read {
                add(&mut writes);
            }
        });
        let mut lists = Vec::new();
        for &register in &reads {
            let lanes = self.register(register);
            let lanes = self.canonical(lanes);
            if lanes.bits > 64 {
                lists.extend(self.halves(&lanes));
            } else {
                lists.push(self.list_of(&lanes));
            }
        }
        let (active, _) = self.active();
        let sizes = |registers: &[RegId]| {
            registers.iter().map(|&register| (register, self.bits_of(register) > 64)).collect::<Vec<_>>()
        };
        let (reads, writes) = (sizes(&reads), sizes(&writes));
        let results = writes.iter().map(|&(_, wide)| 1 + usize::from(wide)).sum();
        // All lanes that have not exited are here where lanes must not have parted.
        let is_whole = calls || op.effects().convergence != Convergence::Thread;
        let action = Action::Interpret { reads, writes: writes.clone(), is_whole };
        let mut lists = self.host(action, &lists, results, &active).into_iter();
        for (register, wide) in writes {
            let mut next = || Lanes::varying(64, lists.next().unwrap_or_default());
            let (low, high) = (next(), wide.then(next));
            let value = match high {
                None => {
                    let bits = self.bits_of(register);
                    self.resized(low, bits, false)
                }
                Some(high) => self.joined(low, high),
            };
            let def = Def(Some(register));
            match self.class_of(register) == UNIFORM {
                true => self.write_from_first(def, &value, &active)?,
                false => self.write(def, value, false)?,
            }
        }
        Ok(())
    }

    /// The lists of the lower and the upper half of 128 bits.
    fn halves(&mut self, lanes: &Lanes) -> [String; 2] {
        let vector = self.vector(lanes);
        let kind = super::text::Kind::Vector;
        let (wide, half) = (self.text.int(128, kind), self.text.int(64, kind));
        let by = self.text.constant(64, 128, kind);
        let upper = self.text.value(&format!("lshr {wide} {vector}, {by}"));
        [vector, upper].map(|part| self.text.value(&format!("trunc {wide} {part} to {half}")))
    }

    /// 128 bits from their halves.
    fn joined(&mut self, low: Lanes, high: Lanes) -> Lanes {
        let kind = super::text::Kind::Vector;
        let (wide, by) = (self.text.int(128, kind), self.text.constant(64, 128, kind));
        let [low, high] = [low, high].map(|half| {
            let half = self.resized(half, 128, false);
            self.vector(&half)
        });
        let high = self.text.value(&format!("shl {wide} {high}, {by}"));
        Lanes::varying(128, self.text.value(&format!("or {wide} {low}, {high}")))
    }

    /// Refuses a call that may reach what a row cannot wait for, or that ends threads.
    fn check_callees(&self, op: &Op) -> Result<(), Refusal> {
        let module = self.function.module;
        let mut pending: Vec<FuncId> = match op {
            Op::Call(call) => vec![call.function],
            // Any function may be meant.
            _ => (0..module.functions.len() as u32).map(FuncId).collect(),
        };
        let mut seen: HashSet<FuncId> = pending.iter().copied().collect();
        while let Some(id) = pending.pop() {
            let Some(function) = Function::lower(module, id) else { continue };
            for instruction in function.instructions.iter().flatten() {
                let effects = instruction.op.effects();
                let meets = effects.barrier.is_some() || effects.convergence != Convergence::Thread;
                let is_entry = module.functions[id.index()].kind == FunctionKind::Entry;
                if is_entry {
                    break;
                }
                if meets || effects.waits || matches!(instruction.op, Op::Exit(_)) {
                    return Err(Refusal::Callee(module.functions[id.index()].name.clone()));
                }
                let mut add = |callee: FuncId| {
                    if seen.insert(callee) {
                        pending.push(callee);
                    }
                };
                match &instruction.op {
                    Op::Call(call) => add(call.function),
                    Op::CallIndirect(_) => (0..module.functions.len() as u32).map(FuncId).for_each(add),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
