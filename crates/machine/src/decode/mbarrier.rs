//! mbarrier objects (PTX ISA, "mbarrier").

use super::Decoded;
use super::emit::op;
use super::function::Decoder;
use crate::fault::Access;
use crate::memory::SpaceKind;
use crate::memory::mbarrier::pending_count;
use crate::ops::mbarrier::{Action, DROP, EXPECT, IN_TURN, PARITY, SUSPEND, operation};
use crate::ops::shape::{COLD, lane_fn};
use crate::ops::{NONE, Op};
use crate::program::Meta;
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::Operand;
use ptx::types::ScalarType;

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    match sem {
        Sem::MbarrierInit => change(d, Action::Init),
        Sem::MbarrierInval => emit(d, Action::Touch, 0, op_fields()),
        Sem::MbarrierExpectTx => change(d, Action::ExpectTx),
        Sem::MbarrierCompleteTx => change(d, Action::CompleteTx),
        Sem::MbarrierArrive => arrive(d),
        // Copies are done when they are issued: the arrival that one more is expected of comes at once.
        Sem::CpAsyncMbarrierArrive => match d.opcode.has(Modifier::Noinc) {
            true => emit(d, Action::Arrive, 0, op_fields()),
            false => emit(d, Action::Touch, 0, op_fields()),
        },
        Sem::MbarrierWait => wait(d),
        Sem::MbarrierPendingCount => {
            lane_fn!(Pending: Unary(state: u64) -> u32 { pending_count(state) });
            d.unary::<Pending, COLD>()
        }
        other => Err(format!("{other:?} among the mbarrier instructions")),
    }
}

/// Where objects can be.
const SPACES: [SpaceKind; 3] = [SpaceKind::Shared, SpaceKind::Cluster, SpaceKind::Generic];

/// No operand but the address, and no flags.
fn op_fields() -> Op {
    Op { x: 0, ..op(super::movement::nothing) }
}

/// Emits an action on the object that operand `i` names; the other fields of the operation are given.
fn emit(d: &mut Decoder<'_>, action: Action, i: usize, fields: Op) -> Decoded {
    let address = d.address_in_one_of(i, 8, &SPACES)?;
    let execute = operation(action, address.space)
        .ok_or_else(|| format!("`{}` in {:?} memory", d.opcode.text(), address.space))?;
    let access = if action == Action::Wait { Access::Load } else { Access::Atomic };
    let meta = Meta::Memory { space: address.space, access, bytes: 8 };
    d.emit_as(Op { execute, a: address.a, y: address.y, imm: address.imm, ..fields }, meta);
    Ok(())
}

/// `[addr], count`.
fn change(d: &mut Decoder<'_>, action: Action) -> Decoded {
    let value = d.source(1, 32)?;
    let b = d.plane_of(value, 32);
    emit(d, action, 0, Op { b, ..op_fields() })
}

/// The bytes that the current instruction writes are complete for the object that operand `i` names.
pub(super) fn complete(d: &mut Decoder<'_>, i: usize) -> Decoded {
    let element = d.opcode.ty(Slot::Type).map_or(4, ScalarType::bytes);
    let count = d.opcode.get(Slot::Vec).and_then(Modifier::vector_length).unwrap_or(1);
    let bytes = d.constant(u64::from(element * count));
    let b = d.plane_of(super::operand::Source::Scalar(bytes), 32);
    let address = d.address_in_one_of(i, 8, &SPACES)?;
    let execute = operation(Action::CompleteTx, address.space)
        .ok_or_else(|| format!("`{}` in {:?} memory", d.opcode.text(), address.space))?;
    d.emit_part(Op { a: address.a, b, y: address.y, imm: address.imm, ..op(execute) });
    Ok(())
}

fn arrive(d: &mut Decoder<'_>) -> Decoded {
    let to = match d.operand(0) {
        Operand::Sink | Operand::Absent => NONE,
        _ => d.destination_plane(0, 64)?,
    };
    let b = match d.operand(2) {
        Operand::Absent => NONE,
        _ => {
            let value = d.source(2, 32)?;
            d.plane_of(value, 32)
        }
    };
    let flag = |modifier, bit| if d.opcode.has(modifier) { bit } else { 0 };
    let x = flag(Modifier::ArriveDrop, DROP)
        | flag(Modifier::ExpectTx, EXPECT)
        | flag(Modifier::NoComplete, IN_TURN);
    emit(d, Action::Arrive, 1, Op { d: to, b, x, ..op_fields() })
}

fn wait(d: &mut Decoder<'_>) -> Decoded {
    let p = match d.predicate_destination(0)? {
        NONE => d.scratch_predicate(),
        p => p,
    };
    let parity = d.opcode.has(Modifier::Parity);
    let bits = if parity { 32 } else { 64 };
    let value = d.source(2, bits)?;
    let c = d.plane_of(value, bits);
    let suspend = if d.opcode.has(Modifier::TryWait) { SUSPEND } else { 0 };
    let x = suspend | if parity { PARITY } else { 0 };
    emit(d, Action::Wait, 1, Op { d: p, c, x, ..op_fields() })
}
