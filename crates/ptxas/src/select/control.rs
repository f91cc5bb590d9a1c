//! Branches, calls and ends (PTX ISA, "Control Flow Instructions"). Calls are inlined: a parameter of the callee is the caller's
//! variable.

use super::{DEPTH, Done, Function, Select};
use crate::code::{Label, Operand};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Argument, Def, Value};
use ptx::module::{Param, Table};
use ptx::types::ScalarType;
use std::collections::HashMap;
use std::rc::Rc;

impl Select<'_> {
    pub(super) fn control(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Bra(op) => {
                let target = self.label(op.target);
                // Lanes that others wait for get their turn in a loop.
                if self.code.is_placed(target) {
                    self.code.push(None, "YIELD", vec![], vec![]);
                }
                self.effect("BRA", vec![], vec![Operand::Target(target)]);
                Ok(())
            }
            Op::BrxIdx(op) => self.switch(op),
            Op::Call(op) => self.call(op),
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

    fn call(&mut self, op: &i::Call) -> Done {
        let declaration = &self.module.functions[op.function.index()];
        let Some(callee) = ir::Function::lower(self.module, op.function) else {
            return Err(format!("of `{}`, whose code is not here", declaration.name));
        };
        if self.inlined.contains(&op.function) || self.inlined.len() > DEPTH {
            return Err(format!("of `{}`, which calls itself, or too deeply", declaration.name));
        }
        let (arguments, results) =
            (op.arguments.as_deref().unwrap_or(&[]), op.results.as_deref().unwrap_or(&[]));
        if arguments.len() != declaration.params.len() || results.len() != declaration.returns.len() {
            return Err("with another number of arguments than it takes".to_owned());
        }
        let (skip, end) = (self.code.label(), self.code.label());
        let guard = self.guard.take();
        if let Some((guard, not)) = guard {
            self.branch(Some((guard, !not)), skip);
        }
        let mut locals = HashMap::new();
        let mut given = Vec::new();
        for (argument, param) in
            arguments.iter().chain(results).zip(declaration.params.iter().chain(&declaration.returns))
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
        let inner = Function::new(Rc::new(callee), locals, Some(end));
        let taken = given.len().saturating_sub(results.len());
        let mut values = Vec::new();
        for (value, theirs) in &given[..taken] {
            let ty = registers[theirs.index()].ty;
            values.push(match ty.bits() {
                _ if ty == ScalarType::Pred => return Err("with a predicate".to_owned()),
                128 => return Err("with 128 bits".to_owned()),
                64 => self.double(value)?,
                _ => {
                    let word = self.word(value)?;
                    self.one("MOV", vec![word])
                }
            });
        }
        let outer = std::mem::replace(&mut self.at, inner);
        self.inlined.push(op.function);
        for ((_, theirs), value) in given[..taken].iter().zip(values) {
            self.set(Def(Some(*theirs)), value);
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
        for ((value, _), from) in given[taken..].iter().zip(found) {
            if let Value::Register(id) = value {
                self.set(Def(Some(*id)), from);
            }
        }
        self.code.place(skip);
        Ok(())
    }
}
