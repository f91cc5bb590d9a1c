//! Which parts of a kernel's parameters are addresses: those that reach an access to global or generic memory through copies, sums and
//! conversions between state spaces, in any order of instructions, or that are handed to another function.
//!
//! What is added to an address counts as one as well: of `a + b` nobody says which is the base.

use crate::instruction::{FieldValue, Op};
use crate::lower::Function;
use crate::operand::{Address, Argument, Def, Space, Value};
use ptx::isa::Role;
use ptx::module::{AddressBase, RegId, VarId};
use ptx::types::StateSpace;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Eight bytes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pointer {
    /// The parameter.
    pub parameter: VarId,
    /// Where in it they begin.
    pub offset: u64,
}

/// The addresses among a kernel's parameters.
pub fn pointers(function: &Function<'_>) -> BTreeSet<Pointer> {
    let all: Vec<&Op> = function.instructions.iter().flatten().map(|instruction| &instruction.op).collect();
    let mut writers: HashMap<RegId, Vec<&Op>> = HashMap::new();
    let mut pending = Vec::new();
    for op in all {
        op.fields(&mut |_, field| {
            field.registers(&mut |register, role| {
                if role != Role::Read {
                    writers.entry(register).or_default().push(op);
                }
            });
            pending.extend(accessed(&field));
        });
        pending.extend(handed_over(function, op));
    }
    let mut seen: HashSet<RegId> = HashSet::new();
    let mut found = BTreeSet::new();
    while let Some(register) = pending.pop() {
        if !seen.insert(register) || function.body.registers[register.index()].ty.bits() != 64 {
            continue;
        }
        for op in writers.get(&register).into_iter().flatten() {
            found.extend(loaded(function, op, register));
            pending.extend(sources(op).into_iter().flatten().filter_map(register_of));
        }
    }
    found
}

fn register_of(value: Value) -> Option<RegId> {
    if let Value::Register(register) = value { Some(register) } else { None }
}

/// The base of an access to memory that other kernels share.
fn accessed(field: &FieldValue<'_>) -> Option<RegId> {
    if let FieldValue::Address(address) = field
        && let Address {
            base: AddressBase::Register(register), space: Space::Global | Space::Generic, ..
        } = address
    {
        Some(*register)
    } else {
        None
    }
}

/// What a function gets that is called: in a parameter's memory, or by value.
fn handed_over(function: &Function<'_>, op: &Op) -> Vec<RegId> {
    if let Op::St(st) = op
        && let AddressBase::Variable(variable) = st.a.base
        && function.module.variables[variable.index()].space == StateSpace::ParamFunc
    {
        return st.b.iter().copied().filter_map(register_of).collect();
    }
    let mut all = Vec::new();
    op.fields(&mut |_, field| {
        if let FieldValue::Arguments(arguments) = field {
            all.extend(arguments.iter().filter_map(|argument| match argument {
                Argument::Value(value) => register_of(*value),
                Argument::Variable(_) => None,
            }));
        }
    });
    all
}

/// Where in a kernel's parameter a register is loaded from.
fn loaded(function: &Function<'_>, op: &Op, register: RegId) -> Option<Pointer> {
    let Op::Ld(ld) = op else { return None };
    let AddressBase::Variable(parameter) = ld.a.base else { return None };
    let is_parameter = function.module.variables[parameter.index()].space == StateSpace::ParamEntry;
    let at = ld.d.iter().position(|def| *def == Def(Some(register)))? as u64;
    let offset = u64::try_from(ld.a.offset).ok()? + at * u64::from(ld.ty.bits() / 8);
    (is_parameter && ld.ty.bits() == 64).then_some(Pointer { parameter, offset })
}

/// What an address may come from that an instruction computes.
fn sources(op: &Op) -> [Option<Value>; 2] {
    if let Op::Mov(mov) = op {
        [Some(mov.a), None]
    } else if let Op::Cvta(cvta) = op {
        [Some(cvta.a), None]
    } else if let Op::AddInt(add) = op {
        [Some(add.a), Some(add.b)]
    } else if let Op::SubInt(sub) = op {
        [Some(sub.a), None]
    } else if let Op::MadInt(mad) = op {
        [Some(mad.c), None]
    } else if let Op::Selp(selp) = op {
        [Some(selp.a), Some(selp.b)]
    } else {
        [None, None]
    }
}
