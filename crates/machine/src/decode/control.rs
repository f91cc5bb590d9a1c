//! Branches, calls and barriers (PTX ISA, "Control Flow Instructions" and the barriers of "Parallel Synchronization and
//! Communication Instructions").

use super::emit::op;
use super::function::{Decoder, Field, Home};
use super::operand::Source;
use super::{Decoded, Missing};
use crate::ops::shape::NEGATE;
use crate::ops::{NONE, Op, cluster, control, time};
use crate::program::{BarrierKind, BarrierSite, Builtin, CallSite, Callee, Meta, Place, Reduction, Value};
use ir::BlockId;
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::{FuncId, LabelId, Operand, RegId, Symbol, Table};

/// Whether an instruction hands over to the run loop, so that a guard must lead around it.
pub(super) fn leaves_run(sem: Sem) -> bool {
    matches!(
        sem,
        Sem::Call
            | Sem::CallIndirect
            | Sem::Ret
            | Sem::Exit
            | Sem::BarSync
            | Sem::BarArrive
            | Sem::BarRed
            | Sem::Trap
            | Sem::Brkpt
            | Sem::Griddepcontrol
            | Sem::Nanosleep
            | Sem::Shfl
            | Sem::Vote
            | Sem::MatchSync
            | Sem::Redux
            | Sem::Elect
            | Sem::BarWarpSync
            | Sem::Ldmatrix
            | Sem::Stmatrix
            | Sem::Movmatrix
            | Sem::WmmaLoad
            | Sem::WmmaStore
            | Sem::Mma
            | Sem::Wgmma
    )
}

fn block_of(d: &Decoder<'_>, label: LabelId) -> BlockId {
    d.cfg.block_of(d.body.labels[label.index()].target)
}

/// `bra`, guarded or not.
pub(super) fn branch(d: &mut Decoder<'_>, meet: Option<BlockId>) -> Decoded {
    let Operand::Label(label) = d.operand(0) else {
        return Err("a branch without a label".to_owned());
    };
    let target = block_of(d, label);
    let c = d.take_run();
    let pc = d.pc();
    match d.guard {
        None => d.push(Op { c, ..op(control::jump) }, Meta::Plain),
        Some(guard) => {
            let b = d.predicate_of(guard.register)?;
            let y = if guard.negated { NEGATE } else { 0 };
            d.push(Op { b, c, y, ..op(control::branch) }, Meta::Branch);
            if let Some(meet) = meet {
                d.patch_later(pc, Field::Reconvergence, meet);
            }
        }
    }
    d.patch_later(pc, Field::Target, target);
    Ok(())
}

