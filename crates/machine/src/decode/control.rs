//! Branches, calls and barriers (PTX ISA, "Control Flow Instructions" and the barriers of "Parallel Synchronization and
//! Communication Instructions").

use super::decoder::{Decoded, Decoder, Missing};
use crate::build::code::Patch;
use crate::image::Meta;
use crate::image::builtin::Builtin;
use crate::image::control::{BarrierKind, BarrierSite, CallSite, Callee, Place, Reduction};
use crate::image::places::Home;
use crate::operation::Target;
use crate::operation::kinds::{
    Barrier, BeginSleep, Branch, BranchIndexed, Call as CallOperation, CallIndirect as CallAddress, Join,
    Jump, LaunchDependents, Pause, Sleep, WaitForGrids,
};
use ir::BlockId;
use ir::instruction::{BarRed, BarRedOp, Bra, BrxIdx, Call, CallIndirect, GriddepcontrolAction};
use ir::operand::{Argument, Callees, Def, Value};
use ptx::module::{FuncId, LabelId, Table};

fn block_of(d: &Decoder<'_>, label: LabelId) -> BlockId {
    d.cfg.block_of(d.body.labels[label.index()].target)
}

/// `bra`, guarded or not.
pub(crate) fn branch(d: &mut Decoder<'_>, bra: &Bra, meet: Option<BlockId>) -> Decoded {
    let to = block_of(d, bra.target);
    let (run, pc, target) = (d.code.take_run(), d.code.pc(), Target(0));
    match d.condition()? {
        None => d.code.push(Jump { target, run }, Meta::Plain),
        Some(condition) => {
            d.code.push(Branch { condition, target, meet: None, run }, Meta::Plain);
            if let Some(meet) = meet {
                d.code.patch_later(Patch::Meet(pc), meet);
            }
        }
    }
    d.code.patch_later(Patch::Target(pc), to);
    Ok(())
}

/// `brx.idx`.
pub(crate) fn branch_indexed(d: &mut Decoder<'_>, brx: &BrxIdx, meet: Option<BlockId>) -> Decoded {
    let Table::Branch(labels) = &d.body.tables[brx.targets.index()] else {
        return Err("an indexed branch through a table of functions".to_owned());
    };
    let index = d.read_plane(&brx.index, 32)?;
    d.code.flush();
    let targets = d.code.image.add_targets(labels.len());
    for (i, &label) in labels.iter().enumerate() {
        let block = block_of(d, label);
        d.code.patch_later(Patch::Entry(targets, i), block);
    }
    let (run, pc) = (d.code.take_run(), d.code.pc());
    d.code.push(BranchIndexed { index, targets, meet: None, run }, Meta::Plain);
    if let Some(meet) = meet {
        d.code.patch_later(Patch::Meet(pc), meet);
    }
    Ok(())
}

/// `ret`.
pub(super) fn ret(d: &mut Decoder<'_>) -> Decoded {
    let op = d.code.return_op();
    d.emit(op)
}

/// `griddepcontrol`.
pub(super) fn griddepcontrol(d: &mut Decoder<'_>, action: GriddepcontrolAction) -> Decoded {
    let run = d.code.take_run();
    match action {
        GriddepcontrolAction::Wait => d.emit(WaitForGrids { run }),
        GriddepcontrolAction::LaunchDependents => d.emit(LaunchDependents { run }),
    }
}

/// `nanosleep`.
pub(super) fn nanosleep(d: &mut Decoder<'_>, time: &Value) -> Decoded {
    let (a, until) = (d.read_plane(time, 32)?, d.frame.temporary(64));
    d.emit_part(BeginSleep { until, a });
    d.emit(Sleep { until })
}

/// `setmaxnreg`. Registers are not counted here, so nobody waits for any, and a thread loses none.
pub(super) fn setmaxnreg(d: &mut Decoder<'_>, count: u64) -> Decoded {
    match count.is_multiple_of(8) {
        true => d.emit(Pause {}),
        false => Err("setmaxnreg with a count that is not a multiple of 8".to_owned()),
    }
}

