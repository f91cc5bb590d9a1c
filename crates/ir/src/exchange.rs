//! The operands of an instruction, to be exchanged: what renames registers and propagates values goes through here.

use crate::instruction::Instruction;
use crate::operand::{Address, Argument, Callees, Def, Lookup, Part, PartDef, Predicate, Value};
use ptx::module::{AddressBase, RegId};

/// An operand in its place.
#[derive(Debug)]
pub enum OperandMut<'a> {
    /// A register that is written.
    Write(&'a mut RegId),
    /// A register that is read and written.
    Update(&'a mut RegId),
    /// A value that is read.
    Read(&'a mut Value),
    /// A register that is read where no other kind of value can stand: a guard, or the base of an address.
    Base(&'a mut RegId),
}

impl Instruction {
    /// Shows every operand that is or may be a register, in the order of [`Instruction::registers`] but for writes, which
    /// stand where the table has them.
    pub fn operands_mut(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        if let Some(guard) = &mut self.guard {
            show(OperandMut::Base(&mut guard.register));
        }
        self.op.operands_mut(show);
    }
}

/// What a field shows of itself.
pub(crate) trait Operands {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>));
}

impl Operands for Def {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        self.0.iter_mut().for_each(|register| show(OperandMut::Write(register)));
    }
}

impl Operands for Value {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        show(OperandMut::Read(self));
    }
}

impl Operands for Predicate {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        self.value.show(show);
    }
}

impl Operands for Part {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        self.value.show(show);
    }
}

impl Operands for PartDef {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        self.register.show(show);
    }
}

impl Operands for Address {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        if let AddressBase::Register(register) = &mut self.base {
            show(OperandMut::Base(register));
        }
    }
}

impl Operands for Lookup {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        self.object.show(show);
        self.sampler.show(show);
        self.coordinates.show(show);
    }
}

impl Operands for Argument {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        match self {
            Self::Value(value) => value.show(show),
            Self::Variable(_) => {}
        }
    }
}

impl Operands for Callees {
    fn show(&mut self, _: &mut dyn FnMut(OperandMut<'_>)) {}
}

impl<T: Operands> Operands for Box<[T]> {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        self.iter_mut().for_each(|one| one.show(show));
    }
}

impl<T: Operands> Operands for Option<T> {
    fn show(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {
        self.iter_mut().for_each(|one| one.show(show));
    }
}

/// Registers that are read and written.
pub(crate) fn updates(all: &mut [Def], show: &mut dyn FnMut(OperandMut<'_>)) {
    all.iter_mut().filter_map(|def| def.0.as_mut()).for_each(|register| show(OperandMut::Update(register)));
}

/// What a call writes.
pub(crate) fn results(all: &mut [Argument], show: &mut dyn FnMut(OperandMut<'_>)) {
    all.iter_mut().for_each(|result| {
        if let Argument::Value(Value::Register(register)) = result {
            show(OperandMut::Write(register));
        }
    });
}
