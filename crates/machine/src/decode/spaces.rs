//! Addresses between the state spaces (PTX ISA, "isspacep", "cvta", "mapa", "getctarank").

use super::emit::op;
use super::function::Decoder;
use super::movement::copy;
use super::operand::Source;
use super::{Decoded, Missing};
use crate::exec::{Exec, Resolved, resolve};
use crate::lanes::LANES;
use crate::memory::{RANK_SHIFT, SHARED_WINDOW, SpaceKind};
use crate::ops::shape::{COLD, HOT, lane_fn};
use crate::ops::{NONE, Op};
use ptx::isa::{Modifier, Sem, Slot};
use ptx::types::{ScalarType, StateSpace};

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    match sem {
        Sem::Isspacep => isspacep(d),
        Sem::Cvta => cvta(d),
        Sem::Mapa => map_address(d),
        Sem::Getctarank => rank_of_address(d),
        other => Err(format!("{other:?} among the conversions of addresses")),
    }
}

/// The state spaces that `isspacep` tells apart. A kernel parameter is in two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Asked {
    Const,
    Global,
    Local,
    Shared,
    Cluster,
    Param,
}

impl Asked {
    const ALL: [Self; 6] = [Self::Const, Self::Global, Self::Local, Self::Shared, Self::Cluster, Self::Param];

    /// Whether a generic address is in the space. An H200 asks likewise: constant is what lies in the module's own
    /// constant variables, and global all that is neither constant nor in a window of the hardware. Kernel parameters
    /// are in no such window.
    fn has(self, x: &Exec<'_>, address: u64) -> bool {
        match (resolve(address), self) {
            (Resolved::Global(address), Self::Const) => x.grid.is_constant(address),
            (Resolved::Global(address), Self::Global) => {
                address < SHARED_WINDOW && !x.grid.is_constant(address)
            }
            (Resolved::Shared(address), Self::Shared) => address >> RANK_SHIFT == x.shared_base >> RANK_SHIFT,
            (Resolved::Shared(_), Self::Cluster)
            | (Resolved::Local(_), Self::Local)
            | (Resolved::Param(_), Self::Param | Self::Global) => true,
            _ => false,
        }
    }
}

/// Predicate `d` = whether generic address plane `a` is in the space that is number `x` of [`Asked`].
fn is_in_space(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let asked = Asked::ALL[op.x as usize];
    for warp in 0..x.warps {
        let a = &x.files.d[op.a as usize + warp].0;
        let truth = (0..LANES).fold(0, |mask, l| mask | u32::from(asked.has(x, a[l])) << l);
        let mask = x.mask[warp];
        let p = &mut x.files.p[op.d as usize + warp];
        *p = (*p & !mask) | (truth & mask);
    }
    pc + 1
}

fn isspacep(d: &mut Decoder<'_>) -> Decoded {
    let p = d.predicate_destination(0)?;
    let value = d.source(1, 64)?;
    let a = d.plane_of(value, 64);
    let space = d.opcode.get(Slot::Space);
    let asked = match (space, space.and_then(Modifier::state_space)) {
        (Some(Modifier::SharedCluster), _) => Asked::Cluster,
        (_, Some(StateSpace::Const)) => Asked::Const,
        (_, Some(StateSpace::Global)) => Asked::Global,
        (_, Some(StateSpace::Local)) => Asked::Local,
        (_, Some(StateSpace::Shared)) => Asked::Shared,
        (_, Some(StateSpace::ParamEntry | StateSpace::ParamFunc)) => Asked::Param,
        (_, other) => return Err(format!("isspacep of {other:?}")),
    };
    let p = if p == NONE { d.scratch_predicate() } else { p };
    d.emit(Op { d: p, a, x: asked as u32, ..op(is_in_space) });
    Ok(())
}

fn named_space(d: &Decoder<'_>) -> Result<SpaceKind, Missing> {
    let space = d.opcode.get(Slot::Space).and_then(Modifier::state_space);
    match space.ok_or("an instruction without a state space")? {
        // Parameters whose address is taken are the kernel's own.
        StateSpace::ParamEntry | StateSpace::ParamFunc => Ok(SpaceKind::Param),
        space => d.space(space),
    }
}

/// A generic address is the address in its state space plus the space's window.
fn cvta(d: &mut Decoder<'_>) -> Decoded {
    let bits = d.opcode.ty(Slot::Type).map_or(64, ScalarType::bits);
    if bits != 64 {
        return Err("32-bit generic addresses".to_owned());
    }
    let window = Decoder::window(named_space(d)?);
    if window == 0 {
        return copy(d, 64);
    }
    lane_fn!(Add: Binary(a: u64, b: u64) -> u64 { a.wrapping_add(b) });
    let to = d.opcode.has(Modifier::To);
    let constant = d.constant(if to { window.wrapping_neg() } else { window });
    let destination = d.destination(0, 64)?;
    let source = d.source(1, 64)?;
    let family = crate::ops::shape::binary::<Add, HOT>(d.level);
    d.emit_family(family, (destination, 64), &[(source, 64), (Source::Scalar(constant), 64)]);
    Ok(())
}

/// The bits of an address of shared memory that hold the rank, as `mapa` and `getctarank` take them on an H200: without a
/// look at the rest, or at how many CTAs the cluster has.
const RANK: u64 = 0xff << RANK_SHIFT;

/// `mapa`: the address of the same place in the CTA with another rank.
fn map_address(d: &mut Decoder<'_>) -> Decoded {
    lane_fn!(Map32: Binary(a: u32, rank: u32) -> u32 { a & !(RANK as u32) | rank << RANK_SHIFT });
    lane_fn!(Map64: Binary(a: u64, rank: u32) -> u64 { a & !RANK | u64::from(rank & 0xff) << RANK_SHIFT });
    match d.opcode.ty(Slot::Type).map_or(64, ScalarType::bits) {
        32 => d.binary::<Map32, COLD>(),
        _ => d.binary::<Map64, COLD>(),
    }
}

/// `getctarank`.
fn rank_of_address(d: &mut Decoder<'_>) -> Decoded {
    lane_fn!(Rank32: Unary(a: u32) -> u32 { a >> RANK_SHIFT });
    lane_fn!(Rank64: Unary(a: u64) -> u32 { (a & RANK) as u32 >> RANK_SHIFT });
    match d.opcode.ty(Slot::Type).map_or(64, ScalarType::bits) {
        32 => d.unary::<Rank32, COLD>(),
        _ => d.unary::<Rank64, COLD>(),
    }
}
