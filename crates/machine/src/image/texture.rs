//! Texture and surface instructions.

use crate::lanes::{Operand, PlaneId, PredicateId};
use crate::texture::lookup::{Geometry, Lookup};
use crate::texture::query::Query;
use crate::texture::surface::Beyond;
use ir::instruction::SuredOp;
use ptx::types::ScalarType;

/// What names an object: the address of a variable, or a register with that or a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectName {
    Address(u64),
    Register(Operand),
}

/// A `tex` or `tld4` instruction.
#[derive(Clone, Debug)]
pub(crate) struct LookupSite {
    pub(crate) kind: Lookup,
    pub(crate) texture: ObjectName,
    pub(crate) sampler: Option<ObjectName>,
    /// Layer, sample, coordinates.
    pub(crate) coordinates: Vec<Operand>,
    pub(crate) lod: Option<Operand>,
    pub(crate) gradients: [Vec<Operand>; 2],
    pub(crate) offsets: Vec<Operand>,
    /// Planes of 16 or 32 bits, as [`Lookup::results`] says.
    pub(crate) destinations: Vec<Option<PlaneId>>,
    /// The predicate that is true if all texels are in memory.
    pub(crate) resident: Option<PredicateId>,
}

/// What a surface instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SurfaceAction {
    Load,
    Store,
    Reduce(SuredOp),
}

/// A `suld`, `sust` or `sured` instruction.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceSite {
    pub(crate) action: SurfaceAction,
    /// Of each element.
    pub(crate) ty: ScalarType,
    /// `.p` rather than `.b`.
    pub(crate) formatted: bool,
    pub(crate) beyond: Beyond,
    pub(crate) geometry: Geometry,
    pub(crate) surface: ObjectName,
    /// Layer, coordinates.
    pub(crate) coordinates: Vec<Operand>,
    /// Planes of what is loaded or stored.
    pub(crate) data: Vec<Option<PlaneId>>,
}

/// A `txq` or `suq` instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuerySite {
    pub(crate) query: Query,
    pub(crate) object: ObjectName,
    pub(crate) lod: Option<Operand>,
    pub(crate) destination: PlaneId,
}