/// `brx.idx`.
pub(super) fn branch_indexed(d: &mut Decoder<'_>, meet: Option<BlockId>) -> Decoded {
    let Operand::Table(table) = d.operand(1) else {
        return Err("an indexed branch without a table".to_owned());
    };
    let Table::Branch(labels) = &d.body.tables[table.index()] else {
        return Err("an indexed branch through a table of functions".to_owned());
    };
    let value = d.source(0, 32)?;
    let a = d.plane_of(value, 32);
    d.flush();
    let list = d.list(&vec![0; labels.len()]);
    for (i, &label) in labels.iter().enumerate() {
        let block = block_of(d, label);
        d.patch_later(d.pc(), Field::List(list + i as u32), block);
    }
    let (c, pc) = (d.take_run(), d.pc());
    d.push(Op { a, b: list, d: labels.len() as u32, c, ..op(control::branch_indexed) }, Meta::Plain);
    if let Some(meet) = meet {
        d.patch_later(pc, Field::Reconvergence, meet);
    }
    Ok(())
}

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    match sem {
        Sem::Call => call(d),
        Sem::CallIndirect => call_indirect(d),
        Sem::Ret => {
            let c = d.take_run();
            let entry = crate::launch::is_entry(d.module, d.id);
            d.emit(Op { c, ..op(if entry { control::exit } else { control::ret }) });
            Ok(())
        }
        Sem::Exit => {
            let c = d.take_run();
            d.emit(Op { c, ..op(control::exit) });
            Ok(())
        }
        Sem::BarSync | Sem::BarArrive | Sem::BarRed => barrier(d, sem),
        Sem::Fence => {
            d.emit(op(control::fence));
            Ok(())
        }
        // There is one path to memory here, so proxies always agree; the fence still orders.
        Sem::FenceProxy => {
            d.emit(op(control::fence));
            Ok(())
        }
        Sem::Trap => {
            let c = d.take_run();
            d.emit(Op { c, ..op(control::trap) });
            Ok(())
        }
        Sem::Brkpt => {
            let c = d.take_run();
            d.emit(Op { c, ..op(control::breakpoint) });
            Ok(())
        }
        Sem::Griddepcontrol => {
            let c = d.take_run();
            let waits = d.opcode.has(Modifier::Wait);
            let execute = if waits { control::wait_for_grids } else { control::launch_dependents };
            d.emit(Op { c, ..op(execute) });
            Ok(())
        }
        Sem::Nanosleep => {
            let wanted = d.source(0, 32)?;
            let (a, until) = (d.plane_of(wanted, 32), d.temporary(64));
            d.emit_part(Op { d: until, a, ..op(time::begin_sleep) });
            d.emit(Op { a: until, ..op(time::sleep) });
            Ok(())
        }
        Sem::Pmevent => {
            d.emit(op(control::pause));
            Ok(())
        }
        Sem::BarClusterArrive => {
            d.emit(op(cluster::arrive));
            Ok(())
        }
        Sem::BarClusterWait => {
            d.emit(op(cluster::wait));
            Ok(())
        }
        // Registers are not counted here, so nobody waits for any, and a thread loses none.
        Sem::Setmaxnreg => match d.operand(0) {
            Operand::Immediate(count) if count % 8 == 0 => {
                d.emit(op(control::pause));
                Ok(())
            }
            _ => Err("setmaxnreg with a count that is not a multiple of 8".to_owned()),
        },
        other => Err(format!("{other:?} among the control instructions")),
    }
}

/// The elements of a call's argument or result list.
fn list(d: &Decoder<'_>, operand: Operand) -> Vec<Operand> {
    match operand {
        Operand::Vector(list) => d.body.elements(&list).to_vec(),
        Operand::Absent | Operand::Sink => Vec::new(),
        other => vec![other],
    }
}

/// Where an actual parameter lies in this frame: in one place, or in two that hold a half each of 128 bits. Constants and
/// scalars are spread over a temporary first.
fn place(d: &mut Decoder<'_>, operand: Operand) -> Result<Vec<Place>, Missing> {
    let bits = |d: &Decoder<'_>, register: RegId| d.body.registers[register.index()].ty.bits();
    let one = |place| Ok(vec![place]);
    match operand {
        Operand::SymbolAddress { symbol: Symbol::Variable(id), .. } => {
            let variable = &d.module.variables[id.index()];
            let offset =
                d.layout.offset(id).ok_or_else(|| format!("parameter variable {}", variable.name))?;
            one(Place::Memory { offset, bytes: variable.size as u32 })
        }
        Operand::Register(register) => match d.home(register) {
            Home::Plane { .. } | Home::Pair(..) => Ok(d.register_places(register)),
            Home::Scalar(scalar) => {
                let bits = bits(d, register).max(16);
                let index = d.plane_of(Source::Scalar(scalar), bits);
                one(Place::Register { index, bits })
            }
            Home::Unused => {
                let halves = bits(d, register).div_ceil(64);
                Ok((0..halves).map(|_| Place::Register { index: d.temporary(64), bits: 64 }).collect())
            }
            Home::Predicate(_) => Err(format!("register {} as a parameter", d.register_name(register))),
        },
        Operand::Immediate(value) => {
            let scalar = d.constant(value);
            one(Place::Register { index: d.plane_of(Source::Scalar(scalar), 64), bits: 64 })
        }
        other => Err(format!("operand {other:?} as a parameter")),
    }
}

