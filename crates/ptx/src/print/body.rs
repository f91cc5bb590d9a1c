//! Statements.

use super::Printer;
use crate::ast::{
    Instruction, Loc, LocPlace, Prototype, StatementKind, StatementList, TargetKind, TargetList,
};
use std::fmt::{self, Write};

impl Printer<'_> {
    pub(super) fn statements(&mut self, list: StatementList) -> fmt::Result {
        let module = self.module;
        for statement in &module[list] {
            self.statement(&statement.value)?;
            self.out.write_char('\n')?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &StatementKind) -> fmt::Result {
        let module = self.module;
        match statement {
            StatementKind::Instruction(instruction) => self.instruction(instruction),
            StatementKind::Label(name) => write!(self.out, "{}:", module.text(*name)),
            StatementKind::BlockBegin => self.out.write_str("\t{"),
            StatementKind::BlockEnd => self.out.write_str("\t}"),
            StatementKind::Variable(id) => {
                self.out.write_char('\t')?;
                self.declaration(&module[*id])
            }
            StatementKind::Loc(id) => self.loc(&module[*id]),
            StatementKind::Pragma(strings) => {
                self.out.write_char('\t')?;
                self.pragma(strings)
            }
            StatementKind::Prototype(id) => self.prototype(&module[*id]),
            StatementKind::Targets(id) => self.targets(&module[*id]),
        }
    }

    fn instruction(&mut self, instruction: &Instruction) -> fmt::Result {
        let module = self.module;
        self.out.write_char('\t')?;
        if let Some(guard) = instruction.guard {
            let not = if guard.value.negated { "!" } else { "" };
            write!(self.out, "@{not}{} ", module.text(guard.value.register))?;
        }
        self.out.write_str(&module[instruction.opcode.value].text)?;
        if !instruction.operands.is_empty() {
            self.out.write_str(" \t")?;
            self.operands(instruction.operands)?;
        }
        self.out.write_char(';')
    }

    fn loc(&mut self, loc: &Loc) -> fmt::Result {
        self.out.write_str("\t.loc ")?;
        self.place(&loc.place)?;
        if let Some(inlined) = &loc.inlined {
            write!(self.out, ", function_name {}", self.module.text(inlined.function_name.value))?;
            self.offset(inlined.offset)?;
            self.out.write_str(", inlined_at ")?;
            self.place(&inlined.at)?;
        }
        Ok(())
    }

    fn place(&mut self, place: &LocPlace) -> fmt::Result {
        write!(self.out, "{} {} {}", place.file.value, place.line.value, place.column.value)
    }

    fn prototype(&mut self, prototype: &Prototype) -> fmt::Result {
        write!(self.out, "{}: .callprototype ", self.module.text(prototype.name.value))?;
        self.parameters(prototype.returns)?;
        self.out.write_str(" _ ")?;
        self.parameters(prototype.params)?;
        for directive in &prototype.directives {
            self.out.write_char(' ')?;
            self.directive(&directive.value)?;
        }
        self.out.write_char(';')
    }

    fn targets(&mut self, list: &TargetList) -> fmt::Result {
        let module = self.module;
        let directive = match list.kind {
            TargetKind::Branch => ".branchtargets",
            TargetKind::Call => ".calltargets",
        };
        write!(self.out, "{}: {directive} ", module.text(list.name.value))?;
        self.commas(&list.targets, |p, target| {
            p.out.write_str(module.text(target.value.name))?;
            let Some(count) = target.value.count else { return Ok(()) };
            p.out.write_char('<')?;
            p.expression(count)?;
            p.out.write_char('>')
        })?;
        self.out.write_char(';')
    }
}
