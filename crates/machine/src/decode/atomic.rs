//! Atomic operations (PTX ISA, "Parallel Synchronization and Communication Instructions": atom, red).

use super::decoder::{Decoded, Decoder, Memory, Missing};
use super::movement::look;
use crate::fault::Access;
use crate::image::Function;
use crate::lanes::PlaneId;
use crate::memory::SpaceKind;
use crate::operation::kinds::{Atomic, AtomicPair, AtomicVector, ClusterLaunch};
use crate::ops::atomic::{self, compare_and_swap};
use ir::instruction::{Atom, AtomCas, AtomOp, AtomVector, Red, RedAsync, RedVector};
use ir::operand::{Address, Def, Value};
use ptx::types::ScalarType;

/// Where atomics can be.
const SPACES: [SpaceKind; 4] = [SpaceKind::Global, SpaceKind::Shared, SpaceKind::Cluster, SpaceKind::Generic];

fn missing(ty: ScalarType, space: SpaceKind) -> Missing {
    format!("an atomic operation on .{ty} in {space:?} memory")
}

/// `atom`.
pub(super) fn atom(d: &mut Decoder<'_>, atom: &Atom) -> Decoded {
    let at = d.memory_in_one_of(&atom.a, atom.ty.bytes(), &SPACES)?;
    if atom.ty == ScalarType::B128 {
        return pair(d, at, atom.d, &atom.b, None);
    }
    update(d, atomic::atomic(atom.op, atom.ty, at.space), at, atom.ty, atom.d, &atom.b, None)
}

/// `atom.cas`.
pub(super) fn cas(d: &mut Decoder<'_>, cas: &AtomCas) -> Decoded {
    let at = d.memory_in_one_of(&cas.a, cas.ty.bytes(), &SPACES)?;
    if cas.ty == ScalarType::B128 {
        return pair(d, at, cas.d, &cas.b, Some(&cas.c));
    }
    update(d, compare_and_swap(cas.ty.bits(), at.space), at, cas.ty, cas.d, &cas.b, Some(&cas.c))
}

/// `red`.
pub(super) fn red(d: &mut Decoder<'_>, red: &Red) -> Decoded {
    reduce(d, red.op.into(), red.ty, &red.a, &red.b)
}

/// `red.async`.
pub(super) fn red_async(d: &mut Decoder<'_>, red: &RedAsync) -> Decoded {
    d.emit(ClusterLaunch {})?;
    reduce(d, red.op.into(), red.ty, &red.a, &red.b)?;
    super::mbarrier::complete(d, &red.mbar, red.ty.bytes())
}

fn reduce(d: &mut Decoder<'_>, by: AtomOp, ty: ScalarType, address: &Address, value: &Value) -> Decoded {
    let at = d.memory_in_one_of(address, ty.bytes(), &SPACES)?;
    update(d, atomic::atomic(by, ty, at.space), at, ty, Def(None), value, None)
}

/// A read-modify-write of one cell with one operand or two.
fn update(
    d: &mut Decoder<'_>,
    function: Option<Function<Atomic>>,
    Memory { address, space, .. }: Memory,
    ty: ScalarType,
    to: Def,
    b: &Value,
    c: Option<&Value>,
) -> Decoded {
    let function = function.ok_or_else(|| missing(ty, space))?;
    let to = d.write_or_drop(to, ty.bits())?;
    let b = d.read_plane(b, ty.bits())?;
    let c = c.map_or(Ok(b), |c| d.read_plane(c, ty.bits()))?;
    d.emit_access(
        (space, address),
        Access::Atomic,
        ty.bytes(),
        function.with(Atomic { d: to, b, c, address }),
    )?;
    look(d, to);
    Ok(())
}

/// `atom.exch` and, with a third operand, `atom.cas` of 128 bits: pairs of planes.
fn pair(
    d: &mut Decoder<'_>,
    Memory { address, space, .. }: Memory,
    to: Def,
    b: &Value,
    c: Option<&Value>,
) -> Decoded {
    let function = atomic::pair(c.is_some(), space).ok_or_else(|| missing(ScalarType::B128, space))?;
    let to = match to {
        Def(None) => [None; 2],
        to => d.write_pair(to)?.map(Some),
    };
    let b = d.read_pair(b)?;
    let c = c.map_or(Ok(b), |c| d.read_pair(c))?;
    let planes = d.code.image.add_planes([to, b.map(Some), c.map(Some)].concat());
    d.emit_access((space, address), Access::Atomic, 16, function.with(AtomicPair { planes, address }))
}

/// `atom` on vectors.
pub(super) fn atom_vector(d: &mut Decoder<'_>, atom: &AtomVector) -> Decoded {
    let to = match *atom.d {
        [Def(None)] => Vec::new(),
        _ => d.write_planes(&atom.d, atom.ty.bits())?,
    };
    vector(d, atom.op.into(), atom.ty, &atom.a, &atom.b, to)
}

/// `red` on vectors.
pub(super) fn red_vector(d: &mut Decoder<'_>, red: &RedVector) -> Decoded {
    vector(d, red.op.into(), red.ty, &red.a, &red.b, Vec::new())
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
    let Memory { address, space, .. } =
        d.memory_in_one_of(address, bytes, &[SpaceKind::Global, SpaceKind::Generic])?;
    let function = atomic::vector(by, ty, space).ok_or_else(|| missing(ty, space))?;
    planes.resize(values.len(), None);
    planes.extend(d.read_planes(values, ty.bits())?.into_iter().map(Some));
    let planes = d.code.image.add_planes(planes);
    d.emit_access((space, address), Access::Atomic, bytes, function.with(AtomicVector { planes, address }))
}
