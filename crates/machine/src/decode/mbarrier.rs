//! mbarrier objects (PTX ISA, "mbarrier").

use super::emit::op;
use super::function::Decoder;
use super::operand::Source;
use super::{Decoded, Missing};
use crate::fault::Access;
use crate::memory::SpaceKind;
use crate::memory::mbarrier::pending_count;
use crate::ops::control::nothing;
use crate::ops::mbarrier::{Action, DROP, EXPECT, IN_TURN, PARITY, SUSPEND, operation};
use crate::ops::shape::{COLD, lane_fn};
use crate::ops::{Execute, NONE, Op};
use ir::instruction::{MbarrierArrive, MbarrierArriveAction, MbarrierWait, MbarrierWaitAction};
use ir::operand::{Address, Def, Value};

/// Where objects can be.
const SPACES: [SpaceKind; 3] = [SpaceKind::Shared, SpaceKind::Cluster, SpaceKind::Generic];

/// No operand but the address, and no flags.
fn plain() -> Op {
    Op { x: 0, ..op(nothing) }
}

/// The address of an object, and the operation on one there.
fn object(
    d: &mut Decoder<'_>,
    action: Action,
    address: &Address,
) -> Result<(super::operand::Address, Execute), Missing> {
    let address = d.memory_in_one_of(address, 8, &SPACES)?;
    let execute = operation(action, address.space)
        .ok_or_else(|| format!("an mbarrier object in {:?} memory", address.space))?;
    Ok((address, execute))
}

/// Emits an action on an object; the other fields of the operation are given.
fn emit(d: &mut Decoder<'_>, action: Action, address: &Address, fields: Op) -> Decoded {
    let (address, execute) = object(d, action, address)?;
    let access = if action == Action::Wait { Access::Load } else { Access::Atomic };
    d.emit_access(address, access, 8, Op { execute, ..fields });
    Ok(())
}

/// `mbarrier.inval`.
pub(super) fn inval(d: &mut Decoder<'_>, object: &Address) -> Decoded {
    emit(d, Action::Touch, object, plain())
}

/// `mbarrier.init`, `.expect_tx` and `.complete_tx`.
pub(super) fn change(d: &mut Decoder<'_>, action: Action, object: &Address, count: &Value) -> Decoded {
    let b = d.read_plane(count, 32)?;
    emit(d, action, object, Op { b, ..plain() })
}

/// The bytes that the current instruction writes are complete for an object.
pub(super) fn complete(d: &mut Decoder<'_>, address: &Address, bytes: u32) -> Decoded {
    let bytes = d.constant(u64::from(bytes));
    let b = d.plane_of(Source::Scalar(bytes), 32);
    let (address, execute) = object(d, Action::CompleteTx, address)?;
    d.emit_part(Op { a: address.a, b, y: address.y, imm: address.imm, ..op(execute) });
    Ok(())
}

/// `mbarrier.arrive` and `.arrive_drop`.
pub(super) fn arrive(d: &mut Decoder<'_>, arrive: &MbarrierArrive) -> Decoded {
    let to = d.write_or_drop(arrive.d, 64)?;
    let b = match &arrive.count {
        None => NONE,
        Some(count) => d.read_plane(count, 32)?,
    };
    let drop = match arrive.action {
        MbarrierArriveAction::Arrive => 0,
        MbarrierArriveAction::ArriveDrop => DROP,
    };
    let flag = |is, bit| if is { bit } else { 0 };
    let x = drop | flag(arrive.expect_tx, EXPECT) | flag(arrive.no_complete, IN_TURN);
    emit(d, Action::Arrive, &arrive.addr, Op { d: to, b, x, ..plain() })
}

/// `cp.async.mbarrier.arrive`. Copies are done when they are issued: the arrival that one more is expected of comes at
/// once.
pub(super) fn copies_arrive(d: &mut Decoder<'_>, object: &Address, noinc: bool) -> Decoded {
    let action = if noinc { Action::Arrive } else { Action::Touch };
    emit(d, action, object, plain())
}

/// `mbarrier.test_wait` and `.try_wait`, for a phase that its state or its parity tells.
pub(super) fn wait(d: &mut Decoder<'_>, wait: &MbarrierWait) -> Decoded {
    let p = d.write_predicate_somewhere(wait.p)?;
    let (c, by_parity) = match (&wait.state, &wait.parity) {
        (_, Some(parity)) => (d.read_plane(parity, 32)?, PARITY),
        (Some(state), None) => (d.read_plane(state, 64)?, 0),
        (None, None) => return Err("a wait for no phase".to_owned()),
    };
    let suspend = match wait.action {
        MbarrierWaitAction::TryWait => SUSPEND,
        MbarrierWaitAction::TestWait => 0,
    };
    emit(d, Action::Wait, &wait.addr, Op { d: p, c, x: suspend | by_parity, ..plain() })
}

/// `mbarrier.pending_count`.
pub(super) fn count_pending(d: &mut Decoder<'_>, count: Def, state: &Value) -> Decoded {
    lane_fn!(Pending: Unary(state: u64) -> u32 { pending_count(state) });
    d.lanewise::<Pending, 1, COLD>(count, [state])
}
