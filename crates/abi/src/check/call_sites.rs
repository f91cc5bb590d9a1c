//! What stands between arguments, calls and results.
//!
//! `.param` variables of a body become registers or places on the stack only because their stores and loads stand at the
//! call: in its block, without guards, and with no other call between.

use super::codes;
use crate::names::demangled;
use ptx::diagnostic::Diagnostic;
use ptx::isa::{Access, Flow};
use ptx::module::{AddressBase, Body, Function, Instruction, Module, Operand, Param, Symbol, Table, VarId};
use ptx::types::StateSpace;
use std::collections::HashSet;

pub(super) fn check(module: &Module, found: &mut Vec<Diagnostic>) {
    for function in &module.functions {
        if let Some(body) = &function.body {
            Site { module, function, body, formals: formals(function) }.check(found);
        }
    }
}

fn formals(function: &Function) -> HashSet<VarId> {
    let all = function.params.iter().chain(&function.returns);
    all.filter_map(|param| match param {
        Param::Memory(id) => Some(*id),
        Param::Register(_) | Param::RegisterType(_) => None,
    })
    .collect()
}

struct Site<'a> {
    module: &'a Module,
    function: &'a Function,
    body: &'a Body,
    formals: HashSet<VarId>,
}

impl Site<'_> {
    fn check(&self, found: &mut Vec<Diagnostic>) {
        let targets = self.targets();
        // Stores whose call has not come yet, and the results of the call before, while nothing else has come between.
        let mut stored: Vec<(usize, VarId)> = Vec::new();
        let mut results: HashSet<VarId> = HashSet::new();
        for (at, instruction) in self.body.instructions.iter().enumerate() {
            if targets.contains(&(at as u32)) {
                self.misplaced(&mut stored, found);
                results.clear();
            }
            if let Some((variable, writes)) = self.access(instruction) {
                if instruction.guard.is_some() {
                    let name = self.name(variable);
                    let message =
                        format!("an access to `{name}`, of a call in `{}`, has a guard", self.caller());
                    found.push(
                        Diagnostic::error(codes::GUARDED, instruction.span, message)
                            .hint("let a branch go around the call"),
                    );
                } else if writes {
                    stored.push((at, variable));
                } else if !results.contains(&variable) {
                    let name = self.name(variable);
                    let message = format!(
                        "a load of `{name}` in `{}` is not directly behind a call that returns it",
                        self.caller()
                    );
                    found.push(Diagnostic::error(codes::LOAD_PLACE, instruction.span, message));
                }
            }
            let Some(effects) = self.module.opcode(instruction).sem().map(|sem| sem.effects()) else {
                continue;
            };
            if effects.flow == Flow::Call {
                let lists = self.lists(instruction);
                stored.retain(|(_, variable)| !lists.contains(variable));
                self.misplaced(&mut stored, found);
                results = lists;
            } else if effects.ends_block() {
                self.misplaced(&mut stored, found);
                results.clear();
            }
        }
        self.misplaced(&mut stored, found);
    }

    /// The instructions that branches lead to. Labels that only debug information names are no borders.
    fn targets(&self) -> HashSet<u32> {
        let operands = self.body.instructions.iter().flat_map(|instruction| self.body.operands(instruction));
        let direct = operands.filter_map(|operand| match operand {
            Operand::Label(id) => Some(*id),
            _ => None,
        });
        let tables = self.body.tables.iter().flat_map(|table| match table {
            Table::Branch(labels) => labels.as_slice(),
            Table::Call(_) => &[],
        });
        direct.chain(tables.copied()).map(|id| self.body.labels[id.index()].target).collect()
    }

    fn caller(&self) -> String {
        demangled(&self.function.name)
    }

    fn name(&self, variable: VarId) -> &str {
        &self.module.variables[variable.index()].name
    }

    /// Reports stores that no call has followed.
    fn misplaced(&self, stored: &mut Vec<(usize, VarId)>, found: &mut Vec<Diagnostic>) {
        for (at, variable) in stored.drain(..) {
            let name = self.name(variable);
            let message = format!(
                "a store to `{name}` in `{}` is not directly before a call that passes it",
                self.caller()
            );
            found.push(Diagnostic::error(codes::STORE_PLACE, self.body.instructions[at].span, message));
        }
    }

    /// The `.param` variable of this body that an instruction accesses, and whether it writes it.
    fn access(&self, instruction: &Instruction) -> Option<(VarId, bool)> {
        let variable = self.body.operands(instruction).iter().find_map(|operand| match operand {
            Operand::Address { base: AddressBase::Variable(id), .. } => Some(*id),
            _ => None,
        })?;
        let space = self.module.variables[variable.index()].space;
        if space != StateSpace::ParamFunc || self.formals.contains(&variable) {
            return None;
        }
        let effects = self.module.opcode(instruction).sem()?.effects();
        Some((variable, effects.memory.iter().any(|effect| effect.access == Access::Store)))
    }

    /// The `.param` variables that a call passes and that it returns.
    fn lists(&self, call: &Instruction) -> HashSet<VarId> {
        let lists = self.body.operands(call).iter().filter_map(|operand| match operand {
            Operand::Vector(list) => Some(self.body.elements(list)),
            _ => None,
        });
        let variables = lists.flatten().filter_map(|operand| match operand {
            Operand::SymbolAddress { symbol: Symbol::Variable(id), .. } => Some(*id),
            _ => None,
        });
        variables.collect()
    }
}
