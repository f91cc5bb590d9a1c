//! Instructions without vector code: the machine executes them for the row as its interpreter does.
//!
//! The registers that such an instruction reads are handed over as lists of lanes, those that it writes come back; what
//! else it depends on (local memory, the carry bit, textures, the clock) the machine has. So everything that is not control
//! flow compiles, and what is hot is worth code of its own.

use super::Emitter;
use super::call::From;
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
        let read = |e: &mut Self, &register: &RegId| {
            let lanes = e.register(register);
            e.canonical(lanes)
        };
        let lists: Vec<Lanes> = reads.iter().map(|register| read(self, register)).collect();
        let (active, _) = self.active();
        let sized = |registers: &[RegId]| {
            registers.iter().map(|&register| (register, self.bits_of(register))).collect::<Vec<_>>()
        };
        let (reads, writes) = (sized(&reads), sized(&writes));
        let results: Vec<u32> = writes.iter().map(|&(_, bits)| bits).collect();
        // All lanes that have not exited are here where lanes must not have parted.
        let is_whole = calls || op.effects().convergence != Convergence::Thread;
        let action = Action::Interpret { reads, writes: writes.clone(), is_whole };
        let values = self.host(action, &From::nowhere(), &lists, &results, &active);
        for ((register, _), value) in writes.into_iter().zip(values) {
            let def = Def(Some(register));
            match self.class_of(register) == UNIFORM || self.class_of_result() == UNIFORM {
                true => self.write_from_first(def, &value, &active)?,
                false => self.write(def, value, false)?,
            }
        }
        Ok(())
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