/// Where an actual parameter lies in this frame: in one place, or in two that hold a half each of 128 bits. Constants and
/// scalars are spread over a temporary first.
fn place(d: &mut Decoder<'_>, argument: &Argument) -> Result<Vec<Place>, Missing> {
    let one = |place| Ok(vec![place]);
    match *argument {
        Argument::Variable(id) => {
            let variable = &d.module.variables[id.index()];
            let offset =
                d.layout.offset(id).ok_or_else(|| format!("parameter variable {}", variable.name))?;
            one(Place::Memory { offset, bytes: variable.size as u32 })
        }
        Argument::Value(Value::Register(register)) => match d.home(register) {
            Home::Plane(_) | Home::Pair(_) => Ok(d.frame.register_places(register, d.bits_of(register))),
            Home::Scalar(scalar) => {
                let bits = d.bits_of(register).max(16);
                one(Place::Register(d.plane_of(scalar.into(), bits)))
            }
            Home::Unused => {
                let halves = d.bits_of(register).div_ceil(64);
                Ok((0..halves).map(|_| Place::Register(d.frame.temporary(64))).collect())
            }
            Home::Predicate(_) => Err(format!("register {} as a parameter", d.register_name(register))),
        },
        Argument::Value(Value::Constant(value)) => {
            let scalar = d.constant(value);
            one(Place::Register(d.plane_of(scalar, 64)))
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

/// What a call passes, and where its results go.
fn call_site(
    d: &mut Decoder<'_>,
    callee: Callee,
    results: Option<&[Argument]>,
    arguments: Option<&[Argument]>,
) -> Result<CallSite, Missing> {
    let returns = places(d, results)?;
    Ok(CallSite { callee, args: places(d, arguments)?, returns })
}

/// `call` of a function that it names.
pub(super) fn call(d: &mut Decoder<'_>, call: &Call) -> Decoded {
    let callee = callee(d, call.function)?;
    let site = call_site(d, callee, call.results.as_deref(), call.arguments.as_deref())?;
    let (site, run) = (d.site(site), d.code.take_run());
    d.emit(CallOperation { site, run })
}

fn callee(d: &Decoder<'_>, function: FuncId) -> Result<Callee, Missing> {
    let target = &d.module.functions[function.index()];
    match (&target.body, Builtin::from_name(&target.name)) {
        (Some(_), _) => Ok(Callee::Function(function)),
        (None, Some(builtin)) => Ok(Callee::Builtin(builtin)),
        (None, None) => Err(format!("a call of `{}`, which the module only declares", target.name)),
    }
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
    let address = d.read(&call.function, 64)?;
    let site = call_site(d, Callee::Indirect, call.results.as_deref(), call.arguments.as_deref())?;
    let (site, run) = (d.site(site), d.code.take_run());
    d.emit(CallAddress { site, address, run })?;
    // Lanes that called different functions meet again here.
    d.emit_part(Join {});
    Ok(())
}

/// `bar.sync` and `bar.arrive`.
pub(super) fn barrier(
    d: &mut Decoder<'_>,
    kind: BarrierKind,
    barrier: &Value,
    threads: Option<&Value>,
) -> Decoded {
    let barrier = d.read(barrier, 32)?;
    let threads = threads.map(|threads| d.read(threads, 32)).transpose()?;
    let (site, run) = (d.site(BarrierSite { kind, barrier, threads }), d.code.take_run());
    d.emit(Barrier { site, run })
}

/// `bar.red`.
pub(super) fn barrier_reduction(d: &mut Decoder<'_>, bar: &BarRed) -> Decoded {
    let predicate = d.read_predicate(&bar.c)?;
    let op = match bar.op {
        Some(BarRedOp::And) => Reduction::And(d.write_predicate_somewhere(bar.p)?),
        Some(BarRedOp::Or) => Reduction::Or(d.write_predicate_somewhere(bar.p)?),
        None => Reduction::Popc(d.write_plane(bar.d.unwrap_or(Def(None)), 32)?),
    };
    barrier(d, BarrierKind::Reduce { op, predicate }, &bar.a, bar.b.as_ref())
}
