//! Branches, calls and barriers (PTX ISA, "Control Flow Instructions" and the barriers of "Parallel Synchronization and
//! Communication Instructions").

use super::emit::op;
use super::function::{Decoder, Field, Home};
use super::operand::Source;
use super::{Decoded, Missing};
use crate::ops::shape::NEGATE;
use crate::ops::{Execute, NONE, Op, cluster, control, time};
use crate::program::{self, BarrierKind, BarrierSite, Builtin, CallSite, Callee, Meta, Place, Reduction};
use ir::BlockId;
use ir::instruction::{BarRed, BarRedOp, Bra, BrxIdx, Call, CallIndirect, GriddepcontrolAction};
use ir::operand::{Argument, Callees, Def, Value};
use ptx::isa::{Convergence, Effects, Flow, Meeting};
use ptx::module::{FuncId, LabelId, RegId, Table};

/// Whether an instruction hands over to the run loop, so that a guard must lead around it.
pub(super) fn leaves_run(effects: &Effects) -> bool {
    let meets = effects.barrier.is_some_and(|barrier| barrier.of == Meeting::Cta);
    let elsewhere = effects.flow != Flow::Next;
    elsewhere || meets || effects.waits || effects.convergence != Convergence::Thread
}

fn block_of(d: &Decoder<'_>, label: LabelId) -> BlockId {
    d.cfg.block_of(d.body.labels[label.index()].target)
}