fn places(d: &mut Decoder<'_>, operand: Operand) -> Result<Vec<Place>, Missing> {
    let mut places = Vec::new();
    for operand in list(d, operand) {
        places.extend(place(d, operand)?);
    }
    Ok(places)
}

fn call(d: &mut Decoder<'_>) -> Decoded {
    let Operand::Function(function) = d.operand(1) else {
        return Err("a call without a function".to_owned());
    };
    let callee = callee(d, function)?;
    emit_call(d, callee, NONE, 0)
}

fn callee(d: &Decoder<'_>, function: FuncId) -> Result<Callee, Missing> {
    let target = &d.module.functions[function.index()];
    match (&target.body, Builtin::from_name(&target.name)) {
        (Some(_), _) => Ok(Callee::Function(function)),
        (None, Some(builtin)) => Ok(Callee::Builtin(builtin)),
        (None, None) => Err(format!("a call of `{}`, which the module only declares", target.name)),
    }
}

fn emit_call(d: &mut Decoder<'_>, callee: Callee, b: u32, y: u32) -> Decoded {
    let returns = places(d, d.operand(0))?;
    let args = places(d, d.operand(2))?;
    let (c, a) = (d.take_run(), d.image.calls.len() as u32);
    let indirect = callee == Callee::Indirect;
    d.image.calls.push(CallSite { callee, args, returns });
    d.emit(Op { a, b, c, y, ..op(if indirect { control::call_indirect } else { control::call }) });
    if indirect {
        // Lanes that called different functions meet again here.
        d.emit_part(op(control::join));
    }
    Ok(())
}

fn call_indirect(d: &mut Decoder<'_>) -> Decoded {
    // What the call passes must be what the prototype says; the run loop compares with the function it reaches.
    if let Operand::Prototype(prototype) = d.operand(3) {
        let (prototype, passed) = (&d.body.prototypes[prototype.index()], list(d, d.operand(2)).len());
        if !prototype.takes(passed) {
            let takes = prototype.params.len();
            return Err(format!("a call that passes {passed} parameters by a prototype of {takes}"));
        }
    }
    let (b, y) = match d.source(1, 64)? {
        Source::Scalar(index) => (index, 0),
        Source::Plane(index) => (index, 1),
    };
    emit_call(d, Callee::Indirect, b, y)
}

fn barrier(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let opcode = d.opcode;
    let value = |d: &mut Decoder<'_>, i: usize| -> Result<Value, Missing> {
        Ok(match d.source(i, 32)? {
            Source::Scalar(index) => Value::Scalar(index),
            Source::Plane(index) => Value::Plane(index),
        })
    };
    let first = usize::from(sem == Sem::BarRed);
    let barrier = value(d, first)?;
    let threads = match d.operand(first + 1) {
        Operand::Absent => None,
        _ => Some(value(d, first + 1)?),
    };
    let kind = match sem {
        Sem::BarSync => BarrierKind::Sync,
        Sem::BarArrive => BarrierKind::Arrive,
        _ => {
            let (predicate, negated) = d.predicate(3)?;
            let negated = negated == NEGATE;
            let (op, destination) = match opcode.get(Slot::Op) {
                Some(Modifier::And) => (Reduction::And, d.predicate_destination(0)?),
                Some(Modifier::Or) => (Reduction::Or, d.predicate_destination(0)?),
                _ => (Reduction::Popc, d.destination_plane(0, 32)?),
            };
            let destination = if destination == NONE { d.scratch_predicate() } else { destination };
            BarrierKind::Reduce { op, predicate, negated, destination }
        }
    };
    let (c, a) = (d.take_run(), d.image.barriers.len() as u32);
    d.image.barriers.push(BarrierSite { kind, barrier, threads });
    d.emit(Op { a, c, ..op(control::barrier) });
    Ok(())
}
