//! mbarrier objects (PTX ISA, "mbarrier").

use super::decoder::{Decoded, Decoder, Memory, Missing, decoders};
use crate::fault::Access;
use crate::image::Op;
use crate::image::asynchronous::Completes;
use crate::memory::SpaceKind;
use crate::memory::mbarrier::pending_count;
use crate::operation::Address as Pointer;
use crate::operation::kinds::{ArriveMbarrier, ChangeMbarrier, WaitMbarrier};
use crate::ops::mbarrier::{Change, arrives, changes, waits};
use crate::ops::shape::Cold;
use ir::instruction::{MbarrierArriveAction, MbarrierWaitAction};
use ir::lane_function;
use ir::operand::{Address, Value};
use ptx::isa::Group;

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

fn change(d: &mut Decoder<'_>, change: Change, object: &Address, count: Option<&Value>) -> Decoded {
    let (op, at) = changed(d, change, object, count)?;
    d.emit_access(at, Access::Atomic, 8, op)
}

/// The bytes that the current instruction writes are complete for an object.
pub(super) fn complete(d: &mut Decoder<'_>, object: &Address, bytes: u32) -> Decoded {
    let bytes = Value::Constant(bytes.into());
    let (op, _) = changed(d, Change::CompleteTx, object, Some(&bytes))?;
    d.emit_part(op);
    Ok(())
}

/// What the end of a phase of an object forces: operations that tell it bytes, or that arrive at it.
pub(super) fn phase(
    d: &mut Decoder<'_>,
    address: &Address,
    arrival: Option<Group>,
) -> Result<Completes, Missing> {
    let Memory { address, space, .. } = object(d, address)?;
    Ok(Completes::Phase { object: (address, space.window()), ranks: None, arrival })
}

/// An arrival at an object, whose address the fields lack.
fn arrive(d: &mut Decoder<'_>, address: &Address, fields: impl FnOnce(Pointer) -> ArriveMbarrier) -> Decoded {
    let at = object(d, address)?;
    let function = arrives(at.space).ok_or_else(|| elsewhere(at.space))?;
    d.emit_access(at, Access::Atomic, 8, function.with(fields(at.address)))
}

decoders! { d, op:
    MbarrierInit => change(d, Change::Init, &op.addr, Some(&op.count));
    MbarrierInval => change(d, Change::Touch, &op.addr, None);
    MbarrierExpectTx => change(d, Change::ExpectTx, &op.addr, Some(&op.count));
    MbarrierCompleteTx => change(d, Change::CompleteTx, &op.addr, Some(&op.count));
    MbarrierArrive => {
        let to = d.write_or_drop(op.d, 64)?;
        let count = op.count.as_ref().map(|count| d.read_plane(count, 32)).transpose()?;
        let drop = op.action == MbarrierArriveAction::ArriveDrop;
        let (expect, in_turn) = (op.expect_tx, op.no_complete);
        arrive(d, &op.addr, |address| ArriveMbarrier { d: to, count, drop, expect, in_turn, address })
    };
    // If copies are done when they are issued, the arrival that one more is expected of comes at once.
    CpAsyncMbarrierArrive => {
        let late = d.code.image.purpose.late;
        if !op.noinc && !late {
            return change(d, Change::Touch, &op.addr, None);
        }
        if !op.noinc {
            let (expect, _) = changed(d, Change::ExpectArrival, &op.addr, None)?;
            d.emit_part(expect);
        }
        let completes = phase(d, &op.addr, Some(Group::Copy))?;
        d.performed_later(completes);
        arrive(d, &op.addr, |address| ArriveMbarrier {
            d: None, count: None, drop: false, expect: false, in_turn: false, address
        })
    };
    // The phase is told by its state or its parity.
    MbarrierWait => {
        let to = d.write_predicate_somewhere(Some(op.p))?;
        let phase = match (&op.state, &op.parity) {
            (_, Some(parity)) => d.read_plane(parity, 32)?,
            (Some(state), None) => d.read_plane(state, 64)?,
            (None, None) => return Err("a wait for no phase".to_owned()),
        };
        let suspend = op.action == MbarrierWaitAction::TryWait;
        let at = object(d, &op.addr)?;
        let function = waits(at.space).ok_or_else(|| elsewhere(at.space))?;
        let wait = WaitMbarrier { d: to, phase, suspend, address: at.address };
        d.emit_access(at, Access::Load, 8, function.with(wait))
    };
    MbarrierPendingCount => {
        lane_function!(PendingCount: Unary(state: u64) -> u32 { pending_count(state) });
        d.lanewise::<PendingCount, 1, Cold>(op.d, [op.state])
    };
}
