//! mbarrier objects (PTX ISA, "mbarrier").

use super::decoder::{Decoded, Decoder, Memory, Missing};
use crate::fault::Access;
use crate::image::Op;
use crate::memory::SpaceKind;
use crate::memory::mbarrier::pending_count;
use crate::operation::kinds::{ArriveMbarrier, ChangeMbarrier, WaitMbarrier};
use crate::ops::mbarrier::{Change, arrives, changes, waits};
use crate::ops::shape::{COLD, lane_fn};
use ir::instruction::{MbarrierArrive, MbarrierArriveAction, MbarrierWait, MbarrierWaitAction};
use ir::operand::{Address, Def, Value};

/// Where objects can be.
const SPACES: [SpaceKind; 3] = [SpaceKind::Shared, SpaceKind::Cluster, SpaceKind::Generic];

/// Where an object is.
fn object(d: &mut Decoder<'_>, address: &Address) -> Result<Memory, Missing> {
    d.memory_in_one_of(address, 8, &SPACES)
}

fn elsewhere(space: SpaceKind) -> Missing {
    format!("an mbarrier object in {space:?} memory")
}

/// The operation that changes an object, with the plane of its count.
fn changed(
    d: &mut Decoder<'_>,
    change: Change,
    address: &Address,
    count: Option<&Value>,
) -> Result<(Op, Memory), Missing> {
    let count = count.map(|count| d.read_plane(count, 32)).transpose()?;
    let at = object(d, address)?;
    let function = changes(change, at.space).ok_or_else(|| elsewhere(at.space))?;
    Ok((function.with(ChangeMbarrier { count, address: at.address }), at))
}

/// `mbarrier.init`, `.inval`, `.expect_tx` and `.complete_tx`.
pub(super) fn change(
    d: &mut Decoder<'_>,
    change: Change,
    object: &Address,
    count: Option<&Value>,
) -> Decoded {
    let (op, Memory { address, space, .. }) = changed(d, change, object, count)?;
    d.emit_access((space, address), Access::Atomic, 8, op)
}

/// The bytes that the current instruction writes are complete for an object.
pub(super) fn complete(d: &mut Decoder<'_>, object: &Address, bytes: u32) -> Decoded {
    let bytes = Value::Constant(bytes.into());
    let (op, _) = changed(d, Change::CompleteTx, object, Some(&bytes))?;
    d.emit_part(op);
    Ok(())
}

/// `mbarrier.arrive` and `.arrive_drop`.
pub(super) fn arrive(d: &mut Decoder<'_>, arrive: &MbarrierArrive) -> Decoded {
    let to = d.write_or_drop(arrive.d, 64)?;
    let count = arrive.count.as_ref().map(|count| d.read_plane(count, 32)).transpose()?;
    let Memory { address, space, .. } = object(d, &arrive.addr)?;
    let fields = ArriveMbarrier {
        d: to,
        count,
        drop: arrive.action == MbarrierArriveAction::ArriveDrop,
        expect: arrive.expect_tx,
        in_turn: arrive.no_complete,
        address,
    };
    let function = arrives(space).ok_or_else(|| elsewhere(space))?;
    d.emit_access((space, address), Access::Atomic, 8, function.with(fields))
}

/// `cp.async.mbarrier.arrive`. Copies are done when they are issued: the arrival that one more is expected of comes at
/// once.
pub(super) fn copies_arrive(d: &mut Decoder<'_>, address: &Address, noinc: bool) -> Decoded {
    if !noinc {
        return change(d, Change::Touch, address, None);
    }
    let Memory { address, space, .. } = object(d, address)?;
    let function = arrives(space).ok_or_else(|| elsewhere(space))?;
    let fields = ArriveMbarrier { d: None, count: None, drop: false, expect: false, in_turn: false, address };
    d.emit_access((space, address), Access::Atomic, 8, function.with(fields))
}

/// `mbarrier.test_wait` and `.try_wait`, for a phase that its state or its parity tells.
pub(super) fn wait(d: &mut Decoder<'_>, wait: &MbarrierWait) -> Decoded {
    let to = d.write_predicate_somewhere(Some(wait.p))?;
    let phase = match (&wait.state, &wait.parity) {
        (_, Some(parity)) => d.read_plane(parity, 32)?,
        (Some(state), None) => d.read_plane(state, 64)?,
        (None, None) => return Err("a wait for no phase".to_owned()),
    };
    let suspend = wait.action == MbarrierWaitAction::TryWait;
    let Memory { address, space, .. } = object(d, &wait.addr)?;
    let function = waits(space).ok_or_else(|| elsewhere(space))?;
    d.emit_access(
        (space, address),
        Access::Load,
        8,
        function.with(WaitMbarrier { d: to, phase, suspend, address }),
    )
}

/// `mbarrier.pending_count`.
pub(super) fn count_pending(d: &mut Decoder<'_>, count: Def, state: &Value) -> Decoded {
    lane_fn!(Pending: Unary(state: u64) -> u32 { pending_count(state) });
    d.lanewise::<Pending, 1, COLD>(count, [state])
}
