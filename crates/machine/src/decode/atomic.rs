//! Atomic operations (PTX ISA, "Parallel Synchronization and Communication Instructions": atom, red).

use super::emit::op;
use super::function::Decoder;
use super::movement::look;
use super::operand::Address;
use super::{Decoded, Missing};
use crate::fault::Access;
use crate::memory::SpaceKind;
use crate::ops::atomic::{self, compare_and_swap};
use crate::ops::{Execute, NONE, Op};
use ir::instruction::{Atom, AtomCas, AtomOp, AtomVector, Red, RedAsync, RedVector};
use ir::operand::{Def, Value};
use ptx::types::ScalarType;

/// Where atomics can be.
const SPACES: [SpaceKind; 4] = [SpaceKind::Global, SpaceKind::Shared, SpaceKind::Cluster, SpaceKind::Generic];

fn missing(ty: ScalarType, address: Address) -> Missing {
    format!("an atomic operation on .{ty} in {:?} memory", address.space)
}

/// `atom`.
pub(super) fn atom(d: &mut Decoder<'_>, atom: &Atom) -> Decoded {
    let address = d.memory_in_one_of(&atom.a, atom.ty.bytes(), &SPACES)?;
    if atom.ty == ScalarType::B128 {
        return wide(d, address, atom.d, &atom.b, None);
    }
    let execute = atomic::atomic(atom.op, atom.ty, address.space);
    update(d, execute, address, atom.ty, atom.d, &atom.b, None)
}

/// `atom.cas`.
pub(super) fn cas(d: &mut Decoder<'_>, cas: &AtomCas) -> Decoded {
    let address = d.memory_in_one_of(&cas.a, cas.ty.bytes(), &SPACES)?;
    if cas.ty == ScalarType::B128 {
        return wide(d, address, cas.d, &cas.b, Some(&cas.c));
    }
    let execute = compare_and_swap(cas.ty.bits(), address.space);
    update(d, execute, address, cas.ty, cas.d, &cas.b, Some(&cas.c))
}

/// `red`.
pub(super) fn red(d: &mut Decoder<'_>, red: &Red) -> Decoded {
    reduce(d, red.op.into(), red.ty, &red.a, &red.b)
}

/// `red.async`.
pub(super) fn red_async(d: &mut Decoder<'_>, red: &RedAsync) -> Decoded {
    reduce(d, red.op.into(), red.ty, &red.a, &red.b)?;
    super::mbarrier::complete(d, &red.mbar, red.ty.bytes())
}

fn reduce(
    d: &mut Decoder<'_>,
    by: AtomOp,
    ty: ScalarType,
    address: &ir::operand::Address,
    value: &Value,
) -> Decoded {
    let address = d.memory_in_one_of(address, ty.bytes(), &SPACES)?;
    let execute = atomic::atomic(by, ty, address.space);
    update(d, execute, address, ty, Def(None), value, None)
}

/// A read-modify-write of one cell with one operand or two.
fn update(
    d: &mut Decoder<'_>,
    execute: Option<Execute>,
    address: Address,
    ty: ScalarType,
    to: Def,
    b: &Value,
    c: Option<&Value>,
) -> Decoded {
    let execute = execute.ok_or_else(|| missing(ty, address))?;
    let to = d.write_or_drop(to, ty.bits())?;
    let b = d.read_plane(b, ty.bits())?;
    let c = c.map_or(Ok(b), |c| d.read_plane(c, ty.bits()))?;
    d.emit_access(address, Access::Atomic, ty.bytes(), Op { d: to, b, c, ..op(execute) });
    look(d, to, ty.bits());
    Ok(())
}

/// `atom.exch` and, with a third operand, `atom.cas` of 128 bits: pairs of planes.
fn wide(d: &mut Decoder<'_>, address: Address, to: Def, b: &Value, c: Option<&Value>) -> Decoded {
    let execute =
        atomic::wide(c.is_some(), address.space).ok_or_else(|| missing(ScalarType::B128, address))?;
    let to = match to {
        Def(None) => [NONE; 2],
        to => d.write_pair(to)?,
    };
    let b = d.read_pair(b)?;
    let c = c.map_or(Ok(b), |c| d.read_pair(c))?;
    let planes = d.list(&[to, b, c].concat());
    d.emit_access(address, Access::Atomic, 16, Op { b: planes, ..op(execute) });
    Ok(())
}

/// `atom` on vectors.
pub(super) fn atom_vector(d: &mut Decoder<'_>, atom: &AtomVector) -> Decoded {
    vector(d, atom.op.into(), atom.ty, &atom.a, &atom.b, &atom.d)
}

/// `red` on vectors.
pub(super) fn red_vector(d: &mut Decoder<'_>, red: &RedVector) -> Decoded {
    vector(d, red.op.into(), red.ty, &red.a, &red.b, &[])
}

fn vector(
    d: &mut Decoder<'_>,
    by: AtomOp,
    ty: ScalarType,
    address: &ir::operand::Address,
    values: &[Value],
    defs: &[Def],
) -> Decoded {
    let count = values.len() as u32;
    let address =
        d.memory_in_one_of(address, count * ty.bytes(), &[SpaceKind::Global, SpaceKind::Generic])?;
    let execute = atomic::vector(by, ty, address.space).ok_or_else(|| missing(ty, address))?;
    let sources = d.read_planes(values, ty.bits())?;
    let to = match defs {
        [] | [Def(None)] => NONE,
        defs => {
            let planes =
                defs.iter().map(|&def| d.write_plane(def, ty.bits())).collect::<Result<Vec<_>, _>>()?;
            d.list(&planes)
        }
    };
    let b = d.list(&sources);
    d.emit_access(address, Access::Atomic, count * ty.bytes(), Op { d: to, b, c: count, ..op(execute) });
    Ok(())
}
