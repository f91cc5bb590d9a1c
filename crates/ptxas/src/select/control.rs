//! Branches, calls and ends (PTX ISA, "Control Flow Instructions"). Calls are inlined, but for [routines](super::routine): a parameter of the callee
//! is the caller's variable. The address of a function is its number in the module, and a call through a register goes through those that it may be.

use super::special::function_number;
use super::{DEPTH, Done, Function, MOST_INLINED, Select};
use crate::bodies::allocates;
use crate::code::{Label, Operand};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Argument, Callees, Def, Value};
use ptx::module::{FuncId, FunctionKind, Module, Param, Symbol, Table};
use ptx::types::ScalarType;
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

impl Select<'_> {
    pub(super) fn control(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Bra(op) => {
                let target = self.label(op.target);
                // Lanes that others wait for get their turn in a loop.
                let function = &self.at.function;
                let begins = function.body.labels[op.target.index()].target;
                if self.code.is_placed(target) && self.waits.at(function.id, begins) {
                    self.code.push(None, "YIELD", vec![], vec![]);
                }
                self.effect("BRA", vec![], vec![Operand::Target(target)]);
                Ok(())
            }
            Op::BrxIdx(op) => self.switch(op),
            Op::Call(op) => self.call(op.function, op.arguments.as_deref(), op.results.as_deref()),
            Op::CallIndirect(op) => self.behind_guard(|this| this.call_one_of(op)),
            Op::Ret(_) => {
                self.leave(self.guard);
                Ok(())
            }
            Op::Exit(_) => {
                self.effect("EXIT", vec![], vec![]);
                Ok(())
            }
            Op::Trap(_) | Op::Brkpt(_) => {
                self.effect("BPT.TRAP", vec![], vec![Operand::number(1)]);
                Ok(())
            }
            Op::Nanosleep(op) => self.word(&op.t).map(|t| self.effect("NANOSLEEP", vec![], vec![t])),
            _ => return None,
        })
    }

    pub(super) fn leave(&mut self, guard: Option<(crate::code::Reg, bool)>) {
        match self.at.end {
            Some(end) => self.branch(guard, end),
            None => self.code.push(guard, "EXIT", vec![], vec![]),
        }
    }

    /// One target after another.
    fn switch(&mut self, op: &i::BrxIdx) -> Done {
        let function = Rc::clone(&self.at.function);
        let Table::Branch(labels) = &function.body.tables[op.targets.index()] else {
            return Err("with this table".to_owned());
        };
        let index = self.word(&op.index)?;
        let skip: Label = self.code.label();
        if let Some((guard, not)) = self.guard {
            self.branch(Some((guard, !not)), skip);
        }
        for (number, &label) in labels.iter().enumerate() {
            let target = self.label(label);
            let number = self.constant(number as u32);
            let here = self.compare("ISETP.EQ.U32.AND", index.clone(), number);
            self.branch(Some((here, false)), target);
        }
        self.code.place(skip);
        Ok(())
    }

    /// A call through a register: of the function of the module whose number that is, among those that take and give as much.
    fn call_one_of(&mut self, op: &i::CallIndirect) -> Done {
        let which = self.double(&op.function)?;
        let end = self.code.label();
        let (arguments, results) = (op.arguments.as_deref(), op.results.as_deref());
        let listed: Vec<FuncId> = match op.targets {
            Callees::Table(table) => match &self.at.function.body.tables[table.index()] {
                Table::Call(functions) => functions.clone(),
                Table::Branch(_) => return Err("with this table".to_owned()),
            },
            Callees::Prototype(_) => (0..self.module.functions.len() as u32).map(FuncId).collect(),
        };
        let counts = (arguments.map_or(0, <[_]>::len), results.map_or(0, <[_]>::len));
        let fits = |id: &FuncId| {
            let function = &self.module.functions[id.index()];
            function.body.is_some()
                && function.kind == FunctionKind::Func
                && self.takes(*id, counts.0)
                && function.returns.len() == counts.1
        };
        let mut functions: Vec<_> = listed.into_iter().filter(fits).collect();
        functions.retain(|&id| is_address_taken(self.module, id));
        for id in functions {
            let next = self.code.label();
            let number = self.constant64(function_number(id));
            let other = self.compare64("NE", false, which, number, Operand::always(false), "AND").0;
            self.branch(Some((other, false)), next);
            self.call(id, arguments, results)?;
            self.branch(None, end);
            self.code.place(next);
        }
        // It is the address of none.
        self.code.push(None, "BPT.TRAP", vec![], vec![Operand::number(1)]);
        self.code.place(end);
        Ok(())
    }

    /// Whether a function takes so many arguments: one for each parameter, or none for an array without a size at the end.
    fn takes(&self, id: FuncId, arguments: usize) -> bool {
        let params = &self.module.functions[id.index()].params;
        let open = matches!(params.last(), Some(&Param::Memory(id)) if self.module.variables[id.index()].unsized_array);
        arguments == params.len() || open && arguments + 1 == params.len()
    }

    fn call(
        &mut self,
        function: FuncId,
        arguments: Option<&[Argument]>,
        results: Option<&[Argument]>,
    ) -> Done {
        let declaration = &self.module.functions[function.index()];
        let (arguments, results) = (arguments.unwrap_or(&[]), results.unwrap_or(&[]));
        if !self.takes(function, arguments.len()) || results.len() != declaration.returns.len() {
            return Err("with another number of arguments than it takes".to_owned());
        }
        let Some(callee) = self.bodies.of(function) else {
            return self.behind_guard(|this| this.call_extern(function, arguments, results));
        };
        let (skip, end) = (self.code.label(), self.code.label());
        let guard = self.guard.take();
        if let Some((guard, not)) = guard {
            self.branch(Some((guard, !not)), skip);
        }
        let much = self.inlined.len() > DEPTH || self.code.lines.len() > MOST_INLINED;
        if much || self.is_recursive(function) {
            self.call_routine(function, &callee, arguments, results)?;
            self.code.place(skip);
            return Ok(());
        }
        // What the callee takes from the stack it gives back.
        let top = self
            .top
            .filter(|_| allocates(&callee))
            .map(|top| (top, self.one("MOV", vec![Operand::low(top)])));
        let mut locals = HashMap::default();
        let mut given = Vec::new();
        let params = &declaration.params[..arguments.len()];
        for (argument, param) in
            arguments.iter().chain(results).zip(params.iter().chain(&declaration.returns))
        {
            match (argument, param) {
                (Argument::Variable(mine), Param::Memory(theirs)) => {
                    locals.insert(*theirs, self.local(*mine));
                }
                (Argument::Value(value), Param::Register(theirs)) => given.push((*value, *theirs)),
                _ => return Err("with such an argument".to_owned()),
            }
        }
        let registers = callee.body.registers.clone();
        let inner = Function::new(callee, locals, Some(end));
        let taken = given.len().saturating_sub(results.len());
        let mut values = Vec::new();
        for (value, theirs) in &given[..taken] {
            let ty = registers[theirs.index()].ty;
            values.push(match ty.bits() {
                _ if ty == ScalarType::Pred => self.copied_flag(*value)?,
                128 => self.quad(value)?,
                64 => self.double(value)?,
                _ => {
                    let word = self.word(value)?;
                    self.one("MOV", vec![word])
                }
            });
        }
        let site = (self.at.call, self.at.index);
        let outer = std::mem::replace(&mut self.at, inner);
        self.begin_call(function, Some(site));
        self.inlined.push(function);
        for ((_, theirs), value) in given[..taken].iter().zip(values) {
            match self.type_of(*theirs) {
                ScalarType::Pred => self.set_flag(Def(Some(*theirs)), value),
                _ => self.set(Def(Some(*theirs)), value),
            }
        }
        self.body();
        let mut found = Vec::new();
        for (_, theirs) in &given[taken..] {
            found.push(self.home(*theirs));
        }
        self.inlined.pop();
        self.at = outer;
        self.guard = None;
        self.code.place(end);
        if let Some((top, before)) = top {
            self.code.push(None, "MOV", vec![Operand::low(top)], vec![Operand::low(before)]);
        }
        for ((value, theirs), from) in given[taken..].iter().zip(found) {
            match value {
                Value::Register(id) if registers[theirs.index()].ty == ScalarType::Pred => {
                    let flag = self.flag_at(from);
                    self.set_flag(Def(Some(*id)), flag);
                }
                Value::Register(id) => self.set(Def(Some(*id)), from),
                _ => {}
            }
        }
        self.code.place(skip);
        Ok(())
    }
}

/// Whether the module asks for the address of a function, or has it in a variable.
pub(super) fn is_address_taken(module: &Module, id: FuncId) -> bool {
    let asked = module.functions.iter().filter_map(|function| function.body.as_ref()).any(|body| {
        body.operands.iter().any(|operand| {
            matches!(*operand, ptx::module::Operand::SymbolAddress { symbol: Symbol::Function(of), .. } if of == id)
        })
    });
    let stored = || {
        let mut all = module.variables.iter().flat_map(|variable| &variable.relocations);
        all.any(|relocation| relocation.target == Symbol::Function(id))
    };
    asked || stored()
}