/// `bra`, guarded or not.
pub(super) fn branch(d: &mut Decoder<'_>, bra: &Bra, meet: Option<BlockId>) -> Decoded {
    let target = block_of(d, bra.target);
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
pub(super) fn branch_indexed(d: &mut Decoder<'_>, brx: &BrxIdx, meet: Option<BlockId>) -> Decoded {
    let Table::Branch(labels) = &d.body.tables[brx.targets.index()] else {
        return Err("an indexed branch through a table of functions".to_owned());
    };
    let a = d.read_plane(&brx.index, 32)?;
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

/// Emits an operation that ends a run of instructions, and accounts for it.
fn leave(d: &mut Decoder<'_>, execute: Execute) -> Decoded {
    let c = d.take_run();
    d.emit(Op { c, ..op(execute) });
    Ok(())
}

/// Emits an operation without operands.
fn alone(d: &mut Decoder<'_>, execute: Execute) -> Decoded {
    d.emit(op(execute));
    Ok(())
}

/// `ret`.
pub(super) fn ret(d: &mut Decoder<'_>) -> Decoded {
    let entry = crate::launch::is_entry(d.module, d.id);
    leave(d, if entry { control::exit } else { control::ret })
}

/// `exit`.
pub(super) fn exit(d: &mut Decoder<'_>) -> Decoded {
    leave(d, control::exit)
}

/// `trap`.
pub(super) fn trap(d: &mut Decoder<'_>) -> Decoded {
    leave(d, control::trap)
}

/// `brkpt`.
pub(super) fn brkpt(d: &mut Decoder<'_>) -> Decoded {
    leave(d, control::breakpoint)
}

/// `griddepcontrol`.
pub(super) fn griddepcontrol(d: &mut Decoder<'_>, action: GriddepcontrolAction) -> Decoded {
    match action {
        GriddepcontrolAction::Wait => leave(d, control::wait_for_grids),
        GriddepcontrolAction::LaunchDependents => leave(d, control::launch_dependents),
    }
}

/// `fence`, `membar` and `fence.proxy`. There is one path to memory here, so proxies always agree; the fence still orders.
pub(super) fn fence(d: &mut Decoder<'_>) -> Decoded {
    alone(d, control::fence)
}

/// `nanosleep`.
pub(super) fn nanosleep(d: &mut Decoder<'_>, time: &Value) -> Decoded {
    let (a, until) = (d.read_plane(time, 32)?, d.temporary(64));
    d.emit_part(Op { d: until, a, ..op(time::begin_sleep) });
    d.emit(Op { a: until, ..op(time::sleep) });
    Ok(())
}

/// `pmevent`.
pub(super) fn pmevent(d: &mut Decoder<'_>) -> Decoded {
    alone(d, control::pause)
}

/// `setmaxnreg`. Registers are not counted here, so nobody waits for any, and a thread loses none.
pub(super) fn setmaxnreg(d: &mut Decoder<'_>, count: u64) -> Decoded {
    match count.is_multiple_of(8) {
        true => alone(d, control::pause),
        false => Err("setmaxnreg with a count that is not a multiple of 8".to_owned()),
    }
}

/// `barrier.cluster.arrive`.
pub(super) fn cluster_arrive(d: &mut Decoder<'_>) -> Decoded {
    alone(d, cluster::arrive)
}

/// `barrier.cluster.wait`.
pub(super) fn cluster_wait(d: &mut Decoder<'_>) -> Decoded {
    alone(d, cluster::wait)
}

/// Where an actual parameter lies in this frame: in one place, or in two that hold a half each of 128 bits. Constants and
/// scalars are spread over a temporary first.
fn place(d: &mut Decoder<'_>, argument: &Argument) -> Result<Vec<Place>, Missing> {
    let bits = |d: &Decoder<'_>, register: RegId| d.body.registers[register.index()].ty.bits();
    let one = |place| Ok(vec![place]);
    match *argument {
        Argument::Variable(id) => {
            let variable = &d.module.variables[id.index()];
            let offset =
                d.layout.offset(id).ok_or_else(|| format!("parameter variable {}", variable.name))?;
            one(Place::Memory { offset, bytes: variable.size as u32 })
        }
        Argument::Value(Value::Register(register)) => match d.home(register) {
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
        Argument::Value(Value::Constant(value)) => {
            let scalar = d.constant(value);
            one(Place::Register { index: d.plane_of(Source::Scalar(scalar), 64), bits: 64 })
        }
        Argument::Value(other) => Err(format!("{other:?} as a parameter")),
    }
}

fn places(d: &mut Decoder<'_>, arguments: Option<&[Argument]>) -> Result<Vec<Place>, Missing> {
    let mut places = Vec::new();
    for argument in arguments.unwrap_or_default() {
        places.extend(place(d, argument)?);
    }
    Ok(places)
}

/// `call` of a function that it names.
pub(super) fn call(d: &mut Decoder<'_>, call: &Call) -> Decoded {
    let callee = callee(d, call.function)?;
    emit_call(d, callee, [call.results.as_deref(), call.arguments.as_deref()], NONE, 0)
}

fn callee(d: &Decoder<'_>, function: FuncId) -> Result<Callee, Missing> {
    let target = &d.module.functions[function.index()];
    match (&target.body, Builtin::from_name(&target.name)) {
        (Some(_), _) => Ok(Callee::Function(function)),
        (None, Some(builtin)) => Ok(Callee::Builtin(builtin)),
        (None, None) => Err(format!("a call of `{}`, which the module only declares", target.name)),
    }
}

/// `b` and `y` are the address of an indirect callee: its index, and whether that is a plane's.
fn emit_call(
    d: &mut Decoder<'_>,
    callee: Callee,
    [results, arguments]: [Option<&[Argument]>; 2],
    b: u32,
    y: u32,
) -> Decoded {
    let returns = places(d, results)?;
    let args = places(d, arguments)?;
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

/// `call` through an address.
pub(super) fn call_indirect(d: &mut Decoder<'_>, call: &CallIndirect) -> Decoded {
    // What the call passes must be what the prototype says; the run loop compares with the function it reaches.
    if let Callees::Prototype(prototype) = call.targets {
        let prototype = &d.body.prototypes[prototype.index()];
        let passed = call.arguments.as_deref().map_or(0, <[_]>::len);
        if !prototype.takes(passed) {
            let takes = prototype.params.len();
            return Err(format!("a call that passes {passed} parameters by a prototype of {takes}"));
        }
    }
    let (b, y) = match d.read(&call.function, 64)? {
        Source::Scalar(index) => (index, 0),
        Source::Plane(index) => (index, 1),
    };
    emit_call(d, Callee::Indirect, [call.results.as_deref(), call.arguments.as_deref()], b, y)
}

/// `bar.sync` and `bar.arrive`.
pub(super) fn barrier(
    d: &mut Decoder<'_>,
    kind: BarrierKind,
    barrier: &Value,
    threads: Option<&Value>,
) -> Decoded {
    let mut value = |value: &Value| -> Result<_, Missing> {
        Ok(match d.read(value, 32)? {
            Source::Scalar(index) => program::Value::Scalar(index),
            Source::Plane(index) => program::Value::Plane(index),
        })
    };
    let (barrier, threads) = (value(barrier)?, threads.map(value).transpose()?);
    let (c, a) = (d.take_run(), d.image.barriers.len() as u32);
    d.image.barriers.push(BarrierSite { kind, barrier, threads });
    d.emit(Op { a, c, ..op(control::barrier) });
    Ok(())
}

/// `bar.red`.
pub(super) fn barrier_reduction(d: &mut Decoder<'_>, bar: &BarRed) -> Decoded {
    let (predicate, negated) = d.read_predicate(&bar.c)?;
    let negated = negated == NEGATE;
    let (op, destination) = match bar.op {
        Some(BarRedOp::And) => (Reduction::And, d.write_predicate(bar.p.unwrap_or(Def(None)))?),
        Some(BarRedOp::Or) => (Reduction::Or, d.write_predicate(bar.p.unwrap_or(Def(None)))?),
        None => (Reduction::Popc, d.write_plane(bar.d.unwrap_or(Def(None)), 32)?),
    };
    let destination = if destination == NONE { d.scratch_predicate() } else { destination };
    let kind = BarrierKind::Reduce { op, predicate, negated, destination };
    barrier(d, kind, &bar.a, bar.b.as_ref())
}
