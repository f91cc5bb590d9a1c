//! Atomic operations (PTX ISA, "Parallel Synchronization and Communication Instructions": atom, red).

use super::decoder::{Decoded, Decoder, Memory, Missing, decoders};
use super::mbarrier::{complete, phase};
use super::movement::{look, order};
use crate::fault::Access;
use crate::image::Function;
use crate::image::asynchronous::Completes;
use crate::lanes::PlaneId;
use crate::memory::SpaceKind;
use crate::operation::kinds::{Atomic, AtomicPair, AtomicVector, ClusterLaunch};
use crate::ops::atomic::{self, compare_and_swap};
use ir::instruction::AtomOp;
use ir::operand::{Address, Def, Value};
use ptx::types::ScalarType;

/// Where atomics can be.
const SPACES: [SpaceKind; 4] = [SpaceKind::Global, SpaceKind::Shared, SpaceKind::Cluster, SpaceKind::Generic];

fn missing(ty: ScalarType, space: SpaceKind) -> Missing {
    format!("an atomic operation on .{ty} in {space:?} memory")
}

decoders! { d, op:
    Atom => {
        let at = d.memory_in_one_of(&op.a, op.ty.bytes(), &SPACES)?;
        match op.ty {
            ScalarType::B128 => pair(d, at, op.d, &op.b, None),
            ty => update(d, atomic::atomic(op.op, ty, at.space), at, ty, op.d, &op.b, None),
        }
    };
    AtomCas => {
        let at = d.memory_in_one_of(&op.a, op.ty.bytes(), &SPACES)?;
        match op.ty {
            ScalarType::B128 => pair(d, at, op.d, &op.b, Some(&op.c)),
            ty => update(d, compare_and_swap(ty.bits(), at.space), at, ty, op.d, &op.b, Some(&op.c)),
        }
    };
    Red => reduce(d, op.op.into(), op.ty, &op.a, &op.b);
    RedAsync => {
        d.emit(ClusterLaunch {})?;
        let completes = phase(d, &op.mbar, None)?;
        d.performed_later(completes);
        reduce(d, op.op.into(), op.ty, &op.a, &op.b)?;
        complete(d, &op.mbar, op.ty.bytes())
    };
    RedAsyncRelease => {
        order(d, op.order);
        d.performed_later(Completes::Nothing);
        reduce(d, op.op.into(), op.ty, &op.a, &op.b)
    };
    AtomVector => {
        let to = match *op.d {
            [Def(None)] => Vec::new(),
            _ => d.write_planes(&op.d, op.ty.bits())?,
        };
        vector(d, op.op.into(), op.ty, &op.a, &op.b, to)
    };
    RedVector => vector(d, op.op.into(), op.ty, &op.a, &op.b, Vec::new());
}

fn reduce(d: &mut Decoder<'_>, by: AtomOp, ty: ScalarType, address: &Address, value: &Value) -> Decoded {
    let at = d.memory_in_one_of(address, ty.bytes(), &SPACES)?;
    update(d, atomic::atomic(by, ty, at.space), at, ty, Def(None), value, None)
}

/// A read-modify-write of one cell with one operand or two.
fn update(
    d: &mut Decoder<'_>,
    function: Option<Function<Atomic>>,
    at: Memory,
    ty: ScalarType,
    to: Def,
    b: &Value,
    c: Option<&Value>,
) -> Decoded {
    let function = function.ok_or_else(|| missing(ty, at.space))?;
    let to = d.write_or_drop(to, ty.bits())?;
    let b = d.read_plane(b, ty.bits())?;
    let c = c.map_or(Ok(b), |c| d.read_plane(c, ty.bits()))?;
    let op = function.with(Atomic { d: to, b, c, address: at.address });
    d.emit_access(at, Access::Atomic, ty.bytes(), op)?;
    look(d, to);
    Ok(())
}

/// `atom.exch` and, with a third operand, `atom.cas` of 128 bits: pairs of planes.
fn pair(d: &mut Decoder<'_>, at: Memory, to: Def, b: &Value, c: Option<&Value>) -> Decoded {
    let function = atomic::pair(c.is_some(), at.space).ok_or_else(|| missing(ScalarType::B128, at.space))?;
    let to = match to {
        Def(None) => [None; 2],
        to => d.write_pair(to)?.map(Some),
    };
    let b = d.read_pair(b)?;
    let c = c.map_or(Ok(b), |c| d.read_pair(c))?;
    let planes = d.code.image.add_planes([to, b.map(Some), c.map(Some)].concat());
    d.emit_access(at, Access::Atomic, 16, function.with(AtomicPair { planes, address: at.address }))
}

fn vector(
    d: &mut Decoder<'_>,
    by: AtomOp,
    ty: ScalarType,
    address: &Address,
    values: &[Value],
    mut planes: Vec<Option<PlaneId>>,
) -> Decoded {
    let bytes = values.len() as u32 * ty.bytes();
    let at = d.memory_in_one_of(address, bytes, &[SpaceKind::Global, SpaceKind::Generic])?;
    let function = atomic::vector(by, ty, at.space).ok_or_else(|| missing(ty, at.space))?;
    planes.resize(values.len(), None);
    planes.extend(d.read_planes(values, ty.bits())?.into_iter().map(Some));
    let planes = d.code.image.add_planes(planes);
    d.emit_access(at, Access::Atomic, bytes, function.with(AtomicVector { planes, address: at.address }))
}
